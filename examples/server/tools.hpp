// SPDX-License-Identifier: MIT
// The tools of the server: what runs behind a `tools/call`, and what it may do to its streams.
#ifndef MCP_RESUME_EXAMPLES_TOOLS_HPP
#define MCP_RESUME_EXAMPLES_TOOLS_HPP

#include <atomic>
#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "hub.hpp"

namespace example {

// A call that runs: the stream of its request, and the session's standalone one.
class call {
 public:
  call(hub& sessions, std::string session_id, mcp_resume::stream_handle stream,
       std::shared_ptr<std::atomic<bool>> is_to_close);

  call(const call&) = delete;
  call& operator=(const call&) = delete;
  ~call();

  // From now on the client may cancel these requests: that stops their work, and they get no response.
  void begin(const std::vector<nlohmann::json>& requests);
  // Runs the tool that this `tools/call` names. Returns its response, or nothing where it was cancelled, or the session
  // or the server has ended meanwhile.
  std::optional<nlohmann::json> run(const nlohmann::json& request);
  // Ends the stream with the answer. One that the log cannot hold becomes an error that says so.
  void finish(const nlohmann::json& label, const nlohmann::json& answer);
  // Ends the stream without one.
  void finish() { hub_.finish(session_id_, stream_); }
  // Whether the request that ran last was cancelled.
  bool is_cancelled() const { return current_ != nullptr && *current_; }

  const nlohmann::json& arguments() const { return arguments_; }
  // Adds a notification to the stream of the request. A reader that cannot keep up holds the producer back for a while,
  // then loses events to a gap: nothing is queued without bound. False where the rest of the work is for nobody, since
  // it was cancelled, or the session or the server has ended: so in all that follow.
  bool notify(const std::string& method, const nlohmann::json& params);
  // Adds a notification to the standalone stream.
  bool notify_standalone(const std::string& method, const nlohmann::json& params);
  // Reports progress, if the request asked for it.
  bool progress(int done, int total);
  // Closes the connection of the request once it has read everything, so that its client polls for the rest.
  void close_connection();
  void answer(const nlohmann::json& result) { result_ = result; }
  bool sleep(std::chrono::milliseconds time) const;

 private:
  bool note(const mcp_resume::appended& done);
  bool is_wanted() const { return !is_abandoned_ && !is_cancelled(); }

  hub& hub_;
  std::string session_id_;
  mcp_resume::stream_handle stream_;
  nlohmann::json params_, arguments_;
  std::optional<nlohmann::json> result_;
  std::shared_ptr<std::atomic<bool>> is_to_close_;
  std::map<std::string, requests_in_work::mark> marks_;
  requests_in_work::mark current_;
  std::chrono::milliseconds patience_{2000};  // how long a slow reader may hold this call back, in all
  bool is_abandoned_ = false;
};

// A tool: its name, what it takes, what it does. It answers the call before it returns, unless it is told that this is
// for nobody.
struct tool {
  const char* name;
  const char* description;
  nlohmann::json input_schema;
  void (*run)(call&);
};

const std::vector<tool>& all_tools();
const tool* find_tool(const std::string& name);

// What is wrong with the arguments, or nothing: each property of the schema is a string, or an integer within bounds.
std::optional<std::string> complaint_about(const tool& asked, const nlohmann::json& arguments);

}  // namespace example

#endif  // MCP_RESUME_EXAMPLES_TOOLS_HPP
