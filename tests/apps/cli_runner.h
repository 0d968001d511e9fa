// Calls the command line program inside the test.
#ifndef PAGED_TESTS_APPS_CLI_RUNNER_H_
#define PAGED_TESTS_APPS_CLI_RUNNER_H_

#include <map>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"

namespace paged::testing {

using Environment = std::map<std::string, std::string>;

struct CliResult {
  int exit_code = -1;
  std::string out;
  std::string err;

  // One object per line of `out`.
  std::vector<nlohmann::json> JsonLines() const;
  // An error is one line, so that scripts can show it.
  bool ErrIsOneLine() const;
};

// Sets `environment` and unsets every other PAGED_* option for the call.
CliResult RunCli(const std::vector<std::string>& args,
                 const Environment& environment = {});

std::vector<std::string> KeysOf(const nlohmann::json& object);

}  // namespace paged::testing

#endif  // PAGED_TESTS_APPS_CLI_RUNNER_H_
