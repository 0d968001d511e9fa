#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/baseline/thrust_decode.h"
#include "kernels/cpu/decode_kernels.h"
#include "tests/baseline/thrust_problem.h"

namespace paged::testing {
namespace {

// Device memory that is freed with its owner.
class DeviceBytes {
 public:
  explicit DeviceBytes(std::size_t bytes) : bytes_(bytes) {
    EXPECT_EQ(cudaMalloc(&data_, bytes == 0 ? 1 : bytes), cudaSuccess);
  }
  DeviceBytes(const void* host, std::size_t bytes) : DeviceBytes(bytes) {
    EXPECT_EQ(cudaMemcpy(data_, host, bytes, cudaMemcpyHostToDevice),
              cudaSuccess);
  }
  DeviceBytes(const DeviceBytes&) = delete;
  DeviceBytes& operator=(const DeviceBytes&) = delete;
  ~DeviceBytes() { EXPECT_EQ(cudaFree(data_), cudaSuccess); }

  void CopyTo(void* host) const {
    EXPECT_EQ(cudaMemcpy(host, data_, bytes_, cudaMemcpyDeviceToHost),
              cudaSuccess);
  }
  void* get() const { return data_; }
  std::size_t bytes() const { return bytes_; }

 private:
  void* data_ = nullptr;
  std::size_t bytes_;
};

// A problem and its copy on the device.
struct OnDevice {
  explicit OnDevice(const ThrustProblem& p)
      : query(p.query.data(), p.query.size()),
        pool(p.pool.data(), p.pool.size()),
        output(p.output.data(), p.output.size()),
        lse(p.lse.data(), p.lse.size() * sizeof(float)),
        tables(p.tables.data(), p.tables.size() * sizeof(int32_t)),
        lens(p.c.context_lens.data(),
             p.c.context_lens.size() * sizeof(int32_t)),
        params(p.Params(query.get(), pool.get(), output.get(),
                        static_cast<float*>(lse.get()),
                        static_cast<const int32_t*>(tables.get()),
                        static_cast<const int32_t*>(lens.get()))) {}

  DeviceBytes query, pool, output, lse, tables, lens;
  DecodeParams params;
};

class CudaThrustDecodeTest : public ::testing::TestWithParam<ThrustCase> {
 protected:
  void SetUp() override {
    int num_devices = 0;
    if (cudaGetDeviceCount(&num_devices) != cudaSuccess || num_devices == 0) {
      (void)cudaGetLastError();
      GTEST_SKIP() << "no GPU";
    }
    ASSERT_EQ(cudaStreamCreate(&stream_), cudaSuccess);
  }
  void TearDown() override {
    if (stream_ == nullptr) return;
    EXPECT_EQ(cudaStreamDestroy(stream_), cudaSuccess);
    EXPECT_EQ(cudaGetLastError(), cudaSuccess) << "an error was left behind";
  }

  cudaStream_t stream_ = nullptr;
};

TEST_P(CudaThrustDecodeTest, EqualsTheReferenceAndReadsNoPoison) {
  const ElementKind element = GetParam().element;
  ThrustProblem reference(GetParam());
  RunReference({element, element}, reference.HostParams());

  ThrustProblem problem(GetParam());
  OnDevice device(problem);
  DeviceBytes workspace(ThrustWorkspaceBytes(element, device.params));
  ASSERT_EQ(RunThrustOnCuda(element, device.params, workspace.get(),
                            workspace.bytes(), stream_),
            ThrustStatus::kOk);
  ASSERT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
  device.output.CopyTo(problem.output.data());
  device.lse.CopyTo(problem.lse.data());
  EXPECT_LE(LargestDifference(problem, reference), ToleranceOf(element));
}

TEST_P(CudaThrustDecodeTest, RepeatsItselfToTheBit) {
  const ElementKind element = GetParam().element;
  ThrustProblem first(GetParam());
  ThrustProblem second(GetParam());
  for (ThrustProblem* problem : {&first, &second}) {
    OnDevice device(*problem);
    DeviceBytes workspace(ThrustWorkspaceBytes(element, device.params));
    ASSERT_EQ(RunThrustOnCuda(element, device.params, workspace.get(),
                              workspace.bytes(), stream_),
              ThrustStatus::kOk);
    ASSERT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
    device.output.CopyTo(problem->output.data());
  }
  EXPECT_EQ(first.output, second.output);
}

TEST_P(CudaThrustDecodeTest, RefusesACapturingStreamAndASmallWorkspace) {
  const ElementKind element = GetParam().element;
  ThrustProblem problem(GetParam());
  OnDevice device(problem);
  DeviceBytes workspace(ThrustWorkspaceBytes(element, device.params));
  EXPECT_EQ(RunThrustOnCuda(element, device.params, nullptr, 0, stream_),
            ThrustStatus::kWorkspaceTooSmall);

  ASSERT_EQ(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal),
            cudaSuccess);
  EXPECT_EQ(RunThrustOnCuda(element, device.params, workspace.get(),
                            workspace.bytes(), stream_),
            ThrustStatus::kCapturing);
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamEndCapture(stream_, &graph), cudaSuccess);
  std::size_t num_nodes = 1;
  EXPECT_EQ(cudaGraphGetNodes(graph, nullptr, &num_nodes), cudaSuccess);
  EXPECT_EQ(num_nodes, 0u);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
}

INSTANTIATE_TEST_SUITE_P(Cuda, CudaThrustDecodeTest,
                         ::testing::ValuesIn(ThrustCases()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace paged::testing
