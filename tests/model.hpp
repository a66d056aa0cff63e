// SPDX-License-Identifier: MIT
// What the library must do, slowly and plainly: every event ever appended is kept, everything is found by looking
// through all of it, and each rule stands here in its words. Only plain vocabulary of the library is used: enums,
// options, ids, windows.
#ifndef MCP_RESUME_TESTS_MODEL_HPP
#define MCP_RESUME_TESTS_MODEL_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "mcp_resume/resume.hpp"

namespace model {

using mcp_resume::answer;
using mcp_resume::event_id;
using mcp_resume::frame_kind;
using mcp_resume::options;
using mcp_resume::protocol;
using mcp_resume::read_state;
using mcp_resume::reason;
using mcp_resume::refusal;
using mcp_resume::tags;
using mcp_resume::window;

// ---- Event ids
// -------------------------------------------------------------------------------------------------------

inline bool consists_of(const std::string& text, const char* characters) {
  return text.find_first_not_of(characters) == std::string::npos;
}

inline std::optional<std::uint64_t> tag_of(const std::string& text) {
  if (text.size() != 16 || !consists_of(text, "0123456789abcdef")) return std::nullopt;
  return std::strtoull(text.c_str(), nullptr, 16);
}

// Numbers without leading zeros are in the order of (length, text).
inline std::optional<std::uint64_t> number_of(const std::string& text, const std::string& largest) {
  if (text.empty() || !consists_of(text, "0123456789")) return std::nullopt;
  if (text.size() > 1 && text[0] == '0') return std::nullopt;
  if (text.size() > largest.size() || (text.size() == largest.size() && text > largest)) return std::nullopt;
  return std::strtoull(text.c_str(), nullptr, 10);
}

inline std::optional<event_id> parse(const std::string& text) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == '.') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  if (parts.size() != 4) return std::nullopt;
  const auto session = tag_of(parts[0]), incarnation = tag_of(parts[1]);
  const auto stream = number_of(parts[2], "4294967295"), seq = number_of(parts[3], "18446744073709551615");
  if (!session || !incarnation || !stream || !seq) return std::nullopt;
  return event_id{{*session, *incarnation}, static_cast<std::uint32_t>(*stream), *seq};
}

// ---- Streams and sessions
// --------------------------------------------------------------------------------------------

struct event {
  std::string payload;
  std::uint64_t appended_at = 0;  // ms
  bool is_held = true;
  std::uint64_t cost() const { return payload.size() + 16; }
};

struct stream {
  std::uint32_t number = 0;
  std::string label;
  std::uint64_t first_seq = 1;
  std::vector<event> events;    // all that were ever appended
  std::uint64_t read_mark = 0;  // seq
  std::uint64_t lease = 0;
  bool is_attached = false;  // the newest reader has not been released
  bool is_finished = false;
  bool has_record = true;  // false: dropped or forgotten

  std::uint64_t seq_of(std::size_t index) const { return first_seq + index; }
  std::uint64_t next() const { return seq_of(events.size()); }
  const event& at(std::uint64_t seq) const { return events[static_cast<std::size_t>(seq - first_seq)]; }
  std::uint64_t first() const {
    for (std::size_t i = 0; i != events.size(); ++i) {
      if (events[i].is_held) return seq_of(i);
    }
    return next();
  }
  window held() const { return {first(), next()}; }
  std::uint64_t held_events() const { return next() - first(); }
  std::uint64_t held_bytes() const {
    std::uint64_t sum = 0;
    for (const event& e : events) sum += e.is_held ? e.cost() : 0;
    return sum;
  }
  std::uint64_t unread() const {
    std::uint64_t count = 0;
    for (std::size_t i = 0; i != events.size(); ++i) count += events[i].is_held && seq_of(i) > read_mark ? 1U : 0U;
    return count;
  }
};

struct session {
  std::string id;
  std::string principal;
  protocol negotiated = protocol::v2025_11_25;
  tags owner;
  std::vector<stream> streams;  // of this incarnation, in the order of their opening; [0] is the standalone one
  std::uint64_t standalone_read_at = 0;  // ms
  std::uint64_t active_at = 0;           // ms
  unsigned idle_ticks = 0;               // ticks since the last activity that found it idle too long
  std::uint64_t evicted_unread = 0;

  std::uint64_t held_events() const {
    std::uint64_t sum = 0;
    for (const stream& s : streams) sum += s.held_events();
    return sum;
  }
  std::uint64_t held_bytes() const {
    std::uint64_t sum = 0;
    for (const stream& s : streams) sum += s.held_bytes();
    return sum;
  }
  std::uint64_t records() const {  // of request streams
    std::uint64_t count = 0;
    for (std::size_t i = 1; i != streams.size(); ++i) count += streams[i].has_record ? 1U : 0U;
    return count;
  }
};

// ---- What calls take and return
// --------------------------------------------------------------------------------------

struct handle {
  std::string session_id;
  tags owner;
  std::uint32_t stream = 0;
};

struct asked {
  std::string version, session_id, cursor, principal;
};

struct decision {
  mcp_resume::reason reason = reason::session_gone;
  event_id cursor;
  std::optional<window> held;  // where a stream was looked at
  std::uint64_t missed = 0;
  std::uint64_t no_longer_held = 0;
  std::optional<std::uint64_t> resume_after;  // where a stream can be read
  handle to;

  bool is_served() const { return resume_after && reason != reason::complete; }
};

struct appended {
  refusal why = refusal::gone;
  event_id id;
  std::uint64_t unread = 0;
  std::uint64_t evicted_unread = 0;
};

enum class phase { gone, opening, gap_due, reset_due, announced, flowing };

struct reader {
  handle to;
  std::uint64_t lease = 0;
  model::phase phase = phase::gone;
  event_id position;         // the last id that it was given, before that the presented one
  std::uint64_t target = 0;  // seq; where reading goes on after the signal
  std::uint32_t retry_ms = 0;
};

struct opened {
  refusal why = refusal::gone;
  handle to;
  reader first_reader;
};

struct frame {
  frame_kind kind = frame_kind::event;
  event_id id;
  std::string payload;
  event_id resume_from;
  std::uint64_t missed = 0;
  std::uint32_t retry_ms = 0;
};

struct progress {
  read_state state = read_state::gone;
  mcp_resume::answer answer = answer::none_yet;
  std::uint64_t missed = 0;
  std::uint64_t events = 0;
};

// ---- The world
// -------------------------------------------------------------------------------------------------------

class world {
 public:
  explicit world(options given) : bounds_(given) {
    bounds_.max_events = std::max(bounds_.max_events, 1U);
    bounds_.max_streams = std::max(bounds_.max_streams, 1U);
    bounds_.max_bytes = std::max<std::size_t>(bounds_.max_bytes, 1);
    bounds_.first_seq = std::max<std::uint64_t>(bounds_.first_seq, 1);
    bounds_.first_stream = std::max(bounds_.first_stream, 1U);
    bounds_.max_sessions = std::max<std::size_t>(bounds_.max_sessions, 1);
  }

  const options& bounds() const { return bounds_; }
  std::uint64_t now() const { return now_; }
  const std::map<std::string, session>& sessions() const { return sessions_; }
  const session* find(const std::string& id) const {
    const auto found = sessions_.find(id);
    return found == sessions_.end() ? nullptr : &found->second;
  }
  const stream* find(const handle& to) const {
    stream* found = nullptr;
    return const_cast<world*>(this)->look_up(to, found) == refusal::none ? found : nullptr;
  }

  // Tags that could not be drawn are absent.
  refusal create(const std::string& id, const std::string& principal, protocol negotiated,
                 std::optional<std::uint64_t> session_tag, std::optional<std::uint64_t> incarnation);
  refusal renew(const std::string& id, std::optional<std::uint64_t> incarnation);
  refusal end(const std::string& id) { return sessions_.erase(id) == 1 ? refusal::none : refusal::gone; }
  refusal touch(const std::string& id, const std::string& principal);
  std::vector<std::string> tick(std::uint64_t now);

  opened open_stream(const std::string& id, const std::string& label, std::optional<std::uint32_t> retry_ms);
  appended append(const handle& to, const std::string& payload, bool is_activity = true);
  refusal finish(const handle& to);
  appended finish(const handle& to, const std::string& answer);
  refusal forget(const handle& to);

  std::optional<reason> resolve_session(const asked& request) const;
  decision resolve(const asked& request) const;
  reader attach(const decision& from, std::optional<std::uint32_t> retry_ms);
  void release(reader& from);
  template <class Take>
  progress read(reader& from, Take take);

 private:
  enum class bound { events, bytes };

  refusal look_up(const handle& to, stream*& found);
  stream* find(session& in, std::uint32_t number);
  void note_activity(const std::string& id);
  void start_log(session& s) const;
  stream new_stream(std::uint32_t number) const;
  void drop(session& from, stream& dropped) const;
  static void evict(session& from, stream& of, event& evicted);
  static void evict_oldest(session& from, stream& of);
  static stream& victim(session& from, const stream& appending, std::uint64_t cost, bound hit);
  void make_room(session& in, const stream& appending, std::uint64_t cost) const;
  bool has_live_reader(const session& s) const;
  std::uint64_t place_after_gap(const stream& s) const;
  void place(decision& decided, const stream& s) const;
  decision resolve_cursor(const session& s, decision decided) const;
  reader attach_to(const session& s, stream& to, std::uint64_t after, std::optional<std::uint32_t> retry_ms);
  read_state state_of(const reader& from, stream*& found);
  template <class Take>
  bool signal(reader& from, const stream& s, Take& take, progress& done) const;
  template <class Take>
  bool deliver(reader& from, stream& s, Take& take, progress& done) const;

  options bounds_;
  std::uint64_t now_ = 0;
  std::map<std::string, session> sessions_;
};

// ---- Sessions
// --------------------------------------------------------------------------------------------------------

inline refusal world::create(const std::string& id, const std::string& principal, protocol negotiated,
                             std::optional<std::uint64_t> session_tag, std::optional<std::uint64_t> incarnation) {
  if (sessions_.count(id) != 0) return refusal::id_in_use;
  if (!session_tag || !incarnation) return refusal::no_randomness;
  const bool is_visible = std::all_of(id.begin(), id.end(), [](char c) { return c >= 0x21 && c <= 0x7E; });
  if (id.empty() || id.size() > 256 || !is_visible) return refusal::bad_id;
  if (negotiated == protocol::v2026_07_28) return refusal::stateless_protocol;
  if (sessions_.size() >= bounds_.max_sessions) return refusal::too_many_sessions;

  session& s = sessions_[id];
  s.id = id;
  s.principal = principal;
  s.negotiated = negotiated;
  s.owner = {*session_tag, *incarnation};
  start_log(s);
  note_activity(id);
  return refusal::none;
}

inline refusal world::renew(const std::string& id, std::optional<std::uint64_t> incarnation) {
  if (sessions_.count(id) == 0) return refusal::gone;
  session& s = sessions_[id];
  if (!incarnation || *incarnation == s.owner.incarnation) return refusal::no_randomness;  // not another incarnation
  for (stream& old : s.streams) drop(s, old);
  s.owner.incarnation = *incarnation;
  start_log(s);
  return refusal::none;
}

inline refusal world::touch(const std::string& id, const std::string& principal) {
  if (sessions_.count(id) == 0 || sessions_[id].principal != principal) return refusal::gone;
  note_activity(id);
  return refusal::none;
}

// A tick that does not move time finds nothing.
inline std::vector<std::string> world::tick(std::uint64_t now) {
  std::vector<std::string> expired;
  if (now <= now_) return expired;
  now_ = now;
  for (auto& [id, s] : sessions_) {
    for (stream& each : s.streams) {
      for (event& e : each.events) {
        if (bounds_.max_age_ms != 0 && now - e.appended_at > bounds_.max_age_ms) evict(s, each, e);
      }
    }
    const bool is_idle = bounds_.idle_ms != 0 && now - s.active_at > bounds_.idle_ms;
    if (is_idle && ++s.idle_ticks == 2) expired.push_back(id);
  }
  for (const std::string& id : expired) sessions_.erase(id);
  return expired;
}

inline void world::note_activity(const std::string& id) {
  sessions_[id].active_at = now_;
  sessions_[id].idle_ticks = 0;
}

inline stream world::new_stream(std::uint32_t number) const {
  stream made;
  made.number = number;
  made.first_seq = bounds_.first_seq;
  made.read_mark = bounds_.first_seq - 1;
  return made;
}

inline void world::start_log(session& s) const { s.streams.assign(1, new_stream(0)); }

// ---- Streams and the event log
// ---------------------------------------------------------------------------------------

inline stream* world::find(session& in, std::uint32_t number) {
  for (stream& s : in.streams) {
    if (s.number == number && s.has_record) return &s;
  }
  return nullptr;
}

inline refusal world::look_up(const handle& to, stream*& found) {
  if (sessions_.count(to.session_id) == 0) return refusal::gone;
  session& s = sessions_[to.session_id];
  if (s.owner.session != to.owner.session) return refusal::gone;
  if (s.owner.incarnation != to.owner.incarnation) return refusal::other_incarnation;
  found = find(s, to.stream);
  return found == nullptr ? refusal::no_such_stream : refusal::none;
}

inline void world::evict(session& from, stream& of, event& evicted) {
  if (!evicted.is_held) return;
  const auto index = static_cast<std::size_t>(&evicted - of.events.data());
  if (of.seq_of(index) > of.read_mark) ++from.evicted_unread;
  evicted.is_held = false;
}

inline void world::evict_oldest(session& from, stream& of) {
  for (event& e : of.events) {
    if (e.is_held) return evict(from, of, e);
  }
}

inline void world::drop(session& from, stream& dropped) const {
  for (event& e : dropped.events) evict(from, dropped, e);
  dropped.has_record = false;
}

inline opened world::open_stream(const std::string& id, const std::string& label,
                                 std::optional<std::uint32_t> retry_ms) {
  if (sessions_.count(id) == 0) return {};
  session& s = sessions_[id];
  opened result;
  const bool is_label = label.size() <= 64 && label.find_first_of(std::string("\r\n\0", 3)) == std::string::npos;
  const std::uint64_t number = std::uint64_t{bounds_.first_stream} + (s.streams.size() - 1);
  stream* least = nullptr;  // the finished record that would be dropped
  for (stream& each : s.streams) {
    if (!each.has_record || !each.is_finished) continue;
    if (least == nullptr || each.held_events() < least->held_events()) least = &each;
  }
  const bool is_full = s.records() >= bounds_.max_streams;
  if (!is_label) {
    result.why = refusal::bad_label;
  } else if (number > 0xFFFFFFFFU) {
    result.why = refusal::numbers_used_up;
  } else if (is_full && least == nullptr) {
    result.why = refusal::too_many_streams;
  } else {
    if (is_full) drop(s, *least);
    result.why = refusal::none;
    s.streams.push_back(new_stream(static_cast<std::uint32_t>(number)));
    s.streams.back().label = label;
    result.to = {id, s.owner, static_cast<std::uint32_t>(number)};
    result.first_reader = attach_to(s, s.streams.back(), s.streams.back().next() - 1, retry_ms);
    note_activity(id);
  }
  return result;
}

// Among the streams that hold more than one event (among all, if none does) the one that holds the most, and of equals
// the one that was opened first. The event being appended counts for its stream, but is never the victim.
inline stream& world::victim(session& from, const stream& appending, std::uint64_t cost, bound hit) {
  const auto events_of = [&](const stream& s) { return s.held_events() + (&s == &appending ? 1U : 0U); };
  const auto amount_of = [&](const stream& s) {
    return hit == bound::events ? events_of(s) : s.held_bytes() + (&s == &appending ? cost : 0U);
  };
  const bool any_holds_several =
      std::any_of(from.streams.begin(), from.streams.end(), [&](const stream& s) { return events_of(s) > 1; });
  stream* most = nullptr;
  for (stream& s : from.streams) {
    if (s.held_events() == 0 || (any_holds_several && events_of(s) <= 1)) continue;
    if (most == nullptr || amount_of(s) > amount_of(*most)) most = &s;
  }
  return *most;
}

inline void world::make_room(session& in, const stream& appending, std::uint64_t cost) const {
  while (in.held_events() + 1 > bounds_.max_events) evict_oldest(in, victim(in, appending, cost, bound::events));
  while (in.held_bytes() + cost > bounds_.max_bytes) evict_oldest(in, victim(in, appending, cost, bound::bytes));
}

inline appended world::append(const handle& to, const std::string& payload, bool is_activity) {
  appended result;
  stream* s = nullptr;
  result.why = look_up(to, s);
  if (result.why != refusal::none) return result;
  const std::uint64_t cost = payload.size() + 16;
  if (s->is_finished) {
    result.why = refusal::finished;
  } else if (payload.empty()) {
    result.why = refusal::empty_payload;
  } else if (cost > bounds_.max_bytes || cost > (std::uint64_t{1} << 31U)) {
    result.why = refusal::too_large;
  } else if (s->next() == ~std::uint64_t{0}) {
    result.why = refusal::numbers_used_up;
  } else {
    session& in = sessions_[to.session_id];
    const std::uint64_t before = in.evicted_unread;
    make_room(in, *s, cost);
    result.id = {to.owner, to.stream, s->next()};
    s->events.push_back({payload, now_, true});
    result.unread = s->unread();
    result.evicted_unread = in.evicted_unread - before;
    if (is_activity) note_activity(to.session_id);
  }
  return result;
}

inline refusal world::finish(const handle& to) {
  stream* s = nullptr;
  const refusal why = look_up(to, s);
  if (why != refusal::none) return why;
  if (s->number == 0) return refusal::standalone_stream;
  if (s->is_finished) return refusal::finished;
  s->is_finished = true;
  note_activity(to.session_id);
  return refusal::none;
}

// Both or neither.
inline appended world::finish(const handle& to, const std::string& answer) {
  if (to.stream == 0) return {finish(to), {}, 0, 0};
  const appended done = append(to, answer);
  if (done.why == refusal::none) finish(to);
  return done;
}

inline refusal world::forget(const handle& to) {
  stream* s = nullptr;
  const refusal why = look_up(to, s);
  if (why != refusal::none) return why;
  if (s->number == 0) return refusal::standalone_stream;
  if (!s->is_finished) return refusal::still_open;
  drop(sessions_[to.session_id], *s);
  return refusal::none;
}

// ---- The decision
// ----------------------------------------------------------------------------------------------------

inline std::optional<reason> world::resolve_session(const asked& request) const {
  static const std::map<std::string, protocol> known{{"2024-11-05", protocol::v2024_11_05},
                                                     {"2025-03-26", protocol::v2025_03_26},
                                                     {"2025-06-18", protocol::v2025_06_18},
                                                     {"2025-11-25", protocol::v2025_11_25},
                                                     {"2026-07-28", protocol::v2026_07_28}};
  if (!request.version.empty()) {
    const auto version = known.find(request.version);
    if (version == known.end() || !bounds_.supported.contains(version->second)) return reason::unsupported_protocol;
    if (version->second == protocol::v2026_07_28) return reason::stateless_protocol;
  }
  if (request.session_id.empty()) return reason::no_session;
  const session* s = find(request.session_id);
  if (s == nullptr) return reason::session_gone;
  if (s->principal != request.principal) return reason::wrong_principal;
  return std::nullopt;
}

inline bool world::has_live_reader(const session& s) const {
  const bool has_read_lately =
      bounds_.reader_timeout_ms == 0 || now_ - s.standalone_read_at <= bounds_.reader_timeout_ms;
  return s.streams[0].is_attached && has_read_lately;
}

// The live edge lies before the last event of a finished request stream while that is held.
inline std::uint64_t world::place_after_gap(const stream& s) const {
  if (bounds_.after_gap == mcp_resume::after_gap::oldest_held) return s.first() - 1;
  const bool holds_answer = s.is_finished && s.held_events() != 0;
  return s.next() - (holds_answer ? 2 : 1);
}

// After the cursor, or where that is not possible, with a gap.
inline void world::place(decision& decided, const stream& s) const {
  decided.held = s.held();
  decided.resume_after = decided.cursor.seq;
  if (decided.cursor.seq + 1 >= s.first()) return;
  decided.resume_after = place_after_gap(s);
  decided.missed = *decided.resume_after - decided.cursor.seq;
  decided.no_longer_held = std::min(s.first() - 1, *decided.resume_after) - decided.cursor.seq;
}

inline decision world::resolve(const asked& request) const {
  decision decided;
  if (const auto forbidden = resolve_session(request)) {
    decided.reason = *forbidden;
    return decided;
  }
  const session& s = sessions_.at(request.session_id);
  decided.to = {s.id, s.owner, 0};
  if (request.cursor.empty()) {
    decided.reason = has_live_reader(s) ? reason::occupied : reason::fresh;
    decided.cursor = {s.owner, 0, s.streams[0].read_mark};
    if (decided.reason == reason::fresh) place(decided, s.streams[0]);
    return decided;
  }
  const std::optional<event_id> cursor = parse(request.cursor);
  if (!cursor) {
    decided.reason = reason::malformed_cursor;
    return decided;
  }
  decided.cursor = *cursor;
  if (cursor->owner.session != s.owner.session) {
    decided.reason = reason::foreign_cursor;
  } else if (cursor->owner.incarnation == s.owner.incarnation) {
    return resolve_cursor(s, decided);
  } else if (cursor->stream == 0) {
    decided.reason = reason::stale_incarnation;
    decided.held = s.streams[0].held();
    decided.resume_after = s.streams[0].first() - 1;
  } else {
    decided.reason = reason::stale_request;
  }
  return decided;
}

// Rows 12 to 17: the cursor is of this life of the log.
inline decision world::resolve_cursor(const session& s, decision decided) const {
  const auto opened = std::find_if(s.streams.begin(), s.streams.end(),
                                   [&](const stream& each) { return each.number == decided.cursor.stream; });
  decided.to.stream = decided.cursor.stream;
  const std::uint64_t seq = decided.cursor.seq;
  if (opened == s.streams.end() || (opened->has_record && seq >= opened->next())) {
    decided.reason = reason::never_issued;
  } else if (!opened->has_record) {
    decided.reason = reason::forgotten;
  } else {
    place(decided, *opened);
    if (seq + 1 < opened->first()) {
      decided.reason = reason::evicted;
    } else if (seq + 1 == opened->next()) {
      decided.reason = opened->is_finished ? reason::complete : reason::up_to_date;
    } else {
      decided.reason = reason::replay;
    }
  }
  return decided;
}

// ---- Readers
// ---------------------------------------------------------------------------------------------------------

inline reader world::attach_to(const session& s, stream& to, std::uint64_t after,
                               std::optional<std::uint32_t> retry_ms) {
  to.is_attached = true;
  ++to.lease;
  if (to.number == 0) sessions_[s.id].standalone_read_at = now_;
  reader made;
  made.to = {s.id, s.owner, to.number};
  made.lease = to.lease;
  made.phase = phase::opening;
  made.position = {s.owner, to.number, after};
  made.retry_ms = retry_ms.value_or(bounds_.retry_ms);
  return made;
}

inline reader world::attach(const decision& from, std::optional<std::uint32_t> retry_ms) {
  stream* to = nullptr;
  if (!from.is_served() || look_up(from.to, to) != refusal::none) return {};
  reader made = attach_to(sessions_[from.to.session_id], *to, *from.resume_after, retry_ms);
  note_activity(from.to.session_id);
  const bool is_reset = from.reason == reason::stale_incarnation;
  if (is_reset || from.missed != 0) {
    made.phase = is_reset ? phase::reset_due : phase::gap_due;
    made.position = from.cursor;
    made.target = *from.resume_after;
  }
  return made;
}

inline read_state world::state_of(const reader& from, stream*& found) {
  if (from.phase == phase::gone || look_up(from.to, found) != refusal::none) return read_state::gone;
  if (from.lease != found->lease) return read_state::superseded;
  return found->is_attached ? read_state::more : read_state::gone;
}

inline void world::release(reader& from) {
  stream* of = nullptr;
  if (state_of(from, of) == read_state::more) of->is_attached = false;
  from.phase = phase::gone;
}

// `take(frame)` returns false to leave a frame untaken.
template <class Take>
progress world::read(reader& from, Take take) {
  progress done;
  stream* s = nullptr;
  done.state = state_of(from, s);
  if (done.state != read_state::more) return done;
  note_activity(from.to.session_id);
  if (s->number == 0) sessions_[from.to.session_id].standalone_read_at = now_;

  const bool may_be_overrun = from.phase == phase::opening || from.phase == phase::flowing;
  if (may_be_overrun && from.position.seq + 1 < s->first()) {
    from.phase = phase::gap_due;
    from.target = place_after_gap(*s);
  }
  if (from.phase == phase::gap_due || from.phase == phase::reset_due) {
    signal(from, *s, take, done);
    return done;
  }
  if (from.phase != phase::flowing) {
    event_id marked = from.position;
    if (from.phase == phase::announced) marked = {from.to.owner, from.to.stream, from.target};
    if (!take(frame{frame_kind::marker, marked, {}, {}, 0, from.retry_ms})) return done;
    from.position = marked;
    from.phase = phase::flowing;
  }
  if (from.position.seq + 1 < s->first()) return done;  // evicted since it was announced: another gap is due
  if (deliver(from, *s, take, done)) done.state = s->is_finished ? read_state::finished : read_state::caught_up;
  return done;
}

template <class Take>
bool world::signal(reader& from, const stream& s, Take& take, progress& done) const {
  const bool is_gap = from.phase == phase::gap_due;
  frame signal;
  signal.kind = is_gap ? frame_kind::gap : frame_kind::reset;
  signal.id = from.position;
  signal.resume_from = {from.to.owner, from.to.stream, from.target};
  signal.missed = is_gap ? from.target - from.position.seq : 0;
  if (!take(signal)) return false;
  from.phase = phase::announced;
  done.state = is_gap ? read_state::gap : read_state::reset;
  done.missed = signal.missed;
  const bool will_arrive = s.held_events() != 0 && from.target + 1 < s.next();
  if (s.is_finished) done.answer = will_arrive ? answer::held : answer::lost;
  return true;
}

template <class Take>
bool world::deliver(reader& from, stream& s, Take& take, progress& done) const {
  while (from.position.seq + 1 != s.next()) {
    frame event;
    event.id = from.position;
    ++event.id.seq;
    event.payload = s.at(event.id.seq).payload;
    if (!take(event)) return false;
    from.position = event.id;
    s.read_mark = std::max(s.read_mark, event.id.seq);
    ++done.events;
  }
  return true;
}

}  // namespace model

#endif  // MCP_RESUME_TESTS_MODEL_HPP
