// SPDX-License-Identifier: MIT
// Promise: whatever the order in which the calls of three threads get the locks of one table, guarantees G1, G2, G3 and
// G5 hold, and every call answers as if it had been made alone, at the moment in which it held its lock.
//
// The table's mutex is controlled: lock() is where another thread may go on. Exactly one thread runs at a time, and who
// goes on is a choice; all sequences of choices are tried, depth first, so nothing depends on time or load. Between two
// locks a call touches nothing shared, so a step is what happens from one lock to the next. A call that takes one lock
// is one step and needs no thread of its own; one that takes a second is found out by it, and from then on runs on a
// real thread that waits at each lock for its turn. append_all, tick and inspect take all parts of the table one after
// the other: only parts that several threads of the program visit are places to wait, since nobody can tell when the
// others are visited.
//
// Two judges look at each schedule. The reference makes the same calls one after the other, in the order of the locks,
// on tables that one thread uses, one table for each part: all results must be equal, to the byte of each frame. A call
// that took several locks, where one is promised, may count from any of them: if none fits, it was not one step. The
// ledger knows nothing of the library: it follows what each connection is told, block by block.
//
// Usage: interleavings [--deep] [--program "SETTING: WORD... | WORD... | WORD..."]

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "mcp_resume/resume.hpp"

namespace {

using namespace mcp_resume;

constexpr std::size_t thread_count = 3;

// ---- Stage ---------------------------------------------------------------------------------------------------------

struct controlled_mutex {
  controlled_mutex() noexcept : part(next_part++) {}
  void lock() noexcept;
  void unlock() noexcept { is_held = false; }
  std::size_t part;  // a table makes its mutexes in the order in which it visits them
  bool is_held = false;
  static inline std::size_t next_part = 0;
};

// Where a thread waits for the baton. It looks a few times before it sleeps: a step is shorter than waking up.
class gate {
 public:
  void open() {
    {
      const std::lock_guard<std::mutex> guard(mutex_);
      is_open_ = true;
    }
    opened_.notify_one();
  }
  void pass() {
    for (int looks = 0; looks != 200 && !is_open_; ++looks) std::this_thread::yield();
    std::unique_lock<std::mutex> guard(mutex_);
    opened_.wait(guard, [this] { return is_open_.load(); });
    is_open_ = false;
  }

 private:
  std::mutex mutex_;
  std::condition_variable opened_;
  std::atomic<bool> is_open_{false};
};

// Three threads and the conductor, of whom the one with the baton runs. What a call locks is noted here.
class stage {
 public:
  stage() {
    for (std::size_t i = 0; i != thread_count; ++i) performers_[i].thread = std::thread([this, i] { perform(i); });
  }
  stage(const stage&) = delete;
  stage& operator=(const stage&) = delete;
  ~stage() {
    is_over_ = true;
    for (performer& p : performers_) p.turn.open();
    for (performer& p : performers_) p.thread.join();
  }

  // How locks are met: outside of a schedule they are taken and nothing more.
  bool is_exploring = false;
  bool waits_at_first_lock = false;
  std::vector<std::size_t> places;       // parts at whose lock a call waits
  std::optional<std::size_t> last_part;  // locked last, in or outside of a schedule
  std::vector<std::size_t> locked;       // by the step that runs or ran last
  bool is_locked_twice = false;          // a lock was taken that is held: threads would wait for ever
  bool has_missed_a_wait = false;        // by a call on the conductor's thread: the schedule does not count

  // Runs a whole call on the conductor's thread. False if it met a lock at which it had to wait.
  bool run_here(const std::function<void()>& call) {
    locked.clear();
    locks_of_call_ = 0;
    call();
    if (locks_of_call_ > 1) has_missed_a_wait = true;
    return locks_of_call_ <= 1;
  }
  void begin(std::size_t thread, std::function<void()> call) { performers_[thread].call = std::move(call); }
  bool is_inside_call(std::size_t thread) const { return static_cast<bool>(performers_[thread].call); }
  bool can_go_on(std::size_t thread) const {
    const controlled_mutex* const wanted = performers_[thread].wanted;
    return wanted == nullptr || !wanted->is_held;
  }
  // Runs the thread's call until it waits at a lock or is done.
  void go_on(std::size_t thread) {
    locked.clear();
    performers_[thread].turn.open();
    conductors_turn_.pass();
  }
  void meet(controlled_mutex& wanted) noexcept {
    const bool is_place = std::count(places.begin(), places.end(), wanted.part) != 0;
    last_part = wanted.part;
    if (is_exploring && is_place) {
      std::size_t& locks = me_ == conductor ? locks_of_call_ : performers_[me_].locks;
      const bool must_wait = locks++ != 0 || waits_at_first_lock;
      if (must_wait && me_ != conductor) wait_at(wanted);
      locked.push_back(wanted.part);
    }
    if (wanted.is_held) is_locked_twice = true;
    wanted.is_held = true;
  }

 private:
  static constexpr std::size_t conductor = thread_count;
  struct performer {
    gate turn;
    std::function<void()> call;
    controlled_mutex* wanted = nullptr;
    std::size_t locks = 0;
    std::thread thread;
  };

  void perform(std::size_t me) {
    me_ = me;
    performer& self = performers_[me];
    for (self.turn.pass(); !is_over_; self.turn.pass()) {
      self.locks = 0;
      self.call();
      self.call = nullptr;
      conductors_turn_.open();
    }
  }
  void wait_at(controlled_mutex& wanted) noexcept {
    performer& self = performers_[me_];
    self.wanted = &wanted;
    conductors_turn_.open();
    self.turn.pass();
    self.wanted = nullptr;
  }

  gate conductors_turn_;
  std::array<performer, thread_count> performers_;
  std::size_t locks_of_call_ = 0;  // of a call that runs on the conductor's thread
  bool is_over_ = false;
  static inline thread_local std::size_t me_ = conductor;
};

stage& the_stage() {
  static stage only;
  return only;
}

void controlled_mutex::lock() noexcept { the_stage().meet(*this); }

// ---- Calls ---------------------------------------------------------------------------------------------------------
// Sessions: a and c in one part of the table, b in another. a has a request stream, r. c is not there at first.

enum class word : std::uint8_t {
  append_0a,
  append_ra,
  append_0b,
  finish,
  answer,
  forget,
  open,
  resume_0a,
  fresh_a,
  resume_ra,
  fresh_b,
  read,
  read_one,
  release,
  decide_0a,
  decide_ra,
  attach,
  end_a,
  create_a,
  create_c,
  renew_a,
  touch_a,
  look_at_a,
  append_all,
  tick,
  inspect,
};
constexpr std::string_view word_texts[] = {
    "append_0a", "append_ra", "append_0b", "finish",   "answer",    "forget",     "open",      "resume_0a", "fresh_a",
    "resume_ra", "fresh_b",   "read",      "read_one", "release",   "decide_0a",  "decide_ra", "attach",    "end_a",
    "create_a",  "create_c",  "renew_a",   "touch_a",  "look_at_a", "append_all", "tick",      "inspect",
};
constexpr std::size_t word_count = sizeof word_texts / sizeof word_texts[0];
static_assert(word_count == static_cast<std::size_t>(word::inspect) + 1);

// Calls that are promised to take the parts one after the other, not all at once.
bool visits_all_parts(word w) { return w == word::append_all || w == word::tick || w == word::inspect; }

std::string_view text_of(word w) { return word_texts[static_cast<std::size_t>(w)]; }

constexpr std::uint64_t set_up_at = 10;  // ms
struct setting {
  std::string_view name;
  mcp_resume::options bounds;
  bool is_overrun;  // thread 0's reader is, and r is finished
  bool is_idle;     // one tick has found all sessions idle too long
};
mcp_resume::options bounds_with(std::uint32_t max_events, std::size_t max_sessions, std::uint64_t max_age_ms) {
  mcp_resume::options bounds;
  bounds.max_events = max_events;
  bounds.max_sessions = max_sessions;
  bounds.max_age_ms = max_age_ms;
  bounds.max_streams = 2;
  bounds.idle_ms = bounds.reader_timeout_ms = 5;
  return bounds;
}
const std::vector<setting>& settings() {
  static const std::vector<setting> all = {
      {"roomy", bounds_with(100, 100, 0), false, false},
      {"tight", bounds_with(2, 2, 0), true, false},
      {"idle", bounds_with(3, 3, 15), false, true},
  };
  return all;
}

using program = std::array<std::vector<word>, thread_count>;
std::string text_of(const program& p) {
  std::string text;
  for (const std::vector<word>& thread : p) {
    text += text.empty() ? "" : " |";
    for (const word w : thread) text += (text.empty() ? "" : " ") + std::string(text_of(w));
  }
  return text;
}

struct session_ids {
  std::string a, b, c;
  std::size_t part_of_a = 0, part_of_b = 0;
};
// Which of the two parts is visited first.
enum class part_order : std::uint8_t { a_first, b_first };
constexpr part_order part_orders[] = {part_order::a_first, part_order::b_first};
part_order present_order = part_order::a_first;

// Which part an id is in depends on the standard library's hash.
std::size_t part_of_id(const std::string& id) {
  controlled_mutex::next_part = 0;
  const basic_session_table<controlled_mutex> table;
  (void)table.standalone(id);
  return *the_stage().last_part;
}
session_ids find_ids(part_order wanted) {
  const auto nth = [](int n) { return "s" + std::to_string(n); };
  int n = 0;
  // There must be a part on either side; the table has made its mutexes by then.
  while (part_of_id(nth(n)) == 0 || part_of_id(nth(n)) + 1 == controlled_mutex::next_part) ++n;
  session_ids found;
  found.a = nth(n);
  found.part_of_a = part_of_id(found.a);
  while (found.b.empty() || found.c.empty()) {
    const std::string id = nth(++n);
    const std::size_t part = part_of_id(id);
    const bool is_b = part != found.part_of_a && (part < found.part_of_a) == (wanted == part_order::b_first);
    if (part == found.part_of_a && found.c.empty()) found.c = id;
    if (!is_b || !found.b.empty()) continue;
    found.b = id;
    found.part_of_b = part;
  }
  return found;
}
const session_ids& ids() {
  static const session_ids a_first = find_ids(part_order::a_first), b_first = find_ids(part_order::b_first);
  return present_order == part_order::a_first ? a_first : b_first;
}

// The table under test, or the reference: a table for each part.
struct one_table {
  explicit one_table(const options& bounds) : table((controlled_mutex::next_part = 0, bounds)) {}  // parts count anew
  basic_session_table<controlled_mutex> table;
  auto& of(std::size_t /*part*/) { return table; }
  auto& of(std::size_t /*part*/) const { return table; }
  template <class Visit>
  void each(Visit visit) {
    visit(table);
  }
};
struct table_for_each_part {
  explicit table_for_each_part(const options& bounds) : with_a(bounds), with_b(bounds) {}
  local_session_table with_a, with_b;
  local_session_table& of(std::size_t part) { return part == ids().part_of_b ? with_b : with_a; }
  template <class Visit>
  void each(Visit visit) {
    visit(with_a);
    visit(with_b);
  }
};

// What a call returned. `text` is all of it.
struct result {
  std::string text;
  bool is_refusal = false;  // must have changed nothing
  std::string frames;
  read_state state = read_state::more;
  event_id id;                     // of an appended event
  bool has_ended_streams = false;  // readers may be told gone
  broadcast sent;
  inspection seen;
  std::vector<std::string> expired;
};

std::string text_of(const inspection& i) {
  std::string text;
  for (const std::uint64_t n : {i.sessions, i.streams, i.events, i.bytes, i.oldest_age_ms, i.evicted_unread}) {
    text += std::to_string(n) + " ";
  }
  return text;
}

template <class Tables>
struct world {
  explicit world(const setting& chosen) : tables(chosen.bounds) {}
  Tables tables;
  stream_handle standalone_a, request_a, standalone_b;
  std::string cursor_0a, cursor_ra;
  std::array<reader, thread_count> readers;
  std::array<resolution, thread_count> decided;
  std::array<std::size_t, thread_count> part_of_reader{};  // where not said otherwise: a's
};

auto tags_after(std::uint64_t tag) {
  return [tag]() mutable { return drawn_tag(++tag); };
}

struct call {
  word what;
  std::size_t thread;
  std::size_t index;  // in its thread
  std::string name() const { return std::to_string(thread) + "." + std::to_string(index); }
  auto random() const { return tags_after(0x1000 * (thread + 1) + 0x100 * index); }
  std::uint64_t tick_at() const { return set_up_at + 20 + 10 * thread + 40 * index; }
};

std::size_t part_of(word w, std::size_t part_of_reader) {
  if (w == word::append_0b || w == word::fresh_b) return ids().part_of_b;
  const bool is_of_reader = w == word::read || w == word::read_one || w == word::release;
  return is_of_reader ? part_of_reader : ids().part_of_a;
}

request get(std::string_view id, std::string_view cursor) { return {"2025-11-25", id, cursor, "alice"}; }

std::string text_of(const resolution& r) {
  std::string text = describe(r) + " " + to_string(r.cursor) + " " + to_string(r.window);
  return text + " " + std::to_string(r.missed) + " " + std::to_string(r.no_longer_held);
}
std::string text_of(const reader& r) {
  return " lease " + std::to_string(r.lease()) + " at " + to_string(r.position());
}

void set(result& done, refusal why) {
  done.is_refusal = why != refusal::none;
  done.text = std::string(to_string(why));
}
void set(result& done, const appended& added) {
  set(done, added.why);
  done.id = added.id;
  done.text += " " + to_string(added.id) + " unread " + std::to_string(added.unread) + " evicted " +
               std::to_string(added.evicted_unread);
}
void set(result& done, const progress& read) {
  done.state = read.state;
  done.is_refusal = read.state == read_state::gone || read.state == read_state::superseded;
  done.text = std::string(to_string(read.state)) + " answer " + std::string(to_string(read.answer)) + " missed " +
              std::to_string(read.missed) + " events " + std::to_string(read.events) + " bytes " +
              std::to_string(read.bytes) + "\n" + done.frames;
}

template <class Tables>
void resume(world<Tables>& in, const call& made, std::string_view id, std::string_view cursor, result& done) {
  const std::size_t part = part_of(made.what, 0);
  const resolution decided = in.tables.of(part).resume(get(id, cursor), in.readers[made.thread]);
  in.part_of_reader[made.thread] = part;
  done.is_refusal = decided.http_status() != 200;
  done.text = text_of(decided) + text_of(in.readers[made.thread]);
}
template <class Tables>
void decide(world<Tables>& in, const call& made, std::string_view cursor, result& done) {
  const resolution decided = resolve_resume(get(ids().a, cursor), std::as_const(in.tables.of(ids().part_of_a)));
  in.decided[made.thread] = decided;
  done.is_refusal = true;
  done.text = text_of(decided);
}
template <class Tables>
void open(world<Tables>& in, const call& made, result& done) {
  const opened call_stream = in.tables.of(ids().part_of_a).open_stream(ids().a, "8");
  set(done, call_stream.why);
  done.has_ended_streams = static_cast<bool>(call_stream);  // may have dropped one
  if (!call_stream) return;
  in.readers[made.thread] = call_stream.reader;
  in.part_of_reader[made.thread] = ids().part_of_a;
  done.text += " " + std::to_string(call_stream.stream.stream) + text_of(call_stream.reader);
}
template <class Tables>
void attach(world<Tables>& in, const call& made, result& done) {
  in.readers[made.thread] = in.tables.of(ids().part_of_a).attach(in.decided[made.thread]);
  in.part_of_reader[made.thread] = ids().part_of_a;
  done.is_refusal = in.readers[made.thread].lease() == 0;
  done.text = text_of(in.readers[made.thread]);
}
template <class Tables>
void read(world<Tables>& in, std::size_t thread, std::size_t max_bytes, result& done) {
  set(done, in.tables.of(in.part_of_reader[thread]).read(in.readers[thread], done.frames, max_bytes));
}
template <class Tables>
void look_at_a(world<Tables>& in, result& done) {
  auto& table = in.tables.of(ids().part_of_a);
  done.is_refusal = true;
  done.text = text_of(table.inspect(ids().a));
}

// The part of a call that visits all parts which concerns these tables.
template <class Table>
void visit_parts(Table& table, const call& made, result& done) {
  if (made.what == word::append_all) {
    const broadcast sent = table.append_all("all." + made.name());
    done.sent.appended += sent.appended;
    done.sent.refused += sent.refused;
  } else if (made.what == word::tick) {
    table.tick(made.tick_at(), &done.expired);
  } else {
    const inspection seen = table.inspect();
    done.seen.sessions += seen.sessions;
    done.seen.streams += seen.streams;
    done.seen.events += seen.events;
    done.seen.bytes += seen.bytes;
    done.seen.oldest_age_ms = std::max(done.seen.oldest_age_ms, seen.oldest_age_ms);
    done.seen.evicted_unread += seen.evicted_unread;
  }
}
void close_visit(const call& made, result& done) {
  std::sort(done.expired.begin(), done.expired.end());
  done.is_refusal = made.what == word::inspect;
  done.text = std::to_string(done.sent.appended) + " " + std::to_string(done.sent.refused) + ", " + text_of(done.seen);
  for (const std::string& id : done.expired) done.text += " " + id;
}

template <class Table>
bool change(Table& table, const call& made, result& done) {
  const std::string& id = made.what == word::create_c ? ids().c : ids().a;
  switch (made.what) {
    case word::create_a:
    case word::create_c:
      set(done, table.create(id, "alice", protocol::v2025_11_25, made.random()));
      break;
    case word::end_a:
      set(done, table.end(id));
      break;
    case word::renew_a:
      set(done, table.renew(id, made.random()));
      break;
    case word::touch_a:
      set(done, table.touch(id, "alice"));
      return true;
    default:
      return false;
  }
  done.has_ended_streams = !done.is_refusal;
  return true;
}

template <class Tables>
bool use_stream(world<Tables>& in, const call& made, result& done) {
  auto& table = in.tables.of(part_of(made.what, 0));
  switch (made.what) {
    case word::append_0a:
      set(done, table.append(in.standalone_a, "a0." + made.name()));
      break;
    case word::append_ra:
      set(done, table.append(in.request_a, "ar." + made.name()));
      break;
    case word::append_0b:
      set(done, table.append(in.standalone_b, "b0." + made.name()));
      break;
    case word::answer:
      set(done, table.finish(in.request_a, "ar." + made.name()));
      break;
    case word::finish:
      set(done, table.finish(in.request_a));
      break;
    case word::forget:
      set(done, table.forget(in.request_a));
      done.has_ended_streams = !done.is_refusal;
      break;
    default:
      return false;
  }
  return true;
}

// A call that is promised to take one lock.
template <class Tables>
void perform(world<Tables>& in, const call& made, result& done) {
  if (use_stream(in, made, done) || change(in.tables.of(ids().part_of_a), made, done)) return;
  switch (made.what) {
    case word::open:
      return open(in, made, done);
    case word::resume_0a:
      return resume(in, made, ids().a, in.cursor_0a, done);
    case word::fresh_a:
      return resume(in, made, ids().a, {}, done);
    case word::resume_ra:
      return resume(in, made, ids().a, in.cursor_ra, done);
    case word::fresh_b:
      return resume(in, made, ids().b, {}, done);
    case word::decide_0a:
      return decide(in, made, in.cursor_0a, done);
    case word::decide_ra:
      return decide(in, made, in.cursor_ra, done);
    case word::attach:
      return attach(in, made, done);
    case word::read:
      return read(in, made.thread, 65536, done);
    case word::read_one:
      return read(in, made.thread, 1, done);
    case word::look_at_a:
      return look_at_a(in, done);
    default:
      break;  // release
  }
  in.tables.of(in.part_of_reader[made.thread]).release(in.readers[made.thread]);
}

constexpr int most_reads = 9;
bool is_at_rest(read_state s) { return s != read_state::gap && s != read_state::reset && s != read_state::more; }

// ---- Ledger --------------------------------------------------------------------------------------------------------
// What connections may be told, by the guarantees alone.

struct stream_name {
  tags owner;
  std::uint32_t number;
  friend bool operator<(const stream_name& a, const stream_name& b) {
    const auto parts = [](const stream_name& n) {
      return std::make_tuple(n.owner.session, n.owner.incarnation, n.number);
    };
    return parts(a) < parts(b);
  }
};
stream_name name_of(const event_id& id) { return {id.owner, id.stream}; }

std::string_view between(std::string_view text, std::string_view before, std::string_view behind) {
  const std::size_t at = text.find(before);
  if (at == text.npos) return {};
  text.remove_prefix(at + before.size());
  return text.substr(0, text.find(behind));
}

class ledger {
 public:
  const std::string& violation() const { return violation_; }
  void must(bool holds, const char* what) {
    if (!holds && violation_.empty()) violation_ = what;
  }
  void note_append(const event_id& id, std::string_view payload) {
    must(is_same_event(id, payload), "G1: a number was given to two events");
    newest_[name_of(id)] = std::max(newest_[name_of(id)], id.seq);
  }
  // `presented`: the cursor, or none for a fresh reader, which starts behind the newest event that anyone was handed.
  void note_attached(std::size_t thread, const reader& made, const std::optional<event_id>& presented) {
    connection& c = connections_[thread];
    c = {};
    c.is_attached = made.lease() != 0;
    if (!c.is_attached) return;
    c.place = made.position();
    c.stream = {made.stream().owner, made.stream().stream};
    c.number = ++attachments_;
    newest_reader_[c.stream] = c.number;
    must(c.place == presented.value_or(event_id{c.stream.owner, c.stream.number, read_mark_[c.stream]}),
         "G2: a reader starts at another place than it came with");
  }
  void note_handed(const event_id& id) { read_mark_[name_of(id)] = std::max(read_mark_[name_of(id)], id.seq); }
  void note_released(std::size_t thread) { connections_[thread].is_released = true; }
  void note_ended_streams() { may_be_gone_ = true; }
  void note_read(std::size_t thread, read_state state, std::string_view frames) {
    connection& c = connections_[thread];
    must(frames.empty() || c.is_attached, "a reader that was never attached was handed a frame");
    if (!c.is_attached) return;
    const bool is_newest = newest_reader_[c.stream] == c.number;
    must(is_newest || frames.empty(), "G3: a superseded reader was handed a frame");
    must(is_newest || state == read_state::superseded || state == read_state::gone, "a reader was not told superseded");
    must(!is_newest || state != read_state::superseded, "the newest reader was told superseded");
    must(state != read_state::gone || may_be_gone_ || c.is_released, "a reader was told gone, and nothing has ended");
    while (!frames.empty()) {
      const std::size_t end = frames.find("\n\n");
      note_block(c, frames.substr(0, end + 1));
      frames.remove_prefix(end + 2);
    }
  }
  // A reader that has been told all there is stands behind everything that was appended.
  void note_last_read(std::size_t thread, read_state state, std::optional<window> held) {
    const connection& c = connections_[thread];
    must(is_at_rest(state), "G2: a reader is asked to read again and again");
    if (!c.is_attached || (state != read_state::caught_up && state != read_state::finished)) return;
    must(held.has_value() && c.place.seq + 1 == held->next, "G2: a reader is caught up before the newest event");
    const auto newest = newest_.find(c.stream);
    must(newest == newest_.end() || newest->second <= c.place.seq, "G2: an event was neither delivered nor missed");
    must(name_of(c.place).owner == c.stream.owner, "a reader is caught up under an old incarnation");
    must(!c.is_announced, "a reader is caught up between a signal and its marker");
  }

 private:
  struct connection {
    bool is_attached = false;
    bool is_released = false;
    std::size_t number = 0;
    stream_name stream{};
    event_id place;  // everything up to it was delivered or reported missed
    bool has_marker = false;
    bool is_announced = false;  // a signal was written, its marker is due
    event_id announced;
  };
  static bool is_same(const stream_name& a, const stream_name& b) { return !(a < b) && !(b < a); }
  // False if the id is another event's, or the event has another id: payloads of a session are all different.
  bool is_same_event(const event_id& id, std::string_view payload) {
    const bool is_its_payload =
        payloads_.emplace(std::make_pair(name_of(id), id.seq), payload).first->second == payload;
    const std::pair<std::uint64_t, std::string> event(id.owner.session, payload);
    return ids_.emplace(event, id).first->second == id && is_its_payload;
  }
  void note_block(connection& c, std::string_view block) {
    const std::string_view kind = between(block, "event: ", "\n"), payload = between(block, "data: ", "\n");
    const std::optional<event_id> id = event_id::parse(between(block, "id: ", "\n"));
    must(id.has_value(), "a frame without an id");
    if (!id) return;
    if (!kind.empty()) return note_signal(c, *id, block, kind == "gap");
    payload.empty() ? note_marker(c, *id) : note_event(c, *id, payload);
  }
  void note_signal(connection& c, const event_id& id, std::string_view block, bool is_gap) {
    must(id == c.place && !c.is_announced, "G2: a signal under another id than the place");
    const std::optional<event_id> from = event_id::parse(between(block, "\"resumeFrom\":\"", "\""));
    must(from && is_same(name_of(*from), c.stream), "G1: a signal that announces another stream");
    c.announced = from.value_or(event_id{});
    c.is_announced = true;
    if (!is_gap) return;
    const std::string missed(between(block, "\"missed\":", "}"));
    must(c.announced.seq > id.seq && missed == std::to_string(c.announced.seq - id.seq), "G2: a gap of another size");
  }
  void note_marker(connection& c, const event_id& id) {
    must(id == (c.is_announced ? c.announced : c.place), "G2: a marker at another place than said");
    must(c.is_announced || !c.has_marker, "a second marker without a signal");
    c.place = id;
    c.has_marker = true;
    c.is_announced = false;
  }
  void note_event(connection& c, const event_id& id, std::string_view payload) {
    must(c.has_marker && !c.is_announced, "an event before its marker");
    must(is_same(name_of(id), c.stream), "G1: an event of another stream");
    must(id.seq == c.place.seq + 1, "G2 or G3: an event that is not the next one");
    must(is_same_event(id, payload), "G1: the payload of another event, or an event of another life");
    c.place = id;
    note_handed(id);
    const bool is_broadcast = payload.substr(0, 3) == "all";
    must(is_broadcast ? id.stream == 0 : (payload.substr(1, 1) == "0") == (id.stream == 0),
         "G1: the payload of another stream");
  }

  std::string violation_;
  std::array<connection, thread_count> connections_;
  std::map<stream_name, std::size_t> newest_reader_;
  std::map<stream_name, std::uint64_t> newest_;
  std::map<stream_name, std::uint64_t> read_mark_;
  std::map<std::pair<stream_name, std::uint64_t>, std::string> payloads_;
  std::map<std::pair<std::uint64_t, std::string>, event_id> ids_;
  std::size_t attachments_ = 0;
  bool may_be_gone_ = false;
};

// ---- Schedules -----------------------------------------------------------------------------------------------------

template <class Tables>
void set_up(world<Tables>& in, const setting& chosen) {
  in.tables.each([](auto& table) { table.tick(set_up_at); });
  auto& table = in.tables.of(ids().part_of_a);
  auto& other = in.tables.of(ids().part_of_b);
  in.part_of_reader.fill(ids().part_of_a);
  table.create(ids().a, "alice", protocol::v2025_11_25, tags_after(0));
  other.create(ids().b, "alice", protocol::v2025_11_25, tags_after(10));
  in.standalone_a = table.standalone(ids().a).value_or(stream_handle{});
  in.standalone_b = other.standalone(ids().b).value_or(stream_handle{});
  std::string ignored;
  (void)table.resume(get(ids().a, {}), in.readers[0]);
  table.append(in.standalone_a, "a0.first");
  (void)table.read(in.readers[0], ignored);
  in.cursor_0a = to_string(in.readers[0].position());
  const opened call_stream = table.open_stream(ids().a, "7");
  in.request_a = call_stream.stream;
  in.readers[1] = call_stream.reader;
  in.cursor_ra = to_string(in.readers[1].position());
  table.append(in.request_a, "ar.first");
  other.append(in.standalone_b, "b0.first");
  for (int i = 0; chosen.is_overrun && i != 3; ++i) table.append(in.standalone_a, "a0.more" + std::to_string(i));
  if (chosen.is_overrun) table.finish(in.request_a);
  if (chosen.is_idle) in.tables.each([](auto& each) { each.tick(set_up_at + 10); });
}

// All that can be seen from outside without changing anything, in numbers.
using view = std::array<std::uint64_t, 28>;
template <class Tables>
view view_of(world<Tables>& in) {
  auto& table = in.tables.of(ids().part_of_a);
  auto& other = in.tables.of(ids().part_of_b);
  view seen{};
  std::size_t at = 0;
  for (const inspection& i : {table.inspect(ids().a), table.inspect(ids().c), other.inspect(ids().b)}) {
    for (const std::uint64_t n : {i.sessions, i.streams, i.events, i.bytes, i.oldest_age_ms, i.evicted_unread}) {
      seen[at++] = n;
    }
  }
  const resolution fresh = resolve_resume(get(ids().a, {}), std::as_const(table));
  for (const window w : {table.window_of(in.standalone_a).value_or(window{0, 0}), fresh.window,
                         table.window_of(in.request_a).value_or(window{0, 0}),
                         other.window_of(in.standalone_b).value_or(window{0, 0})}) {
    seen[at++] = w.first;
    seen[at++] = w.next;
  }
  seen[at++] = static_cast<std::uint64_t>(fresh.reason);
  seen[at] = fresh.resume_after;
  return seen;
}

// After the schedule every connection reads until it is told that nothing is left.
template <class Tables, class Note>
std::string play_out(world<Tables>& in, Note note) {
  std::string text;
  for (std::size_t thread = 0; thread != thread_count; ++thread) {
    result done;
    for (int reads = 0; reads != most_reads && !is_at_rest(done.state); ++reads) {
      done = {};
      read(in, thread, 65536, done);
      text += done.text;
      note(thread, done);
    }
  }
  for (const std::uint64_t n : view_of(in)) text += " " + std::to_string(n);
  return text;
}

struct step {
  std::size_t thread;
  std::size_t index;  // of the call
  std::vector<std::size_t> locked;
};

struct statistics {
  std::uint64_t programs = 0;
  std::uint64_t schedules = 0;
  std::uint64_t steps = 0;
  std::uint64_t steps_on_threads = 0;
  std::size_t longest = 0;        // steps of a schedule
  std::set<std::string> answers;  // first words of results, to see that the programs reach what they are for
};

// One run of a program under a sequence of choices, on the table under test.
class performance {
 public:
  performance(const setting& chosen, const program& played, std::array<bool, word_count>& needs_thread)
      : chosen_(&chosen), played_(&played), needs_thread_(&needs_thread), in_(chosen) {
    set_up(in_, chosen);
    note_set_up();
    for (std::size_t i = 0; i != thread_count; ++i) results_[i].resize(played[i].size());
    view_ = view_of(in_);
  }
  std::vector<std::size_t> threads_that_can_go_on() const {
    std::vector<std::size_t> can;
    for (std::size_t i = 0; i != thread_count; ++i) {
      const bool has_more = at_[i] != (*played_)[i].size();
      if (has_more && the_stage().can_go_on(i)) can.push_back(i);
    }
    return can;
  }
  void go_on(std::size_t thread) {
    stage& all = the_stage();
    const call made{(*played_)[thread][at_[thread]], thread, at_[thread]};
    result& done = results_[thread][made.index];
    const bool is_whole_call = !all.is_inside_call(thread) && !all.waits_at_first_lock;
    const auto body = [this, made, &done] {
      if (!visits_all_parts(made.what)) return perform(in_, made, done);
      visit_parts(in_.tables.table, made, done);
      close_visit(made, done);
    };
    all.is_exploring = true;
    bool is_done = true;
    if (!all.waits_at_first_lock && !(*needs_thread_)[static_cast<std::size_t>(made.what)]) {
      const bool has_waited = all.run_here(body);
      if (!has_waited) (*needs_thread_)[static_cast<std::size_t>(made.what)] = true;
    } else {
      if (!all.is_inside_call(thread)) all.begin(thread, body);
      all.go_on(thread);
      is_done = !all.is_inside_call(thread);
      ++steps_on_threads_;
    }
    all.is_exploring = false;
    steps_.push_back({thread, made.index, all.locked});
    const view before = std::exchange(view_, view_of(in_));
    if (is_done && done.is_refusal && is_whole_call) {
      ledger_.must(before == view_, "G5: deciding or refusing changed something");
    }
    if (!done.expired.empty()) ledger_.note_ended_streams();  // also of a tick that is not through
    if (is_done) close(made, done);
  }
  // Lets calls that wait go on, so that the table can go.
  void abandon() {
    for (std::size_t i = 0; i != thread_count; ++i) {
      while (the_stage().is_inside_call(i)) the_stage().go_on(i);
    }
  }
  void play_out() {
    last_ = ::play_out(in_, [this](std::size_t thread, const result& done) {
      ledger_.note_read(thread, done.state, done.frames);
      last_states_[thread] = done.state;
    });
    for (std::size_t i = 0; i != thread_count; ++i) {
      ledger_.note_last_read(i, last_states_[i], in_.tables.table.window_of(in_.readers[i].stream()));
    }
    ledger_.must(!the_stage().is_locked_twice, "a lock is taken that is held: threads wait for ever");
  }
  const std::string& violation() const { return ledger_.violation(); }
  const std::vector<step>& steps() const { return steps_; }
  const std::array<std::vector<result>, thread_count>& results() const { return results_; }
  const std::string& last() const { return last_; }
  std::uint64_t steps_on_threads() const { return steps_on_threads_; }
  std::uint64_t sessions() const { return in_.tables.table.inspect().sessions; }

 private:
  void close(const call& made, const result& done) {
    ++at_[made.thread];
    if (done.has_ended_streams) ledger_.note_ended_streams();
    note(made, done);
    ledger_.must(sessions() <= chosen_->bounds.max_sessions, "G6: more sessions than the bound");
  }
  // Thread 0 was handed the first event of a's standalone stream, thread 1 nothing yet.
  void note_set_up() {
    const tags a = in_.standalone_a.owner, b = in_.standalone_b.owner;
    ledger_.note_attached(1, in_.readers[1], event_id{a, 1, 0});
    ledger_.note_append({a, 0, 1}, "a0.first");
    ledger_.note_append({a, 1, 1}, "ar.first");
    ledger_.note_append({b, 0, 1}, "b0.first");
    ledger_.note_attached(0, in_.readers[0], event_id{a, 0, 1});
    ledger_.note_read(0, read_state::caught_up, "id: " + in_.cursor_0a + "\ndata:\n\n");
    ledger_.note_handed({a, 0, 1});
    for (std::uint64_t i = 0; chosen_->is_overrun && i != 3; ++i) {
      ledger_.note_append({a, 0, i + 2}, "a0.more" + std::to_string(i));
    }
  }
  void note_attached(const call& made, const result& done) {
    const reader& is = in_.readers[made.thread];
    if (made.what == word::open && done.is_refusal) return;
    const word asked = made.what == word::attach ? decision_of(made) : made.what;
    std::optional<event_id> presented;
    if (asked == word::resume_0a || asked == word::decide_0a) presented = event_id::parse(in_.cursor_0a);
    if (asked == word::resume_ra || asked == word::decide_ra) presented = event_id::parse(in_.cursor_ra);
    if (asked == word::open) presented = event_id{is.stream().owner, is.stream().stream, 0};
    ledger_.note_attached(made.thread, is, presented);
  }
  // The decision that is attached: the last one before, in the same thread.
  word decision_of(const call& attaching) const {
    word last = word::attach;
    for (std::size_t i = 0; i != attaching.index; ++i) {
      const word w = (*played_)[attaching.thread][i];
      if (w == word::decide_0a || w == word::decide_ra) last = w;
    }
    return last;
  }
  void note(const call& made, const result& done) {
    switch (made.what) {
      case word::append_0a:
        return done.is_refusal ? void() : ledger_.note_append(done.id, "a0." + made.name());
      case word::append_0b:
        return done.is_refusal ? void() : ledger_.note_append(done.id, "b0." + made.name());
      case word::append_ra:
      case word::answer:
        return done.is_refusal ? void() : ledger_.note_append(done.id, "ar." + made.name());
      case word::release:
        return ledger_.note_released(made.thread);
      case word::open:
      case word::resume_0a:
      case word::fresh_a:
      case word::resume_ra:
      case word::fresh_b:
      case word::attach:
        return note_attached(made, done);
      case word::read:
      case word::read_one:
        return ledger_.note_read(made.thread, done.state, done.frames);
      default:
        return;
    }
  }

  const setting* chosen_;
  const program* played_;
  std::array<bool, word_count>* needs_thread_;
  world<one_table> in_;
  ledger ledger_;
  std::array<std::size_t, thread_count> at_{};
  std::array<std::vector<result>, thread_count> results_;
  std::vector<step> steps_;
  view view_{};
  std::string last_;
  std::array<read_state, thread_count> last_states_{};
  std::uint64_t steps_on_threads_ = 0;
};

// ---- Reference -----------------------------------------------------------------------------------------------------

// A call's effect on one part, and the steps in which it may have happened.
struct effect {
  call made;
  std::size_t part;
  std::vector<std::size_t> steps;
};

std::vector<effect> effects_of(const program& played, const std::vector<step>& steps) {
  std::vector<effect> effects;
  for (std::size_t thread = 0; thread != thread_count; ++thread) {
    for (std::size_t index = 0; index != played[thread].size(); ++index) {
      const call made{played[thread][index], thread, index};
      std::vector<std::size_t> parts = {ids().part_of_a, ids().part_of_b};
      if (!visits_all_parts(made.what)) parts.pop_back();
      for (const std::size_t part : parts) {
        std::vector<std::size_t> all, locking;
        for (std::size_t i = 0; i != steps.size(); ++i) {
          if (steps[i].thread != thread || steps[i].index != index) continue;
          all.push_back(i);
          const std::vector<std::size_t>& locked = steps[i].locked;
          const bool is_there =
              visits_all_parts(made.what) ? std::count(locked.begin(), locked.end(), part) != 0 : !locked.empty();
          if (is_there) locking.push_back(i);
        }
        effects.push_back({made, part, locking.empty() ? all : locking});
      }
    }
  }
  return effects;
}

// The calls made one after the other, each effect in the chosen one of its steps. Empty if all results are equal.
std::string differs(const setting& chosen, std::vector<effect> effects, const performance& real) {
  std::sort(effects.begin(), effects.end(), [](const effect& a, const effect& b) { return a.steps[0] < b.steps[0]; });
  setting unbounded = chosen;
  unbounded.bounds.max_sessions = 100;
  world<table_for_each_part> in(unbounded);
  set_up(in, unbounded);
  std::array<std::vector<result>, thread_count> results = real.results();
  for (auto& thread : results) std::fill(thread.begin(), thread.end(), result{});
  for (const effect& e : effects) {
    result& done = results[e.made.thread][e.made.index];
    const bool is_create = e.made.what == word::create_a || e.made.what == word::create_c;
    const std::string& id = e.made.what == word::create_c ? ids().c : ids().a;
    const std::uint64_t live = in.tables.with_a.inspect().sessions + in.tables.with_b.inspect().sessions;
    if (visits_all_parts(e.made.what)) {
      visit_parts(in.tables.of(e.part), e.made, done);
      close_visit(e.made, done);
    } else if (is_create && live >= chosen.bounds.max_sessions && in.tables.with_a.inspect(id).sessions == 0) {
      set(done, refusal::too_many_sessions);
    } else {
      perform(in, e.made, done);
    }
  }
  for (std::size_t thread = 0; thread != thread_count; ++thread) {
    for (std::size_t i = 0; i != results[thread].size(); ++i) {
      const std::string &is = real.results()[thread][i].text, &must_be = results[thread][i].text;
      if (is != must_be) {
        return "call " + std::to_string(i) + " of thread " + std::to_string(thread) + " answered\n    " + is +
               "\n  and alone it answers\n    " + must_be;
      }
    }
  }
  const std::string last = play_out(in, [](std::size_t, const result&) {});
  return last == real.last() ? "" : "at the end readers are told\n    " + real.last() + "\n  and alone\n    " + last;
}

// Tries every choice of steps; as a rule there is one.
std::string judge(const setting& chosen, const program& played, const performance& real) {
  const std::vector<effect> effects = effects_of(played, real.steps());
  std::vector<std::size_t> choice(effects.size());
  std::string first;
  for (;;) {
    std::vector<effect> placed = effects;
    for (std::size_t i = 0; i != placed.size(); ++i) placed[i].steps = {effects[i].steps[choice[i]]};
    const std::string difference = differs(chosen, placed, real);
    if (difference.empty()) return "";
    if (first.empty()) first = "not as one after the other: " + difference;
    std::size_t at = 0;
    while (at != choice.size() && ++choice[at] == effects[at].steps.size()) choice[at++] = 0;
    if (at == choice.size()) return first;
  }
}

// ---- Exploration ---------------------------------------------------------------------------------------------------

// The parts that more than one thread visits: what one does in a part of its own, nobody can tell when.
std::vector<std::size_t> places_of(const program& played) {
  std::vector<std::size_t> places;
  for (const std::size_t part : {ids().part_of_a, ids().part_of_b}) {
    const auto visits = [part](word w) { return visits_all_parts(w) || part_of(w, ids().part_of_a) == part; };
    const auto has_visit = [&](const std::vector<word>& t) { return std::any_of(t.begin(), t.end(), visits); };
    if (std::count_if(played.begin(), played.end(), has_visit) > 1) places.push_back(part);
  }
  return places;
}

struct choice {
  std::size_t taken;
  std::size_t count;
};

void print_violation(const setting& chosen, const program& played, const performance& real, const std::string& what) {
  std::printf("violation: %s\n  program %.*s: %s\n  schedule", what.c_str(), static_cast<int>(chosen.name.size()),
              chosen.name.data(), text_of(played).c_str());
  for (const step& s : real.steps()) std::printf(" %zu", s.thread);
  std::printf("\n");
  for (const step& s : real.steps()) {
    const std::string& text = real.results()[s.thread][s.index].text;
    std::printf("  thread %zu, %s (%zu locks): %s\n", s.thread, std::string(text_of(played[s.thread][s.index])).c_str(),
                s.locked.size(), text.c_str());
  }
}

class explorer {
 public:
  statistics seen;

  // All schedules of a program; false after a violation.
  bool explore(const setting& chosen, const program& played, bool waits_at_first_lock) {
    the_stage().places = places_of(played);
    needs_thread_.fill(false);
    the_stage().waits_at_first_lock = waits_at_first_lock;
    ++seen.programs;
    choices_.clear();
    do {
      the_stage().has_missed_a_wait = false;
      performance real(chosen, played, needs_thread_);
      const std::string violation = run(chosen, played, real);
      if (the_stage().has_missed_a_wait) {
        choices_.clear();
        continue;
      }
      note(real);
      if (violation.empty()) continue;
      print_violation(chosen, played, real, violation);
      return false;
    } while (next_choices() || the_stage().has_missed_a_wait);
    return true;
  }

 private:
  std::string run(const setting& chosen, const program& played, performance& real) {
    for (std::size_t depth = 0;; ++depth) {
      const std::vector<std::size_t> can = real.threads_that_can_go_on();
      if (can.empty()) break;
      if (depth == choices_.size()) choices_.push_back({0, can.size()});
      real.go_on(can[choices_[depth].taken]);
    }
    if (the_stage().has_missed_a_wait) return {};
    for (std::size_t i = 0; i != thread_count; ++i) {
      if (the_stage().is_inside_call(i)) return real.abandon(), "threads wait for each other";
    }
    real.play_out();
    return real.violation().empty() ? judge(chosen, played, real) : real.violation();
  }
  bool next_choices() {
    while (!choices_.empty() && ++choices_.back().taken == choices_.back().count) choices_.pop_back();
    return !choices_.empty();
  }
  void note(const performance& real) {
    ++seen.schedules;
    seen.steps += real.steps().size();
    seen.steps_on_threads += real.steps_on_threads();
    seen.longest = std::max(seen.longest, real.steps().size());
    for (const auto& thread : real.results()) {
      for (const result& r : thread) seen.answers.insert(r.text.substr(0, r.text.find(' ')));
    }
  }

  std::array<bool, word_count> needs_thread_{};
  std::vector<choice> choices_;
};

// Programs of several calls for each thread, for what takes more than one.
constexpr std::string_view long_programs[] = {
    "roomy: append_0a append_0a append_0a | resume_0a read read | fresh_a read read",
    "roomy: append_0a append_ra append_all | resume_0a read read | resume_ra read read",
    "roomy: append_ra answer forget | resume_ra read read | read read release",
    "roomy: append_ra finish | resume_ra read read | decide_ra attach read",
    "roomy: decide_0a attach read | decide_0a attach read | append_0a append_0a",
    "roomy: renew_a append_all | resume_0a read read | decide_0a attach read",
    "roomy: end_a create_a append_all | resume_0a read read | append_0a fresh_a read",
    "roomy: open open | answer read forget | read resume_ra read",
    "roomy: release append_0a | fresh_a read release | fresh_a read",
    "tight: read_one read_one read_one | append_0a append_0a append_ra | resume_0a read_one read",
    "tight: append_0a append_0a | resume_ra read_one read | open append_ra forget",
    "tight: end_a create_a | create_c | create_a end_a",
    "tight: create_c | end_a create_c | create_a tick",
    "tight: append_all read | append_all fresh_b read | inspect append_0b",
    "idle: tick | touch_a append_0a | tick",
    "idle: tick | resume_0a read | inspect tick",
    "idle: append_all tick | read append_0b | tick create_a",
    "idle: tick append_all | append_all inspect | fresh_b read",
    "idle: tick | tick | append_all",
    "idle: inspect | tick | append_all",
    "idle: tick create_c | tick create_a | read",
};

std::optional<word> word_of(std::string_view text) {
  for (std::size_t i = 0; i != word_count; ++i) {
    if (word_texts[i] == text) return static_cast<word>(i);
  }
  return std::nullopt;
}

struct written_program {
  const setting* chosen = nullptr;
  program played;
};
// None if it is not written as the head of this file says.
std::optional<written_program> parse(std::string_view text) {
  written_program made;
  const std::size_t colon = text.find(':');
  for (const setting& s : settings()) {
    if (s.name == text.substr(0, colon)) made.chosen = &s;
  }
  if (made.chosen == nullptr || colon == text.npos) return std::nullopt;
  std::size_t thread = 0;
  for (text.remove_prefix(colon + 1); !text.empty();) {
    const std::string_view token = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), token.size() + 1));
    if (token.empty()) continue;
    const std::optional<word> what = word_of(token);
    if (token == "|" ? ++thread == thread_count : !what) return std::nullopt;
    if (what) made.played[thread].push_back(*what);
  }
  return made;
}

// All programs of one call for each thread; with `before`, the first thread makes that call before.
bool explore_all(explorer& all, const setting& chosen, const std::array<std::vector<word>, thread_count>& words,
                 std::optional<word> before) {
  for (const word a : words[0]) {
    for (const word b : words[1]) {
      for (const word c : words[2]) {
        program played{{{a}, {b}, {c}}};
        if (before) played[0].insert(played[0].begin(), *before);
        if (!all.explore(chosen, played, false)) return false;
      }
    }
  }
  return true;
}

std::vector<word> all_words_but(const std::vector<word>& left_out) {
  std::vector<word> words;
  for (std::size_t i = 0; i != word_count; ++i) {
    const auto w = static_cast<word>(i);
    if (std::count(left_out.begin(), left_out.end(), w) == 0) words.push_back(w);
  }
  return words;
}

bool explore_written(explorer& all, std::string_view text) {
  const std::optional<written_program> made = parse(text);
  if (!made) return std::printf("not a program: %s\n", std::string(text).c_str()), false;
  for (const part_order order : part_orders) {
    present_order = order;
    if (!all.explore(*made->chosen, made->played, false)) return false;
  }
  return true;
}
bool explore_long_programs(explorer& all) {
  for (const std::string_view text : long_programs) {
    if (!explore_written(all, text)) return false;
  }
  return true;
}

// With a wait also before the first lock, what is done outside of all locks is a step of its own.
bool explore_what_is_done_before_the_lock(explorer& all) {
  const std::vector<word> changing = {word::create_a, word::end_a, word::create_c, word::resume_0a};
  for (const setting& chosen : settings()) {
    for (const word a : changing) {
      for (const word b : changing) {
        if (!all.explore(chosen, {{{a}, {b}, {word::end_a}}}, true)) return false;
        if (!all.explore(chosen, {{{a}, {b}, {word::create_c}}}, true)) return false;
      }
    }
  }
  return true;
}

// Whether the programs reached what they are for.
bool has_seen_enough(const statistics& seen) {
  bool is_enough = true;
  for (const char* const must_be : {"none", "gone", "other_incarnation", "no_such_stream", "finished", "still_open",
                                    "id_in_use", "too_many_sessions", "too_many_streams", "continue:", "gap:", "reset:",
                                    "reject:", "more", "caught_up", "gap", "reset", "superseded"}) {
    if (seen.answers.count(must_be) == 0) is_enough = (std::printf("never answered: %s\n", must_be), false);
  }
  return is_enough;
}

bool explore_everything(explorer& all, bool is_deep) {
  // As a thread's first call attach has nothing to attach, and decisions that nobody attaches are all alike; the third
  // thread has no reader at first.
  const std::vector<word> some = all_words_but({word::attach, word::decide_ra, word::look_at_a});
  const std::vector<word> without_reader =
      all_words_but({word::attach, word::decide_ra, word::look_at_a, word::read, word::read_one, word::release});
  const std::vector<word> every = all_words_but({});
  if (!explore_long_programs(all) || !explore_what_is_done_before_the_lock(all)) return false;
  for (const setting& chosen : settings()) {
    present_order = chosen.is_idle ? part_order::a_first : part_order::b_first;
    if (!explore_all(all, chosen, {some, some, without_reader}, std::nullopt)) return false;
    for (std::size_t i = 0; is_deep && i != word_count; ++i) {
      if (!explore_all(all, chosen, {every, every, every}, static_cast<word>(i))) return false;
    }
  }
  return has_seen_enough(all.seen);
}

}  // namespace

int main(int argc, char** argv) {
  explorer all;
  const std::string_view option = argc > 1 ? argv[1] : "";
  bool is_proven = false;
  if (option == "--program" && argc == 3) {
    is_proven = explore_written(all, argv[2]);
  } else if (argc == 1 || (option == "--deep" && argc == 2)) {
    is_proven = explore_everything(all, option == "--deep");
  } else {
    std::printf("usage: interleavings [--deep] [--program \"SETTING: WORD... | WORD... | WORD...\"]\n");
    return 2;
  }
  std::printf(
      "%llu programs, %llu schedules, %llu steps, %llu of them on a thread of their own; longest schedule %zu\n",
      static_cast<unsigned long long>(all.seen.programs), static_cast<unsigned long long>(all.seen.schedules),
      static_cast<unsigned long long>(all.seen.steps), static_cast<unsigned long long>(all.seen.steps_on_threads),
      all.seen.longest);
  return is_proven ? 0 : 1;
}
