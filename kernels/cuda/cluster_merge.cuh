// Merging the splits of one (item, kv head) without leaving the chip: they are
// the CTAs of a thread block cluster, and read one another's shared memory.
// sm_90 and up, at most kMaxClusterSplits splits, no workspace.
#ifndef PAGED_KERNELS_CUDA_CLUSTER_MERGE_CUH_
#define PAGED_KERNELS_CUDA_CLUSTER_MERGE_CUH_

#include <cstdint>

#include "kernels/core/instance.h"
#include "kernels/core/online_softmax.h"
#include "kernels/cuda/warp_merge.cuh"

namespace paged {

// Makes what the threads of every CTA of the cluster wrote to shared memory
// visible to all of them.
__device__ __forceinline__ void ClusterBarrier() {
#if __CUDA_ARCH__ >= 900
  __syncwarp();  // the instructions want whole warps
  asm volatile(
      "barrier.cluster.arrive.release.aligned;\n"
      "barrier.cluster.wait.acquire.aligned;" ::
          : "memory");
#endif
}

// The address, in the cluster's window, of `shared` in CTA `rank`.
__device__ __forceinline__ uint32_t RemoteAddress(uint32_t shared, int rank) {
  uint32_t remote = 0;
#if __CUDA_ARCH__ >= 900
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;"
               : "=r"(remote)
               : "r"(shared), "r"(rank));
#endif
  return remote;
}

__device__ __forceinline__ SoftmaxState LoadRemoteState(uint32_t remote) {
  SoftmaxState state;
#if __CUDA_ARCH__ >= 900
  asm volatile("ld.shared::cluster.v2.f32 {%0, %1}, [%2];"
               : "=f"(state.max_log2), "=f"(state.sum)
               : "r"(remote)
               : "memory");
#endif
  return state;
}

__device__ __forceinline__ float4 LoadRemoteValues(uint32_t remote) {
  float4 x = {0.0f, 0.0f, 0.0f, 0.0f};
#if __CUDA_ARCH__ >= 900
  asm volatile("ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(x.x), "=f"(x.y), "=f"(x.z), "=f"(x.w)
               : "r"(remote)
               : "memory");
#endif
  return x;
}

// A CTA's partial in its own shared memory, behind what its warps merged from.
template <IsDecodeInstance V>
struct ClusterPartial {
  float* values;         // [kMaxRows, kValueDim]
  SoftmaxState* states;  // [kMaxRows]

  __device__ explicit ClusterPartial(void* shared)
      : values(reinterpret_cast<float*>(static_cast<char*>(shared) +
                                        V::kWarpMergeBytes)),
        states(reinterpret_cast<SoftmaxState*>(values +
                                               V::kMaxRows * V::kValueDim)) {}

  __device__ __forceinline__ void Store(int row, int dim, SoftmaxState state,
                                        float4 x) {
    if (dim == 0) states[row] = state;
    *reinterpret_cast<float4*>(values + row * V::kValueDim + dim) = x;
  }
};

// Merges the partials of the cluster's CTAs in split order and hands four
// dimensions at a time to `emit(row, dim, state, values)`. The CTAs share the
// rows' dimensions out. All threads of all CTAs of the cluster call.
template <IsDecodeInstance V, typename Emit>
__device__ __forceinline__ void MergeCluster(ClusterPartial<V> partial,
                                             const DecodeParams& p,
                                             int num_rows, int rank,
                                             Emit emit) {
  ClusterBarrier();
  const int num_splits = p.num_splits;
  const int quads = V::kIsGeneral ? p.value_dim / 4 : V::kValueDim / 4;
  const uint32_t values = SharedAddress(partial.values);
  const uint32_t states = SharedAddress(partial.states);
  for (int i = static_cast<int>(threadIdx.x) * num_splits + rank;
       i < num_rows * quads; i += V::kThreads * num_splits) {
    const int row = i / quads;
    const int dim = i % quads * 4;
    SoftmaxState parts[kMaxClusterSplits];
    float4 x[kMaxClusterSplits];
    SoftmaxState total;
#pragma unroll
    for (int s = 0; s < kMaxClusterSplits; ++s) {
      x[s] = {0.0f, 0.0f, 0.0f, 0.0f};
      if (s >= num_splits) continue;
      parts[s] = LoadRemoteState(RemoteAddress(
          states + row * static_cast<int>(sizeof(SoftmaxState)), s));
      x[s] = LoadRemoteValues(RemoteAddress(
          values + (row * V::kValueDim + dim) * static_cast<int>(sizeof(float)),
          s));
    }
#pragma unroll
    for (int s = 0; s < kMaxClusterSplits; ++s) {
      total.max_log2 = fmaxf(total.max_log2, parts[s].max_log2);
    }
    float4 sum = {0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll
    for (int s = 0; s < kMaxClusterSplits; ++s) {
      AddWeighted(WeightOf(parts[s].max_log2, total.max_log2), parts[s].sum,
                  x[s], total.sum, sum);
    }
    emit(row, dim, total, sum);
  }
  // No CTA may leave while another still reads its shared memory.
  ClusterBarrier();
}

}  // namespace paged

#endif  // PAGED_KERNELS_CUDA_CLUSTER_MERGE_CUH_
