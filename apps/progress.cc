#include "apps/progress.h"

#include <algorithm>
#include <ostream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "apps/terminal.h"

namespace paged {
namespace {

constexpr int kBarWidth = 24;
// Back to the first column, and nothing right of it.
constexpr char kEraseLine[] = "\r\033[K";

}  // namespace

std::string ProgressBar(int num_done, int num_steps, double elapsed_seconds) {
  const int filled =
      num_steps == 0 ? kBarWidth : num_done * kBarWidth / num_steps;
  std::string text = absl::StrFormat(
      "[%s%s] %d/%d", std::string(static_cast<std::size_t>(filled), '#'),
      std::string(static_cast<std::size_t>(kBarWidth - filled), '.'), num_done,
      num_steps);
  if (num_done > 0 && num_done < num_steps) {
    const auto left = static_cast<long>(
        elapsed_seconds / num_done * (num_steps - num_done) + 0.5);
    absl::StrAppendFormat(&text, ", %d:%02d left", left / 60, left % 60);
  }
  return text;
}

Progress::Progress(std::ostream& stream, int num_steps)
    : stream_(stream),
      is_terminal_(IsTerminal(stream)),
      num_steps_(num_steps) {}

Progress::~Progress() { EraseBar(); }

void Progress::EraseBar() {
  if (is_terminal_) stream_ << kEraseLine << std::flush;
}

void Progress::Begin(const std::string& step) {
  if (!is_terminal_) return;
  const std::chrono::duration<double> elapsed =
      std::chrono::steady_clock::now() - start_;
  stream_ << kEraseLine
          << ProgressBar(num_done_ - num_skipped_, num_steps_ - num_skipped_,
                         elapsed.count())
          << "  " << step << std::flush;
}

void Progress::Done(const std::string& line) {
  ++num_done_;
  EraseBar();
  stream_ << num_done_ << "/" << num_steps_ << "  " << line << "\n"
          << std::flush;
}

void Progress::Skip() {
  ++num_done_;
  ++num_skipped_;
}

}  // namespace paged
