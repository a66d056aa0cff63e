// SPDX-License-Identifier: MIT
// A real table that is driven through random histories, and the trace of what it did: a server that does nothing wrong.
#ifndef MCP_RESUME_TESTS_ORACLE_TRACED_TABLE_HPP
#define MCP_RESUME_TESTS_ORACLE_TRACED_TABLE_HPP

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "mcp_resume/resume.hpp"
#include "property.hpp"
#include "randomness.hpp"
#include "sse.hpp"
#include "trace.hpp"

namespace traced {

namespace mr = mcp_resume;

inline oracle::trace_frame frame_of(const sse::block& block) {
  oracle::trace_frame frame;
  frame.id = block.id;
  frame.data = block.data;
  frame.event = block.type == "message" ? "" : block.type;
  return frame;
}

class table {
 public:
  std::map<mr::reason, std::size_t> reasons;  // of the resumes
  oracle::trace made;

  table(const mr::options& bounds, property::random& random) : sessions_(bounds), random_(random) {
    made.name = made.server = "table";
  }

  void run(std::size_t steps) {
    create();
    create();
    for (std::size_t i = 0; i != steps; ++i) act();
  }

 private:
  struct stream {
    std::string name;
    mr::stream_handle handle;
    std::vector<std::string> ids;  // by seq: the first is the marker's, empty where none was sent
    std::size_t base = 0;          // seqs of earlier incarnations
    std::size_t lost = 0;
    bool has_lost = false;
    bool is_open = true;
  };
  struct client {
    std::string name;
    std::vector<stream> streams;
    std::vector<std::string> cursors;  // whatever it has ever seen
    bool is_live = true;
  };

  std::uint32_t below(std::uint32_t bound) { return random_.below(bound); }
  client& some_client() { return clients_[below(static_cast<std::uint32_t>(clients_.size()))]; }
  stream& some_stream(client& of) { return of.streams[below(static_cast<std::uint32_t>(of.streams.size()))]; }

  oracle::trace_step& add(oracle::trace_op op, const client& of, const std::string& on = "") {
    oracle::trace_step step;
    step.op = op;
    step.line = made.steps.size() + 2;
    step.session = of.name;
    step.stream = on;
    made.steps.push_back(std::move(step));
    return made.steps.back();
  }

  void act() {
    const std::uint32_t choice = below(100);
    client& of = some_client();
    if (choice < 40) return append(of, some_stream(of), false);
    if (choice < 48) return open(of);
    if (choice < 54) return append(of, some_stream(of), true);
    if (choice < 62) return drop(of, some_stream(of));
    if (choice < 94) return resume(of);
    if (choice < 95) return forget(of, some_stream(of));
    if (choice < 96) return renew(of);
    if (choice < 97) return end(of);
    if (choice < 98) return create();
    sessions_.tick(now_ += below(40));
    for (client& each : clients_) note_losses(each);
  }

  void create() {
    clients_.push_back({"session " + std::to_string(clients_.size()), {}, {}, true});
    client& made_client = clients_.back();
    (void)sessions_.create(key(made_client), "p", mr::protocol::v2025_11_25, tags_);
    add(oracle::trace_op::session, made_client);
    made_client.streams.push_back({"", *sessions_.standalone(key(made_client)), {""}, 0, 0, false, true});
  }

  static std::string key(const client& of) { return "key-" + of.name.substr(of.name.find(' ') + 1); }

  void issue(client& of, stream& on, const std::string& id, const std::string& data, bool is_answer) {
    oracle::trace_step& step = add(oracle::trace_op::event, of, on.name);
    step.frame.id = id;
    step.frame.data = data;
    step.is_answer = is_answer;
    of.cursors.push_back(id);
  }

  void open(client& of) {
    const mr::opened call = sessions_.open_stream(key(of), std::to_string(made.steps.size()));
    if (!call) return;
    const std::string marker = to_string(call.reader.position());
    of.streams.push_back({"call " + std::to_string(of.streams.size()), call.stream, {marker}, 0, 0, false, true});
    add(oracle::trace_op::stream, of, of.streams.back().name);
    issue(of, of.streams.back(), marker, "", false);
    note_losses(of);
  }

  void append(client& of, stream& on, bool is_last) {
    const std::string text = "{\"n\":" + std::to_string(made.steps.size()) + std::string(below(4), ' ') + "}";
    const mr::appended done = is_last ? sessions_.finish(on.handle, text) : sessions_.append(on.handle, text);
    if (!done) return;
    on.is_open = !is_last;
    on.ids.push_back(to_string(done.id));
    issue(of, on, on.ids.back(), text, is_last);
    note_losses(of);
  }

  void drop(client& of, const stream& on) {
    const std::string& id = on.ids[below(static_cast<std::uint32_t>(on.ids.size()))];
    oracle::trace_step& step = add(oracle::trace_op::drop, of, on.name);
    if (!id.empty()) step.id = id;
  }

  void forget(client& of, const stream& on) {
    if (sessions_.forget(on.handle) == mr::refusal::none) note_losses(of);
  }

  // Request streams are gone; the standalone one goes on under the new incarnation.
  void renew(client& of) {
    if (sessions_.renew(key(of), tags_) != mr::refusal::none) return;
    note_losses(of);
    stream& standalone = of.streams.front();
    standalone.base = standalone.ids.size() - 1;
    standalone.handle = *sessions_.standalone(key(of));
  }

  void end(client& of) {
    if (below(3) != 0 || sessions_.end(key(of)) != mr::refusal::none) return;
    of.is_live = false;
    add(oracle::trace_op::end, of);
  }

  // The server says what it holds no more.
  void note_losses(client& of) {
    for (stream& each : of.streams) {
      if (!of.is_live) return;
      const auto held = sessions_.window_of(each.handle);
      const std::size_t lost = held ? each.base + static_cast<std::size_t>(held->first) - 1 : each.ids.size() - 1;
      const bool is_news = lost > each.lost || (!held && !each.has_lost);
      if (!is_news || each.ids[lost].empty()) continue;
      each.lost = lost;
      each.has_lost = true;
      add(oracle::trace_op::lost, of, each.name).id = each.ids[lost];
    }
  }

  // ---- Resumes ----

  std::string some_cursor(client& of, std::string& as) {
    const std::uint32_t choice = below(12);
    const client& from = choice == 0 ? some_client() : of;
    const std::string id =
        from.cursors.empty() ? "" : from.cursors[below(static_cast<std::uint32_t>(from.cursors.size()))];
    const auto parsed = mr::event_id::parse(id);
    as = choice == 0 ? "another session's id" : choice < 4 ? "wrong" : choice == 4 ? "no cursor" : "own id";
    if (choice == 1) return id.substr(0, id.size() / 2) + "x";
    if (choice == 2 && parsed) return to_string(mr::event_id{parsed->owner, parsed->stream, parsed->seq + 1000});
    if (choice == 3 && parsed) return to_string(mr::event_id{parsed->owner, parsed->stream + 1000, 1});
    if (choice == 4) return "";
    if (choice < 9 || from.streams.empty()) return id;
    const stream& on = some_stream(of);  // likely in window
    return on.ids[on.ids.size() - 1 - below(static_cast<std::uint32_t>(std::min<std::size_t>(on.ids.size(), 4)))];
  }

  void resume(client& of) {
    std::string as;
    const std::string cursor = some_cursor(of, as);
    const std::string session_id = key(of);
    mr::reader reader;
    const mr::resolution decided = sessions_.resume({"", session_id, cursor, "p"}, reader);
    ++reasons[decided.reason];
    std::string text;
    oracle::trace_step answer;
    answer.status = decided.http_status();
    answer.has_ended = answer.status != 200;
    if (answer.status == 200) listen(of, reader, text, answer);
    for (const sse::block& each : sse::read(text)) answer.frames.push_back(frame_of(each));
    for (const oracle::trace_frame& each : answer.frames) {
      if (each.id) of.cursors.push_back(*each.id);
    }
    answer.op = oracle::trace_op::resume;
    answer.line = made.steps.size() + 2;
    answer.session = of.name;
    answer.as = as;
    if (!cursor.empty()) answer.last_event_id = cursor;
    made.steps.push_back(std::move(answer));
  }

  // Reads until nothing more comes; events are issued meanwhile. Or the recorder stops in the middle.
  void listen(client& of, mr::reader& reader, std::string& text, oracle::trace_step& answer) {
    const bool stops_early = below(6) == 0;
    std::uint32_t bursts = below(3);
    for (std::uint32_t reads = 0;; ++reads) {
      if (stops_early && reads == 1 + below(2)) break;
      const mr::progress done = sessions_.read(reader, text, 1 + below(300));
      add_words(reader, done, text);
      answer.has_ended = done.state == mr::read_state::finished || done.state == mr::read_state::gone;
      answer.waited_ms = done.state == mr::read_state::caught_up ? oracle_waits : 0;
      if (answer.has_ended || (answer.waited_ms != 0 && bursts == 0)) break;
      if (bursts == 0 || below(2) == 0) continue;
      --bursts;
      answer.waited_ms = 0;
      for (std::uint32_t n = below(9); n != 0; --n) append(of, of.streams[reading_of(of, reader)], below(12) == 0);
    }
    if (below(4) != 0) sessions_.release(reader);
  }

  std::size_t reading_of(const client& of, const mr::reader& reader) const {
    for (std::size_t i = of.streams.size(); i-- != 0;) {
      const bool is_same = of.streams[i].handle.owner == reader.stream().owner;
      if (is_same && of.streams[i].handle.stream == reader.stream().stream) return i;
    }
    return 0;
  }

  void add_words(const mr::reader& reader, const mr::progress& done, std::string& text) {
    const bool has_lost = done.state == mr::read_state::gap || done.state == mr::read_state::reset;
    if (has_lost && reader.stream().stream == 0) {
      (void)mr::append_message(text, R"({"jsonrpc":"2.0","method":"notifications/tools/list_changed"})");
    } else if (has_lost && done.answer == mr::answer::lost) {
      const std::string label = sessions_.label_of(reader);
      (void)mr::append_message(text, R"({"jsonrpc":"2.0","id":)" + label + R"(,"error":{"code":-1,"message":"lost"}})");
    }
  }

  static constexpr unsigned oracle_waits = 1000;  // ms
  mr::session_table sessions_;
  property::random& random_;
  randomness::counted_tags tags_;
  std::vector<client> clients_;
  std::uint64_t now_ = 0;
};

// A history of that seed.
inline oracle::trace history(std::uint64_t seed, std::size_t steps,
                             std::map<mr::reason, std::size_t>* reasons = nullptr) {
  property::random random(seed);
  mr::options bounds;
  bounds.max_events = 2 + random.below(12);
  bounds.max_streams = 2 + random.below(4);
  bounds.max_age_ms = random.below(3) == 0 ? 60 : 0;
  bounds.idle_ms = 0;
  bounds.after_gap = random.below(3) == 0 ? mr::after_gap::oldest_held : mr::after_gap::live_edge;
  table driven(bounds, random);
  driven.run(steps);
  if (reasons != nullptr) {
    for (const auto& [reason, count] : driven.reasons) (*reasons)[reason] += count;
  }
  return driven.made;
}

}  // namespace traced

#endif  // MCP_RESUME_TESTS_ORACLE_TRACED_TABLE_HPP
