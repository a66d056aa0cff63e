// SPDX-License-Identifier: MIT
// Promise: judge finds nothing in what the library does, each kind of fault where it was planted, and nothing else.
#include "judge.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "oracle_traced_table.hpp"

#if !defined(_WIN32)
#include <sys/wait.h>
#include <unistd.h>
#endif

namespace {

using oracle::trace;
using oracle::trace_frame;
using oracle::trace_op;
using oracle::trace_step;
using oracle::violation;

// "leak@7 refused@9": kinds and lines.
std::string in_short(const trace& recorded, const std::vector<oracle::finding>& findings) {
  std::string text;
  for (const oracle::finding& each : findings) {
    text += (text.empty() ? "" : " ") + std::string(to_string(each.kind)) + "@" +
            std::to_string(recorded.steps[each.step].line);
  }
  return text;
}

std::string judged(const trace& recorded) { return in_short(recorded, judge(recorded)); }

trace read(const std::string& text) {
  std::istringstream in(text);
  return oracle::read_trace(in, "T");
}

// ---- What the library does ------------------------------------------------------------------------------------------

TEST_CASE("no random history of the library holds a finding", "[oracle_judge]") {
  std::map<mcp_resume::reason, std::size_t> reasons;
  for (std::uint64_t seed = 1; seed <= property::cases_or(400); ++seed) {
    const trace made = traced::history(property::replayed_seed().value_or(seed), 120, &reasons);
    INFO("MCP_RESUME_SEED=" << seed);
    REQUIRE(judged(made).empty());
  }
  using mcp_resume::reason;
  for (const reason each :
       {reason::session_gone, reason::occupied, reason::fresh, reason::malformed_cursor, reason::foreign_cursor,
        reason::stale_incarnation, reason::stale_request, reason::never_issued, reason::forgotten, reason::evicted,
        reason::complete, reason::up_to_date, reason::replay}) {
    INFO(to_string(each));
    CHECK((property::replayed_seed() || reasons[each] > property::cases_or(400) / 8));
  }
}

// ---- Planted faults -------------------------------------------------------------------------------------------------

// What the test knows of a resume, from the trace alone and without the judge. The library's ids are all different.
struct resume_facts {
  const trace_step* cursor = nullptr;   // that issued it, in this session
  const trace_step* foreign = nullptr;  // that issued it, in another session
  bool has_ended = false;               // the session
  std::vector<const trace_step*> owed;
  bool is_lost = false;  // the first of the owed
  std::vector<const trace_step*> other_stream, other_session;
};

resume_facts facts_of(const trace& t, std::size_t at) {
  const trace_step& resume = t.steps[at];
  resume_facts f;
  std::set<std::string> lost;
  for (std::size_t i = 0; i != at; ++i) {
    const trace_step& s = t.steps[i];
    if (s.op == trace_op::end && s.session == resume.session) f.has_ended = true;
    if (s.op == trace_op::event && s.frame.id == resume.last_event_id) {
      (s.session == resume.session ? f.cursor : f.foreign) = &s;
    }
  }
  bool is_behind = false;
  for (std::size_t i = 0; i != at; ++i) {
    const trace_step& s = t.steps[i];
    const bool is_event = s.op == trace_op::event && !s.frame.data->empty();
    const bool is_own = f.cursor != nullptr && s.session == resume.session && s.stream == f.cursor->stream;
    if (is_event && s.session != resume.session) f.other_session.push_back(&s);
    if (is_event && s.session == resume.session && !is_own) f.other_stream.push_back(&s);
    if (is_event && is_own && is_behind) f.owed.push_back(&s);
    is_behind = is_behind || &s == f.cursor;
    if (s.op != trace_op::lost || !is_own || f.owed.empty()) continue;
    for (const trace_step* each : f.owed) f.is_lost = f.is_lost || each->frame.id == s.id;
  }
  return f;
}

// Changes one resume, or returns no kind if it does not fit.
using planter = std::function<std::optional<violation>(trace_step&, const resume_facts&)>;

bool has_signal(const trace_step& s) {
  for (const trace_frame& each : s.frames) {
    if (each.event == "gap" || each.event == "reset") return true;
  }
  return false;
}
// All that is owed came, in answer to a cursor that is known.
bool is_whole(const trace_step& s, const resume_facts& f) {
  if (s.status != 200 || f.cursor == nullptr || f.has_ended || has_signal(s) || f.is_lost) return false;
  return s.frames.size() == f.owed.size() + 1;  // and a marker
}
void answer(trace_step& s, int status, std::vector<trace_frame> frames = {}) {
  s.status = status;
  s.frames = std::move(frames);
  s.has_ended = status != 200;
  s.waited_ms = status == 200 ? 1000 : 0;
}
trace_frame event_of(const trace_step& issued) { return {issued.frame.id, issued.frame.data, ""}; }

// clang-format off
const std::vector<std::pair<const char*, planter>> planters = {
  {"two events swapped", [](trace_step& s, const resume_facts& f) -> std::optional<violation> {
    if (!is_whole(s, f) || f.owed.size() < 2) return std::nullopt;
    std::swap(s.frames[1], s.frames.back());
    return violation::disorder;
  }},
  {"an event left out", [](trace_step& s, const resume_facts& f) -> std::optional<violation> {
    if (!is_whole(s, f) || f.owed.size() < 2) return std::nullopt;
    s.frames.erase(s.frames.begin() + 1);
    s.has_ended = false;
    s.waited_ms = 0;
    return violation::silent_loss;
  }},
  {"the last event left out", [](trace_step& s, const resume_facts& f) -> std::optional<violation> {
    if (!is_whole(s, f) || f.owed.empty() || (!s.has_ended && s.waited_ms < 1000)) return std::nullopt;
    s.frames.pop_back();
    return violation::silent_loss;
  }},
  {"an event twice", [](trace_step& s, const resume_facts& f) -> std::optional<violation> {
    if (!is_whole(s, f) || f.owed.empty()) return std::nullopt;
    s.frames.insert(s.frames.begin() + 1, s.frames[1]);
    return violation::duplicate;
  }},
  {"the first event again at the end", [](trace_step& s, const resume_facts& f) -> std::optional<violation> {
    if (!is_whole(s, f) || f.owed.empty()) return std::nullopt;
    s.frames.push_back(s.frames[1]);
    return violation::duplicate;
  }},
  {"the cursor's own event", [](trace_step& s, const resume_facts& f) -> std::optional<violation> {
    if (!is_whole(s, f) || f.cursor->frame.data->empty()) return std::nullopt;
    s.frames.insert(s.frames.begin() + 1, event_of(*f.cursor));
    return violation::duplicate;
  }},
  {"another session's event", [](trace_step& s, const resume_facts& f) -> std::optional<violation> {
    if (!is_whole(s, f) || f.other_session.empty()) return std::nullopt;
    s.frames.push_back(event_of(*f.other_session.back()));
    return violation::leak;
  }},
  {"another stream's event", [](trace_step& s, const resume_facts& f) -> std::optional<violation> {
    if (!is_whole(s, f) || f.other_stream.empty()) return std::nullopt;
    s.frames.push_back(event_of(*f.other_stream.back()));
    return violation::cross_stream;
  }},
  {"refused", [](trace_step& s, const resume_facts& f) -> std::optional<violation> {
    if (!is_whole(s, f) || f.owed.empty()) return std::nullopt;
    answer(s, 409);
    return violation::refused;
  }},
  {"broken", [](trace_step& s, const resume_facts& f) -> std::optional<violation> {
    if (!is_whole(s, f) || f.owed.empty()) return std::nullopt;
    answer(s, 500);
    return violation::refused;
  }},
  {"a gap although nothing is lost", [](trace_step& s, const resume_facts& f) -> std::optional<violation> {
    if (!is_whole(s, f) || f.owed.empty()) return std::nullopt;
    answer(s, 200, {{s.last_event_id, "{}", "gap"}, {f.owed.back()->frame.id, "", ""}});
    return violation::refused;
  }},
  {"404 for what is held", [](trace_step& s, const resume_facts& f) -> std::optional<violation> {
    if (!is_whole(s, f)) return std::nullopt;
    answer(s, 404);
    return violation::misleading_404;
  }},
  {"404 for what is gone", [](trace_step& s, const resume_facts& f) -> std::optional<violation> {
    if (s.status != 410 || f.has_ended) return std::nullopt;
    answer(s, 404);
    return violation::misleading_404;
  }},
  {"204 although something is owed", [](trace_step& s, const resume_facts& f) -> std::optional<violation> {
    if (!is_whole(s, f) || f.owed.empty()) return std::nullopt;
    answer(s, 204);
    return violation::silent_loss;
  }},
  {"an empty answer although something is owed", [](trace_step& s, const resume_facts& f) -> std::optional<violation> {
    if (!is_whole(s, f) || f.owed.empty()) return std::nullopt;
    answer(s, 200);
    return violation::silent_loss;
  }},
  {"no signal", [](trace_step& s, const resume_facts& f) -> std::optional<violation> {
    const bool is_gap = s.frames.size() > 2 && s.frames[0].event == "gap" && s.frames[0].id == s.last_event_id;
    const bool has_marker = is_gap && s.frames.back().id && s.frames.back().id != s.frames[0].id;
    if (!has_marker || f.cursor == nullptr || f.owed.empty()) return std::nullopt;
    for (const trace_step* each : f.owed) {
      if (each->frame.id != s.frames.back().id) continue;
      s.frames.erase(s.frames.begin(), s.frames.end() - 1);
      return violation::silent_loss;
    }
    return std::nullopt;
  }},
  {"a fresh stream for a known cursor", [](trace_step& s, const resume_facts& f) -> std::optional<violation> {
    if (!is_whole(s, f) || f.owed.empty()) return std::nullopt;
    answer(s, 200, {{"fresh-0", "", ""}, {"fresh-1", "hello", ""}});
    return violation::silent_fresh;
  }},
  {"a fresh stream for an unknown cursor", [](trace_step& s, const resume_facts& f) -> std::optional<violation> {
    if (s.status != 409 || !s.last_event_id || f.cursor != nullptr || f.has_ended) return std::nullopt;
    answer(s, 200, {{"fresh-0", "", ""}});
    return violation::silent_fresh;
  }},
  {"own events for an unknown cursor", [](trace_step& s, const resume_facts& f) -> std::optional<violation> {
    const bool is_unknown = s.status == 409 && s.last_event_id && f.cursor == nullptr;
    if (!is_unknown || f.has_ended || f.other_stream.empty()) return std::nullopt;
    answer(s, 200, {event_of(*f.other_stream.back())});
    return violation::silent_fresh;
  }},
  {"the other session's event for its cursor", [](trace_step& s, const resume_facts& f) -> std::optional<violation> {
    if (f.foreign == nullptr || f.has_ended || f.foreign->frame.data->empty()) return std::nullopt;
    answer(s, 200, {event_of(*f.foreign)});
    return violation::leak;
  }},
  {"an event after the end", [](trace_step& s, const resume_facts& f) -> std::optional<violation> {
    if (!f.has_ended || f.other_stream.empty()) return std::nullopt;
    answer(s, 200, {event_of(*f.other_stream.back())});
    return violation::leak;
  }},
  {"nothing and no end for an unknown cursor", [](trace_step& s, const resume_facts& f) -> std::optional<violation> {
    if (s.status != 409 || !s.last_event_id || f.cursor != nullptr || f.has_ended) return std::nullopt;
    answer(s, 200);
    return violation::endless_empty;
  }},
  {"nothing and no end behind the answer", [](trace_step& s, const resume_facts& f) -> std::optional<violation> {
    if (s.status != 204 || f.cursor == nullptr) return std::nullopt;
    answer(s, 200);
    return violation::endless_empty;
  }},
  {"nothing and no end after the end", [](trace_step& s, const resume_facts& f) -> std::optional<violation> {
    if (!f.has_ended) return std::nullopt;
    answer(s, 200);
    return violation::endless_empty;
  }},
};
// clang-format on

// Plants, of the faults that fit, the one that was planted least often.
std::pair<std::size_t, std::optional<violation>> plant_rarest(trace_step& step, const resume_facts& facts,
                                                              const std::vector<std::size_t>& counts) {
  std::pair<std::size_t, std::optional<violation>> best;
  trace_step changed;
  for (std::size_t i = 0; i != planters.size(); ++i) {
    if (best.second && counts[i] >= counts[best.first]) continue;
    trace_step tried = step;
    const std::optional<violation> kind = planters[i].second(tried, facts);
    if (!kind) continue;
    best = {i, kind};
    changed = tried;
  }
  if (best.second) step = changed;
  return best;
}

TEST_CASE("each fault planted into a history is found at its step and no other", "[oracle_judge]") {
  std::vector<std::size_t> counts(planters.size(), 0);
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const trace clean = traced::history(1000 + seed, 100);
    for (std::size_t at = 0; at != clean.steps.size(); ++at) {
      if (clean.steps[at].op != trace_op::resume) continue;
      trace wrong = clean;
      const auto [which, kind] = plant_rarest(wrong.steps[at], facts_of(clean, at), counts);
      if (!kind) continue;
      INFO(planters[which].first << ", seed " << seed);
      REQUIRE(judged(wrong) == std::string(to_string(*kind)) + "@" + std::to_string(wrong.steps[at].line));
      ++counts[which];
    }
  }
  for (std::size_t i = 0; i != planters.size(); ++i) {
    INFO(planters[i].first);
    CHECK(counts[i] >= 10);
  }
}

TEST_CASE("an id planted a second time is found at its event", "[oracle_judge]") {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    trace made = traced::history(2000 + seed, 60);
    property::random random(seed);
    std::vector<trace_step> events;
    for (const trace_step& each : made.steps) {
      if (each.op == trace_op::event) events.push_back(each);
    }
    trace_step again = events[random.below(static_cast<std::uint32_t>(events.size()))];
    const bool is_other = random.below(2) == 0;
    if (is_other) again.session = again.session == "session 0" ? "session 1" : "session 0";
    again.stream = "";
    again.frame.data = "something else";
    again.line = made.steps.size() + 2;
    made.steps.push_back(again);
    CHECK(judged(made) == (is_other ? "unscoped_id@" : "repeated_id@") + std::to_string(again.line));
  }
}

// ---- Each rule at its edge ------------------------------------------------------------------------------------------

// Two sessions; A has a call `s` with the marker m, the events 1 to 3, and a standalone event g. Lines 2 to 10.
const char* const prelude = R"({"trace":1,"server":"S"}
{"op":"session","session":"A"}
{"op":"session","session":"B"}
{"op":"stream","session":"A","stream":"s"}
{"op":"event","session":"A","stream":"s","frame":{"id":"m","data":""}}
{"op":"event","session":"A","stream":"s","frame":{"id":"1","data":"one"}}
{"op":"event","session":"A","stream":"s","frame":{"id":"2","data":"two"}}
{"op":"event","session":"A","stream":"s","frame":{"id":"3","data":"three"}}
{"op":"event","session":"A","stream":"","frame":{"id":"g","data":"gee"}}
{"op":"event","session":"B","stream":"","frame":{"id":"b","data":"bee"}}
)";

// A resume of session A: cursor, status and frames in short, and further members. A frame is its id, its data being
// what the prelude says: "1"; `-` before it makes it a marker, `~` an event without an id, `!` a signal of that id.
std::string resume(const std::string& cursor, int status, const std::string& frames, const std::string& more) {
  const std::map<std::string, std::string> data = {
      {"1", "one"}, {"2", "two"}, {"3", "three"}, {"g", "gee"}, {"b", "bee"}};
  std::string list;
  std::istringstream words(frames);
  for (std::string word; words >> word;) {
    const char sign = word[0];
    const bool is_plain = sign != '-' && sign != '~' && sign != '!';
    const std::string id = is_plain ? word : word.substr(1);
    const auto known = data.find(id);
    const std::string text = sign == '-' ? "" : known == data.end() ? "text of " + id : known->second;
    std::string frame = sign == '~' ? "" : "\"id\":\"" + id + "\",";
    if (sign == '!') frame += "\"event\":\"gap\",";
    list += (list.empty() ? "{" : ",{") + frame + "\"data\":\"" + text + "\"}";
  }
  return R"({"op":"resume","session":"A")" + (cursor.empty() ? "" : ",\"last_event_id\":\"" + cursor + "\"") +
         ",\"status\":" + std::to_string(status) + ",\"frames\":[" + list + "]" + (more.empty() ? "" : "," + more) +
         "}\n";
}
const std::string waits = R"("waited_ms":1000)", ends = R"("has_ended":true)";
const std::string answered =
    R"({"op":"event","session":"A","stream":"s","frame":{"id":"r","data":"result"},"is_answer":true})"
    "\n";
std::string lost(const std::string& id) { return R"({"op":"lost","session":"A","stream":"s","id":")" + id + "\"}\n"; }

struct rule_case {
  std::string lines;     // behind the prelude
  std::string findings;  // of the last line, in short, without it
};

void check_cases(const std::vector<rule_case>& cases) {
  for (const rule_case& each : cases) {
    const trace made = read(prelude + each.lines);
    std::string found;
    for (const oracle::finding& f : judge(made)) {
      const bool is_last = f.step + 1 == made.steps.size();
      found += (found.empty() ? "" : " ") + std::string(to_string(f.kind)) + (is_last ? "" : "@earlier");
    }
    INFO(each.lines);
    CHECK(found == each.findings);
  }
}

TEST_CASE("an owed event that did not come is a loss only once it cannot come any more", "[oracle_judge]") {
  check_cases({
      {resume("1", 200, "2 3", waits), ""},
      {resume("1", 200, "2", R"("waited_ms":999)"), ""},
      {resume("1", 200, "2", waits), "silent_loss"},
      {resume("1", 200, "2", ends), "silent_loss"},
      {resume("1", 200, "3", ""), "silent_loss"},
      {resume("1", 200, "-3", ""), "silent_loss"},  // a marker that jumps over it
      {resume("1", 200, "-3 2 3", ""), ""},         // but it came
      {resume("1", 200, "", R"("waited_ms":999)"), ""},
      {resume("3", 200, "", waits), ""},
      {resume("m", 200, "1 2 3", ends), ""},
      {resume("m", 200, "2 3", ends), "silent_loss"},
      {resume("1", 0, "", waits), ""},
      {resume("1", 302, "", ends), ""},
      {resume("1", 204, "", ends), "silent_loss"},
      {resume("1", 200, "2 b", waits), "leak silent_loss"},
  });
}

TEST_CASE("only a loss that the server knows and the answer tells excuses what is missing", "[oracle_judge]") {
  const std::string error =
      R"("frames":[{"data":"{\"id\":1,\"error\":{\"code\":-1,\"message\":\"gone\"}}"}],"has_ended":true)";
  const std::string failed = R"({"op":"resume","session":"A","last_event_id":"1","status":200,)" + error + "}\n";
  check_cases({
      {lost("2") + resume("1", 200, "3", waits), "silent_loss"},
      {lost("2") + resume("1", 200, "!1 3", waits), ""},
      {lost("2") + resume("1", 200, "!1 -3", waits), ""},             // the live edge: more is skipped than is lost
      {lost("2") + resume("1", 200, "!1 -2", waits), "silent_loss"},  // 3 was not announced as missing
      {lost("2") + resume("1", 200, "!1", waits), ""},
      {lost("1") + resume("1", 200, "!1 3", waits), "refused"},
      {resume("1", 200, "!1 3", waits), "refused"},
      {resume("1", 200, "!1 2 3", waits), ""},  // needless, but nothing is missing
      {resume("1", 200, "!1", ""), ""},         // what was announced may come yet
      {resume("1", 200, "!1", ends), "refused"},
      {lost("2") + failed, ""},
      {lost("1") + failed, "refused"},
      {lost("2") + R"({"op":"resume","session":"A","last_event_id":"1","status":200,"has_ended":true,)"
                   R"("frames":[{"data":"{\"id\":1,\"result\":{\"error\":1}}"}]})"
                   "\n",
       "silent_fresh"},  // no error of the call
      {resume("3", 200, "!3", waits), ""},
      {lost("2") + resume("1", 200, "2 !2 -3", waits), "refused"},  // 3 is held
      {lost("3") + resume("1", 200, "2 !2 -3", waits), ""},
      {lost("1") + resume("m", 200, "!m 2 -3", waits), "silent_loss"},  // behind 2 nothing was announced
      {lost("2") + resume("m", 200, "!m -2 !2 -3", waits), "refused"},  // the second time nothing was lost
  });
}

TEST_CASE("a known cursor may be refused only if what it is owed is gone", "[oracle_judge]") {
  std::vector<rule_case> cases;
  for (const int status : {400, 401, 409, 410, 429, 500, 503}) {
    cases.push_back({resume("1", status, "", ends), "refused"});
    cases.push_back({lost("1") + resume("1", status, "", ends), "refused"});  // its own event is gone, the next is not
    cases.push_back({lost("2") + resume("1", status, "", ends), ""});
    cases.push_back({resume("3", status, "", ends), "refused"});
    cases.push_back({lost("2") + resume("3", status, "", ends), "refused"});
    cases.push_back({lost("3") + resume("3", status, "", ends), ""});  // no trace tells whether its stream lives
    cases.push_back({answered + resume("r", status, "", ends), ""});
    cases.push_back({answered + resume("3", status, "", ends), "refused"});
    cases.push_back({resume("never", status, "", ends), ""});
    cases.push_back({resume("b", status, "", ends), ""});
    cases.push_back({resume("", status, "", ends), ""});
    cases.push_back({resume("g", status, "", ends), "refused"});
  }
  check_cases(cases);
  check_cases({
      {resume("m", 409, "", ends), "refused"},
      {answered + resume("r", 204, "", ends), ""},
      {answered + resume("r", 200, "", ends), ""},
      {resume("3", 204, "", ends), "refused"},
      {resume("never", 204, "", ends), ""},
      {resume("1", 404, "", ends), "misleading_404"},
      {answered + resume("r", 404, "", ends), "misleading_404"},
      {lost("3") + resume("1", 404, "", ends), "misleading_404"},
      {resume("never", 404, "", ends), "misleading_404"},
      {resume("b", 404, "", ends), "misleading_404"},
      {resume("", 404, "", ends), ""},
  });
  check_cases({
      {lost("3") + lost("1") + resume("1", 410, "", ends), ""},  // what is lost stays lost
      {R"({"op":"event","session":"A","stream":"s","frame":{"id":"z","data":""},"is_answer":true})"
       "\n" +
           resume("3", 409, "", ends),
       "refused"},  // a marker is no answer
  });
  // A stream whose marker alone was sent.
  const std::string opened = R"({"op":"stream","session":"A","stream":"t"})"
                             "\n"
                             R"({"op":"event","session":"A","stream":"t","frame":{"id":"n","data":""}})"
                             "\n";
  check_cases({{opened + resume("n", 409, "", ends), "refused"},
               {opened +
                    R"({"op":"lost","session":"A","stream":"t","id":"n"})"
                    "\n" +
                    resume("n", 410, "", ends),
                ""}});
}

TEST_CASE("an answer is compared with the stream of its cursor and nothing else", "[oracle_judge]") {
  check_cases({
      {resume("1", 200, "2 3 g", waits), "cross_stream"},
      {resume("1", 200, "2 3 b", waits), "leak"},
      {resume("b", 200, "b", waits), "leak"},
      {resume("", 200, "g", waits), ""},
      {resume("", 200, "", waits), ""},
      {resume("", 200, "1", waits), "cross_stream"},
      {resume("", 200, "b", waits), "leak"},
      {resume("", 200, "g g", waits), "duplicate"},
      {resume("", 200, "1", ends + R"(,"last_event_id":"")"), "cross_stream"},  // an empty cursor is none
      {resume("", 404, "", ends + R"(,"last_event_id":"")"), ""},
      {R"({"op":"resume","session":"A","last_event_id":"g","status":200,"frames":[{"id":"b","data":"changed"}]})"
       "\n",
       "leak"},
      {R"({"op":"resume","session":"A","last_event_id":"3","status":200,"frames":[{"id":"m","data":"{}"}]})"
       "\n",
       ""},  // a marker that was issued without data
      {R"({"op":"resume","session":"A","last_event_id":"g","status":200,)"
       R"("frames":[{"id":"g","event":"resume","data":"{}"}]})"
       "\n",
       ""},  // a marker for older clients
      {resume("g", 200, "1 2 3", waits), "cross_stream"},
      {resume("1", 200, "1 2 3", waits), "duplicate"},
      {resume("2", 200, "1 3", waits), "duplicate"},
      {resume("1", 200, "2 2 3", waits), "duplicate"},
      {resume("1", 200, "2 3 2", waits), "duplicate"},
      {resume("1", 200, "3 2", waits), "disorder"},
      {resume("m", 200, "1 3 2", waits), "disorder"},
      {resume("1", 200, "-1 2 -2 3 -3", waits), ""},  // markers are no events
      {resume("1", 200, "2 3 ~word -m", waits), ""},
      {resume("1", 200, "2 3 unknown", waits), ""},  // of a live event that was not recorded
  });
}

TEST_CASE("a fresh stream is silent only where the cursor was not served", "[oracle_judge]") {
  check_cases({
      {resume("1", 200, "-new", waits), "silent_fresh"},
      {resume("1", 200, "-new", ""), ""},
      {resume("1", 200, "-new word", ""), "silent_fresh"},
      {resume("1", 200, "~word", ""), "silent_fresh"},
      {resume("1", 200, "-g", waits), "silent_fresh"},  // the marker of another stream
      {resume("1", 200, "-new 2 3", waits), ""},
      {resume("1", 200, "-new 2", waits), "silent_loss"},
      {resume("1", 200, "-new -3", waits), "silent_loss"},
      {resume("3", 200, "-new word", waits), ""},
      {resume("never", 200, "-new", ""), "silent_fresh"},
      {resume("never", 200, "1", ""), "silent_fresh"},
      {resume("never", 200, "~word", ""), "silent_fresh"},
      {resume("b", 200, "g", ""), "silent_fresh"},
      {resume("never", 200, "!never -new word", waits), ""},
      {resume("never", 200, "", waits), "endless_empty"},
      {resume("never", 200, "-never", waits), "endless_empty"},
      {resume("never", 200, "", R"("waited_ms":999)"), ""},
      {resume("never", 200, "", ends), ""},
      {resume("never", 200, "", ends + "," + waits), ""},
      {resume("never", 200, "!never", waits), ""},
      {resume("b", 200, "", waits), "endless_empty"},
      {answered + resume("r", 200, "", waits), "endless_empty"},
      {answered + resume("r", 200, "-r -new", waits), "endless_empty"},
      {answered + resume("3", 200, "r", waits), ""},
      {resume("3", 200, "-3", waits), ""},
  });
}

TEST_CASE("nothing may come for a session that has ended", "[oracle_judge]") {
  const std::string end = R"({"op":"end","session":"A"})"
                          "\n";
  check_cases({
      {end + resume("1", 404, "", ends), ""},
      {end + resume("1", 400, "", ends), ""},
      {end + resume("1", 200, "2 3", waits), "leak"},
      {end + resume("1", 200, "unknown", waits), "leak"},
      {end + resume("", 200, "g", waits), "leak"},
      {end + resume("1", 200, "-1", ends), ""},
      {end + resume("1", 200, "", waits), "endless_empty"},
      {R"({"op":"end","session":"B"})"
       "\n" +
           resume("b", 200, "b", waits),
       "leak"},
  });
}

TEST_CASE("an id that only an answer named is a place of its stream", "[oracle_judge]") {
  const std::string later = R"({"op":"event","session":"A","stream":"s","frame":{"id":"4","data":"four"}})"
                            "\n";
  check_cases({
      {resume("1", 200, "-p 2 3", waits) + resume("p", 200, "2 3", waits), ""},
      {resume("1", 200, "-p 2 3", waits) + resume("p", 200, "3", waits), "silent_loss"},
      {resume("1", 200, "-p 2 3", waits) + resume("p", 200, "1 2 3", waits), "duplicate"},
      {resume("1", 200, "-p 1 2 3", waits) + resume("p", 200, "2 3", waits), "duplicate@earlier"},
      {resume("1", 200, "2 3 -p", waits) + resume("p", 200, "3", waits), "duplicate"},
      {resume("3", 200, "-p", waits) + later + resume("p", 200, "4", waits), ""},
      {resume("3", 200, "-p", waits) + later + resume("p", 200, "", waits), "silent_loss"},
      {resume("3", 200, "-p", waits) + later + resume("p", 409, "", waits), "refused"},
      {resume("m", 200, "-p", "") + resume("p", 200, "3", waits), ""},  // 1 and 2 may lie before it
      {resume("m", 200, "-p", "") + resume("p", 200, "1 2 3", waits), ""},
      {resume("m", 200, "-p", "") + lost("1") + later + resume("p", 200, "!p -4", waits), ""},  // 1 may be owed
      {resume("m", 200, "-p", "") + later + resume("p", 200, "!p -4", waits), "refused"},
      {resume("", 200, "-p", waits) + resume("p", 200, "", waits), ""},
      {answered + resume("m", 200, "-p", "") + resume("p", 200, "", waits),
       ""},  // the answer may lie before it or behind
      {answered + resume("m", 200, "-p", "") + resume("p", 409, "", ends), ""},
      {resume("never", 400, "", waits) + resume("never", 400, "", waits), ""},
      {resume("never", 200, "-never", "") + resume("never", 200, "-never", waits), "endless_empty"},
      {resume("b", 200, "-b", "") + resume("b", 200, "", waits), "endless_empty"},  // it is B's all the same
      {resume("1", 200, "-b 2 3", "") + resume("b", 200, "", waits), "endless_empty"},
  });
}

// ---- Ids that several issued ----------------------------------------------------------------------------------------

TEST_CASE("ids that are used twice are reported once for each session and do not confuse the rest", "[oracle_judge]") {
  std::string text = "{\"trace\":1,\"server\":\"S\"}\n";
  for (const char* session : {"A", "B", "C"}) {
    text += R"({"op":"session","session":")" + std::string(session) + "\"}\n";
    text += R"({"op":"event","session":")" + std::string(session) +
            R"(","stream":"","frame":{"id":"0","data":"of each"}})"
            "\n";
    for (const char* id : {"1", "2", "3"}) {
      text += R"({"op":"event","session":")" + std::string(session) + R"(","stream":"","frame":{"id":")" + id +
              R"(","data":")" + session + id + "\"}}\n";
    }
    text += R"({"op":"resume","session":")" + std::string(session) +
            R"(","status":200,"frames":[{"id":"0","data":"of each"}]})"
            "\n" +
            R"({"op":"resume","session":")" + session +
            R"(","last_event_id":"1","status":200,"frames":[{"id":"2","data":")" + session +
            R"(2"},{"id":"3","data":")" + session + "3\"}],\"waited_ms\":1000}\n";
  }
  CHECK(judged(read(text)) == "unscoped_id@10 unscoped_id@17");
  const std::vector<oracle::finding> found = judge(read(text));
  CHECK(found[0].saw == R"(id "0" was issued before in session "A", at line 3; and 3 more ids of this session)");
  // The data tell whose event it is.
  const std::string leaking = R"({"op":"resume","session":"A","last_event_id":"2","status":200,"frames":[{"id":"3",)"
                              R"("data":"B3"}],"waited_ms":1000})"
                              "\n";
  CHECK(judged(read(text + leaking)) == "unscoped_id@10 unscoped_id@17 leak@23 silent_loss@23");
}

TEST_CASE("a marker repeats its place and an event may not", "[oracle_judge]") {
  const auto issue = [](const std::string& stream, const std::string& id, const std::string& data) {
    return R"({"op":"event","session":"A","stream":")" + stream + R"(","frame":{"id":")" + id + R"(","data":")" + data +
           "\"}}\n";
  };
  check_cases({
      {issue("s", "3", ""), ""},
      {issue("s", "1", ""), ""},
      {issue("s", "m", "text"), "repeated_id"},
      {issue("s", "3", "text"), "repeated_id"},
      {issue("", "3", ""), "repeated_id"},
      {issue("", "b", "text"), "unscoped_id"},
      {issue("", "b", ""), "unscoped_id"},
      {issue("s", "1", "") + resume("1", 200, "2 3", waits), ""},
      {R"({"op":"event","session":"A","stream":"s","frame":{"id":"3","event":"gap","data":"{}"}})"
       "\n",
       ""},
      {R"({"op":"event","session":"A","stream":"s","frame":{"id":"z","event":"reset","data":"{}"}})"
       "\n" +
           resume("z", 200, "", waits),
       "endless_empty"},                                          // a signal is no place
      {resume("3", 200, "4", "") + issue("s", "4", "four"), ""},  // recorded a little late
  });
}

TEST_CASE("a cursor that several streams issued is that of the stream that broke", "[oracle_judge]") {
  const std::string other = R"({"op":"stream","session":"A","stream":"t"})"
                            "\n"
                            R"({"op":"event","session":"A","stream":"t","frame":{"id":"1","data":"uno"}})"
                            "\n"
                            R"({"op":"event","session":"A","stream":"t","frame":{"id":"2","data":"due"}})"
                            "\n";
  const std::string dropped = R"({"op":"drop","session":"A","stream":"s","id":"1"})"
                              "\n";
  const std::string due =
      R"({"op":"resume","session":"A","last_event_id":"1","status":200,"frames":[{"id":"2","data":"due"}],)"
      R"("waited_ms":1000})"
      "\n";
  check_cases({
      {other + due, "repeated_id@earlier"},
      {other + dropped + resume("1", 200, "2 3", waits), "repeated_id@earlier"},
      {other + dropped + due, "repeated_id@earlier cross_stream silent_loss"},
  });
}

// ---- Files and the program ------------------------------------------------------------------------------------------

TEST_CASE("each trace file holds just the fault of its name", "[oracle_judge]") {
  std::vector<std::string> names{"clean"};
  for (int kind = 0; kind <= static_cast<int>(violation::endless_empty); ++kind) {
    names.emplace_back(to_string(static_cast<violation>(kind)));
  }
  for (const std::string& name : names) {
    std::ifstream file(MCP_RESUME_SOURCE_DIR "/tests/cases/traces/" + name + ".jsonl", std::ios::binary);
    INFO(name);
    REQUIRE(file);
    const trace made = oracle::read_trace(file, name);
    const std::vector<oracle::finding> found = judge(made);
    REQUIRE(found.size() == (name == "clean" ? 0 : 1));
    if (!found.empty()) CHECK(to_string(found[0].kind) == name);
  }
}

TEST_CASE("the report has an entry for each resume and finding with its place", "[oracle_judge]") {
  const trace made = read(std::string(prelude) + resume("1", 200, "2 3", R"("waited_ms":1000,"as":"in window")") +
                          R"({"op":"drop","session":"A","stream":"s","id":"3"})"
                          "\n" +
                          R"({"op":"event","session":"A","stream":"","frame":{"id":"b","data":"x"}})"
                          "\n" +
                          lost("1") + resume("m", 200, "3 g", waits));
  const oracle::report shown = report_of(made, judge(made));
  REQUIRE(shown.entries.size() == 4);
  CHECK(shown.counts() == "1 ok, 3 findings, 0 skipped");
  CHECK(shown.entries[0].name == "resume 1 of session A (in window)");
  CHECK(shown.entries[0].verdict == "ok");
  CHECK(shown.entries[0].place == "T:11");
  CHECK(shown.entries[0].saw == R"(sent "1", got 200 with 2 frames, open for 1000 ms, 2 of 2 owed events)");
  CHECK(shown.entries[1].name == "event 6 of session A");
  CHECK(shown.entries[1].verdict == "UNSCOPED ID");
  CHECK(shown.entries[1].place == "T:13");
  CHECK(shown.entries[2].name == "resume 2 of session A");
  CHECK(shown.entries[2].verdict == "CROSS STREAM");
  CHECK(shown.entries[3].verdict == "SILENT LOSS");
  CHECK(shown.entries[3].advice == advice_for(violation::silent_loss));
  CHECK(shown.entries[3].saw.find(R"(event "1" (line 6) did not come, 2 of 3 owed are missing)") != std::string::npos);
}

TEST_CASE("a timeline shows streams as lanes and the window and cursor of each resume", "[oracle_judge]") {
  const trace made = read(std::string(prelude) +
                          R"({"op":"drop","session":"A","stream":"s","id":"1"})"
                          "\n" +
                          lost("1") + resume("1", 200, "-1 2 3 g", waits) +
                          R"({"op":"end","session":"A"})"
                          "\n" +
                          resume("1", 404, "", ends));
  const oracle::report shown = report_of(made, judge(made));
  REQUIRE(shown.timelines.size() == 2);
  CHECK(shown.timelines[0].title == "Session A of T");
  CHECK(shown.timelines[0].lanes == std::vector<std::string>{"standalone", "s"});
  std::string marks;
  for (const oracle::mark& each : shown.timelines[0].marks) {
    marks += std::to_string(each.step) + ":" + std::to_string(each.lane) + ":" + "edrxn"[static_cast<int>(each.kind)] +
             ":" + each.label + (each.verdict.empty() ? "" : ":" + each.verdict) + " ";
  }
  CHECK(marks ==
        "1:1:e:m 2:1:e:1 3:1:e:2 4:1:e:3 5:0:e:g 6:1:r: 7:1:n:lost 8:1:x:200:CROSS STREAM "
        "9:1:d:1 10:1:d:2 11:1:d:3 12:1:d:g:CROSS STREAM 13:0:n:DELETE 14:1:x:404 ");
  const oracle::mark& resumed = shown.timelines[0].marks[7];
  CHECK(resumed.cursor == 2);
  CHECK(resumed.first == 3);
  CHECK(resumed.newest == 4);
  CHECK(shown.timelines[0].marks.back().cursor == 2);
  CHECK(shown.timelines[0].marks.back().first == 0);  // with the session its window has gone
}

TEST_CASE("traces of many steps that are all alike are judged", "[oracle_judge]") {
  constexpr std::size_t n = 30000;
  trace made;
  trace_step step;
  step.session = "A";
  step.op = trace_op::event;
  for (std::size_t i = 0; i != n; ++i) {
    step.frame.id = i % 2 == 0 ? "same" : std::to_string(i);
    step.frame.data = std::to_string(i);
    made.steps.push_back(step);
  }
  step.op = trace_op::resume;
  step.status = 200;
  step.waited_ms = 1000;
  step.last_event_id = "1";
  step.frames = {{"same", "none of those", ""}};
  for (std::size_t i = 0; i != n; ++i) made.steps.push_back(step);
  step.frames.assign(n, {"same", "none of those", ""});
  step.frames.resize(2 * n, {"", "{}", "gap"});
  made.steps.push_back(step);
  std::size_t losses = 0;
  for (const oracle::finding& each : judge(made)) losses += each.kind == violation::silent_loss ? 1 : 0;
  CHECK(losses == n + 1);
  CHECK(report_of(made, {}).entries.size() == n + 1);
}

#if defined(ORACLE_PROGRAM) && !defined(_WIN32)  // needs popen and mkstemp

struct run_of_program {
  int status = -1;
  std::string out;
};

run_of_program run(const std::string& command) {
  run_of_program done;
  FILE* pipe = popen(("{ " + command + "\n} 2>&1").c_str(), "r");
  REQUIRE(pipe != nullptr);
  char buffer[4096];
  while (const std::size_t size = std::fread(buffer, 1, sizeof buffer, pipe)) done.out.append(buffer, size);
  const int status = pclose(pipe);
  done.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return done;
}
run_of_program run_judge(const std::string& arguments) { return run(ORACLE_PROGRAM " judge " + arguments); }

std::string file(const std::string& name) { return MCP_RESUME_SOURCE_DIR "/tests/cases/traces/" + name + ".jsonl"; }

TEST_CASE("the exit status of judge says whether it found something", "[oracle_judge]") {
  CHECK(run_judge(file("clean")).status == 0);
  CHECK(run_judge(file("leak")).status == 1);
  CHECK(run_judge(file("clean") + " " + file("leak")).status == 1);
  CHECK(run_judge("- < " + file("leak")).status == 1);
  CHECK(run_judge("--help").status == 0);
  CHECK(run_judge("").status == 2);
  CHECK(run_judge("/nowhere/at/all").status == 2);
  CHECK(run_judge("/").status == 2);
  CHECK(run_judge("- < /dev/null").status == 2);
  CHECK(run_judge("--format yaml " + file("clean")).status == 2);
  CHECK(run_judge("/nowhere").out == "mcp-resume-oracle: /nowhere: cannot be opened\n");
}

TEST_CASE("judge prints what it found in every format", "[oracle_judge]") {
  const std::pair<const char*, const char*> formats[] = {{"text", "0 ok, 1 finding, 0 skipped"},
                                                         {"tap", "not ok 1 - "},
                                                         {"junit", "<testsuite"},
                                                         {"json", "\"verdict\": \"LEAK\""},
                                                         {"html", "<html"}};
  for (const auto& [format, sign] : formats) {
    const run_of_program done = run_judge("--format " + std::string(format) + " - < " + file("leak"));
    INFO(done.out);
    CHECK(done.status == 1);
    CHECK(done.out.find(sign) != std::string::npos);
    CHECK(done.out.find("LEAK") != std::string::npos);
  }
  CHECK(run_judge(file("clean") + " " + file("leak")).out.find("judge 2 traces\n") == 0);
  CHECK(run_judge("- < " + file("clean")).out.find("14 ok, 0 findings, 0 skipped\n") != std::string::npos);
}

// ---- The recorders --------------------------------------------------------------------------------------------------

const std::string recorders = MCP_RESUME_SOURCE_DIR "/examples/oracle/recorders/";

TEST_CASE("the traces that the example recorders write show the leak of their server", "[oracle_judge]") {
  const std::pair<const char*, std::string> examples[] = {{"node", "node " + recorders + "example.mjs "},
                                                          {"python3", "python3 -B " + recorders + "example.py "}};
  for (const auto& [program, command] : examples) {
    if (run(std::string(program) + " --version").status != 0) continue;
    char name[] = "/tmp/oracle_judgeXXXXXX";
    const int made = mkstemp(name);
    REQUIRE(made >= 0);
    close(made);
    const run_of_program recorded = run(command + name);
    const run_of_program done = run_judge(name);
    std::remove(name);
    INFO(command << recorded.out << done.out);
    CHECK(recorded.status == 0);
    CHECK(done.status == 1);
    CHECK(done.out.find("LEAK  resume 3 of session A (another session's id)") != std::string::npos);
    CHECK(done.out.find("2 ok, 1 finding, 0 skipped") != std::string::npos);
  }
}

TEST_CASE("the recorders read frames as the HTML standard does", "[oracle_judge]") {
  const std::string sent =
      R"(': c\n\nid: 1\ndata: a\ndata:b\ndata\n\nid:2\r\nevent: gap\r\ndata:  x\u2028y\r\nretry: 5\r\n\r\n')"
      R"( + 'id\ndata:\n\nident: 3\n\ndata: cut off\n')";
  const std::string frames =
      R"([{"id":"1","data":"a\nb\n"},{"id":"2","event":"gap","data":" x\u2028y"},{"id":"","data":""}])";
  const std::string in_node = "import { listen } from '" + recorders + "record.mjs';\n" +
                              "const headers = { 'content-type': 'text/event-stream' };\n"
                              "const got = await listen(new Response(" +
                              sent + ", { headers }));\n" + "const wanted = JSON.stringify(" + frames +
                              ");\n"
                              "process.exit(JSON.stringify(got.frames) === wanted && got.has_ended ? 0 : 3);";
  const std::string in_python = "import io, sys\nsys.path.insert(0, '" + recorders + "')\nfrom record import listen\n" +
                                "answer = io.BytesIO((" + sent + ").encode())\nanswer.status = 200\n" +
                                "answer.headers = {'Content-Type': 'text/event-stream'}\ngot = listen(answer)\n" +
                                "sys.exit(0 if got['frames'] == " + frames + " and got['has_ended'] else 3)";
  const std::pair<const char*, std::string> programs[] = {{"node --input-type=module -", in_node},
                                                          {"python3 -B -", in_python}};
  for (const auto& [program, code] : programs) {
    if (run(std::string(program).substr(0, std::string(program).find(' ')) + " --version").status != 0) continue;
    const run_of_program done = run(std::string(program) + " <<'END'\n" + code + "\nEND\n");
    INFO(program << done.out);
    CHECK(done.status == 0);
  }
}

#endif

}  // namespace
