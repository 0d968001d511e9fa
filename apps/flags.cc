#include "apps/flags.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <system_error>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "apps/words.h"
#include "paged/internal/status_macros.h"

namespace paged {
namespace {

const FlagSpec* Find(const FlagTable& table, const std::string& name) {
  for (const FlagSpec& spec : table) {
    if (spec.name == name) return &spec;
  }
  return nullptr;
}

absl::Status UnknownFlag(const FlagTable& table, const std::string& name) {
  std::vector<std::string> names;
  for (const FlagSpec& spec : table) names.push_back(spec.name);
  const std::optional<std::string> nearest = NearestOf(name, names);
  return absl::InvalidArgumentError(absl::StrCat(
      "unknown flag --", Printable(name),
      nearest.has_value() ? absl::StrCat("; did you mean --", *nearest, "?")
                          : "; --help lists the flags"));
}

absl::Status BadValue(const std::string& name, const std::string& rule,
                      const std::string& value) {
  return absl::InvalidArgumentError(
      absl::StrCat("--", name, " must be ", rule, "; got ",
                   value.empty() ? "nothing" : Printable(value)));
}

// All of `text` as a number; empty otherwise.
template <typename Number>
std::optional<Number> ParseNumber(const std::string& text) {
  Number number{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end) return std::nullopt;
  return number;
}

}  // namespace

absl::StatusOr<Flags> Flags::Parse(const FlagTable& table,
                                   const std::vector<std::string>& args) {
  Flags flags;
  for (std::size_t i = 0; i < args.size(); ++i) {
    const std::string& arg = args[i];
    if (arg == "--") {
      flags.positional_.insert(flags.positional_.end(), args.begin() + i + 1,
                               args.end());
      break;
    }
    if (arg == "-h" || arg == "--help") {
      flags.values_["help"] = "true";
      continue;
    }
    if (arg.size() < 2 || arg[0] != '-') {
      flags.positional_.push_back(arg);
      continue;
    }
    const std::size_t start = absl::StartsWith(arg, "--") ? 2 : 1;
    const std::size_t equals = arg.find('=');
    const std::string name = arg.substr(
        start, equals == std::string::npos ? equals : equals - start);
    const FlagSpec* spec = Find(table, name);
    if (spec == nullptr || start == 1) return UnknownFlag(table, name);

    const bool is_switch = spec->value.empty();
    if (equals != std::string::npos) {
      const std::string value = arg.substr(equals + 1);
      if (is_switch && value != "true" && value != "false") {
        return BadValue(name, "true or false, or stand alone", value);
      }
      flags.values_[name] = value;
    } else if (is_switch) {
      flags.values_[name] = "true";
    } else if (i + 1 < args.size() && !absl::StartsWith(args[i + 1], "--")) {
      flags.values_[name] = args[++i];
    } else {
      return absl::InvalidArgumentError(absl::StrCat(
          "--", name, " needs a value: --", name, "=", spec->value));
    }
  }
  return flags;
}

absl::Status Flags::RefusePositional(const std::string& command) const {
  if (positional_.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      command, " takes flags alone; got ", Printable(positional_.front())));
}

Flags Flags::Without(const std::string& name) const {
  Flags rest = *this;
  rest.values_.erase(name);
  return rest;
}

bool Flags::IsOn(const std::string& name) const {
  const auto it = values_.find(name);
  return it != values_.end() && it->second == "true";
}

std::optional<std::string> Flags::Text(const std::string& name) const {
  const auto it = values_.find(name);
  if (it == values_.end()) return std::nullopt;
  return it->second;
}

absl::StatusOr<std::optional<int>> Flags::Int(const std::string& name,
                                              IntRange range) const {
  const std::optional<std::string> text = Text(name);
  if (!text.has_value()) return std::optional<int>();
  const std::optional<int> number = ParseNumber<int>(*text);
  if (!number.has_value() || *number < range.min || *number > range.max) {
    return BadValue(
        name, absl::StrCat("an integer from ", range.min, " to ", range.max),
        *text);
  }
  return number;
}

absl::StatusOr<std::vector<int>> Flags::Ints(const std::string& name,
                                             IntRange range) const {
  std::vector<int> numbers;
  const std::optional<std::string> text = Text(name);
  if (!text.has_value()) return numbers;
  for (const std::string& part :
       std::vector<std::string>(absl::StrSplit(*text, ','))) {
    const std::optional<int> number = ParseNumber<int>(part);
    if (!number.has_value() || *number < range.min || *number > range.max) {
      return BadValue(name,
                      absl::StrCat("integers from ", range.min, " to ",
                                   range.max, " with commas between them"),
                      *text);
    }
    numbers.push_back(*number);
  }
  return numbers;
}

absl::StatusOr<std::optional<float>> Flags::PositiveFloat(
    const std::string& name) const {
  const std::optional<std::string> text = Text(name);
  if (!text.has_value()) return std::optional<float>();
  const std::optional<float> number = ParseNumber<float>(*text);
  if (!number.has_value() || !std::isfinite(*number) || !(*number > 0.0f)) {
    return BadValue(name, "a finite number above 0", *text);
  }
  return number;
}

absl::StatusOr<std::optional<std::string>> Flags::OneOf(
    const std::string& name, const std::vector<std::string>& allowed) const {
  const std::optional<std::string> text = Text(name);
  if (!text.has_value()) return std::optional<std::string>();
  if (std::find(allowed.begin(), allowed.end(), *text) == allowed.end()) {
    return BadValue(name, AnyOf(allowed), *text);
  }
  return text;
}

std::string DescribeFlags(const FlagTable& table) {
  std::string text;
  for (const FlagSpec& spec : table) {
    std::string flag = absl::StrCat("--", spec.name);
    if (!spec.value.empty()) absl::StrAppend(&flag, "=", spec.value);
    // A long flag stands alone, and its text on the line below.
    if (flag.size() > 26) {
      absl::StrAppendFormat(&text, "  %s\n  %-26s %s\n", flag, "", spec.help);
    } else {
      absl::StrAppendFormat(&text, "  %-26s %s\n", flag, spec.help);
    }
  }
  return text;
}

std::string Printable(const std::string& text) {
  constexpr std::size_t kMaxLength = 80;
  const std::string escaped = absl::CHexEscape(text.substr(0, kMaxLength));
  return text.size() > kMaxLength ? absl::StrCat(escaped, "...") : escaped;
}

}  // namespace paged
