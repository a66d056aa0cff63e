// SPDX-License-Identifier: MIT
// Foreign bytes as text that a terminal, a page or an XML reader can hold.
#ifndef MCP_RESUME_EXAMPLES_REPORT_TEXT_HPP
#define MCP_RESUME_EXAMPLES_REPORT_TEXT_HPP

#include <cstddef>
#include <string>
#include <string_view>

#include "../printable.hpp"

namespace oracle {

using example::printable;
using example::valid_utf8;

// Markup characters as references. XML: what XML 1.0 cannot hold becomes U+FFFD, and line ends survive in an attribute.
std::string xml_text(std::string_view bytes);
inline std::string html_text(std::string_view bytes) { return xml_text(printable(bytes)); }

// In columns of a terminal: 2 for each code point of the scripts that are written wide.
std::size_t columns_of(std::string_view utf8);

// At most so many columns, the last of them an ellipsis where something was cut off.
std::string shortened(std::string_view utf8, std::size_t most_columns);

}  // namespace oracle

#endif  // MCP_RESUME_EXAMPLES_REPORT_TEXT_HPP
