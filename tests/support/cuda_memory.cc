#include "tests/support/cuda_memory.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

#if defined(PAGED_HAS_CUDA)
#include <cuda_runtime_api.h>
#endif

namespace paged::testing {

#if defined(PAGED_HAS_CUDA)

namespace {

void Check(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "CUDA: %s\n", cudaGetErrorString(error));
  std::abort();
}

}  // namespace

void* CudaAllocate(std::size_t bytes) {
  void* data = nullptr;
  Check(cudaMalloc(&data, bytes));
  return data;
}

void* CudaTryAllocate(std::size_t bytes) {
  void* data = nullptr;
  if (cudaMalloc(&data, bytes) == cudaSuccess) return data;
  cudaGetLastError();  // takes the error away
  return nullptr;
}

void CudaFree(void* data) { Check(cudaFree(data)); }

void CudaFill(void* data, int byte, std::size_t bytes) {
  Check(cudaMemset(data, byte, bytes));
  Check(cudaDeviceSynchronize());
}

void CudaCopy(void* to, const void* from, std::size_t bytes) {
  Check(cudaMemcpy(to, from, bytes, cudaMemcpyDefault));
  Check(cudaDeviceSynchronize());
}

void CudaSynchronizeDevice() { Check(cudaDeviceSynchronize()); }

void CudaOccupyDefaultStream() {
  Check(cudaLaunchHostFunc(
      nullptr,
      [](void*) { std::this_thread::sleep_for(std::chrono::milliseconds(50)); },
      nullptr));
}

const char* CudaTakeError() {
  const cudaError_t error = cudaGetLastError();
  return error == cudaSuccess ? "" : cudaGetErrorString(error);
}

int CudaCurrentDevice() {
  int device = -1;
  Check(cudaGetDevice(&device));
  return device;
}

CudaDeviceScope::CudaDeviceScope(int device) : before_(CudaCurrentDevice()) {
  Check(cudaSetDevice(device));
}

CudaDeviceScope::~CudaDeviceScope() { Check(cudaSetDevice(before_)); }

CudaStream::CudaStream() {
  Check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
}

CudaStream::~CudaStream() { Check(cudaStreamDestroy(stream_)); }

CudaGraph::CudaGraph(Stream stream, const std::function<void()>& enqueue) {
  Check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  enqueue();
  cudaGraph_t graph = nullptr;
  if (cudaStreamEndCapture(stream, &graph) != cudaSuccess) {
    cudaGetLastError();  // takes the error away
    return;
  }
  Check(cudaGraphInstantiate(&exec_, graph, 0));
  Check(cudaGraphDestroy(graph));
}

CudaGraph::~CudaGraph() {
  if (exec_ != nullptr) Check(cudaGraphExecDestroy(exec_));
}

void CudaGraph::Launch(Stream stream) {
  Check(cudaGraphLaunch(exec_, stream));
  Check(cudaStreamSynchronize(stream));
}

#else

void* CudaAllocate(std::size_t) { std::abort(); }
void* CudaTryAllocate(std::size_t) { std::abort(); }
void CudaFree(void*) { std::abort(); }
void CudaFill(void*, int, std::size_t) { std::abort(); }
void CudaCopy(void*, const void*, std::size_t) { std::abort(); }
void CudaSynchronizeDevice() { std::abort(); }
void CudaOccupyDefaultStream() { std::abort(); }
const char* CudaTakeError() { std::abort(); }
int CudaCurrentDevice() { std::abort(); }
CudaDeviceScope::CudaDeviceScope(int) : before_(0) { std::abort(); }
CudaDeviceScope::~CudaDeviceScope() = default;
CudaStream::CudaStream() { std::abort(); }
CudaStream::~CudaStream() = default;
CudaGraph::CudaGraph(Stream, const std::function<void()>&) { std::abort(); }
CudaGraph::~CudaGraph() = default;
void CudaGraph::Launch(Stream) { std::abort(); }

#endif

}  // namespace paged::testing
