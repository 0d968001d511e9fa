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
          SimdInt8(),
          nullptr,
          nullptr};
}

// `best` with what Highway has no target for; a set without kernels where the
// processor has no such thing.
SimdKernels WithDots(const SimdKernels& best) {
  SimdKernels kernels;
  if ((hwy::SupportedTargets() & HWY_AVX3) == 0) return kernels;
  if (SimdDotBF16() == nullptr) return kernels;
  kernels = best;
  kernels.target = "AVX3_DOT";
  kernels.bf16_dot = SimdDotBF16();
  kernels.int8_dot = SimdDotInt8();
  return kernels;
}

int64_t BestOf(int64_t targets) { return targets & -targets; }

}  // namespace

const SimdKernels* FindSimdKernels(DotProducts dots) {
  static const SimdKernels of_floats =
      ChosenKernels(BestOf(hwy::SupportedTargets() & HWY_TARGETS));
  static const SimdKernels with_dots = WithDots(of_floats);
  if (of_floats.f16 == nullptr) return nullptr;
  const bool has_dots = with_dots.bf16_dot != nullptr;
  return has_dots && dots == DotProducts::kWherePossible ? &with_dots
                                                         : &of_floats;
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
    if (!sets->empty()) {
      const SimdKernels dots = WithDots(sets->front());
      if (dots.bf16_dot != nullptr) sets->insert(sets->begin(), dots);
    }
    return sets;
  }();
  return *all;
}

}  // namespace paged
