// SPDX-License-Identifier: MIT
// The sessions of the server, who waits for their events, and the file that keeps their names over a restart.
#ifndef MCP_RESUME_EXAMPLES_HUB_HPP
#define MCP_RESUME_EXAMPLES_HUB_HPP

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "bell.hpp"
#include "mcp_resume/resume.hpp"
#include "state_file.hpp"

namespace example {

// 128 random bits in hex: for session ids, which are credentials, and for whatever else nobody may guess.
std::string random_token();

// One stream that is being answered: where it reads, and what wakes it.
struct attached {
  mcp_resume::reader from;
  std::shared_ptr<bell> changes;
  std::shared_ptr<std::atomic<bool>> is_to_close;  // set by a tool that wants its client to come back
};

// The other end of a stream.
struct peer {
  std::function<bool(std::string_view)> send;  // false once it has gone
  std::function<bool()> is_there;
};

class hub {
 public:
  // Restores the sessions of the state file, if it names one: each begins another incarnation.
  hub(const mcp_resume::options& bounds, const std::string& state_path, std::uint64_t now_ms);

  // Returns an empty id where the table refuses.
  std::string begin_session(const std::string& principal, mcp_resume::protocol negotiated);
  void end_session(const std::string& session_id);
  void tick(std::uint64_t now_ms);
  // From now on connections are closed, with a `retry:` that brings them back after the restart.
  void stop();
  bool is_stopping() const { return is_stopping_; }
  // Waits. Returns false, at once, when the server stops.
  bool pause(std::chrono::milliseconds time) const { return !stops_.wait(0, time); }
  const mcp_resume::options& bounds() const { return bounds_; }

  // Writes the stream until it ends, the peer has gone or the server stops.
  void serve(attached& stream, const peer& to);

  mcp_resume::session_table sessions;
  bells all_bells;

 private:
  mcp_resume::read_state read_due(attached& stream, std::string& frames);
  bool wait_for_change(const attached& stream, std::uint64_t seen, const peer& to) const;

  const mcp_resume::options bounds_;
  const std::chrono::milliseconds keep_alive_;
  state_file state_;
  std::atomic<bool> is_stopping_{false};
  bell stops_;  // rings once
};

}  // namespace example

#endif  // MCP_RESUME_EXAMPLES_HUB_HPP
