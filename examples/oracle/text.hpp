// SPDX-License-Identifier: MIT
// Numbers of a command line, and text that goes out.
#ifndef MCP_RESUME_EXAMPLES_TEXT_HPP
#define MCP_RESUME_EXAMPLES_TEXT_HPP

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

#include "input_error.hpp"
#include "report_text.hpp"

namespace oracle {

// A whole number from 0 to `most` in decimal digits alone.
inline std::optional<std::uint64_t> parse_whole(std::string_view text, std::uint64_t most = ~std::uint64_t{0}) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_whole = error == std::errc() && end == text.data() + text.size();
  return is_whole && value <= most ? std::optional<std::uint64_t>(value) : std::nullopt;
}

// The same, of a command line's option.
inline std::uint64_t whole_of(const std::string& option, std::string_view text,
                              std::uint64_t most = ~std::uint64_t{0}) {
  const std::optional<std::uint64_t> value = parse_whole(text, most);
  if (value) return *value;
  throw input_error(
      option, fmt::format("must be a whole number from 0 to {}, not \"{}\"", most, printable(text.substr(0, 40))));
}

// A full disk must not look like a short answer.
inline void print_all(std::string_view text) {
  const bool is_out = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (!is_out || std::fflush(stdout) != 0) throw input_error("stdout", "cannot be written");
}

}  // namespace oracle

#endif  // MCP_RESUME_EXAMPLES_TEXT_HPP
