// SPDX-License-Identifier: MIT
// The JSON form of a state. What is not understood is an error with its field, never ignored.
#include "state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <utility>

#include "../strict_json.hpp"
#include "input_error.hpp"
#include "report_text.hpp"
#include "text.hpp"

namespace oracle {

namespace mr = mcp_resume;

mr::resolution decide_for(const server_state& held, const mr::request& asked, mr::after_gap rule) {
  const auto named = std::find_if(held.sessions.begin(), held.sessions.end(), [&](const server_session& s) {
    return s.life == session_life::live && s.id == asked.session_id.view();
  });
  if (named == held.sessions.end()) {
    return resolve_resume(
        asked, nullptr, [](std::uint32_t) { return mr::stream_facts{}; }, held.supported);
  }
  const mr::session_facts known{named->id,    named->principal,         named->negotiated,
                                named->owner, named->standalone_reader, rule};
  const auto facts_of = [&](std::uint32_t number) {
    for (const server_stream& each : named->streams) {
      if (each.number == number) return each.facts;
    }
    return mr::stream_facts{};
  };
  return resolve_resume(asked, &known, facts_of, held.supported);
}

// ---- Out ------------------------------------------------------------------------------------------------------------

nlohmann::json json_of(std::uint64_t number) {
  if (number > std::uint64_t{1} << 53U) return std::to_string(number);
  return number;
}

namespace {

std::string tag_text(std::uint64_t tag) { return fmt::format("{:016x}", tag); }

nlohmann::json json_of_stream(const server_stream& stream, mr::tags owner) {
  nlohmann::json out{{"number", stream.number}, {"state", word_of(stream.facts.state)}};
  if (stream.facts.state == mr::stream_fact::forgotten) return out;
  out["first"] = json_of(stream.facts.window.first);
  out["next"] = json_of(stream.facts.window.next);
  out["events"] = nlohmann::json::array();
  for (std::uint64_t seq = stream.facts.window.first; seq != stream.facts.window.next; ++seq) {
    out["events"].push_back(to_string(mr::event_id{owner, stream.number, seq}));
  }
  if (stream.number == 0) out["read_mark"] = json_of(stream.facts.read_mark);
  return out;
}

nlohmann::json json_of_session(const server_session& session) {
  nlohmann::json out{{"id", session.id}, {"principal", session.principal}, {"state", word_of(session.life)}};
  if (session.life != session_life::live) return out;
  out["version"] = to_string(session.negotiated);
  out["tags"] = {{"session", tag_text(session.owner.session)}, {"incarnation", tag_text(session.owner.incarnation)}};
  out["standalone_reader"] = session.standalone_reader == mr::reader_fact::live;
  out["streams"] = nlohmann::json::array();
  for (const server_stream& each : session.streams) out["streams"].push_back(json_of_stream(each, session.owner));
  return out;
}

}  // namespace

nlohmann::json json_of(const server_state& state) {
  nlohmann::json out{{"sessions", nlohmann::json::array()}, {"supported", nlohmann::json::array()}};
  for (std::size_t i = 0; i != mr::protocol_count; ++i) {
    const auto version = static_cast<mr::protocol>(i);
    if (state.supported.contains(version)) out["supported"].push_back(to_string(version));
  }
  for (const server_session& each : state.sessions) out["sessions"].push_back(json_of_session(each));
  return out;
}

// ---- In -------------------------------------------------------------------------------------------------------------

namespace {

using nlohmann::json;

// What is wrong, behind the path of its object: "sessions[0].streams[1]: `first` is missing".
struct field_error : std::runtime_error {
  field_error(const std::string& path, const std::string& what)
      : std::runtime_error(path.empty() ? what : path + ": " + what) {}
};

// One object of a state.
class object_reader {
 public:
  object_reader(const json& object, std::string path, std::string_view allowed)
      : object_(object), path_(std::move(path)) {
    if (!object.is_object()) complain("must be an object");
    allow(allowed);
  }
  void allow(std::string_view keys) const {
    const std::string padded = fmt::format(" {} ", keys);
    for (auto each = object_.begin(); each != object_.end(); ++each) {
      if (padded.find(" " + each.key() + " ") == std::string::npos)
        complain(fmt::format("unknown field `{}`", each.key()));
    }
  }
  [[noreturn]] void complain(const std::string& what) const { throw field_error(path_, what); }
  std::string path_of(const std::string& key) const { return path_.empty() ? key : path_ + "." + key; }
  bool has(const char* key) const { return object_.contains(key); }
  const json& at(const char* key) const {
    if (!has(key)) complain(fmt::format("`{}` is missing", key));
    return object_.at(key);
  }
  std::string text(const char* key) const {
    if (!at(key).is_string()) complain(fmt::format("`{}` must be a string", key));
    return at(key).get<std::string>();
  }
  std::uint64_t number(const char* key, std::uint64_t most) const {
    std::optional<std::uint64_t> value;
    if (at(key).is_number_unsigned()) value = at(key).get<std::uint64_t>();
    if (at(key).is_string()) value = parse_whole(at(key).get_ref<const std::string&>());
    if (!value || *value > most) complain(fmt::format("`{}` must be a whole number from 0 to {}", key, most));
    return *value;
  }
  bool flag_or_false(const char* key) const {
    if (!has(key)) return false;
    if (!at(key).is_boolean()) complain(fmt::format("`{}` must be true or false", key));
    return at(key).get<bool>();
  }
  template <class Word>
  Word word_or(const char* key, Word absent) const {
    const std::optional<Word> found = has(key) ? fact_of<Word>(text(key)) : absent;
    if (!found) complain(fmt::format("`{}` must be {}", key, listed(fact_words<Word>::all)));
    return *found;
  }
  std::uint64_t tag(const char* key) const {
    const std::string digits = text(key);
    const bool is_hex = digits.size() == 16 && digits.find_first_not_of("0123456789abcdef") == std::string::npos;
    if (!is_hex) complain(fmt::format("`{}` must be 16 lower-case hex digits", key));
    std::uint64_t value = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    return value;
  }
  // Calls `call(element, its path)` for a list that may be absent.
  template <class Call>
  void for_each_of(const char* key, Call call) const {
    if (!has(key)) return;
    if (!at(key).is_array()) complain(fmt::format("`{}` must be a list", key));
    std::size_t i = 0;
    for (const json& each : at(key)) call(each, fmt::format("{}[{}]", path_of(key), i++));
  }

 private:
  const json& object_;
  std::string path_;
};

// The ids say nothing that the window does not: they must agree with it.
void check_events(const object_reader& in, mr::event_id expected, mr::window window) {
  if (!in.has("events")) return;
  std::uint64_t count = 0;
  in.for_each_of("events", [&](const json& each, const std::string& path) {
    if (count == window.next - window.first) throw field_error(path, "is not in [first, next)");
    expected.seq = window.first + count++;
    if (each != to_string(expected)) throw field_error(path, "must be \"" + to_string(expected) + "\"");
  });
  if (count != window.next - window.first) in.complain("`events` must hold every event of [first, next)");
}

server_stream read_stream(const json& object, const std::string& path, mr::tags owner) {
  const object_reader in(object, path, "number state first next events read_mark");
  server_stream out;
  out.number = static_cast<std::uint32_t>(in.number("number", 0xFFFFFFFFU));
  out.facts.state = in.word_or("state", mr::stream_fact::open);
  if (out.facts.state == mr::stream_fact::never_opened) in.complain("leave out a stream that was never opened");
  if (out.number == 0 && out.facts.state != mr::stream_fact::open) in.complain("stream 0 is always open");
  if (out.facts.state == mr::stream_fact::forgotten) {
    in.allow("number state");
    return out;
  }
  if (out.number != 0) in.allow("number state first next events");
  constexpr std::uint64_t last_next = mr::event_id::last_seq + 1;
  out.facts.window = {in.number("first", last_next), in.number("next", last_next)};
  const mr::window window = out.facts.window;
  if (window.first == 0 || window.first > window.next) in.complain("`first` must be from 1 to `next`");
  if (in.has("read_mark")) out.facts.read_mark = in.number("read_mark", window.next - 1);
  check_events(in, {owner, out.number, 0}, window);
  return out;
}

mr::protocol read_version(const json& text, const std::string& path) {
  const auto version = text.is_string() ? mr::parse_protocol(text.get_ref<const std::string&>()) : std::nullopt;
  if (!version) throw field_error(path, "must be a known protocol version, for example \"2025-11-25\"");
  return *version;
}

std::vector<server_stream> read_streams(const object_reader& in, mr::tags owner) {
  std::vector<server_stream> out;
  std::set<std::uint32_t> numbers;
  in.for_each_of("streams", [&](const json& each, const std::string& path) {
    out.push_back(read_stream(each, path, owner));
    if (!numbers.insert(out.back().number).second) throw field_error(path, "`number` stands twice");
  });
  if (numbers.count(0) == 0) out.push_back({0, {mr::stream_fact::open, {}, 0}});  // always there
  return out;
}

server_session read_session(const json& object, const std::string& path) {
  const object_reader in(object, path, "id principal version tags state standalone_reader streams");
  server_session out;
  out.id = in.text("id");
  if (out.id.empty()) in.complain("`id` must not be empty");
  if (in.has("principal")) out.principal = in.text("principal");
  out.life = in.word_or("state", session_life::live);
  if (out.life != session_life::live) {
    in.allow("id principal state");
    return out;
  }
  out.negotiated = read_version(in.at("version"), in.path_of("version"));
  if (is_stateless(out.negotiated)) in.complain("`version` has no sessions");
  const object_reader tags(in.at("tags"), in.path_of("tags"), "session incarnation");
  out.owner = {tags.tag("session"), tags.tag("incarnation")};
  if (in.flag_or_false("standalone_reader")) out.standalone_reader = mr::reader_fact::live;
  out.streams = read_streams(in, out.owner);
  return out;
}

mr::protocol_set read_supported(const object_reader& in) {
  if (!in.has("supported")) return {};
  std::set<mr::protocol> named;
  in.for_each_of("supported",
                 [&](const json& each, const std::string& path) { named.insert(read_version(each, path)); });
  mr::protocol_set supported;
  for (std::size_t i = 0; i != mr::protocol_count; ++i) {
    const auto version = static_cast<mr::protocol>(i);
    if (named.count(version) == 0) supported = supported.without(version);
  }
  return supported;
}

server_state state_of(const json& object) {
  const object_reader in(object, "", "sessions supported");
  server_state out;
  out.supported = read_supported(in);
  if (!in.has("sessions")) in.complain("`sessions` is missing");
  std::set<std::string> ids;
  in.for_each_of("sessions", [&](const json& each, const std::string& path) {
    out.sessions.push_back(read_session(each, path));
    if (!ids.insert(out.sessions.back().id).second) throw field_error(path, "`id` stands twice");
  });
  return out;
}

}  // namespace

server_state read_state(std::string_view text, const std::string& name) {
  try {
    return state_of(example::parse_strictly(text));
  } catch (const example::json_error& e) {
    throw input_error(printable(name), printable(e.what()));
  } catch (const field_error& e) {
    throw input_error(printable(name), printable(std::string_view(e.what()).substr(0, 300)));
  }
}

}  // namespace oracle
