// Which build this program is.
#ifndef PAGED_APPS_VERSION_H_
#define PAGED_APPS_VERSION_H_

#include <string>

namespace paged {

// As git names it, with "-dirty" when tracked files differed; "unknown" where
// it was built outside a checkout.
std::string CommitOfBuild();

// Version, commit, CUDA and its architectures, the CPU's kernels: lines.
std::string VersionText();

}  // namespace paged

#endif  // PAGED_APPS_VERSION_H_
