// SPDX-License-Identifier: MIT
// `vectors`: decisions as JSON lines, for implementations in any language. The output of a seed and a count is the same
// on every machine, and in every release with the same schema version.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "commands.hpp"
#include "input_error.hpp"
#include "property.hpp"
#include "state.hpp"
#include "text.hpp"
#include "vectors_world.hpp"

namespace oracle {
namespace {

namespace mr = mcp_resume;
using nlohmann::json;
using vectors::get;
using vectors::id_text;
using vectors::max64;
using vectors::usual_bounds;
using vectors::world;

constexpr int schema_version = 1;  // another one whenever a line of the same seed would change
constexpr mr::tags alice{0xa11ce0a11ce0a11cU, 0x1111111111111111U};
constexpr mr::tags bob{0xb0bb0bb0bb0bb0bbU, 0x2222222222222222U};
constexpr std::uint64_t next_life = 0x3333333333333333U, third_life = 0x4444444444444444U;

// ---- Where lines go -------------------------------------------------------------------------------------------------

// In pieces of 64 KiB, since a pipe that is written line by line is slow.
class line_writer {
 public:
  explicit line_writer(std::uint64_t expected) : expected_(expected) {}
  void add(const json& line) {
    lines_ += line.dump(-1, ' ', true) + "\n";  // escaped beyond ASCII: the same bytes whatever reads them
    if (lines_.size() > 65536) flush();
    const bool is_due = ++count_ % 10000 == 0 || (count_ == expected_ && count_ > 10000);
    if (!is_due || isatty(fileno(stderr)) == 0) return;
    fmt::print(stderr, "\r{} of {} lines{}", count_, expected_, count_ == expected_ ? "\n" : "");
  }
  void flush() {
    print_all(lines_);
    lines_.clear();
  }

 private:
  std::uint64_t expected_, count_ = 0;
  std::string lines_;
};

// ---- The fixed vectors ----------------------------------------------------------------------------------------------

using play = std::function<void(world&)>;

class fixed_vectors {
 public:
  void add(std::string name, mr::options bounds, play history, get asked) {
    made_.push_back({std::move(name), bounds, std::move(history), std::move(asked)});
  }
  std::size_t size() const { return made_.size(); }
  // Each in a table of its own: an answered resume has changed its table.
  template <class Take>
  void for_each(Take take) const {
    for (const one& each : made_) {
      world w(each.bounds);
      each.history(w);
      take(w.vector(each.name, each.asked));
    }
  }

 private:
  struct one {
    std::string name;
    mr::options bounds;
    play history;
    get asked;
  };
  std::vector<one> made_;
};

// Alice's and bob's sessions with equal numbers: three events on stream 0, two on stream 1, which is open.
void two_sessions(world& w) {
  w.create("s-1", "alice", alice);
  w.create("s-2", "bob", bob, mr::protocol::v2025_06_18);
  for (std::size_t at = 0; at != 2; ++at) {
    w.append(at, 0, 3);
    w.open(at);
    w.append(at, 1, 2);
  }
}

mr::options four_events() {
  mr::options bounds = usual_bounds();
  bounds.max_events = 4;
  return bounds;
}

get with_cursor(std::string cursor) {
  get asked;
  asked.last_event_id = std::move(cursor);
  return asked;
}

void add_versions(fixed_vectors& to) {
  const char* sent[] = {"2024-11-05",  "2025-03-26", "2025-06-18", "2025-11-25",  "2026-07-28",
                        "2025-11-26",  "1999-01-01", "draft",      "latest",      "2025-11-25 ",
                        " 2025-11-25", "2025-11-2",  "2025-11",    "2025-11-25a", "20251125",
                        "v2025-11-25", "2026-07-29", "9999-12-31", "0",           "2025-11-25, 2025-11-25"};
  for (const char* version : sent) {
    get fresh, resumed = with_cursor(id_text(alice, 0, 1));
    fresh.version = resumed.version = version;
    to.add(fmt::format("version \"{}\" without a cursor", version), usual_bounds(), two_sessions, fresh);
    to.add(fmt::format("version \"{}\" with a cursor", version), usual_bounds(), two_sessions, resumed);
  }
  get absent = with_cursor(id_text(alice, 0, 1)), empty = absent;
  absent.version.reset();
  empty.version = "";
  to.add("no version header", usual_bounds(), two_sessions, absent);
  to.add("an empty version header", usual_bounds(), two_sessions, empty);

  mr::options era = usual_bounds();
  era.supported = mr::protocol_set().without(mr::protocol::v2026_07_28).without(mr::protocol::v2024_11_05);
  for (const char* version : {"2024-11-05", "2025-03-26", "2026-07-28"}) {
    get asked = with_cursor(id_text(alice, 0, 1));
    asked.version = version;
    to.add(fmt::format("version \"{}\" where two known ones are not supported", version), era, two_sessions, asked);
  }
  const auto versions = [](world& w) {
    w.create("s-1", "alice", alice, mr::protocol::v2024_11_05);
    w.append(0, 0, 3);
  };
  to.add("no version header where the negotiated one is not supported any more", era, versions, absent);
  get other = with_cursor(id_text(alice, 0, 1));
  to.add("a supported version that is not the negotiated one", usual_bounds(), versions, other);
}

void add_sessions(fixed_vectors& to) {
  const std::pair<const char*, std::optional<std::string>> ids[] = {
      {"no session header", std::nullopt},
      {"an empty session header", ""},
      {"a session that never was", "s-9"},
      {"a session id in other letters", "S-1"},
      {"the beginning of an id", "s-"},
      {"an id with a blank behind it", "s-1 "},
      {"two ids in one header", "s-1,s-2"},
      {"the session's tag as its id", "a11ce0a11ce0a11c"},
      {"a session id beyond ASCII", "s-1\xc3\xa9"},
      {"a session id of 300 bytes", std::string(300, 's')}};
  for (const auto& [name, id] : ids) {
    for (const bool has_cursor : {false, true}) {
      get asked = has_cursor ? with_cursor(id_text(alice, 0, 1)) : get{};
      asked.session_id = id;
      to.add(fmt::format("{}, {} cursor", name, has_cursor ? "with a" : "without a"), usual_bounds(), two_sessions,
             asked);
    }
  }
  const auto ended = [](world& w) { two_sessions(w), w.end(0); };
  const auto expired = [](world& w) {
    two_sessions(w);
    w.pass(30 * 60 * 1000 + 1);
    w.append(1, 0);  // bob's goes on
    w.pass(1);
  };
  const auto almost = [](world& w) { two_sessions(w), w.pass(30 * 60 * 1000 + 1); };
  to.add("an ended session without a cursor", usual_bounds(), ended, {});
  to.add("an ended session with a cursor", usual_bounds(), ended, with_cursor(id_text(alice, 0, 1)));
  to.add("an expired session without a cursor", usual_bounds(), expired, {});
  to.add("an expired session with a cursor", usual_bounds(), expired, with_cursor(id_text(alice, 1, 1)));
  to.add("a session that was found idle once is live", usual_bounds(), almost, with_cursor(id_text(alice, 1, 1)));
}

void add_principals(fixed_vectors& to) {
  for (const char* principal : {"mallory", "", "Alice", "alice ", "alic", "bob"}) {
    get fresh, resumed = with_cursor(id_text(alice, 0, 1));
    fresh.principal = resumed.principal = principal;
    to.add(fmt::format("principal \"{}\" without a cursor", principal), usual_bounds(), two_sessions, fresh);
    to.add(fmt::format("principal \"{}\" with the owner's cursor", principal), usual_bounds(), two_sessions, resumed);
  }
  const auto nobodys = [](world& w) { w.create("s-1", "", alice), w.append(0, 0, 2); };
  get nobody = with_cursor(id_text(alice, 0, 1)), somebody = nobody;
  nobody.principal = "";
  to.add("nobody's session and nobody", usual_bounds(), nobodys, nobody);
  to.add("nobody's session and somebody", usual_bounds(), nobodys, somebody);
}

void add_readers(fixed_vectors& to) {
  const auto connected = [](world& w) { two_sessions(w), w.connect(0); };
  const auto gone = [](world& w) { two_sessions(w), w.connect(0, 2), w.disconnect(0); };
  const auto silent = [](world& w) { two_sessions(w), w.connect(0, 2), w.pass(45001); };
  const auto at_the_edge = [](world& w) { two_sessions(w), w.connect(0, 2), w.pass(45000); };
  const auto overrun = [](world& w) {
    w.create("s-1", "alice", alice);
    w.append(0, 0, 2);
    w.connect(0, 1);
    w.disconnect(0);
    w.append(0, 0, 6);
  };
  const auto overrun_by_one = [](world& w) {
    w.create("s-1", "alice", alice);
    w.append(0, 0, 3);
    w.connect(0, 2);
    w.disconnect(0);
    w.append(0, 0, 3);
  };
  get empty;
  empty.last_event_id = "";
  to.add("fresh: nothing was ever read", usual_bounds(), two_sessions, {});
  to.add("fresh: an empty Last-Event-ID is none", usual_bounds(), two_sessions, empty);
  to.add("fresh: the reader has gone after two events", usual_bounds(), gone, {});
  to.add("fresh: the reader has not read for longer than the time-out", usual_bounds(), silent, {});
  to.add("fresh: what was never read is gone in part", four_events(), overrun, {});
  to.add("fresh: the next after the read mark is the oldest held", four_events(), overrun_by_one, {});
  to.add("fresh: an empty log", usual_bounds(), [](world& w) { w.create("s-1", "alice", alice); }, {});
  to.add("occupied: a live reader", usual_bounds(), connected, {});
  to.add("occupied: and an empty Last-Event-ID", usual_bounds(), connected, empty);
  to.add("occupied: the time-out is just reached", usual_bounds(), at_the_edge, {});
  to.add("a cursor takes over from a live reader: replay", usual_bounds(), connected,
         with_cursor(id_text(alice, 0, 1)));
  to.add("a cursor takes over from a live reader: up to date", usual_bounds(), connected,
         with_cursor(id_text(alice, 0, 3)));
  to.add("a live reader does not make a malformed cursor a good one", usual_bounds(), connected, with_cursor("evt-1"));
}

// NOLINTNEXTLINE(readability-function-size): a flat table
void add_malformed(fixed_vectors& to) {
  const std::string good = id_text(alice, 0, 1), s = "a11ce0a11ce0a11c", i = "1111111111111111";
  const std::pair<const char*, std::string> texts[] = {
      {"a number", "1"},
      {"another library's id", "evt-000418"},
      {"a UUID", "123e4567-e89b-42d3-a456-426614174000"},
      {"a UUID and a number", "123e4567-e89b-42d3-a456-426614174000_1"},
      {"a blank before it", " " + good},
      {"a blank behind it", good + " "},
      {"a tab behind it", good + "\t"},
      {"in quotes", "\"" + good + "\""},
      {"upper-case hex digits", "A11CE0A11CE0A11C." + i + ".0.1"},
      {"a tag with a prefix", "0xa11ce0a11ce0a1." + i + ".0.1"},
      {"a tag of 15 digits", s.substr(1) + "." + i + ".0.1"},
      {"a tag of 17 digits", s + "0." + i + ".0.1"},
      {"an incarnation of 15 digits", s + "." + i.substr(1) + ".0.1"},
      {"an incarnation of 17 digits", s + "." + i + "1.0.1"},
      {"a letter beyond f", "g11ce0a11ce0a11c." + i + ".0.1"},
      {"a letter beyond f in the incarnation", s + ".111111111111111g.0.1"},
      {"no seq", s + "." + i + ".0"},
      {"an empty seq", s + "." + i + ".0."},
      {"an empty stream", s + "." + i + "..1"},
      {"an empty session tag", "." + i + ".0.1"},
      {"five parts", good + ".1"},
      {"a final dot", good + "."},
      {"only dots", "..."},
      {"other separators", s + ":" + i + ":0:1"},
      {"a seq with a leading zero", s + "." + i + ".0.01"},
      {"a seq of two zeros", s + "." + i + ".0.00"},
      {"a stream with a leading zero", s + "." + i + ".01.1"},
      {"a seq with a sign", s + "." + i + ".0.+1"},
      {"a negative seq", s + "." + i + ".0.-1"},
      {"a hexadecimal seq", s + "." + i + ".0.0x1"},
      {"a fraction", s + "." + i + ".0.1,5"},
      {"an exponent", s + "." + i + ".0.1e3"},
      {"a stream of 2^32", s + "." + i + ".4294967296.1"},
      {"a seq of 2^64", s + "." + i + ".0.18446744073709551616"},
      {"a seq of 2^64 + 1", s + "." + i + ".0.18446744073709551617"},
      {"a seq of 21 digits", s + "." + i + ".0.100000000000000000000"},
      {"66 characters", s + "." + i + ".4294967295.184467440737095516150"},
      {"5,000 characters", std::string(5000, '1')},
      {"digits of another script", s + "." + i + ".0.\xd9\xa1"},
      {"a full-width digit", s + "." + i + ".0.\xef\xbc\x91"},
      {"two ids in one header", good + ", " + good},
      {"a comma behind it", good + ","},
      {"a control character", s + "." + i + ".0.1\x01"},
  };
  for (const auto& [name, text] : texts) {
    to.add(fmt::format("malformed: {}", name), usual_bounds(), two_sessions, with_cursor(text));
  }
}

void add_foreign(fixed_vectors& to) {
  const std::pair<const char*, std::string> texts[] = {
      {"bob's event of the same number on stream 0", id_text(bob, 0, 1)},
      {"bob's newest event on stream 0", id_text(bob, 0, 3)},
      {"bob's event of the same number on a request stream", id_text(bob, 1, 1)},
      {"a session tag that differs in its last bit", id_text({alice.session ^ 1U, alice.incarnation}, 0, 1)},
      {"a session tag that differs in its first bit",
       id_text({alice.session ^ (std::uint64_t{1} << 63U), alice.incarnation}, 0, 1)},
      {"bob's tag with alice's incarnation", id_text({bob.session, alice.incarnation}, 0, 1)},
      {"the two tags exchanged", id_text({alice.incarnation, alice.session}, 0, 1)},
      {"both tags zero", id_text({0, 0}, 0, 0)},
      {"all bits set", id_text({max64, max64}, 0xFFFFFFFFU, max64)},
      {"a seq that nobody issued", id_text(bob, 0, max64)},
      {"a stream that nobody opened", id_text(bob, 0xFFFFFFFFU, 1)},
  };
  for (const auto& [name, text] : texts)
    to.add(fmt::format("foreign: {}", name), usual_bounds(), two_sessions, with_cursor(text));
  get bobs;
  bobs.session_id = "s-2";
  bobs.principal = "bob";
  bobs.last_event_id = id_text(alice, 0, 1);
  to.add("foreign: alice's event under bob's session", usual_bounds(), two_sessions, bobs);
  bobs.last_event_id = id_text(bob, 0, 1);
  to.add("bob's own cursor goes on", usual_bounds(), two_sessions, bobs);
}

void renewed_twice(world& w) {
  two_sessions(w);
  w.renew(0, next_life);
  w.append(0, 0, 2);
  w.renew(0, third_life);
  w.append(0, 0, 3);
  w.open(0);
  w.append(0, 1, 1);
}
// With four events at most, two of these six are evicted.
void renewed_and_filled(world& w) {
  two_sessions(w);
  w.renew(0, next_life);
  w.append(0, 0, 6);
}
void restored(world& w) {
  two_sessions(w);
  w.end(0);
  w.restore(0, next_life);
  w.append(0, 0, 1);
}

void add_stale(fixed_vectors& to) {
  const auto renewed = [](world& w) { two_sessions(w), w.renew(0, next_life); };
  const std::pair<const char*, play> histories[] = {{"an empty log", renewed},
                                                    {"a log that has evicted", renewed_and_filled},
                                                    {"the third life", renewed_twice},
                                                    {"a restart", restored}};
  for (const auto& [name, history] : histories) {
    for (const std::uint32_t stream : {0U, 1U, 0xFFFFFFFFU}) {
      for (const std::uint64_t seq : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{3}, max64 - 1, max64}) {
        const std::string text = id_text(alice, stream, seq);
        to.add(fmt::format("stale: {}, stream {}, seq {}", name, stream, seq), four_events(), history,
               with_cursor(text));
      }
    }
  }
}

void add_lives(fixed_vectors& to) {
  const mr::tags second{alice.session, next_life}, never{alice.session, 0x5555555555555555U};
  const auto add = [&to](const char* name, play history, mr::event_id cursor) {
    to.add(name, four_events(), std::move(history), with_cursor(to_string(cursor)));
  };
  add("stale: the second life's id in the third, stream 0", renewed_twice, {second, 0, 2});
  add("stale: the second life's id in the third, a request stream", renewed_twice, {second, 1, 1});
  add("stale: an incarnation that never was, stream 0", two_sessions, {never, 0, 1});
  add("stale: an incarnation that never was, a request stream", two_sessions, {never, 1, 1});
  add("the new life's own cursor goes on", renewed_and_filled, {second, 0, 4});
  const auto created_anew = [](world& w) {
    two_sessions(w);
    w.end(0);
    w.create("s-3", "alice", {alice.session + 1, next_life});
  };
  get next_session = with_cursor(id_text(alice, 0, 1));
  next_session.session_id = "s-3";
  to.add("an id of an ended session is foreign in the next one", usual_bounds(), created_anew, next_session);
}

// ---- Places beside the window ---------------------------------------------------------------------------------------

// The cursors at every edge of a stream's window, for whatever the history left there.
void add_edges(fixed_vectors& to, const std::string& name, const mr::options& bounds, const play& history) {
  world w(bounds);
  history(w);
  for (std::size_t i = 0; i != w.streams_of(0).size(); ++i) {
    const mr::stream_handle stream = w.streams_of(0)[i];
    const mr::window held = w.window_of(0, i).value_or(mr::window{});
    std::vector<std::uint64_t> seqs{0, 1, std::uint64_t{1} << 53U, (std::uint64_t{1} << 53U) + 1, max64 - 1, max64};
    for (const std::uint64_t edge : {held.first, held.next}) {
      for (std::uint64_t below = 0; below != 4 && below <= edge; ++below) seqs.push_back(edge - below);
      if (edge != max64) seqs.push_back(edge + 1);
    }
    std::sort(seqs.begin(), seqs.end());
    seqs.erase(std::unique(seqs.begin(), seqs.end()), seqs.end());
    for (const std::uint64_t seq : seqs) {
      to.add(fmt::format("{}: stream {}, window {}, cursor {}", name, stream.stream, to_string(held), seq), bounds,
             history, with_cursor(id_text(stream.owner, stream.stream, seq)));
    }
  }
}

// Stream 0 with `events` events, an open request stream with as many, and a finished one with as many.
play filled(int events) {
  return [events](world& w) {
    w.create("s-1", "alice", alice);
    w.open(0);
    w.open(0);
    for (std::size_t stream = 0; stream != 3; ++stream) w.append(0, stream, events);
    w.finish(0, 2);
  };
}

void add_windows(fixed_vectors& to) {
  const mr::options usual = usual_bounds();
  mr::options few = usual, one = usual, aging = usual, numbered = usual, last = usual;
  few.max_events = 8;
  one.max_events = 3;
  aging.max_age_ms = 1000;
  numbered.first_seq = 1001;
  last.first_seq = max64 - 4;
  last.first_stream = 0xFFFFFFFEU;
  last.max_events = 6;
  add_edges(to, "nothing appended", usual, filled(0));
  add_edges(to, "all held", usual, filled(3));
  add_edges(to, "evicted", few, filled(7));
  add_edges(to, "one event held", one, filled(5));
  add_edges(to, "grown too old", aging, [](world& w) { filled(3)(w), w.pass(1001); });
  add_edges(to, "numbers from 1001 on", numbered, filled(3));
  add_edges(to, "the last numbers", last, filled(9));
}

void add_streams(fixed_vectors& to) {
  mr::options two = usual_bounds();
  two.max_streams = 2;
  const auto forgotten = [](world& w) { two_sessions(w), w.finish(0, 1), w.forget(0, 1); };
  const auto dropped = [](world& w) { two_sessions(w), w.finish(0, 1), w.open(0), w.open(0); };
  for (const std::uint64_t seq : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{3}, max64}) {
    const get first = with_cursor(id_text(alice, 1, seq));
    to.add(fmt::format("forgotten: cursor {}", seq), usual_bounds(), forgotten, first);
    to.add(fmt::format("dropped at the bound of streams: cursor {}", seq), two, dropped, first);
    for (const std::uint32_t stream : {2U, 3U, 0x7FFFFFFFU, 0x80000000U, 0xFFFFFFFFU}) {
      to.add(fmt::format("never opened: stream {}, cursor {}", stream, seq), usual_bounds(), two_sessions,
             with_cursor(id_text(alice, stream, seq)));
    }
  }
  mr::options late = usual_bounds();
  late.first_stream = 5;
  to.add("never opened: a number below the first one", late, two_sessions, with_cursor(id_text(alice, 1, 1)));
}

// What an earlier rule decides, whatever the later ones would say.
void add_precedence(fixed_vectors& to) {
  const auto add = [&to](const char* name, std::optional<std::string> version, std::optional<std::string> session_id,
                         std::optional<std::string> cursor, const char* principal) {
    to.add(fmt::format("first rule first: {}", name), usual_bounds(), two_sessions,
           {std::move(version), std::move(session_id), std::move(cursor), principal});
  };
  const std::string good = id_text(alice, 0, 1);
  add("unsupported version before everything", "draft", std::nullopt, "evt-1", "mallory");
  add("stateless version before everything else", "2026-07-28", std::nullopt, "evt-1", "mallory");
  add("no session before a malformed cursor", "2025-11-25", std::nullopt, "evt-1", "mallory");
  add("no session before the principal", std::nullopt, "", good, "mallory");
  add("a session that is gone before a malformed cursor", "2025-11-25", "s-9", "evt-1", "mallory");
  add("a wrong principal before a malformed cursor", "2025-11-25", "s-1", "evt-1", "mallory");
  add("a wrong principal before a foreign cursor", "2025-11-25", "s-1", id_text(bob, 0, 1), "bob");
  add("a wrong principal with a cursor of his own session", "2025-11-25", "s-2", good, "alice");
  add("another tag before another incarnation", "2025-11-25", "s-1", id_text({bob.session, 9}, 0, 1), "alice");
  add("another incarnation before the place", "2025-11-25", "s-1", id_text({alice.session, 9}, 1, 99), "alice");
}

fixed_vectors all_fixed() {
  fixed_vectors made;
  add_versions(made);
  add_sessions(made);
  add_principals(made);
  add_readers(made);
  add_malformed(made);
  add_foreign(made);
  add_stale(made);
  add_lives(made);
  add_windows(made);
  add_streams(made);
  add_precedence(made);
  return made;
}

// ---- Random vectors -------------------------------------------------------------------------------------------------

class random_vectors {
 public:
  explicit random_vectors(std::uint64_t seed) : random_(seed) {}

  json next(std::uint64_t number) {
    mr::options bounds = usual_bounds();
    bounds.max_events = 1 + random_.below(8);
    bounds.max_streams = 1 + random_.below(4);
    if (one_in(4)) bounds.max_age_ms = 1000;
    if (one_in(8)) bounds.first_seq = one_in(2) ? max64 - 6 : 1000;
    if (one_in(8)) bounds.first_stream = 0xFFFFFFFDU;
    if (one_in(4)) bounds.supported = bounds.supported.without(static_cast<mr::protocol>(random_.below(5)));
    world w(bounds);
    issued_.clear();
    begin(w);
    for (std::uint32_t steps = random_.below(40); steps != 0; --steps) step(w);
    return w.vector(fmt::format("random {}", number), request(w));
  }

 private:
  bool one_in(std::uint32_t n) { return random_.below(n) == 0; }
  template <class T, std::size_t n>
  const T& any_of(const T (&list)[n]) {
    return list[random_.below(n)];
  }
  mr::tags drawn_tags() {
    const std::uint64_t session = random_.next();
    return {session, random_.next()};
  }

  void begin(world& w) {
    const char* const principals[] = {"alice", "bob", ""};
    const std::uint32_t count = 1 + random_.below(3);
    for (std::uint32_t i = 0; i != count; ++i) {
      const std::string principal = any_of(principals);
      const auto version = static_cast<mr::protocol>(random_.below(4));
      w.create(fmt::format("s-{}", i + 1), principal, drawn_tags(), version);
    }
  }
  void step(world& w) {
    const std::size_t at = random_.below(static_cast<std::uint32_t>(w.size()));
    if (!w.is_live(at)) return;
    const std::size_t stream = random_.below(static_cast<std::uint32_t>(w.streams_of(at).size()));
    const std::uint32_t kind = random_.below(32);
    if (kind < 14) {
      w.append(at, stream, 1 + static_cast<int>(random_.below(3)));
      remember(w, at, stream);
    } else if (kind < 18) {
      w.open(at);
    } else if (kind < 23) {
      w.finish(at, stream);
    } else if (kind < 24) {
      w.forget(at, stream);
    } else if (kind < 27) {
      w.connect(at, random_.below(4));
    } else if (kind < 29) {
      w.disconnect(at);
    } else {
      change_life(w, at, kind);
    }
  }
  void change_life(world& w, std::size_t at, std::uint32_t kind) {
    if (kind == 29) {
      w.renew(at, random_.next());
    } else if (kind == 30) {
      w.pass(one_in(4) ? 31 * 60 * 1000 : 400 + random_.below(1000));
    } else if (one_in(4)) {
      w.end(at);
    }
  }
  void remember(const world& w, std::size_t at, std::size_t stream) {
    const auto held = w.window_of(at, stream);
    if (held) issued_.push_back({w.streams_of(at)[stream].owner, w.streams_of(at)[stream].stream, held->next - 1});
  }

  get request(const world& w) {
    const std::size_t at = random_.below(static_cast<std::uint32_t>(w.size()));
    get asked;
    asked.session_id = w.id_of(at);
    asked.principal = one_in(16) ? "mallory" : w.principal_of(at);
    const char* const versions[] = {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28", "2027-01-01"};
    asked.version = versions[random_.below(one_in(4) ? 6 : 4)];
    if (one_in(8)) asked.version.reset();
    if (one_in(24)) asked.session_id.reset();
    if (!one_in(6)) asked.last_event_id = cursor(w, at);
    return asked;
  }
  std::string cursor(const world& w, std::size_t at) {
    const bool has_issued = !issued_.empty();
    if (one_in(6) && has_issued) {  // of any session and any life
      return to_string(issued_[random_.below(static_cast<std::uint32_t>(issued_.size()))]);
    }
    const std::size_t stream = random_.below(static_cast<std::uint32_t>(w.streams_of(at).size()));
    mr::event_id id{w.streams_of(at)[stream].owner, w.streams_of(at)[stream].stream, 0};
    const mr::window held = w.window_of(at, stream).value_or(mr::window{});
    const auto places = static_cast<std::uint32_t>(held.next - held.first) + 3;
    id.seq = held.first - 2 + random_.below(places);  // may wrap: any seq has a text
    if (one_in(16)) ++id.stream;
    if (one_in(16)) id.owner.session ^= std::uint64_t{1} << random_.below(64);
    if (one_in(16)) id.owner.incarnation ^= std::uint64_t{1} << random_.below(64);
    std::string text = to_string(id);
    if (one_in(12)) text[random_.below(static_cast<std::uint32_t>(text.size()))] = "0.gA -"[random_.below(6)];
    return text;
  }

  property::random random_;
  std::vector<mr::event_id> issued_;
};

// ---- The command ----------------------------------------------------------------------------------------------------

constexpr std::uint64_t most_vectors = 1000000;

void print_vectors(std::uint64_t seed, std::uint64_t count) {
  const fixed_vectors fixed = all_fixed();
  if (count < fixed.size() || count > most_vectors) {
    throw input_error("--count", fmt::format("must be from {}, the fixed vectors, to {}", fixed.size(), most_vectors));
  }
  const json schema{{"schema", "mcp-resume-vectors"},
                    {"version", schema_version},
                    {"seed", json_of(seed)},
                    {"count", count},
                    {"fixed", fixed.size()}};
  line_writer out(count + 1);
  out.add(schema);
  fixed.for_each([&](const json& vector) { out.add(vector); });
  random_vectors random(seed);
  for (std::uint64_t i = fixed.size(); i != count; ++i) out.add(random.next(i - fixed.size() + 1));
  out.flush();
}

}  // namespace

void add_vectors(CLI::App& program, int& status) {
  struct options {
    std::string seed = "1", count = "1000";
  };
  const auto asked = std::make_shared<options>();
  CLI::App* command = program.add_subcommand(
      "vectors",
      "Prints test vectors as JSON lines: a server's state, a request, and what is to be answered and replayed.\n"
      "First come the fixed ones, which cover the whole table and its edges, then random ones.\n"
      "Example: mcp-resume-oracle vectors --seed 7 --count 5000 > vectors.jsonl\n"
      "Exit status: 0 printed, 2 wrong usage.");
  command->add_option("--seed", asked->seed, "of the random vectors")->type_name("N")->capture_default_str();
  command->add_option("--count", asked->count, "vectors altogether")->type_name("N")->capture_default_str();
  command->callback([asked, &status] {
    print_vectors(whole_of("--seed", asked->seed), whole_of("--count", asked->count));
    status = 0;
  });
}

}  // namespace oracle
