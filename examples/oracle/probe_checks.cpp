// SPDX-License-Identifier: MIT
// What a probe checks, one function for each kind of resume.
#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <thread>
#include <utility>

#include "prober.hpp"

namespace oracle {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t most_places = 12;  // of a stream, from which it is resumed
constexpr milliseconds tail_wait{3000};  // for an event of a call that has ended
constexpr milliseconds settle{300};      // for what a server sends on two connections
constexpr std::size_t most_calls = 1000;
constexpr const char* no_tool = "needs events: name a tool with --tool";
constexpr const char* no_ids = "the server gives no event ids";
constexpr const char* no_offer = "the server answers 405: it does not resume";

bool has_status(const http_answer& got) { return got.status != 0; }
bool has_id(const http_answer& got) {
  return std::any_of(got.frames.begin(), got.frames.end(),
                     [](const trace_frame& each) { return each.id && !each.id->empty(); });
}
bool has_signal(const http_answer& got) {
  return std::any_of(got.frames.begin(), got.frames.end(), [](const trace_frame& each) { return !each.event.empty(); });
}

// Some of them: the first, the last, and what lies evenly between.
std::vector<std::string> places(const std::vector<std::string>& all) {
  if (all.size() <= most_places) return all;
  std::vector<std::string> some;
  for (std::size_t i = 0; i < most_places; ++i) some.push_back(all[i * (all.size() - 1) / (most_places - 1)]);
  return some;
}

// The events of two connections in the order in which they were issued, so far as that can be told: what the second
// one has in addition stands behind its own predecessor.
std::vector<trace_frame> merged(std::vector<trace_frame> first, const std::vector<trace_frame>& second) {
  std::size_t at = 0;
  for (const trace_frame& each : second) {
    const auto found =
        std::find_if(first.begin(), first.end(), [&each](const trace_frame& other) { return other.id == each.id; });
    if (found != first.end()) {
      at = static_cast<std::size_t>(found - first.begin()) + 1;
    } else {
      first.insert(first.begin() + static_cast<std::ptrdiff_t>(at++), each);
    }
  }
  return first;
}

// The same with a number at its end that is a million larger: an event that the server has not issued.
std::string ahead_of(const std::string& id) {
  const std::size_t end = id.find_last_not_of("0123456789");
  const std::size_t begin = end == id.npos ? 0 : end + 1;
  const std::string number = id.substr(begin);
  if (number.empty() || number.size() > 15) return id + "-never-issued";
  return id.substr(0, begin) + std::to_string(std::stoll(number) + 1000000);
}

std::string upper(std::string text) {
  for (char& each : text) each = static_cast<char>(std::toupper(static_cast<unsigned char>(each)));
  return text;
}

void no_cursor(check& into) { into.skipped = "the call did not bring an id this time"; }

fault starves(const char* which) {
  return {verdict::silent_loss, fmt::format("the {} connection stays open and gets nothing", which),
          "Close the older connection when a newer one takes over, or refuse the newer one."};
}

}  // namespace

std::vector<std::string> prober::call_ids(const client_session& who) const {
  for (int number = 1; number <= last_call_; ++number) {
    auto ids = history_.ids(who.name, fmt::format("call {}", number));
    if (!ids.empty()) return ids;
  }
  return {};
}

std::string prober::any_id() const {
  const auto ids = call_ids(sessions_[0]), alone = history_.ids(sessions_[0].name, "");
  return !ids.empty() ? ids.front() : !alone.empty() ? alone.front() : "mcp-resume-oracle-never-issued-1";
}

// ---- What is offered ----

void prober::check_ids() {
  if (options_.tool.empty()) return skip("event ids", no_tool);
  check& into = begin("event ids");
  into.is_for_the_rest = true;
  const auto frames = history_.frames(sessions_[0].name, "call 1");
  const auto events = std::count_if(frames.begin(), frames.end(), is_event);
  const auto without =
      std::count_if(frames.begin(), frames.end(), [](const trace_frame& each) { return is_event(each) && !each.id; });
  into.attempts.push_back(
      {fmt::format("a call brought {} events with an id and {} without", events - without, without), {}, {}});
  if (!has_events_) {
    const char* why =
        frames.empty() ? "the call was answered as JSON, without a stream" : "the stream has no event ids";
    into.attempts.back().faults.push_back({verdict::no_resume, why, "Give every event of a stream an id."});
  } else if (without != 0) {
    into.attempts.back().faults.push_back({verdict::misleading,
                                           "a client cannot come back to the place after such an event",
                                           "Give every event of a stream an id."});
  }
}

void prober::check_offer() {
  check& into = begin("resumption is offered");
  const auto http = get({&sessions_[0], "", {any_id()}, ""});
  http->wait(http->begun() + head_wait, has_status);
  const int status = take(*http).status;
  const std::string shown = status == 0 ? "no answer" : std::to_string(status);
  into.attempts.push_back({"a GET with a Last-Event-ID: " + shown, {}, {}});
  is_offered_ = status != 405;
  if (status == 0) {
    add_fault(into, fault{verdict::misleading, "the client cannot tell what became of its cursor",
                          "Answer every GET at once, if only with its head."});
  }
  if (is_offered_) return;
  add_fault(into, fault{verdict::no_resume, "the server says that it does not resume",
                        "Keep events, and answer a GET with what follows its cursor."});
}

void prober::check_standalone() {
  check& into = begin("standalone stream");
  into.attempts.push_back({fmt::format("a GET without a cursor: {}", show_answer(standalone_got_)), {}, {}});
  const int status = standalone_got_.status;
  if (status == 405) into.skipped = "the server has none: 405";
  if (status == 405 || (status == 200 && standalone_got_.is_event_stream())) return;
  into.attempts.back().faults.push_back(
      {verdict::misleading, "neither a stream nor 405", "Answer 200 with an event stream, or 405 if there is none."});
}

// ---- A stream of one's own ----

void prober::check_window() {
  const std::string name = "after each event of a call";
  if (!can_resume(name)) return;
  std::vector<std::string> cursors = call_ids(sessions_[0]);
  cursors.pop_back();
  if (cursors.empty()) return skip(name, "the call brought its answer alone: there is nothing to break");
  check& into = begin(name);
  call(sessions_[0]);  // its events lie behind those of the first call, and are not owed
  for (const std::string& each : places(cursors)) {
    if (!is_over()) expect_continuation(into, {&sessions_[0], "call 1", {each}, "in window"});
  }
}

void prober::check_final_id() {
  if (!can_resume("after the last event of a call")) return;
  check& into = begin("after the last event of a call");
  expect_continuation(into, {&sessions_[0], "call 1", {call_ids(sessions_[0]).back()}, "from the final id"});
}

// Waits for the first id of a call, and breaks the connection there.
std::string prober::break_call(running_call& call) {
  call.http->wait(steady::now() + tail_wait + patience(), has_id);
  const http_answer got = take(*call.http);
  history_.issued(call.who->name, call.stream, got.frames);
  const auto ids = history_.ids(call.who->name, call.stream);
  std::string cursor = ids.empty() ? "" : ids.back();
  history_.dropped(call.who->name, call.stream, cursor);
  return cursor;
}

void prober::check_running_call() {
  const std::string name = "while the call runs";
  if (!can_resume(name)) return;
  if (!is_slow()) return skip(name, too_fast());
  check& into = begin(name);
  running_call call = begin_call(sessions_[0]);
  const resume_request asked{call.who, call.stream, {break_call(call)}, name};
  if (asked.cursors[0].empty()) return no_cursor(into);
  const auto live = get_patiently(asked);
  wait_for_answer(*live, call.id);
  const http_answer first = take(*live);
  const auto again = get_patiently(asked);
  std::vector<std::string> owed;
  for (const trace_frame& each : first.frames) {
    if (is_event(each) && each.id) owed.push_back(*each.id);
  }
  const http_answer second = listen(*again, owed);
  history_.learned(call.who->name, call.stream, merged(first.frames, second.frames));
  into.attempts.push_back(record(asked, first));
  add_fault(into, fault_of_continuation(first, true));
  if (!has_answer(first, call.id) && !has_signal(first)) {
    add_fault(into, fault{verdict::silent_loss, "the call's answer never came",
                          "Deliver on the resumed connection what a running call still brings."});
  }
  resume_request later = asked;
  later.as = "the same, after its end";
  into.attempts.push_back(record(later, second));
  into.attempts.back().saw.insert(0, later.as + ": ");
  add_fault(into, fault_of_continuation(second, true));
}

// Two connections with the same cursor, and `is_new` for what came after that.
void prober::compare_two(check& into, const http_answer& first, const http_answer& second, bool is_first,
                         bool is_second) {
  into.attempts.push_back(
      {fmt::format("the first: {}; the second: {}", show_answer(first), show_answer(second)), {}, {}});
  add_fault(into, fault_of_continuation(first, true));
  if (second.status != 200) add_fault(into, fault_of_refusal(second));
  if (is_first && is_second) {
    add_fault(into, fault{verdict::duplicate, "both connections got the same events",
                          "Send an event on one connection: close the older one when a newer one takes over."});
  }
  if (!is_first && !is_second) {
    add_fault(into, fault{verdict::silent_loss, "neither connection got what came next",
                          "Serve the newer connection, or refuse it and serve the older one."});
  }
  if (is_first && !is_second && second.status == 200 && !second.has_ended) add_fault(into, starves("second"));
  if (is_second && !is_first && first.status == 200 && !first.has_ended) add_fault(into, starves("first"));
}

void prober::check_two_resumes() {
  const std::string name = "two resumes at once";
  if (!can_resume(name)) return;
  if (!is_slow()) return check_two_standalone(name);
  check& into = begin(name);
  running_call call = begin_call(sessions_[0]);
  const resume_request asked{call.who, call.stream, {break_call(call)}, name};
  if (asked.cursors[0].empty()) return no_cursor(into);
  const auto first = get_patiently(asked);
  const auto second = get(asked);
  second->wait(second->begun() + head_wait, has_status);
  for (const auto until = steady::now() + patience(); steady::now() < until;) {
    const bool is_done = has_answer(first->answer(), call.id) || has_answer(second->answer(), call.id);
    if (is_done) break;
    std::this_thread::sleep_for(milliseconds(50));
  }
  std::this_thread::sleep_for(settle);
  const http_answer older = take(*first), newer = take(*second);
  history_.learned(call.who->name, call.stream, merged(older.frames, newer.frames));
  compare_two(into, older, newer, has_answer(older, call.id), has_answer(newer, call.id));
}

// ---- The standalone stream ----

bool prober::can_resume_standalone(const std::string& name) {
  if (!can_resume(name)) return false;
  if (standalone_events_ != 0) return true;
  skip(name, standalone_got_.status == 200 ? "the tool sends no events with ids there" : "the server has none");
  return false;
}

void prober::check_two_standalone(const std::string& name) {
  if (standalone_events_ == 0) return skip(name, too_fast());
  check& into = begin(name);
  const client_session& who = sessions_[0];
  const resume_request asked{&who, "", {history_.ids(who.name, "").back()}, name};
  const auto first = get_patiently(asked);
  const auto second = get(asked);
  second->wait(second->begun() + head_wait, has_status);
  call(who);
  const auto has_news = [this](const http_answer& got) {
    return std::any_of(got.frames.begin(), got.frames.end(), [this](const trace_frame& each) {
      return is_event(each) && each.id && !history_.knows(*each.id);
    });
  };
  second->wait(steady::now() + settle, has_news);
  std::this_thread::sleep_for(settle);
  const http_answer older = take(*first), newer = take(*second);
  const bool is_first = has_news(older), is_second = has_news(newer);
  history_.learned(who.name, "", merged(older.frames, newer.frames));
  compare_two(into, older, newer, is_first, is_second);
}

void prober::check_standalone_window() {
  const std::string name = "after each event of the standalone stream";
  if (!can_resume_standalone(name)) return;
  std::vector<std::string> cursors = history_.ids(sessions_[0].name, "");
  cursors.pop_back();
  if (cursors.empty()) return skip(name, "the tool sends one event there: there is nothing to break");
  check& into = begin(name);
  for (const std::string& each : places(cursors)) {
    if (!is_over()) expect_continuation(into, {&sessions_[0], "", {each}, "in window"});
  }
}

// Events of a call that ends while nobody listens, and of one while the resumed connection is open.
void prober::check_standalone_away() {
  const std::string name = "standalone stream while away and live";
  if (!can_resume_standalone(name)) return;
  check& into = begin(name);
  const client_session& who = sessions_[0];
  const resume_request asked{&who, "", {history_.ids(who.name, "").back()}, "after events while away"};
  history_.dropped(who.name, "", asked.cursors[0]);
  call(who);
  const auto http = get_patiently(asked);
  const auto news = [this](const http_answer& got) {
    return static_cast<std::size_t>(std::count_if(
        got.frames.begin(), got.frames.end(),
        [this](const trace_frame& each) { return is_event(each) && each.id && !history_.knows(*each.id); }));
  };
  http->wait(steady::now() + tail_wait, [&](const http_answer& got) { return news(got) >= standalone_events_; });
  const std::size_t away = news(http->answer());
  call(who);
  http->wait(steady::now() + tail_wait, [&](const http_answer& got) { return news(got) >= away + standalone_events_; });
  const std::size_t live = news(http->answer()) - away;
  const http_answer got = take(*http);
  into.attempts.push_back(record(asked, got));
  into.attempts.back().saw += fmt::format(", {} of them sent while away and {} live", away, live);
  add_fault(into, fault_of_continuation(got, true));
  if (got.status != 200 || has_signal(got)) return;
  const char* const advice = "Keep what is sent while nobody listens, and go on live after the replay.";
  if (away == 0) add_fault(into, fault{verdict::silent_loss, "what was sent while away never came", advice});
  if (live == 0) add_fault(into, fault{verdict::silent_loss, "the resumed connection gets no live events", advice});
}

// ---- Cursors that are no good ----

void prober::refuse(const std::string& name, const std::vector<std::string>& cursors) {
  if (!is_offered_) return skip(name, no_offer);
  check& into = begin(name);
  for (const std::string& each : cursors) {
    if (!is_over()) expect_refusal(into, {&sessions_[0], "", {each}, name});
  }
}

void prober::check_foreign() {
  const std::string post = "another session's id of a call",
                    standalone = "another session's id of the standalone stream";
  if (sessions_.size() == 1) return skip("another session's id", "needs two sessions: see --sessions");
  std::vector<std::string> ids_of_calls, ids_of_standalone;
  for (std::size_t i = 1; i < sessions_.size(); ++i) {
    const auto calls = call_ids(sessions_[i]), alone = history_.ids(sessions_[i].name, "");
    if (!calls.empty()) ids_of_calls.push_back(calls.front());
    if (!alone.empty()) ids_of_standalone.push_back(alone.front());
  }
  if (can_resume(post)) refuse(post, ids_of_calls);
  if (ids_of_standalone.empty()) return skip(standalone, "no event with an id came there");
  refuse(standalone, ids_of_standalone);
}

void prober::check_invented() {
  refuse("never-issued id", {ahead_of(any_id())});
  const std::vector<std::string> ids = call_ids(sessions_[0]);
  if (!can_resume("altered id")) return;
  std::string changed = ids.back(), cut = ids.front();
  const std::string candidates = "987654321fedcbaz";
  for (const char each : candidates) {
    changed.back() = each;
    if (!history_.knows(changed)) break;
  }
  refuse("id with another last character", {changed});
  cut.pop_back();
  if (cut.empty() || history_.knows(cut)) {
    skip("id without its last character", "that is the id of another event");
  } else {
    refuse("id without its last character", {cut});
  }
  const std::string raised = upper(ids.front());
  if (raised == ids.front()) return skip("id in upper case", "the ids have no small letters");
  refuse("id in upper case", {raised});
}

void prober::check_malformed() {
  refuse("malformed id", {"-1", "18446744073709551616", "%00", "not an id"});
  refuse("oversized id", {std::string(20000, 'a')});
  const std::string twice = "two Last-Event-ID headers", empty = "empty id";
  if (!is_offered_) {
    skip(twice, no_offer);
    return skip(empty, no_offer);
  }
  const auto ids = call_ids(sessions_[0]);
  const std::string second = ids.empty() ? any_id() + "-2" : ids.back();
  expect_refusal(begin(twice), {&sessions_[0], "", {any_id(), second}, twice});
  check& into = begin(empty);
  const auto http = get({&sessions_[0], "", {""}, empty});
  const http_answer got = listen(*http, {});
  into.attempts.push_back({fmt::format("empty Last-Event-ID: {}", show_answer(got)), {}, {}});
  const bool is_fresh = got.status == 200 && got.is_event_stream();  // as without the header
  if (!is_fresh) add_fault(into, fault_of_refusal(got));
}

// ---- Sessions that are no good ----

// 404 alone makes a client begin a new session.
void prober::expect_gone(check& into, const resume_request& asked) {
  const http_answer got = resume(into, asked);
  if (got.status == 404) return;
  const bool is_leak = std::any_of(got.frames.begin(), got.frames.end(), is_event);
  if (got.status == 200 && is_leak) {
    return add_fault(
        into, fault{verdict::leak, "events came without their session", "Look at the session before the event id."});
  }
  if (got.status == 200) {
    return add_fault(into, fault{verdict::silent_fresh, "a stream came for a session that is not there",
                                 "Answer 404: a client then begins a new session."});
  }
  add_fault(into, fault{verdict::misleading, "a client that gets no 404 does not begin a new session",
                        "Answer 404: a client then begins a new session."});
}

void prober::check_no_session() {
  if (!is_offered_) return skip("without a session", no_offer);
  const client_session nobody{"no session", "", sessions_[0].version};
  const client_session unknown{"unknown session", "mcp-resume-oracle-unknown-session", sessions_[0].version};
  for (const client_session* each : {&nobody, &unknown}) {
    history_.begin_session(each->name);
    history_.ended(each->name);
  }
  check& without = begin("without a session");
  const http_answer got = resume(without, {&nobody, "", {any_id()}, "without a session"});
  if (got.status == 200 && std::any_of(got.frames.begin(), got.frames.end(), is_event)) {
    add_fault(without,
              fault{verdict::leak, "events came without their session", "Look at the session before the event id."});
  } else if (got.status < 400 || got.status >= 500) {
    add_fault(without, fault{verdict::misleading, "the client is not told what it forgot", "Answer 400."});
  }
  expect_gone(begin("unknown session"), {&unknown, "", {any_id()}, "unknown session"});
}

void prober::check_end() {
  const std::string after = "after DELETE", foreign = "id of a deleted session";
  if (!is_offered_) return skip(after, no_offer);
  const client_session who = open_session("deleted");
  if (has_events_) call(who);
  const auto ids = call_ids(who);
  const int status = end_session(who);
  if (status < 200 || status >= 300) return skip(after, fmt::format("the server does not end sessions: {}", status));
  history_.ended(who.name);
  expect_gone(begin(after), {&who, "", {ids.empty() ? any_id() : ids.front()}, after});
  if (ids.empty()) return skip(foreign, options_.tool.empty() ? no_tool : no_ids);
  refuse(foreign, {ids.front()});
}

// ---- Eviction ----

void prober::check_eviction() {
  const std::string name = "past eviction";
  if (options_.evict == 0) return skip(name, "needs a number of events: see --evict");
  if (!can_resume(name)) return;
  check& into = begin(name);
  const client_session who = open_session("full");
  sessions_.push_back(who);
  std::size_t events = 0;
  const int first_call = last_call_ + 1;
  for (std::size_t calls = 0; calls < most_calls && events < options_.evict && !is_over(); ++calls) {
    running_call begun = begin_call(who);
    const http_answer got = finish_call(begun);
    events += static_cast<std::size_t>(std::count_if(got.frames.begin(), got.frames.end(), is_event));
  }
  const std::string stream = fmt::format("call {}", first_call);
  const auto ids = history_.ids(who.name, stream);
  const resume_request asked{&who, stream, {ids.front()}, fmt::format("the first of {} events", events)};
  const auto owed = history_.owed(who.name, stream, ids.front());
  history_.dropped(who.name, stream, ids.front());
  const auto http = get(asked);
  const http_answer got = listen(*http, owed);
  // What the server says that it holds no more cannot be checked: its word is taken.
  const bool is_refused = got.status >= 400 && got.status < 500;
  if ((is_refused || has_signal(got)) && !owed.empty()) history_.lost(who.name, stream, owed.front());
  into.attempts.push_back(record(asked, got));
  if (got.status != 200) add_fault(into, fault_of_refusal(got));
}

}  // namespace oracle
