// SPDX-License-Identifier: MIT
// The trace of a probe while it grows: what the server was seen to issue, and what came back for each resume.
#ifndef MCP_RESUME_EXAMPLES_PROBE_HISTORY_HPP
#define MCP_RESUME_EXAMPLES_PROBE_HISTORY_HPP

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trace.hpp"

namespace oracle {

// One side of a JSON-RPC exchange, so far as the probe reads it.
struct json_rpc_response {
  long id = 0;
  std::string error;  // of an error, or of a tool's result that is one: its words
  std::string protocol_version;
};
std::optional<json_rpc_response> response_in(std::string_view json_text);

// An event, in contrast to a marker (an id without data) and to a signal (a type of its own).
bool is_event(const trace_frame& frame);

class probe_history {
 public:
  explicit probe_history(const std::string& server) { recorded_.name = recorded_.server = server; }

  void begin_session(const std::string& session);
  void begin_stream(const std::string& session, const std::string& stream);
  // Events of a connection that was read from its beginning.
  void issued(const std::string& session, const std::string& stream, const std::vector<trace_frame>& frames);
  // Those of them that were not known are now.
  void learned(const std::string& session, const std::string& stream, const std::vector<trace_frame>& frames);
  void dropped(const std::string& session, const std::string& stream, const std::string& id);
  void lost(const std::string& session, const std::string& stream, const std::string& id);
  void ended(const std::string& session);
  // Returns the place of the step in the trace.
  std::size_t resumed(trace_step step);

  bool knows(const std::string& id) const { return ids_.count(id) != 0; }
  std::vector<trace_frame> frames(const std::string& session, const std::string& stream) const;
  // The ids that can be resumed from, markers among them.
  std::vector<std::string> ids(const std::string& session, const std::string& stream) const;
  // The ids of the events after the one with that id.
  std::vector<std::string> owed(const std::string& session, const std::string& stream, const std::string& id) const;
  const trace& recorded() const { return recorded_; }

 private:
  void append(trace_step step);
  trace_step& add(trace_op op, const std::string& session, const std::string& stream);
  void add_event(const std::string& session, const std::string& stream, const trace_frame& frame);

  trace recorded_;
  std::map<std::pair<std::string, std::string>, std::vector<trace_frame>> streams_;
  std::set<std::string> ids_;
};

}  // namespace oracle

#endif  // MCP_RESUME_EXAMPLES_PROBE_HISTORY_HPP
