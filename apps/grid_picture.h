// How a plan's programs lie on the units of a device, as text.
#ifndef PAGED_APPS_GRID_PICTURE_H_
#define PAGED_APPS_GRID_PICTURE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "paged/device_profile.h"
#include "paged/plan.h"

namespace paged {

// CTAs on each unit when `num_ctas` are dealt one to each unit in turn, at most
// `resident_ctas` to any: what the hardware does with the first wave of a grid.
std::vector<int> DealCtas(int64_t num_ctas, int num_units, int resident_ctas);

// Rows of one character per unit: '.' is idle, a digit counts CTAs ('+' from
// ten on). A GPU's first wave, and its last where there are several; for a CPU,
// one line on its threads. Empty for plans without a grid.
std::string GridPicture(const DecodePlan& plan, const DeviceProfile& profile);

}  // namespace paged

#endif  // PAGED_APPS_GRID_PICTURE_H_
