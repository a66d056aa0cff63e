// mcp-resume 0.1.0, the client's side: proves that a server continued an SSE stream. One file beside resume.hpp.
// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the mcp-resume authors. The licence is in LICENSE: keep it with every copy of this file.
// ---- Manual --------------------------------------------------------------------------------------------------------
// A client that comes back with `Mcp-Session-Id` and `Last-Event-ID` cannot hope that the server goes on where it left
// off: many replay other events, skip lost ones or start anew in silence. This file cuts the bytes of a stream into
// blocks, judges each answer and each block by the event ids of resume.hpp, and says what to do. It has no sockets and
// no clock. Terms as in resume.hpp, and
//   block       what one blank line ends in an event stream (HTML 9.2.6)
//   marker      block that says by its id: the stream goes on exactly after this one
//   place       where a stream is to go on: at the cursor; without one before event 1; after a resubscribe where the
//               server begins, but not before what was taken
//   to resync   read the lists again, and issue again what was in flight
//   taken       of an event: the application has what it brought
//
// Smallest program
//   mcp_resume::stream_guard guard(mcp_resume::stream_kind::standalone, "8c0f");
//   mcp_resume::reconnect_policy policy;
//   const auto goes_on = [&](const mcp_resume::verdict& made) {  // what every verdict needs
//     policy.note(made);
//     if (made.recovery() == mcp_resume::recovery::resync) read_the_lists_again();
//     return made.next() == mcp_resume::next_step::read_on;
//   };
//   const auto got = send_get(guard.session_id(), guard.cursor());
//   bool is_open = goes_on(guard.answer({got.status, got.content_type}));
//   mcp_resume::event_reader reader;
//   for (std::string bytes; is_open && !reader.is_too_large() && receive(bytes);) {
//     std::string_view rest = bytes;
//     while (auto block = is_open ? reader.next(rest) : std::nullopt) {
//       const auto made = guard.block(*block);
//       is_open = goes_on(made);
//       if (made.deliver) handle(*block->data);
//       guard.taken();                                           // now the cursor moves
//     }
//   }
//   if (is_open) goes_on(guard.closed());
//   wait(policy.wait_ms(random_bits()));                         // then again, unless policy.has_ended()
// README has a program that reconnects and follows request streams.
//
// Continuity table: rules are tried top down, the first that fits decides. Rows 1 to 15 judge answers, and the end of a
// connection, which is an answer without status; the others judge blocks. Where no outcome stands nothing is decided
// yet. A request stream cannot be opened without its cursor: where `resubscribe` stands, its recovery is `resync` and
// it ends. An event is delivered only if it has data.
// | # | fact | reason | outcome | recovery | next | cursor | deliver |
// |--:|---|---|---|---|---|---|---|
// | 1 | no `Mcp-Session-Id` to send | `no_session` | reset | reinitialize | end | stays | no |
// | 2 | the answer carries another `Mcp-Session-Id` | `other_session` | reset | reinitialize | end | stays | no |
// | 3 | 404 | `session_gone` | reset | reinitialize | end | stays | no |
// | 4 | 204 for a cursor, or a request stream ends in any way; no answer is owed | `complete` | continue | none | end | stays | no |
// | 5 | 204 for a cursor; the answer was not taken | `answer_lost` | gap | resync | end | stays | no |
// | 6 | 401, 403 | `unauthorized` | reject | stop | end | stays | no |
// | 7 | 405 | `no_stream` | reject | stop | end | stays | no |
// | 8 | a request stream ends and left no cursor | `unresumable` | gap | resync | end | stays | no |
// | 9 | without a cursor: 204, or 4xx but 408, 409, 429 | `refused` | reject | stop | end | stays | no |
// | 10 | 409 without a cursor, or for the first two times | `busy` |  | retry | reconnect | stays | no |
// | 11 | 409 once more, or 4xx but 408, 429 | `cursor_refused` | reject | resubscribe | reconnect | dropped | no |
// | 12 | 408, 429, 5xx, 3xx, another 2xx, no event stream | `undecided` |  | retry | reconnect | stays | no |
// | 13 | no answer, or the connection has ended | `disconnected` |  | retry | reconnect | stays | no |
// | 14 | an event stream without a cursor, after a resubscribe or after events that left none | `reopened` | reset | resync | read_on | stays | no |
// | 15 | an event stream | `opened` |  | none | read_on | stays | no |
// | 16 | no id, and no data or empty data | `blank` |  | none | read_on | stays | no |
// | 17 | no id, the first block of a resumed connection | `unnumbered` | gap | resync | read_on | stays | yes |
// | 18 | no id | `message` |  | none | read_on | stays | yes |
// | 19 | id of another session | `foreign_event` | reject | resubscribe | reconnect | dropped | no |
// | 20 | id of another stream | `other_stream` | reject | resubscribe | reconnect | dropped | no |
// | 21 | after a reset frame: marker of another incarnation | `reset_located` | reset | resync | read_on | moves | no |
// | 22 | id of another incarnation | `other_incarnation` | reset | resubscribe | reconnect | dropped | no |
// | 23 | id that cannot be proven, the first on a resumed connection or after a signal | `unprovable` | gap | resync | read_on | moves | yes |
// | 24 | id that cannot be proven | `opaque` |  | none | read_on | moves | yes |
// | 25 | gap frame under the cursor, anywhere without one; its place follows | `gap_announced` | gap | none | read_on | stays | no |
// | 26 | gap frame under the cursor, anywhere without one; nothing more is known | `gap_unlocated` | gap | resync | read_on | stays | no |
// | 27 | reset frame under the cursor, anywhere without one; its place follows | `reset_announced` | reset | none | read_on | stays | no |
// | 28 | reset frame under the cursor, anywhere without one; nothing more is known | `reset_unlocated` | reset | resync | read_on | stays | no |
// | 29 | event right after the place | `next_event` | continue | none | read_on | moves | yes |
// | 30 | marker at the place | `marker` | continue | none | read_on | moves | no |
// | 31 | event further after the place | `event_ahead` | gap | resync | read_on | moves | yes |
// | 32 | after a gap frame: marker after the place | `gap_located` | gap | resync | read_on | moves | no |
// | 33 | marker after the place | `marker_ahead` | gap | resync | read_on | moves | no |
// | 34 | after a gap or reset frame: up to the place | `misplaced` | gap | resync | read_on | stays | no |
// | 35 | up to the place and inside the last gap, for the first time | `inside_gap` | gap | resync | read_on | stays | no |
// | 36 | up to the place | `seen` |  | none | read_on | stays | no |
//
// Without a cursor the place is before event 1, since what was sent before the first block cannot be proven to have
// come. The resync that a resubscribe includes is due when the new stream is open: an earlier one would miss what the
// old connection swallowed.
//
// Rules of every function: bytes of a server are never a precondition; nothing throws but strings that grow (bad_alloc:
// close the connection, the cursor has not moved). Values are plain data; a guard is externally synchronised.

#ifndef MCP_RESUME_CLIENT_HPP
#define MCP_RESUME_CLIENT_HPP

#include "resume.hpp"

#if MCP_RESUME_VERSION != 100
#error "client.hpp and resume.hpp are of different versions"
#endif

namespace mcp_resume {
inline namespace MCP_RESUME_INLINE_NAMESPACE {

// ---- Blocks --------------------------------------------------------------------------------------------------------
// What one blank line ends. Views of the event_reader: they are valid until its next call.
struct block {
  std::optional<std::string_view> id;  // its own: absent and empty differ
  std::string_view type = "message";
  std::optional<std::string_view> data;   // the `data` lines, joined by LF
  std::optional<std::uint64_t> retry_ms;  // of digits alone; what is beyond 64 bits is the largest number
};

// Cuts the bytes of one connection into blocks, by HTML 9.2.6: lines end with CR, LF or CRLF, one byte order mark is
// dropped, an id with NUL is ignored, and a block that the end of the stream cuts off is none. Bytes are not validated
// as UTF-8. The bound holds for the open block and the line that is being read, comments aside; memory, while strings
// grow, up to about three times the bound. What a large block took is given back with the next one.
class event_reader {
 public:
  explicit event_reader(std::size_t max_block_bytes = std::size_t{16} << 20U) noexcept : max_(max_block_bytes) {}
  // Takes bytes from the front of `bytes` up to the end of a block that has an id, data or `retry:`, and returns it.
  // None when all are taken, or when a block is over the bound. Call it until it returns none, then with the next bytes
  // of the connection; each connection has a reader of its own. Cost: the bytes that are taken. If it throws bad_alloc,
  // the open block is spoilt: close the connection.
  [[nodiscard]] std::optional<block> next(std::string_view& bytes);
  // A block is over the bound: no more comes, close the connection.
  [[nodiscard]] bool is_too_large() const noexcept { return is_too_large_; }
 private:
  static constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  void end_line(std::string_view line);
  std::string_view without_mark(std::string_view line) const noexcept;
  void take_field(std::string_view name, std::string_view value);
  void begin_block() noexcept;
  static void empty(std::string& held) noexcept;
  std::size_t held() const noexcept { return line_.size() + id_.size() + type_.size() + data_.size(); }

  std::size_t max_;
  std::string line_;  // of a line that is not complete yet
  std::string id_, type_, data_;
  std::optional<std::uint64_t> retry_ms_;
  bool has_id_ = false;
  bool has_data_ = false;
  bool is_first_line_ = true;
  bool is_block_over_ = false;
  bool follows_cr_ = false;
  bool is_too_large_ = false;
};

// Keeps what blocks of a usual size need, so that they do not allocate.
inline void event_reader::empty(std::string& held) noexcept {
  constexpr std::size_t most_kept = std::size_t{64} << 10U;
  if (held.capacity() > most_kept) {
    std::string().swap(held);
  } else {
    held.clear();
  }
}

inline void event_reader::begin_block() noexcept {
  for (std::string* held : {&id_, &type_, &data_}) empty(*held);
  retry_ms_.reset();
  has_id_ = has_data_ = is_block_over_ = false;
}

inline std::optional<block> event_reader::next(std::string_view& bytes) {
  if (is_block_over_) begin_block();
  while (!bytes.empty() && !is_too_large_) {
    if (std::exchange(follows_cr_, false) && bytes[0] == '\n') {
      bytes.remove_prefix(1);
      continue;
    }
    // A byte order mark is waited for, so that what follows it is known to be a comment or not.
    const bool is_mark_open = is_first_line_ && line_.size() < byte_order_mark.size();
    const std::string_view ahead = bytes.substr(0, is_mark_open ? byte_order_mark.size() - line_.size() : bytes.npos);
    std::size_t size = 0;
    while (size != ahead.size() && ahead[size] != '\r' && ahead[size] != '\n') ++size;
    const bool is_complete = size != ahead.size();
    std::string_view part = bytes.substr(0, size);
    const bool is_begun = !without_mark(line_).empty();
    const std::string_view begun = is_begun ? without_mark(line_) : part;
    const bool is_comment = !begun.empty() && begun[0] == ':';
    if (is_comment) part = is_begun ? "" : ":";  // however long it is, it takes no memory
    is_too_large_ = !is_comment && part.size() > max_ - held();
    if (is_too_large_) break;
    if (is_complete && line_.empty()) {
      end_line(part);
    } else {
      line_.append(part);
      if (is_complete) end_line(line_);
    }
    if (is_complete) empty(line_);
    follows_cr_ = is_complete && bytes[size] == '\r';
    bytes.remove_prefix(size + (is_complete ? 1 : 0));
    if (is_block_over_) break;
  }
  if (!is_block_over_) return std::nullopt;
  block over;
  if (has_id_) over.id = id_;
  if (!type_.empty()) over.type = type_;
  if (has_data_) over.data = data_;
  over.retry_ms = retry_ms_;
  return over;
}

// The line without the byte order mark that the first one may begin with.
inline std::string_view event_reader::without_mark(std::string_view line) const noexcept {
  const bool is_marked = is_first_line_ && line.substr(0, byte_order_mark.size()) == byte_order_mark;
  return is_marked ? line.substr(byte_order_mark.size()) : line;
}

inline void event_reader::end_line(std::string_view line) {
  line = without_mark(line);
  is_first_line_ = false;
  if (line.empty()) {
    is_block_over_ = has_id_ || has_data_ || retry_ms_;
    if (!is_block_over_) begin_block();
    return;
  }
  const std::size_t colon = line.find(':');
  std::string_view value = colon == line.npos ? std::string_view() : line.substr(colon + 1);
  if (!value.empty() && value[0] == ' ') value.remove_prefix(1);
  take_field(line.substr(0, colon), value);
}

inline void event_reader::take_field(std::string_view name, std::string_view value) {
  if (name == "data") {
    if (has_data_) data_.push_back('\n');
    data_.append(value);
    has_data_ = true;
  } else if (name == "event") {
    empty(type_);
    type_.append(value);
  } else if (name == "id" && value.find('\0') == value.npos) {
    empty(id_);
    id_.append(value);
    has_id_ = true;
  } else if (name == "retry") {
    constexpr std::uint64_t largest = ~std::uint64_t{0};
    std::uint64_t number = 0;
    for (const char c : value) {
      if (c < '0' || c > '9') return;
      const auto digit = static_cast<std::uint64_t>(c - '0');
      number = number > (largest - digit) / 10 ? largest : number * 10 + digit;
    }
    if (!value.empty()) retry_ms_ = number;
  }
}

// ---- Continuity ----------------------------------------------------------------------------------------------------
// The standalone GET stream, or the stream that answers a POST.
enum class stream_kind : std::uint8_t { standalone, request };

// What the transport does after a verdict: read on, connect again after the policy's wait, or nothing more.
enum class next_step : std::uint8_t { read_on, reconnect, end };

// What happens to the cursor: it moves to the block's id once that is taken; a dropped one is never sent again.
enum class cursor_effect : std::uint8_t { stays, moves, dropped };

// Why an answer or a block is judged as it is: one reason for each row of the table, in its order.
// clang-format off
enum class continuity : std::uint8_t {
  no_session, other_session, session_gone, complete, answer_lost, unauthorized, no_stream, unresumable, refused, busy,
  cursor_refused, undecided, disconnected, reopened, opened, blank, unnumbered, message, foreign_event, other_stream,
  reset_located, other_incarnation, unprovable, opaque, gap_announced, gap_unlocated, reset_announced,
  reset_unlocated, next_event, marker, event_ahead, gap_located, marker_ahead, misplaced, inside_gap, seen
};
// clang-format on

struct continuity_row {
  continuity reason;
  std::optional<mcp_resume::outcome> outcome;  // none: nothing is decided yet
  mcp_resume::recovery recovery;
  next_step next;
  cursor_effect cursor;
  bool deliver;           // if the block has data
  std::string_view name;  // of the reason
  std::string_view fact;  // the rule in words
};

// The one place of every row. Row n of the manual is element n - 1.
// clang-format off
namespace detail::continuity_rows {
using c = continuity;
using o = outcome;
using r = recovery;
using n = next_step;
using e = cursor_effect;
inline constexpr std::nullopt_t open = std::nullopt;
inline constexpr continuity_row rows[] = {
    {c::no_session, o::reset, r::reinitialize, n::end, e::stays, false, "no_session", "no `Mcp-Session-Id` to send"},
    {c::other_session, o::reset, r::reinitialize, n::end, e::stays, false, "other_session", "the answer carries another `Mcp-Session-Id`"},
    {c::session_gone, o::reset, r::reinitialize, n::end, e::stays, false, "session_gone", "404"},
    {c::complete, o::continue_, r::none, n::end, e::stays, false, "complete", "204 for a cursor, or a request stream ends in any way; no answer is owed"},
    {c::answer_lost, o::gap, r::resync, n::end, e::stays, false, "answer_lost", "204 for a cursor; the answer was not taken"},
    {c::unauthorized, o::reject, r::stop, n::end, e::stays, false, "unauthorized", "401, 403"},
    {c::no_stream, o::reject, r::stop, n::end, e::stays, false, "no_stream", "405"},
    {c::unresumable, o::gap, r::resync, n::end, e::stays, false, "unresumable", "a request stream ends and left no cursor"},
    {c::refused, o::reject, r::stop, n::end, e::stays, false, "refused", "without a cursor: 204, or 4xx but 408, 409, 429"},
    {c::busy, open, r::retry, n::reconnect, e::stays, false, "busy", "409 without a cursor, or for the first two times"},
    {c::cursor_refused, o::reject, r::resubscribe, n::reconnect, e::dropped, false, "cursor_refused", "409 once more, or 4xx but 408, 429"},
    {c::undecided, open, r::retry, n::reconnect, e::stays, false, "undecided", "408, 429, 5xx, 3xx, another 2xx, no event stream"},
    {c::disconnected, open, r::retry, n::reconnect, e::stays, false, "disconnected", "no answer, or the connection has ended"},
    {c::reopened, o::reset, r::resync, n::read_on, e::stays, false, "reopened", "an event stream without a cursor, after a resubscribe or after events that left none"},
    {c::opened, open, r::none, n::read_on, e::stays, false, "opened", "an event stream"},
    {c::blank, open, r::none, n::read_on, e::stays, false, "blank", "no id, and no data or empty data"},
    {c::unnumbered, o::gap, r::resync, n::read_on, e::stays, true, "unnumbered", "no id, the first block of a resumed connection"},
    {c::message, open, r::none, n::read_on, e::stays, true, "message", "no id"},
    {c::foreign_event, o::reject, r::resubscribe, n::reconnect, e::dropped, false, "foreign_event", "id of another session"},
    {c::other_stream, o::reject, r::resubscribe, n::reconnect, e::dropped, false, "other_stream", "id of another stream"},
    {c::reset_located, o::reset, r::resync, n::read_on, e::moves, false, "reset_located", "after a reset frame: marker of another incarnation"},
    {c::other_incarnation, o::reset, r::resubscribe, n::reconnect, e::dropped, false, "other_incarnation", "id of another incarnation"},
    {c::unprovable, o::gap, r::resync, n::read_on, e::moves, true, "unprovable", "id that cannot be proven, the first on a resumed connection or after a signal"},
    {c::opaque, open, r::none, n::read_on, e::moves, true, "opaque", "id that cannot be proven"},
    {c::gap_announced, o::gap, r::none, n::read_on, e::stays, false, "gap_announced", "gap frame under the cursor, anywhere without one; its place follows"},
    {c::gap_unlocated, o::gap, r::resync, n::read_on, e::stays, false, "gap_unlocated", "gap frame under the cursor, anywhere without one; nothing more is known"},
    {c::reset_announced, o::reset, r::none, n::read_on, e::stays, false, "reset_announced", "reset frame under the cursor, anywhere without one; its place follows"},
    {c::reset_unlocated, o::reset, r::resync, n::read_on, e::stays, false, "reset_unlocated", "reset frame under the cursor, anywhere without one; nothing more is known"},
    {c::next_event, o::continue_, r::none, n::read_on, e::moves, true, "next_event", "event right after the place"},
    {c::marker, o::continue_, r::none, n::read_on, e::moves, false, "marker", "marker at the place"},
    {c::event_ahead, o::gap, r::resync, n::read_on, e::moves, true, "event_ahead", "event further after the place"},
    {c::gap_located, o::gap, r::resync, n::read_on, e::moves, false, "gap_located", "after a gap frame: marker after the place"},
    {c::marker_ahead, o::gap, r::resync, n::read_on, e::moves, false, "marker_ahead", "marker after the place"},
    {c::misplaced, o::gap, r::resync, n::read_on, e::stays, false, "misplaced", "after a gap or reset frame: up to the place"},
    {c::inside_gap, o::gap, r::resync, n::read_on, e::stays, false, "inside_gap", "up to the place and inside the last gap, for the first time"},
    {c::seen, open, r::none, n::read_on, e::stays, false, "seen", "up to the place"},
};
}  // namespace detail::continuity_rows
// clang-format on
inline constexpr const auto& continuity_table = detail::continuity_rows::rows;
inline constexpr std::size_t continuity_count = sizeof continuity_table / sizeof continuity_table[0];

[[nodiscard]] constexpr const continuity_row& row_of(continuity why) noexcept {
  return continuity_table[static_cast<std::size_t>(why) % continuity_count];
}

// The facts of an answer, and of a block where the answer is an event stream. A fact that an earlier rule makes
// irrelevant may have any value. `at_cursor`, `successor` and `ahead` are seen from the place; of an event it is the
// block's own seq that counts, of a marker or signal the seq after which it says that the stream goes on.
enum class sent_fact : std::uint8_t { cursor, no_cursor, no_cursor_again, no_session };
enum class answer_fact : std::uint8_t {
  event_stream,
  other_session,
  not_found,
  unauthorized,
  no_stream,
  empty,
  conflict,
  refused,
  none,
  undecided
};
enum class conflict_fact : std::uint8_t { few, many };         // answers 409 to this cursor before: up to two, more
enum class owed_fact : std::uint8_t { nothing, answer };       // the answer of a request, until it is taken
enum class scope_fact : std::uint8_t { stream, first_block };  // what is judged: each block, or only the first one
enum class block_fact : std::uint8_t { none, blank, message, event, marker, gap_frame, reset_frame };
enum class id_fact : std::uint8_t {
  at_cursor,
  successor,
  ahead,
  seen,
  inside_gap,
  other_incarnation,
  other_stream,
  foreign,
  unprovable
};
enum class signal_fact : std::uint8_t { none, gap, reset };        // announced on this connection, not yet located
enum class resync_fact : std::uint8_t { due, done };               // for an id that cannot be proven, once a connection
enum class order_fact : std::uint8_t { later, first_of_resumed };  // of a block with id or data on its connection

struct continuity_facts {
  sent_fact sent = sent_fact::cursor;
  stream_kind kind = stream_kind::standalone;
  answer_fact answer = answer_fact::event_stream;
  conflict_fact conflicts = conflict_fact::few;
  owed_fact owed = owed_fact::nothing;
  scope_fact scope = scope_fact::stream;
  block_fact block = block_fact::none;
  id_fact id = id_fact::at_cursor;
  signal_fact announced = signal_fact::none;
  resync_fact resync = resync_fact::due;
  order_fact order = order_fact::later;
};

namespace detail {
// Rows 1 to 15: what an answer means, or none where a block is to be judged.
constexpr std::optional<continuity> judge_answer(const continuity_facts& f) noexcept {
  const bool has_cursor = f.sent == sent_fact::cursor;
  if (f.sent == sent_fact::no_session) return continuity::no_session;
  if (f.answer == answer_fact::other_session) return continuity::other_session;
  if (f.answer == answer_fact::not_found) return continuity::session_gone;
  const bool is_stream = f.answer == answer_fact::event_stream;
  if (is_stream && f.block != block_fact::none) return std::nullopt;
  // A stream of which only the first block counts, and that had none, has ended.
  const bool has_ended = f.answer == answer_fact::none || (is_stream && f.scope == scope_fact::first_block);
  if (is_stream && !has_ended) {
    return f.sent == sent_fact::no_cursor_again ? continuity::reopened : continuity::opened;
  }
  const bool is_over = f.kind == stream_kind::request || (f.answer == answer_fact::empty && has_cursor);
  if (is_over && f.owed == owed_fact::nothing) return continuity::complete;
  if (f.answer == answer_fact::empty && has_cursor) return continuity::answer_lost;
  if (f.answer == answer_fact::unauthorized) return continuity::unauthorized;
  if (f.answer == answer_fact::no_stream) return continuity::no_stream;
  if (!has_cursor && f.kind == stream_kind::request) return continuity::unresumable;
  if (!has_cursor && (f.answer == answer_fact::empty || f.answer == answer_fact::refused)) return continuity::refused;
  const bool is_busy = f.answer == answer_fact::conflict && (!has_cursor || f.conflicts == conflict_fact::few);
  if (is_busy) return continuity::busy;
  if (has_ended) return continuity::disconnected;
  return f.answer == answer_fact::undecided ? continuity::undecided : continuity::cursor_refused;
}

// Rows 16 to 36: what a block means.
constexpr continuity judge_block(const continuity_facts& f) noexcept {
  if (f.block == block_fact::none || f.block == block_fact::blank) return continuity::blank;
  if (f.block == block_fact::message) {
    return f.order == order_fact::first_of_resumed ? continuity::unnumbered : continuity::message;
  }
  const bool is_event = f.block == block_fact::event;
  const bool is_announced = f.announced != signal_fact::none;
  if (f.id == id_fact::foreign) return continuity::foreign_event;
  if (f.id == id_fact::other_stream) return continuity::other_stream;
  if (f.id == id_fact::other_incarnation) {
    const bool is_located = f.block == block_fact::marker && f.announced == signal_fact::reset;
    return is_located ? continuity::reset_located : continuity::other_incarnation;
  }
  if (f.id == id_fact::unprovable) {
    return f.resync == resync_fact::due || is_announced ? continuity::unprovable : continuity::opaque;
  }
  if (f.id == id_fact::at_cursor && f.block == block_fact::gap_frame) {
    return f.scope == scope_fact::stream ? continuity::gap_announced : continuity::gap_unlocated;
  }
  if (f.id == id_fact::at_cursor && f.block == block_fact::reset_frame) {
    return f.scope == scope_fact::stream ? continuity::reset_announced : continuity::reset_unlocated;
  }
  // Elsewhere than under the cursor a frame is no signal: like a marker, it is no event.
  if (is_event && f.id == id_fact::successor) return continuity::next_event;
  if (!is_event && f.id == id_fact::at_cursor) return continuity::marker;
  if (f.id == id_fact::ahead || f.id == id_fact::successor) {
    if (is_event) return continuity::event_ahead;
    const bool is_located = f.block == block_fact::marker && f.announced == signal_fact::gap;
    return is_located ? continuity::gap_located : continuity::marker_ahead;
  }
  if (is_announced) return continuity::misplaced;
  return f.id == id_fact::inside_gap ? continuity::inside_gap : continuity::seen;
}

}  // namespace detail

// The judgement: total, and nothing but its facts counts.
[[nodiscard]] constexpr continuity judge(const continuity_facts& f) noexcept {
  const std::optional<continuity> of_answer = detail::judge_answer(f);
  return of_answer ? *of_answer : detail::judge_block(f);
}

// A judgement with its numbers: plain data.
struct [[nodiscard]] verdict {
  continuity reason = continuity::undecided;
  stream_kind kind = stream_kind::standalone;
  // Events that will not come. 0 with outcome gap: their number is not known, or was counted before. Add it up only for
  // a verdict that is taken, or a cut counts it twice.
  std::uint64_t missed = 0;
  bool deliver = false;                   // hand the block to the application
  bool is_new = false;                    // something came that did not come before: no failed attempt
  std::optional<std::uint64_t> retry_ms;  // the block's `retry:`

  [[nodiscard]] constexpr std::optional<mcp_resume::outcome> outcome() const noexcept { return row_of(reason).outcome; }
  [[nodiscard]] constexpr mcp_resume::recovery recovery() const noexcept {
    return ends_request() ? mcp_resume::recovery::resync : row_of(reason).recovery;
  }
  [[nodiscard]] constexpr next_step next() const noexcept {
    return ends_request() ? next_step::end : row_of(reason).next;
  }
 private:
  // A request stream cannot be opened without its cursor.
  [[nodiscard]] constexpr bool ends_request() const noexcept {
    return kind == stream_kind::request && row_of(reason).recovery == mcp_resume::recovery::resubscribe;
  }
};

// ---- Ids of other servers ------------------------------------------------------------------------------------------
// Whether ids that are no event ids prove anything: only when the application says so, a trailing decimal counter. It
// proves adjacency, not the incarnation.
enum class foreign_ids : std::uint8_t { unprovable, trailing_counter };

namespace detail {
// An id whose trailing decimal counter was incremented: `head`, one digit, and so many zeros.
struct incremented_id {
  std::string_view head;
  char digit = '1';
  std::size_t zeros = 0;
};
constexpr std::optional<incremented_id> increment(std::string_view id) noexcept {
  std::size_t digits = 0, nines = 0;
  while (digits != id.size() && id[id.size() - 1 - digits] >= '0' && id[id.size() - 1 - digits] <= '9') {
    if (id[id.size() - 1 - digits] == '9' && nines == digits) ++nines;
    ++digits;
  }
  if (digits == 0) return std::nullopt;
  if (nines == digits) return incremented_id{id.substr(0, id.size() - digits), '1', nines};
  const std::size_t raised = id.size() - 1 - nines;
  return incremented_id{id.substr(0, raised), static_cast<char>(id[raised] + 1), nines};
}
constexpr bool is_increment_of(std::string_view id, std::string_view next) noexcept {
  const std::optional<incremented_id> expected = increment(id);
  if (!expected || next.size() != expected->head.size() + 1 + expected->zeros) return false;
  const std::string_view zeros = next.substr(expected->head.size() + 1);
  return next.substr(0, expected->head.size()) == expected->head && next[expected->head.size()] == expected->digit &&
         zeros.find_first_not_of('0') == zeros.npos;
}
// What may be sent as `Last-Event-ID` (RFC 9110 5.5): no control characters, no blank at an end; and of a size that
// header limits let through.
constexpr bool is_sendable(std::string_view id) noexcept {
  constexpr std::size_t largest = 1024;  // bytes
  if (id.empty() || id.size() > largest || id.front() == ' ' || id.back() == ' ') return false;
  for (const char c : id) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) return false;
  }
  return true;
}
}  // namespace detail

// The id with its trailing decimal counter incremented, its width kept: `evt-000419` after `evt-000418`, `evt-1000`
// after `evt-999`; of any length. None where the id does not end with a digit.
[[nodiscard]] inline std::optional<std::string> increment_event_id(std::string_view id) {
  const std::optional<detail::incremented_id> next = detail::increment(id);
  if (!next) return std::nullopt;
  return std::string(next->head).append(1, next->digit).append(next->zeros, '0');
}

// ---- One reconnect -------------------------------------------------------------------------------------------------
// What a GET sent, and what its sender knows.
struct sent {
  request_text session_id = {};     // `Mcp-Session-Id`
  request_text last_event_id = {};  // `Last-Event-ID`
  foreign_ids others = foreign_ids::unprovable;
  stream_kind kind = stream_kind::standalone;  // where the cursor does not say it: an event id does
  std::uint32_t conflicts = 0;                 // how many answers 409 this cursor had before
  bool is_answer_taken = false;                // of a request stream: the application has the answer
};

// What came back.
struct received {
  int status = 0;                             // 0: no answer, the network failed
  request_text content_type = {};             // `Content-Type`
  request_text session_id = {};               // `Mcp-Session-Id`, empty where absent
  std::optional<block> first = std::nullopt;  // of the stream; a guard is given blocks by themselves
};

namespace detail {
// Media types are compared without case (RFC 9110 8.3.1); parameters do not matter.
constexpr bool is_event_stream(std::string_view content_type) noexcept {
  constexpr std::string_view expected = "text/event-stream";
  const std::size_t begin = content_type.find_first_not_of(" \t");
  if (begin == content_type.npos) return false;
  content_type.remove_prefix(begin);
  for (std::size_t i = 0; i != expected.size(); ++i) {
    if (i == content_type.size()) return false;
    const char c = content_type[i];
    if ((c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c) != expected[i]) return false;
  }
  const std::size_t end = content_type.find_first_not_of(" \t", expected.size());
  return end == content_type.npos || content_type[end] == ';';
}

constexpr answer_fact answer_fact_of(std::string_view session_id, const received& got) noexcept {
  if (got.status == 0) return answer_fact::none;
  const std::string_view named = got.session_id.view();
  if (!named.empty() && named != session_id) return answer_fact::other_session;
  switch (got.status) {
    case 200:
      return is_event_stream(got.content_type.view()) ? answer_fact::event_stream : answer_fact::undecided;
    case 204:
      return answer_fact::empty;
    case 401:
    case 403:
      return answer_fact::unauthorized;
    case 404:
      return answer_fact::not_found;
    case 405:
      return answer_fact::no_stream;
    case 408:
    case 429:
      return answer_fact::undecided;
    case 409:
      return answer_fact::conflict;
    default:
      return got.status >= 400 && got.status <= 499 ? answer_fact::refused : answer_fact::undecided;
  }
}

constexpr conflict_fact conflict_fact_of(std::uint32_t conflicts) noexcept {
  return conflicts < 2 ? conflict_fact::few : conflict_fact::many;
}

// A marker has an id and no data, or the type that older protocols need.
constexpr block_fact block_fact_of(const block& b) noexcept {
  const bool has_data = b.data && !b.data->empty();
  if (!b.id) return has_data ? block_fact::message : block_fact::blank;
  if (b.type == "gap") return block_fact::gap_frame;
  if (b.type == "reset") return block_fact::reset_frame;
  return !has_data || b.type == "resume" ? block_fact::marker : block_fact::event;
}

enum class cursor_form : std::uint8_t { none, event_id, text };

// Events `first` to `last` of a stream; none where last is 0.
struct seq_range {
  std::uint64_t first = 1;
  std::uint64_t last = 0;
  [[nodiscard]] constexpr bool contains(std::uint64_t seq) const noexcept { return first <= seq && seq <= last; }
};

// Where a stream stands: what a block's id is judged against.
struct standing {
  stream_kind kind = stream_kind::standalone;
  foreign_ids others = foreign_ids::unprovable;
  cursor_form form = cursor_form::none;
  bool is_dropped = false;     // after a resubscribe: the cursor, if there is one, is not to be sent
  bool is_place_open = false;  // ... and the server has not said yet where it begins
  event_id cursor;             // with cursor_form::event_id
  bool knows_owner = false;
  tags owner;     // of the session
  seq_range gap;  // the last that was passed, at or before the cursor; none once it was resynced
  signal_fact announced = signal_fact::none;
  event_id announced_under;  // id of the gap frame
  [[nodiscard]] constexpr bool has_cursor() const noexcept { return form != cursor_form::none && !is_dropped; }
  // The highest seq that was taken in the life of the session that the id is of; 0 where that is another one.
  [[nodiscard]] constexpr std::uint64_t taken_in_life_of(const event_id& id) const noexcept {
    return form == cursor_form::event_id && id.owner == cursor.owner ? cursor.seq : 0;
  }
};

struct location {
  id_fact fact = id_fact::unprovable;
  std::uint64_t missed = 0;    // events between the place and the block
  std::optional<event_id> id;  // where the block's is one
};

// The seq after which the stream is to go on.
constexpr std::uint64_t expected_place(const standing& s, const event_id& id, block_fact what) noexcept {
  const std::uint64_t taken = s.taken_in_life_of(id);
  if (!s.is_place_open || id.seq <= taken) return taken;
  const event_id& frame = s.announced_under;
  if (s.announced == signal_fact::gap && id.owner == frame.owner && id.seq >= frame.seq) {
    return frame.seq < taken ? taken : frame.seq;
  }
  return what == block_fact::event ? id.seq - 1 : id.seq;
}

// Tags before any number: an equal number of another incarnation proves nothing.
constexpr location locate(const standing& s, const event_id& id, block_fact what) noexcept {
  const bool is_event = what == block_fact::event;
  const bool is_issued = id.seq <= event_id::last_seq && (!is_event || id.seq != 0);
  if (!is_issued || (s.knows_owner && id.owner.session != s.owner.session)) return {id_fact::foreign, 0, id};
  const bool is_numbered = s.kind == stream_kind::request && s.form == cursor_form::event_id;
  if (is_numbered ? id.stream != s.cursor.stream : (id.stream != 0) != (s.kind == stream_kind::request)) {
    return {id_fact::other_stream, 0, id};
  }
  // A stream that has brought no id yet may have begun in any life of the session.
  const bool is_first = s.form == cursor_form::none || s.is_place_open;
  if (s.knows_owner && id.owner != s.owner && !is_first) return {id_fact::other_incarnation, 0, id};
  if (s.form == cursor_form::text && !is_first) return {id_fact::unprovable, 0, id};
  const bool is_signal = what == block_fact::gap_frame || what == block_fact::reset_frame;
  if (is_signal && !s.has_cursor()) return {id_fact::at_cursor, 0, id};
  const std::uint64_t place = expected_place(s, id, what);
  if (id.seq > place) {
    const std::uint64_t missed = id.seq - place - (is_event ? 1 : 0);
    return {missed == 0 ? id_fact::successor : id_fact::ahead, missed, id};
  }
  if (id.seq == place && !is_event) return {id_fact::at_cursor, 0, id};
  return {s.gap.contains(id.seq) ? id_fact::inside_gap : id_fact::seen, 0, id};
}

// Any id. Where the session's tags are known, an id without them is not this session's; an empty one says nothing.
constexpr location locate(const standing& s, std::string_view cursor_text, std::string_view id,
                          block_fact what) noexcept {
  if (const std::optional<event_id> parsed = event_id::parse(id)) return locate(s, *parsed, what);
  if (s.knows_owner && !id.empty()) return {id_fact::foreign, 0, std::nullopt};
  if (s.others == foreign_ids::unprovable || s.form != cursor_form::text || s.is_dropped) return {};
  if (what == block_fact::event)
    return {is_increment_of(cursor_text, id) ? id_fact::successor : id_fact::unprovable, 0, std::nullopt};
  return {cursor_text == id ? id_fact::at_cursor : id_fact::unprovable, 0, std::nullopt};
}

constexpr verdict verdict_of(const continuity_facts& f, std::uint64_t missed, const block* judged) noexcept {
  verdict made;
  made.reason = judge(f);
  made.kind = f.kind;
  const bool has_place = made.outcome() == outcome::gap && row_of(made.reason).cursor == cursor_effect::moves;
  made.missed = has_place ? missed : 0;
  if (judged == nullptr) return made;
  const bool has_payload = f.block == block_fact::message || f.block == block_fact::event;
  made.deliver = row_of(made.reason).deliver && has_payload;
  made.retry_ms = judged->retry_ms;
  return made;
}
}  // namespace detail

// Judges one reconnect by its answer and the first block of its stream. Pure: no state, no allocation. What needs more
// than one block (where a gap ends, what follows) is a stream_guard's.
[[nodiscard]] constexpr verdict validate_resumption(const sent& asked, const received& got) noexcept {
  const std::string_view cursor = asked.last_event_id.view();
  const std::optional<event_id> id = event_id::parse(cursor);
  detail::standing place;
  place.others = asked.others;
  place.kind = asked.kind;
  if (id) {
    place.kind = id->stream != 0 ? stream_kind::request : stream_kind::standalone;
    place.cursor = *id;
    place.owner = id->owner;
    place.knows_owner = true;
    place.form = detail::cursor_form::event_id;
  } else if (!cursor.empty()) {
    place.form = detail::cursor_form::text;
  }
  continuity_facts f;
  f.kind = place.kind;
  f.sent = place.has_cursor() ? sent_fact::cursor : sent_fact::no_cursor;
  if (asked.session_id.view().empty()) f.sent = sent_fact::no_session;
  f.answer = detail::answer_fact_of(asked.session_id.view(), got);
  f.conflicts = detail::conflict_fact_of(asked.conflicts);
  const bool is_owed = place.kind == stream_kind::request && !asked.is_answer_taken;
  f.owed = is_owed ? owed_fact::answer : owed_fact::nothing;
  f.scope = scope_fact::first_block;
  f.resync = place.has_cursor() ? resync_fact::due : resync_fact::done;
  f.order = place.has_cursor() ? order_fact::first_of_resumed : order_fact::later;
  if (!got.first) return detail::verdict_of(f, 0, nullptr);
  f.block = detail::block_fact_of(*got.first);
  detail::location where;
  if (got.first->id) where = detail::locate(place, cursor, *got.first->id, f.block);
  f.id = where.fact;
  return detail::verdict_of(f, where.missed, &*got.first);
}

// ---- Guard ---------------------------------------------------------------------------------------------------------
// Follows one stream for its life, across any number of connections: what to send, what an answer means, what each
// block means. Make it for the standalone stream before its first GET, for a request stream when its POST has been
// answered with an event stream. It keeps one id and one gap; once it has seen a stream's first ids it does not
// allocate for the next ones, but for ids that are no event ids and grow. Externally synchronised.
class stream_guard {
 public:
  // `last_event_id` is a cursor that was kept elsewhere, or empty. One that cannot be sent, or is of a stream of the
  // other kind, is as none.
  stream_guard(stream_kind kind, std::string session_id, std::string_view last_event_id = {},
               foreign_ids others = foreign_ids::unprovable);

  // What a GET sends as `Mcp-Session-Id`, and as `Last-Event-ID`; no such header where it is empty.
  [[nodiscard]] const std::string& session_id() const noexcept { return session_id_; }
  [[nodiscard]] std::string cursor() const;
  [[nodiscard]] bool has_cursor() const noexcept { return at_.has_cursor(); }
  // The tags of the session, where they are known.
  [[nodiscard]] std::optional<tags> owner() const noexcept {
    return at_.knows_owner ? std::optional<tags>(at_.owner) : std::nullopt;
  }
  // Takes over the tags of another guard of the session, where this one knows none: then the first block of another
  // session is found out.
  void learn(const stream_guard& sibling) noexcept {
    if (at_.knows_owner || !sibling.at_.knows_owner || sibling.session_id_ != session_id_) return;
    at_.owner = sibling.at_.owner;
    at_.knows_owner = true;
  }

  // Judges the status and headers of an answer, of a request stream's POST as well. What was not taken is given up.
  verdict answer(const received& got);
  // Judges the next block of the stream that was answered. Call taken() before the next one. Where no stream is open it
  // says so and delivers nothing. Cost: the bytes of the id. May throw bad_alloc where an id that is no event id grows;
  // the cursor has not moved then.
  verdict block(const mcp_resume::block& next);
  // The connection has ended, by whomever, or could not be made. Not needed where a verdict said reconnect or end. The
  // last block may still be taken.
  verdict closed() noexcept;
  // The application has acted on the last verdict, and has what it delivered: the cursor moves, where that verdict
  // moves it. Without this call the block comes again or is counted as missed.
  void taken() noexcept;
  // Of a request stream: the application has the answer, nothing more is owed. Call it before closed(), or the stream
  // is resumed for an answer that has come.
  void answer_taken() noexcept { owed_ = owed_fact::nothing; }
 private:
  continuity_facts facts() const noexcept;
  verdict conclude(verdict made) noexcept;
  bool brings_something_new(const verdict& made, const mcp_resume::block& judged) const noexcept;
  void make_pending(const verdict& made, const detail::location& where, block_fact what, std::string_view text);

  std::string session_id_;
  std::string text_;  // the cursor with cursor_form::text
  detail::standing at_;
  owed_fact owed_ = owed_fact::nothing;
  std::uint32_t conflicts_ = 0;
  bool is_unanchored_ = false;  // events were delivered that left no cursor
  bool is_gap_open_ = false;    // a gap was announced, on whatever connection, and its place is not taken yet

  // Of the connection:
  answer_fact answer_ = answer_fact::undecided;
  bool is_resumed_ = false;   // it sent a cursor
  bool is_reopened_ = false;  // it sent none after a resubscribe, or was reset: its stream began anew
  bool is_resynced_ = false;  // for an id that cannot be proven
  bool is_first_ = true;      // it has brought neither id nor data
  std::string text_sent_;

  // What the last verdict moves, if it is taken:
  detail::cursor_form pending_form_ = detail::cursor_form::none;
  event_id pending_id_;
  std::string pending_text_;
  detail::seq_range pending_gap_;
};

inline stream_guard::stream_guard(stream_kind kind, std::string session_id, std::string_view last_event_id,
                                  foreign_ids others)
    : session_id_(std::move(session_id)) {
  at_.kind = kind;
  at_.others = others;
  if (kind == stream_kind::request) owed_ = owed_fact::answer;
  if (const std::optional<event_id> id = event_id::parse(last_event_id)) {
    if ((id->stream != 0) != (kind == stream_kind::request)) return;
    at_.form = detail::cursor_form::event_id;
    at_.cursor = *id;
    at_.owner = id->owner;
    at_.knows_owner = true;
  } else if (detail::is_sendable(last_event_id)) {
    at_.form = detail::cursor_form::text;
    text_ = last_event_id;
  }
}

inline std::string stream_guard::cursor() const {
  if (!has_cursor()) return std::string();
  return at_.form == detail::cursor_form::text ? text_ : to_string(at_.cursor);
}

inline continuity_facts stream_guard::facts() const noexcept {
  continuity_facts f;
  f.kind = at_.kind;
  f.sent = is_unanchored_ || at_.is_dropped ? sent_fact::no_cursor_again : sent_fact::no_cursor;
  if (has_cursor()) f.sent = sent_fact::cursor;
  if (session_id_.empty()) f.sent = sent_fact::no_session;
  f.answer = answer_;
  f.conflicts = detail::conflict_fact_of(conflicts_);
  f.owed = is_gap_open_ ? owed_fact::answer : owed_;
  f.announced = at_.announced;
  f.resync = is_resumed_ && !is_resynced_ ? resync_fact::due : resync_fact::done;
  f.order = is_resumed_ && is_first_ ? order_fact::first_of_resumed : order_fact::later;
  return f;
}

// What a verdict does to the guard, whatever it judged.
inline verdict stream_guard::conclude(verdict made) noexcept {
  if (row_of(made.reason).next != next_step::read_on) answer_ = answer_fact::undecided;
  if (row_of(made.reason).cursor == cursor_effect::dropped) {
    at_.is_dropped = true;
    conflicts_ = 0;
  }
  return made;
}

inline verdict stream_guard::answer(const received& got) {
  pending_form_ = detail::cursor_form::none;
  answer_ = detail::answer_fact_of(session_id_, got);
  at_.announced = signal_fact::none;
  at_.is_place_open = is_reopened_ = at_.is_dropped;
  is_resumed_ = has_cursor();
  is_resynced_ = false;
  is_first_ = true;
  text_sent_.assign(text_);
  const verdict made = detail::verdict_of(facts(), 0, nullptr);
  if (answer_ == answer_fact::conflict) ++conflicts_;
  if (answer_ == answer_fact::event_stream) conflicts_ = 0;
  return conclude(made);
}

inline verdict stream_guard::closed() noexcept {
  answer_ = answer_fact::none;
  verdict made = detail::verdict_of(facts(), 0, nullptr);
  made.is_new = std::exchange(is_resumed_, false) && at_.form == detail::cursor_form::text && text_ != text_sent_;
  return conclude(made);
}

inline verdict stream_guard::block(const mcp_resume::block& next) {
  pending_form_ = detail::cursor_form::none;
  continuity_facts f = facts();
  f.block = detail::block_fact_of(next);
  detail::location where;
  if (next.id) where = detail::locate(at_, text_, *next.id, f.block);
  f.id = where.fact;
  // In the life of the dropped cursor, what lies beyond it did not come before.
  const bool was_here = where.id && at_.form == detail::cursor_form::event_id && where.id->owner == at_.cursor.owner;
  if (was_here && at_.is_dropped && where.id->seq > at_.cursor.seq) is_reopened_ = false;
  verdict made = detail::verdict_of(f, where.missed, &next);
  made.is_new = brings_something_new(made, next);
  if (made.reason == continuity::gap_announced) {
    at_.announced = signal_fact::gap;
    is_gap_open_ = true;
    if (where.id) at_.announced_under = *where.id;
  } else if (made.reason == continuity::reset_announced) {
    at_.announced = signal_fact::reset;
  } else if (next.id) {
    at_.announced = signal_fact::none;
  }
  if (f.block != block_fact::blank) is_first_ = false;
  if (made.reason == continuity::unprovable || made.reason == continuity::unnumbered) is_resynced_ = true;
  if (made.reason == continuity::reset_located) is_reopened_ = true;
  if (made.reason == continuity::inside_gap) at_.gap = {};
  if (made.deliver && at_.form == detail::cursor_form::none) is_unanchored_ = true;
  if (row_of(made.reason).cursor == cursor_effect::moves) make_pending(made, where, f.block, *next.id);
  if (where.id && at_.announced == signal_fact::none) at_.is_place_open = false;
  return conclude(made);
}

// What a stream passed when it began anew is a gap too: its resync covers it, unless it comes after all. An id that
// cannot be sent leaves the cursor where it is.
inline void stream_guard::make_pending(const verdict& made, const detail::location& where, block_fact what,
                                       std::string_view text) {
  if (where.id) {
    pending_form_ = detail::cursor_form::event_id;
    pending_id_ = *where.id;
    const bool begins_anew = at_.is_place_open || made.reason == continuity::reset_located;
    const std::uint64_t last = where.id->seq - (what == block_fact::event ? 1 : 0);
    const std::uint64_t before = begins_anew ? at_.taken_in_life_of(*where.id) : last - made.missed;
    pending_gap_ = last > before ? detail::seq_range{before + 1, last} : detail::seq_range{};
  } else if (detail::is_sendable(text)) {
    pending_text_.assign(text);
    pending_form_ = detail::cursor_form::text;
  }
}

// What comes of a stream that began anew may have come before, or servers that reset each other's clients would never
// be given up. So may ids that cannot be proven on a resumed connection: there closed() says whether the last one
// differs from the cursor that was sent.
inline bool stream_guard::brings_something_new(const verdict& made, const mcp_resume::block& judged) const noexcept {
  if (!made.deliver || made.recovery() != recovery::none || is_reopened_) return false;
  if (made.reason == continuity::message) {
    return at_.form == detail::cursor_form::none && at_.announced == signal_fact::none;
  }
  if (made.reason == continuity::next_event && at_.form != detail::cursor_form::text) return true;
  return !is_resumed_ && *judged.id != text_;
}

inline void stream_guard::taken() noexcept {
  using detail::cursor_form;
  const cursor_form form = std::exchange(pending_form_, cursor_form::none);
  if (form == cursor_form::none) return;
  // A dropped cursor stays dropped, also where the server gives it out once more.
  if (form == at_.form && (form == cursor_form::text ? text_ == pending_text_ : at_.cursor == pending_id_)) return;
  if (form == cursor_form::text) {
    text_.swap(pending_text_);
  } else {
    const bool is_other_life = at_.form != form || at_.cursor.owner != pending_id_.owner;
    if (is_other_life || pending_gap_.last != 0) at_.gap = pending_gap_;
    at_.cursor = pending_id_;
    at_.owner = pending_id_.owner;
    at_.knows_owner = true;
  }
  at_.form = form;
  at_.is_dropped = at_.is_place_open = is_unanchored_ = is_gap_open_ = false;
}

// ---- Reconnecting --------------------------------------------------------------------------------------------------
// All times in milliseconds.
struct reconnect_options {
  std::uint32_t first_wait_ms = 1000;  // where the server has sent no `retry:`
  std::uint32_t min_wait_ms = 100;     // a `retry:` below it counts as this
  std::uint32_t max_wait_ms = 30000;
  std::uint32_t max_retry_ms = 300000;  // a `retry:` or `Retry-After` beyond it counts as this
  std::uint32_t max_attempts = 20;      // in a row without anything new; 0 = without end
};

// How long to wait before a connection, and when to give up. Waits double up to a cap; the server's `retry:` is the
// least wait, and the first one; every recovery is an attempt, and what is new begins the count anew. A clean close
// without anything new is a failed attempt like any other. Pure: randomness and times come in as values.
class reconnect_policy {
 public:
  constexpr explicit reconnect_policy(const reconnect_options& bounds = {}) noexcept : bounds_(bounds) {}
  // Takes every verdict of the guard, in order, with the `retry:` that it carries: that holds until the next one.
  constexpr void note(const verdict& made) noexcept {
    if (made.retry_ms) retry_ms_ = least_of(*made.retry_ms, bounds_.max_retry_ms);
    if (made.is_new) attempts_ = 0;
    if (made.recovery() != recovery::none && attempts_ != ~std::uint32_t{0}) ++attempts_;
  }
  // Too many attempts in a row without anything new: stop, and tell the user.
  [[nodiscard]] constexpr bool has_ended() const noexcept {
    return bounds_.max_attempts != 0 && attempts_ > bounds_.max_attempts;
  }
  // How long to wait before the next connection. `random`: any 64 bits, which spread the clients of a server that has
  // failed: up to a quarter longer, never beyond the next wait. `retry_after_ms`: of this answer's `Retry-After`, or 0.
  [[nodiscard]] constexpr std::uint64_t wait_ms(std::uint64_t random, std::uint64_t retry_after_ms = 0) const noexcept {
    const std::uint32_t failed = attempts_ == 0 ? 0 : attempts_ - 1;
    const std::uint64_t base = base_ms(failed);
    const std::uint64_t spread = least_of(base / 4, base_ms(failed + 1) - base);
    const std::uint64_t wait = base + ((random >> 32U) * spread >> 32U);
    const std::uint64_t asked = least_of(retry_after_ms, bounds_.max_retry_ms);
    return most_of(wait, asked);
  }
 private:
  static constexpr std::uint64_t least_of(std::uint64_t a, std::uint64_t b) noexcept { return a < b ? a : b; }
  static constexpr std::uint64_t most_of(std::uint64_t a, std::uint64_t b) noexcept { return a < b ? b : a; }
  // The wait after so many failed attempts, without jitter. It doubles from the least wait, so that clients which are
  // all told the same `retry:` spread too.
  constexpr std::uint64_t base_ms(std::uint32_t failed) const noexcept {
    const std::uint64_t least = retry_ms_ ? most_of(*retry_ms_, bounds_.min_wait_ms) : bounds_.first_wait_ms;
    if (failed == 0) return least;
    const std::uint64_t first = most_of(least, bounds_.first_wait_ms);
    return least_of(first << least_of(failed, 32), most_of(first, bounds_.max_wait_ms));
  }
  reconnect_options bounds_;
  std::optional<std::uint64_t> retry_ms_;
  std::uint32_t attempts_ = 0;
};

// ---- Text ----------------------------------------------------------------------------------------------------------
// The name of an enumerator; "?" for a value that is none.
constexpr std::string_view to_string(continuity c) noexcept {
  return static_cast<std::size_t>(c) < continuity_count ? row_of(c).name : "?";
}
constexpr std::string_view to_string(next_step n) noexcept { return detail::word_of(n, "read_on reconnect end"); }
constexpr std::string_view to_string(cursor_effect e) noexcept { return detail::word_of(e, "stays moves dropped"); }
constexpr std::string_view to_string(stream_kind k) noexcept { return detail::word_of(k, "standalone request"); }

// One sentence a person can act on. It never repeats foreign bytes.
[[nodiscard]] inline std::string describe(const verdict& made) {
  const std::optional<outcome> known = made.outcome();
  std::string text(known ? to_string(*known) : std::string_view("undecided"));
  text.append(": ").append(row_of(made.reason).fact);
  if (made.missed != 0) text.append("; ").append(std::to_string(made.missed)).append(" missed");
  return text.append("; recovery: ").append(to_string(made.recovery()));
}
[[nodiscard]] inline std::string to_string(const verdict& made) { return describe(made); }

#if MCP_RESUME_EXCEPTIONS
// The twin of require_continuation. Returns where continuity is proven, and throws resumption_gap_error with
// describe(made) where it is not: also where nothing is decided yet.
inline void require_continuity(const verdict& made) {
  if (made.outcome() != outcome::continue_) throw resumption_gap_error(describe(made));
}
#endif

// ---- Self-checks ---------------------------------------------------------------------------------------------------
static_assert(row_of(continuity::seen).reason == continuity::seen && continuity_count == 36);
static_assert(row_of(continuity::busy).reason == continuity::busy && row_of(continuity::marker).name == "marker");
static_assert(std::is_trivially_copyable<verdict>::value, "plain data");

}  // namespace MCP_RESUME_INLINE_NAMESPACE
}  // namespace mcp_resume

#endif  // MCP_RESUME_CLIENT_HPP
