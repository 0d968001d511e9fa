// How far long work is: a bar with the time that is left on a terminal, plain
// lines elsewhere.
#ifndef PAGED_APPS_PROGRESS_H_
#define PAGED_APPS_PROGRESS_H_

#include <chrono>
#include <iosfwd>
#include <string>

namespace paged {

// "[######....]  6/10, 1:23 left"; nothing is known of the time before the
// first step is done.
std::string ProgressBar(int num_done, int num_steps, double elapsed_seconds);

class Progress {
 public:
  Progress(std::ostream& stream, int num_steps);
  // Leaves no bar behind.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // What the next step is about.
  void Begin(const std::string& step);
  // One line on the step that is done.
  void Done(const std::string& line);
  // A step that was not needed does not count for the time.
  void Skip();

 private:
  void EraseBar();

  std::ostream& stream_;
  const bool is_terminal_;
  const int num_steps_;
  int num_done_ = 0;
  int num_skipped_ = 0;
  std::chrono::steady_clock::time_point start_ =
      std::chrono::steady_clock::now();
};

}  // namespace paged

#endif  // PAGED_APPS_PROGRESS_H_
