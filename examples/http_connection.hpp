// SPDX-License-Identifier: MIT
// One request of HTTP/1.1 on a connection of its own, for the client and the oracle. Whatever a server sends, or does not
// send, costs no more than the time and the memory that are given here. cpp-httplib's client is no such thing: it has no
// deadline for an answer and no bound for a head, and its regular expression for the status line exhausts the stack.
#ifndef MCP_RESUME_EXAMPLES_HTTP_CONNECTION_HPP
#define MCP_RESUME_EXAMPLES_HTTP_CONNECTION_HPP

#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "http_reader.hpp"

namespace example {

using steady = std::chrono::steady_clock;
using headers = std::vector<std::pair<std::string, std::string>>;

// Resolved once: no later look-up leads to another machine. Of several addresses the first takes the request that
// accepts a connection: `localhost` is two, and not everybody listens on both.
struct endpoint {
  struct address {
    sockaddr_storage bytes{};
    socklen_t size = 0;
  };
  std::string host, path;
  int port = 0;
  std::vector<address> addresses;

  bool is_loopback() const;  // each of them
};
// Throws std::runtime_error where this is no `http://host:port/path`, or nobody knows the host.
endpoint parse_endpoint(const std::string& url);

struct http_request {
  std::string method;
  headers fields;
  std::string body;
};

struct http_limits {
  steady::time_point deadline = steady::time_point::max();  // of everything
  // For a head; for the whole of an answer that is no event stream; for the silence of one that is.
  std::chrono::milliseconds patience{60000};
  std::size_t most_bytes = std::numeric_limits<std::size_t>::max();  // that the connection may bring
};

// Sends the request and hands its answer over, until that is whole, its taker has enough, or `is_closed` is set by
// another thread. Returns what went wrong, in words without bytes of the server, or an empty text.
std::string exchange_over_http(const endpoint& to, const http_request& asked, const http_limits& limits,
                               const std::atomic<bool>& is_closed, const http_taker& taker);

}  // namespace example

#endif  // MCP_RESUME_EXAMPLES_HTTP_CONNECTION_HPP
