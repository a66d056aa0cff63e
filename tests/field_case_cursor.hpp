// SPDX-License-Identifier: MIT
// Promise: a cursor is made from its description byte for byte; edits are applied in the order in which they stand.
#pragma once

#include <algorithm>
#include <string>
#include <utility>

#include "field_case_json.hpp"

namespace field {

struct cursor_text {
  std::string text;    // empty: no header, or an empty one
  std::string symbol;  // of `{of}`
  bool is_literal = false;
};

inline constexpr std::size_t largest_literal = std::size_t{64} << 20U;

inline std::string bytes_of_hex(const std::string& digits) {
  const auto value_of = [](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    const char lower = c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c;
    if (lower < 'a' || lower > 'f') throw case_error("hex digits expected");
    return lower - 'a' + 10;
  };
  if (digits.size() % 2 != 0) throw case_error("an odd number of hex digits");
  std::string out;
  for (std::size_t i = 0; i != digits.size(); i += 2) {
    out += static_cast<char>(value_of(digits[i]) * 16 + value_of(digits[i + 1]));
  }
  return out;
}

inline std::string repeated(const std::string& text, std::uint64_t times) {
  if (!text.empty() && times > largest_literal / text.size()) throw case_error("a literal of more than 64 MiB");
  std::string out;
  for (std::uint64_t i = 0; i != times; ++i) out += text;
  return out;
}

// `{raw}`, `{raw_hex}`, `{fill: [char, count]}`, `{empty}`; none for another description.
inline std::optional<std::string> literal_of(const json& written) {
  if (!written.is_object() || written.size() != 1) return std::nullopt;
  const arguments a(written);
  if (a.has("raw")) return a.text("raw");
  if (a.has("raw_hex")) return bytes_of_hex(a.text("raw_hex"));
  if (a.has("empty")) return std::string();
  if (!a.has("fill")) return std::nullopt;
  const json& fill = a.list("fill");
  const auto count = fill.size() == 2 ? as_number(fill[1]) : std::nullopt;
  if (!count || !fill[0].is_string()) throw case_error("`fill` must be [char, count]");
  return repeated(fill[0].get<std::string>(), *count);
}

// The sum as decimal text, beyond 64 bits too; below 0 with a sign, which no id has.
inline std::string add_decimal(std::uint64_t value, const json& amount) {
  if (!amount.is_number_integer()) throw case_error("`seq_plus` must be a whole number");
  if (!amount.is_number_unsigned()) {
    const std::uint64_t less = std::uint64_t{0} - static_cast<std::uint64_t>(amount.get<std::int64_t>());
    return less > value ? "-" + std::to_string(less - value) : std::to_string(value - less);
  }
  const auto more = amount.get<std::uint64_t>();
  std::string out;
  unsigned carry = 0;
  for (std::uint64_t a = value, b = more; a != 0 || b != 0 || carry != 0; a /= 10, b /= 10) {
    const auto digit = static_cast<unsigned>(a % 10 + b % 10) + carry;
    out += static_cast<char>('0' + digit % 10);
    carry = digit / 10;
  }
  std::reverse(out.begin(), out.end());
  return out.empty() ? "0" : out;
}

inline std::string with_seq(const std::string& id, const std::string& seq) {
  const std::size_t dot = id.rfind('.');
  if (dot == std::string::npos) throw case_error("an edit of the seq needs an id");
  return id.substr(0, dot + 1) + seq;
}

inline std::string edited(std::string text, const std::string& edit, const arguments& a) {
  const char* key = edit.c_str();
  if (edit == "append") return text + a.text(key);
  if (edit == "prepend") return a.text(key) + text;
  if (edit == "append_hex") return text + bytes_of_hex(a.text(key));
  if (edit == "drop_last") return text.substr(0, text.size() - std::min<std::size_t>(text.size(), a.number(key)));
  if (edit == "truncate_to") return text.substr(0, a.number(key));
  if (edit == "repeat") return repeated(text, a.number(key));
  if (edit == "seq_text") return with_seq(text, a.text(key));
  if (edit == "seq_plus") {
    const auto seq = parse_number(std::string_view(text).substr(text.rfind('.') + 1));
    if (!seq) throw case_error("`seq_plus` needs an id");
    return with_seq(text, add_decimal(*seq, a.at(key)));
  }
  if (edit != "swap_first_last_char") throw case_error("unknown edit `" + edit + "`");
  if (a.flag_or(key, false) && !text.empty()) std::swap(text.front(), text.back());
  return text;
}

// `{of: id, edits...}`, given the id's text.
inline std::string edited(std::string text, const json& edits) {
  const arguments a(edits);
  for (auto each = edits.begin(); each != edits.end(); ++each) {
    if (each.key() != "of") text = edited(std::move(text), each.key(), a);
  }
  return text;
}

}  // namespace field
