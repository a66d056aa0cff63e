// SPDX-License-Identifier: MIT
// A session's event log keeps its bounds by the rule of eviction, refuses without a trace, and hands out exactly what
// it holds.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mcp_resume/resume.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "randomness.hpp"

using namespace mcp_resume;
using randomness::counted_tags;
using randomness::next_random;
using randomness::scarce_tags;

namespace {

struct delivery {
  progress done;
  std::vector<event_id> ids;
  std::vector<std::string> payloads;
};

// A session with what a test asks of it.
struct logged {
  session s;
  counted_tags random;

  explicit logged(const options& bounds = {}) {
    REQUIRE(s.create("sid", "alice", protocol::v2025_11_25, bounds, random) == refusal::none);
  }
  stream_handle handle(std::uint32_t stream = 0) const { return {s.facts().owner, stream, 0}; }
  event_id id(std::uint64_t seq, std::uint32_t stream = 0) const { return {s.facts().owner, stream, seq}; }
  window held(std::uint32_t stream = 0) const { return s.facts_of(stream).window; }
  appended append(std::string_view payload, std::uint32_t stream = 0) { return s.append(handle(stream), payload); }
  void append_bytes(std::size_t size, std::uint32_t stream = 0) { REQUIRE(append(std::string(size, 'x'), stream)); }
  void append_times(int count, std::uint32_t stream = 0) {
    for (int i = 0; i != count; ++i) append_bytes(1, stream);
  }
  std::uint32_t open(std::string_view label = "1") {
    const opened call = s.open_stream(label);
    REQUIRE(call);
    return call.stream.stream;
  }
  void finish(std::uint32_t stream) { REQUIRE(s.finish(handle(stream)) == refusal::none); }
  resolution ask(const std::string& cursor = {}) const {
    request asked;
    asked.session_id = "sid";
    asked.principal = "alice";
    asked.last_event_id = cursor;
    return resolve_resume(asked, &s);
  }
  resolution ask_after(std::uint64_t seq, std::uint32_t stream = 0) const { return ask(to_string(id(seq, stream))); }
  reader attach_after(std::uint64_t seq, std::uint32_t stream = 0) { return s.attach(ask_after(seq, stream)); }

  // One read: the events that it hands out.
  delivery read(reader& from) {
    delivery got;
    got.done = s.visit(from, [&got](const frame& f) {
      if (f.kind != frame_kind::event) return true;
      got.ids.push_back(f.id);
      got.payloads.emplace_back(f.payload);
      return true;
    });
    return got;
  }
  read_state state(reader& from) { return read(from).done.state; }

  // All that an observer can see, as text.
  std::string seen() const {
    const inspection all = s.inspect();
    std::string text = std::to_string(all.sessions) + " " + std::to_string(all.streams) + " " +
                       std::to_string(all.events) + " " + std::to_string(all.bytes) + " " +
                       std::to_string(all.oldest_age_ms) + " " + std::to_string(all.evicted_unread);
    const session_facts facts = s.facts();
    text += std::string(facts.id) + std::string(facts.principal) +
            (facts.standalone_reader == reader_fact::live ? "!" : "");
    for (std::uint32_t stream = 0; stream != 12; ++stream) {
      const stream_facts each = s.facts_of(stream);
      text += "\n" + to_string(each.window) + " " + std::to_string(each.read_mark) + " " +
              std::to_string(static_cast<int>(each.state)) + " " + std::string(s.label_of(handle(stream)));
    }
    return text;
  }
};

options bounded_to(std::uint32_t events, std::size_t bytes = std::size_t{8} << 20U) {
  options bounds;
  bounds.max_events = events;
  bounds.max_bytes = bytes;
  return bounds;
}

// A payload that names its place and is of that size; of a shape that includes line ends.
std::string payload_of(std::uint32_t stream, std::uint64_t seq, std::size_t size) {
  std::string text = std::to_string(stream) + "/" + std::to_string(seq) + (seq % 5 == 0 ? "\n" : ":");
  std::uint64_t state = seq * 1000 + stream;
  while (text.size() < size) text.push_back(static_cast<char>('a' + next_random(state) % 26));
  return text;
}

}  // namespace

// ---- The rule of eviction ------------------------------------------------------------------------------------------

TEST_CASE("over budget the oldest event goes of the stream that holds the most", "[log]") {
  logged of(bounded_to(6));
  const std::uint32_t a = of.open(), b = of.open(), c = of.open();
  of.append_times(2, a);
  of.append_times(3, b);
  of.append_times(1, c);
  of.append_times(1, c);
  CHECK(of.held(a) == window{1, 3});
  CHECK(of.held(b) == window{2, 4});
  CHECK(of.held(c) == window{1, 3});
}

TEST_CASE("among streams that hold as much the one opened first loses its oldest event", "[log]") {
  logged of(bounded_to(6));
  const std::uint32_t a = of.open(), b = of.open(), c = of.open();
  of.append_times(2, b);
  of.append_times(2, a);
  of.append_times(2, c);
  const std::uint32_t d = of.open();
  of.append_times(1, d);
  CHECK(of.held(a) == window{2, 3});
  CHECK(of.held(b) == window{1, 3});
  CHECK(of.held(c) == window{1, 3});
  CHECK(of.held(d) == window{1, 2});
  of.append_times(1, d);
  CHECK(of.held(b) == window{2, 3});
  CHECK(of.held(c) == window{1, 3});
  CHECK(of.held(d) == window{1, 3});
}

TEST_CASE("the standalone stream counts as opened first", "[log]") {
  logged of(bounded_to(4));
  const std::uint32_t a = of.open();
  of.append_times(2, a);
  of.append_times(2);
  const std::uint32_t b = of.open();
  of.append_times(1, b);
  CHECK(of.held(0) == window{2, 3});
  CHECK(of.held(a) == window{1, 3});
}

TEST_CASE("a stream that holds one event keeps it while another holds more than one", "[log]") {
  logged of(bounded_to(4));
  const std::uint32_t quiet = of.open(), quieter = of.open();
  of.append_bytes(1000, quiet);
  of.finish(quiet);
  of.append_times(1, quieter);
  for (int i = 0; i != 100; ++i) {
    of.append_times(1);
    CHECK(of.held(quiet) == window{1, 2});
    CHECK(of.held(quieter) == window{1, 2});
  }
  CHECK(of.held(0) == window{99, 101});
}

TEST_CASE("a stream of one large event keeps it when the byte bound is hit", "[log]") {
  logged of(bounded_to(1000, 1200));
  const std::uint32_t quiet = of.open(), chatty = of.open();
  of.append_bytes(1000, quiet);
  for (int i = 0; i != 100; ++i) {
    of.append_times(1, chatty);
    CHECK(of.held(quiet) == window{1, 2});
  }
  CHECK(of.held(chatty) == window{91, 101});  // 184 bytes are left: ten of 17
  of.append_bytes(101);                       // 117: leaves three of them
  CHECK(of.held(quiet) == window{1, 2});
  CHECK(of.held(chatty) == window{98, 101});
}

TEST_CASE("the event being appended counts for its stream", "[log]") {
  logged of(bounded_to(3));
  const std::uint32_t a = of.open(), b = of.open(), c = of.open();
  of.append_times(1, a);
  of.append_times(1, b);
  of.append_times(1, c);
  of.append_times(1, b);  // with it b alone holds more than one
  CHECK(of.held(a) == window{1, 2});
  CHECK(of.held(b) == window{2, 3});
  CHECK(of.held(c) == window{1, 2});
}

TEST_CASE("the appended event makes a tie that the stream opened first loses", "[log]") {
  logged of(bounded_to(4));
  const std::uint32_t a = of.open(), b = of.open(), c = of.open();
  of.append_times(1, a);
  of.append_times(2, b);
  of.append_times(1, c);
  of.append_times(1, a);
  CHECK(of.held(a) == window{2, 3});
  CHECK(of.held(b) == window{1, 3});
  CHECK(of.held(c) == window{1, 2});
}

TEST_CASE("among streams of one event each the one opened first loses it and the new event is never the victim",
          "[log]") {
  logged of(bounded_to(2));
  const std::uint32_t a = of.open(), b = of.open(), c = of.open();
  of.append_times(1, b);
  of.append_times(1, a);
  of.append_times(1, c);
  CHECK(of.held(a) == window{2, 2});
  CHECK(of.held(b) == window{1, 2});
  CHECK(of.held(c) == window{1, 2});
  of.append_times(1);
  CHECK(of.held(0) == window{1, 2});
  CHECK(of.held(b) == window{2, 2});
  CHECK(of.held(c) == window{1, 2});
}

TEST_CASE("among streams of one event each the one of most bytes loses it to the byte bound", "[log]") {
  logged of(bounded_to(100, 100));
  const std::uint32_t a = of.open(), b = of.open(), c = of.open();
  of.append_bytes(10, a);  // 26
  of.append_bytes(30, b);  // 46
  of.append_bytes(20, c);  // 36, in all 108
  CHECK(of.held(a) == window{1, 2});
  CHECK(of.held(b) == window{2, 2});
  CHECK(of.held(c) == window{1, 2});
  CHECK(of.s.inspect().bytes == 62);
}

TEST_CASE("the event bound looks at events and the byte bound at bytes", "[log]") {
  const bool is_bytes = GENERATE(false, true);
  // Many small ones in a, 4 x 17 = 68; few large ones in b, 2 x 116 = 232.
  logged of(is_bytes ? bounded_to(100, 316) : bounded_to(6));
  const std::uint32_t a = of.open(), b = of.open(), c = of.open();
  of.append_times(4, a);
  of.append_bytes(100, b);
  of.append_bytes(100, b);
  of.append_times(1, c);
  CHECK(of.held(a) == (is_bytes ? window{1, 5} : window{2, 5}));
  CHECK(of.held(b) == (is_bytes ? window{2, 3} : window{1, 3}));
}

TEST_CASE("the appended event's bytes count for its stream", "[log]") {
  logged of(bounded_to(100, 200));
  const std::uint32_t a = of.open(), b = of.open();
  of.append_bytes(34, a);
  of.append_bytes(34, a);  // 100
  of.append_bytes(24, b);
  of.append_bytes(24, b);  // 80, and 30 more
  of.append_bytes(14, b);
  CHECK(of.held(a) == window{1, 3});
  CHECK(of.held(b) == window{2, 4});
}

TEST_CASE("the event bound is made to hold before the byte bound", "[log]") {
  const bool is_enough = GENERATE(true, false);
  logged of(bounded_to(5, is_enough ? 287 : 286));
  const std::uint32_t a = of.open(), b = of.open();
  of.append_bytes(100, b);
  of.append_bytes(100, b);  // 232
  of.append_times(3, a);    // 51
  of.append_bytes(5, a);    // the event bound takes a's oldest: 266 and 21
  CHECK(of.held(a) == window{2, 5});
  CHECK(of.held(b) == (is_enough ? window{1, 3} : window{2, 3}));
}

TEST_CASE("one append evicts as many as the byte bound needs", "[log]") {
  logged of(bounded_to(100, 170));
  of.append_times(10);  // 170
  CHECK(of.held() == window{1, 11});
  of.append_bytes(100);  // 116: leaves 54 for three of 17
  CHECK(of.held() == window{8, 12});
  CHECK(of.s.inspect().bytes == 167);
  of.append_bytes(154);  // 170 alone
  CHECK(of.held() == window{12, 13});
  CHECK(of.s.inspect().bytes == 170);
  CHECK(of.s.inspect().events == 1);
}

TEST_CASE("a bound of zero counts as one", "[log]") {
  options none;
  none.max_events = 0;
  none.max_streams = 0;
  none.first_seq = 0;
  none.first_stream = 0;
  logged of(none);
  of.append_times(2);
  CHECK(of.held() == window{2, 3});
  CHECK(of.open() == 1);
  CHECK(of.s.open_stream("2").why == refusal::too_many_streams);
  logged small(bounded_to(1, 0));
  CHECK(small.append("x").why == refusal::too_large);
}

TEST_CASE("the largest payload is held and one byte more is refused", "[log]") {
  for (const std::size_t bound : {std::size_t{17}, std::size_t{100}, std::size_t{4096}, std::size_t{100000}}) {
    logged of(bounded_to(100, bound));
    const std::string largest(bound - 16, 'x');
    CHECK(of.append(largest));
    const std::string before = of.seen();
    CHECK(of.append(largest + "x").why == refusal::too_large);
    CHECK(of.seen() == before);
    CHECK(of.append(largest));
    CHECK(of.held() == window{2, 3});
    CHECK(of.s.inspect().bytes == bound);
  }
  for (const std::size_t bound : {1U, 15U, 16U}) {
    logged of(bounded_to(100, bound));
    CHECK(of.append("x").why == refusal::too_large);
    CHECK(of.append("").why == refusal::empty_payload);
  }
}

// ---- Age -----------------------------------------------------------------------------------------------------------

TEST_CASE("an event is held while its age is no more than the bound", "[log]") {
  options bounds;
  bounds.max_age_ms = 100;
  logged of(bounds);
  of.s.tick(1000);
  of.append_times(1);
  of.s.tick(1050);
  of.append_times(2);
  CHECK(of.s.inspect().oldest_age_ms == 50);
  of.s.tick(1100);
  CHECK(of.held() == window{1, 4});
  CHECK(of.s.inspect().oldest_age_ms == 100);
  of.s.tick(1101);
  CHECK(of.held() == window{2, 4});
  CHECK(of.s.inspect().oldest_age_ms == 51);
  of.s.tick(1150);
  CHECK(of.held() == window{2, 4});
  of.s.tick(1151);
  CHECK(of.held() == window{4, 4});
  CHECK(of.s.inspect().oldest_age_ms == 0);
  CHECK(of.s.inspect().events == 0);
  CHECK(of.s.inspect().bytes == 0);
  CHECK(of.s.inspect().evicted_unread == 3);
}

TEST_CASE("an earlier now is ignored", "[log]") {
  options bounds;
  bounds.max_age_ms = 100;
  logged of(bounds);
  of.s.tick(1000);
  of.append_times(1);
  of.s.tick(5);
  of.append_times(1);  // at 1000 all the same
  of.s.tick(0);
  CHECK(of.s.inspect().oldest_age_ms == 0);
  of.s.tick(1100);
  CHECK(of.held() == window{1, 3});
  of.s.tick(1101);
  CHECK(of.held() == window{3, 3});
}

TEST_CASE("an age of zero means no bound", "[log]") {
  logged of;
  of.append_times(1);
  of.s.tick(~std::uint64_t{0});
  CHECK(of.held() == window{1, 2});
  CHECK(of.s.inspect().oldest_age_ms == ~std::uint64_t{0});
}

TEST_CASE("ages beyond 32 bits of milliseconds are exact", "[log]") {
  options bounds;
  bounds.max_age_ms = (std::uint64_t{1} << 34U) + 5;
  logged of(bounds);
  std::vector<std::uint64_t> times;
  std::uint64_t now = 1;
  for (unsigned i = 0; i != 12; ++i) {
    of.s.tick(now);
    of.append_times(1);
    times.push_back(now);
    now += i % 3 == 0 ? std::uint64_t{1} << 32U : (std::uint64_t{1} << (31U + i % 2)) - 1;
    const std::uint64_t gone = of.held().first - 1;
    for (std::size_t event = 0; event != times.size(); ++event) {
      CHECK((event >= gone) == (times.back() - times[event] <= bounds.max_age_ms));
    }
  }
  of.s.tick(times.back() + bounds.max_age_ms);
  CHECK(of.held() == window{12, 13});
  of.s.tick(times.back() + bounds.max_age_ms + 1);
  CHECK(of.held() == window{13, 13});
}

TEST_CASE("age takes events of every stream and a finished one too", "[log]") {
  options bounds;
  bounds.max_age_ms = 10;
  logged of(bounds);
  const std::uint32_t a = of.open(), b = of.open();
  of.append_times(3, a);
  of.append_times(2);
  of.s.tick(5);
  of.append_times(2, a);
  of.append_times(2, b);
  of.finish(a);
  of.s.tick(10);
  CHECK(of.s.inspect().events == 9);
  of.s.tick(11);
  CHECK(of.held(0) == window{3, 3});
  CHECK(of.held(a) == window{4, 6});
  CHECK(of.held(b) == window{1, 3});
  of.s.tick(16);
  CHECK(of.held(a) == window{6, 6});
  CHECK(of.held(b) == window{3, 3});
  of.append_times(1, b);
  CHECK(of.held(b) == window{3, 4});
}

TEST_CASE("a client that has everything continues when all has grown too old", "[log]") {
  options bounds;
  bounds.max_age_ms = 10;
  logged of(bounds);
  of.append_times(3);
  of.s.tick(11);
  CHECK(of.ask_after(3).reason == reason::up_to_date);
  CHECK(of.ask_after(2).reason == reason::evicted);
  CHECK(of.ask_after(4).reason == reason::never_issued);
}

// ---- Refusals ------------------------------------------------------------------------------------------------------

TEST_CASE("append says why it refuses and has changed nothing", "[log]") {
  logged of(bounded_to(100, 200));
  const std::uint32_t a = of.open("first"), b = of.open("second");
  of.append_times(2, a);
  of.append_times(1, b);
  of.finish(a);
  const stream_handle old = of.handle(b);
  REQUIRE(of.s.renew(of.random) == refusal::none);
  const std::uint32_t c = of.open("third"), d = of.open("fourth");
  of.append_times(1, c);
  of.append_times(1);
  of.finish(c);
  const stream_handle of_nobody = {{1, 2}, 0, 0},
                      foreign = {{old.owner.session ^ 1U, of.handle().owner.incarnation}, 0, 0};
  const std::string before = of.seen();
  CHECK(of.s.append(old, "x").why == refusal::other_incarnation);
  CHECK(of.s.append(of_nobody, "x").why == refusal::gone);
  CHECK(of.s.append(foreign, "x").why == refusal::gone);
  CHECK(of.append("x", d + 1).why == refusal::no_such_stream);
  CHECK(of.append("x", 0xFFFFFFFF).why == refusal::no_such_stream);
  CHECK(of.append("x", c).why == refusal::finished);
  CHECK(of.append("", d).why == refusal::empty_payload);
  CHECK(of.append(std::string_view(), 0).why == refusal::empty_payload);
  CHECK(of.append(std::string(185, 'x'), d).why == refusal::too_large);
  CHECK(of.seen() == before);
  CHECK(of.append("x", d).id == of.id(1, d));
}

TEST_CASE("finish and forget say why they refuse and have changed nothing", "[log]") {
  logged of;
  const std::uint32_t a = of.open("a"), b = of.open("b"), c = of.open("c");
  of.append_times(1, a);
  of.finish(b);
  of.finish(c);
  REQUIRE(of.s.forget(of.handle(c)) == refusal::none);
  const stream_handle foreign{{1, 2}, a, 0}, old{{of.handle().owner.session, 2}, a, 0};
  const std::string before = of.seen();
  CHECK(of.s.finish(of.handle(0)) == refusal::standalone_stream);
  CHECK(of.s.forget(of.handle(0)) == refusal::standalone_stream);
  CHECK(of.s.finish(of.handle(b)) == refusal::finished);
  CHECK(of.s.forget(of.handle(a)) == refusal::still_open);
  for (const std::uint32_t absent : {c, c + 1}) {
    CHECK(of.append("x", absent).why == refusal::no_such_stream);
    CHECK(of.s.finish(of.handle(absent)) == refusal::no_such_stream);
    CHECK(of.s.forget(of.handle(absent)) == refusal::no_such_stream);
  }
  CHECK(of.s.finish(foreign) == refusal::gone);
  CHECK(of.s.forget(foreign) == refusal::gone);
  CHECK(of.s.finish(old) == refusal::other_incarnation);
  CHECK(of.s.forget(old) == refusal::other_incarnation);
  CHECK(of.seen() == before);
  CHECK(of.s.forget(of.handle(b)) == refusal::none);
  CHECK(of.s.finish(of.handle(a)) == refusal::none);
}

// ---- Records -------------------------------------------------------------------------------------------------------

TEST_CASE("opening at the bound is refused while all streams are open", "[log]") {
  options bounds;
  bounds.max_streams = 3;
  logged of(bounds);
  of.open("a");
  of.open("b");
  of.open("c");
  const std::string before = of.seen();
  CHECK(of.s.open_stream("d").why == refusal::too_many_streams);
  CHECK(of.seen() == before);
  of.finish(2);
  CHECK(of.open("d") == 4);  // the refused call used no number
  CHECK(of.s.inspect().streams == 3);
  CHECK(of.s.facts_of(2).state == stream_fact::forgotten);
  CHECK(of.s.facts_of(4).state == stream_fact::open);
  CHECK(of.s.facts_of(5).state == stream_fact::never_opened);
}

TEST_CASE("a refused open hands out a handle and a reader that reach no stream", "[log]") {
  options bounds;
  bounds.max_streams = 1;
  logged of(bounds);
  of.open("7");
  for (const std::string_view label : {std::string_view("8"), std::string_view("\n")}) {
    opened refused = of.s.open_stream(label);
    REQUIRE(refused.why != refusal::none);
    CHECK(of.s.append(refused.stream, "answer").why == refusal::gone);
    CHECK(of.state(refused.reader) == read_state::gone);
  }
  CHECK(of.s.inspect().events == 0);
}

TEST_CASE("opening at the bound drops the finished record of fewest held events and then of the lowest number",
          "[log]") {
  options bounds;
  bounds.max_streams = 5;
  logged of(bounds);
  for (std::uint32_t stream = 1; stream <= 5; ++stream) of.open("label " + std::to_string(stream));
  of.append_times(2, 1);
  of.append_times(1, 2);
  of.append_times(1, 4);
  of.append_times(3, 5);
  for (const std::uint32_t stream : {1U, 2U, 4U, 5U}) of.finish(stream);  // 3 is open and empty
  for (const std::uint32_t dropped : {2U, 4U, 1U, 5U}) {
    CHECK(of.s.facts_of(dropped).state == stream_fact::finished);
    (void)of.open();
    CHECK(of.s.facts_of(dropped).state == stream_fact::forgotten);
    CHECK(of.s.inspect().streams == 5);
    CHECK(of.s.label_of(of.handle(3)) == "label 3");
  }
  CHECK(of.s.open_stream("x").why == refusal::too_many_streams);
  CHECK(of.s.inspect().events == 0);
  CHECK(of.s.inspect().evicted_unread == 7);
}

TEST_CASE("a refused label drops no record", "[log]") {
  options bounds;
  bounds.max_streams = 1;
  logged of(bounds);
  of.finish(of.open("a"));
  const std::string before = of.seen();
  CHECK(of.s.open_stream("a\n").why == refusal::bad_label);
  CHECK(of.seen() == before);
}

TEST_CASE("a dropped record tells its reader gone and counts its unread events as evicted", "[log]") {
  options bounds;
  bounds.max_streams = 1;
  logged of(bounds);
  opened call = of.s.open_stream("a");
  REQUIRE(call);
  of.append_times(3, 1);
  of.append_times(1);
  bool is_first = true;
  (void)of.s.visit(call.reader, [&](const frame& f) {  // the marker and one event
    return f.kind != frame_kind::event || std::exchange(is_first, false);
  });
  of.finish(1);
  REQUIRE(of.open("b") == 2);
  CHECK(of.state(call.reader) == read_state::gone);
  CHECK(of.s.inspect().evicted_unread == 2);
  CHECK(of.s.inspect().events == 1);
  CHECK(of.append("late", 1).why == refusal::no_such_stream);
  CHECK(of.ask_after(3, 1).reason == reason::forgotten);
  CHECK_FALSE(of.s.window_of(of.handle(1)));
  CHECK(of.s.label_of(of.handle(1)).empty());
}

TEST_CASE("a label is up to 64 bytes without CR and LF and NUL", "[log]") {
  logged of;
  std::vector<std::string> labels;
  for (const std::size_t size : {0U, 1U, 7U, 8U, 9U, 16U, 63U, 64U}) {
    labels.push_back(std::string(size, static_cast<char>('a' + size % 26)));
    of.open(labels.back());
  }
  CHECK(of.s.open_stream(std::string(65, 'x')).why == refusal::bad_label);
  CHECK(of.s.open_stream(std::string(100000, 'x')).why == refusal::bad_label);
  for (int byte = 0; byte != 256; ++byte) {
    for (const std::size_t place : {0U, 1U, 8U, 63U}) {
      std::string label(64, 'x');
      label[place] = static_cast<char>(byte);
      const bool is_bad = byte == 0 || byte == '\n' || byte == '\r';
      const opened call = of.s.open_stream(label);
      CHECK(call.why == (is_bad ? refusal::bad_label : refusal::none));
      if (!call) continue;
      CHECK(of.s.label_of(call.stream) == label);
      of.finish(call.stream.stream);
      REQUIRE(of.s.forget(call.stream) == refusal::none);
    }
  }
  for (std::size_t i = 0; i != labels.size(); ++i) {
    CHECK(of.s.label_of(of.handle(static_cast<std::uint32_t>(i + 1))) == labels[i]);
  }
  CHECK(of.s.label_of(of.handle(0)).empty());
}

TEST_CASE("records keep their labels and events when others go", "[log]") {
  options bounds;
  bounds.max_streams = 40;
  logged of(bounds);
  std::uint64_t state = 3;
  std::vector<std::uint32_t> live;
  for (int step = 0; step != 3000; ++step) {
    if (live.empty() || (live.size() < 40 && next_random(state) % 2 == 0)) {
      const std::string label(next_random(state) % 20, 'l');
      const opened call = of.s.open_stream(label);
      REQUIRE(call);
      live.push_back(call.stream.stream);
      REQUIRE(of.append(payload_of(call.stream.stream, 1, label.size() + 20), call.stream.stream));
    } else {
      const std::size_t place = next_random(state) % live.size();
      const std::uint32_t stream = live[place];
      const std::size_t label_size = of.s.label_of(of.handle(stream)).size();
      reader from = of.attach_after(0, stream);
      const delivery got = of.read(from);
      if (got.payloads.size() != 1 || got.payloads[0] != payload_of(stream, 1, label_size + 20)) FAIL("of another");
      of.finish(stream);
      REQUIRE(of.s.forget(of.handle(stream)) == refusal::none);
      live.erase(live.begin() + static_cast<std::ptrdiff_t>(place));
    }
    if (of.s.inspect().streams != live.size()) FAIL("records");
  }
}

// ---- Numbers -------------------------------------------------------------------------------------------------------

TEST_CASE("numbering starts where the options say", "[log]") {
  options bounds;
  bounds.first_seq = 9007199254740993;  // 2^53 + 1
  bounds.first_stream = 77;
  logged of(bounds);
  CHECK(of.held() == window{9007199254740993, 9007199254740993});
  CHECK(of.s.facts_of(0).read_mark == 9007199254740992);
  CHECK(of.append("x").id == of.id(9007199254740993));
  CHECK(of.s.facts_of(76).state == stream_fact::never_opened);
  CHECK(of.s.facts_of(1).state == stream_fact::never_opened);
  CHECK(of.open() == 77);
  CHECK(of.append("x", 77).id == of.id(9007199254740993, 77));
  CHECK(of.ask_after(9007199254740991, 77).reason == reason::evicted);
  CHECK(of.ask_after(9007199254740992, 77).reason == reason::replay);
  REQUIRE(of.s.renew(of.random) == refusal::none);
  CHECK(of.open() == 77);
  CHECK(of.held() == window{9007199254740993, 9007199254740993});
}

TEST_CASE("after the last seq append refuses and everything still reads", "[log]") {
  options bounds;
  bounds.first_seq = event_id::last_seq - 1;
  logged of(bounds);
  CHECK(of.append("a").id.seq == event_id::last_seq - 1);
  CHECK(of.append("b").id.seq == event_id::last_seq);
  const std::string before = of.seen();
  CHECK(of.append("c").why == refusal::numbers_used_up);
  CHECK(of.seen() == before);
  CHECK(of.ask_after(event_id::last_seq).reason == reason::up_to_date);
  CHECK(of.ask_after(event_id::last_seq + 1).reason == reason::never_issued);
  CHECK(of.ask_after(0).reason == reason::evicted);
  reader from = of.attach_after(event_id::last_seq - 2);
  CHECK(of.read(from).payloads == std::vector<std::string>{"a", "b"});
  CHECK(of.state(from) == read_state::caught_up);
}

TEST_CASE("after the last stream number open refuses for good", "[log]") {
  options bounds;
  bounds.first_stream = 0xFFFFFFFE;
  logged of(bounds);
  CHECK(of.open() == 0xFFFFFFFE);
  CHECK(of.open() == 0xFFFFFFFF);
  CHECK(of.s.open_stream("x").why == refusal::numbers_used_up);
  CHECK(of.s.facts_of(0xFFFFFFFF).state == stream_fact::open);
  of.finish(0xFFFFFFFF);
  REQUIRE(of.s.forget(of.handle(0xFFFFFFFF)) == refusal::none);
  CHECK(of.s.open_stream("x").why == refusal::numbers_used_up);
  CHECK(of.s.facts_of(0xFFFFFFFF).state == stream_fact::forgotten);
  CHECK(of.s.facts_of(0).state == stream_fact::open);
}

// ---- Counts --------------------------------------------------------------------------------------------------------

TEST_CASE("append returns how many events are unread and how many unread ones it evicted", "[log]") {
  logged of(bounded_to(4));
  const std::uint32_t a = of.open();
  CHECK(of.append("1").unread == 1);
  CHECK(of.append("2").unread == 2);
  reader from = of.s.attach(of.ask());
  CHECK(of.read(from).done.events == 2);
  const appended third = of.append("3");
  CHECK((third.unread == 1 && third.evicted_unread == 0));
  CHECK(of.append("1", a).unread == 1);
  const appended fourth = of.append("4");  // evicts 1, which was read
  CHECK((fourth.unread == 2 && fourth.evicted_unread == 0));
  CHECK(of.append("5").evicted_unread == 0);
  const appended sixth = of.append("6");  // evicts 3, which was not
  CHECK((sixth.unread == 3 && sixth.evicted_unread == 1));
  const appended of_a = of.append("2", a);  // evicts 4 of stream 0
  CHECK((of_a.unread == 2 && of_a.evicted_unread == 1));
  CHECK(of.s.inspect().evicted_unread == 2);
  CHECK(of.held() == window{5, 7});
}

TEST_CASE("what any reader was handed is read and stays so", "[log]") {
  logged of;
  of.append_times(5);
  reader all = of.s.attach(of.ask());
  CHECK(of.s.facts_of(0).read_mark == 0);  // attaching hands out nothing
  CHECK(of.read(all).done.events == 5);
  CHECK(of.s.facts_of(0).read_mark == 5);
  reader again = of.attach_after(2);
  CHECK(of.read(again).ids == std::vector<event_id>{of.id(3), of.id(4), of.id(5)});
  CHECK(of.s.facts_of(0).read_mark == 5);
  reader slow = of.attach_after(0);
  bool is_first = true;
  (void)of.s.visit(slow, [&](const frame& f) { return f.kind != frame_kind::event || std::exchange(is_first, false); });
  CHECK(slow.position() == of.id(1));
  CHECK(of.s.facts_of(0).read_mark == 5);
  CHECK(of.append("x").unread == 1);
}

TEST_CASE("renewing counts what was unread and starts the numbers again", "[log]") {
  logged of;
  of.append_times(3);
  REQUIRE(of.s.renew(of.random) == refusal::none);
  const inspection all = of.s.inspect();
  CHECK((all.events == 0 && all.bytes == 0 && all.streams == 0 && all.oldest_age_ms == 0));
  CHECK(all.evicted_unread == 3);
  CHECK(of.append("x").id == of.id(1));
}

TEST_CASE("a window is told for handles of this life alone", "[log]") {
  logged of;
  of.append_times(2);
  const stream_handle old = of.handle();
  CHECK(of.s.window_of(old) == window{1, 3});
  REQUIRE(of.s.renew(of.random) == refusal::none);
  CHECK_FALSE(of.s.window_of(old));
  CHECK(of.s.window_of(of.handle()) == window{1, 1});
  CHECK_FALSE(of.s.window_of(of.handle(1)));
}

// ---- Reading -------------------------------------------------------------------------------------------------------

TEST_CASE("a read says more and caught up and finished", "[log]") {
  logged of;
  opened call = of.s.open_stream("7");
  REQUIRE(call);
  of.append_times(3, 1);
  std::string frames;
  const progress part = of.s.read(call.reader, frames, 1);
  CHECK((part.state == read_state::more && part.events == 0 && part.bytes == frames.size()));
  CHECK(of.s.read(call.reader, frames, 1).events == 1);
  const progress rest = of.s.read(call.reader, frames);
  CHECK((rest.state == read_state::caught_up && rest.events == 2));
  const progress none = of.s.read(call.reader, frames);
  CHECK((none.state == read_state::caught_up && none.events == 0 && none.bytes == 0));
  of.append_times(1, 1);
  of.finish(1);
  const progress last = of.s.read(call.reader, frames);
  CHECK((last.state == read_state::finished && last.events == 1));
  CHECK(of.s.read(call.reader, frames).state == read_state::finished);
}

TEST_CASE("a stream that is finished without an event is finished at once", "[log]") {
  logged of;
  opened call = of.s.open_stream("7");
  REQUIRE(call);
  of.finish(1);
  CHECK(of.state(call.reader) == read_state::finished);
  CHECK(of.ask_after(0, 1).reason == reason::complete);
}

TEST_CASE("a reader's position is the id under which it stands", "[log]") {
  logged of(bounded_to(4));
  of.append_times(8);
  reader from = of.attach_after(2);
  CHECK(from.position() == of.id(2));
  CHECK(of.state(from) == read_state::gap);
  CHECK(of.state(from) == read_state::caught_up);
  CHECK(from.position() == of.id(8));
  of.append_times(1);
  CHECK(of.state(from) == read_state::caught_up);
  CHECK(from.position() == of.id(9));
  CHECK((from.stream().stream == 0 && from.stream().owner == of.handle().owner));
}

TEST_CASE("a gap goes on at the live edge or before the oldest event held", "[log]") {
  options bounds = bounded_to(4);
  bounds.after_gap = GENERATE(after_gap::live_edge, after_gap::oldest_held);
  const bool is_live_edge = bounds.after_gap == after_gap::live_edge;
  logged of(bounds);
  of.append_times(10);  // holds 7 to 10
  const resolution decided = of.ask_after(2);
  CHECK(decided.reason == reason::evicted);
  CHECK(decided.resume_after == (is_live_edge ? 10 : 6));
  CHECK(decided.missed == (is_live_edge ? 8 : 4));
  CHECK(decided.no_longer_held == 4);
  reader from = of.s.attach(decided);
  const progress signal = of.read(from).done;
  CHECK((signal.state == read_state::gap && signal.missed == decided.missed));
  CHECK(of.read(from).done.events == (is_live_edge ? 0 : 4));
  of.append_times(6);  // holds 13 to 16, and the reader stands at 10
  CHECK(of.read(from).done.missed == (is_live_edge ? 6 : 2));
  CHECK(of.read(from).done.events == (is_live_edge ? 0 : 4));
}

TEST_CASE("the answer after a gap is none yet and held and lost as the stream goes on", "[log]") {
  options bounds = bounded_to(3);
  bounds.max_age_ms = 100;
  logged of(bounds);
  of.open();
  of.append_times(6, 1);
  reader early = of.attach_after(0, 1);
  CHECK(of.read(early).done.answer == answer::none_yet);
  of.finish(1);
  reader late = of.attach_after(0, 1);
  CHECK(late.position() == of.id(0, 1));
  const progress held = of.read(late).done;
  CHECK((held.state == read_state::gap && held.answer == answer::held && held.missed == 5));
  of.s.tick(101);  // between the announcement and the marker
  CHECK(of.state(late) == read_state::more);
  const progress lost = of.read(late).done;
  CHECK((lost.state == read_state::gap && lost.answer == answer::lost && lost.missed == 1));
  CHECK(of.state(late) == read_state::finished);
  CHECK(of.ask_after(0, 1).missed == 6);
  CHECK(of.ask_after(5, 1).reason == reason::evicted);
  CHECK(of.ask_after(6, 1).reason == reason::complete);
}

TEST_CASE("an answer is said to be held exactly when it still arrives", "[log]") {
  enum class fate { finished_after_attach, expired_after_attach, neither };
  const fate what = GENERATE(fate::finished_after_attach, fate::expired_after_attach, fate::neither);
  options bounds = bounded_to(3);
  bounds.max_age_ms = 100;
  logged of(bounds);
  of.open();
  of.append_times(5, 1);
  REQUIRE(of.append("answer", 1));
  if (what != fate::finished_after_attach) of.finish(1);
  reader from = of.attach_after(1, 1);
  if (what == fate::finished_after_attach) of.finish(1);
  if (what == fate::expired_after_attach) of.s.tick(101);
  const progress signal = of.read(from).done;
  REQUIRE(signal.state == read_state::gap);
  CHECK(signal.answer != answer::none_yet);
  bool has_arrived = false;
  delivery got;
  do {
    got = of.read(from);
    has_arrived = has_arrived || (!got.payloads.empty() && got.payloads.back() == "answer");
  } while (got.done.state == read_state::more || got.done.state == read_state::gap);
  CHECK(got.done.state == read_state::finished);
  CHECK(has_arrived == (signal.answer == answer::held));
}

TEST_CASE("no gap of the standalone stream speaks of an answer", "[log]") {
  logged of(bounded_to(1));
  of.append_times(4);
  reader from = of.attach_after(0);
  const progress signal = of.read(from).done;
  CHECK((signal.state == read_state::gap && signal.answer == answer::none_yet));
}

TEST_CASE("reading at every place of a long log gives exactly the tail", "[log]") {
  logged of(bounded_to(3000));
  std::vector<std::string> payloads;
  std::vector<event_id> ids;
  for (std::uint64_t seq = 1; seq <= 3000; ++seq) {
    payloads.push_back(payload_of(0, seq, 1 + seq % 90));
    const appended done = of.append(payloads.back());
    REQUIRE(done);
    ids.push_back(done.id);
  }
  for (std::uint64_t seq = 0; seq <= 3000; seq += seq < 100 || seq > 2900 ? 1 : 7) {
    reader from = of.attach_after(seq);
    const delivery got = of.read(from);
    const auto begin = static_cast<std::ptrdiff_t>(seq);
    if (got.done.state != read_state::caught_up || got.done.events != 3000 - seq) FAIL("counts after " << seq);
    if (got.ids != std::vector<event_id>(ids.begin() + begin, ids.end())) FAIL("ids after " << seq);
    if (got.payloads != std::vector<std::string>(payloads.begin() + begin, payloads.end())) FAIL("after " << seq);
  }
}

namespace {

// All payloads ever appended to some streams, beside a log that holds the newest of them.
struct shadowed {
  logged of;
  std::vector<std::deque<std::string>> all;  // by stream

  shadowed(const options& bounds, std::uint32_t streams) : of(bounds), all(streams + 1) {
    for (std::uint32_t i = 0; i != streams; ++i) of.open();
  }
  void append(std::uint32_t stream, std::size_t size) {
    all[stream].push_back(payload_of(stream, all[stream].size() + 1, size));
    if (!of.append(all[stream].back(), stream)) FAIL("refused");
  }
  // Reads each stream's window and compares it; the bounds and counts as well.
  void require_intact(const options& bounds) {
    std::uint64_t events = 0, bytes = 0;
    for (std::uint32_t stream = 0; stream != all.size(); ++stream) {
      const window held = of.held(stream);
      if (held.next != all[stream].size() + 1) FAIL("numbers of " << stream);
      reader from = of.attach_after(held.first - 1, stream);
      const delivery got = of.read(from);
      if (got.payloads.size() != held.next - held.first) FAIL("count of " << stream);
      for (std::size_t i = 0; i != got.payloads.size(); ++i) {
        if (got.payloads[i] != all[stream][held.first - 1 + i]) FAIL("event " << held.first + i << " of " << stream);
        bytes += got.payloads[i].size() + 16;
      }
      events += got.payloads.size();
    }
    const inspection told = of.s.inspect();
    if (told.events != events || told.bytes != bytes) FAIL("counts");
    if (events > bounds.max_events || bytes > bounds.max_bytes) FAIL("bounds");
  }
};

}  // namespace

TEST_CASE("payloads of every size read back intact", "[log]") {
  const options bounds = bounded_to(100000, std::size_t{64} << 20U);
  shadowed log(bounds, 0);
  for (std::size_t size = 1; size <= 5000; ++size) log.append(0, size);
  log.require_intact(bounds);
}

TEST_CASE("payloads of every size read back intact while others are evicted", "[log]") {
  const options bounds = bounded_to(50, 40000);
  shadowed log(bounds, 0);
  for (std::size_t size = 1; size <= 5000; ++size) {
    log.append(0, size % 2 == 0 ? size : 5001 - size);
    if (size % 23 == 0) log.require_intact(bounds);
  }
  log.require_intact(bounds);
}

TEST_CASE("events of many interleaved streams read back intact", "[log]") {
  const options bounds = GENERATE(bounded_to(300, 60000), bounded_to(2000), bounded_to(25), bounded_to(21, 30000));
  shadowed log(bounds, 20);
  std::uint64_t state = bounds.max_events;
  for (int step = 0; step != 4000; ++step) {
    const std::uint64_t r = next_random(state);
    const auto stream = static_cast<std::uint32_t>(r % 4 == 0 ? r / 4 % 21 : r / 4 % 3);  // some are chatty
    const std::size_t largest = r / 100 % 50 == 0 ? 5000 : r / 100 % 5 == 0 ? 600 : 60;
    log.append(stream, 1 + next_random(state) % largest);
    if (step % 97 == 0) log.require_intact(bounds);
  }
  log.require_intact(bounds);
}

TEST_CASE("a finished stream reads back from every place", "[log]") {
  for (const std::size_t size : {1U, 30U, 200U, 509U, 510U, 511U, 700U, 3000U, 9000U}) {
    for (std::uint64_t count = 1; count <= 30; count += count < 5 ? 1 : 5) {
      logged of(bounded_to(20));
      of.open("7");
      of.open("8");
      std::vector<std::string> all;
      for (std::uint64_t seq = 1; seq <= count; ++seq) {
        all.push_back(payload_of(1, seq, size));
        REQUIRE(of.append(all.back(), 1));
        REQUIRE(of.append("z", 2));
      }
      of.finish(1);
      const window held = of.held(1);
      for (std::uint64_t after = held.first - 1; after + 1 < held.next; ++after) {
        reader from = of.attach_after(after, 1);
        const delivery got = of.read(from);
        if (got.done.state != read_state::finished) FAIL("state");
        const std::vector<std::string> tail(all.begin() + static_cast<std::ptrdiff_t>(after), all.end());
        if (got.payloads != tail) FAIL(count << " events of " << size << " after " << after);
      }
      of.append_times(30);  // evicts from it
      const std::uint64_t after = of.held(1).first - 1;
      if (after == count) continue;
      reader from = of.attach_after(after, 1);
      const std::vector<std::string> tail(all.begin() + static_cast<std::ptrdiff_t>(after), all.end());
      if (of.read(from).payloads != tail) FAIL(count << " events of " << size << " after an eviction");
    }
  }
}

TEST_CASE("a finished stream keeps the ages of its events", "[log]") {
  options bounds;
  bounds.max_age_ms = 100;
  logged of(bounds);
  of.open();
  for (std::uint64_t now = 10; now <= 50; now += 10) {
    of.s.tick(now);
    of.append_times(1, 1);
  }
  of.finish(1);
  for (std::uint64_t now = 111; now <= 151; now += 10) {
    of.s.tick(now - 1);
    const std::uint64_t first = of.held(1).first;
    of.s.tick(now);
    CHECK(of.held(1).first == first + 1);
  }
}

TEST_CASE("forgetting a stream frees its events and leaves the others whole", "[log]") {
  const options bounds = bounded_to(1000);
  shadowed log(bounds, 3);
  for (int i = 0; i != 40; ++i) {
    for (std::uint32_t stream = 0; stream != 4; ++stream) log.append(stream, 50);
  }
  log.of.finish(3);
  log.require_intact(bounds);
  const stream_handle gone = log.of.handle(3);
  REQUIRE(log.of.s.forget(gone) == refusal::none);
  CHECK(log.of.s.inspect().events == 120);
  CHECK(log.of.s.inspect().streams == 2);
  log.all.pop_back();
  log.require_intact(bounds);
}

// ---- Leases --------------------------------------------------------------------------------------------------------

TEST_CASE("only the newest reader of a stream may read and lease numbers grow by one", "[log]") {
  logged of;
  of.append_times(2);
  reader first = of.s.attach(of.ask());
  CHECK(first.lease() == 1);
  CHECK(of.state(first) == read_state::caught_up);
  reader second = of.attach_after(1);
  CHECK(second.lease() == 2);
  of.append_times(1);
  const delivery none = of.read(first);
  CHECK((none.done.state == read_state::superseded && none.payloads.empty() && none.done.bytes == 0));
  CHECK(first.position() == of.id(2));
  CHECK(of.read(second).ids == std::vector<event_id>{of.id(2), of.id(3)});
  CHECK(of.attach_after(3).lease() == 3);
  CHECK(of.state(second) == read_state::superseded);
}

TEST_CASE("each stream has leases of its own", "[log]") {
  logged of;
  opened call = of.s.open_stream("7"), other = of.s.open_stream("8");
  REQUIRE((call && other));
  reader standalone = of.s.attach(of.ask());
  CHECK((call.reader.lease() == 1 && other.reader.lease() == 1 && standalone.lease() == 1));
  of.append_times(1, 1);
  CHECK(of.attach_after(0, 1).lease() == 2);
  CHECK(of.state(call.reader) == read_state::superseded);
  CHECK(of.state(other.reader) == read_state::caught_up);
  CHECK(of.state(standalone) == read_state::caught_up);
}

TEST_CASE("two attachments of one resolution are two readers of which the newer reads", "[log]") {
  logged of;
  of.append_times(2);
  const resolution decided = of.ask_after(1);
  reader first = of.s.attach(decided), second = of.s.attach(decided);
  CHECK((first.lease() == 1 && second.lease() == 2));
  CHECK(of.state(first) == read_state::superseded);
  CHECK(of.read(second).ids == std::vector<event_id>{of.id(2)});
}

TEST_CASE("copies are the same reader and a released one is gone", "[log]") {
  logged of;
  of.append_times(2);
  reader one = of.attach_after(0), copy = one;
  CHECK(of.read(copy).ids.size() == 2);
  CHECK(of.read(one).ids.size() == 2);
  of.s.release(one);
  CHECK(of.state(one) == read_state::gone);
  CHECK(of.state(copy) == read_state::gone);
  of.s.release(one);
  of.s.release(copy);
  reader next = of.attach_after(2);
  CHECK(next.lease() == 2);
  CHECK(of.state(next) == read_state::caught_up);
}

TEST_CASE("releasing a superseded reader does not touch the newer", "[log]") {
  logged of;
  reader old = of.s.attach(of.ask()), copy = old;
  reader newer = of.attach_after(0);
  of.s.release(old);
  CHECK(of.state(old) == read_state::gone);
  CHECK(of.ask().reason == reason::occupied);
  CHECK(of.state(newer) == read_state::caught_up);
  CHECK(of.state(copy) == read_state::superseded);
  of.s.release(newer);
  CHECK(of.ask().reason == reason::fresh);
}

TEST_CASE("a reader that nobody made is gone", "[log]") {
  logged of;
  reader none;
  CHECK(of.state(none) == read_state::gone);
  CHECK(none.lease() == 0);
  of.s.release(none);
  CHECK(of.ask().reason == reason::fresh);
}

TEST_CASE("attach refuses what is not for this log and changes nothing", "[log]") {
  logged of(bounded_to(3)), other;
  other.append_times(2);
  REQUIRE(other.s.renew(counted_tags{77}) == refusal::none);
  of.append_times(5);
  of.open("7");
  of.append_times(1, 1);
  of.finish(1);
  reader current = of.s.attach(of.ask_after(5));
  std::vector<resolution> bad = {resolution(),    other.ask(),        of.ask(),     of.ask_after(1, 1),
                                 of.ask_after(6), of.ask_after(0, 9), of.ask("bad")};
  resolution forged = of.ask_after(5);
  forged.resume_after = 6;  // was never issued
  bad.push_back(forged);
  forged.resume_after = ~std::uint64_t{0};
  bad.push_back(forged);
  forged = of.ask_after(5);
  forged.stream.stream = 2;
  bad.push_back(forged);
  forged = of.ask_after(5);
  ++forged.stream.owner.incarnation;
  bad.push_back(forged);
  forged = of.ask_after(5);
  ++forged.stream.owner.session;
  bad.push_back(forged);
  const std::string before = of.seen();
  for (std::size_t i = 0; i != bad.size(); ++i) {
    CAPTURE(i);
    reader made = of.s.attach(bad[i]);
    CHECK(made.lease() == 0);
    CHECK(of.state(made) == read_state::gone);
    CHECK(of.seen() == before);
  }
  CHECK(of.state(current) == read_state::caught_up);
  CHECK(of.attach_after(5).lease() == current.lease() + 1);
}

TEST_CASE("a resolution of an earlier life or of a stream that went is outdated", "[log]") {
  logged of;
  of.append_times(3);
  of.open("7");
  of.append_times(2, 1);
  const resolution standalone = of.ask_after(1), call = of.ask_after(0, 1);
  REQUIRE((standalone.http_status() == 200 && call.http_status() == 200));
  of.finish(1);
  REQUIRE(of.s.forget(of.handle(1)) == refusal::none);
  reader made = of.s.attach(call);
  CHECK(of.state(made) == read_state::gone);
  REQUIRE(of.s.renew(of.random) == refusal::none);
  of.append_times(9);
  const std::string before = of.seen();
  made = of.s.attach(standalone);
  CHECK(of.state(made) == read_state::gone);
  CHECK(of.seen() == before);
}

TEST_CASE("a resolution outlives evictions and turns into a gap", "[log]") {
  logged of(bounded_to(3));
  of.append_times(3);
  const resolution decided = of.ask_after(2);
  CHECK(decided.reason == reason::replay);
  of.append_times(4);
  reader from = of.s.attach(decided);
  const progress signal = of.read(from).done;
  CHECK((signal.state == read_state::gap && signal.missed == 5));
  CHECK(of.state(from) == read_state::caught_up);
}

TEST_CASE("readers and handles of an earlier life are told so", "[log]") {
  logged of;
  opened call = of.s.open_stream("7");
  REQUIRE(call);
  reader standalone = of.s.attach(of.ask());
  REQUIRE(of.s.renew(of.random) == refusal::none);
  CHECK(of.open("8") == 1);
  of.append_times(1, 1);
  of.append_times(1);
  CHECK(of.state(call.reader) == read_state::gone);
  CHECK(of.state(standalone) == read_state::gone);
  CHECK(of.s.append(call.stream, "late").why == refusal::other_incarnation);
  CHECK(of.held(1) == window{1, 2});
  const std::string before = of.seen();
  of.s.release(call.reader);
  of.s.release(standalone);
  CHECK(of.seen() == before);
  of.s.end();
  CHECK(of.state(standalone) == read_state::gone);
  CHECK(of.s.append(call.stream, "late").why == refusal::gone);
}

// ---- Live readers --------------------------------------------------------------------------------------------------

TEST_CASE("a client without a cursor waits for a live reader until its time is out", "[log]") {
  logged of;
  of.s.tick(1000);
  CHECK(of.ask().reason == reason::fresh);
  reader from = of.s.attach(of.ask());
  CHECK(of.ask().reason == reason::occupied);
  of.s.tick(46000);
  CHECK(of.ask().reason == reason::occupied);
  of.s.tick(46001);
  CHECK(of.ask().reason == reason::fresh);
  CHECK(of.state(from) == read_state::caught_up);  // has not been superseded: reads on and is live again
  CHECK(of.ask().reason == reason::occupied);
  of.s.tick(91001);
  CHECK(of.ask().reason == reason::occupied);
  of.s.tick(91002);
  CHECK(of.ask().reason == reason::fresh);
}

TEST_CASE("a client with a cursor takes over and a superseded reader's read keeps nothing live", "[log]") {
  logged of;
  of.append_times(1);
  reader old = of.s.attach(of.ask());
  CHECK(of.ask_after(0).reason == reason::replay);
  of.s.tick(40000);
  reader newer = of.attach_after(0);
  of.s.tick(85000);
  CHECK(of.ask().reason == reason::occupied);
  CHECK(of.state(old) == read_state::superseded);
  of.s.tick(85001);
  CHECK(of.ask().reason == reason::fresh);
  CHECK(of.state(newer) == read_state::caught_up);
}

TEST_CASE("a reader of a request stream keeps nobody from the standalone stream", "[log]") {
  logged of;
  opened call = of.s.open_stream("7");
  REQUIRE(call);
  CHECK(of.ask().reason == reason::fresh);
  reader from = of.s.attach(of.ask());
  of.s.tick(45001);
  CHECK(of.state(call.reader) == read_state::caught_up);
  CHECK(of.ask().reason == reason::fresh);
  CHECK(of.state(from) == read_state::caught_up);
}

TEST_CASE("the reader time-out is an option", "[log]") {
  options bounds;
  bounds.reader_timeout_ms = 10;
  logged of(bounds);
  reader from = of.s.attach(of.ask());
  of.s.tick(10);
  CHECK(of.ask().reason == reason::occupied);
  of.s.tick(11);
  CHECK(of.ask().reason == reason::fresh);
  CHECK(of.state(from) == read_state::caught_up);
  of.s.release(from);
  CHECK(of.ask().reason == reason::fresh);
}

TEST_CASE("deciding changes nothing", "[log]") {
  logged of(bounded_to(3));
  of.append_times(7);
  reader from = of.attach_after(7);
  of.s.tick(45000);
  const std::string before = of.seen();
  const std::string cursors[] = {"",
                                 "x",
                                 to_string(of.id(0)),
                                 to_string(of.id(7)),
                                 to_string(of.id(5)),
                                 to_string(of.id(8)),
                                 to_string(of.id(1, 1))};
  for (const std::string& cursor : cursors) {
    for (int times = 0; times != 3; ++times) (void)of.ask(cursor);
  }
  CHECK(of.seen() == before);
  of.s.tick(45001);
  CHECK(of.ask().reason == reason::fresh);
  CHECK(of.attach_after(7).lease() == from.lease() + 1);
}

// ---- The session ---------------------------------------------------------------------------------------------------

TEST_CASE("a session is created under drawn tags and refuses to be created twice", "[log]") {
  session s;
  CHECK_FALSE(s.is_live());
  counted_tags random{100};
  CHECK(s.create("sid", "alice", protocol::v2025_06_18, {}, random) == refusal::none);
  CHECK(s.is_live());
  CHECK(s.id() == "sid");
  const session_facts facts = s.facts();
  CHECK((facts.id == "sid" && facts.principal == "alice" && facts.negotiated == protocol::v2025_06_18));
  CHECK(facts.owner == tags{100, 101});
  CHECK(s.standalone().owner == tags{100, 101});
  REQUIRE(s.append(s.standalone(), "x"));
  CHECK(s.create("other", "bob", protocol::v2025_11_25, {}, random) == refusal::id_in_use);
  CHECK(s.restore("other", "bob", protocol::v2025_11_25, 9, {}, random) == refusal::id_in_use);
  CHECK((s.id() == "sid" && s.facts().owner == tags{100, 101} && s.inspect().events == 1));
}

TEST_CASE("a session is refused without randomness and under a bad id and for a stateless version", "[log]") {
  session s;
  CHECK(s.create("sid", "alice", protocol::v2025_11_25, {}, scarce_tags{0}) == refusal::no_randomness);
  CHECK(s.create("sid", "alice", protocol::v2025_11_25, {}, scarce_tags{1}) == refusal::no_randomness);
  CHECK(s.restore("sid", "alice", protocol::v2025_11_25, 5, {}, scarce_tags{0}) == refusal::no_randomness);
  CHECK(s.create("", "alice", protocol::v2025_11_25) == refusal::bad_id);
  CHECK(s.create("a b", "alice", protocol::v2025_11_25) == refusal::bad_id);
  CHECK(s.create(std::string(257, 'x'), "alice", protocol::v2025_11_25) == refusal::bad_id);
  CHECK(s.create("sid", "alice", protocol::v2026_07_28) == refusal::stateless_protocol);
  CHECK_FALSE(s.is_live());
  CHECK(s.create(std::string(256, 'x'), "", protocol::v2025_11_25, {}, scarce_tags{2}) == refusal::none);
  const tags before = s.facts().owner;
  CHECK(s.renew(scarce_tags{0}) == refusal::no_randomness);
  CHECK(s.facts().owner == before);
}

TEST_CASE("tags that nobody passed in are drawn from the system", "[log]") {
  session one, two;
  REQUIRE(one.create("sid", "", protocol::v2025_11_25) == refusal::none);
  REQUIRE(two.create("sid", "", protocol::v2025_11_25) == refusal::none);
  const tags a = one.facts().owner, b = two.facts().owner;
  CHECK(a.session != b.session);
  CHECK(a.incarnation != b.incarnation);
  CHECK(a.session != a.incarnation);
  REQUIRE(one.renew() == refusal::none);
  CHECK(one.facts().owner.session == a.session);
  CHECK(one.facts().owner.incarnation != a.incarnation);
}

TEST_CASE("renewing keeps id and principal and version and session tag", "[log]") {
  logged of;
  of.append_times(4);
  of.open("7");
  of.append_times(1, 1);
  const event_id standalone = of.id(2), call = of.id(1, 1);
  REQUIRE(of.s.renew(counted_tags{500}) == refusal::none);
  const session_facts facts = of.s.facts();
  CHECK((facts.id == "sid" && facts.principal == "alice" && facts.negotiated == protocol::v2025_11_25));
  CHECK(facts.owner == tags{standalone.owner.session, 500});
  CHECK(facts.standalone_reader == reader_fact::none);
  CHECK(of.s.facts_of(1).state == stream_fact::never_opened);
  CHECK(of.held() == window{1, 1});
  of.append_times(4);
  CHECK(of.ask(to_string(standalone)).reason == reason::stale_incarnation);
  CHECK(of.ask(to_string(call)).reason == reason::stale_request);
  CHECK(of.ask_after(2).reason == reason::replay);
}

TEST_CASE("a third life differs from the second", "[log]") {
  logged of;
  of.append_times(2);
  const std::string first = to_string(of.id(1));
  REQUIRE(of.s.renew(of.random) == refusal::none);
  of.append_times(2);
  const std::string second = to_string(of.id(1));
  REQUIRE(of.s.renew(of.random) == refusal::none);
  of.append_times(2);
  CHECK(of.ask(first).reason == reason::stale_incarnation);
  CHECK(of.ask(second).reason == reason::stale_incarnation);
  CHECK(of.ask_after(1).reason == reason::replay);
}

TEST_CASE("cursors of an ended life are stale after restore and foreign after create", "[log]") {
  logged of;
  of.append_times(3);
  of.open("7");
  of.append_times(1, 1);
  const std::string standalone = to_string(of.id(1)), call = to_string(of.id(1, 1));
  const std::uint64_t stored = of.handle().owner.session;
  of.s.end();
  CHECK(of.ask(standalone).reason == reason::session_gone);
  REQUIRE(of.s.restore("sid", "alice", protocol::v2025_11_25, stored, {}, of.random) == refusal::none);
  of.append_times(3);
  CHECK(of.ask(standalone).reason == reason::stale_incarnation);
  CHECK(of.ask(call).reason == reason::stale_request);
  of.s.end();
  REQUIRE(of.s.create("sid", "alice", protocol::v2025_11_25, {}, of.random) == refusal::none);
  of.append_times(3);
  CHECK(of.ask(standalone).reason == reason::foreign_cursor);
  CHECK(of.ask(call).reason == reason::foreign_cursor);
}

namespace {

void require_holds_nothing(session& s, const stream_handle& stream, reader from, const resolution& decided) {
  CHECK_FALSE(s.is_live());
  CHECK(s.id().empty());
  CHECK(s.append(stream, "x").why == refusal::gone);
  CHECK(s.append({}, "x").why == refusal::gone);
  CHECK(s.finish(stream) == refusal::gone);
  CHECK(s.forget(stream) == refusal::gone);
  CHECK(s.open_stream("x").why == refusal::gone);
  CHECK(s.renew() == refusal::gone);
  CHECK(s.label_of(stream).empty());
  CHECK_FALSE(s.window_of(stream));
  std::string frames;
  CHECK(s.read(from, frames).state == read_state::gone);
  reader made = s.attach(decided);
  CHECK(s.read(made, frames).state == read_state::gone);
  CHECK(made.lease() == 0);
  CHECK(frames.empty());
  const inspection all = s.inspect();
  CHECK((all.sessions == 0 && all.streams == 0 && all.events == 0 && all.bytes == 0));
  CHECK(s.facts().id.empty());
  CHECK(s.facts_of(0).state == stream_fact::never_opened);
  s.tick(10);
  s.release(from);
  s.end();
}

}  // namespace

TEST_CASE("a session that was ended or moved from or never created refuses everything as gone", "[log]") {
  logged of;
  of.open("7");
  of.append_times(2, 1);
  const resolution decided = of.ask_after(1, 1);
  const reader from = of.s.attach(decided);
  session never;
  require_holds_nothing(never, of.handle(1), from, decided);
  const stream_handle call = of.handle(1);
  session moved = std::move(of.s);
  require_holds_nothing(of.s, call, from, decided);
  CHECK(moved.append(call, "x").id.seq == 3);
  reader same = from;
  std::string frames;
  CHECK(moved.read(same, frames).events == 2);
  moved.end();
  require_holds_nothing(moved, call, from, decided);
}

TEST_CASE("moving into a session ends what it held", "[log]") {
  logged one, two;
  one.append_times(3);
  two.append_times(5);
  const stream_handle of_one = one.handle(), of_two = two.handle();
  two.s = session();
  CHECK_FALSE(two.s.is_live());
  REQUIRE(two.s.create("sid", "alice", protocol::v2025_11_25, {}, counted_tags{900}) == refusal::none);
  two.s = std::move(one.s);
  CHECK(two.s.inspect().events == 3);
  CHECK(two.s.window_of(of_one) == window{1, 4});
  session& same = two.s;
  two.s = std::move(same);
  CHECK(two.s.inspect().events == 3);
  CHECK((of_one.owner == of_two.owner));  // both drew the same tags: a test's randomness, not the system's
}

TEST_CASE("a session keeps its own copy of options and texts", "[log]") {
  session s;
  {
    options bounds = bounded_to(2);
    std::string id = "an-id-that-is-long-enough-to-stand-in-memory-of-its-own",
                principal = "principal of the same kind";
    REQUIRE(s.create(id, principal, protocol::v2025_11_25, bounds) == refusal::none);
    bounds.max_events = 100;
    id.assign(id.size(), '#');
    principal.assign(principal.size(), '#');
  }
  CHECK(s.id() == "an-id-that-is-long-enough-to-stand-in-memory-of-its-own");
  CHECK(s.facts().principal == "principal of the same kind");
  for (int i = 0; i != 5; ++i) REQUIRE(s.append(s.standalone(), "x"));
  CHECK(s.inspect().events == 2);
}

TEST_CASE("a label may be a view of a label of the session itself", "[log]") {
  for (const std::size_t size : {0U, 1U, 8U, 9U, 64U}) {
    logged of;
    const std::string text(size, 'l');
    stream_handle newest = of.handle(of.open(text));
    for (int i = 0; i != 40; ++i) {  // the array of records grows and moves several times
      newest = of.handle(of.open(of.s.label_of(newest)));
      REQUIRE(of.s.label_of(newest) == text);
    }
  }
}

TEST_CASE("a resolution that was changed leads no reader back or past the newest event", "[log]") {
  logged of(bounded_to(3));
  of.append_times(9);
  const resolution decided = of.ask_after(2);
  REQUIRE((decided.reason == reason::evicted && decided.missed == 7 && decided.resume_after == 9));
  for (std::uint64_t cursor : {std::uint64_t{0}, std::uint64_t{8}, std::uint64_t{9}, ~std::uint64_t{0}}) {
    for (std::uint64_t after :
         {std::uint64_t{0}, std::uint64_t{2}, std::uint64_t{9}, std::uint64_t{10}, ~std::uint64_t{0}}) {
      resolution changed = decided;
      changed.cursor.seq = cursor;
      changed.resume_after = after;
      reader from = of.s.attach(changed);
      std::string frames;
      const progress done = of.s.read(from, frames);
      CAPTURE(cursor, after);
      const bool goes_forward = after < 10 && cursor < after;
      CHECK(done.state == (goes_forward ? read_state::gap : read_state::gone));
      CHECK(done.missed == (goes_forward ? after - cursor : 0));
    }
  }
}

TEST_CASE("renewing under the same number is refused as it would begin no other incarnation", "[log]") {
  logged of;
  REQUIRE(of.append("event"));
  const stream_handle before = of.handle();
  const auto the_same = [&] { return std::optional<std::uint64_t>(before.owner.incarnation); };
  CHECK(of.s.renew(the_same) == refusal::no_randomness);
  CHECK(of.held() == window{1, 2});
  CHECK(of.s.append(before, "still there"));
}
