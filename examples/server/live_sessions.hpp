// SPDX-License-Identifier: MIT
// What the server keeps of each live session beside its events.
#ifndef MCP_RESUME_EXAMPLES_LIVE_SESSIONS_HPP
#define MCP_RESUME_EXAMPLES_LIVE_SESSIONS_HPP

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "bell.hpp"
#include "mcp_resume/resume.hpp"

namespace example {

// Two connections that take a stream from each other are made to come back later and later. An ordinary reconnect is no
// fight: the older connection has gone before.
class fights {
 public:
  void note(std::uint64_t now_ms) {
    const std::lock_guard<std::mutex> guard(mutex_);
    count_ = now_ms - last_ms_ > peace_ms ? 1 : count_ + 1;
    last_ms_ = now_ms;
  }
  std::uint32_t retry_ms(std::uint32_t usual_ms, std::uint64_t now_ms) const {
    const std::lock_guard<std::mutex> guard(mutex_);
    if (now_ms - last_ms_ > peace_ms) return usual_ms;
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(usual_ms * (1 + count_), most_ms));
  }

 private:
  static constexpr std::uint64_t peace_ms = 60000, most_ms = 30000;
  mutable std::mutex mutex_;
  std::uint64_t count_ = 0;
  std::uint64_t last_ms_ = 0;
};

// The requests that are being worked on, by their ids as JSON, and which of them their client has cancelled.
class requests_in_work {
 public:
  using mark = std::shared_ptr<std::atomic<bool>>;  // set: cancelled

  mark begin(const std::string& id) {
    const std::lock_guard<std::mutex> guard(mutex_);
    return marks_[id] = std::make_shared<std::atomic<bool>>(false);
  }
  // A client may have used the id again meanwhile.
  void end(const std::string& id, const mark& begun) {
    const std::lock_guard<std::mutex> guard(mutex_);
    const auto found = marks_.find(id);
    if (found != marks_.end() && found->second == begun) marks_.erase(found);
  }
  void cancel(const std::string& id) const {
    const std::lock_guard<std::mutex> guard(mutex_);
    const auto found = marks_.find(id);
    if (found != marks_.end()) *found->second = true;
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, mark> marks_;
};

struct live_session {
  explicit live_session(mcp_resume::protocol version) : negotiated(version) {}
  const mcp_resume::protocol negotiated;
  bell changes;
  fights rivals;
  requests_in_work requests;
};

class live_sessions {
 public:
  void add(const std::string& session_id, mcp_resume::protocol negotiated) {
    const std::lock_guard<std::mutex> guard(mutex_);
    all_[session_id] = std::make_shared<live_session>(negotiated);
  }
  // A waiter keeps it, also when the session has ended. For one that has ended before it is new, and nobody rings its
  // bell: who reads is told so before it waits.
  std::shared_ptr<live_session> of(const std::string& session_id) const {
    const std::lock_guard<std::mutex> guard(mutex_);
    const auto found = all_.find(session_id);
    return found != all_.end() ? found->second : std::make_shared<live_session>(mcp_resume::protocol::v2025_11_25);
  }
  // Rings for the last time: the session has ended.
  void drop(const std::string& session_id) {
    std::shared_ptr<live_session> last;
    {
      const std::lock_guard<std::mutex> guard(mutex_);
      const auto found = all_.find(session_id);
      if (found == all_.end()) return;
      last = std::move(found->second);
      all_.erase(found);
    }
    last->changes.ring();
  }
  void ring_all() const {
    const std::lock_guard<std::mutex> guard(mutex_);
    for (const auto& each : all_) each.second->changes.ring();
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<live_session>> all_;
};

}  // namespace example

#endif  // MCP_RESUME_EXAMPLES_LIVE_SESSIONS_HPP
