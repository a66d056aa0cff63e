// SPDX-License-Identifier: MIT
#include "json_rpc.hpp"

#include "tools.hpp"

namespace example {
namespace {

using mcp_resume::protocol;
using nlohmann::json;

json list_of_tools() {
  json list = json::array();
  for (const tool& each : all_tools()) {
    list.push_back({{"name", each.name}, {"description", each.description}, {"inputSchema", each.input_schema}});
  }
  return list;
}

std::optional<json> quick_result(const std::string& method) {
  if (method == "ping" || method == "logging/setLevel") return json::object();
  if (method == "resources/list") return json{{"resources", json::array()}};
  if (method == "prompts/list") return json{{"prompts", json::array()}};
  if (method == "tools/list") return json{{"tools", list_of_tools()}};
  return std::nullopt;
}

std::optional<json> error_of_call(const json& request) {
  const json params = params_of(request), name = params.value("name", json());
  const tool* const asked = name.is_string() ? find_tool(name.get<std::string>()) : nullptr;
  if (asked == nullptr) return error_of(request["id"], -32602, "There is no such tool.");
  const auto complaint = complaint_about(*asked, params.value("arguments", json::object()));
  if (complaint) return error_of(request["id"], -32602, *complaint);
  return std::nullopt;
}

}  // namespace

bool is_request_id(const json& id) { return id.is_string() || id.is_number_integer(); }

message_kind kind_of(const json& message) {
  if (!message.is_object() || !message.contains("jsonrpc") || message["jsonrpc"] != "2.0") return message_kind::none;
  const bool has_id = message.contains("id");
  if (message.contains("method")) {
    if (!message["method"].is_string()) return message_kind::none;
    if (!has_id) return message_kind::notification;
    return is_request_id(message["id"]) ? message_kind::request : message_kind::none;
  }
  const bool is_response = has_id && (message.contains("result") || message.contains("error"));
  return is_response ? message_kind::response : message_kind::none;
}

bool is_initialize(const json& message) {
  return kind_of(message) == message_kind::request && message["method"] == "initialize";
}

json posted::label() const {
  if (!is_batch) return requests.front()["id"];
  json ids = json::array();
  for (const json& each : requests) ids.push_back(each["id"]);
  return ids;
}

std::optional<posted> sort_posted(const json& body) {
  posted sorted{{}, {}, body.is_array()};
  if (sorted.is_batch && body.empty()) return std::nullopt;
  for (const json& each : sorted.is_batch ? body : json::array({body})) {
    if (kind_of(each) == message_kind::none || (sorted.is_batch && is_initialize(each))) return std::nullopt;
    if (kind_of(each) == message_kind::request) sorted.requests.push_back(each);
    if (kind_of(each) != message_kind::notification || each["method"] != "notifications/cancelled") continue;
    const json id = params_of(each).value("requestId", json());
    if (is_request_id(id)) sorted.cancelled.push_back(id);
  }
  return sorted;
}

json params_of(const json& message) {
  const auto found = message.find("params");
  return found != message.end() && found->is_object() ? *found : json::object();
}

std::string text_of(const json& message) { return message.dump(-1, ' ', false, json::error_handler_t::replace); }

json response_of(const json& id, const json& result) { return {{"jsonrpc", "2.0"}, {"id", id}, {"result", result}}; }

json error_of(const json& id, int code, const std::string& text) {
  return {{"jsonrpc", "2.0"}, {"id", id}, {"error", {{"code", code}, {"message", text}}}};
}

json errors_for(const json& label, int code, const std::string& text) {
  if (!label.is_array()) return error_of(label, code, text);
  json errors = json::array();
  for (const json& id : label) errors.push_back(error_of(id, code, text));
  return errors;
}

protocol negotiate(const json& params, mcp_resume::protocol_set spoken) {
  const json wanted = params.value("protocolVersion", json());
  const auto known = wanted.is_string() ? mcp_resume::parse_protocol(wanted.get<std::string>()) : std::nullopt;
  return known && spoken.contains(*known) ? *known : protocol::v2025_11_25;
}

json result_of_initialize(protocol negotiated, const mcp_resume::options& bounds) {
  std::string retention;
  append_retention(retention, bounds);
  return {{"protocolVersion", to_string(negotiated)},
          {"serverInfo", {{"name", "mcp_resume_server"}, {"version", "0.1.0"}}},
          {"capabilities",
           {{"tools", {{"listChanged", true}}},
            {"resources", {{"listChanged", true}}},
            {"prompts", {{"listChanged", true}}},
            {"logging", json::object()},
            {"experimental", {{"resume", json::parse(retention)}}}}}};
}

std::optional<json> response_at_once(const json& request) {
  const std::string method = request["method"];
  if (method == "tools/call") return error_of_call(request);
  const std::optional<json> result = quick_result(method);
  return result ? response_of(request["id"], *result) : error_of(request["id"], -32601, "There is no such method.");
}

}  // namespace example
