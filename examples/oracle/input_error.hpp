// SPDX-License-Identifier: MIT
// What is wrong with the input: always the place and the field, so that whoever wrote it finds it. Exit status 2.
#ifndef MCP_RESUME_EXAMPLES_INPUT_ERROR_HPP
#define MCP_RESUME_EXAMPLES_INPUT_ERROR_HPP

#include <stdexcept>
#include <string>

namespace oracle {

// `place` is a file and its line ("trace.jsonl:7"), a URL or an option.
struct input_error : std::runtime_error {
  input_error(const std::string& place, const std::string& complaint) : std::runtime_error(place + ": " + complaint) {}
};

}  // namespace oracle

#endif  // MCP_RESUME_EXAMPLES_INPUT_ERROR_HPP
