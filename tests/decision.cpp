// SPDX-License-Identifier: MIT
// Promise: every reconnect meets exactly one row of the decision table, in every form of the question, and asking
// changes nothing.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "catch.hpp"
#include "decision_world.hpp"
#include "mcp_resume/resume.hpp"

using namespace mcp_resume;
using world::id_text;
using world::max64;
using world::numbers_of;
using world::scenario;
using world::scenarios;
using world::twins;

namespace {

// One row in the words of the design. `fits` is the row's fact alone; that no earlier row fits is not part of it.
struct rule {
  mcp_resume::reason reason;
  bool (*fits)(const facts&);
  std::size_t combinations;  // of facts that meet this row first, counted by hand out of 2304
};

bool carries_own_tags(const facts& f) { return f.cursor == cursor_fact::own; }
bool record_is_held(const facts& f) { return f.stream == stream_fact::open || f.stream == stream_fact::finished; }
bool record_is_gone(const facts& f) { return f.stream == stream_fact::forgotten; }

const std::vector<rule>& rules() {
  static const std::vector<rule> all{
      {reason::unsupported_protocol, [](const facts& f) { return f.version == version_fact::unsupported; }, 768},
      {reason::stateless_protocol, [](const facts& f) { return f.version == version_fact::stateless; }, 768},
      {reason::no_session, [](const facts& f) { return f.session == session_fact::not_named; }, 192},
      {reason::session_gone, [](const facts& f) { return f.session == session_fact::gone; }, 192},
      {reason::wrong_principal, [](const facts& f) { return f.session == session_fact::of_another_principal; }, 192},
      {reason::occupied,
       [](const facts& f) { return f.cursor == cursor_fact::absent && f.standalone == reader_fact::live; }, 16},
      {reason::fresh, [](const facts& f) { return f.cursor == cursor_fact::absent; }, 16},
      {reason::malformed_cursor, [](const facts& f) { return f.cursor == cursor_fact::malformed; }, 32},
      {reason::foreign_cursor, [](const facts& f) { return f.cursor == cursor_fact::foreign; }, 32},
      {reason::stale_incarnation, [](const facts& f) { return f.cursor == cursor_fact::stale_standalone; }, 32},
      {reason::stale_request, [](const facts& f) { return f.cursor == cursor_fact::stale_request; }, 32},
      {reason::never_issued,
       [](const facts& f) {
         return carries_own_tags(f) &&
                (f.stream == stream_fact::never_opened || (record_is_held(f) && f.place == place_fact::ahead));
       },
       12},
      {reason::forgotten, [](const facts& f) { return carries_own_tags(f) && record_is_gone(f); }, 8},
      {reason::evicted, [](const facts& f) { return carries_own_tags(f) && f.place == place_fact::evicted; }, 4},
      {reason::complete,
       [](const facts& f) {
         return carries_own_tags(f) && f.place == place_fact::newest && f.stream == stream_fact::finished;
       },
       2},
      {reason::up_to_date, [](const facts& f) { return carries_own_tags(f) && f.place == place_fact::newest; }, 2},
      {reason::replay, [](const facts&) { return true; }, 4},
  };
  return all;
}

std::vector<facts> every_combination() {
  std::vector<facts> all;
  for (unsigned n = 0; n != 3U * 4 * 6 * 2 * 4 * 4; ++n) {
    unsigned rest = n;
    const auto digit = [&rest](unsigned base) {
      const unsigned value = rest % base;
      rest /= base;
      return value;
    };
    facts f;
    f.version = static_cast<version_fact>(digit(3));
    f.session = static_cast<session_fact>(digit(4));
    f.cursor = static_cast<cursor_fact>(digit(6));
    f.standalone = static_cast<reader_fact>(digit(2));
    f.stream = static_cast<stream_fact>(digit(4));
    f.place = static_cast<place_fact>(digit(4));
    all.push_back(f);
  }
  return all;
}

const rule& first_that_fits(const facts& f) {
  return *std::find_if(rules().begin(), rules().end(), [&f](const rule& r) { return r.fits(f); });
}

// The words of the design for each row, apart from the code's.
struct literal_row {
  int number;
  const char* reason;
  const char* outcome;
  int http_status;
  const char* advice;
};
constexpr literal_row literal_table[] = {
    {1, "unsupported_protocol", "reject", 400, "stop"},
    {2, "stateless_protocol", "reject", 405, "stop"},
    {3, "no_session", "reset", 400, "reinitialize"},
    {4, "session_gone", "reset", 404, "reinitialize"},
    {5, "wrong_principal", "reject", 404, "reinitialize"},
    {6, "occupied", "reject", 409, "retry"},
    {7, "fresh", "continue", 200, "none"},
    {8, "malformed_cursor", "reject", 400, "resubscribe"},
    {9, "foreign_cursor", "reject", 409, "resubscribe"},
    {10, "stale_incarnation", "reset", 200, "resync"},
    {11, "stale_request", "reset", 410, "resync"},
    {12, "never_issued", "reject", 409, "resubscribe"},
    {13, "forgotten", "gap", 410, "resync"},
    {14, "evicted", "gap", 200, "resync"},
    {15, "complete", "continue", 204, "none"},
    {16, "up_to_date", "continue", 200, "none"},
    {17, "replay", "continue", 200, "none"},
};

// The cells of a Markdown row without their blanks and code marks around a whole cell; empty if the line is none.
std::vector<std::string> cells_of(std::string line) {
  if (!line.empty() && line.back() == '\r') line.pop_back();
  if (line.rfind("// ", 0) == 0) line.erase(0, 3);
  std::vector<std::string> cells;
  if (line.size() < 2 || line.front() != '|' || line.back() != '|') return cells;
  for (std::size_t begin = 1; begin < line.size();) {
    const std::size_t end = line.find('|', begin);
    std::string cell = line.substr(begin, end - begin);
    cell.erase(0, cell.find_first_not_of(' '));
    cell.erase(cell.find_last_not_of(' ') + 1);
    cells.push_back(cell);
    begin = end + 1;
  }
  return cells;
}

// The rows of the decision table in a text file: the lines under its head.
std::vector<std::vector<std::string>> documented_rows(const std::string& path) {
  std::ifstream file(std::string(MCP_RESUME_SOURCE_DIR) + "/" + path);
  const std::vector<std::string> head{"#", "fact", "reason", "outcome", "HTTP", "advice"};
  std::vector<std::vector<std::string>> rows;
  std::string line;
  while (std::getline(file, line) && cells_of(line) != head) {
  }
  std::getline(file, line);  // the rule under the head
  while (std::getline(file, line) && !cells_of(line).empty()) rows.push_back(cells_of(line));
  return rows;
}

void check_documented_table(const std::string& path) {
  const std::vector<std::vector<std::string>> rows = documented_rows(path);
  REQUIRE(rows.size() == reason_count);
  for (std::size_t i = 0; i != reason_count; ++i) {
    const decision_row& row = decision_table[i];
    const std::vector<std::string> expected{std::to_string(i + 1),
                                            std::string(row.fact),
                                            "`" + std::string(to_string(row.reason)) + "`",
                                            std::string(to_string(row.outcome)),
                                            std::to_string(row.http_status),
                                            std::string(to_string(row.advice))};
    CHECK(rows[i] == expected);
  }
}

// Whether a cursor's next event can be given, by looking at every event: the issued ones are 1 to next - 1.
place_fact place_by_counting(std::uint64_t seq, std::uint64_t first, std::uint64_t next) {
  if (seq >= next) return place_fact::ahead;
  std::uint64_t owed = 0;
  std::uint64_t lost = 0;
  for (std::uint64_t event = seq + 1; event < next; ++event) {
    ++owed;
    if (event < first) ++lost;
  }
  if (lost != 0) return place_fact::evicted;
  return owed == 0 ? place_fact::newest : place_fact::inside;
}

struct expectation {
  std::uint64_t seq;
  mcp_resume::reason reason;
};

void check_cursors(twins& w, std::uint32_t stream, const std::vector<expectation>& expected) {
  for (const expectation& e : expected) {
    CAPTURE(stream, e.seq);
    CHECK(to_string(w.get(id_text(stream, e.seq)).reason) == to_string(e.reason));
  }
}

// Everything that can be observed of both twins without changing them.
std::string state_of(twins& w) {
  const session_facts known = w.in_hand.facts();
  std::string text = std::string(known.id) + "/" + std::string(known.principal) +
                     (known.standalone_reader == reader_fact::live ? "/live" : "/none");
  for (const inspection& i : {w.in_hand.inspect(), w.table.inspect("s-1"), w.table.inspect()}) {
    for (const std::uint64_t n : {i.sessions, i.streams, i.events, i.bytes, i.oldest_age_ms, i.evicted_unread}) {
      text += " " + std::to_string(n);
    }
  }
  for (std::uint32_t stream = 0; stream != 6; ++stream) {
    const stream_facts s = w.in_hand.facts_of(stream);
    text += "; " + std::to_string(static_cast<int>(s.state)) + to_string(s.window) + std::to_string(s.read_mark) +
            std::string(w.in_hand.label_of(w.handle(stream)));
    text += to_string(w.table.window_of(w.handle(stream)).value_or(window{0, 0}));
  }
  return text;
}

// The lease that a new reader of each stream gets: it counts every attachment so far.
std::string next_leases_of(twins& w) {
  std::string text;
  for (std::uint32_t stream = 0; stream != 4; ++stream) {
    const stream_facts s = w.in_hand.facts_of(stream);
    resolution newest;
    newest.reason = reason::up_to_date;
    newest.stream = w.handle(stream);
    newest.resume_after = s.window.next - 1;
    text +=
        " " + std::to_string(w.in_hand.attach(newest).lease()) + " " + std::to_string(w.table.attach(newest).lease());
  }
  return text;
}

}  // namespace

TEST_CASE("every combination of facts is decided by the first rule of the design that fits", "[decision]") {
  std::string wrong;
  for (const facts& f : every_combination()) {
    const reason expected = first_that_fits(f).reason;
    if (decide(f) != expected) wrong += std::string(to_string(decide(f))) + " != " + std::string(to_string(expected));
  }
  CHECK(wrong.empty());
}

TEST_CASE("each of the 17 rows is reached by as many facts as counted by hand", "[decision]") {
  std::map<reason, std::size_t> reached;
  for (const facts& f : every_combination()) ++reached[decide(f)];
  CHECK(rules().size() == 17);
  CHECK(reached.size() == 17);
  for (const rule& r : rules()) {
    CAPTURE(to_string(r.reason));
    CHECK(reached[r.reason] == r.combinations);
  }
}

TEST_CASE("the decision of a session is rows 1 to 5 and nothing else", "[decision]") {
  std::size_t wrong = 0;
  for (const facts& f : every_combination()) {
    const reason expected = first_that_fits(f).reason;
    const bool is_forbidden = expected <= reason::wrong_principal;
    const std::optional<reason> decided = decide_session(f);
    if (decided != (is_forbidden ? std::optional<reason>(expected) : std::nullopt)) ++wrong;
  }
  CHECK(wrong == 0);
}

TEST_CASE("the decision is a constant expression", "[decision]") {
  STATIC_REQUIRE(decide(facts{}) == reason::fresh);
  STATIC_REQUIRE(!decide_session(facts{}));
  constexpr facts ahead{version_fact::supported, session_fact::live, cursor_fact::own,
                        reader_fact::none,       stream_fact::open,  place_fact::ahead};
  STATIC_REQUIRE(decide(ahead) == reason::never_issued);
  STATIC_REQUIRE(row_of(decide(ahead)).http_status == 409);
}

TEST_CASE("each reason has the outcome and status and advice of the design", "[decision]") {
  REQUIRE(reason_count == 17);
  for (const literal_row& expected : literal_table) {
    const auto why = static_cast<reason>(expected.number - 1);
    const decision_row& row = row_of(why);
    CAPTURE(expected.number);
    CHECK(row.reason == why);
    CHECK(to_string(why) == expected.reason);
    CHECK(to_string(row.outcome) == expected.outcome);
    CHECK(row.http_status == expected.http_status);
    CHECK(to_string(row.advice) == expected.advice);

    resolution decided;
    decided.reason = why;
    CHECK(decided.outcome() == row.outcome);
    CHECK(decided.http_status() == row.http_status);
    CHECK(decided.advice() == row.advice);
  }
}

TEST_CASE("the table in the manual of the header is the table of the code", "[decision]") {
  check_documented_table("include/mcp_resume/resume.hpp");
}

TEST_CASE("the table in the README is the table of the code", "[decision]") { check_documented_table("README.md"); }

TEST_CASE("real sessions reach every row and the three forms of the question agree", "[decision]") {
  std::set<reason> reached;
  for (const scenario& s : scenarios()) {
    twins w(world::small_bounds());
    prepare(w, s);
    CAPTURE(to_string(s.reason), s.version, s.id, s.cursor, s.principal);
    const resolution decided = w.resolve(s.asked());
    CHECK(to_string(decided.reason) == to_string(s.reason));
    reached.insert(decided.reason);
  }
  CHECK(reached.size() == reason_count);
}

TEST_CASE("resume decides as resolve_resume does and attaches only where the status is 200", "[decision]") {
  for (const scenario& s : scenarios()) {
    twins w(world::small_bounds());
    prepare(w, s);
    CAPTURE(to_string(s.reason), s.cursor);
    const resolution decided = w.resolve(s.asked());
    reader attached;
    CHECK(numbers_of(w.table.resume(s.asked(), attached)) == numbers_of(decided));
    std::string frames;
    const bool reads = w.table.read(attached, frames).state != read_state::gone;
    CHECK(reads == (decided.http_status() == 200));
    CHECK(frames.empty() == (decided.http_status() != 200));
  }
}

TEST_CASE("a POST or DELETE meets rows 1 to 5 whatever its Last-Event-ID", "[decision]") {
  std::set<reason> reached;
  for (const scenario& s : scenarios()) {
    twins w(world::small_bounds());
    prepare(w, s);
    const bool is_forbidden = s.reason <= reason::wrong_principal;
    for (const std::string& cursor : {std::string(), std::string("evt-4471"), id_text(0, 1), id_text(0, 99),
                                      id_text(0, 1, {1, 2}), id_text(1, 1, {world::own.session, 9})}) {
      CAPTURE(to_string(s.reason), cursor);
      const std::optional<reason> decided = w.resolve_session({s.version, s.id, cursor, s.principal});
      CHECK(decided == (is_forbidden ? std::optional<reason>(s.reason) : std::nullopt));
      if (decided) reached.insert(*decided);
    }
  }
  CHECK(reached.size() == 5);
}

TEST_CASE("a session that is no more is gone in every form", "[decision]") {
  twins w;
  const request asked{"2025-11-25", "s-1", "", "alice"};
  CHECK(w.resolve(asked).reason == reason::fresh);
  w.in_hand.end();
  REQUIRE(w.table.end("s-1") == refusal::none);
  CHECK(w.resolve(asked).reason == reason::session_gone);
  CHECK(w.resolve_session(asked) == reason::session_gone);

  // A session in hand that has another id than the request's, and one that was never made, are no match either.
  twins other;
  CHECK(resolve_resume({"2025-11-25", "s-2", "", "alice"}, &other.in_hand).reason == reason::session_gone);
  CHECK(resolve_session({"2025-11-25", "s-2", "", "alice"}, &other.in_hand) == reason::session_gone);
  const session none;
  CHECK(resolve_resume(asked, &none).reason == reason::session_gone);
  CHECK(resolve_session(asked, &none) == reason::session_gone);
}

TEST_CASE("a place beside any small window is what counting the events says", "[decision]") {
  std::size_t compared = 0;
  std::size_t wrong = 0;
  for (std::uint64_t n = 0; n != std::uint64_t{8} * 8 * 10; ++n) {
    const window held{n % 8 + 1, n / 8 % 8 + 1};
    const std::uint64_t seq = n / 64;
    if (held.first > held.next) continue;  // no window
    ++compared;
    if (place_of(seq, held) != place_by_counting(seq, held.first, held.next)) ++wrong;
  }
  CHECK(compared == 360);
  CHECK(wrong == 0);
}

TEST_CASE("a place does not depend on where the numbers start", "[decision]") {
  // Windows that end at `shift` + 8: the last one ends at 2^64 - 1, one behind the last seq that is issued.
  const std::uint64_t shifts[] = {(std::uint64_t{1} << 32U) - 5, (std::uint64_t{1} << 53U) - 5,
                                  (std::uint64_t{1} << 63U) - 5, max64 - 8};
  std::size_t wrong = 0;
  for (std::uint64_t n = 0; n != std::uint64_t{8} * 8 * 10 * 4; ++n) {
    const std::uint64_t shift = shifts[n / 640];
    const std::uint64_t first = n % 8 + 1;
    const std::uint64_t next = n / 8 % 8 + 1;
    const std::uint64_t seq = n / 64 % 10;
    if (first > next || seq > max64 - shift) continue;
    if (place_of(seq + shift, {first + shift, next + shift}) != place_by_counting(seq, first, next)) ++wrong;
  }
  CHECK(wrong == 0);
}

TEST_CASE("a place at the ends of the number types does not wrap", "[decision]") {
  STATIC_REQUIRE(place_of(max64, {1, 1}) == place_fact::ahead);
  STATIC_REQUIRE(place_of(max64, {max64, max64}) == place_fact::ahead);
  STATIC_REQUIRE(place_of(max64, {1, max64}) == place_fact::ahead);
  STATIC_REQUIRE(place_of(max64 - 1, {max64, max64}) == place_fact::newest);
  STATIC_REQUIRE(place_of(max64 - 1, {1, max64}) == place_fact::newest);
  STATIC_REQUIRE(place_of(max64 - 2, {max64, max64}) == place_fact::evicted);
  STATIC_REQUIRE(place_of(max64 - 2, {max64 - 1, max64}) == place_fact::inside);
  STATIC_REQUIRE(place_of(0, {max64, max64}) == place_fact::evicted);
  STATIC_REQUIRE(place_of(0, {1, max64}) == place_fact::inside);
  STATIC_REQUIRE(place_of(0, {1, 1}) == place_fact::newest);
  STATIC_REQUIRE(place_of(0xFFFFFFFFU, {0x100000000U, 0x100000002U}) == place_fact::inside);
  STATIC_REQUIRE(place_of(0xFFFFFFFEU, {0x100000000U, 0x100000002U}) == place_fact::evicted);
}

TEST_CASE("each cursor around both ends of a full window meets its row", "[decision]") {
  options bounds;
  bounds.max_events = 4;
  const std::vector<expectation> open{
      {0, reason::evicted},       {4, reason::evicted},       {5, reason::evicted},         {6, reason::replay},
      {7, reason::replay},        {8, reason::replay},        {9, reason::replay},          {10, reason::up_to_date},
      {11, reason::never_issued}, {12, reason::never_issued}, {max64, reason::never_issued}};
  twins w(bounds);
  w.append(0, 10);
  REQUIRE(w.in_hand.window_of(w.handle(0)) == window{7, 11});
  check_cursors(w, 0, open);

  twins calls(bounds);
  const std::uint32_t call = calls.open();
  calls.append(call, 10);
  REQUIRE(calls.in_hand.window_of(calls.handle(call)) == window{7, 11});
  check_cursors(calls, call, open);

  calls.finish(call);
  std::vector<expectation> finished = open;
  finished[7].reason = reason::complete;
  check_cursors(calls, call, finished);
}

TEST_CASE("each cursor around the ends of a window of one event meets its row", "[decision]") {
  options bounds;
  bounds.max_events = 1;
  twins w(bounds);
  w.append(0, 10);
  REQUIRE(w.in_hand.window_of(w.handle(0)) == window{10, 11});
  check_cursors(w, 0,
                {{8, reason::evicted}, {9, reason::replay}, {10, reason::up_to_date}, {11, reason::never_issued}});
}

TEST_CASE("each cursor around an empty log meets its row", "[decision]") {
  twins w;
  const std::uint32_t call = w.open();
  const std::vector<expectation> open{{0, reason::up_to_date}, {1, reason::never_issued}, {2, reason::never_issued}};
  check_cursors(w, 0, open);
  check_cursors(w, call, open);
  w.finish(call);
  check_cursors(w, call, {{0, reason::complete}, {1, reason::never_issued}});
}

TEST_CASE("each cursor around an expired log meets its row", "[decision]") {
  options bounds;
  bounds.max_age_ms = 100;
  twins w(bounds);
  const std::uint32_t call = w.open();
  w.append(0, 10);
  w.append(call, 10);
  w.finish(call);
  w.tick(100);
  check_cursors(w, 0, {{0, reason::replay}, {9, reason::replay}, {10, reason::up_to_date}});
  w.tick(101);
  REQUIRE(w.in_hand.window_of(w.handle(0)) == window{11, 11});
  check_cursors(w, 0,
                {{0, reason::evicted}, {9, reason::evicted}, {10, reason::up_to_date}, {11, reason::never_issued}});
  check_cursors(w, call,
                {{0, reason::evicted}, {9, reason::evicted}, {10, reason::complete}, {11, reason::never_issued}});
  w.append(0);
  check_cursors(w, 0,
                {{9, reason::evicted}, {10, reason::replay}, {11, reason::up_to_date}, {12, reason::never_issued}});
}

TEST_CASE("cursors around 2^32 and 2^53 are told apart", "[decision]") {
  for (const std::uint64_t edge : {std::uint64_t{1} << 32U, std::uint64_t{1} << 53U}) {
    options bounds;
    bounds.max_events = 2;
    bounds.first_seq = edge - 2;
    twins w(bounds);
    w.append(0, 4);
    REQUIRE(w.in_hand.window_of(w.handle(0)) == window{edge, edge + 2});
    check_cursors(w, 0,
                  {{0, reason::evicted},
                   {edge - 2, reason::evicted},
                   {edge - 1, reason::replay},
                   {edge, reason::replay},
                   {edge + 1, reason::up_to_date},
                   {edge + 2, reason::never_issued}});
  }
}

TEST_CASE("the last seq is issued and then append refuses and nothing wraps", "[decision]") {
  options bounds;
  bounds.max_events = 2;
  bounds.first_seq = event_id::last_seq - 2;
  twins w(bounds);
  const std::uint32_t call = w.open();
  for (const std::uint32_t stream : {std::uint32_t{0}, call}) {
    w.append(stream, 3);
    for (int i = 0; i != 3; ++i) {
      CHECK(w.in_hand.append(w.handle(stream), "x").why == refusal::numbers_used_up);
      CHECK(w.table.append(w.handle(stream), "x").why == refusal::numbers_used_up);
    }
    CHECK(w.in_hand.window_of(w.handle(stream))->next == max64);
  }
  REQUIRE(w.in_hand.window_of(w.handle(call)) == window{max64 - 1, max64});
  check_cursors(w, call,
                {{0, reason::evicted},
                 {max64 - 3, reason::evicted},
                 {max64 - 2, reason::replay},
                 {max64 - 1, reason::up_to_date},
                 {max64, reason::never_issued}});
  const resolution far = w.get(id_text(call, 0));
  CHECK(far.missed == max64 - 1);
  CHECK(far.no_longer_held == max64 - 2);
  CHECK(far.resume_after == max64 - 1);

  w.finish(call);
  check_cursors(w, call, {{max64 - 2, reason::replay}, {max64 - 1, reason::complete}, {max64, reason::never_issued}});
  CHECK(w.frames_for(id_text(call, max64 - 2)).find(id_text(call, max64 - 1)) != std::string::npos);
}

TEST_CASE("a log whose numbers are used up from the start is empty and not wrapped", "[decision]") {
  options bounds;
  bounds.first_seq = max64;
  twins w(bounds);
  CHECK(w.in_hand.append(w.handle(0), "x").why == refusal::numbers_used_up);
  check_cursors(w, 0,
                {{0, reason::evicted},
                 {max64 - 2, reason::evicted},
                 {max64 - 1, reason::up_to_date},
                 {max64, reason::never_issued}});
}

TEST_CASE("stream numbers up to 2^32 - 1 are opened once and the others are never issued", "[decision]") {
  options bounds;
  bounds.first_stream = 0xFFFFFFFEU;
  twins w(bounds);
  check_cursors(w, 0xFFFFFFFEU, {{0, reason::never_issued}});
  CHECK(w.open() == 0xFFFFFFFEU);
  CHECK(w.open() == 0xFFFFFFFFU);
  CHECK(w.in_hand.open_stream("7").why == refusal::numbers_used_up);
  CHECK(w.table.open_stream("s-1", "7").why == refusal::numbers_used_up);
  for (const std::uint32_t opened_stream : {0U, 0xFFFFFFFEU, 0xFFFFFFFFU}) {
    check_cursors(w, opened_stream, {{0, reason::up_to_date}, {1, reason::never_issued}});
  }
  for (const std::uint32_t never_opened : {1U, 2U, 0x7FFFFFFFU, 0xFFFFFFFDU}) {
    check_cursors(w, never_opened,
                  {{0, reason::never_issued}, {1, reason::never_issued}, {max64, reason::never_issued}});
  }
  w.finish(0xFFFFFFFFU);
  w.forget(0xFFFFFFFFU);
  check_cursors(w, 0xFFFFFFFFU, {{0, reason::forgotten}, {1, reason::forgotten}, {max64, reason::forgotten}});
  CHECK(w.in_hand.open_stream("7").why == refusal::numbers_used_up);
}

TEST_CASE("a thousand decisions of each kind change nothing", "[decision]") {
  for (const scenario& s : scenarios()) {
    twins asked_often(world::small_bounds());
    twins never_asked(world::small_bounds());
    prepare(asked_often, s);
    prepare(never_asked, s);
    const std::string before = state_of(asked_often);
    const request asked = s.asked();
    for (int i = 0; i != 1000; ++i) {
      static_cast<void>(resolve_resume(asked, &asked_often.in_hand));
      static_cast<void>(resolve_resume(asked, asked_often.table));
      static_cast<void>(resolve_session(asked, &asked_often.in_hand));
      static_cast<void>(resolve_session(asked, asked_often.table));
    }
    CAPTURE(to_string(s.reason), s.cursor);
    CHECK(state_of(asked_often) == before);
    CHECK(next_leases_of(asked_often) == next_leases_of(never_asked));
  }
}

TEST_CASE("deciding neither supersedes a reader nor moves a read mark", "[decision]") {
  twins w;
  w.append(0, 3);
  reader connection;
  REQUIRE(w.table.resume({"2025-11-25", "s-1", "", "alice"}, connection).reason == reason::fresh);
  std::string frames;
  REQUIRE(w.table.read(connection, frames).state == read_state::caught_up);
  for (const std::string& cursor : {std::string(), id_text(0, 0), id_text(0, 3), id_text(0, 1, {1, 2})}) {
    static_cast<void>(resolve_resume({"2025-11-25", "s-1", cursor, "alice"}, w.table));
  }
  CHECK(w.table.read(connection, frames).state == read_state::caught_up);
}

TEST_CASE("deciding is no activity so a stranger keeps nothing alive", "[decision]") {
  options bounds;
  bounds.idle_ms = 1000;
  twins w(bounds);
  w.append(0);
  const std::string cursor = id_text(0, 1);
  const request asked{"2025-11-25", "s-1", cursor, "alice"};
  for (std::uint64_t now = 1; now <= 1001; now += 100) {
    w.table.tick(now);
    CHECK(resolve_resume(asked, w.table).reason == reason::up_to_date);
    CHECK_FALSE(resolve_session(asked, w.table));
  }
  w.table.tick(1001);
  w.table.tick(1002);
  CHECK(resolve_resume(asked, w.table).reason == reason::session_gone);
}

TEST_CASE("a resume that attaches nothing is no activity", "[decision]") {
  for (const scenario& s : scenarios()) {
    options bounds = world::small_bounds();
    bounds.idle_ms = 1000;
    twins w(bounds);
    prepare(w, s);
    const bool attaches = w.resolve(s.asked()).http_status() == 200;
    for (const std::uint64_t now : {1000U, 1001U, 1002U}) {
      w.table.tick(now);
      reader attached;
      static_cast<void>(w.table.resume(s.asked(), attached));
    }
    CAPTURE(to_string(s.reason));
    CHECK((w.table.inspect().sessions == 1) == attaches);
  }
}

TEST_CASE("each status has the headers that it needs and forbids caches to store it", "[decision]") {
  using headers = std::map<std::string, std::string>;
  const auto all_of = [](int http_status) {
    headers all;
    for (const header& h : headers_for(http_status)) {
      CHECK(all.emplace(h.name, h.value).second);  // no header twice
    }
    return all;
  };
  const headers plain{{"Cache-Control", "no-store"}};
  for (const int http_status : {204, 400, 404, 409, 410, 0, -1, 201, 401, 403, 429, 500, 502}) {
    CAPTURE(http_status);
    CHECK(all_of(http_status) == plain);
  }
  headers not_allowed = all_of(405);
  CHECK(not_allowed["Allow"] == "POST");
  CHECK(not_allowed["Cache-Control"] == "no-store");
  CHECK(not_allowed.size() == 2);

  headers stream = all_of(200);
  CHECK(stream["Content-Type"] == "text/event-stream");
  CHECK(stream["Cache-Control"] == "no-store");

  headers unavailable = all_of(503);
  CHECK(unavailable["Cache-Control"] == "no-store");
  const std::string wait = unavailable["Retry-After"];
  CHECK_FALSE(wait.empty());
  CHECK(wait.find_first_not_of("0123456789") == std::string::npos);
}

#if MCP_RESUME_EXCEPTIONS
namespace {

// What require_continuation throws: its type and its text.
std::string thrown_for(const resolution& decided) {
  try {
    require_continuation(decided);
  } catch (const resumption_gap_error& gap) {
    return std::string("gap error: ") + gap.what();
  } catch (const session_cursor_mismatch& mismatch) {
    return std::string("mismatch: ") + mismatch.what();
  }
  return "nothing";
}

}  // namespace

TEST_CASE("require_continuation throws for every reason but a continuation", "[decision]") {
  std::set<reason> seen;
  for (const scenario& s : scenarios()) {
    twins w(world::small_bounds());
    prepare(w, s);
    const resolution decided = w.resolve(s.asked());
    const std::string outcome_text = literal_table[static_cast<std::size_t>(s.reason)].outcome;
    std::string expected = "nothing";
    if (outcome_text == "gap") expected = "gap error: " + describe(decided);
    if (outcome_text == "reset" || outcome_text == "reject") expected = "mismatch: " + describe(decided);
    CAPTURE(to_string(s.reason));
    CHECK(thrown_for(decided) == expected);
    seen.insert(s.reason);
  }
  CHECK(seen.size() == reason_count);
}

TEST_CASE("require_continuation throws the gap error for a fresh reader with a gap", "[decision]") {
  options bounds;
  bounds.max_events = 4;
  twins w(bounds);
  w.append(0, 10);
  const resolution decided = w.get("");
  REQUIRE(decided.reason == reason::fresh);
  REQUIRE(decided.outcome() == outcome::continue_);
  REQUIRE(decided.missed > 0);
  REQUIRE_THROWS_AS(require_continuation(decided), resumption_gap_error);
  CHECK(thrown_for(decided) == "gap error: " + describe(decided));
}
#endif
