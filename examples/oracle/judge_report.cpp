// SPDX-License-Identifier: MIT
// What judging a trace found, as a report: an entry for each resume and finding, a timeline for each session.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "judge_notes.hpp"
#include "quote.hpp"

namespace oracle {
namespace {

std::string verdict_of(violation kind) {
  std::string word(to_string(kind));
  for (char& c : word) c = c == '_' ? ' ' : c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return word;
}

std::string lane_name(std::string_view stream) { return stream.empty() ? "standalone" : std::string(stream); }

std::string id_in_words(const std::optional<std::string>& id) { return id ? in_quotes(*id) : "no id"; }

// What was sent and what came.
std::string exchange_of(const trace_step& step, const resume_note& note) {
  const bool has_cursor = step.last_event_id && !step.last_event_id->empty();
  std::string text = has_cursor ? "sent " + in_quotes(*step.last_event_id) : "sent no cursor";
  if (step.status == 0) return text + ", no answer";
  text += fmt::format(", got {}", step.status);
  if (step.status != 200) return text;
  text += fmt::format(" with {} frame{}, {}", step.frames.size(), step.frames.size() == 1 ? "" : "s",
                      step.has_ended ? "ended" : fmt::format("open for {} ms", step.waited_ms));
  return note.owed == 0 ? text : text + fmt::format(", {} of {} owed events", note.came, note.owed);
}

// ---- Entries --------------------------------------------------------------------------------------------------------

class entry_writer {
 public:
  entry_writer(const trace& recorded, const std::vector<finding>& findings, const examination& examined)
      : trace_(recorded), findings_(findings), examined_(examined) {}

  // In the order of the steps; a finding at a step that is no resume is an entry too.
  std::vector<entry> write() {
    auto note = examined_.resumes.begin();
    for (std::size_t step = 0; step != trace_.steps.size(); ++step) {
      const trace_step& s = trace_.steps[step];
      count_of(s);
      const bool is_resume = note != examined_.resumes.end() && note->step == step;
      const auto [first, last] = std::equal_range(findings_.begin(), findings_.end(), finding{{}, step, ""}, is_before);
      for (auto each = first; each != last; ++each) add_finding(s, *each, is_resume ? exchange_of(s, *note) : "");
      if (!is_resume) continue;
      if (first == last) add(s, "ok", exchange_of(s, *note), "", entry_status::ok);
      ++note;
    }
    return std::move(entries_);
  }

 private:
  static bool is_before(const finding& a, const finding& b) { return a.step < b.step; }

  void count_of(const trace_step& s) {
    if (s.op == trace_op::resume) ++resumes_[s.session];
    if (s.op == trace_op::event) ++events_[s.session];
  }
  std::string name_of(const trace_step& s) const {
    const bool is_resume = s.op == trace_op::resume;
    const std::size_t nth = is_resume ? resumes_.at(s.session) : events_.at(s.session);
    const std::string as = s.as.empty() ? "" : fmt::format(" ({})", s.as);
    return fmt::format("{} {} of session {}{}", is_resume ? "resume" : "event", nth, s.session, as);
  }

  void add_finding(const trace_step& s, const finding& f, const std::string& exchange) {
    const std::string saw = exchange.empty() ? f.saw : exchange + "; " + f.saw;
    add(s, verdict_of(f.kind), saw, std::string(advice_for(f.kind)), entry_status::finding);
  }
  void add(const trace_step& s, std::string verdict, std::string saw, std::string advice, entry_status status) {
    entry made;
    made.name = name_of(s);
    made.status = status;
    made.verdict = std::move(verdict);
    made.place = s.line == 0 ? trace_.name : fmt::format("{}:{}", trace_.name, s.line);
    made.saw = std::move(saw);
    made.advice = std::move(advice);
    entries_.push_back(std::move(made));
  }

  const trace& trace_;
  const std::vector<finding>& findings_;  // by step
  const examination& examined_;
  std::map<std::string_view, std::size_t> resumes_, events_;  // by session, up to the present step
  std::vector<entry> entries_;
};

// ---- Timelines ------------------------------------------------------------------------------------------------------

class timeline_writer {
 public:
  timeline_writer(const trace& recorded, const std::vector<finding>& findings, const examination& examined)
      : trace_(recorded), places_(recorded.steps.size(), 0), verdicts_(recorded.steps.size()) {
    for (const finding& each : findings) {
      std::string& of_step = verdicts_[each.step];
      of_step += (of_step.empty() ? "" : ", ") + verdict_of(each.kind);
    }
    auto note = examined.resumes.begin();
    for (std::size_t step = 0; step != trace_.steps.size(); ++step) {
      const bool is_resume = note != examined.resumes.end() && note->step == step;
      take(step, is_resume ? &*note : nullptr);
      if (is_resume) ++note;
    }
  }
  std::vector<timeline> timelines() { return std::move(timelines_); }

 private:
  struct lanes_of {
    std::size_t timeline = 0;
    std::size_t marks = 0;  // steps from left to right
    std::map<std::string_view, std::size_t> lanes;
  };

  lanes_of& session_of(const trace_step& s) {
    const auto [at, is_new] = sessions_.try_emplace(s.session);
    if (!is_new) return at->second;
    at->second.timeline = timelines_.size();
    timelines_.push_back({fmt::format("Session {} of {}", s.session, trace_.name), {lane_name("")}, {}});
    at->second.lanes[""] = 0;
    return at->second;
  }

  mark& add(lanes_of& to, mark_kind kind, std::size_t lane, std::string label, std::string text) {
    mark made;
    made.kind = kind;
    made.lane = lane;
    made.step = ++to.marks;
    made.label = std::move(label);
    made.text = std::move(text);
    std::vector<mark>& marks = timelines_[to.timeline].marks;
    marks.push_back(std::move(made));
    return marks.back();
  }

  std::size_t lane_of(lanes_of& in, const trace_step& s) {
    const auto [at, is_new] = in.lanes.try_emplace(s.stream, in.lanes.size());
    if (is_new) timelines_[in.timeline].lanes.push_back(lane_name(s.stream));
    return at->second;
  }

  void take(std::size_t step, const resume_note* note) {
    const trace_step& s = trace_.steps[step];
    lanes_of& in = session_of(s);
    const std::size_t lane = lane_of(in, s);
    if (s.op == trace_op::resume && note != nullptr) return add_resume(in, s, *note);
    if (s.op == trace_op::event) {
      const std::string what = s.is_answer ? "answer " : is_marker(s.frame) ? "marker " : "event ";
      mark& made =
          add(in, mark_kind::event, lane, s.frame.id.value_or("-"), "issued " + what + id_in_words(s.frame.id));
      made.verdict = verdicts_[step];
      places_[step] = made.step;
    }
    if (s.op == trace_op::drop) add(in, mark_kind::drop, lane, "", "broken; the client has " + id_in_words(s.id));
    if (s.op == trace_op::lost) add(in, mark_kind::note, lane, "lost", "no longer held up to " + id_in_words(s.id));
    if (s.op == trace_op::end) add(in, mark_kind::note, lane, "DELETE", "the session has ended");
  }

  std::size_t place_of(std::size_t step) const { return step == nowhere ? 0 : places_[step]; }

  void add_resume(lanes_of& in, const trace_step& s, const resume_note& note) {
    const std::size_t lane = note.stream == nowhere ? 0 : note.stream;
    const std::string as = s.as.empty() ? "" : s.as + ": ";
    mark& made = add(in, mark_kind::resume, lane, fmt::format("{}", s.status), as + exchange_of(s, note));
    made.first = place_of(note.first);
    made.newest = place_of(note.newest);
    made.cursor = place_of(note.cursor);
    made.verdict = verdicts_[note.step];
    for (std::size_t i = 0; i != note.frames.size(); ++i) add_frame(in, lane, s.frames[i], note.frames[i]);
  }

  void add_frame(lanes_of& in, std::size_t lane, const trace_frame& frame, const frame_note& note) {
    if (note.kind == frame_kind::nothing) return;
    const bool is_event = note.kind == frame_kind::event;
    const std::string label = is_event || note.kind == frame_kind::marker ? frame.id.value_or("-") : frame.event;
    const char* what = is_event                          ? "event "
                       : note.kind == frame_kind::marker ? "marker "
                       : note.kind == frame_kind::error  ? "error "
                                                         : "signal ";
    mark& made = add(in, mark_kind::delivery, lane, label, "came: " + (what + id_in_words(frame.id)));
    if (note.wrong) made.verdict = verdict_of(*note.wrong);
  }

  const trace& trace_;
  std::vector<std::size_t> places_;    // by step: where its mark stands in its timeline
  std::vector<std::string> verdicts_;  // by step
  std::map<std::string_view, lanes_of> sessions_;
  std::vector<timeline> timelines_;
};

}  // namespace

report report_of(const trace& recorded, const std::vector<finding>& findings) {
  const examination examined = examine(recorded);
  report made;
  made.title = fmt::format("judge {} ({})", recorded.name, recorded.server);
  made.entries = entry_writer(recorded, findings, examined).write();
  made.timelines = timeline_writer(recorded, findings, examined).timelines();
  return made;
}

}  // namespace oracle
