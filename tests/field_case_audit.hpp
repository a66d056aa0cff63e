// SPDX-License-Identifier: MIT
// Promise: whatever a case expects, every byte of every connection is checked: no event of another stream, none twice,
// none out of order, none lost in silence, no payload that forges a field.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "field_case_sse.hpp"
#include "field_case_world.hpp"

namespace field {

struct delivered_event {
  std::string symbol;
  std::uint64_t appended = 0;  // moments
  std::uint64_t read = 0;
};

struct audited_connection {
  connection_ptr of;
  sse_text frames;
  std::vector<delivered_event> events;
  std::optional<std::string> last_id;
  bool starts_with_gap = false;
};

// Follows one connection block by block, as an honest client that knows every id that was issued.
class auditor {
 public:
  // `read_marks`: the newest seq of each stream that an earlier connection was handed.
  auditor(world& all, std::map<stream_key, std::uint64_t>& read_marks) : world_(all), read_marks_(read_marks) {}

  audited_connection run(const connection_ptr& c) {
    out_ = audited_connection{};
    out_.of = c;
    c_ = c.get();
    key_ = key_of(c->stream.owner, c->stream.stream);
    place_ = place::start;
    out_.frames = parse_sse(c->bytes);
    if (out_.frames.ends_inside_block) fail("ends inside a block");
    for (const sse_block& b : out_.frames.blocks) {
      follow(b);
      if (b.id) out_.last_id = b.id;
    }
    check_end();
    std::uint64_t& mark = read_marks_.emplace(key_, world_.bounds.first_seq - 1).first->second;
    if (!out_.events.empty() && mark < delivered_) mark = delivered_;
    return std::move(out_);
  }

 private:
  enum class place { start, signalled, flowing };

  void fail(const std::string& what) {
    world_.fail("connection of `" + c_->session + "`/`" + c_->stream_name + "`: " + what);
  }

  void follow(const sse_block& b) {
    if (!b.unknown_field.empty()) return fail("unknown field `" + b.unknown_field + "`");
    if (b.has_two_ids) return fail("a block with two ids");
    if (b.kind() == block_kind::unknown) return fail("a block that is neither signal nor event");
    if (b.kind() == block_kind::word) return follow_word();
    const auto id = b.id ? mr::event_id::parse(*b.id) : std::nullopt;
    if (!id || mr::to_string(*id) != *b.id) return fail("an id that is none: `" + b.id.value_or("") + "`");
    if (b.kind() == block_kind::event) return follow_event(b, *id);
    if (b.kind() == block_kind::marker) return follow_marker(b, *id);
    follow_signal(b, *id);
  }

  void follow_word() {
    if (place_ != place::signalled) fail("an event without an id outside of a signal");
  }

  void follow_event(const sse_block& b, const mr::event_id& id) {
    const std::string text = mr::to_string(id);
    if (place_ != place::flowing) return fail("event " + text + " before the marker");
    if (key_of(id) != key_) return fail("event " + text + " of another session, incarnation or stream");
    const issued_event* issued = world_.find_event(id);
    if (issued == nullptr) return fail("event " + text + " was never issued");
    if (id.seq <= at_.seq) return fail("`" + issued->symbol + "` came again or out of order");
    if (id.seq != at_.seq + 1) return fail("events before `" + issued->symbol + "` were lost in silence");
    if (split_lines(issued->payload) != b.data_lines) return fail("`" + issued->symbol + "` came with other data");
    at_ = id;
    delivered_ = id.seq;
    out_.events.push_back({issued->symbol, issued->appended, moment_of(b.begin)});
  }

  void follow_marker(const sse_block& b, const mr::event_id& id) {
    check_marker_form(b);
    if (key_of(id) != key_) return fail("a marker of another stream");
    if (place_ == place::flowing) return fail("a second marker without a signal");
    if (place_ == place::signalled && id != announced_) fail("the marker is not at the announced place");
    if (place_ == place::start) check_start(id, false);
    at_ = id;
    place_ = place::flowing;
  }

  void check_marker_form(const sse_block& b) {
    const std::uint32_t retry = world_.bounds.retry_ms;
    if (b.retry.value_or("0") != std::to_string(retry)) fail("a marker whose `retry:` is not " + std::to_string(retry));
    // From 2025-11-25 on; the clients of older versions fail to parse empty data.
    const bool is_priming = c_->negotiated >= mr::protocol::v2025_11_25;
    if (is_priming != b.has_empty_data()) {
      fail("the marker's form does not fit " + std::string(mr::to_string(c_->negotiated)));
    }
    if (!is_priming) (void)notification(b, "continued");
  }

  // The parameters of a notification, whose method and cursor are checked.
  json notification(const sse_block& b, const std::string& method) {
    const json parsed = json::parse(b.data(), nullptr, false);
    const bool is_right = parsed.is_object() && parsed.value("jsonrpc", "") == "2.0" &&
                          parsed.value("method", "") == "notifications/resume/" + method && parsed.contains("params") &&
                          parsed["params"].value("lastEventId", "") == *b.id;
    if (!is_right) fail("`" + method + "` is not a JSON-RPC notification with its id: " + b.data());
    return is_right ? parsed["params"] : json::object();
  }

  void follow_signal(const sse_block& b, const mr::event_id& id) {
    const bool is_gap = b.kind() == block_kind::gap, is_first = place_ == place::start;
    if (place_ == place::signalled) return fail("a signal before the marker of the last");
    if (is_first) check_start(id, true);
    if (!is_first && (id != at_ || !is_gap)) fail("a signal under an id that is not the last");
    if (is_first && is_gap) out_.starts_with_gap = true;
    const json told = notification(b, is_gap ? "gap" : "reset");
    const auto goes_on = mr::event_id::parse(told.value("resumeFrom", ""));
    place_ = place::signalled;
    if (!goes_on || key_of(*goes_on) != key_) return fail("a signal that announces another stream's place");
    announced_ = *goes_on;
    if (is_gap) check_missed(id, told.value("missed", json(0)), is_first);
  }

  void check_missed(const mr::event_id& id, const json& told, bool is_first) {
    const std::uint64_t distance = announced_.seq - id.seq;
    if (announced_.seq <= id.seq || told != json(distance)) {
      fail("a gap from " + std::to_string(id.seq) + " to " + std::to_string(announced_.seq) + " says missed " +
           told.dump());
    }
    if (is_first && c_->decided && !c_->was_paused && c_->decided->missed != distance) {
      fail("the resolution says missed " + std::to_string(c_->decided->missed) + ", the gap " +
           std::to_string(distance));
    }
  }

  // The first id of a connection: what was presented, the read mark of a fresh reader, the place before the first
  // event of a new stream.
  void check_start(const mr::event_id& id, bool is_signal) {
    const std::uint64_t before_first = world_.bounds.first_seq - 1;
    const auto mark = read_marks_.find(key_);
    const std::uint64_t read = mark == read_marks_.end() ? before_first : mark->second;
    const bool is_request = !c_->decided;
    const bool is_fresh = c_->decided && c_->decided->reason == mr::reason::fresh;
    if (is_request && (id.seq != before_first || is_signal)) fail("a new stream does not begin before its first event");
    if (is_fresh && !c_->was_paused && id.seq != read) fail("a fresh reader does not start after the read mark");
    if (is_request || is_fresh) return;
    if (mr::to_string(id) != c_->presented) fail("the first frame does not carry the presented cursor");
    const mr::outcome what = c_->decided->outcome();
    if (!c_->was_paused && is_signal == (what == mr::outcome::continue_)) {
      fail("the first frame does not fit the outcome " + std::string(mr::to_string(what)));
    }
  }

  // A connection that reads, or was closed as finished, has everything but what it was told is missing.
  void check_end() {
    const bool reads_on = c_->is_connected && !c_->is_paused && c_->state == mr::read_state::caught_up;
    if (!reads_on && c_->state != mr::read_state::finished) return;
    const std::uint64_t newest = world_.newest_of(key_);
    if (place_ != place::flowing) return fail("no marker");
    if (at_.seq != newest) {
      fail("stands at " + std::to_string(at_.seq) + " while " + std::to_string(newest) + " is the newest");
    }
  }

  std::uint64_t moment_of(std::size_t offset) const {
    const auto after = std::upper_bound(c_->reads.begin(), c_->reads.end(), offset,
                                        [](std::size_t o, const auto& read) { return o < read.first; });
    return after == c_->reads.begin() ? 0 : std::prev(after)->second;
  }

  world& world_;
  std::map<stream_key, std::uint64_t>& read_marks_;
  audited_connection out_;
  connection* c_ = nullptr;
  stream_key key_;
  place place_ = place::start;
  mr::event_id at_, announced_;
  std::uint64_t delivered_ = 0;  // seq of the newest event
};

// Every connection, in the order of their opening.
inline std::vector<audited_connection> audit(world& all) {
  std::map<stream_key, std::uint64_t> read_marks;
  std::vector<audited_connection> out;
  auditor one(all, read_marks);
  for (const connection_ptr& c : all.connections) out.push_back(one.run(c));
  for (const auto& [stream, log] : all.logs) {
    for (const issued_event& e : log) {
      if (e.symbol.empty()) all.fail("a number of stream " + std::to_string(std::get<2>(stream)) + " was left out");
    }
  }
  return out;
}

}  // namespace field
