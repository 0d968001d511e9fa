#include "apps/sweep_map.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "apps/terminal.h"
#include "nlohmann/json.hpp"
#include "paged/internal/status_macros.h"
#include "paged/validate.h"

namespace paged {
namespace {

constexpr int kLargestBatch = 256;
constexpr int kSmallestContext = 128;
constexpr int kLargestContext = 131072;

std::string TokensText(int tokens) {
  return tokens >= 1024 ? absl::StrCat(tokens / 1024, "k")
                        : absl::StrCat(tokens);
}

std::string CellOf(const DecodePlan& plan) {
  return plan.variant == Variant::kSplitK ? absl::StrCat(plan.num_splits)
                                          : std::string(NameOf(plan.variant));
}

// The smallest batch that v1 serves.
std::string FirstV1(const SweepMap& map, std::size_t column) {
  for (std::size_t row = 0; row < map.num_seqs.size(); ++row) {
    if (map.at(row, column).variant == Variant::kV1) {
      return absl::StrCat(map.num_seqs[row]);
    }
  }
  return "-";
}

}  // namespace

absl::StatusOr<SweepMap> MakeSweepMap(const ShapeRequest& request,
                                      const DeviceProfile& profile,
                                      const DecodeOptions& options) {
  SweepMap map;
  for (int n = 1; n <= kLargestBatch; n *= 2) map.num_seqs.push_back(n);
  for (int n = kSmallestContext; n <= kLargestContext; n *= 2) {
    map.context_lens.push_back(n);
  }
  for (int num_seqs : map.num_seqs) {
    for (int context_len : map.context_lens) {
      ShapeRequest cell = request;
      cell.num_seqs = num_seqs;
      cell.context_len = context_len;
      PAGED_ASSIGN_OR_RETURN(const DecodeProblem problem,
                             ValidateShape(DecodeShapeOf(cell)));
      PAGED_ASSIGN_OR_RETURN(const DecodePlan plan,
                             MakePlan(problem, profile, options));
      map.plans.push_back(plan);
    }
  }
  return map;
}

std::string TextOf(const SweepMap& map, const DeviceProfile& profile,
                   bool has_colour) {
  std::string text = absl::StrFormat(
      "%s%s: what is chosen, v1 or that many splits\n\n%14s", profile.name,
      profile.is_estimated ? " (estimated from its data sheet)" : "",
      "context");
  for (int context_len : map.context_lens) {
    absl::StrAppendFormat(&text, "%6s", TokensText(context_len));
  }
  for (std::size_t row = 0; row < map.num_seqs.size(); ++row) {
    absl::StrAppendFormat(&text, "\n%9s %4d", row == 0 ? "sequences" : "",
                          map.num_seqs[row]);
    for (std::size_t column = 0; column < map.context_lens.size(); ++column) {
      const DecodePlan& plan = map.at(row, column);
      const Colour colour =
          plan.variant == Variant::kSplitK ? Colour::kYellow : Colour::kGreen;
      text += Painted(absl::StrFormat("%6s", CellOf(plan)), colour, has_colour);
    }
  }
  absl::StrAppendFormat(&text, "\n\n%14s", "v1 from");
  for (std::size_t column = 0; column < map.context_lens.size(); ++column) {
    absl::StrAppendFormat(&text, "%6s", FirstV1(map, column));
  }
  return text + "  sequences\n";
}

std::string JsonLinesOf(const SweepMap& map) {
  std::string text;
  for (const DecodePlan& plan : map.plans) {
    const nlohmann::ordered_json json = {
        {"num_seqs", plan.shape.num_seqs},
        {"context_len", plan.shape.max_context_len},
        {"variant", std::string(NameOf(plan.variant))},
        {"splits", plan.num_splits},
        {"predicted_us", plan.predicted_us}};
    absl::StrAppend(&text, json.dump(), "\n");
  }
  return text;
}

}  // namespace paged
