// SPDX-License-Identifier: MIT
// Sessions, calls and resumes of a probe.
#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>
#include <utility>

#include "input_error.hpp"
#include "prober.hpp"
#include "quote.hpp"

namespace oracle {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

constexpr milliseconds call_wait{15000};  // for a tool's answer
constexpr milliseconds owed_wait{3000};   // for each event that is owed
constexpr milliseconds extra_wait{250};   // for what may follow it
constexpr milliseconds empty_wait{1000};  // for anything, where nothing is owed
constexpr const char* newest_version = "2025-11-25";

bool has_status(const http_answer& got) { return got.status != 0; }
bool has_id(const http_answer& got) {
  return std::any_of(got.frames.begin(), got.frames.end(),
                     [](const trace_frame& each) { return each.id && !each.id->empty(); });
}

// Looks at each frame once, over several calls.
bool holds_answer(const http_answer& got, long id, std::size_t& seen) {
  for (; seen < got.frames.size(); ++seen) {
    const trace_frame& frame = got.frames[seen];
    const auto response = is_event(frame) ? response_in(*frame.data) : std::nullopt;
    if (response && response->id == id) return true;
  }
  return false;
}

std::optional<json_rpc_response> response_of(const http_answer& got, long id) {
  if (!got.is_event_stream()) {
    const auto response = response_in(got.body);
    return response && response->id == id ? response : std::nullopt;
  }
  for (const trace_frame& each : got.frames) {
    auto response = is_event(each) ? response_in(*each.data) : std::nullopt;
    if (response && response->id == id) return response;
  }
  return std::nullopt;
}

std::string plural(std::size_t n, const char* noun) { return fmt::format("{} {}{}", n, noun, n == 1 ? "" : "s"); }

std::string show_id(const std::string& id) {
  constexpr std::size_t most = 80;
  return id.size() <= most ? '"' + id + '"' : fmt::format("\"{}...\" ({} bytes)", id.substr(0, 24), id.size());
}

std::string show_cursors(const std::vector<std::string>& cursors) {
  if (cursors.empty()) return "no Last-Event-ID";
  if (cursors.size() == 2) return "Last-Event-ID twice, " + show_id(cursors[0]) + " and " + show_id(cursors[1]);
  return "Last-Event-ID " + (cursors[0].empty() ? "empty" : show_id(cursors[0]));
}

}  // namespace

// What came, in a few words.
std::string show_answer(const http_answer& got) {
  if (got.status == 0) return got.trouble.empty() ? "no answer" : "no answer: " + got.trouble;
  if (got.status != 200) return std::to_string(got.status);
  if (!got.is_event_stream()) return "200, but no event stream";
  const auto events = static_cast<std::size_t>(std::count_if(got.frames.begin(), got.frames.end(), is_event));
  const char* end = got.has_ended ? "ended" : "still open";
  const std::string broken = got.trouble.empty() ? "" : " (" + got.trouble + ")";
  return fmt::format("200, {}, {}{}", plural(events, "event"), end, broken);
}

// A stream for a cursor that is no good must say so.
std::optional<fault> fault_of_stream(const http_answer& got) {
  if (got.frames.empty()) {
    return fault{verdict::misleading, "200 without a word says that nothing is owed, which nobody knows",
                 "Answer 400 or 409."};
  }
  if (!got.frames[0].event.empty()) return std::nullopt;
  return fault{verdict::silent_fresh, "another stream poses as the one that was asked for", "Answer 400 or 409."};
}

std::optional<fault> fault_of_refusal(const http_answer& got) {
  const int status = got.status;
  if (status == 404) {
    return fault{verdict::misleading, "404 says that the session is gone, and it lives",
                 "Answer 400 or 409: a client that gets a 404 must drop its session."};
  }
  if (status == 401 || status == 403) {
    return fault{verdict::misleading, fmt::format("{} says that the client has no right to its own session", status),
                 "Answer 400 or 409."};
  }
  if (status == 204) {
    return fault{verdict::misleading, "204 says that nothing is owed, which nobody knows", "Answer 400 or 409."};
  }
  if (status == 200 && got.is_event_stream()) return fault_of_stream(got);
  if (status >= 400 && status < 500) return std::nullopt;
  return fault{verdict::misleading, "the client cannot tell what became of its cursor, and tries again for ever",
               "Answer 400 or 409, or continue."};
}

// The same where it is good. What comes with a 200 is the judge's.
std::optional<fault> fault_of_continuation(const http_answer& got, bool is_owed) {
  const int status = got.status;
  if (status == 200 && got.is_event_stream()) return std::nullopt;
  if (status == 204 && !is_owed) return std::nullopt;
  if (status == 204)
    return fault{verdict::silent_loss, "204 says that nothing is owed", "Send what follows the cursor."};
  if (status == 404) return fault_of_refusal(got);
  if (status >= 400 && status < 500 && !is_owed) return fault_of_refusal(got);
  if (status >= 400 && status < 500) {
    return fault{verdict::no_resume, "nothing was lost, and the cursor was refused", "Send what follows the cursor."};
  }
  return fault_of_refusal(got);
}

// ---- Sessions ----

std::unique_ptr<exchange> prober::send(const client_session* who, const char* method, headers fields,
                                       std::string body) {
  fields.emplace_back("User-Agent", "mcp-resume-oracle");
  fields.insert(fields.end(), options_.headers.begin(), options_.headers.end());
  if (who != nullptr && !who->id.empty()) fields.emplace_back("Mcp-Session-Id", who->id);
  if (who != nullptr && !who->version.empty()) fields.emplace_back("MCP-Protocol-Version", who->version);
  if (!body.empty()) fields.emplace_back("Content-Type", "application/json");
  return std::make_unique<exchange>(to_, http_request{method, std::move(fields), std::move(body)}, end_, budget_);
}

client_session prober::open_session(const std::string& name) {
  const std::string place = options_.url;
  const long id = ++last_request_;
  const json asked = {{"jsonrpc", "2.0"},
                      {"id", id},
                      {"method", "initialize"},
                      {"params",
                       {{"protocolVersion", newest_version},
                        {"capabilities", json::object()},
                        {"clientInfo", {{"name", "mcp-resume-oracle"}, {"version", "0.1.0"}}}}}};
  client_session made{name, "", ""};
  const auto http = send(nullptr, "POST", {{"Accept", "application/json, text/event-stream"}}, asked.dump());
  std::size_t seen = 0;
  http->wait(steady::now() + head_wait, [&](const http_answer& got) { return holds_answer(got, id, seen); });
  const http_answer got = take(*http);
  const auto response = response_of(got, id);
  if (got.status != 200) throw input_error(place, "initialize of session " + name + ": " + show_answer(got));
  if (!response || !response->error.empty()) {
    const std::string why = response ? in_quotes(response->error) : "200, but no JSON-RPC response";
    throw input_error(place, "initialize of session " + name + ": " + why);
  }
  made.id = got.session_id;
  made.version = response->protocol_version.empty() ? "2025-03-26" : response->protocol_version;
  history_.begin_session(name);
  history_.begin_stream(name, "initialize");
  history_.issued(name, "initialize", got.frames);
  if (made.id.empty()) return made;
  const auto told = send(&made, "POST", {{"Accept", "application/json, text/event-stream"}},
                         R"({"jsonrpc":"2.0","method":"notifications/initialized"})");
  told->wait(steady::now() + head_wait, has_status);
  return made;
}

void prober::end_sessions() {
  std::vector<std::unique_ptr<exchange>> ends;
  for (const client_session& each : sessions_) ends.push_back(send(&each, "DELETE", {}, ""));
  for (const auto& each : ends) {
    each->wait(steady::now() + milliseconds(1000), has_status);
  }
}

int prober::end_session(const client_session& who) {
  const auto http = send(&who, "DELETE", {}, "");
  http->wait(steady::now() + head_wait, has_status);
  return http->answer().status;
}

// ---- Calls ----

running_call prober::begin_call(const client_session& who) {
  running_call begun;
  begun.who = &who;
  begun.stream = fmt::format("call {}", ++last_call_);
  begun.id = ++last_request_;
  const json asked = {{"jsonrpc", "2.0"},
                      {"id", begun.id},
                      {"method", "tools/call"},
                      {"params",
                       {{"name", options_.tool},
                        {"arguments", json::parse(options_.arguments)},
                        {"_meta", {{"progressToken", begun.id}}}}}};
  history_.begin_stream(who.name, begun.stream);
  begun.http = send(&who, "POST", {{"Accept", "application/json, text/event-stream"}}, asked.dump());
  return begun;
}

// Reads a call to its end. Its frames are the truth about what its stream has.
http_answer prober::finish_call(running_call& call) {
  std::size_t seen = 0;
  const bool has_answer = call.http->wait(steady::now() + call_wait,
                                          [&](const http_answer& got) { return holds_answer(got, call.id, seen); });
  if (has_answer) call.http->wait_quiet(extra_wait, steady::now() + head_wait);
  http_answer got = call.http->answer();
  call.http->close();
  history_.issued(call.who->name, call.stream, got.frames);
  const auto response = response_of(got, call.id);
  const std::string tool = "--tool " + printable(options_.tool);
  if (!response) throw input_error(tool, "a call was not answered: " + show_answer(got));
  if (!response->error.empty()) throw input_error(tool, "the server says: " + in_quotes(response->error));
  return got;
}

void prober::call(const client_session& who) {
  running_call begun = begin_call(who);
  finish_call(begun);
}

// Every session calls once, all at the same time, with its standalone stream open: what they bring unbroken is what is
// compared later.
void prober::first_calls() {
  std::vector<std::unique_ptr<exchange>> standalone;
  for (const client_session& each : sessions_) standalone.push_back(get({&each, "", {}, ""}));
  for (const auto& each : standalone) each->wait(steady::now() + head_wait, has_status);
  std::vector<running_call> calls;
  for (const client_session& each : sessions_) {
    if (!options_.tool.empty()) calls.push_back(begin_call(each));
  }
  steady::time_point first_id = steady::now();
  for (running_call& each : calls) {
    const bool is_first = &each == &calls[0];
    if (is_first && each.http->wait(steady::now() + call_wait, has_id)) first_id = steady::now();
    const http_answer got = finish_call(each);
    if (!is_first) continue;
    has_events_ = has_id(got);
    tail_ = std::chrono::duration_cast<milliseconds>(got.last - first_id);
  }
  for (std::size_t i = 0; i < sessions_.size(); ++i) {
    standalone[i]->wait_quiet(options_.tool.empty() ? extra_wait : empty_wait, steady::now() + head_wait);
    const http_answer got = take(*standalone[i]);
    history_.issued(sessions_[i].name, "", got.frames);
    if (i == 0) standalone_got_ = got;
  }
  standalone_events_ =
      static_cast<std::size_t>(std::count_if(standalone_got_.frames.begin(), standalone_got_.frames.end(),
                                             [](const trace_frame& each) { return is_event(each) && each.id; }));
}

// ---- Resumes ----

std::unique_ptr<exchange> prober::get(const resume_request& asked) {
  headers fields{{"Accept", "text/event-stream"}};
  for (const std::string& each : asked.cursors) fields.emplace_back("Last-Event-ID", each);
  return send(asked.who, "GET", std::move(fields), "");
}

// A server may take a moment to see that the older connection is broken: 409 is asked again, as a client does.
std::unique_ptr<exchange> prober::get_patiently(const resume_request& asked) {
  std::unique_ptr<exchange> http;
  for (int i = 0; i < 3; ++i) {
    if (i != 0) std::this_thread::sleep_for(extra_wait);
    http = get(asked);
    http->wait(steady::now() + head_wait, has_status);
    if (http->answer().status != 409) break;
  }
  return http;
}

bool prober::has_answer(const http_answer& got, long id) const { return response_of(got, id).has_value(); }

void prober::wait_for_answer(exchange& from, long id) {
  std::size_t seen = 0;
  from.wait(steady::now() + patience(), [&](const http_answer& got) { return holds_answer(got, id, seen); });
  from.wait_quiet(extra_wait, steady::now() + head_wait);
}

// Listens until everything that is owed has come, and a little longer.
http_answer prober::listen(exchange& from, const std::vector<std::string>& owed) {
  from.wait(from.begun() + head_wait, has_status);
  std::set<std::string> missing(owed.begin(), owed.end());
  std::size_t seen = 0;
  const auto has_all = [&](const http_answer& got) {
    for (; seen < got.frames.size(); ++seen) {
      if (is_event(got.frames[seen]) && got.frames[seen].id) missing.erase(*got.frames[seen].id);
    }
    return missing.empty();
  };
  http_answer got = from.answer();
  if (got.status == 200 && got.is_event_stream()) {
    const bool is_all = from.wait(steady::now() + owed_wait, has_all) && !owed.empty();
    from.wait_quiet(is_all ? extra_wait : empty_wait, steady::now() + owed_wait);
  }
  return take(from);
}

// What has come, and the connection is broken.
http_answer prober::take(exchange& from) {
  http_answer got = from.answer();
  got.waited = std::chrono::duration_cast<milliseconds>(steady::now() - got.last);
  from.close();
  unanswered_ = got.status == 0 ? unanswered_ + 1 : 0;
  if (got.status == 0 && got.trouble.empty()) got.trouble = fmt::format("nothing came for {} ms", got.waited.count());
  return got;
}

attempt prober::record(const resume_request& asked, const http_answer& got) {
  history_.learned(asked.who->name, asked.stream, got.frames);
  trace_step step;
  step.session = asked.who->name;
  step.stream = asked.stream;
  step.as = asked.as;
  if (!asked.cursors.empty()) step.last_event_id = asked.cursors[0];
  if (asked.cursors.size() == 2) *step.last_event_id += ", " + asked.cursors[1];  // RFC 9110 section 5.3
  step.status = got.status;
  step.frames = got.frames;
  step.has_ended = got.has_ended;
  step.waited_ms = static_cast<unsigned>(got.waited.count());
  attempt made;
  made.saw = fmt::format("{}: {}", show_cursors(asked.cursors), show_answer(got));
  made.step = history_.resumed(std::move(step));
  return made;
}

http_answer prober::resume(check& into, const resume_request& asked, const std::vector<std::string>& owed) {
  const auto http = owed.empty() ? get(asked) : get_patiently(asked);
  http_answer got = listen(*http, owed);
  into.attempts.push_back(record(asked, got));
  return got;
}

// The cursor is no good here.
http_answer prober::expect_refusal(check& into, const resume_request& asked) {
  http_answer got = resume(into, asked);
  add_fault(into, fault_of_refusal(got));
  return got;
}

// The cursor is good.
http_answer prober::expect_continuation(check& into, const resume_request& asked) {
  const auto owed = history_.owed(asked.who->name, asked.stream, asked.cursors[0]);
  history_.dropped(asked.who->name, asked.stream, asked.cursors[0]);
  http_answer got = resume(into, asked, owed);
  add_fault(into, fault_of_continuation(got, !owed.empty()));
  return got;
}

}  // namespace oracle
