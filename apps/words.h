// Words for messages to people.
#ifndef PAGED_APPS_WORDS_H_
#define PAGED_APPS_WORDS_H_

#include <optional>
#include <string>
#include <vector>

namespace paged {

// "a, b or c"
std::string AnyOf(const std::vector<std::string>& words);

// The word that `name` may have been meant to be: fewer than half of its
// letters differ. Texts longer than any word resemble none.
std::optional<std::string> NearestOf(const std::string& name,
                                     const std::vector<std::string>& words);

}  // namespace paged

#endif  // PAGED_APPS_WORDS_H_
