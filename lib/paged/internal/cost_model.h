// What a plan is predicted to cost. Pure arithmetic on a profile; no device.
//
//   time = fixed cost + cost per row + cost per wave beyond the first
//        + max(bytes / bandwidth,
//              bytes of the busiest unit * knee / bandwidth)
//        + reduction cost
//
// with the corner of the maximum rounded as the profile says.
//
// The first term of the maximum is the memory's limit. The second is that of a
// device which is not full: `knee` units reach the whole bandwidth, so one unit
// gets 1 / knee of it, and the fewer warps it has at work the less.
#ifndef PAGED_LIB_PAGED_INTERNAL_COST_MODEL_H_
#define PAGED_LIB_PAGED_INTERNAL_COST_MODEL_H_

#include <cstdint>

#include "kernels/core/instance.h"
#include "paged/device_profile.h"
#include "paged/plan.h"

namespace paged::internal {

// CTAs of an instance that one SM holds at once: the least of what threads,
// CTA slots, registers and shared memory allow. 0 when not even one fits.
int ResidentCtas(const InstanceConfig& config, int registers_per_thread,
                 const DeviceProfile& profile);

// Tokens of a sequence of expected_context_len that its query tokens see: all,
// but for windows and chunks.
int ExpectedTokensRead(const DecodeShape& shape);

// The tokens that splits are for: of the longest sequence, where lengths
// differ.
int TokensToSplit(const DecodeShape& shape);

// Bytes of keys and values that a batch of expected_context_len reads, counted
// once per kv head. `shape` has its defaults.
int64_t KvBytes(const DecodeShape& shape);

// Microseconds of a v1 or split_k plan whose other fields are filled in. Never
// rises when the profile's num_units does and all else is equal.
double PredictUs(const DecodePlan& plan, const DeviceProfile& profile);

}  // namespace paged::internal

#endif  // PAGED_LIB_PAGED_INTERNAL_COST_MODEL_H_
