// SPDX-License-Identifier: MIT
// The text of an event id, written from the grammar of the design: knows nothing of how the header formats.
#ifndef MCP_RESUME_TESTS_ID_BY_HAND_HPP
#define MCP_RESUME_TESTS_ID_BY_HAND_HPP

#include <cstddef>
#include <cstdint>
#include <string>

#include "mcp_resume/resume.hpp"

namespace ids {

// The text by hand: one digit at a time from the lowest.
inline std::string digits_of(std::uint64_t value, unsigned base, std::size_t width) {
  std::string text;
  do {
    text.insert(text.begin(), "0123456789abcdef"[value % base]);
    value /= base;
  } while (value != 0);
  while (text.size() < width) text.insert(text.begin(), '0');
  return text;
}

inline std::string text_by_hand(const mcp_resume::event_id& id) {
  return digits_of(id.owner.session, 16, 16) + "." + digits_of(id.owner.incarnation, 16, 16) + "." +
         digits_of(id.stream, 10, 1) + "." + digits_of(id.seq, 10, 1);
}

}  // namespace ids

#endif
