#include <memory>

#include "benchmarks/cpu/problem.h"
#include "gtest/gtest.h"
#include "paged/cpu_backend.h"
#include "paged/decode.h"
#include "paged/dtype.h"

namespace paged::benchmarks {
namespace {

// Tensors and float64 rows are of the same numbers, also where storing rounds
// them. Outputs in fp32 show it: those of 16 bits are off by more.
TEST(CpuProblemTest, RowsInFloat64AreOfTheStoredTensors) {
  const std::unique_ptr<Backend> backend = MakeCpuBackend({.num_threads = 2});
  for (DType dtype : {DType::kF16, DType::kBF16, DType::kFp8E4M3,
                      DType::kFp8E5M2, DType::kInt8}) {
    for (BlockLayout layout :
         {BlockLayout::kTokenMajor, BlockLayout::kHeadMajor}) {
      SCOPED_TRACE(::testing::Message() << NameOf(dtype));
      BenchShape shape = Uniform(2, 300, 2, 3);
      shape.dtype = dtype;
      CpuProblem problem(shape, layout, 0);
      ASSERT_TRUE(Decode(problem.ArgsInFp32(), *backend, {}).ok());
      // Queries and weights of integers have 16 bits, where there are products
      // of those.
      EXPECT_LT(problem.RelativeErrorInFp32(),
                dtype == DType::kInt8 ? 2e-4 : 2e-6);
      problem.PoisonOutput();
      ASSERT_TRUE(Decode(problem.Args(0), *backend, {}).ok());
      EXPECT_LT(problem.RelativeErrorOfSet0(),
                dtype == DType::kBF16 ? 0x1p-8 : 0x1p-11);
    }
  }
}

}  // namespace
}  // namespace paged::benchmarks
