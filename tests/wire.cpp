// SPDX-License-Identifier: MIT
// What is written on the wire reads back as it was meant, for every payload and every negotiated version, in an order
// in which a cut at any place loses nothing.

#include <cstddef>
#include <cstdint>
#include <mcp_resume/resume.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "catch.hpp"
#include "randomness.hpp"
#include "sse.hpp"

using namespace mcp_resume;
using randomness::counted_tags;
using randomness::next_random;

namespace {

constexpr tags golden_tags{0x5f0c2d9a1b3e4c77, 0x9f8e7d6c5b4a3921};
constexpr event_id golden_id{golden_tags, 3, 418};
constexpr protocol stateful_versions[] = {protocol::v2024_11_05, protocol::v2025_03_26, protocol::v2025_06_18,
                                          protocol::v2025_11_25};

// What a client can know of a payload: its line ends have all become LF.
std::string as_received(std::string_view payload) {
  std::string text;
  for (std::size_t i = 0; i != payload.size(); ++i) {
    if (payload[i] == '\n' && i != 0 && payload[i - 1] == '\r') continue;
    text.push_back(payload[i] == '\r' ? '\n' : payload[i]);
  }
  return text;
}

// Knows the JSON that the library writes: objects, strings without escapes and natural numbers, and no blanks.
class json_text {
 public:
  static bool is_valid(std::string_view text) {
    json_text rest{text};
    return rest.take_value() && rest.text_.empty();
  }

 private:
  explicit json_text(std::string_view text) : text_(text) {}
  bool take(char c) {
    if (text_.empty() || text_[0] != c) return false;
    text_.remove_prefix(1);
    return true;
  }
  bool take_string() {
    if (!take('"')) return false;
    while (!text_.empty() && text_[0] != '"') {
      if (static_cast<unsigned char>(text_[0]) < 0x20 || text_[0] == '\\') return false;
      text_.remove_prefix(1);
    }
    return take('"');
  }
  bool take_number() {
    const std::size_t digits = text_.find_first_not_of("0123456789");
    const std::size_t size = digits == std::string_view::npos ? text_.size() : digits;
    if (size == 0 || (size > 1 && text_[0] == '0')) return false;
    text_.remove_prefix(size);
    return true;
  }
  bool take_object() {
    if (!take('{')) return false;
    if (take('}')) return true;
    do {
      if (!take_string() || !take(':') || !take_value()) return false;
    } while (take(','));
    return take('}');
  }
  bool take_value() {
    if (text_.empty()) return false;
    if (text_[0] == '{') return take_object();
    return text_[0] == '"' ? take_string() : take_number();
  }

  std::string_view text_;
};

// The first difference between the payload and what a client reads from its event and from its message, or nothing.
// Each stands between two others, which must not suffer.
std::string problem_with(std::string_view payload) {
  std::string frames;
  const refusal before = append_event(frames, golden_id, "before");
  const refusal as_event = append_event(frames, *golden_id.successor(), payload);
  const refusal as_message = append_message(frames, payload);
  const refusal after = append_message(frames, "after");
  if (before != refusal::none || as_event != refusal::none || as_message != refusal::none || after != refusal::none) {
    return "refused";
  }
  const std::vector<sse::block> blocks = sse::read(frames);
  if (blocks.size() != 4) return "not one block each";
  if (blocks[0].id != to_string(golden_id) || blocks[0].data != "before") return "the block before it changed";
  if (blocks[1].id != to_string(*golden_id.successor())) return "the event's id changed";
  if (blocks[2].id || blocks[3].id) return "a message has an id";
  if (blocks[1].data != as_received(payload)) return "the event's data changed";
  if (blocks[2].data != as_received(payload)) return "the message's data changed";
  if (blocks[3].data != "after") return "the block after it changed";
  for (const sse::block& each : blocks) {
    if (each.type != "message" || each.retry || each.comments != 0) return "a field was forged";
  }
  return "";
}

void require_no_problem_with(std::string_view payload) {
  const std::string problem = problem_with(payload);
  if (problem.empty()) return;
  CAPTURE(std::string(payload));
  FAIL(problem);
}

// Calls `use` with every text of up to `longest` of the bytes.
template <class Use>
void for_each_text(std::string_view bytes, std::size_t longest, Use use) {
  std::vector<std::size_t> digits(1, 0);
  while (digits.size() <= longest) {
    std::string text;
    for (const std::size_t digit : digits) text.push_back(bytes[digit]);
    use(text);
    std::size_t place = 0;
    while (place != digits.size() && ++digits[place] == bytes.size()) digits[place++] = 0;
    if (place == digits.size()) digits.assign(digits.size() + 1, 0);
  }
}

constexpr std::string_view breaking_bytes("a\r\n: \0", 6);

// A session and the requests to it. `made` names the tags that it drew.
struct server {
  session s;
  counted_tags random;

  explicit server(const options& bounds = {}, protocol negotiated = protocol::v2025_11_25) {
    REQUIRE(s.create("sid", "alice", negotiated, bounds, random) == refusal::none);
  }
  stream_handle standalone() const { return s.standalone(); }
  event_id id(std::uint64_t seq, std::uint32_t stream = 0) const { return {s.facts().owner, stream, seq}; }
  void append(std::string_view payload, std::uint32_t stream = 0) {
    stream_handle to = standalone();
    to.stream = stream;
    REQUIRE(s.append(to, payload));
  }
  // Appends `count` events, each of its number as text.
  void append_numbers(std::uint64_t count, std::uint32_t stream = 0) {
    for (std::uint64_t i = 0; i != count; ++i) append(std::to_string(s.facts_of(stream).window.next), stream);
  }
  resolution ask(const std::string& cursor) const {
    const std::string none;
    request asked;
    asked.session_id = "sid";
    asked.principal = "alice";
    asked.last_event_id = cursor;
    return resolve_resume(asked, &s);
  }
  reader attach_after(const event_id& cursor, std::optional<std::uint32_t> retry_ms = std::nullopt) {
    return s.attach(ask(to_string(cursor)), retry_ms);
  }
  reader attach_fresh() { return s.attach(ask("")); }
  std::string event(std::uint64_t seq, std::uint32_t stream = 0) const {
    std::string frame;
    REQUIRE(append_event(frame, id(seq, stream), std::to_string(seq)) == refusal::none);
    return frame;
  }
  std::string events(std::uint64_t first, std::uint64_t last, std::uint32_t stream = 0) const {
    std::string frames;
    for (std::uint64_t seq = first; seq <= last; ++seq) frames += event(seq, stream);
    return frames;
  }
  std::string marker(std::uint64_t seq, std::uint32_t stream = 0, std::uint32_t retry_ms = 0) const {
    std::string frame;
    append_marker(frame, id(seq, stream), s.facts().negotiated, retry_ms);
    return frame;
  }
  std::string gap(std::uint64_t presented, std::uint64_t resume_from, std::uint32_t stream = 0) const {
    std::string frame;
    append_gap(frame, id(presented, stream), id(resume_from, stream), resume_from - presented);
    return frame;
  }
  // Reads once: the frames, which must be of this state.
  std::string read(reader& from, read_state expected) {
    std::string frames;
    const progress done = s.read(from, frames);
    CHECK(done.state == expected);
    CHECK(done.bytes == frames.size());
    return frames;
  }
};

options bounded_to(std::uint32_t events) {
  options bounds;
  bounds.max_events = events;
  return bounds;
}

// Reads on as a server does until nothing is due, at most `max_bytes` a call. Returns the chunks.
std::vector<std::string> read_in_chunks(session& s, reader from, std::size_t max_bytes) {
  std::vector<std::string> chunks;
  for (read_state state = read_state::more; state != read_state::caught_up && state != read_state::finished;) {
    std::string frames;
    const progress done = s.read(from, frames, max_bytes);
    REQUIRE(done.bytes == frames.size());
    REQUIRE(!frames.empty());
    state = done.state;
    REQUIRE((state == read_state::more || state == read_state::caught_up || state == read_state::gap ||
             state == read_state::finished));
    chunks.push_back(frames);
  }
  return chunks;
}

std::string joined(const std::vector<std::string>& chunks) {
  std::string all;
  for (const std::string& chunk : chunks) all += chunk;
  return all;
}

}  // namespace

TEST_CASE("the test's own reader of events does what the HTML standard says", "[wire]") {
  CHECK(sse::read("data: YHOO\ndata: +2\ndata: 10\n\n")[0].data == "YHOO\n+2\n10");
  const auto comments = sse::read(": test stream\n\ndata: first\nid: 1\n\ndata:second\nid\n\ndata:  third\n\n");
  REQUIRE(comments.size() == 4);
  CHECK((comments[0].comments == 1 && !comments[0].data));
  CHECK((comments[1].id == "1" && comments[1].data == "first"));
  CHECK((comments[2].id == "" && comments[2].data == "second"));
  CHECK((!comments[3].id && comments[3].data == " third"));
  CHECK(sse::read("data\n\ndata\ndata\n\ndata:")[1].data == "\n");
  CHECK(sse::read("data\n\ndata\ndata\n\ndata:").size() == 2);
  CHECK(sse::read("data: a\r\rdata: b\r\n\r\n").size() == 2);
  CHECK(sse::read("\xEF\xBB\xBF"
                  "data: a\n\n")[0]
            .data == "a");
  CHECK_FALSE(sse::read("\xEF\xBB\xBF\xEF\xBB\xBF"
                        "data: a\n\n")[0]
                  .data);
  CHECK_FALSE(sse::read(std::string_view("id: a\0b\ndata: a\n\n", 17))[0].id);
  CHECK(sse::read("retry: 10\nretry: 1x\nretry:\nretry: -1\nid: 1\n\n")[0].retry == 10U);
  CHECK(sse::read("Data: a\nevent: add\nevent\n\n")[0].type == "message");
  CHECK(sse::read("event: add\n\n")[0].type == "add");
  CHECK(sse::read("data: a").empty());
}

TEST_CASE("an event is its id and its payload line by line", "[wire]") {
  std::string out = "kept|";
  REQUIRE(append_event(out, golden_id, "hello") == refusal::none);
  CHECK(out == "kept|id: 5f0c2d9a1b3e4c77.9f8e7d6c5b4a3921.3.418\ndata: hello\n\n");
  out.clear();
  REQUIRE(append_event(out, golden_id, "a\rb\nc\r\nd\n\re\r\r\n") == refusal::none);
  CHECK(out ==
        "id: 5f0c2d9a1b3e4c77.9f8e7d6c5b4a3921.3.418\n"
        "data: a\ndata: b\ndata: c\ndata: d\ndata: \ndata: e\ndata: \ndata: \n\n");
  out.clear();
  REQUIRE(append_message(out, "hello\nworld") == refusal::none);
  CHECK(out == "data: hello\ndata: world\n\n");
}

TEST_CASE("an empty payload is refused and nothing is appended", "[wire]") {
  std::string out = "kept";
  CHECK(append_event(out, golden_id, "") == refusal::empty_payload);
  CHECK(append_event(out, golden_id, std::string_view()) == refusal::empty_payload);
  CHECK(append_message(out, "") == refusal::empty_payload);
  CHECK(out == "kept");
}

TEST_CASE("no payload can forge a field or end its block", "[wire]") {
  const std::string_view payloads[] = {"\r",
                                       "\n",
                                       "\r\n",
                                       "\n\r",
                                       "\r\r\n\n",
                                       "x\r",
                                       "x\r\n",
                                       "x\n",
                                       "\nx",
                                       "id: 7",
                                       "x\nid: 7\n\nid: 8\n\n",
                                       "x\rid: 7\r\rdata: y",
                                       "x\r\nevent: gap\r\n\r\nevent: reset",
                                       "data: y\ndata: z",
                                       "retry: 1\nretry: 1",
                                       "x\n: comment\n:",
                                       " one blank",
                                       "  two blanks\n  and two",
                                       "\ttab",
                                       ":",
                                       "\xEF\xBB\xBF"
                                       "with a mark\n\xEF\xBB\xBF"
                                       "and another",
                                       std::string_view("\0", 1),
                                       std::string_view("a\0id: 7\n\0\n\n\0", 13),
                                       "\xE2\x80\xA8 is a line separator to others \xC2\x85",
                                       "\v\f\x1C\x1D\x1E"};
  for (const std::string_view payload : payloads) require_no_problem_with(payload);
  require_no_problem_with(std::string(5000, '\n'));
  require_no_problem_with(std::string(5000, '\r'));
  std::string all_bytes;
  for (int byte = 0; byte != 256; ++byte) all_bytes.push_back(static_cast<char>(byte));
  require_no_problem_with(all_bytes);
  require_no_problem_with(all_bytes + all_bytes);
}

TEST_CASE("every short payload of the bytes that matter reads back", "[wire]") {
  std::size_t count = 0;
  for_each_text(breaking_bytes, 5, [&count](const std::string& payload) {
    require_no_problem_with(payload);
    ++count;
  });
  CHECK(count == 6 + 36 + 216 + 1296 + 7776);
}

TEST_CASE("random payloads read back", "[wire]") {
  std::uint64_t state = 1;
  for (int round = 0; round != 2000; ++round) {
    const std::size_t size = 1 + next_random(state) % (round % 20 == 0 ? 3000 : 60);
    const bool any_byte = next_random(state) % 2 == 0;
    std::string payload;
    while (payload.size() != size) {
      const std::uint64_t r = next_random(state);
      payload.push_back(any_byte ? static_cast<char>(r) : breaking_bytes[r % breaking_bytes.size()]);
    }
    require_no_problem_with(payload);
  }
}

TEST_CASE("a held payload is written as it would be written at once", "[wire]") {
  options bounds;
  bounds.max_events = 10000;
  server of(bounds);
  std::string expected = of.marker(0);
  std::uint64_t seq = 0;
  for_each_text(breaking_bytes, 5, [&](const std::string& payload) {
    if (!of.s.append(of.standalone(), payload)) FAIL("refused");
    if (append_event(expected, of.id(++seq), payload) != refusal::none) FAIL("refused");
  });
  reader from = of.attach_fresh();
  std::string frames;
  const progress done = of.s.read(from, frames, std::size_t{1} << 30U);
  CHECK(done.state == read_state::caught_up);
  CHECK(done.events == seq);
  CHECK((frames == expected));
}

TEST_CASE("a marker primes a client of 2025-11-25 by an empty data field and no event field", "[wire]") {
  std::string out = "kept|";
  append_marker(out, golden_id, protocol::v2025_11_25);
  CHECK(out == "kept|id: 5f0c2d9a1b3e4c77.9f8e7d6c5b4a3921.3.418\ndata:\n\n");
  out.clear();
  append_marker(out, golden_id, protocol::v2025_11_25, 3000);
  CHECK(out == "id: 5f0c2d9a1b3e4c77.9f8e7d6c5b4a3921.3.418\nretry: 3000\ndata:\n\n");
  const auto blocks = sse::read(out);
  REQUIRE(blocks.size() == 1);
  CHECK(blocks[0].id == to_string(golden_id));
  CHECK(blocks[0].type == "message");
  CHECK(blocks[0].data == "");
  CHECK(blocks[0].retry == 3000U);
}

TEST_CASE("a marker for older versions is a notification and never empty data", "[wire]") {
  const protocol negotiated = GENERATE(protocol::v2024_11_05, protocol::v2025_03_26, protocol::v2025_06_18);
  const std::string notification = R"({"jsonrpc":"2.0","method":"notifications/resume/continued",)"
                                   R"("params":{"lastEventId":"5f0c2d9a1b3e4c77.9f8e7d6c5b4a3921.3.418"}})";
  REQUIRE(json_text::is_valid(notification));
  std::string out;
  append_marker(out, golden_id, negotiated);
  CHECK(out == "event: resume\nid: 5f0c2d9a1b3e4c77.9f8e7d6c5b4a3921.3.418\ndata: " + notification + "\n\n");
  out.clear();
  append_marker(out, golden_id, negotiated, 4294967295);
  CHECK(out == "event: resume\nid: 5f0c2d9a1b3e4c77.9f8e7d6c5b4a3921.3.418\nretry: 4294967295\ndata: " + notification +
                   "\n\n");
  const auto blocks = sse::read(out);
  REQUIRE(blocks.size() == 1);
  CHECK(blocks[0].type == "resume");
  CHECK(blocks[0].retry == 4294967295U);
}

TEST_CASE("a gap signal stands under the presented id and says where the stream goes on", "[wire]") {
  std::string out = "kept|";
  append_gap(out, {golden_tags, 3, 418}, {golden_tags, 3, 600}, 182);
  CHECK(out ==
        "kept|event: gap\nid: 5f0c2d9a1b3e4c77.9f8e7d6c5b4a3921.3.418\n"
        R"(data: {"jsonrpc":"2.0","method":"notifications/resume/gap","params":{)"
        R"("lastEventId":"5f0c2d9a1b3e4c77.9f8e7d6c5b4a3921.3.418",)"
        R"("resumeFrom":"5f0c2d9a1b3e4c77.9f8e7d6c5b4a3921.3.600","missed":182}})"
        "\n\n");
  out.clear();
  append_gap(out, {golden_tags, 4294967295, 0}, {golden_tags, 4294967295, event_id::last_seq}, event_id::last_seq);
  const auto blocks = sse::read(out);
  REQUIRE(blocks.size() == 1);
  CHECK(blocks[0].type == "gap");
  CHECK(blocks[0].id == "5f0c2d9a1b3e4c77.9f8e7d6c5b4a3921.4294967295.0");
  CHECK(json_text::is_valid(*blocks[0].data));
  CHECK(blocks[0].data->find(R"("missed":18446744073709551614})") != std::string::npos);
}

TEST_CASE("a reset signal stands under the presented id of the other incarnation", "[wire]") {
  std::string out = "kept|";
  append_reset(out, {golden_tags, 0, 418}, {{golden_tags.session, 0x00000000000000ab}, 0, 7});
  CHECK(out ==
        "kept|event: reset\nid: 5f0c2d9a1b3e4c77.9f8e7d6c5b4a3921.0.418\n"
        R"(data: {"jsonrpc":"2.0","method":"notifications/resume/reset","params":{)"
        R"("lastEventId":"5f0c2d9a1b3e4c77.9f8e7d6c5b4a3921.0.418",)"
        R"("resumeFrom":"5f0c2d9a1b3e4c77.00000000000000ab.0.7"}})"
        "\n\n");
  const auto blocks = sse::read(out.substr(5));
  REQUIRE(blocks.size() == 1);
  CHECK(blocks[0].type == "reset");
  CHECK(json_text::is_valid(*blocks[0].data));
}

TEST_CASE("a keep-alive is one comment line that ends and disturbs no block", "[wire]") {
  std::string alive = "kept|";
  append_keep_alive(alive);
  REQUIRE(alive.substr(0, 5) == "kept|");
  alive.erase(0, 5);
  CHECK(alive.front() == ':');
  CHECK(alive.back() == '\n');
  CHECK(alive.find_first_of("\r\n") == alive.size() - 1);
  CHECK(sse::read(alive).empty());

  std::string frames = alive + alive;
  REQUIRE(append_event(frames, golden_id, "x\ny") == refusal::none);
  frames += alive;
  append_marker(frames, *golden_id.successor(), protocol::v2025_11_25);
  const auto blocks = sse::read(frames + alive);
  REQUIRE(blocks.size() == 2);
  CHECK((blocks[0].id == to_string(golden_id) && blocks[0].data == "x\ny" && blocks[0].comments == 2));
  CHECK((blocks[1].id == to_string(*golden_id.successor()) && blocks[1].data == "" && blocks[1].comments == 1));
}

TEST_CASE("the advertised retention is one JSON object of the bounds that hold", "[wire]") {
  std::string out = "kept|";
  append_retention(out, options());
  CHECK(out == R"(kept|{"eventId":"<session>.<incarnation>.<stream>.<seq>","maxEvents":1024,"maxBytes":8388608,)"
               R"("maxAgeMs":0,"maxStreams":256})");
  options bounds;
  bounds.max_events = 0;  // counts as 1, and is advertised as such
  bounds.max_bytes = 0;
  bounds.max_streams = 0;
  bounds.max_age_ms = 18446744073709551615U;
  out.clear();
  append_retention(out, bounds);
  CHECK(out == R"({"eventId":"<session>.<incarnation>.<stream>.<seq>","maxEvents":1,"maxBytes":1,)"
               R"("maxAgeMs":18446744073709551615,"maxStreams":1})");
  CHECK(json_text::is_valid(out));
}

TEST_CASE("headers follow the status alone", "[wire]") {
  const auto text_of = [](int status) {
    std::string text;
    for (const header& each : headers_for(status)) text.append(each.name).append("=").append(each.value).append(";");
    return text;
  };
  CHECK(text_of(200).find("Content-Type=text/event-stream;") != std::string::npos);
  CHECK(text_of(200).find("Cache-Control=no-store;") != std::string::npos);
  CHECK(text_of(405) == "Cache-Control=no-store;Allow=POST;");
  CHECK(text_of(503).find("Cache-Control=no-store;Retry-After=") == 0);
  for (const int status : {204, 400, 404, 409, 410, 418}) {
    CAPTURE(status);
    CHECK(text_of(status) == "Cache-Control=no-store;");
  }
}

TEST_CASE("a fresh stream begins with a marker and nothing sent before it is lost", "[wire]") {
  server of;
  of.append_numbers(3);
  reader from = of.attach_fresh();
  CHECK(of.read(from, read_state::caught_up) == of.marker(0) + of.events(1, 3));
  CHECK(of.read(from, read_state::caught_up).empty());
  of.append_numbers(1);
  CHECK(of.read(from, read_state::caught_up) == of.event(4));
  of.append_numbers(2);
  of.s.release(from);
  reader next = of.attach_fresh();
  CHECK(of.read(next, read_state::caught_up) == of.marker(4) + of.events(5, 6));
}

TEST_CASE("an empty fresh stream still begins with a marker", "[wire]") {
  server of;
  reader from = of.attach_fresh();
  CHECK(of.read(from, read_state::caught_up) == of.marker(0));
}

TEST_CASE("a continued stream begins with the presented cursor", "[wire]") {
  server of;
  of.append_numbers(5);
  for (std::uint64_t seq = 0; seq <= 5; ++seq) {
    reader from = of.attach_after(of.id(seq));
    CHECK(of.read(from, read_state::caught_up) == of.marker(seq) + of.events(seq + 1, 5));
  }
}

TEST_CASE("a request stream's first reader begins at its place before the first event", "[wire]") {
  server of;
  opened call = of.s.open_stream("7");
  REQUIRE(call);
  of.append_numbers(2, 1);
  CHECK(of.read(call.reader, read_state::caught_up) == of.marker(0, 1) + of.events(1, 2, 1));
  of.append_numbers(1, 1);
  REQUIRE(of.s.finish(call.stream) == refusal::none);
  CHECK(of.read(call.reader, read_state::finished) == of.event(3, 1));
  CHECK(of.read(call.reader, read_state::finished).empty());
}

TEST_CASE("a finished stream is written as it was while it was open", "[wire]") {
  server of;
  opened call = of.s.open_stream("7");
  REQUIRE(call);
  std::string expected = of.marker(0, 1);
  std::uint64_t seq = 0;
  for (const std::string_view payload : {"one line", "two\nlines", "\r", "a\r\nid: 7\n\n", "one line again"}) {
    of.append(payload, 1);
    REQUIRE(append_event(expected, of.id(++seq, 1), payload) == refusal::none);
  }
  const reader start = call.reader;
  CHECK(of.read(call.reader, read_state::caught_up) == expected);
  REQUIRE(of.s.finish(call.stream) == refusal::none);
  reader again = start;
  CHECK(of.read(again, read_state::finished) == expected);
}

TEST_CASE("the marker is of the negotiated version and not of the one a request names", "[wire]") {
  for (const protocol negotiated : stateful_versions) {
    server of({}, negotiated);
    of.append_numbers(1);
    request asked;
    asked.session_id = "sid";
    asked.principal = "alice";
    asked.version = to_string(negotiated == protocol::v2025_11_25 ? protocol::v2025_03_26 : protocol::v2025_11_25);
    reader from = of.s.attach(resolve_resume(asked, &of.s));
    std::string marker;
    append_marker(marker, of.id(0), negotiated);
    CHECK(of.read(from, read_state::caught_up) == marker + of.event(1));
    CHECK(from.negotiated() == negotiated);
    CHECK((sse::read(marker)[0].type == "resume") == (negotiated != protocol::v2025_11_25));
  }
}

TEST_CASE("the wait before a reconnect is the connection's or else the option's", "[wire]") {
  options bounds;
  bounds.retry_ms = 1500;
  server of(bounds);
  of.append_numbers(2);
  reader usual = of.attach_after(of.id(2));
  CHECK(of.read(usual, read_state::caught_up) == of.marker(2, 0, 1500));
  reader longer = of.attach_after(of.id(2), 60000);
  CHECK(of.read(longer, read_state::caught_up) == of.marker(2, 0, 60000));
  reader none = of.attach_after(of.id(2), 0);
  CHECK(of.read(none, read_state::caught_up) == of.marker(2));
  opened call = of.s.open_stream("1", 250);
  REQUIRE(call);
  CHECK(of.read(call.reader, read_state::caught_up) == of.marker(0, 1, 250));
  opened usual_call = of.s.open_stream("2");
  REQUIRE(usual_call);
  CHECK(of.read(usual_call.reader, read_state::caught_up) == of.marker(0, 2, 1500));
}

TEST_CASE("after a gap the signal comes alone and then the marker of the announced place and then events", "[wire]") {
  server of(bounded_to(4));
  of.append_numbers(10);
  reader from = of.attach_after(of.id(2));
  std::string frames;
  const progress signal = of.s.read(from, frames);
  CHECK(frames == of.gap(2, 10));
  CHECK(signal.state == read_state::gap);
  CHECK(signal.answer == answer::none_yet);
  CHECK(signal.missed == 8);
  CHECK(signal.events == 0);
  of.append_numbers(2);
  CHECK(of.read(from, read_state::caught_up) == of.marker(10) + of.events(11, 12));
}

TEST_CASE("a cut after the gap signal loses nothing as the same cursor meets the same gap", "[wire]") {
  server of(bounded_to(4));
  of.append_numbers(10);
  reader cut = of.attach_after(of.id(2));
  const std::string signal = of.read(cut, read_state::gap);
  CHECK(sse::read(signal)[0].id == to_string(of.id(2)));
  CHECK(cut.position() == of.id(2));  // the client has not seen the place that goes on yet
  reader again = of.attach_after(*event_id::parse(*sse::read(signal)[0].id));
  CHECK(of.read(again, read_state::gap) == signal);
  CHECK(of.read(again, read_state::caught_up) == of.marker(10));
  of.append_numbers(1);
  reader later = of.attach_after(of.id(2));
  CHECK(of.read(later, read_state::gap) == of.gap(2, 11));
}

TEST_CASE("a cut after the marker loses nothing as its id continues", "[wire]") {
  server of(bounded_to(4));
  of.append_numbers(10);
  reader cut = of.attach_after(of.id(2));
  (void)of.read(cut, read_state::gap);
  std::string marker(of.marker(10));
  std::string buffer(marker.size(), ' ');
  of.append_numbers(3);
  CHECK(of.s.read(cut, buffer.data(), buffer.size()).state == read_state::more);
  CHECK(buffer == marker);
  reader again = of.attach_after(*event_id::parse(*sse::read(buffer)[0].id));
  CHECK(of.read(again, read_state::caught_up) == of.marker(10) + of.events(11, 13));
}

TEST_CASE("a fresh reader whose place is gone gets its gap under the read mark", "[wire]") {
  server of(bounded_to(4));
  of.append_numbers(3);
  reader first = of.attach_fresh();
  CHECK(of.read(first, read_state::caught_up) == of.marker(0) + of.events(1, 3));
  of.s.release(first);
  of.append_numbers(6);  // holds 6 to 9
  const resolution decided = of.ask("");
  CHECK(decided.reason == reason::fresh);
  CHECK(decided.missed == 6);
  reader from = of.s.attach(decided);
  CHECK(of.read(from, read_state::gap) == of.gap(3, 9));
  of.append_numbers(1);
  CHECK(of.read(from, read_state::caught_up) == of.marker(9) + of.event(10));
}

TEST_CASE("a reset comes under the presented id and goes on in the new incarnation with all it holds", "[wire]") {
  server of;
  of.append_numbers(5);
  const event_id presented = of.id(3);
  REQUIRE(of.s.renew(of.random) == refusal::none);
  of.append_numbers(2);
  reader from = of.attach_after(presented);
  std::string signal;
  append_reset(signal, presented, of.id(0));
  std::string frames;
  const progress reset = of.s.read(from, frames);
  CHECK(frames == signal);
  CHECK(reset.state == read_state::reset);
  CHECK(reset.missed == 0);
  CHECK(of.read(from, read_state::caught_up) == of.marker(0) + of.events(1, 2));

  reader again = of.attach_after(presented);  // the client was cut after the signal
  CHECK(of.read(again, read_state::reset) == signal);
}

TEST_CASE("a reset into a log that has evicted goes on before the oldest event held", "[wire]") {
  server of(bounded_to(3));
  const event_id presented = of.id(9);
  REQUIRE(of.s.renew(of.random) == refusal::none);
  of.append_numbers(7);
  reader from = of.attach_after(presented);
  std::string signal;
  append_reset(signal, presented, of.id(4));
  CHECK(of.read(from, read_state::reset) == signal);
  CHECK(of.read(from, read_state::caught_up) == of.marker(4) + of.events(5, 7));
}

TEST_CASE("a reader that is overrun while connected gets a gap under the last id it was given", "[wire]") {
  server of(bounded_to(3));
  of.append_numbers(2);
  reader from = of.attach_fresh();
  CHECK(of.read(from, read_state::caught_up) == of.marker(0) + of.events(1, 2));
  of.append_numbers(3);  // holds 3 to 5: the next one is still there
  CHECK(of.read(from, read_state::caught_up) == of.events(3, 5));
  of.append_numbers(4);  // holds 7 to 9: 6 is gone
  CHECK(of.read(from, read_state::gap) == of.gap(5, 9));
  CHECK(of.read(from, read_state::caught_up) == of.marker(9));
  of.append_numbers(1);
  CHECK(of.read(from, read_state::caught_up) == of.event(10));
}

TEST_CASE("a reader that is overrun before its first read gets its gap under the presented id", "[wire]") {
  server of(bounded_to(3));
  of.append_numbers(3);
  reader from = of.attach_after(of.id(1));
  of.append_numbers(3);
  CHECK(of.read(from, read_state::gap) == of.gap(1, 6));
  CHECK(of.read(from, read_state::caught_up) == of.marker(6));
}

TEST_CASE("what is evicted after the announcement is a new gap behind the announced marker", "[wire]") {
  server of(bounded_to(3));
  of.append_numbers(9);
  reader from = of.attach_after(of.id(1));
  CHECK(of.read(from, read_state::gap) == of.gap(1, 9));
  of.append_numbers(5);  // holds 12 to 14
  CHECK(of.read(from, read_state::more) == of.marker(9));
  CHECK(of.read(from, read_state::gap) == of.gap(9, 14));
  CHECK(of.read(from, read_state::caught_up) == of.marker(14));
}

TEST_CASE("a gap of a finished stream ends before its answer while that is held", "[wire]") {
  server of(bounded_to(3));
  opened call = of.s.open_stream("7");
  REQUIRE(call);
  of.append_numbers(6, 1);
  REQUIRE(of.s.finish(call.stream) == refusal::none);
  reader from = of.attach_after(of.id(1, 1));
  std::string frames;
  const progress held = of.s.read(from, frames);
  CHECK(frames == of.gap(1, 5, 1));
  CHECK(held.state == read_state::gap);
  CHECK(held.answer == answer::held);
  CHECK(held.missed == 4);
  CHECK(of.read(from, read_state::finished) == of.marker(5, 1) + of.event(6, 1));

  reader late = of.attach_after(of.id(1, 1));
  CHECK(of.read(late, read_state::gap) == of.gap(1, 5, 1));
  of.append_numbers(1);
  REQUIRE(of.s.renew(of.random) == refusal::none);
  CHECK(of.read(late, read_state::gone).empty());
}

TEST_CASE("a lost answer is said with the signal so that words can stand before the marker", "[wire]") {
  options bounds = bounded_to(4);
  bounds.max_age_ms = 10;
  server of(bounds);
  opened call = of.s.open_stream("7");
  REQUIRE(call);
  of.append_numbers(3, 1);
  REQUIRE(of.s.finish(call.stream) == refusal::none);
  of.s.tick(11);
  reader from = of.attach_after(of.id(1, 1));
  std::string frames;
  const progress lost = of.s.read(from, frames);
  CHECK(frames == of.gap(1, 3, 1));
  CHECK(lost.answer == answer::lost);
  CHECK(of.s.label_of(from.stream()) == "7");
  REQUIRE(append_message(frames, R"({"jsonrpc":"2.0","id":7,"error":{"code":-32000,"message":"lost"}})") ==
          refusal::none);
  CHECK(of.s.read(from, frames).state == read_state::finished);
  const auto blocks = sse::read(frames);
  REQUIRE(blocks.size() == 3);
  CHECK((blocks[0].type == "gap" && blocks[0].id == to_string(of.id(1, 1))));
  CHECK((blocks[1].type == "message" && !blocks[1].id));
  CHECK((blocks[2].data == "" && blocks[2].id == to_string(of.id(3, 1))));
}

namespace {

// A log whose reader meets a gap in the beginning, and payloads of one line and of many. All that the reader gets.
struct long_read {
  server of{bounded_to(40)};
  reader start;
  std::vector<std::string> frames;  // each by itself

  long_read() {
    options bounds = bounded_to(40);
    bounds.after_gap = after_gap::oldest_held;
    bounds.retry_ms = 7;
    of = server(bounds);
    std::uint64_t state = 5;
    for (std::size_t i = 0; i != 60; ++i) {
      std::string payload(1 + next_random(state) % 40, 'x');
      if (i % 3 == 0) payload.insert(next_random(state) % payload.size(), i % 2 == 0 ? "\r\n" : "\r");
      of.append(payload);
    }
    start = of.attach_after(of.id(4));
    reader from = start;
    while (of.s.visit(from,
                      [&](const frame& f) {
                        std::string one;
                        append_frame(one, f);
                        frames.push_back(one);
                        return true;
                      })
               .state != read_state::caught_up) {
    }
  }
};

// Whether `chunk` is frames [first, ...) and whole; moves `first` behind them.
bool takes_whole_frames(const std::vector<std::string>& frames, std::string_view chunk, std::size_t& first) {
  while (!chunk.empty()) {
    if (first == frames.size() || chunk.substr(0, frames[first].size()) != frames[first]) return false;
    chunk.remove_prefix(frames[first++].size());
  }
  return true;
}

}  // namespace

TEST_CASE("a visitor is handed the frames that read writes", "[wire]") {
  long_read all;
  REQUIRE(all.frames.size() == 1 + 1 + 40);
  CHECK(all.frames[0] == all.of.gap(4, 20));
  CHECK(all.frames[1] == all.of.marker(20, 0, 7));
  CHECK((joined(read_in_chunks(all.of.s, all.start, 1 << 20)) == joined(all.frames)));
}

TEST_CASE("a frame that a visitor leaves is handed out again", "[wire]") {
  long_read all;
  std::vector<std::string> taken;
  reader from = all.start;
  bool takes = true;
  read_state state = read_state::more;
  std::size_t visits = 0;
  while (state != read_state::caught_up) {
    const progress done = all.of.s.visit(from, [&](const frame& f) {
      ++visits;
      takes = !takes;
      if (!takes) return false;
      std::string one;
      append_frame(one, f);
      taken.push_back(one);
      return true;
    });
    state = done.state;
    CHECK(done.events <= 1);
  }
  CHECK(visits == 2 * all.frames.size());
  CHECK((taken == all.frames));
}

TEST_CASE("a bounded read into a string splits between frames and holds at least one", "[wire]") {
  long_read all;
  const std::string whole = joined(all.frames);
  for (std::size_t max_bytes = 0; max_bytes <= whole.size() + 1; ++max_bytes) {
    std::size_t first = 0;
    for (const std::string& chunk : read_in_chunks(all.of.s, all.start, max_bytes)) {
      const std::size_t begin = first;
      if (!takes_whole_frames(all.frames, chunk, first)) FAIL("split within a frame at " << max_bytes);
      const bool is_signal = begin == 0;  // comes alone
      const bool fits_another = first != all.frames.size() && chunk.size() + all.frames[first].size() <= max_bytes;
      if (chunk.size() > max_bytes && first != begin + 1) FAIL("more than the bound of " << max_bytes);
      if (fits_another && !is_signal) FAIL("less than would fit into " << max_bytes);
    }
    if (first != all.frames.size()) FAIL("frames are missing at " << max_bytes);
  }
}

TEST_CASE("a read appends to a string and bounds only what it appends", "[wire]") {
  long_read all;
  std::string frames(5000, 'k');
  reader from = all.start;
  const progress done = all.of.s.read(from, frames, 1);
  CHECK(done.bytes == all.frames[0].size());
  CHECK(frames == std::string(5000, 'k') + all.frames[0]);
}

TEST_CASE("a read into a raw buffer of any size writes whole frames or says more with no bytes", "[wire]") {
  long_read all;
  const std::string whole = joined(all.frames);
  for (std::size_t size = 0; size <= whole.size() + 1; ++size) {
    std::vector<char> buffer(size);
    std::size_t first = 0;
    reader from = all.start;
    read_state state = read_state::more;
    while (state != read_state::caught_up) {
      const progress done = all.of.s.read(from, buffer.data(), size);
      const std::size_t begin = first;
      if (done.bytes > size) FAIL("wrote behind a buffer of " << size);
      if (!takes_whole_frames(all.frames, {buffer.data(), done.bytes}, first)) FAIL("split within a frame at " << size);
      state = done.state;
      const bool fits_another = first != all.frames.size() && done.bytes + all.frames[first].size() <= size;
      if (fits_another && begin != 0) FAIL("less than would fit into " << size);
      if (done.bytes != 0) continue;
      if (state != read_state::more || all.frames[first].size() <= size) FAIL("nothing written at " << size);
      break;
    }
    if (state == read_state::caught_up && first != all.frames.size()) FAIL("frames are missing at " << size);
  }
}

TEST_CASE("a raw buffer that is too small takes nothing from the reader", "[wire]") {
  server of;
  of.append_numbers(1);
  reader from = of.attach_fresh();
  const std::size_t marker_size = of.marker(0).size();
  std::string buffer(marker_size + of.event(1).size(), '#');
  const progress none = of.s.read(from, buffer.data(), 0);
  CHECK((none.state == read_state::more && none.bytes == 0 && none.events == 0));
  CHECK(of.s.facts_of(0).read_mark == 0);
  const progress only_marker = of.s.read(from, buffer.data(), marker_size);
  CHECK((only_marker.state == read_state::more && only_marker.bytes == marker_size && only_marker.events == 0));
  CHECK(buffer == of.marker(0) + std::string(of.event(1).size(), '#'));
  const progress too_small = of.s.read(from, buffer.data(), of.event(1).size() - 1);
  CHECK((too_small.state == read_state::more && too_small.bytes == 0 && too_small.events == 0));
  CHECK(of.s.facts_of(0).read_mark == 0);
  const progress fits = of.s.read(from, buffer.data(), of.event(1).size());
  CHECK((fits.state == read_state::caught_up && fits.events == 1));
  CHECK(buffer.substr(0, fits.bytes) == of.event(1));
  CHECK(of.s.facts_of(0).read_mark == 1);
}

TEST_CASE("a payload of millions of line ends of one kind is written in one pass", "[wire]") {
  constexpr std::size_t ends = std::size_t{4} << 20U;  // searched for one by one they cost their square
  for (const char* end : {"\r", "\n"}) {
    std::string out;
    REQUIRE(append_message(out, std::string(ends, *end)) == refusal::none);
    CHECK(out.size() == ends * 7 + 8);  // "data: \n" each, then "data: \n\n"
  }
}
