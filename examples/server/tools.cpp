// SPDX-License-Identifier: MIT
#include "tools.hpp"

#include <exception>
#include <utility>

#include "json_rpc.hpp"

namespace example {
namespace {

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
    if (!running.notify("notifications/message", log_message("burst " + tag + " " + std::to_string(i)))) return;
  }
  running.answer(text_result("burst " + tag + " done " + std::to_string(n)));
}

void notify(call& running) {
  const int n = number(running, "n", 1);
  const std::string tag = running.arguments().value("tag", "");
  for (int i = 1; i <= n; ++i) {
    const json message = log_message("notify " + tag + " " + std::to_string(i));
    if (!running.notify_standalone("notifications/message", message)) return;
  }
  running.answer(text_result("notify " + tag + " done " + std::to_string(n)));
}

void slow(call& running) {
  const int steps = number(running, "steps", 5), delay = number(running, "delay", 200);
  for (int i = 1; i <= steps; ++i) {
    if (!running.sleep(std::chrono::milliseconds(delay)) || !running.progress(i, steps)) return;
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
      {"large", "Has a result of that many bytes.", schema({{"bytes", integer(0, 10000000)}}), large},
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

call::call(hub& sessions, std::string session_id, mcp_resume::stream_handle stream,
           std::shared_ptr<std::atomic<bool>> is_to_close)
    : hub_(sessions), session_id_(std::move(session_id)), stream_(stream), is_to_close_(std::move(is_to_close)) {}

call::~call() {
  for (const auto& [id, mark] : marks_) hub_.owner_of(session_id_)->requests.end(id, mark);
}

void call::begin(const std::vector<json>& requests) {
  for (const json& each : requests) {
    const std::string id = text_of(each["id"]);
    marks_[id] = hub_.owner_of(session_id_)->requests.begin(id);
  }
}

std::optional<json> call::run(const json& request) {
  current_ = marks_[text_of(request["id"])];
  if (is_cancelled()) return std::nullopt;
  params_ = params_of(request);
  arguments_ = params_.value("arguments", json::object());
  result_.reset();
  try {
    find_tool(params_["name"].get<std::string>())->run(*this);
  } catch (const std::exception&) {
    return error_of(request["id"], -32603, "The tool has failed.");
  }
  if (!result_ || is_cancelled()) return std::nullopt;
  return response_of(request["id"], *result_);
}

void call::finish(const json& label, const json& answer) { hub_.finish(session_id_, stream_, label, answer); }

bool call::note(const mcp_resume::appended& done) {
  is_abandoned_ = is_abandoned_ || hub_.is_stopping() || done.why == refusal::gone;
  constexpr std::chrono::milliseconds pause{10};
  const bool is_reader_slow = done.unread > hub_.bounds().max_events / 2 || done.evicted_unread != 0;
  if (is_reader_slow && patience_ >= pause) {
    patience_ -= pause;
    hub_.pause(pause);
  }
  return is_wanted();
}

// Looks up often: whoever cancels does not wait for a tool that sleeps.
bool call::sleep(std::chrono::milliseconds time) const {
  constexpr std::chrono::milliseconds look{50};
  for (; time > look && is_wanted(); time -= look) {
    if (!hub_.pause(look)) return false;
  }
  return is_wanted() && hub_.pause(time) && is_wanted();
}

bool call::notify(const std::string& method, const json& params) {
  const std::string message = text_of({{"jsonrpc", "2.0"}, {"method", method}, {"params", params}});
  return note(hub_.append(session_id_, stream_, message));
}

bool call::notify_standalone(const std::string& method, const json& params) {
  const std::string message = text_of({{"jsonrpc", "2.0"}, {"method", method}, {"params", params}});
  return note(hub_.append_standalone(session_id_, message));
}

bool call::progress(int done, int total) {
  const json meta = params_.value("_meta", json());
  if (!meta.contains("progressToken") || !is_request_id(meta["progressToken"])) return is_wanted();
  return notify("notifications/progress",
                {{"progressToken", meta["progressToken"]}, {"progress", done}, {"total", total}});
}

void call::close_connection() {
  *is_to_close_ = true;
  hub_.ring(session_id_);
}

}  // namespace example
