// SPDX-License-Identifier: MIT
// Promise: every C++ block of README.md and the header's smallest program compile, run and do what is said of them;
// the printed output, the decision table and the commands there are the real ones.
// Between `readme: <name>` and `readme: end` stand those blocks; README repeats them word for word.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <fstream>
#include <functional>
#include <iostream>
#include <mutex>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "documents.hpp"
#include "mcp_resume/resume.hpp"

// The example's main is called otherwise here.
#define main quickstart_main
#include "../examples/quickstart.cpp"  // NOLINT(bugprone-suspicious-include)
#undef main

// In README this is `int main()`.
// readme: program
#include <iostream>
#include "mcp_resume/resume.hpp"

static void readme_program() {
  mcp_resume::session_table sessions;
  sessions.create("8c0f", "alice", mcp_resume::protocol::v2025_11_25);
  auto call = sessions.open_stream("8c0f", "7");  // a POST that answers with SSE; 7 is its JSON-RPC id
  std::string frames, cursor = to_string(sessions.append(call.stream, R"({"method":"notifications/progress"})").id);
  sessions.append(call.stream, R"({"jsonrpc":"2.0","id":7,"result":{}})");  // the connection broke before this one
  mcp_resume::reader reader;                                                // a GET: headers in, decision out
  auto decided = sessions.resume({"2025-11-25", "8c0f", cursor, "alice"}, reader);
  if (sessions.read(reader, frames).events == 1) std::cout << describe(decided) << '\n' << frames;
}
// readme: end

namespace {

// What README leaves to the server's author.
std::vector<std::string> log_lines;
void log_line(std::string line) { log_lines.push_back(std::move(line)); }
void serve_without_session(const std::function<bool(std::string_view)>& send) { send("stateless"); }
void answer_as_json(const std::function<bool(std::string_view)>& send) { send("json"); }

// ---- The blocks ----

// readme: words
using namespace mcp_resume;

// What your HTTP library writes. The first frame goes out in the same write.
std::string head_of(int status) {
  std::string head = "HTTP/1.1 " + std::to_string(status) + " \r\n";
  for (const header& h : headers_for(status)) head.append(h.name).append(": ").append(h.value).append("\r\n");
  if (status == 200) return head + "Connection: close\r\n\r\n";
  return head + (status == 204 ? "\r\n" : "Content-Length: 0\r\n\r\n");
}

bool is_over(read_state s) { return s == read_state::finished || s == read_state::superseded || s == read_state::gone; }

std::string error_for(const std::string& id, const std::string& text) {
  return R"({"jsonrpc":"2.0","id":)" + id + R"(,"error":{"code":-32603,"message":")" + text + R"("}})";
}

// Reads what is due, and adds what only the server knows: the words for clients that ignore the signals.
read_state read_due(session_table& sessions, reader& from, std::string& out) {
  const progress done = sessions.read(from, out);
  const bool has_lost = done.state == read_state::gap || done.state == read_state::reset;
  if (has_lost && from.stream().stream == 0) {  // one for each list that the server offers
    append_message(out, R"({"jsonrpc":"2.0","method":"notifications/tools/list_changed"})");
    append_message(out, R"({"jsonrpc":"2.0","method":"notifications/resources/list_changed"})");
  } else if (has_lost && done.answer == answer::lost) {
    const std::string id = sessions.label_of(from);
    if (!id.empty()) append_message(out, error_for(id, "The answer is no longer held."));
  } else if (done.state == read_state::superseded) {  // if connections fight, they come back later and later
    const std::uint64_t retry_ms = std::min<std::uint64_t>(1000 * from.lease(), 30000);
    append_marker(out, from.position(), from.negotiated(), static_cast<std::uint32_t>(retry_ms));
  }
  return done.state;
}
// readme: end

// readme: counter
// Counts changes. One for each session spares the others a wake-up; one for all is right as well.
class change_counter {
 public:
  std::uint64_t count() {
    const std::lock_guard<std::mutex> guard(mutex_);
    return count_;
  }
  void ring() {
    {
      const std::lock_guard<std::mutex> guard(mutex_);
      ++count_;
    }
    changed_.notify_all();
  }
  // Waits until the count differs from `seen`, or until the time is up: then false.
  bool wait(std::uint64_t seen, std::chrono::milliseconds time) {
    std::unique_lock<std::mutex> guard(mutex_);
    return changed_.wait_for(guard, time, [&] { return count_ != seen; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t count_ = 0;
};
// readme: end

// readme: thread
using send_function = std::function<bool(std::string_view)>;  // false once the peer is gone

// Serves a reader to its end, on the thread of its connection. `out` begins with the head of the answer.
void serve_stream(session_table& sessions, change_counter& changes, reader from, std::string out,
                  const send_function& send, std::chrono::milliseconds keep_alive = std::chrono::seconds(15)) {
  for (;;) {
    const std::uint64_t seen = changes.count();  // before the read, so that no change is slept through
    const read_state state = read_due(sessions, from, out);
    if ((!out.empty() && !send(out)) || is_over(state)) break;
    out.clear();
    if (state == read_state::caught_up && !changes.wait(seen, keep_alive)) append_keep_alive(out);
  }
  sessions.release(from);
}

void serve_get(session_table& sessions, change_counter& changes, const request& asked, const send_function& send) {
  reader from;
  const resolution decided = sessions.resume(asked, from);
  log_line(describe(decided));  // reason and advice are for this log, never for the answer
  changes.ring();               // whoever read this stream before is superseded now
  serve_stream(sessions, changes, from, head_of(decided.http_status()), send);
}

// A POST with a JSON-RPC request whose answer comes as SSE. `id` is the JSON text of its id.
void serve_call(session_table& sessions, change_counter& changes, const request& asked, const std::string& id,
                const std::function<std::string()>& tool, const send_function& send) {
  const std::optional<reason> forbidden = resolve_session(asked, sessions);
  if (forbidden == reason::stateless_protocol) return serve_without_session(send);
  if (forbidden) {
    send(head_of(row_of(*forbidden).http_status));
    return;
  }
  const opened call = sessions.open_stream(asked.session_id.view(), id);
  if (!call) return answer_as_json(send);  // too_many_streams, bad_label: not resumable, but right

  std::thread worker([&, stream = call.stream] {
    if (!sessions.finish(stream, tool())) sessions.finish(stream, error_for(id, "The answer is too large."));
    changes.ring();
  });
  serve_stream(sessions, changes, call.reader, head_of(200), send);
  worker.join();
}
// readme: end

// readme: session
// The answer to `initialize`: the status, and the capabilities with what is held for a client that is away.
int serve_initialize(session_table& sessions, const options& bounds, const std::string& new_session_id,
                     const std::string& principal, protocol negotiated, std::string& capabilities) {
  if (sessions.create(new_session_id, principal, negotiated) != refusal::none) return 503;  // too many, no memory
  capabilities = R"({"tools":{"listChanged":true},"experimental":{"resume":)";
  append_retention(capabilities, bounds);
  capabilities += "}}";
  return 200;
}

int serve_delete(session_table& sessions, change_counter& changes, const request& asked) {
  const std::optional<reason> forbidden = resolve_session(asked, sessions);
  if (forbidden) return row_of(*forbidden).http_status;
  const refusal why = sessions.end(asked.session_id.view());
  changes.ring();
  return why == refusal::none ? 204 : 404;
}

// From a timer, about once a second. The library reads no clock.
void on_timer(session_table& sessions, change_counter& changes, std::uint64_t now_ms) {
  std::vector<std::string> expired;
  sessions.tick(now_ms, &expired);
  if (!expired.empty()) changes.ring();
}
// readme: end

// readme: loop
struct subscriber {
  reader from;
  std::string unsent;  // what the socket did not take yet
  read_state state = read_state::more;
  std::uint64_t seen = 0;           // the change counter before the last read
  std::uint64_t keep_alive_at = 0;  // ms
};

// One read. A thread that changes something adds 1 to `changes` and then wakes the loop.
void take_turn(session_table& sessions, subscriber& s, const std::atomic<std::uint64_t>& changes,
               std::uint64_t now_ms) {
  s.seen = changes.load();  // before the read, so that no change is slept through
  s.state = read_due(sessions, s.from, s.unsent);
  const bool is_quiet = s.state == read_state::caught_up && s.unsent.empty();
  if (is_quiet && now_ms >= s.keep_alive_at) append_keep_alive(s.unsent);
  if (!s.unsent.empty()) s.keep_alive_at = now_ms + 15000;
}

subscriber accept_get(session_table& sessions, const request& asked, std::atomic<std::uint64_t>& changes,
                      std::uint64_t now_ms) {
  subscriber s;
  const resolution decided = sessions.resume(asked, s.from);
  log_line(describe(decided));
  ++changes;  // whoever read this stream before is superseded now
  s.unsent = head_of(decided.http_status());
  take_turn(sessions, s, changes, now_ms);
  return s;
}

// Call it when the socket can take bytes, when the loop was woken for a change and when keep-alive is due. `send_some`
// returns how many bytes the socket took. False: close the connection and release(s.from).
bool pump(session_table& sessions, subscriber& s, const std::atomic<std::uint64_t>& changes, std::uint64_t now_ms,
          const std::function<std::size_t(std::string_view)>& send_some) {
  for (;;) {
    s.unsent.erase(0, send_some(s.unsent));
    if (!s.unsent.empty()) return true;  // a slow peer costs the frames of one read
    if (is_over(s.state)) return false;
    const bool may_wait = s.state == read_state::caught_up && s.seen == changes.load();
    if (may_wait && now_ms < s.keep_alive_at) return true;
    take_turn(sessions, s, changes, now_ms);
  }
}
// readme: end

// readme: exception
void serve_strictly(session_table& sessions, const request& asked) {
  require_continuation(resolve_resume(asked, sessions));  // throws session_cursor_mismatch or resumption_gap_error
}
// readme: end

using namespace documents;

TEST_CASE("README and the tests have the same C++ blocks", "[readme]") {
  std::vector<std::string> in_readme;
  for (const std::string& text : fenced("cpp")) {
    in_readme.push_back(replaced(with_single_blanks(text), "int main() {", "static void readme_program() {"));
  }
  std::vector<std::string> here;
  for (const char* file : {"tests/readme.cpp", "tests/readme_client.cpp"}) {
    const auto is_of_readme = [](const std::string& name) { return name != "manual" && name != "end"; };
    for (const std::string& text : regions(file, is_of_readme)) here.push_back(with_single_blanks(text));
  }
  CHECK(here.size() == 9);
  for (const std::string& text : here) {
    INFO("not in README: " << text);
    CHECK(contains(in_readme, text));
  }
  for (const std::string& text : in_readme) {
    INFO("only in README: " << text);
    CHECK(contains(here, text));
  }
}

TEST_CASE("the manual's smallest program is the one that runs here", "[readme]") {
  const auto here = regions("tests/readme.cpp", [](const std::string& name) { return name == "manual"; });
  REQUIRE(here.size() == 1);
  CHECK_FALSE(here[0].empty());
  CHECK(with_single_blanks(smallest_program("include/mcp_resume/resume.hpp")) == with_single_blanks(here[0]));
}

TEST_CASE("the manual's smallest program delivers the answer and closes", "[readme]") {
  struct {
    int status = 0;
  } response;
  // readme: manual
  mcp_resume::session_table sessions;
  sessions.create("8c0f", "alice", mcp_resume::protocol::v2025_11_25);
  auto call = sessions.open_stream("8c0f", "7");           // a POST that answers with SSE; 7 is its JSON-RPC id
  std::string cursor = to_string(call.reader.position());  // the id of its first frame; then the connection breaks
  sessions.finish(call.stream, R"({"jsonrpc":"2.0","id":7,"result":{}})");
  mcp_resume::reader reader;  // a GET: headers in, decision out
  auto answer = sessions.resume({"2025-11-25", "8c0f", cursor, "alice"}, reader);
  response.status = answer.http_status();
  std::string frames;  // again after each change: replay and live alike
  auto progress = sessions.read(reader, frames);
  // readme: end
  CHECK(response.status == 200);
  CHECK(answer.reason == mcp_resume::reason::replay);
  CHECK(progress.state == mcp_resume::read_state::finished);
  const std::string first = to_string(mcp_resume::event_id{call.stream.owner, call.stream.stream, 1});
  CHECK(frames ==
        "id: " + cursor + "\ndata:\n\nid: " + first + "\ndata: {\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}\n\n");
}

TEST_CASE("README shows what its program and the quickstart print", "[readme]") {
  const std::vector<std::string> shown = fenced("text");
  REQUIRE(shown.size() == 5);  // the third is of readme_client.cpp, the others of the interop tests

  // The tags are drawn: those that were printed stand for those that are shown.
  constexpr std::size_t size_of_tags = 33;
  const std::string printed = printed_by(readme_program);
  const std::string shown_tags = shown[0].substr(shown[0].find("id: ") + 4, size_of_tags);
  const std::string printed_tags = printed.substr(printed.find("id: ") + 4, size_of_tags);
  CHECK(shown_tags != printed_tags);
  CHECK(replaced(printed, printed_tags, shown_tags) == shown[0] + "\n");  // the last blank line is not shown

  const std::string played = printed_by(quickstart_main);
  CHECK(played == shown[1]);
  const std::vector<std::string> lines = lines_of(played);
  CHECK(lines.size() <= 60);
  for (const std::string& line : lines) CHECK(line.size() <= 100);
}

TEST_CASE("README and the manual have the table that decides", "[readme]") {
  std::vector<std::string> rows;
  for (const mcp_resume::decision_row& row : mcp_resume::decision_table) {
    std::ostringstream text;
    text << rows.size() + 1 << " | " << row.fact << " | `" << row.name << "` | " << to_string(row.outcome) << " | "
         << row.http_status << " | " << to_string(row.advice) << " |";
    rows.push_back(text.str());
  }
  const std::vector<std::string> in_readme = lines_with(section("## The decision"), "| ");
  for (const std::string& row : rows) {
    INFO(row);
    CHECK(contains(in_readme, row));
    CHECK(contains(lines_with("include/mcp_resume/resume.hpp", "// | "), row));
  }
  for (const std::string& row : in_readme) {
    const bool is_numbered = row.find_first_of("0123456789") == 0;
    if (is_numbered) CHECK(contains(rows, row));
  }
  const std::string head = "# | fact | reason | outcome | HTTP | advice |";
  CHECK(contains(in_readme, head));
  CHECK(contains(lines_with("include/mcp_resume/resume.hpp", "// | "), head));
}

TEST_CASE("each of the two commands stands alone on one line", "[readme]") {
  const std::vector<std::string> commands = fenced("sh");
  CHECK(contains(commands, "c++ -std=c++17 -Iinclude examples/quickstart.cpp -o quickstart && ./quickstart\n"));
  CHECK(contains(commands,
                 "apt-get update && apt-get install -y --no-install-recommends g++ cmake ninja-build catch2 libfmt-dev "
                 "nlohmann-json3-dev && cmake --workflow --preset test\n"));
}

// ---- The blocks at work ----

constexpr std::string_view an_answer = R"({"jsonrpc":"2.0","id":7,"result":{}})";
constexpr std::string_view tools_changed =
    "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n";

// A table with the session "8c0f" of alice.
struct server {
  explicit server(const options& bounds = {}) : sessions(bounds) {
    REQUIRE(sessions.create("8c0f", "alice", protocol::v2025_11_25) == refusal::none);
    standalone = sessions.standalone("8c0f").value_or(stream_handle{});
  }
  request get(const std::string& cursor = no_cursor) const { return {"2025-11-25", "8c0f", cursor, "alice"}; }
  event_id notify(std::string_view text) { return sessions.append(standalone, text).id; }

  static inline const std::string no_cursor;
  session_table sessions;
  stream_handle standalone;
};

options bounds_of(std::uint32_t max_events) {
  options bounds;
  bounds.max_events = max_events;
  return bounds;
}

// A peer that takes everything and can be waited for.
class peer {
 public:
  send_function sender() {
    return [this](std::string_view bytes) {
      const std::lock_guard<std::mutex> guard(mutex_);
      if (received_.empty()) first_write_ = bytes;
      received_ += bytes;
      changed_.notify_all();
      return !is_gone_;
    };
  }
  // Waits until that text has come; not for longer than a test may take.
  bool got(std::string_view text) {
    std::unique_lock<std::mutex> guard(mutex_);
    return changed_.wait_for(guard, std::chrono::seconds(20),
                             [&] { return received_.find(text) != std::string::npos; });
  }
  void leave() {
    const std::lock_guard<std::mutex> guard(mutex_);
    is_gone_ = true;
  }
  std::string received() {
    const std::lock_guard<std::mutex> guard(mutex_);
    return received_;
  }
  std::string first_write() {
    const std::lock_guard<std::mutex> guard(mutex_);
    return first_write_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string received_;
  std::string first_write_;
  bool is_gone_ = false;
};

std::size_t count_of(std::string_view text, std::string_view part) {
  std::size_t n = 0;
  for (auto at = text.find(part); at != std::string_view::npos; at = text.find(part, at + part.size())) ++n;
  return n;
}

bool in_order(std::string_view text, std::initializer_list<std::string_view> parts) {
  std::size_t at = 0;
  for (const std::string_view part : parts) {
    at = text.find(part, at);
    if (at == std::string_view::npos) return false;
    at += part.size();
  }
  return true;
}

TEST_CASE("a thread of its own wakes for each change and ends when the session does", "[readme]") {
  server s;
  change_counter changes;
  peer client;
  std::thread connection([&] { serve_get(s.sessions, changes, s.get(), client.sender()); });
  constexpr int n = 200;
  for (int i = 1; i <= n; ++i) {
    s.notify("event " + std::to_string(i) + ".");
    changes.ring();
  }
  CHECK(client.got("event 200."));
  s.sessions.end("8c0f");
  changes.ring();
  connection.join();
  const std::string received = client.received();
  CHECK(received.find("HTTP/1.1 200 \r\nCache-Control: no-store\r\nContent-Type: text/event-stream\r\n") == 0);
  CHECK(count_of(received, "data: event ") == n);
  for (int i = 1; i < n; ++i) {
    CHECK(in_order(received, {"event " + std::to_string(i) + ".", "event " + std::to_string(i + 1) + "."}));
  }
}

TEST_CASE("a change between the read and the wait is not slept through", "[readme]") {
  server s;
  change_counter changes;
  peer client;
  reader from;
  REQUIRE(s.sessions.resume(s.get(), from).reason == reason::fresh);
  int sends = 0;
  const auto send = [&, forward = client.sender()](std::string_view bytes) {
    if (++sends == 1) {
      s.notify("late");
      changes.ring();
    }
    return forward(bytes);
  };
  std::thread connection([&] { serve_stream(s.sessions, changes, from, head_of(200), send, std::chrono::hours(1)); });
  CHECK(client.got("data: late\n\n"));
  s.sessions.end("8c0f");
  changes.ring();
  connection.join();
  CHECK(sends == 2);
}

TEST_CASE("the head and the marker leave in one write and keep-alive follows", "[readme]") {
  server s;
  change_counter changes;
  peer client;
  reader from;
  REQUIRE(s.sessions.resume(s.get(), from).reason == reason::fresh);
  std::thread connection(
      [&] { serve_stream(s.sessions, changes, from, head_of(200), client.sender(), std::chrono::milliseconds(1)); });
  CHECK(client.got(": keep-alive\n: keep-alive\n"));
  client.leave();
  connection.join();
  CHECK(client.first_write() == head_of(200) + "id: " + to_string(event_id{s.standalone.owner, 0, 0}) + "\ndata:\n\n");
  std::string more;
  CHECK(s.sessions.read(from, more).state == read_state::gone);  // it was released
}

TEST_CASE("a connection that is taken over gets a last block with a growing retry", "[readme]") {
  server s;
  change_counter changes;
  const std::string cursor = to_string(s.notify("one"));
  peer clients[3];
  std::vector<std::thread> connections;
  for (peer& client : clients) {
    connections.emplace_back([&] { serve_get(s.sessions, changes, s.get(cursor), client.sender()); });
    CHECK(client.got("data:\n\n"));
  }
  for (int i : {0, 1}) CHECK(clients[i].got("retry: "));
  s.sessions.end("8c0f");
  changes.ring();
  for (std::thread& each : connections) each.join();
  const std::string head_and_marker = head_of(200) + "id: " + cursor + "\ndata:\n\n";
  CHECK(clients[0].received() == head_and_marker + "id: " + cursor + "\nretry: 1000\ndata:\n\n");
  CHECK(clients[1].received() == head_and_marker + "id: " + cursor + "\nretry: 2000\ndata:\n\n");
  CHECK(clients[2].received() == head_and_marker);
}

TEST_CASE("a refused GET gets its status and no byte more", "[readme]") {
  server s;
  change_counter changes;
  log_lines.clear();
  peer client;
  serve_get(s.sessions, changes, {"2025-11-25", "8c0f", "1", "alice"}, client.sender());
  CHECK(client.received() == "HTTP/1.1 400 \r\nCache-Control: no-store\r\nContent-Length: 0\r\n\r\n");
  REQUIRE(log_lines.size() == 1);
  CHECK(log_lines[0] == "reject: cursor is not an event id; advice: resubscribe");
  CHECK(head_of(204) == "HTTP/1.1 204 \r\nCache-Control: no-store\r\n\r\n");
}

TEST_CASE("a call is answered as SSE and a cut one is finished by a GET", "[readme]") {
  server s;
  change_counter changes;
  peer client;
  const auto tool = [] { return std::string(an_answer); };
  serve_call(s.sessions, changes, s.get(), "7", tool, client.sender());
  CHECK(in_order(client.received(), {head_of(200) + "id: ", ".1.0\ndata:\n\nid: ", ".1.1\ndata: ", an_answer, "\n\n"}));

  peer cut;
  cut.leave();
  serve_call(s.sessions, changes, s.get(), "8", tool, cut.sender());
  const std::string received = cut.received();
  const std::string cursor =
      received.substr(received.find("id: ") + 4, received.find("\ndata:") - received.find("id: ") - 4);
  peer again;
  serve_get(s.sessions, changes, s.get(cursor), again.sender());
  CHECK(in_order(again.received(), {head_of(200) + "id: " + cursor + "\ndata:\n\nid: ", ".2.1\ndata: ", an_answer}));
}

TEST_CASE("an answer that is too large to be held becomes an error", "[readme]") {
  options bounds;
  bounds.max_bytes = 200;
  server s(bounds);
  change_counter changes;
  peer client;
  serve_call(
      s.sessions, changes, s.get(), "7", [] { return std::string(185, 'x'); }, client.sender());
  CHECK(in_order(client.received(), {".1.1\ndata: ", error_for("7", "The answer is too large."), "\n\n"}));
}

TEST_CASE("a POST is refused or served without a session or answered as JSON", "[readme]") {
  server s;
  change_counter changes;
  int calls = 0;
  const auto tool = [&calls] {
    ++calls;
    return std::string(an_answer);
  };
  const auto answer_to = [&](const request& asked, const std::string& id) {
    peer client;
    serve_call(s.sessions, changes, asked, id, tool, client.sender());
    return client.received();
  };
  CHECK(answer_to({"2025-11-25", "8c0f", "", "mallory"}, "7") == head_of(404));
  CHECK(answer_to({"2026-07-28", "8c0f", "", "alice"}, "7") == "stateless");
  CHECK(answer_to(s.get(), std::string(65, '7')) == "json");
  CHECK(calls == 0);
}

TEST_CASE("a session begins with initialize and ends by DELETE or expiry", "[readme]") {
  options bounds;
  bounds.max_sessions = 1;
  bounds.idle_ms = 1000;
  session_table sessions(bounds);
  change_counter changes;
  std::string capabilities;
  CHECK(serve_initialize(sessions, bounds, "8c0f", "alice", protocol::v2025_11_25, capabilities) == 200);
  CHECK(
      capabilities ==
      R"({"tools":{"listChanged":true},"experimental":{"resume":{"eventId":)"
      R"("<session>.<incarnation>.<stream>.<seq>","maxEvents":1024,"maxBytes":8388608,"maxAgeMs":0,"maxStreams":256}}})");
  CHECK(serve_initialize(sessions, bounds, "9d1e", "bob", protocol::v2025_11_25, capabilities) == 503);
  CHECK(serve_delete(sessions, changes, {"2025-11-25", "8c0f", "", "bob"}) == 404);
  CHECK(changes.count() == 0);
  CHECK(serve_delete(sessions, changes, {"2025-11-25", "8c0f", "", "alice"}) == 204);
  CHECK(changes.count() == 1);
  CHECK(serve_delete(sessions, changes, {"2025-11-25", "8c0f", "", "alice"}) == 404);

  REQUIRE(sessions.create("9d1e", "bob", protocol::v2025_11_25) == refusal::none);
  on_timer(sessions, changes, 2000);
  CHECK(changes.count() == 1);
  on_timer(sessions, changes, 3000);
  CHECK(changes.count() == 2);
  CHECK(sessions.inspect().sessions == 0);
}

// An event loop's side of a socket: takes as many bytes as there is room for.
struct fake_socket {
  std::size_t room = ~std::size_t{0};
  std::string received;
  std::function<std::size_t(std::string_view)> sender() {
    return [this](std::string_view bytes) {
      const std::size_t n = std::min(room, bytes.size());
      received += bytes.substr(0, n);
      room -= n;
      return n;
    };
  }
};

TEST_CASE("an event loop delivers replay and live events in order through a socket that is often full", "[readme]") {
  server s;
  std::atomic<std::uint64_t> changes{0};
  const std::string cursor = to_string(s.notify("event 0."));
  for (int i = 1; i <= 50; ++i) s.notify("event " + std::to_string(i) + ".");
  fake_socket socket;
  socket.room = 0;
  subscriber one = accept_get(s.sessions, s.get(cursor), changes, 0);
  CHECK(changes == 1);
  for (int i = 51; i <= 100; ++i) {
    s.notify("event " + std::to_string(i) + ".");
    ++changes;
    socket.room = 7;
    REQUIRE(pump(s.sessions, one, changes, 0, socket.sender()));
    CHECK(socket.room == 0);
    const std::size_t unsent = one.unsent.size();
    CHECK(pump(s.sessions, one, changes, 0, socket.sender()));
    CHECK(one.unsent.size() == unsent);  // nothing is read for a socket that takes nothing
  }
  socket.room = ~std::size_t{0};
  REQUIRE(pump(s.sessions, one, changes, 0, socket.sender()));
  CHECK(socket.received.find(head_of(200) + "id: " + cursor + "\ndata:\n\n") == 0);
  CHECK(count_of(socket.received, "data: event ") == 100);
  CHECK(in_order(socket.received, {"event 1.", "event 2.", "event 50.", "event 51.", "event 99.", "event 100."}));
  s.sessions.release(one.from);
}

TEST_CASE("an event loop sends keep-alive when it is due and closes what was taken over or ended", "[readme]") {
  server s;
  std::atomic<std::uint64_t> changes{0};
  const std::string cursor = to_string(s.notify("one"));
  fake_socket socket;
  subscriber one = accept_get(s.sessions, s.get(cursor), changes, 1000);
  CHECK(pump(s.sessions, one, changes, 15999, socket.sender()));
  CHECK(count_of(socket.received, ": keep-alive\n") == 0);
  CHECK(pump(s.sessions, one, changes, 16000, socket.sender()));
  CHECK(pump(s.sessions, one, changes, 16001, socket.sender()));
  CHECK(count_of(socket.received, ": keep-alive\n") == 1);

  subscriber two = accept_get(s.sessions, s.get(cursor), changes, 16002);
  CHECK_FALSE(pump(s.sessions, one, changes, 16002, socket.sender()));
  CHECK(in_order(socket.received, {": keep-alive\n", "id: " + cursor + "\nretry: 1000\ndata:\n\n"}));
  s.sessions.release(one.from);
  CHECK(pump(s.sessions, two, changes, 16002, socket.sender()));
  s.sessions.end("8c0f");
  ++changes;
  CHECK_FALSE(pump(s.sessions, two, changes, 16002, socket.sender()));

  fake_socket refused;
  subscriber three = accept_get(s.sessions, s.get(cursor), changes, 16003);
  CHECK_FALSE(pump(s.sessions, three, changes, 16003, refused.sender()));
  CHECK(refused.received == head_of(404));
}

TEST_CASE("after a gap the words for the lists come between the signal and the marker", "[readme]") {
  server s(bounds_of(2));
  std::atomic<std::uint64_t> changes{0};
  const std::string cursor = to_string(s.notify("one"));
  for (const char* text : {"two", "three", "four"}) s.notify(text);
  fake_socket socket;
  subscriber one = accept_get(s.sessions, s.get(cursor), changes, 0);
  CHECK(pump(s.sessions, one, changes, 0, socket.sender()));
  s.notify("five");
  ++changes;
  CHECK(pump(s.sessions, one, changes, 0, socket.sender()));
  const std::string edge = "id: " + to_string(event_id{s.standalone.owner, 0, 4}) + "\ndata:\n\n";
  CHECK(in_order(socket.received, {"event: gap\nid: " + cursor, R"("missed":3)", tools_changed,
                                   "notifications/resources/list_changed", edge, "data: five"}));
  CHECK(socket.received.find("data: four") == std::string::npos);
}

TEST_CASE("an answer that is no longer held becomes an error before the marker", "[readme]") {
  server s(bounds_of(1));
  change_counter changes;
  const opened call = s.sessions.open_stream("8c0f", "\"a\"");
  REQUIRE(s.sessions.append(call.stream, an_answer));
  REQUIRE(s.sessions.finish(call.stream) == refusal::none);
  s.notify("evicts the answer");
  s.notify("evicts the answer");
  peer client;
  serve_get(s.sessions, changes, s.get(to_string(call.reader.position())), client.sender());
  const std::string error =
      R"(data: {"jsonrpc":"2.0","id":"a","error":{"code":-32603,"message":"The answer is no longer held."}})";
  CHECK(in_order(client.received(), {"event: gap\nid: ", error, ".1.1\ndata:\n\n"}));
  CHECK(client.received().find("result") == std::string::npos);
  CHECK(client.received().find("list_changed") == std::string::npos);
}

#if MCP_RESUME_EXCEPTIONS
TEST_CASE("who wants exceptions gets one for a foreign cursor and one for a gap", "[readme]") {
  server s(bounds_of(1));
  const std::string cursor = to_string(s.notify("one"));
  serve_strictly(s.sessions, s.get(cursor));
  const std::string foreign = to_string(event_id{{1, 2}, 0, 1});
  REQUIRE_THROWS_AS(serve_strictly(s.sessions, s.get(foreign)), session_cursor_mismatch);
  s.notify("two");
  s.notify("three");
  REQUIRE_THROWS_AS(serve_strictly(s.sessions, s.get(cursor)), resumption_gap_error);
}
#endif

}  // namespace
