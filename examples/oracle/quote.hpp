// SPDX-License-Identifier: MIT
// Foreign text inside a sentence: short, and harmless to a terminal.
#ifndef MCP_RESUME_EXAMPLES_QUOTE_HPP
#define MCP_RESUME_EXAMPLES_QUOTE_HPP

#include <string>
#include <string_view>

#include "report_text.hpp"

namespace oracle {

inline std::string in_quotes(std::string_view text) {
  return "\"" + shortened(printable(text.substr(0, 200)), 60) + "\"";
}

}  // namespace oracle

#endif  // MCP_RESUME_EXAMPLES_QUOTE_HPP
