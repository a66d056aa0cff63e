// SPDX-License-Identifier: MIT
// What a trace has said so far: who issued which id where, what is lost, who has ended. Each look-up costs a logarithm.
#ifndef MCP_RESUME_EXAMPLES_JUDGE_HISTORY_HPP
#define MCP_RESUME_EXAMPLES_JUDGE_HISTORY_HPP

#include <cstddef>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "judge.hpp"
#include "trace.hpp"

namespace oracle {

inline constexpr std::size_t nowhere = ~std::size_t{0};
inline constexpr unsigned long_enough_ms = 1000;  // what has not come until then is taken as not coming

// A place in a stream, by the numbers 1, 2, 3, ... of the stream's events. A step that issued the id says exactly where
// it is. One that only an answer named (its marker) lies between two places: behind what came before it, and before
// what was issued later.
struct id_place {
  std::size_t stream = nowhere;  // of history::streams
  std::size_t has_until = 0;     // a client with this id has the events up to this one
  std::size_t owed_after = 0;    // and is owed those behind this one
  std::size_t step = nowhere;    // that issued it
  bool is_event = false;         // not a marker
};

struct stream_history {
  std::size_t session = 0;  // of history::sessions
  std::string_view name;
  std::vector<std::size_t> events;  // steps; the event of number n is the element n - 1
  std::size_t lost = 0;             // the server holds none up to this number
  bool has_lost = false;            // also where no event was there to be lost
  std::size_t answer = 0;           // number of the response, 0 before it
};

struct session_history {
  std::string_view name;
  std::vector<std::size_t> streams;  // of history::streams, the standalone one first
  bool has_ended = false;
};

// What a frame of an answer is.
enum class frame_kind {
  nothing,  // neither id nor data
  signal,   // `event: gap` or `event: reset`: says that events are missing
  error,    // a JSON-RPC error that no step issued: says that the answer will not come
  marker,   // an id without an event: the place where the stream goes on
  event
};
struct known_frame {
  frame_kind kind = frame_kind::nothing;
  std::optional<id_place> place;  // none: no id, or one that nobody issued
};

// Views into the trace, which must outlive it.
class history {
 public:
  explicit history(const trace& recorded) : trace_(recorded) {}

  // Takes a step's facts, all but what a resume was answered. A name that did not begin begins here.
  void take(std::size_t step);
  // An id that was in an answer and that nobody issued. The first of its places holds.
  void take_answered(std::size_t session, std::string_view id, const id_place& place);

  std::size_t session_of(std::string_view name);
  std::size_t stream_of(std::size_t session, std::string_view name);
  const std::vector<session_history>& sessions() const { return sessions_; }
  const std::vector<stream_history>& streams() const { return streams_; }

  // Where a client of the session stands that presents this id. Where several streams issued it, the one that broke.
  std::optional<id_place> cursor_of(std::size_t session, std::string_view id) const;
  std::optional<id_place> first_issued(std::string_view id) const;  // in any session
  // Where an id was issued: on the stream, else in the session. Nobody else is asked.
  std::optional<id_place> own_place(std::size_t session, std::size_t stream, std::string_view id) const;
  // A frame on an answer to the session; `stream` is what the answer should be of, or nowhere.
  known_frame recognise(const trace_frame& frame, std::size_t session, std::size_t stream) const;

 private:
  using place_map = std::map<std::pair<std::size_t, std::string_view>, id_place>;

  void issue(std::size_t step);
  std::optional<id_place> place_of_event(const trace_frame& frame, std::size_t session, std::size_t stream) const;

  const trace& trace_;
  std::vector<session_history> sessions_;
  std::vector<stream_history> streams_;
  std::map<std::string_view, std::size_t> session_names_;
  std::map<std::pair<std::size_t, std::string_view>, std::size_t> stream_names_;
  place_map by_stream_, by_session_;                                           // the newest of an id
  std::map<std::string_view, id_place> by_id_;                                 // the first
  std::map<std::pair<std::string_view, std::string_view>, id_place> by_text_;  // of an id and its data, the first
  std::map<std::pair<std::size_t, std::string_view>, std::size_t> dropped_;    // session and id: the stream
};

// An id that can be presented: there and not empty.
std::optional<std::string_view> id_of(const trace_frame& frame);

// The id of an event or marker that a step issued: a signal repeats one.
std::optional<std::string_view> issued_id_of(const trace_frame& frame);

// An id without an event: no data, or `event: resume`.
bool is_marker(const trace_frame& frame);

}  // namespace oracle

#endif  // MCP_RESUME_EXAMPLES_JUDGE_HISTORY_HPP
