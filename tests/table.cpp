// SPDX-License-Identifier: MIT
// A table finds exactly the sessions that live, refuses everything for those that do not, and ends a session only at
// the second tick that finds it idle.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <mcp_resume/resume.hpp>
#include <optional>
#include <set>
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

constexpr protocol newest = protocol::v2025_11_25;

// A table with what a test asks of it.
template <class Table>
struct tabled {
  Table table;
  counted_tags random;

  explicit tabled(const options& bounds = {}) : table(bounds) {}
  void create(std::string_view id, std::string_view principal = "alice") {
    REQUIRE(table.create(id, principal, newest, random) == refusal::none);
  }
  stream_handle standalone(std::string_view id) const {
    const auto handle = table.standalone(id);
    REQUIRE(handle);
    return *handle;
  }
  bool has(std::string_view id) const { return table.inspect(id).sessions == 1; }
  request named(const std::string& id, const std::string& cursor, std::string_view principal = "alice") const {
    request asked;
    asked.session_id = id;
    asked.last_event_id = cursor;
    asked.principal = principal;
    return asked;
  }
  resolution ask(const std::string& id, const std::string& cursor = {}) const {
    return resolve_resume(named(id, cursor), table);
  }
  reader attach(const std::string& id, const std::string& cursor = {}) { return table.attach(ask(id, cursor)); }
  std::string read(reader& from, read_state expected) {
    std::string frames;
    const progress done = table.read(from, frames);
    CHECK(done.state == expected);
    CHECK(done.bytes == frames.size());
    return frames;
  }
};
using local = tabled<local_session_table>;

std::string marker_of(const event_id& id) {
  std::string frame;
  append_marker(frame, id, newest);
  return frame;
}

std::string event_of(const event_id& id, std::string_view payload) {
  std::string frame;
  REQUIRE(append_event(frame, id, payload) == refusal::none);
  return frame;
}

std::string counts_of(const inspection& all) {
  return std::to_string(all.sessions) + " " + std::to_string(all.streams) + " " + std::to_string(all.events) + " " +
         std::to_string(all.bytes) + " " + std::to_string(all.oldest_age_ms) + " " + std::to_string(all.evicted_unread);
}

options idle_after(std::uint64_t ms) {
  options bounds;
  bounds.idle_ms = ms;
  return bounds;
}

}  // namespace

// ---- Every call ----------------------------------------------------------------------------------------------------

namespace {

template <class Table>
void serve_one_call() {
  tabled<Table> of;
  of.table.tick(1000);
  of.create("8c0f");
  opened call = of.table.open_stream("8c0f", "7");
  REQUIRE(call);
  CHECK(call.stream.stream == 1);
  const event_id before{call.stream.owner, 1, 0}, first{call.stream.owner, 1, 1}, second{call.stream.owner, 1, 2};
  CHECK(of.table.append(call.stream, "progress").id == first);
  CHECK(of.read(call.reader, read_state::caught_up) == marker_of(before) + event_of(first, "progress"));
  const appended answer = of.table.append(call.stream, "answer");
  CHECK((answer.id == second && answer.unread == 1));
  CHECK(of.table.finish(call.stream) == refusal::none);
  CHECK(of.table.finish(call.stream) == refusal::finished);
  CHECK(of.table.window_of(call.stream) == window{1, 3});
  CHECK(of.table.label_of(call.reader) == "7");
  of.table.release(call.reader);
  CHECK(of.read(call.reader, read_state::gone).empty());

  reader resumed;
  const std::string cursor = to_string(first);
  const resolution decided = of.table.resume(of.named("8c0f", cursor), resumed);
  CHECK(decided.reason == reason::replay);
  CHECK(resumed.lease() == 2);
  CHECK(of.read(resumed, read_state::finished) == marker_of(first) + event_of(second, "answer"));
  CHECK(of.table.forget(call.stream) == refusal::none);
  CHECK(of.read(resumed, read_state::gone).empty());
  CHECK(of.ask("8c0f", cursor).reason == reason::forgotten);
  CHECK(of.table.append(call.stream, "late").why == refusal::no_such_stream);
  CHECK(of.table.forget(call.stream) == refusal::no_such_stream);
}

// Six events, a bound of three: a client that has one of them is placed at the live edge, the answer is the last.
template <class Table>
void answer_in_one_step() {
  options bounds;
  bounds.max_events = 3;
  bounds.max_bytes = 100;
  tabled<Table> of(bounds);
  of.create("8c0f");
  const opened call = of.table.open_stream("8c0f", "7");
  const stream_handle standalone = of.standalone("8c0f");
  const auto id = [&](std::uint64_t seq) { return event_id{call.stream.owner, 1, seq}; };
  for (int i = 0; i != 5; ++i) REQUIRE(of.table.append(call.stream, "progress"));

  CHECK(of.table.finish(standalone, "answer").why == refusal::standalone_stream);
  CHECK(of.table.finish(call.stream, "").why == refusal::empty_payload);
  CHECK(of.table.finish(call.stream, std::string(85, 'x')).why == refusal::too_large);
  CHECK(counts_of(of.table.inspect()) == "1 1 3 72 0 2");
  const appended answer = of.table.finish(call.stream, "answer");
  CHECK((answer.why == refusal::none && answer.id == id(6) && answer.unread == 3 && answer.evicted_unread == 1));
  CHECK(of.table.finish(call.stream, "again").why == refusal::finished);

  reader from = of.attach("8c0f", to_string(id(1)));
  std::string signal;
  const progress gap = of.table.read(from, signal);
  CHECK((gap.state == read_state::gap && gap.answer == mcp_resume::answer::held && gap.missed == 4));
  CHECK(of.read(from, read_state::finished) == marker_of(id(5)) + event_of(id(6), "answer"));
  REQUIRE(of.table.end("8c0f") == refusal::none);
  CHECK(of.table.finish(call.stream, "late").why == refusal::gone);
}

template <class Table>
void serve_the_standalone_stream() {
  tabled<Table> of;
  of.create("8c0f");
  const stream_handle standalone = of.standalone("8c0f");
  CHECK(standalone.stream == 0);
  CHECK(of.table.append(standalone, "1"));
  CHECK(of.table.append_all("2").appended == 1);
  reader from;
  CHECK(of.table.resume(of.named("8c0f", {}), from).reason == reason::fresh);
  const auto id = [&](std::uint64_t seq) { return event_id{standalone.owner, 0, seq}; };
  CHECK(of.read(from, read_state::caught_up) == marker_of(id(0)) + event_of(id(1), "1") + event_of(id(2), "2"));
  CHECK(of.ask("8c0f").reason == reason::occupied);
  reader other = of.attach("8c0f", to_string(id(1)));
  CHECK(of.read(from, read_state::superseded).empty());
  CHECK(of.read(other, read_state::caught_up) == marker_of(id(1)) + event_of(id(2), "2"));
  CHECK(of.table.touch("8c0f", "alice") == refusal::none);
  CHECK(counts_of(of.table.inspect()) == "1 0 2 34 0 0");
  CHECK(of.table.finish(standalone) == refusal::standalone_stream);

  REQUIRE(of.table.renew("8c0f", of.random) == refusal::none);
  CHECK(of.read(other, read_state::gone).empty());
  CHECK(of.table.append(standalone, "late").why == refusal::other_incarnation);
  CHECK(of.ask("8c0f", to_string(id(1))).reason == reason::stale_incarnation);
  REQUIRE(of.table.end("8c0f") == refusal::none);
  CHECK(of.ask("8c0f").reason == reason::session_gone);
  CHECK_FALSE(resolve_session(of.named("8c0f", {}), of.table) == std::nullopt);
  REQUIRE(of.table.restore("8c0f", "alice", newest, standalone.owner.session, of.random) == refusal::none);
  CHECK(of.ask("8c0f", to_string(id(1))).reason == reason::stale_incarnation);
  CHECK(resolve_session(of.named("8c0f", {}), of.table) == std::nullopt);
}

}  // namespace

TEST_CASE("an answer appended and finished in one step is held for a client with a gap", "[table]") {
  answer_in_one_step<session_table>();
}

TEST_CASE("a table with a mutex serves a call from open to forget", "[table]") { serve_one_call<session_table>(); }
TEST_CASE("a table without a mutex serves a call from open to forget", "[table]") {
  serve_one_call<local_session_table>();
}
TEST_CASE("a table with a mutex serves the standalone stream through all lives", "[table]") {
  serve_the_standalone_stream<session_table>();
}
TEST_CASE("a table without a mutex serves the standalone stream through all lives", "[table]") {
  serve_the_standalone_stream<local_session_table>();
}

// ---- Refusals ------------------------------------------------------------------------------------------------------

TEST_CASE("create refuses a bad id and changes nothing", "[table]") {
  local of;
  const std::string bad[] = {"",
                             std::string(257, 'x'),
                             "a b",
                             " ",
                             "a\x7F",
                             "\x80",
                             "\xFF"
                             "a",
                             "a\r",
                             "a\nb",
                             std::string(1, '\0'),
                             "a\tb",
                             "\x20"
                             "a",
                             "a\x1F",
                             std::string(100000, 'x'),
                             "caf\xC3\xA9"};
  for (const std::string& id : bad) {
    CAPTURE(id);
    CHECK(of.table.create(id, "alice", newest, of.random) == refusal::bad_id);
    CHECK(of.table.restore(id, "alice", newest, 5, of.random) == refusal::bad_id);
    CHECK(of.table.end(id) == refusal::gone);
    CHECK_FALSE(of.table.standalone(id));
    CHECK(of.table.open_stream(id, "1").why == refusal::gone);
  }
  CHECK(of.table.inspect().sessions == 0);
  for (int byte = 0; byte != 256; ++byte) {
    const std::string id = std::string("id") + static_cast<char>(byte);
    const bool is_good = byte >= 0x21 && byte <= 0x7E;
    CAPTURE(byte);
    CHECK(of.table.create(id, "alice", newest, of.random) == (is_good ? refusal::none : refusal::bad_id));
    CHECK(of.has(id) == is_good);
  }
  CHECK(of.table.inspect().sessions == 0x7E - 0x21 + 1);
}

TEST_CASE("ids of up to 256 bytes are told apart by every byte", "[table]") {
  local of;
  const std::string base(256, 'm');
  of.create(base);
  of.create(base.substr(0, 255));
  for (std::size_t place = 0; place != 256; ++place) {
    std::string id = base;
    id[place] = 'n';
    CHECK_FALSE(of.has(id));
    of.create(id, "owner of " + std::to_string(place));
  }
  for (std::size_t place = 0; place != 256; ++place) {
    std::string id = base;
    id[place] = 'n';
    CHECK(of.table.touch(id, "owner of " + std::to_string(place)) == refusal::none);
    CHECK(of.table.touch(id, "alice") == refusal::gone);
  }
  CHECK_FALSE(of.has(base + "m"));
  CHECK(of.table.inspect().sessions == 258);
}

TEST_CASE("create refuses a live id and leaves its session as it was", "[table]") {
  local of;
  of.create("sid");
  const stream_handle standalone = of.standalone("sid");
  REQUIRE(of.table.append(standalone, "x"));
  CHECK(of.table.create("sid", "mallory", newest, of.random) == refusal::id_in_use);
  CHECK(of.table.restore("sid", "mallory", newest, standalone.owner.session, of.random) == refusal::id_in_use);
  CHECK(of.table.touch("sid", "mallory") == refusal::gone);
  CHECK(of.table.touch("sid", "alice") == refusal::none);
  CHECK(of.standalone("sid").owner == standalone.owner);
  CHECK(of.table.window_of(standalone) == window{1, 2});
  CHECK(of.table.inspect().sessions == 1);
}

TEST_CASE("create refuses beyond the bound of sessions until one ends", "[table]") {
  options bounds;
  bounds.max_sessions = GENERATE(1U, 3U, 0U);
  const std::size_t bound = bounds.max_sessions == 0 ? 1 : bounds.max_sessions;
  local of(bounds);
  for (std::size_t i = 0; i != bound; ++i) of.create("s" + std::to_string(i));
  for (int times = 0; times != 3; ++times) {
    CHECK(of.table.create("more", "alice", newest, of.random) == refusal::too_many_sessions);
    CHECK_FALSE(of.has("more"));
    CHECK(of.table.create("s0", "alice", newest, of.random) == refusal::id_in_use);
  }
  REQUIRE(of.table.end("s0") == refusal::none);
  CHECK(of.table.end("s0") == refusal::gone);
  of.create("more");
  CHECK(of.table.create("s0", "alice", newest, of.random) == refusal::too_many_sessions);
  CHECK(of.table.inspect().sessions == bound);
}

TEST_CASE("expired sessions make room for others", "[table]") {
  options bounds = idle_after(10);
  bounds.max_sessions = 2;
  local of(bounds);
  of.create("a");
  of.create("b");
  of.table.tick(11);
  REQUIRE(of.table.touch("b", "alice") == refusal::none);
  CHECK(of.table.create("c", "alice", newest, of.random) == refusal::too_many_sessions);
  of.table.tick(12);
  of.create("c");
  CHECK(of.table.create("d", "alice", newest, of.random) == refusal::too_many_sessions);
  CHECK((of.has("b") && of.has("c") && !of.has("a")));
}

TEST_CASE("create refuses a stateless version and a source without randomness", "[table]") {
  local of;
  CHECK(of.table.create("sid", "alice", protocol::v2026_07_28, of.random) == refusal::stateless_protocol);
  CHECK(of.table.restore("sid", "alice", protocol::v2026_07_28, 5, of.random) == refusal::stateless_protocol);
  CHECK(of.table.create("sid", "alice", newest, scarce_tags{0}) == refusal::no_randomness);
  CHECK(of.table.create("sid", "alice", newest, scarce_tags{1}) == refusal::no_randomness);
  CHECK(of.table.restore("sid", "alice", newest, 5, scarce_tags{0}) == refusal::no_randomness);
  CHECK(of.table.inspect().sessions == 0);
  of.create("sid");
  const tags before = of.standalone("sid").owner;
  CHECK(of.table.renew("sid", scarce_tags{0}) == refusal::no_randomness);
  CHECK(of.standalone("sid").owner == before);
}

namespace {

// Every call that names an absent session or uses what it left behind.
void require_gone(local& of, const std::string& id, const stream_handle& stream, reader from,
                  const resolution& decided) {
  const std::string before = counts_of(of.table.inspect());
  CHECK(of.table.end(id) == refusal::gone);
  CHECK(of.table.renew(id) == refusal::gone);
  CHECK(of.table.touch(id, "alice") == refusal::gone);
  CHECK(of.table.touch(id, "") == refusal::gone);
  CHECK(of.table.open_stream(id, "1").why == refusal::gone);
  CHECK_FALSE(of.table.standalone(id));
  CHECK(counts_of(of.table.inspect(id)) == "0 0 0 0 0 0");
  CHECK(of.table.append(stream, "late").why == refusal::gone);
  CHECK(of.table.finish(stream) == refusal::gone);
  CHECK(of.table.forget(stream) == refusal::gone);
  CHECK_FALSE(of.table.window_of(stream));
  CHECK(of.table.label_of(from).empty());
  reader made = of.table.attach(decided);
  CHECK(made.lease() == 0);
  CHECK(of.read(made, read_state::gone).empty());
  CHECK(of.read(from, read_state::gone).empty());
  char byte = '#';
  CHECK(of.table.read(from, &byte, 1).state == read_state::gone);
  CHECK(byte == '#');
  of.table.release(from);
  CHECK(of.table.resume(of.named(id, {}), from).reason == reason::session_gone);
  CHECK(of.ask(id).reason == reason::session_gone);
  CHECK(resolve_session(of.named(id, {}), of.table) == reason::session_gone);
  CHECK(counts_of(of.table.inspect()) == before);
}

}  // namespace

TEST_CASE("every call for a session that never was is refused as gone", "[table]") {
  local of;
  require_gone(of, "sid", {}, {}, {});
  of.create("other");
  require_gone(of, "sid", {}, {}, {});
  require_gone(of, "sid", {{1, 2}, 0, 3}, {}, {});
}

TEST_CASE("every call for a session that ended is refused as gone", "[table]") {
  local of;
  of.create("sid");
  of.create("other");
  opened call = of.table.open_stream("sid", "7");
  REQUIRE(call);
  REQUIRE(of.table.append(call.stream, "x"));
  const std::string cursor = to_string(event_id{call.stream.owner, 1, 0});
  const resolution decided = of.ask("sid", cursor);
  CHECK(decided.http_status() == 200);
  REQUIRE(of.table.end("sid") == refusal::none);
  require_gone(of, "sid", call.stream, call.reader, decided);
  CHECK(of.table.inspect().sessions == 1);
}

TEST_CASE("what an earlier life of an id left behind is gone after create", "[table]") {
  local of;
  of.create("sid");
  opened call = of.table.open_stream("sid", "7");
  REQUIRE(call);
  REQUIRE(of.table.append(call.stream, "x"));
  const std::string cursor = to_string(event_id{call.stream.owner, 1, 0});
  const resolution decided = of.ask("sid", cursor);
  REQUIRE(of.table.end("sid") == refusal::none);
  of.create("sid");
  REQUIRE(of.table.open_stream("sid", "8"));
  CHECK(of.table.append(call.stream, "late").why == refusal::gone);
  CHECK(of.table.finish(call.stream) == refusal::gone);
  CHECK_FALSE(of.table.window_of(call.stream));
  CHECK(of.table.label_of(call.reader).empty());
  CHECK(of.read(call.reader, read_state::gone).empty());
  reader made = of.table.attach(decided);
  CHECK(of.read(made, read_state::gone).empty());
  CHECK(of.ask("sid", cursor).reason == reason::foreign_cursor);
  CHECK(of.table.inspect("sid").events == 0);
}

TEST_CASE("what an earlier life left behind is of another incarnation after restore and renew", "[table]") {
  local of;
  of.create("sid");
  opened call = of.table.open_stream("sid", "7");
  REQUIRE(call);
  REQUIRE(of.table.append(call.stream, "x"));
  REQUIRE(of.table.append(of.standalone("sid"), "y"));
  const std::string of_call = to_string(event_id{call.stream.owner, 1, 0});
  const std::string of_standalone = to_string(event_id{call.stream.owner, 0, 0});
  const resolution decided = of.ask("sid", of_call);
  if (GENERATE(false, true)) {
    REQUIRE(of.table.renew("sid", of.random) == refusal::none);
  } else {
    REQUIRE(of.table.end("sid") == refusal::none);
    REQUIRE(of.table.restore("sid", "alice", newest, call.stream.owner.session, of.random) == refusal::none);
  }
  REQUIRE(of.table.open_stream("sid", "8"));
  REQUIRE(of.table.append(of.standalone("sid"), "z"));
  CHECK(of.table.append(call.stream, "late").why == refusal::other_incarnation);
  CHECK(of.table.finish(call.stream) == refusal::other_incarnation);
  CHECK(of.table.forget(call.stream) == refusal::other_incarnation);
  CHECK_FALSE(of.table.window_of(call.stream));
  CHECK(of.table.label_of(call.reader).empty());
  CHECK(of.read(call.reader, read_state::gone).empty());
  reader made = of.table.attach(decided);
  CHECK(of.read(made, read_state::gone).empty());
  CHECK(of.ask("sid", of_standalone).reason == reason::stale_incarnation);
  CHECK(of.ask("sid", of_call).reason == reason::stale_request);
  CHECK(of.table.inspect("sid").events == 1);
  CHECK(of.table.touch("sid", "alice") == refusal::none);
}

TEST_CASE("a handle of one session never reaches another and a cursor of one is foreign to another", "[table]") {
  local of, elsewhere;
  elsewhere.random.next = 500;
  of.create("a");
  of.create("b");
  elsewhere.create("a");
  stream_handle mixed = of.standalone("a");
  mixed.owner = of.standalone("b").owner;
  CHECK(of.table.append(mixed, "x").why == refusal::gone);
  CHECK(elsewhere.table.append(of.standalone("a"), "x").why == refusal::gone);
  CHECK(of.table.append(elsewhere.standalone("a"), "x").why == refusal::gone);
  REQUIRE(of.table.append(of.standalone("a"), "secret"));
  const std::string cursor = to_string(event_id{of.standalone("a").owner, 0, 0});
  CHECK(of.ask("b", cursor).reason == reason::foreign_cursor);
  CHECK(of.table.inspect("b").events == 0);
  session in_hand;
  REQUIRE(in_hand.create("a", "alice", newest, {}, counted_tags{900}) == refusal::none);
  CHECK(of.table.append(in_hand.standalone(), "x").why == refusal::gone);
  CHECK(in_hand.append(of.standalone("a"), "x").why == refusal::gone);
}

// ---- Resume --------------------------------------------------------------------------------------------------------

TEST_CASE("resume decides and attaches as resolve and attach do", "[table]") {
  options bounds;
  bounds.max_events = 4;
  bounds.retry_ms = 5;
  local one(bounds), two(bounds);
  for (local* each : {&one, &two}) {
    each->create("sid");
    for (int i = 0; i != 9; ++i) REQUIRE(each->table.append(each->standalone("sid"), std::to_string(i)));
  }
  const tags owner = one.standalone("sid").owner;
  REQUIRE(owner == two.standalone("sid").owner);
  const std::string cursors[] = {"", to_string(event_id{owner, 0, 9}), to_string(event_id{owner, 0, 7}),
                                 to_string(event_id{owner, 0, 1}), to_string(event_id{{owner.session, 1}, 0, 1})};
  for (const std::string& cursor : cursors) {
    reader from;
    const resolution resumed = one.table.resume(one.named("sid", cursor), from, 77);
    const resolution decided = two.ask("sid", cursor);
    reader attached = two.table.attach(decided, 77);
    CHECK(resumed.reason == decided.reason);
    CHECK(resumed.missed == decided.missed);
    CHECK(from.lease() == attached.lease());
    std::string by_resume, by_attach;
    while (one.table.read(from, by_resume).state != read_state::caught_up) continue;
    while (two.table.read(attached, by_attach).state != read_state::caught_up) continue;
    CHECK(by_resume == by_attach);
    CHECK(by_resume.find("retry: 77\n") != std::string::npos);
  }
}

TEST_CASE("resume on any other status gives a reader that is gone and changes nothing", "[table]") {
  local of;
  of.create("sid");
  opened call = of.table.open_stream("sid", "7");
  REQUIRE(call);
  REQUIRE(of.table.append(call.stream, "x"));
  REQUIRE(of.table.finish(call.stream) == refusal::none);
  reader live = of.attach("sid");
  const tags owner = call.stream.owner;
  const std::pair<std::string, reason> cases[] = {
      {"", reason::occupied},
      {"bad", reason::malformed_cursor},
      {to_string(event_id{{1, 2}, 0, 0}), reason::foreign_cursor},
      {to_string(event_id{{owner.session, 2}, 1, 0}), reason::stale_request},
      {to_string(event_id{owner, 0, 1}), reason::never_issued},
      {to_string(event_id{owner, 1, 1}), reason::complete}};
  for (const auto& [cursor, expected] : cases) {
    CAPTURE(cursor);
    reader from = live;
    CHECK(of.table.resume(of.named("sid", cursor), from).reason == expected);
    CHECK(from.lease() == 0);
    CHECK(of.read(from, read_state::gone).empty());
  }
  reader from = live;
  const std::string id = "sid", none;
  CHECK(of.table.resume(of.named(id, none, "mallory"), from).reason == reason::wrong_principal);
  CHECK(of.read(from, read_state::gone).empty());
  from = live;
  CHECK(of.table.resume(of.named("other", none), from).reason == reason::session_gone);
  CHECK(from.lease() == 0);
  CHECK(of.read(from, read_state::gone).empty());
  from = live;
  CHECK(of.table.resume(of.named("", none), from).reason == reason::no_session);
  CHECK(from.lease() == 0);
  CHECK(of.read(from, read_state::gone).empty());
  (void)of.read(live, read_state::caught_up);
  CHECK(call.reader.lease() + 1 == of.attach("sid", to_string(event_id{owner, 1, 0})).lease());
}

TEST_CASE("the supported versions are the table's", "[table]") {
  options bounds;
  bounds.supported = bounds.supported.without(protocol::v2026_07_28).without(protocol::v2025_06_18);
  local of(bounds), usual;
  of.create("sid");
  usual.create("sid");
  const std::string id = "sid", none;
  const auto ask = [&](local& table, const char* version) {
    request asked = table.named(id, none);
    asked.version = version;
    reader from;
    CHECK(resolve_session(asked, table.table).value_or(reason::fresh) == resolve_resume(asked, table.table).reason);
    return table.table.resume(asked, from).reason;
  };
  CHECK(ask(of, "2026-07-28") == reason::unsupported_protocol);
  CHECK(ask(of, "2025-06-18") == reason::unsupported_protocol);
  CHECK(ask(of, "draft") == reason::unsupported_protocol);
  CHECK(ask(of, "2025-11-25") == reason::fresh);
  CHECK(ask(usual, "2026-07-28") == reason::stateless_protocol);
  CHECK(ask(usual, "2025-06-18") == reason::fresh);
}

TEST_CASE("a table reads into a string up to a bound and into a raw buffer", "[table]") {
  local of;
  of.create("sid");
  const stream_handle standalone = of.standalone("sid");
  std::string expected = marker_of({standalone.owner, 0, 0});
  for (std::uint64_t seq = 1; seq <= 40; ++seq) {
    const std::string payload(5000, static_cast<char>('a' + seq % 26));
    REQUIRE(of.table.append(standalone, payload));
    expected += event_of({standalone.owner, 0, seq}, payload);
  }
  const reader start = of.attach("sid");
  reader from = start;
  std::string frames;
  progress done = of.table.read(from, frames);
  CHECK(done.state == read_state::more);
  CHECK(frames.size() <= 65536);
  CHECK(frames.size() > 65536 - 5100);
  while (done.state == read_state::more) done = of.table.read(from, frames, 1);
  CHECK(done.state == read_state::caught_up);
  CHECK((frames == expected));

  from = start;
  std::string buffer(7000, '#'), written;
  do {
    done = of.table.read(from, &buffer[0], buffer.size());
    REQUIRE(done.bytes != 0);
    written.append(buffer, 0, done.bytes);
  } while (done.state == read_state::more);
  CHECK((written == expected));
  REQUIRE(of.table.append(standalone, "x"));
  CHECK(of.table.read(from, &buffer[0], 3).bytes == 0);
}

TEST_CASE("a reader's label is told while its stream is there", "[table]") {
  local of;
  of.create("sid");
  opened call = of.table.open_stream("sid", "\"a long label that stands in memory of its own\"");
  opened other = of.table.open_stream("sid", "8");
  REQUIRE((call && other));
  CHECK(of.table.label_of(call.reader) == "\"a long label that stands in memory of its own\"");
  CHECK(of.table.label_of(other.reader) == "8");
  CHECK(of.table.label_of(of.attach("sid")).empty());
  CHECK(of.table.open_stream("sid", "a\n").why == refusal::bad_label);
  REQUIRE(of.table.finish(call.stream) == refusal::none);
  CHECK(of.table.label_of(call.reader) == "\"a long label that stands in memory of its own\"");
  REQUIRE(of.table.forget(call.stream) == refusal::none);
  CHECK(of.table.label_of(call.reader).empty());
  CHECK(of.table.label_of(other.reader) == "8");
}

TEST_CASE("append to all reaches each session once and counts those that refuse", "[table]") {
  options bounds;
  bounds.max_bytes = 100;
  local of(bounds);
  CHECK(of.table.append_all("x").appended == 0);
  for (int i = 0; i != 50; ++i) of.create("s" + std::to_string(i));
  const broadcast done = of.table.append_all("note");
  CHECK((done.appended == 50 && done.refused == 0));
  for (int i = 0; i != 50; ++i) {
    const stream_handle each = of.standalone("s" + std::to_string(i));
    CHECK(of.table.window_of(each) == window{1, 2});
    reader from = of.attach("s" + std::to_string(i));
    CHECK(of.read(from, read_state::caught_up) == marker_of({each.owner, 0, 0}) + event_of({each.owner, 0, 1}, "note"));
  }
  const broadcast large = of.table.append_all(std::string(85, 'x'));
  CHECK((large.appended == 0 && large.refused == 50));
  CHECK(of.table.append_all("").refused == 50);
  CHECK(of.table.inspect().events == 50);
}

TEST_CASE("an inspection of all is the sum of the single ones and the greatest age", "[table]") {
  options bounds;
  bounds.max_events = 3;
  local of(bounds);
  std::uint64_t state = 11;
  inspection sum;
  for (int i = 0; i != 40; ++i) of.create("s" + std::to_string(i));
  for (std::uint64_t now = 1; now != 400; ++now) {
    of.table.tick(now);
    const std::string id = "s" + std::to_string(next_random(state) % 40);
    if (now % 7 == 0) REQUIRE(of.table.open_stream(id, "1"));
    REQUIRE(of.table.append(of.standalone(id), std::string(1 + now % 9, 'x')));
  }
  for (int i = 0; i != 40; ++i) {
    const inspection one = of.table.inspect("s" + std::to_string(i));
    CHECK((one.sessions == 1 && one.events <= 3));
    sum.sessions += one.sessions;
    sum.streams += one.streams;
    sum.events += one.events;
    sum.bytes += one.bytes;
    sum.evicted_unread += one.evicted_unread;
    sum.oldest_age_ms = std::max(sum.oldest_age_ms, one.oldest_age_ms);
  }
  CHECK(counts_of(of.table.inspect()) == counts_of(sum));
  CHECK((sum.sessions == 40 && sum.streams == 57 && sum.evicted_unread == 399 - sum.events && sum.oldest_age_ms > 50));
}

// ---- Time ----------------------------------------------------------------------------------------------------------

TEST_CASE("a session expires at the second tick that finds it idle for too long", "[table]") {
  local of(idle_after(1000));
  of.table.tick(500);
  of.create("sid");
  std::vector<std::string> expired = {"kept"};
  of.table.tick(1500, &expired);  // exactly the bound: not too long
  of.table.tick(1501, &expired);  // the first
  CHECK(of.has("sid"));
  of.table.tick(1501, &expired);  // no later: is no tick
  of.table.tick(900, &expired);
  CHECK(of.has("sid"));
  CHECK(expired == std::vector<std::string>{"kept"});
  of.table.tick(1502, &expired);
  CHECK_FALSE(of.has("sid"));
  CHECK(expired == std::vector<std::string>{"kept", "sid"});
  of.table.tick(9999, &expired);
  CHECK(expired.size() == 2);
  CHECK(of.ask("sid").reason == reason::session_gone);
}

TEST_CASE("activity between the two ticks begins the count again", "[table]") {
  local of(idle_after(10));
  of.create("sid");
  of.table.tick(11);
  REQUIRE(of.table.touch("sid", "alice") == refusal::none);
  of.table.tick(21);  // 10 since: not too long
  of.table.tick(22);
  CHECK(of.has("sid"));
  of.table.tick(23);
  CHECK_FALSE(of.has("sid"));
}

TEST_CASE("one late tick loses nobody", "[table]") {
  local of;
  std::vector<std::string> expired;
  for (int i = 0; i != 20; ++i) of.create("s" + std::to_string(i));
  std::vector<reader> readers;
  for (int i = 0; i != 20; ++i) readers.push_back(of.attach("s" + std::to_string(i)));
  of.table.tick(1000);
  for (reader& each : readers) (void)of.read(each, read_state::caught_up);
  of.table.tick(1000000000000, &expired);  // the machine wakes
  CHECK(of.table.inspect().sessions == 20);
  for (reader& each : readers) (void)of.read(each, read_state::caught_up);
  of.table.tick(1000000001000, &expired);
  of.table.tick(1000000002000, &expired);
  CHECK(expired.empty());
  CHECK(of.table.inspect().sessions == 20);
}

TEST_CASE("an idle time of zero means never", "[table]") {
  local of(idle_after(0));
  of.create("sid");
  for (std::uint64_t now = 1; now != 0; now *= 16) of.table.tick(now);
  CHECK(of.has("sid"));
}

TEST_CASE("a session is as old as the time of its table", "[table]") {
  options bounds = idle_after(10);
  bounds.max_age_ms = 10;
  local of(bounds);
  of.table.tick(1000000);
  of.create("sid");
  REQUIRE(of.table.append(of.standalone("sid"), "x"));
  of.table.tick(1000010);
  CHECK(of.table.inspect("sid").events == 1);
  CHECK(of.table.inspect("sid").oldest_age_ms == 10);
  of.table.tick(1000011);
  CHECK(of.table.inspect("sid").events == 0);
  CHECK(of.has("sid"));
}

namespace {

// What may happen to a session again and again.
enum class deed {
  append,
  open_stream,
  finish,
  attach,
  resume,
  read,
  read_raw,
  touch,
  resolve,
  resolve_post,
  refused_resume,
  append_all,
  wrong_touch,
  look,
  refused_append,
  refused_open,
  refused_finish,
  refused_attach,
  superseded_read,
  nothing
};

void act(local& of, deed what, std::uint64_t now, reader& old, reader& live) {
  const std::string id = "sid", none, bad = "bad";
  const stream_handle standalone = of.standalone(id);
  const std::string cursor = to_string(event_id{standalone.owner, 0, 0});
  std::string frames;
  char buffer[200];
  reader other;
  stream_handle call = standalone;
  call.stream = static_cast<std::uint32_t>(now);
  if (what == deed::append) CHECK(of.table.append(standalone, "x"));
  if (what == deed::open_stream) CHECK(of.table.open_stream(id, "1"));
  if (what == deed::finish) CHECK(of.table.finish(call) == refusal::none);
  if (what == deed::attach) CHECK(of.attach(id, cursor).lease() != 0);
  if (what == deed::resume) CHECK(of.table.resume(of.named(id, cursor), other).http_status() == 200);
  if (what == deed::read) CHECK(of.table.read(live, frames).state == read_state::caught_up);
  if (what == deed::read_raw) CHECK(of.table.read(live, buffer, sizeof buffer).state == read_state::caught_up);
  if (what == deed::touch) CHECK(of.table.touch(id, "alice") == refusal::none);
  if (what == deed::resolve) CHECK(of.ask(id, cursor).http_status() == 200);
  if (what == deed::resolve_post) CHECK_FALSE(resolve_session(of.named(id, none), of.table));
  if (what == deed::refused_resume) CHECK(of.table.resume(of.named(id, bad), other).http_status() == 400);
  if (what == deed::append_all) CHECK(of.table.append_all("x").appended == 1);
  if (what == deed::wrong_touch) CHECK(of.table.touch(id, "mallory") == refusal::gone);
  if (what == deed::look) CHECK((of.table.window_of(standalone) && of.table.label_of(live).empty()));
  if (what == deed::refused_append) CHECK(of.table.append(standalone, "").why == refusal::empty_payload);
  if (what == deed::refused_open) CHECK(of.table.open_stream(id, "\n").why == refusal::bad_label);
  if (what == deed::refused_finish) CHECK(of.table.finish(standalone) == refusal::standalone_stream);
  if (what == deed::refused_attach) CHECK(of.attach(id, bad).lease() == 0);
  if (what == deed::superseded_read) CHECK(of.table.read(old, frames).state == read_state::superseded);
}

// The tick that finds the session gone, when the deed is done after each tick; 30 if it outlives them all.
std::uint64_t life_with(deed what) {
  local of(idle_after(1));
  of.create("sid");
  reader old = of.attach("sid");
  reader live = of.attach("sid", to_string(event_id{of.standalone("sid").owner, 0, 0}));
  for (int i = 0; i != 30; ++i) REQUIRE(of.table.open_stream("sid", "1"));
  for (std::uint64_t now = 1; now != 30; ++now) {
    of.table.tick(now);
    if (!of.has("sid")) return now;
    act(of, what, now, old, live);
  }
  return 30;
}

}  // namespace

TEST_CASE("each activity keeps a session alive", "[table]") {
  for (const deed what : {deed::append, deed::open_stream, deed::finish, deed::attach, deed::resume, deed::read,
                          deed::read_raw, deed::touch}) {
    CAPTURE(static_cast<int>(what));
    CHECK(life_with(what) == 30);
  }
}

TEST_CASE("deciding and broadcasts and strangers and refused calls keep nothing alive", "[table]") {
  for (const deed what : {deed::nothing, deed::resolve, deed::resolve_post, deed::refused_resume, deed::append_all,
                          deed::wrong_touch, deed::look, deed::refused_append, deed::refused_open, deed::refused_finish,
                          deed::refused_attach, deed::superseded_read}) {
    CAPTURE(static_cast<int>(what));
    CHECK(life_with(what) == 3);
  }
}

TEST_CASE("nobody's session is touched by nobody alone", "[table]") {
  local of;
  of.create("sid", "");
  CHECK(of.table.touch("sid", "") == refusal::none);
  CHECK(of.table.touch("sid", std::string_view("\0", 1)) == refusal::gone);
  CHECK(of.table.touch("sid", "alice") == refusal::gone);
}

// ---- Many sessions -------------------------------------------------------------------------------------------------

namespace {

std::string random_id(std::uint64_t& state) { return "session-" + std::to_string(next_random(state) % 2000); }

// Whether the table and the set agree on this id, by name and by handle.
bool agrees(const local& of, const std::set<std::string>& live, const std::string& id) {
  const bool is_live = live.count(id) == 1;
  const auto handle = of.table.standalone(id);
  if (of.has(id) != is_live || handle.has_value() != is_live) return false;
  return !is_live || of.table.window_of(*handle).has_value();
}

}  // namespace

TEST_CASE("sessions that come and go in any order are found exactly while they live", "[table]") {
  options bounds;
  bounds.max_sessions = 800;
  local of(bounds);
  std::set<std::string> live;
  std::uint64_t state = 42;
  std::size_t refused = 0;
  for (int step = 0; step != 30000; ++step) {
    const std::string id = random_id(state);
    const bool grows = step / 5000 % 2 == 0;
    if (next_random(state) % 10 < (grows ? 8U : 2U)) {
      const bool is_new = live.count(id) == 0, is_full = live.size() == 800;
      const refusal expected = !is_new ? refusal::id_in_use : is_full ? refusal::too_many_sessions : refusal::none;
      if (of.table.create(id, id, newest, of.random) != expected) FAIL("create " << id << " at " << step);
      if (expected == refusal::none) live.insert(id);
      refused += expected == refusal::too_many_sessions ? 1 : 0;
    } else {
      const refusal expected = live.erase(id) == 1 ? refusal::none : refusal::gone;
      if (of.table.end(id) != expected) FAIL("end " << id << " at " << step);
    }
    for (int i = 0; i != 3; ++i) {
      const std::string other = random_id(state);
      if (!agrees(of, live, other)) FAIL(other << " at " << step);
    }
    if (step % 1000 != 0) continue;
    if (of.table.inspect().sessions != live.size()) FAIL("count at " << step);
    for (int i = 0; i != 2000; ++i) {
      if (!agrees(of, live, "session-" + std::to_string(i))) FAIL("session-" << i << " at " << step);
    }
  }
  CHECK(refused > 100);
}

TEST_CASE("a tick hands back exactly the ids that expired", "[table]") {
  local of(idle_after(100));
  std::uint64_t state = 9;
  std::set<std::string> live;
  for (int i = 0; i != 2000; ++i) {
    live.insert("session-" + std::to_string(i));
    of.create("session-" + std::to_string(i));
  }
  std::set<std::string> untouched;
  for (std::uint64_t now = 101; !live.empty(); now += 201) {
    of.table.tick(now);
    untouched.clear();
    for (const std::string& id : live) {
      if (next_random(state) % 3 == 0) {
        untouched.insert(id);
      } else {
        REQUIRE(of.table.touch(id, "alice") == refusal::none);
      }
    }
    std::vector<std::string> expired;
    of.table.tick(now + 100, &expired);
    if (expired.size() != untouched.size()) FAIL("as many as were idle");
    if (std::set<std::string>(expired.begin(), expired.end()) != untouched) FAIL("others than those that were idle");
    for (const std::string& id : untouched) live.erase(id);
    for (int i = 0; i != 2000; ++i) {
      if (!agrees(of, live, "session-" + std::to_string(i))) FAIL("session-" << i << " at " << now);
    }
    if (of.table.inspect().sessions != live.size()) FAIL("count at " << now);
  }
  CHECK(of.table.inspect().sessions == 0);
}

TEST_CASE("events of many sessions stay with their own", "[table]") {
  local of;
  std::uint64_t state = 4;
  std::vector<std::vector<std::string>> all(300);
  for (std::size_t i = 0; i != all.size(); ++i) of.create("s" + std::to_string(i), "p" + std::to_string(i));
  for (int step = 0; step != 3000; ++step) {
    const std::size_t i = next_random(state) % all.size();
    all[i].push_back("session " + std::to_string(i) + " step " + std::to_string(step));
    REQUIRE(of.table.append(of.standalone("s" + std::to_string(i)), all[i].back()));
  }
  for (std::size_t i = 0; i != all.size(); ++i) {
    const std::string id = "s" + std::to_string(i), principal = "p" + std::to_string(i), none;
    const tags owner = of.standalone(id).owner;
    std::string expected = marker_of({owner, 0, 0});
    for (std::size_t k = 0; k != all[i].size(); ++k) expected += event_of({owner, 0, k + 1}, all[i][k]);
    reader from;
    REQUIRE(of.table.resume(of.named(id, none, principal), from).reason == reason::fresh);
    CHECK(of.read(from, read_state::caught_up) == expected);
  }
}
