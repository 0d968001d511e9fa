// Files that a command writes once, at its end.
#ifndef PAGED_APPS_OUT_FILE_H_
#define PAGED_APPS_OUT_FILE_H_

#include <string>

#include "absl/status/status.h"

namespace paged {

// Before any work is done for it: that the file of a flag can be written. What
// is in the file stays; one that is not there is not left behind.
// InvalidArgument names the flag.
absl::Status CheckWritable(const std::string& flag, const std::string& path);

// Replaces what is in the file. DataLoss when it cannot be written after all.
absl::Status WriteOutFile(const std::string& path, const std::string& text);

}  // namespace paged

#endif  // PAGED_APPS_OUT_FILE_H_
