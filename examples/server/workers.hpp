// SPDX-License-Identifier: MIT
// Threads: one for each call that runs, and one for each connection. Both are bounded.
#ifndef MCP_RESUME_EXAMPLES_WORKERS_HPP
#define MCP_RESUME_EXAMPLES_WORKERS_HPP

#include <httplib.h>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>

namespace example {

// Runs each job in a thread of its own; waits for all of them when it is destroyed.
class workers {
 public:
  explicit workers(std::size_t most) : most_(most) {}
  workers(const workers&) = delete;
  workers& operator=(const workers&) = delete;
  ~workers() { wait(); }

  // Returns false, and runs nothing, where too many are running, or the system has no thread left.
  bool try_run(const std::function<void()>& job) {
    const std::lock_guard<std::mutex> guard(mutex_);
    return running_ != most_ && start(job);
  }
  bool has_room() const {
    const std::lock_guard<std::mutex> guard(mutex_);
    return running_ != most_;
  }
  // Waits where try_run would refuse.
  void run(const std::function<void()>& job) {
    std::unique_lock<std::mutex> guard(mutex_);
    while (running_ == most_ || !start(job)) ended_.wait_for(guard, std::chrono::milliseconds(100));
  }
  void wait() {
    std::unique_lock<std::mutex> guard(mutex_);
    ended_.wait(guard, [this] { return running_ == 0; });
  }

 private:
  bool start(const std::function<void()>& job) {
    try {
      std::thread([this, own = job]() mutable {
        run_safely(own);
        own = nullptr;  // what it holds goes before the wait for it ends
        const std::lock_guard<std::mutex> guard(mutex_);
        --running_;
        ended_.notify_all();  // under the lock: who waits may destroy this object at once
      }).detach();
    } catch (const std::system_error&) {
      return false;
    }
    ++running_;
    return true;
  }

  static void run_safely(const std::function<void()>& job) {
    try {
      job();
    } catch (const std::exception& e) {  // as a rule no memory; it ends this job and not the process
      std::fprintf(stderr, "worker: %s\n", e.what());
    }
  }

  const std::size_t most_;
  mutable std::mutex mutex_;
  std::condition_variable ended_;
  std::size_t running_ = 0;
};

// A thread for each connection, since a stream holds its own. Where there are too many the next one waits to be
// accepted.
class connection_threads : public httplib::TaskQueue {
 public:
  explicit connection_threads(std::size_t most) : threads_(most) {}
  void enqueue(std::function<void()> job) override { threads_.run(job); }
  void shutdown() override { threads_.wait(); }

 private:
  workers threads_;
};

}  // namespace example

#endif  // MCP_RESUME_EXAMPLES_WORKERS_HPP
