// SPDX-License-Identifier: MIT
// See report_text.hpp.
#include "report_text.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <iterator>

namespace oracle {
namespace {

using example::for_each_code_point;

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
