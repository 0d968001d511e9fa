#include "apps/run_report.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "apps/flags.h"
#include "nlohmann/json.hpp"

namespace paged {

std::string DescribeInput(const RunRequest& request,
                          const std::vector<Layer>& layers) {
  const Layer& layer = layers.front();
  const auto [shortest, longest] =
      std::minmax_element(layer.context_lens.begin(), layer.context_lens.end());
  std::string lens = "no sequence";
  if (layer.num_seqs > 0) {
    lens = absl::StrFormat("%d %s of %s tokens", layer.num_seqs,
                           layer.num_seqs == 1 ? "sequence" : "sequences",
                           *shortest == *longest
                               ? absl::StrCat(*longest)
                               : absl::StrCat(*shortest, " to ", *longest));
  }
  return absl::StrFormat(
      "%s: %d %s; %s; %d q heads over %d kv heads, head_dim %d, %s\n"
      "Paged into shuffled blocks of %d tokens; unused slots are NaN.\n\n",
      Printable(request.path), layers.size(),
      layers.size() == 1 ? "layer" : "layers", lens, layer.num_q_heads,
      layer.num_kv_heads, layer.head_dim, NameOf(layer.dtype),
      request.paging.block_size);
}

std::string HeaderLine() {
  return absl::StrFormat(
      "%-9s %-7s %-15s %6s  %-13s %10s %8s %13s %12s %9s  result\n", "layer",
      "backend", "variant", "splits", "decided by", "time us", "GB/s",
      "max abs error", "rel L2 error", "tolerance");
}

std::string TextLine(const RunRow& row) {
  const auto name = NameOf(row.plan.variant);
  return absl::StrFormat(
      "%-9s %-7s %-15s %6d  %-13s %10.1f %8.2f %13.2e %12.2e %9.0e  %s\n",
      row.layer, row.backend,
      row.is_auto ? absl::StrCat("auto -> ", name) : std::string(name),
      row.plan.num_splits, NameOf(row.plan.decided_by), row.time_us,
      row.gb_per_s, row.accuracy.max_abs_error, row.accuracy.max_relative_l2,
      row.tolerance, row.accuracy.pass ? "PASS" : "FAIL");
}

std::string JsonLine(const RunRow& row) {
  const nlohmann::ordered_json json = {
      {"layer", row.layer},
      {"backend", row.backend},
      {"variant", std::string(NameOf(row.plan.variant))},
      {"splits", row.plan.num_splits},
      {"decided_by", std::string(NameOf(row.plan.decided_by))},
      {"time_us", row.time_us},
      {"gb_per_s", row.gb_per_s},
      {"max_abs_error", row.accuracy.max_abs_error},
      {"tolerance", row.tolerance},
      {"pass", row.accuracy.pass}};
  return json.dump() + "\n";
}

}  // namespace paged
