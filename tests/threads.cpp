// SPDX-License-Identifier: MIT
// Promise: with threads that append, read, take over and end through one table, and wait by the recipe of the manual,
// nothing is lost, comes twice or out of order, and no wake-up is lost. Meant to be run under a thread sanitizer, too.
//
// Catch's macros are not for several threads: each thread notes what it found, and the main thread checks it.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "catch.hpp"
#include "mcp_resume/resume.hpp"

namespace {

using mcp_resume::options;
using mcp_resume::progress;
using mcp_resume::protocol;
using mcp_resume::read_state;
using mcp_resume::reader;
using mcp_resume::refusal;
using mcp_resume::request;
using mcp_resume::session_table;
using mcp_resume::stream_handle;

// A wait that lasts so long has lost its wake-up, and a connection that lasts longer has lost its way: both fail instead
// of hanging.
constexpr std::chrono::seconds keep_alive{8}, longest_connection{20};

// The author's change counter: whoever changes something rings; a reader takes the counter, reads, and waits until the
// counter differs or a keep-alive is due.
class bell {
 public:
  void ring() {
    {
      const std::lock_guard<std::mutex> guard(mutex_);
      ++changes_;
    }
    rung_.notify_all();
  }
  std::uint64_t changes() const {
    const std::lock_guard<std::mutex> guard(mutex_);
    return changes_;
  }
  // False if a keep-alive was due.
  bool wait(std::uint64_t seen) const {
    std::unique_lock<std::mutex> lock(mutex_);
    return rung_.wait_for(lock, keep_alive, [&] { return changes_ != seen; });
  }

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable rung_;
  std::uint64_t changes_ = 0;
};

struct event {
  std::uint64_t seq;
  std::string payload;
};

// What one connection brought.
struct heard {
  std::vector<event> events;
  std::uint64_t missed = 0;
  std::string last_id;
  read_state end = read_state::more;
  bool has_lost_wake_up = false;
};

std::string_view value_of(std::string_view block, std::string_view field) {
  const std::size_t at = block.find(field);
  if (at == block.npos) return {};
  const std::string_view rest = block.substr(at + field.size());
  return rest.substr(0, rest.find('\n'));
}

// 0 for what is no event id.
std::uint64_t seq_of(std::string_view id) {
  return mcp_resume::event_id::parse(id).value_or(mcp_resume::event_id{}).seq;
}

void note(heard& to, std::string_view frames) {
  while (!frames.empty()) {
    const std::size_t end = frames.find("\n\n");
    const std::string_view block = frames.substr(0, end);
    frames.remove_prefix(end + 2);
    const std::string_view id = value_of(block, "id: "), data = value_of(block, "data: ");
    to.last_id = std::string(id);
    if (data.empty() || block.find("event: ") != block.npos) continue;
    to.events.push_back({seq_of(id), std::string(data)});
  }
}

// A connection's thread: reads and waits until it is to close, or `is_enough(heard)` after a read.
template <class Enough>
void listen(session_table& table, reader& from, const bell& changed, heard& to, Enough is_enough) {
  const auto deadline = std::chrono::steady_clock::now() + longest_connection;
  while (std::chrono::steady_clock::now() < deadline) {
    const std::uint64_t seen = changed.changes();
    std::string frames;
    const progress done = table.read(from, frames, 2000);
    note(to, frames);
    to.missed += done.missed;
    to.end = done.state;
    const bool is_over = done.state == read_state::finished || done.state == read_state::superseded ||
                         done.state == read_state::gone || is_enough(to);
    if (is_over) return;
    if (done.state == read_state::caught_up && !changed.wait(seen)) break;
  }
  to.has_lost_wake_up = true;
}
void listen(session_table& table, reader& from, const bell& changed, heard& to) {
  listen(table, from, changed, to, [](const heard&) { return false; });
}

request get(std::string_view id, const std::string& last_event_id = {}) {
  request asked;
  asked.session_id = id;
  asked.principal = std::string_view("alice");
  asked.last_event_id = std::string_view(last_event_id);
  return asked;
}

void create(session_table& table, std::string_view id) {
  REQUIRE(table.create(id, "alice", protocol::v2025_11_25) == refusal::none);
}

stream_handle standalone(const session_table& table, std::string_view id) {
  const std::optional<stream_handle> stream = table.standalone(id);
  REQUIRE(stream.has_value());
  return *stream;
}

reader resumed(session_table& table, std::string_view id) {
  reader from;
  REQUIRE(table.resume(get(id), from).http_status() == 200);
  return from;
}

// A worker's thread: appends "<name>.1", "<name>.2", ... and rings after each.
void work(session_table& table, const stream_handle& stream, const std::string& name, std::uint64_t events,
          bell& changed) {
  for (std::uint64_t i = 1; i <= events; ++i) {
    table.append(stream, name + "." + std::to_string(i));
    changed.ring();
    if (i % 16 == 0) std::this_thread::yield();  // so that readers catch up now and then
  }
}

// Whether the seqs are first, first + 1, ... without a hole.
bool is_run(const std::vector<event>& events, std::uint64_t first) {
  for (const event& e : events) {
    if (e.seq != first++) return false;
  }
  return true;
}

// Whether the worker's events are 1, 2, ... in their order, `count` of them.
bool has_all_of(const std::vector<event>& events, const std::string& name, std::uint64_t count) {
  std::uint64_t next = 1;
  for (const event& e : events) {
    if (e.payload.compare(0, name.size() + 1, name + ".") != 0) continue;
    if (e.payload != name + "." + std::to_string(next++)) return false;
  }
  return next == count + 1;
}

constexpr std::uint64_t many = 1500;
options ample() {
  options o;
  o.max_events = 8 * many;
  return o;
}

}  // namespace

TEST_CASE("what two workers append to two streams arrives once and in order", "[threads]") {
  session_table table(ample());
  bell changed;
  create(table, "s");
  const stream_handle standing = standalone(table, "s");
  const mcp_resume::opened call = table.open_stream("s", "7");
  REQUIRE(call.why == refusal::none);

  reader get_reader = resumed(table, "s"), post_reader = call.reader;
  heard of_get, of_post;
  std::thread get_thread(
      [&] { listen(table, get_reader, changed, of_get, [](const heard& h) { return h.events.size() >= 2 * many; }); });
  std::thread post_thread([&] { listen(table, post_reader, changed, of_post); });
  std::thread second_worker([&] { work(table, standing, "b", many, changed); });
  std::thread first_worker([&] {
    work(table, call.stream, "c", many, changed);
    table.finish(call.stream);
    changed.ring();
    work(table, standing, "a", many, changed);
  });
  for (std::thread* each : {&first_worker, &second_worker, &get_thread, &post_thread}) each->join();

  CHECK((!of_get.has_lost_wake_up && !of_post.has_lost_wake_up));
  CHECK(of_get.events.size() == 2 * many);
  CHECK(is_run(of_get.events, 1));
  CHECK(has_all_of(of_get.events, "a", many));
  CHECK(has_all_of(of_get.events, "b", many));
  CHECK(of_post.end == read_state::finished);
  CHECK(of_post.events.size() == many);
  CHECK(is_run(of_post.events, 1));
  CHECK(has_all_of(of_post.events, "c", many));
}

// Each event waits for the one before it to be read, so the reader sleeps before nearly each.
TEST_CASE("a reader that sleeps before each event is woken for each", "[threads]") {
  session_table table(ample());
  bell changed, answered;
  create(table, "s");
  const mcp_resume::opened call = table.open_stream("s", "7");
  reader from = call.reader;
  heard of;
  std::thread reading([&] {
    listen(table, from, changed, of, [&](const heard&) {
      answered.ring();
      return false;
    });
  });
  std::atomic<bool> has_lost_wake_up{false};
  std::thread working([&] {
    for (std::uint64_t i = 1; i <= many && !has_lost_wake_up; ++i) {
      const std::uint64_t seen = answered.changes();
      table.append(call.stream, "a." + std::to_string(i));
      changed.ring();
      has_lost_wake_up = !answered.wait(seen);
    }
    table.finish(call.stream);
    changed.ring();
  });
  working.join();
  reading.join();
  CHECK((!has_lost_wake_up && !of.has_lost_wake_up));
  CHECK(of.end == read_state::finished);
  CHECK(has_all_of(of.events, "a", many));
}

TEST_CASE("a client that reconnects all the time gets everything once", "[threads]") {
  session_table table(ample());
  bell changed;
  create(table, "s");
  const stream_handle stream = standalone(table, "s");
  std::thread first_worker([&] { work(table, stream, "a", many, changed); });
  std::thread second_worker([&] { work(table, stream, "b", many, changed); });

  heard of;
  bool is_refused = false, is_superseded = true;
  reader from = resumed(table, "s");
  std::thread client([&] {
    while (of.events.size() < 2 * many && !of.has_lost_wake_up && !is_refused) {
      const std::size_t enough = of.events.size() + 50;
      listen(table, from, changed, of,
             [enough](const heard& h) { return h.events.size() >= enough || h.events.size() == 2 * many; });
      reader older = from;
      is_refused = table.resume(get("s", of.last_id), from).reason > mcp_resume::reason::replay ||
                   from.lease() != older.lease() + 1;
      changed.ring();
      std::string frames;
      is_superseded &= table.read(older, frames).state == read_state::superseded && frames.empty();
    }
  });
  for (std::thread* each : {&first_worker, &second_worker, &client}) each->join();
  CHECK(!of.has_lost_wake_up);
  CHECK(!is_refused);
  CHECK(is_superseded);
  CHECK(of.events.size() == 2 * many);
  CHECK(is_run(of.events, 1));
  CHECK(has_all_of(of.events, "a", many));
  CHECK(has_all_of(of.events, "b", many));
}

// The older connection may still carry what it had read, and ends.
TEST_CASE("a connection that is taken over by another thread ends and the newer goes on after the cursor",
          "[threads]") {
  session_table table(ample());
  bell changed;
  create(table, "s");
  const stream_handle stream = standalone(table, "s");
  reader older = resumed(table, "s"), newer;
  heard of_older, of_newer;
  bell is_halfway;
  std::string cursor;
  std::thread older_thread([&] {
    listen(table, older, changed, of_older, [&](const heard& h) {
      if (!cursor.empty() || h.events.size() < many / 2) return false;
      cursor = h.last_id;
      is_halfway.ring();
      return false;
    });
  });
  std::thread newer_thread([&] {
    is_halfway.wait(0);
    const std::string presented = cursor;  // written before the bell rang, and never again
    (void)table.resume(get("s", presented), newer);
    changed.ring();
    const std::uint64_t after = seq_of(presented);
    listen(table, newer, changed, of_newer, [after](const heard& h) { return after + h.events.size() == many; });
  });
  std::thread worker([&] { work(table, stream, "a", many, changed); });
  for (std::thread* each : {&worker, &older_thread, &newer_thread}) each->join();

  CHECK((!of_older.has_lost_wake_up && !of_newer.has_lost_wake_up));
  CHECK(of_older.end == read_state::superseded);
  CHECK(is_run(of_older.events, 1));
  const std::uint64_t after = seq_of(cursor);
  CHECK(after <= of_older.events.size());
  CHECK(is_run(of_newer.events, after + 1));
  CHECK(after + of_newer.events.size() == many);
}

TEST_CASE("a session that ends under its workers and readers wakes and closes them all", "[threads]") {
  session_table table(ample());
  bell changed;
  create(table, "s");
  const stream_handle stream = standalone(table, "s");
  reader from = resumed(table, "s");
  heard of;
  std::uint64_t taken = 0;
  std::atomic<bool> is_enough{false};
  std::thread reading([&] {
    listen(table, from, changed, of, [&](const heard& h) {
      if (h.events.size() >= many / 4) is_enough = true;
      return false;
    });
    is_enough = true;
  });
  std::thread working([&] {
    for (bool is_live = true; is_live;) {
      const bool is_full = taken == ample().max_events;  // one more, and a slow reader would be told of a gap
      is_live = is_full ? table.standalone("s").has_value() : !!table.append(stream, "a." + std::to_string(taken + 1));
      if (is_live && !is_full) ++taken;
      changed.ring();
      if (taken % 16 == 0) std::this_thread::yield();
    }
  });
  std::thread ending([&] {
    while (!is_enough) std::this_thread::yield();
    table.end("s");
    changed.ring();
  });
  for (std::thread* each : {&reading, &working, &ending}) each->join();
  CHECK(!of.has_lost_wake_up);
  CHECK(of.end == read_state::gone);
  CHECK(of.events.size() <= taken);
  CHECK(is_run(of.events, 1));
  CHECK(table.inspect().sessions == 0);
  CHECK(table.inspect().events == 0);
}

TEST_CASE("a reader that is overrun is told of every event that it misses", "[threads]") {
  options bounds;
  bounds.max_events = 16;
  session_table table(bounds);
  bell changed;
  create(table, "s");
  const mcp_resume::opened call = table.open_stream("s", "7");
  reader from = call.reader;
  heard of;
  std::thread reading([&] { listen(table, from, changed, of); });
  std::thread working([&] {
    for (std::uint64_t i = 1; i <= 4 * many; ++i) {
      table.append(call.stream, "a." + std::to_string(i));
      if (i % 64 == 0) changed.ring();
    }
    table.finish(call.stream);
    changed.ring();
  });
  reading.join();
  working.join();
  CHECK(!of.has_lost_wake_up);
  CHECK(of.end == read_state::finished);
  CHECK(of.events.size() + of.missed == 4 * many);
  bool is_in_order = true, is_own = true;
  for (std::size_t i = 0; i != of.events.size(); ++i) {
    is_in_order &= i == 0 || of.events[i - 1].seq < of.events[i].seq;
    is_own &= of.events[i].payload == "a." + std::to_string(of.events[i].seq);
  }
  CHECK(is_in_order);
  CHECK(is_own);
}

namespace {

// Sessions that come and go, and what must stay true of them meanwhile.
struct crowd {
  static constexpr int sessions = 24, rounds = 60;
  session_table table;
  std::atomic<int> running{2};  // threads that create and end
  std::atomic<bool> is_clean{true};
  std::atomic<std::uint64_t> delivered{0};

  explicit crowd(const options& bounds) : table(bounds) {}
  static std::string name(int i) { return "session-" + std::to_string(i); }

  // Of all sessions whose number leaves that rest when divided by 2.
  void create_and_end(int rest) {
    for (int round = 0; round != rounds; ++round) {
      for (int i = rest; i < sessions; i += 2) {
        if (table.create(name(i), "alice", protocol::v2025_11_25) != refusal::none) is_clean = false;
        const mcp_resume::opened call = table.open_stream(name(i), "7");
        for (int n = 0; n != 3; ++n) {
          if (!table.append(call.stream, name(i))) is_clean = false;
        }
        if (i % 4 < 2 && table.finish(call.stream) != refusal::none) is_clean = false;
      }
      for (int i = rest; i < sessions; i += 2) {
        if (round % 3 == 0 && table.renew(name(i)) != refusal::none) is_clean = false;
        if (table.end(name(i)) != refusal::none) is_clean = false;
      }
    }
    --running;
  }

  void read_along() {
    for (int i = 0; running != 0; i = (i + 1) % sessions) {
      reader from;
      const std::string id = name(i);
      if (const auto stream = table.standalone(id)) (void)table.append(*stream, id);
      if (table.resume(get(id), from).http_status() != 200) continue;
      std::string frames;
      heard to;
      while (table.read(from, frames).state == read_state::more) {
      }
      note(to, frames);
      for (const event& e : to.events) {
        if (e.payload != id && e.payload != "all") is_clean = false;
      }
      delivered += to.events.size();
      table.release(from);
    }
  }

  void look_after() {
    for (std::uint64_t now = 1; running != 0; ++now) {
      std::vector<std::string> expired;
      table.tick(now, &expired);
      const mcp_resume::broadcast done = table.append_all("all");
      const mcp_resume::inspection all = table.inspect();
      const bool is_inside = all.sessions <= sessions && all.events <= sessions * std::uint64_t{8};
      if (!expired.empty() || done.refused != 0 || !is_inside) is_clean = false;
    }
  }
};

}  // namespace

TEST_CASE("sessions come and go under append and read and tick and broadcast without mixing", "[threads]") {
  options bounds;
  bounds.max_events = 8;
  bounds.max_sessions = crowd::sessions;
  bounds.max_age_ms = 1000000;
  bounds.idle_ms = 0;
  crowd all(bounds);
  std::thread even([&] { all.create_and_end(0); });
  std::thread odd([&] { all.create_and_end(1); });
  std::thread reading([&] { all.read_along(); });
  std::thread looking([&] { all.look_after(); });
  for (std::thread* each : {&even, &odd, &reading, &looking}) each->join();
  CHECK(all.is_clean);
  CHECK(all.delivered > 0);
  CHECK(all.table.inspect().sessions == 0);
  CHECK(all.table.create("last", "alice", protocol::v2025_11_25) == refusal::none);
}
