// The program itself, as a process of its own.
#ifndef PAGED_TESTS_APPS_PROGRAM_H_
#define PAGED_TESTS_APPS_PROGRAM_H_

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace paged::testing {

// apps/paged beside the folder of this test, wherever both were copied; else
// where it was built.
std::filesystem::path FindProgram();

struct ProcessResult {
  int exit_code = -1;  // -1: it ended by a signal, or did not start
  std::string output;  // of stdout and stderr
};

// Runs the program on a pseudoterminal, with `environment` ("NAME=value")
// added. `poll` is called a hundred times a second with its process id until it
// ends.
ProcessResult RunOnTerminal(
    const std::vector<std::string>& args,
    const std::vector<std::string>& environment = {},
    const std::function<void(pid_t)>& poll = [](pid_t) {});

}  // namespace paged::testing

#endif  // PAGED_TESTS_APPS_PROGRAM_H_
