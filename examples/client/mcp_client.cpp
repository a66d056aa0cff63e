// SPDX-License-Identifier: MIT
#include "mcp_client.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>
#include <random>
#include <stdexcept>
#include <thread>
#include <utility>

#include "../bounded_json.hpp"
#include "../printable.hpp"

namespace example {

using namespace mcp_resume;
using nlohmann::json;

constexpr std::size_t most_json_bytes = std::size_t{16} << 20U;
// Each is kept in up to 160 bytes: that many are little beside the text.
constexpr std::size_t most_json_values = std::size_t{1} << 18U;

constexpr const char* too_much = "more came than is kept";

void printer::print(std::FILE* to, const std::string& text) {
  const std::lock_guard<std::mutex> guard(mutex_);
  std::fprintf(to, "%s\n", text.c_str());
  std::fflush(to);
}

// 0 where it is absent, or a date: that needs a clock which agrees with the server's.
std::uint64_t ms_of_retry_after(const std::string& seconds) {
  const bool is_number =
      !seconds.empty() && seconds.size() < 10 && seconds.find_first_not_of("0123456789") == seconds.npos;
  return is_number ? 1000 * std::stoull(seconds) : 0;
}

// Older servers name none. One that this client does not know cannot be followed, nor put into a header.
std::string version_of(const json& result) {
  if (!result.is_object() || !result.contains("protocolVersion")) return "2025-03-26";
  const json& named = result["protocolVersion"];
  const auto known = named.is_string() ? parse_protocol(named.get_ref<const std::string&>()) : std::nullopt;
  if (!known) throw std::runtime_error("the server speaks a version of the protocol that is not known here");
  return std::string(to_string(*known));
}

bool can_be_session_id(const std::string& id) {
  return std::all_of(id.begin(), id.end(), [](char c) { return c > ' ' && c < 0x7F; });
}

mcp_client::mcp_client(const std::string& url, const client_settings& settings, printer& out)
    : where_(parse_endpoint(url)), settings_(settings), out_(out) {}

http_request mcp_client::request_of(const char* method, const std::string& cursor, const std::string& body) const {
  http_request asked{method, {{"Accept", "application/json, text/event-stream"}}, body};
  if (!session_id_.empty()) asked.fields.emplace_back("Mcp-Session-Id", session_id_);
  if (!version_.empty()) asked.fields.emplace_back("MCP-Protocol-Version", version_);
  if (!cursor.empty()) asked.fields.emplace_back("Last-Event-ID", cursor);
  if (!body.empty()) asked.fields.emplace_back("Content-Type", "application/json");
  return asked;
}

// Of an answer that is waited for, stream or not: no keep-alive makes it longer.
http_limits mcp_client::limits_of_answer() const { return {steady::now() + settings_.timeout, settings_.timeout}; }

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
  if (!can_be_session_id(session_id_)) throw std::runtime_error("the server's session id cannot be a header's value");
  version_ = version_of(answer["result"]);
  sibling_ = stream_guard(stream_kind::standalone, session_id_);
  tell(request_of("POST", "", R"({"jsonrpc":"2.0","method":"notifications/initialized"})"));
}

// The answer comes as JSON, or as the first event with data of a stream, which need not end. Keeps the session id.
json mcp_client::post_initialize(const std::string& body) {
  http_head head;
  std::string text;
  event_reader reader;
  bool is_within = true;
  const auto take = [&](std::string_view bytes) {
    if (!head.is_event_stream()) text.append(bytes);
    while (head.is_event_stream() && text.empty()) {
      const auto next = reader.next(bytes);
      if (!next) break;
      text = next->data.value_or("");
    }
    is_within = text.size() <= most_json_bytes && !reader.is_too_large();
    return is_within && (!head.is_event_stream() || text.empty());
  };
  const http_taker taker{[&head](const http_head& got) { return (head = got).status == 200; }, take};
  std::string trouble =
      exchange_over_http(where_, request_of("POST", "", body), limits_of_answer(), is_stopped_, taker);
  if (!is_within) trouble = too_much;
  if (!trouble.empty()) throw std::runtime_error("initialize was not answered: " + trouble);
  if (head.status != 200)
    throw std::runtime_error("initialize was answered with status " + std::to_string(head.status));
  session_id_ = head.session_id;
  return parse_bounded(text, most_json_values);
}

// What is answered by a status, which says nothing that a client could act on.
void mcp_client::tell(const http_request& asked) {
  const http_taker taker{[](const http_head&) { return false; }, [](std::string_view) { return false; }};
  exchange_over_http(where_, asked, limits_of_answer(), is_stopped_, taker);
}

void mcp_client::end() { tell(request_of("DELETE")); }

recovery mcp_client::call(const std::string& tool, const json& arguments) {
  const json id = ++last_id_;
  const json message = {{"jsonrpc", "2.0"},
                        {"id", id},
                        {"method", "tools/call"},
                        {"params", {{"name", tool}, {"arguments", arguments}, {"_meta", {{"progressToken", id}}}}}};
  followed stream{"call", stream_guard(stream_kind::request, session_id_), reconnect_policy(settings_.patience),
                  message.dump(), id};
  return follow(stream);
}

recovery mcp_client::watch() {
  followed stream{"watch", stream_guard(stream_kind::standalone, session_id_), reconnect_policy(settings_.patience), "",
                  json()};
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

// One connection, until it ends or a verdict ends it: then `last` says what is next.
void mcp_client::connect(followed& stream) {
  const std::string body =
      std::exchange(stream.request, "");  // a POST is sent once: what comes of it is resumed by GET
  event_reader reader;
  const http_taker taker{[&](const http_head& got) { return take_head(stream, got); },
                         [&](std::string_view bytes) { return take_bytes(stream, reader, bytes); }};
  stream.retry_after_ms = 0;
  stream.last = verdict{};
  stream.last.reason = continuity::opened;
  const http_limits limits{steady::time_point::max(), settings_.timeout};
  const http_request asked = request_of(body.empty() ? "GET" : "POST", std::string(stream.guard.cursor()), body);
  const std::string trouble = exchange_over_http(where_, asked, limits, is_stopped_, taker);
  const bool is_within = stream.json_answer.size() <= most_json_bytes && !reader.is_too_large();
  if (!trouble.empty() || !is_within) out_.trouble(std::string(stream.name) + ": " + (is_within ? trouble : too_much));
  finish(stream, trouble.empty() && is_within);
}

// A connection has ended, by whomever.
void mcp_client::finish(followed& stream, bool is_whole) {
  if (stream.is_json && is_whole && handle(stream, stream.json_answer)) {
    stream.is_answered = true;
    stream.guard.answer_taken();
  }
  if (stream.is_json || stream.last.next() == next_step::read_on) act(stream, stream.guard.closed());
}

bool mcp_client::take_head(followed& stream, const http_head& got) {
  const bool is_post = !stream.guard.has_cursor() && stream.request_id.is_number();
  stream.retry_after_ms = ms_of_retry_after(got.retry_after);
  stream.is_json = got.status == 200 && got.is_of_type("application/json") && is_post;
  if (stream.is_json) return true;
  act(stream, stream.guard.answer({got.status, got.content_type, got.session_id}));
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
  out_.line(std::string(stream.name) + "> " + printable(json_text));
  const json message = parse_bounded(json_text, most_json_values);
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
