// SPDX-License-Identifier: MIT
// Wakes the connections that wait for a change: one bell for each session, so that a busy one wakes nobody else.
#ifndef MCP_RESUME_EXAMPLES_BELL_HPP
#define MCP_RESUME_EXAMPLES_BELL_HPP

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

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

}  // namespace example

#endif  // MCP_RESUME_EXAMPLES_BELL_HPP
