// Ctrl-C as a question that long work asks itself.
#ifndef PAGED_APPS_INTERRUPT_H_
#define PAGED_APPS_INTERRUPT_H_

#include <csignal>

namespace paged {

// While it lives, the first SIGINT or SIGTERM is remembered, and a second one
// ends the program at once. One at a time.
class InterruptScope {
 public:
  InterruptScope();
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;

  static bool WasInterrupted();

 private:
  struct sigaction old_int_, old_term_;
};

}  // namespace paged

#endif  // PAGED_APPS_INTERRUPT_H_
