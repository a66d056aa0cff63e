// SPDX-License-Identifier: MIT
// Promise: one event id has one text, everything else is malformed, and its tags come from the source that was passed.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "id_by_hand.hpp"
#include "mcp_resume/resume.hpp"
#include "randomness.hpp"

using namespace mcp_resume;
using ids::text_by_hand;
using randomness::next_random;
using randomness::scripted_random;

namespace {

constexpr std::uint64_t max64 = ~std::uint64_t{0};
constexpr std::string_view golden = "5f0c2d9a1b3e4c77.9f8e7d6c5b4a3921.3.418";

// Parses a copy that ends where its memory ends, without a NUL behind it: address sanitizer sees every over-read.
std::optional<event_id> parse_exact(std::string_view text) {
  const std::unique_ptr<char[]> copy(new char[text.size()]);
  text.copy(copy.get(), text.size());
  return event_id::parse({copy.get(), text.size()});
}

bool consists_of(std::string_view text, std::string_view alphabet) {
  return text.find_first_not_of(alphabet) == std::string_view::npos;
}

// Canonical decimal up to `largest`, judged on the text alone: equally long numbers are in the order of their texts.
bool is_decimal(std::string_view text, std::string_view largest) {
  if (text.empty() || !consists_of(text, "0123456789")) return false;
  if (text[0] == '0') return text == "0";
  return text.size() < largest.size() || (text.size() == largest.size() && text <= largest);
}

bool is_tag(std::string_view text) { return text.size() == 16 && consists_of(text, "0123456789abcdef"); }

std::vector<std::string_view> split_at_dots(std::string_view text) {
  std::vector<std::string_view> fields;
  for (;;) {
    const std::size_t dot = text.find('.');
    fields.push_back(text.substr(0, dot));
    if (dot == std::string_view::npos) return fields;
    text.remove_prefix(dot + 1);
  }
}

// The grammar of the design in its own words; knows nothing of how the header parses.
bool is_canonical(std::string_view text) {
  const std::vector<std::string_view> fields = split_at_dots(text);
  return fields.size() == 4 && is_tag(fields[0]) && is_tag(fields[1]) && is_decimal(fields[2], "4294967295") &&
         is_decimal(fields[3], "18446744073709551615");
}

// Empty if `text` is judged right, else what is wrong. A text that is taken must be the text of what it parsed to.
std::string verdict(std::string_view text) {
  const std::optional<event_id> id = parse_exact(text);
  if (id.has_value() != is_canonical(text)) return (id ? "taken: " : "refused: ") + std::string(text);
  if (id && to_string(*id) != text) return "another text: " + to_string(*id) + " of " + std::string(text);
  return {};
}

const std::vector<std::string>& valid_texts() {
  static const std::vector<std::string> texts{
      std::string(golden),
      "0000000000000000.0000000000000000.0.0",
      "ffffffffffffffff.ffffffffffffffff.4294967295.18446744073709551615",
      "0123456789abcdef.fedcba9876543210.1.9007199254740993",
      "00000000000000aa.00000000000000bb.4294967290.18446744073709551609",
      "aaaaaaaaaaaaaaaa.bbbbbbbbbbbbbbbb.10.100",
  };
  return texts;
}

std::optional<std::uint64_t> no_random() { return std::nullopt; }

const auto version = protocol::v2025_11_25;

std::string after_id(std::string_view tail) { return std::string(golden.substr(0, 34)) + std::string(tail); }

}  // namespace

TEST_CASE("the id of the design reads and writes as the design says", "[ids]") {
  const event_id expected{{0x5f0c2d9a1b3e4c77U, 0x9f8e7d6c5b4a3921U}, 3, 418};
  const std::optional<event_id> id = parse_exact(golden);
  REQUIRE(id);
  CHECK(*id == expected);
  CHECK(to_string(expected) == golden);
}

TEST_CASE("an id parses and writes in a constant expression", "[ids]") {
  constexpr std::optional<event_id> id = event_id::parse("5f0c2d9a1b3e4c77.9f8e7d6c5b4a3921.3.418");
  STATIC_REQUIRE(id.has_value());
  STATIC_REQUIRE(id->owner == (tags{0x5f0c2d9a1b3e4c77U, 0x9f8e7d6c5b4a3921U}));
  STATIC_REQUIRE(id->stream == 3);
  STATIC_REQUIRE(id->seq == 418);
  STATIC_REQUIRE(id->successor()->seq == 419);
  STATIC_REQUIRE(!event_id::parse("5f0c2d9a1b3e4c77.9f8e7d6c5b4a3921.3.0418"));
  STATIC_REQUIRE(!event_id::parse(std::string_view()));
  constexpr auto length = [] {
    char text[event_id::max_size] = {};
    return event_id{{1, 2}, 3, 45}.to_chars(text);
  }();
  STATIC_REQUIRE(length == 38);
}

TEST_CASE("every byte at every place of an id is taken exactly if the text stays canonical", "[ids]") {
  std::string wrong;
  std::size_t taken = 0;
  for (const std::string& valid : valid_texts()) {
    for (std::size_t place = 0; place != valid.size(); ++place) {
      std::string text = valid;
      for (int byte = 0; byte != 256; ++byte) {
        text[place] = static_cast<char>(static_cast<unsigned char>(byte));
        wrong += verdict(text);
        if (event_id::parse(text)) ++taken;
      }
    }
  }
  CHECK(wrong.empty());
  CHECK(taken > 6 * 32 * 16);  // each of the 32 tag digits alone gives 16 ids
}

TEST_CASE("every byte put into or taken out of an id is judged by the grammar", "[ids]") {
  std::string wrong;
  for (const std::string& valid : valid_texts()) {
    for (std::size_t place = 0; place <= valid.size(); ++place) {
      for (int byte = 0; byte != 256; ++byte) {
        std::string text = valid;
        wrong += verdict(text.insert(place, 1, static_cast<char>(static_cast<unsigned char>(byte))));
      }
      std::string shorter = valid;
      wrong += verdict(shorter.erase(place, 1));
    }
  }
  CHECK(wrong.empty());
}

TEST_CASE("every beginning and every end of an id is judged by the grammar", "[ids]") {
  std::string wrong;
  for (const std::string& valid : valid_texts()) {
    for (std::size_t size = 0; size <= valid.size(); ++size) {
      wrong += verdict(std::string_view(valid).substr(0, size));
      wrong += verdict(std::string_view(valid).substr(size));
    }
  }
  CHECK(wrong.empty());
  CHECK_FALSE(parse_exact(""));
  CHECK_FALSE(event_id::parse(std::string_view()));
  CHECK_FALSE(parse_exact(golden.substr(0, 35)));  // `...3`
  CHECK_FALSE(parse_exact(golden.substr(0, 36)));  // `...3.`
  CHECK(parse_exact(golden.substr(0, 37)));        // `...3.4`
  CHECK_FALSE(parse_exact(golden.substr(1)));
}

TEST_CASE("what is not the one text of an id is malformed", "[ids]") {
  const std::vector<std::string> malformed{
      "5F0C2D9A1B3E4C77.9f8e7d6c5b4a3921.3.418",
      "5f0c2d9a1b3e4c77.9f8e7d6c5b4a392F.3.418",
      after_id("03.418"),
      after_id("00.418"),
      after_id("3.0418"),
      after_id("3.00"),
      after_id(" 3.418"),
      after_id("3.418 "),
      after_id("3. 418"),
      after_id("3.418\n"),
      after_id("3.418\t"),
      after_id("3.+418"),
      after_id("3.-1"),
      after_id("3.0x1"),
      after_id("3.1e3"),
      after_id("3.4_18"),
      after_id("3.418.") + "0",
      after_id("3..418"),
      after_id(".418"),
      after_id("3."),
      std::string(" ") + std::string(golden),
      std::string("\"") + std::string(golden) + "\"",
      std::string(golden) + std::string(1, '\0'),
      std::string(1, '\0') + std::string(golden),
      after_id(std::string("3.4") + std::string(1, '\0') + "18"),
      "0x5f0c2d9a1b3e4c.9f8e7d6c5b4a3921.3.418",
      "5f0c2d9a1b3e4c7.9f8e7d6c5b4a3921.3.418",
      "5f0c2d9a1b3e4c771.9f8e7d6c5b4a3921.3.418",
      "5f0c2d9a1b3e4c77-9f8e7d6c5b4a3921-3-418",
      "5f0c2d9a1b3e4c77:9f8e7d6c5b4a3921:3:418",
      "5f0c2d9a1b3e4c77.3.418",
      "evt-4471",
      "evt-000418",
      "418",
      "0",
      ".",
      "...",
      "null",
  };
  for (const std::string& text : malformed) {
    CAPTURE(text);
    CHECK_FALSE(is_canonical(text));
    CHECK_FALSE(parse_exact(text));
  }
}

TEST_CASE("numbers parse up to the ends of their types and not beyond", "[ids]") {
  const std::vector<std::string> streams{
      "0",          "1",          "65536",      "2147483647", "2147483648",  "4294967294",          "4294967295",
      "4294967296", "4294967297", "4294967299", "9999999999", "10000000000", "18446744073709551616"};
  for (const std::string& stream : streams) {
    CAPTURE(stream);
    CHECK(parse_exact(after_id(stream + ".1")).has_value() == is_decimal(stream, "4294967295"));
  }
  const std::vector<std::string> seqs{
      "9999999999999999999",   "10000000000000000000", "10000000000000000001", "19999999999999999999",
      "20000000000000000000",  "9223372036854775807",  "9223372036854775808",  "18446744073709551613",
      "18446744073709551614",  "18446744073709551615", "18446744073709551616", "18446744073709551617",
      "18446744073709551619",  "18446744073709551620", "18446744073709551625", "18446744073709551715",
      "19999999999999999999",  "20000000000000000000", "99999999999999999999", "100000000000000000000",
      "184467440737095516150", "184467440737095516160"};
  for (const std::string& seq : seqs) {
    CAPTURE(seq);
    CHECK(parse_exact(after_id("3." + seq)).has_value() == is_decimal(seq, "18446744073709551615"));
  }
  CHECK(parse_exact(after_id("4294967295.18446744073709551615"))->seq == max64);
  CHECK(parse_exact(after_id("4294967295.18446744073709551614"))->seq == event_id::last_seq);
  CHECK_FALSE(parse_exact(after_id("3.") + std::string(30, '9')));
  CHECK_FALSE(parse_exact(after_id("") + std::string(30, '9') + ".1"));
  CHECK_FALSE(parse_exact(after_id("3.") + std::string(30, '0')));
}

TEST_CASE("neighbours of 2^53 are different ids", "[ids]") {
  std::set<std::uint64_t> seqs;
  for (const char* seq : {"9007199254740991", "9007199254740992", "9007199254740993", "9007199254740994"}) {
    const std::optional<event_id> id = parse_exact(after_id(std::string("3.") + seq));
    REQUIRE(id);
    CHECK(to_string(*id) == after_id(std::string("3.") + seq));
    seqs.insert(id->seq);
  }
  CHECK(seqs == std::set<std::uint64_t>{(std::uint64_t{1} << 53U) - 1, std::uint64_t{1} << 53U,
                                        (std::uint64_t{1} << 53U) + 1, (std::uint64_t{1} << 53U) + 2});
}

TEST_CASE("the longest id has 65 characters and one more is malformed", "[ids]") {
  const event_id largest{{max64, max64}, 0xFFFFFFFFU, max64};
  CHECK(to_string(largest).size() == 65);
  STATIC_REQUIRE(event_id::max_size == 65);
  for (const char added : {'0', '1', '9', 'f', '.', ' ', '\0'}) {
    CHECK_FALSE(parse_exact(to_string(largest) + added));
    CHECK_FALSE(parse_exact(added + to_string(largest)));
  }
  CHECK_FALSE(parse_exact(std::string(66, '1')));
  CHECK_FALSE(parse_exact(std::string(std::size_t{1} << 20U, '1')));
  CHECK_FALSE(parse_exact(after_id("3.") + std::string(std::size_t{1} << 20U, '1')));
}

TEST_CASE("an id with edge values in any field comes back from its text", "[ids]") {
  const std::vector<std::uint64_t> edges{0,         1,    9, 10, 0xF, 0x10, 0xFFFFFFFFU, 0x100000000U, (max64 >> 1U),
                                         max64 - 1, max64};
  std::size_t wrong = 0;
  for (const std::uint64_t session : edges) {
    for (const std::uint64_t incarnation : edges) {
      for (const std::uint64_t seq : edges) {
        const auto stream = static_cast<std::uint32_t>(session ^ seq);
        const event_id id{{session, incarnation}, stream, seq};
        const std::optional<event_id> back = parse_exact(to_string(id));
        if (!(back && *back == id && to_string(id) == text_by_hand(id))) ++wrong;
      }
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("a random id comes back from its text", "[ids]") {
  std::uint64_t state = 20261114;
  std::size_t wrong = 0;
  for (int i = 0; i != 20000; ++i) {
    // The shifts give numbers of every length.
    const auto stream = static_cast<std::uint32_t>(next_random(state)) >> (next_random(state) % 32);
    const std::uint64_t seq = next_random(state) >> (next_random(state) % 64);
    const event_id id{{next_random(state), next_random(state)}, stream, seq};
    const std::optional<event_id> back = parse_exact(to_string(id));
    if (!(back && *back == id && to_string(id) == text_by_hand(id) && is_canonical(to_string(id)))) ++wrong;
  }
  CHECK(wrong == 0);
}

TEST_CASE("to_chars writes exactly the text and no byte behind it", "[ids]") {
  for (const std::string& text : valid_texts()) {
    const std::unique_ptr<char[]> out(new char[text.size()]);
    CHECK(event_id::parse(text)->to_chars(out.get()) == text.size());
    CHECK(std::string_view(out.get(), text.size()) == text);
  }
}

TEST_CASE("ids differ if any field differs", "[ids]") {
  const event_id id{{1, 2}, 3, 4};
  CHECK(id == event_id{{1, 2}, 3, 4});
  CHECK_FALSE(id != event_id{{1, 2}, 3, 4});
  for (const event_id& other : {event_id{{9, 2}, 3, 4}, event_id{{1, 9}, 3, 4}, event_id{{1, 2}, 9, 4},
                                event_id{{1, 2}, 3, 9}, event_id{{2, 1}, 3, 4}, event_id{{1, 2}, 4, 3}}) {
    CHECK(id != other);
    CHECK_FALSE(id == other);
    CHECK(to_string(id) != to_string(other));
  }
}

TEST_CASE("the successor is the next seq of the same stream up to the last that is issued", "[ids]") {
  const tags owner{1, 2};
  for (const std::uint64_t seq : {std::uint64_t{0}, std::uint64_t{418}, (std::uint64_t{1} << 53U), max64 - 2}) {
    CHECK(event_id{owner, 3, seq}.successor() == event_id{owner, 3, seq + 1});
  }
  STATIC_REQUIRE(event_id::last_seq == max64 - 1);
  CHECK_FALSE(event_id{owner, 3, max64 - 1}.successor());
  CHECK_FALSE(event_id{owner, 3, max64}.successor());
}

TEST_CASE("the tags of a session come from its source in the order session then incarnation", "[ids]") {
  session in_hand;
  scripted_random source({0x5f0c2d9a1b3e4c77U, 0x9f8e7d6c5b4a3921U, 7});
  REQUIRE(in_hand.create("s", "alice", version, {}, source) == refusal::none);
  CHECK(in_hand.facts().owner == tags{0x5f0c2d9a1b3e4c77U, 0x9f8e7d6c5b4a3921U});
  CHECK(to_string(in_hand.append(in_hand.standalone(), "x").id) == "5f0c2d9a1b3e4c77.9f8e7d6c5b4a3921.0.1");
  REQUIRE(in_hand.renew(source) == refusal::none);
  CHECK(in_hand.facts().owner == tags{0x5f0c2d9a1b3e4c77U, 7});

  session restored;
  REQUIRE(restored.restore("s", "alice", version, 0xABCU, {}, scripted_random({8})) == refusal::none);
  CHECK(restored.facts().owner == tags{0xABCU, 8});

  local_session_table table;
  REQUIRE(table.create("a", "alice", version, scripted_random({1, 2})) == refusal::none);
  REQUIRE(table.restore("b", "alice", version, 0xDEFU, scripted_random({3})) == refusal::none);
  CHECK(table.standalone("a")->owner == tags{1, 2});
  CHECK(table.standalone("b")->owner == tags{0xDEFU, 3});
  REQUIRE(table.renew("a", scripted_random({max64})) == refusal::none);
  CHECK(table.standalone("a")->owner == tags{1, max64});
}

TEST_CASE("a source without randomness makes no session and changes none", "[ids]") {
  session in_hand;
  CHECK(in_hand.create("s", "alice", version, {}, no_random) == refusal::no_randomness);
  CHECK(in_hand.create("s", "alice", version, {}, scripted_random({1})) == refusal::no_randomness);
  CHECK(in_hand.restore("s", "alice", version, 1, {}, no_random) == refusal::no_randomness);
  CHECK_FALSE(in_hand.is_live());

  REQUIRE(in_hand.create("s", "alice", version, {}, scripted_random({1, 2})) == refusal::none);
  REQUIRE(in_hand.append(in_hand.standalone(), "x"));
  const stream_handle call = in_hand.open_stream("7").stream;
  CHECK(in_hand.renew(no_random) == refusal::no_randomness);
  CHECK(in_hand.facts().owner == tags{1, 2});
  CHECK(in_hand.window_of(in_hand.standalone()) == window{1, 2});
  CHECK(in_hand.label_of(call) == "7");
}

TEST_CASE("a source without randomness changes no table", "[ids]") {
  local_session_table table;
  CHECK(table.create("s", "alice", version, no_random) == refusal::no_randomness);
  CHECK(table.create("s", "alice", version, scripted_random({1})) == refusal::no_randomness);
  CHECK(table.restore("s", "alice", version, 1, no_random) == refusal::no_randomness);
  CHECK(table.inspect().sessions == 0);

  REQUIRE(table.create("s", "alice", version, scripted_random({1, 2})) == refusal::none);
  REQUIRE(table.append(*table.standalone("s"), "x"));
  CHECK(table.renew("s", no_random) == refusal::no_randomness);
  CHECK(table.standalone("s")->owner == tags{1, 2});
  CHECK(table.inspect("s").events == 1);
}

#if MCP_RESUME_RANDOM_DEVICE
TEST_CASE("the default source gives tags that differ", "[ids]") {
  std::set<std::uint64_t> drawn;
  for (int i = 0; i != 64; ++i) {
    const std::optional<std::uint64_t> tag = system_random{}();
    REQUIRE(tag);
    drawn.insert(*tag);
  }
  CHECK(drawn.size() == 64);  // 64 equal bits by chance: below 2^-53

  // Both halves of the tag are drawn.
  std::uint64_t ones = 0;
  std::uint64_t zeros = 0;
  for (const std::uint64_t tag : drawn) {
    ones |= tag;
    zeros |= ~tag;
  }
  CHECK(ones == max64);
  CHECK(zeros == max64);

  session first;
  session second;
  REQUIRE(first.create("s", "alice", version) == refusal::none);
  REQUIRE(second.create("s", "alice", version) == refusal::none);
  CHECK(first.facts().owner.session != second.facts().owner.session);
  CHECK(first.facts().owner.incarnation != second.facts().owner.incarnation);
  CHECK(first.facts().owner.session != first.facts().owner.incarnation);
}
#endif
