// Paged attention of one decode step: the calls most users need.
//
// Example:
//
//     // Two sequences of 3 and 1 tokens in blocks of 2; one head of 4 dims.
//     std::vector<float> query(2 * 4, 1.0f), output(2 * 4);
//     std::vector<float> keys(4 * 2 * 4, 0.5f), values(4 * 2 * 4, 3.0f);
//     std::vector<int32_t> block_tables = {3, 1, 2, -1}, context_lens = {3, 1};
//     paged::DecodeArgs args{.shape = {.num_seqs = 2,
//                                      .num_q_heads = 1,
//                                      .num_kv_heads = 1,
//                                      .head_dim = 4,
//                                      .block_size = 2,
//                                      .num_blocks = 4,
//                                      .max_blocks_per_seq = 2,
//                                      .max_context_len = 4,
//                                      .query_dtype = paged::DType::kF32,
//                                      .kv_dtype = paged::DType::kF32},
//                            .query = query.data(),
//                            .key_cache = keys.data(),
//                            .value_cache = values.data(),
//                            .block_tables = block_tables.data(),
//                            .context_lens = context_lens.data(),
//                            .output = output.data()};
//     std::unique_ptr<paged::Backend> backend = paged::MakeCpuBackend();
//
//     CHECK_OK(paged::SupportsReason(args, *backend));
//
//     // A first try: looks at the tables, plans, reserves, runs and waits.
//     CHECK_OK(paged::Decode(args, *backend, {.validate_tables = true}));
//     CHECK_EQ(output[0], 3.0f);
//
//     // A decode loop: plan once, run as often as you like.
//     paged::DecodePlan plan = paged::PlanDecode(args.shape, *backend).value();
//     paged::RunContext context{
//         .workspace = backend->Reserve(plan.workspace_bytes).value()};
//     CHECK_OK(backend->Prepare(plan));
//     CHECK_OK(backend->InitWorkspace(plan, context));
//     CHECK_OK(backend->Run(plan, args, context));
#ifndef PAGED_LIB_PAGED_DECODE_H_
#define PAGED_LIB_PAGED_DECODE_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "paged/append_kv.h"
#include "paged/args.h"
#include "paged/backend.h"
#include "paged/cpu_backend.h"
#include "paged/cuda_backend.h"
#include "paged/options.h"
#include "paged/plan.h"
#include "paged/validate.h"

namespace paged {

// Plans from capacities alone: validates the shape, resolves the options
// against the environment, and asks the cost model. Thread-safe. Errors of
// ValidateShape, ResolveOptions and MakePlan.
absl::StatusOr<DecodePlan> PlanDecode(const DecodeShape& shape,
                                      const Backend& backend,
                                      const DecodeOptions& options = {});

// OK where Decode would run, else the first rule that says no, naming field,
// rule and value: Validate's, the device's, and on CUDA those of pointers.
// Touches no memory of the backend's.
absl::Status SupportsReason(const DecodeArgs& args, const Backend& backend,
                            const DecodeOptions& options = {});

// Plans, reserves a workspace of the backend's, runs on `stream` and waits.
// For a first try; a loop keeps the plan and calls Backend::Run.
// InvalidArgument and Unimplemented as Validate and PlanDecode,
// ResourceExhausted where there is no memory for the workspace, and the errors
// of Backend::Run and Synchronize.
absl::Status Decode(const DecodeArgs& args, Backend& backend,
                    const DecodeOptions& options = {}, Stream stream = nullptr);

}  // namespace paged

#endif  // PAGED_LIB_PAGED_DECODE_H_
