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
constexpr std::size_t most_json_values = std::size_t{1} << 17U;  // or a body of 4 MiB would take 300 as values

// httplib's own bound looks at Content-Length alone: this one also holds for chunks, and for what was compressed.
bool read_bounded(const httplib::ContentReader& read, std::string& body) {
  return read([&body](const char* bytes, std::size_t size) {
    if (size > most_body_bytes - body.size()) return false;
    body.append(bytes, size);
    return true;
  });
}

// Works on the requests one after the other, and ends their stream. The work goes on when the connection breaks: a
// disconnect is no cancellation. What was cancelled has no response; where nothing has one, the stream ends without: who
// comes back to it is told that nothing is owed.
void run(const posted& asked, call& running) {
  json responses = json::array();
  for (const json& each : asked.requests) {
    std::optional<json> response = response_at_once(each);
    if (!response) response = running.run(each);
    if (response) {
      responses.push_back(*response);
    } else if (!running.is_cancelled()) {
      return;  // the session or the server has ended
    }
  }
  if (responses.empty()) return running.finish();
  running.finish(asked.label(), asked.is_batch ? responses : responses.front());
}

// For a stream that cannot be opened.
void answer_refusal(refusal why, const json& label, Response& answer) {
  if (why == refusal::gone) return answer_status(answer, 404);
  const bool is_long = why == refusal::bad_label;
  const std::string text = is_long ? "The request ids are longer than 64 bytes." : "Too many calls are running.";
  answer_json(answer, 200, errors_for(label, is_long ? -32600 : -32000, text));
}

}  // namespace

mcp_server::mcp_server(server_settings settings, std::uint64_t now_ms)
    : settings_(std::move(settings)),
      hub_(settings_.bounds, settings_.state_path, now_ms),
      page_(hub_, settings_.principal_header),
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
  hub_.stop();
  running_.wait();
}

void mcp_server::get(const Request& asked, Response& answer) {
  if (!accepts_events(asked)) return answer_status(answer, 406);
  const auto found = resume(hub_, headers_of(asked, settings_.principal_header), answer);
  if (found) answer_stream(hub_, found->stream, answer);
}

void mcp_server::post(const Request& asked, const std::string& body, Response& answer) {
  const json message = parse_bounded(body, most_json_values);
  if (message.is_discarded())
    return answer_json(answer, 400, error_of(nullptr, -32700, "No JSON, or too deep, or too much."));
  const std::optional<posted> sorted = sort_posted(message);
  if (!sorted) return answer_json(answer, 400, error_of(nullptr, -32600, "This is no JSON-RPC message."));
  const request_headers from = headers_of(asked, settings_.principal_header);
  if (!sorted->is_batch && is_initialize(message)) return initialize(from, message, answer);
  if (const auto forbidden = hub_.forbids(from.view())) {
    return answer_status(answer, row_of(*forbidden).http_status);  // without a body: one client needs that of a 404
  }
  if (sorted->is_batch && hub_.negotiated(from.session_id) != protocol::v2025_03_26) {
    return answer_json(answer, 400, error_of(nullptr, -32600, "This version of the protocol has no batches."));
  }
  for (const json& id : sorted->cancelled) hub_.owner_of(from.session_id)->requests.cancel(text_of(id));
  if (sorted->requests.empty()) return answer_status(answer, 202);
  answer_requests(from, *sorted, answer);
}

void mcp_server::remove(const Request& asked, Response& answer) {
  const request_headers from = headers_of(asked, settings_.principal_header);
  const auto forbidden = hub_.forbids(from.view());
  if (forbidden) return answer_status(answer, row_of(*forbidden).http_status);
  hub_.end_session(from.session_id);
  answer_status(answer, 204);
}

void mcp_server::health(Response& answer) const {
  const inspection now = hub_.inspect();
  answer_json(answer, 200,
              {{"sessions", now.sessions},
               {"streams", now.streams},
               {"events", now.events},
               {"bytes", now.bytes},
               {"oldest_age_ms", now.oldest_age_ms},
               {"evicted_unread", now.evicted_unread}});
}

void mcp_server::initialize(const request_headers& from, const json& message, Response& answer) {
  const protocol negotiated = negotiate(params_of(message), settings_.bounds.supported);
  const std::string session_id = hub_.begin_session(from.principal, negotiated);
  if (session_id.empty()) return answer_status(answer, 503);  // too many sessions, or no randomness
  answer.set_header("Mcp-Session-Id", session_id);
  answer_json(answer, 200, response_of(message["id"], result_of_initialize(negotiated, settings_.bounds)));
}

void mcp_server::answer_requests(const request_headers& from, const posted& asked, Response& answer) {
  const json label = asked.label();
  const std::optional<json> at_once = asked.is_batch ? std::nullopt : response_at_once(asked.requests.front());
  // Errors that are known before the first event are plain JSON: no stream, nothing to come back for.
  if (at_once && at_once->contains("error")) return answer_json(answer, 200, *at_once);
  if (!at_once && !running_.has_room()) {
    return answer_json(answer, 200, errors_for(label, -32000, "Too many calls are running."));
  }
  attached stream;
  const opened opened = hub_.open_stream(from.session_id, label, stream);
  if (!opened) return answer_refusal(opened.why, label, answer);
  const auto running = std::make_shared<call>(hub_, from.session_id, opened.stream, stream.is_to_close);
  if (!at_once) running->begin(asked.requests);
  if (at_once) {
    running->finish(label, *at_once);
  } else if (!running_.try_run([asked, running] { run(asked, *running); })) {
    running->finish(label, errors_for(label, -32000, "Too many calls are running."));
  }
  answer_stream(hub_, std::move(stream), answer);
}

}  // namespace example
