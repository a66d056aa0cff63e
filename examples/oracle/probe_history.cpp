// SPDX-License-Identifier: MIT
#include "probe_history.hpp"

#include <nlohmann/json.hpp>
#include "../bounded_json.hpp"

namespace oracle {
namespace {

using nlohmann::json;

std::string text_in(const json& object, const char* name) {
  const auto found = object.is_object() ? object.find(name) : object.end();
  return object.is_object() && found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

json member(const json& object, const char* name) {
  return object.is_object() && object.contains(name) ? object[name] : json();
}

// What a tool says went wrong: the text of its first content.
std::string text_of_content(const json& result) {
  const json content = member(result, "content");
  const std::string text = content.is_array() && !content.empty() ? text_in(content[0], "text") : "";
  return text.empty() ? "the tool's result is an error" : text;
}

}  // namespace

std::optional<json_rpc_response> response_in(std::string_view json_text) {
  const json message = example::parse_bounded(json_text);
  const json id = member(message, "id"), result = member(message, "result"), error = member(message, "error");
  if (!id.is_number_integer() || (result.is_null() && error.is_null())) return std::nullopt;
  json_rpc_response found;
  found.id = id.get<long>();
  found.protocol_version = text_in(result, "protocolVersion");
  if (!error.is_null()) found.error = text_in(error, "message");
  if (!error.is_null() && found.error.empty()) found.error = "an error without a message";
  if (member(result, "isError") == json(true)) found.error = text_of_content(result);
  return found;
}

bool is_event(const trace_frame& frame) { return frame.event.empty() && frame.data && !frame.data->empty(); }

void probe_history::append(trace_step step) {
  step.line = recorded_.steps.size() + 2;  // the first line of the file names the server
  recorded_.steps.push_back(std::move(step));
}

trace_step& probe_history::add(trace_op op, const std::string& session, const std::string& stream) {
  trace_step step;
  step.op = op;
  step.session = session;
  step.stream = stream;
  append(std::move(step));
  return recorded_.steps.back();
}

void probe_history::begin_session(const std::string& session) { add(trace_op::session, session, ""); }

void probe_history::begin_stream(const std::string& session, const std::string& stream) {
  add(trace_op::stream, session, stream);
}

void probe_history::add_event(const std::string& session, const std::string& stream, const trace_frame& frame) {
  trace_step& step = add(trace_op::event, session, stream);
  step.frame = frame;
  step.is_answer = is_event(frame) && response_in(*frame.data).has_value();
  streams_[{session, stream}].push_back(frame);
  if (frame.id) ids_.insert(*frame.id);
}

void probe_history::issued(const std::string& session, const std::string& stream,
                           const std::vector<trace_frame>& frames) {
  for (const trace_frame& each : frames) {
    const bool is_new_marker = each.event.empty() && each.id && !knows(*each.id);
    if (is_event(each) || is_new_marker) add_event(session, stream, each);
  }
}

void probe_history::learned(const std::string& session, const std::string& stream,
                            const std::vector<trace_frame>& frames) {
  for (const trace_frame& each : frames) {
    if (is_event(each) && each.id && !knows(*each.id)) add_event(session, stream, each);
  }
}

void probe_history::dropped(const std::string& session, const std::string& stream, const std::string& id) {
  trace_step& step = add(trace_op::drop, session, stream);
  if (knows(id)) step.id = id;
}

void probe_history::lost(const std::string& session, const std::string& stream, const std::string& id) {
  add(trace_op::lost, session, stream).id = id;
}

void probe_history::ended(const std::string& session) { add(trace_op::end, session, ""); }

std::size_t probe_history::resumed(trace_step step) {
  step.op = trace_op::resume;
  append(std::move(step));
  return recorded_.steps.size() - 1;
}

std::vector<trace_frame> probe_history::frames(const std::string& session, const std::string& stream) const {
  const auto found = streams_.find({session, stream});
  return found == streams_.end() ? std::vector<trace_frame>() : found->second;
}

std::vector<std::string> probe_history::ids(const std::string& session, const std::string& stream) const {
  std::vector<std::string> found;
  for (const trace_frame& each : frames(session, stream)) {
    if (each.id && !each.id->empty()) found.push_back(*each.id);
  }
  return found;
}

std::vector<std::string> probe_history::owed(const std::string& session, const std::string& stream,
                                             const std::string& id) const {
  std::vector<std::string> found;
  bool is_after = false;
  for (const trace_frame& each : frames(session, stream)) {
    if (is_after && is_event(each) && each.id) found.push_back(*each.id);
    is_after = is_after || each.id == id;
  }
  return found;
}

}  // namespace oracle
