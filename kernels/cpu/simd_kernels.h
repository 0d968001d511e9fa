// Vector kernels of decode on the CPU, one set per instruction set that this
// build has; the best that the processor runs is chosen once, at run time.
//
// The scalar kernels (decode_kernels.h) are their specification: same work
// items, same partials, same treatment of NaN and of slots past the context.
#ifndef PAGED_KERNELS_CPU_SIMD_KERNELS_H_
#define PAGED_KERNELS_CPU_SIMD_KERNELS_H_

#include <vector>

#include "kernels/core/dtype.h"
#include "kernels/core/kernel_params.h"
#include "kernels/core/partition.h"
#include "kernels/cpu/simd_scratch.h"

namespace paged {

// What is compiled for one storage type and one instruction set.
struct SimdElementKernels {
  // As floats; what `to` holds past `dim` stays.
  void (*load_row)(const void* from, int dim, float* to);
  // Each value over `divisor`, times `factor`, rounded to nearest even. Null
  // for what queries and outputs are never stored as.
  void (*store_row)(const float* from, float divisor, float factor, int dim,
                    void* to);
  // The rows of `item` for the kv heads [first_head, first_head + num_heads of
  // `scratch`). Takes queries from the scratch, leaves states and values there.
  void (*attend)(const DecodeParams& params, const WorkItem& item,
                 int first_head, SimdScratch& scratch);
  // weights[i] = 2^scores[i], of scores of at most 1, minus infinity or NaN.
  void (*exp2)(const float* scores, int count, float* weights);
};

struct SimdKernels {
  const char* target = "";  // Highway's name of the instruction set
  const SimdElementKernels* f16 = nullptr;
  const SimdElementKernels* bf16 = nullptr;
  const SimdElementKernels* f32 = nullptr;
  const SimdElementKernels* e4m3 = nullptr;
  const SimdElementKernels* e5m2 = nullptr;
  const SimdElementKernels* int8 = nullptr;
  // By dot products of pairs, null without instructions for them: of bf16
  // caches where queries are bf16 as well, and of int8.
  const SimdElementKernels* bf16_dot = nullptr;
  const SimdElementKernels* int8_dot = nullptr;

  const SimdElementKernels& of(ElementKind kind) const {
    switch (kind) {
      case ElementKind::kF16:
        return *f16;
      case ElementKind::kBF16:
        return *bf16;
      case ElementKind::kE4M3:
        return *e4m3;
      case ElementKind::kE5M2:
        return *e5m2;
      case ElementKind::kInt8:
        return *int8;
      case ElementKind::kF32:
        break;
    }
    return *f32;
  }

  // What attends to caches of `kv` with queries of `query`.
  const SimdElementKernels& attending(ElementKind query, ElementKind kv) const {
    if (kv == ElementKind::kInt8 && int8_dot != nullptr) return *int8_dot;
    const bool is_bf16 = query == ElementKind::kBF16 && kv == query;
    return is_bf16 && bf16_dot != nullptr ? *bf16_dot : of(kv);
  }
};

// Whether a set may have dot products of narrow elements, or multiplies floats
// alone.
enum class DotProducts { kWherePossible, kNever };

// The best set that this processor runs; null where the build has none.
const SimdKernels* FindSimdKernels(
    DotProducts dots = DotProducts::kWherePossible);

// Every set that this processor runs, best first. For tests: it switches the
// choice of every user of Highway in this process while it runs.
const std::vector<SimdKernels>& AllSimdKernels();

}  // namespace paged

#endif  // PAGED_KERNELS_CPU_SIMD_KERNELS_H_
