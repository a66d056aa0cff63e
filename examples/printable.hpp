// SPDX-License-Identifier: MIT
// Foreign bytes as text that a terminal can hold.
#ifndef MCP_RESUME_EXAMPLES_PRINTABLE_HPP
#define MCP_RESUME_EXAMPLES_PRINTABLE_HPP

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace example {

// Calls `visit` with each code point and its bytes.
template <class Visit>
void for_each_code_point(std::string_view utf8, Visit visit) {
  while (!utf8.empty()) {
    const auto lead = static_cast<unsigned char>(utf8[0]);
    const std::size_t size = lead < 0x80U ? 1 : lead < 0xE0U ? 2 : lead < 0xF0U ? 3 : 4;
    std::uint32_t value = size == 1 ? lead : lead & (0xFFU >> (size + 1));
    const std::string_view bytes = utf8.substr(0, size);
    for (const char c : bytes.substr(1)) value = (value << 6U) | (static_cast<unsigned char>(c) & 0x3FU);
    visit(value, bytes);
    utf8.remove_prefix(bytes.size());
  }
}

// What a terminal obeys, or what shows the rest of a line in another order than it is in.
inline bool is_control(std::uint32_t c) {
  const bool is_separator = c == 0x2028U || c == 0x2029U;
  const bool is_direction =
      c == 0x61CU || c == 0x200EU || c == 0x200FU || (c >= 0x202AU && c <= 0x202EU) || (c >= 0x2066U && c <= 0x2069U);
  return c < 0x20U || (c >= 0x7FU && c < 0xA0U) || is_separator || is_direction || c == 0xFEFFU;
}

// As UTF-8: what is none becomes U+FFFD. The JSON library knows what UTF-8 is.
inline std::string valid_utf8(std::string_view bytes) {
  using nlohmann::json;
  return json::parse(json(bytes).dump(-1, ' ', false, json::error_handler_t::replace)).get<std::string>();
}

// `\n`, `\x1b` or `\u202e`.
inline std::string escape_of(std::uint32_t c) {
  if (c == '\n') return "\\n";
  if (c == '\r') return "\\r";
  if (c == '\t') return "\\t";
  constexpr char digits[] = "0123456789abcdef";
  std::string out = c < 0x80U ? "\\x" : "\\u";
  for (unsigned shift = c < 0x80U ? 8 : 16; shift != 0;) out += digits[(c >> (shift -= 4)) & 0xFU];
  return out;
}

// On one line, harmless to a terminal: valid UTF-8, with control and direction characters escaped.
inline std::string printable(std::string_view bytes) {
  std::string out;
  for_each_code_point(valid_utf8(bytes), [&out](std::uint32_t c, std::string_view text) {
    if (is_control(c)) {
      out += escape_of(c);
    } else {
      out += text;
    }
  });
  return out;
}

}  // namespace example

#endif  // MCP_RESUME_EXAMPLES_PRINTABLE_HPP
