// SPDX-License-Identifier: MIT
// The sessions of the server, who waits for their events, and the file that keeps their names over a restart. Whatever
// changes a stream rings for those who wait.
#ifndef MCP_RESUME_EXAMPLES_HUB_HPP
#define MCP_RESUME_EXAMPLES_HUB_HPP

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "live_sessions.hpp"
#include "mcp_resume/resume.hpp"
#include "state_file.hpp"

namespace example {

// 128 random bits in hex: for session ids, which are credentials, and for whatever else nobody may guess.
std::string random_token();

// One stream that is being answered: where it reads, and what wakes it.
struct attached {
  mcp_resume::reader from;
  std::shared_ptr<live_session> owner;
  std::shared_ptr<std::atomic<bool>> is_to_close;  // set by whoever wants its client to come back
};

// The other end of a stream.
struct peer {
  std::function<bool(std::string_view)> send;  // false once it has gone
  std::function<bool()> is_there;
};

class hub {
 public:
  // Restores the sessions of the state file, if it names one: each begins another incarnation. Throws
  // std::runtime_error where that file is not ours.
  hub(const mcp_resume::options& bounds, const std::string& state_path, std::uint64_t now_ms);

  // ---- Sessions ----

  // Returns an empty id where the table refuses.
  std::string begin_session(const std::string& principal, mcp_resume::protocol negotiated);
  void end_session(const std::string& session_id);
  // Why a POST or DELETE may not go on, or nothing: then it keeps its session alive.
  std::optional<mcp_resume::reason> forbids(const mcp_resume::request& asked);
  mcp_resume::protocol negotiated(const std::string& session_id) const { return live_.of(session_id)->negotiated; }
  mcp_resume::inspection inspect() const { return sessions_.inspect(); }
  const mcp_resume::options& bounds() const { return bounds_; }

  // ---- Streams ----

  // Decides a GET; where it is answered with 200, `stream` is what to serve.
  mcp_resume::resolution resume(const mcp_resume::request& asked, attached& stream);
  // The stream of a request, and its first connection.
  mcp_resume::opened open_stream(const std::string& session_id, const nlohmann::json& label, attached& stream);
  mcp_resume::appended append(const std::string& session_id, const mcp_resume::stream_handle& stream,
                              std::string_view payload);
  mcp_resume::appended append_standalone(const std::string& session_id, std::string_view payload);
  // Ends the stream of a request with its answer. One that the log cannot hold becomes an error that says so.
  void finish(const std::string& session_id, const mcp_resume::stream_handle& stream, const nlohmann::json& label,
              const nlohmann::json& answer);
  // Ends it without an answer: its client has cancelled the request.
  void finish(const std::string& session_id, const mcp_resume::stream_handle& stream);
  std::shared_ptr<live_session> owner_of(const std::string& session_id) const { return live_.of(session_id); }
  // Writes the stream until it ends, the peer has gone or the server stops.
  void serve(attached& stream, const peer& to);
  void ring(const std::string& session_id) { live_.of(session_id)->changes.ring(); }
  void release(attached& stream) { sessions_.release(stream.from); }

  // ---- The server ----

  void tick(std::uint64_t now_ms);
  // From now on connections are closed, with a `retry:` that brings them back after the restart.
  void stop();
  bool is_stopping() const { return is_stopping_; }
  // Waits. Returns false, at once, when the server stops.
  bool pause(std::chrono::milliseconds time) const { return !stops_.wait(0, time); }

 private:
  mcp_resume::read_state read_due(attached& stream, std::string& frames);
  bool wait_for_change(const attached& stream, std::uint64_t seen, const peer& to) const;

  const mcp_resume::options bounds_;
  const std::chrono::milliseconds keep_alive_;
  mcp_resume::session_table sessions_;
  live_sessions live_;
  state_file state_;
  std::atomic<std::uint64_t> now_ms_;
  std::atomic<bool> is_stopping_{false};
  bell stops_;  // rings once
};

}  // namespace example

#endif  // MCP_RESUME_EXAMPLES_HUB_HPP
