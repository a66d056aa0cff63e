// SPDX-License-Identifier: MIT
// Promise: whatever a wrong server sends, what the application takes plus the gaps it is told of is what was sent, in
// order and once; another session's event never gets through; nothing is lost in silence; and attempts end.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "follower.hpp"
#include "mcp_resume/client.hpp"
#include "property.hpp"
#include "randomness.hpp"

namespace {

using follower::application;
using follower::entry;
using mcp_resume::continuity;
using mcp_resume::foreign_ids;
using mcp_resume::next_step;
using mcp_resume::outcome;
using mcp_resume::recovery;
using mcp_resume::stream_kind;

// ---- What servers write ----------------------------------------------------------------------------------------------

constexpr std::string_view alice = "aaaaaaaaaaaaaaaa";  // session tags: ours, and a stranger's
constexpr std::string_view bob = "bbbbbbbbbbbbbbbb";
constexpr std::string_view session_id = "8c0f";
constexpr std::uint64_t largest = ~std::uint64_t{0};

// Where an event stands: in one life of a session.
struct place {
  std::string_view session = alice;
  std::uint32_t life = 1;
  std::uint32_t stream = 0;
  std::uint64_t seq = 0;
};

std::string id_of(const place& p) {
  const std::string life = std::to_string(p.life);
  return std::string(p.session) + "." + std::string(16 - life.size(), '0') + life + "." + std::to_string(p.stream) +
         "." + std::to_string(p.seq);
}

// The place that an id names, of those that id_of writes.
std::optional<place> place_of(const std::string& id) {
  constexpr std::size_t stream_begins = 34;
  if (id.size() < stream_begins || id[16] != '.' || id[33] != '.') return std::nullopt;
  const std::size_t seq_begins = id.find('.', stream_begins) + 1;
  place p;
  p.session = id[0] == 'a' ? alice : bob;
  p.life = static_cast<std::uint32_t>(std::stoul(id.substr(17, 16)));
  p.stream = static_cast<std::uint32_t>(std::stoul(id.substr(stream_begins)));
  p.seq = std::stoull(id.substr(seq_begins));
  return p;
}

// One block of an event stream.
struct piece {
  std::optional<std::string> id;
  std::string type;
  std::optional<std::string> data;
};

std::string bytes_of(const piece& p) {
  std::string bytes;
  if (!p.type.empty()) bytes += "event: " + p.type + "\n";
  if (p.id) bytes += "id: " + *p.id + "\n";
  if (p.data) bytes += "data: " + *p.data + "\n";
  return bytes + "\n";
}

// The data of an event tells which one it is.
piece event_at(const place& p) { return {id_of(p), "", id_of(p)}; }
piece marker_at(const place& p) { return {id_of(p), "", ""}; }
piece older_marker_at(const place& p) { return {id_of(p), "resume", R"({"method":"notifications/resume/continued"})"}; }
piece gap_frame_under(const std::string& id) { return {id, "gap", R"({"method":"notifications/resume/gap"})"}; }
piece reset_frame_under(const std::string& id) { return {id, "reset", R"({"method":"notifications/resume/reset"})"}; }
piece word() { return {std::nullopt, "", "a word without id"}; }
piece named(std::string id) { return {id, "", "event " + id}; }

bool is_told(const mcp_resume::verdict& v) {
  return v.recovery() == recovery::resync || v.recovery() == recovery::resubscribe ||
         v.recovery() == recovery::reinitialize;
}

// ---- What must hold --------------------------------------------------------------------------------------------------

// A promise that was broken, by kind: one example of each.
using findings = std::map<std::string, std::string>;

// Keeps the books of one stream with event ids: what is taken and what is counted as missed must follow one upon the
// other without a hole, from the first block on.
class ledger {
 public:
  ledger(stream_kind kind, std::uint32_t stream) : kind_(kind), stream_(stream) {}
  // The session's tags are known from elsewhere. A stream that has brought no id may still be of any of its lives.
  void know_session() { is_session_known_ = true; }

  void see_connection(const follower::get& sent) {
    const bool has_cursor = at_ && !is_dropped_;
    expect(sent.cursor == (has_cursor ? id_of(*at_) : ""), "cursor", "sent '" + sent.cursor + "'");
    expect(sent.session_id == session_id, "cursor", "another session id is sent");
    is_anchored_ = false;
    is_first_of_resumed_ = has_cursor;
    signal_.reset();
  }
  void see_answer(const entry& e, int status) {
    const bool is_anew = is_dropped_ || (!at_ && has_words_);
    if (status == 200 && is_anew) expect(is_told(e.made), "untold", "the stream begins anew");
    if (status == 200 && !is_anew) expect(!is_told(e.made), "told", "the stream has only begun");
    expect(e.made.outcome() != outcome::continue_, "proof", "an answer proves nothing");
    if (e.made.recovery() == recovery::resubscribe) drop();
  }
  void see_block(const piece& p, const entry& e) {
    expect(!e.taken || e.taken == p.data, "delivered", "other bytes than were sent");
    has_words_ = has_words_ || (e.taken && (!p.id || p.id->empty()));
    const bool is_first = std::exchange(is_first_of_resumed_, false);
    if (!p.id) {
      expect(e.taken.has_value() && e.made.missed == 0, "word", "no id");
      return expect(is_told(e.made) == is_first, "word", "no id");  // a resumed stream begins with a place
    }
    const bool is_signal = see_id(p, e);
    if (!is_signal) signal_.reset();  // what it announced has come, or has not
  }

  const findings& found() const { return found_; }
  const std::optional<place>& at() const { return at_; }
  bool is_dropped() const { return is_dropped_; }
  // The server has said of its own beginning that it lies elsewhere: the books cannot say more than that this is told.
  bool is_void() const { return is_void_; }
  bool knows_session() const { return is_session_known_ || at_; }
  // Of what is found only the first counts: after it the books and the guard speak of different places.
  void expect(bool holds, const char* kind, const std::string& text) {
    if (holds || is_void_ || !found_.empty()) return;
    found_.emplace(kind_of(kind), std::string(kind) + ": " + text + ", at " + (at_ ? id_of(*at_) : "the beginning"));
  }

 private:
  // Whether the block announces what the next one says.
  bool see_id(const piece& p, const entry& e) {
    const std::optional<place> q = place_of(*p.id);
    if (!q && p.id->empty()) return expect(e.taken.has_value(), "word", "an empty id"), false;
    if (!q || q->session != alice) return see_stranger(p, e, "another session's"), false;
    const bool is_own_stream = kind_ == stream_kind::standalone ? q->stream == 0 : q->stream == stream_;
    if (!is_own_stream) return see_stranger(p, e, "another stream's"), false;
    const bool is_life_known = at_ && (!is_dropped_ || is_anchored_);
    const bool is_frame = p.type == "gap" || p.type == "reset";
    const bool is_under_cursor = !at_ || is_dropped_ || (q->life == at_->life && q->seq == at_->seq);
    if (is_life_known && q->life != at_->life) return see_other_life(p, *q, e), false;
    if (is_frame && is_under_cursor) return see_signal(p, *q, e), true;
    return see_place(p, *q, e), false;
  }
  // Events that were passed over: counted as missed, or before them some that a stream which began anew left out.
  struct passed {
    std::uint32_t life = 0;
    std::uint64_t first = 1, first_missed = 1, last = 0;
    bool is_told = false;  // that one of them came after all
    bool contains(const place& q) const { return q.life == life && first <= q.seq && q.seq <= last; }
  };

  // What goes wrong after one of these has a kind of its own.
  std::string kind_of(const char* kind) const {
    if (is_anchored_ && kind != std::string_view("covered")) return "anchored";
    const bool is_after_frame = is_dropped_ && signal_ == "gap";
    if (is_after_frame && frame_is_ == frame::of_other_life) return "other life's frame";
    return is_after_frame && frame_is_ == frame::older ? "older frame" : kind;
  }
  void drop() { is_dropped_ = true, is_anchored_ = false; }
  void see_stranger(const piece& p, const entry& e, const char* whose) {
    const std::string what = std::string(whose) + " id " + *p.id;
    expect(!e.taken, "delivered", what);
    expect(is_told(e.made), "untold", what);
    expect(e.made.next() != next_step::read_on, "untold", what + ", and the connection goes on");
    drop();
  }
  // Only a reset frame under the cursor and a marker after it make another life known.
  void see_other_life(const piece& p, const place& q, const entry& e) {
    const bool is_located = signal_ && *signal_ == "reset" && is_marker(p);
    expect(!e.taken, "delivered", "an event of another life, " + *p.id);
    expect(is_told(e.made) && e.made.outcome() == outcome::reset, "untold", "another life, " + *p.id);
    expect((e.made.next() == next_step::read_on) == is_located, "life", "another life, " + *p.id);
    if (!is_located) return drop();
    move_to(q);
    pass_over({q.life, 1, q.seq + 1, q.seq});
  }
  void see_signal(const piece& p, const place& q, const entry& e) {
    expect(!e.taken && e.made.missed == 0 && !is_told(e.made), "signal", p.type + " frame under " + *p.id);
    expect(e.made.outcome() == (p.type == "gap" ? outcome::gap : outcome::reset), "signal", p.type + " frame");
    signal_ = p.type;
    signal_at_ = q;
  }
  // Where the stream stands before this block: what was taken or counted, else what the block itself says.
  std::uint64_t base_of(const piece& p, const place& q) {
    const std::uint64_t place = at_ ? at_->seq : 0;
    first_passed_ = place + 1;
    if (!is_dropped_) return place;
    const bool was_here = at_ && at_->life == q.life;
    if (was_here && q.seq <= at_->seq) is_anchored_ = true;
    if (is_anchored_) return at_->seq;
    std::uint64_t begins = is_event(p) && q.seq != 0 ? q.seq - 1 : q.seq;
    const bool has_gap_frame = signal_ && *signal_ == "gap";
    const bool is_older = was_here && signal_at_.seq < at_->seq;
    frame_is_ = signal_at_.life != q.life ? frame::of_other_life : is_older ? frame::older : frame::fitting;
    if (has_gap_frame && signal_at_.life == q.life && signal_at_.seq <= q.seq) begins = signal_at_.seq;
    if (was_here && begins < at_->seq) begins = at_->seq;
    first_passed_ = (was_here ? at_->seq : 0) + 1;
    return begins;
  }
  void see_place(const piece& p, const place& q, const entry& e) {
    const std::uint64_t base = base_of(p, q);
    if (q.seq < base || (q.seq == base && is_event(p))) return see_again(p, q, e);
    const std::uint64_t missed = q.seq - base - (is_event(p) ? 1 : 0);
    expect(e.taken.has_value() == is_event(p), is_event(p) ? "lost" : "delivered", *p.id);
    expect(e.made.missed == missed, "count",
           *p.id + ": " + std::to_string(e.made.missed) + " missed for " + std::to_string(missed));
    expect(!is_told(e.made) || missed != 0, "told", *p.id);
    expect(is_told(e.made) || missed == 0, "untold", *p.id);
    expect(e.made.outcome() == (missed == 0 ? outcome::continue_ : outcome::gap), "proof", *p.id);
    move_to(q);
    pass_over({q.life, first_passed_, base + 1, base + missed});
  }
  // What was already taken or counted: never again, and what was never taken is told, once for a gap.
  void see_again(const piece& p, const place& q, const entry& e) {
    expect(!e.taken, "delivered", "again " + *p.id);
    expect(e.made.missed == 0, "count", "again " + *p.id);
    const bool is_inside = gap_.contains(q);
    is_void_ = is_void_ || (signal_ && is_dropped_ && !is_anchored_);
    if (signal_) return expect(is_told(e.made), "untold", "a signal announced something else than " + *p.id);
    const auto has = [&](const passed& older) { return older.contains(q); };
    const bool is_older = std::any_of(older_gaps_.begin(), older_gaps_.end(), has);
    if (!is_inside && is_older) return;  // a guard remembers one of them
    const char* kind = is_inside && q.seq < gap_.first_missed ? "covered" : "inside";
    expect(is_told(e.made) == (is_inside && !gap_.is_told), is_inside ? kind : "told", *p.id);
    if (is_inside) gap_.is_told = true;
  }
  void pass_over(const passed& events) {
    if (events.last < events.first) return;
    if (events.first_missed <= events.last) older_gaps_.clear();
    if (events.first_missed > events.last) older_gaps_.push_back(gap_);
    gap_ = events;
  }
  void move_to(const place& q) {
    const bool is_same = at_ && at_->life == q.life && at_->seq == q.seq;
    if (is_dropped_ && is_same) return;  // known again, and not to be sent again
    if (at_ && at_->life != q.life) gap_ = {}, older_gaps_.clear();
    at_ = q;
    is_dropped_ = is_anchored_ = has_words_ = false;
  }
  static bool is_event(const piece& p) { return p.type.empty() && p.data && !p.data->empty(); }
  static bool is_marker(const piece& p) { return p.type == "resume" || !p.data || p.data->empty(); }

  stream_kind kind_;
  std::uint32_t stream_;
  std::optional<place> at_;
  bool is_session_known_ = false;
  bool has_words_ = false;  // events were taken that leave no place
  bool is_dropped_ = false;
  bool is_void_ = false;
  bool is_first_of_resumed_ = false;
  bool is_anchored_ = false;  // dropped, but this connection has shown that it stands there
  std::optional<std::string> signal_;
  place signal_at_;
  enum class frame : std::uint8_t {
    fitting,
    of_other_life,
    older
  } frame_is_ = frame::fitting;  // older than what was taken
  std::uint64_t first_passed_ = 1;
  passed gap_;                      // the last one
  std::vector<passed> older_gaps_;  // before it, that no counted one has replaced
  findings found_;
};

// ---- A server that does anything -------------------------------------------------------------------------------------

// What a server may do next. Blocks go on the open connection; where there is none the client has come back before.
enum class move : std::uint8_t {
  next_event,       // as an honest server
  skip,             // events that nobody ever gets
  repeat,           // the last event again
  replay_last,      // the last n events again
  replay_all,       // all events from the first one on
  scramble,         // two events in the wrong order
  marker,           // of the place
  marker_ahead,     // of events that were never sent
  marker_behind,    // of an older place
  gap_frame,        // under the cursor
  gap_elsewhere,    // under another id of the stream
  gap_frame_ahead,  // under the cursor, and a marker that counts
  reset_frame,      // under the cursor
  reset_elsewhere,  // under another id of the stream
  restart,          // the log begins anew, in silence
  restart_marker,   // and a marker of the new life comes
  restart_told,     // and a reset frame and a marker come
  renumber,         // the log begins anew with the same tags
  old_life,         // an event of the life before
  stranger,         // another session's event
  stranger_marker,  // and marker
  stranger_gap,     // and gap frame
  other_stream,     // another stream's event
  other_marker,     // and marker
  word,             // a message without id
  empty_id,         // an event with an empty id
  other_scheme,     // evt-000418
  cut,              // the connection ends
  cut_and_forget,   // and the server ignores the cursor next time
  end_empty,        // an empty 200 that ends
  json,             // 200 application/json
  refuse,           // 400
  busy,             // 409
  fail,             // 503
};
constexpr std::uint32_t move_count = static_cast<std::uint32_t>(move::fail) + 1;

struct step {
  move what = move::next_event;
  std::array<std::uint32_t, 2> n{};
};
using script = std::vector<step>;

std::string show(const step& s) {
  constexpr std::array<const char*, move_count> names = {"next_event",
                                                         "skip",
                                                         "repeat",
                                                         "replay_last",
                                                         "replay_all",
                                                         "scramble",
                                                         "marker",
                                                         "marker_ahead",
                                                         "marker_behind",
                                                         "gap_frame",
                                                         "gap_elsewhere",
                                                         "gap_frame_ahead",
                                                         "reset_frame",
                                                         "reset_elsewhere",
                                                         "restart",
                                                         "restart_marker",
                                                         "restart_told",
                                                         "renumber",
                                                         "old_life",
                                                         "stranger",
                                                         "stranger_marker",
                                                         "stranger_gap",
                                                         "other_stream",
                                                         "other_marker",
                                                         "word",
                                                         "empty_id",
                                                         "other_scheme",
                                                         "cut",
                                                         "cut_and_forget",
                                                         "end_empty",
                                                         "json",
                                                         "refuse",
                                                         "busy",
                                                         "fail"};
  return std::string(names[static_cast<std::size_t>(s.what)]) + " " + std::to_string(s.n[0]);
}

std::string show(const script& steps) {
  std::string text;
  for (const step& s : steps) text += show(s) + ", ";
  return text;
}

// One client against one server, with the books kept beside it.
class conversation {
 public:
  explicit conversation(stream_kind kind, std::size_t most_attempts = 0)
      : stream_(kind == stream_kind::request ? 3U : 0U),
        client_(settings_for(kind, most_attempts)),
        books_(kind, stream_) {}

  // The client takes the session's tags over from a guard that knows them.
  void learn() {
    application sibling(settings_for(stream_kind::standalone, 0));
    sibling.connect();
    sibling.answer(200);
    sibling.read(bytes_of(marker_at({alice, life_, 0, 0})));
    client_.learn(sibling);
    books_.know_session();
  }
  void play(const step& s) {
    if (is_for_answers(s)) return;
    open();
    if (client_.is_connected()) write_step(s.what, s.n[0] % 6 + 1);
  }
  // From here on the server is honest: the client has to catch up, and then to be left in peace.
  void end_honestly();

  void open(int status = 200, std::string_view type = "text/event-stream") {
    if (client_.is_connected() || client_.is_over()) return;
    const follower::get sent = client_.connect();
    books_.see_connection(sent);
    const std::optional<place> presented = place_of(sent.cursor);
    if (presented && presented->life == life_ && !is_forgetful_) at_ = presented->seq;
    is_forgetful_ = false;
    client_.answer(status, type);
    books_.see_answer(client_.entries().back(), type == "text/event-stream" ? status : 0);
  }
  void write(const piece& p) {
    if (!client_.is_connected()) return;
    const std::size_t judged = client_.entries().size();
    client_.read(bytes_of(p));
    for (std::size_t i = judged; i != client_.entries().size(); ++i) books_.see_block(p, client_.entries()[i]);
  }
  void cut() {
    if (!client_.is_connected()) return;
    client_.close();
    books_.see_answer(client_.entries().back(), 0);
  }
  [[nodiscard]] const application& client() const { return client_; }
  [[nodiscard]] const findings& found() const { return books_.found(); }
  [[nodiscard]] ledger& books() { return books_; }
  [[nodiscard]] place here(std::uint64_t seq) const { return {alice, life_, stream_, seq}; }

 private:
  static follower::settings settings_for(stream_kind kind, std::size_t most_attempts) {
    follower::settings how;
    how.kind = kind;
    how.session_id = session_id;
    how.bounds.max_attempts = static_cast<std::uint32_t>(most_attempts);
    return how;
  }
  bool is_for_answers(const step& s);
  void write_step(move what, std::uint64_t n);
  void write_lie(move what, std::uint64_t n);
  void write_stranger(move what, std::uint64_t n);
  void write_events(std::uint64_t first, std::uint64_t last) {
    for (std::uint64_t seq = first; seq <= last; ++seq) write_event(seq);
  }
  void write_event(std::uint64_t seq) {
    if (seq == 0) return;
    if (seq > handed_) handed_ = seq;
    write(event_at(here(seq)));
  }
  void restart() {
    ++life_;
    at_ = handed_ = 0;
  }
  // The client's own cursor, or the place where a client without one begins.
  std::string cursor() const {
    const std::string own = client_.guard().cursor();
    return own.empty() ? id_of(here(at_)) : own;
  }
  void serve_honestly();
  bool has_caught_up() const {
    const std::optional<place>& at = books_.at();
    return client_.is_connected() && at && !books_.is_dropped() && at->life == life_ && at->seq == handed_;
  }

  std::uint32_t stream_;
  std::uint32_t life_ = 1;
  std::uint64_t at_ = 0;      // where the server stands on this connection
  std::uint64_t handed_ = 0;  // the newest event of this life
  bool is_forgetful_ = false;
  application client_;
  ledger books_;
};

bool conversation::is_for_answers(const step& s) {
  const auto answer_next = [this](int status, std::string_view type) {
    cut();
    open(status, type);
    return true;
  };
  switch (s.what) {
    case move::cut_and_forget:
      is_forgetful_ = true;
      cut();
      return true;
    case move::cut:
      cut();
      return true;
    case move::end_empty:
      answer_next(200, "text/event-stream");
      cut();
      return true;
    case move::json:
      return answer_next(200, "application/json");
    case move::refuse:
      return answer_next(400, "text/plain");
    case move::busy:
      return answer_next(409, "text/plain");
    case move::fail:
      return answer_next(503, "text/plain");
    default:
      return false;
  }
}

void conversation::write_step(move what, std::uint64_t n) {
  switch (what) {
    case move::next_event:
      return write_event(++at_);
    case move::skip:
      at_ += n;
      return write_event(++at_);
    case move::repeat:
      return write_event(at_);
    case move::replay_last:
      return write_events(at_ > n ? at_ - n : 1, at_);
    case move::replay_all:
      return write_events(1, at_);
    case move::scramble:
      at_ += n + 1;
      write_event(at_);
      return write_event(at_ - n);
    case move::restart:
      return restart();
    case move::restart_marker:
      restart();
      return write(marker_at(here(0)));
    case move::restart_told:
      restart();
      write(reset_frame_under(cursor()));
      return write(marker_at(here(n - 1)));
    case move::renumber:
      at_ = 0;
      return write_event(++at_);
    default:
      return write_lie(what, n);
  }
}

void conversation::write_lie(move what, std::uint64_t n) {
  switch (what) {
    case move::marker:
      return write(n % 2 == 0 ? marker_at(here(at_)) : older_marker_at(here(at_)));
    case move::marker_ahead:
      return write(marker_at(here(at_ + n)));
    case move::marker_behind:
      return write(marker_at(here(at_ > n ? at_ - n : 0)));
    case move::gap_frame:
      return write(gap_frame_under(cursor()));
    case move::gap_elsewhere:
      return write(gap_frame_under(id_of(here(at_ + n))));
    case move::gap_frame_ahead:
      write(gap_frame_under(cursor()));
      at_ += n;
      return write(marker_at(here(at_)));
    case move::reset_frame:
      return write(reset_frame_under(cursor()));
    case move::reset_elsewhere:
      return write(reset_frame_under(id_of(here(at_ + n))));
    case move::word:
      return write(word());
    case move::empty_id:
      return write({"", "", "an event with an empty id"});
    default:
      return write_stranger(what, n);
  }
}

void conversation::write_stranger(move what, std::uint64_t n) {
  // The first one that comes says whose the stream is, and of a request which.
  const bool is_anybody = !books_.knows_session() || (stream_ != 0 && !books_.at());
  if (is_anybody) return;
  const place old{alice, life_ > 1 ? life_ - 1 : 99, stream_, at_ + n};
  const place theirs{bob, life_, stream_, at_ + 1};
  const place beside{alice, life_, stream_ == 0 ? 7U : 8U, at_ + 1};
  switch (what) {
    case move::old_life:
      return write(event_at(old));
    case move::stranger:
      return write(event_at(theirs));
    case move::stranger_marker:
      return write(marker_at(theirs));
    case move::stranger_gap:
      return write(gap_frame_under(id_of(theirs)));
    case move::other_stream:
      return write(event_at(beside));
    case move::other_marker:
      return write(marker_at(beside));
    default:
      return write(named("evt-000418"));
  }
}

// By the design's own words: a cursor that was never issued is refused, one of another life gets a reset, and a client
// without one begins after the newest event that was handed out.
void conversation::serve_honestly() {
  const std::string presented = client_.guard().cursor();
  const std::optional<place> cursor = place_of(presented);
  const bool is_ours = !cursor || (cursor->session == alice && cursor->stream == stream_);
  const bool is_issued = !cursor || cursor->life != life_ || cursor->seq <= handed_;
  if (!is_ours || !is_issued || (!cursor && !presented.empty())) return open(409, "text/plain");
  open();
  if (!cursor) return write(marker_at(here(handed_)));
  if (cursor->life != life_) write(reset_frame_under(presented));
  at_ = cursor->life == life_ ? cursor->seq : 0;
  write(marker_at(here(at_)));
  write_events(at_ + 1, handed_);
}

void conversation::end_honestly() {
  if (books_.is_void()) return;
  cut();
  ++handed_;  // and something happens while nobody is there
  constexpr int most_connections = 12;
  for (int i = 0; i != most_connections && !client_.is_over() && !has_caught_up(); ++i) {
    if (!client_.is_connected()) serve_honestly();
    const std::uint64_t ahead = 20;  // of what a lie may have counted
    for (std::uint64_t n = 0; n != ahead && client_.is_connected() && !has_caught_up(); ++n) write_event(handed_ + 1);
  }
  if (client_.is_over()) return;
  books_.expect(has_caught_up(), "stuck", "with an honest server");
  const std::size_t judged = client_.entries().size();
  cut();
  serve_honestly();
  write_event(handed_ + 1);
  for (std::size_t i = judged; i != client_.entries().size(); ++i) {
    books_.expect(!is_told(client_.entries()[i].made), "peace", "an undisturbed client");
  }
  books_.expect(client_.entries().back().made.reason == continuity::next_event, "peace", "the next event");
}

// How a script begins: with nothing, with the tags of a sibling, or with three events that were taken.
enum class beginning : std::uint8_t { nothing, tags, events };
constexpr std::array<beginning, 3> beginnings = {beginning::nothing, beginning::tags, beginning::events};

findings play(const script& steps, stream_kind kind, beginning begins) {
  conversation talk(kind);
  if (begins == beginning::tags) talk.learn();
  if (begins == beginning::events) {
    for (int i = 0; i != 3; ++i) talk.play({move::next_event, {}});
    talk.cut();
  }
  for (const step& s : steps) talk.play(s);
  talk.end_honestly();
  return talk.found();
}

// All scripts of a length over some moves. Of each kind that is found the first script is kept.
void explore(const std::vector<move>& moves, std::size_t length, stream_kind kind, findings& all) {
  std::vector<std::size_t> digits(length, 0);
  script steps(length);
  for (bool is_over = false; !is_over;) {
    for (std::size_t i = 0; i != length; ++i) steps[i].what = moves[digits[i]];
    for (const beginning begins : beginnings) {
      for (const auto& each : play(steps, kind, begins)) all.emplace(each.first, show(steps) + each.second);
    }
    std::size_t at = 0;
    while (at != length && ++digits[at] == moves.size()) digits[at++] = 0;
    is_over = at == length;
  }
}

findings explore_all() {
  std::vector<move> every;
  for (std::uint32_t i = 0; i != move_count; ++i) every.push_back(static_cast<move>(i));
  // The moves that make each other worse.
  const std::vector<move> some = {move::next_event,      move::skip,      move::replay_all,  move::marker_ahead,
                                  move::gap_frame_ahead, move::gap_frame, move::reset_frame, move::restart_marker,
                                  move::old_life,        move::stranger,  move::cut,         move::refuse};
  const std::vector<move> few = {move::next_event,   move::skip,           move::scramble, move::gap_elsewhere,
                                 move::restart_told, move::restart_marker, move::stranger, move::cut};
  findings all;
  for (std::size_t length = 1; length != 4; ++length) explore(every, length, stream_kind::standalone, all);
  for (std::size_t length = 1; length != 3; ++length) explore(every, length, stream_kind::request, all);
  for (const stream_kind kind : {stream_kind::standalone, stream_kind::request}) explore(some, 4, kind, all);
  explore(few, 5, stream_kind::standalone, all);
  return all;
}

// One test, since each test may run in a process of its own, and the scripts are many.
TEST_CASE("Small scripts keep every promise", "[wrong_servers]") {
  const findings all = explore_all();
  const auto found = [&all](const char* kind) {
    const auto at = all.find(kind);
    return at == all.end() ? std::string() : at->second;
  };
  // No event of another session, stream or life, and none twice, is delivered.
  CHECK(found("delivered") == "");
  // Every event is taken in its turn or counted as missed.
  CHECK(found("lost") == "");
  CHECK(found("count") == "");
  // Every loss is told, and nothing else is.
  CHECK(found("untold") == "");
  CHECK(found("told") == "");
  CHECK(found("inside") == "");
  // What is sent is the last id that was taken, and never a refused one.
  CHECK(found("cursor") == "");
  // Only a marker at the cursor and the next event prove continuity.
  for (const char* kind : {"proof", "signal", "life", "word"}) CHECK(found(kind) == "");
  // An honest server afterwards lets the client catch up and leaves it in peace.
  CHECK(found("stuck") == "");
  CHECK(found("peace") == "");
  // After a stream began anew: what it has shown to be its place holds; a gap frame counts in its own life alone, and
  // does not count what was taken; an event that was passed over is told when it comes later.
  for (const char* kind : {"anchored", "other life's frame", "older frame", "covered"}) CHECK(found(kind) == "");
  CHECK(all.empty());
}

// ---- Long scripts at random ------------------------------------------------------------------------------------------

script long_script(property::random& source) {
  // A server that does each fault only sometimes: what is drawn twice is likelier.
  constexpr std::array<move, 12> usual = {move::next_event, move::next_event, move::next_event, move::next_event,
                                          move::next_event, move::marker,     move::cut,        move::cut,
                                          move::skip,       move::replay_all, move::word,       move::fail};
  script steps;
  const std::uint32_t faults = source.below(8) + 1;  // in sixteen steps
  for (std::uint32_t left = 10 + source.below(90); left != 0; --left) {
    const bool is_usual = source.below(16) >= faults;
    const move what = is_usual ? usual[source.below(usual.size())] : static_cast<move>(source.below(move_count));
    steps.push_back({what, {source.below(6), 0}});
  }
  return steps;
}

// What breaks a promise in long scripts.
std::string found_at_random(std::uint64_t cases) {
  const auto check = [](const script& steps) {
    for (const stream_kind kind : {stream_kind::standalone, stream_kind::request}) {
      for (const beginning begins : beginnings) {
        const findings found = play(steps, kind, begins);
        if (!found.empty()) return property::failure{found.begin()->first, found.begin()->second};
      }
    }
    return property::failure{};
  };
  return property::for_all(cases, long_script, check, [](const step& s) { return show(s); });
}

TEST_CASE("Long scripts keep every promise that small ones keep", "[wrong_servers]") {
  CHECK(found_at_random(1500) == "");
}

// ---- Servers that only repeat themselves -----------------------------------------------------------------------------

// What a server without anything new writes: a status that is no stream, or one block of it.
struct repeated {
  const char* name;
  int status;
  piece block;
  enum class under : std::uint8_t { own_id, cursor } id = under::own_id;
};
using turn = std::vector<repeated>;  // of one connection

const turn one_life = {{"event 1", 200, event_at({alice, 1, 0, 1})},
                       {"event 2", 200, event_at({alice, 1, 0, 2})},
                       {"event 5", 200, event_at({alice, 1, 0, 5})},
                       {"marker 0", 200, marker_at({alice, 1, 0, 0})},
                       {"marker 2", 200, older_marker_at({alice, 1, 0, 2})},
                       {"gap frame", 200, gap_frame_under(""), repeated::under::cursor},
                       {"reset frame", 200, reset_frame_under(""), repeated::under::cursor},
                       {"stranger", 200, event_at({bob, 1, 0, 1})},
                       {"other stream", 200, event_at({alice, 1, 7, 1})},
                       {"nothing", 200, {}},
                       {"400", 400, {}},
                       {"409", 409, {}},
                       {"429", 429, {}}};
const turn two_lives = {{"event 1", 200, event_at({alice, 1, 0, 1})},
                        {"event 2", 200, event_at({alice, 1, 0, 2})},
                        {"marker 0", 200, marker_at({alice, 1, 0, 0})},
                        {"other event 1", 200, event_at({alice, 2, 0, 1})},
                        {"other marker 0", 200, marker_at({alice, 2, 0, 0})},
                        {"reset frame", 200, reset_frame_under(""), repeated::under::cursor},
                        {"400", 400, {}}};
const turn texts = {{"evt-1", 200, named("evt-1")},
                    {"evt-2", 200, named("evt-2")},
                    {"hello", 200, named("hello")},
                    {"marker", 200, {"evt-2", "", ""}},
                    {"empty id", 200, {"", "", "no id"}},
                    {"nothing", 200, {}},
                    {"400", 400, {}},
                    {"503", 503, {}}};
const turn mixed = {{"evt-1", 200, named("evt-1")},
                    {"evt-2", 200, named("evt-2")},
                    {"event 1", 200, event_at({alice, 1, 0, 1})},
                    {"other stream", 200, event_at({alice, 1, 7, 1})},
                    {"empty id", 200, {"", "", "no id"}},
                    {"reset frame", 200, reset_frame_under(""), repeated::under::cursor}};

void write_turn(application& client, const turn& writes) {
  const follower::get sent = client.connect();
  const int status = writes[0].status;
  client.answer(status);
  for (const repeated& r : writes) {
    piece block = r.block;
    if (r.id == repeated::under::cursor) block.id = sent.cursor.empty() ? id_of({alice, 1, 0, 0}) : sent.cursor;
    if (r.status == 200 && (block.id || block.data)) client.read(bytes_of(block));
  }
  client.close();
}

// How many connections a client makes to a server that has these turns for ever, up to a bound that no client that
// ends comes near to.
constexpr std::size_t for_ever = 150;
std::size_t connections_to(const std::vector<turn>& turns, foreign_ids others) {
  follower::settings how;
  how.session_id = session_id;
  how.others = others;
  application client(how);
  std::size_t made = 0;
  for (; made != for_ever && !client.is_over(); ++made) write_turn(client, turns[made % turns.size()]);
  return made;
}

// Calls `visit` with every choice of `length` of these.
template <class Visit>
void for_each_choice(const turn& from, std::size_t length, Visit visit) {
  std::size_t count = 1;
  for (std::size_t i = 0; i != length; ++i) count *= from.size();
  for (std::size_t choice = 0; choice != count; ++choice) {
    turn chosen;
    for (std::size_t rest = choice; chosen.size() != length; rest /= from.size())
      chosen.push_back(from[rest % from.size()]);
    visit(chosen);
  }
}

std::string names_of(const turn& writes) {
  std::string text;
  for (const repeated& r : writes) text += std::string(r.name) + ", ";
  return text;
}

// The first server found that keeps a client for ever: one that repeats one connection of up to three blocks, and one
// that has two connections of up to two blocks by turns.
std::string endless_with(const turn& from, foreign_ids others) {
  std::string found;
  const auto keep = [&](const std::vector<turn>& turns, const std::string& text) {
    if (found.empty() && connections_to(turns, others) == for_ever) found = text;
  };
  for (std::size_t length = 1; length != 4; ++length) {
    for_each_choice(from, length, [&](const turn& chosen) { keep({chosen}, names_of(chosen)); });
  }
  return found;
}
std::string endless_by_turns(const turn& from, std::size_t length, foreign_ids others) {
  std::string found;
  for_each_choice(from, 2 * length, [&](const turn& chosen) {
    const auto middle = chosen.begin() + static_cast<std::ptrdiff_t>(length);
    const turn odd(chosen.begin(), middle), even(middle, chosen.end());
    const bool is_endless = found.empty() && connections_to({odd, even}, others) == for_ever;
    if (is_endless) found = names_of(odd) + "then " + names_of(even);
  });
  return found;
}

TEST_CASE("A server that repeats the events of one life does not keep a client for ever", "[wrong_servers]") {
  CHECK(endless_with(one_life, foreign_ids::unprovable) == "");
  CHECK(endless_by_turns(one_life, 1, foreign_ids::unprovable) == "");
  CHECK(endless_by_turns({one_life.begin(), one_life.begin() + 7}, 2, foreign_ids::unprovable) == "");
}

TEST_CASE("A server that repeats ids that prove nothing does not keep a client for ever", "[wrong_servers]") {
  CHECK(endless_with(texts, foreign_ids::unprovable) == "");
}

TEST_CASE("A server that repeats the events of two lives does not keep a client for ever", "[wrong_servers]") {
  CHECK(endless_with(two_lives, foreign_ids::unprovable) == "");
  CHECK(endless_by_turns(two_lives, 1, foreign_ids::unprovable) == "");
  CHECK(endless_by_turns(two_lives, 2, foreign_ids::unprovable) == "");
}

TEST_CASE("Messages without id are nothing new where a cursor or a signal came before them", "[wrong_servers]") {
  const repeated event_1 = one_life[0], message = {"word", 200, word()};
  for (std::size_t length = 0; length != 3; ++length) {
    for_each_choice(one_life, length, [&](turn between) {
      between.insert(between.begin(), event_1);
      between.push_back(message);
      INFO(names_of(between));
      CHECK(connections_to({between}, foreign_ids::unprovable) < for_ever);
    });
  }
  for (const repeated& r : one_life) {
    const bool is_signal = r.id == repeated::under::cursor;
    if (is_signal) CHECK(connections_to({{r, message}}, foreign_ids::unprovable) < for_ever);
  }
}

TEST_CASE("A server that brings something new on each connection is never given up", "[wrong_servers]") {
  const auto nth_event = [](std::uint64_t n) { return event_at({alice, 1, 0, n}); };
  const auto nth_counter = [](std::uint64_t n) { return named("evt-" + std::to_string(n)); };
  const auto nth_text = [](std::uint64_t n) { return named("x" + std::to_string(n) + "y"); };
  const auto no_id = [](std::uint64_t) { return word(); };
  const std::vector<std::function<piece(std::uint64_t)>> all = {nth_event, nth_counter, nth_text, no_id};
  for (const auto& nth : all) {
    for (const foreign_ids others : {foreign_ids::unprovable, foreign_ids::trailing_counter}) {
      follower::settings how;
      how.session_id = session_id;
      how.others = others;
      application client(how);
      for (std::uint64_t n = 1; n != for_ever; ++n) {
        client.connect();
        client.answer(200);
        if (n > 1) client.read(bytes_of(nth(n - 1)));  // and what came before
        client.read(bytes_of(nth(n)));
        client.close();
        REQUIRE_FALSE(client.is_over());
      }
    }
  }
}

TEST_CASE("Two nodes that reset each other's clients by turns do not keep a client for ever", "[wrong_servers]") {
  const repeated reset = {"reset frame", 200, reset_frame_under(""), repeated::under::cursor};
  const auto node = [&](std::uint32_t life) {
    return turn{reset, {"marker", 200, marker_at({alice, life, 0, 0})}, {"event", 200, event_at({alice, life, 0, 1})}};
  };
  CHECK(connections_to({node(1), node(2)}, foreign_ids::unprovable) < for_ever);
}

TEST_CASE("A server that repeats ids of two schemes does not keep a client for ever", "[wrong_servers]") {
  CHECK(endless_with(mixed, foreign_ids::unprovable) == "");
  CHECK(endless_with(mixed, foreign_ids::trailing_counter) == "");
}

TEST_CASE("A server that repeats a counter's ids does not keep a client for ever", "[wrong_servers]") {
  CHECK(endless_with(texts, foreign_ids::trailing_counter) == "");
}

// ---- Ids that prove nothing ------------------------------------------------------------------------------------------

// The books of a stream whose ids are no event ids. Nothing shows what is missing, so what counts is that the
// application is told once on each resumed connection that brings such an id; a counter, where that is allowed, proves
// the next event and nothing else.
class opaque_books {
 public:
  explicit opaque_books(foreign_ids others) : others_(others) {}

  void see_connection(const follower::get& sent) {
    expect(sent.cursor == (is_dropped_ ? "" : cursor_), "cursor", sent.cursor);
    is_resumed_ = is_first_of_resumed_ = !sent.cursor.empty();
    is_told_ = is_signalled_ = false;
  }
  void see_answer(const entry& e, int status) {
    const bool is_anew = is_dropped_ || (cursor_.empty() && has_unplaced_);
    if (status == 200) expect(is_told(e.made) == is_anew, "told", "a stream begins");
    expect(e.made.outcome() != outcome::continue_, "proof", "an answer proves nothing");
    if (e.made.recovery() == recovery::resubscribe) is_dropped_ = true;
  }
  void see_block(const piece& p, const entry& e) {
    const bool is_signal = p.type == "gap" || p.type == "reset";
    const bool is_event = p.data && !p.data->empty() && p.type.empty();
    expect(e.taken.has_value() == is_event, p.type.empty() ? "lost" : "frame", p.id.value_or("no id") + " " + p.type);
    const bool is_first = std::exchange(is_first_of_resumed_, false);
    if (!p.id) return see_word(e, is_first);
    const bool is_adjacent = others_ == foreign_ids::trailing_counter && !is_dropped_ && !cursor_.empty();
    const bool is_proven = is_adjacent && (is_event ? is_next(*p.id) : *p.id == cursor_);
    expect((e.made.outcome() == outcome::continue_) == (is_proven && !is_signal), "proof", *p.id);
    const bool is_due = !is_proven && ((is_resumed_ && !is_told_) || is_signalled_);
    expect(is_told(e.made) == is_due, is_due ? "untold" : "told", *p.id);
    is_told_ = is_told_ || is_told(e.made);
    is_signalled_ = is_signal && is_proven;
    if (is_signalled_) return;
    move_to(*p.id);
  }
  const findings& found() const { return found_; }

 private:
  void see_word(const entry& e, bool is_first) {
    has_unplaced_ = has_unplaced_ || e.taken.has_value();
    expect(is_told(e.made) == is_first, is_first ? "untold" : "told", "a message without id");
    is_told_ = is_told_ || is_told(e.made);
  }
  void move_to(const std::string& id) {
    const bool is_sendable = !id.empty() && id.size() <= 1024;
    if (!is_sendable) has_unplaced_ = true;
    if (!is_sendable || (is_dropped_ && id == cursor_)) return;
    cursor_ = id;
    is_dropped_ = has_unplaced_ = false;
  }
  // By the number, in the tests' own words: evt-7 after evt-6.
  bool is_next(const std::string& id) const {
    const std::size_t digits = cursor_.find_last_not_of("0123456789") + 1;
    if (digits == cursor_.size()) return false;
    const std::string next = std::to_string(std::stoull(cursor_.substr(digits)) + 1);
    const std::size_t width = cursor_.size() - digits;
    const std::string padded = next.size() < width ? std::string(width - next.size(), '0') + next : next;
    return id == cursor_.substr(0, digits) + padded;
  }
  void expect(bool holds, const char* kind, const std::string& text) {
    if (!holds && found_.empty()) found_.emplace(kind, text.substr(0, 60) + ", at " + cursor_);
  }

  foreign_ids others_;
  std::string cursor_;
  bool is_dropped_ = false;
  bool has_unplaced_ = false;  // events were taken that leave no cursor
  bool is_resumed_ = false;
  bool is_first_of_resumed_ = false;  // no block of it has come yet
  bool is_told_ = false;
  bool is_signalled_ = false;
  findings found_;
};

enum class opaque_move : std::uint8_t {
  next,
  skip,
  repeat,
  restart,
  marker,
  marker_ahead,
  older_marker,
  gap_frame,
  reset_frame,
  hello,
  word,
  empty_id,
  huge_id,
  cut,
  refuse
};
constexpr std::uint32_t opaque_move_count = static_cast<std::uint32_t>(opaque_move::refuse) + 1;

class opaque_conversation {
 public:
  explicit opaque_conversation(foreign_ids others) : client_(settings_for(others)), books_(others) {}

  void play(opaque_move what) {
    if (what == opaque_move::cut) return close();
    if (what == opaque_move::refuse) {
      close();
      return open(400);
    }
    open(200);
    write(piece_for(what));
  }
  void open(int status) {
    if (client_.is_connected() || client_.is_over()) return;
    books_.see_connection(client_.connect());
    client_.answer(status);
    books_.see_answer(client_.entries().back(), status);
  }
  void write(const piece& p) {
    const std::size_t judged = client_.entries().size();
    client_.read(bytes_of(p));
    for (std::size_t i = judged; i != client_.entries().size(); ++i) books_.see_block(p, client_.entries()[i]);
  }
  void close() {
    if (client_.is_connected()) client_.close();
  }
  const findings& found() const { return books_.found(); }
  const application& client() const { return client_; }

 private:
  static follower::settings settings_for(foreign_ids others) {
    follower::settings how;
    how.session_id = session_id;
    how.others = others;
    how.bounds.max_attempts = 0;
    return how;
  }
  std::string id() const { return "evt-" + std::to_string(number_); }
  piece piece_for(opaque_move what) {
    switch (what) {
      case opaque_move::skip:
        ++number_;
        [[fallthrough]];
      case opaque_move::next:
        ++number_;
        return named(id());
      case opaque_move::repeat:
        return named(id());
      case opaque_move::restart:
        number_ = 1;
        return named(id());
      case opaque_move::marker:
        return {id(), "", ""};
      case opaque_move::marker_ahead:
        number_ += 3;
        return {id(), "", ""};
      case opaque_move::older_marker:
        return {id(), "resume", "a marker of older protocols"};
      case opaque_move::gap_frame:
        return gap_frame_under(id());
      case opaque_move::reset_frame:
        return reset_frame_under(id());
      case opaque_move::hello:
        return named("_GET_stream_1764525600000_x8k2");
      case opaque_move::word:
        return word();
      case opaque_move::empty_id:
        return {"", "", "an event with an empty id"};
      default:
        return named(std::string(2000, 'u'));
    }
  }

  std::uint64_t number_ = 8;  // so that the width grows soon
  application client_;
  opaque_books books_;
};

findings explore_opaque(foreign_ids others, std::size_t length) {
  findings all;
  std::uint64_t count = 1;
  for (std::size_t i = 0; i != length; ++i) count *= opaque_move_count;
  for (std::uint64_t choice = 0; choice != count; ++choice) {
    opaque_conversation talk(others);
    for (std::uint64_t rest = choice, i = 0; i != length; ++i, rest /= opaque_move_count) {
      talk.play(static_cast<opaque_move>(rest % opaque_move_count));
    }
    talk.close();
    talk.play(opaque_move::next);
    std::string steps;
    for (std::uint64_t rest = choice, i = 0; i != length; ++i, rest /= opaque_move_count) {
      steps += std::to_string(rest % opaque_move_count) + " ";
    }
    for (const auto& each : talk.found()) all.emplace(each.first, steps + each.second);
  }
  return all;
}

std::string found_in_opaque(foreign_ids others, const std::vector<std::string>& kinds) {
  static const std::array<findings, 2> all = {explore_opaque(foreign_ids::unprovable, 4),
                                              explore_opaque(foreign_ids::trailing_counter, 4)};
  for (const std::string& kind : kinds) {
    const auto found = all[static_cast<std::size_t>(others)].find(kind);
    if (found != all[static_cast<std::size_t>(others)].end()) return kind + ": " + found->second;
  }
  return {};
}

TEST_CASE("Ids that prove nothing: once on each resumed connection that brings one a resync is told",
          "[wrong_servers]") {
  CHECK(found_in_opaque(foreign_ids::unprovable, {"told", "untold", "proof", "lost", "cursor"}) == "");
}

TEST_CASE("Counters, where allowed, prove the next event and the marker at the cursor and nothing else",
          "[wrong_servers]") {
  CHECK(found_in_opaque(foreign_ids::trailing_counter, {"told", "untold", "proof", "lost", "cursor"}) == "");
}

TEST_CASE("A marker or signal is not delivered, whatever its id", "[wrong_servers]") {
  CHECK(found_in_opaque(foreign_ids::unprovable, {"frame"}) == "");
  CHECK(found_in_opaque(foreign_ids::trailing_counter, {"frame"}) == "");
}

// ---- Servers that were measured --------------------------------------------------------------------------------------

// What a server holds, in the order in which it was stored.
struct stored {
  place at;
  std::string id;
};

// What a measured server does with a GET.
struct reply {
  int status = 200;
  std::vector<stored> replay = {};
  bool is_live = true;  // events that happen now come too
  std::string_view type = "text/event-stream";
  std::string_view session = {};
};

class site;
using behaviour = std::function<reply(const site&, const std::string& cursor)>;
using dialect = std::function<std::string(const place&, std::size_t nth)>;

// The events of two sessions, of which a client follows one stream.
class site {
 public:
  site(dialect names, std::uint32_t stream) : names_(std::move(names)), stream_(stream) {}

  const stored& add(std::string_view session, std::uint32_t stream) {
    const std::uint64_t seq = ++newest_[{std::string(session), stream}];
    const place at{session, life_, stream, seq};
    all_.push_back({at, names_(at, all_.size())});
    return all_.back();
  }
  const stored& add_own() { return add(alice, stream_); }
  void add_others() {
    add(bob, stream_);
    add(alice, stream_ + 1);
    add(bob, stream_ + 1);
  }
  void restart() { ++life_, newest_.clear(); }

  bool is_own(const stored& s) const { return s.at.session == alice && s.at.stream == stream_; }
  std::vector<stored> own() const {
    return after("", [this](const stored& s) { return is_own(s); });
  }
  std::vector<stored> own_after(const std::string& cursor) const {
    return after(cursor, [this](const stored& s) { return is_own(s); });
  }
  // What was stored after that id, or nothing where the id is unknown. All after the empty one.
  template <class Is>
  std::vector<stored> after(const std::string& cursor, Is is_wanted) const {
    std::vector<stored> wanted;
    bool is_after = cursor.empty();
    for (const stored& s : all_) {
      if (is_after && is_wanted(s)) wanted.push_back(s);
      is_after = is_after || s.id == cursor;
    }
    return wanted;
  }
  // Whether the event of that id is among the newest n of its stream.
  bool holds(const std::string& cursor, std::size_t n) const {
    const std::size_t later = own_after(cursor).size();
    return later < n && std::any_of(all_.begin(), all_.end(), [&](const stored& s) { return s.id == cursor; });
  }
  const std::vector<stored>& all() const { return all_; }
  std::uint32_t stream() const { return stream_; }
  std::size_t connections = 0;

 private:
  dialect names_;
  std::uint32_t stream_;
  std::uint32_t life_ = 1;
  std::map<std::pair<std::string, std::uint32_t>, std::uint64_t> newest_;
  std::vector<stored> all_;
};

struct measured {
  behaviour get;
  dialect names;                  // its own ids
  std::vector<continuity> shown;  // what its faults are found out as, with event ids
  stream_kind kind = stream_kind::standalone;
  std::size_t restarts_before = 0;  // the connection before which its log is lost; 0: never
};

// One client against a measured server: three events live, then connections that are cut again and again while events
// happen, of this stream and of others.
template <class Books>
class visit {
 public:
  visit(const measured& server, dialect names, foreign_ids others, Books books)
      : server_(server),
        client_(settings_for(server, others)),
        books_(std::move(books)),
        here_(std::move(names), server.kind == stream_kind::request ? 3 : 0) {}

  void run() {
    open({});
    for (int i = 0; i != 3; ++i) write_live();
    for (int round = 2; round != 12 && !client_.is_over(); ++round) {
      cut();
      if (static_cast<std::size_t>(round) == server_.restarts_before) here_.restart();
      here_.add_own();
      here_.add_others();
      here_.add_own();
      if (!client_.is_over()) open(server_.get(here_, client_.guard().cursor()));
    }
    cut();
  }
  const findings& found() const { return books_.found(); }
  const application& client() const { return client_; }

 private:
  static follower::settings settings_for(const measured& server, foreign_ids others) {
    follower::settings how;
    how.kind = server.kind;
    how.session_id = session_id;
    how.others = others;
    return how;
  }
  void open(const reply& r) {
    ++here_.connections;
    books_.see_connection(client_.connect());
    client_.answer(r.status, r.type, r.session);
    const bool is_stream = r.type == "text/event-stream" && r.session.empty();
    books_.see_answer(client_.entries().back(), is_stream ? r.status : 0);
    for (const stored& s : r.replay) write(s);
    if (r.is_live) write_live();
  }
  void write_live() {
    here_.add_others();
    write(here_.add_own());
  }
  void write(const stored& s) {
    const piece p = s.id.empty() ? word() : named(s.id);
    const std::size_t judged = client_.entries().size();
    client_.read(bytes_of(p));
    for (std::size_t i = judged; i != client_.entries().size(); ++i) books_.see_block(p, client_.entries()[i]);
  }
  void cut() {
    if (client_.is_connected()) client_.close();
  }

  const measured& server_;
  application client_;
  Books books_;
  site here_;
};

std::string text_of(const findings& found) {
  return found.empty() ? "" : found.begin()->first + ": " + found.begin()->second;
}

// With event ids the books come out even. With the server's own ids the application is told, also where counters count.
void check_measured(const measured& server) {
  const dialect event_ids = [](const place& p, std::size_t) { return id_of(p); };
  const std::uint32_t stream = server.kind == stream_kind::request ? 3 : 0;
  visit<ledger> proven(server, event_ids, foreign_ids::unprovable, ledger(server.kind, stream));
  proven.run();
  CHECK(text_of(proven.found()) == "");
  for (const continuity why : server.shown) {
    INFO(to_string(why));
    CHECK(proven.client().count(why) != 0);
  }
  for (const foreign_ids others : {foreign_ids::unprovable, foreign_ids::trailing_counter}) {
    visit<opaque_books> unproven(server, server.names, others, opaque_books(others));
    unproven.run();
    CHECK(text_of(unproven.found()) == "");
  }
}

std::string counter_id(const place& p, std::size_t) { return std::to_string(p.seq); }
std::string stream_counter_id(const place& p, std::size_t) {
  return (p.stream == 0 ? "_GET_stream_" : "s" + std::to_string(p.stream) + "_") + std::to_string(p.seq);
}
std::string index_id(const place&, std::size_t nth) { return std::to_string(nth + 1); }
// A stream, the millisecond, and a random suffix by which one millisecond's events are sorted.
std::string millisecond_id(const place& p, std::size_t nth) {
  std::uint64_t state = nth;
  return std::to_string(p.stream) + "_1764525600000_" + std::to_string(randomness::next_random(state) % 1000000);
}
std::string uuid_id(const place& p, std::size_t nth) {
  std::uint64_t state = nth + p.seq;
  return "5f0c2d9a-" + std::to_string(randomness::next_random(state)) + "-x";
}

TEST_CASE("The everything server of TypeScript mixes later streams in and loses the live tail", "[wrong_servers]") {
  const behaviour get = [](const site& here, const std::string& cursor) {
    return reply{200, here.after(cursor, [](const stored& s) { return s.at.session == alice; }), false};
  };
  check_measured({get, millisecond_id, {continuity::other_stream}});
  check_measured({get, millisecond_id, {continuity::other_stream}, stream_kind::request});
}

TEST_CASE("The event store of the TypeScript SDK scrambles the events of one millisecond and skips some",
          "[wrong_servers]") {
  const behaviour get = [](const site& here, const std::string& cursor) {
    const auto rank = [](const stored& s) { return s.at.seq * 7 % 10; };
    std::vector<stored> replay = here.own_after(cursor);
    std::stable_sort(replay.begin(), replay.end(), [&](const stored& a, const stored& b) { return rank(a) < rank(b); });
    if (here.connections % 2 == 1) replay.pop_back();
    return reply{200, replay};
  };
  check_measured({get, millisecond_id, {continuity::event_ahead, continuity::inside_gap}});
  check_measured({get, millisecond_id, {continuity::event_ahead}, stream_kind::request});
}

TEST_CASE("The event store of the TypeScript SDK never resumes the standalone stream", "[wrong_servers]") {
  const behaviour get = [](const site&, const std::string&) { return reply{200, {}, false}; };
  check_measured({get, millisecond_id, {continuity::disconnected}});
}

TEST_CASE("A store that sessions share gives a session another one's events", "[wrong_servers]") {
  const behaviour get = [](const site& here, const std::string& cursor) {
    return reply{200, here.after(cursor, [&](const stored& s) { return s.at.stream == here.stream(); })};
  };
  check_measured({get, stream_counter_id, {continuity::foreign_event, continuity::reopened}});
  check_measured({get, stream_counter_id, {continuity::foreign_event}, stream_kind::request});
  check_measured({get, index_id, {continuity::foreign_event}});
}

TEST_CASE("The conformance server compares ids as text, over all sessions", "[wrong_servers]") {
  const behaviour get = [](const site& here, const std::string& cursor) {
    return reply{200, here.after("", [&](const stored& s) { return s.id > cursor; })};
  };
  check_measured({get, millisecond_id, {continuity::foreign_event}});
}

TEST_CASE("fastmcp refuses what it evicted, and a stream that is still connected", "[wrong_servers]") {
  const behaviour get = [](const site& here, const std::string& cursor) {
    if (here.connections % 4 == 1) return reply{409};
    return cursor.empty() || here.holds(cursor, 3) ? reply{200, here.own_after(cursor)} : reply{400};
  };
  check_measured({get, uuid_id, {continuity::busy, continuity::cursor_refused, continuity::reopened}});
}

TEST_CASE("The hono server answers an evicted cursor with an empty stream that goes on live", "[wrong_servers]") {
  const behaviour get = [](const site& here, const std::string& cursor) {
    return reply{200, here.holds(cursor, 2) ? here.own_after(cursor) : std::vector<stored>{}};
  };
  check_measured({get, uuid_id, {continuity::event_ahead}});
}

TEST_CASE("The hono server lets the older of two connections starve", "[wrong_servers]") {
  const behaviour get = [](const site& here, const std::string& cursor) {
    return reply{200, here.own_after(cursor), here.connections % 2 == 0};
  };
  check_measured({get, uuid_id, {continuity::next_event}});
}

TEST_CASE("The Go server replays everything to a client without a cursor", "[wrong_servers]") {
  const behaviour get = [](const site& here, const std::string& cursor) {
    if (!cursor.empty() && !here.holds(cursor, 3)) return reply{400};
    return reply{200, cursor.empty() ? here.own() : here.own_after(cursor)};
  };
  const behaviour always = [](const site& here, const std::string&) { return reply{200, here.own()}; };
  check_measured({get, stream_counter_id, {continuity::next_event}});
  check_measured({always, stream_counter_id, {continuity::seen, continuity::next_event}});
}

TEST_CASE("The Go server refuses a client without a cursor for ever once it has evicted", "[wrong_servers]") {
  const behaviour get = [](const site&, const std::string&) { return reply{400}; };
  check_measured({get, stream_counter_id, {continuity::cursor_refused, continuity::refused}});
}

TEST_CASE("The Go and C# servers number on in another life as if it were the same", "[wrong_servers]") {
  const behaviour get = [](const site&, const std::string&) { return reply{200, {}}; };
  measured server{get, stream_counter_id, {continuity::other_incarnation, continuity::reopened}};
  server.restarts_before = 4;
  check_measured(server);
}

TEST_CASE("The Python server answers an unknown cursor with an empty stream that ends", "[wrong_servers]") {
  const behaviour get = [](const site& here, const std::string& cursor) {
    return here.holds(cursor, 1) ? reply{200, here.own_after(cursor)} : reply{200, {}, false};
  };
  check_measured({get, index_id, {continuity::disconnected}});
  check_measured({get, index_id, {continuity::disconnected}, stream_kind::request});
}

TEST_CASE("The C# server opens the standalone stream once in a session's life", "[wrong_servers]") {
  const behaviour get = [](const site&, const std::string& cursor) { return reply{cursor.empty() ? 400 : 410}; };
  check_measured({get, stream_counter_id, {continuity::cursor_refused, continuity::refused}});
}

TEST_CASE("The Java server replays nothing and is deaf once a cursor was sent", "[wrong_servers]") {
  const behaviour get = [](const site&, const std::string& cursor) { return reply{200, {}, cursor.empty()}; };
  check_measured({get, uuid_id, {continuity::disconnected}});
}

TEST_CASE("The Kotlin server and the context forge go on live without what happened meanwhile", "[wrong_servers]") {
  const behaviour get = [](const site&, const std::string&) { return reply{200, {}}; };
  check_measured({get, uuid_id, {continuity::event_ahead}});
  check_measured({get, stream_counter_id, {continuity::event_ahead}, stream_kind::request});
}

TEST_CASE("The Rust server begins with the cursor's own event, and from the front once it has evicted",
          "[wrong_servers]") {
  const behaviour get = [](const site& here, const std::string& cursor) {
    std::vector<stored> held = here.own();
    const std::size_t kept = here.connections % 3 == 2 ? 1 : 4;
    if (held.size() > kept) held.erase(held.begin(), held.end() - static_cast<std::ptrdiff_t>(kept));
    const auto at = std::find_if(held.begin(), held.end(), [&](const stored& s) { return s.id == cursor; });
    return reply{200, at == held.end() ? held : std::vector<stored>(at, held.end())};
  };
  check_measured({get, counter_id, {continuity::seen, continuity::event_ahead}});
  check_measured({get, counter_id, {continuity::seen, continuity::event_ahead}, stream_kind::request});
}

TEST_CASE("The Rust server leaves a shadow of a live stream deaf", "[wrong_servers]") {
  const behaviour get = [](const site& here, const std::string& cursor) {
    const bool is_shadow = here.connections % 3 != 0;
    return is_shadow ? reply{200, {}, false} : reply{200, here.own_after(cursor)};
  };
  check_measured({get, counter_id, {continuity::disconnected, continuity::next_event}});
}

TEST_CASE("The Swift server refuses a cursor and then is busy for the session's life", "[wrong_servers]") {
  const behaviour get = [](const site&, const std::string& cursor) { return reply{cursor.empty() ? 409 : 400}; };
  check_measured({get, stream_counter_id, {continuity::cursor_refused, continuity::busy}});
}

TEST_CASE("The Ruby server has no ids and begins anew each time", "[wrong_servers]") {
  const behaviour get = [](const site&, const std::string&) { return reply{200, {}}; };
  const measured server{get, [](const place&, std::size_t) { return std::string(); }, {}};
  visit<opaque_books> unproven(server, server.names, foreign_ids::unprovable, opaque_books(foreign_ids::unprovable));
  unproven.run();
  CHECK(text_of(unproven.found()) == "");
  CHECK(unproven.client().count(continuity::reopened) == unproven.client().gets().size() - 1);
}

TEST_CASE("The PHP server has no stream at all", "[wrong_servers]") {
  const behaviour get = [](const site&, const std::string&) { return reply{405}; };
  check_measured({get, counter_id, {continuity::no_stream}});
}

TEST_CASE("A store that dropped events in the middle skips them in silence", "[wrong_servers]") {
  const behaviour get = [](const site& here, const std::string& cursor) {
    std::vector<stored> replay = here.own_after(cursor);
    if (replay.size() > 1) replay.erase(replay.begin() + 1);
    return reply{200, replay};
  };
  check_measured({get, uuid_id, {continuity::event_ahead}});
}

TEST_CASE("The Cloudflare server cuts a replay off and goes on live", "[wrong_servers]") {
  const behaviour get = [](const site& here, const std::string& cursor) {
    std::vector<stored> replay = here.own_after(cursor);
    if (replay.size() > 1) replay.resize(1);
    return reply{200, replay};
  };
  check_measured({get, stream_counter_id, {continuity::next_event, continuity::event_ahead}});
}

TEST_CASE("The tower server answers for a dead session with 200 and JSON", "[wrong_servers]") {
  const behaviour get = [](const site& here, const std::string& cursor) {
    return here.connections > 4 ? reply{200, {}, false, "application/json"} : reply{200, here.own_after(cursor)};
  };
  check_measured({get, index_id, {continuity::undecided}});
}

TEST_CASE("mcp-go delivers an event without id where its store failed, and mints another session", "[wrong_servers]") {
  const behaviour get = [](const site& here, const std::string& cursor) {
    if (here.connections > 5) return reply{200, {}, true, "text/event-stream", "another"};
    std::vector<stored> replay = here.own_after(cursor);
    if (replay.size() > 1) replay[1].id.clear();
    return reply{200, replay};
  };
  check_measured({get, counter_id, {continuity::event_ahead, continuity::message, continuity::other_session}});
}

// ---- Answers that are no stream --------------------------------------------------------------------------------------

follower::settings settings(stream_kind kind = stream_kind::standalone, std::uint32_t most_attempts = 10) {
  follower::settings how;
  how.kind = kind;
  how.session_id = session_id;
  how.bounds.max_attempts = most_attempts;
  return how;
}

// A client that has taken events 1 to 3 of its stream, and is not connected.
application begun(stream_kind kind = stream_kind::standalone, std::uint32_t most_attempts = 10) {
  application client(settings(kind, most_attempts));
  client.connect();
  client.answer(200);
  const std::uint32_t stream = kind == stream_kind::request ? 3 : 0;
  for (std::uint64_t seq = 1; seq != 4; ++seq) client.read(bytes_of(event_at({alice, 1, stream, seq})));
  client.close();
  return client;
}
const std::string cursor_of_begun = id_of({alice, 1, 0, 3});

// How many connections carry that cursor.
std::ptrdiff_t sent_count(const application& client, const std::string& cursor) {
  const auto& gets = client.gets();
  return std::count_if(gets.begin(), gets.end(), [&](const follower::get& g) { return g.cursor == cursor; });
}

void answer_for_ever(application& client, int status, std::string_view type = "text/plain") {
  for (std::size_t n = 0; n != for_ever && !client.is_over(); ++n) {
    client.connect();
    client.answer(status, type);
    client.close();
  }
}

bool is_refusal(int status) {
  const std::set<int> others = {401, 403, 404, 405, 408, 409, 429};
  return status >= 400 && status <= 499 && others.count(status) == 0;
}

TEST_CASE("A refused cursor is sent once and never again, and the new stream begins with a resync", "[wrong_servers]") {
  for (int status = 400; status != 500; ++status) {
    if (!is_refusal(status)) continue;
    INFO(status);
    application client = begun();
    client.connect();
    client.answer(status, "text/plain");
    CHECK(client.connect().cursor.empty());
    client.answer(200);
    CHECK(is_told(client.entries().back().made));
    client.read(bytes_of(marker_at({alice, 1, 0, 3})));
    client.close();
    CHECK(client.connect().cursor.empty());  // also where the server gives the same one out once more
    client.answer(status, "text/plain");
    CHECK(client.is_over());
    CHECK(sent_count(client, cursor_of_begun) == 1);
  }
}

TEST_CASE("A request stream ends with a resync where its cursor is refused", "[wrong_servers]") {
  for (int status = 400; status != 500; ++status) {
    if (!is_refusal(status)) continue;
    application client = begun(stream_kind::request);
    client.connect();
    client.answer(status, "text/plain");
    CHECK(client.is_over());
    CHECK(client.entries().back().made.recovery() == recovery::resync);
  }
}

TEST_CASE("409 is sent the cursor three times at most, whatever comes between", "[wrong_servers]") {
  for (const int between : {0, 503, 429, 302, 500}) {
    for (std::uint32_t order = 0; order != 27; ++order) {
      application client = begun(stream_kind::standalone, 0);
      std::ptrdiff_t others = 0;
      for (std::uint32_t rest = order, i = 0; i != 3; ++i, rest /= 3) {
        for (std::uint32_t n = rest % 3; n != 0; --n, ++others) {
          client.connect();
          client.answer(between, "text/plain");
          client.close();
        }
        client.connect();
        client.answer(409, "text/plain");
      }
      CHECK(sent_count(client, cursor_of_begun) - others == 3);
      CHECK(client.connect().cursor.empty());
    }
  }
}

TEST_CASE("409 counts anew once a stream has come", "[wrong_servers]") {
  application client = begun(stream_kind::standalone, 0);
  for (int round = 0; round != 5; ++round) {
    for (const int status : {409, 409, 200}) {
      CHECK(client.connect().cursor == cursor_of_begun);
      client.answer(status);
      client.close();
    }
  }
}

TEST_CASE("What decides nothing keeps the cursor, and attempts end", "[wrong_servers]") {
  std::vector<std::pair<int, std::string>> all = {{0, ""},
                                                  {408, ""},
                                                  {429, ""},
                                                  {200, "application/json"},
                                                  {200, ""},
                                                  {200, "text/html"},
                                                  {200, "text/event-stream"}};
  for (int status = 201; status != 400; ++status) {
    if (status != 204) all.emplace_back(status, "text/event-stream");
  }
  for (int status = 500; status != 600; ++status) all.emplace_back(status, "text/event-stream");
  for (const auto& [status, type] : all) {
    INFO(status << " " << type);
    for (const std::uint32_t most : {1U, 7U}) {
      application client = begun(stream_kind::standalone, most);
      const std::size_t judged = client.entries().size();
      answer_for_ever(client, status, type);
      CHECK(client.has_given_up());
      CHECK(client.gets().size() <= most + 2);
      CHECK(sent_count(client, cursor_of_begun) == static_cast<std::ptrdiff_t>(client.gets().size()) - 1);
      for (std::size_t i = judged; i != client.entries().size(); ++i) {
        CHECK_FALSE(client.entries()[i].made.outcome().has_value());
        CHECK_FALSE(is_told(client.entries()[i].made));
      }
    }
  }
}

TEST_CASE("A stream of comments alone proves nothing, however long it stays open", "[wrong_servers]") {
  application client = begun();
  client.connect();
  client.answer(200);
  const std::size_t judged = client.entries().size();
  for (int n = 0; n != 1000; ++n) client.read(n % 2 == 0 ? ": keep-alive\n" : ":\n\n");
  CHECK(client.is_connected());
  CHECK(client.entries().size() == judged);
  CHECK_FALSE(client.entries().back().made.outcome().has_value());
  CHECK(client.guard().cursor() == cursor_of_begun);
}

TEST_CASE("204 too early ends a stream, and tells of an answer that is owed", "[wrong_servers]") {
  application client = begun();
  client.connect();
  client.answer(204, "");
  CHECK(client.is_over());
  application call = begun(stream_kind::request);
  call.connect();
  call.answer(204, "");
  CHECK(call.is_over());
  CHECK(is_told(call.entries().back().made));
  CHECK(call.entries().back().made.outcome() == outcome::gap);
}

TEST_CASE("401, 403, 404 and 405 end a stream at once", "[wrong_servers]") {
  for (const int status : {401, 403, 404, 405}) {
    for (const bool has_begun : {false, true}) {
      application client = has_begun ? begun() : application(settings());
      client.connect();
      client.answer(status, "text/plain");
      CHECK(client.is_over());
      CHECK(is_told(client.entries().back().made) == (status == 404));
    }
  }
}

TEST_CASE("Another session's id in any answer ends the stream, and nothing of it is taken", "[wrong_servers]") {
  for (const int status : {200, 202, 204, 302, 400, 401, 404, 405, 409, 410, 429, 500, 503}) {
    for (const std::string_view named_session : {"8c0e", "8C0F", "8c0f ", "8c0", "8c0f0"}) {
      INFO(status << " " << named_session);
      application client = begun();
      client.connect();
      client.answer(status, "text/event-stream", named_session);
      CHECK(client.is_over());
      CHECK(client.entries().back().made.outcome() == outcome::reset);
      CHECK(client.entries().back().made.recovery() == recovery::reinitialize);
      client.read(bytes_of(event_at({alice, 1, 0, 4})));
      CHECK(client.taken().size() == 3);
    }
  }
}

// ---- Strangers and schemes -------------------------------------------------------------------------------------------

TEST_CASE("With a sibling's tags a stranger is found out on the very first connection", "[wrong_servers]") {
  for (const stream_kind kind : {stream_kind::standalone, stream_kind::request}) {
    const place theirs{bob, 1, kind == stream_kind::request ? 3U : 0U, 1};
    const std::vector<piece> first = {event_at(theirs),
                                      marker_at(theirs),
                                      older_marker_at(theirs),
                                      gap_frame_under(id_of(theirs)),
                                      reset_frame_under(id_of(theirs)),
                                      {id_of(theirs), "message", "typed"},
                                      {id_of(theirs), "unknown", "typed"},
                                      named("evt-1"),
                                      named("_GET_stream_1764525600000_x8k2"),
                                      named(id_of({alice, 1, 0, 1}) + "00000000000000000000")};
    for (const piece& p : first) {
      INFO(*p.id << " " << p.type);
      application client(settings(kind));
      client.learn(begun());
      client.connect();
      client.answer(200);
      client.read(bytes_of(p));
      client.read(bytes_of(event_at(theirs)));
      CHECK(client.taken().empty());
      CHECK_FALSE(client.is_connected());
      CHECK(is_told(client.entries().back().made));
    }
  }
}

TEST_CASE("The scheme of the ids changes in the middle: each change is told, and nothing foreign gets through",
          "[wrong_servers]") {
  const std::vector<piece> schemes = {event_at({alice, 1, 0, 4}), named("evt-000418"), word(),
                                      event_at({alice, 1, 0, 5}), named("418"),        event_at({alice, 1, 0, 6})};
  for (const bool is_cut_between : {false, true}) {
    application client = begun();
    for (const piece& p : schemes) {
      if (is_cut_between) client.close();
      if (!client.is_connected()) {
        client.connect();
        client.answer(200);
      }
      const std::size_t judged = client.entries().size();
      client.read(bytes_of(p));
      const bool is_text = p.id && !place_of(*p.id);
      REQUIRE(client.entries().size() == judged + 1);
      CHECK(client.entries().back().taken.has_value() == !is_text);
      CHECK(is_told(client.entries().back().made) == is_text);
    }
    CHECK(client.count(continuity::reopened) == (is_cut_between ? 3 : 2));
    CHECK(client.missed() == 0);
  }
}

TEST_CASE("Text ids that turn into event ids are told once on a resumed connection, and proven from then on",
          "[wrong_servers]") {
  for (const foreign_ids others : {foreign_ids::unprovable, foreign_ids::trailing_counter}) {
    follower::settings how = settings();
    how.others = others;
    application client(how);
    client.connect();
    client.answer(200);
    client.read(bytes_of(named("evt-000418")));
    CHECK(client.connect().cursor == "evt-000418");
    client.answer(200);
    client.read(bytes_of(event_at({alice, 1, 0, 7})));
    CHECK(client.count(recovery::resync) == 1);
    CHECK(client.missed() == 0);  // nothing says how many
    CHECK(client.connect().cursor == id_of({alice, 1, 0, 7}));
    client.answer(200);
    client.read(bytes_of(event_at({alice, 1, 0, 10})));
    CHECK(client.entries().back().made.missed == 2);
    client.read(bytes_of(event_at({bob, 1, 0, 11})));
    CHECK(client.taken().size() == 3);
  }
}

TEST_CASE("A resumed stream that brings no ids any more is told", "[wrong_servers]") {
  application client = begun();
  client.connect();
  client.answer(200);
  for (int n = 0; n != 3; ++n) client.read(bytes_of(word()));
  CHECK(client.taken().size() == 6);
  CHECK(client.count(recovery::resync) == 1);
}

TEST_CASE("An event of a number that is never issued is no event of this stream", "[wrong_servers]") {
  enum class state { first, resumed, reopened };
  for (const state at : {state::first, state::resumed, state::reopened}) {
    for (const std::uint64_t seq : {std::uint64_t{0}, largest}) {
      application client = at == state::first ? application(settings()) : begun();
      client.learn(begun());
      client.connect();
      client.answer(200);
      if (at == state::reopened) {
        client.read(bytes_of(event_at({bob, 1, 0, 4})));
        client.connect();
        client.answer(200);
      }
      const std::size_t taken = client.taken().size();
      client.read(bytes_of(event_at({alice, 1, 0, seq})));
      CHECK(client.taken().size() == taken);
      CHECK(client.entries().back().made.missed == 0);
      CHECK(is_told(client.entries().back().made));
      CHECK_FALSE(client.is_connected());
    }
  }
}

TEST_CASE("A lie at the last number is counted to the last digit, and nothing wraps", "[wrong_servers]") {
  const std::uint64_t last = largest - 1;  // the last that can be issued
  for (const bool is_marker : {false, true}) {
    const place end{alice, 1, 0, last};
    application client = begun(stream_kind::standalone, 0);
    client.connect();
    client.answer(200);
    client.read(bytes_of(is_marker ? marker_at(end) : event_at(end)));
    CHECK(client.entries().back().made.missed == last - 3 - (is_marker ? 0 : 1));
    CHECK(client.guard().cursor() == id_of(end));
    for (const std::uint64_t seq : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{4}, last - 1, last, largest}) {
      const std::size_t taken = client.taken().size();
      if (!client.is_connected()) {
        client.connect();
        client.answer(200);
      }
      client.read(bytes_of(event_at({alice, 1, 0, seq})));
      CHECK(client.taken().size() == taken);
      CHECK(client.entries().back().made.missed == 0);
    }
  }
}

}  // namespace
