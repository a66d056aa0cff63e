// SPDX-License-Identifier: MIT
// A history as lines of text: a letter for what is done, in the order of histories::op from `a` on, and up to four bytes
// that stand for the numbers from 0 on, beginning with the character `0`.
#ifndef MCP_RESUME_TESTS_FUZZ_HISTORY_INPUT_HPP
#define MCP_RESUME_TESTS_FUZZ_HISTORY_INPUT_HPP

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "../history.hpp"
#include "input.hpp"

namespace fuzz {

inline std::uint32_t distance(char first, char c) {
  return static_cast<unsigned char>(static_cast<unsigned char>(c) - static_cast<unsigned char>(first));
}

inline histories::step step_of(std::string_view line) {
  histories::step made;
  made.what = static_cast<histories::op>(distance('a', line[0]) % histories::op_count);
  for (std::size_t i = 0; i != made.n.size() && i + 1 < line.size(); ++i) made.n[i] = distance('0', line[i + 1]);
  return made;
}

inline void require_nothing(const property::failure& found, const histories::history& steps) {
  std::string text = found.text + "\n";
  for (const histories::step& each : steps) text += histories::show(each) + "\n";
  require(!found, found.kind.c_str(), text);
}

}  // namespace fuzz

#endif
