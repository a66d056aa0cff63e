// SPDX-License-Identifier: MIT
// The HTTP side of `probe`: requests whose answers are read in the background. What is kept of them is bounded too.
#ifndef MCP_RESUME_EXAMPLES_PROBE_HTTP_HPP
#define MCP_RESUME_EXAMPLES_PROBE_HTTP_HPP

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "../http_connection.hpp"
#include "mcp_resume/client.hpp"
#include "trace.hpp"

namespace oracle {

using example::endpoint;
using example::headers;
using example::http_request;
using example::steady;

struct http_answer : example::http_head {  // status 0: none
  std::vector<trace_frame> frames;         // of an event stream: the blocks with an id or data
  std::string body;                        // of any other answer
  bool has_ended = false;                  // by the server
  std::string trouble;                     // why there is no answer, or why it broke off
  steady::time_point last{};               // when the head, an event or a part of another answer came last

  std::chrono::milliseconds waited{};  // since then, when it was taken
};

// What all connections together may still bring.
struct byte_budget {
  std::atomic<std::size_t> left;
};

// One request and its answer. The answer is read by a thread of its own until it ends, the deadline comes, a bound is
// passed, or close() is called.
class exchange {
 public:
  exchange(const endpoint& to, http_request asked, steady::time_point deadline, byte_budget& budget);
  exchange(const exchange&) = delete;
  exchange& operator=(const exchange&) = delete;
  ~exchange() { close(); }

  // Waits until the condition holds, the answer is over, or the time has come.
  using condition = std::function<bool(const http_answer&)>;
  bool wait(steady::time_point until, const condition& holds);
  // Waits until nothing has come for that long, the answer is over, or the time has come.
  void wait_quiet(std::chrono::milliseconds quiet, steady::time_point until);
  // Breaks the connection.
  void close();
  http_answer answer() const;  // so far
  steady::time_point begun() const { return begun_; }

 private:
  void run(const endpoint& to, const http_request& asked);
  bool take_head(const example::http_head& got);
  bool take(std::string_view bytes);
  void end(std::string trouble);

  steady::time_point begun_ = steady::now();
  steady::time_point deadline_;
  byte_budget& budget_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  http_answer answer_;
  mcp_resume::event_reader reader_;
  std::size_t kept_ = 0;
  bool is_over_ = false;
  std::atomic<bool> is_closed_{false};
  std::thread reading_;
};

}  // namespace oracle

#endif  // MCP_RESUME_EXAMPLES_PROBE_HTTP_HPP
