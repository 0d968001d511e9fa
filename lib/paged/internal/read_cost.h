// What a plan reads, and how fast its CTAs can: the parts of the cost model
// that know instances, rows and caches. Figures behind them are in
// read_cost.cc.
#ifndef PAGED_LIB_PAGED_INTERNAL_READ_COST_H_
#define PAGED_LIB_PAGED_INTERNAL_READ_COST_H_

#include <cstdint>

#include "paged/device_profile.h"
#include "paged/plan.h"

namespace paged::internal {

// Of keys and values of one kv head.
int BytesPerToken(const DecodeShape& shape);

// Tokens that a sequence of `context_len` reads.
int TokensRead(const DecodeShape& shape, int64_t context_len);

// How many busy units would saturate the memory, when each of them runs
// `ctas_at_once`.
double ComputeKnee(const DecodePlan& plan, const DeviceProfile& profile,
                   int64_t ctas_at_once);

// Bytes that all row tiles read, as so many of the memory's.
double BytesRead(const DecodePlan& plan);

// How often the memory reads each of them, or how much longer it takes for
// pieces; at least 1.
double RereadsOf(const DecodePlan& plan, const DeviceProfile& profile);

}  // namespace paged::internal

#endif  // PAGED_LIB_PAGED_INTERNAL_READ_COST_H_
