// SPDX-License-Identifier: MIT
#include "mcp_server.hpp"

#include <utility>

#include "admission.hpp"

namespace example {
namespace {

using namespace mcp_resume;
using httplib::Request;
using httplib::Response;
using nlohmann::json;
using handled = httplib::Server::HandlerResponse;

constexpr std::size_t most_calls = 256;

// httplib's own bound looks at Content-Length alone: this one also holds for chunks, and for what was compressed.
bool read_bounded(const httplib::ContentReader& read, std::string& body) {
  constexpr std::size_t most_bytes = std::size_t{4} << 20U;
  return read([&body](const char* bytes, std::size_t size) {
    if (size > most_bytes - body.size()) return false;
    body.append(bytes, size);
    return true;
  });
}

// Works on the requests one after the other, and ends their stream. The work goes on when the connection breaks: a
// disconnect is no cancellation.
void run(const posted& asked, call& running) {
  json responses = json::array();
  for (const json& each : asked.requests) {
    std::optional<json> response = response_at_once(each);
    if (!response) response = running.run(each);
    if (!response) return;  // the session or the server has ended
    responses.push_back(*response);
  }
  running.finish(asked.label(), asked.is_batch ? responses : responses.front());
}

}  // namespace

mcp_server::mcp_server(server_settings settings, std::uint64_t now_ms)
    : settings_(std::move(settings)),
      all_(settings_.bounds, settings_.state_path, now_ms),
      page_(all_, settings_.principal_header),
      running_(most_calls) {}

void mcp_server::route(httplib::Server& http) {
  http.set_pre_routing_handler([this](const Request& asked, Response& answer) {
    const int status = refusal_of(asked, settings_.principal_header);
    if (status != 0) answer_status(answer, status);  // a header value is never echoed
    if (status == 405) {
      answer.headers.erase("Allow");  // the library's is of a server without sessions
      answer.set_header("Allow", methods_of(asked.path));
    }
    return status == 0 ? handled::Unhandled : handled::Handled;
  });
  http.set_exception_handler(
      [](const Request&, Response& answer, const std::exception_ptr&) { answer_status(answer, 500); });
  http.Get("/mcp", [this](const Request& asked, Response& answer) { get(asked, answer); });
  http.Post("/mcp", [this](const Request& asked, Response& answer, const httplib::ContentReader& read) {
    std::string body;
    if (!read_bounded(read, body)) return answer_status(answer, 413);
    post(asked, body, answer);
  });
  http.Delete("/mcp",
              [this](const Request& asked, Response& answer, const httplib::ContentReader&) { remove(asked, answer); });
  http.Get("/healthz", [this](const Request&, Response& answer) { health(answer); });
  page_.route(http);
}

void mcp_server::stop() {
  all_.stop();
  running_.wait();
}

void mcp_server::get(const Request& asked, Response& answer) {
  const bool takes_events = asked.get_header_value("Accept").find("text/event-stream") != std::string::npos;
  if (!takes_events) return answer_status(answer, 406);
  const auto found = resume(all_, headers_of(asked, settings_.principal_header), answer);
  if (found) answer_stream(all_, found->stream, answer);
}

void mcp_server::post(const Request& asked, const std::string& body, Response& answer) {
  const json message = parse_bounded(body);
  if (message.is_discarded())
    return answer_json(answer, 400, error_of(nullptr, -32700, "This is no JSON, or too deep."));
  const std::optional<posted> sorted = sort_posted(message);
  if (!sorted) return answer_json(answer, 400, error_of(nullptr, -32600, "This is no JSON-RPC message."));
  const request_headers from = headers_of(asked, settings_.principal_header);
  if (!sorted->is_batch && is_initialize(message)) return initialize(from, message, answer);
  if (const auto forbidden = resolve_session(from.view(), all_.sessions)) {
    return answer_status(answer, row_of(*forbidden).http_status);  // without a body: one client needs that of a 404
  }
  all_.sessions.touch(from.session_id, from.principal);
  if (sorted->requests.empty()) return answer_status(answer, 202);
  answer_requests(from, *sorted, answer);
}

void mcp_server::remove(const Request& asked, Response& answer) {
  const request_headers from = headers_of(asked, settings_.principal_header);
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

void mcp_server::initialize(const request_headers& from, const json& message, Response& answer) {
  const protocol negotiated = negotiate(params_of(message));
  const std::string session_id = all_.begin_session(from.principal, negotiated);
  if (session_id.empty()) return answer_status(answer, 503);  // too many sessions, or no randomness
  answer.set_header("Mcp-Session-Id", session_id);
  const json result = result_of_initialize(negotiated, settings_.bounds);
  answer_json(answer, 200, {{"jsonrpc", "2.0"}, {"id", message["id"]}, {"result", result}});
}

void mcp_server::answer_requests(const request_headers& from, const posted& asked, Response& answer) {
  const std::optional<json> at_once = asked.is_batch ? std::nullopt : response_at_once(asked.requests.front());
  // Errors that are known before the first event are plain JSON: no stream, nothing to come back for.
  if (at_once && at_once->contains("error")) return answer_json(answer, 200, *at_once);
  opened stream_of_call;
  if (!open_stream(from, asked, stream_of_call, answer)) return;
  const auto running = std::make_shared<call>(all_, from.session_id, stream_of_call.stream);
  if (at_once) {
    running->finish(asked.label(), *at_once);
  } else if (!running_.try_run([asked, running] { run(asked, *running); })) {
    all_.sessions.finish(stream_of_call.stream);
    all_.sessions.forget(stream_of_call.stream);
    return answer_json(answer, 200, errors_for(asked.label(), -32000, "Too many calls are running."));
  }
  answer_stream(all_, {stream_of_call.reader, all_.all_bells.of(from.session_id), running->close_flag()}, answer);
}

// Returns false where it has answered: a stream that cannot be opened.
bool mcp_server::open_stream(const request_headers& from, const posted& asked, opened& opened, Response& answer) {
  const json label = asked.label();
  opened = all_.sessions.open_stream(from.session_id, label.dump());
  const bool is_old_batch = asked.is_batch && opened && opened.reader.negotiated() == protocol::v2025_03_26;
  if (opened && (is_old_batch || !asked.is_batch)) return true;
  if (opened) {
    all_.sessions.finish(opened.stream);
    all_.sessions.forget(opened.stream);
    answer_json(answer, 400, error_of(nullptr, -32600, "This version of the protocol has no batches."));
  } else if (opened.why == refusal::gone) {
    answer_status(answer, 404);
  } else if (opened.why == refusal::bad_label) {
    answer_json(answer, 200, errors_for(label, -32600, "The request ids are longer than 64 bytes."));
  } else {
    answer_json(answer, 200, errors_for(label, -32000, "Too many calls are running."));
  }
  return false;
}

}  // namespace example
