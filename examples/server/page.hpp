// SPDX-License-Identifier: MIT
// A page that shows a live stream, and what is decided at each reconnect of it. EventSource cannot set headers, so its
// stream takes the session id from the query, on a path apart from /mcp. It shows reasons to whoever opened the
// session: a demonstration, not a thing to copy into a server for others.
#ifndef MCP_RESUME_EXAMPLES_PAGE_HPP
#define MCP_RESUME_EXAMPLES_PAGE_HPP

#include <httplib.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "hub.hpp"

namespace example {

// The connections of the page, each under its session: what its button cuts.
class page_connections {
 public:
  void add(const std::string& session_id, const attached& connection);
  // Returns false where that session has no connection.
  bool cut(const std::string& session_id);

 private:
  struct shown {
    std::weak_ptr<std::atomic<bool>> is_to_close;  // expires with its connection
    std::shared_ptr<live_session> owner;
  };
  std::mutex mutex_;
  std::map<std::string, shown> all_;
};

class page {
 public:
  page(hub& sessions, std::string principal_header) : hub_(sessions), principal_header_(std::move(principal_header)) {}
  void route(httplib::Server& http);

 private:
  void stream(const httplib::Request& asked, httplib::Response& answer);
  void cut(const httplib::Request& asked, httplib::Response& answer);
  void send(const httplib::Request& asked, httplib::Response& answer);

  hub& hub_;
  std::string principal_header_;
  page_connections connections_;
};

}  // namespace example

#endif  // MCP_RESUME_EXAMPLES_PAGE_HPP
