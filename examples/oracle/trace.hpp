// SPDX-License-Identifier: MIT
// A trace: what one server did to its sessions, streams and events, and what it answered to each resume. Ids are opaque.
#ifndef MCP_RESUME_EXAMPLES_TRACE_HPP
#define MCP_RESUME_EXAMPLES_TRACE_HPP

#include <cstddef>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

namespace oracle {

// One SSE block of an answer, as it came.
struct trace_frame {
  std::optional<std::string> id;    // the block's own id field
  std::optional<std::string> data;  // joined by LF
  std::string event;                // empty = message
};

enum class trace_op {
  session,  // a session began: `session` names it in this trace
  stream,   // a stream began: `session`, `stream` names it in its session; "" is the standalone stream, always there
  event,    // the server issued an event on a stream: `frame`; `is_answer` where it is the request's response
  drop,     // the connection of a stream broke, or the client closed it; `id`, the last one that the client has
  resume,   // a GET: `session`, `last_event_id`; then what came: `status`, `frames`, `has_ended`, `waited_ms`
  end,      // the session was ended (DELETE)
  lost      // the server says that it holds nothing of the stream up to and with `id` any more (retention)
};

struct trace_step {
  std::size_t line = 0;  // of the file, from 1
  trace_op op = trace_op::session;
  std::string session, stream;
  std::string as;  // of a resume: what the client meant to do, for the report: "in window", "another session's id"
  trace_frame frame;
  bool is_answer = false;
  std::optional<std::string> id;             // drop, lost
  std::optional<std::string> last_event_id;  // resume: absent = no cursor was sent
  int status = 0;                            // resume: 0 = no answer
  std::vector<trace_frame> frames;
  bool has_ended = false;  // resume: the server ended the answer; false: the recorder stopped listening
  unsigned waited_ms = 0;  // resume: how long the recorder listened after the last frame
};

struct trace {
  std::string name;    // of the file
  std::string server;  // as the recorder calls it
  std::vector<trace_step> steps;
};

// Throws input_error with file, line and field. At most 1,000,000 lines of 16 MiB, 1 GiB in all.
trace read_trace(std::istream& from, const std::string& name);
void write_trace(std::ostream& to, const trace& recorded);

}  // namespace oracle

#endif  // MCP_RESUME_EXAMPLES_TRACE_HPP
