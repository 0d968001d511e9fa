#include "benchmarks/regret.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"

namespace paged::benchmarks {
namespace {

using nlohmann::ordered_json;

std::string Text(absl::string_view view) { return std::string(view); }

// What the replay finds a plan by.
ordered_json PlanJson(const TimedPlan& timed) {
  const DecodePlan& plan = timed.plan;
  return {{"variant", Text(NameOf(plan.variant))},
          {"partition", Text(NameOf(plan.partition))},
          {"splits", plan.num_splits},
          {"reduction", Text(NameOf(plan.reduction))},
          {"instance", NameOf(plan.instance)},
          {"starts_early", plan.starts_early},
          {"predicted_us", plan.predicted_us},
          {"time_us", timed.time_us}};
}

bool IsPlan(const nlohmann::json& json, const DecodePlan& plan) {
  return json.at("variant") == Text(NameOf(plan.variant)) &&
         json.at("partition") == Text(NameOf(plan.partition)) &&
         json.at("splits") == plan.num_splits &&
         json.at("reduction") == Text(NameOf(plan.reduction)) &&
         json.at("instance") == NameOf(plan.instance) &&
         json.at("starts_early") == plan.starts_early;
}

ordered_json ShapeJson(const BenchShape& shape) {
  ordered_json json = {{"num_seqs", shape.num_seqs()},
                       {"num_kv_heads", shape.num_kv_heads},
                       {"group", shape.group},
                       {"head_dim", shape.head_dim},
                       {"block_size", shape.block_size},
                       {"dtype", Text(NameOf(shape.dtype))},
                       {"max_context_len", shape.max_context_len()},
                       {"num_tokens", shape.num_tokens()},
                       {"kv_bytes", shape.kv_bytes()},
                       {"ragged", shape.is_ragged()}};
  return json;
}

// The problem that the benchmark gave the planner.
absl::StatusOr<DecodeProblem> ProblemOf(const nlohmann::json& json) {
  DecodeShape shape;
  shape.num_seqs = json.at("num_seqs");
  shape.num_kv_heads = json.at("num_kv_heads");
  shape.num_q_heads = shape.num_kv_heads * json.at("group").get<int>();
  shape.head_dim = json.at("head_dim");
  shape.block_size = json.at("block_size");
  shape.max_context_len = json.at("max_context_len");
  shape.expected_context_len =
      static_cast<int>(json.at("num_tokens").get<int64_t>() / shape.num_seqs);
  shape.max_blocks_per_seq =
      (shape.max_context_len + shape.block_size - 1) / shape.block_size;
  shape.num_blocks = int64_t{shape.num_seqs} * shape.max_blocks_per_seq;
  if (json.at("ragged")) shape.lengths = LengthSpread::kRagged;
  absl::StatusOr<DType> dtype = ParseDType(json.at("dtype").get<std::string>());
  if (!dtype.ok()) return dtype.status();
  shape.query_dtype = *dtype;
  shape.kv_dtype = *dtype;
  return ValidateShape(shape);
}

absl::StatusOr<ReplayedRegret> ReplayRow(const nlohmann::json& row,
                                         const DeviceProfile& profile) {
  ReplayedRegret replayed = {
      .name = row.at("name"), .problem = "", .regret = 0};
  const absl::StatusOr<DecodeProblem> problem = ProblemOf(row.at("shape"));
  if (!problem.ok()) return problem.status();
  const absl::StatusOr<DecodePlan> plan = MakePlan(*problem, profile, {});
  if (!plan.ok()) return plan.status();
  double time_us = row.at("auto_us");
  if (!IsPlan(row.at("auto"), *plan)) {
    const auto& measured = row.at("forced");
    const auto same =
        std::find_if(measured.begin(), measured.end(),
                     [&](const auto& json) { return IsPlan(json, *plan); });
    if (same == measured.end()) {
      replayed.problem = absl::StrCat("was not measured; run dispatch_regret: ",
                                      ToString(*plan));
      return replayed;
    }
    time_us = same->at("time_us");
  }
  replayed.regret = std::max(1.0, time_us / row.at("best_us").get<double>());
  return replayed;
}

}  // namespace

const TimedPlan& RegretRow::best() const {
  const TimedPlan* best = &automatic;
  for (const TimedPlan& timed : forced) {
    if (timed.time_us < best->time_us) best = &timed;
  }
  return *best;
}

double RegretRow::regret() const { return automatic.time_us / best().time_us; }

std::string RegretJson(const RegretContext& context,
                       const std::vector<RegretRow>& rows) {
  ordered_json shapes = ordered_json::array();
  std::vector<double> regrets;
  for (const RegretRow& row : rows) {
    ordered_json forced = ordered_json::array();
    for (const TimedPlan& timed : row.forced) forced.push_back(PlanJson(timed));
    const TimedPlan& best = row.best();
    shapes.push_back({{"name", row.shape.name},
                      {"shape", ShapeJson(row.shape.shape)},
                      {"auto_us", row.automatic.time_us},
                      {"auto", PlanJson(row.automatic)},
                      {"best_us", best.time_us},
                      {"best", PlanJson(best)},
                      {"regret", row.regret()},
                      {"forced", std::move(forced)}});
    regrets.push_back(row.regret());
  }
  std::sort(regrets.begin(), regrets.end());
  const ordered_json json = {
      {"device", context.device},
      {"driver", context.driver},
      {"commit", context.commit},
      {"kernels_core", context.kernels_core},
      {"kernels_cuda", context.kernels_cuda},
      {"command", context.command},
      {"median", regrets.empty() ? 0 : regrets[regrets.size() / 2]},
      {"worst", regrets.empty() ? 0 : regrets.back()},
      {"shapes", std::move(shapes)}};
  return json.dump(1) + "\n";
}

absl::StatusOr<std::vector<ReplayedRegret>> ReplayRegret(
    const std::string& text, const DeviceProfile& profile) {
  try {
    const nlohmann::json json = nlohmann::json::parse(text);
    std::vector<ReplayedRegret> replayed;
    for (const nlohmann::json& row : json.at("shapes")) {
      absl::StatusOr<ReplayedRegret> one = ReplayRow(row, profile);
      if (!one.ok()) return one.status();
      replayed.push_back(*std::move(one));
    }
    return replayed;
  } catch (const nlohmann::json::exception& error) {
    return absl::InvalidArgumentError(
        absl::StrCat("no record of dispatch_regret: ", error.what()));
  }
}

}  // namespace paged::benchmarks
