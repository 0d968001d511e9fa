#include "paged/decode.h"

#include <cstdio>
#include <mutex>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "paged/internal/lower.h"
#include "paged/internal/profile_range.h"
#include "paged/internal/status_macros.h"

namespace paged {
namespace {

// Prints a decision the first time that this process makes it. The one thing
// that the library prints, and only when asked to (PAGED_VERBOSE=dispatch).
void PrintOnce(const DecodePlan& plan) {
  static std::mutex mutex;
  static auto* const printed = new std::set<std::string>();
  const std::string line = absl::StrCat("paged: ", ToString(plan), "\n");
  const std::lock_guard<std::mutex> lock(mutex);
  if (printed->insert(line).second) std::fputs(line.c_str(), stderr);
}

absl::StatusOr<DecodePlan> PlanProblem(const DecodeProblem& problem,
                                       const Backend& backend,
                                       const DecodeOptions& options) {
  PAGED_ASSIGN_OR_RETURN(const DecodeOptions resolved, ResolveOptions(options));
  PAGED_ASSIGN_OR_RETURN(const DecodePlan plan,
                         MakePlan(problem, backend.profile(), resolved));
  if (resolved.print_dispatch) PrintOnce(plan);
  return plan;
}

}  // namespace

absl::StatusOr<DecodePlan> PlanDecode(const DecodeShape& shape,
                                      const Backend& backend,
                                      const DecodeOptions& options) {
  PAGED_ASSIGN_OR_RETURN(const DecodeProblem problem, ValidateShape(shape));
  return PlanProblem(problem, backend, options);
}

absl::Status SupportsReason(const DecodeArgs& args, const Backend& backend,
                            const DecodeOptions& options) {
  PAGED_ASSIGN_OR_RETURN(const DecodeProblem problem, Validate(args));
  PAGED_ASSIGN_OR_RETURN(const DecodeOptions resolved, ResolveOptions(options));
  PAGED_RETURN_IF_ERROR(
      MakePlan(problem, backend.profile(), resolved).status());
  return internal::CheckPointers(args, backend.profile().kind);
}

absl::Status Decode(const DecodeArgs& args, Backend& backend,
                    const DecodeOptions& options, Stream stream) {
  const internal::ProfileRange range("paged/decode");
  PAGED_ASSIGN_OR_RETURN(const DecodeProblem problem, Validate(args));
  PAGED_ASSIGN_OR_RETURN(const DecodePlan plan,
                         PlanProblem(problem, backend, options));
  if (options.validate_tables) {
    PAGED_RETURN_IF_ERROR(backend.CheckTables(args, stream));
  }
  PAGED_RETURN_IF_ERROR(backend.Prepare(plan));
  PAGED_ASSIGN_OR_RETURN(const Workspace workspace,
                         backend.Reserve(plan.workspace_bytes));
  const RunContext context{
      .stream = stream, .workspace = workspace, .schedule = nullptr};
  PAGED_RETURN_IF_ERROR(backend.InitWorkspace(plan, context));
  PAGED_RETURN_IF_ERROR(backend.Run(plan, args, context));
  return backend.Synchronize(stream);
}

}  // namespace paged
