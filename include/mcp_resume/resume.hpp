// mcp-resume 0.1.0: decides whether an MCP client may resume an SSE stream. One file, C++17, no dependency.
// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the mcp-resume authors. The licence is in LICENSE: keep it with every copy of this file.
// ---- Manual --------------------------------------------------------------------------------------------------------
// A client that lost its connection comes back with `Mcp-Session-Id` and `Last-Event-ID`. The two are independent, and
// nothing in the protocol says that the pair is wrong. This file holds the events of each session, gives them ids that
// name their session, and answers each reconnect with continue, reset, gap or reject.
//
// Terms
//   session        one MCP session, named by its `Mcp-Session-Id`; owned by one principal
//   principal      whoever the transport authenticated, as the application spells it; empty = nobody
//   incarnation    one life of a session's event log; another begins whenever a number might be used twice
//   tags           64 random bits for the session, 64 for the incarnation
//   stream         one SSE stream of a session: 0 is the standalone GET stream, 1, 2, ... belong to POST requests
//   stream handle  tags and stream number: what an application appends to and finishes
//   label          up to 64 bytes that a request stream carries, as a rule its JSON-RPC request id
//   seq            place of an event in its stream: 1, 2, 3, ... without holes; 0 is the place before the first
//   event id       the text of (tags, stream, seq): `<session>.<incarnation>.<stream>.<seq>`
//   cursor         the event id a client presents as `Last-Event-ID`: everything up to it was received
//   event log      a session's ring buffer: one ring per stream under one budget
//   window         of a stream, [first, next): every event from `first` on is held; the next event gets `next`
//   gap            events after the cursor that will not be delivered
//   reader         a place after which one connection reads, with its lease; trivially copyable, holds no pointer
//   lease          a stream's attach counter; only its newest reader may read
//   read mark      the newest event of a stream that was ever handed to a reader
//
// Smallest program
//   mcp_resume::session_table sessions;
//   sessions.create("8c0f", "alice", mcp_resume::protocol::v2025_11_25);
//   auto call = sessions.open_stream("8c0f", "7");         // a POST that answers with SSE; 7 is its JSON-RPC id
//   std::string cursor = to_string(call.reader.position());  // the id of its first frame; then the connection breaks
//   sessions.finish(call.stream, R"({"jsonrpc":"2.0","id":7,"result":{}})");
//   mcp_resume::reader reader;                             // a GET: headers in, decision out
//   auto answer = sessions.resume({"2025-11-25", "8c0f", cursor, "alice"}, reader);
//   response.status = answer.http_status();
//   std::string frames;                                    // again after each change: replay and live alike
//   auto progress = sessions.read(reader, frames);
//
// Decision table: rules are tried top down, the first that fits decides. 404 only ever means "this session is not here
// for you": a client must then drop the session. 204 is "stop reconnecting": reached only when nothing is owed. 410
// ends a stream that cannot be served, where a 200 would make clients reconnect for ever. When the facts cannot be
// gathered (a shared store is down) there is no decision: 503 with `Retry-After`, never a fresh stream.
// | # | fact | reason | outcome | HTTP | advice |
// |--:|---|---|---|--:|---|
// | 1 | protocol version sent but not among those supported | `unsupported_protocol` | reject | 400 | stop |
// | 2 | version is of the stateless era (2026-07-28) | `stateless_protocol` | reject | 405 | stop |
// | 3 | no (or empty) `Mcp-Session-Id` | `no_session` | reset | 400 | reinitialize |
// | 4 | the session is unknown, expired or ended | `session_gone` | reset | 404 | reinitialize |
// | 5 | the session belongs to another principal | `wrong_principal` | reject | 404 | reinitialize |
// | 6 | no (or empty) `Last-Event-ID`, and stream 0 has a live reader | `occupied` | reject | 409 | retry |
// | 7 | no (or empty) `Last-Event-ID` | `fresh` | continue | 200 | none |
// | 8 | cursor is not an event id | `malformed_cursor` | reject | 400 | resubscribe |
// | 9 | cursor carries another session tag | `foreign_cursor` | reject | 409 | resubscribe |
// | 10 | own session tag, other incarnation, stream 0 | `stale_incarnation` | reset | 200 | resync |
// | 11 | own session tag, other incarnation, a request stream | `stale_request` | reset | 410 | resync |
// | 12 | stream number never opened, or its record is held and seq >= next | `never_issued` | reject | 409 | resubscribe |
// | 13 | the finished stream's record was dropped or forgotten, whatever the seq | `forgotten` | gap | 410 | resync |
// | 14 | seq + 1 < first | `evicted` | gap | 200 | resync |
// | 15 | seq + 1 == next and the stream is finished | `complete` | continue | 204 | none |
// | 16 | seq + 1 == next | `up_to_date` | continue | 200 | none |
// | 17 | otherwise | `replay` | continue | 200 | none |
//
// Guarantees
//   G1 no event of another session, principal, incarnation or stream is ever delivered
//   G2 no loss is silent: what a reader got plus the reported gaps is everything
//   G3 nothing is delivered twice on one attachment
//   G4 within one life of the log, a client that missed nothing is never refused for it
//   G5 deciding and refusing change nothing
//   G6 memory stays inside the bounds at every step
//   G7 no bytes from the network can crash it, or cost more than a constant
//
// Waiting without losing a wake-up: take your change counter, read, send; on `caught_up` wait until the counter differs
// from the one taken or a keep-alive is due, then again. Append, finish, attach, end and expiry ring. The same in a
// thread of each connection and in an event loop; README shows both.
//
// Rules of every function
//   Misuse is a refusal, not an assertion, and so is running out of memory (`no_memory`). Nothing throws but strings and
//   vectors that are written or returned (bad_alloc; nothing is lost that was not written), and what you pass in.
//   Times are milliseconds since any one point; only tick() moves time, from 0 on: tick before the first create.
//   `session` is externally synchronised, like a standard container; a table is thread-safe; values are plain data.
//   Reason, advice and describe() are for the server's own log. An answer is made of the status, headers_for(status)
//   and the frames, so that it does not tell whether a session or an id exists.
// Limits: bounds hold for each session, so a table's worst case is max_sessions x max_bytes. Events live in memory: a
// restart resets every stream. The protocol of 2026-07-28 has no sessions and no resumption.

#ifndef MCP_RESUME_RESUME_HPP
#define MCP_RESUME_RESUME_HPP
// ---- Configuration -------------------------------------------------------------------------------------------------
#define MCP_RESUME_VERSION_MAJOR 0  // CMake and the inline namespace take the version from these three lines
#define MCP_RESUME_VERSION_MINOR 1
#define MCP_RESUME_VERSION_PATCH 0
#define MCP_RESUME_VERSION \
  (MCP_RESUME_VERSION_MAJOR * 10000 + MCP_RESUME_VERSION_MINOR * 100 + MCP_RESUME_VERSION_PATCH)
#ifndef MCP_RESUME_STD_MUTEX  // predefine to 0 where <mutex> does not exist: the alias session_table goes, nothing else
#define MCP_RESUME_STD_MUTEX 1
#endif
#ifndef MCP_RESUME_RANDOM_DEVICE  // predefine to 0 to pass a source of randomness to every call that draws tags
#define MCP_RESUME_RANDOM_DEVICE 1
#endif
#if defined(__cpp_exceptions) || defined(_CPPUNWIND)
#define MCP_RESUME_EXCEPTIONS 1
#else
#define MCP_RESUME_EXCEPTIONS 0
#endif
#if !(defined(_MSVC_LANG) && _MSVC_LANG >= 201703L) && __cplusplus < 201703L
#error "mcp_resume needs C++17"
#endif
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>
#if MCP_RESUME_RANDOM_DEVICE
#include <random>
#endif
#if MCP_RESUME_STD_MUTEX
#include <mutex>
#endif
// libstdc++ on MinGW before GCC 9.2: std::random_device is a fixed sequence (GCC bug 85494).
#if MCP_RESUME_RANDOM_DEVICE && defined(__MINGW32__) && defined(__GLIBCXX__) && \
    (_GLIBCXX_RELEASE < 9 || __GLIBCXX__ < 20190812)
#error "std::random_device is not random here: define MCP_RESUME_RANDOM_DEVICE 0 and pass your own source"
#endif
#define MCP_RESUME_JOIN_(a, b, c) v##a##_##b##_##c
#define MCP_RESUME_JOIN(a, b, c) MCP_RESUME_JOIN_(a, b, c)
#define MCP_RESUME_INLINE_NAMESPACE \
  MCP_RESUME_JOIN(MCP_RESUME_VERSION_MAJOR, MCP_RESUME_VERSION_MINOR, MCP_RESUME_VERSION_PATCH)
namespace mcp_resume {
// The version in every symbol: two vendored copies of different versions never mix in one program.
inline namespace MCP_RESUME_INLINE_NAMESPACE {

// ---- Vocabulary ----------------------------------------------------------------------------------------------------
// What a reconnect is answered with. A continuation proves that nothing is missing; the three others say why not.
enum class outcome : std::uint8_t { continue_, reset, gap, reject };

// What a client does next: the same request again after a wait (retry); open the stream again without a cursor
// (resubscribe, then resync); read lists, issue what was in flight again (resync); new session (reinitialize, resync).
enum class recovery : std::uint8_t { none, retry, resubscribe, resync, reinitialize, stop };

// The protocol versions that are known, in order of age. An enum, not a text: `draft` would sort behind every date.
enum class protocol : std::uint8_t { v2024_11_05, v2025_03_26, v2025_06_18, v2025_11_25, v2026_07_28 };
inline constexpr std::size_t protocol_count = 5;

// The version of exactly that text, or none.
[[nodiscard]] constexpr std::optional<protocol> parse_protocol(std::string_view text) noexcept;

// From 2026-07-28 on there are no sessions and no resumption.
[[nodiscard]] constexpr bool is_stateless(protocol version) noexcept { return version >= protocol::v2026_07_28; }

// A set of protocol versions; by default all that are known.
class protocol_set {
 public:
  [[nodiscard]] constexpr bool contains(protocol version) const noexcept { return (bits_ & bit_of(version)) != 0; }
  [[nodiscard]] constexpr protocol_set without(protocol version) const noexcept {
    protocol_set rest;
    rest.bits_ = bits_ & ~bit_of(version);
    return rest;
  }
 private:
  static constexpr unsigned bit_of(protocol version) noexcept {
    return static_cast<std::size_t>(version) < protocol_count ? 1U << static_cast<unsigned>(version) : 0;
  }
  unsigned bits_ = (1U << protocol_count) - 1;
};

// Why a call that changes something did not: one enum for all of them. A refused call has changed nothing. Not
// [[nodiscard]]: a worker whose session has ended has nothing left to do about it.
enum class refusal : std::uint8_t {
  none,               // done
  gone,               // no such session, or it has ended
  other_incarnation,  // the handle is of another life of the log
  no_such_stream,     // never opened, dropped or forgotten
  standalone_stream,  // stream 0 is always there: never finished, never forgotten
  finished,           // the stream takes no more events
  still_open,         // only a finished stream can be forgotten
  empty_payload,      // a client would take it for a marker
  too_large,          // payload + 16 is over the byte bound or 2 GiB (512 MiB in 32 bits); a principal over 4 GiB
  numbers_used_up,    // of the stream's seq, or of the session's streams
  too_many_streams,   // all of them are open
  bad_label,          // over 64 bytes, or holds CR, LF or NUL: answer that POST as plain JSON
  bad_id,             // a session id is 1 to 256 bytes of 0x21..0x7E
  id_in_use,          // by a live session
  too_many_sessions,
  stateless_protocol,  // such a version has no sessions
  no_randomness,
  no_memory,
};

// Where reading goes on after a gap. The live edge lies before a finished request stream's last event, if that is held.
enum class after_gap : std::uint8_t { live_edge, oldest_held };

// The bounds and rules of sessions. A bound of 0 counts as 1. Bounds hold at every moment.
struct options {
  std::uint32_t max_events = 1024;                // held by a session
  std::uint32_t max_streams = 256;                // request streams of a session, open and remembered
  std::size_t max_bytes = std::size_t{8} << 20U;  // held by a session: payload + 16 for each event
  std::uint64_t max_age_ms = 0;                   // an older event is not delivered; 0 = no bound
  std::uint64_t first_seq = 1;                    // of each stream, for logs that go on numbering; 0 counts as 1
  std::uint32_t first_stream = 1;                 // number of the first request stream; 0 counts as 1
  std::uint32_t retry_ms = 0;                     // the `retry:` of markers; 0 = none
  std::uint32_t reader_timeout_ms = 45000;        // stream 0's reader is live while it reads that often; 0 = always
  mcp_resume::after_gap after_gap = mcp_resume::after_gap::live_edge;
  // Of a table alone:
  protocol_set supported;  // versions that a request may name
  std::size_t max_sessions = 10000;
  std::uint64_t idle_ms = std::uint64_t{30} * 60 * 1000;  // a session without activity expires; 0 = never
};

// Text of a request: a header's value or a principal, empty where absent. A view: it must not outlive its text, so a
// temporary string is refused at compile time. A null pointer is the empty text.
class request_text {
 public:
  constexpr request_text() noexcept = default;
  constexpr request_text(std::string_view text) noexcept : text_(text) {}
  constexpr request_text(const char* text) noexcept : text_(text != nullptr ? std::string_view(text) : "") {}
  request_text(const std::string& text) noexcept : text_(text) {}
  request_text(const std::string&&) = delete;
  [[nodiscard]] constexpr std::string_view view() const noexcept { return text_; }
 private:
  std::string_view text_;
};

// What a GET, POST or DELETE brought: any bytes. A header that was sent twice is the transport's to refuse.
struct request {
  request_text version;        // `MCP-Protocol-Version`; absent = the session's, else 2025-03-26
  request_text session_id;     // `Mcp-Session-Id`
  request_text last_event_id;  // `Last-Event-ID`
  request_text principal;      // whoever the transport authenticated; compared byte for byte, nobody equals only nobody
};

// A window [first, next) of a stream: every event from `first` on is held, the next event gets `next`.
struct window {
  std::uint64_t first = 1, next = 1;
  friend constexpr bool operator==(window a, window b) noexcept { return a.first == b.first && a.next == b.next; }
  friend constexpr bool operator!=(window a, window b) noexcept { return !(a == b); }
};

// The log of sessions in numbers: also whether its window is shorter than real disconnects.
struct inspection {
  std::uint64_t sessions = 0;
  std::uint64_t streams = 0;            // request streams, open and remembered
  std::uint64_t events = 0, bytes = 0;  // payload + 16 for each event
  std::uint64_t oldest_age_ms = 0;      // of the oldest held event
  std::uint64_t evicted_unread = 0;     // events that went before any reader was handed them
};

// ---- Ids -----------------------------------------------------------------------------------------------------------
// Random numbers that name a session and one life of its log. Neither reveals the session id, which is a credential.
struct tags {
  std::uint64_t session = 0, incarnation = 0;
  friend constexpr bool operator==(tags a, tags b) noexcept {
    return a.session == b.session && a.incarnation == b.incarnation;
  }
  friend constexpr bool operator!=(tags a, tags b) noexcept { return !(a == b); }
};

// The default source of randomness: std::random_device, opened for each tag, so that no state is kept that a fork could
// repeat. A source is any callable that returns a drawn_tag: 64 random bits, or none.
using drawn_tag = std::optional<std::uint64_t>;
struct system_random;
#if MCP_RESUME_RANDOM_DEVICE
struct system_random {
  [[nodiscard]] drawn_tag operator()() const noexcept {
#if MCP_RESUME_EXCEPTIONS
    try {
#endif
      std::random_device device;
      const std::uint64_t high = device() & 0xFFFFFFFFU;
      return high << 32U | (device() & 0xFFFFFFFFU);
#if MCP_RESUME_EXCEPTIONS
    } catch (...) {
      return std::nullopt;
    }
#endif
  }
};
#endif

// (tags, stream, seq). One value has one text, `<session>.<incarnation>.<stream>.<seq>`: two tags of 16 lower-case hex
// digits, two canonical decimal numbers. The grammar is frozen for 0.x and 1.x, since a deploy that changed it would
// strand every client. Only [0-9a-f.]: it survives headers, proxies, CORS and SSE unchanged.
struct event_id {
  tags owner;
  std::uint32_t stream = 0;
  std::uint64_t seq = 0;
  static constexpr std::size_t max_size = 65;                       // characters: 16 + 1 + 16 + 1 + 10 + 1 + 20
  static constexpr std::uint64_t last_seq = ~std::uint64_t{0} - 1;  // 2^64 - 1 parses and is never issued
  // The id of that text, or none if it is anything but one. Constant cost for any bytes.
  [[nodiscard]] static constexpr std::optional<event_id> parse(std::string_view text) noexcept;
  // Writes the text without a final NUL to `out`, which has room for max_size characters. Returns its length.
  constexpr std::size_t to_chars(char* out) const noexcept;
  // The id of the next event of the stream, or none after the last that can be issued.
  [[nodiscard]] constexpr std::optional<event_id> successor() const noexcept {
    return seq < last_seq ? std::optional<event_id>({owner, stream, seq + 1}) : std::nullopt;
  }
  friend constexpr bool operator==(const event_id& a, const event_id& b) noexcept {
    return a.owner == b.owner && a.stream == b.stream && a.seq == b.seq;
  }
  friend constexpr bool operator!=(const event_id& a, const event_id& b) noexcept { return !(a == b); }
};

// What an application appends to and finishes. A worker may keep it for as long as it likes: a handle of another
// incarnation is refused, so a late answer never lands in somebody else's stream.
struct stream_handle {
  tags owner;
  std::uint32_t stream = 0;
  std::uint64_t route = 0;  // where its table finds the session; 0 for a session in hand
};

namespace detail {
// Base of what may neither be copied nor moved.
struct pinned {
  pinned() noexcept = default;
  pinned(const pinned&) = delete;
  pinned& operator=(const pinned&) = delete;
};
// 16 lower-case hex digits, eight in one word, the first its highest byte: one by one took 1.5 times as long for an id.
constexpr bool parse_tag(const char* digits, std::uint64_t& value) noexcept {
  constexpr std::uint64_t each = 0x0101010101010101;
  for (const char* const end = digits + 16; digits != end; digits += 8) {
    const auto at = [digits](unsigned i) {
      return std::uint64_t{static_cast<unsigned char>(digits[i])} << (56 - 8 * i);
    };
    const std::uint64_t text = at(0) | at(1) | at(2) | at(3) | at(4) | at(5) | at(6) | at(7);  // one load
    const std::uint64_t letters = text >> 6U & each;  // '0' to '9' are 0x30 to 0x39, 'a' to 'f' 0x61 to 0x66
    std::uint64_t values = (text & each * 0x0F) + letters * 9;
    const std::uint64_t wrong_half = (text & each * 0xF0) ^ (each + letters) * 0x30;
    const std::uint64_t wrong_value = (((values + each * 6) ^ letters << 4U) | values) & each * 0x10;
    if ((wrong_half | wrong_value) != 0) return false;
    values = (values | values >> 4U) & 0x00FF00FF00FF00FF;
    values = (values | values >> 8U) & 0x0000FFFF0000FFFF;
    value = value << 32U | ((values | values >> 16U) & 0xFFFFFFFF);
  }
  return true;
}
// Takes a canonical decimal of at most 64 bits, digits alone without leading zero, and the dot or end behind it.
constexpr bool take_decimal(std::string_view& text, bool is_last, std::uint64_t& value) noexcept {
  std::size_t size = 0;
  for (; size != text.size() && text[size] >= '0' && text[size] <= '9'; ++size) {
    value = value * 10 + static_cast<std::uint64_t>(text[size] - '0');
  }
  const bool is_canonical = size == 1 || (size != 0 && text[0] != '0');
  // What is beyond 64 bits wraps to less than 10^19, where its first digit is 1.
  const bool fits = size < 20 || (size == 20 && text[0] == '1' && value >= 10000000000000000000U);
  const bool is_at_end = size == text.size();
  if (!is_canonical || !fits || is_at_end != is_last || !(is_last || text[size] == '.')) return false;
  text.remove_prefix(is_last ? size : size + 1);
  return true;
}
constexpr char* write_tag(char* out, std::uint64_t value) noexcept {
  for (unsigned shift = 64; shift != 0; shift -= 4) *out++ = "0123456789abcdef"[value >> (shift - 4) & 15U];
  return out;
}
constexpr char* write_dot(char* out) noexcept { return *out = '.', out + 1; }
constexpr char* write_decimal(char* out, std::uint64_t value) noexcept {
  char* end = out + 1;
  for (std::uint64_t rest = value / 10; rest != 0; rest /= 10) ++end;
  for (char* place = end; place != out; value /= 10) *--place = static_cast<char>('0' + value % 10);
  return end;
}
}  // namespace detail

constexpr std::optional<event_id> event_id::parse(std::string_view text) noexcept {
  constexpr std::size_t tag_size = 16, tags_size = 2 * tag_size + 2;
  if (text.size() > max_size || text.size() < tags_size) return std::nullopt;
  std::uint64_t session = 0, incarnation = 0, stream = 0, seq = 0;
  std::string_view numbers = text.substr(tags_size);
  const bool is_well_formed =
      text[tag_size] == '.' && text[tags_size - 1] == '.' && detail::parse_tag(text.data(), session) &&
      detail::parse_tag(text.data() + tag_size + 1, incarnation) && detail::take_decimal(numbers, false, stream) &&
      stream <= 0xFFFFFFFFU && detail::take_decimal(numbers, true, seq);
  const event_id id{{session, incarnation}, static_cast<std::uint32_t>(stream), seq};
  return is_well_formed ? std::optional<event_id>(id) : std::nullopt;
}

constexpr std::size_t event_id::to_chars(char* out) const noexcept {
  char* end = detail::write_dot(detail::write_tag(out, owner.session));
  end = detail::write_dot(detail::write_tag(end, owner.incarnation));
  end = detail::write_dot(detail::write_decimal(end, stream));
  return static_cast<std::size_t>(detail::write_decimal(end, seq) - out);
}

// ---- Decision ------------------------------------------------------------------------------------------------------
// Why a reconnect is answered as it is: one reason for each row of the table, in its order.
// clang-format off
enum class reason : std::uint8_t {
  unsupported_protocol, stateless_protocol, no_session, session_gone, wrong_principal, occupied, fresh,
  malformed_cursor, foreign_cursor, stale_incarnation, stale_request, never_issued, forgotten, evicted,
  complete, up_to_date, replay
};

struct decision_row {
  mcp_resume::reason reason;
  mcp_resume::outcome outcome;
  int http_status;  // recommended; an author may override it, outcome and reason not
  recovery advice;
  std::string_view name;  // of the reason
  std::string_view fact;  // the rule in words
};

// The one place of every row: outcome, status, advice and text. Row n of the manual is element n - 1.
namespace detail::table {
using r = reason; using o = outcome; using a = recovery;
inline constexpr decision_row rows[] = {
    {r::unsupported_protocol, o::reject, 400, a::stop, "unsupported_protocol", "protocol version sent but not among those supported"},
    {r::stateless_protocol, o::reject, 405, a::stop, "stateless_protocol", "version is of the stateless era (2026-07-28)"},
    {r::no_session, o::reset, 400, a::reinitialize, "no_session", "no (or empty) `Mcp-Session-Id`"},
    {r::session_gone, o::reset, 404, a::reinitialize, "session_gone", "the session is unknown, expired or ended"},
    {r::wrong_principal, o::reject, 404, a::reinitialize, "wrong_principal", "the session belongs to another principal"},
    {r::occupied, o::reject, 409, a::retry, "occupied", "no (or empty) `Last-Event-ID`, and stream 0 has a live reader"},
    {r::fresh, o::continue_, 200, a::none, "fresh", "no (or empty) `Last-Event-ID`"},
    {r::malformed_cursor, o::reject, 400, a::resubscribe, "malformed_cursor", "cursor is not an event id"},
    {r::foreign_cursor, o::reject, 409, a::resubscribe, "foreign_cursor", "cursor carries another session tag"},
    {r::stale_incarnation, o::reset, 200, a::resync, "stale_incarnation", "own session tag, other incarnation, stream 0"},
    {r::stale_request, o::reset, 410, a::resync, "stale_request", "own session tag, other incarnation, a request stream"},
    {r::never_issued, o::reject, 409, a::resubscribe, "never_issued", "stream number never opened, or its record is held and seq >= next"},
    {r::forgotten, o::gap, 410, a::resync, "forgotten", "the finished stream's record was dropped or forgotten, whatever the seq"},
    {r::evicted, o::gap, 200, a::resync, "evicted", "seq + 1 < first"},
    {r::complete, o::continue_, 204, a::none, "complete", "seq + 1 == next and the stream is finished"},
    {r::up_to_date, o::continue_, 200, a::none, "up_to_date", "seq + 1 == next"},
    {r::replay, o::continue_, 200, a::none, "replay", "otherwise"},
};
}  // namespace detail::table
// clang-format on
inline constexpr const auto& decision_table = detail::table::rows;
inline constexpr std::size_t reason_count = sizeof decision_table / sizeof decision_table[0];
[[nodiscard]] constexpr const decision_row& row_of(reason why) noexcept {
  return decision_table[static_cast<std::size_t>(why) % reason_count];
}

// The facts of a reconnect. A fact that an earlier rule makes irrelevant may have any value.
enum class version_fact : std::uint8_t { supported, stateless, unsupported };
enum class session_fact : std::uint8_t { live, not_named, gone, of_another_principal };
enum class cursor_fact : std::uint8_t { absent, malformed, foreign, stale_standalone, stale_request, own };
enum class reader_fact : std::uint8_t { none, live };                               // of stream 0
enum class stream_fact : std::uint8_t { open, finished, forgotten, never_opened };  // of the cursor's stream
enum class place_fact : std::uint8_t { inside, newest, evicted, ahead };            // of the cursor beside the window
struct facts {
  version_fact version = version_fact::supported;
  session_fact session = session_fact::live;
  cursor_fact cursor = cursor_fact::absent;
  reader_fact standalone = reader_fact::none;
  stream_fact stream = stream_fact::open;
  place_fact place = place_fact::inside;
};

// Where `seq`, which may be 2^64 - 1, lies beside the window: what counts is that the next one is held. Nothing wraps.
[[nodiscard]] constexpr place_fact place_of(std::uint64_t seq, window held) noexcept {
  if (seq >= held.next) return place_fact::ahead;
  if (seq + 1 < held.first) return place_fact::evicted;
  return seq + 1 == held.next ? place_fact::newest : place_fact::inside;
}

// Rows 1 to 5, which hold for every method: the reason that forbids, or none.
[[nodiscard]] constexpr std::optional<reason> decide_session(const facts& f) noexcept {
  if (f.version == version_fact::unsupported) return reason::unsupported_protocol;
  if (f.version == version_fact::stateless) return reason::stateless_protocol;
  if (f.session == session_fact::not_named) return reason::no_session;
  if (f.session == session_fact::gone) return reason::session_gone;
  if (f.session == session_fact::of_another_principal) return reason::wrong_principal;
  return std::nullopt;
}

// The decision: total, and nothing but its facts counts. Rules are tried top down, the first that fits decides.
[[nodiscard]] constexpr reason decide(const facts& f) noexcept {
  if (const auto forbidden = decide_session(f)) return *forbidden;
  if (f.cursor == cursor_fact::absent) return f.standalone == reader_fact::live ? reason::occupied : reason::fresh;
  if (f.cursor == cursor_fact::malformed) return reason::malformed_cursor;
  if (f.cursor == cursor_fact::foreign) return reason::foreign_cursor;
  if (f.cursor == cursor_fact::stale_standalone) return reason::stale_incarnation;
  if (f.cursor == cursor_fact::stale_request) return reason::stale_request;
  const bool held = f.stream == stream_fact::open || f.stream == stream_fact::finished;
  if (f.stream == stream_fact::never_opened || (held && f.place == place_fact::ahead)) return reason::never_issued;
  if (f.stream == stream_fact::forgotten) return reason::forgotten;
  if (f.place == place_fact::evicted) return reason::evicted;
  if (f.place == place_fact::newest && f.stream == stream_fact::finished) return reason::complete;
  if (f.place == place_fact::newest) return reason::up_to_date;
  return reason::replay;
}

// What a decision needs to know of a session, and of one of its streams; for logs that live elsewhere.
struct session_facts {
  std::string_view id, principal;
  protocol negotiated = protocol::v2025_03_26;  // holds where a request names no version
  tags owner;
  reader_fact standalone_reader = reader_fact::none;
  mcp_resume::after_gap after_gap = mcp_resume::after_gap::live_edge;
};
struct stream_facts {
  stream_fact state = stream_fact::never_opened;
  mcp_resume::window window;
  std::uint64_t read_mark = 0;
};

// A decision with its numbers: plain data.
struct resolution {
  mcp_resume::reason reason = mcp_resume::reason::session_gone;
  event_id cursor;                   // as presented; for `fresh` the read mark's; all zero where there is no cursor
  mcp_resume::window window;         // of the stream that is read, where a row from 7 on looked at it
  std::uint64_t missed = 0;          // events from the cursor to `resume_after` that will not be delivered
  std::uint64_t no_longer_held = 0;  // how many of the missed are not held any more
  stream_handle stream;              // what will be read
  std::uint64_t resume_after = 0;    // reading goes on after this seq
  [[nodiscard]] constexpr mcp_resume::outcome outcome() const noexcept { return row_of(reason).outcome; }
  [[nodiscard]] constexpr int http_status() const noexcept { return row_of(reason).http_status; }
  [[nodiscard]] constexpr recovery advice() const noexcept { return row_of(reason).advice; }
};

// The headers that go with a status, whatever the reason: `Cache-Control: no-store` always, since caches may keep a 404
// or 410; `Allow: POST` with 405 (RFC 9110 15.5.6); `Retry-After` with 503; the stream's own with 200, where a proxy
// that buffers would hold events back.
struct header {
  std::string_view name, value;
};
struct header_list {
  header items[3];
  std::size_t count;
  [[nodiscard]] constexpr const header* begin() const noexcept { return items; }
  [[nodiscard]] constexpr const header* end() const noexcept { return items + count; }
};
[[nodiscard]] constexpr header_list headers_for(int http_status) noexcept {
  constexpr header no_store{"Cache-Control", "no-store"};
  if (http_status == 200) return {{no_store, {"Content-Type", "text/event-stream"}, {"X-Accel-Buffering", "no"}}, 3};
  if (http_status == 405) return {{no_store, {"Allow", "POST"}, {}}, 2};
  if (http_status == 503) return {{no_store, {"Retry-After", "1"}, {}}, 2};
  return {{no_store, {}, {}}, 1};
}

// ---- Log -----------------------------------------------------------------------------------------------------------
namespace detail {
constexpr std::size_t event_overhead = 16;  // bytes that an event counts beside its payload
constexpr std::size_t largest_cost = std::size_t{1} << (27U + sizeof(void*) / 2U);  // 2 GiB; its frame fits size_t
constexpr std::size_t smallest_page = 496, largest_page = 4080;                     // bytes; malloc adds 16 at the most
constexpr std::size_t largest_shared_payload = 510;             // bytes; a larger one has a page of its own
constexpr std::uint32_t longest_page_time = ~std::uint32_t{0};  // ms between the first and last event of a page
constexpr std::size_t largest_label = 64;                       // bytes
constexpr std::size_t largest_id = 256;                         // bytes of a session's

// End of a payload in its page, and its age. Length and seq follow from the neighbours, ids are never stored.
struct slot {
  std::uint32_t end : 31;
  std::uint32_t is_one_line : 1;  // the payload holds neither CR nor LF
  std::uint32_t age;              // ms from the page's base to the append
};

// A block of consecutive events of one stream: payloads grow from its front, slots from its back. Evicted events stay
// in their page until it is used up. Pages of a stream form a circle: the newest one's `next` is the oldest.
struct page {
  page *next, *previous;
  std::uint64_t first_seq;
  std::uint64_t base_ms;   // time of the first event
  std::uint32_t capacity;  // bytes behind this header, a multiple of 8
  std::uint32_t count;     // slots
  static page* allocate(std::size_t capacity) noexcept {
    void* block = ::operator new(sizeof(page) + capacity, std::nothrow);
    if (block == nullptr) return nullptr;
    return ::new (block) page{nullptr, nullptr, 0, 0, static_cast<std::uint32_t>(capacity), 0};
  }
  char* payloads() const noexcept { return reinterpret_cast<char*>(const_cast<page*>(this) + 1); }
  slot& slot_at(std::uint32_t index) const noexcept {
    return *(reinterpret_cast<slot*>(payloads() + capacity) - 1 - std::size_t{index});
  }
  std::size_t begin_of(std::uint32_t index) const noexcept { return index == 0 ? 0 : slot_at(index - 1).end; }
  std::string_view payload_at(std::uint32_t index) const noexcept {
    return {payloads() + begin_of(index), slot_at(index).end - begin_of(index)};
  }
  std::uint64_t time_of(std::uint32_t index) const noexcept { return base_ms + slot_at(index).age; }
  std::uint32_t index_of(std::uint64_t seq) const noexcept { return static_cast<std::uint32_t>(seq - first_seq); }
  bool has_room_for(std::size_t payload_size, std::uint64_t now) const noexcept {
    const std::size_t taken = begin_of(count) + sizeof(slot) * std::size_t{count};
    return capacity - taken >= payload_size + sizeof(slot) && now - base_ms <= longest_page_time;
  }
  // Adds an event for which there is room. The first one gives the page its place and time.
  void add(std::uint64_t seq, std::uint64_t now, std::string_view payload, bool is_one_line) noexcept {
    if (count == 0) {
      first_seq = seq;
      base_ms = now;
    }
    const std::size_t begin = begin_of(count);
    slot& added = slot_at(count++);
    added.end = static_cast<std::uint32_t>(begin + payload.copy(payloads() + begin, payload.size())) & 0x7FFFFFFFU;
    added.is_one_line = is_one_line ? 1U : 0U;
    added.age = static_cast<std::uint32_t>(now - base_ms);
  }
};

// One stream: its numbers, and its ring as a circle of pages. first = next - count.
struct record {
  std::uint64_t next;       // seq of the next event
  std::uint64_t read_mark;  // seq
  std::uint64_t lease;      // how often it was attached to
  std::size_t bytes;        // of the held events, payload + event_overhead each
  page* newest;             // nullptr while no event is held
  union {
    std::uint64_t read_at;           // ms; of stream 0, which has no label: when its newest reader last read
    char near_label[sizeof(char*)];  // the label: in place while it fits there, as most JSON-RPC ids do
    char* far_label;
  };
  std::uint32_t count;  // events held
  std::uint32_t number;
  std::uint8_t label_size;
  bool is_finished;
  bool is_attached;  // its newest reader has not been released
  std::uint64_t first() const noexcept { return next - count; }
  mcp_resume::window window() const noexcept { return {first(), next}; }
  page* oldest() const noexcept { return newest->next; }
  std::uint64_t oldest_time() const noexcept { return oldest()->time_of(oldest()->index_of(first())); }
  std::uint64_t unread() const noexcept { return read_mark < first() ? count : next - 1 - read_mark; }
  bool has_far_label() const noexcept { return label_size > sizeof near_label; }
  std::string_view label() const noexcept { return {has_far_label() ? far_label : near_label, label_size}; }
  // False without memory.
  bool set_label(std::string_view text) noexcept {
    label_size = static_cast<std::uint8_t>(text.size());
    if (has_far_label()) far_label = static_cast<char*>(::operator new(text.size(), std::nothrow));
    char* const place = has_far_label() ? far_label : near_label;
    if (place != nullptr) text.copy(place, text.size());
    return place != nullptr;
  }
  void free_label() noexcept {
    if (has_far_label()) ::operator delete(static_cast<void*>(far_label));
  }
  // The page of a held event: from the newest back, so that the cost follows the events that will be read.
  page* page_of(std::uint64_t seq) const noexcept {
    page* p = newest;
    while (p->first_seq > seq) p = p->previous;
    return p;
  }
};

// Two searches: std::string_view::find_first_of is a call for each byte in libstdc++, 764 ns for 256 bytes against 13.
inline bool is_one_line(std::string_view text) noexcept {
  return text.find('\n') == text.npos && text.find('\r') == text.npos;
}

inline options with_least_bounds(options given) noexcept {
  const auto raise_to_1 = [](auto&... bounds) { ((bounds = bounds == 0 ? 1 : bounds), ...); };
  raise_to_1(given.max_events, given.max_streams, given.max_bytes);
  raise_to_1(given.first_seq, given.first_stream, given.max_sessions);
  return given;
}

// The event log of one session: one ring per stream under one budget. It owns its pages, the array of request streams
// and their labels. Invariants: events and bytes are the sums over the records and inside the bounds; records are
// sorted by number; a record has pages exactly while it holds events; at most one unlinked page is kept, as `spare`.
// A refusal has changed nothing: all that can fail comes before the first change.
class event_log : pinned {
 public:
  explicit event_log(const options& bounds) noexcept : bounds_(&bounds) { restart(); }
  ~event_log() { drop_all(); }
  const options& bounds() const noexcept { return *bounds_; }
  std::uint64_t now() const noexcept { return now_; }
  inspection inspect() const noexcept {
    return {1, record_count_, events_, bytes_, events_ == 0 ? 0 : now_ - oldest_time(), evicted_unread_};
  }
  std::uint64_t evicted_unread() const noexcept { return evicted_unread_; }
  // The record of a stream, or nullptr.
  record* find(std::uint32_t stream) const noexcept {
    if (stream == 0) return const_cast<record*>(&standalone_);
    const std::uint32_t place = stream - (next_stream_ - record_count_);  // as a rule none behind it was dropped
    if (place < record_count_ && records_[place].number == stream) return records_ + place;
    record* const end = records_ + record_count_;
    const auto is_before = [](const record& r, std::uint32_t number) { return r.number < number; };
    record* const found = std::lower_bound(records_, end, stream, is_before);
    return found != end && found->number == stream ? found : nullptr;
  }
  stream_facts facts_of(std::uint32_t stream) const noexcept {
    const record* const r = find(stream);
    if (r != nullptr) return {r->is_finished ? stream_fact::finished : stream_fact::open, r->window(), r->read_mark};
    const bool was_opened = stream >= bounds_->first_stream && stream <= next_stream_ - 1;
    return {was_opened ? stream_fact::forgotten : stream_fact::never_opened, {}, 0};
  }
  refusal open(std::string_view label, std::uint32_t& number) noexcept {
    constexpr std::string_view forbidden("\r\n\0", 3);
    if (label.size() > largest_label || label.find_first_of(forbidden) != label.npos) return refusal::bad_label;
    if (next_stream_ == 0) return refusal::numbers_used_up;
    const bool is_full = record_count_ >= bounds_->max_streams;
    record* const dropped = is_full ? record_to_drop() : nullptr;
    if (is_full && dropped == nullptr) return refusal::too_many_streams;
    record opened = empty_record(next_stream_);
    if (!opened.set_label(label)) return refusal::no_memory;  // first: `label` may be that of a record that moves
    if (!is_full && !has_place_for_record()) {
      opened.free_label();
      return refusal::no_memory;
    }
    if (dropped != nullptr) drop(*dropped);
    number = opened.number;
    ++next_stream_;
    records_[record_count_++] = opened;
    return refusal::none;
  }
  // Evicts what the event would put over the bounds, then adds it: it is never evicted itself.
  refusal append(record& to, std::string_view payload) noexcept {
    if (to.is_finished) return refusal::finished;
    if (payload.empty()) return refusal::empty_payload;
    const std::size_t limit = bounds_->max_bytes < largest_cost ? bounds_->max_bytes : largest_cost;
    if (limit < event_overhead || payload.size() > limit - event_overhead) return refusal::too_large;
    if (to.next > event_id::last_seq) return refusal::numbers_used_up;
    page* const room = page_for(to, payload.size());
    if (room == nullptr) return refusal::no_memory;
    const std::size_t cost = payload.size() + event_overhead;
    evict_for(to, cost, room);
    if (room != to.newest) link_newest(to, room);
    if (events_ == 0) not_older_than_ = static_cast<std::uint32_t>(now_ >> 10U);
    room->add(to.next, now_, payload, is_one_line(payload));
    ++to.next;
    ++to.count;
    ++events_;
    if (most_events_ < to.count) most_events_ = to.count;
    to.bytes += cost;
    bytes_ += cost;
    return refusal::none;
  }
  refusal finish(record& stream) noexcept {
    if (stream.number == 0) return refusal::standalone_stream;
    if (stream.is_finished) return refusal::finished;
    stream.is_finished = true;
    if (stream.count != 0) pack(stream);
    return refusal::none;
  }
  refusal forget(record& stream) noexcept {
    if (stream.number == 0) return refusal::standalone_stream;
    if (!stream.is_finished) return refusal::still_open;
    drop(stream);
    return refusal::none;
  }
  // Empties the log and begins to number anew, for another incarnation.
  void restart() noexcept {
    drop_all();
    standalone_ = empty_record(0);
    next_stream_ = bounds_->first_stream;
  }
  // Moves time and drops the events that are too old. An earlier now is ignored.
  void tick(std::uint64_t now) noexcept {
    if (now <= now_) return;
    now_ = now;
    const std::uint64_t max_age = bounds_->max_age_ms;
    if (max_age == 0 || events_ == 0 || now - (std::uint64_t{not_older_than_} << 10U) <= max_age) return;
    for_each_record([this, max_age](record& r) {
      while (r.count != 0 && now_ - r.oldest_time() > max_age) evict_oldest(r, nullptr);
    });
    not_older_than_ = static_cast<std::uint32_t>(oldest_time() >> 10U);
  }
 private:
  record empty_record(std::uint32_t number) const noexcept {
    return {bounds_->first_seq, bounds_->first_seq - 1, 0, 0, nullptr, {}, 0, number, 0, false, false};
  }
  // Visits stream 0, then the request streams in the order of their opening.
  template <class Visit>
  void for_each_record(Visit visit) const noexcept {
    visit(*find(0));
    for (std::uint32_t i = 0; i != record_count_; ++i) visit(records_[i]);
  }
  std::uint64_t oldest_time() const noexcept {
    std::uint64_t oldest = now_;
    for_each_record([&oldest](const record& r) {
      if (r.count != 0 && r.oldest_time() < oldest) oldest = r.oldest_time();
    });
    return oldest;
  }
  bool has_place_for_record() noexcept {
    if (record_count_ < record_capacity_) return true;
    const std::uint32_t capacity = record_capacity_ < 4 ? 4 : record_capacity_ + record_capacity_ / 2;
    void* const block = ::operator new(sizeof(record) * capacity, std::nothrow);
    if (block == nullptr) return false;
    if (record_count_ != 0) std::memcpy(block, records_, sizeof(record) * record_count_);
    ::operator delete(static_cast<void*>(records_));
    records_ = static_cast<record*>(block);
    record_capacity_ = capacity;
    return true;
  }
  // The finished record with the fewest held events, then the lowest number.
  record* record_to_drop() const noexcept {
    record* least = nullptr;
    for_each_record([&least](record& r) {
      if (r.is_finished && (least == nullptr || r.count < least->count)) least = &r;
    });
    return least;
  }
  void drop(record& stream) noexcept {
    drop_events(stream);
    stream.free_label();
    const auto behind = static_cast<std::size_t>(records_ + record_count_ - (&stream + 1));
    std::memmove(&stream, &stream + 1, sizeof(record) * behind);
    --record_count_;
  }
  void drop_events(record& stream) noexcept {
    while (stream.count != 0) evict_oldest(stream, nullptr);
  }
  void drop_all() noexcept {
    drop_events(standalone_);
    while (record_count_ != 0) drop(records_[record_count_ - 1]);
    ::operator delete(static_cast<void*>(std::exchange(records_, nullptr)));
    record_capacity_ = 0;
    keep_as_spare(nullptr);
  }
  // The stream's newest page if the event fits there, else an unlinked one: the spare page or a new one. Small streams
  // have small pages; a spare that is far too large for the stream is not taken, since it would hold unused memory.
  page* page_for(const record& to, std::size_t payload_size) noexcept {
    if (to.newest != nullptr && to.newest->has_room_for(payload_size, now_)) return to.newest;
    const std::size_t need = (payload_size + sizeof(slot) + 7) / 8 * 8;
    std::size_t capacity = need;
    if (payload_size <= largest_shared_payload) {
      std::size_t size = smallest_page;
      while (size < largest_page && (size < to.bytes / 16 || size - sizeof(page) < need)) size = 2 * size + 16;
      capacity = (size - sizeof(page)) / need * need;  // as a rule the next events are of that size
    }
    const bool fits = spare_ != nullptr && spare_->capacity >= capacity && spare_->capacity <= 2 * capacity;
    if (!fits) return page::allocate(capacity);
    spare_->count = 0;
    return std::exchange(spare_, nullptr);
  }
  // First the event bound is made to hold, then the byte bound.
  void evict_for(record& appending, std::size_t cost, const page* room) noexcept {
    while (events_ >= bounds_->max_events) evict_oldest(victim(appending, 0), room);
    while (bytes_ > bounds_->max_bytes - cost) evict_oldest(victim(appending, cost), room);
  }
  // The stream that holds the most among those that hold more than one (among all, if none does), the event being
  // appended counted; ties: the stream opened first. So a chatty stream does not evict a quiet one's answer. Called
  // only while an event is held, so there always is one. `cost` 0 counts events, else bytes.
  record& victim(record& appending, std::size_t cost) noexcept {
    // As a rule the stream that is appended to holds as many as any: to look at 255 others for that took 400 ns.
    if (cost == 0 && appending.count == most_events_) return appending;
    most_events_ = 0;
    record* most = nullptr;
    std::pair<bool, std::size_t> most_holds;  // more than one; the amount
    for_each_record([&](record& r) {
      if (r.count == 0) return;
      if (most_events_ < r.count) most_events_ = r.count;
      const bool is_appending = &r == &appending;
      const std::size_t added = is_appending ? (cost == 0 ? 1 : cost) : 0;
      const std::pair<bool, std::size_t> holds(r.count > 1 || is_appending, (cost == 0 ? r.count : r.bytes) + added);
      if (most != nullptr && !(most_holds < holds)) return;
      most = &r;
      most_holds = holds;
    });
    return *most;
  }
  // `room` is the page that is about to take an event: when it is used up, it is rewound and stays linked.
  void evict_oldest(record& from, const page* room) noexcept {
    page* const p = from.oldest();
    const std::uint32_t index = p->index_of(from.first());
    const std::size_t cost = p->payload_at(index).size() + event_overhead;
    if (from.first() > from.read_mark) ++evicted_unread_;
    --from.count;
    --events_;
    from.bytes -= cost;
    bytes_ -= cost;
    if (index + 1 != p->count) return;
    if (p != room) return unlink_oldest(from);
    p->count = 0;
  }
  void link_newest(record& to, page* unlinked) noexcept {
    page* const newest = to.newest == nullptr ? unlinked : to.newest;
    unlinked->next = to.newest == nullptr ? unlinked : newest->next;
    unlinked->previous = newest;
    unlinked->next->previous = newest->next = to.newest = unlinked;
  }
  void unlink_oldest(record& from) noexcept {
    page* const oldest = from.oldest();
    oldest->next->previous = oldest->previous;
    oldest->previous->next = oldest->next;
    if (oldest == from.newest) from.newest = nullptr;
    keep_as_spare(oldest);
  }
  // A page of one large event is not kept: the spare would double the memory of a full log.
  void keep_as_spare(page* unlinked) noexcept {
    const bool is_kept = unlinked == nullptr || unlinked->capacity <= largest_page;
    ::operator delete(static_cast<void*>(is_kept ? std::exchange(spare_, unlinked) : unlinked));
  }
  // A finished stream's events move into one page that just fits, if one can hold them and there is memory for it.
  void pack(record& stream) noexcept {
    const std::size_t payloads = stream.bytes - event_overhead * stream.count;
    const std::size_t capacity = (payloads + sizeof(slot) * stream.count + 7) / 8 * 8;
    const std::uint64_t newest_time = stream.newest->time_of(stream.newest->count - 1);
    if (sizeof(page) + capacity > largest_page || newest_time - stream.oldest_time() > longest_page_time) return;
    page* const packed = page::allocate(capacity);
    if (packed == nullptr) return;
    const page* from = stream.oldest();
    for (std::uint64_t seq = stream.first(); seq != stream.next; ++seq) {
      if (seq - from->first_seq == from->count) from = from->next;
      const std::uint32_t index = from->index_of(seq);
      packed->add(seq, from->time_of(index), from->payload_at(index), from->slot_at(index).is_one_line != 0);
    }
    while (stream.newest != nullptr) unlink_oldest(stream);
    link_newest(stream, packed);
  }
  const options* bounds_;
  record* records_ = nullptr;  // of the request streams
  std::uint32_t record_count_ = 0, record_capacity_ = 0;
  std::uint32_t next_stream_ = 0;     // 0 once all numbers are used up
  std::uint32_t not_older_than_ = 0;  // 1,024 ms, low 32 bits; no held event is older: tick may look early, not late
  std::uint32_t events_ = 0;
  std::uint32_t most_events_ = 0;  // no stream holds more; may be too high until the next look
  std::size_t bytes_ = 0;
  std::uint64_t evicted_unread_ = 0;
  std::uint64_t now_ = 0;  // ms
  page* spare_ = nullptr;
  record standalone_{};
};
}  // namespace detail

// ---- Session -------------------------------------------------------------------------------------------------------
// What a call of read did, and what is next.
enum class read_state : std::uint8_t {
  more,        // read again at once (after sending, if a bound was hit)
  caught_up,   // everything was handed out: read again after a change
  finished,    // everything was handed out and the stream takes no more: close the connection
  gap,         // just the gap signal was written: add the words, read again at once
  reset,       // just the reset signal was written: add the words, read again at once
  superseded,  // a newer reader has taken over: close the connection
  gone,        // the session, incarnation or stream has ended, or the reader was released: close the connection
};

// Whether the last event of a finished request stream will still arrive after a gap.
enum class answer : std::uint8_t { none_yet, held, lost };
struct [[nodiscard]] progress {
  read_state state = read_state::gone;
  mcp_resume::answer answer = mcp_resume::answer::none_yet;  // with a gap
  std::uint64_t missed = 0;                                  // with a gap: events that the signal reported
  std::uint64_t events = 0;                                  // handed out by this call
  std::size_t bytes = 0;                                     // of frames written by this call
};

struct appended {
  refusal why = refusal::gone;
  event_id id;                       // of the new event
  std::uint64_t unread = 0;          // held events of this stream that no reader was handed yet, the new one included
  std::uint64_t evicted_unread = 0;  // unread events of the session, in any stream, that this call evicted
  explicit operator bool() const noexcept { return why == refusal::none; }
};

// The `retry:` of one connection's marker in ms: none said = the option's; 0 = no `retry:`.
using retry_option = std::optional<std::uint32_t>;
// A place after which one connection reads, with its lease. A copy has a place of its own: read from one of them only.
// Made by attach, resume and open_stream; any other is `gone`.
class reader {
 public:
  [[nodiscard]] constexpr stream_handle stream() const noexcept { return stream_; }
  // How often the stream has been attached to. Let `retry:` grow with it when connections fight.
  [[nodiscard]] constexpr std::uint64_t lease() const noexcept { return lease_; }
  // The id under which this connection stands: the last that it was given, before that the one it presented.
  [[nodiscard]] constexpr event_id position() const noexcept {
    return {{stream_.owner.session, incarnation_}, stream_.stream, at_};
  }
  [[nodiscard]] constexpr protocol negotiated() const noexcept { return negotiated_; }
 private:
  friend class session;
  template <class Mutex>
  friend class basic_session_table;
  // What is due next: nothing any more, the marker, a signal, the marker that a signal announced, events.
  enum class phase : std::uint8_t { gone, opening, gap, reset, announced, flowing };
  stream_handle stream_;
  std::uint64_t incarnation_ = 0;  // of position(): the presented one until a marker was written
  std::uint64_t at_ = 0;           // seq of position()
  std::uint64_t target_ = 0;       // in phases gap, reset and announced: reading goes on after this seq
  std::uint64_t lease_ = 0;
  std::uint32_t retry_ms_ = 0;
  protocol negotiated_ = protocol::v2025_11_25;
  phase phase_ = phase::gone;
};

struct [[nodiscard]] opened {
  refusal why = refusal::gone;
  stream_handle stream;
  mcp_resume::reader reader;  // for the POST's own response
  explicit operator bool() const noexcept { return why == refusal::none; }
};

// One frame of a stream, as a visitor is handed it.
enum class frame_kind : std::uint8_t { marker, event, gap, reset };
struct frame {
  frame_kind kind = frame_kind::event;
  event_id id;                                  // of the event or marker; of a gap or reset the presented id
  event_id resume_from;                         // of a gap or reset: the id of the marker that follows
  std::uint64_t missed = 0;                     // of a gap
  std::string_view payload;                     // of an event; valid during the visit
  bool is_one_line = false;                     // of an event: known to hold neither CR nor LF
  protocol negotiated = protocol::v2025_11_25;  // of a marker
  std::uint32_t retry_ms = 0;                   // of a marker
};

namespace detail {
// One block with the id and the principal behind it, and the bounds where they are the session's own.
struct session_state {
  event_log log;
  tags owner;
  std::uint64_t active_at = 0;  // ms
  std::uint32_t principal_size = 0;
  std::uint16_t id_size = 0;
  protocol negotiated = protocol::v2025_11_25;
  std::uint8_t idle_ticks = 0;  // how many ticks in a row found it idle for too long; 2 = expired
  explicit session_state(const options& bounds) noexcept : log(bounds) {}
  char* texts() noexcept { return reinterpret_cast<char*>(this + 1); }
  std::string_view id() const noexcept { return {reinterpret_cast<const char*>(this + 1), id_size}; }
  std::string_view principal() const noexcept { return {id().data() + id_size, principal_size}; }
  void note_activity() noexcept {
    active_at = log.now();
    idle_ticks = 0;
  }
};

inline bool is_session_id(std::string_view id) noexcept {
  const auto is_visible = [](char c) { return c >= 0x21 && c <= 0x7E; };
  return !id.empty() && id.size() <= largest_id && std::all_of(id.begin(), id.end(), is_visible);
}

constexpr std::uint64_t place_after_gap(after_gap rule, window held, bool is_finished) noexcept {
  if (rule == after_gap::oldest_held) return held.first - 1;
  return is_finished && held.first < held.next ? held.next - 2 : held.next - 1;
}
}  // namespace detail

// One MCP session: its tags, its principal and its event log. Movable; one that was not created, has ended or was moved
// from holds nothing, and every call refuses with `gone`. Externally synchronised, like a standard container. A call
// costs a constant, the bytes that it copies, and a search over the records for each event or record that makes room.
// Append, open_stream, finish, attach, visit and read are activity where they are not refused.
class session {
 public:
  session() noexcept = default;
  session(session&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
  // By value: `other` ends what this one held.
  session& operator=(session other) noexcept { return std::swap(state_, other.state_), *this; }
  ~session() { end(); }
  // Begins a session under new tags, in one block. Refuses: live, bad id, stateless version, no randomness, no memory.
  template <class Random = system_random>
  refusal create(std::string_view id, std::string_view principal, protocol negotiated, const options& bounds = {},
                 Random&& random = Random{}) {
    return restore(id, principal, negotiated, random(), bounds, random);
  }
  // As create, under a stored session tag and a new incarnation: cursors of the earlier life meet rows 10 and 11.
  template <class Random = system_random>
  refusal restore(std::string_view id, std::string_view principal, protocol negotiated, drawn_tag session_tag,
                  const options& bounds = {}, Random&& random = Random{}) {
    return begin(id, principal, negotiated, session_tag, random(), bounds, true);
  }
  // Begins another incarnation: empties the log, drops all streams, keeps id, principal, version and session tag.
  // Refuses without randomness, also where the number drawn is the present one.
  template <class Random = system_random>
  refusal renew(Random&& random = Random{}) {
    if (!is_live()) return refusal::gone;
    const drawn_tag incarnation = random();
    if (!incarnation || incarnation == state_->owner.incarnation) return refusal::no_randomness;
    state_->owner.incarnation = *incarnation;
    state_->log.restart();
    return refusal::none;
  }
  // Frees everything. Readers and handles are told `gone`.
  void end() noexcept {
    if (!is_live()) return;
    state_->~session_state();
    ::operator delete(static_cast<void*>(std::exchange(state_, nullptr)));
  }
  // Moves time and drops the events that are too old. An earlier now is ignored. Cost: the dropped, at times all streams.
  void tick(std::uint64_t now_ms) noexcept {
    if (is_live()) state_->log.tick(now_ms);
  }
  // Observers; empty where there is no session. Views are valid until the session changes.
  [[nodiscard]] bool is_live() const noexcept { return state_ != nullptr; }
  [[nodiscard]] std::string_view id() const noexcept { return is_live() ? state_->id() : std::string_view(); }
  [[nodiscard]] stream_handle standalone() const noexcept { return {is_live() ? state_->owner : tags{}, 0, 0}; }
  [[nodiscard]] inspection inspect() const noexcept { return is_live() ? state_->log.inspect() : inspection{}; }
  [[nodiscard]] stream_facts facts_of(std::uint32_t stream) const noexcept {
    return is_live() ? state_->log.facts_of(stream) : stream_facts{};
  }
  [[nodiscard]] session_facts facts() const noexcept {
    if (!is_live()) return {};
    const options& bounds = state_->log.bounds();
    const std::uint64_t unread_for = state_->log.now() - state_->log.find(0)->read_at;
    const bool is_reading = bounds.reader_timeout_ms == 0 || unread_for <= bounds.reader_timeout_ms;
    const auto fact = state_->log.find(0)->is_attached && is_reading ? reader_fact::live : reader_fact::none;
    return {state_->id(), state_->principal(), state_->negotiated, state_->owner, fact, bounds.after_gap};
  }
  [[nodiscard]] std::optional<window> window_of(const stream_handle& stream) const noexcept {
    detail::record* r = nullptr;
    return find(stream, r) == refusal::none ? std::optional<window>(r->window()) : std::nullopt;
  }
  [[nodiscard]] std::string_view label_of(const stream_handle& stream) const noexcept {
    detail::record* r = nullptr;
    return find(stream, r) == refusal::none ? r->label() : std::string_view();
  }
  // Opens a request stream and attaches its first reader. At the bound of streams a finished record is dropped. Refuses
  // where all are open, a bad label, used-up numbers, without memory. May allocate.
  opened open_stream(std::string_view label, retry_option retry_ms = {}) noexcept {
    opened done;
    std::uint32_t number = 0;
    if (is_live()) done.why = state_->log.open(label, number);
    if (!done) return done;  // without handle and reader: stream 0 must not get what was meant for this one
    detail::record& stream = *state_->log.find(number);
    done.reader = attach_to(stream, stream.next - 1, retry_ms);
    done.stream = done.reader.stream();
    return done;
  }
  // Adds an event and evicts what is over the bounds. Copies the payload. In steady state one stream of events of one
  // size allocates nothing, others once a page at the most; but one over 4,000 bytes may take a block of its own.
  appended append(const stream_handle& stream, std::string_view payload) noexcept {
    const appended done = add(stream, payload);
    if (done) state_->note_activity();
    return done;
  }
  // Says that the stream takes no more events: its last one was the answer. Refuses stream 0 and a finished one.
  refusal finish(const stream_handle& stream) noexcept {
    detail::record* r = nullptr;
    refusal why = find(stream, r);
    if (why == refusal::none) why = state_->log.finish(*r);
    if (why == refusal::none) state_->note_activity();
    return why;
  }
  // Drops the record of a finished request stream; its unread events count as evicted. Refuses stream 0 and an open one.
  refusal forget(const stream_handle& stream) noexcept {
    detail::record* r = nullptr;
    const refusal why = find(stream, r);
    return why == refusal::none ? state_->log.forget(*r) : why;
  }
  // Attaches a reader where `from` says, and supersedes the stream's older ones. A resolution whose status is not 200,
  // or that is outdated, gives a reader that is `gone` and changes nothing.
  reader attach(const resolution& from, retry_option retry_ms = {}) noexcept {
    detail::record* stream = nullptr;
    if (from.http_status() != 200 || find(from.stream, stream) != refusal::none) return {};
    const bool is_reset = from.outcome() == mcp_resume::outcome::reset;
    const bool is_gap = !is_reset && from.missed != 0;
    const bool is_of_this_log = from.resume_after < stream->next && !(is_gap && from.cursor.seq >= from.resume_after);
    if (!is_of_this_log) return {};
    reader made = attach_to(*stream, from.resume_after, retry_ms);
    if (!is_reset && !is_gap) return made;
    made.phase_ = is_reset ? reader::phase::reset : reader::phase::gap;
    made.incarnation_ = from.cursor.owner.incarnation;
    made.at_ = from.cursor.seq;
    made.target_ = from.resume_after;
    return made;
  }
  // Says that the connection has ended. The reader and its copies are `gone`; a newer one is not touched.
  void release(reader& from) noexcept {
    detail::record* stream = nullptr;
    if (find_for(from, stream) == read_state::more) stream->is_attached = false;
    from.phase_ = reader::phase::gone;
  }
  // Hands out what comes after the reader, frame by frame, and moves it: replay and live delivery are the same call.
  // `take(const frame&)` returns false to leave a frame untaken, as does a throw; it must not call this session.
  template <class Visitor>
  progress visit(reader& from, Visitor&& take) {
    progress done;
    detail::record* stream = nullptr;
    done.state = find_for(from, stream);
    if (done.state != read_state::more) return done;
    state_->note_activity();
    if (stream->number == 0) stream->read_at = state_->log.now();
    notice_overrun(from, *stream);
    const bool is_signal_due = from.phase_ == reader::phase::gap || from.phase_ == reader::phase::reset;
    if (is_signal_due) {
      take_signal(from, *stream, take, done);
    } else if (take_marker(from, take) && take_events(from, *stream, take, done)) {
      done.state = stream->is_finished ? read_state::finished : read_state::caught_up;
    }
    return done;
  }
  // As visit, appending frames to `frames`: at most `max_bytes`, but at least one frame. May throw bad_alloc; then
  // `frames` holds whole frames, and the reader stands behind the last of them.
  progress read(reader& from, std::string& frames, std::size_t max_bytes = 65536);
  // As visit, writing whole frames to a buffer. `more` with no bytes says that the next frame needs more than `size`.
  progress read(reader& from, char* buffer, std::size_t size) noexcept;
 private:
  template <class Mutex>
  friend class basic_session_table;
  refusal begin(std::string_view id, std::string_view principal, protocol negotiated, drawn_tag session_tag,
                drawn_tag incarnation, const options& bounds, bool owns_bounds) noexcept {
    using detail::session_state;
    if (!session_tag || !incarnation) return refusal::no_randomness;
    if (is_live()) return refusal::id_in_use;
    if (!detail::is_session_id(id)) return refusal::bad_id;
    if (is_stateless(negotiated)) return refusal::stateless_protocol;
    if (principal.size() > 0xFFFFFFFFU) return refusal::too_large;
    constexpr std::size_t step = alignof(options);
    const std::size_t texts_end = sizeof(session_state) + id.size() + principal.size();
    const std::size_t bounds_at = (texts_end + step - 1) / step * step;
    void* const block = ::operator new(owns_bounds ? bounds_at + sizeof(options) : texts_end, std::nothrow);
    if (block == nullptr) return refusal::no_memory;
    const options* used = &bounds;
    if (owns_bounds) used = ::new (static_cast<char*>(block) + bounds_at) options(detail::with_least_bounds(bounds));
    state_ = ::new (block) session_state(*used);
    state_->owner = {*session_tag, *incarnation};
    state_->negotiated = negotiated;
    state_->id_size = static_cast<std::uint16_t>(id.copy(state_->texts(), id.size()));
    state_->principal_size = static_cast<std::uint32_t>(principal.copy(state_->texts() + id.size(), principal.size()));
    return refusal::none;
  }
  // Tags before any number: an equal number of another incarnation proves nothing.
  refusal find(const stream_handle& stream, detail::record*& found) const noexcept {
    if (!is_live() || stream.owner.session != state_->owner.session) return refusal::gone;
    if (stream.owner.incarnation != state_->owner.incarnation) return refusal::other_incarnation;
    found = state_->log.find(stream.stream);
    return found == nullptr ? refusal::no_such_stream : refusal::none;
  }
  // `more`, or why this reader may not read. Every read checks tags and lease.
  read_state find_for(const reader& from, detail::record*& found) const noexcept {
    if (from.phase_ == reader::phase::gone || find(from.stream_, found) != refusal::none) return read_state::gone;
    if (from.lease_ != found->lease) return read_state::superseded;
    return found->is_attached ? read_state::more : read_state::gone;
  }
  appended add(const stream_handle& stream, std::string_view payload) noexcept {
    appended done;
    detail::record* to = nullptr;
    done.why = find(stream, to);
    if (!done) return done;
    const std::uint64_t evicted_before = state_->log.evicted_unread();
    done.why = state_->log.append(*to, payload);
    if (!done) return done;
    done.id = {stream.owner, stream.stream, to->next - 1};
    done.unread = to->unread();
    done.evicted_unread = state_->log.evicted_unread() - evicted_before;
    return done;
  }
  reader attach_to(detail::record& stream, std::uint64_t after, retry_option retry_ms) noexcept {
    state_->note_activity();
    if (stream.number == 0) stream.read_at = state_->log.now();
    stream.is_attached = true;
    reader made;
    made.stream_ = {state_->owner, stream.number, 0};
    made.incarnation_ = state_->owner.incarnation;
    made.at_ = after;
    made.lease_ = ++stream.lease;
    made.retry_ms_ = retry_ms.value_or(state_->log.bounds().retry_ms);
    made.negotiated_ = state_->negotiated;
    made.phase_ = reader::phase::opening;
    return made;
  }
  // An overrun reader gets a gap under the last id it was given; but an announced place's marker comes first, always.
  void notice_overrun(reader& from, const detail::record& stream) const noexcept {
    const bool may_turn = from.phase_ == reader::phase::opening || from.phase_ == reader::phase::flowing;
    if (!may_turn || from.at_ + 1 >= stream.first()) return;
    from.phase_ = reader::phase::gap;
    from.target_ = detail::place_after_gap(state_->log.bounds().after_gap, stream.window(), stream.is_finished);
  }
  template <class Visitor>
  void take_signal(reader& from, const detail::record& stream, Visitor& take, progress& done) {
    const bool is_gap = from.phase_ == reader::phase::gap;
    const frame_kind kind = is_gap ? frame_kind::gap : frame_kind::reset;
    const event_id resume_from{state_->owner, stream.number, from.target_};
    const std::uint64_t missed = is_gap ? from.target_ - from.at_ : 0;
    if (!take(frame{kind, from.position(), resume_from, missed, {}, false, state_->negotiated, 0})) return;
    done.state = is_gap ? read_state::gap : read_state::reset;
    done.missed = missed;
    const bool will_arrive = stream.count != 0 && from.target_ < stream.next - 1;
    if (stream.is_finished) done.answer = will_arrive ? answer::held : answer::lost;
    from.phase_ = reader::phase::announced;
  }
  template <class Visitor>
  bool take_marker(reader& from, Visitor& take) {
    if (from.phase_ == reader::phase::flowing) return true;
    const std::uint64_t place = from.phase_ == reader::phase::announced ? from.target_ : from.at_;
    const event_id id{state_->owner, from.stream_.stream, place};
    if (!take(frame{frame_kind::marker, id, {}, 0, {}, false, state_->negotiated, from.retry_ms_})) return false;
    from.incarnation_ = state_->owner.incarnation;
    from.at_ = place;
    from.phase_ = reader::phase::flowing;
    return true;
  }
  template <class Visitor>
  bool take_events(reader& from, detail::record& stream, Visitor& take, progress& done) {
    if (from.at_ + 1 < stream.first()) return false;  // evicted since the place was announced: a new gap follows
    frame event;
    event.id = from.position();
    for (const detail::page* p = nullptr; from.at_ + 1 != stream.next; ++done.events) {
      ++event.id.seq;
      if (p == nullptr) p = stream.page_of(event.id.seq);
      if (event.id.seq - p->first_seq == p->count) p = p->next;
      event.payload = p->payload_at(p->index_of(event.id.seq));
      event.is_one_line = p->slot_at(p->index_of(event.id.seq)).is_one_line != 0;
      if (!take(std::as_const(event))) return false;
      from.at_ = event.id.seq;
      if (stream.read_mark < from.at_) stream.read_mark = from.at_;
    }
    return true;
  }
  detail::session_state* state_ = nullptr;
};

// ---- Table ---------------------------------------------------------------------------------------------------------
// A mutex for a table that one thread uses.
struct null_mutex {
  void lock() noexcept {}
  void unlock() noexcept {}
};

struct broadcast {
  std::uint64_t appended = 0, refused = 0;  // sessions
};

[[nodiscard]] resolution resolve_resume(const request& asked, const session* named,
                                        protocol_set supported = {}) noexcept;
template <class Mutex>
class basic_session_table;
template <class Mutex>
[[nodiscard]] resolution resolve_resume(const request& asked, const basic_session_table<Mutex>& table) noexcept;
template <class Mutex>
[[nodiscard]] std::optional<reason> resolve_session(const request& asked,
                                                    const basic_session_table<Mutex>& table) noexcept;

namespace detail {
template <class Mutex>
struct lock : pinned {
  explicit lock(Mutex& held) : mutex(held) { mutex.lock(); }
  ~lock() { mutex.unlock(); }
  Mutex& mutex;
};

// Sessions by the hash of their id: open addressing, linear probing, 2^n slots. At most 3/4 are taken: a probe ends.
class session_index : pinned {
 public:
  struct slot {
    std::uint64_t hash = 0;
    session held;  // not live: the slot is free
  };
  ~session_index() { delete[] slots_; }
  slot* begin() const noexcept { return slots_; }
  slot* end() const noexcept { return slots_ + capacity_; }
  // The session of that hash for which `is_it(session)` holds, or nullptr.
  template <class IsIt>
  slot* find(std::uint64_t hash, IsIt is_it) const noexcept {
    slot* const ends = capacity_ == 0 ? nullptr : &probe(hash, is_it);
    return ends != nullptr && ends->held.is_live() ? ends : nullptr;
  }
  // Makes place for one more; false without memory.
  bool reserve_one() noexcept {
    if ((size_ + 1) * 4 <= capacity_ * 3) return true;
    session_index grown;
    grown.slots_ = new (std::nothrow) slot[capacity_ == 0 ? 4 : capacity_ * 2];
    if (grown.slots_ == nullptr) return false;
    grown.capacity_ = capacity_ == 0 ? 4 : capacity_ * 2;
    for (slot& each : *this) {
      if (each.held.is_live()) grown.insert(each.hash, std::move(each.held));
    }
    std::swap(slots_, grown.slots_);
    std::swap(capacity_, grown.capacity_);
    return true;
  }
  void insert(std::uint64_t hash, session&& added) noexcept {
    probe(hash, [](const session&) { return false; }) = slot{hash, std::move(added)};
    ++size_;
  }
  // Ends a session. Those behind it are put in again so that no probe stops short: the slot may hold another afterwards.
  void erase(slot& ended) noexcept {
    ended.held.end();
    --size_;
    for (std::size_t i = after(static_cast<std::size_t>(&ended - slots_)); slots_[i].held.is_live(); i = after(i)) {
      --size_;
      insert(slots_[i].hash, session(std::move(slots_[i].held)));
    }
  }
 private:
  std::size_t after(std::size_t i) const noexcept { return (i + 1) & (capacity_ - 1); }
  // The slot that is it, or the free one that ends the search.
  template <class IsIt>
  slot& probe(std::uint64_t hash, IsIt is_it) const noexcept {
    std::size_t i = static_cast<std::size_t>(hash) & (capacity_ - 1);
    while (slots_[i].held.is_live() && !(slots_[i].hash == hash && is_it(slots_[i].held))) i = after(i);
    return slots_[i];
  }
  slot* slots_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};
}  // namespace detail

// Many sessions by their ids. Thread-safe: a call locks one of 64 parts (append_all, tick and inspect all of them, one
// after the other), so sessions hardly wait for each other. A function does what the session's of the same name does;
// for an absent session it refuses with `gone`. Append, open_stream, finish, attach, read and touch are activity and
// keep a session alive. Deciding is not, so a stranger keeps nothing alive; nor is append_all, or no abandoned session
// would ever expire. Only handles, readers and resolutions that this table made find their session.
template <class Mutex>
class basic_session_table : detail::pinned {
 public:
  explicit basic_session_table(const options& bounds = {}) noexcept : bounds_(detail::with_least_bounds(bounds)) {}
  // Refuses, beside what a session refuses, more than max_sessions.
  template <class Random = system_random>
  refusal create(std::string_view id, std::string_view principal, protocol negotiated, Random&& random = Random{}) {
    return restore(id, principal, negotiated, random(), random);
  }
  template <class Random = system_random>
  refusal restore(std::string_view id, std::string_view principal, protocol negotiated, drawn_tag session_tag,
                  Random&& random = Random{}) {
    return insert(id, principal, negotiated, session_tag, random());
  }
  template <class Random = system_random>
  refusal renew(std::string_view id, Random&& random = Random{}) {
    const drawn_tag incarnation = random();  // not under the lock
    return with(id, refusal::gone, [&](session& s) { return s.renew([&] { return incarnation; }); });
  }
  // Frees the session's log at once; the id may be created again.
  refusal end(std::string_view id) noexcept {
    const std::uint64_t route = hash_of(id);
    part& in = part_of(route);
    const detail::lock<Mutex> guard(in.mutex);
    slot* const found = find(in, route, id);
    if (found == nullptr) return refusal::gone;
    in.sessions.erase(*found);
    --size_;
    return refusal::none;
  }
  // Moves time in every session. The second tick in a row that finds a session idle for too long ends it (a machine
  // that was suspended wakes to one late tick and must not lose every session to it). The ids of the ended are added to
  // `expired` where that is given; if that throws bad_alloc, the session waits for the next tick. Cost: all sessions.
  void tick(std::uint64_t now_ms, std::vector<std::string>* expired = nullptr) {
    for (part& in : parts_) {
      const detail::lock<Mutex> guard(in.mutex);
      if (now_ms <= in.now) continue;
      in.now = now_ms;
      for (slot& each : in.sessions) {
        if (!each.held.is_live()) continue;
        each.held.tick(now_ms);
        detail::session_state& s = *each.held.state_;
        if (bounds_.idle_ms != 0 && now_ms - s.active_at > bounds_.idle_ms && s.idle_ticks < 2) ++s.idle_ticks;
      }
      for (slot& each : in.sessions) {  // apart, since ending moves others about
        while (each.held.is_live() && each.held.state_->idle_ticks == 2) {
          if (expired != nullptr) expired->emplace_back(each.held.id());
          in.sessions.erase(each);
          --size_;
        }
      }
    }
  }
  // Activity, if the session is there and belongs to that principal.
  refusal touch(std::string_view id, std::string_view principal) noexcept {
    return with(id, refusal::gone, [&](session& s) {
      if (s.state_->principal() != principal) return refusal::gone;
      s.state_->note_activity();
      return refusal::none;
    });
  }
  opened open_stream(std::string_view id, std::string_view label, retry_option retry_ms = {}) noexcept {
    return with_named(id, [&](session* named, std::uint64_t route) {
      opened done = named == nullptr ? opened{} : named->open_stream(label, retry_ms);
      if (done) done.stream.route = done.reader.stream_.route = route;
      return done;
    });
  }
  // The handle of stream 0, or none.
  [[nodiscard]] std::optional<stream_handle> standalone(std::string_view id) const noexcept {
    return with_named(id, [](const session* named, std::uint64_t route) {
      return named == nullptr ? std::nullopt : std::optional<stream_handle>({named->state_->owner, 0, route});
    });
  }
  appended append(const stream_handle& stream, std::string_view payload) noexcept {
    return with(stream, appended{}, [&](session& s) { return s.append(stream, payload); });
  }
  // Appends to stream 0 of every session.
  broadcast append_all(std::string_view payload) noexcept {
    broadcast done;
    for_each([&](session& s) { ++(s.add(s.standalone(), payload) ? done.appended : done.refused); });
    return done;
  }
  refusal finish(const stream_handle& stream) noexcept {
    return with(stream, refusal::gone, [&](session& s) { return s.finish(stream); });
  }
  // Appends the answer and finishes in one step. Between two, a reader may be told of a gap, be placed behind the answer
  // and wait for it: the stream still seems to be at work.
  appended finish(const stream_handle& stream, std::string_view answer_text) noexcept {
    return with(stream, appended{}, [&](session& s) {
      if (stream.stream == 0) return appended{s.finish(stream), {}, 0, 0};
      const appended done = s.append(stream, answer_text);
      if (done) s.finish(stream);
      return done;
    });
  }
  refusal forget(const stream_handle& stream) noexcept {
    return with(stream, refusal::gone, [&](session& s) { return s.forget(stream); });
  }
  // The label of a reader's stream, empty if there is none. May throw bad_alloc.
  [[nodiscard]] std::string label_of(const reader& from) const {
    return with(from.stream(), std::string(), [&](const session& s) { return std::string(s.label_of(from.stream())); });
  }
  [[nodiscard]] std::optional<window> window_of(const stream_handle& stream) const noexcept {
    return with(stream, std::optional<window>(), [&](const session& s) { return s.window_of(stream); });
  }
  // Of one session, or of all that live: sums, and the greatest age.
  [[nodiscard]] inspection inspect(std::string_view id) const noexcept {
    return with(id, inspection{}, [](const session& s) { return s.inspect(); });
  }
  [[nodiscard]] inspection inspect() const noexcept {
    inspection sum;
    for_each([&sum](const session& s) {
      const inspection one = s.inspect();
      sum.sessions += one.sessions;
      sum.streams += one.streams;
      sum.events += one.events;
      sum.bytes += one.bytes;
      if (sum.oldest_age_ms < one.oldest_age_ms) sum.oldest_age_ms = one.oldest_age_ms;
      sum.evicted_unread += one.evicted_unread;
    });
    return sum;
  }
  reader attach(const resolution& from, retry_option retry_ms = {}) noexcept {
    reader made = with(from.stream, reader{}, [&](session& s) { return s.attach(from, retry_ms); });
    made.stream_.route = from.stream.route;
    return made;
  }
  void release(reader& from) noexcept {
    from.phase_ = with(from.stream(), reader::phase::gone, [&](session& s) { return s.release(from), from.phase_; });
  }
  // resolve_resume and attach under one lock. Sets `attached`, to a reader that is `gone` unless the status is 200.
  [[nodiscard]] resolution resume(const request& asked, reader& attached, retry_option retry_ms = {}) noexcept {
    return with_named(asked.session_id.view(), [&](session* named, std::uint64_t route) {
      resolution decided = resolve_resume(asked, named, bounds_.supported);
      attached = named == nullptr ? reader{} : named->attach(decided, retry_ms);
      decided.stream.route = attached.stream_.route = route;
      return decided;
    });
  }
  progress read(reader& from, std::string& frames, std::size_t max_bytes = 65536) {
    return with(from.stream(), progress{}, [&](session& s) { return s.read(from, frames, max_bytes); });
  }
  progress read(reader& from, char* buffer, std::size_t size) noexcept {
    return with(from.stream(), progress{}, [&](session& s) { return s.read(from, buffer, size); });
  }
 private:
  using slot = detail::session_index::slot;
  struct part {
    Mutex mutex;
    detail::session_index sessions;
    std::uint64_t now = 0;  // ms
    char apart[64];         // from the next one's lock: with both in one cache line two threads took 2.5 times as long
  };
  // An id that no session can have, however long, costs no more than one that it can. The bits of std::hash need not
  // be random: a multiplication (2^64 / golden ratio) and a shift spread them.
  static std::uint64_t hash_of(std::string_view id) noexcept {
    if (id.size() > detail::largest_id) return 0;
    const std::uint64_t spread = std::hash<std::string_view>()(id) * 0x9E3779B97F4A7C15U;
    return spread ^ spread >> 32U;
  }
  part& part_of(std::uint64_t route) const noexcept { return parts_[route >> 58U]; }
  static slot* find(const part& in, std::uint64_t route, std::string_view id) noexcept {
    return in.sessions.find(route, [id](const session& s) { return s.id() == id; });
  }
  friend resolution resolve_resume<Mutex>(const request& asked, const basic_session_table& table) noexcept;
  friend std::optional<reason> resolve_session<Mutex>(const request& asked, const basic_session_table& table) noexcept;
  refusal insert(std::string_view id, std::string_view principal, protocol negotiated, drawn_tag session_tag,
                 drawn_tag incarnation) noexcept {
    const std::uint64_t route = hash_of(id);
    part& in = part_of(route);
    const detail::lock<Mutex> guard(in.mutex);
    if (find(in, route, id) != nullptr) return refusal::id_in_use;
    session added;
    const refusal why = added.begin(id, principal, negotiated, session_tag, incarnation, bounds_, false);
    if (why != refusal::none) return why;
    if (!in.sessions.reserve_one()) return refusal::no_memory;
    std::size_t size = size_.load();  // of all parts: never counted ahead, or another part would refuse for nothing
    do {
      if (size >= bounds_.max_sessions) return refusal::too_many_sessions;
    } while (!size_.compare_exchange_weak(size, size + 1));
    added.tick(in.now);
    added.state_->note_activity();
    in.sessions.insert(route, std::move(added));
    return refusal::none;
  }
  // The result of `call(session or nullptr, route)` under the lock.
  template <class Call>
  auto with_named(std::string_view id, Call call) const {
    const std::uint64_t route = hash_of(id);
    part& in = part_of(route);
    const detail::lock<Mutex> guard(in.mutex);
    slot* const found = find(in, route, id);
    return call(found == nullptr ? nullptr : &found->held, route);
  }
  // The result of `call(session)` under the lock, or `absent`.
  template <class Result, class Call>
  Result with(std::string_view id, Result absent, Call call) const {
    return with_named(id, [&](session* named, std::uint64_t) { return named == nullptr ? absent : call(*named); });
  }
  template <class Result, class Call>
  Result with(const stream_handle& stream, Result absent, Call call) const {
    part& in = part_of(stream.route);
    const detail::lock<Mutex> guard(in.mutex);
    const auto is_owner = [&](const session& s) { return s.state_->owner.session == stream.owner.session; };
    slot* const found = in.sessions.find(stream.route, is_owner);
    return found == nullptr ? absent : call(found->held);
  }
  template <class Call>
  void for_each(Call call) const {
    for (part& in : parts_) {
      const detail::lock<Mutex> guard(in.mutex);
      for (slot& each : in.sessions) {
        if (each.held.is_live()) call(each.held);
      }
    }
  }
  options bounds_;
  std::atomic<std::size_t> size_{0};
  mutable part parts_[64];
};

#if MCP_RESUME_STD_MUTEX
using session_table = basic_session_table<std::mutex>;
#endif
using local_session_table = basic_session_table<null_mutex>;

// ---- Resolve -------------------------------------------------------------------------------------------------------
namespace detail {
// Rows 1 to 5: what a request says, beside what is known of the session.
inline facts session_facts_of(const request& asked, const session_facts* known, protocol_set supported) noexcept {
  facts f;
  const bool is_found = known != nullptr && !known->id.empty() && known->id == asked.session_id.view();
  const std::string_view sent = asked.version.view();
  const protocol assumed = is_found ? known->negotiated : protocol::v2025_03_26;
  const std::optional<protocol> version = sent.empty() ? assumed : parse_protocol(sent);
  if (version && is_stateless(*version)) f.version = version_fact::stateless;
  if (!sent.empty() && !(version && supported.contains(*version))) f.version = version_fact::unsupported;
  if (asked.session_id.view().empty()) {
    f.session = session_fact::not_named;
  } else if (!is_found) {
    f.session = session_fact::gone;
  } else if (known->principal != asked.principal.view()) {
    f.session = session_fact::of_another_principal;
  }
  return f;
}

inline cursor_fact cursor_fact_of(const std::optional<event_id>& cursor, tags owner) noexcept {
  if (!cursor) return cursor_fact::malformed;
  if (cursor->owner.session != owner.session) return cursor_fact::foreign;
  if (cursor->owner.incarnation == owner.incarnation) return cursor_fact::own;
  return cursor->stream == 0 ? cursor_fact::stale_standalone : cursor_fact::stale_request;
}

// Where reading goes on, and what is missed on the way there.
inline void place_reader(resolution& decided, const session_facts& known, const stream_facts& stream) noexcept {
  decided.window = stream.window;
  if (decided.outcome() == outcome::reject) return;
  decided.resume_after = decided.outcome() == outcome::reset ? stream.window.first - 1 : decided.cursor.seq;
  const bool may_miss = decided.reason == reason::fresh || decided.reason == reason::evicted;
  if (!may_miss || place_of(decided.cursor.seq, stream.window) != place_fact::evicted) return;
  decided.resume_after = place_after_gap(known.after_gap, stream.window, stream.state == stream_fact::finished);
  decided.missed = decided.resume_after - decided.cursor.seq;
  decided.no_longer_held = stream.window.first - 1 - decided.cursor.seq;
}
}  // namespace detail

// Decides a GET for logs that live elsewhere: `known` is the session that the id names, or nullptr;
// `facts_of(stream number)` returns stream_facts and is called at most once, if rows 1 to 5 let the request pass. Changes
// nothing: no lease, activity or counter. Constant cost for any bytes. Where facts are missing do not decide: answer 503.
template <class FactsOf>
[[nodiscard]] resolution resolve_resume(const request& asked, const session_facts* known, FactsOf&& facts_of,
                                        protocol_set supported = {}) {
  resolution decided;
  facts f = detail::session_facts_of(asked, known, supported);
  if (const auto forbidden = decide_session(f)) {
    decided.reason = *forbidden;
    return decided;
  }
  f.standalone = known->standalone_reader;
  decided.stream.owner = known->owner;
  const bool has_cursor = !asked.last_event_id.view().empty();
  if (has_cursor) {
    const std::optional<event_id> cursor = event_id::parse(asked.last_event_id.view());
    f.cursor = detail::cursor_fact_of(cursor, known->owner);
    decided.cursor = cursor.value_or(event_id{});
    if (f.cursor == cursor_fact::own) decided.stream.stream = decided.cursor.stream;
  }
  const bool names_stream = !has_cursor || f.cursor == cursor_fact::own || f.cursor == cursor_fact::stale_standalone;
  const stream_facts stream = names_stream ? facts_of(decided.stream.stream) : stream_facts{};
  const std::uint64_t newest = stream.window.next - 1;  // a read mark ahead of it would skip what comes
  if (!has_cursor) decided.cursor = {known->owner, 0, stream.read_mark < newest ? stream.read_mark : newest};
  f.stream = stream.state;
  f.place = place_of(decided.cursor.seq, stream.window);
  decided.reason = decide(f);
  detail::place_reader(decided, *known, stream);
  return decided;
}

// Decides a GET for the session that the id names, or nullptr if there is none.
inline resolution resolve_resume(const request& asked, const session* named, protocol_set supported) noexcept {
  const session_facts known = named != nullptr ? named->facts() : session_facts{};
  return resolve_resume(
      asked, &known, [named](std::uint32_t stream) { return named->facts_of(stream); }, supported);
}

// Decides a GET for a table.
template <class Mutex>
resolution resolve_resume(const request& asked, const basic_session_table<Mutex>& table) noexcept {
  return table.with_named(asked.session_id.view(), [&](const session* named, std::uint64_t route) {
    resolution decided = resolve_resume(asked, named, table.bounds_.supported);
    decided.stream.route = route;
    return decided;
  });
}

// Rows 1 to 5 for a POST or DELETE: the reason that forbids, or none; `Last-Event-ID` is ignored. On a POST
// `stateless_protocol` means: no session, both headers ignored and not echoed. Not for `initialize`. Changes nothing.
[[nodiscard]] inline std::optional<reason> resolve_session(const request& asked, const session_facts* known,
                                                           protocol_set supported = {}) noexcept {
  return decide_session(detail::session_facts_of(asked, known, supported));
}
[[nodiscard]] inline std::optional<reason> resolve_session(const request& asked, const session* named,
                                                           protocol_set supported = {}) noexcept {
  const session_facts known = named != nullptr ? named->facts() : session_facts{};
  return resolve_session(asked, &known, supported);
}
template <class Mutex>
std::optional<reason> resolve_session(const request& asked, const basic_session_table<Mutex>& table) noexcept {
  return table.with_named(asked.session_id.view(), [&](const session* named, std::uint64_t) {
    return resolve_session(asked, named, table.bounds_.supported);
  });
}

// ---- Wire ----------------------------------------------------------------------------------------------------------
// Server-sent events (HTML 9.2). In a block with an id the id comes before retry and data, and a block without one is
// written only between a signal and its marker: a client may lose its cursor to a first block without an id.

namespace detail {
// Writes one block to a buffer. What does not fit is counted and not written, so that an empty buffer measures.
struct block_writer {
  char* begin = nullptr;
  std::size_t capacity = 0;
  std::size_t size = 0;
  [[nodiscard]] bool fits() const noexcept { return size <= capacity; }
  block_writer& put(std::string_view text) noexcept {
    const std::size_t at = size;
    size += text.size();
    if (begin != nullptr && fits() && !text.empty()) std::memcpy(begin + at, text.data(), text.size());
    return *this;
  }
  block_writer& put(std::uint64_t number) noexcept {
    char digits[20];
    return put(std::string_view(digits, static_cast<std::size_t>(write_decimal(digits, number) - digits)));
  }
  block_writer& put(const event_id& id) noexcept {
    char text[event_id::max_size];
    return put(std::string_view(text, id.to_chars(text)));
  }
  // `data:` lines, split at CR, LF and CRLF as a client splits them, so that no payload can forge a field.
  // One pass: to search for each line's end anew would be quadratic where only one kind of end occurs.
  void put_data(std::string_view payload, bool is_one_line) noexcept {
    std::size_t line = 0;
    for (std::size_t i = 0; !is_one_line && i < payload.size(); ++i) {
      if (payload[i] != '\r' && payload[i] != '\n') continue;
      put("data: ").put(payload.substr(line, i - line)).put("\n");
      if (payload.substr(i, 2) == "\r\n") ++i;
      line = i + 1;
    }
    put("data: ").put(payload.substr(line)).put("\n\n");
  }
  // A JSON-RPC notification with more `params` to come, since several clients parse the data of every event type.
  block_writer& put_notification(std::string_view method, const event_id& last) noexcept {
    put(R"(data: {"jsonrpc":"2.0","method":"notifications/resume/)").put(method);
    return put(R"(","params":{"lastEventId":")").put(last).put("\"");
  }
  void put_marker(const frame& f) noexcept {
    const bool is_priming = f.negotiated >= protocol::v2025_11_25;  // older clients fail to parse empty data
    put(is_priming ? "id: " : "event: resume\nid: ").put(f.id).put("\n");
    if (f.retry_ms != 0) put("retry: ").put(std::uint64_t{f.retry_ms}).put("\n");
    if (is_priming) {
      put("data:\n\n");
    } else {
      put_notification("continued", f.id).put("}}\n\n");
    }
  }
  void put_signal(const frame& f) noexcept {
    const std::string_view name = f.kind == frame_kind::gap ? "gap" : "reset";
    put("event: ").put(name).put("\nid: ").put(f.id).put("\n");
    put_notification(name, f.id).put(R"(,"resumeFrom":")").put(f.resume_from).put("\"");
    if (f.kind == frame_kind::gap) put(R"(,"missed":)").put(f.missed);
    put("}}\n\n");
  }
  void put_frame(const frame& f) noexcept {
    if (f.kind == frame_kind::marker) return put_marker(f);
    if (f.kind != frame_kind::event) return put_signal(f);
    put("id: ").put(f.id).put("\n").put_data(f.payload, f.is_one_line);
  }
};

// Appends what `put(block_writer&)` puts, measured first: the string grows once, or throws and is as before.
template <class Put>
void append_block(std::string& out, Put put) {
  block_writer measured;
  put(measured);
  out.resize(out.size() + measured.size);
  block_writer written{&out[out.size() - measured.size], measured.size};
  put(written);
}

// Writes the frames of one read. Its events follow each other, so their blocks begin alike but for the last digit of the
// id, and that part is made anew every tenth time: with the whole id for each a replay took twice as long.
class frame_writer {
 public:
  // Bytes of the frame that is to be written next.
  std::size_t measure(const frame& f) noexcept {
    is_line_ = f.kind == frame_kind::event && f.is_one_line;
    block_writer measured;
    if (!is_line_) return measured.put_frame(f), measured.size;
    if (size_ == 0 || f.id.seq / 10 != tens_) {
      tens_ = f.id.seq / 10;
      size_ = 4 + f.id.to_chars(begin_ + 4) + 7;
      std::memcpy(begin_ + size_ - 7, "\ndata: ", 7);
    }
    begin_[size_ - 8] = static_cast<char>('0' + f.id.seq % 10);
    return size_ + f.payload.size() + 2;
  }
  void write(const frame& f, char* out, std::size_t size) const noexcept {
    if (!is_line_) return block_writer{out, size}.put_frame(f);
    std::memcpy(out, begin_, size_);
    std::memcpy(out + size_, f.payload.data(), f.payload.size());
    out[size - 2] = out[size - 1] = '\n';
  }
 private:
  bool is_line_ = false;
  std::uint64_t tens_ = 0;
  std::size_t size_ = 0;
  char begin_[4 + event_id::max_size + 7] = {'i', 'd', ':', ' '};  // to the payload
};
}  // namespace detail

// Appends a frame that a visitor was handed. If the string throws bad_alloc it is as before: so in all that follow.
inline void append_frame(std::string& out, const frame& f) {
  detail::append_block(out, [&f](detail::block_writer& block) { block.put_frame(f); });
}

// Appends an event. Refuses an empty payload.
inline refusal append_event(std::string& out, const event_id& id, std::string_view payload) {
  if (payload.empty()) return refusal::empty_payload;
  append_frame(out, {frame_kind::event, id, {}, 0, payload, false, {}, 0});
  return refusal::none;
}
// Appends a marker: the stream goes on exactly after `id`. With a `retry_ms` also a superseded connection's last block.
inline void append_marker(std::string& out, const event_id& id, protocol negotiated, std::uint32_t retry_ms = 0) {
  append_frame(out, {frame_kind::marker, id, {}, 0, {}, false, negotiated, retry_ms});
}
// Appends a gap signal under the presented id: a cut after it loses nothing. Words and a marker at `resume_from` follow.
inline void append_gap(std::string& out, const event_id& presented, const event_id& resume_from, std::uint64_t missed) {
  append_frame(out, {frame_kind::gap, presented, resume_from, missed, {}, false, {}, 0});
}
// Appends a reset signal under the presented id. Words and the marker of the new incarnation follow.
inline void append_reset(std::string& out, const event_id& presented, const event_id& resume_from) {
  append_frame(out, {frame_kind::reset, presented, resume_from, 0, {}, false, {}, 0});
}
// Appends an event without an id: words for today's clients, between a signal and its marker. Refuses an empty payload.
inline refusal append_message(std::string& out, std::string_view payload) {
  if (payload.empty()) return refusal::empty_payload;
  detail::append_block(out, [payload](detail::block_writer& block) { block.put_data(payload, false); });
  return refusal::none;
}
// Appends a keep-alive: one comment line and no blank line, which would end a block. Never before the marker.
inline void append_keep_alive(std::string& out) { out.append(": keep-alive\n"); }

// Appends the JSON object for `capabilities.experimental.resume` of initialize: what is held. maxAgeMs 0 = no bound.
inline void append_retention(std::string& out, const options& bounds) {
  const options held = detail::with_least_bounds(bounds);
  detail::append_block(out, [&held](detail::block_writer& block) {
    block.put(R"({"eventId":"<session>.<incarnation>.<stream>.<seq>","maxEvents":)")
        .put(std::uint64_t{held.max_events});
    block.put(R"(,"maxBytes":)").put(std::uint64_t{held.max_bytes}).put(R"(,"maxAgeMs":)").put(held.max_age_ms);
    block.put(R"(,"maxStreams":)").put(std::uint64_t{held.max_streams}).put("}");
  });
}

inline progress session::read(reader& from, std::string& frames, std::size_t max_bytes) {
  detail::frame_writer writer;
  const std::size_t before = frames.size();
  std::size_t end = before;
  progress done = visit(from, [&](const frame& f) {
    const std::size_t size = writer.measure(f), used = end - before;
    if (used != 0 && (used >= max_bytes || size > max_bytes - used)) return false;
    if (frames.size() - end < size) {
      frames.resize(end);  // what is left if the next one throws; that one grows ahead: 1.3 times as fast
      frames.resize(end + size + (used < 16384 ? used : 16384));
    }
    writer.write(f, &frames[end], size);
    end += size;
    return true;
  });
  frames.resize(end);
  done.bytes = end - before;
  return done;
}

inline progress session::read(reader& from, char* buffer, std::size_t size) noexcept {
  detail::frame_writer writer;
  std::size_t used = 0;
  progress done = visit(from, [&](const frame& f) {
    const std::size_t needed = writer.measure(f);
    const bool fits = needed <= size - used;
    if (fits) writer.write(f, buffer + std::exchange(used, used + needed), needed);
#if defined(__GNUC__)  // where the next frame will stand: without it a replay took 1.3 times as long
    for (std::size_t i = used; i < size && i < used + needed; i += 64) __builtin_prefetch(buffer + i, 1);
#endif
    return fits;
  });
  done.bytes = used;
  return done;
}

// ---- Text ----------------------------------------------------------------------------------------------------------
namespace detail {
// All of one size: to search for each blank took a third of a decision.
inline constexpr std::string_view protocol_words = "2024-11-05 2025-03-26 2025-06-18 2025-11-25 2026-07-28";
// The word of an enumerator among words in its enum's order, or "?".
template <class Enum>
constexpr std::string_view word_of(Enum value, std::string_view words) noexcept {
  for (auto n = static_cast<std::size_t>(value); n != 0 && !words.empty(); --n) {
    const std::size_t blank = words.find(' ');
    words = blank == words.npos ? std::string_view() : words.substr(blank + 1);
  }
  return words.empty() ? std::string_view("?") : words.substr(0, words.find(' '));
}
}  // namespace detail

// The name of an enumerator, of outcome::continue_ without its underscore; "?" for a value that is none.
constexpr std::string_view to_string(protocol p) noexcept { return detail::word_of(p, detail::protocol_words); }
constexpr std::string_view to_string(outcome o) noexcept { return detail::word_of(o, "continue reset gap reject"); }
constexpr std::string_view to_string(recovery r) noexcept {
  return detail::word_of(r, "none retry resubscribe resync reinitialize stop");
}
constexpr std::string_view to_string(refusal r) noexcept {
  return detail::word_of(r,
                         "none gone other_incarnation no_such_stream standalone_stream finished still_open "
                         "empty_payload too_large numbers_used_up too_many_streams bad_label bad_id id_in_use "
                         "too_many_sessions stateless_protocol no_randomness no_memory");
}
constexpr std::string_view to_string(read_state s) noexcept {
  return detail::word_of(s, "more caught_up finished gap reset superseded gone");
}
constexpr std::string_view to_string(answer a) noexcept { return detail::word_of(a, "none_yet held lost"); }
constexpr std::string_view to_string(reason r) noexcept {
  return static_cast<std::size_t>(r) < reason_count ? row_of(r).name : "?";
}

constexpr std::optional<protocol> parse_protocol(std::string_view text) noexcept {
  for (std::size_t i = protocol_count; i-- != 0;) {  // the newest is asked for most
    if (detail::protocol_words.substr(11 * i, 10) == text) return static_cast<protocol>(i);
  }
  return std::nullopt;
}

// The text of an id, as it stands in `id:` and `Last-Event-ID`.
[[nodiscard]] inline std::string to_string(const event_id& id) {
  char text[event_id::max_size];
  return std::string(text, id.to_chars(text));
}
[[nodiscard]] inline std::string to_string(const window& held) {
  return std::string("[") + std::to_string(held.first) + ", " + std::to_string(held.next) + ")";
}

// One sentence a person can act on, for the log. No foreign bytes: a cursor's numbers only if it is of this session.
[[nodiscard]] inline std::string describe(const resolution& decided) {
  const auto number = [](std::uint64_t value) { return std::to_string(value); };
  const std::string head = std::string(to_string(decided.outcome())) + ": ";
  const std::string after = "goes on after " + number(decided.resume_after);
  if (decided.missed != 0) {
    return head + (decided.reason == reason::fresh ? "read mark " : "cursor ") + number(decided.cursor.seq) +
           ", oldest held " + number(decided.window.first) + ", " + number(decided.no_longer_held) +
           " events no longer held; " + after + ", " + number(decided.missed) + " missed";
  }
  if (decided.http_status() == 200) {
    return head + std::string(to_string(decided.reason)) + " of stream " + number(decided.stream.stream) + "; " +
           after + ", " + number(decided.window.next - 1 - decided.resume_after) + " events held behind it";
  }
  return head + std::string(row_of(decided.reason).fact) + "; advice: " + std::string(to_string(decided.advice()));
}
[[nodiscard]] inline std::string to_string(const resolution& decided) { return describe(decided); }

// {fmt} 10 and later print these types by ADL; mcp_resume/fmt.hpp adds {fmt} 9.
template <class T>
[[nodiscard]] auto format_as(const T& value) -> decltype(to_string(value)) {
  return to_string(value);
}

#if MCP_RESUME_EXCEPTIONS
// For those who want exceptions: the cursor cannot be attributed to the session; events are lost.
struct session_cursor_mismatch : std::runtime_error {
  using std::runtime_error::runtime_error;
};
struct resumption_gap_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Returns where nothing is missed. Throws resumption_gap_error on a gap, also on that of a fresh reader, and
// session_cursor_mismatch on reset and reject; both say describe(decided).
inline void require_continuation(const resolution& decided) {
  const bool is_gap = decided.outcome() == outcome::gap || decided.missed != 0;
  if (is_gap) throw resumption_gap_error(describe(decided));
  if (decided.outcome() != outcome::continue_) throw session_cursor_mismatch(describe(decided));
}
#endif

// ---- Self-checks ---------------------------------------------------------------------------------------------------
static_assert(row_of(reason::occupied).reason == reason::occupied && row_of(reason::replay).reason == reason::replay);
static_assert(to_string(refusal::no_memory) == "no_memory" && to_string(read_state::gone) == "gone");
static_assert(sizeof(detail::slot) == 8 && sizeof(detail::page) % 8 == 0, "slots stand behind the payloads");
static_assert(std::is_trivially_copyable<detail::record>::value, "records move by memmove");
static_assert(alignof(detail::session_state) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__, "blocks come from plain new");
static_assert(std::is_trivially_copyable<reader>::value && std::is_trivially_copyable<resolution>::value);
}  // namespace MCP_RESUME_INLINE_NAMESPACE
}  // namespace mcp_resume
#endif  // MCP_RESUME_RESUME_HPP
