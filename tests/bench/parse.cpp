// SPDX-License-Identifier: MIT
// Parsing event ids and checking whether they are the session's.
#include "bench.hpp"
#include "limits.hpp"

namespace bench {
namespace {

using benchmark::DoNotOptimize;
using mcp_resume::event_id;

// Ids of one session, of 1 to 7 digits and, one in 16, of a request stream.
std::vector<std::string> good_ids(const owner& who) {
  std::vector<std::string> ids;
  for (std::uint64_t n = 0; n != 1024; ++n) {
    const std::uint64_t bound = n % 7 == 0 ? 10 : n % 7 == 1 ? 1000 : 10000000;
    ids.push_back(who.event_id(mixed(n) % bound, n % 16 == 0 ? 3 : 0));
  }
  shuffle(ids);
  return ids;
}

// What is no event id, in each way: the library refuses all of them.
std::vector<std::string> bad_ids(const owner& who) {
  const std::string good = who.event_id(418);
  std::vector<std::string> ids;
  for (std::uint64_t n = 0; n != 128; ++n) {
    std::string upper = good, blank = good, dot = good;
    upper[n % 16] = 'A';
    blank[n % good.size()] = ' ';
    dot[33] = ':';
    const std::string leading_zero = who.prefix() + "0418", too_large = who.prefix() + "18446744073709551616";
    for (const std::string& bad : {upper, blank, dot, leading_zero, too_large, good + std::string(n, '7') + ".",
                                   std::string("evt-000418"), good.substr(0, n % 35)}) {
      ids.push_back(bad);
    }
  }
  shuffle(ids);
  return ids;
}

bool is_owned(const std::optional<event_id>& id, const owner& who) noexcept { return id && id->owner == who.tags; }

void require_same(const std::vector<std::string>& good, const std::vector<std::string>& bad, const owner& who) {
  const std::string session = good[0].substr(0, 16), incarnation = good[0].substr(17, 16);
  for (const std::string& id : good) {
    const std::optional<event_id> parsed = event_id::parse(id);
    std::uint64_t stream = 0;
    require(is_owned(parsed, who) && parsed == limits::parse_id(id), "std::from_chars gives another id");
    const auto seq = limits::parse_by_substr(id, session, incarnation, stream);
    require(seq == parsed->seq && stream == parsed->stream, "substr and std::stoull give another id");
    char text[event_id::max_size];
    require(std::string_view(text, limits::format_id(text, *parsed)) == id, "std::to_chars gives another text");
    const std::size_t size = limits::format_id_after(text, std::string_view(id).substr(0, 34), parsed->stream, *seq);
    require(std::string_view(text, size) == id, "kept tags give another text");
  }
  for (const std::string& id : bad) require(!event_id::parse(id), "a bad id was parsed");
}

void add_library(runner& works, const std::string& name, const std::vector<std::string>& ids, const owner& who) {
  works.add(name, [&who, turn = rotation<std::string>(ids)]() mutable {
    const auto id = event_id::parse(turn.next());
    DoNotOptimize(id);
    DoNotOptimize(is_owned(id, who));
  });
}
void add_from_chars(runner& works, const std::string& name, const std::vector<std::string>& ids, const owner& who) {
  works.add(name, [&who, turn = rotation<std::string>(ids)]() mutable {
    const auto id = limits::parse_id(turn.next());
    DoNotOptimize(id);
    DoNotOptimize(is_owned(id, who));
  });
}

}  // namespace

void run_parse(runner& works) {
  const owner who(0);
  const std::vector<std::string> good = good_ids(who), bad = bad_ids(who);
  require_same(good, bad, who);
  add_library(works, "parse/library", good, who);
  add_from_chars(works, "parse/limit: from_chars", good, who);
  works.add("parse/peer: substr, stoull", [session = good[0].substr(0, 16), incarnation = good[0].substr(17, 16),
                                           turn = rotation<std::string>(good)]() mutable {
    std::uint64_t stream = 0;
    DoNotOptimize(limits::parse_by_substr(turn.next(), session, incarnation, stream));
    DoNotOptimize(stream);
  });
  add_library(works, "parse bad/library", bad, who);
  add_from_chars(works, "parse bad/limit: from_chars", bad, who);
  works.add("format/library", [id = event_id{who.tags, 0, 0}]() mutable {
    char text[event_id::max_size];
    ++id.seq;
    DoNotOptimize(id.to_chars(text));
    DoNotOptimize(text);
  });
  works.add("format/limit: to_chars", [id = event_id{who.tags, 0, 0}]() mutable {
    char text[event_id::max_size];
    ++id.seq;
    DoNotOptimize(limits::format_id(text, id));
    DoNotOptimize(text);
  });
  works.run();
}

}  // namespace bench
