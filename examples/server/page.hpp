// SPDX-License-Identifier: MIT
// A page that shows a live stream, and what is decided at each reconnect of it. EventSource cannot set headers, so its
// stream takes the session id from the query, on a path apart from /mcp. It shows reasons to whoever opened the session:
// a demonstration, not a thing to copy into a server for others.
#ifndef MCP_RESUME_EXAMPLES_PAGE_HPP
#define MCP_RESUME_EXAMPLES_PAGE_HPP

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>

#include "mcp_resume/resume.hpp"

namespace example {

extern const char* const page_html;

// What the page wants to know of its session's standalone stream.
class page_sessions {
 public:
  // A connection begins: notes its decision, returns the flag that cuts it.
  std::shared_ptr<std::atomic<bool>> connect(const std::string& session_id, const mcp_resume::resolution& decided);
  // Returns false where that session has no connection of the page.
  bool cut(const std::string& session_id);
  // The newest decisions, the last one last.
  nlohmann::json decisions(const std::string& session_id) const;

 private:
  struct shown {
    std::shared_ptr<std::atomic<bool>> is_to_close;
    std::deque<nlohmann::json> decisions;
  };
  mutable std::mutex mutex_;
  std::map<std::string, shown> all_;
};

}  // namespace example

#endif  // MCP_RESUME_EXAMPLES_PAGE_HPP
