// SPDX-License-Identifier: MIT
// What a program says to wrong options. They may come from anywhere, so their bytes do not reach a terminal as they are.
#ifndef MCP_RESUME_EXAMPLES_USAGE_ERROR_HPP
#define MCP_RESUME_EXAMPLES_USAGE_ERROR_HPP

#include <CLI/CLI.hpp>
#include <string>

#include "printable.hpp"

namespace example {

// For CLI::App::failure_message.
inline std::string usage_error(const CLI::App*, const CLI::Error& e) {
  return printable(e.what()) + "\nRun with --help for more information.\n";
}

}  // namespace example

#endif  // MCP_RESUME_EXAMPLES_USAGE_ERROR_HPP
