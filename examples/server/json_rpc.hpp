// SPDX-License-Identifier: MIT
// JSON-RPC as MCP uses it: what a message is, and the answers that need no work.
#ifndef MCP_RESUME_EXAMPLES_JSON_RPC_HPP
#define MCP_RESUME_EXAMPLES_JSON_RPC_HPP

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "../bounded_json.hpp"
#include "mcp_resume/resume.hpp"

namespace example {

enum class message_kind { none, request, notification, response };
message_kind kind_of(const nlohmann::json& message);
bool is_request_id(const nlohmann::json& id);  // also of a progress token

// The requests of a POST. The answers of a batch, which only 2025-03-26 has, are one event: held or lost as a whole.
struct posted {
  std::vector<nlohmann::json> requests;
  std::vector<nlohmann::json> cancelled;  // ids of requests that are to be stopped
  bool is_batch = false;

  nlohmann::json label() const;  // the id of its request, or the ids of its batch
};
// Keeps the requests and who is cancelled: other notifications and responses need nothing. Nothing where it is no message.
std::optional<posted> sort_posted(const nlohmann::json& body);
bool is_initialize(const nlohmann::json& message);

// An object, empty where the message has none.
nlohmann::json params_of(const nlohmann::json& message);

std::string text_of(const nlohmann::json& message);  // valid UTF-8 in one line, whatever the message holds
nlohmann::json response_of(const nlohmann::json& id, const nlohmann::json& result);
nlohmann::json error_of(const nlohmann::json& id, int code, const std::string& text);
nlohmann::json errors_for(const nlohmann::json& label, int code, const std::string& text);

// The version that is asked for where this server speaks it, else the newest that it speaks.
mcp_resume::protocol negotiate(const nlohmann::json& params, mcp_resume::protocol_set spoken);
nlohmann::json result_of_initialize(mcp_resume::protocol negotiated, const mcp_resume::options& bounds);

// The response to a request that needs no work: all but the call of a tool with good arguments.
std::optional<nlohmann::json> response_at_once(const nlohmann::json& request);

}  // namespace example

#endif  // MCP_RESUME_EXAMPLES_JSON_RPC_HPP
