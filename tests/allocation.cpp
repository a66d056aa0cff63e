// SPDX-License-Identifier: MIT
// Promise: whichever allocation fails, the call is refused or throws as documented, nothing has changed, and the same
// call succeeds later; nothing leaks, a full session allocates nothing, and memory that is not used is not held.
//
// This program replaces the global operator new by the counted one.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "catch.hpp"
#include "counted_new.hpp"
#include "mcp_resume/resume.hpp"
#include "replaced_new.hpp"

namespace {

using heap::fail_each_text;
using heap::for_each_failure;
using heap::must;
using mcp_resume::local_session_table;
using mcp_resume::options;
using mcp_resume::protocol;
using mcp_resume::read_state;
using mcp_resume::reader;
using mcp_resume::refusal;
using mcp_resume::session;
using mcp_resume::stream_handle;

constexpr protocol version = protocol::v2025_11_25;

std::optional<std::uint64_t> a_tag() { return 0x5f0c2d9a1b3e4c77U; }
std::optional<std::uint64_t> another_tag() { return 0x9f8e7d6c5b4a3921U; }

void add(std::string& text, const mcp_resume::inspection& i) {
  for (const std::uint64_t n : {i.sessions, i.streams, i.events, i.bytes, i.oldest_age_ms, i.evicted_unread}) {
    text += " " + std::to_string(n);
  }
}

// All that an observer is told of a session.
std::string seen(const session& s) {
  const mcp_resume::session_facts facts = s.facts();
  std::string text = std::string(s.id()) + "/" + std::string(facts.principal);
  text += " " + std::to_string(facts.owner.incarnation);
  text += facts.standalone_reader == mcp_resume::reader_fact::live ? " live" : " none";
  add(text, s.inspect());
  for (std::uint32_t stream = 0; stream != 20; ++stream) {
    const mcp_resume::stream_facts of = s.facts_of(stream);
    text += " " + std::to_string(static_cast<int>(of.state)) + to_string(of.window) + std::to_string(of.read_mark);
    text += s.label_of({facts.owner, stream, 0});
  }
  return text;
}

// Of a table with the sessions "0", "1", ...
std::string seen(const local_session_table& table) {
  std::string text;
  add(text, table.inspect());
  for (int i = 0; i != 70; ++i) {
    const std::string id = std::to_string(i);
    add(text, table.inspect(id));
    text += table.standalone(id) ? "+" : "-";
  }
  return text;
}

// Calls that are refused as `no_memory`: `set_up(what)` prepares a session or a table, `call(what)` is tried.
template <class Held, class SetUp, class Call>
std::size_t refuse_each_failure(const options& bounds, SetUp set_up, Call call) {
  return for_each_failure([&](std::size_t n) {
    Held held(bounds);
    set_up(held.what);
    const std::string before = seen(held.what);
    refusal why = refusal::none;
    {
      const heap::failure armed(n);
      why = call(held.what);
    }
    const bool has_failed = heap::has_failed;
    if (has_failed) {
      must(why == refusal::no_memory, "a failed allocation is refused as no_memory");
      must(seen(held.what) == before, "a refused call has changed nothing");
      why = call(held.what);
    }
    must(why == refusal::none, "the call succeeds once there is memory");
    must(seen(held.what) != before, "a call that succeeds changes something");
    return has_failed;
  });
}

struct no_session {
  session what;
  explicit no_session(const options&) {}
};
struct one_session {
  session what;
  explicit one_session(const options& bounds = {}) {
    must(what.create("8c0f", "alice", version, bounds, a_tag) == refusal::none, "a session is made");
  }
};
struct one_table {
  local_session_table what;
  explicit one_table(const options& bounds) : what(bounds) {}
};

void append(session& s, const stream_handle& stream, std::string_view payload, std::size_t times = 1) {
  for (std::size_t i = 0; i != times; ++i) must(!!s.append(stream, payload), "an event is taken");
}

// Stream 0 and request streams, `count` in all.
std::vector<stream_handle> open_streams(session& s, std::size_t count) {
  std::vector<stream_handle> handles;
  handles.reserve(count);
  handles.push_back(s.standalone());
  while (handles.size() != count) handles.push_back(s.open_stream("7").stream);
  return handles;
}

reader attach_fresh(session& s) {
  mcp_resume::request asked;
  asked.session_id = "8c0f";
  asked.principal = "alice";
  return s.attach(mcp_resume::resolve_resume(asked, &s));
}

}  // namespace

TEST_CASE("a session that finds no memory is refused and can be made later", "[allocation]") {
  const std::string principal(1000, 'p');
  const auto nothing = [](session&) {};
  const auto create = [&](session& s) { return s.create("8c0f", principal, version, {}, a_tag); };
  const auto restore = [&](session& s) { return s.restore("8c0f", principal, version, 7, {}, a_tag); };
  CHECK(refuse_each_failure<no_session>({}, nothing, create) > 0);
  CHECK(refuse_each_failure<no_session>({}, nothing, restore) > 0);
}

TEST_CASE("a table that finds no memory for a session is as before and takes it later", "[allocation]") {
  std::size_t most = 0;
  for (std::size_t sessions = 0; sessions != 64; ++sessions) {
    CAPTURE(sessions);
    options bounds;
    bounds.max_sessions = sessions + 1;  // an attempt that failed must not count
    const auto with_sessions = [&](local_session_table& table) {
      for (std::size_t i = 0; i != sessions; ++i) {
        must(table.create(std::to_string(i), "alice", version, a_tag) == refusal::none, "a session is made");
      }
    };
    const std::string id = std::to_string(sessions);
    const auto create = [&](local_session_table& table) { return table.create(id, "alice", version, a_tag); };
    const auto restore = [&](local_session_table& table) { return table.restore(id, "alice", version, 7, a_tag); };
    const std::size_t needed = refuse_each_failure<one_table>(bounds, with_sessions, create);
    CHECK(refuse_each_failure<one_table>(bounds, with_sessions, restore) == needed);
    most = most < needed ? needed : most;
  }
  CHECK(most > 1);  // some of them made an index grow
}

TEST_CASE("a stream that finds no memory is not opened and takes no number", "[allocation]") {
  const std::string longest(64, 'x');
  for (const std::size_t label_size : {0U, 8U, 9U, 64U}) {
    const std::string_view label = std::string_view(longest).substr(0, label_size);
    for (std::size_t streams = 1; streams != 14; ++streams) {
      CAPTURE(label_size, streams);
      const auto open = [&](session& s) {
        const mcp_resume::opened done = s.open_stream(label);
        if (done) must(done.stream.stream == streams, "a refused stream takes no number");
        return done.why;
      };
      const std::size_t needed = refuse_each_failure<one_session>(
          {}, [&](session& s) { (void)open_streams(s, streams); }, open);
      if (streams == 1 && label_size == 0) CHECK(needed == 1);   // the array
      if (streams == 1 && label_size == 64) CHECK(needed == 2);  // the label as well
    }
  }
}

TEST_CASE("a stream at the bound that finds no memory does not drop the finished one", "[allocation]") {
  options bounds;
  bounds.max_streams = 1;
  const auto with_finished_stream = [](session& s) {
    const stream_handle stream = s.open_stream("7").stream;
    append(s, stream, "answer");
    must(s.finish(stream) == refusal::none, "a stream is finished");
  };
  const std::string longest(64, 'x');
  const auto open = [&](session& s) { return s.open_stream(longest).why; };
  CHECK(refuse_each_failure<one_session>(bounds, with_finished_stream, open) > 0);
}

TEST_CASE("an event that finds no memory is not numbered and evicts nothing", "[allocation]") {
  const std::string small(100, 's'), large(5000, 'l');
  const auto append_small = [&](session& s) { return s.append(s.standalone(), small).why; };
  const auto append_large = [&](session& s) { return s.append(s.standalone(), large).why; };
  const auto holding = [&](std::size_t events) {
    return [&small, events](session& s) { append(s, s.standalone(), small, events); };
  };
  SECTION("the first page") { CHECK(refuse_each_failure<one_session>({}, holding(0), append_small) == 1); }
  SECTION("a further page") {
    std::size_t needed = 0;
    for (std::size_t held = 1; held != 40; ++held) {
      needed += refuse_each_failure<one_session>({}, holding(held), append_small);
    }
    CHECK(needed > 0);
    CHECK(needed < 20);
  }
  SECTION("a page of its own") { CHECK(refuse_each_failure<one_session>({}, holding(1), append_large) == 1); }
  SECTION("where it would evict") {
    options bounds;
    bounds.max_bytes = 6000;
    CHECK(refuse_each_failure<one_session>(bounds, holding(60), append_large) == 1);
  }
}

TEST_CASE("a stream is finished without memory and keeps its events", "[allocation]") {
  const std::size_t needed = for_each_failure([](std::size_t n) {
    one_session held;
    session& s = held.what;
    mcp_resume::opened call = s.open_stream("7");
    for (int i = 0; i != 9; ++i) append(s, call.stream, "event " + std::to_string(i));
    {
      const heap::failure armed(n);
      must(s.finish(call.stream) == refusal::none, "finishing needs no memory");
    }
    const bool has_failed = heap::has_failed;
    must(s.facts_of(1).state == mcp_resume::stream_fact::finished, "the stream is finished");
    std::string frames;
    must(s.read(call.reader, frames).state == read_state::finished, "everything is read");
    for (int i = 0; i != 9; ++i) must(frames.find("data: event " + std::to_string(i)) != frames.npos, "all is held");
    return has_failed;
  });
  CHECK(needed > 0);
}

TEST_CASE("renew and forget and end and reading into a buffer need no memory", "[allocation]") {
  one_session held;
  session& s = held.what;
  const stream_handle stream = s.open_stream("7").stream;
  append(s, s.standalone(), "event", 100);
  REQUIRE(s.finish(stream) == refusal::none);
  reader from = attach_fresh(s);
  char buffer[4096];
  const std::size_t calls_before = heap::calls;
  const bool has_read = s.read(from, buffer, sizeof buffer).bytes > 0;
  const bool is_forgotten = s.forget(stream) == refusal::none;
  const bool is_renewed = s.renew(another_tag) == refusal::none;
  s.end();
  const std::size_t calls = heap::calls - calls_before;
  CHECK(calls == 0);
  CHECK((has_read && is_forgotten && is_renewed && !s.is_live()));
}

namespace {

// Events of many sizes, some of several lines. Equal tags, so equal frames each time.
void append_events_to_read(session& s) {
  for (std::size_t i = 1; i != 60; ++i)
    append(s, s.standalone(), std::string(i * 7, 'x') + (i % 5 == 0 ? "\n\r" : "."));
}

// `read(frames)` is a call of read, in a session or in its table.
template <class Read>
std::string read_all(Read read) {
  std::string frames;
  while (read(frames).state == read_state::more) {
  }
  return frames;
}

// Reads with the n-th allocation failing; then the rest, into another string.
template <class Read>
bool read_with_failure(std::size_t n, const reader& from, const std::string& expected, Read read) {
  std::string frames;
  bool has_thrown = false;
  {
    const heap::failure armed(n);
    try {
      while (read(frames).state == read_state::more) {
      }
    } catch (const std::bad_alloc&) {
      has_thrown = true;
    }
  }
  must(has_thrown == heap::has_failed, "a read throws when it finds no memory");
  const bool is_whole = frames.empty() || frames.substr(frames.size() - 2) == "\n\n";
  must(is_whole && expected.compare(0, frames.size(), frames) == 0, "the string holds whole frames");
  const std::string last = "id: " + to_string(from.position()) + "\n";
  must(frames.empty() || frames.rfind("id: ") == frames.rfind(last), "the reader stands behind the last whole frame");
  must(frames + read_all(read) == expected, "reading on loses nothing and repeats nothing");
  return has_thrown;
}

}  // namespace

TEST_CASE("a read that finds no memory leaves whole frames and goes on behind them", "[allocation]") {
  one_session whole;
  append_events_to_read(whole.what);
  reader from_whole = attach_fresh(whole.what);
  const std::string expected = read_all([&](std::string& frames) { return whole.what.read(from_whole, frames); });
  CHECK(for_each_failure([&](std::size_t n) {
          one_session held;
          append_events_to_read(held.what);
          reader from = attach_fresh(held.what);
          return read_with_failure(n, from, expected,
                                   [&](std::string& frames) { return held.what.read(from, frames); });
        }) > 3);
}

TEST_CASE("a read of a table that finds no memory leaves whole frames and goes on behind them", "[allocation]") {
  one_session whole;
  append(whole.what, whole.what.standalone(), std::string(300, 'x'), 20);
  reader from_whole = attach_fresh(whole.what);
  const std::string expected = read_all([&](std::string& frames) { return whole.what.read(from_whole, frames); });
  CHECK(for_each_failure([&](std::size_t n) {
          local_session_table table;
          must(table.create("8c0f", "alice", version, a_tag) == refusal::none, "a session is made");
          for (int i = 0; i != 20; ++i)
            must(table.append_all(std::string(300, 'x')).appended == 1, "an event is taken");
          mcp_resume::request asked;
          asked.session_id = "8c0f";
          asked.principal = "alice";
          reader from;
          must(table.resume(asked, from).http_status() == 200, "the stream is resumed");
          return read_with_failure(n, from, expected,
                                   [&](std::string& frames) { return table.read(from, frames, 900); });
        }) > 3);
}

TEST_CASE("a signal that finds no memory comes again", "[allocation]") {
  options bounds;
  bounds.max_events = 2;
  const std::size_t needed = for_each_failure([&](std::size_t n) {
    one_session held(bounds);
    append(held.what, held.what.standalone(), "event", 9);
    reader from = attach_fresh(held.what);
    std::string frames;
    bool has_thrown = false;
    mcp_resume::progress done;
    try {
      const heap::failure armed(n);
      done = held.what.read(from, frames);
    } catch (const std::bad_alloc&) {
      has_thrown = true;
      must(frames.empty(), "a signal is written whole or not at all");
      done = held.what.read(from, frames);
    }
    must(done.state == read_state::gap && done.missed == 9, "the signal is a gap of 9");
    must(frames.find("event: gap\n") == 0, "the signal is written");
    return has_thrown;
  });
  CHECK(needed > 0);
}

TEST_CASE("a tick that cannot name an expired session ends it later and names each once", "[allocation]") {
  options bounds;
  bounds.idle_ms = 10;
  constexpr std::size_t sessions = 40;
  const std::size_t needed = for_each_failure([&](std::size_t n) {
    local_session_table table(bounds);
    for (std::size_t i = 0; i != sessions; ++i) {
      const std::string id = "an-id-too-long-for-the-string-itself-" + std::to_string(i);
      must(table.create(id, "alice", version, a_tag) == refusal::none, "a session is made");
    }
    table.tick(100);
    std::vector<std::string> expired;
    bool has_thrown = false;
    try {
      const heap::failure armed(n);
      table.tick(200, &expired);
    } catch (const std::bad_alloc&) {
      has_thrown = true;
    }
    must(table.inspect().sessions == sessions - expired.size(), "a session ends when it was named");
    for (const std::string& id : expired) must(!table.standalone(id), "a session that was named has ended");
    table.tick(300, &expired);
    std::sort(expired.begin(), expired.end());
    const bool has_twice = std::adjacent_find(expired.begin(), expired.end()) != expired.end();
    must(expired.size() == sessions && !has_twice, "the next tick names the others");
    must(table.inspect().sessions == 0, "all have ended");
    return has_thrown;
  });
  CHECK(needed >= sessions);
}

namespace {

// `write(string)` throws when it finds no memory, and leaves the string as it was.
template <class Write>
void fail_each_write(Write write) {
  const std::string before = ": words that stand there\n";
  std::string expected = before;
  write(expected);
  const std::size_t needed = for_each_failure([&](std::size_t n) {
    std::string text = before;
    bool has_thrown = false;
    try {
      const heap::failure armed(n);
      write(text);
    } catch (const std::bad_alloc&) {
      has_thrown = true;
      must(text == before, "the string is as it was");
      write(text);
    }
    must(text == expected, "the same is written once there is memory");
    return has_thrown;
  });
  CHECK(needed > 0);
}

}  // namespace

TEST_CASE("a helper that finds no memory leaves the string as it was", "[allocation]") {
  const mcp_resume::event_id id{{1, 2}, 3, 4}, behind{{1, 2}, 3, 9};
  const std::string payload = std::string(40, 'x') + "\n" + std::string(400, 'y');
  fail_each_write([&](std::string& out) { (void)append_event(out, id, payload); });
  fail_each_write([&](std::string& out) { (void)mcp_resume::append_message(out, payload); });
  fail_each_write([&](std::string& out) { append_marker(out, id, version, 3000); });
  fail_each_write([&](std::string& out) { append_marker(out, id, protocol::v2025_03_26, 3000); });
  fail_each_write([&](std::string& out) { append_gap(out, id, behind, 5); });
  fail_each_write([&](std::string& out) { append_reset(out, id, behind); });
  fail_each_write([&](std::string& out) { mcp_resume::append_keep_alive(out); });
  fail_each_write([&](std::string& out) { append_retention(out, options()); });
}

TEST_CASE("a text that finds no memory throws and leaks nothing", "[allocation]") {
  options bounds;
  bounds.max_events = 2;
  one_session held(bounds);
  append(held.what, held.what.standalone(), "event", 9);
  mcp_resume::request asked;
  asked.session_id = "8c0f";
  asked.principal = "alice";
  const mcp_resume::resolution gap = resolve_resume(asked, &held.what);
  REQUIRE(gap.missed == 9);
  fail_each_text([&] { return describe(gap); });
  fail_each_text([&] { return describe(mcp_resume::resolution()); });
  fail_each_text([&] { return to_string(gap.cursor); });
  fail_each_text([&] { return to_string(mcp_resume::window{10000000000U, 20000000000U}); });

  local_session_table table;
  REQUIRE(table.create("8c0f", "alice", version, a_tag) == refusal::none);
  const mcp_resume::opened call = table.open_stream("8c0f", std::string(64, 'x'));
  fail_each_text([&] { return table.label_of(call.reader); });
}

namespace {

// How many allocations 10,000 appends to a full session make, over that many streams in turn.
std::size_t allocations_when_full(std::size_t streams, std::size_t payload_size) {
  options bounds;
  bounds.max_events = 500;
  one_session held(bounds);
  const std::vector<stream_handle> handles = open_streams(held.what, streams);
  const std::string payload(payload_size, 'x');
  for (std::size_t i = 0; i != 2000; ++i) append(held.what, handles[i % streams], payload);
  const std::size_t calls_before = heap::calls;
  for (std::size_t i = 0; i != 10000; ++i) append(held.what, handles[i % streams], payload);
  return heap::calls - calls_before;
}

}  // namespace

TEST_CASE("appending to a full session allocates nothing", "[allocation]") {
  for (const std::size_t payload_size : {1U, 16U, 100U, 256U, 500U, 510U, 511U, 2000U}) {
    CAPTURE(payload_size);
    CHECK(allocations_when_full(1, payload_size) == 0);
  }
  for (const std::size_t payload_size : {511U, 2000U}) {  // a page for each event
    CAPTURE(payload_size);
    CHECK(allocations_when_full(16, payload_size) == 0);
  }
}

// Streams in step use up their pages one after the other, and give them back so, too. There is one spare page only, so
// others are allocated anew: one at the most for each page's worth of events, a page being the first of 496 bytes, 1,008
// and so on up to 4,080 that is a sixteenth of what the stream holds, with a head of 40 bytes.
TEST_CASE("appending to a full session of many streams allocates once a page at the most", "[allocation]") {
  constexpr std::size_t head = 40, slot = 8, held_of_a_stream = 500 / 16;
  for (const std::size_t payload_size : {1U, 16U, 100U, 256U, 500U}) {
    CAPTURE(payload_size);
    std::size_t page = 496;
    while (page < held_of_a_stream * (payload_size + 16) / 16) page = 2 * page + 16;
    const std::size_t events_of_a_page = std::max(std::size_t{1}, (page - head) / (payload_size + slot));
    CHECK(allocations_when_full(16, payload_size) <= 10000 / events_of_a_page);
  }
}

// The bound: payload, a slot of 8 bytes and a share of the page's head and rest for each event; of each stream a page
// that is partly evicted and one that is partly filled; one spare page; the session. 16 bytes of each block are malloc's.
TEST_CASE("held events cost little more than their bytes", "[allocation]") {
  for (const std::size_t streams : {1U, 4U, 16U}) {
    CAPTURE(streams);
    const std::size_t bytes_before = heap::bytes + 16 * heap::blocks;
    one_session held;
    std::vector<stream_handle> handles = open_streams(held.what, streams);
    std::string payload(256, 'x');
    for (std::size_t i = 0; i != 5000; ++i) append(held.what, handles[i % streams], payload);
    handles = std::vector<stream_handle>();
    payload = std::string();
    const std::size_t bytes = heap::bytes + 16 * heap::blocks - bytes_before;
    REQUIRE(held.what.inspect().events == 1024);
    CHECK(bytes <= 1024 * 276 + (2 * streams + 1) * 4096 + 2048);
    CHECK(bytes <= 1024 * 310);  // small streams have small pages
  }
}

namespace {

// What a session with 16 streams and 1,000 events holds after `empty` has emptied its log, beside an empty session.
template <class Empty>
std::size_t bytes_after(Empty empty) {
  options bounds;
  bounds.max_age_ms = 10;
  one_session held(bounds);
  const std::size_t bytes_before = heap::bytes;
  {
    const std::vector<stream_handle> handles = open_streams(held.what, 16);
    const std::string payload(300, 'x');
    for (std::size_t i = 0; i != 1000; ++i) append(held.what, handles[i % 16], payload);
    must(heap::bytes - bytes_before > 300000, "events are held");
  }
  empty(held.what);
  return heap::bytes - bytes_before;
}

}  // namespace

TEST_CASE("memory that is not used is not held but for one spare page", "[allocation]") {
  constexpr std::size_t page = 4096, records = 22 * 128;
  CHECK(bytes_after([](session& s) { s.tick(100); }) <= page + records);
  CHECK(bytes_after([](session& s) { (void)s.renew(another_tag); }) == 0);
}

TEST_CASE("a large event that evicts small ones frees their pages", "[allocation]") {
  options bounds;
  bounds.max_bytes = 20000;
  one_session held(bounds);
  const std::size_t bytes_before = heap::bytes;
  append(held.what, held.what.standalone(), std::string(200, 's'), 80);
  append(held.what, held.what.standalone(), std::string(19900, 'l'));
  const std::size_t bytes = heap::bytes - bytes_before;
  CHECK(held.what.inspect().events == 1);
  CHECK(bytes <= 20000 + 4096);
}

TEST_CASE("finished streams of few events hold little more than these", "[allocation]") {
  options bounds;
  bounds.max_streams = 1000;
  bounds.max_events = 2000;
  one_session held(bounds);
  const std::size_t bytes_before = heap::bytes + 16 * heap::blocks;
  for (int i = 0; i != 1000; ++i) {
    const stream_handle stream = held.what.open_stream("7").stream;
    append(held.what, stream, "0123456789", 2);
    must(held.what.finish(stream) == refusal::none, "a stream is finished");
  }
  const std::size_t bytes = heap::bytes + 16 * heap::blocks - bytes_before;
  CHECK(held.what.inspect().events == 2000);
  CHECK(bytes / 1000 <= 2 * 10 + 140 + 60);  // 60: the array of records grows by half
}

TEST_CASE("a session that has ended holds nothing", "[allocation]") {
  const std::size_t blocks_before = heap::blocks, bytes_before = heap::bytes;
  session s;
  must(s.create("8c0f", "alice", version, {}, a_tag) == refusal::none, "a session is made");
  {
    const std::vector<stream_handle> handles = open_streams(s, 16);
    const std::string longest(64, 'x');
    must(!!s.open_stream(longest), "a stream is opened");
    for (std::size_t i = 0; i != 1000; ++i) append(s, handles[i % 16], longest);
  }
  s.end();
  const std::size_t blocks = heap::blocks - blocks_before, bytes = heap::bytes - bytes_before;
  CHECK(blocks == 0);
  CHECK(bytes == 0);
}

TEST_CASE("large events leave no page behind and double nothing", "[allocation]") {
  options bounds;
  bounds.max_bytes = 100000;
  bounds.max_age_ms = 10;
  one_session held(bounds);
  const std::string payload(bounds.max_bytes - 16, 'x');
  const std::size_t bytes_before = heap::bytes;
  for (int i = 0; i != 3; ++i) {
    append(held.what, held.what.standalone(), payload);
    CHECK(heap::bytes - bytes_before < bounds.max_bytes + 4096);
  }
  held.what.tick(100);
  CHECK(heap::bytes - bytes_before <= 4096);
}
