// SPDX-License-Identifier: MIT
#include "mcp_server.hpp"

#include <algorithm>
#include <cstdio>
#include <string_view>
#include <utility>

namespace example {
namespace {

using namespace mcp_resume;
using httplib::Request;
using httplib::Response;
using nlohmann::json;
using handled = httplib::Server::HandlerResponse;

constexpr std::size_t most_header_lines = 64;
constexpr std::size_t most_calls = 256;

// ---- What is refused before the library is asked ----

// A page of another site must not reach a server on this machine, not by a name that it resolves to here either (DNS
// rebinding): so only these names are ours.
bool is_loopback(std::string_view host) {
  const std::size_t colon = host.rfind(':');
  const bool has_port = colon != host.npos && host.find_first_not_of("0123456789", colon + 1) == host.npos;
  if (has_port) host = host.substr(0, colon);
  return host == "127.0.0.1" || host == "localhost" || host == "[::1]";
}

bool is_own_origin(std::string_view origin) {
  constexpr std::string_view scheme = "http://";
  return origin.substr(0, scheme.size()) == scheme && is_loopback(origin.substr(scheme.size()));
}

bool has_control_byte(const std::string& value) {
  return std::any_of(value.begin(), value.end(), [](unsigned char c) { return c < 0x20 || c == 0x7F; });
}

void answer_status(Response& answer, int status) {
  answer.status = status;
  for (const header& each : headers_for(status)) {
    if (each.name != "Content-Type") answer.set_header(std::string(each.name), std::string(each.value));
  }
}

// ---- JSON-RPC ----

json error_of(const json& id, int code, const std::string& text) {
  return {{"jsonrpc", "2.0"}, {"id", id}, {"error", {{"code", code}, {"message", text}}}};
}

void answer_json(Response& answer, int status, const json& body) {
  answer_status(answer, status);
  answer.set_content(body.dump(-1, ' ', false, json::error_handler_t::replace), "application/json");
}

bool is_message(const json& m) { return m.is_object() && m.contains("jsonrpc") && m["jsonrpc"] == "2.0"; }
bool is_request_id(const json& id) { return id.is_string() || id.is_number_integer(); }
bool is_request(const json& m) {
  return m.contains("method") && m["method"].is_string() && m.contains("id") && is_request_id(m["id"]);
}
bool is_notification(const json& m) { return m.contains("method") && m["method"].is_string() && !m.contains("id"); }
bool is_response(const json& m) { return m.contains("id") && (m.contains("result") || m.contains("error")); }

json params_of(const json& message) {
  const json params = message.value("params", json::object());
  return params.is_object() ? params : json::object();
}

// The results that need no work.
std::optional<json> quick_result(const std::string& method) {
  if (method == "ping" || method == "logging/setLevel") return json::object();
  if (method == "resources/list") return json{{"resources", json::array()}};
  if (method == "prompts/list") return json{{"prompts", json::array()}};
  if (method != "tools/list") return std::nullopt;
  json list = json::array();
  for (const tool& each : all_tools()) {
    list.push_back({{"name", each.name}, {"description", each.description}, {"inputSchema", each.input_schema}});
  }
  return json{{"tools", list}};
}

// What is asked for where it is known here, else the newest that this server speaks.
protocol negotiate(const json& params) {
  const json wanted = params.value("protocolVersion", json(""));
  const auto known = wanted.is_string() ? parse_protocol(wanted.get<std::string>()) : std::nullopt;
  const bool is_spoken = known && *known != protocol::v2024_11_05 && !is_stateless(*known);
  return is_spoken ? *known : protocol::v2025_11_25;
}

json result_of_initialize(protocol negotiated, const options& bounds) {
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

}  // namespace

mcp_server::mcp_server(server_settings settings, std::uint64_t now_ms)
    : settings_(std::move(settings)), all_(settings_.bounds, settings_.state_path, now_ms), running_(most_calls) {}

void mcp_server::route(httplib::Server& http) {
  http.set_pre_routing_handler([this](const Request& asked, Response& answer) { return admit(asked, answer); });
  http.Get("/mcp", [this](const Request& asked, Response& answer) { get(asked, answer); });
  http.Post("/mcp", [this](const Request& asked, Response& answer) { post(asked, answer); });
  http.Delete("/mcp", [this](const Request& asked, Response& answer) { remove(asked, answer); });
  http.Get("/healthz", [this](const Request&, Response& answer) { health(answer); });
  route_page(http);
}

void mcp_server::stop() {
  all_.stop();
  running_.wait();
}

// A header value is never echoed.
handled mcp_server::admit(const Request& asked, Response& answer) const {
  const auto refuse = [&answer](int status) {
    answer_status(answer, status);
    return handled::Handled;
  };
  if (asked.headers.size() > most_header_lines) return refuse(431);
  for (const char* name : {"Host", "Origin", "Mcp-Session-Id", "Last-Event-ID", "MCP-Protocol-Version", "Accept",
                           "Content-Type", settings_.principal_header.c_str()}) {
    if (*name == '\0') continue;
    const std::string value = asked.get_header_value(name);
    if (asked.get_header_value_count(name) > 1 || has_control_byte(value)) return refuse(400);
  }
  if (!is_loopback(asked.get_header_value("Host"))) return refuse(403);
  if (asked.has_header("Origin") && !is_own_origin(asked.get_header_value("Origin"))) return refuse(403);
  const bool is_anonymous = !settings_.principal_header.empty() && !asked.has_header(settings_.principal_header);
  return is_anonymous && asked.path == "/mcp" ? refuse(401) : handled::Unhandled;
}

mcp_server::headers mcp_server::headers_of(const Request& asked) const {
  headers found{asked.get_header_value("MCP-Protocol-Version"),
                asked.get_header_value("Mcp-Session-Id"),
                asked.get_header_value("Last-Event-ID"),
                {}};
  if (!settings_.principal_header.empty()) found.principal = asked.get_header_value(settings_.principal_header);
  return found;
}

// ---- Streams ----

// httplib writes the head before it asks for content: the first frame follows in a write of its own.
void mcp_server::stream(attached from, Response& answer) {
  const auto held = std::make_shared<attached>(std::move(from));
  answer_status(answer, 200);
  answer.set_chunked_content_provider(
      "text/event-stream",
      [this, held](std::size_t, httplib::DataSink& sink) {
        all_.serve(*held, [&sink](std::string_view frames) { return sink.write(frames.data(), frames.size()); });
        sink.done();
        return true;
      },
      [this, held](bool) { all_.sessions.release(held->from); });  // also where the peer had gone before
}

void mcp_server::get(const Request& asked, Response& answer) {
  if (asked.get_header_value("Accept").find("text/event-stream") == std::string::npos)
    return answer_status(answer, 406);
  const headers from = headers_of(asked);
  attached reading;
  const resolution decided = all_.sessions.resume(from.view(), reading.from);
  std::fprintf(stderr, "resume: %s\n", describe(decided).c_str());
  if (decided.http_status() != 200) return answer_status(answer, decided.http_status());
  reading.changes = all_.all_bells.of(from.session_id);
  reading.changes->ring();  // an older connection of the stream is superseded
  reading.is_to_close = std::make_shared<std::atomic<bool>>(false);
  stream(std::move(reading), answer);
}

// ---- Methods ----

void mcp_server::post(const Request& asked, Response& answer) {
  if (asked.get_header_value("Content-Type").find("application/json") != 0) return answer_status(answer, 415);
  const json message = json::parse(asked.body, nullptr, false);
  if (message.is_discarded()) return answer_json(answer, 400, error_of(nullptr, -32700, "This is no JSON."));
  if (!is_message(message)) return answer_json(answer, 400, error_of(nullptr, -32600, "This is no JSON-RPC message."));
  const headers from = headers_of(asked);
  if (is_request(message) && message["method"] == "initialize") return initialize(from, message, answer);
  if (const auto forbidden = resolve_session(from.view(), all_.sessions)) {
    return answer_status(answer, row_of(*forbidden).http_status);  // without a body: one client needs that of a 404
  }
  all_.sessions.touch(from.session_id, from.principal);
  if (is_request(message)) return answer_request(from, message, answer);
  if (is_notification(message) || is_response(message)) return answer_status(answer, 202);
  answer_json(answer, 400, error_of(nullptr, -32600, "This is neither a request nor a notification nor a response."));
}

void mcp_server::remove(const Request& asked, Response& answer) {
  const headers from = headers_of(asked);
  if (const auto forbidden = resolve_session(from.view(), all_.sessions)) {
    return answer_status(answer, row_of(*forbidden).http_status);
  }
  all_.end_session(from.session_id);
  answer_status(answer, 204);
}

void mcp_server::health(Response& answer) const {
  const inspection now = all_.sessions.inspect();
  answer_json(answer, 200,
              {{"sessions", now.sessions},
               {"streams", now.streams},
               {"events", now.events},
               {"bytes", now.bytes},
               {"oldest_age_ms", now.oldest_age_ms},
               {"evicted_unread", now.evicted_unread}});
}

void mcp_server::initialize(const headers& from, const json& message, Response& answer) {
  const protocol negotiated = negotiate(params_of(message));
  const std::string session_id = all_.begin_session(from.principal, negotiated);
  if (session_id.empty()) return answer_status(answer, 503);  // too many sessions, or no randomness
  answer.set_header("Mcp-Session-Id", session_id);
  const json result = result_of_initialize(negotiated, settings_.bounds);
  answer_json(answer, 200, {{"jsonrpc", "2.0"}, {"id", message["id"]}, {"result", result}});
}

// Errors that are known before the first event are plain JSON: no stream, nothing to come back for.
void mcp_server::answer_request(const headers& from, const json& message, Response& answer) {
  const std::string method = message["method"];
  if (method == "tools/call") return call_tool(from, message, answer);
  const std::optional<json> result = quick_result(method);
  if (!result) return answer_json(answer, 200, error_of(message["id"], -32601, "There is no such method."));
  answer_at_once(from, message, *result, answer);
}

void mcp_server::answer_at_once(const headers& from, const json& message, const json& result, Response& answer) {
  opened stream_of_call;
  if (!open_stream(from, message["id"], stream_of_call, answer)) return;
  call quick(all_, from.session_id, stream_of_call.stream, message["id"], params_of(message));
  quick.answer(result);
  stream({stream_of_call.reader, all_.all_bells.of(from.session_id), quick.close_flag()}, answer);
}

// Returns false where it has answered: a stream that cannot be opened.
bool mcp_server::open_stream(const headers& from, const json& id, opened& opened, Response& answer) {
  opened = all_.sessions.open_stream(from.session_id, id.dump());
  if (opened) return true;
  if (opened.why == refusal::gone) {
    answer_status(answer, 404);
  } else if (opened.why == refusal::bad_label) {
    answer_json(answer, 200, error_of(id, -32600, "The request id is longer than 64 bytes."));
  } else {
    answer_json(answer, 200, error_of(id, -32000, "Too many calls are running."));
  }
  return false;
}

void mcp_server::call_tool(const headers& from, const json& message, Response& answer) {
  const json params = params_of(message);
  const json name = params.value("name", json(""));
  const tool* const asked = name.is_string() ? find_tool(name.get<std::string>()) : nullptr;
  if (asked == nullptr) return answer_json(answer, 200, error_of(message["id"], -32602, "There is no such tool."));
  if (const auto complaint = complaint_about(*asked, params.value("arguments", json::object()))) {
    return answer_json(answer, 200, error_of(message["id"], -32602, *complaint));
  }
  opened stream_of_call;
  if (!open_stream(from, message["id"], stream_of_call, answer)) return;
  const auto running = std::make_shared<call>(all_, from.session_id, stream_of_call.stream, message["id"], params);
  // The work goes on when the connection breaks: a disconnect is no cancellation.
  if (!running_.try_run([asked, running] { asked->run(*running); })) {
    all_.sessions.finish(stream_of_call.stream);
    all_.sessions.forget(stream_of_call.stream);
    return answer_json(answer, 200, error_of(message["id"], -32000, "Too many calls are running."));
  }
  stream({stream_of_call.reader, all_.all_bells.of(from.session_id), running->close_flag()}, answer);
}

// ---- The page ----

void mcp_server::route_page(httplib::Server& http) {
  http.Get("/", [](const Request&, Response& answer) { answer.set_content(page_html, "text/html; charset=utf-8"); });
  http.Get("/page/stream", [this](const Request& asked, Response& answer) { page_stream(asked, answer); });
  http.Get("/page/decisions", [this](const Request& asked, Response& answer) {
    answer_json(answer, 200, page_.decisions(asked.get_param_value("session")));
  });
  http.Post("/page/cut", [this](const Request& asked, Response& answer) {
    const std::string session_id = asked.get_param_value("session");
    const bool is_cut = page_.cut(session_id);
    if (is_cut) all_.all_bells.of(session_id)->ring();
    answer_status(answer, is_cut ? 204 : 404);
  });
}

void mcp_server::page_stream(const Request& asked, Response& answer) {
  headers from = headers_of(asked);
  from.session_id = asked.get_param_value("session");
  attached reading;
  const resolution decided = all_.sessions.resume(from.view(), reading.from);
  if (decided.http_status() != 200) return answer_status(answer, decided.http_status());
  reading.changes = all_.all_bells.of(from.session_id);
  reading.changes->ring();
  reading.is_to_close = page_.connect(from.session_id, decided);
  stream(std::move(reading), answer);
}

}  // namespace example
