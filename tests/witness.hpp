// SPDX-License-Identifier: MIT
// A witness of a stream_guard, which forgets nothing; and what it judges: answers and blocks as whoever made them meant
// them.
#ifndef MCP_RESUME_TESTS_WITNESS_HPP
#define MCP_RESUME_TESTS_WITNESS_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "mcp_resume/client.hpp"

namespace witnesses {

using mcp_resume::event_id;
using mcp_resume::foreign_ids;
using mcp_resume::stream_kind;
using mcp_resume::tags;

inline constexpr std::uint64_t max64 = ~std::uint64_t{0};  // parses as a seq and is never issued

// ---- Verdicts as texts -----------------------------------------------------------------------------------------------

// A verdict as a text that shows all of it but the reason.
inline std::string told(const mcp_resume::verdict& made) {
  std::string text(made.outcome() ? to_string(*made.outcome()) : std::string_view("undecided"));
  if (made.missed != 0) text += " of " + std::to_string(made.missed);
  text.append(", ").append(to_string(made.recovery())).append(", ").append(to_string(made.next()));
  return made.deliver ? text + ", delivered" : text;
}

inline const std::string nothing = "undecided, none, read_on";
inline const std::string delivered = "undecided, none, read_on, delivered";
inline const std::string proven = "continue, none, read_on";
inline const std::string proven_event = "continue, none, read_on, delivered";
inline const std::string retry = "undecided, retry, reconnect";
inline const std::string complete = "continue, none, end";
inline const std::string reopened = "reset, resync, read_on";

inline std::string gap_of(std::uint64_t missed) { return "gap of " + std::to_string(missed) + ", resync, read_on"; }
inline std::string event_after(std::uint64_t missed) { return gap_of(missed) + ", delivered"; }

// A resubscribe as it reads for each kind of stream: a request stream cannot be opened without its cursor.
inline std::string dropped_as(const std::string& outcome, stream_kind kind) {
  return outcome + (kind == stream_kind::request ? ", resync, end" : ", resubscribe, reconnect");
}

// ---- Answers ---------------------------------------------------------------------------------------------------------

struct asked {
  stream_kind kind = stream_kind::standalone;
  std::string cursor;
  bool is_owed = false;           // the answer of a request, or the place of a gap that was announced
  bool cannot_be_proven = false;  // what came before: a refused cursor, or events that left none
  int conflicts = 0;              // answers 409 before
  int status = 0;                 // 0: the connection ended
  bool is_event_stream = false;
};

// What DESIGN says of each answer of the same session.
inline std::string meaning_of(const asked& a) {
  const bool has_cursor = !a.cursor.empty();
  const bool is_4xx = a.status >= 400 && a.status <= 499;
  if (a.status == 404) return "reset, reinitialize, end";
  if (a.status == 200 && a.is_event_stream) return a.cannot_be_proven ? reopened : nothing;
  if (a.kind == stream_kind::request && !a.is_owed) return complete;
  if (a.status == 204 && has_cursor) return a.is_owed ? "gap, resync, end" : complete;
  if (a.status == 401 || a.status == 403 || a.status == 405) return "reject, stop, end";
  if (a.kind == stream_kind::request && !has_cursor) return "gap, resync, end";
  if (a.status == 408 || a.status == 429) return retry;
  if (a.status == 409 && (!has_cursor || a.conflicts < 2)) return retry;
  if (is_4xx && has_cursor) return dropped_as("reject", a.kind);
  if (is_4xx || (a.status == 204 && !has_cursor)) return "reject, stop, end";
  return retry;
}

// ---- Blocks ----------------------------------------------------------------------------------------------------------

// An id as whoever made the block meant it: an event id, or a text that is none.
struct meant_id {
  std::optional<event_id> number;
  std::string text;
};

struct meant_block {
  std::optional<meant_id> id;
  std::string type = "message";
  std::optional<std::string> data;

  [[nodiscard]] bool has_data() const { return data && !data->empty(); }
  [[nodiscard]] bool is_signal() const { return type == "gap" || type == "reset"; }
  [[nodiscard]] bool is_event() const { return !is_signal() && type != "resume" && has_data(); }
};

// The decimal number at the end of a text, plus one, as one learns it at school.
inline std::string plus_one(std::string text) {
  std::size_t at = text.size();
  while (at != 0 && text[at - 1] == '9') text[--at] = '0';
  const bool has_digit = at != 0 && text[at - 1] >= '0' && text[at - 1] <= '9';
  if (has_digit) {
    ++text[at - 1];
    return text;
  }
  return at == text.size() ? std::string() : text.insert(at, "1");
}

struct heard_answer {
  int status = 0;
  bool is_event_stream = false;
  bool is_of_other_session = false;
};

// What a guard has to say and to send, by DESIGN's words and not by the header's means. It keeps all it ever saw, where
// the guard keeps one id and one gap. Its verdicts are texts as `told` makes them.
class witness {
 public:
  witness(stream_kind kind, const std::optional<meant_id>& kept, foreign_ids others)
      : kind_(kind), counts_(others == foreign_ids::trailing_counter), is_owed_(kind == stream_kind::request) {
    if (!kept) return;
    place_ = kept;
    if (kept->number) owner_ = kept->number->owner;
    known_.insert(kept->text);
  }

  [[nodiscard]] std::string cursor() const { return place_ && !is_dropped_ ? place_->text : std::string(); }
  [[nodiscard]] bool is_open() const { return is_open_; }
  [[nodiscard]] std::optional<tags> owner() const { return owner_; }
  // Where a liar takes aim: the newest seq, or the newest text.
  [[nodiscard]] std::uint64_t seq() const { return place_ && place_->number ? place_->number->seq : 0; }
  [[nodiscard]] std::string text() const { return place_ && !place_->number ? place_->text : "evt-000418"; }
  // The cursor that was dropped last, until another id is taken.
  [[nodiscard]] std::string refused() const { return refused_; }
  // Whether this very event was taken since its tags were taken over.
  [[nodiscard]] bool was_taken(const event_id& id) const { return taken_.count(to_string(id)) != 0; }
  // Whether the guard may ever send it: it was taken, or given to the constructor.
  [[nodiscard]] bool is_known(const std::string& cursor) const { return known_.count(cursor) != 0; }

  void learn(tags owner) {
    if (!owner_) owner_ = owner;
  }
  void take_answer() {
    if (kind_ == stream_kind::request) is_owed_ = false;
  }
  std::string hear_answer(const heard_answer& heard);
  std::string hear_end();
  std::string hear(const meant_block& next);
  void take();

 private:
  std::string refuse(const std::string& outcome);
  std::string move_to(const meant_block& next, const std::string& verdict, std::uint64_t missed = 0);
  std::string hear_unprovable(const meant_block& next);
  std::string hear_text(const meant_block& next);
  std::string hear_number(const meant_block& next, const event_id& id);
  std::string compare(const meant_block& next, const event_id& id);
  std::string hear_past(const event_id& id);
  std::string announce(const meant_block& next);
  std::optional<std::uint64_t> place_for(const event_id& id) const;

  stream_kind kind_;
  bool counts_;
  bool is_owed_;
  std::optional<tags> owner_;
  std::optional<meant_id> place_;  // the id that was taken last
  bool is_dropped_ = false;
  bool left_no_cursor_ = false;
  bool is_gap_open_ = false;  // one was announced, and no other place was taken since
  int conflicts_ = 0;
  std::string refused_;
  std::set<std::string> known_;
  std::set<std::string> taken_;                                 // since the tags were taken over
  std::optional<std::pair<std::uint64_t, std::uint64_t>> gap_;  // first and last of the last one

  // Of the connection:
  bool is_open_ = false;
  bool sent_cursor_ = false;
  bool has_begun_ = false;    // it has brought an id or data
  bool has_asked_ = false;    // for ids that cannot be proven
  bool is_anywhere_ = false;  // after a resubscribe, until the server says where it begins
  bool is_announcing_ = false;
  std::string announced_;
  std::optional<event_id> announced_at_;

  // What is given and not taken yet:
  std::optional<meant_id> given_;
  std::optional<std::pair<std::uint64_t, std::uint64_t>> given_gap_;
};

inline std::string witness::hear_answer(const heard_answer& heard) {
  given_.reset();
  announced_.clear();
  announced_at_.reset();
  is_anywhere_ = is_dropped_;
  has_asked_ = has_begun_ = false;
  sent_cursor_ = !cursor().empty();
  is_open_ = false;
  if (heard.status != 0 && heard.is_of_other_session) return "reset, reinitialize, end";
  const bool cannot_be_proven = cursor().empty() && (is_dropped_ || left_no_cursor_);
  const asked a{kind_,      cursor(),     is_owed_ || is_gap_open_, cannot_be_proven,
                conflicts_, heard.status, heard.is_event_stream};
  const std::string verdict = meaning_of(a);
  if (heard.status == 409) ++conflicts_;
  is_open_ = heard.status == 200 && heard.is_event_stream;
  if (is_open_) conflicts_ = 0;
  const bool is_refused = sent_cursor_ && verdict == dropped_as("reject", kind_);
  return is_refused ? refuse("reject") : verdict;
}

inline std::string witness::hear_end() {
  is_open_ = false;
  return meaning_of({kind_, cursor(), is_owed_ || is_gap_open_, false, 0, 0, false});
}

// A dropped cursor and its count of refusals end together.
inline std::string witness::refuse(const std::string& outcome) {
  if (place_) refused_ = place_->text;
  is_dropped_ = true;
  is_open_ = false;
  conflicts_ = 0;
  return dropped_as(outcome, kind_);
}

inline std::string witness::move_to(const meant_block& next, const std::string& verdict, std::uint64_t missed) {
  given_ = next.id;
  given_gap_.reset();
  if (next.id->number) {
    // What a stream that begins anew passes over is never given either.
    const std::uint64_t last = next.id->number->seq - (next.is_event() ? 1 : 0);
    const bool was_here = place_ && place_->number && place_->number->owner == next.id->number->owner;
    const std::uint64_t taken = was_here ? place_->number->seq : 0;
    const bool begins_anew = is_anywhere_ || verdict == reopened;
    const std::uint64_t passed = begins_anew ? last - std::min(taken, last) : missed;
    if (passed != 0) given_gap_ = {last - passed + 1, last};
  }
  if (missed == 0) return next.is_event() ? verdict + ", delivered" : verdict;
  return next.is_event() ? event_after(missed) : gap_of(missed);
}

inline std::string witness::hear(const meant_block& next) {
  given_.reset();
  if (!is_open_) return hear_end();
  if (!next.id && !next.has_data()) return nothing;
  const bool had_begun = std::exchange(has_begun_, true);
  if (!next.id) {
    if (!place_) left_no_cursor_ = true;
    if (had_begun || !sent_cursor_) return delivered;
    has_asked_ = true;  // a stream that was resumed and does not say where it goes on
    return "gap, resync, read_on, delivered";
  }
  is_announcing_ = false;
  const std::string verdict = next.id->number ? hear_number(next, *next.id->number) : hear_text(next);
  if (!is_announcing_) {  // whatever has an id answers for the signal, and says where a new stream begins
    announced_.clear();
    announced_at_.reset();
    if (next.id->number) is_anywhere_ = false;
  }
  if (!place_ && verdict.find("delivered") != std::string::npos) left_no_cursor_ = true;
  return verdict;
}

inline std::string witness::hear_unprovable(const meant_block& next) {
  const bool is_asking = !announced_.empty() || (sent_cursor_ && !has_asked_);
  has_asked_ = has_asked_ || is_asking;
  const std::string verdict = move_to(next, is_asking ? "gap, resync, read_on" : nothing);
  const std::string& text = next.id->text;
  const bool has_control = std::any_of(text.begin(), text.end(), [](unsigned char c) { return c < 32 || c == 127; });
  const bool can_be_sent = !text.empty() && text.size() <= 1024 && text.front() != ' ' && text.back() != ' ';
  if (!can_be_sent || has_control) given_.reset();
  return verdict;
}

inline std::string witness::hear_text(const meant_block& next) {
  const std::string& text = next.id->text;
  if (owner_ && !text.empty()) return refuse("reject");
  if (owner_ || !counts_ || is_dropped_ || !place_) return hear_unprovable(next);
  if (next.is_event() && !text.empty() && text == plus_one(place_->text)) {
    const std::string verdict = move_to(next, proven);
    if (text.size() > 1024) given_.reset();
    return verdict;
  }
  if (next.is_event() || text != place_->text) return hear_unprovable(next);
  return next.is_signal() ? announce(next) : move_to(next, proven);
}

inline std::string witness::announce(const meant_block& next) {
  is_announcing_ = true;
  if (next.type == "gap") is_gap_open_ = true;
  announced_ = next.type;
  announced_at_ = next.id->number;
  return next.type + ", none, read_on";
}

inline std::string witness::hear_number(const meant_block& next, const event_id& id) {
  const bool is_issued = id.seq != max64 && (id.seq != 0 || !next.is_event());
  if (!is_issued || (owner_ && id.owner.session != owner_->session)) return refuse("reject");
  const bool knows_stream = place_ && place_->number;
  const bool is_request = kind_ == stream_kind::request;
  const bool is_ours =
      is_request && knows_stream ? id.stream == place_->number->stream : (id.stream != 0) == is_request;
  if (!is_ours) return refuse("reject");
  const bool has_begun = place_ && !is_anywhere_;
  if (owner_ && id.owner != *owner_ && has_begun) {
    const bool is_told = announced_ == "reset" && !next.is_event() && !next.is_signal();
    return is_told ? move_to(next, reopened) : refuse("reset");
  }
  if (has_begun && !place_->number) return hear_unprovable(next);
  if (next.is_signal() && cursor().empty()) return announce(next);
  return compare(next, id);
}

// The seq after which the stream is to go on, for an id that may be its.
inline std::optional<std::uint64_t> witness::place_for(const event_id& id) const {
  if (!is_anywhere_) return place_ ? place_->number->seq : 0;
  const bool was_here = place_ && place_->number && place_->number->owner == id.owner;
  const std::uint64_t dropped = was_here ? place_->number->seq : 0;
  if (was_here && id.seq <= dropped) return dropped;
  const bool is_counted = announced_ == "gap" && announced_at_ && announced_at_->owner == id.owner;
  if (is_counted && id.seq >= announced_at_->seq) return std::max(dropped, announced_at_->seq);
  return std::nullopt;
}

inline std::string witness::compare(const meant_block& next, const event_id& id) {
  const std::optional<std::uint64_t> after = place_for(id);
  const std::uint64_t stands_after = next.is_event() ? id.seq - 1 : id.seq;  // what the block says was before it
  if (!after) return move_to(next, proven);
  if (stands_after < *after) return hear_past(id);
  if (next.is_signal() && stands_after == *after) return announce(next);
  return move_to(next, proven, stands_after - *after);
}

inline std::string witness::hear_past(const event_id& id) {
  if (!announced_.empty()) return "gap, resync, read_on";
  const bool is_inside = gap_ && gap_->first <= id.seq && id.seq <= gap_->second;
  if (!is_inside) return nothing;
  gap_.reset();  // one resync for all of it
  return "gap, resync, read_on";
}

inline void witness::take() {
  const std::optional<meant_id> given = std::exchange(given_, std::nullopt);
  if (!given || (place_ && place_->text == given->text)) return;
  const bool is_other_life =
      !given->number || !place_ || !place_->number || place_->number->owner != given->number->owner;
  if (is_other_life) {
    taken_.clear();
    gap_.reset();
  }
  if (given_gap_) gap_ = given_gap_;
  place_ = given;
  if (given->number) owner_ = given->number->owner;
  taken_.insert(given->text);
  known_.insert(given->text);
  refused_.clear();
  is_dropped_ = is_anywhere_ = left_no_cursor_ = is_gap_open_ = false;
}

}  // namespace witnesses

#endif  // MCP_RESUME_TESTS_WITNESS_HPP
