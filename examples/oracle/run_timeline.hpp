// SPDX-License-Identifier: MIT
// A field case as a timeline: it is run once more, and what its world remembers becomes marks.
#ifndef MCP_RESUME_EXAMPLES_RUN_TIMELINE_HPP
#define MCP_RESUME_EXAMPLES_RUN_TIMELINE_HPP

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "field_runner.hpp"
#include "report.hpp"

namespace oracle {

// Steps are the moments of the world.
class case_timeline {
 public:
  case_timeline(const field::json& one, const field::case_report& judged) : judged_(judged) {
    out_.title = judged.id;
    try {
      run_.run(one.at("steps"));
    } catch (const std::exception&) {  // it says so in the report; what came before it is shown
    }
    std::size_t events = 0;
    for (const auto& each : run_.all.logs) events += each.second.size();
    if (events > most_events) {
      out_.title += ": " + std::to_string(events) + " events are too many to draw";
      return;
    }
    const std::vector<field::audited_connection> connections = field::audit(run_.all);
    for (const field::audited_connection& c : connections) add_connection(c);
    for (const auto& [stream, log] : run_.all.logs) add_events(stream, log);
    for (const field::answer& a : run_.answers) {
      if (!a.reads) add_refusal(a);
    }
  }

  timeline take() { return std::move(out_); }

 private:
  static constexpr std::size_t most_events = 100000;

  std::size_t lane_of(const field::stream_key& stream, const std::string& name) {
    const auto [at, is_first] = lanes_.insert({stream, out_.lanes.size()});
    if (is_first) {
      out_.lanes.push_back(name);
      if (const auto life = ++lives_[name]; life != 1) out_.lanes.back() += ", life " + std::to_string(life);
    }
    return at->second;
  }

  mark& add(mark_kind kind, std::size_t lane, std::uint64_t moment, const std::string& label, const std::string& text) {
    out_.marks.emplace_back();
    mark& made = out_.marks.back();
    made.kind = kind;
    made.lane = lane;
    made.step = static_cast<std::size_t>(moment);
    made.label = label;
    made.text = text;
    return made;
  }

  void add_connection(const field::audited_connection& audited) {
    const field::connection& c = *audited.of;
    const std::size_t lane = lane_of(field::key_of(c.stream.owner, c.stream.stream), c.session + " " + c.stream_name);
    if (c.decided) {
      add_resume(lane, c.opened, *c.decided, c.presented, is_named(audited.of));
    } else {
      (void)add(mark_kind::note, lane, c.opened, "POST", "a request opened the stream");
    }
    for (const field::delivered_event& e : audited.events) {
      (void)add(mark_kind::delivery, lane, e.read, e.symbol, e.symbol + " was delivered");
    }
    if (c.lost != 0) (void)add(mark_kind::drop, lane, c.lost, "", "the connection ended");
  }

  void add_events(const field::stream_key& stream, const std::vector<field::issued_event>& log) {
    const std::size_t lane = lane_of(stream, "stream " + std::to_string(std::get<2>(stream)));
    for (const field::issued_event& e : log) {
      if (!e.symbol.empty()) (void)add(mark_kind::event, lane, e.appended, e.symbol, e.symbol + ": " + e.payload);
    }
  }

  void add_resume(std::size_t lane, std::uint64_t moment, const mcp_resume::resolution& decided,
                  const std::string& presented, bool is_wrong) {
    const std::string cursor = presented.empty() ? "" : "cursor " + presented + "; ";
    mark& made = add(mark_kind::resume, lane, moment, std::to_string(decided.http_status()),
                     cursor + mcp_resume::describe(decided));
    const field::stream_key stream = field::key_of(decided.stream.owner, decided.stream.stream);
    if (decided.window.first < decided.window.next) {
      made.first = moment_of(stream, decided.window.first);
      made.newest = moment_of(stream, decided.window.next - 1);
    }
    made.cursor = moment_of(field::key_of(decided.cursor), decided.cursor.seq);
    if (is_wrong) made.verdict = "FAIL";
  }

  void add_refusal(const field::answer& a) {
    const field::session_state* s = run_.all.find_session(a.session);
    const auto owner = s == nullptr ? std::nullopt : run_.all.tags_of(*s);
    const field::stream_key stream = owner ? field::key_of(*owner, 0) : field::stream_key();
    const std::size_t lane = lane_of(stream, s == nullptr ? "no session" : a.session + " get");
    if (a.decided) {
      const bool has_cursor = a.decided->cursor != mcp_resume::event_id{};
      const std::string cursor = has_cursor ? mcp_resume::to_string(a.decided->cursor) : a.cursor_symbol;
      return add_resume(lane, a.began, *a.decided, cursor, is_named(a));
    }
    mark& made = add(mark_kind::note, lane, a.began, a.status == 0 ? "2xx" : std::to_string(a.status), a.label());
    if (is_named(a)) made.verdict = "FAIL";
  }

  // 0 if it was never issued.
  std::size_t moment_of(const field::stream_key& stream, std::uint64_t seq) const {
    const auto log = run_.all.logs.find(stream);
    const std::uint64_t first = run_.all.bounds.first_seq;
    if (log == run_.all.logs.end() || seq < first || seq - first >= log->second.size()) return 0;
    return static_cast<std::size_t>(log->second[static_cast<std::size_t>(seq - first)].appended);
  }

  // Whether a failure of the case names the answer.
  bool is_named(const field::answer& a) const {
    const std::string quoted = "`" + a.label() + "`";
    return std::any_of(judged_.reasons.begin(), judged_.reasons.end(),
                       [&](const std::string& reason) { return reason.find(quoted) != std::string::npos; });
  }
  bool is_named(const field::connection_ptr& c) const {
    return std::any_of(run_.answers.begin(), run_.answers.end(),
                       [&](const field::answer& a) { return a.reads == c && is_named(a); });
  }

  const field::case_report& judged_;
  field::case_run run_;
  timeline out_;
  std::map<field::stream_key, std::size_t> lanes_;
  std::map<std::string, int> lives_;
};

}  // namespace oracle

#endif  // MCP_RESUME_EXAMPLES_RUN_TIMELINE_HPP
