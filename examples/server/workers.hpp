// SPDX-License-Identifier: MIT
// Threads: one for each call that runs, and one for each connection. Both are bounded.
#ifndef MCP_RESUME_EXAMPLES_WORKERS_HPP
#define MCP_RESUME_EXAMPLES_WORKERS_HPP

#include <httplib.h>

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

namespace example {

// Runs each job in a thread of its own; waits for all of them when it is destroyed.
class workers {
 public:
  explicit workers(std::size_t most) : most_(most) {}
  workers(const workers&) = delete;
  workers& operator=(const workers&) = delete;
  ~workers() { wait(); }

  // Returns false, and runs nothing, where too many are running.
  bool try_run(std::function<void()> job) {
    const std::lock_guard<std::mutex> guard(mutex_);
    if (running_ == most_) return false;
    start(std::move(job));
    return true;
  }
  // Waits where too many are running.
  void run(std::function<void()> job) {
    std::unique_lock<std::mutex> guard(mutex_);
    ended_.wait(guard, [this] { return running_ != most_; });
    start(std::move(job));
  }
  void wait() {
    std::unique_lock<std::mutex> guard(mutex_);
    ended_.wait(guard, [this] { return running_ == 0; });
  }

 private:
  void start(std::function<void()> job) {
    std::thread([this, job = std::move(job)] {
      job();
      const std::lock_guard<std::mutex> guard(mutex_);
      --running_;
      ended_.notify_all();  // under the lock: who waits may destroy this object at once
    }).detach();
    ++running_;
  }

  const std::size_t most_;
  std::mutex mutex_;
  std::condition_variable ended_;
  std::size_t running_ = 0;
};

// A thread for each connection, since a stream holds its own. Where there are too many the next one waits to be accepted.
class connection_threads : public httplib::TaskQueue {
 public:
  explicit connection_threads(std::size_t most) : threads_(most) {}
  void enqueue(std::function<void()> job) override { threads_.run(std::move(job)); }
  void shutdown() override { threads_.wait(); }

 private:
  workers threads_;
};

}  // namespace example

#endif  // MCP_RESUME_EXAMPLES_WORKERS_HPP
