// SPDX-License-Identifier: MIT
// Three reconnects, each answered by a naive server and by the library. Needs a compiler and nothing else:
//   c++ -std=c++17 -Iinclude examples/quickstart.cpp -o quickstart && ./quickstart
// The output never changes: the tags come from a fixed source, where a server leaves them to system_random.

#include <cstdint>
#include <cstdio>
#include <deque>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mcp_resume/resume.hpp"

namespace quickstart {

using session_table =
    mcp_resume::local_session_table;  // one thread; a server with several takes mcp_resume::session_table

constexpr auto version = mcp_resume::protocol::v2025_11_25;
constexpr std::uint64_t alices_tag = 0xa11ce0a11ce0a11c;

// A source of randomness that returns these tags, the session's and then the incarnation's.
class fixed_tags {
 public:
  explicit fixed_tags(std::vector<std::uint64_t> values) : values_(values.begin(), values.end()) {}
  std::optional<std::uint64_t> operator()() {
    if (values_.empty()) return std::nullopt;
    const std::uint64_t value = values_.front();
    values_.pop_front();
    return value;
  }

 private:
  std::deque<std::uint64_t> values_;
};

// ---- Output: one screen, at most 100 columns ----

constexpr std::size_t columns = 100;
constexpr std::string_view margin = "         ";

// Prints a line of a frame, broken behind a comma where it is too long.
void print_line(std::string_view line) {
  std::string_view head = "| ";
  while (line.size() > columns - head.size()) {
    const std::size_t comma = line.rfind(',', columns - head.size() - 1);
    const std::size_t size = comma != std::string_view::npos ? comma + 1 : columns - head.size();
    std::cout << head << line.substr(0, size) << '\n';
    line.remove_prefix(size);
    head = "|     ";
  }
  std::cout << head << line << '\n';
}

// Prints frames without the blank line that ends each of them.
void print_frames(std::string_view frames) {
  while (!frames.empty()) {
    const std::size_t end = frames.find('\n');
    if (end != 0) print_line(frames.substr(0, end));
    frames.remove_prefix(end + 1);
  }
}

void print_title(std::string_view title) { std::cout << '\n' << title << '\n'; }

void print_request(std::string_view server, std::string_view session_id, std::string_view cursor) {
  std::string name(server);
  name.resize(margin.size(), ' ');
  std::cout << name << "GET Mcp-Session-Id: " << session_id << ", Last-Event-ID: " << cursor << '\n';
}

void print_decision(const mcp_resume::resolution& decided, std::uint64_t events) {
  std::cout << margin << decided.http_status() << ", decision " << to_string(decided.outcome()) << ", reason "
            << to_string(decided.reason) << ", " << events << " events delivered. For the log:\n"
            << margin << describe(decided) << '\n';
}

// ---- The naive server ----

// One buffer for everybody, keyed by the number of the id; a reconnect gets whatever is left behind that number.
class naive_server {
 public:
  naive_server(std::size_t capacity, int digits) : capacity_(capacity), digits_(digits) {}

  void append(std::string_view payload) {
    if (held_.size() == capacity_) held_.pop_front();
    held_.emplace_back(payload);
    ++newest_;
  }

  std::string id(std::size_t number) const {
    char text[32];
    std::snprintf(text, sizeof text, "evt-%0*zu", digits_, number);
    return text;
  }

  // The frames that a GET with the cursor `number` is answered with.
  std::vector<std::string> replay_after(std::size_t number) const {
    std::vector<std::string> frames;
    const std::size_t oldest = newest_ + 1 - held_.size();
    for (std::size_t n = oldest > number ? oldest : number + 1; n <= newest_; ++n) {
      frames.push_back("id: " + id(n) + "\ndata: " + held_[n - oldest] + "\n\n");
    }
    return frames;
  }

 private:
  std::size_t capacity_;
  int digits_;
  std::size_t newest_ = 0;
  std::deque<std::string> held_;
};

// Plays the GET at the naive server. Of its frames the last one is printed.
void reconnect_naively(const naive_server& server, std::size_t cursor, std::string_view verdict) {
  print_request("naive", "8c0f", server.id(cursor));
  const std::vector<std::string> frames = server.replay_after(cursor);
  std::cout << margin << "200, no decision, " << frames.size() << " events delivered" << verdict << " The last one:\n";
  print_frames(frames.back());
}

// ---- The library ----

// Reads what is due. After a gap or a reset it adds words for clients that ignore the signal itself.
std::uint64_t read_all(session_table& sessions, mcp_resume::reader& from, std::string& frames) {
  std::uint64_t events = 0;
  for (;;) {
    const mcp_resume::progress done = sessions.read(from, frames);
    events += done.events;
    switch (done.state) {
      case mcp_resume::read_state::more:
        break;
      case mcp_resume::read_state::gap:
      case mcp_resume::read_state::reset:
        mcp_resume::append_message(frames, R"({"jsonrpc":"2.0","method":"notifications/tools/list_changed"})");
        break;
      default:
        return events;
    }
  }
}

void reconnect(session_table& sessions, std::string_view session_id, const mcp_resume::event_id& cursor) {
  const std::string last_event_id = to_string(cursor);
  mcp_resume::reader from;
  const auto decided = sessions.resume({"2025-11-25", session_id, last_event_id, "alice"}, from);
  std::string frames;
  const std::uint64_t events = read_all(sessions, from, frames);
  print_request("library", session_id, last_event_id);
  print_decision(decided, events);
  print_frames(frames);
  sessions.release(from);
}

// ---- The scenes ----

std::string progress_of(int step) {
  return R"({"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,"progress":)" +
         std::to_string(step) + "}}";
}

std::string answer_of(std::string_view who) {
  return R"({"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"for )" + std::string(who) + R"("}]}})";
}

template <class Append>
void append_as_bob(Append append) {
  for (int number = 1; number <= 4474; ++number) append(progress_of(number));
  append(answer_of("bob"));
}

// Alice's connection broke at number 4471. Then the pool was restarted, and bob's stream went past that number: three
// notifications and an answer lie behind it.
void play_pool_restart() {
  print_title("1. The pool restarts, then another tenant's stream reaches the same number: evt-4471");
  naive_server naive(1024, 0);
  append_as_bob([&naive](const std::string& payload) { naive.append(payload); });
  reconnect_naively(naive, 4471, ", all of them bob's; the client is alice.");

  session_table sessions;
  sessions.create("b0b5", "bob", version, fixed_tags({0xb0bb0bb0bb0bb0bb, 0x2222222222222222}));
  const auto bobs = sessions.standalone("b0b5").value_or(mcp_resume::stream_handle{});
  append_as_bob([&](const std::string& payload) { sessions.append(bobs, payload); });
  const mcp_resume::event_id cursor{{alices_tag, 0x1111111111111111}, 0, 4471};
  reconnect(sessions, "8c0f", cursor);

  // A pool that stored alice's session id with its tag restores it, under a new incarnation.
  sessions.restore("8c0f", "alice", version, alices_tag, fixed_tags({0x3333333333333333}));
  reconnect(sessions, "8c0f", cursor);
}

// Alice got everything up to 418. While she was away 182 events came, and the buffer holds 88.
void play_eviction() {
  print_title("2. Everything up to evt-000512 was evicted while the client was away, it comes back with evt-000418");
  naive_server naive(88, 6);
  mcp_resume::options bounds;
  bounds.max_events = 88;
  session_table sessions(bounds);
  sessions.create("8c0f", "alice", version, fixed_tags({alices_tag, 0x1111111111111111}));
  const auto alices = sessions.standalone("8c0f").value_or(mcp_resume::stream_handle{});
  for (int number = 1; number <= 600; ++number) {
    naive.append(progress_of(number));
    sessions.append(alices, progress_of(number));
  }
  reconnect_naively(naive, 418, "; 94 are lost, and nothing says so.");
  reconnect(sessions, "8c0f", {alices.owner, 0, 418});
}

// A tool call: the client got the first event of its stream, then the connection broke; the call went on.
void play_good_resume() {
  print_title("3. A connection breaks while a tool call runs, nothing is lost");
  naive_server naive(1024, 0);
  session_table sessions;
  sessions.create("8c0f", "alice", version, fixed_tags({alices_tag, 0x1111111111111111}));
  const auto call = sessions.open_stream("8c0f", "7");
  for (const std::string& payload : {progress_of(1), progress_of(2), answer_of("alice")}) {
    naive.append(payload);
    sessions.append(call.stream, payload);
  }
  sessions.finish(call.stream);
  reconnect_naively(naive, 1, ", rightly: nobody else's lie between.");
  reconnect(sessions, "8c0f", {call.stream.owner, call.stream.stream, 1});
  reconnect(sessions, "8c0f", {call.stream.owner, call.stream.stream, 3});
}

void play() {
  std::cout << "The naive server keys one buffer by the number of the id and replays what is left. Each GET has\n"
               "MCP-Protocol-Version: 2025-11-25. Frames stand behind |, without the blank line that ends each.\n";
  play_pool_restart();
  play_eviction();
  play_good_resume();
}

}  // namespace quickstart

int main() {
  quickstart::play();
  return 0;
}
