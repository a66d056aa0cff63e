// SPDX-License-Identifier: MIT
// JSON from strangers: nlohmann-json parses any depth, but copies, compares and prints by recursion, so what nests too
// deep would overflow the stack later. Its parser's callback, which sees the depth, costs the square of an array's size.
#ifndef MCP_RESUME_EXAMPLES_BOUNDED_JSON_HPP
#define MCP_RESUME_EXAMPLES_BOUNDED_JSON_HPP

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string_view>

namespace example {

constexpr int most_nested = 64;

// Looks at brackets outside of strings alone: what is no JSON is the parser's to refuse.
inline bool nests_too_deep(std::string_view text) {
  int depth = 0;
  bool is_in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (is_in_string && c == '\\') {
      ++i;
    } else if (c == '"') {
      is_in_string = !is_in_string;
    } else if (!is_in_string && (c == '[' || c == '{') && ++depth > most_nested) {
      return true;
    } else if (!is_in_string && (c == ']' || c == '}')) {
      --depth;
    }
  }
  return false;
}

// The value, or a discarded one where the text is no JSON or nests too deep.
inline nlohmann::json parse_bounded(std::string_view text) {
  if (nests_too_deep(text)) return nlohmann::json(nlohmann::json::value_t::discarded);
  return nlohmann::json::parse(text, nullptr, false);
}

}  // namespace example

#endif  // MCP_RESUME_EXAMPLES_BOUNDED_JSON_HPP
