// SPDX-License-Identifier: MIT
// field_cases FILE...: runs field cases against the library. The last line is `N passed, N failed, N skipped`.

#include <iostream>

#include "field_runner.hpp"

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: field_cases FILE...\n";
    return 2;
  }
  return field::run_files(std::vector<std::string>(argv + 1, argv + argc), std::cout);
}
