#include "apps/terminal.h"

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <iostream>

#include "absl/strings/str_cat.h"

namespace paged {

bool IsTerminal(const std::ostream& stream) {
  if (&stream == &std::cout) return isatty(STDOUT_FILENO) == 1;
  if (&stream == &std::cerr) return isatty(STDERR_FILENO) == 1;
  return false;
}

bool WantsColour(const std::ostream& stream) {
  const char* no_color = std::getenv("NO_COLOR");
  if (no_color != nullptr && *no_color != '\0') return false;
  const char* term = std::getenv("TERM");
  if (term == nullptr || std::strcmp(term, "dumb") == 0) return false;
  return IsTerminal(stream);
}

std::string Painted(const std::string& text, Colour colour, bool is_on) {
  if (!is_on) return text;
  const char* code = "1";
  switch (colour) {
    case Colour::kGreen:
      code = "32";
      break;
    case Colour::kYellow:
      code = "33";
      break;
    case Colour::kBlue:
      code = "34";
      break;
    case Colour::kDim:
      code = "2";
      break;
    case Colour::kBold:
      break;
  }
  return absl::StrCat("\033[", code, "m", text, "\033[0m");
}

}  // namespace paged
