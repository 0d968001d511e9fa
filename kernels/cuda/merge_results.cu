// Merges two results of the same rows.
//
// Grid    rows dealt to warps, several of which make a CTA.
// Warp    one row after another; each lane every 32nd dimension.
#include <algorithm>

#include "kernels/core/merge_params.h"
#include "kernels/cuda/any_element.cuh"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/launch_kernel.cuh"

namespace paged {
namespace {

constexpr int kWarps = 4;
constexpr int64_t kMaxCtas = 65536;

__global__ void __launch_bounds__(kWarps * 32)
    MergeKernel(const __grid_constant__ MergeParams p, ElementKind element) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  for (int64_t row = int64_t{blockIdx.x} * kWarps + threadIdx.x / 32;
       row < p.num_rows; row += int64_t{gridDim.x} * kWarps) {
    const MergeWeights weights =
        MergeWeightsOf(p.first_lse[row], p.second_lse[row]);
    // The result may take the place of an input, lse included.
    __syncwarp();
    for (int dim = lane; dim < p.dim; dim += 32) {
      const int64_t index = row * p.dim + dim;
      // A side without weight is not to be read.
      float x = 0.0f;
      if (weights.first != 0.0f) {
        x = LoadAny(element, p.first_output, index) * weights.first;
      }
      if (weights.second != 0.0f) {
        const float y = LoadAny(element, p.second_output, index);
        x = weights.first == 0.0f ? y * weights.second : x + y * weights.second;
      }
      StoreOne(element, p.output, index, x);
    }
    if (lane == 0 && p.lse != nullptr) p.lse[row] = weights.lse;
  }
}

}  // namespace

cudaError_t LaunchMerge(ElementKind element, const MergeParams& p,
                        cudaStream_t stream) {
  if (p.num_rows == 0) return cudaSuccess;
  const int64_t ctas = std::min(kMaxCtas, (p.num_rows + kWarps - 1) / kWarps);
  return LaunchKernel(
      &MergeKernel,
      {.grid = dim3(static_cast<unsigned>(ctas)), .threads = kWarps * 32},
      stream, p, element);
}

}  // namespace paged
