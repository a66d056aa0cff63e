// SPDX-License-Identifier: MIT
// `probe`: drives a live server through broken connections, and checks what it answers to each resume.
#ifndef MCP_RESUME_EXAMPLES_PROBE_HPP
#define MCP_RESUME_EXAMPLES_PROBE_HPP

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "report.hpp"
#include "trace.hpp"

namespace oracle {

struct probe_options {
  std::string url;
  std::string tool;                                          // the only one that is ever called; empty: none is
  std::string arguments = "{}";                              // of the tool: a JSON object
  std::vector<std::pair<std::string, std::string>> headers;  // of every request
  std::size_t sessions = 2;                                  // beside those that are ended, or filled until eviction
  std::size_t evict = 0;                                     // events until the first one is asked for again; 0: none
  bool is_own_server = false;                                // a server of another machine may be probed
  std::string trace_path;                                    // where the trace will be, for the report; or empty
};

struct probed {
  report made;
  trace recorded;
};

// Takes at most a minute and 256 MiB, whatever the server does. `progress` is told of each check that begins. Throws
// input_error where nothing can be probed: a wrong option, no MCP server, no such tool.
probed probe(const probe_options& options, const std::function<void(const std::string&)>& progress);

}  // namespace oracle

#endif  // MCP_RESUME_EXAMPLES_PROBE_HPP
