// SPDX-License-Identifier: MIT
#include "answers.hpp"

#include <cstdio>
#include <exception>
#include <string_view>
#include <utility>

#include "admission.hpp"
#include "json_rpc.hpp"

namespace example {

using httplib::Request;
using httplib::Response;

request_headers headers_of(const Request& asked, const std::string& principal_header) {
  request_headers found{asked.get_header_value("MCP-Protocol-Version"),
                        asked.get_header_value("Mcp-Session-Id"),
                        asked.get_header_value("Last-Event-ID"),
                        {}};
  if (!principal_header.empty()) found.principal = asked.get_header_value(principal_header);
  return found;
}

bool accepts_events(const Request& asked) {
  return in_lower_case(asked.get_header_value("Accept")).find("text/event-stream") != std::string::npos;
}

void answer_status(Response& answer, int status) {
  answer.status = status;
  for (const mcp_resume::header& each : mcp_resume::headers_for(status)) {
    if (each.name != "Content-Type") answer.set_header(std::string(each.name), std::string(each.value));
  }
  if (status == 401) answer.set_header("WWW-Authenticate", "Bearer");  // RFC 9110 15.5.2
}

void answer_json(Response& answer, int status, const nlohmann::json& body) {
  answer_status(answer, status);
  answer.set_content(text_of(body), "application/json");
}

std::optional<resumed> resume(hub& sessions, const request_headers& from, Response& answer) {
  attached stream;
  const mcp_resume::resolution decided = sessions.resume(from.view(), stream);
  std::fprintf(stderr, "resume: %s\n", describe(decided).c_str());
  if (decided.http_status() == 200) return resumed{decided, std::move(stream)};
  answer_status(answer, decided.http_status());
  return std::nullopt;
}

// httplib writes the head before it asks for content: the first frame follows in a write of its own.
void answer_stream(hub& sessions, attached from, Response& answer, std::string first) {
  const auto held = std::make_shared<attached>(std::move(from));
  answer_status(answer, 200);
  answer.set_chunked_content_provider(
      "text/event-stream",
      [&sessions, held, first = std::move(first)](std::size_t, httplib::DataSink& sink) {
        const auto send = [&sink](std::string_view frames) { return sink.write(frames.data(), frames.size()); };
        try {  // httplib would let an exception end the process
          if (first.empty() || send(first)) sessions.serve(*held, {send, sink.is_writable});
        } catch (const std::exception& e) {
          std::fprintf(stderr, "stream: closed, %s\n", e.what());
          return false;
        }
        sink.done();
        return true;
      },
      [&sessions, held](bool) { sessions.release(*held); });  // also where the peer had gone before
}

}  // namespace example
