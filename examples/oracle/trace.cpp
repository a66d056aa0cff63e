// SPDX-License-Identifier: MIT
// Reads and writes traces. Reading is strict: what is not understood is an error with its line and field, not ignored.
#include "trace.hpp"

#include <fmt/format.h>

#include <istream>
#include <iterator>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>
#include <string_view>
#include <utility>

#include "../strict_json.hpp"
#include "input_error.hpp"
#include "quote.hpp"
#include "report_text.hpp"

namespace oracle {
namespace {

using json = nlohmann::json;  // not ordered_json, whose objects cost the square of their size

constexpr std::size_t most_lines = 1000000;
constexpr std::size_t most_line_bytes = std::size_t{16} << 20U;
constexpr std::size_t most_bytes = std::size_t{1} << 30U;
constexpr std::size_t most_name_bytes = 1024;

struct op_word {
  std::string_view name;
  std::string_view fields;
};
// In the order of trace_op.
constexpr op_word ops[] = {{"session", "op session"},
                           {"stream", "op session stream"},
                           {"event", "op session stream frame is_answer"},
                           {"drop", "op session stream id"},
                           {"resume", "op session as last_event_id status frames has_ended waited_ms"},
                           {"end", "op session"},
                           {"lost", "op session stream id"}};

// ---- Lines ----------------------------------------------------------------------------------------------------------

class line_reader {
 public:
  line_reader(std::istream& from, const std::string& name) : from_(from), name_(name) {}

  // The next line that is not blank; false behind the last one.
  bool next() {
    while (read_line()) {
      if (number > most_lines) throw input_error(place(), fmt::format("more than {} lines", most_lines));
      if (text.find_first_not_of(" \t\r") != std::string::npos) return true;
    }
    return false;
  }
  std::string place() const { return fmt::format("{}:{}", name_, number); }

  std::string text;
  std::size_t number = 0;

 private:
  bool read_line() {
    text.clear();
    ++number;
    for (char part[8192];;) {
      from_.getline(part, sizeof part);
      if (from_.bad()) throw input_error(name_, "cannot be read");
      const bool has_line_end = from_.good();
      text.append(part, static_cast<std::size_t>(from_.gcount()) - (has_line_end ? 1 : 0));
      bytes_ += static_cast<std::size_t>(from_.gcount());
      if (text.size() > most_line_bytes) throw input_error(place(), "longer than 16 MiB");
      if (bytes_ > most_bytes) throw input_error(place(), "more than 1 GiB up to here");
      if (has_line_end) return true;
      if (from_.eof()) return !text.empty();
      from_.clear();  // the part is full
    }
  }

  std::istream& from_;
  const std::string& name_;
  std::size_t bytes_ = 0;
};

json parse_line(const std::string& text, const std::string& place) {
  try {
    return example::parse_strictly(text);
  } catch (const example::json_error& e) {
    throw input_error(place, printable(e.what()));
  }
}

// ---- Fields ---------------------------------------------------------------------------------------------------------

// The fields of one object. Each getter names the field that is wrong.
class fields {
 public:
  // `prefix` stands before each name: "frame.", "frames[3].".
  fields(const json& object, const std::string& place, std::string prefix = "")
      : object_(object), place_(place), prefix_(std::move(prefix)) {
    if (object.is_object()) return;
    const std::string what = prefix_.empty() ? "" : prefix_.substr(0, prefix_.size() - 1) + ": ";
    throw input_error(place_, what + "must be an object");
  }

  [[noreturn]] void fail(std::string_view field, std::string_view complaint) const {
    throw input_error(place_, fmt::format("{}{}: {}", prefix_, field, complaint));
  }

  // Fails on a field that is not among those words.
  void allow(std::string_view words) const {
    const std::string padded = fmt::format(" {} ", words);
    for (auto each = object_.begin(); each != object_.end(); ++each) {
      if (each.key().find(' ') == std::string::npos && padded.find(" " + each.key() + " ") != std::string::npos)
        continue;
      throw input_error(place_, fmt::format("{}{}: unknown field; known are {}", prefix_,
                                            shortened(printable(each.key().substr(0, 200)), 60), words));
    }
  }

  const json* find(const char* field) const {
    const auto found = object_.find(field);
    return found == object_.end() ? nullptr : &*found;
  }
  const json& at(const char* field) const {
    if (const json* found = find(field)) return *found;
    fail(field, "is missing");
  }
  std::string text(const char* field, std::size_t most = most_line_bytes) const {
    const json& value = at(field);
    if (!value.is_string()) fail(field, "must be a string");
    if (value.get_ref<const std::string&>().size() > most) fail(field, fmt::format("is longer than {} bytes", most));
    return value.get<std::string>();
  }
  std::optional<std::string> optional_text(const char* field, std::size_t most = most_line_bytes) const {
    return find(field) == nullptr ? std::nullopt : std::optional<std::string>(text(field, most));
  }
  bool flag(const char* field) const {
    const json* value = find(field);
    if (value != nullptr && !value->is_boolean()) fail(field, "must be true or false");
    return value != nullptr && value->get<bool>();
  }
  std::uint64_t number(const char* field, std::uint64_t most) const {
    const json& value = at(field);
    const bool is_whole = value.is_number_unsigned() && value.get<std::uint64_t>() <= most;
    if (!is_whole) fail(field, fmt::format("must be a whole number from 0 to {}", most));
    return value.get<std::uint64_t>();
  }

 private:
  const json& object_;
  const std::string& place_;
  const std::string prefix_;
};

trace_frame frame_of(const json& value, const std::string& place, std::string prefix) {
  const fields from(value, place, std::move(prefix));
  from.allow("id data event");
  trace_frame frame;
  frame.id = from.optional_text("id");
  frame.data = from.optional_text("data");
  frame.event = from.optional_text("event", most_name_bytes).value_or("");
  return frame;
}

// ---- Steps ----------------------------------------------------------------------------------------------------------

class step_reader {
 public:
  trace_step read(const json& line, const std::string& place, std::size_t number) {
    const fields from(line, place);
    trace_step step;
    step.line = number;
    step.op = op_of(from);
    from.allow(ops[static_cast<std::size_t>(step.op)].fields);
    read_names(from, step);
    if (step.op == trace_op::event) read_event(from, place, step);
    if (step.op == trace_op::drop) read_drop(from, step);
    if (step.op == trace_op::lost) read_lost(from, step);
    if (step.op == trace_op::resume) read_resume(from, place, step);
    return step;
  }

 private:
  struct known_session {
    std::set<std::string> streams{""};
    std::set<std::string> ids;                             // that a client may have
    std::set<std::pair<std::string, std::string>> issued;  // stream and id
    bool has_ended = false;
  };

  static trace_op op_of(const fields& from) {
    const std::string word = from.text("op");
    for (std::size_t i = 0; i != std::size(ops); ++i) {
      if (ops[i].name == word) return static_cast<trace_op>(i);
    }
    std::string known;
    for (const op_word& each : ops) known.append(known.empty() ? "" : " ").append(each.name);
    from.fail("op", in_quotes(word) + " is none of " + known);
  }

  void read_names(const fields& from, trace_step& step) {
    step.session = from.text("session", most_name_bytes);
    if (step.op == trace_op::session) return open_session(from, step.session);
    const auto found = sessions_.find(step.session);
    if (found == sessions_.end()) from.fail("session", in_quotes(step.session) + " did not begin before this line");
    session_ = &found->second;
    if (step.op == trace_op::end && std::exchange(session_->has_ended, true)) from.fail("session", "has ended before");
    if (step.op == trace_op::resume || step.op == trace_op::end) return;
    step.stream = from.text("stream", most_name_bytes);
    if (step.op == trace_op::stream) return open_stream(from, step.stream);
    if (session_->streams.count(step.stream) != 0) return;
    from.fail("stream", in_quotes(step.stream) + " did not begin before this line");
  }

  void open_session(const fields& from, const std::string& name) {
    if (name.empty()) from.fail("session", "must not be empty");
    const bool is_new = sessions_.emplace(name, known_session()).second;
    if (!is_new) from.fail("session", in_quotes(name) + " begins twice: a name stands for one session");
  }
  void open_stream(const fields& from, const std::string& name) {
    if (name.empty()) from.fail("stream", "\"\" is the standalone stream, which is always there");
    if (!session_->streams.insert(name).second) from.fail("stream", in_quotes(name) + " begins twice in its session");
  }

  void read_event(const fields& from, const std::string& place, trace_step& step) {
    step.frame = frame_of(from.at("frame"), place, "frame.");
    step.is_answer = from.flag("is_answer");
    if (!step.frame.id) return;
    session_->ids.insert(*step.frame.id);
    session_->issued.emplace(step.stream, *step.frame.id);
  }

  // An id that no step issued is a mistake of the recorder: it would make a client's place unknown.
  void read_drop(const fields& from, trace_step& step) {
    step.id = from.optional_text("id");
    if (!step.id || session_->ids.count(*step.id) != 0) return;
    from.fail("id", in_quotes(*step.id) + " is in no event or answer of this session before this line");
  }
  void read_lost(const fields& from, trace_step& step) {
    step.id = from.text("id");
    if (session_->issued.count({step.stream, *step.id}) != 0) return;
    from.fail("id", in_quotes(*step.id) + " was not issued on this stream before this line");
  }

  void read_resume(const fields& from, const std::string& place, trace_step& step) {
    step.as = from.optional_text("as", most_name_bytes).value_or("");
    step.last_event_id = from.optional_text("last_event_id");
    step.status = static_cast<int>(from.number("status", 599));
    if (step.status != 0 && step.status < 100) from.fail("status", "must be 0 (no answer) or from 100 to 599");
    step.has_ended = from.flag("has_ended");
    if (from.find("waited_ms") != nullptr) {
      step.waited_ms = static_cast<unsigned>(from.number("waited_ms", std::numeric_limits<unsigned>::max()));
    }
    const json* frames = from.find("frames");
    if (frames != nullptr && !frames->is_array()) from.fail("frames", "must be a list");
    for (std::size_t i = 0; frames != nullptr && i != frames->size(); ++i) {
      step.frames.push_back(frame_of((*frames)[i], place, fmt::format("frames[{}].", i)));
      if (step.frames.back().id) session_->ids.insert(*step.frames.back().id);
    }
  }

  std::map<std::string, known_session> sessions_;
  known_session* session_ = nullptr;  // of the present line
};

std::string server_of(const json& line, const std::string& place) {
  const fields from(line, place);
  if (from.find("trace") == nullptr)
    from.fail("trace", "is missing: the first line is {\"trace\": 1, \"server\": \"...\"}");
  from.allow("trace server");
  if (*from.find("trace") != json(1)) from.fail("trace", "must be 1, the version of the format");
  return from.text("server", most_name_bytes);
}

// ---- Writing --------------------------------------------------------------------------------------------------------

using written = nlohmann::ordered_json;

written written_frame(const trace_frame& frame) {
  written out = written::object();
  if (frame.id) out["id"] = *frame.id;
  if (!frame.event.empty()) out["event"] = frame.event;
  if (frame.data) out["data"] = *frame.data;
  return out;
}

void add_answer(written& out, const trace_step& step) {
  if (!step.as.empty()) out["as"] = step.as;
  if (step.last_event_id) out["last_event_id"] = *step.last_event_id;
  out["status"] = step.status;
  written frames = written::array();
  for (const trace_frame& each : step.frames) frames.push_back(written_frame(each));
  out["frames"] = std::move(frames);
  out["has_ended"] = step.has_ended;
  out["waited_ms"] = step.waited_ms;
}

written written_step(const trace_step& step) {
  written out = {{"op", ops[static_cast<std::size_t>(step.op)].name}, {"session", step.session}};
  const bool has_stream = step.op != trace_op::session && step.op != trace_op::resume && step.op != trace_op::end;
  if (has_stream) out["stream"] = step.stream;
  if (step.op == trace_op::event) out["frame"] = written_frame(step.frame);
  if (step.is_answer) out["is_answer"] = true;
  if (step.id) out["id"] = *step.id;
  if (step.op == trace_op::resume) add_answer(out, step);
  return out;
}

}  // namespace

trace read_trace(std::istream& from, const std::string& name) {
  trace read;
  read.name = name;
  line_reader lines(from, name);
  if (!lines.next()) throw input_error(name, "holds no trace");
  const std::string first = lines.place();
  read.server = server_of(parse_line(lines.text, first), first);
  step_reader steps;
  while (lines.next()) {
    const std::string place = lines.place();
    read.steps.push_back(steps.read(parse_line(lines.text, place), place, lines.number));
  }
  return read;
}

// Bytes that are no UTF-8 become U+FFFD: JSON cannot hold them.
void write_trace(std::ostream& to, const trace& recorded) {
  const auto put = [&to](const written& line) {
    to << line.dump(-1, ' ', false, written::error_handler_t::replace) << '\n';
  };
  put({{"trace", 1}, {"server", recorded.server}});
  for (const trace_step& each : recorded.steps) put(written_step(each));
}

}  // namespace oracle
