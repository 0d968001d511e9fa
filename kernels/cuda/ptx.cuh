// The few PTX instructions that the kernels are made of, and the element types
// that they work on.
#ifndef PAGED_KERNELS_CUDA_PTX_CUH_
#define PAGED_KERNELS_CUDA_PTX_CUH_

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

#include "kernels/core/dtype.h"

namespace paged {

inline constexpr unsigned kAllLanes = 0xffffffffu;

// What a kernel does before it touches memory. It was launched while the grid
// before it may still run (LaunchKernel): it lets the grid behind it be
// launched as early, and then waits until all that the grid before it wrote is
// there. So the order of the stream holds, and only the time of the launch is
// hidden.
__device__ __forceinline__ void WaitForGridBefore() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

__device__ __forceinline__ uint32_t SharedAddress(const void* shared) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(shared));
}

// Copies 16 bytes to shared memory without passing through registers; L1 is
// bypassed, since a KV cache is read once. When `bytes` is 0 it reads nothing
// and writes zeros.
__device__ __forceinline__ void CopyAsync16OrZero(uint32_t shared,
                                                  const void* global,
                                                  int bytes) {
  asm volatile(
      "cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(shared),
      "l"(global), "r"(bytes));
}

// The same for rows that begin at any multiple of 8 bytes, and for scales.
__device__ __forceinline__ void CopyAsync8OrZero(uint32_t shared,
                                                 const void* global,
                                                 int bytes) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(shared),
               "l"(global), "r"(bytes));
}

__device__ __forceinline__ void CopyAsync4OrZero(uint32_t shared,
                                                 const void* global,
                                                 int bytes) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(shared),
               "l"(global), "r"(bytes));
}

__device__ __forceinline__ void CommitCopies() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

// Waits until at most `kPending` of the latest groups are unfinished.
template <int kPending>
__device__ __forceinline__ void WaitForCopies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

__device__ __forceinline__ void StoreZeros16(uint32_t shared) {
  asm volatile("st.shared.v4.u32 [%0], {%1, %1, %1, %1};" ::"r"(shared), "r"(0)
               : "memory");
}

__device__ __forceinline__ uint2 LoadShared8(uint32_t shared) {
  uint2 x;
  asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];"
               : "=r"(x.x), "=r"(x.y)
               : "r"(shared)
               : "memory");
  return x;
}

__device__ __forceinline__ uint4 LoadShared16(uint32_t shared) {
  uint4 x;
  asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w)
               : "r"(shared)
               : "memory");
  return x;
}

__device__ __forceinline__ float LoadSharedFloat(uint32_t shared) {
  float x;
  asm volatile("ld.shared.f32 %0, [%1];" : "=f"(x) : "r"(shared) : "memory");
  return x;
}

// Four 8 x 8 matrices of 16-bit elements; lane l gives the address of row
// l % 8 of matrix l / 8.
__device__ __forceinline__ void LoadMatrices(uint32_t (&m)[4],
                                             uint32_t shared) {
  asm volatile(
      "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
      : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3])
      : "r"(shared)
      : "memory");
}

__device__ __forceinline__ void LoadMatricesTransposed(uint32_t (&m)[4],
                                                       uint32_t shared) {
  asm volatile(
      "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
      : "=r"(m[0]), "=r"(m[1]), "=r"(m[2]), "=r"(m[3])
      : "r"(shared)
      : "memory");
}

// Two of them: of lanes 0 to 15.
__device__ __forceinline__ void LoadMatrices(uint32_t (&m)[2],
                                             uint32_t shared) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
               : "=r"(m[0]), "=r"(m[1])
               : "r"(shared)
               : "memory");
}

// Of an 8 x 8 matrix of 16-bit elements, as ldmatrix deals it out.
__device__ __forceinline__ uint32_t Transposed(uint32_t pair) {
  uint32_t result;
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;"
               : "=r"(result)
               : "r"(pair));
  return result;
}

// What a storage type means to the tensor cores. Multiply adds A (16 x 16,
// rows) times B (16 x 8, columns) to a float32 accumulator.
template <ElementKind kElement>
struct DeviceElement;

template <>
struct DeviceElement<ElementKind::kF16> {
  using Type = __half;

  static __device__ __forceinline__ uint32_t Pack(float low, float high) {
    const __half2 pair = __floats2half2_rn(low, high);
    return *reinterpret_cast<const uint32_t*>(&pair);
  }

  static __device__ __forceinline__ void Multiply(float (&c)[4],
                                                  const uint32_t (&a)[4],
                                                  uint32_t b0, uint32_t b1) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  }
};

template <>
struct DeviceElement<ElementKind::kBF16> {
  using Type = __nv_bfloat16;

  static __device__ __forceinline__ uint32_t Pack(float low, float high) {
    const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
    return *reinterpret_cast<const uint32_t*>(&pair);
  }

  static __device__ __forceinline__ void Multiply(float (&c)[4],
                                                  const uint32_t (&a)[4],
                                                  uint32_t b0, uint32_t b1) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  }
};

}  // namespace paged

#endif  // PAGED_KERNELS_CUDA_PTX_CUH_
