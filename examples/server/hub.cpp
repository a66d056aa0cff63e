// SPDX-License-Identifier: MIT
#include "hub.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <random>
#include <stdexcept>
#include <utility>
#include <vector>

#include "json_rpc.hpp"

namespace example {
namespace {

using namespace mcp_resume;

constexpr std::chrono::milliseconds longest_keep_alive{15000};
constexpr std::uint32_t retry_after_stop_ms = 2000;

// A connection that waits reads more often than the idle time, or its session would end under it.
std::chrono::milliseconds keep_alive_of(const options& bounds) {
  if (bounds.idle_ms == 0) return longest_keep_alive;
  return std::min(longest_keep_alive, std::chrono::milliseconds(bounds.idle_ms / 3 + 1));
}

void note_saved(bool is_saved) {
  if (!is_saved)
    std::fprintf(stderr, "state: the file could not be written; a restart will not know the last change\n");
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

hub::hub(const options& bounds, const std::string& state_path, std::uint64_t now_ms)
    : sessions(bounds), bounds_(bounds), keep_alive_(keep_alive_of(bounds)), state_(state_path) {
  // Time stands at 0 before: sessions that begin then would be idle for as long as the machine has run.
  sessions.tick(now_ms);
  for (const auto& [id, kept] : state_.sessions()) {
    const refusal why = sessions.restore(id, kept.principal, kept.negotiated, kept.tag);
    if (why != refusal::none)
      throw std::runtime_error(state_path + ": a session cannot be restored: " + std::string(to_string(why)));
    all_bells.add(id);
  }
}

std::string hub::begin_session(const std::string& principal, protocol negotiated) {
  std::string id = random_token();
  all_bells.add(id);
  if (sessions.create(id, principal, negotiated) != refusal::none) {
    all_bells.drop(id);
    return {};
  }
  const std::optional<stream_handle> standalone = sessions.standalone(id);
  if (standalone) note_saved(state_.add(id, {principal, negotiated, standalone->owner.session}));
  return id;
}

void hub::end_session(const std::string& session_id) {
  sessions.end(session_id);
  note_saved(state_.remove({session_id}));
  all_bells.drop(session_id);
}

void hub::tick(std::uint64_t now_ms) {
  std::vector<std::string> expired;
  sessions.tick(now_ms, &expired);
  if (expired.empty()) return;
  note_saved(state_.remove(expired));
  for (const std::string& id : expired) all_bells.drop(id);
}

void hub::stop() {
  is_stopping_ = true;
  stops_.ring();
  all_bells.ring_all();
}

// Reads what is due, and adds what only the server knows: the words for clients that ignore the signals.
read_state hub::read_due(attached& stream, std::string& frames) {
  const progress done = sessions.read(stream.from, frames);
  const bool has_lost = done.state == read_state::gap || done.state == read_state::reset;
  if (has_lost && stream.from.stream().stream == 0) {
    for (const char* list : {"tools", "resources", "prompts"}) {
      append_message(frames, std::string(R"({"jsonrpc":"2.0","method":"notifications/)") + list + R"(/list_changed"})");
    }
  } else if (has_lost && done.answer == answer::lost) {
    const std::string label = sessions.label_of(stream.from);
    if (!label.empty()) {
      const auto words = errors_for(nlohmann::json::parse(label), -32603, "The answer is no longer held.");
      append_message(frames, text_of(words));
    }
  } else if (done.state == read_state::superseded) {  // if connections fight, they come back later and later
    const std::uint64_t retry_ms = std::min<std::uint64_t>(1000 * stream.from.lease(), 30000);
    append_marker(frames, stream.from.position(), stream.from.negotiated(), static_cast<std::uint32_t>(retry_ms));
  }
  return done.state;
}

// Returns false once the peer has gone. That is looked for often: a stream that still seems to be read is refused to a
// client that comes back without a cursor.
bool hub::wait_for_change(const attached& stream, std::uint64_t seen, const peer& to) const {
  constexpr std::chrono::milliseconds look{250};
  for (std::chrono::milliseconds waited{0}; waited < keep_alive_; waited += look) {
    if (stream.changes->wait(seen, std::min(look, keep_alive_))) return true;
    if (!to.is_there()) return false;
  }
  std::string comment;
  append_keep_alive(comment);
  return to.send(comment);
}

void hub::serve(attached& stream, const peer& to) {
  for (;;) {
    const std::uint64_t seen = stream.changes->count();  // before the read: what comes after it is seen by the wait
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
  sessions.release(stream.from);
}

}  // namespace example
