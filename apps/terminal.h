// Whether a stream is read by a person, and what such a stream may be sent.
#ifndef PAGED_APPS_TERMINAL_H_
#define PAGED_APPS_TERMINAL_H_

#include <iosfwd>
#include <string>

namespace paged {

// Whether `stream` is std::cout or std::cerr, and that is a terminal.
bool IsTerminal(const std::ostream& stream);

// A terminal whose user wants colours: NO_COLOR (https://no-color.org) is unset
// or empty, and TERM is not "dumb".
bool WantsColour(const std::ostream& stream);

enum class Colour { kGreen, kYellow, kBlue, kDim, kBold };

// The text between the codes of a colour; the text alone when `is_on` is false.
std::string Painted(const std::string& text, Colour colour, bool is_on);

}  // namespace paged

#endif  // PAGED_APPS_TERMINAL_H_
