#include "apps/interrupt.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/types.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace paged::testing {
namespace {

// What the kernel says of the main thread: "State" or "SigPnd", its signals
// that are sent and not delivered.
std::string StatusOfMainThread(const std::string& field) {
  std::ifstream lines(absl::StrCat("/proc/self/task/", getpid(), "/status"));
  std::string line;
  while (std::getline(lines, line)) {
    if (absl::StartsWith(line, field)) return line.substr(field.size() + 2);
  }
  return "";
}

// The signal comes while a write waits for a reader.
TEST(InterruptTest, AWriteGoesOn) {
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  const auto [from, to] = pipe_ends;
  ASSERT_EQ(fcntl(to, F_SETFL, O_NONBLOCK), 0);
  ssize_t num_waiting = 0;
  while (write(to, "-", 1) == 1) ++num_waiting;
  ASSERT_EQ(fcntl(to, F_SETFL, 0), 0);

  const InterruptScope scope;
  EXPECT_FALSE(InterruptScope::WasInterrupted());
  std::thread other([from = from, num_waiting, main_thread = pthread_self()] {
    while (StatusOfMainThread("State")[0] != 'S') std::this_thread::yield();
    pthread_kill(main_thread, SIGINT);
    while (StatusOfMainThread("SigPnd") != "0000000000000000") {
      std::this_thread::yield();
    }
    std::string bytes(static_cast<std::size_t>(num_waiting), ' ');
    EXPECT_EQ(read(from, bytes.data(), bytes.size()), num_waiting);
  });
  const ssize_t num_written = write(to, "+", 1);
  other.join();
  ASSERT_EQ(num_written, 1);
  EXPECT_TRUE(InterruptScope::WasInterrupted());
  char last = ' ';
  EXPECT_EQ(read(from, &last, 1), 1);
  EXPECT_EQ(last, '+');
  close(from);
  close(to);
}

}  // namespace
}  // namespace paged::testing
