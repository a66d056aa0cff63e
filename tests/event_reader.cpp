// SPDX-License-Identifier: MIT
// Promise: event_reader reads any bytes as the HTML standard says (9.2.6), however they are cut; it gives back what the
// wire helpers wrote, returns no block over its bound, and takes no byte behind the block that it returns.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <mcp_resume/client.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "property.hpp"
#include "sse.hpp"

using namespace mcp_resume;

namespace {

constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
constexpr std::uint64_t largest_number = 18446744073709551615U;

// A block with texts of its own.
struct read_block {
  std::optional<std::string> id;
  std::string type;
  std::optional<std::string> data;
  std::optional<std::uint64_t> retry_ms;
  friend bool operator==(const read_block& a, const read_block& b) {
    return a.id == b.id && a.type == b.type && a.data == b.data && a.retry_ms == b.retry_ms;
  }
};
using read_blocks = std::vector<read_block>;

read_block copy_of(const block& b) {
  read_block copy;
  if (b.id) copy.id = std::string(*b.id);
  copy.type = std::string(b.type);
  if (b.data) copy.data = std::string(*b.data);
  copy.retry_ms = b.retry_ms;
  return copy;
}

// ---- Text ----

std::string shown(std::string_view bytes) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string text = "\"";
  for (const char c : bytes) {
    const auto value = static_cast<unsigned char>(c);
    if (value >= 0x20 && value < 0x7F && c != '\\') {
      text.push_back(c);
    } else {
      text.append("\\x").append(1, digits[value / 16U]).append(1, digits[value % 16U]);
    }
  }
  return text + "\"";
}

std::string shown(const read_blocks& blocks) {
  std::string text;
  for (const read_block& b : blocks) {
    text += "id " + (b.id ? shown(*b.id) : "absent") + ", type " + shown(b.type);
    text += ", data " + (b.data ? shown(*b.data) : "absent");
    text += ", retry " + (b.retry_ms ? std::to_string(*b.retry_ms) : "absent") + "\n";
  }
  return text;
}

// ---- Reading ----

// What a reader made of a stream.
struct reading {
  read_blocks blocks;
  bool is_too_large = false;
  friend bool operator==(const reading& a, const reading& b) {
    return a.blocks == b.blocks && a.is_too_large == b.is_too_large;
  }
};

// Hands over a chunk that lies in memory of its own; what was taken of it is overwritten before a block is looked at,
// so a block cannot be made of it.
void feed(event_reader& reader, std::string_view chunk, read_blocks& got) {
  std::vector<char> own(chunk.begin(), chunk.end());
  std::string_view rest(own.data(), own.size());
  while (const std::optional<block> next = reader.next(rest)) {
    std::fill(own.begin(), own.end() - static_cast<std::ptrdiff_t>(rest.size()), '?');
    got.push_back(copy_of(*next));
  }
  if (!rest.empty() && !reader.is_too_large()) throw std::logic_error("bytes are left, and the bound is not reached");
}

// Reads a stream cut behind each of these sizes in turn; the last chunk is what remains.
reading read_chunks(std::string_view stream, const std::vector<std::size_t>& sizes, event_reader reader) {
  reading all;
  for (const std::size_t size : sizes) {
    const std::string_view chunk = stream.substr(0, size);
    feed(reader, chunk, all.blocks);
    stream.remove_prefix(chunk.size());
  }
  feed(reader, stream, all.blocks);
  all.is_too_large = reader.is_too_large();
  return all;
}

// The ways to cut a stream: not at all, at one place (any), behind each byte.
std::vector<std::vector<std::size_t>> cuts_of(std::size_t size) {
  std::vector<std::vector<std::size_t>> cuts = {{}, std::vector<std::size_t>(size, 1)};
  for (std::size_t at = 1; at < size; ++at) cuts.push_back({at});
  return cuts;
}

std::vector<std::size_t> random_cuts(property::random& source, std::size_t size) {
  std::vector<std::size_t> sizes;
  const std::uint32_t longest = 1 + source.below(9);
  for (std::size_t cut = 0; cut < size; cut += sizes.back()) sizes.push_back(source.below(longest + 1));
  return sizes;
}

// What is wrong about reading the stream, or nothing.
std::string problem_with(std::string_view stream, const reading& expected, const std::vector<std::size_t>& cuts,
                         const event_reader& fresh) {
  const reading got = read_chunks(stream, cuts, fresh);
  if (got == expected) return "";
  std::string text = "of " + shown(stream) + " in chunks of";
  for (const std::size_t size : cuts) text += " " + std::to_string(size);
  text += "\nexpected\n" + shown(expected.blocks) + (expected.is_too_large ? "too large\n" : "");
  return text + "but read\n" + shown(got.blocks) + (got.is_too_large ? "too large\n" : "");
}

void require_read(std::string_view stream, const reading& expected, const event_reader& fresh = event_reader()) {
  for (const std::vector<std::size_t>& cuts : cuts_of(stream.size())) {
    const std::string problem = problem_with(stream, expected, cuts, fresh);
    if (!problem.empty()) FAIL(problem);
  }
}

// The blocks of a stream, which are the same however it is cut.
read_blocks read(std::string_view stream) {
  const reading whole = read_chunks(stream, {}, event_reader());
  require_read(stream, whole);
  CHECK_FALSE(whole.is_too_large);
  return whole.blocks;
}

// The one block of a stream.
read_block one_of(std::string_view stream) {
  read_blocks blocks = read(stream);
  CAPTURE(shown(stream), shown(blocks));
  REQUIRE(blocks.size() == 1);
  return blocks[0];
}

// Texts with NUL.
template <std::size_t N>
constexpr std::string_view bytes_of(const char (&text)[N]) {
  return {text, N - 1};
}

// Calls `use` with every text of up to `longest` of these parts.
template <std::size_t N, class Use>
void for_each_text(const std::array<std::string_view, N>& parts, std::size_t longest, Use use) {
  std::vector<std::size_t> digits;
  while (digits.size() <= longest) {
    std::string text;
    for (const std::size_t digit : digits) text += parts[digit];
    use(text);
    std::size_t place = 0;
    while (place != digits.size() && ++digits[place] == N) digits[place++] = 0;
    if (place == digits.size()) digits.assign(digits.size() + 1, 0);
  }
}

}  // namespace

// ---- Lines ----

TEST_CASE("CR and LF and CRLF each end a line wherever the bytes are cut", "[event_reader]") {
  constexpr std::array<std::string_view, 3> ends = {"\r", "\n", "\r\n"};
  int streams = 0;
  for (int choice = 0; choice != 3 * 3 * 3 * 3 * 3; ++choice) {
    std::string_view end[5];
    for (int i = 0, rest = choice; i != 5; ++i, rest /= 3) end[i] = ends[static_cast<std::size_t>(rest % 3)];
    const bool makes_crlf = (end[1] == "\r" && end[2] == "\n") || (end[3] == "\r" && end[4] == "\n");
    if (makes_crlf) continue;  // the blank line would be none
    std::string stream = std::string("data:a").append(end[0]) + "data:b";
    stream.append(end[1]).append(end[2]) += "data:c";
    stream.append(end[3]).append(end[4]);
    require_read(stream, {{{{}, "message", "a\nb", {}}, {{}, "message", "c", {}}}, false});
    ++streams;
  }
  CHECK(streams == 243 - 27 - 27 + 3);
}

TEST_CASE("only one LF behind a CR belongs to its line end", "[event_reader]") {
  CHECK(one_of("data:a\r\ndata:b\n\n").data == "a\nb");
  CHECK(one_of("data:a\r\n\ndata:b").data == "a");
  CHECK(one_of("data:a\r\n\rdata:b").data == "a");
  CHECK(one_of("data:a\r\r\ndata:b").data == "a");
  CHECK(one_of("data:a\n\rdata:b").data == "a");  // LF CR is two line ends
  CHECK(one_of("data:a\rdata:b\n\n").data == "a\nb");
  CHECK(one_of("data:a\r:\n\ndata:b").data == "a");
  CHECK(read("data:a\r\n").empty());
  CHECK(read("data:a\r\n\r").size() == 1);
}

TEST_CASE("an LF belongs to a CR also behind chunks without bytes and behind the block that the CR ended",
          "[event_reader]") {
  for (const std::string_view last : {"\ndata:b\n\n", "data:b\n\n"}) {
    for (const std::size_t empty_chunks : {0U, 1U, 3U}) {
      event_reader reader;
      read_blocks got;
      feed(reader, "data:a\r", got);
      for (std::size_t i = 0; i != empty_chunks; ++i) feed(reader, "", got);
      feed(reader, last, got);
      CHECK(shown(got) == shown(read_blocks{{{}, "message", "a\nb", {}}}));
    }
  }
  event_reader reader;
  read_blocks got;
  for (const std::string_view chunk : {"data:a\r", "\n", "\r", "", "\n", "data:b\r\r", "\n", "id:1\n", "\n"}) {
    feed(reader, chunk, got);
  }
  CHECK(shown(got) == shown(read_blocks{{{}, "message", "a", {}}, {{}, "message", "b", {}}, {"1", "message", {}, {}}}));
}

TEST_CASE("a block that the end of the stream cuts off is none", "[event_reader]") {
  for (const std::string_view end : {"\n", "\r", "\r\n"}) {
    std::string stream;
    for (const std::string_view line : {"id: 1", "event: x", "retry: 5", "data: a", "data: b", ""}) {
      stream.append(line).append(end);
    }
    const std::size_t size_to_end = end == "\r\n" ? stream.size() - 1 : stream.size();
    for (std::size_t size = 0; size != size_to_end; ++size) {
      CHECK(read(std::string_view(stream).substr(0, size)).empty());
    }
    CHECK(one_of(std::string_view(stream).substr(0, size_to_end)) == read_block{"1", "x", "a\nb", 5U});
  }
}

// ---- Byte order mark ----

TEST_CASE("one byte order mark at the start of the stream is dropped", "[event_reader]") {
  const std::string bom(byte_order_mark);
  CHECK(one_of(bom + "data:a\n\n").data == "a");
  CHECK(one_of(bom + "id:a\r\r").id == "a");
  CHECK(one_of(bom + "data\n\n").data == "");
  CHECK(one_of(bom + ": a comment\ndata:a\n\n") == read_block{{}, "message", "a", {}});
  CHECK(one_of(bom + "\ndata:a\n\n").data == "a");
  CHECK(read(bom).empty());
  CHECK(read(bom + "\n\n").empty());
}

TEST_CASE("a byte order mark elsewhere than at the start is a part of its line", "[event_reader]") {
  const std::string bom(byte_order_mark);
  CHECK(read(bom + bom + "data:a\n\n").empty());
  for (const std::string_view line : {"\n", "\r\n", ":\n", "id\n", "unknown\n", "data:a\n\n"}) {
    const read_blocks before = read(std::string(line) + "\n");
    CHECK(read(std::string(line) + bom + "data:b\n\n") == before);
    CHECK(read(bom + std::string(line) + bom + "data:b\n\n") == before);
  }
  CHECK(one_of("data:" + bom + "a\n\n").data == bom + "a");
  CHECK(one_of("id: " + bom + "\n\n").id == bom);
  CHECK(one_of("event:" + bom + "\ndata\n\n").type == bom);
}

TEST_CASE("a part of a byte order mark and what resembles one are a part of the line", "[event_reader]") {
  for (const std::string_view mark : {"\xEF", "\xEF\xBB", "\xBB\xBF", "\xBF", "\xEF\xBF\xBB", "\xEF\xBB\xBE", " "}) {
    CHECK(read(std::string(mark) + "data:a\n\n").empty());
    CHECK(read(std::string(mark) + "id:a\n\n").empty());
  }
  CHECK(read("\xEF\n\xBB\n\xBF\n\n").empty());
}

// ---- Comments and fields ----

TEST_CASE("a comment is dropped wherever it stands", "[event_reader]") {
  const std::vector<std::string_view> lines = {"id:1", "event:x", "data:a", "data:b", "retry:5", ""};
  for (const std::string_view comment : {":", ": keep-alive", ":data:c", ":id:2", "::", ": :", ":\xEF\xBB\xBF"}) {
    for (std::size_t at = 0; at != lines.size(); ++at) {
      std::string stream;
      for (std::size_t i = 0; i != lines.size(); ++i) {
        if (i == at) stream.append(comment).append("\n");
        stream.append(lines[i]).append("\n");
      }
      CHECK(one_of(stream) == read_block{"1", "x", "a\nb", 5U});
    }
  }
}

TEST_CASE("a block without id and data and retry is not returned and leaves nothing to the next one",
          "[event_reader]") {
  for (const std::string_view lines : {":", ": x\n:", "event:x", "event", "unknown: x", "unknown", "retry:", "retry:x",
                                       "", "\n", "\n\n\n", "event:x\n:\nunknown", " data:b", " id:b"}) {
    CAPTURE(shown(lines));
    CHECK(read(std::string(lines) + "\n\n").empty());
    CHECK(one_of(std::string(lines) + "\n\ndata:a\n\n") == read_block{{}, "message", "a", {}});
  }
  CHECK(read(bytes_of("id:a\0b\n\n")).empty());
}

TEST_CASE("one of id and data and retry makes a block", "[event_reader]") {
  CHECK(one_of("id\n\n") == read_block{"", "message", {}, {}});
  CHECK(one_of("id:1\n\n") == read_block{"1", "message", {}, {}});
  CHECK(one_of("data\n\n") == read_block{{}, "message", "", {}});
  CHECK(one_of("data:a\n\n") == read_block{{}, "message", "a", {}});
  CHECK(one_of("retry:0\n\n") == read_block{{}, "message", {}, 0U});
  CHECK(one_of("event:x\nretry:7\n\n") == read_block{{}, "x", {}, 7U});
}

TEST_CASE("a field without colon has the empty value", "[event_reader]") {
  CHECK(one_of("data\n\n").data == "");
  CHECK(one_of("data\ndata\n\n").data == "\n");
  CHECK(one_of("data:a\ndata\ndata:b\n\n").data == "a\n\nb");
  CHECK(one_of("id:1\nid\n\n").id == "");
  CHECK(one_of("event:x\nevent\ndata\n\n").type == "message");
  CHECK(one_of("retry:5\nretry\n\n").retry_ms == 5U);
}

TEST_CASE("exactly one leading blank of a value is dropped", "[event_reader]") {
  for (const std::string_view value : {"", "a", " a", "  a", "a ", " ", "  ", "\ta", "\xC2\xA0", ":", ": a", "a:b"}) {
    const std::string kept = !value.empty() && value[0] == ' ' ? std::string(value.substr(1)) : std::string(value);
    CAPTURE(shown(value));
    CHECK(one_of("data:" + std::string(value) + "\n\n").data == kept);
    CHECK(one_of("id:" + std::string(value) + "\n\n").id == kept);
    CHECK(one_of("event:" + std::string(value) + "\nid\n\n").type == (kept.empty() ? "message" : kept));
  }
}

TEST_CASE("fields of any other name are ignored", "[event_reader]") {
  const auto require_ignored = [](const std::string& name) {
    const std::string stream = "id:1\nevent:x\nretry:5\ndata:a\n" + name + ":7\n" + name + "\n\n";
    require_read(stream, {{{"1", "x", "a", 5U}}, false});
  };
  for (const std::string name : {"id", "event", "data", "retry"}) {
    for (int value = 0; value != 256; ++value) {
      const char byte = static_cast<char>(value);
      if (byte == '\r' || byte == '\n' || byte == ':') continue;
      require_ignored(name + byte);
      require_ignored(byte + name);
      for (std::size_t at = 0; at != name.size(); ++at) {
        std::string other = name;
        other[at] = byte;
        if (other != name) require_ignored(other);
      }
    }
    for (std::size_t size = 1; size != name.size(); ++size) require_ignored(name.substr(0, size));
    for (std::size_t at = 1; at != name.size(); ++at) require_ignored(name.substr(at));
    require_ignored(name + name);
  }
  for (const char* name : {"ID", "Id", "DATA", "Data", "EVENT", "RETRY", "eventid", "lastEventId"}) {
    require_ignored(name);
  }
}

TEST_CASE("an id that is absent and an empty one differ", "[event_reader]") {
  CHECK_FALSE(one_of("data:a\n\n").id);
  CHECK(one_of("id\ndata:a\n\n").id == "");
  CHECK(one_of("id:\ndata:a\n\n").id == "");
  CHECK(one_of("id: \ndata:a\n\n").id == "");
}

TEST_CASE("no field of a block is handed on to the next one", "[event_reader]") {
  const std::string full = "id:1\nevent:x\nretry:5\ndata:a\n\n";
  const read_block as_full{"1", "x", "a", 5U};
  for (const auto& [next, as_next] : std::vector<std::pair<std::string, read_block>>{
           {"data:b\n\n", {{}, "message", "b", {}}},
           {"id:2\n\n", {"2", "message", {}, {}}},
           {"id\n\n", {"", "message", {}, {}}},
           {"retry:6\n\n", {{}, "message", {}, 6U}},
           {"event:y\ndata\n\n", {{}, "y", "", {}}},
       }) {
    CHECK(shown(read(full + next)) == shown(read_blocks{as_full, as_next}));
    CHECK(shown(read(full + "\n:\n\n" + next)) == shown(read_blocks{as_full, as_next}));
  }
}

TEST_CASE("an id with NUL is ignored and the block's earlier one stays", "[event_reader]") {
  for (std::size_t at = 0; at != 4; ++at) {
    std::string id = "abc";
    id.insert(at, 1, '\0');
    CHECK_FALSE(one_of("id:" + id + "\ndata:a\n\n").id);
    CHECK(one_of("id:1\nid:" + id + "\ndata:a\n\n").id == "1");
    CHECK(one_of("id:1\nid:" + id + "\n\n").id == "1");
    CHECK(one_of("id:" + id + "\nid:2\n\n").id == "2");
    CHECK(one_of("id\nid:" + id + "\n\n").id == "");
    CHECK(read("id:" + id + "\n\n").empty());
    CHECK(one_of("data:" + id + "\n\n").data == id);
    CHECK(one_of("event:" + id + "\ndata\n\n").type == id);
  }
}

TEST_CASE("the last id and the last type and the last number of a block count", "[event_reader]") {
  CHECK(one_of("id:1\nid:2\n\n").id == "2");
  CHECK(one_of("id:a long one\nid:2\nid\n\n").id == "");
  CHECK(one_of("event:x\nevent:y\ndata\n\n").type == "y");
  CHECK(one_of("event:x\nevent:\ndata\n\n").type == "message");
  CHECK(one_of("event:\ndata\n\n").type == "message");
  CHECK(one_of("event: message\ndata\n\n").type == "message");
  CHECK(one_of("retry:1\nretry:2\n\n").retry_ms == 2U);
  CHECK(one_of("retry:1\nretry:0\n\n").retry_ms == 0U);
}

// ---- retry ----

TEST_CASE("a retry is taken of digits alone", "[event_reader]") {
  for (int value = 0; value != 256; ++value) {
    const char byte = static_cast<char>(value);
    if (byte == '\r' || byte == '\n') continue;
    CAPTURE(value);
    const bool is_digit = byte >= '0' && byte <= '9';
    for (std::size_t at = 0; at != 4; ++at) {
      std::string number = "333";
      number.insert(at, 1, byte);
      const bool is_leading_blank = at == 0 && byte == ' ';
      const read_block got = one_of("retry:42\nretry:" + number + "\n\n");
      if (is_leading_blank) {
        CHECK(got.retry_ms == 333U);
      } else {
        CHECK(got.retry_ms == (is_digit ? std::stoull(number) : 42U));
      }
    }
  }
  for (const std::string_view none : {"", " ", "+1", "-1", "0x10", "1.5", "1e3", " 1 ", "  1", "1 ", "\xEF\xBC\x91"}) {
    CHECK(read("retry:" + std::string(none) + "\n\n").empty());
    CHECK(one_of("retry:42\nretry:" + std::string(none) + "\n\n").retry_ms == 42U);
  }
}

TEST_CASE("a retry beyond 64 bits is the largest number", "[event_reader]") {
  for (int last = 0; last != 1000; ++last) {
    const std::string digits = std::to_string(1000 + last).substr(1);
    const std::uint64_t number = last < 615 ? 18446744073709551000U + static_cast<unsigned>(last) : largest_number;
    CHECK(one_of("retry:18446744073709551" + digits + "\n\n").retry_ms == number);
    CHECK(one_of("retry:00018446744073709551" + digits + "\n\n").retry_ms == number);
  }
  std::string power = "1", nines = "9", sixes = "6", zeros = "0";
  for (std::uint64_t number = 1; power.size() != 60; power += '0', nines += '9', sixes += '6', zeros += '0') {
    const bool fits = power.size() <= 20;
    CHECK(one_of("retry:" + power + "\n\n").retry_ms == (fits ? number : largest_number));
    if (power.size() < 20) CHECK(one_of("retry:" + nines + "\n\n").retry_ms == number * 10 - 1);
    if (power.size() >= 20) CHECK(one_of("retry:" + nines + "\n\n").retry_ms == largest_number);
    if (power.size() >= 20) CHECK(one_of("retry:" + sixes + "\n\n").retry_ms == largest_number);
    CHECK(one_of("retry:" + zeros + "\n\n").retry_ms == 0U);
    CHECK(one_of("retry:" + zeros + "7\n\n").retry_ms == 7U);
    if (power.size() < 20) number *= 10;
  }
  CHECK(read("retry:" + std::string(1000, '9') + "x\n\n").empty());
}

// ---- Against the standard's text ----

namespace {

read_blocks blocks_by_the_standard(std::string_view stream) {
  read_blocks blocks;
  for (const sse::block& b : sse::read(stream)) {
    if (b.id || b.data || b.retry) blocks.push_back({b.id, b.type, b.data, b.retry});
  }
  return blocks;
}

// clang-format off
constexpr std::array<std::string_view, 54> adversarial_parts = {
    "\r", "\r", "\n", "\n", "\n", "\n", "\r\n", "\n\n", ":", ":", " ", " ", byte_order_mark, "\xEF", "\xBB", "\xBF",
    std::string_view("\0", 1), "a", "\xFF", "data", "data:", "data: ", "data:  ", "event", "event:", "event: x", "id",
    "id:", "id: 1", "id:2", "retry", "retry:", "retry: 10", "Data:", "0", "9", "18446744073709551615", "message", ": c",
    "retry:1", "data: a\n", "data\r\n", "data:\r", "data:b\n\n", "id\n", "id: 7\r\n", "id:8\n\n", "event: y\n",
    "event:z\n", "retry: 10\n", "retry:7\r\r", ": keep-alive\n", "\r\n\r\n", "\n\ndata: c"};
// clang-format on

struct part {
  std::array<std::uint32_t, 1> n = {};
};

std::string stream_of(const std::vector<part>& parts) {
  std::string stream;
  for (const part& p : parts) stream += adversarial_parts[p.n[0] % adversarial_parts.size()];
  return stream;
}

std::string shown_part(const part& p) { return shown(adversarial_parts[p.n[0] % adversarial_parts.size()]); }

std::vector<part> random_parts(property::random& source, std::uint32_t longest) {
  std::vector<part> parts(source.below(longest));
  const std::uint32_t usual = source.below(3) == 0 ? 20 : 54;  // a third with hardly a field name
  for (part& p : parts) p.n[0] = source.below(usual);
  return parts;
}

// How often what matters occurred.
struct coverage {
  std::size_t blocks = 0, ids = 0, empty_ids = 0, types = 0, data = 0, lines = 0, numbers = 0, marks = 0;

  void note(std::string_view stream, const read_blocks& all) {
    if (!all.empty() && stream.substr(0, 3) == byte_order_mark) ++marks;
    for (const read_block& b : all) {
      ++blocks;
      if (b.id) ++ids;
      if (b.id == "") ++empty_ids;
      if (b.type != "message") ++types;
      if (b.data) ++data;
      if (b.data && b.data->find('\n') != std::string::npos) ++lines;
      if (b.retry_ms) ++numbers;
    }
  }
};

}  // namespace

TEST_CASE("random streams are read as the standard says however they are cut", "[event_reader]") {
  coverage seen;
  const auto check = [&](const std::vector<part>& parts) -> property::failure {
    const std::string stream = stream_of(parts);
    const reading expected{blocks_by_the_standard(stream), false};
    seen.note(stream, expected.blocks);
    for (const auto& cuts : cuts_of(stream.size())) {
      const std::string problem = problem_with(stream, expected, cuts, event_reader());
      if (!problem.empty()) return {"differs", problem};
    }
    property::random source(stream.size());
    for (int i = 0; i != 8; ++i) {
      const std::string problem = problem_with(stream, expected, random_cuts(source, stream.size()), event_reader());
      if (!problem.empty()) return {"differs", problem};
    }
    return {};
  };
  const auto make = [](property::random& source) { return random_parts(source, 40); };
  const std::string report = property::for_all(4000, make, check, shown_part);
  INFO(report);
  CHECK(report.empty());
  if (property::replayed_seed()) return;
  CAPTURE(seen.blocks, seen.ids, seen.empty_ids, seen.types, seen.data, seen.lines, seen.numbers, seen.marks);
  CHECK((seen.blocks > 1000 && seen.ids > 100 && seen.empty_ids > 100 && seen.types > 100 && seen.marks > 10));
  CHECK((seen.data > 100 && seen.lines > 100 && seen.numbers > 100));
}

TEST_CASE("all short streams are read as the standard says however they are cut", "[event_reader]") {
  constexpr std::array<std::string_view, 8> parts = {"\r", "\n", ":", " ", "id", "data", "retry:7", "\xEF\xBB\xBF"};
  std::size_t streams = 0, blocks = 0;
  for_each_text(parts, 5, [&](const std::string& stream) {
    const reading expected{blocks_by_the_standard(stream), false};
    require_read(stream, expected);
    blocks += expected.blocks.size();
    ++streams;
  });
  CHECK(streams == 1 + 8 + 64 + 512 + 4096 + 32768);
  CHECK(blocks > 1000);
}

TEST_CASE("long streams of random bytes are read as the standard says", "[event_reader]") {
  property::random source(1);
  for (int i = 0; i != 60; ++i) {
    const std::string stream = stream_of(random_parts(source, 4000));
    const reading expected{blocks_by_the_standard(stream), false};
    for (int cut = 0; cut != 4; ++cut) {
      const std::string problem = problem_with(stream, expected, random_cuts(source, stream.size()), event_reader());
      if (!problem.empty()) FAIL(problem);
    }
  }
}

// ---- What the wire helpers write ----

namespace {

constexpr tags wire_tags{0x5f0c2d9a1b3e4c77U, 0x9f8e7d6c5b4a3921U};

// What a client can know of a payload: each of its line ends is an LF.
std::string with_line_feeds(std::string_view payload) {
  std::string text;
  for (const char c : payload) {
    const bool is_over = c == '\n' && !text.empty() && text.back() == '\r';
    if (is_over) text.back() = '\n';
    if (!is_over) text.push_back(c);
  }
  std::replace(text.begin(), text.end(), '\r', '\n');
  return text;
}

// Frames of the wire helpers, and what they mean.
struct written {
  std::string stream;
  read_blocks blocks;

  void event(const event_id& id, std::string_view payload) {
    if (append_event(stream, id, payload) != refusal::none) throw std::logic_error("an event is refused");
    blocks.push_back({to_string(id), "message", with_line_feeds(payload), {}});
  }
  void message(std::string_view payload) {
    if (append_message(stream, payload) != refusal::none) throw std::logic_error("a message is refused");
    blocks.push_back({{}, "message", with_line_feeds(payload), {}});
  }
  void marker(const event_id& id, protocol negotiated, std::uint32_t retry_ms) {
    append_marker(stream, id, negotiated, retry_ms);
    const bool is_priming = negotiated == protocol::v2025_11_25;
    const std::string notification = notification_of("continued", id) + "}}";
    blocks.push_back({to_string(id), is_priming ? "message" : "resume", is_priming ? "" : notification, {}});
    if (retry_ms != 0) blocks.back().retry_ms = retry_ms;
  }
  void gap(const event_id& id, const event_id& behind, std::uint64_t missed) {
    append_gap(stream, id, behind, missed);
    const std::string rest = ",\"resumeFrom\":\"" + to_string(behind) + "\",\"missed\":" + std::to_string(missed);
    blocks.push_back({to_string(id), "gap", notification_of("gap", id) + rest + "}}", {}});
  }
  void reset(const event_id& id, const event_id& behind) {
    append_reset(stream, id, behind);
    const std::string rest = ",\"resumeFrom\":\"" + to_string(behind) + "\"}}";
    blocks.push_back({to_string(id), "reset", notification_of("reset", id) + rest, {}});
  }
  void keep_alive() { append_keep_alive(stream); }

 private:
  static std::string notification_of(const std::string& name, const event_id& id) {
    return R"({"jsonrpc":"2.0","method":"notifications/resume/)" + name + R"(","params":{"lastEventId":")" +
           to_string(id) + "\"";
  }
};

event_id random_id(property::random& source) {
  event_id id{{source.next(), source.next()}, source.below(4), source.next() >> source.below(64)};
  if (source.below(8) == 0) id = {{0, ~std::uint64_t{0}}, ~std::uint32_t{0}, ~std::uint64_t{0}};
  return id;
}

std::string random_payload(property::random& source, std::uint32_t longest) {
  std::string payload = ".";
  for (std::uint32_t size = source.below(longest); size != 0; --size) {
    payload += adversarial_parts[source.below(static_cast<std::uint32_t>(adversarial_parts.size()))];
  }
  if (source.below(2) == 0) payload.erase(0, 1);
  return payload.empty() ? "\r" : payload;
}

void write_random_frame(property::random& source, written& all) {
  constexpr std::uint32_t waits[] = {0, 1, 3000, ~std::uint32_t{0}};
  constexpr protocol versions[] = {protocol::v2024_11_05, protocol::v2025_03_26, protocol::v2025_06_18,
                                   protocol::v2025_11_25};
  const event_id id = random_id(source);
  switch (source.below(7)) {
    case 0:
      return all.marker(id, versions[source.below(4)], waits[source.below(4)]);
    case 1:
      return all.gap(id, random_id(source), source.next() >> source.below(64));
    case 2:
      return all.reset(id, random_id(source));
    case 3:
      return all.message(random_payload(source, 20));
    case 4:
      return all.keep_alive();
    default:
      return all.event(id, random_payload(source, 20));
  }
}

}  // namespace

TEST_CASE("every short payload comes back with its line ends as LF", "[event_reader]") {
  constexpr std::array<std::string_view, 8> parts = {"\r",   "\n",           ":", " ", "a", std::string_view("\0", 1),
                                                     "\xFF", byte_order_mark};
  const event_id id{wire_tags, 3, 418};
  std::size_t payloads = 0;
  for_each_text(parts, 5, [&](const std::string& payload) {
    if (payload.empty()) return;
    written all;
    all.event(id, payload);
    all.message(payload);
    const reading expected{all.blocks, false};
    const std::vector<std::size_t> bytewise(all.stream.size(), 1);
    for (const auto& cuts : {std::vector<std::size_t>(), bytewise}) {
      const std::string problem = problem_with(all.stream, expected, cuts, event_reader());
      if (!problem.empty()) FAIL(problem);
    }
    ++payloads;
  });
  CHECK(payloads == 8 + 64 + 512 + 4096 + 32768);
}

TEST_CASE("payloads that look like fields come back whole", "[event_reader]") {
  const event_id id{wire_tags, 0, 1};
  for (const std::string_view end : {"\r", "\n", "\r\n", "\n\n", "\r\r", "\n\r", "\r\n\r\n"}) {
    for (const std::string_view line :
         {"id: 7", "data: a", "event: x", "retry: 5", ": c", ":", "", " ", "\xEF\xBB\xBF"}) {
      written all;
      const std::string text(line);
      for (const std::string& payload :
           {text + std::string(end), std::string(end) + text, text + std::string(end) + text}) {
        all.event(id, payload);
        all.message(payload);
      }
      require_read(all.stream, {all.blocks, false});
    }
  }
}

TEST_CASE("each frame of the wire helpers comes back as it was meant", "[event_reader]") {
  const event_id id{wire_tags, 3, 418}, behind{wire_tags, 3, ~std::uint64_t{0}}, start{wire_tags, 0, 0};
  written all;
  for (const protocol version :
       {protocol::v2024_11_05, protocol::v2025_03_26, protocol::v2025_06_18, protocol::v2025_11_25}) {
    for (const std::uint32_t retry_ms : {0U, 1U, 3000U, 4294967295U}) all.marker(id, version, retry_ms);
    all.keep_alive();
    all.marker(start, version, 0);
  }
  all.gap(id, behind, 5);
  all.gap(id, behind, largest_number);
  all.message("words");
  all.keep_alive();
  all.keep_alive();
  all.reset(id, start);
  all.event(behind, "{}");
  require_read(all.stream, {all.blocks, false});
  require_read(std::string(byte_order_mark) + all.stream, {all.blocks, false});
}

TEST_CASE("random frames come back however they are cut", "[event_reader]") {
  property::random source(2);
  for (int i = 0; i != 300; ++i) {
    written all;
    for (std::uint32_t frames = source.below(30); frames != 0; --frames) write_random_frame(source, all);
    const reading expected{all.blocks, false};
    for (int cut = 0; cut != 4; ++cut) {
      const std::string problem =
          problem_with(all.stream, expected, random_cuts(source, all.stream.size()), event_reader());
      if (!problem.empty()) FAIL(problem);
    }
  }
  for (int i = 0; i != 20; ++i) {
    written all;
    all.event(random_id(source), random_payload(source, 40000));
    all.message(random_payload(source, 40000));
    const std::string problem =
        problem_with(all.stream, {all.blocks, false}, random_cuts(source, all.stream.size()), event_reader());
    if (!problem.empty()) FAIL(problem);
  }
}

// ---- The bound ----

namespace {

reading read_bounded(std::string_view stream, std::size_t bound) {
  const sse::bounded_reading by_the_rule(stream, bound);
  reading expected{{}, by_the_rule.is_too_large()};
  for (const sse::block& b : by_the_rule.blocks()) expected.blocks.push_back({b.id, b.type, b.data, b.retry});
  return expected;
}

// A stream is read with this bound as the rule says, and cut at any place.
void require_bounded(std::string_view stream, std::size_t bound) {
  require_read(stream, read_bounded(stream, bound), event_reader(bound));
}

// A block that begins with `lines`, and whose last line `name` is as long as fits the bound, passes; with one byte more
// it is too large. Of what comes behind it nothing is returned then.
void require_bound_on(const std::string& lines, const std::string& name, std::size_t held, std::size_t bound) {
  CAPTURE(lines, name, held, bound);
  const std::string before = "data:before\n\n", after = "\n\ndata:after\n\ndata:again\n\n";
  const std::string largest = lines + name + std::string(bound - held - name.size(), 'x');
  const reading fits = read_chunks(before + largest + after, {}, event_reader(bound));
  CHECK_FALSE(fits.is_too_large);
  CHECK(fits.blocks.size() == 4);
  const reading over = read_chunks(before + largest + "x" + after, {}, event_reader(bound));
  CHECK(over.is_too_large);
  CHECK(over.blocks.size() == 1);
  require_bounded(before + largest + after, bound);
  require_bounded(before + largest + "x" + after, bound);
}

}  // namespace

TEST_CASE("a block at the bound passes and one more byte is too large and ends the stream", "[event_reader]") {
  for (const std::size_t bound : {12U, 13U, 31U, 100U}) {
    for (const std::string name : {"data:", "data: "}) require_bound_on("", name, 0, bound);
    require_bound_on("data\n", "id:", 0, bound);
    require_bound_on("id\n", "event:", 0, bound);
    require_bound_on("id\n", "unknown:", 0, bound);
    require_bound_on("id\n", "retry: 10", 0, bound);
    require_bound_on("id:123\n", "data:", 3, bound);
    require_bound_on("event:123\nid\n", "data:", 3, bound);
    require_bound_on("data:123\n", "data:", 3, bound);
    require_bound_on("data:1\ndata:2\n", "data:", 3, bound);
    require_bound_on("data:1\ndata:2\n", "id:", 3, bound);
    require_bound_on("id:12\nid:3\nevent:4\n: a comment\nevent:5\n", "data:", 2, bound);
    require_bound_on("id:1234567\nid:12\n", "data:", 2, bound);
  }
}

TEST_CASE("a line that never ends is too large as soon as it is", "[event_reader]") {
  for (const std::string_view begin : {"data:", "id:", "event:", "retry:", "unknown", "\xEF", " :"}) {
    for (const std::size_t bound : {9U, 10U, 50U}) {
      CAPTURE(shown(begin), bound);
      const std::string line = std::string(begin) + std::string(bound - begin.size(), '7');
      event_reader reader(bound);
      std::string_view bytes = line;
      CHECK_FALSE(reader.next(bytes));
      CHECK(bytes.empty());
      CHECK_FALSE(reader.is_too_large());
      bytes = "7";
      CHECK_FALSE(reader.next(bytes));
      CHECK(reader.is_too_large());
    }
  }
}

TEST_CASE("many lines of one block are too large together", "[event_reader]") {
  for (const std::size_t bound : {10U, 11U, 12U, 50U}) {
    for (const std::string_view line : {"data\n", "data:\n", "data:a\n", "data:abc\r\n"}) {
      std::string stream;
      for (int i = 0; i != 60; ++i) stream += line;
      require_bounded(stream + "\n", bound);
      CHECK(read_chunks(stream, {}, event_reader(bound)).is_too_large);
    }
  }
}

TEST_CASE("of a repeated id and type only the last one counts towards the bound", "[event_reader]") {
  std::string stream;
  for (int i = 0; i != 60; ++i) stream += "id:12\nevent:12\n";
  require_read(stream + "\n", {{{"12", "12", {}, {}}}, false}, event_reader(2 + 8 + 2));
  require_read(stream + "\n", {{}, true}, event_reader(2 + 8 + 1));
}

TEST_CASE("the bound holds for one block and not for the connection", "[event_reader]") {
  std::string stream;
  for (int i = 0; i != 40; ++i) stream += "id:12\nevent:34\ndata:5678\n\n:\n\nevent:9012345\n\n";
  const reading all = read_chunks(stream, {}, event_reader(14));
  CHECK_FALSE(all.is_too_large);
  CHECK(all.blocks == read_blocks(40, {"12", "34", "5678", {}}));
  require_bounded(stream, 14);
  require_bounded(stream, 13);
  require_bounded(stream, 12);
}

TEST_CASE("random streams within each bound are read as the rule says", "[event_reader]") {
  constexpr std::array<std::string_view, 14> parts = {
      "\r", "\n", "\n", "\n\n", "\r\n", ":", "data:", "data:", "id:", "event:", "retry:", "1", "data", "234"};
  property::random source(3);
  std::size_t too_large = 0, whole = 0, blocks = 0;
  for (int i = 0; i != 1500; ++i) {
    std::string stream;
    for (std::uint32_t n = source.below(30); n != 0; --n) stream += parts[source.below(parts.size())];
    const std::size_t bound = 1 + source.below(16);
    const reading expected = read_bounded(stream, bound);
    require_read(stream, expected, event_reader(bound));
    too_large += expected.is_too_large ? 1 : 0;
    whole += expected.is_too_large ? 0 : 1;
    blocks += expected.blocks.size();
  }
  CAPTURE(too_large, whole, blocks);
  CHECK((too_large > 300 && whole > 300 && blocks > 100));
}

TEST_CASE("a comment of any length passes", "[event_reader]") {
  for (const std::size_t bound : {2U, 5U, 20U}) {
    for (const std::size_t size : {bound - 1, bound, bound + 1, std::size_t{1000}}) {
      for (const std::string_view end : {"\n", "\r", "\r\n"}) {
        const std::string comment = ":" + std::string(size, 'x').append(end);
        const std::string stream = std::string(comment + comment + "id").append(end) + comment;
        require_read(stream + std::string(end), {{{"", "message", {}, {}}}, false}, event_reader(bound));
      }
    }
  }
  event_reader reader(5);  // one that does not end
  for (int i = 0; i != 1000; ++i) {
    std::string_view bytes = ":data:a id:1";
    CHECK_FALSE(reader.next(bytes));
    CHECK(bytes.empty());
    CHECK_FALSE(reader.is_too_large());
  }
  std::string_view bytes = "\nid:1\n\n";
  const std::optional<block> next = reader.next(bytes);
  REQUIRE(next);
  CHECK(copy_of(*next) == read_block{"1", "message", {}, {}});
}

TEST_CASE("a comment of any length passes behind a byte order mark", "[event_reader]") {
  const std::string stream = std::string(byte_order_mark) + ":" + std::string(100, 'x') + "\nid\n\n";
  for (const std::size_t bound : {3U, 4U, 10U}) {  // the mark itself counts
    require_read(stream, {{{"", "message", {}, {}}}, false}, event_reader(bound));
  }
}

TEST_CASE("a bound of 0 lets blank lines through and nothing else", "[event_reader]") {
  require_read("\n\r\r\n\n", {{}, false}, event_reader(0));
  for (const std::string_view line : {"id", "data", "x", " ", "retry:1", "\xEF"}) {
    require_read(std::string("\n\n") + std::string(line) + "\n\n", {{}, true}, event_reader(0));
    require_read(line.substr(0, 1), {{}, true}, event_reader(0));
  }
}

TEST_CASE("a comment passes a bound of 0", "[event_reader]") {
  require_read(":\n: keep-alive\n\n", {{}, false}, event_reader(0));
  require_read(":\n: keep-alive\nid\n\n", {{}, true}, event_reader(0));
}

TEST_CASE("the bound is 16 MiB unless another one is given", "[event_reader]") {
  constexpr std::size_t size = std::size_t{16} * 1024 * 1024;
  const std::string largest = "data:" + std::string(size - 5, 'x');
  const std::string over = largest + "x";
  const auto read_in_two = [](std::string_view line, std::size_t at) {
    event_reader reader;
    std::string_view bytes = line.substr(0, at);
    CHECK_FALSE(reader.next(bytes));
    bytes = line.substr(at);
    CHECK_FALSE(reader.next(bytes));
    bytes = "\n\n";
    const std::optional<block> got = reader.next(bytes);
    CHECK(reader.is_too_large() == !got);
    return got ? got->data->size() : 0;
  };
  for (const std::size_t at : {std::size_t{0}, std::size_t{1}, size / 2, size}) {
    CHECK(read_in_two(largest, at) == size - 5);
    CHECK(read_in_two(over, at) == 0);
  }
}

TEST_CASE("the largest bound is none", "[event_reader]") {
  for (const std::size_t bound : {~std::size_t{0}, ~std::size_t{0} - 1, ~std::size_t{0} / 2}) {
    require_read("id:1\ndata:a\ndata:b\n\n:c\n\ndata:d\n\n",
                 {{{"1", "message", "a\nb", {}}, {{}, "message", "d", {}}}, false}, event_reader(bound));
  }
}

TEST_CASE("nothing comes once a block is too large", "[event_reader]") {
  event_reader reader(10);
  std::string_view bytes = "data:a\n\ndata:0123456789\n\ndata:b\n\n";
  REQUIRE(reader.next(bytes));
  CHECK_FALSE(reader.is_too_large());
  for (const std::string_view more : {bytes, std::string_view("\n\n"), std::string_view("data:c\n\n"),
                                      std::string_view("\r\r\r"), std::string_view(""), std::string_view(":\n\n")}) {
    bytes = more;
    CHECK_FALSE(reader.next(bytes));
    CHECK(reader.is_too_large());
  }
}

// ---- Views and bytes ----

TEST_CASE("a block is valid until the next call and not made of the bytes that were handed over", "[event_reader]") {
  const std::string long_text(500, 'x');
  for (const std::string& text : {std::string("a"), std::string(), long_text}) {
    event_reader reader;
    std::optional<block> got;
    {
      const std::string stream =
          "id:" + text + "\nevent:" + text + "\ndata:" + text + "\ndata:" + text + "\n\ndata:b\n\n";
      std::vector<char> own(stream.begin(), stream.end());
      std::string_view bytes(own.data(), own.size());
      got = reader.next(bytes);
      std::fill(own.begin(), own.end(), '\n');
    }
    REQUIRE(got);
    CHECK_FALSE(reader.is_too_large());
    CHECK(copy_of(*got) == read_block{text, text.empty() ? "message" : text, text + "\n" + text, {}});
  }
}

// The bytes that were taken up to a block are just enough: without the last of them the standard's reader has one less.
TEST_CASE("bytes are taken up to the end of the block that is returned and no further", "[event_reader]") {
  property::random source(4);
  std::size_t returned = 0;
  for (int i = 0; i != 600; ++i) {
    const std::string stream = stream_of(random_parts(source, 60));
    const std::string_view whole = stream;
    const std::size_t begin = source.below(static_cast<std::uint32_t>(stream.size() + 1));
    event_reader reader;
    std::size_t blocks = 0;
    for (std::string_view chunk : {whole.substr(0, begin), whole.substr(begin)}) {
      const char* const end = chunk.data() + chunk.size();
      while (reader.next(chunk)) {
        REQUIRE(chunk.data() + chunk.size() == end);
        const std::string_view taken = whole.substr(0, static_cast<std::size_t>(chunk.data() - whole.data()));
        REQUIRE(blocks_by_the_standard(taken).size() == ++blocks);
        REQUIRE(blocks_by_the_standard(taken.substr(0, taken.size() - 1)).size() == blocks - 1);
      }
      REQUIRE(chunk.empty());
      REQUIRE(chunk.data() == end);
    }
    returned += blocks;
  }
  CHECK(returned > 200);
}

TEST_CASE("a call without bytes returns nothing and changes nothing", "[event_reader]") {
  const std::string_view stream = "\xEF\xBB\xBFid:1\r\ndata:a\r\n\r\ndata:b\n\n";
  event_reader reader;
  read_blocks got;
  for (const char c : stream) {
    std::string_view none;
    CHECK_FALSE(reader.next(none));
    feed(reader, std::string_view(&c, 1), got);
  }
  CHECK(shown(got) == shown(read_blocks{{"1", "message", "a", {}}, {{}, "message", "b", {}}}));
}
