// SPDX-License-Identifier: MIT
// What is refused by its headers, before the library or a handler is asked.
#ifndef MCP_RESUME_EXAMPLES_ADMISSION_HPP
#define MCP_RESUME_EXAMPLES_ADMISSION_HPP

#include <httplib.h>

#include <string>

namespace example {

// The status that refuses, or 0. `principal_header` may be empty: then everybody is nobody.
int refusal_of(const httplib::Request& asked, const std::string& principal_header);

std::string in_lower_case(std::string text);

// What `Allow` lists.
std::string methods_of(const std::string& path);

}  // namespace example

#endif  // MCP_RESUME_EXAMPLES_ADMISSION_HPP
