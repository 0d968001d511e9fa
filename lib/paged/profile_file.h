// Device profiles as text: what `paged calibrate` writes, and PAGED_PROFILE
// names.
//
// Example:
//
//     paged::DeviceProfile profile = paged::H200Profile();
//     profile.bandwidth_gb_per_s = 4321;
//     const std::string text = paged::ProfileText(profile);
//     CHECK(paged::ParseProfile(text).value() == profile);
#ifndef PAGED_LIB_PAGED_PROFILE_FILE_H_
#define PAGED_LIB_PAGED_PROFILE_FILE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "paged/device_profile.h"

namespace paged {

// One "field value" per line, all fields. Lines that begin with # are comments.
std::string ProfileText(const DeviceProfile& profile);

// InvalidArgument names the line of an unknown field, a field that is given
// twice, missing, or not a number that it can be.
absl::StatusOr<DeviceProfile> ParseProfile(absl::string_view text);

// NotFound for a file that cannot be read; else as ParseProfile.
absl::StatusOr<DeviceProfile> ReadProfile(const std::string& path);

}  // namespace paged

#endif  // PAGED_LIB_PAGED_PROFILE_FILE_H_
