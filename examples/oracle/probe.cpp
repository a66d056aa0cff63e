// SPDX-License-Identifier: MIT
#include "probe.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <utility>

#include "input_error.hpp"
#include "prober.hpp"

namespace oracle {
namespace {

constexpr std::chrono::seconds most_time{60};
constexpr std::size_t most_kept = std::size_t{96} << 20U;
constexpr std::chrono::milliseconds slow_call{400};

}  // namespace

std::string_view to_string(verdict made) {
  switch (made) {
    case verdict::ok:
      return "ok";
    case verdict::no_resume:
      return "NO RESUME";
    case verdict::misleading:
      return "MISLEADING";
    case verdict::disorder:
      return "DISORDER";
    case verdict::duplicate:
      return "DUPLICATE";
    case verdict::silent_fresh:
      return "SILENT FRESH";
    case verdict::silent_loss:
      return "SILENT LOSS";
    case verdict::leak:
      return "LEAK";
  }
  return "ok";
}

verdict verdict_of(violation kind) {
  switch (kind) {
    case violation::leak:
    case violation::cross_stream:
      return verdict::leak;
    case violation::silent_loss:
      return verdict::silent_loss;
    case violation::duplicate:
      return verdict::duplicate;
    case violation::disorder:
      return verdict::disorder;
    case violation::silent_fresh:
      return verdict::silent_fresh;
    case violation::refused:
      return verdict::no_resume;
    case violation::repeated_id:
    case violation::unscoped_id:
    case violation::misleading_404:
    case violation::endless_empty:
      return verdict::misleading;
  }
  return verdict::misleading;
}

namespace {

// The worst of what an attempt is blamed for: by the rules of a check, and by the judge.
fault worst_of(const attempt& tried, const std::vector<finding>& findings) {
  fault worst;
  for (const fault& each : tried.faults) {
    if (each.made > worst.made) worst = each;
  }
  for (const finding& each : findings) {
    const bool is_worse = each.step == tried.step && verdict_of(each.kind) >= worst.made;
    if (is_worse) worst = {verdict_of(each.kind), each.saw, std::string(advice_for(each.kind))};
  }
  return worst;
}

// A check is as bad as its worst attempt, and tells of that one.
entry entry_of(const check& from, const std::vector<finding>& findings, const std::string& trace_name) {
  entry made;
  made.name = from.name;
  made.verdict = "ok";
  if (!from.skipped.empty()) {
    made.status = entry_status::skipped;
    made.verdict = "skipped";
    made.saw = from.skipped;
    return made;
  }
  fault worst;
  for (const attempt& each : from.attempts) {
    fault found = worst_of(each, findings);
    if (made.saw.empty()) made.saw = each.saw;
    if (found.made <= worst.made) continue;
    made.saw = each.saw + "; " + found.saw;
    const bool has_place = each.step && !trace_name.empty();
    made.place = has_place ? fmt::format("{}:{}", trace_name, *each.step + 2) : "";
    worst = std::move(found);
  }
  if (from.attempts.size() > 1) made.saw = fmt::format("{} resumes; {}", from.attempts.size(), made.saw);
  made.verdict = to_string(worst.made);
  made.advice = worst.advice;
  if (worst.made != verdict::ok) made.status = entry_status::finding;
  return made;
}

}  // namespace

prober::prober(const probe_options& options, std::function<void(const std::string&)> progress)
    : options_(options),
      progress_(std::move(progress)),
      end_(steady::now() + most_time),
      budget_{most_kept},
      to_(example::parse_endpoint(options.url)),
      history_(options.url) {
  if (to_.is_loopback() || options.is_own_server) return;
  throw input_error(options.url, "is not on this machine: probe it only if it is yours, and say --i-own-this-server");
}

check& prober::begin(const std::string& name) {
  if (progress_) progress_(name);
  checks_.push_back({name});
  return checks_.back();
}

void prober::skip(const std::string& name, const std::string& why) {
  checks_.push_back({name});
  checks_.back().skipped = why;
}

void prober::add_fault(check& into, std::optional<fault> made) {
  if (made) into.attempts.back().faults.push_back(std::move(*made));
}

probed prober::run() {
  for (std::size_t i = 0; i < options_.sessions; ++i) {
    sessions_.push_back(open_session(std::string(1, static_cast<char>('A' + i))));
    if (sessions_.back().id.empty()) break;
  }
  if (sessions_.back().id.empty()) {
    check& into = begin("session");
    into.attempts.push_back({"initialize was answered without an Mcp-Session-Id", {}, {}});
    add_fault(into, fault{verdict::no_resume, "a server without sessions has nothing to resume", "begin sessions"});
    return {make_report(), history_.recorded()};
  }
  first_calls();
  run_checks();
  end_ = std::max(end_, steady::now() + std::chrono::seconds(1));
  end_sessions();
  return {make_report(), history_.recorded()};
}

void prober::run_checks() {
  for (const auto one :
       {&prober::check_ids, &prober::check_offer, &prober::check_standalone, &prober::check_window,
        &prober::check_final_id, &prober::check_standalone_window, &prober::check_standalone_away,
        &prober::check_running_call, &prober::check_two_resumes, &prober::check_foreign, &prober::check_invented,
        &prober::check_malformed, &prober::check_no_session, &prober::check_end, &prober::check_eviction}) {
    if (is_late()) return skip("what was left", fmt::format("{} seconds were up", most_time.count()));
    if (is_over()) return skip("what was left", "the server does not answer any more");
    run_check(one);
  }
}

void prober::run_check(void (prober::*one)()) {
  try {
    (this->*one)();
  } catch (const input_error& e) {  // it answered before
    checks_.back().attempts.push_back({e.what(), {}, {}});
    add_fault(checks_.back(), fault{verdict::misleading, "the server does not go on", "look at the server's log"});
  }
  if (is_late()) checks_.back().skipped = fmt::format("{} seconds were up", most_time.count());
}

report prober::make_report() const {
  const std::vector<finding> findings = judge(history_.recorded());
  std::set<std::size_t> owned;
  for (const check& each : checks_) {
    for (const attempt& tried : each.attempts) owned.insert(tried.step.value_or(history_.recorded().steps.size()));
  }
  report made;
  made.title = "probe of " + options_.url;
  for (check each : checks_) {
    for (const finding& found : findings) {
      if (each.is_for_the_rest && owned.count(found.step) == 0) {
        each.attempts.push_back({each.attempts[0].saw, found.step, {}});
      }
    }
    made.entries.push_back(entry_of(each, findings, options_.trace_path));
  }
  made.timelines = report_of(history_.recorded(), findings).timelines;
  return made;
}

bool prober::can_resume(const std::string& name) {
  const char* why = options_.tool.empty() ? "needs events: name a tool with --tool"
                    : !has_events_        ? "the server gives no event ids"
                    : !is_offered_        ? "the server answers 405: it does not resume"
                                          : nullptr;
  if (why != nullptr) skip(name, why);
  return why == nullptr;
}

bool prober::is_slow() const { return tail_ >= slow_call; }

std::string prober::too_fast() const {
  return fmt::format("the call ends {} ms after its first event: it needs one of {} ms or more", tail_.count(),
                     slow_call.count());
}

probed probe(const probe_options& options, const std::function<void(const std::string&)>& progress) {
  return prober(options, progress).run();
}

}  // namespace oracle
