// SPDX-License-Identifier: MIT
// Wakes the connections that wait for a change: one bell for each session, so that a busy one wakes nobody else.
#ifndef MCP_RESUME_EXAMPLES_BELL_HPP
#define MCP_RESUME_EXAMPLES_BELL_HPP

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace example {

// A waiter takes the count, reads, and then waits until the count differs: so no ring between the two is lost.
class bell {
 public:
  std::uint64_t count() const {
    const std::lock_guard<std::mutex> guard(mutex_);
    return count_;
  }
  void ring() {
    {
      const std::lock_guard<std::mutex> guard(mutex_);
      ++count_;
    }
    rung_.notify_all();
  }
  // Waits until the count differs from `seen`, or until the time is up: then false.
  bool wait(std::uint64_t seen, std::chrono::milliseconds time) const {
    std::unique_lock<std::mutex> guard(mutex_);
    return rung_.wait_for(guard, time, [&] { return count_ != seen; });
  }

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable rung_;
  std::uint64_t count_ = 0;
};

// The bells of the sessions that are live. A waiter keeps its bell, also when the session has ended.
class bells {
 public:
  void add(const std::string& session_id) {
    const std::lock_guard<std::mutex> guard(mutex_);
    all_[session_id] = std::make_shared<bell>();
  }
  // For a session that has ended meanwhile, one that nobody rings: who reads is told so before it waits.
  std::shared_ptr<bell> of(const std::string& session_id) {
    const std::lock_guard<std::mutex> guard(mutex_);
    const auto found = all_.find(session_id);
    return found == all_.end() ? std::make_shared<bell>() : found->second;
  }
  // Rings for the last time: the session has ended.
  void drop(const std::string& session_id) {
    std::shared_ptr<bell> last;
    {
      const std::lock_guard<std::mutex> guard(mutex_);
      const auto found = all_.find(session_id);
      if (found == all_.end()) return;
      last = std::move(found->second);
      all_.erase(found);
    }
    last->ring();
  }
  void ring_all() {
    const std::lock_guard<std::mutex> guard(mutex_);
    for (const auto& each : all_) each.second->ring();
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<bell>> all_;
};

}  // namespace example

#endif  // MCP_RESUME_EXAMPLES_BELL_HPP
