// SPDX-License-Identifier: MIT
#include "tools.hpp"

#include <algorithm>
#include <utility>

#include "json_rpc.hpp"

namespace example {
namespace {

using mcp_resume::appended;
using mcp_resume::refusal;
using nlohmann::json;

json text_result(const std::string& text) { return {{"content", json::array({{{"type", "text"}, {"text", text}}})}}; }

int number(const call& running, const char* name, int otherwise) { return running.arguments().value(name, otherwise); }

// ---- The tools ----

// Closes its connection and has the result a little later: the client must come back for it.
void test_reconnection(call& running) {
  running.close_connection();
  running.sleep(std::chrono::milliseconds(100));
  running.answer(text_result("reconnected"));
}

json log_message(const std::string& text) { return {{"level", "info"}, {"logger", "tools"}, {"data", text}}; }

void burst(call& running) {
  const int n = number(running, "n", 1), delay = number(running, "delay", 0);
  const std::string tag = running.arguments().value("tag", "");
  for (int i = 1; i <= n; ++i) {
    if (delay != 0 && !running.sleep(std::chrono::milliseconds(delay))) return;
    running.notify("notifications/message", log_message("burst " + tag + " " + std::to_string(i)));
  }
  running.answer(text_result("burst " + tag + " done " + std::to_string(n)));
}

void notify(call& running) {
  const int n = number(running, "n", 1);
  const std::string tag = running.arguments().value("tag", "");
  for (int i = 1; i <= n; ++i) {
    running.notify_standalone("notifications/message", log_message("notify " + tag + " " + std::to_string(i)));
  }
  running.answer(text_result("notify " + tag + " done " + std::to_string(n)));
}

void slow(call& running) {
  const int steps = number(running, "steps", 5), delay = number(running, "delay", 200);
  for (int i = 1; i <= steps; ++i) {
    if (!running.sleep(std::chrono::milliseconds(delay))) return;
    running.progress(i, steps);
  }
  running.answer(text_result("done after " + std::to_string(steps) + " steps"));
}

void large(call& running) {
  running.answer(text_result(std::string(static_cast<std::size_t>(number(running, "bytes", 5000000)), 'x')));
}

json schema(json properties) { return {{"type", "object"}, {"properties", std::move(properties)}}; }
json integer(int from, int to) { return {{"type", "integer"}, {"minimum", from}, {"maximum", to}}; }
json text() { return {{"type", "string"}}; }

}  // namespace

const std::vector<tool>& all_tools() {
  static const std::vector<tool> tools{
      {"test_reconnection", "Closes its connection, then has a result.", schema(json::object()), test_reconnection},
      {"burst", "Sends n log messages on the stream of the request.",
       schema({{"n", integer(0, 1000000)}, {"delay", integer(0, 60000)}, {"tag", text()}}), burst},
      {"notify", "Sends n log messages on the standalone stream.",
       schema({{"n", integer(0, 1000000)}, {"tag", text()}}), notify},
      {"slow", "Takes its time, and reports progress.",
       schema({{"steps", integer(0, 1000)}, {"delay", integer(0, 60000)}}), slow},
      {"large", "Has a result of that many bytes.", schema({{"bytes", integer(0, 100000000)}}), large},
  };
  return tools;
}

const tool* find_tool(const std::string& name) {
  for (const tool& each : all_tools()) {
    if (each.name == name) return &each;
  }
  return nullptr;
}

std::optional<std::string> complaint_about(const tool& asked, const json& arguments) {
  if (!arguments.is_object()) return "arguments must be an object";
  for (const auto& [name, property] : asked.input_schema["properties"].items()) {
    if (!arguments.contains(name)) continue;
    const json& value = arguments[name];
    if (property["type"] == "string") {
      if (!value.is_string()) return name + " must be a string";
      continue;
    }
    const bool is_within = value.is_number_integer() && value >= property["minimum"] && value <= property["maximum"];
    if (!is_within) {
      return name + " must be an integer from " + property["minimum"].dump() + " to " + property["maximum"].dump();
    }
  }
  return std::nullopt;
}

// ---- A call ----

call::call(hub& all, std::string session_id, mcp_resume::stream_handle stream)
    : all_(all), session_id_(std::move(session_id)), stream_(stream), changes_(all.all_bells.of(session_id_)) {}

std::optional<json> call::run(const json& request) {
  params_ = params_of(request);
  arguments_ = params_.value("arguments", json::object());
  result_.reset();
  find_tool(params_["name"].get<std::string>())->run(*this);
  if (!result_) return std::nullopt;
  return response_of(request["id"], *result_);
}

void call::finish(const json& label, const json& answer) {
  if (all_.sessions.finish(stream_, text_of(answer)).why == refusal::too_large) {
    const json errors = errors_for(label, -32603, "The answer is larger than what the server can hold.");
    all_.sessions.finish(stream_, text_of(errors));
  }
  changes_->ring();
}

void call::append(const mcp_resume::stream_handle& stream, const std::string& message) {
  const appended done = all_.sessions.append(stream, message);
  is_abandoned_ = is_abandoned_ || done.why == refusal::gone;
  changes_->ring();
  constexpr std::chrono::milliseconds pause{10};
  const bool is_reader_slow = done.unread > all_.bounds().max_events / 2;
  if (!is_reader_slow || patience_ < pause) return;
  patience_ -= pause;
  all_.pause(pause);
}

void call::notify(const std::string& method, const json& params) {
  append(stream_, text_of({{"jsonrpc", "2.0"}, {"method", method}, {"params", params}}));
}

void call::notify_standalone(const std::string& method, const json& params) {
  const auto standalone = all_.sessions.standalone(session_id_);
  if (!standalone) return;
  append(*standalone, text_of({{"jsonrpc", "2.0"}, {"method", method}, {"params", params}}));
}

void call::progress(int done, int total) {
  const json meta = params_.value("_meta", json());
  if (!meta.contains("progressToken") || !is_request_id(meta["progressToken"])) return;
  notify("notifications/progress", {{"progressToken", meta["progressToken"]}, {"progress", done}, {"total", total}});
}

void call::close_connection() {
  *is_to_close_ = true;
  changes_->ring();
}

bool call::sleep(std::chrono::milliseconds time) const { return all_.pause(time) && !is_abandoned_; }

}  // namespace example
