// SPDX-License-Identifier: MIT
#include "hub.hpp"

#include <algorithm>
#include <cstdio>
#include <random>
#include <stdexcept>
#include <vector>

#include "json_rpc.hpp"

namespace example {
namespace {

using namespace mcp_resume;
using nlohmann::json;

constexpr std::chrono::milliseconds longest_keep_alive{15000};
constexpr std::uint32_t retry_after_stop_ms = 2000;

// A connection that waits reads more often than the idle time, or its session would end under it.
std::chrono::milliseconds keep_alive_of(const options& bounds) {
  if (bounds.idle_ms == 0) return longest_keep_alive;
  return std::min(longest_keep_alive, std::chrono::milliseconds(bounds.idle_ms / 3 + 1));
}

void note_saved(bool is_saved) {
  if (!is_saved) std::fprintf(stderr, "state: the file cannot be written; a restart will not know the last change\n");
}

bool is_over(read_state state) {
  return state == read_state::finished || state == read_state::superseded || state == read_state::gone;
}

}  // namespace

std::string random_token() {
  std::random_device device;
  std::string token;
  for (int i = 0; i != 32; ++i) token.push_back("0123456789abcdef"[device() % 16]);
  return token;
}

// ---- Sessions ----

hub::hub(const options& bounds, const std::string& state_path, std::uint64_t now_ms)
    : bounds_(bounds), keep_alive_(keep_alive_of(bounds)), sessions_(bounds), state_(state_path), now_ms_(now_ms) {
  // Time stands at 0 before: sessions that begin then would be idle for as long as the machine has run.
  sessions_.tick(now_ms);
  std::vector<std::string> left_out;
  for (const auto& [id, kept] : state_.sessions()) {
    const refusal why = sessions_.restore(id, kept.principal, kept.negotiated, kept.tag);
    if (why == refusal::too_many_sessions) {
      left_out.push_back(id);
    } else if (why != refusal::none) {
      throw std::runtime_error(state_path + ": a session cannot be restored: " + std::string(to_string(why)));
    } else {
      live_.add(id, kept.negotiated);
    }
  }
  if (left_out.empty()) return;
  std::fprintf(stderr, "state: %zu sessions are left out, there are too many\n", left_out.size());
  note_saved(state_.remove(left_out));
}

std::string hub::begin_session(const std::string& principal, protocol negotiated) {
  std::string id = random_token();
  live_.add(id, negotiated);
  if (sessions_.create(id, principal, negotiated) != refusal::none) {
    live_.drop(id);
    return {};
  }
  const std::optional<stream_handle> standalone = sessions_.standalone(id);
  if (standalone) note_saved(state_.add(id, {principal, negotiated, standalone->owner.session}));
  return id;
}

void hub::end_session(const std::string& session_id) {
  note_saved(state_.remove({session_id}));
  sessions_.end(session_id);
  live_.drop(session_id);
}

std::optional<reason> hub::forbids(const request& asked) {
  const std::optional<reason> why = resolve_session(asked, sessions_);
  if (!why) sessions_.touch(asked.session_id.view(), asked.principal.view());
  return why;
}

void hub::tick(std::uint64_t now_ms) {
  now_ms_ = now_ms;
  std::vector<std::string> expired;
  sessions_.tick(now_ms, &expired);
  if (expired.empty()) return;
  note_saved(state_.remove(expired));
  for (const std::string& id : expired) live_.drop(id);
}

void hub::stop() {
  is_stopping_ = true;
  stops_.ring();
  live_.ring_all();
}

// ---- Streams ----

resolution hub::resume(const request& asked, attached& stream) {
  const std::string session_id(asked.session_id.view());
  stream.owner = live_.of(session_id);
  stream.is_to_close = std::make_shared<std::atomic<bool>>(false);
  const std::uint32_t retry_ms = stream.owner->rivals.retry_ms(bounds_.retry_ms, now_ms_);
  const resolution decided = sessions_.resume(asked, stream.from, retry_ms);
  if (decided.http_status() == 200) stream.owner->changes.ring();  // an older connection of the stream is superseded
  return decided;
}

opened hub::open_stream(const std::string& session_id, const json& label, attached& stream) {
  const opened done = sessions_.open_stream(session_id, text_of(label));
  stream = {done.reader, live_.of(session_id), std::make_shared<std::atomic<bool>>(false)};
  return done;
}

appended hub::append(const std::string& session_id, const stream_handle& stream, std::string_view payload) {
  const appended done = sessions_.append(stream, payload);
  live_.of(session_id)->changes.ring();
  return done;
}

appended hub::append_standalone(const std::string& session_id, std::string_view payload) {
  const std::optional<stream_handle> standalone = sessions_.standalone(session_id);
  return standalone ? append(session_id, *standalone, payload) : appended{};
}

void hub::finish(const std::string& session_id, const stream_handle& stream, const json& label, const json& answer) {
  const refusal why = sessions_.finish(stream, text_of(answer)).why;
  if (why == refusal::too_large || why == refusal::no_memory) {
    const json errors = errors_for(label, -32603, "The answer is larger than what the server can hold.");
    // Where not even that is held, the stream ends without: its client is told that the answer is lost.
    if (!sessions_.finish(stream, text_of(errors))) sessions_.finish(stream);
  }
  live_.of(session_id)->changes.ring();
}

void hub::finish(const std::string& session_id, const stream_handle& stream) {
  sessions_.finish(stream);
  live_.of(session_id)->changes.ring();
}

// Reads what is due, and adds what only the server knows: the words for clients that ignore the signals.
read_state hub::read_due(attached& stream, std::string& frames) {
  const progress done = sessions_.read(stream.from, frames);
  const bool has_lost = done.state == read_state::gap || done.state == read_state::reset;
  if (has_lost && stream.from.stream().stream == 0) {
    for (const char* list : {"tools", "resources", "prompts"}) {
      append_message(frames, std::string(R"({"jsonrpc":"2.0","method":"notifications/)") + list + R"(/list_changed"})");
    }
  } else if (has_lost && done.answer == answer::lost) {
    const std::string label = sessions_.label_of(stream.from);
    if (!label.empty()) {
      append_message(frames, text_of(errors_for(json::parse(label), -32603, "The answer is no longer held.")));
    }
  } else if (done.state == read_state::superseded) {
    stream.owner->rivals.note(now_ms_);
    const std::uint32_t retry_ms = stream.owner->rivals.retry_ms(bounds_.retry_ms, now_ms_);
    append_marker(frames, stream.from.position(), stream.from.negotiated(), retry_ms);
  }
  return done.state;
}

// Returns false once the peer has gone. That is looked for often: a stream that still seems to be read is refused to a
// client that comes back without a cursor.
bool hub::wait_for_change(const attached& stream, std::uint64_t seen, const peer& to) const {
  constexpr std::chrono::milliseconds look{250};
  for (std::chrono::milliseconds waited{0}; waited < keep_alive_; waited += look) {
    if (stream.owner->changes.wait(seen, std::min(look, keep_alive_))) return true;
    if (!to.is_there()) return false;
  }
  std::string comment;
  append_keep_alive(comment);
  return to.send(comment);
}

void hub::serve(attached& stream, const peer& to) {
  for (;;) {
    // Before the read: what comes after it is seen by the wait.
    const std::uint64_t seen = stream.owner->changes.count();
    const bool is_stopping = is_stopping_, is_to_close = *stream.is_to_close;
    std::string frames;
    const read_state state = read_due(stream, frames);
    if (state == read_state::caught_up && is_stopping) {
      append_marker(frames, stream.from.position(), stream.from.negotiated(), retry_after_stop_ms);
    }
    if (!frames.empty() && !to.send(frames)) break;
    if (is_over(state) || (state == read_state::caught_up && (is_stopping || is_to_close))) break;
    if (state == read_state::caught_up && !wait_for_change(stream, seen, to)) break;
  }
  release(stream);
}

}  // namespace example
