// SPDX-License-Identifier: MIT
// Promise: the C++ blocks of README's client chapter and the smallest program of client.hpp compile, run and do what is
// said of them; the printed output there is the real one. The table is compared in continuity.cpp.
// Between `readme: <name>` and `readme: end` stand those blocks; README repeats them word for word.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "documents.hpp"
#include "randomness.hpp"

// In README this is `int main()`.
// readme: client program
#include <iostream>
#include "mcp_resume/client.hpp"

static void readme_program() {
  const char* stored = "5f0c2d9a1b3e4c77.9f8e7d6c5b4a3921.0.418";  // the last event that was taken before the break
  mcp_resume::stream_guard guard(mcp_resume::stream_kind::standalone, "8c0f", stored);
  std::cout << "GET Mcp-Session-Id: " << guard.session_id() << ", Last-Event-ID: " << guard.cursor() << '\n';
  std::string_view bytes = "id: 5f0c2d9a1b3e4c77.9f8e7d6c5b4a3921.0.513\ndata: {}\n\n";  // the stream that came back
  std::cout << describe(guard.answer({200, "text/event-stream"})) << '\n';
  mcp_resume::event_reader reader;
  while (auto block = reader.next(bytes)) {
    std::cout << describe(guard.block(*block)) << '\n';  // read the lists again, then handle the event
    guard.taken();
  }
  std::cout << "cursor: " << guard.cursor() << '\n';
}
// readme: end

namespace {

// ---- The block ----

// readme: client loop
using namespace mcp_resume;

struct http_answer {
  int status = 0;  // 0: no answer
  std::string content_type, session_id;
  std::uint64_t retry_after_ms = 0;
};

// What you bring: HTTP, waiting, and what the application does.
class host {
 public:
  virtual ~host() = default;
  // Sends a GET with these two headers, without one that is empty. A request stream begins with its POST instead.
  virtual http_answer connect(const std::string& session_id, const std::string& cursor) = 0;
  virtual bool receive(std::string& bytes) = 0;  // the next bytes of the stream; false: it has ended
  virtual void close() = 0;
  virtual bool wait(std::uint64_t ms) = 0;         // false: the user wants to stop
  virtual bool handle(std::string_view json) = 0;  // one message; true: it was the answer of this stream's request
  virtual void resync() = 0;                       // reads the lists again, issues again what was in flight
  virtual std::uint64_t random() = 0;              // 64 bits
};

// Reads one connection until it ends, or a block ends it.
verdict read_stream(stream_guard& guard, reconnect_policy& policy, host& app) {
  event_reader reader;
  bool is_answered = false;
  for (std::string bytes; !is_answered && !reader.is_too_large() && app.receive(bytes);) {
    std::string_view rest = bytes;
    while (auto block = reader.next(rest)) {
      const verdict made = guard.block(*block);
      policy.note(made);
      if (made.recovery() == recovery::resync) app.resync();
      is_answered = made.deliver && app.handle(*block->data);
      if (is_answered) guard.answer_taken();
      guard.taken();
      if (made.next() != next_step::read_on) return made;
      if (is_answered || policy.has_ended()) break;
    }
  }
  const verdict made = guard.closed();
  policy.note(made);
  return made;
}

// Follows a stream for its life. Returns what is left to do: nothing, resync, reinitialize, or stop.
recovery follow(stream_guard& guard, reconnect_policy policy, host& app) {
  for (;;) {
    const http_answer got = app.connect(guard.session_id(), guard.cursor());
    verdict made = guard.answer({got.status, got.content_type, got.session_id});
    policy.note(made);
    if (made.next() == next_step::read_on) {
      if (made.recovery() == recovery::resync) app.resync();
      made = read_stream(guard, policy, app);
    }
    app.close();
    if (made.next() == next_step::end) return made.recovery();
    if (policy.has_ended() || !app.wait(policy.wait_ms(app.random(), got.retry_after_ms))) return recovery::stop;
  }
}
// readme: end

using namespace documents;

// ---- Texts ----

TEST_CASE("README shows what its client program prints", "[readme]") {
  const std::vector<std::string> shown = fenced("text");
  REQUIRE(shown.size() == 5);
  CHECK(printed_by(readme_program) == shown[2]);
}

TEST_CASE("the client manual's smallest program is the one that runs here", "[readme]") {
  const auto here = regions("tests/readme_client.cpp", [](const std::string& name) { return name == "manual"; });
  REQUIRE(here.size() == 1);
  CHECK_FALSE(here[0].empty());
  CHECK(with_single_blanks(smallest_program("include/mcp_resume/client.hpp")) == with_single_blanks(here[0]));
}

TEST_CASE("the client manual's smallest program takes what it can prove and moves its cursor", "[readme]") {
  const std::string received_bytes =
      "id: 5f0c2d9a1b3e4c77.9f8e7d6c5b4a3921.0.0\ndata:\n\n"
      "id: 5f0c2d9a1b3e4c77.9f8e7d6c5b4a3921.0.1\ndata: one\n\n"
      "id: 5f0c2d9a1b3e4c77.9f8e7d6c5b4a3921.0.3\nretry: 5000\ndata: three\n\n"
      "id: 5f0c2d9a1b3e4c78.9f8e7d6c5b4a3921.0.4\ndata: somebody else's\n\n"
      "id: 5f0c2d9a1b3e4c77.9f8e7d6c5b4a3921.0.4\ndata: four\n\n";
  std::string handled;
  int resyncs = 0, receives = 0;
  std::uint64_t waited_ms = 0;
  const auto send_get = [](const std::string& session_id, const std::string& cursor) {
    CHECK(session_id == "8c0f");
    CHECK(cursor.empty());
    return http_answer{200, "text/event-stream", "", 0};
  };
  const auto receive = [&](std::string& bytes) {
    bytes = received_bytes;
    return ++receives == 1;
  };
  const auto handle = [&](std::string_view data) { handled.append(data).append(";"); };
  const auto read_the_lists_again = [&] { ++resyncs; };
  const auto random_bits = [] { return std::uint64_t{0}; };
  const auto wait = [&](std::uint64_t ms) { waited_ms = ms; };
  // readme: manual
  mcp_resume::stream_guard guard(mcp_resume::stream_kind::standalone, "8c0f");
  mcp_resume::reconnect_policy policy;
  const auto goes_on = [&](const mcp_resume::verdict& made) {  // what every verdict needs
    policy.note(made);
    if (made.recovery() == mcp_resume::recovery::resync) read_the_lists_again();
    return made.next() == mcp_resume::next_step::read_on;
  };
  const auto got = send_get(guard.session_id(), guard.cursor());
  bool is_open = goes_on(guard.answer({got.status, got.content_type}));
  mcp_resume::event_reader reader;
  for (std::string bytes; is_open && !reader.is_too_large() && receive(bytes);) {
    std::string_view rest = bytes;
    while (auto block = is_open ? reader.next(rest) : std::nullopt) {
      const auto made = guard.block(*block);
      is_open = goes_on(made);
      if (made.deliver) handle(*block->data);
      guard.taken();  // now the cursor moves
    }
  }
  if (is_open) goes_on(guard.closed());
  wait(policy.wait_ms(random_bits()));  // then again, unless policy.has_ended()
  // readme: end
  CHECK(handled == "one;three;");
  CHECK(resyncs == 1);
  CHECK(receives == 1);
  CHECK(waited_ms == 10000);  // after the gap, which was an attempt
  CHECK_FALSE(guard.has_cursor());
}

// ---- The loop at work ----

// One connection as a scripted server answers it.
struct scripted {
  http_answer answer;
  std::vector<std::string> chunks;
};

// Answers each connect with the next script, then as `serve` does, or not at all.
class scripted_host : public host {
 public:
  http_answer connect(const std::string& session_id, const std::string& cursor) override {
    CHECK(session_id == "8c0f");
    CHECK(is_closed);
    is_closed = false;
    cursors.push_back(cursor);
    scripted next;
    if (!scripts.empty()) {
      next = scripts.front();
      scripts.pop_front();
    } else if (serve) {
      next = serve(cursor);
    }
    chunks.assign(next.chunks.begin(), next.chunks.end());
    return next.answer;
  }
  bool receive(std::string& bytes) override {
    if (chunks.empty()) return false;
    bytes = chunks.front();
    chunks.pop_front();
    return true;
  }
  void close() override { is_closed = true; }
  bool wait(std::uint64_t ms) override {
    waits.push_back(ms);
    return waits.size() != patience;
  }
  bool handle(std::string_view json) override {
    handled.emplace_back(json);
    return json.find("result") != json.npos;
  }
  void resync() override { handled.emplace_back("resync"); }
  std::uint64_t random() override { return 0; }

  std::deque<scripted> scripts;
  std::function<scripted(const std::string& cursor)> serve;
  std::size_t patience = 0;
  std::vector<std::string> cursors, handled;
  std::vector<std::uint64_t> waits;
  bool is_closed = true;

 private:
  std::deque<std::string> chunks;
};

http_answer event_stream() { return {200, "text/event-stream", "", 0}; }

// A session "8c0f" of alice, and what its streams say.
struct server {
  explicit server(const options& bounds = {}) : sessions(bounds) {
    const auto made = sessions.create("8c0f", "alice", protocol::v2025_11_25, randomness::counted_tags{});
    REQUIRE(made == refusal::none);
  }
  std::string read(reader& from) {
    std::string frames;
    while (sessions.read(from, frames).state == read_state::gap) append_message(frames, "words");
    return frames;
  }
  std::string get(const std::string& cursor) {
    reader from;
    const auto decided = sessions.resume({"2025-11-25", "8c0f", cursor, "alice"}, from);
    REQUIRE(decided.http_status() == 200);
    return read(from);
  }
  local_session_table sessions;
};

using texts = std::vector<std::string>;

TEST_CASE("the loop finishes a call whose connection is cut at every byte", "[readme]") {
  server s;
  opened call = s.sessions.open_stream("8c0f", "7");
  s.sessions.append(call.stream, "progress");
  s.sessions.finish(call.stream, "result");
  const std::string whole = s.read(call.reader);
  for (std::size_t cut = 0; cut <= whole.size(); ++cut) {
    scripted_host app;
    app.scripts.push_back({event_stream(), {whole.substr(0, cut)}});
    app.serve = [&s](const std::string& cursor) { return scripted{event_stream(), {s.get(cursor)}}; };
    stream_guard guard(stream_kind::request, "8c0f");
    const recovery left = follow(guard, reconnect_policy{}, app);
    INFO(cut);
    const bool has_id = cut >= whole.find("\n\n") + 2;  // before the first one there is nothing to resume
    CHECK(left == (has_id ? recovery::none : recovery::resync));
    CHECK(app.handled == (has_id ? texts{"progress", "result"} : texts{}));
  }
}

TEST_CASE("the loop resyncs once for a gap and goes on", "[readme]") {
  options bounds;
  bounds.max_events = 2;
  server s(bounds);
  const stream_handle standalone = s.sessions.standalone("8c0f").value_or(stream_handle{});
  scripted_host app;
  app.patience = 2;
  app.scripts.push_back({event_stream(), {s.get("")}});
  const std::string cursor = to_string(s.sessions.append(standalone, "one").id);
  app.scripts.back().chunks.push_back("id: " + cursor + "\ndata: one\n\n");
  for (const char* text : {"two", "three", "four"}) s.sessions.append(standalone, text);
  app.scripts.push_back({event_stream(), {s.get(cursor)}});
  stream_guard guard(stream_kind::standalone, "8c0f");
  CHECK(follow(guard, reconnect_policy{}, app) == recovery::stop);
  CHECK(app.handled == texts{"one", "words", "resync"});
  CHECK(app.cursors == texts{"", cursor});
  CHECK(guard.cursor() == to_string(event_id{standalone.owner, 0, 4}));
}

TEST_CASE("the loop drops a refused cursor and resyncs when the new stream is open", "[readme]") {
  scripted_host app;
  app.patience = 2;
  const std::string cursor = "5f0c2d9a1b3e4c77.9f8e7d6c5b4a3921.0.418";
  app.scripts.push_back({{400, "", "", 0}, {}});
  app.scripts.push_back({event_stream(), {"id: 5f0c2d9a1b3e4c77.0000000000000001.0.7\ndata: seven\n\n"}});
  stream_guard guard(stream_kind::standalone, "8c0f", cursor);
  CHECK(follow(guard, reconnect_policy{}, app) == recovery::stop);
  CHECK(app.cursors == texts{cursor, ""});
  CHECK(app.handled == texts{"resync", "seven"});
}

TEST_CASE("the loop ends with what the answer asks for", "[readme]") {
  const auto after = [](const http_answer& answer) {
    scripted_host app;
    app.scripts.push_back({answer, {}});
    stream_guard guard(stream_kind::standalone, "8c0f", "5f0c2d9a1b3e4c77.9f8e7d6c5b4a3921.0.418");
    const recovery left = follow(guard, reconnect_policy{}, app);
    CHECK(app.waits.empty());
    CHECK(app.is_closed);
    return left;
  };
  CHECK(after({404, "", "", 0}) == recovery::reinitialize);
  CHECK(after({200, "text/event-stream", "another", 0}) == recovery::reinitialize);
  CHECK(after({405, "", "", 0}) == recovery::stop);
  CHECK(after({204, "", "", 0}) == recovery::none);
}

TEST_CASE("the loop gives up a server that brings nothing new and waits longer each time", "[readme]") {
  for (const http_answer& answer : {http_answer{}, http_answer{503, "", "", 0}, event_stream()}) {
    scripted_host app;
    for (int i = 0; i != 100; ++i) app.scripts.push_back({answer, {": keep-alive\n"}});
    stream_guard guard(stream_kind::standalone, "8c0f", "5f0c2d9a1b3e4c77.9f8e7d6c5b4a3921.0.418");
    CHECK(follow(guard, reconnect_policy{}, app) == recovery::stop);
    std::vector<std::uint64_t> expected{1000, 2000, 4000, 8000, 16000};
    expected.resize(20, 30000);
    CHECK(app.waits == expected);
  }
}

TEST_CASE("the loop closes a connection whose block is too large", "[readme]") {
  scripted_host app;
  app.patience = 1;
  app.scripts.push_back({event_stream(), {std::string((std::size_t{16} << 20U) + 1, 'x'), "\n\ndata: late\n\n"}});
  stream_guard guard(stream_kind::standalone, "8c0f");
  CHECK(follow(guard, reconnect_policy{}, app) == recovery::stop);
  CHECK(app.handled.empty());
  CHECK(app.is_closed);
}

TEST_CASE("the loop waits as long as the server says", "[readme]") {
  scripted_host app;
  app.patience = 2;
  app.scripts.push_back({{503, "", "", 7000}, {}});
  app.scripts.push_back({event_stream(),
                         {"retry: 5000\nid: 5f0c2d9a1b3e4c77.9f8e7d6c5b4a3921.0.0\ndata:\n\n",
                          "id: 5f0c2d9a1b3e4c77.9f8e7d6c5b4a3921.0.1\ndata: one\n\n"}});
  stream_guard guard(stream_kind::standalone, "8c0f");
  CHECK(follow(guard, reconnect_policy{}, app) == recovery::stop);
  CHECK(app.waits == std::vector<std::uint64_t>{7000, 5000});
}

}  // namespace
