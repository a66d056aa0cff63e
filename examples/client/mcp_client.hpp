// SPDX-License-Identifier: MIT
// A client of one MCP server: begins a session, calls a tool, watches the standalone stream. Each stream is followed by
// a guard, over any number of connections.
#ifndef MCP_RESUME_EXAMPLES_MCP_CLIENT_HPP
#define MCP_RESUME_EXAMPLES_MCP_CLIENT_HPP

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "../http_connection.hpp"
#include "mcp_resume/client.hpp"

namespace example {

// Prints whole lines, from any thread: what the client was told, and on stderr what went wrong below that.
class printer {
 public:
  void line(const std::string& text) { print(stdout, text); }
  void trouble(const std::string& text) { print(stderr, "mcp_resume_client: " + text); }

 private:
  void print(std::FILE* to, const std::string& text);

  std::mutex mutex_;
};

struct client_settings {
  mcp_resume::reconnect_options patience;
  std::chrono::seconds timeout{
      60};  // of an answer, and of the silence of a stream; a server sends keep-alive more often
};

class mcp_client {
 public:
  mcp_client(const std::string& url, const client_settings& settings, printer& out);

  // Begins a session. Throws std::runtime_error with what the server said.
  void initialize();
  // Calls a tool and follows its stream until it has the answer. Returns what is left to do: nothing, or why there is
  // no answer.
  mcp_resume::recovery call(const std::string& tool, const nlohmann::json& arguments);
  // Follows the standalone stream until it ends, or stop() is called.
  mcp_resume::recovery watch();
  void stop() { is_stopped_ = true; }
  // Ends the session.
  void end();

 private:
  // One stream on its way through its connections.
  struct followed {
    const char* name;
    mcp_resume::stream_guard guard;
    mcp_resume::reconnect_policy policy;
    std::string request;  // of a request stream: the POST's body, until it is sent
    nlohmann::json request_id = nullptr;
    mcp_resume::verdict last{};
    std::uint64_t retry_after_ms = 0;  // what the last answer asked for
    bool is_json = false;              // the POST was answered without a stream
    std::string json_answer = {};
    bool is_answered = false;
  };

  nlohmann::json post_initialize(const std::string& body);
  void tell(const http_request& asked);
  mcp_resume::recovery follow(followed& stream);
  void connect(followed& stream);
  void finish(followed& stream, bool is_whole);
  bool take_head(followed& stream, const http_head& got);
  bool take_bytes(followed& stream, mcp_resume::event_reader& reader, std::string_view bytes);
  void take_block(followed& stream, const mcp_resume::block& next);
  void act(followed& stream, const mcp_resume::verdict& made);
  bool handle(const followed& stream, std::string_view json_text);
  http_request request_of(const char* method, const std::string& cursor = "", const std::string& body = "") const;
  http_limits limits_of_answer() const;
  bool wait(std::uint64_t ms) const;

  endpoint where_;
  client_settings settings_;
  printer& out_;
  std::string session_id_;
  std::string version_;
  int last_id_ = 0;
  std::atomic<bool> is_stopped_{false};
  std::mutex sibling_mutex_;
  mcp_resume::stream_guard sibling_{mcp_resume::stream_kind::standalone,
                                    ""};  // knows the session's tags, once one does
};

}  // namespace example

#endif  // MCP_RESUME_EXAMPLES_MCP_CLIENT_HPP
