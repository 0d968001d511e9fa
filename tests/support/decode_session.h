// A problem in a backend's memory, ready to run as often as a test likes.
#ifndef PAGED_TESTS_SUPPORT_DECODE_SESSION_H_
#define PAGED_TESTS_SUPPORT_DECODE_SESSION_H_

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "paged/args.h"
#include "paged/backend.h"
#include "paged/options.h"
#include "paged/plan.h"
#include "tests/support/guarded_buffer.h"
#include "tests/support/oracle.h"
#include "tests/support/problem.h"
#include "tests/support/test_backend.h"

namespace paged::testing {

struct DecodeResult {
  DType dtype = DType::kF16;
  DecodePlan plan;
  // Dense [query tokens, num_q_heads, value_dim].
  std::vector<std::byte> output;
  std::vector<float> lse;  // [query tokens, num_q_heads]
};

// Buffers of exactly the problem's size, between canaries.
class DecodeSession {
 public:
  DecodeSession(BackendKind kind, const Problem& problem);

  absl::StatusOr<DecodePlan> Plan(const DecodeOptions& options) const;
  DecodeArgs args() const;

  // Plans, and runs in a workspace of exactly the plan's size full of NaN.
  // Output and lse are NaN before; every canary, and every gap between output
  // rows, is looked at after.
  absl::StatusOr<DecodeResult> Run(const DecodeOptions& options);
  // The same in memory of the caller's, which is used as it is.
  absl::StatusOr<DecodeResult> RunIn(const DecodePlan& plan,
                                     const RunContext& context);

  // What other code left in output and lse.
  DecodeResult Collect(const DecodePlan& plan) const;
  void PoisonOutputs();
  void SetContextLens(const std::vector<int32_t>& context_lens);
  // Content stays where the problem's own table has it.
  void SetBlockTables(const std::vector<int32_t>& block_tables);

  Backend& backend() const { return *backend_; }

 private:
  BackendKind kind_;
  Backend* backend_;
  Problem problem_;
  int64_t key_offset_;
  int64_t value_offset_;
  std::unique_ptr<GuardedBuffer> query_, keys_, values_, tables_, lens_;
  std::unique_ptr<GuardedBuffer> key_scales_, value_scales_;
  std::unique_ptr<GuardedBuffer> offsets_, trees_;
  std::unique_ptr<GuardedBuffer> slopes_, sinks_, bias_;
  std::unique_ptr<GuardedBuffer> output_, lse_;
};

// A workspace of the plan's size, full of NaN but for its control area.
class PoisonedWorkspace {
 public:
  PoisonedWorkspace(BackendKind kind, const DecodePlan& plan,
                    Stream stream = nullptr);
  RunContext context() const;
  bool AreCanariesIntact() const { return buffer_.AreCanariesIntact(); }

 private:
  GuardedBuffer buffer_;
  Stream stream_;
};

// Runs a problem once; a failing status fails the test.
DecodeResult RunOnce(BackendKind kind, const Problem& problem,
                     const DecodeOptions& options);

// The weights of CUDA's values pass through the storage type, but under queries
// of fp32, which CUDA cores serve in float32 alone; those of the CPU's int8
// through 16-bit integers where the processor has dot products of them.
Oracle OracleFor(BackendKind kind, const Problem& problem);

// Every element of output and lse within the oracle's bound; NaN where the
// oracle has NaN, and nowhere else.
::testing::AssertionResult IsNear(const DecodeResult& result,
                                  const Oracle& oracle);

// Output and lse equal to the bit.
::testing::AssertionResult BitEqual(const DecodeResult& a,
                                    const DecodeResult& b);

// The rows of one sequence, as the result of a batch of one.
DecodeResult RowsOf(const DecodeResult& batch, const Problem& problem, int seq);

}  // namespace paged::testing

#endif  // PAGED_TESTS_SUPPORT_DECODE_SESSION_H_
