#include "paged/profile_file.h"

#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <set>
#include <type_traits>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "paged/internal/status_macros.h"

namespace paged {
namespace {

// Calls `visit(name, field)` with every field of a profile; the one list of
// them.
template <typename Profile, typename Visit>
void VisitFields(Profile& p, const Visit& visit) {
  visit("name", p.name);
  visit("is_estimated", p.is_estimated);
  visit("num_units", p.num_units);
  visit("max_threads_per_unit", p.max_threads_per_unit);
  visit("max_ctas_per_unit", p.max_ctas_per_unit);
  visit("registers_per_unit", p.registers_per_unit);
  visit("shared_bytes_per_unit", p.shared_bytes_per_unit);
  visit("shared_bytes_per_cta", p.shared_bytes_per_cta);
  visit("reserved_shared_per_cta", p.reserved_shared_per_cta);
  visit("compute_capability", p.compute_capability);
  visit("bandwidth_gb_per_s", p.bandwidth_gb_per_s);
  visit("l2_bytes", p.l2_bytes);
  visit("knee_units", p.knee_units);
  visit("knee_bytes", p.knee_bytes);
  visit("knee_exponent", p.knee_exponent);
  visit("corner_exponent", p.corner_exponent);
  visit("v1_fixed_us", p.v1_fixed_us);
  visit("us_per_row", p.us_per_row);
  visit("us_per_row_split", p.us_per_row_split);
  visit("us_per_wave", p.us_per_wave);
  visit("early_start_us", p.early_start_us);
  visit("second_pass.fixed_us", p.second_pass.fixed_us);
  visit("second_pass.us_per_split", p.second_pass.us_per_split);
  visit("cluster.fixed_us", p.cluster.fixed_us);
  visit("cluster.us_per_split", p.cluster.us_per_split);
  visit("last_cta.fixed_us", p.last_cta.fixed_us);
  visit("last_cta.us_per_split", p.last_cta.us_per_split);
}

bool ParseValue(absl::string_view text, std::string& value) {
  value = std::string(text);
  return !value.empty();
}
bool ParseValue(absl::string_view text, bool& value) {
  return absl::SimpleAtob(text, &value);
}
bool ParseValue(absl::string_view text, double& value) {
  return absl::SimpleAtod(text, &value) && std::isfinite(value) && value >= 0;
}
template <typename Integer>
bool ParseValue(absl::string_view text, Integer& value) {
  return absl::SimpleAtoi(text, &value) && value >= 0;
}

std::string ValueText(const std::string& value) { return value; }
std::string ValueText(bool value) { return value ? "true" : "false"; }
// As many digits as bring the same number back.
std::string ValueText(double value) { return absl::StrFormat("%.17g", value); }
template <typename Integer>
std::string ValueText(Integer value) {
  return absl::StrCat(value);
}

// What arithmetic on a profile divides by.
absl::Status CheckPositive(const DeviceProfile& profile) {
  const struct {
    const char* field;
    double value;
  } fields[] = {{"num_units", static_cast<double>(profile.num_units)},
                {"bandwidth_gb_per_s", profile.bandwidth_gb_per_s},
                {"knee_units", profile.knee_units},
                {"knee_bytes", profile.knee_bytes}};
  for (const auto& [field, value] : fields) {
    if (value > 0) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(field, " must be above 0; got ", value));
  }
  return absl::OkStatus();
}

// Sets the field that a line names.
absl::Status ParseLine(absl::string_view line, int number,
                       std::set<std::string>& seen, DeviceProfile& profile) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(line, absl::MaxSplits(' ', 1));
  const absl::string_view text = absl::StripAsciiWhitespace(parts.second);
  absl::Status status = absl::InvalidArgumentError(
      absl::StrCat("line ", number,
                   " must be a field of a profile and its value; got ", line));
  VisitFields(profile, [&](const char* name, auto& field) {
    if (parts.first != name) return;
    if (!seen.insert(name).second) {
      status = absl::InvalidArgumentError(
          absl::StrCat("line ", number, ": ", name, " is given twice"));
    } else if (ParseValue(text, field)) {
      status = absl::OkStatus();
    } else {
      status = absl::InvalidArgumentError(
          absl::StrCat("line ", number, ": ", name, " cannot be ", text));
    }
  });
  return status;
}

}  // namespace

std::string ProfileText(const DeviceProfile& profile) {
  std::string text;
  VisitFields(profile, [&](const char* name, const auto& field) {
    absl::StrAppend(&text, name, " ", ValueText(field), "\n");
  });
  return text;
}

absl::StatusOr<DeviceProfile> ParseProfile(absl::string_view text) {
  DeviceProfile profile;
  std::set<std::string> seen;
  int number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    line = absl::StripAsciiWhitespace(line);
    if (line.empty() || line.front() == '#') continue;
    PAGED_RETURN_IF_ERROR(ParseLine(line, number, seen, profile));
  }
  absl::Status missing;
  VisitFields(profile, [&](const char* name, const auto&) {
    if (missing.ok() && seen.count(name) == 0) {
      missing = absl::InvalidArgumentError(
          absl::StrCat("a profile must have ", name));
    }
  });
  PAGED_RETURN_IF_ERROR(missing);
  PAGED_RETURN_IF_ERROR(CheckPositive(profile));
  return profile;
}

absl::StatusOr<DeviceProfile> ReadProfile(const std::string& path) {
  std::ifstream file(path);
  if (!file) {
    return absl::NotFoundError(absl::StrCat(
        "profile ", path, " cannot be read: ", std::strerror(errno)));
  }
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  absl::StatusOr<DeviceProfile> profile = ParseProfile(text);
  if (profile.ok()) return profile;
  return absl::Status(
      profile.status().code(),
      absl::StrCat("profile ", path, ": ", profile.status().message()));
}

}  // namespace paged
