// A block manager in numbers, to see that a call that failed changed nothing.
#ifndef PAGED_TESTS_LIB_BLOCKS_SNAPSHOT_H_
#define PAGED_TESTS_LIB_BLOCKS_SNAPSHOT_H_

#include <cstdint>
#include <vector>

#include "paged/block_manager.h"

namespace paged::testing {

// Everything that a call could change: two managers with the same snapshot
// answer every later call alike.
std::vector<uint64_t> SnapshotOf(const BlockManager& manager);

}  // namespace paged::testing

#endif  // PAGED_TESTS_LIB_BLOCKS_SNAPSHOT_H_
