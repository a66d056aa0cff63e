// SPDX-License-Identifier: MIT
// From a request of httplib to the library, and from its decision to an answer.
#ifndef MCP_RESUME_EXAMPLES_ANSWERS_HPP
#define MCP_RESUME_EXAMPLES_ANSWERS_HPP

#include <httplib.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "hub.hpp"
#include "mcp_resume/resume.hpp"

namespace example {

// A request's headers that the library reads, kept while it looks at them.
struct request_headers {
  std::string version, session_id, last_event_id, principal;
  mcp_resume::request view() const { return {version, session_id, last_event_id, principal}; }
};
// `principal_header` may be empty: then everybody is nobody.
request_headers headers_of(const httplib::Request& asked, const std::string& principal_header);

// Whether the client takes an event stream: media types have no case.
bool accepts_events(const httplib::Request& asked);

void answer_status(httplib::Response& answer, int status);
void answer_json(httplib::Response& answer, int status, const nlohmann::json& body);

// Asks the library whether this GET may go on, and logs what it says. Returns the stream, or nothing where it has
// answered.
struct resumed {
  mcp_resume::resolution decided;
  attached stream;
};
std::optional<resumed> resume(hub& sessions, const request_headers& from, httplib::Response& answer);

// Answers with `first`, if any, and then with the stream until it ends.
void answer_stream(hub& sessions, attached from, httplib::Response& answer, std::string first = {});

}  // namespace example

#endif  // MCP_RESUME_EXAMPLES_ANSWERS_HPP
