#include "apps/layer_runner.h"

#include <cmath>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "apps/explanation_text.h"
#include "paged/decode.h"
#include "paged/internal/status_macros.h"

namespace paged {
namespace {

bool NeedsCpu(const DecodeOptions& resolved) {
  return resolved.variant == Variant::kReference;
}

absl::Status ReferenceOnCuda(const DecodeOptions& resolved) {
  const bool is_env = resolved.variant_source == OptionSource::kEnvironment;
  return absl::InvalidArgumentError(
      absl::StrCat("--backend must be auto or cpu with ",
                   is_env ? "PAGED_VARIANT" : "--variant",
                   "=reference, which runs on the CPU; got cuda"));
}

// The sentence that the cost model owes; empty when others decided.
absl::StatusOr<std::string> ExplainPlan(const DecodePlan& plan,
                                        const DeviceProfile& profile,
                                        const DecodeOptions& resolved) {
  if (plan.decided_by != DecidedBy::kCostModel) return std::string();
  PAGED_ASSIGN_OR_RETURN(const DecodeProblem problem,
                         ValidateShape(plan.shape));
  PAGED_ASSIGN_OR_RETURN(const Explanation explanation,
                         Explain(problem, profile, resolved));
  return ReasonOf(explanation, profile);
}

}  // namespace

absl::StatusOr<Backends> Backends::Make(BackendChoice choice) {
  Backends backends;
  backends.cpu = MakeCpuBackend();
  if (choice == BackendChoice::kCpu) return backends;
  absl::StatusOr<std::unique_ptr<Backend>> cuda = MakeCudaBackend();
  if (cuda.ok()) {
    backends.cuda = *std::move(cuda);
    return backends;
  }
  PAGED_RETURN_IF_ERROR(NoCuda(choice, cuda.status(), backends.note));
  return backends;
}

LayerRunner::LayerRunner(const Layer& layer, const RunRequest& request,
                         Backends& backends)
    : layer_(layer), request_(request), backends_(backends) {}

void LayerRunner::ComputeAnswers() {
  if (reference_.has_value()) return;
  const double scale = request_.paging.scale.has_value()
                           ? double{*request_.paging.scale}
                           : 1.0 / std::sqrt(layer_.head_dim);
  reference_ = ComputeReference(layer_, scale);
  if (layer_.expected) expected_.output = ToDoubles(*layer_.expected);
  if (layer_.expected_lse) expected_.lse = ToDoubles(*layer_.expected_lse);
}

absl::StatusOr<PagedLayer*> LayerRunner::PagedFor(const Backend& backend) {
  const DeviceKind kind = backend.profile().kind;
  std::optional<PagedLayer>& paged =
      kind == DeviceKind::kCpu ? on_cpu_ : on_cuda_;
  if (!paged.has_value()) {
    PAGED_ASSIGN_OR_RETURN(paged,
                           PagedLayer::Create(layer_, kind, request_.paging));
  }
  return &*paged;
}

absl::StatusOr<LayerRunner::Placed> LayerRunner::PlaceOn(
    Backend& backend, const DecodeOptions& options) const {
  PAGED_ASSIGN_OR_RETURN(const DecodeShape shape,
                         ShapeOfPaged(layer_, request_.paging));
  PAGED_ASSIGN_OR_RETURN(const DecodePlan plan,
                         PlanDecode(shape, backend, options));
  return Placed{&backend, plan, ""};
}

absl::StatusOr<LayerRunner::Placed> LayerRunner::Place(
    const DecodeOptions& options) const {
  PAGED_ASSIGN_OR_RETURN(const DecodeOptions resolved, ResolveOptions(options));
  const bool must_be_cuda =
      request_.backend == BackendChoice::kCuda && !request_.is_all;
  if (NeedsCpu(resolved) && must_be_cuda) return ReferenceOnCuda(resolved);
  if (backends_.cuda == nullptr || NeedsCpu(resolved)) {
    return PlaceOn(*backends_.cpu, options);
  }
  absl::StatusOr<Placed> placed = PlaceOn(*backends_.cuda, options);
  const bool may_fall_back =
      request_.backend == BackendChoice::kAuto &&
      placed.status().code() == absl::StatusCode::kUnimplemented;
  if (!may_fall_back) return placed;
  const std::string note =
      absl::StrCat("the CPU runs this: ", placed.status().message());
  placed = PlaceOn(*backends_.cpu, options);
  if (placed.ok()) placed->note = note;
  return placed;
}

Accuracy LayerRunner::Check(const Answer& answer) const {
  return WorseOf(Compare(layer_, answer, expected_, "the file's expected"),
                 Compare(layer_, answer, *reference_, "the fp64 reference"));
}

absl::Status LayerRunner::CanPlan(const DecodeOptions& options) const {
  return Place(options).status();
}

absl::StatusOr<LayerRun> LayerRunner::Run(const DecodeOptions& options) {
  PAGED_ASSIGN_OR_RETURN(const DecodeOptions resolved, ResolveOptions(options));
  PAGED_ASSIGN_OR_RETURN(const Placed placed, Place(options));
  PAGED_ASSIGN_OR_RETURN(PagedLayer* const paged, PagedFor(*placed.backend));
  ComputeAnswers();
  PAGED_ASSIGN_OR_RETURN(const PagedLayer::Run run,
                         paged->Execute(placed.plan, *placed.backend));
  const DeviceProfile& profile = placed.backend->profile();
  LayerRun result;
  result.note = placed.note;
  PAGED_ASSIGN_OR_RETURN(result.reason,
                         ExplainPlan(placed.plan, profile, resolved));
  result.row = {
      .layer = layer_.name,
      .backend = profile.kind == DeviceKind::kCpu ? "cpu" : "cuda",
      .is_auto = resolved.variant.value_or(Variant::kAuto) == Variant::kAuto,
      .plan = placed.plan,
      .time_us = run.time_us,
      .gb_per_s = run.time_us > 0 ? static_cast<double>(layer_.kv_bytes()) *
                                        1e-3 / run.time_us
                                  : 0,
      .tolerance = ToleranceOf(layer_.dtype),
      .accuracy = Check(run.answer)};
  return result;
}

}  // namespace paged
