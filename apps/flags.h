// Command line flags: a table of them, and the values that were given.
//
// Example:
//
//     const FlagTable table = {{"splits", "N", "splits per sequence"},
//                              {"json", "", "one JSON object per line"}};
//     absl::StatusOr<Flags> flags =
//         Flags::Parse(table, {"--splits=4", "FILE", "--json"});
//     int splits = flags->Int("splits", {.min = 0, .max = 1024})->value_or(0);
#ifndef PAGED_APPS_FLAGS_H_
#define PAGED_APPS_FLAGS_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace paged {

struct FlagSpec {
  std::string name;   // without dashes
  std::string value;  // what help shows after '='; empty for a switch
  std::string help;
};
using FlagTable = std::vector<FlagSpec>;

struct IntRange {
  int min;
  int max;
};

class Flags {
 public:
  // Reads `--name=value`, `--name value` and switches, before or after the
  // other arguments; `--` ends the flags. `--help` and `-h` are always known.
  // The last of several values counts. InvalidArgument for an unknown flag
  // (with the nearest known one) and for a missing value.
  static absl::StatusOr<Flags> Parse(const FlagTable& table,
                                     const std::vector<std::string>& args);

  // Arguments that are no flags.
  const std::vector<std::string>& positional() const { return positional_; }

  // InvalidArgument when there are any, for a command that has none.
  absl::Status RefusePositional(const std::string& command) const;

  // The same, as if `name` had not been given.
  Flags Without(const std::string& name) const;

  // A switch that was given.
  bool IsOn(const std::string& name) const;
  // Empty when the flag was not given. The typed ones return InvalidArgument
  // that names flag, rule and value.
  std::optional<std::string> Text(const std::string& name) const;
  absl::StatusOr<std::optional<int>> Int(const std::string& name,
                                         IntRange range) const;
  // Integers with commas between them; empty when the flag was not given.
  absl::StatusOr<std::vector<int>> Ints(const std::string& name,
                                        IntRange range) const;
  absl::StatusOr<std::optional<float>> PositiveFloat(
      const std::string& name) const;
  absl::StatusOr<std::optional<std::string>> OneOf(
      const std::string& name, const std::vector<std::string>& allowed) const;

 private:
  std::map<std::string, std::string> values_;
  std::vector<std::string> positional_;
};

// One aligned line per flag, as `--help` prints them.
std::string DescribeFlags(const FlagTable& table);

// Text from outside as it may stand in a message: one line, printable, short.
std::string Printable(const std::string& text);

}  // namespace paged

#endif  // PAGED_APPS_FLAGS_H_
