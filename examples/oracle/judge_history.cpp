// SPDX-License-Identifier: MIT
// The history of a trace, and what a frame of an answer is in its light.
#include "judge_history.hpp"

#include <nlohmann/json.hpp>
#include <string>
#include "../bounded_json.hpp"

namespace oracle {
namespace {

std::string_view data_of(const trace_frame& frame) { return frame.data ? std::string_view(*frame.data) : ""; }

template <class Map, class Key>
std::optional<typename Map::mapped_type> found_in(const Map& map, const Key& key) {
  const auto found = map.find(key);
  return found == map.end() ? std::nullopt : std::optional<typename Map::mapped_type>(found->second);
}

// A JSON object with `error`.
bool is_json_error(std::string_view data) {
  if (data.find("\"error\"") == std::string_view::npos) return false;
  const nlohmann::json read = example::parse_bounded(data);
  return read.is_object() && read.contains("error");
}

bool is_signal(const trace_frame& frame) { return frame.event == "gap" || frame.event == "reset"; }

}  // namespace

std::optional<std::string_view> id_of(const trace_frame& frame) {
  if (!frame.id || frame.id->empty()) return std::nullopt;
  return std::string_view(*frame.id);
}

std::optional<std::string_view> issued_id_of(const trace_frame& frame) {
  return is_signal(frame) ? std::nullopt : id_of(frame);
}

bool is_marker(const trace_frame& frame) { return data_of(frame).empty() || frame.event == "resume"; }

// ---- Taking ---------------------------------------------------------------------------------------------------------

std::size_t history::session_of(std::string_view name) {
  const auto [at, is_new] = session_names_.emplace(name, sessions_.size());
  const std::size_t session = at->second;
  if (!is_new) return session;
  sessions_.push_back({name, {}, false});
  stream_of(session, "");
  return session;
}

std::size_t history::stream_of(std::size_t session, std::string_view name) {
  const auto [at, is_new] = stream_names_.emplace(std::pair(session, name), streams_.size());
  if (!is_new) return at->second;
  streams_.push_back({session, name, {}, 0, false, 0});
  sessions_[session].streams.push_back(at->second);
  return at->second;
}

void history::take(std::size_t step) {
  const trace_step& s = trace_.steps[step];
  const std::size_t session = session_of(s.session);
  if (s.op == trace_op::end) sessions_[session].has_ended = true;
  if (s.op == trace_op::session || s.op == trace_op::resume || s.op == trace_op::end) return;
  const std::size_t stream = stream_of(session, s.stream);
  if (s.op == trace_op::event) issue(step);
  if (!s.id) return;
  if (s.op == trace_op::drop) dropped_[{session, *s.id}] = stream;
  const std::optional<id_place> place = found_in(by_stream_, std::pair(stream, std::string_view(*s.id)));
  stream_history& of = streams_[stream];
  if (s.op != trace_op::lost || !place) return;
  of.has_lost = true;
  if (of.lost < place->has_until) of.lost = place->has_until;
}

// Without an id an event cannot come back: it is owed to nobody.
void history::issue(std::size_t step) {
  const trace_step& s = trace_.steps[step];
  const std::optional<std::string_view> id = issued_id_of(s.frame);
  if (!id) return;
  const std::size_t session = session_of(s.session), number = stream_of(session, s.stream);
  stream_history& stream = streams_[number];
  const bool is_event = !is_marker(s.frame);
  if (is_event) stream.events.push_back(step);
  if (is_event && s.is_answer) stream.answer = stream.events.size();
  const auto again = by_stream_.find({number, *id});
  if (!is_event && again != by_stream_.end() && again->second.step != nowhere) return;  // a marker repeats a place
  const id_place place{number, stream.events.size(), stream.events.size(), step, is_event};
  by_stream_[{number, *id}] = place;
  by_session_[{session, *id}] = place;
  by_id_.emplace(*id, place);
  by_text_.emplace(std::pair(*id, data_of(s.frame)), place);
}

void history::take_answered(std::size_t session, std::string_view id, const id_place& place) {
  if (by_id_.count(id) != 0) return;
  by_stream_.emplace(std::pair(place.stream, id), place);
  by_session_.emplace(std::pair(session, id), place);
}

// ---- Looking up -----------------------------------------------------------------------------------------------------

std::optional<id_place> history::own_place(std::size_t session, std::size_t stream, std::string_view id) const {
  std::optional<id_place> place = found_in(by_stream_, std::pair(stream, id));
  return place ? place : found_in(by_session_, std::pair(session, id));
}

std::optional<id_place> history::cursor_of(std::size_t session, std::string_view id) const {
  return own_place(session, found_in(dropped_, std::pair(session, id)).value_or(nowhere), id);
}

std::optional<id_place> history::first_issued(std::string_view id) const { return found_in(by_id_, id); }

// Where two issued the same id, the data tell whose event it is.
std::optional<id_place> history::place_of_event(const trace_frame& frame, std::size_t session,
                                                std::size_t stream) const {
  const std::string_view id = *frame.id, data = data_of(frame);
  const std::optional<id_place> own = own_place(session, stream, id);
  const bool is_same = own && own->step != nowhere && data_of(trace_.steps[own->step].frame) == data;
  if (is_same) return own;
  const std::optional<id_place> same_text = found_in(by_text_, std::pair(id, data));
  if (same_text) return same_text;
  return own ? own : first_issued(id);
}

known_frame history::recognise(const trace_frame& frame, std::size_t session, std::size_t stream) const {
  const std::optional<std::string_view> id = id_of(frame);
  if (is_signal(frame)) return {frame_kind::signal, std::nullopt};
  if (is_marker(frame) && !id) return {};
  if (is_marker(frame)) return {frame_kind::marker, own_place(session, stream, *id)};
  const std::optional<id_place> place = id ? place_of_event(frame, session, stream) : std::nullopt;
  const bool is_issued = place && place->step != nowhere;
  if (is_issued) return {place->is_event ? frame_kind::event : frame_kind::marker, place};
  return {is_json_error(data_of(frame)) ? frame_kind::error : frame_kind::event, std::nullopt};
}

}  // namespace oracle
