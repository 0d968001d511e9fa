#include "apps/words.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace paged {
namespace {

constexpr std::size_t kMaxLength = 40;

// Levenshtein's distance, in which two neighbours that changed places are one
// edit (optimal string alignment).
int EditDistance(const std::string& a, const std::string& b) {
  // Of the first i letters of a, and of one and two letters fewer.
  std::vector<int> row(b.size() + 1), above(b.size() + 1), two_above;
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = static_cast<int>(j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    two_above = std::exchange(above, row);
    row[0] = static_cast<int>(i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({above[j] + 1, row[j - 1] + 1,
                         above[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], two_above[j - 2] + 1);
      }
    }
  }
  return row[b.size()];
}

}  // namespace

std::string AnyOf(const std::vector<std::string>& words) {
  const auto last = words.end() - 1;
  return words.size() < 2
             ? absl::StrJoin(words, "")
             : absl::StrCat(absl::StrJoin(words.begin(), last, ", "), " or ",
                            *last);
}

std::optional<std::string> NearestOf(const std::string& name,
                                     const std::vector<std::string>& words) {
  if (name.size() > kMaxLength) return std::nullopt;
  std::optional<std::string> nearest;
  int distance = static_cast<int>(name.size()) / 2 + 1;
  for (const std::string& word : words) {
    const int candidate = EditDistance(name, word);
    if (candidate < distance) {
      distance = candidate;
      nearest = word;
    }
  }
  return nearest;
}

}  // namespace paged
