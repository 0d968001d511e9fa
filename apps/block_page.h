// A replay as one HTML page: the pool over time, with nothing to load.
#ifndef PAGED_APPS_BLOCK_PAGE_H_
#define PAGED_APPS_BLOCK_PAGE_H_

#include <string>

#include "apps/block_replay.h"

namespace paged {

// The occupancy over time and the pool as a grid, both inline SVG, and a slider
// that moves through the steps; light or dark as the reader's system is.
// `title` is any text.
std::string BlockPage(const std::string& title, const BlockReplay& replay);

}  // namespace paged

#endif  // PAGED_APPS_BLOCK_PAGE_H_
