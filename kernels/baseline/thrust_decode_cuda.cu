// The Thrust baseline on the GPU. One thread per element of each step; idle
// lanes, repeated index arithmetic and the round trips through memory are what
// the fused kernels are compared with.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <thrust/system/cuda/execution_policy.h>
#include <thrust/system_error.h>

#include <cstddef>
#include <cstdint>
#include <cub/device/device_segmented_reduce.cuh>

#include "kernels/baseline/thrust_decode.h"
#include "kernels/baseline/thrust_decode_impl.h"

namespace paged {
namespace {

struct F16Element {
  using Type = __half;
  PAGED_HD static float ToFloat(Type x) { return __half2float(x); }
  PAGED_HD static Type FromFloat(float x) { return __float2half_rn(x); }
};

struct BF16Element {
  using Type = __nv_bfloat16;
  PAGED_HD static float ToFloat(Type x) { return __bfloat162float(x); }
  PAGED_HD static Type FromFloat(float x) { return __float2bfloat16_rn(x); }
};

struct F32Element {
  using Type = float;
  PAGED_HD static float ToFloat(Type x) { return x; }
  PAGED_HD static Type FromFloat(float x) { return x; }
};

struct SegmentBegin {
  int64_t length;
  PAGED_HD int64_t operator()(int64_t segment) const {
    return segment * length;
  }
};

void ThrowOnError(cudaError_t error) {
  if (error == cudaSuccess) return;
  throw thrust::system_error(error, thrust::cuda_category());
}

class CudaWorld {
 public:
  CudaWorld(internal::BumpAllocator& allocator, cudaStream_t stream)
      : allocator_(allocator), stream_(stream) {}

  // Storage outlives the call, so there is nothing to wait for.
  auto Policy() { return thrust::cuda::par_nosync(allocator_).on(stream_); }

  // By CUB: thrust::reduce_by_key would bracket the sum differently from run
  // to run, and the same inputs have to give the same bits.
  template <typename Op>
  void SegmentedReduce(const float* in, float* out, int64_t num_segments,
                       int length, Op op, float init) {
    const auto begins = thrust::make_transform_iterator(
        thrust::make_counting_iterator(int64_t{0}), SegmentBegin{length});
    const auto reduce = [&](void* scratch, std::size_t& bytes) {
      ThrowOnError(cub::DeviceSegmentedReduce::Reduce(
          scratch, bytes, in, out, num_segments, begins, begins + 1, op, init,
          stream_));
    };
    std::size_t bytes = 0;
    reduce(nullptr, bytes);
    char* scratch = allocator_.allocate(static_cast<std::ptrdiff_t>(bytes));
    reduce(scratch, bytes);
    allocator_.deallocate(scratch, bytes);
  }

 private:
  internal::BumpAllocator& allocator_;
  cudaStream_t stream_;
};

template <typename Element>
void Run(ElementKind element, const DecodeParams& params, cudaStream_t stream,
         internal::BumpAllocator& allocator) {
  CudaWorld world(allocator, stream);
  internal::RunThrust<Element>(params, element, world, allocator);
}

}  // namespace

ThrustStatus RunThrustOnCuda(ElementKind element, const DecodeParams& params,
                             void* workspace, std::size_t workspace_bytes,
                             CUstream_st* stream) {
  if (params.num_seqs == 0) return ThrustStatus::kOk;
  cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
  if (cudaStreamIsCapturing(stream, &capture) != cudaSuccess) {
    // The legacy stream may not even be asked while another one captures.
    const cudaError_t error = cudaGetLastError();
    return error == cudaErrorStreamCaptureImplicit ? ThrustStatus::kCapturing
                                                   : ThrustStatus::kDeviceError;
  }
  if (capture != cudaStreamCaptureStatusNone) return ThrustStatus::kCapturing;

  internal::BumpAllocator allocator(workspace, workspace_bytes);
  const ThrustStatus status = internal::CatchThrust([&] {
    switch (element) {
      case ElementKind::kF16:
        return Run<F16Element>(element, params, stream, allocator);
      case ElementKind::kBF16:
        return Run<BF16Element>(element, params, stream, allocator);
      case ElementKind::kF32:
        return Run<F32Element>(element, params, stream, allocator);
      case ElementKind::kE4M3:
      case ElementKind::kE5M2:
      case ElementKind::kInt8:
        break;  // no plan of the variant has them
    }
  });
  // Thrust has reported it already; nothing may be left for the next caller.
  if (status != ThrustStatus::kOk) (void)cudaGetLastError();
  return status;
}

}  // namespace paged
