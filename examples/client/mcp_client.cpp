// SPDX-License-Identifier: MIT
#include "mcp_client.hpp"

#include <chrono>
#include <cstdio>
#include <random>
#include <stdexcept>
#include <thread>
#include <utility>

#include "../bounded_json.hpp"

namespace example {

using namespace mcp_resume;
using nlohmann::json;

constexpr std::size_t most_json_bytes = std::size_t{16} << 20U;

void printer::line(const std::string& text) {
  const std::lock_guard<std::mutex> guard(mutex_);
  std::printf("%s\n", text.c_str());
  std::fflush(stdout);
}

// A terminal acts on some of them.
std::string without_control_bytes(std::string_view text) {
  std::string shown(text);
  for (char& c : shown) c = static_cast<unsigned char>(c) < 0x20 || c == 0x7F ? '?' : c;
  return shown;
}

endpoint parse_endpoint(const std::string& url) {
  const std::size_t scheme = url.find("://");
  const std::size_t path = scheme == url.npos ? url.npos : url.find('/', scheme + 3);
  if (url.rfind("http://", 0) != 0 || path == url.npos)
    throw std::runtime_error("the URL must be http://host:port/path");
  return {url.substr(0, path), url.substr(path)};
}

// 0 where it is absent, or a date: that needs a clock which agrees with the server's.
std::uint64_t ms_of_retry_after(const std::string& seconds) {
  const bool is_number =
      !seconds.empty() && seconds.size() < 10 && seconds.find_first_not_of("0123456789") == seconds.npos;
  return is_number ? 1000 * std::stoull(seconds) : 0;
}

mcp_client::mcp_client(const std::string& url, const reconnect_options& patience, printer& out)
    : where_(parse_endpoint(url)), patience_(patience), out_(out) {}

httplib::Headers mcp_client::headers(const std::string& cursor) const {
  httplib::Headers all{{"Accept", "application/json, text/event-stream"}};
  if (!session_id_.empty()) all.emplace("Mcp-Session-Id", session_id_);
  if (!version_.empty()) all.emplace("MCP-Protocol-Version", version_);
  if (!cursor.empty()) all.emplace("Last-Event-ID", cursor);
  return all;
}

void mcp_client::initialize() {
  const json message = {{"jsonrpc", "2.0"},
                        {"id", ++last_id_},
                        {"method", "initialize"},
                        {"params",
                         {{"protocolVersion", to_string(protocol::v2025_11_25)},
                          {"capabilities", json::object()},
                          {"clientInfo", {{"name", "mcp_resume_client"}, {"version", "0.1.0"}}}}}};
  const json answer = post_initialize(message.dump());
  if (!answer.is_object() || !answer.contains("result")) throw std::runtime_error("initialize was refused");
  if (session_id_.empty()) throw std::runtime_error("the server gives no session id: there is nothing to resume");
  version_ = "2025-03-26";
  const json& result = answer["result"];
  if (result.is_object() && result.contains("protocolVersion") && result["protocolVersion"].is_string()) {
    version_ = result["protocolVersion"];
  }
  sibling_ = stream_guard(stream_kind::standalone, session_id_);
  httplib::Client(where_.base)
      .Post(where_.path, headers(""), R"({"jsonrpc":"2.0","method":"notifications/initialized"})", "application/json");
}

// The answer comes as JSON, or as the first event with data of a stream, which need not end. Keeps the session id.
json mcp_client::post_initialize(const std::string& body) {
  httplib::Request asked;
  asked.method = "POST";
  asked.path = where_.path;
  asked.headers = headers("");
  asked.body = body;
  asked.set_header("Content-Type", "application/json");
  int status = 0;
  bool is_stream = false;
  std::string text;
  event_reader reader;
  asked.response_handler = [&](const httplib::Response& got) {
    status = got.status;
    is_stream = got.get_header_value("Content-Type").find("text/event-stream") == 0;
    session_id_ = got.get_header_value("Mcp-Session-Id");
    return status == 200;
  };
  asked.content_receiver = [&](const char* data, std::size_t size, std::uint64_t, std::uint64_t) {
    std::string_view bytes(data, size);
    if (!is_stream) text.append(bytes);
    while (is_stream && text.empty()) {
      const auto next = reader.next(bytes);
      if (!next) break;
      text = next->data.value_or("");
    }
    return text.size() <= most_json_bytes && !reader.is_too_large() && !(is_stream && !text.empty());
  };
  httplib::Client(where_.base).send(asked);
  if (status == 0) throw std::runtime_error("no answer from " + where_.base);
  if (status != 200) throw std::runtime_error("initialize was answered with status " + std::to_string(status));
  return parse_bounded(text);
}

void mcp_client::end() {
  httplib::Client http(where_.base);
  http.Delete(where_.path, headers(""));
}

recovery mcp_client::call(const std::string& tool, const json& arguments) {
  const json id = ++last_id_;
  const json message = {{"jsonrpc", "2.0"},
                        {"id", id},
                        {"method", "tools/call"},
                        {"params", {{"name", tool}, {"arguments", arguments}, {"_meta", {{"progressToken", id}}}}}};
  followed stream{"call", stream_guard(stream_kind::request, session_id_), reconnect_policy(patience_), message.dump(),
                  id};
  return follow(stream);
}

recovery mcp_client::watch() {
  followed stream{"watch", stream_guard(stream_kind::standalone, session_id_), reconnect_policy(patience_), "", json()};
  return follow(stream);
}

// ---- One stream ----

recovery mcp_client::follow(followed& stream) {
  std::random_device random;
  while (!is_stopped_) {
    {
      const std::lock_guard<std::mutex> lock(sibling_mutex_);
      stream.guard.learn(sibling_);
    }
    connect(stream);
    if (stream.is_answered) return recovery::none;
    if (stream.last.next() == next_step::end) return stream.last.recovery();
    if (stream.policy.has_ended()) return recovery::stop;
    const std::uint64_t drawn = std::uint64_t{random()} << 32U | random();
    if (!wait(stream.policy.wait_ms(drawn, stream.retry_after_ms))) break;
  }
  return recovery::none;
}

httplib::Request mcp_client::request_for(const followed& stream) const {
  httplib::Request asked;
  asked.path = where_.path;
  asked.headers = headers(stream.guard.cursor());
  asked.method = stream.request.empty() ? "GET" : "POST";
  if (stream.request.empty()) return asked;
  asked.body = stream.request;
  asked.set_header("Content-Type", "application/json");
  return asked;
}

// One connection, until it ends or a verdict ends it: then `last` says what is next.
void mcp_client::connect(followed& stream) {
  httplib::Client http(where_.base);
  http.set_read_timeout(std::chrono::seconds(60));  // a server sends keep-alive more often
  httplib::Request asked = request_for(stream);
  stream.request.clear();  // a POST is sent once: whatever comes of it is resumed by GET
  event_reader reader;
  asked.response_handler = [&](const httplib::Response& got) { return take_answer(stream, got); };
  asked.content_receiver = [&](const char* data, std::size_t size, std::uint64_t, std::uint64_t) {
    return take_bytes(stream, reader, {data, size});
  };
  stream.retry_after_ms = 0;
  stream.last = verdict{};
  stream.last.reason = continuity::opened;
  http.send(asked);
  finish(stream);
}

// A connection has ended, by whomever.
void mcp_client::finish(followed& stream) {
  if (stream.is_json && handle(stream, stream.json_answer)) {
    stream.is_answered = true;
    stream.guard.answer_taken();
  }
  if (stream.is_json || stream.last.next() == next_step::read_on) act(stream, stream.guard.closed());
}

bool mcp_client::take_answer(followed& stream, const httplib::Response& got) {
  const std::string type = got.get_header_value("Content-Type"), session_id = got.get_header_value("Mcp-Session-Id");
  const bool is_post = !stream.guard.has_cursor() && stream.request_id.is_number();
  stream.retry_after_ms = ms_of_retry_after(got.get_header_value("Retry-After"));
  stream.is_json = got.status == 200 && type.find("application/json") == 0 && is_post;
  if (stream.is_json) return true;
  act(stream, stream.guard.answer({got.status, type, session_id}));
  return stream.last.next() == next_step::read_on;
}

// Returns false to close the connection.
bool mcp_client::take_bytes(followed& stream, event_reader& reader, std::string_view bytes) {
  if (stream.is_json) {
    stream.json_answer.append(bytes);
    return stream.json_answer.size() <= most_json_bytes;
  }
  while (const auto next = reader.next(bytes)) {
    take_block(stream, *next);
    if (stream.last.next() != next_step::read_on) return false;
  }
  return !reader.is_too_large() && !stream.is_answered && !is_stopped_ && !stream.policy.has_ended();
}

void mcp_client::take_block(followed& stream, const block& next) {
  const verdict made = stream.guard.block(next);
  act(stream, made);
  if (made.deliver && handle(stream, *next.data)) {
    stream.is_answered = true;
    stream.guard.answer_taken();
  }
  stream.guard.taken();
  const std::lock_guard<std::mutex> lock(sibling_mutex_);
  sibling_.learn(stream.guard);
}

// What every verdict needs. An application would read its lists again where this one says that it should.
void mcp_client::act(followed& stream, const verdict& made) {
  stream.last = made;
  stream.policy.note(made);
  // Foreign ids: what cannot be proven of a connection is said with its first event.
  const bool is_usual =
      made.reason == continuity::next_event || made.reason == continuity::blank || made.reason == continuity::opaque;
  if (!is_usual) out_.line(std::string(stream.name) + ": " + describe(made));
}

// Returns whether that was the answer of the stream's request.
bool mcp_client::handle(const followed& stream, std::string_view json_text) {
  out_.line(std::string(stream.name) + "> " + without_control_bytes(json_text));
  const json message = parse_bounded(json_text);
  return message.is_object() && !message.contains("method") && message.contains("id") &&
         message["id"] == stream.request_id;
}

bool mcp_client::wait(std::uint64_t ms) const {
  constexpr std::uint64_t step = 50;
  for (std::uint64_t waited = 0; waited < ms && !is_stopped_; waited += step) {
    std::this_thread::sleep_for(std::chrono::milliseconds(step));
  }
  return !is_stopped_;
}

}  // namespace example
