#include "apps/version.h"

#include "absl/strings/str_cat.h"
#include "kernels/cpu/simd_kernels.h"
#include "paged_commit.h"

namespace paged {

std::string CommitOfBuild() { return PAGED_COMMIT; }

std::string VersionText() {
  const SimdKernels* simd = FindSimdKernels();
  return absl::StrCat("paged ", PAGED_VERSION, "\ncommit ", CommitOfBuild(),
                      "\n", PAGED_CUDA_DESCRIPTION, "\nCPU kernels: scalar",
                      simd == nullptr ? "" : absl::StrCat(", ", simd->target),
                      "\n");
}

}  // namespace paged
