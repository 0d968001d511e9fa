// The few CUDA calls that tests make themselves, in plain C++. In a build
// without CUDA they abort: no test reaches them, since MakeCudaBackend fails
// first.
#ifndef PAGED_TESTS_SUPPORT_CUDA_MEMORY_H_
#define PAGED_TESTS_SUPPORT_CUDA_MEMORY_H_

#include <cstddef>
#include <functional>

#include "paged/backend.h"

struct CUgraphExec_st;

namespace paged::testing {

void* CudaAllocate(std::size_t bytes);
// Null when there is no memory.
void* CudaTryAllocate(std::size_t bytes);
void CudaFree(void* data);
void CudaFill(void* data, int byte, std::size_t bytes);
// Either direction; returns when done.
void CudaCopy(void* to, const void* from, std::size_t bytes);
void CudaSynchronizeDevice();
// Keeps the default stream busy for a while; returns at once.
void CudaOccupyDefaultStream();
// Empty when no error is pending; takes it away.
const char* CudaTakeError();

int CudaCurrentDevice();

// The device is current as long as this lives, then the one before it again.
class CudaDeviceScope {
 public:
  explicit CudaDeviceScope(int device);
  ~CudaDeviceScope();
  CudaDeviceScope(const CudaDeviceScope&) = delete;
  CudaDeviceScope& operator=(const CudaDeviceScope&) = delete;

 private:
  int before_;
};

class CudaStream {
 public:
  CudaStream();
  ~CudaStream();
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;
  Stream get() const { return stream_; }

 private:
  Stream stream_ = nullptr;
};

// What `enqueue` puts on the stream, as a graph.
class CudaGraph {
 public:
  // Captures in thread-local mode. The graph is empty when the capture was
  // invalidated.
  CudaGraph(Stream stream, const std::function<void()>& enqueue);
  ~CudaGraph();
  CudaGraph(const CudaGraph&) = delete;
  CudaGraph& operator=(const CudaGraph&) = delete;

  bool is_valid() const { return exec_ != nullptr; }
  void Launch(Stream stream);

 private:
  CUgraphExec_st* exec_ = nullptr;
};

}  // namespace paged::testing

#endif  // PAGED_TESTS_SUPPORT_CUDA_MEMORY_H_
