#include "apps/interrupt.h"

namespace paged {
namespace {

volatile std::sig_atomic_t was_interrupted = 0;

void Remember(int) { was_interrupted = 1; }

}  // namespace

InterruptScope::InterruptScope() {
  was_interrupted = 0;
  struct sigaction action = {};
  action.sa_handler = &Remember;
  // The second of a kind finds the default again. What is being written, to a
  // terminal say, goes on: else its stream would take nothing any more.
  action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_RESTART;
  sigaction(SIGINT, &action, &old_int_);
  sigaction(SIGTERM, &action, &old_term_);
}

InterruptScope::~InterruptScope() {
  sigaction(SIGINT, &old_int_, nullptr);
  sigaction(SIGTERM, &old_term_, nullptr);
}

bool InterruptScope::WasInterrupted() { return was_interrupted != 0; }

}  // namespace paged
