// SPDX-License-Identifier: MIT
// MCP over Streamable HTTP: one endpoint, its methods, and what is refused before the library is asked.
#ifndef MCP_RESUME_EXAMPLES_MCP_SERVER_HPP
#define MCP_RESUME_EXAMPLES_MCP_SERVER_HPP

#include <httplib.h>

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "answers.hpp"
#include "hub.hpp"
#include "json_rpc.hpp"
#include "page.hpp"
#include "tools.hpp"
#include "workers.hpp"

namespace example {

inline constexpr std::size_t most_body_bytes = std::size_t{4} << 20U;

struct server_settings {
  mcp_resume::options bounds;
  std::string principal_header;  // of the proxy that authenticates; empty: everybody is nobody
  std::string state_path;
};

class mcp_server {
 public:
  mcp_server(server_settings settings, std::uint64_t now_ms);

  // Adds the routes: /mcp, /healthz, and the page at / with what it asks for.
  void route(httplib::Server& http);
  hub& sessions() { return hub_; }
  // Ends the connections, then waits for the calls that run.
  void stop();

 private:
  using json = nlohmann::json;

  void get(const httplib::Request& asked, httplib::Response& answer);
  void post(const httplib::Request& asked, const std::string& body, httplib::Response& answer);
  void remove(const httplib::Request& asked, httplib::Response& answer);
  void health(httplib::Response& answer) const;

  void initialize(const request_headers& from, const json& message, httplib::Response& answer);
  void answer_requests(const request_headers& from, const posted& asked, httplib::Response& answer);

  server_settings settings_;
  hub hub_;
  page page_;
  workers running_;
};

}  // namespace example

#endif  // MCP_RESUME_EXAMPLES_MCP_SERVER_HPP
