#include "tests/apps/program.h"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <system_error>

namespace paged::testing {
namespace {

[[noreturn]] void Exec(const std::vector<std::string>& args,
                       const std::vector<std::string>& environment) {
  for (const std::string& variable : environment) {
    const std::size_t equals = variable.find('=');
    setenv(variable.substr(0, equals).c_str(),
           variable.substr(equals + 1).c_str(), 1);
  }
  const std::string program = FindProgram().string();
  std::vector<char*> argv = {const_cast<char*>(program.c_str())};
  for (const std::string& arg : args) {
    argv.push_back(const_cast<char*>(arg.c_str()));
  }
  argv.push_back(nullptr);
  execv(program.c_str(), argv.data());
  _exit(127);
}

}  // namespace

std::filesystem::path FindProgram() {
  std::error_code error;
  const std::filesystem::path self =
      std::filesystem::read_symlink("/proc/self/exe", error);
  const std::filesystem::path beside =
      self.parent_path().parent_path() / "apps" / "paged";
  if (!error && std::filesystem::exists(beside, error)) return beside;
  return PAGED_PROGRAM;
}

ProcessResult RunOnTerminal(const std::vector<std::string>& args,
                            const std::vector<std::string>& environment,
                            const std::function<void(pid_t)>& poll_process) {
  ProcessResult result;
  int terminal = -1;
  const pid_t pid = forkpty(&terminal, nullptr, nullptr, nullptr);
  if (pid < 0) return result;
  if (pid == 0) Exec(args, environment);

  char buffer[4096];
  while (true) {
    pollfd ready = {.fd = terminal, .events = POLLIN, .revents = 0};
    poll(&ready, 1, 10);
    poll_process(pid);
    if (ready.revents == 0) continue;
    // The end of the last process on a terminal is an error of its reader.
    const ssize_t count = read(terminal, buffer, sizeof(buffer));
    if (count <= 0) break;
    result.output.append(buffer, static_cast<std::size_t>(count));
  }
  close(terminal);
  int status = 0;
  waitpid(pid, &status, 0);
  if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  return result;
}

}  // namespace paged::testing
