// SPDX-License-Identifier: MIT
// Promise: a scripted answer is sent byte for byte as its words say; a word that is not understood is refused by name.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "field_case_cursor.hpp"
#include "field_case_sse.hpp"
#include "field_case_world.hpp"

namespace field {

// ---- What a server answers -------------------------------------------------------------------------------------------

struct scripted_bytes {
  std::uint64_t after_ms = 0;  // the bytes before
  std::string bytes;
};

struct scripted_answer {
  int status = 0;  // 0: no answer
  std::string content_type, session_id;
  std::uint64_t retry_after_ms = 0;
  std::vector<scripted_bytes> sent;  // of the body; the last one may be the time before its end
  bool is_kept_open = false;
};

// The answers of the server, in order for each method.
class scripted_server {
 public:
  void add(const std::string& method, scripted_answer answer, std::uint64_t times) {
    scripts_[method].push_back({std::move(answer), times, times, ++steps_});
  }
  // The answer stays where it is.
  const scripted_answer& next(const std::string& method, std::uint64_t at_ms) {
    for (script& each : scripts_[method]) {
      if (each.left == 0) continue;
      --each.left;
      return each.answer;
    }
    throw case_error("the client sends a " + method + " after " + std::to_string(at_ms) +
                     " ms, and no server_script is left for it");
  }
  // The first `server_script` of which no answer was given, counted from 1; 0: none.
  std::size_t unused() const {
    for (const auto& [method, scripts] : scripts_) {
      for (const script& each : scripts) {
        if (each.left == each.times) return each.step;
      }
    }
    return 0;
  }

 private:
  struct script {
    scripted_answer answer;
    std::uint64_t times, left;
    std::size_t step;
  };
  std::map<std::string, std::deque<script>> scripts_;
  std::size_t steps_ = 0;
};

// ---- Words of an answer ----------------------------------------------------------------------------------------------

// Reads what `answer` says: words parted by commas, or a list of them. The first is the head: `no answer`, or a status
// that a content type may follow (`404`, `200 event-stream`, `200 text/html; charset=utf-8`). The others are those of
// the table below. In a list a word may be an object with its argument: `{"marker": cursor}` takes a cursor in the
// language of `resume`, `{"event": cursor, "data": text}` an id that was never issued, or other data than was.
class answer_reader {
 public:
  using read_cursor = std::function<std::string(const json&)>;
  answer_reader(world& all, read_cursor cursor) : all_(all), cursor_(std::move(cursor)) {}

  scripted_answer read(const json& written) {
    const std::vector<json> all_words = parted(written);
    if (!all_words[0].is_string()) throw case_error("an answer begins with its status, or with `no answer`");
    read_head(all_words[0].get<std::string>());
    for (std::size_t i = 1; i != all_words.size(); ++i) read_word(all_words[i]);
    if (is_event_stream() && !is_over_) {
      throw case_error("an event stream ends with `clean close`, `cut` or `stays open`");
    }
    if (says_no_event_ && has_events_) throw case_error("`no event` beside an event");
    return std::move(answer_);
  }

 private:
  struct word {
    std::string_view name, argument;
    void (answer_reader::*run)(const json& argument);
  };

  static const std::array<word, 15>& words() {
    using r = answer_reader;
    static constexpr std::array<word, 15> all{{
        {"session", "a session", &r::session},        // the answer's `Mcp-Session-Id`
        {"retry-after", "seconds", &r::retry_after},  // the answer's `Retry-After`
        {"event", "an event", &r::event},             // the event with its id and the data that it was appended with
        {"message", "its data", &r::message},         // an event without an id
        {"marker", "an event", &r::marker},    // the stream goes on after it; written as its session's version has it
        {"gap", "an event", &r::gap},          // a gap frame under its id
        {"reset", "an event", &r::reset},      // a reset frame under its id
        {"retry", "milliseconds", &r::retry},  // a block with `retry:` alone
        {"comment", "", &r::comment},          // a comment line
        {"bytes", "a literal", &r::bytes},     // these bytes, as an object: {"bytes": {"raw": ...}}
        {"no event", "", &r::no_event},        // says that there is no event; it sends nothing
        {"after", "milliseconds", &r::after},  // time passes before the next word
        {"clean close", "", &r::clean_close},  // the server ends the stream
        {"cut", "", &r::cut},                  // the connection is lost, and with it the last byte that was sent
        {"stays open", "", &r::stays_open},    // the stream does not end
    }};
    return all;
  }

  // ---- Reading

  static std::string trimmed(std::string_view text) {
    const std::size_t begin = text.find_first_not_of(' ');
    if (begin == std::string_view::npos) return {};
    return std::string(text.substr(begin, text.find_last_not_of(' ') + 1 - begin));
  }

  static std::vector<json> parted(const json& written) {
    std::vector<json> out;
    if (written.is_array()) {
      out.assign(written.begin(), written.end());
    } else if (written.is_string()) {
      const std::string text = written.get<std::string>();
      for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t end = std::min(text.find(',', begin), text.size());
        out.emplace_back(trimmed(std::string_view(text).substr(begin, end - begin)));
        begin = end + 1;
      }
    }
    if (out.empty()) throw case_error("`answer` must be a text, or a list of words");
    return out;
  }

  void read_head(const std::string& head) {
    if (head == "no answer") {
      is_over_ = true;
      return;
    }
    const std::size_t blank = std::min(head.find(' '), head.size());
    const auto status = parse_number(std::string_view(head).substr(0, blank));
    if (blank != 3 || !status || *status < 100) {
      throw case_error("an answer begins with its status, or with `no answer`, not with `" + head + "`");
    }
    answer_.status = static_cast<int>(*status);
    const std::string type = trimmed(std::string_view(head).substr(blank));
    answer_.content_type = content_type_of(type);
  }

  static std::string content_type_of(const std::string& type) {
    if (type == "event-stream") return "text/event-stream";
    if (type == "json") return "application/json";
    if (type == "html") return "text/html";
    if (!type.empty() && type.find('/') == type.npos) throw case_error("unknown content type `" + type + "`");
    return type;
  }

  bool is_event_stream() const {
    std::string begin = answer_.content_type.substr(0, std::string_view("text/event-stream").size());
    for (char& c : begin) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return begin == "text/event-stream";
  }

  void read_word(const json& written) {
    if (written.is_string()) return read_text(written.get<std::string>());
    if (!written.is_object() || written.empty()) throw case_error("a word of an answer is a text or an object");
    const std::string name = written.contains("event") ? "event" : written.begin().key();
    check_keys(written, name == "event" ? "event data" : name, "answer");
    data_.reset();
    if (written.contains("data")) data_ = arguments(written).text("data");
    run(name, written.at(name));
  }

  // A name may have a blank in it; else what follows the blank is the argument.
  void read_text(const std::string& text) {
    data_.reset();
    const std::size_t blank = find(text) != nullptr ? text.size() : std::min(text.find(' '), text.size());
    const std::string argument = trimmed(std::string_view(text).substr(blank));
    run(text.substr(0, blank), argument.empty() ? json() : json(argument));
  }

  static const word* find(const std::string& name) {
    for (const word& each : words()) {
      if (each.name == name) return &each;
    }
    return nullptr;
  }

  void run(const std::string& name, const json& argument) {
    const word* known = find(name);
    if (known == nullptr) throw case_error("unknown word `" + name + "` of an answer");
    if (is_over_) throw case_error("`" + name + "` after the end of the answer");
    const bool is_alone = known->argument.empty();
    if (is_alone != argument.is_null()) {
      throw case_error("`" + name + "` " + (is_alone ? "stands alone" : "needs " + std::string(known->argument)));
    }
    (this->*known->run)(argument);
  }

  // ---- Arguments

  std::string text_of(const json& argument) const {
    if (!argument.is_string()) throw case_error("a text is expected, not " + argument.dump());
    return argument.get<std::string>();
  }
  std::uint64_t number_of(const json& argument) const {
    constexpr std::uint64_t most = 0xFFFFFFFFU;
    const auto value = as_number(argument);
    if (!value || *value > most) throw case_error("a whole number is expected, not " + argument.dump());
    return *value;
  }
  std::string id_of(const json& argument) const {
    return cursor_(argument.is_string() ? json{{"of", argument}} : argument);
  }

  // ---- The words

  void session(const json& name) { answer_.session_id = world::id_of(text_of(name)); }
  void retry_after(const json& seconds) { answer_.retry_after_ms = number_of(seconds) * 1000; }

  void event(const json& which) {
    const std::string id = id_of(which);
    const auto parsed = mr::event_id::parse(id);
    const issued_event* issued = parsed ? all_.find_event(*parsed) : nullptr;
    if (issued == nullptr && !data_) throw case_error("the event was never issued: it needs `data`");
    has_events_ = true;
    send(frame("", &id, data_ ? *data_ : issued->payload));
  }
  void message(const json& data) {
    has_events_ = true;
    send(frame("", nullptr, text_of(data)));
  }
  // The clients of versions before 2025-11-25 fail to parse empty data.
  void marker(const json& which) {
    const std::string id = id_of(which);
    const auto parsed = mr::event_id::parse(id);
    bool is_old = false;
    for (const auto& [symbol, s] : all_.sessions) {
      const bool is_its = parsed && s.tag == parsed->owner.session;
      is_old = is_old || (is_its && s.negotiated < mr::protocol::v2025_11_25);
    }
    send(is_old ? frame("resume", &id, notification("continued", id)) : frame("", &id, ""));
  }
  void gap(const json& which) { signal("gap", id_of(which)); }
  void reset(const json& which) { signal("reset", id_of(which)); }
  void signal(const std::string& name, const std::string& id) { send(frame(name, &id, notification(name, id))); }
  void retry(const json& ms) { send("retry: " + std::to_string(number_of(ms)) + "\n\n"); }
  void comment(const json&) { send(": \n"); }
  void bytes(const json& literal) {
    const auto text = literal_of(literal);
    if (!text) throw case_error("`bytes` needs a literal, not " + literal.dump());
    send(*text);
  }
  void no_event(const json&) { says_no_event_ = true; }
  void after(const json& ms) { waits_ += number_of(ms); }

  void clean_close(const json&) {
    send("");
    is_over_ = true;
  }
  void stays_open(const json&) {
    answer_.is_kept_open = true;
    is_over_ = true;
  }
  void cut(const json&) {
    for (auto each = answer_.sent.rbegin(); each != answer_.sent.rend(); ++each) {
      if (each->bytes.empty()) continue;
      each->bytes.pop_back();
      break;
    }
    clean_close({});
  }

  // ---- Frames: by the standard's text, not by the library's writer

  void send(std::string text) { answer_.sent.push_back({std::exchange(waits_, 0), std::move(text)}); }

  static std::string frame(const std::string& type, const std::string* id, const std::string& data) {
    std::string out;
    if (!type.empty()) out += "event: " + type + "\n";
    if (id != nullptr) out += "id: " + *id + "\n";
    for (const std::string& line : split_lines(data)) out += "data: " + line + "\n";
    return out + "\n";
  }
  static std::string notification(const std::string& what, const std::string& id) {
    const json told = {
        {"jsonrpc", "2.0"}, {"method", "notifications/resume/" + what}, {"params", {{"lastEventId", id}}}};
    return told.dump(-1, ' ', true, json::error_handler_t::replace);
  }

  world& all_;
  read_cursor cursor_;
  scripted_answer answer_;
  std::optional<std::string> data_;  // of the word that is read
  std::uint64_t waits_ = 0;
  bool is_over_ = false;
  bool says_no_event_ = false;
  bool has_events_ = false;
};

}  // namespace field
