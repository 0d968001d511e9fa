#include "apps/explanation_text.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "nlohmann/json.hpp"

namespace paged {
namespace {

const char* UnitsOf(const DeviceProfile& profile) {
  if (profile.num_units == 1) {
    return profile.kind == DeviceKind::kCpu ? "thread" : "SM";
  }
  return profile.kind == DeviceKind::kCpu ? "threads" : "SMs";
}

// "split_k with 4 splits"; "v1".
std::string Title(const DecodePlan& plan) {
  const auto name = NameOf(plan.variant);
  if (plan.variant != Variant::kSplitK) return std::string(name);
  if (plan.partition == Partition::kChunks) {
    return absl::StrCat(name, " in chunks");
  }
  return absl::StrCat(name, " with ", plan.num_splits,
                      plan.num_splits == 1 ? " split" : " splits");
}

// What a program of the plan is, and how it fills the device.
std::string Work(const DecodePlan& plan, const DeviceProfile& profile) {
  return absl::StrFormat("%d programs on %d %s x %d (%.2f waves), %.1f us",
                         plan.num_ctas, profile.num_units, UnitsOf(profile),
                         plan.resident_ctas, plan.waves, plan.predicted_us);
}

// Impossible candidates are listed with their reason, and have no prediction.
bool Fits(const DecodePlan& plan) { return plan.predicted_us > 0; }

// The fastest candidate of the variant; null when none fits.
const DecodePlan* BestOf(const Explanation& explanation, Variant variant) {
  const DecodePlan* best = nullptr;
  for (const Candidate& candidate : explanation.candidates) {
    const DecodePlan& plan = candidate.plan;
    if (plan.variant != variant || !Fits(plan)) continue;
    if (best == nullptr || plan.predicted_us < best->predicted_us) best = &plan;
  }
  return best;
}

nlohmann::ordered_json CandidateJson(const Candidate& candidate) {
  const DecodePlan& plan = candidate.plan;
  const auto text = [](absl::string_view view) { return std::string(view); };
  // JSON has no infinities.
  const auto finite = [](double x) { return std::isfinite(x) ? x : 1e308; };
  return {{"variant", text(NameOf(plan.variant))},
          {"partition", text(NameOf(plan.partition))},
          {"splits", plan.num_splits},
          {"reduction", text(NameOf(plan.reduction))},
          {"instance", NameOf(plan.instance)},
          {"ctas", plan.num_ctas},
          {"resident_ctas", plan.resident_ctas},
          {"waves", finite(plan.waves)},
          {"kv_bytes", plan.kv_bytes},
          {"predicted_us", finite(plan.predicted_us)},
          {"rejected_because", candidate.rejected_because}};
}

bool IsChosen(const Explanation& explanation, const Candidate& candidate) {
  return candidate.plan == explanation.chosen ||
         candidate.rejected_because.empty();
}

// Whether `a` deserves a line rather than `b`.
bool IsBetter(const Explanation& explanation, const Candidate& a,
              const Candidate& b) {
  const auto key = [&](const Candidate& candidate) {
    return std::tuple(!IsChosen(explanation, candidate), !Fits(candidate.plan),
                      candidate.plan.predicted_us);
  };
  return key(a) < key(b);
}

// The candidates worth a line: of each (variant, partition, splits) the chosen
// one, else the fastest that fits, in that order.
std::vector<const Candidate*> BestPerSplits(const Explanation& explanation) {
  std::map<std::tuple<Variant, Partition, int>, const Candidate*> best;
  for (const Candidate& candidate : explanation.candidates) {
    const Candidate*& place =
        best[{candidate.plan.variant, candidate.plan.partition,
              candidate.plan.num_splits}];
    if (place == nullptr || IsBetter(explanation, candidate, *place)) {
      place = &candidate;
    }
  }
  std::vector<const Candidate*> rows;
  for (const auto& [key, candidate] : best) rows.push_back(candidate);
  return rows;
}

std::string DescribeProfile(const DeviceProfile& profile) {
  return absl::StrFormat(
      "device   %s%s: %d %s, %.0f GB/s\n", profile.name,
      profile.is_estimated ? " (estimated from its data sheet)" : "",
      profile.num_units, UnitsOf(profile), profile.bandwidth_gb_per_s);
}

std::string DescribeShape(const DecodePlan& plan) {
  const DecodeShape& shape = plan.shape;
  return absl::StrFormat(
      "problem  %d %s of %d tokens, %d q heads over %d kv heads (group %d), "
      "head_dim %d, %s, block_size %d\n"
      "reads    %.2f MB of keys and values, once per kv head\n",
      shape.num_seqs, shape.num_seqs == 1 ? "sequence" : "sequences",
      shape.expected_context_len > 0 ? shape.expected_context_len
                                     : shape.max_context_len,
      shape.num_q_heads, shape.num_kv_heads,
      shape.num_q_heads / std::max(shape.num_kv_heads, 1), shape.head_dim,
      NameOf(shape.kv_dtype), shape.block_size,
      static_cast<double>(plan.kv_bytes) * 1e-6);
}

}  // namespace

std::string ReasonOf(const Explanation& explanation,
                     const DeviceProfile& profile) {
  const DecodePlan& chosen = explanation.chosen;
  const std::string start =
      Fits(chosen)
          ? absl::StrCat(Title(chosen), ": ", Work(chosen, profile))
          : absl::StrCat(Title(chosen), ", which no cost model describes");
  if (chosen.decided_by != DecidedBy::kCostModel) {
    return absl::StrCat(start, "; decided by ", NameOf(chosen.decided_by));
  }
  const DecodePlan* other =
      BestOf(explanation,
             chosen.variant == Variant::kV1 ? Variant::kSplitK : Variant::kV1);
  if (other == nullptr) return absl::StrCat(start, "; nothing else fits");
  return absl::StrCat(start, "; the best of the others is ", Title(*other),
                      ": ", Work(*other, profile));
}

std::string TableOf(const Explanation& explanation,
                    const DeviceProfile& profile) {
  std::string text = absl::StrCat(DescribeProfile(profile),
                                  DescribeShape(explanation.chosen), "\n");
  absl::StrAppendFormat(&text, "  %-9s %6s  %-26s %-11s %8s %6s %8s %9s %12s\n",
                        "variant", "splits", "instance", "reduction", "CTAs",
                        "slots", "waves", "KV MB", "predicted us");
  const std::vector<const Candidate*> rows = BestPerSplits(explanation);
  for (const Candidate* candidate : rows) {
    const DecodePlan& plan = candidate->plan;
    const bool is_chosen = IsChosen(explanation, *candidate);
    const std::string predicted =
        Fits(plan) ? absl::StrFormat("%.1f", plan.predicted_us) : "-";
    absl::StrAppendFormat(
        &text, "%s %-9s %6d  %-26s %-11s %8d %6d %8.2f %9.2f %12s  %s\n",
        is_chosen ? ">" : " ", NameOf(plan.variant), plan.num_splits,
        NameOf(plan.instance), NameOf(plan.reduction), plan.num_ctas,
        int64_t{profile.num_units} * plan.resident_ctas, plan.waves,
        static_cast<double>(plan.kv_bytes) * 1e-6, predicted,
        is_chosen ? "chosen" : candidate->rejected_because);
  }
  const std::size_t rest = explanation.candidates.size() - rows.size();
  if (rest > 0) {
    absl::StrAppend(&text, "  and ", rest,
                    " more with other instances; --json lists all\n");
  }
  absl::StrAppend(&text, "\nchosen   ", ReasonOf(explanation, profile),
                  ".\nslots are CTAs that the device holds at once; a wave "
                  "fills them once.\n");
  return text;
}

std::string JsonOf(const Explanation& explanation) {
  nlohmann::ordered_json candidates = nlohmann::ordered_json::array();
  for (const Candidate& candidate : explanation.candidates) {
    candidates.push_back(CandidateJson(candidate));
  }
  const nlohmann::ordered_json json = {
      {"chosen", CandidateJson({explanation.chosen, ""})},
      {"decided_by", std::string(NameOf(explanation.chosen.decided_by))},
      {"candidates", std::move(candidates)}};
  return json.dump();
}

}  // namespace paged
