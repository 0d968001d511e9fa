#include "kernels/cpu/simd_kernels.h"

#include <cstdint>

#include "kernels/cpu/simd_element.h"
#include "kernels/cpu/simd_targets.h"
// After the file that leaves targets out.
#include "hwy/targets.h"

namespace paged {
namespace {

SimdKernels ChosenKernels(int64_t target) {
  return {hwy::TargetName(target),
          SimdF16(),
          SimdBF16(),
          SimdF32(),
          SimdE4M3(),
          SimdE5M2(),
          SimdInt8()};
}

int64_t BestOf(int64_t targets) { return targets & -targets; }

}  // namespace

const SimdKernels* FindSimdKernels() {
  static const SimdKernels kernels =
      ChosenKernels(BestOf(hwy::SupportedTargets() & HWY_TARGETS));
  return kernels.f16 == nullptr ? nullptr : &kernels;
}

const std::vector<SimdKernels>& AllSimdKernels() {
  static const auto* const all = [] {
    auto* sets = new std::vector<SimdKernels>;
    for (int64_t target : hwy::SupportedAndGeneratedTargets()) {
      hwy::SetSupportedTargetsForTest(target);
      hwy::GetChosenTarget().Update(hwy::SupportedTargets());
      const SimdKernels kernels = ChosenKernels(target);
      if (kernels.f16 != nullptr) sets->push_back(kernels);
    }
    hwy::SetSupportedTargetsForTest(0);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    return sets;
  }();
  return *all;
}

}  // namespace paged
