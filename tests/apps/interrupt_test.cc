#include "apps/interrupt.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/types.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace paged::testing {
namespace {

// Whether this process's main thread sleeps, as the kernel says it.
bool MainThreadSleeps() {
  std::ifstream stat(absl::StrCat("/proc/self/task/", getpid(), "/stat"));
  std::string text;
  std::getline(stat, text);
  return text.find(") S ") != std::string::npos;
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
    while (!MainThreadSleeps()) std::this_thread::yield();
    pthread_kill(main_thread, SIGINT);
    while (!InterruptScope::WasInterrupted()) std::this_thread::yield();
    std::string bytes(static_cast<std::size_t>(num_waiting), ' ');
    EXPECT_EQ(read(from, bytes.data(), bytes.size()), num_waiting);
  });
  const ssize_t num_written = write(to, "+", 1);
  other.join();
  ASSERT_EQ(num_written, 1);
  char last = ' ';
  EXPECT_EQ(read(from, &last, 1), 1);
  EXPECT_EQ(last, '+');
  close(from);
  close(to);
}

}  // namespace
}  // namespace paged::testing
