// SPDX-License-Identifier: MIT
// JSON from strangers: nlohmann-json parses any depth, but copies, compares and prints by recursion, so what nests too
// deep would overflow the stack later. Its parser's callback, which sees the depth, costs the square of an array's size.
#ifndef MCP_RESUME_EXAMPLES_BOUNDED_JSON_HPP
#define MCP_RESUME_EXAMPLES_BOUNDED_JSON_HPP

#include <algorithm>
#include <cstddef>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>

namespace example {

constexpr int most_nested = 64;

// What a text would be as JSON: how deep it nests, and how many values it has at the most.
struct json_shape {
  int depth = 0;
  std::size_t values = 1;
};

// Looks at brackets and commas outside of strings alone: what is no JSON is the parser's to refuse.
inline json_shape shape_of(std::string_view text) {
  json_shape shape;
  int depth = 0;
  bool is_in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (is_in_string && c == '\\') {
      ++i;
    } else if (c == '"') {
      is_in_string = !is_in_string;
    } else if (!is_in_string && (c == '[' || c == '{')) {
      shape.depth = std::max(shape.depth, ++depth);
      ++shape.values;
    } else if (!is_in_string && (c == ']' || c == '}')) {
      --depth;
    } else if (!is_in_string && c == ',') {
      ++shape.values;
    }
  }
  return shape;
}

inline bool nests_too_deep(std::string_view text) { return shape_of(text).depth > most_nested; }

// The value, or a discarded one where the text is no JSON, nests too deep or has too many values: each takes up to 160
// bytes, from as few as 2 of the text.
inline nlohmann::json parse_bounded(std::string_view text,
                                    std::size_t most_values = std::numeric_limits<std::size_t>::max()) {
  const json_shape shape = shape_of(text);
  const bool is_within = shape.depth <= most_nested && shape.values <= most_values;
  if (!is_within) return nlohmann::json(nlohmann::json::value_t::discarded);
  return nlohmann::json::parse(text, nullptr, false);
}

}  // namespace example

#endif  // MCP_RESUME_EXAMPLES_BOUNDED_JSON_HPP
