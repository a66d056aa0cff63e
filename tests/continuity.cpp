// SPDX-License-Identifier: MIT
// Promise: every answer and every block meets exactly one row of the continuity table, one reconnect is judged as the
// design says sentence by sentence, and ids of other servers prove no more than their next number.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "documents.hpp"
#include "mcp_resume/client.hpp"
#include "property.hpp"

using namespace mcp_resume;

namespace {

constexpr std::uint64_t max64 = ~std::uint64_t{0};

// ---- The table in the words of the design ----

bool has_cursor(const continuity_facts& f) { return f.sent == sent_fact::cursor; }
bool is_for_request(const continuity_facts& f) { return f.kind == stream_kind::request; }
bool is_nothing_owed(const continuity_facts& f) { return f.owed == owed_fact::nothing; }
bool is_event_stream(const continuity_facts& f) { return f.answer == answer_fact::event_stream; }
bool is_event(const continuity_facts& f) { return f.block == block_fact::event; }
bool is_marker(const continuity_facts& f) { return f.block == block_fact::marker; }
bool is_at_cursor(const continuity_facts& f) { return f.id == id_fact::at_cursor; }
bool is_after_cursor(const continuity_facts& f) { return f.id == id_fact::successor || f.id == id_fact::ahead; }
bool is_first_block_alone(const continuity_facts& f) { return f.scope == scope_fact::first_block; }

// The connection ended before the first block of an event stream, and nobody goes on reading it.
bool is_cut_before_a_block(const continuity_facts& f) {
  return is_event_stream(f) && f.block == block_fact::none && is_first_block_alone(f);
}
bool has_ended(const continuity_facts& f) { return !is_event_stream(f) || is_cut_before_a_block(f); }

// One row in words. `fits` is the row's fact alone; that no earlier row fits is not part of it.
struct rule {
  continuity reason;
  bool (*fits)(const continuity_facts&);
  std::size_t combinations;  // of facts that meet this row first, counted by hand out of 483,840
};

// NOLINTNEXTLINE(readability-function-size): a flat table
const std::vector<rule>& rules() {
  using c = continuity;
  static const std::vector<rule> all{
      {c::no_session, [](const continuity_facts& f) { return f.sent == sent_fact::no_session; }, 120960},
      {c::other_session, [](const continuity_facts& f) { return f.answer == answer_fact::other_session; }, 36288},
      {c::session_gone, [](const continuity_facts& f) { return f.answer == answer_fact::not_found; }, 36288},
      {c::complete,
       [](const continuity_facts& f) {
         const bool is_told_to_stop = f.answer == answer_fact::empty && has_cursor(f);
         return is_nothing_owed(f) && (is_told_to_stop || (is_for_request(f) && has_ended(f)));
       },
       67176},
      {c::answer_lost, [](const continuity_facts& f) { return f.answer == answer_fact::empty && has_cursor(f); }, 6048},
      {c::unauthorized, [](const continuity_facts& f) { return f.answer == answer_fact::unauthorized; }, 27216},
      {c::no_stream, [](const continuity_facts& f) { return f.answer == answer_fact::no_stream; }, 27216},
      {c::unresumable, [](const continuity_facts& f) { return is_for_request(f) && !has_cursor(f) && has_ended(f); },
       30672},
      {c::refused,
       [](const continuity_facts& f) {
         return !has_cursor(f) && (f.answer == answer_fact::empty || f.answer == answer_fact::refused);
       },
       24192},
      {c::busy,
       [](const continuity_facts& f) {
         return f.answer == answer_fact::conflict && (!has_cursor(f) || f.conflicts == conflict_fact::few);
       },
       16632},
      {c::cursor_refused,
       [](const continuity_facts& f) { return f.answer == answer_fact::conflict || f.answer == answer_fact::refused; },
       13608},
      {c::undecided, [](const continuity_facts& f) { return f.answer == answer_fact::undecided; }, 21168},
      {c::disconnected, [](const continuity_facts& f) { return has_ended(f); }, 22680},
      {c::reopened,
       [](const continuity_facts& f) { return f.block == block_fact::none && f.sent == sent_fact::no_cursor_again; },
       864},
      {c::opened, [](const continuity_facts& f) { return f.block == block_fact::none; }, 1728},
      {c::blank, [](const continuity_facts& f) { return f.block == block_fact::blank; }, 5184},
      {c::unnumbered,
       [](const continuity_facts& f) {
         return f.block == block_fact::message && f.order == order_fact::first_of_resumed;
       },
       2592},
      {c::message, [](const continuity_facts& f) { return f.block == block_fact::message; }, 2592},
      {c::foreign_event, [](const continuity_facts& f) { return f.id == id_fact::foreign; }, 2304},
      {c::other_stream, [](const continuity_facts& f) { return f.id == id_fact::other_stream; }, 2304},
      {c::reset_located,
       [](const continuity_facts& f) {
         return f.announced == signal_fact::reset && is_marker(f) && f.id == id_fact::other_incarnation;
       },
       192},
      {c::other_incarnation, [](const continuity_facts& f) { return f.id == id_fact::other_incarnation; }, 2112},
      {c::unprovable,
       [](const continuity_facts& f) {
         return f.id == id_fact::unprovable && (f.resync == resync_fact::due || f.announced != signal_fact::none);
       },
       1920},
      {c::opaque, [](const continuity_facts& f) { return f.id == id_fact::unprovable; }, 384},
      {c::gap_announced,
       [](const continuity_facts& f) {
         return f.block == block_fact::gap_frame && is_at_cursor(f) && !is_first_block_alone(f);
       },
       288},
      {c::gap_unlocated, [](const continuity_facts& f) { return f.block == block_fact::gap_frame && is_at_cursor(f); },
       288},
      {c::reset_announced,
       [](const continuity_facts& f) {
         return f.block == block_fact::reset_frame && is_at_cursor(f) && !is_first_block_alone(f);
       },
       288},
      {c::reset_unlocated,
       [](const continuity_facts& f) { return f.block == block_fact::reset_frame && is_at_cursor(f); }, 288},
      {c::next_event, [](const continuity_facts& f) { return is_event(f) && f.id == id_fact::successor; }, 576},
      {c::marker, [](const continuity_facts& f) { return is_marker(f) && is_at_cursor(f); }, 576},
      {c::event_ahead, [](const continuity_facts& f) { return is_event(f) && is_after_cursor(f); }, 576},
      {c::gap_located,
       [](const continuity_facts& f) { return f.announced == signal_fact::gap && is_marker(f) && is_after_cursor(f); },
       384},
      // Elsewhere than under the cursor a gap or reset frame is no signal, and no event either.
      {c::marker_ahead, [](const continuity_facts& f) { return !is_event(f) && is_after_cursor(f); }, 3072},
      // What is left is up to the place.
      {c::misplaced, [](const continuity_facts& f) { return f.announced != signal_fact::none; }, 3456},
      {c::inside_gap, [](const continuity_facts& f) { return f.id == id_fact::inside_gap; }, 768},
      {c::seen, [](const continuity_facts&) { return true; }, 960},
  };
  return all;
}

const std::vector<continuity_facts>& every_combination() {
  static const std::vector<continuity_facts> every = [] {
    std::vector<continuity_facts> all;
    for (unsigned n = 0; n != 4U * 2 * 10 * 2 * 2 * 2 * 7 * 9 * 3 * 2 * 2; ++n) {
      unsigned rest = n;
      const auto digit = [&rest](unsigned base) {
        const unsigned value = rest % base;
        rest /= base;
        return value;
      };
      continuity_facts f;
      f.sent = static_cast<sent_fact>(digit(4));
      f.kind = static_cast<stream_kind>(digit(2));
      f.answer = static_cast<answer_fact>(digit(10));
      f.conflicts = static_cast<conflict_fact>(digit(2));
      f.owed = static_cast<owed_fact>(digit(2));
      f.scope = static_cast<scope_fact>(digit(2));
      f.block = static_cast<block_fact>(digit(7));
      f.id = static_cast<id_fact>(digit(9));
      f.announced = static_cast<signal_fact>(digit(3));
      f.resync = static_cast<resync_fact>(digit(2));
      f.order = static_cast<order_fact>(digit(2));
      all.push_back(f);
    }
    return all;
  }();
  return every;
}

continuity first_that_fits(const continuity_facts& f) {
  return std::find_if(rules().begin(), rules().end(), [&f](const rule& r) { return r.fits(f); })->reason;
}

std::string text_of(const continuity_facts& f) {
  std::string text = "facts";
  for (const auto n :
       {static_cast<int>(f.sent), static_cast<int>(f.kind), static_cast<int>(f.answer), static_cast<int>(f.conflicts),
        static_cast<int>(f.owed), static_cast<int>(f.scope), static_cast<int>(f.block), static_cast<int>(f.id),
        static_cast<int>(f.announced), static_cast<int>(f.resync), static_cast<int>(f.order)}) {
    text += " " + std::to_string(n);
  }
  return text;
}

// The first combination that is judged otherwise than by the first rule that fits, or an empty text.
std::string first_wrong() {
  for (const continuity_facts& f : every_combination()) {
    const continuity expected = first_that_fits(f);
    if (judge(f) == expected) continue;
    return text_of(f) + ": " + std::string(to_string(judge(f))) + " is not " + std::string(to_string(expected));
  }
  return {};
}

// The words of the design for each row, apart from the code's. No outcome: nothing is decided.
struct literal_row {
  const char* reason;
  const char* outcome;
  const char* recovery;
  const char* next;
  const char* cursor;
  const char* deliver;
};
constexpr literal_row literal_table[] = {
    {"no_session", "reset", "reinitialize", "end", "stays", "no"},
    {"other_session", "reset", "reinitialize", "end", "stays", "no"},
    {"session_gone", "reset", "reinitialize", "end", "stays", "no"},
    {"complete", "continue", "none", "end", "stays", "no"},
    {"answer_lost", "gap", "resync", "end", "stays", "no"},
    {"unauthorized", "reject", "stop", "end", "stays", "no"},
    {"no_stream", "reject", "stop", "end", "stays", "no"},
    {"unresumable", "gap", "resync", "end", "stays", "no"},
    {"refused", "reject", "stop", "end", "stays", "no"},
    {"busy", "", "retry", "reconnect", "stays", "no"},
    {"cursor_refused", "reject", "resubscribe", "reconnect", "dropped", "no"},
    {"undecided", "", "retry", "reconnect", "stays", "no"},
    {"disconnected", "", "retry", "reconnect", "stays", "no"},
    {"reopened", "reset", "resync", "read_on", "stays", "no"},
    {"opened", "", "none", "read_on", "stays", "no"},
    {"blank", "", "none", "read_on", "stays", "no"},
    {"unnumbered", "gap", "resync", "read_on", "stays", "yes"},
    {"message", "", "none", "read_on", "stays", "yes"},
    {"foreign_event", "reject", "resubscribe", "reconnect", "dropped", "no"},
    {"other_stream", "reject", "resubscribe", "reconnect", "dropped", "no"},
    {"reset_located", "reset", "resync", "read_on", "moves", "no"},
    {"other_incarnation", "reset", "resubscribe", "reconnect", "dropped", "no"},
    {"unprovable", "gap", "resync", "read_on", "moves", "yes"},
    {"opaque", "", "none", "read_on", "moves", "yes"},
    {"gap_announced", "gap", "none", "read_on", "stays", "no"},
    {"gap_unlocated", "gap", "resync", "read_on", "stays", "no"},
    {"reset_announced", "reset", "none", "read_on", "stays", "no"},
    {"reset_unlocated", "reset", "resync", "read_on", "stays", "no"},
    {"next_event", "continue", "none", "read_on", "moves", "yes"},
    {"marker", "continue", "none", "read_on", "moves", "no"},
    {"event_ahead", "gap", "resync", "read_on", "moves", "yes"},
    {"gap_located", "gap", "resync", "read_on", "moves", "no"},
    {"marker_ahead", "gap", "resync", "read_on", "moves", "no"},
    {"misplaced", "gap", "resync", "read_on", "stays", "no"},
    {"inside_gap", "gap", "resync", "read_on", "stays", "no"},
    {"seen", "", "none", "read_on", "stays", "no"},
};

std::string outcome_text(std::optional<outcome> o) { return o ? std::string(to_string(*o)) : std::string(); }

verdict verdict_with(continuity why, stream_kind kind = stream_kind::standalone, std::uint64_t missed = 0) {
  verdict made;
  made.reason = why;
  made.kind = kind;
  made.missed = missed;
  return made;
}

std::vector<continuity> every_reason() {
  std::vector<continuity> all;
  for (std::size_t i = 0; i != continuity_count; ++i) all.push_back(static_cast<continuity>(i));
  return all;
}

// ---- The table in documents ----

std::string line_of(std::size_t number, const continuity_row& row) {
  std::string line = "| " + std::to_string(number);
  for (const std::string& cell : {std::string(row.fact), "`" + std::string(row.name) + "`", outcome_text(row.outcome),
                                  std::string(to_string(row.recovery)), std::string(to_string(row.next)),
                                  std::string(to_string(row.cursor)), std::string(row.deliver ? "yes" : "no")}) {
    line += " | " + cell;
  }
  return line + " |";
}

// The lines of the continuity table in a file, head and rule included; every one begins with `beginning`.
void check_documented_table(const std::string& path, const std::string& beginning) {
  const std::vector<std::string> lines = documents::lines_with(path, beginning);
  const auto head =
      std::find(lines.begin(), lines.end(), "| # | fact | reason | outcome | recovery | next | cursor | deliver |");
  REQUIRE(lines.end() - head >= static_cast<std::ptrdiff_t>(continuity_count) + 2);
  CHECK(head[1] == "|--:|---|---|---|---|---|---|---|");
  for (std::size_t i = 0; i != continuity_count; ++i) {
    CHECK(head[static_cast<std::ptrdiff_t>(i) + 2] == line_of(i + 1, continuity_table[i]));
  }
  const std::size_t behind = static_cast<std::size_t>(head - lines.begin()) + 2 + continuity_count;
  if (behind != lines.size()) CHECK(lines[behind].rfind("| " + std::to_string(continuity_count + 1), 0) != 0);
}

// ---- One reconnect ----

constexpr tags own{0x5f0c2d9a1b3e4c77U, 0x9f8e7d6c5b4a3921U};
constexpr tags next_life{own.session, 0x0123456789abcdefU};
constexpr tags stranger{0x1111111111111111U, own.incarnation};

constexpr const char* event_stream = "text/event-stream";

std::string id_of(std::uint64_t seq, std::uint32_t stream = 0, tags owner = own) {
  return to_string(event_id{owner, stream, seq});
}

// Views of `id`: for use in the expression that makes them.
block event_at(const std::string& id) { return {id, "message", "{}", {}}; }
block marker_at(const std::string& id) { return {id, "message", "", {}}; }
block gap_at(const std::string& id) { return {id, "gap", "{}", {}}; }
block reset_at(const std::string& id) { return {id, "reset", "{}", {}}; }

// A GET with the session "s-1" and this cursor was answered with an event stream that begins with this block.
verdict first_after(const std::string& cursor, const std::optional<block>& first) {
  return validate_resumption({"s-1", cursor}, {200, event_stream, "", first});
}

verdict counted_after(const std::string& cursor, const block& first) {
  return validate_resumption({"s-1", cursor, foreign_ids::trailing_counter}, {200, event_stream, "s-1", first});
}

std::string name_of(const verdict& made) { return std::string(to_string(made.reason)); }

// A whole verdict as one text: reason, what is missed, what to do, and whether the block is delivered.
std::string text_of(const verdict& made) {
  return name_of(made) + " " + std::to_string(made.missed) + " " + outcome_text(made.outcome()) + " " +
         std::string(to_string(made.recovery())) + " " + std::string(to_string(made.next())) +
         (made.deliver ? " deliver" : "");
}

enum class cursor_case { none, standalone, request, text };
enum class answer_case { open, taken };

struct asked_case {
  cursor_case cursor;
  stream_kind kind;
  answer_case answer;
  std::uint32_t conflicts;

  // An event id says of which kind its stream is, whatever the caller says.
  bool is_request() const {
    const bool is_told = cursor == cursor_case::none || cursor == cursor_case::text;
    return is_told ? kind == stream_kind::request : cursor == cursor_case::request;
  }
  bool has_cursor() const { return cursor != cursor_case::none; }
  bool is_over() const { return is_request() && answer == answer_case::taken; }
};

std::vector<asked_case> asked_cases() {
  std::vector<asked_case> all;
  for (const cursor_case c : {cursor_case::none, cursor_case::standalone, cursor_case::request, cursor_case::text}) {
    for (const stream_kind k : {stream_kind::standalone, stream_kind::request}) {
      for (const answer_case a : {answer_case::open, answer_case::taken}) {
        for (const std::uint32_t conflicts : {0U, 1U, 2U, 3U, ~0U}) all.push_back({c, k, a, conflicts});
      }
    }
  }
  return all;
}

std::string cursor_of(cursor_case c) {
  if (c == cursor_case::none) return {};
  if (c == cursor_case::text) return "evt-000418";
  return c == cursor_case::standalone ? id_of(7) : id_of(7, 3);
}

verdict verdict_on(const asked_case& asked, const received& got) {
  const std::string cursor = cursor_of(asked.cursor);
  const bool is_taken = asked.answer == answer_case::taken;
  return validate_resumption({"s-1", cursor, foreign_ids::unprovable, asked.kind, asked.conflicts, is_taken}, got);
}

// The verdict of a reason on what was asked.
std::string text_for(continuity why, const asked_case& asked) {
  return text_of(verdict_with(why, asked.is_request() ? stream_kind::request : stream_kind::standalone));
}

std::string text_of(const asked_case& asked) {
  return "cursor " + cursor_of(asked.cursor) + ", " + std::string(to_string(asked.kind)) + ", " +
         std::to_string(asked.conflicts) + " conflicts, " + (asked.answer == answer_case::taken ? "taken" : "open");
}

// What an answer that is no event stream means, from the sentences of the design.
continuity meaning_of(int status, const asked_case& asked) {
  if (status == 404) return continuity::session_gone;
  if (asked.is_over()) return continuity::complete;
  if (status == 204 && asked.has_cursor()) {
    return asked.is_request() ? continuity::answer_lost : continuity::complete;
  }
  if (status == 401 || status == 403) return continuity::unauthorized;
  if (status == 405) return continuity::no_stream;
  // It cannot be opened again.
  if (asked.is_request() && !asked.has_cursor()) return continuity::unresumable;
  if (status == 204) return continuity::refused;
  if (status == 409) {
    return !asked.has_cursor() || asked.conflicts < 2 ? continuity::busy : continuity::cursor_refused;
  }
  if (status == 0) return continuity::disconnected;
  if (status == 408 || status == 429 || status < 400 || status > 499) return continuity::undecided;
  return asked.has_cursor() ? continuity::cursor_refused : continuity::refused;
}

// ---- Decimal numbers ----

// The sum of a decimal number and 1, digit by digit as on paper; as wide as the number unless it overflows.
std::string plus_one(const std::string& number) {
  std::vector<int> places;  // the last one first
  for (auto c = number.rbegin(); c != number.rend(); ++c) places.push_back(*c - '0');
  int carry = 1;
  for (int& place : places) {
    const int sum = place + carry;
    place = sum % 10;
    carry = sum / 10;
  }
  if (carry != 0) places.push_back(carry);
  std::string sum;
  for (auto place = places.rbegin(); place != places.rend(); ++place) sum += std::to_string(*place);
  return sum;
}

std::string padded(std::uint64_t number, std::size_t width) {
  const std::string digits = std::to_string(number);
  return digits.size() < width ? std::string(width - digits.size(), '0') + digits : digits;
}

struct split_id {
  std::string head;  // ends with no digit
  std::string digits;
  std::string whole() const { return head + digits; }
};

split_id random_split(property::random& source) {
  split_id made;
  const std::uint32_t head_size = source.below(12);
  for (std::uint32_t i = 0; i != head_size; ++i) made.head += static_cast<char>(source.below(256));
  made.head += "-_:x.\xFF"[source.below(6)];
  const std::uint32_t size = 1 + (source.below(4) == 0 ? source.below(400) : source.below(25));
  const std::uint32_t nines = source.below(3) == 0 ? size : source.below(size + 1);
  for (std::uint32_t i = 0; i != size; ++i) {
    made.digits += i + nines >= size ? '9' : static_cast<char>('0' + source.below(10));
  }
  return made;
}

// Texts near the increment of an id that are not it.
std::vector<std::string> near_misses(const split_id& id) {
  const std::string next = plus_one(id.digits);
  std::vector<std::string> all{id.whole(),
                               id.head + plus_one(next),
                               id.head + "0" + next,
                               id.head,
                               id.head + next + " ",
                               id.head + next + "0",
                               id.head + next + std::string(1, '\0'),
                               " " + id.head + next,
                               id.head + "-" + next,
                               next,
                               id.head + next.substr(0, next.size() - 1),
                               std::string(1, static_cast<char>(id.head[0] ^ 1)) + id.head.substr(1) + next,
                               ""};
  if (next[0] == '0') all.push_back(id.head + next.substr(1));
  for (std::size_t i = 0; i < next.size(); i += 1 + next.size() / 7) {
    std::string other = next;
    other[i] = other[i] == '9' ? '0' : static_cast<char>(other[i] + 1);
    all.push_back(id.head + other);
  }
  return all;
}

}  // namespace

// ---- The table -------------------------------------------------------------------------------------------------------

TEST_CASE("every combination of facts is judged by the first rule of the design that fits", "[continuity]") {
  REQUIRE(every_combination().size() == 483840);
  CHECK(first_wrong() == "");
}

TEST_CASE("each of the 36 rows of continuity is reached by as many facts as counted by hand", "[continuity]") {
  std::map<continuity, std::size_t> reached;
  for (const continuity_facts& f : every_combination()) {
    ++reached[judge(f)];
  }
  REQUIRE(rules().size() == 36);
  CHECK(reached.size() == 36);
  for (const rule& r : rules()) {
    CAPTURE(to_string(r.reason));
    CHECK(reached[r.reason] == r.combinations);
  }
}

TEST_CASE("no fact of a block matters to an answer that brings none", "[continuity]") {
  std::size_t wrong = 0;
  for (const continuity_facts& f : every_combination()) {
    if (is_event_stream(f) && f.sent != sent_fact::no_session) continue;
    continuity_facts bare = f;
    bare.block = block_fact::none;
    bare.id = id_fact::at_cursor;
    bare.announced = signal_fact::none;
    bare.resync = resync_fact::due;
    bare.order = order_fact::later;
    bare.scope = scope_fact::stream;
    if (judge(f) != judge(bare)) ++wrong;
  }
  CHECK(wrong == 0);
}

TEST_CASE("a block is judged alike whatever was sent and is owed, and one without an id whatever the id",
          "[continuity]") {
  std::size_t wrong = 0;
  for (const continuity_facts& f : every_combination()) {
    if (!is_event_stream(f) || f.block == block_fact::none || f.sent == sent_fact::no_session) continue;
    continuity_facts bare = f;
    bare.sent = sent_fact::cursor;
    bare.kind = stream_kind::standalone;
    bare.conflicts = conflict_fact::few;
    bare.owed = owed_fact::nothing;
    if (f.block == block_fact::blank || f.block == block_fact::message) {
      bare.id = id_fact::foreign;
      bare.announced = signal_fact::none;
      bare.resync = resync_fact::due;
      bare.scope = scope_fact::stream;
    }
    if (judge(f) != judge(bare)) ++wrong;
  }
  CHECK(wrong == 0);
}

TEST_CASE("the judgement is a constant expression", "[continuity]") {
  STATIC_REQUIRE(judge(continuity_facts{}) == continuity::opened);
  STATIC_REQUIRE(row_of(continuity::marker).outcome == outcome::continue_);
  constexpr continuity_facts gone{sent_fact::no_cursor, stream_kind::request, answer_fact::not_found};
  STATIC_REQUIRE(judge(gone) == continuity::session_gone);
  STATIC_REQUIRE(std::is_trivially_copyable<continuity_facts>::value);
}

TEST_CASE("each row has the outcome and recovery and next step and cursor effect of the design", "[continuity]") {
  REQUIRE(continuity_count == 36);
  REQUIRE(sizeof literal_table / sizeof literal_table[0] == 36);
  for (const continuity why : every_reason()) {
    const literal_row& expected = literal_table[static_cast<std::size_t>(why)];
    const continuity_row& row = row_of(why);
    CAPTURE(expected.reason);
    CHECK(row.reason == why);
    CHECK(row.name == expected.reason);
    CHECK(to_string(why) == expected.reason);
    CHECK(outcome_text(row.outcome) == expected.outcome);
    CHECK(to_string(row.recovery) == expected.recovery);
    CHECK(to_string(row.next) == expected.next);
    CHECK(to_string(row.cursor) == expected.cursor);
    CHECK(std::string(row.deliver ? "yes" : "no") == expected.deliver);
  }
}

TEST_CASE("the rows keep the sentences of the design that hold for all of them", "[continuity]") {
  for (const continuity_row& row : continuity_table) {
    CAPTURE(row.name);
    // Continuity is proven, or something is to be done, or nothing is decided yet.
    if (row.outcome == outcome::continue_) CHECK(row.recovery == recovery::none);
    if (row.recovery == recovery::retry) CHECK_FALSE(row.outcome);
    // A loss is never silent: only where the place follows the resync is left to it.
    const bool is_announced = row.reason == continuity::gap_announced || row.reason == continuity::reset_announced;
    const bool is_loss = row.outcome && *row.outcome != outcome::continue_;
    CHECK((is_loss && row.recovery == recovery::none) == is_announced);
    // A cursor that was refused or misled is never sent again, and nothing else drops one.
    CHECK((row.cursor == cursor_effect::dropped) == (row.recovery == recovery::resubscribe));
    // "reset, not delivered" and "reject, never delivered".
    if (row.outcome == outcome::reset || row.outcome == outcome::reject) CHECK_FALSE(row.deliver);
    // What is delivered without an id moves nothing; all else that is delivered moves the cursor once it is taken.
    const bool has_no_id = row.reason == continuity::message || row.reason == continuity::unnumbered;
    if (row.deliver) CHECK((row.cursor == cursor_effect::moves) == !has_no_id);
    const bool is_final = row.recovery == recovery::stop || row.recovery == recovery::reinitialize;
    if (is_final) CHECK(row.next == next_step::end);
    if (row.recovery == recovery::retry || row.recovery == recovery::resubscribe) {
      CHECK(row.next == next_step::reconnect);
    }
  }
}

TEST_CASE("names and facts of the rows are unique and are fit for a table", "[continuity]") {
  std::set<std::string_view> names;
  std::set<std::string_view> words;
  for (const continuity_row& row : continuity_table) {
    CAPTURE(row.name);
    CHECK(names.insert(row.name).second);
    CHECK(words.insert(row.fact).second);
    CHECK(!row.name.empty());
    CHECK(row.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") == std::string_view::npos);
    CHECK(!row.fact.empty());
    CHECK(row.fact.find_first_of("|\r\n") == std::string_view::npos);
  }
}

TEST_CASE("where a request stream would be opened without its cursor it ends with a resync", "[continuity]") {
  for (const continuity why : every_reason()) {
    CAPTURE(to_string(why));
    const verdict standalone = verdict_with(why);
    CHECK(standalone.outcome() == row_of(why).outcome);
    CHECK(standalone.recovery() == row_of(why).recovery);
    CHECK(standalone.next() == row_of(why).next);

    const verdict request = verdict_with(why, stream_kind::request);
    const bool cannot_open = row_of(why).recovery == recovery::resubscribe;
    CHECK(request.outcome() == row_of(why).outcome);
    CHECK(request.recovery() == (cannot_open ? recovery::resync : row_of(why).recovery));
    CHECK(request.next() == (cannot_open ? next_step::end : row_of(why).next));
    CHECK(request.recovery() != recovery::resubscribe);
  }
}

TEST_CASE("the table in the manual of the client's header is the table of the code", "[continuity]") {
  check_documented_table("include/mcp_resume/client.hpp", "// ");
}

TEST_CASE("the continuity table in the README is the table of the code", "[continuity]") {
  check_documented_table("README.md", "");
}

TEST_CASE("words of continuity are those of the enumerators and ? for values that are none", "[continuity]") {
  STATIC_REQUIRE(to_string(next_step::read_on) == "read_on");
  STATIC_REQUIRE(to_string(next_step::reconnect) == "reconnect");
  STATIC_REQUIRE(to_string(next_step::end) == "end");
  STATIC_REQUIRE(to_string(cursor_effect::stays) == "stays");
  STATIC_REQUIRE(to_string(cursor_effect::moves) == "moves");
  STATIC_REQUIRE(to_string(cursor_effect::dropped) == "dropped");
  STATIC_REQUIRE(to_string(stream_kind::standalone) == "standalone");
  STATIC_REQUIRE(to_string(stream_kind::request) == "request");
  for (unsigned n = 0; n != 256; ++n) {
    CAPTURE(n);
    CHECK((to_string(static_cast<continuity>(n)) == "?") == (n >= 36));
    CHECK((to_string(static_cast<next_step>(n)) == "?") == (n >= 3));
    CHECK((to_string(static_cast<cursor_effect>(n)) == "?") == (n >= 3));
    CHECK((to_string(static_cast<stream_kind>(n)) == "?") == (n >= 2));
  }
}

// ---- One reconnect: the answer ---------------------------------------------------------------------------------------

TEST_CASE("one reconnect is judged by constant expressions", "[continuity]") {
  constexpr sent asked{"s-1", "5f0c2d9a1b3e4c77.9f8e7d6c5b4a3921.0.418"};
  constexpr block next{"5f0c2d9a1b3e4c77.9f8e7d6c5b4a3921.0.419", "message", "{}", {}};
  constexpr block later{"5f0c2d9a1b3e4c77.9f8e7d6c5b4a3921.0.513", "message", "{}", {}};
  STATIC_REQUIRE(validate_resumption(asked, {200, "text/event-stream", "s-1", next}).reason == continuity::next_event);
  STATIC_REQUIRE(validate_resumption(asked, {200, "text/event-stream", "s-1", later}).missed == 94);
  STATIC_REQUIRE(validate_resumption(asked, {404}).recovery() == recovery::reinitialize);
  STATIC_REQUIRE(validate_resumption(asked, {410}).next() == next_step::reconnect);
  STATIC_REQUIRE(validate_resumption(asked, {}).recovery() == recovery::retry);
  STATIC_REQUIRE(validate_resumption({}, {200}).reason == continuity::no_session);
  STATIC_REQUIRE(noexcept(validate_resumption(asked, {})));
}

TEST_CASE("without an Mcp-Session-Id there is nothing to resume whatever comes back", "[continuity]") {
  for (const std::string& cursor : {std::string(), id_of(7), id_of(7, 3), std::string("evt-000418")}) {
    for (int status = 0; status != 1000; ++status) {
      const verdict made = validate_resumption({"", cursor}, {status, event_stream, "s-2", marker_at(cursor)});
      if (made.reason == continuity::no_session) continue;
      CAPTURE(cursor, status);
      CHECK(name_of(made) == "no_session");
    }
  }
  CHECK(text_of(validate_resumption({"", ""}, {404})) == "no_session 0 reset reinitialize end");
}

TEST_CASE("every status means what the design says, with and without a cursor, and the first block does not matter",
          "[continuity]") {
  const std::string next = id_of(8);
  const std::vector<std::optional<block>> firsts{std::nullopt, event_at(next), block{}};
  for (const asked_case& asked : asked_cases()) {
    for (int status = -3; status != 1000; ++status) {
      if (status == 200) continue;
      const std::string expected = text_for(meaning_of(status, asked), asked);
      for (const std::optional<block>& first : firsts) {
        const std::string said = text_of(verdict_on(asked, {status, event_stream, "", first}));
        if (said == expected) continue;
        CAPTURE(status, text_of(asked));
        CHECK(said == expected);
      }
    }
  }
}

TEST_CASE("the kind of a stream is read from its cursor and else taken from the caller", "[continuity]") {
  for (const asked_case& asked : asked_cases()) {
    CAPTURE(text_of(asked));
    for (const int status : {0, 204, 404, 503}) {
      CHECK(verdict_on(asked, {status}).kind == (asked.is_request() ? stream_kind::request : stream_kind::standalone));
    }
  }
}

TEST_CASE("404 is a reset", "[continuity]") {
  for (const asked_case& asked : asked_cases()) {
    CHECK(text_of(verdict_on(asked, {404})) == "session_gone 0 reset reinitialize end");
  }
}

TEST_CASE("400 and 410 and any other 4xx that is not named refuse the cursor", "[continuity]") {
  for (const int status : {400, 402, 406, 407, 410, 411, 412, 418, 422, 428, 430, 451, 499}) {
    CAPTURE(status);
    const std::string cursor = id_of(7);
    const verdict made = validate_resumption({"s-1", cursor}, {status});
    CHECK(text_of(made) == "cursor_refused 0 reject resubscribe reconnect");
    CHECK(row_of(made.reason).cursor == cursor_effect::dropped);
    const std::string of_call = id_of(7, 3);
    CHECK(text_of(validate_resumption({"s-1", of_call}, {status})) == "cursor_refused 0 reject resync end");
  }
}

TEST_CASE("409 is retried at most twice and then refused", "[continuity]") {
  const std::string cursor = id_of(7);
  std::vector<std::string> said;
  for (std::uint32_t conflicts = 0; conflicts != 4; ++conflicts) {
    said.push_back(name_of(
        validate_resumption({"s-1", cursor, foreign_ids::unprovable, stream_kind::standalone, conflicts}, {409})));
  }
  CHECK(said == std::vector<std::string>{"busy", "busy", "cursor_refused", "cursor_refused"});
  CHECK(text_of(validate_resumption({"s-1", cursor}, {409})) == "busy 0  retry reconnect");
  // Without a cursor there is none that could be refused.
  CHECK(name_of(validate_resumption({"s-1", "", foreign_ids::unprovable, stream_kind::standalone, ~0U}, {409})) ==
        "busy");
}

TEST_CASE("405 and 401 and 403 stop", "[continuity]") {
  for (const asked_case& asked : asked_cases()) {
    if (asked.is_over()) continue;
    CHECK(text_of(verdict_on(asked, {405})) == "no_stream 0 reject stop end");
    CHECK(text_of(verdict_on(asked, {401})) == "unauthorized 0 reject stop end");
    CHECK(text_of(verdict_on(asked, {403})) == "unauthorized 0 reject stop end");
  }
}

TEST_CASE("204 is complete, and a resync where the answer was not taken", "[continuity]") {
  const std::string standalone = id_of(7);
  const std::string call = id_of(7, 3);
  CHECK(text_of(validate_resumption({"s-1", standalone}, {204})) == "complete 0 continue none end");
  CHECK(text_of(validate_resumption({"s-1", call, foreign_ids::unprovable, stream_kind::request, 0, true}, {204})) ==
        "complete 0 continue none end");
  CHECK(text_of(validate_resumption({"s-1", call}, {204})) == "answer_lost 0 gap resync end");
  CHECK(text_of(validate_resumption({"s-1", ""}, {204})) == "refused 0 reject stop end");
}

TEST_CASE("nothing is decided by what is neither an event stream nor a refusal", "[continuity]") {
  for (const asked_case& asked : asked_cases()) {
    if (asked.is_over() || (asked.is_request() && !asked.has_cursor())) continue;
    CAPTURE(text_of(asked));
    for (const int status : {100, 201, 202, 206, 299, 300, 302, 304, 307, 308, 408, 429, 500, 502, 503, 504, 599}) {
      CAPTURE(status);
      CHECK(text_of(verdict_on(asked, {status, event_stream})) == "undecided 0  retry reconnect");
    }
    CHECK(text_of(verdict_on(asked, {200, "application/json"})) == "undecided 0  retry reconnect");
    CHECK(text_of(verdict_on(asked, {200})) == "undecided 0  retry reconnect");
    // The network failed; and an event stream that ends before its first block: an empty 200 is no continuation.
    CHECK(text_of(verdict_on(asked, {0, event_stream})) == "disconnected 0  retry reconnect");
    CHECK(text_of(verdict_on(asked, {200, event_stream})) == "disconnected 0  retry reconnect");
  }
}

TEST_CASE("an event stream that ends before its first block is judged like no answer", "[continuity]") {
  for (const asked_case& asked : asked_cases()) {
    CAPTURE(text_of(asked));
    CHECK(text_of(verdict_on(asked, {200, event_stream})) == text_of(verdict_on(asked, {0})));
  }
}

TEST_CASE("another session id in the answer is a reset, the same one or none is not", "[continuity]") {
  const std::string next = id_of(8);
  for (const asked_case& asked : asked_cases()) {
    for (int status = 1; status != 1000; ++status) {
      const std::string bare = text_of(verdict_on(asked, {status, event_stream, "", event_at(next)}));
      const std::string same = text_of(verdict_on(asked, {status, event_stream, "s-1", event_at(next)}));
      const std::string other = text_of(verdict_on(asked, {status, event_stream, "s-2", event_at(next)}));
      if (bare == same && other == "other_session 0 reset reinitialize end") continue;
      CAPTURE(status, text_of(asked), bare);
      CHECK(same == bare);
      CHECK(other == "other_session 0 reset reinitialize end");
    }
    // No answer has no headers.
    CAPTURE(text_of(asked));
    CHECK(text_of(verdict_on(asked, {0, "", "s-2"})) == text_of(verdict_on(asked, {0})));
  }
}

TEST_CASE("session ids are compared byte for byte", "[continuity]") {
  const std::string next = id_of(8);
  const std::string cursor = id_of(7);
  for (const std::string& named : {std::string("S-1"), std::string("s-1 "), std::string(" s-1"), std::string("s-"),
                                   std::string("s-11"), std::string("s-1\0", 4), std::string("\0", 1)}) {
    CAPTURE(named);
    CHECK(name_of(validate_resumption({"s-1", cursor}, {200, event_stream, named, event_at(next)})) == "other_session");
  }
}

TEST_CASE("the content type of an event stream is told by its media type alone, without case", "[continuity]") {
  const std::string next = id_of(8);
  const std::string cursor = id_of(7);
  const auto reason_for = [&](const std::string& type) {
    return name_of(validate_resumption({"s-1", cursor}, {200, type, "", event_at(next)}));
  };
  for (const char* type :
       {"text/event-stream", "Text/Event-Stream", "TEXT/EVENT-STREAM", "text/event-stream;charset=utf-8",
        "text/event-stream; charset=utf-8", "text/event-stream ; charset=utf-8", "text/event-stream\t;q",
        " text/event-stream", "\ttext/event-stream \t", "text/event-stream;", "text/event-stream;;x"}) {
    CAPTURE(type);
    CHECK(reason_for(type) == "next_event");
  }
  for (const char* type : {"", " ", "\t", ";", "text", "text/event-strea", "text/event-streamx", "text/event-stream x",
                           "text/event-stream,", "text/event-stream-2", "xtext/event-stream", "application/json",
                           "application/json;text/event-stream", "text/plain; text/event-stream", "text /event-stream",
                           "text/ event-stream", ";text/event-stream", "text/event-stream/x", "text/event_stream"}) {
    CAPTURE(type);
    CHECK(reason_for(type) == "undecided");
  }
}

TEST_CASE("every text of the length of text/event-stream that differs in a letter is another type", "[continuity]") {
  const std::string next = id_of(8);
  const std::string cursor = id_of(7);
  const std::string type = event_stream;
  const auto is_stream = [&](const std::string& text) {
    return validate_resumption({"s-1", cursor}, {200, text, "", event_at(next)}).reason == continuity::next_event;
  };
  for (unsigned n = 0; n != 256; ++n) {
    const char byte = static_cast<char>(n);
    for (std::size_t i = 0; i != type.size(); ++i) {
      std::string other = type;
      other[i] = byte;
      const bool is_letter = type[i] >= 'a' && type[i] <= 'z';
      const bool is_same = byte == type[i] || (is_letter && byte == static_cast<char>(type[i] - 'a' + 'A'));
      CAPTURE(n, i);
      CHECK(is_stream(other) == is_same);
    }
    CAPTURE(n);
    CHECK(is_stream(type + byte) == (byte == ' ' || byte == '\t' || byte == ';'));
    CHECK(is_stream(byte + type) == (byte == ' ' || byte == '\t'));
    CHECK(is_stream(type + ' ' + byte) == (byte == ' ' || byte == '\t' || byte == ';'));
    CHECK(is_stream(type + ';' + byte));
  }
  for (std::size_t size = 0; size != type.size(); ++size) CHECK_FALSE(is_stream(type.substr(0, size)));
}

// ---- One reconnect: the first block ----------------------------------------------------------------------------------

TEST_CASE("proof of continuity is a marker with our cursor or the exact successor", "[continuity]") {
  for (const std::uint32_t stream : {0U, 3U, ~0U}) {
    for (const std::uint64_t seq : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{418}, max64 - 2}) {
      CAPTURE(stream, seq);
      const std::string cursor = id_of(seq, stream);
      const std::string next = id_of(seq + 1, stream);
      CHECK(text_of(first_after(cursor, marker_at(cursor))) == "marker 0 continue none read_on");
      CHECK(text_of(first_after(cursor, event_at(next))) == "next_event 0 continue none read_on deliver");
    }
  }
}

TEST_CASE("a marker is what has an id and no data, or the type that older protocols need", "[continuity]") {
  const std::string cursor = id_of(7);
  const std::vector<block> markers{{cursor, "message", "", {}},         {cursor, "message", {}, {}},
                                   {cursor, "message", {}, 3000},       {cursor, "resume", "{\"method\":\"x\"}", {}},
                                   {cursor, "resume", "", {}},          {cursor, "resume", {}, {}},
                                   {cursor, "anything else", "", 3000}, {cursor, "", {}, {}}};
  for (const block& b : markers) {
    CAPTURE(b.type, b.data.value_or("none"));
    CHECK(text_of(first_after(cursor, b)) == "marker 0 continue none read_on");
  }
  // With data and any other type it is an event, and one at the cursor was seen.
  for (const char* type : {"message", "Resume", "resumed", "resume ", "anything else", "Gap", "gaps", "Reset", ""}) {
    CAPTURE(type);
    CHECK(text_of(first_after(cursor, block{cursor, type, "{}", {}})) == "seen 0  none read_on");
  }
}

TEST_CASE("a marker elsewhere or a later event is a gap with the count", "[continuity]") {
  const std::string cursor = id_of(418);
  const std::string event = id_of(513);
  const std::string marker = id_of(512);
  CHECK(text_of(first_after(cursor, event_at(event))) == "event_ahead 94 gap resync read_on deliver");
  CHECK(text_of(first_after(cursor, marker_at(marker))) == "marker_ahead 94 gap resync read_on");
  const std::string nearest = id_of(420);
  CHECK(text_of(first_after(cursor, event_at(nearest))) == "event_ahead 1 gap resync read_on deliver");
  const std::string next = id_of(419);
  CHECK(text_of(first_after(cursor, marker_at(next))) == "marker_ahead 1 gap resync read_on");
}

TEST_CASE("gap and reset frames carry the cursor that was sent, and ask for a resync where nothing follows",
          "[continuity]") {
  const std::string cursor = id_of(418);
  CHECK(text_of(first_after(cursor, gap_at(cursor))) == "gap_unlocated 0 gap resync read_on");
  CHECK(text_of(first_after(cursor, reset_at(cursor))) == "reset_unlocated 0 reset resync read_on");
  for (const continuity why : {continuity::gap_unlocated, continuity::reset_unlocated}) {
    CHECK(row_of(why).cursor == cursor_effect::stays);
  }
  // Their data is never parsed: it may say anything, or not be there.
  for (const char* data : {"", "{", R"({"params":{"missed":3,"resumeFrom":"x"}})"}) {
    CHECK(text_of(first_after(cursor, block{cursor, "gap", data, {}})) == "gap_unlocated 0 gap resync read_on");
    CHECK(text_of(first_after(cursor, block{cursor, "reset", data, {}})) == "reset_unlocated 0 reset resync read_on");
  }
  CHECK(name_of(first_after(cursor, block{cursor, "gap", {}, {}})) == "gap_unlocated");
  CHECK(name_of(first_after(cursor, block{cursor, "reset", {}, {}})) == "reset_unlocated");
}

TEST_CASE("what was seen is not delivered and decides nothing", "[continuity]") {
  const std::string cursor = id_of(418);
  for (const std::uint64_t seq : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{417}, std::uint64_t{418}}) {
    CAPTURE(seq);
    const std::string old = id_of(seq);
    if (seq != 0) CHECK(text_of(first_after(cursor, event_at(old))) == "seen 0  none read_on");
    if (seq != 418) CHECK(text_of(first_after(cursor, marker_at(old))) == "seen 0  none read_on");
  }
}

TEST_CASE("another stream or another session's tag is rejected and never delivered", "[continuity]") {
  for (const std::uint64_t seq :
       {std::uint64_t{1}, std::uint64_t{417}, std::uint64_t{418}, std::uint64_t{419}, max64 - 1}) {
    CAPTURE(seq);
    const std::string cursor = id_of(418);
    const std::string call = id_of(418, 3);
    const std::string foreign = id_of(seq, 0, stranger);
    const std::string foreign_call = id_of(seq, 3, stranger);
    const std::string other_call = id_of(seq, 4);
    const std::string standalone = id_of(seq);
    for (const auto make : {event_at, marker_at, gap_at, reset_at}) {
      CHECK(text_of(first_after(cursor, make(foreign))) == "foreign_event 0 reject resubscribe reconnect");
      CHECK(text_of(first_after(call, make(foreign_call))) == "foreign_event 0 reject resync end");
      CHECK(text_of(first_after(cursor, make(other_call))) == "other_stream 0 reject resubscribe reconnect");
      CHECK(text_of(first_after(call, make(other_call))) == "other_stream 0 reject resync end");
      CHECK(text_of(first_after(call, make(standalone))) == "other_stream 0 reject resync end");
    }
  }
}

TEST_CASE("another incarnation without a reset frame is a reset that is not delivered", "[continuity]") {
  const std::string cursor = id_of(418);
  const std::string call = id_of(418, 3);
  for (const std::uint64_t seq : {std::uint64_t{1}, std::uint64_t{418}, std::uint64_t{419}, max64 - 1}) {
    CAPTURE(seq);
    const std::string id = id_of(seq, 0, next_life);
    const std::string of_call = id_of(seq, 3, next_life);
    for (const auto make : {event_at, marker_at, gap_at, reset_at}) {
      CHECK(text_of(first_after(cursor, make(id))) == "other_incarnation 0 reset resubscribe reconnect");
      CHECK(text_of(first_after(call, make(of_call))) == "other_incarnation 0 reset resync end");
    }
  }
  // In another stream of another incarnation nothing is delivered either, and the cursor is not sent again.
  const std::string elsewhere = id_of(419, 4, next_life);
  for (const std::string& sent_one : {cursor, call}) {
    const verdict made = first_after(sent_one, event_at(elsewhere));
    CHECK_FALSE(made.deliver);
    CHECK(row_of(made.reason).recovery == recovery::resubscribe);
    CHECK(row_of(made.reason).cursor == cursor_effect::dropped);
  }
}

TEST_CASE("an event without an id is delivered and moves nothing", "[continuity]") {
  for (const std::string& cursor : {std::string(), id_of(7), id_of(7, 3), std::string("evt-000418")}) {
    CAPTURE(cursor);
    for (const char* type : {"message", "gap", "reset", "resume", "anything else"}) {
      const verdict made = first_after(cursor, block{{}, type, "{}", {}});
      // Where a cursor was sent, a stream that begins without an id proves nothing.
      CHECK(text_of(made) ==
            (cursor.empty() ? "message 0  none read_on deliver" : "unnumbered 0 gap resync read_on deliver"));
      CHECK(row_of(made.reason).cursor == cursor_effect::stays);
    }
    // With neither id nor data there is nothing to deliver.
    for (const block& b :
         {block{}, block{{}, "message", "", {}}, block{{}, "gap", {}, {}}, block{{}, "message", {}, 9}}) {
      CHECK(text_of(first_after(cursor, b)) == "blank 0  none read_on");
    }
  }
}

TEST_CASE("an event is delivered only if it has data", "[continuity]") {
  const std::string opaque = "evt-1";
  const std::string cursor = "evt-0";
  CHECK(first_after("", event_at(opaque)).deliver);
  CHECK(first_after(cursor, event_at(opaque)).deliver);
  CHECK_FALSE(first_after("", marker_at(opaque)).deliver);
  CHECK_FALSE(first_after(cursor, marker_at(opaque)).deliver);
  CHECK_FALSE(first_after(cursor, block{opaque, "message", {}, {}}).deliver);
}

TEST_CASE("a gap frame, a reset frame and a marker are never delivered, also where their id proves nothing",
          "[continuity]") {
  const std::string opaque = "evt-1";
  for (const std::string& cursor : {std::string(), std::string("evt-0"), id_of(7)}) {
    for (const char* type : {"gap", "reset", "resume"}) {
      CAPTURE(cursor, type);
      CHECK_FALSE(first_after(cursor, block{opaque, type, "{}", {}}).deliver);
      CHECK_FALSE(first_after(cursor, block{"", type, "{}", {}}).deliver);
    }
  }
}

TEST_CASE("an id that cannot be proven is delivered, and asks for a resync on a resumed connection", "[continuity]") {
  const std::string text_cursor = "evt-000418";
  const std::string cursor = id_of(7);
  const std::string event = id_of(8);
  for (const std::string& id : {std::string("evt-000419"), std::string("evt-000418"), std::string("x"),
                                std::string(100000, 'a'), std::string("\xFF\x01", 2)}) {
    CAPTURE(id.substr(0, 10));
    CHECK(text_of(first_after(text_cursor, event_at(id))) == "unprovable 0 gap resync read_on deliver");
    CHECK(text_of(first_after("", event_at(id))) == "opaque 0  none read_on deliver");
    // Where the session's tags are known an id without them is not this session's.
    CHECK(text_of(first_after(cursor, event_at(id))) == "foreign_event 0 reject resubscribe reconnect");
  }
  // An empty id says nothing. An id of the library proves nothing after one that is none.
  CHECK(text_of(first_after(cursor, event_at(""))) == "unprovable 0 gap resync read_on deliver");
  CHECK(text_of(first_after("", event_at(""))) == "opaque 0  none read_on deliver");
  CHECK(text_of(first_after(text_cursor, event_at(event))) == "unprovable 0 gap resync read_on deliver");
  CHECK(text_of(first_after(text_cursor, marker_at(event))) == "unprovable 0 gap resync read_on");
}

TEST_CASE("malformed event ids are no event ids", "[continuity]") {
  const std::string cursor = id_of(7);
  std::string upper = id_of(8);
  upper[1] = 'F';
  for (const std::string& id : {upper, id_of(8) + " ", " " + id_of(8), id_of(8) + "\r", "0" + id_of(8),
                                id_of(8).substr(0, id_of(8).size() - 1) + "08", id_of(max64) + "0"}) {
    CAPTURE(id);
    CHECK(name_of(first_after(cursor, event_at(id))) == "foreign_event");
    // As a cursor it is a text that proves nothing.
    const std::string event = id_of(9);
    CHECK(name_of(first_after(id, event_at(event))) == "unprovable");
  }
}

TEST_CASE("without a cursor the stream is expected from its first event", "[continuity]") {
  for (const tags owner : {own, next_life, stranger, tags{0, 0}}) {
    for (const std::uint64_t n : {std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{419}, max64 - 1}) {
      CAPTURE(n);
      const std::string id = id_of(n, 0, owner);
      const std::string gap_of_n = std::to_string(n) + " gap resync read_on";
      const std::string gap_before = std::to_string(n - 1) + " gap resync read_on deliver";
      CHECK(text_of(first_after("", marker_at(id))) == "marker_ahead " + gap_of_n);
      CHECK(text_of(first_after("", event_at(id))) ==
            (n == 1 ? "next_event 0 continue none read_on deliver" : "event_ahead " + gap_before));
    }
    const std::string start = id_of(0, 0, owner);
    CHECK(text_of(first_after("", marker_at(start))) == "marker 0 continue none read_on");
    // It was the standalone stream that was asked for.
    const std::string call = id_of(1, 1, owner);
    CHECK(text_of(first_after("", event_at(call))) == "other_stream 0 reject resubscribe reconnect");
  }
}

TEST_CASE("a gap or reset frame says so also to a client without a cursor", "[continuity]") {
  for (const std::uint64_t n : {std::uint64_t{0}, std::uint64_t{5}, max64 - 1}) {
    const std::string id = id_of(n);
    CHECK(text_of(first_after("", gap_at(id))) == "gap_unlocated 0 gap resync read_on");
    CHECK(text_of(first_after("", reset_at(id))) == "reset_unlocated 0 reset resync read_on");
  }
}

namespace {

// Where a block of the cursor's own tags and stream stands, in numbers that cannot wrap: `cursor` and `seq` are small
// and count from the same place.
std::string expected_text(char what, int seq, int cursor) {
  if (what == 'g' && seq == cursor) return "gap_unlocated 0 gap resync read_on";
  if (what == 'r' && seq == cursor) return "reset_unlocated 0 reset resync read_on";
  if (what == 'e') {
    if (seq <= cursor) return "seen 0  none read_on";
    if (seq == cursor + 1) return "next_event 0 continue none read_on deliver";
    return "event_ahead " + std::to_string(seq - cursor - 1) + " gap resync read_on deliver";
  }
  if (seq < cursor) return "seen 0  none read_on";
  if (seq == cursor) return "marker 0 continue none read_on";
  return "marker_ahead " + std::to_string(seq - cursor) + " gap resync read_on";
}

block block_of(char what, const std::string& id) {
  if (what == 'e') return event_at(id);
  if (what == 'g') return gap_at(id);
  return what == 'r' ? reset_at(id) : marker_at(id);
}

}  // namespace

TEST_CASE("a block beside any cursor is what counting says, wherever the numbers start", "[continuity]") {
  // The first range begins with event 1, the last one ends with 2^64 - 2, the last that is issued.
  const std::uint64_t shifts[] = {1, (std::uint64_t{1} << 32U) - 3, (std::uint64_t{1} << 53U) - 3,
                                  (std::uint64_t{1} << 63U) - 3, max64 - 7};
  for (const std::uint64_t shift : shifts) {
    for (int n = 0; n != 7 * 7 * 4; ++n) {
      const int cursor = n % 7;
      const int seq = n / 7 % 7;
      const char what = "emgr"[n / 49];
      for (const std::uint32_t stream : {0U, 1U}) {
        CAPTURE(shift, cursor, seq, what, stream);
        const std::string sent_one = id_of(shift + static_cast<std::uint64_t>(cursor), stream);
        const std::string came = id_of(shift + static_cast<std::uint64_t>(seq), stream);
        CHECK(text_of(first_after(sent_one, block_of(what, came))) == expected_text(what, seq, cursor));
      }
    }
  }
}

TEST_CASE("a count of missed events does not wrap at the ends of the number type", "[continuity]") {
  const std::string zero = id_of(0);
  const std::string last = id_of(max64 - 1);
  const std::string one = id_of(1);
  CHECK(first_after(zero, event_at(last)).missed == max64 - 2);
  CHECK(first_after(zero, marker_at(last)).missed == max64 - 1);
  CHECK(first_after("", event_at(last)).missed == max64 - 2);
  CHECK(first_after("", marker_at(last)).missed == max64 - 1);
  CHECK(text_of(first_after(zero, event_at(one))) == "next_event 0 continue none read_on deliver");
  CHECK(text_of(first_after(zero, marker_at(zero))) == "marker 0 continue none read_on");
  // Nothing follows the last number, and nothing before it does.
  for (const std::uint64_t end : {max64 - 1, max64}) {
    const std::string cursor = id_of(end);
    for (const std::uint64_t seq : {std::uint64_t{1}, std::uint64_t{2}, max64 - 2, max64 - 1}) {
      CAPTURE(end, seq);
      const std::string id = id_of(seq);
      CHECK(text_of(first_after(cursor, event_at(id))) == "seen 0  none read_on");
    }
    CHECK(text_of(first_after(cursor, marker_at(zero))) == "seen 0  none read_on");
  }
}

TEST_CASE("an id that no session issues is none of this session's", "[continuity]") {
  // 2^64 - 1 parses and is never issued; seq 0 is the place before the first event, and no event's.
  const std::string beyond = id_of(max64);
  const std::string zero = id_of(0);
  for (const std::string& cursor : {std::string(), zero, id_of(7), id_of(max64 - 1), beyond}) {
    CAPTURE(cursor);
    for (const auto make : {event_at, marker_at, gap_at, reset_at}) {
      CHECK(text_of(first_after(cursor, make(beyond))) == "foreign_event 0 reject resubscribe reconnect");
    }
    CHECK(text_of(first_after(cursor, event_at(zero))) == "foreign_event 0 reject resubscribe reconnect");
  }
}

TEST_CASE("no bytes of a server are delivered under another id than one that may follow", "[continuity]") {
  // The ends of the type, all forms of owner and stream: a block is delivered only as the next, after a reported gap,
  // or where its id proves nothing.
  for (const tags owner : {own, next_life, stranger}) {
    for (const std::uint32_t stream : {0U, 1U, ~0U}) {
      for (const std::uint64_t seq :
           {std::uint64_t{0}, std::uint64_t{6}, std::uint64_t{7}, std::uint64_t{8}, max64 - 1}) {
        const std::string id = id_of(seq, stream, owner);
        const std::string cursor = id_of(7);
        const bool may_follow = owner == own && stream == 0 && seq > 7;
        CAPTURE(id);
        CHECK(first_after(cursor, event_at(id)).deliver == may_follow);
      }
    }
  }
}

TEST_CASE("what comes inside the reported gap is not delivered and asks for a resync once", "[continuity]") {
  for (const std::uint64_t seq : {std::uint64_t{419}, std::uint64_t{500}, std::uint64_t{512}}) {
    CAPTURE(seq);
    const std::string marker = id_of(512);
    const std::string inside = id_of(seq);
    const std::string before = id_of(418);
    stream_guard guard(stream_kind::standalone, "s-1", before);
    REQUIRE(name_of(guard.answer({200, event_stream})) == "opened");
    REQUIRE(text_of(guard.block(marker_at(marker))) == "marker_ahead 94 gap resync read_on");
    guard.taken();
    CHECK(text_of(guard.block(event_at(before))) == "seen 0  none read_on");
    CHECK(text_of(guard.block(event_at(inside))) == "inside_gap 0 gap resync read_on");
    CHECK(text_of(guard.block(event_at(inside))) == "seen 0  none read_on");
    CHECK(guard.cursor() == marker);
  }
}

// ---- Ids of other servers --------------------------------------------------------------------------------------------

TEST_CASE("a trailing decimal counter is incremented and its width is kept", "[continuity]") {
  const std::vector<std::pair<const char*, const char*>> known{{"evt-000418", "evt-000419"},
                                                               {"evt-000512", "evt-000513"},
                                                               {"evt-999", "evt-1000"},
                                                               {"evt-0999", "evt-1000"},
                                                               {"evt-099", "evt-100"},
                                                               {"stream_7", "stream_8"},
                                                               {"sess:12", "sess:13"},
                                                               {"0", "1"},
                                                               {"9", "10"},
                                                               {"00", "01"},
                                                               {"09", "10"},
                                                               {"99", "100"},
                                                               {"-1", "-2"},
                                                               {"1.9", "1.10"},
                                                               {"a1b2", "a1b3"},
                                                               {" 9", " 10"},
                                                               {"9a9", "9a10"},
                                                               {"18446744073709551615", "18446744073709551616"}};
  for (const auto& [id, next] : known) {
    CAPTURE(id);
    CHECK(increment_event_id(id) == std::string(next));
  }
}

TEST_CASE("an id that does not end with a digit has no increment", "[continuity]") {
  for (const std::string& id :
       {std::string(), std::string("a"), std::string("evt-"), std::string("12a"), std::string("1 "), std::string("7\n"),
        std::string("7\0", 2), std::string("evt-000418."), std::string("0x1f"), std::string("\xD9\xA1"),
        std::string("7/"), std::string("7:")}) {
    CAPTURE(id);
    CHECK_FALSE(increment_event_id(id));
  }
  for (unsigned n = 0; n != 256; ++n) {
    const std::string id = "evt-1" + std::string(1, static_cast<char>(n));
    CHECK(increment_event_id(id).has_value() == (n >= '0' && n <= '9'));
  }
}

TEST_CASE("counters of every width count like numbers", "[continuity]") {
  std::size_t wrong = 0;
  for (std::size_t width = 1; width != 7; ++width) {
    for (std::uint64_t n = 0; n != 12000; ++n) {
      if (increment_event_id("evt-" + padded(n, width)) != "evt-" + padded(n + 1, width)) ++wrong;
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("the increment of any id is the sum on paper, hundreds of digits beyond 64 bits too", "[continuity]") {
  property::random source(418);
  std::size_t overflows = 0;
  std::size_t large = 0;
  for (int i = 0; i != 4000; ++i) {
    const split_id id = random_split(source);
    const std::string sum = plus_one(id.digits);
    if (sum.size() != id.digits.size()) ++overflows;
    if (id.digits.size() > 20) ++large;
    CAPTURE(id.whole());
    REQUIRE(increment_event_id(id.whole()) == id.head + sum);
    REQUIRE(increment_event_id(id.digits) == sum);
  }
  CHECK(overflows > 500);
  CHECK(large > 500);
}

TEST_CASE("when told so exactly the increment of the cursor is the next event and nothing else", "[continuity]") {
  property::random source(419);
  for (int i = 0; i != 1000; ++i) {
    const split_id id = random_split(source);
    const std::string cursor = id.whole();
    const std::string next = id.head + plus_one(id.digits);
    CAPTURE(cursor);
    REQUIRE(text_of(counted_after(cursor, event_at(next))) == "next_event 0 continue none read_on deliver");
    for (const std::string& other : near_misses(id)) {
      CAPTURE(other);
      REQUIRE(text_of(counted_after(cursor, event_at(other))) == "unprovable 0 gap resync read_on deliver");
    }
  }
}

TEST_CASE("when told so a marker is proof at the very cursor and nowhere else", "[continuity]") {
  property::random source(420);
  for (int i = 0; i != 500; ++i) {
    const split_id id = random_split(source);
    const std::string cursor = id.whole();
    const std::string next = id.head + plus_one(id.digits);
    CAPTURE(cursor);
    REQUIRE(text_of(counted_after(cursor, marker_at(cursor))) == "marker 0 continue none read_on");
    REQUIRE(text_of(counted_after(cursor, gap_at(cursor))) == "gap_unlocated 0 gap resync read_on");
    REQUIRE(text_of(counted_after(cursor, reset_at(cursor))) == "reset_unlocated 0 reset resync read_on");
    REQUIRE(text_of(counted_after(cursor, marker_at(next))) == "unprovable 0 gap resync read_on");
    for (const std::string& other : near_misses(id)) {
      if (other == cursor) continue;
      REQUIRE(text_of(counted_after(cursor, marker_at(other))) == "unprovable 0 gap resync read_on");
    }
  }
}

TEST_CASE("without being told no counter proves anything", "[continuity]") {
  property::random source(421);
  for (int i = 0; i != 500; ++i) {
    const split_id id = random_split(source);
    const std::string cursor = id.whole();
    const std::string next = id.head + plus_one(id.digits);
    CAPTURE(cursor);
    REQUIRE(text_of(first_after(cursor, event_at(next))) == "unprovable 0 gap resync read_on deliver");
    REQUIRE(text_of(first_after(cursor, marker_at(cursor))) == "unprovable 0 gap resync read_on");
    REQUIRE(name_of(first_after(cursor, event_at(cursor))) == "unprovable");
  }
}

TEST_CASE("a counter is asked only where the cursor is no event id", "[continuity]") {
  const std::string cursor = id_of(9);
  const std::string next = id_of(10);
  CHECK(name_of(counted_after(cursor, event_at(next))) == "next_event");
  // The increment of the text is neither the next event nor this session's.
  const std::string last = id_of(max64);
  const std::string beyond = increment_event_id(last).value();
  CHECK(name_of(counted_after(last, event_at(beyond))) == "foreign_event");
  // Without a cursor there is nothing to count from.
  const std::string first = "evt-1";
  CHECK(text_of(counted_after("", event_at(first))) == "opaque 0  none read_on deliver");
  // A cursor without a counter has no next event.
  CHECK(name_of(counted_after("evt-", event_at(first))) == "unprovable");
}

// ---- Text and exceptions ---------------------------------------------------------------------------------------------

TEST_CASE("a verdict is described in one sentence with what is missed", "[continuity]") {
  CHECK(describe(verdict_with(continuity::session_gone)) == "reset: 404; recovery: reinitialize");
  CHECK(describe(verdict_with(continuity::unauthorized)) == "reject: 401, 403; recovery: stop");
  CHECK(describe(verdict_with(continuity::opened)) == "undecided: an event stream; recovery: none");
  CHECK(describe(verdict_with(continuity::other_stream)) == "reject: id of another stream; recovery: resubscribe");
  CHECK(describe(verdict_with(continuity::other_stream, stream_kind::request)) ==
        "reject: id of another stream; recovery: resync");
  const verdict gap = verdict_with(continuity::event_ahead, stream_kind::standalone, 94);
  CHECK(describe(gap) == "gap: " + std::string(row_of(gap.reason).fact) + "; 94 missed; recovery: resync");
}

TEST_CASE("the description of every row has its outcome and fact and count and recovery", "[continuity]") {
  for (const continuity why : every_reason()) {
    for (const stream_kind kind : {stream_kind::standalone, stream_kind::request}) {
      for (const std::uint64_t missed : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{94}, max64}) {
        const verdict made = verdict_with(why, kind, missed);
        const std::string outcome_word = made.outcome() ? outcome_text(made.outcome()) : "undecided";
        const std::string count = missed != 0 ? "; " + std::to_string(missed) + " missed" : "";
        CHECK(describe(made) == outcome_word + ": " + std::string(row_of(why).fact) + count +
                                    "; recovery: " + std::string(to_string(made.recovery())));
        CHECK(to_string(made) == describe(made));
      }
    }
  }
}

TEST_CASE("a description never repeats foreign bytes", "[continuity]") {
  // The same judgement of two servers that differ in every byte they chose is the same text.
  const std::string mine = "cursor#1";
  const block first{"first#11", "type#111", "data#1111", 11111};
  const block second{"second##222222", "type##2222222", "data##22222222", 222222222};
  CHECK(describe(validate_resumption({"session#1", mine}, {200, "text/event-stream;a", "", first})) ==
        describe(validate_resumption({"session##22", mine}, {200, "text/event-stream", "", second})));
  CHECK(describe(validate_resumption({"a", mine}, {500, "x", "", {}})) ==
        describe(validate_resumption({"b", mine}, {599, "y", "", {}})));
  CHECK(describe(validate_resumption({"a", mine}, {500, "x", "one", {}})) ==
        describe(validate_resumption({"b", mine}, {200, "y", "two", {}})));
  const std::string cursor = id_of(7);
  const std::string foreign = id_of(123456789, 0, stranger);
  const std::string said = describe(first_after(cursor, event_at(foreign)));
  CHECK(said.find("123456789") == std::string::npos);
  CHECK(said.find("1111") == std::string::npos);
}

#if MCP_RESUME_EXCEPTIONS
TEST_CASE("require_continuity returns exactly where the outcome is continue and else throws the description",
          "[continuity]") {
  std::set<std::string> returned;
  for (const continuity why : every_reason()) {
    for (const stream_kind kind : {stream_kind::standalone, stream_kind::request}) {
      const verdict made = verdict_with(why, kind, 94);
      std::string said;
      try {
        require_continuity(made);
        returned.insert(name_of(made));
        continue;
      } catch (const resumption_gap_error& error) {
        said = error.what();
      }
      CAPTURE(to_string(why));
      CHECK(said == describe(made));
      CHECK(made.outcome() != outcome::continue_);
    }
  }
  CHECK(returned == std::set<std::string>{"complete", "marker", "next_event"});
}
#endif
