// Memory of a backend, and marks on its streams, each with one owner.
//
// Example:
//
//     std::unique_ptr<paged::Backend> backend = paged::MakeCpuBackend();
//     auto cache = backend->Allocate(4096, paged::MemoryKind::kDevice);
//     CHECK_OK(cache);
//     CHECK_EQ(cache->bytes(), 4096u);
//
//     // Waits for what was enqueued before the mark, and for nothing after it.
//     auto fence = backend->MakeFence();
//     CHECK_OK(fence);
//     CHECK_OK(backend->Record(*fence, nullptr));
//     CHECK_OK(backend->Wait(*fence));
#ifndef PAGED_LIB_PAGED_DEVICE_MEMORY_H_
#define PAGED_LIB_PAGED_DEVICE_MEMORY_H_

#include <cstddef>
#include <memory>

namespace paged {

enum class MemoryKind {
  kDevice,   // what kernels work on
  kStaging,  // host memory, page-locked, that kernels can read
};

// Gives back what a backend made.
using Disposer = void (*)(void*);

// Empty, or memory aligned to 256 bytes.
class Buffer {
 public:
  Buffer() = default;
  Buffer(void* data, std::size_t bytes, Disposer dispose)
      : data_(data, dispose), bytes_(bytes) {}

  void* data() const { return data_.get(); }
  template <typename T>
  T* As() const {
    return static_cast<T*>(data_.get());
  }
  std::size_t bytes() const { return bytes_; }

 private:
  std::unique_ptr<void, Disposer> data_{nullptr, nullptr};
  std::size_t bytes_ = 0;
};

// A place in a stream that the host can wait for; reached, until Record moves
// it. On CUDA its handle is an event, on the CPU nothing.
class Fence {
 public:
  Fence() = default;
  Fence(void* handle, Disposer dispose) : handle_(handle, dispose) {}

  void* handle() const { return handle_.get(); }

 private:
  std::unique_ptr<void, Disposer> handle_{nullptr, nullptr};
};

}  // namespace paged

#endif  // PAGED_LIB_PAGED_DEVICE_MEMORY_H_
