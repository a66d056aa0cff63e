// SPDX-License-Identifier: MIT
// Promise: a client waits longer and longer for a server that brings nothing new, never shorter than the server asked
// for, and gives up in the end; no number that anybody sends makes a wait wrap.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "catch.hpp"
#include "mcp_resume/client.hpp"
#include "property.hpp"

using namespace mcp_resume;

namespace {

// As a block with just a `retry:` does.
constexpr void tell_retry(mcp_resume::reconnect_policy& policy, std::uint64_t ms) {
  mcp_resume::verdict told;
  told.reason = mcp_resume::continuity::blank;
  told.retry_ms = ms;
  policy.note(told);
}

constexpr std::uint64_t max64 = ~std::uint64_t{0};
constexpr std::uint32_t max32 = ~std::uint32_t{0};

constexpr verdict verdict_with(continuity why, stream_kind kind = stream_kind::standalone) {
  verdict made;
  made.reason = why;
  made.kind = kind;
  return made;
}

// The connection brought nothing new and is to be made again.
constexpr verdict failure = verdict_with(continuity::undecided);

constexpr verdict news() {
  verdict made = verdict_with(continuity::next_event);
  made.is_new = true;
  return made;
}

constexpr void fail(reconnect_policy& policy, std::uint32_t times) {
  for (std::uint32_t i = 0; i != times; ++i) policy.note(failure);
}

constexpr reconnect_options bounds_of(std::uint32_t first, std::uint32_t most, std::uint32_t attempts = 20) {
  reconnect_options bounds;
  bounds.first_wait_ms = first;
  bounds.max_wait_ms = most;
  bounds.max_attempts = attempts;
  return bounds;
}

constexpr reconnect_options attempts_of(std::uint32_t most) { return bounds_of(1000, 30000, most); }

// The rule in words, apart from the code's: the wait after so many failed attempts in a row, without jitter. The first
// one is what the server asked for, within the bounds, or else the first wait; then waits double from the longer of the
// two, up to the cap, which cuts neither.
std::uint64_t wait_in_words(const reconnect_options& bounds, std::optional<std::uint64_t> retry, std::uint32_t failed) {
  const std::uint64_t capped = std::min<std::uint64_t>(retry.value_or(0), bounds.max_retry_ms);
  const std::uint64_t asked = std::max<std::uint64_t>(capped, bounds.min_wait_ms);
  if (failed <= 1) return retry ? asked : bounds.first_wait_ms;
  const std::uint64_t begin = std::max<std::uint64_t>(retry ? asked : 0, bounds.first_wait_ms);
  const std::uint64_t cap = std::max<std::uint64_t>(begin, bounds.max_wait_ms);
  std::uint64_t wait = begin;
  for (std::uint32_t i = 1; i < failed && wait < cap; ++i) wait = std::min(wait * 2, cap);
  return wait;
}

// The most that jitter may make of it: a quarter more, and not more than what is waited next.
std::uint64_t longest_in_words(const reconnect_options& bounds, std::optional<std::uint64_t> retry,
                               std::uint32_t failed) {
  const std::uint64_t wait = wait_in_words(bounds, retry, failed);
  return std::min(wait + wait / 4, wait_in_words(bounds, retry, std::max(failed, std::uint32_t{1}) + 1));
}

const std::vector<std::uint64_t>& randoms() {
  static const std::vector<std::uint64_t> all{0,
                                              1,
                                              max32,
                                              std::uint64_t{1} << 32U,
                                              std::uint64_t{1} << 62U,
                                              std::uint64_t{1} << 63U,
                                              0xDEADBEEFDEADBEEFU,
                                              max64 - max32,
                                              max64};
  return all;
}

// Options with each field at the ends of its type and near them.
const std::vector<reconnect_options>& extreme_options() {
  static const std::vector<reconnect_options> every = [] {
    const std::vector<std::uint32_t> ends{0, 1, 1000, 0x7FFFFFFFU, 0x80000000U, max32};
    std::vector<reconnect_options> all;
    for (const std::uint32_t first : ends) {
      for (const std::uint32_t most : ends) {
        for (const std::uint32_t least : ends) {
          for (const std::uint32_t retry : ends) {
            reconnect_options bounds = bounds_of(first, most);
            bounds.min_wait_ms = least;
            bounds.max_retry_ms = retry;
            all.push_back(bounds);
          }
        }
      }
    }
    return all;
  }();
  return every;
}

const std::vector<std::optional<std::uint64_t>>& retries() {
  static const std::vector<std::optional<std::uint64_t>> all{
      std::nullopt, 0, 99, 1000, 4000, max32, std::uint64_t{1} << 32U, max64};
  return all;
}

reconnect_policy policy_with(const reconnect_options& bounds, std::optional<std::uint64_t> retry = std::nullopt,
                             std::uint32_t failed = 0) {
  reconnect_policy made(bounds);
  if (retry) tell_retry(made, *retry);
  fail(made, failed);
  return made;
}

std::vector<std::uint64_t> waits_of(reconnect_policy policy, std::size_t count) {
  std::vector<std::uint64_t> waits;
  for (std::size_t i = 0; i != count; ++i) {
    policy.note(failure);
    waits.push_back(policy.wait_ms(0));
  }
  return waits;
}

std::uint64_t shortest(const reconnect_policy& policy, std::uint64_t retry_after = 0) {
  std::uint64_t wait = max64;
  for (const std::uint64_t random : randoms()) wait = std::min(wait, policy.wait_ms(random, retry_after));
  return wait;
}

std::uint64_t longest(const reconnect_policy& policy, std::uint64_t retry_after = 0) {
  std::uint64_t wait = 0;
  for (const std::uint64_t random : randoms()) wait = std::max(wait, policy.wait_ms(random, retry_after));
  return wait;
}

// How many failures a policy takes until it has ended; `most` if it takes them all.
std::uint32_t failures_until_the_end(reconnect_policy policy, std::uint32_t most) {
  std::uint32_t failures = 0;
  while (failures != most && !policy.has_ended()) {
    policy.note(failure);
    ++failures;
  }
  return failures;
}

// ---- Histories ----

enum action : std::uint32_t {
  failed,
  brought_news,
  brought_news_and_failed,
  decided_nothing,
  said_retry,
  said_retry_in_a_verdict,
  actions
};

struct step {
  std::array<std::uint32_t, 2> n{};  // action, number
};

std::string show(const step& s) { return "{" + std::to_string(s.n[0]) + ", " + std::to_string(s.n[1]) + "},"; }

// Numbers near the ends and near the bounds.
std::uint32_t some_number(property::random& source) {
  constexpr std::uint32_t known[] = {0, 1, 999, 1000, 1001, 2500, 29999, 30001, 299999, 300001, max32};
  return source.below(2) == 0 ? known[source.below(11)] : source.below(400000);
}

std::vector<step> make_history(property::random& source) {
  std::vector<step> made;
  const std::uint32_t size = 1 + source.below(40);
  for (std::uint32_t i = 0; i != size; ++i) {
    const std::uint32_t what = source.below(3) == 0 ? source.below(actions) : std::uint32_t{failed};
    made.push_back({{what, some_number(source)}});
  }
  return made;
}

// The policy and the rule in words side by side.
struct pair {
  reconnect_options bounds;
  reconnect_policy policy{bounds};
  std::optional<std::uint64_t> retry;
  std::uint32_t failures = 0;

  void take(const step& s) {
    switch (s.n[0] % actions) {
      case failed:
        policy.note(failure);
        ++failures;
        break;
      case brought_news:
        policy.note(news());
        failures = 0;
        break;
      case brought_news_and_failed: {
        verdict both = failure;
        both.is_new = true;
        policy.note(both);
        failures = 1;
        break;
      }
      case decided_nothing:
        policy.note(verdict_with(continuity::opened));
        break;
      case said_retry_in_a_verdict: {
        verdict asks = verdict_with(continuity::opened);
        asks.retry_ms = retry = s.n[1];
        policy.note(asks);
        break;
      }
      default:
        retry = s.n[1];
        tell_retry(policy, s.n[1]);
    }
  }
  property::failure check() const {
    const std::uint64_t expected = wait_in_words(bounds, retry, failures);
    const std::uint64_t wait = policy.wait_ms(0);
    if (wait != expected) return {"wait", std::to_string(wait) + " is not " + std::to_string(expected)};
    if (longest(policy) > longest_in_words(bounds, retry, failures)) return {"jitter", std::to_string(longest(policy))};
    if (shortest(policy) != wait) return {"shortened", std::to_string(shortest(policy))};
    const bool has_ended = failures > bounds.max_attempts;
    if (policy.has_ended() != has_ended) return {"end", "after " + std::to_string(failures) + " failures"};
    return {};
  }
};

property::failure check_history(const std::vector<step>& history) {
  pair both;
  for (const step& s : history) {
    both.take(s);
    if (property::failure found = both.check()) return found;
  }
  return {};
}

// ---- A guard's own verdicts ----

constexpr const char* event_stream = "text/event-stream";

// One connection of a guard: an answer, these ids of events, and its end.
void connect(stream_guard& guard, reconnect_policy& policy, const std::vector<std::string>& ids) {
  policy.note(guard.answer({200, event_stream}));
  for (const std::string& id : ids) {
    block next;
    next.id = id;
    next.data = "{}";
    policy.note(guard.block(next));
    guard.taken();
  }
  policy.note(guard.closed());
}

std::string id_of(std::uint64_t seq) { return to_string(event_id{{1, 2}, 0, seq}); }

}  // namespace

TEST_CASE("waits double from the first one to the cap", "[reconnect]") {
  CHECK(waits_of(reconnect_policy(), 8) ==
        std::vector<std::uint64_t>{1000, 2000, 4000, 8000, 16000, 30000, 30000, 30000});
  CHECK(waits_of(reconnect_policy(bounds_of(1, 5)), 5) == std::vector<std::uint64_t>{1, 2, 4, 5, 5});
  CHECK(waits_of(reconnect_policy(bounds_of(8, 8)), 3) == std::vector<std::uint64_t>{8, 8, 8});
  CHECK(waits_of(reconnect_policy(bounds_of(0, 8)), 3) == std::vector<std::uint64_t>{0, 0, 0});
  // A cap below the first wait would let waits shrink: the first wait is the cap then.
  CHECK(waits_of(reconnect_policy(bounds_of(8, 3)), 3) == std::vector<std::uint64_t>{8, 8, 8});
}

TEST_CASE("before anything failed the wait is the first one", "[reconnect]") {
  CHECK(reconnect_policy().wait_ms(0) == 1000);
  CHECK(policy_with({}, 177).wait_ms(0) == 177);
  CHECK(longest(reconnect_policy()) <= 1250);
  CHECK_FALSE(reconnect_policy().has_ended());
}

TEST_CASE("a policy is a constant expression", "[reconnect]") {
  constexpr auto wait_after = [](std::uint32_t failures, std::uint64_t retry) {
    reconnect_policy policy;
    tell_retry(policy, retry);
    fail(policy, failures);
    return policy.has_ended() ? max64 : policy.wait_ms(0);
  };
  STATIC_REQUIRE(wait_after(1, 0) == 100);
  STATIC_REQUIRE(wait_after(3, 0) == 4000);
  STATIC_REQUIRE(wait_after(1, 5000) == 5000);
  STATIC_REQUIRE(wait_after(2, 5000) == 10000);
  STATIC_REQUIRE(wait_after(21, 0) == max64);
  STATIC_REQUIRE(reconnect_policy().wait_ms(0, max64) == 300000);
  STATIC_REQUIRE(std::is_trivially_copyable<reconnect_policy>::value);
}

TEST_CASE("waits never decrease while nothing new comes whatever the randoms are", "[reconnect]") {
  for (const reconnect_options& bounds : extreme_options()) {
    for (const std::optional<std::uint64_t>& retry : retries()) {
      std::uint64_t before = 0;
      for (std::uint32_t failures = 1; failures != 36; ++failures) {
        const reconnect_policy policy = policy_with(bounds, retry, failures);
        if (shortest(policy) >= before) {
          before = longest(policy);
          continue;
        }
        CAPTURE(bounds.first_wait_ms, bounds.max_wait_ms, bounds.max_retry_ms, retry.value_or(7), failures);
        REQUIRE(shortest(policy) >= before);
      }
    }
  }
}

TEST_CASE("waits are those of the rule in words for numbers at the ends of their types", "[reconnect]") {
  for (const reconnect_options& bounds : extreme_options()) {
    const std::uint64_t most =
        std::max({bounds.first_wait_ms, bounds.min_wait_ms, bounds.max_wait_ms, bounds.max_retry_ms});
    for (const std::optional<std::uint64_t>& retry : retries()) {
      for (const std::uint32_t failures : {0U, 1U, 2U, 3U, 11U, 31U, 32U, 33U, 34U, 64U, 65U, 66U}) {
        const reconnect_policy policy = policy_with(bounds, retry, failures);
        const std::uint64_t wait = wait_in_words(bounds, retry, failures);
        const bool is_right = shortest(policy) == wait &&
                              longest(policy) <= longest_in_words(bounds, retry, failures) && longest(policy) <= most &&
                              longest(policy, max64) <= most;
        if (is_right) continue;
        CAPTURE(bounds.first_wait_ms, bounds.max_wait_ms, bounds.max_retry_ms, retry.value_or(7), failures, wait);
        CHECK(shortest(policy) == wait);
        CHECK(longest(policy) <= longest_in_words(bounds, retry, failures));
        CHECK(longest(policy, max64) <= most);
      }
    }
  }
}

TEST_CASE("every history of failures and news and retry fields has the waits of the rule in words", "[reconnect]") {
  CHECK(property::for_all(2000, make_history, check_history, show) == "");
}

// ---- What the server asks for ----

TEST_CASE("retry: is the first wait and the least wait, and waits double from it", "[reconnect]") {
  CHECK(waits_of(policy_with({}, 3000), 5) == std::vector<std::uint64_t>{3000, 6000, 12000, 24000, 30000});
  // Shorter than the first wait of the options: it is the server that knows, once.
  CHECK(waits_of(policy_with({}, 300), 4) == std::vector<std::uint64_t>{300, 2000, 4000, 8000});
  // Longer than the cap of the options: it is still the least.
  CHECK(waits_of(policy_with({}, 45000), 3) == std::vector<std::uint64_t>{45000, 45000, 45000});
  for (const std::uint64_t ms :
       {std::uint64_t{100}, std::uint64_t{2500}, std::uint64_t{29000}, std::uint64_t{300000}}) {
    for (std::uint32_t failures = 0; failures != 40; ++failures) {
      CHECK(shortest(policy_with({}, ms, failures)) >= ms);
    }
  }
}

TEST_CASE("a retry of 0 counts as the least wait and does not keep waits from growing", "[reconnect]") {
  for (std::uint64_t ms = 0; ms != 101; ++ms) {
    CHECK(waits_of(policy_with({}, ms), 4) == std::vector<std::uint64_t>{100, 2000, 4000, 8000});
  }
  CHECK(waits_of(policy_with({}, 101), 2) == std::vector<std::uint64_t>{101, 2000});
  reconnect_options bounds;
  bounds.min_wait_ms = 0;
  CHECK(waits_of(policy_with(bounds, 0), 4) == std::vector<std::uint64_t>{0, 2000, 4000, 8000});
  CHECK(longest(policy_with(bounds, 0, 1)) == 0);
  CHECK(failures_until_the_end(policy_with(bounds, 0), 1000) == 21);
  // It is a bound of what servers ask for: a first wait of the options may be shorter.
  CHECK(waits_of(reconnect_policy(bounds_of(7, 30)), 3) == std::vector<std::uint64_t>{7, 14, 28});
}

TEST_CASE("retry: is capped by max_retry_ms", "[reconnect]") {
  for (const std::uint64_t ms : {std::uint64_t{300000}, std::uint64_t{300001}, std::uint64_t{max32},
                                 std::uint64_t{max32} + 1, std::uint64_t{max32} + 5, max64}) {
    CAPTURE(ms);
    CHECK(waits_of(policy_with({}, ms), 3) == std::vector<std::uint64_t>{300000, 300000, 300000});
  }
  CHECK(policy_with({}, 299999, 1).wait_ms(0) == 299999);
  reconnect_options bounds;
  bounds.max_retry_ms = 0;
  CHECK(waits_of(policy_with(bounds, max64), 3) == std::vector<std::uint64_t>{100, 2000, 4000});
}

TEST_CASE("a retry: in the middle raises the waits and holds until the next one", "[reconnect]") {
  reconnect_policy policy = policy_with({}, std::nullopt, 3);
  REQUIRE(policy.wait_ms(0) == 4000);
  tell_retry(policy, 5000);
  CHECK(policy.wait_ms(0) == 20000);
  CHECK(waits_of(policy, 2) == std::vector<std::uint64_t>{30000, 30000});
  policy.note(news());
  CHECK(waits_of(policy, 3) == std::vector<std::uint64_t>{5000, 10000, 20000});
  tell_retry(policy, 1);
  CHECK(waits_of(policy, 3) == std::vector<std::uint64_t>{100, 2000, 4000});
}

TEST_CASE("the retry: of a noted verdict is taken, whatever the verdict", "[reconnect]") {
  for (std::size_t i = 0; i != continuity_count; ++i) {
    for (const std::uint64_t ms : {std::uint64_t{0}, std::uint64_t{4321}, max64}) {
      verdict made = verdict_with(static_cast<continuity>(i));
      made.retry_ms = ms;
      reconnect_policy noted = policy_with({}, 777);
      noted.note(made);
      made.retry_ms.reset();
      reconnect_policy told = policy_with({}, 777);
      tell_retry(told, ms);
      told.note(made);
      CHECK(waits_of(noted, 5) == waits_of(told, 5));
    }
  }
  // A block without `retry:` takes nothing back.
  reconnect_policy policy = policy_with({}, 777);
  policy.note(news());
  CHECK(policy.wait_ms(0) == 777);
}

TEST_CASE("a retry: larger than the one before never shortens a wait", "[reconnect]") {
  for (std::uint32_t failures = 1; failures != 12; ++failures) {
    for (const std::uint64_t first :
         {std::uint64_t{0}, std::uint64_t{500}, std::uint64_t{3000}, std::uint64_t{50000}}) {
      for (const std::uint64_t more : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{7000}, max64 - 50000}) {
        const reconnect_policy before = policy_with({}, first, failures);
        reconnect_policy after = before;
        tell_retry(after, first + more);
        CHECK(after.wait_ms(0) >= before.wait_ms(0));
        after.note(failure);
        CHECK(shortest(after) >= longest(before));
      }
    }
  }
}

TEST_CASE("Retry-After is a least wait of its answer alone and capped by max_retry_ms", "[reconnect]") {
  for (std::uint32_t failures = 0; failures != 9; ++failures) {
    const reconnect_policy policy = policy_with({}, std::nullopt, failures);
    for (const std::uint64_t random : randoms()) {
      const std::uint64_t wait = policy.wait_ms(random);
      for (const std::uint64_t asked : {std::uint64_t{0}, std::uint64_t{1}, wait - 1, wait, wait + 1,
                                        std::uint64_t{300000}, std::uint64_t{300001}, std::uint64_t{1} << 32U, max64}) {
        CAPTURE(failures, random, asked);
        const std::uint64_t capped = std::min(asked, std::uint64_t{300000});
        CHECK(policy.wait_ms(random, asked) == std::max(wait, capped));
      }
      CHECK(policy.wait_ms(random) == wait);
    }
  }
}

TEST_CASE("Retry-After is never fallen short of by jitter and is not lengthened by it", "[reconnect]") {
  const reconnect_policy policy = policy_with({}, std::nullopt, 1);
  CHECK(shortest(policy, 1000) == 1000);
  CHECK(shortest(policy, 9000) == 9000);
  CHECK(longest(policy, 9000) == 9000);
}

// ---- Jitter ----

TEST_CASE("jitter lengthens a wait by at most a quarter and never beyond the next wait", "[reconnect]") {
  for (const std::optional<std::uint64_t>& retry : retries()) {
    for (std::uint32_t failures = 1; failures != 12; ++failures) {
      const reconnect_policy policy = policy_with({}, retry, failures);
      const std::uint64_t base = policy.wait_ms(0);
      const std::uint64_t next = policy_with({}, retry, failures + 1).wait_ms(0);
      CAPTURE(retry.value_or(7), failures);
      CHECK(shortest(policy) == base);
      CHECK(longest(policy) <= base + base / 4);
      CHECK(longest(policy) <= next);
    }
  }
}

TEST_CASE("jitter spreads clients over the whole quarter and grows with the random number", "[reconnect]") {
  const reconnect_policy policy = policy_with({}, std::nullopt, 3);
  std::uint64_t before = 0;
  std::vector<std::size_t> parts(4);
  for (std::uint64_t n = 0; n != 4096; ++n) {
    const std::uint64_t wait = policy.wait_ms(n << 52U);
    REQUIRE(wait >= std::max(before, std::uint64_t{4000}));
    REQUIRE(wait <= 5000);
    before = wait;
    ++parts[static_cast<std::size_t>(std::min(wait - 4000, std::uint64_t{999}) / 250)];
  }
  CHECK(before >= 4999);
  for (const std::size_t part : parts) CHECK((part >= 1000 && part <= 1050));
  // Near the cap no more is spread than what is left to the next wait, which is the cap.
  const reconnect_policy near_cap = policy_with(bounds_of(14500, 30000), std::nullopt, 2);
  CHECK(near_cap.wait_ms(0) == 29000);
  CHECK(longest(near_cap) >= 29999);
  CHECK(longest(near_cap) <= 30000);
}

TEST_CASE("the same numbers give the same wait and asking changes nothing", "[reconnect]") {
  const reconnect_policy policy = policy_with({}, 1500, 2);
  for (const std::uint64_t random : randoms()) {
    const std::uint64_t wait = policy.wait_ms(random, 5);
    for (int i = 0; i != 20; ++i) CHECK(policy.wait_ms(random, 5) == wait);
  }
  CHECK(failures_until_the_end(policy, 1000) == 19);
}

// ---- What counts ----

TEST_CASE("every recovery is one attempt and a verdict without one is none", "[reconnect]") {
  for (std::size_t i = 0; i != continuity_count; ++i) {
    for (const stream_kind kind : {stream_kind::standalone, stream_kind::request}) {
      const verdict made = verdict_with(static_cast<continuity>(i), kind);
      CAPTURE(to_string(made.reason), to_string(kind));
      reconnect_policy policy(bounds_of(1, 1024, 5));
      std::vector<std::uint64_t> waits;
      for (int n = 0; n != 5; ++n) {
        policy.note(made);
        waits.push_back(policy.wait_ms(0));
      }
      const bool is_counted = made.recovery() != recovery::none;
      CHECK(waits ==
            (is_counted ? std::vector<std::uint64_t>{1, 2, 4, 8, 16} : std::vector<std::uint64_t>{1, 1, 1, 1, 1}));
      CHECK_FALSE(policy.has_ended());
      policy.note(made);
      CHECK(policy.has_ended() == is_counted);
    }
  }
}

TEST_CASE("what is new begins the count anew and the recovery of the same verdict counts", "[reconnect]") {
  for (std::uint32_t failures = 0; failures != 30; ++failures) {
    reconnect_policy policy = policy_with({}, std::nullopt, failures);
    policy.note(news());
    CHECK_FALSE(policy.has_ended());
    CHECK(failures_until_the_end(policy, 1000) == 21);
    CHECK(waits_of(policy, 3) == std::vector<std::uint64_t>{1000, 2000, 4000});

    reconnect_policy closed = policy_with({}, std::nullopt, failures);
    verdict both = failure;
    both.is_new = true;
    closed.note(both);
    CHECK(closed.wait_ms(0) == 1000);
    CHECK(failures_until_the_end(closed, 1000) == 20);
  }
}

TEST_CASE("news does not forget the retry: of the server", "[reconnect]") {
  reconnect_policy policy = policy_with({}, 2500, 4);
  policy.note(news());
  CHECK(waits_of(policy, 3) == std::vector<std::uint64_t>{2500, 5000, 10000});
}

TEST_CASE("attempts end after max_attempts", "[reconnect]") {
  for (std::uint32_t most = 1; most != 200; ++most) {
    CAPTURE(most);
    CHECK(failures_until_the_end(reconnect_policy(attempts_of(most)), 1000) == most + 1);
  }
  CHECK(failures_until_the_end(reconnect_policy(), 1000) == 21);
}

TEST_CASE("with max_attempts of 0 attempts never end", "[reconnect]") {
  CHECK(failures_until_the_end(reconnect_policy(attempts_of(0)), 200000) == 200000);
  CHECK(failures_until_the_end(reconnect_policy(attempts_of(max32)), 200000) == 200000);
}

TEST_CASE("clean closes that brought nothing new end the attempts", "[reconnect]") {
  // An empty 200, one that brings the marker alone, and one that repeats what was seen.
  for (const std::vector<std::string>& ids :
       {std::vector<std::string>{}, std::vector<std::string>{id_of(7)}, std::vector<std::string>{id_of(3), id_of(4)}}) {
    stream_guard guard(stream_kind::standalone, "s-1", id_of(7));
    reconnect_policy policy;
    int connections = 0;
    while (!policy.has_ended() && connections != 100) {
      connect(guard, policy, ids);
      ++connections;
    }
    CAPTURE(ids.size());
    CHECK(connections == 21);
    CHECK(guard.cursor() == id_of(7));
  }
}

TEST_CASE("connections that each bring one new event never end the attempts and wait the first wait", "[reconnect]") {
  stream_guard guard(stream_kind::standalone, "s-1", id_of(7));
  reconnect_policy policy;
  for (std::uint64_t seq = 8; seq != 108; ++seq) {
    connect(guard, policy, {id_of(seq)});
    CHECK(policy.wait_ms(0) == 1000);
    CHECK_FALSE(policy.has_ended());
  }
}

TEST_CASE("answers that refuse or decide nothing end the attempts", "[reconnect]") {
  for (const int status : {0, 202, 302, 408, 409, 429, 500, 503}) {
    stream_guard guard(stream_kind::standalone, "s-1");
    reconnect_policy policy;
    int answers = 0;
    while (!policy.has_ended() && answers != 100) {
      policy.note(guard.answer({status}));
      ++answers;
    }
    CAPTURE(status);
    CHECK(answers == 21);
  }
}
