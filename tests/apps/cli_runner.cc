#include "tests/apps/cli_runner.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "apps/cli.h"

namespace paged::testing {
namespace {

constexpr const char* kVariables[] = {"PAGED_VARIANT", "PAGED_SPLITS",
                                      "PAGED_REDUCTION", "PAGED_VERBOSE"};

void UnsetAll() {
  for (const char* variable : kVariables) unsetenv(variable);
}

}  // namespace

std::vector<nlohmann::json> CliResult::JsonLines() const {
  std::vector<nlohmann::json> lines;
  std::istringstream stream(out);
  for (std::string line; std::getline(stream, line);) {
    lines.push_back(nlohmann::json::parse(line));
  }
  return lines;
}

bool CliResult::ErrIsOneLine() const {
  return err.size() > 1 && err.find('\n') == err.size() - 1;
}

CliResult RunCli(const std::vector<std::string>& args,
                 const Environment& environment) {
  UnsetAll();
  for (const auto& [variable, value] : environment) {
    setenv(variable.c_str(), value.c_str(), 1);
  }
  std::ostringstream out, err;
  CliResult result;
  result.exit_code = RunMain(args, out, err);
  result.out = out.str();
  result.err = err.str();
  UnsetAll();
  return result;
}

std::vector<std::string> KeysOf(const nlohmann::json& object) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.push_back(key);
  std::sort(keys.begin(), keys.end());
  return keys;
}

}  // namespace paged::testing
