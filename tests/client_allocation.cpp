// SPDX-License-Identifier: MIT
// Promise: a client that follows a stream allocates nothing for each event, judging allocates nothing at all, what a
// server sends cannot make a client hold more than its bounds, and whichever allocation fails, the cursor has not moved
// and a new connection loses nothing.
//
// allocation.cpp, in the same program, replaces the global operator new by the counted one.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <mcp_resume/client.hpp>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "counted_new.hpp"

namespace {

using heap::fail_each_text;
using heap::for_each_failure;
using heap::must;
using mcp_resume::block;
using mcp_resume::continuity;
using mcp_resume::event_id;
using mcp_resume::event_reader;
using mcp_resume::foreign_ids;
using mcp_resume::outcome;
using mcp_resume::protocol;
using mcp_resume::received;
using mcp_resume::stream_guard;
using mcp_resume::stream_kind;
using mcp_resume::verdict;

constexpr protocol version = protocol::v2025_11_25;
constexpr mcp_resume::tags session_tags{0x5f0c2d9a1b3e4c77U, 0x9f8e7d6c5b4a3921U};
constexpr const char* event_stream = "text/event-stream";
constexpr std::string_view long_head =
    "an-id-of-a-server-that-counts-its-events-";  // too long for a string's own place

// Which reasons occurred.
class reasons_seen {
 public:
  void note(continuity why) noexcept { seen_[static_cast<std::size_t>(why)] = true; }
  [[nodiscard]] bool has(continuity why) const noexcept { return seen_[static_cast<std::size_t>(why)]; }
  [[nodiscard]] std::size_t count() const noexcept {
    return static_cast<std::size_t>(std::count(seen_.begin(), seen_.end(), true));
  }

 private:
  std::array<bool, mcp_resume::continuity_count> seen_ = {};
};

// Follows bytes with a reader and a guard, cut into chunks of 1 to `longest_chunk` bytes; takes each block. Returns how
// many allocations were made.
struct follower {
  stream_guard& guard;
  reasons_seen& reasons;
  mcp_resume::reconnect_policy policy = mcp_resume::reconnect_policy();
  event_reader reader = event_reader();

  std::size_t follow(std::string_view bytes, std::size_t longest_chunk) {
    const std::size_t before = heap::calls;
    for (std::size_t i = 0; !bytes.empty(); ++i) {
      std::string_view chunk = bytes.substr(0, 1 + i * 7919 % longest_chunk);
      bytes.remove_prefix(chunk.size());
      while (const std::optional<block> next = reader.next(chunk)) {
        const verdict made = guard.block(*next);
        reasons.note(made.reason);
        policy.note(made);
        guard.taken();
      }
    }
    return heap::calls - before;
  }
};

// A server's frames of one stream, with all that may stand on it.
struct frames_of {
  event_id at;
  std::string text;

  void event(std::size_t payload_size) {
    ++at.seq;
    (void)mcp_resume::append_event(text, at, std::string(payload_size, 'x') + "\n.");
  }
  void event_again(std::uint64_t before) {
    (void)mcp_resume::append_event(text, {at.owner, at.stream, at.seq - before}, "again");
  }
  void marker(std::uint64_t further) {
    at.seq += further;
    append_marker(text, at, version, 3000);
    append_marker(text, at, protocol::v2025_03_26);
  }
  void gap(std::uint64_t missed) {
    const event_id presented = at;
    at.seq += missed;
    append_gap(text, presented, at, missed);
    (void)mcp_resume::append_message(text, "words");
    append_marker(text, at, version);
  }
  void reset() {
    const event_id presented = at;
    at.seq = 0;
    ++at.owner.incarnation;
    append_reset(text, presented, at);
    (void)mcp_resume::append_message(text, "words");
    append_marker(text, at, version);
  }
};

// Of everything that the guard goes on after; the longest line comes first.
void append_round(frames_of& frames) {
  for (const std::size_t size : {300U, 1U, 20U, 250U}) frames.event(size);
  frames.event_again(1);
  (void)mcp_resume::append_message(frames.text, "a message");
  mcp_resume::append_keep_alive(frames.text);
  frames.text +=
      ": a comment that is longer than any line of this stream" + std::string(500, '.') + "\n\nretry: 10\n\n";
  frames.gap(4);
  frames.event(30);
  frames.event_again(3);
  frames.event_again(3);
  frames.marker(0);
  frames.marker(2);
  frames.at.seq += 5;
  frames.event(10);
}

}  // namespace

// ---- No allocation for each event ----

TEST_CASE("a reader and a guard allocate nothing for each event after the first ones", "[allocation]") {
  const auto [kind, stream] = GENERATE(std::pair(stream_kind::standalone, 0U), std::pair(stream_kind::request, 3U));
  frames_of frames{{session_tags, stream, 1000}, {}};
  stream_guard guard(kind, "8c0f", to_string(frames.at));
  reasons_seen reasons;
  std::size_t of_guard = 0, of_both = 0;
  for (int connection = 0; connection != 5; ++connection) {
    of_guard += heap::calls;
    (void)guard.answer({503});
    (void)guard.answer({409});
    (void)guard.answer({200, event_stream});
    of_guard -= heap::calls;

    follower both{guard, reasons};
    append_round(frames);
    (void)both.follow(std::exchange(frames.text, {}), 1);  // byte by byte: the reader has held each line whole
    for (int i = 0; i != 200; ++i) append_round(frames);
    frames.reset();
    for (int i = 0; i != 200; ++i) append_round(frames);
    of_both += both.follow(frames.text, 97);
    frames.text.clear();

    of_guard += heap::calls;
    (void)guard.closed();
    of_guard -= heap::calls;
  }
  CHECK(of_guard == 0);
  CHECK(of_both == 0);
  for (const continuity why :
       {continuity::next_event, continuity::seen, continuity::message, continuity::blank, continuity::gap_announced,
        continuity::gap_located, continuity::inside_gap, continuity::marker, continuity::marker_ahead,
        continuity::event_ahead, continuity::reset_announced, continuity::reset_located}) {
    CAPTURE(to_string(why));
    CHECK(reasons.has(why));
  }
  CHECK(reasons.count() == 12);
  CHECK(guard.cursor() == to_string(frames.at));
}

TEST_CASE("a reader and a guard allocate nothing for each event whose id is a counter of constant length",
          "[allocation]") {
  for (const foreign_ids others : {foreign_ids::trailing_counter, foreign_ids::unprovable}) {
    stream_guard guard(stream_kind::standalone, "8c0f", std::string(long_head) + "10000", others);
    reasons_seen reasons;
    std::string frames, id;
    std::size_t calls = 0;
    int number = 10000;
    for (int connection = 0; connection != 5; ++connection) {
      const std::size_t before = heap::calls;
      (void)guard.answer({200, event_stream});
      const std::size_t of_answer = heap::calls - before;
      if (connection != 0) CHECK(of_answer == 0);
      follower both{guard, reasons};
      for (const int events : {3, 2000}) {
        frames.clear();
        for (int i = 0; i != events; ++i) {
          id = std::string(long_head) + std::to_string(++number);
          frames += "id: " + id + "\ndata: an event\n\n";
          if (i % 10 == 9) frames += "id: " + id + "\ndata:\n\n";
        }
        calls = both.follow(frames, events == 3 ? 1 : 97);
      }
      CHECK(calls == 0);
      (void)guard.closed();
    }
    CHECK(guard.cursor() == id);
    CHECK(reasons.has(continuity::next_event) == (others == foreign_ids::trailing_counter));
    CHECK(reasons.has(continuity::marker) == (others == foreign_ids::trailing_counter));
    CHECK(reasons.has(continuity::opaque) == (others == foreign_ids::unprovable));
  }
}

TEST_CASE("a verdict that is not taken and a sibling's tags cost no allocation", "[allocation]") {
  stream_guard guard(stream_kind::standalone, "8c0f"), sibling(stream_kind::request, "8c0f");
  (void)guard.answer({200, event_stream});
  (void)sibling.answer({200, event_stream});
  const std::string id = to_string(event_id{session_tags, 0, 1});
  block event;
  event.id = id;
  event.data = "an event";
  const std::size_t before = heap::calls;
  for (int i = 0; i != 100; ++i) (void)guard.block(event);
  guard.taken();
  sibling.learn(guard);
  const verdict judged = sibling.block(event);
  sibling.answer_taken();
  sibling.taken();
  const verdict closed = sibling.closed();
  CHECK(heap::calls == before);
  CHECK(judged.reason == continuity::other_stream);
  CHECK(closed.reason == continuity::complete);
}

// ---- Judging allocates nothing ----

TEST_CASE("one reconnect is judged without allocation whatever came back", "[allocation]") {
  const std::string long_text(2000, '9');
  const std::string own = to_string(event_id{session_tags, 0, 418}), next = to_string(event_id{session_tags, 0, 419});
  const std::string ahead = to_string(event_id{session_tags, 0, 500}), call = to_string(event_id{session_tags, 3, 7});
  const std::string foreign = to_string(event_id{{1, 2}, 0, 418}),
                    other_life = to_string(event_id{{session_tags.session, 2}, 0, 9});
  const std::array<std::string_view, 9> ids = {"", own, next, ahead, call, foreign, other_life, "evt-9", long_text};
  const std::array<std::string_view, 6> types = {"message", "gap", "reset", "resume", "", long_text};
  reasons_seen reasons;
  const std::size_t before = heap::calls;
  for (const std::string_view cursor : ids) {
    for (const int status : {0, 200, 202, 204, 301, 400, 401, 403, 404, 405, 408, 409, 410, 429, 499, 500, 503, -1}) {
      for (const std::string_view session : {"", "8c0f", "another"}) {
        mcp_resume::sent asked{"8c0f", cursor, foreign_ids::trailing_counter};
        asked.conflicts = 2;
        asked.is_answer_taken = status == 204;
        reasons.note(mcp_resume::validate_resumption(asked, {status, "application/json", session}).reason);
        reasons.note(mcp_resume::validate_resumption({session, cursor}, {status, event_stream}).reason);
        for (std::size_t i = 0; i != ids.size() * types.size() * 2; ++i) {
          received got{status, event_stream, session, block()};
          if (i % ids.size() != 0) got.first->id = ids[i % ids.size()];
          got.first->type = types[i / ids.size() % types.size()];
          if (i % 2 == 0) got.first->data = long_text;
          reasons.note(mcp_resume::validate_resumption(asked, got).reason);
        }
      }
    }
  }
  CHECK(heap::calls == before);
  CHECK(reasons.count() >= 24);
}

TEST_CASE("facts are judged without allocation", "[allocation]") {
  mcp_resume::continuity_facts f;
  reasons_seen reasons;
  int digits = 0;
  const auto set = [&digits](auto& fact, auto last) {  // to each of its values in turn
    const int values = static_cast<int>(last) + 1;
    fact = static_cast<decltype(last)>(digits % values);
    digits /= values;
  };
  const std::size_t before = heap::calls;
  for (int number = 0; digits == 0; ++number) {
    digits = number;
    set(f.sent, mcp_resume::sent_fact::no_session);
    set(f.kind, stream_kind::request);
    set(f.answer, mcp_resume::answer_fact::undecided);
    set(f.conflicts, mcp_resume::conflict_fact::many);
    set(f.owed, mcp_resume::owed_fact::answer);
    set(f.scope, mcp_resume::scope_fact::first_block);
    set(f.block, mcp_resume::block_fact::reset_frame);
    set(f.id, mcp_resume::id_fact::unprovable);
    set(f.announced, mcp_resume::signal_fact::reset);
    set(f.resync, mcp_resume::resync_fact::done);
    set(f.order, mcp_resume::order_fact::first_of_resumed);
    reasons.note(judge(f));
  }
  CHECK(heap::calls == before);
  CHECK(reasons.count() == mcp_resume::continuity_count);
}

// ---- Memory that is held ----

namespace {

// The second one is a little over what a text has place for that has doubled its place again and again.
constexpr std::array<std::size_t, 2> bounds = {700000, (std::size_t{30} << 14U) + 100};

// What each of a reader's four texts keeps for the next block.
constexpr std::size_t kept = 4 * std::size_t{65536};

// The most that a reader of that bound holds at once while it reads `stream`, in chunks of that size.
std::size_t most_held(std::size_t bound, std::string_view stream, std::size_t chunk_size) {
  const std::size_t before = heap::bytes;
  heap::most_bytes = before;
  {
    event_reader reader(bound);
    while (!stream.empty() && !reader.is_too_large()) {
      std::string_view chunk = stream.substr(0, chunk_size);
      stream.remove_prefix(chunk.size());
      while (reader.next(chunk)) {
      }
    }
  }
  must(heap::bytes == before, "a reader that is gone holds nothing");
  return heap::most_bytes - before;
}

std::string line_of(const std::string& name, std::size_t size) {
  return name + std::string(size - name.size(), 'x') + "\n";
}

std::string short_lines(std::size_t bytes_of_data) {
  std::string lines;
  for (std::size_t i = 0; i < bytes_of_data; i += 2) lines += "data:x\n";
  return lines;
}

// Each of these fields in turn as long as may be, and before that a little shorter, so that a text that doubles its
// place has twice the bound.
std::string growing_fields(std::size_t bound, const std::vector<std::string>& names, std::string_view between) {
  std::string stream;
  for (const std::string& name : names) {
    for (const std::size_t size : {bound - 40, bound - 20}) {
      stream.append(line_of(name, size)).append("id\nevent\n").append(between);
    }
  }
  return stream;
}

}  // namespace

// Three times: a text that grows to twice its size, and the place that it had before.
TEST_CASE("a reader holds at the most about three times its bound for one field", "[allocation]") {
  for (const std::size_t bound : bounds) {
    for (const std::size_t chunk_size : {std::size_t{1}, std::size_t{1000}, bound + 1, 20 * bound}) {
      CAPTURE(bound, chunk_size);
      for (const std::string name : {"data:", "id:", "event:", "retry:", "unknown:", ":"}) {
        CAPTURE(name);
        CHECK(most_held(bound, line_of(name, bound) + "\n", chunk_size) <= 3 * bound + 1000);
        CHECK(most_held(bound, line_of(name, 2 * bound) + "\n", chunk_size) <= 3 * bound + 1000);  // too large
      }
      CHECK(most_held(bound, short_lines(2 * bound), chunk_size) <= 3 * bound + 1000);
    }
  }
}

TEST_CASE("a reader holds at the most about three times its bound for many blocks", "[allocation]") {
  const std::vector<std::string> all = {"unknown:", "id:", "event:", "data:"};
  for (const std::size_t bound : bounds) {
    const std::string stream = growing_fields(bound, all, "\n") + short_lines(bound - 20) + "\n";
    for (const std::size_t chunk_size : {std::size_t{1}, std::size_t{1000}, bound, 50 * bound}) {
      CAPTURE(bound, chunk_size);
      CHECK(most_held(bound, stream, chunk_size) <= 3 * bound + kept);
    }
  }
}

// A field that is replaced by a shorter one counts no longer, and takes no memory either.
TEST_CASE("a reader holds at the most about three times its bound for many fields of one block", "[allocation]") {
  for (const std::size_t bound : bounds) {
    const std::string fields = growing_fields(bound, {"unknown:", "id:", "event:"}, "");
    const std::string stream = fields + short_lines(bound - 20) + "\n";
    for (const std::size_t chunk_size : {std::size_t{1}, std::size_t{1000}, bound, 50 * bound}) {
      CAPTURE(bound, chunk_size);
      CHECK(most_held(bound, stream, chunk_size) <= 3 * bound + kept);
    }
  }
}

TEST_CASE("a reader gives back with the next block what a large one took", "[allocation]") {
  const std::size_t bound = bounds[0];
  for (const std::string name : {"data:", "id:", "event:", "unknown:"}) {
    for (const std::size_t chunk_size : {std::size_t{1}, std::size_t{1000}, 2 * bound}) {
      CAPTURE(name, chunk_size);
      const std::size_t before = heap::bytes;
      event_reader reader(bound);
      const std::string stream = line_of(name, bound - 20) + "retry:1\n\nretry:2\n\n";
      std::size_t blocks = 0;
      for (std::size_t at = 0; at < stream.size(); at += chunk_size) {
        std::string_view chunk = std::string_view(stream).substr(at, chunk_size);
        while (reader.next(chunk)) ++blocks;
      }
      const std::size_t held = heap::bytes - before - (stream.capacity() + 1);
      CHECK(blocks == 2);
      CHECK(held <= kept);
    }
  }
}

TEST_CASE("a comment takes no memory however long it is", "[allocation]") {
  for (const std::string_view begin : {":", "\n:", "unknown\n:", "\r\n: keep-alive"}) {
    for (const std::size_t chunk_size : {1U, 3U, 1000U, 1000000U}) {
      const std::string stream = std::string(begin) + std::string(1000000, ':') + "\n\n";
      CHECK(most_held(1000, stream, chunk_size) == 0);
    }
  }
}

TEST_CASE("a guard holds one id of a size that a header takes whatever ids come", "[allocation]") {
  constexpr std::size_t largest_id = 1024, texts = 3;
  std::vector<std::string> ids;
  for (const std::size_t size : {1U, 100U, 500U, 513U, 1000U, 1023U, 1024U, 5000U, 100000U, 1025U}) {
    ids.emplace_back(size, '7');
    ids.emplace_back(size, '\x01');
  }
  for (const foreign_ids others : {foreign_ids::trailing_counter, foreign_ids::unprovable}) {
    for (const std::string& first : ids) {
      const std::size_t before = heap::bytes;
      heap::most_bytes = before;
      stream_guard guard(stream_kind::standalone, "8c0f", first, others);
      for (int connection = 0; connection != 3; ++connection) {
        (void)guard.answer({200, event_stream});
        for (const std::string& id : ids) {
          block event;
          event.id = id;
          event.data = event.type = id;
          (void)guard.block(event);
          guard.taken();
        }
        (void)guard.closed();
      }
      CHECK(heap::most_bytes - before <= (2 * texts + 1) * (largest_id + 1));  // 1: the place before it grew
      CHECK(guard.cursor() == std::string(largest_id, '7'));
    }
  }
}

// ---- Memory that is not found ----

namespace {

// Blocks that grow, so that a reader of them allocates again and again.
std::string growing_blocks() {
  std::string stream = "\xEF\xBB\xBF";
  for (std::size_t size = 20; size < 3000; size *= 2) {
    const std::string text(size, 'x');
    stream += "id: " + text + "\nevent: " + text + "\nretry: 10\ndata: " + text + "\r\ndata: " + text + "\n\n";
  }
  return stream;
}

// Reads on into `sizes`, which has room: the sizes of each block's data.
void read_sizes(event_reader& reader, std::string_view bytes, std::size_t chunk_size, std::vector<std::size_t>& sizes) {
  while (!bytes.empty()) {
    std::string_view chunk = bytes.substr(0, chunk_size);
    bytes.remove_prefix(chunk.size());
    while (const std::optional<block> next = reader.next(chunk)) {
      const bool is_whole = next->id && next->data && next->retry_ms == 10U && next->id->size() == next->type.size();
      must(is_whole && next->data->size() == 2 * next->id->size() + 1, "a block that is returned is whole");
      sizes.push_back(next->data->size());
    }
  }
}

}  // namespace

TEST_CASE("a reader that finds no memory throws and returns whole blocks only and a new one reads on", "[allocation]") {
  const std::string stream = growing_blocks();
  for (const std::size_t chunk_size : {std::size_t{1}, std::size_t{100}, stream.size()}) {
    CAPTURE(chunk_size);
    std::vector<std::size_t> expected;
    event_reader reader;
    read_sizes(reader, stream, chunk_size, expected);
    REQUIRE(expected.size() == 8);
    const std::size_t needed = for_each_failure([&](std::size_t n) {
      std::vector<std::size_t> sizes, again;
      sizes.reserve(100), again.reserve(100);
      bool has_thrown = false;
      {
        event_reader failing;
        const heap::failure armed(n);
        try {
          read_sizes(failing, stream, chunk_size, sizes);
        } catch (const std::bad_alloc&) {
          has_thrown = true;
        }
        must(!failing.is_too_large(), "no memory is not a block over the bound");
      }
      must(has_thrown == heap::has_failed, "a reader throws when it finds no memory");
      must(std::equal(sizes.begin(), sizes.end(), expected.begin()), "what came before is as it should be");
      event_reader fresh;
      read_sizes(fresh, stream, chunk_size, again);
      must(again == expected, "a new reader reads everything");
      return has_thrown;
    });
    CHECK(needed > 10);
  }
}

TEST_CASE("a guard that finds no memory when it is made is not made and leaks nothing", "[allocation]") {
  const std::string session_id(200, 's'), text = std::string(long_head) + "1";
  const std::string id = to_string(event_id{session_tags, 3, 418});
  for (const std::string& cursor : {text, id, std::string()}) {
    const std::size_t needed = for_each_failure([&](std::size_t n) {
      std::string own = session_id;
      try {
        const heap::failure armed(n);
        const stream_guard guard(stream_kind::request, std::move(own), cursor);
        must(guard.has_cursor() == !cursor.empty(), "a guard has the cursor that it was given");
      } catch (const std::bad_alloc&) {
        return true;
      }
      must(!heap::has_failed, "a failed allocation throws");
      return false;
    });
    CHECK(needed == (cursor == text ? 1 : 0));
  }
}

TEST_CASE("a client's texts that find no memory throw and leak nothing", "[allocation]") {
  const stream_guard by_text(stream_kind::standalone, "8c0f", std::string(long_head) + "1");
  const stream_guard by_id(stream_kind::standalone, "8c0f", to_string(event_id{session_tags, 0, 418}));
  verdict gap;
  gap.reason = continuity::event_ahead;
  gap.missed = 94;
  fail_each_text([&] { return by_text.cursor(); });
  fail_each_text([&] { return by_id.cursor(); });
  fail_each_text([&] { return describe(gap); });
  fail_each_text([&] { return to_string(gap); });
  fail_each_text([] { return mcp_resume::increment_event_id(std::string(long_head) + "999").value(); });
}

namespace {

// A server of a stream of 40 events, whose ids are event ids or other texts and get longer at 100, and its client.
class world {
 public:
  static constexpr std::size_t events = 40;

  explicit world(foreign_ids others) : others_(others) {
    const bool are_texts = others == foreign_ids::trailing_counter;
    for (std::size_t seq = 95; seq <= 95 + events; ++seq) {
      ids_.push_back(are_texts ? std::string(long_head) + std::to_string(seq)
                               : to_string(event_id{session_tags, 0, seq}));
    }
    taken_.reserve(10 * events);
    stream_ = frames_after(ids_[0]);
  }

  // Follows the stream with the n-th allocation failing, then what is left of it on a new connection. Returns whether
  // there was an n-th allocation.
  bool run(std::size_t n) {
    stream_guard guard(stream_kind::standalone, "8c0f", ids_[0], others_);
    taken_.clear();
    bool has_thrown = false;
    try {
      const heap::failure armed(n);
      follow(guard);
    } catch (const std::bad_alloc&) {
      has_thrown = true;
    }
    must(has_thrown == heap::has_failed, "a client throws when it finds no memory");
    must(guard.cursor() == ids_[taken_.size()], "the cursor is at the last event that was taken");
    guard.taken();
    must(guard.cursor() == ids_[taken_.size()], "what was not judged cannot be taken");
    if (has_thrown) {
      (void)guard.closed();
      stream_ = frames_after(guard.cursor());
      follow(guard);
      stream_ = frames_after(ids_[0]);
    }
    must(taken_.size() == events && guard.cursor() == ids_[events], "everything is taken in the end");
    return has_thrown;
  }

 private:
  std::string frames_after(const std::string& cursor) const {
    std::string frames;
    std::size_t at = 0;
    while (ids_[at] != cursor) ++at;
    frames += "id: " + cursor + "\ndata:\n\n";
    for (++at; at <= events; ++at) frames += "id: " + ids_[at] + "\ndata: " + std::string(20 * at, 'x') + "\n\n";
    return frames;
  }

  void follow(stream_guard& guard) {
    (void)guard.answer({200, event_stream});
    event_reader reader;
    std::string_view rest = stream_;
    while (!rest.empty()) {
      std::string_view chunk = rest.substr(0, 50);
      rest.remove_prefix(chunk.size());
      while (const std::optional<block> next = reader.next(chunk)) {
        const verdict made = guard.block(*next);
        must(made.outcome() == outcome::continue_ && made.missed == 0, "the stream goes on where it was");
        if (made.deliver) taken_.push_back(next->data->size());
        must(!made.deliver || taken_.back() == 20 * taken_.size(), "each event is delivered once and in order");
        guard.taken();
      }
    }
  }

  foreign_ids others_;
  std::vector<std::string> ids_;
  std::string stream_;
  std::vector<std::size_t> taken_;
};

}  // namespace

TEST_CASE("a block that finds no memory takes no earlier block along", "[allocation]") {
  const std::string first = std::string(long_head) + "1", second = first + std::string(100, '0');
  stream_guard guard(stream_kind::standalone, "8c0f");
  (void)guard.answer({200, event_stream});
  block event;
  event.data = "an event";
  event.id = first;
  CHECK(guard.block(event).deliver);
  event.id = second;
  bool has_thrown = false;
  try {
    const heap::failure armed(1);
    (void)guard.block(event);
  } catch (const std::bad_alloc&) {
    has_thrown = true;
  }
  CHECK(has_thrown);
  guard.taken();
  CHECK_FALSE(guard.has_cursor());
}

TEST_CASE("a client that finds no memory at any place goes on over a new connection and loses nothing",
          "[allocation]") {
  for (const foreign_ids others : {foreign_ids::unprovable, foreign_ids::trailing_counter}) {
    world all(others);
    CHECK(for_each_failure([&](std::size_t n) { return all.run(n); }) > 5);
  }
}
