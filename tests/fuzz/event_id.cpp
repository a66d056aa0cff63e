// SPDX-License-Identifier: MIT
// Promise: of any bytes just those that the grammar makes are an event id, and an id has one text. An input is a text;
// and, as numbers, an id and a change of one byte of its text.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "../id_by_hand.hpp"
#include "../model.hpp"
#include "input.hpp"
#include "mcp_resume/resume.hpp"

namespace {

using fuzz::require;
using ids::text_by_hand;
using mcp_resume::event_id;

constexpr std::uint64_t max64 = ~std::uint64_t{0};

void check_successor(const event_id& id) {
  const std::optional<event_id> next = id.successor();
  require(next.has_value() == (id.seq != max64 && id.seq != max64 - 1), "the last seq that is issued is 2^64 - 2");
  if (!next) return;
  require(next->owner == id.owner && next->stream == id.stream, "a successor is of the same stream");
  require(next->seq - 1 == id.seq && next->seq != 0, "a successor is the next seq");
}

// The text as it is written at the end of a buffer of exactly that size.
void check_text(const event_id& id) {
  const std::string expected = text_by_hand(id);
  require(expected.size() <= event_id::max_size, "no id is longer than max_size", expected);
  char out[event_id::max_size + 1];
  for (char& c : out) c = '#';
  const std::size_t size = id.to_chars(out);
  require(std::string(out, size) == expected, "to_chars writes the text of the grammar", expected);
  require(out[size] == '#', "to_chars writes no byte behind it", expected);
  require(to_string(id) == expected, "to_string is the same text", expected);
}

void check(std::string_view text) {
  const fuzz::exact_copy copy(text);
  const std::optional<event_id> id = event_id::parse(copy.view());
  const std::optional<event_id> expected = model::parse(std::string(text));
  require(id == expected, "what the grammar makes is an id and nothing else is", std::string(text));
  if (!id) return;
  require(text_by_hand(*id) == text, "one value has one text", std::string(text));
  check_text(*id);
  check_successor(*id);
}

// Eight bytes, the lowest first; what is not there is 0.
std::uint64_t number_from(std::string_view& bytes) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift != 64 && !bytes.empty(); shift += 8) {
    value |= std::uint64_t{static_cast<unsigned char>(bytes[0])} << shift;
    bytes.remove_prefix(1);
  }
  return value;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  std::string_view rest = fuzz::text_of(bytes, size);
  check(rest);
  event_id id;
  id.owner.session = number_from(rest);
  id.owner.incarnation = number_from(rest);
  id.seq = number_from(rest);
  id.stream = static_cast<std::uint32_t>(number_from(rest));
  std::string text = text_by_hand(id);
  check_text(id);
  require(event_id::parse(text) == id, "the text of an id is read as that id", text);
  while (rest.size() >= 2) {
    text[static_cast<unsigned char>(rest[0]) % text.size()] = rest[1];
    check(text);
    rest.remove_prefix(2);
  }
  return 0;
}
