// SPDX-License-Identifier: MIT
// The parts of the HTML page. Each is well-formed XML too, so that any XML reader can check it.
#ifndef MCP_RESUME_EXAMPLES_REPORT_HTML_HPP
#define MCP_RESUME_EXAMPLES_REPORT_HTML_HPP

#include <string>

#include "report.hpp"

namespace oracle {

// The verdict in words, whatever the status.
std::string verdict_of(const entry& e);

std::string format_html(const report& made);

// One <details>: the history as lanes, and what happened at each resume and finding as a table.
std::string format_timeline(const timeline& history, bool is_open);
bool has_findings(const timeline& history);

}  // namespace oracle

#endif  // MCP_RESUME_EXAMPLES_REPORT_HTML_HPP
