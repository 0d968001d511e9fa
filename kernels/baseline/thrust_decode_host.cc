// The Thrust baseline on the host, compiled by the host compiler alone: the
// build defines THRUST_DEVICE_SYSTEM as Thrust's CPU system, and wraps its
// namespace so that this Thrust and nvcc's can be linked into one program.
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/discard_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <thrust/reduce.h>
#include <thrust/system/cpp/execution_policy.h>

#include <cstddef>
#include <cstdint>
#include <functional>

#include "kernels/baseline/thrust_decode.h"
#include "kernels/baseline/thrust_decode_impl.h"

namespace paged {
namespace {

template <typename T>
struct HostElement {
  using Type = T;
  static float ToFloat(T x) { return paged::ToFloat(x); }
  static T FromFloat(float x) { return paged::FromFloat<T>(x); }
};

struct SegmentOf {
  int64_t length;
  int64_t operator()(int64_t i) const { return i / length; }
};

class HostWorld {
 public:
  explicit HostWorld(internal::BumpAllocator& allocator)
      : allocator_(allocator) {}

  auto Policy() { return internal::thrust_ns::cpp::par(allocator_); }

  // Each segment is reduced from left to right; `init` is the identity.
  template <typename Op>
  void SegmentedReduce(const float* in, float* out, int64_t num_segments,
                       int length, Op op, float init) {
    namespace thrust_ns = internal::thrust_ns;
    if (length == 0) {
      for (int64_t i = 0; i < num_segments; ++i) out[i] = init;
      return;
    }
    const auto segment = thrust_ns::make_transform_iterator(
        thrust_ns::make_counting_iterator(int64_t{0}), SegmentOf{length});
    thrust_ns::reduce_by_key(Policy(), segment, segment + num_segments * length,
                             in, thrust_ns::make_discard_iterator(), out,
                             std::equal_to<int64_t>(), op);
  }

 private:
  internal::BumpAllocator& allocator_;
};

template <typename T>
void Run(ElementKind element, const DecodeParams& params,
         internal::BumpAllocator& allocator) {
  HostWorld world(allocator);
  internal::RunThrust<HostElement<T>>(params, element, world, allocator);
}

}  // namespace

bool HasThrustOnHost() { return true; }

ThrustStatus RunThrustOnHost(ElementKind element, const DecodeParams& params,
                             void* workspace, std::size_t workspace_bytes) {
  if (params.num_seqs == 0) return ThrustStatus::kOk;
  internal::BumpAllocator allocator(workspace, workspace_bytes);
  return internal::CatchThrust([&] {
    switch (element) {
      case ElementKind::kF16:
        return Run<Half>(element, params, allocator);
      case ElementKind::kBF16:
        return Run<BFloat16>(element, params, allocator);
      case ElementKind::kF32:
        return Run<float>(element, params, allocator);
      case ElementKind::kE4M3:
      case ElementKind::kE5M2:
      case ElementKind::kInt8:
        break;  // no plan of the variant has them
    }
  });
}

}  // namespace paged
