#include "apps/grid_picture.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace paged {
namespace {

// Two rows of an H200's 132 SMs.
constexpr std::size_t kUnitsPerRow = 66;

char Letter(int num_ctas) {
  if (num_ctas == 0) return '.';
  return num_ctas < 10 ? static_cast<char>('0' + num_ctas) : '+';
}

std::string Rows(const std::vector<int>& ctas) {
  std::string text;
  for (std::size_t i = 0; i < ctas.size(); ++i) {
    if (i % kUnitsPerRow == 0) {
      absl::StrAppendFormat(&text, "%s  SM %3d  ", i == 0 ? "" : "\n", i);
    }
    text += Letter(ctas[i]);
  }
  return text + "\n";
}

std::string Wave(const char* title, int64_t num_ctas, const DecodePlan& plan,
                 const DeviceProfile& profile) {
  const std::vector<int> ctas =
      DealCtas(num_ctas, profile.num_units, plan.resident_ctas);
  const auto num_idle = std::count(ctas.begin(), ctas.end(), 0);
  return absl::StrFormat("%s%d CTAs, %d of %d SMs idle\n%s", title, num_ctas,
                         num_idle, profile.num_units, Rows(ctas));
}

}  // namespace

std::vector<int> DealCtas(int64_t num_ctas, int num_units, int resident_ctas) {
  const int64_t dealt = std::min(num_ctas, int64_t{num_units} * resident_ctas);
  std::vector<int> ctas(static_cast<std::size_t>(num_units));
  for (int64_t i = 0; i < num_units; ++i) {
    ctas[static_cast<std::size_t>(i)] =
        static_cast<int>(dealt / num_units + (i < dealt % num_units ? 1 : 0));
  }
  return ctas;
}

std::string GridPicture(const DecodePlan& plan, const DeviceProfile& profile) {
  if (plan.num_ctas == 0 || plan.resident_ctas == 0) return "";
  if (profile.kind == DeviceKind::kCpu) {
    const int64_t least = plan.num_ctas / profile.num_units;
    const bool is_even = plan.num_ctas % profile.num_units == 0;
    return absl::StrFormat(
        "grid     %d programs on %d threads: %s each\n", plan.num_ctas,
        profile.num_units,
        is_even ? absl::StrCat(least) : absl::StrCat(least, " or ", least + 1));
  }
  const int64_t slots = int64_t{profile.num_units} * plan.resident_ctas;
  if (plan.num_ctas <= slots) {
    return Wave("grid     ", plan.num_ctas, plan, profile);
  }
  const int64_t rest = (plan.num_ctas - 1) % slots + 1;
  return absl::StrCat(Wave("grid     first wave: ", slots, plan, profile),
                      Wave("         last wave: ", rest, plan, profile));
}

}  // namespace paged
