// SPDX-License-Identifier: MIT
// The rules. A client whose cursor is known is owed the events that were issued on the cursor's stream behind it,
// before or during the resume, and nothing else. Only `lost` steps together with an answer that says so excuse a loss.
//
// repeated_id     at an event: its id was issued before in its session. A marker may repeat an id of its own stream.
// unscoped_id     at an event: its id was issued before in another session.
//                 Both are said once for each session, with the count.
// leak            an event of another session came; or any event on a session that has ended.
// cross_stream    an event came that the session's other stream issued.
// silent_loss     an owed event did not come: a later one or a marker behind it came, or the answer ended, or nothing
//                 came for a second; and nothing said so. Also 204 where an event is owed.
// duplicate       an event came twice in one answer, or one that the client has by its cursor.
// disorder        an event came behind one that was issued later on its stream.
// silent_fresh    200 to a cursor that the session does not know, with events or a marker of another id; or to one that
//                 it knows, with such frames instead of all that is owed. In place of silent_loss.
// refused         a known cursor got 4xx or 5xx, or 204 on a stream without an answer, or a signal in place of owed
//                 events, though the first owed event is not lost.
// misleading_404  404 to a cursor, on a session that has not ended. In place of refused.
// endless_empty   200 without an event, open for a second: to a cursor that the session does not know, at the end of an
//                 answered stream, or on a session that has ended.
#include "judge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "judge_notes.hpp"
#include "quote.hpp"

namespace oracle {
namespace {

struct rule {
  std::string_view name;
  std::string_view advice;
};
// In the order of violation.
constexpr rule rules[] = {
    {"repeated_id",
     "Number events once for the whole session, or put the stream into the id: a cursor must name one event."},
    {"unscoped_id",
     "Put something of the session into the id (random, not the session id itself), so that another "
     "session's id is recognised."},
    {"leak", "Look events up in the session of the request alone, whatever the id says, and free them when it ends."},
    {"cross_stream", "Replay only the stream that the cursor's event was sent on."},
    {"silent_loss",
     "Replay all that was issued behind the cursor and go on live on the same connection; if something is "
     "gone, refuse with 410 or say so in a frame."},
    {"duplicate", "Replay from the event behind the cursor on, and hand replay and live events over at one place."},
    {"disorder", "Keep events in the order in which they were issued; time stamps and random ids do not sort."},
    {"silent_fresh", "Never answer a cursor with a fresh stream: refuse what is not known, with 400 or 409."},
    {"refused", "Accept a cursor as long as the event behind it is held, also while the old connection seems to live."},
    {"misleading_404", "Answer 400, 409 or 410 for an event id; 404 makes the client drop the session."},
    {"endless_empty", "Refuse a cursor that is not known with 400 or 409, and end what has been answered with 204."},
};

std::string stream_name(const stream_history& stream) {
  return stream.name.empty() ? "the standalone stream" : "stream " + in_quotes(stream.name);
}

// ---- One resume -----------------------------------------------------------------------------------------------------

// Events by number: those behind `after`, up to `until`.
struct event_range {
  std::size_t after = 0;
  std::size_t until = 0;
};

class resume_check {
 public:
  resume_check(history& past, const trace& recorded, std::size_t step)
      : past_(past), trace_(recorded), step_(recorded.steps[step]), session_(past.session_of(step_.session)) {
    note.step = step;
    has_cursor_ = step_.last_event_id && !step_.last_event_id->empty();
    if (has_cursor_) cursor_ = past.cursor_of(session_, *step_.last_event_id);
    if (!has_cursor_) stream_ = past.sessions()[session_].streams.front();
    if (cursor_) stream_ = cursor_->stream;
    if (stream_ != nowhere) newest_ = past.streams()[stream_].events.size();
    if (cursor_) owed_ = {cursor_->owed_after, newest_};
    at_ = owed_.after;
  }

  void run() {
    const bool has_ended = past_.sessions()[session_].has_ended;
    if (step_.status == 200) read_frames();
    if (has_ended) {
      if (is_endless()) add(violation::endless_empty, "the session has ended, and an empty answer stays open");
    } else if (step_.status == 404 && has_cursor_) {
      add(violation::misleading_404, "404 for an event id, though the session lives");
    } else if (cursor_) {
      check_known();
    } else if (has_cursor_) {
      check_unknown();
    }
    write_note();
  }

  // By kind: the first of them in words, and how many there are.
  std::map<violation, std::pair<std::string, std::size_t>> found;
  resume_note note;

 private:
  void add(violation kind, const std::string& saw) { ++found.try_emplace(kind, saw, 0).first->second.second; }
  std::string event_name(std::size_t number) const {
    const trace_step& issued = trace_.steps[past_.streams()[stream_].events[number - 1]];
    return fmt::format("event {} (line {})", in_quotes(*issued.frame.id), issued.line);
  }

  // ---- Frames ----

  void read_frames() {
    for (const trace_frame& frame : step_.frames) {
      const known_frame known = past_.recognise(frame, session_, stream_);
      note.frames.push_back({known.kind, std::nullopt});
      if (known.kind == frame_kind::signal && !told_from_) told_from_ = at_;
      if (known.kind == frame_kind::error) is_told_of_all_ = true;
      if (known.kind == frame_kind::marker) take_marker(frame, known.place);
      if (known.kind == frame_kind::event) note.frames.back().wrong = take_event(frame, known.place);
    }
    has_told_ = is_told_of_all_ || told_from_ || !told_.empty();
    is_told_open_ = told_from_.has_value();
    if (told_from_) end_told(newest_);
    for (const auto& [id, place] : unplaced_) past_.take_answered(session_, id, place);
  }

  void take_marker(const trace_frame& frame, const std::optional<id_place>& place) {
    if (place && place->stream == stream_) {
      end_told(place->owed_after);
      at_ = std::max(at_, place->has_until);
      reached_ = std::max(reached_, place->has_until);
    } else if (!has_cursor_ || *frame.id != *step_.last_event_id) {
      looks_fresh_ = true;
      if (!place) add_unplaced(frame);
    }
  }

  std::optional<violation> take_event(const trace_frame& frame, const std::optional<id_place>& place) {
    has_event_ = true;
    const std::string name = "event " + (frame.id ? in_quotes(*frame.id) : "without an id");
    if (past_.sessions()[session_].has_ended) return add_frame(violation::leak, name + " came after the session's end");
    if (!place) {
      has_unknown_event_ = looks_fresh_ = true;
      add_unplaced(frame);
      return std::nullopt;
    }
    const stream_history& of = past_.streams()[place->stream];
    if (of.session != session_) {
      const std::string_view owner = past_.sessions()[of.session].name;
      return add_frame(violation::leak, fmt::format("{} of session {} came", name, in_quotes(owner)));
    }
    if (place->stream == stream_) return take_own(place->has_until);
    looks_fresh_ = looks_fresh_ || stream_ == nowhere;
    if (stream_ == nowhere) return std::nullopt;
    return add_frame(violation::cross_stream, fmt::format("{} of {} came, the answer is of {}", name, stream_name(of),
                                                          stream_name(past_.streams()[stream_])));
  }

  // An event of the answer's stream.
  std::optional<violation> take_own(std::size_t number) {
    end_told(number - 1);
    for (; n_placed_ != unplaced_.size(); ++n_placed_) {
      id_place& place = unplaced_[n_placed_].second;
      place.owed_after = std::max(place.has_until, number - 1);
    }
    at_ = std::max(at_, number);
    if (cursor_ && number <= cursor_->has_until) {
      return add_frame(violation::duplicate, event_name(number) + " came, and the client has it by its cursor");
    }
    const std::size_t last = came_.empty() ? 0 : *came_.rbegin();
    if (!came_.insert(number).second) return add_frame(violation::duplicate, event_name(number) + " came twice");
    if (number > last) return std::nullopt;
    return add_frame(violation::disorder, fmt::format("{} came behind {}", event_name(number), event_name(last)));
  }

  violation add_frame(violation kind, const std::string& saw) {
    add(kind, saw);
    return kind;
  }

  // A signal covers what lies between what came before it and the next known place.
  void end_told(std::size_t until) {
    if (!told_from_) return;
    told_.push_back({*told_from_, std::max(until, *told_from_)});
    told_from_.reset();
  }

  // An id that nobody issued: its place lies behind what came, and before the next event of the stream that comes.
  void add_unplaced(const trace_frame& frame) {
    const std::optional<std::string_view> id = id_of(frame);
    if (!id) return;
    id_place place;
    place.stream = stream_ == nowhere ? past_.sessions()[session_].streams.front() : stream_;
    place.owed_after = past_.streams()[place.stream].events.size();
    const std::size_t had = cursor_ ? cursor_->has_until : 0;
    place.has_until = came_.empty() ? had : std::max(had, *came_.rbegin());
    unplaced_.emplace_back(*id, place);
  }

  // ---- What is missing ----

  // The first event of the range that did not come, or 0.
  std::size_t first_missing(event_range in) const {
    std::size_t number = in.after + 1;
    for (auto at = came_.lower_bound(number); at != came_.end() && *at == number; ++at) ++number;
    return number <= in.until ? number : 0;
  }

  struct loss {
    std::size_t first = 0;  // 0: none
    std::size_t count = 0;
  };
  // What neither came nor was told of. Ranges that were told of are in the order of their beginnings.
  loss silent_loss() const {
    loss found_loss;
    auto told = told_.begin();
    for (std::size_t next = owed_.after + 1; next <= owed_.until && !is_told_of_all_;) {
      while (told != told_.end() && told->until < next) ++told;
      const bool is_told = told != told_.end() && told->after < next;
      const auto came = came_.lower_bound(next);
      std::size_t end = is_told ? told->until + 1 : next + 1;
      if (!is_told && (came == came_.end() || *came != next)) {
        end = std::min(
            {came == came_.end() ? nowhere : *came, told == told_.end() ? nowhere : told->after + 1, owed_.until + 1});
        if (found_loss.first == 0) found_loss.first = next;
        found_loss.count += end - next;
      }
      next = end;
    }
    return found_loss;
  }

  // ---- Rules ----

  bool will_not_come() const { return step_.has_ended || step_.waited_ms >= long_enough_ms; }
  bool is_endless() const {
    return step_.status == 200 && !has_event_ && !has_told_ && !step_.has_ended && step_.waited_ms >= long_enough_ms;
  }
  std::size_t owed_count() const { return owed_.until - std::min(owed_.after, owed_.until); }
  bool has_all_of_answered() const {
    const std::size_t answer = past_.streams()[stream_].answer;
    return answer != 0 && owed_count() == 0 && cursor_->has_until >= answer;
  }
  // The first owed event is gone; or nothing is owed, and nothing will be.
  bool may_refuse() const {
    const stream_history& of = past_.streams()[stream_];
    if (owed_count() != 0) return of.lost > cursor_->has_until;
    return of.answer != 0 || (of.has_lost && of.lost >= cursor_->has_until);
  }
  std::string owed_in_words() const {
    return owed_count() == 0 ? "nothing" : fmt::format("{} from {} on", owed_count(), event_name(owed_.after + 1));
  }

  void check_known() {
    if (step_.status == 200) return check_continued();
    if (step_.status == 204 && owed_count() != 0) {
      add(violation::silent_loss, fmt::format("204 says that nothing is owed, but {} is", owed_in_words()));
    } else if ((step_.status == 204 || step_.status >= 400) && !may_refuse()) {
      add(violation::refused, fmt::format("{}, though the cursor is known and nothing behind it is lost; owed is {}",
                                          step_.status, owed_in_words()));
    }
  }

  void check_continued() {
    const loss silent = silent_loss();
    const bool is_passed =
        silent.first != 0 && (silent.first <= reached_ || (!came_.empty() && silent.first < *came_.rbegin()));
    const bool is_proven = silent.first != 0 && (is_passed || will_not_come());
    const bool has_none = came_.empty() && !has_told_ && silent.first != 0;
    if (has_none && !is_passed && looks_fresh_ && (is_proven || has_unknown_event_)) {
      add(violation::silent_fresh, fmt::format("frames of a fresh stream came; owed is {}", owed_in_words()));
    } else if (is_proven) {
      const char* why = is_passed         ? "what lies behind it came"
                        : step_.has_ended ? "the answer ended"
                                          : "nothing came any more";
      add(violation::silent_loss, fmt::format("{} did not come, {} of {} owed are missing, and {}",
                                              event_name(silent.first), silent.count, owed_count(), why));
    }
    check_told();
    if (has_all_of_answered() && is_endless()) {
      add(violation::endless_empty, "the client has the answer, and an empty answer stays open");
    }
  }

  // A signal although the first event that it skips is held.
  void check_told() {
    const std::size_t lost = past_.streams()[stream_].lost;
    const bool is_vague = cursor_->has_until != cursor_->owed_after;
    if (is_vague && lost > cursor_->has_until) return;
    std::vector<event_range> told = told_;
    if (is_told_open_ && !will_not_come()) told.pop_back();  // what was skipped may come yet
    if (is_told_of_all_) told.assign(1, owed_);
    for (const event_range& each : told) {
      const std::size_t first = first_missing(each);
      if (first == 0 || first <= lost) continue;
      add(violation::refused,
          fmt::format("the answer says that events are missing, but {} is not lost", event_name(first)));
    }
  }

  void check_unknown() {
    if (looks_fresh_ && !has_told_) {
      add(violation::silent_fresh, "the session never issued this cursor, and a stream came that does not say so");
    } else if (is_endless()) {
      add(violation::endless_empty, "the session never issued this cursor, and an empty answer stays open");
    }
  }

  void write_note() {
    const std::vector<std::size_t>& streams = past_.sessions()[session_].streams;
    note.owed = cursor_ ? owed_count() : 0;
    note.came = static_cast<std::size_t>(std::distance(came_.upper_bound(owed_.after), came_.end()));
    if (cursor_) note.cursor = cursor_->step;
    if (stream_ == nowhere) return;
    note.stream = static_cast<std::size_t>(std::lower_bound(streams.begin(), streams.end(), stream_) - streams.begin());
    const stream_history& of = past_.streams()[stream_];
    if (of.lost >= newest_ || past_.sessions()[session_].has_ended) return;
    note.first = of.events[of.lost];
    note.newest = of.events.back();
  }

  history& past_;
  const trace& trace_;
  const trace_step& step_;
  const std::size_t session_;
  bool has_cursor_ = false;
  std::optional<id_place> cursor_;
  std::size_t stream_ = nowhere;  // that the answer should be of
  std::size_t newest_ = 0;        // its events
  event_range owed_;

  std::size_t at_ = 0;       // the client was brought up to this event, or told that it is not
  std::size_t reached_ = 0;  // a marker said that all up to this one came
  std::set<std::size_t> came_;
  std::vector<event_range> told_;
  std::optional<std::size_t> told_from_;
  std::vector<std::pair<std::string_view, id_place>> unplaced_;
  std::size_t n_placed_ = 0;  // of them: an event of the stream came behind
  bool is_told_of_all_ = false;
  bool is_told_open_ = false;  // nothing came behind the last signal
  bool has_told_ = false;
  bool has_event_ = false;
  bool has_unknown_event_ = false;
  bool looks_fresh_ = false;  // something came that is not of the answer's stream, nor of another session
};

// ---- The whole trace ------------------------------------------------------------------------------------------------

class examiner {
 public:
  explicit examiner(const trace& recorded) : trace_(recorded), past_(recorded) {}

  examination run() {
    for (std::size_t step = 0; step != trace_.steps.size(); ++step) {
      const trace_op op = trace_.steps[step].op;
      if (op == trace_op::event) check_id(step);
      past_.take(step);
      if (op == trace_op::resume) check_resume(step);
    }
    for (const auto& [key, first] : of_session_) {
      if (first.count == 1) continue;
      made_.findings[first.finding].saw += fmt::format("; and {} more ids of this session", first.count - 1);
    }
    return std::move(made_);
  }

 private:
  void check_id(std::size_t step) {
    const trace_step& s = trace_.steps[step];
    const std::optional<std::string_view> id = issued_id_of(s.frame);
    if (!id) return;
    const std::size_t session = past_.session_of(s.session), stream = past_.stream_of(session, s.stream);
    const std::optional<id_place> own = past_.own_place(session, stream, *id);
    const std::optional<id_place> first = own && own->step != nowhere ? own : past_.first_issued(*id);
    if (!first) return;
    const stream_history& of = past_.streams()[first->stream];
    if (first->stream == stream && is_marker(s.frame)) return;
    const violation kind = of.session == session ? violation::repeated_id : violation::unscoped_id;
    const std::string who =
        of.session == session ? stream_name(of) : "session " + in_quotes(past_.sessions()[of.session].name);
    add_of_session(
        kind, session, step,
        fmt::format("id {} was issued before in {}, at line {}", in_quotes(*id), who, trace_.steps[first->step].line));
  }

  // Once for each session: a server that numbers from 1 on in each repeats them all.
  void add_of_session(violation kind, std::size_t session, std::size_t step, std::string saw) {
    const auto [at, is_first] = of_session_.try_emplace({session, kind}, counted{made_.findings.size(), 0});
    ++at->second.count;
    if (is_first) made_.findings.push_back({kind, step, std::move(saw)});
  }

  void check_resume(std::size_t step) {
    resume_check check(past_, trace_, step);
    check.run();
    for (auto& [kind, first] : check.found) {
      if (first.second != 1) first.first += fmt::format("; {} times in this answer", first.second);
      made_.findings.push_back({kind, step, std::move(first.first)});
    }
    made_.resumes.push_back(std::move(check.note));
  }

  struct counted {
    std::size_t finding;
    std::size_t count;
  };
  const trace& trace_;
  history past_;
  examination made_;
  std::map<std::pair<std::size_t, violation>, counted> of_session_;
};

}  // namespace

std::string_view to_string(violation kind) { return rules[static_cast<std::size_t>(kind)].name; }
std::string_view advice_for(violation kind) { return rules[static_cast<std::size_t>(kind)].advice; }

examination examine(const trace& recorded) { return examiner(recorded).run(); }

std::vector<finding> judge(const trace& recorded) { return examine(recorded).findings; }

}  // namespace oracle
