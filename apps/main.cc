// Entry of the program `paged`.
#include <iostream>
#include <string>
#include <vector>

#include "apps/cli.h"

int main(int argc, char** argv) {
  // A program may be started without even its name.
  std::vector<std::string> args;
  for (int i = 1; i < argc; ++i) args.emplace_back(argv[i]);
  return paged::RunMain(args, std::cout, std::cerr);
}
