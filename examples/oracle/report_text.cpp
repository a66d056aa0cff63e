// SPDX-License-Identifier: MIT
// See report_text.hpp.
#include "report_text.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <iterator>
#include <nlohmann/json.hpp>

namespace oracle {
namespace {

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
bool is_control(std::uint32_t c) {
  const bool is_separator = c == 0x2028U || c == 0x2029U;
  const bool is_direction =
      c == 0x61CU || c == 0x200EU || c == 0x200FU || (c >= 0x202AU && c <= 0x202EU) || (c >= 0x2066U && c <= 0x2069U);
  return c < 0x20U || (c >= 0x7FU && c < 0xA0U) || is_separator || is_direction || c == 0xFEFFU;
}

bool is_xml(std::uint32_t c) {
  if (c < 0x20U) return c == '\t' || c == '\n' || c == '\r';
  return c != 0xFFFEU && c != 0xFFFFU;
}

std::size_t columns_of(std::uint32_t c) {
  const bool is_wide = (c >= 0x1100U && c <= 0x115FU) || (c >= 0x2E80U && c <= 0xA4CFU) ||
                       (c >= 0xAC00U && c <= 0xD7A3U) || (c >= 0xF900U && c <= 0xFAFFU) ||
                       (c >= 0xFF00U && c <= 0xFF60U) || (c >= 0x1F300U && c <= 0x1FAFFU) ||
                       (c >= 0x20000U && c <= 0x3FFFDU);
  return is_wide ? 2 : 1;
}

}  // namespace

// The JSON library knows what UTF-8 is.
std::string valid_utf8(std::string_view bytes) {
  using nlohmann::json;
  return json::parse(json(bytes).dump(-1, ' ', false, json::error_handler_t::replace)).get<std::string>();
}

std::string printable(std::string_view bytes) {
  std::string out;
  for_each_code_point(valid_utf8(bytes), [&out](std::uint32_t c, std::string_view text) {
    if (!is_control(c)) {
      out += text;
    } else if (c == '\n' || c == '\r' || c == '\t') {
      out += c == '\n' ? "\\n" : c == '\r' ? "\\r" : "\\t";
    } else {
      fmt::format_to(std::back_inserter(out), c < 0x80U ? "\\x{:02x}" : "\\u{:04x}", c);
    }
  });
  return out;
}

std::string xml_text(std::string_view bytes) {
  std::string out;
  for_each_code_point(valid_utf8(bytes), [&out](std::uint32_t c, std::string_view text) {
    const bool is_markup = c == '&' || c == '<' || c == '>' || c == '"' || c == '\'' || c < 0x20U;
    if (!is_xml(c)) {
      out += "\xEF\xBF\xBD";
    } else if (is_markup) {
      fmt::format_to(std::back_inserter(out), "&#{};", c);
    } else {
      out += text;
    }
  });
  return out;
}

std::size_t columns_of(std::string_view utf8) {
  std::size_t columns = 0;
  for_each_code_point(utf8, [&columns](std::uint32_t c, std::string_view) { columns += columns_of(c); });
  return columns;
}

std::string shortened(std::string_view utf8, std::size_t most_columns) {
  if (columns_of(utf8) <= most_columns) return std::string(utf8);
  std::string out;
  std::size_t columns = 1;  // of the ellipsis
  bool is_full = false;
  for_each_code_point(utf8, [&](std::uint32_t c, std::string_view text) {
    is_full = is_full || columns + columns_of(c) > most_columns;
    if (is_full) return;
    columns += columns_of(c);
    out += text;
  });
  return out + "\xE2\x80\xA6";
}

}  // namespace oracle
