#include "benchmarks/measurer.h"

namespace paged::benchmarks {

DecodeOptions AutomaticOptions() {
  DecodeOptions options;
  options.variant = Variant::kAuto;
  options.splits = 0;
  options.reduction = Reduction::kAuto;
  options.partition = Partition::kAuto;
  return options;
}

DecodeOptions OptionsOf(absl::string_view variant) {
  DecodeOptions options = AutomaticOptions();
  if (variant == "auto_invariant") {
    options.batch_invariance = BatchInvariance::kOn;
    return options;
  }
  options.variant = ParseVariant(variant).value();
  return options;
}

Row MakeFailedRow(absl::string_view variant, const BenchShape& shape,
                  Cache cache, absl::string_view error) {
  Row row;
  row.name = RowName(variant, shape, cache);
  row.error = std::string(error);
  row.kv_bytes = static_cast<double>(shape.kv_bytes());
  return row;
}

Row MakeRow(absl::string_view variant, const BenchShape& shape, Cache cache,
            const DecodePlan& plan) {
  Row row = MakeFailedRow(variant, shape, cache, "");
  row.splits = plan.num_splits;
  row.ctas = static_cast<double>(plan.num_ctas);
  row.ctas_per_sm = plan.resident_ctas;
  row.waves = plan.waves;
  row.workspace_bytes = static_cast<double>(plan.workspace_bytes);
  return row;
}

void SetTime(Row& row, double time_us, double gather_us) {
  row.time_us = time_us;
  row.gb_per_s = row.kv_bytes / time_us * 1e-3;
  row.ratio_to_gather = gather_us / time_us;
}

}  // namespace paged::benchmarks
