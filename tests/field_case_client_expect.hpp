// SPDX-License-Identifier: MIT
// Promise: what a case expects of its client is compared with what the client did; too little to compare is a failure.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "field_case_client.hpp"

namespace field {

// Compares the words of `expect` that a client case may use:
// - `outcome`: the gravest that the client was told (continue, gap, reset, reject), or `undecided`; `client_backoff`:
//   without progress its waits grow until they are long, or it gives up;
// - `missed`: the sum of what it was told is missed; `recovery`: what it was told to do, in order, `retry` many times in a
//   row once, `stop` also where it gives up;
// - `delivered`: what its application got, in order: the symbol of an event, else the data;
// - `cursors`: the `Last-Event-ID` of each request: the symbol of an event, null for none, else its text;
// - `limits`: `max_requests`; `max_requests_in_60s` (any number of seconds) in any stretch of that length; `waits`, rules
//   parted by commas: `non-decreasing` (but after progress), `honour retry: as minimum`, `honour retry-after as minimum`,
//   `at least N ms`, `at most N ms`;
// - `must_not`: `constant N s loop`, `deliver X`, `deliver X twice`; other text is named as not measured.
class client_verdict {
 public:
  client_verdict(const scripted_client& c, const world& all, std::vector<std::string>& failures,
                 std::vector<std::string>& notes)
      : c_(c), all_(all), failures_(failures), notes_(notes) {}

  static bool is_limit(const std::string& name) {
    return name == "waits" || name == "max_requests" || seconds_of(name).has_value();
  }

  void judge_outcome(const std::string& wanted) {
    if (wanted == "client_backoff") return judge_backoff();
    if (wanted != outcome()) fail("outcome: expected " + wanted + ", got " + outcome() + " " + told());
  }

  void judge_missed(const json& wanted) {
    const auto number = as_number(wanted);
    if (!number) throw case_error("`missed` must be a whole number");
    std::uint64_t missed = 0;
    for (const mr::verdict& v : c_.verdicts) missed += v.missed;
    compare("missed", std::to_string(*number), std::to_string(missed));
  }

  void judge_delivered(const json& wanted) {
    compare("delivered", listed(expand_symbols(as_texts(wanted, "`delivered`"))), listed(c_.delivered));
  }

  void judge_recovery(const json& wanted) {
    compare("recovery", listed(as_texts(wanted, "`recovery`")), listed(c_.recoveries));
  }

  void judge_cursors(const json& wanted) {
    if (!wanted.is_array()) throw case_error("`cursors` must be a list");
    std::vector<std::string> expected, sent;
    for (const json& each : wanted) {
      if (!each.is_string() && !each.is_null()) throw case_error("`cursors` must hold strings and null only");
      expected.push_back(each.dump());
    }
    for (const client_request& r : c_.requests) sent.push_back(cursor_name(r.cursor).dump());
    compare("cursors", listed(expected), listed(sent));
  }

  void judge_limit(const std::string& name, const json& bound) {
    if (name == "waits") return judge_waits(bound);
    const auto most = as_number(bound);
    if (!most) throw case_error("limit " + name + " must be a whole number");
    const auto seconds = seconds_of(name);
    if (!seconds) return judge_count("limit " + name, *most, c_.requests.size());
    const std::uint64_t ms = *seconds * 1000;
    if (c_.age_ms() < ms && !c_.has_ended) {
      return fail("limit " + name + ": only " + std::to_string(c_.age_ms()) + " ms passed");
    }
    judge_count("limit " + name, *most, most_requests_in(ms));
  }

  void judge_must_not(const std::string& text) {
    if (const auto ms = constant_wait(text)) return judge_loop(text, *ms);
    constexpr std::string_view deliver = "deliver ", twice = " twice";
    const bool is_twice = text.size() > twice.size() && text.substr(text.size() - twice.size()) == twice;
    const std::string symbol =
        text.rfind(deliver, 0) != 0
            ? ""
            : text.substr(deliver.size(), text.size() - deliver.size() - (is_twice ? twice.size() : 0));
    if (all_.ids.count(symbol) == 0) return notes_.push_back("must_not `" + text + "`: not measured");
    const auto times = std::count(c_.delivered.begin(), c_.delivered.end(), symbol);
    if (times > (is_twice ? 1 : 0)) fail("must_not `" + text + "`: it did, " + std::to_string(times) + " times");
  }

 private:
  static constexpr std::uint64_t long_wait_ms = 30000;

  void fail(const std::string& what) {
    failures_.push_back("`" + (c_.settings().name.empty() ? "client" : c_.settings().name) + "` " + what);
  }
  void compare(const std::string& what, const std::string& wanted, const std::string& got) {
    if (wanted != got) fail(what + ": expected " + wanted + ", got " + got + " " + told());
  }
  void judge_count(const std::string& what, std::uint64_t most, std::uint64_t got) {
    if (got > most) fail(what + ": at most " + std::to_string(most) + ", got " + std::to_string(got));
  }

  // ---- What happened

  static std::string listed(const std::vector<std::string>& all) {
    std::string out = "[";
    for (std::size_t i = 0; i != all.size(); ++i) out += (i == 0 ? "" : " ") + all[i];
    return out + "]";
  }
  // The reasons of what it was told, for a person who has to find out why.
  std::string told() const {
    std::string out = "(told:";
    for (std::size_t i = 0; i != c_.verdicts.size() && i != 20; ++i) {
      out.append(" ").append(mr::to_string(c_.verdicts[i].reason));
    }
    return out + (c_.verdicts.size() > 20 ? " ...)" : ")");
  }
  std::string outcome() const {
    const auto weight = [](mr::outcome o) {
      return o == mr::outcome::continue_ ? 0 : o == mr::outcome::gap ? 1 : o == mr::outcome::reset ? 2 : 3;
    };
    std::optional<mr::outcome> gravest;
    for (const mr::verdict& v : c_.verdicts) {
      const auto one = v.outcome();
      if (one && (!gravest || weight(*gravest) < weight(*one))) gravest = one;
    }
    return gravest ? std::string(mr::to_string(*gravest)) : "undecided";
  }
  json cursor_name(const std::string& text) const {
    if (text.empty()) return nullptr;
    for (const auto& [symbol, id] : all_.ids) {
      if (mr::to_string(id) == text) return symbol;
    }
    return text;
  }

  // ---- Waits

  // The wait before each request but the first.
  std::vector<client_request> after_first() const {
    return c_.requests.empty() ? c_.requests : std::vector<client_request>(c_.requests.begin() + 1, c_.requests.end());
  }
  std::string waits() const {
    std::vector<std::string> all;
    for (const client_request& r : after_first()) all.push_back(std::to_string(r.waited_ms));
    return "waits of " + listed(all) + " ms";
  }

  void judge_backoff() {
    std::vector<std::uint64_t> run;  // since the last progress
    for (const client_request& r : after_first()) {
      if (r.follows_progress) run.clear();
      if (!run.empty() && r.waited_ms < run.back())
        return fail("outcome client_backoff: a wait became shorter, " + waits());
      run.push_back(r.waited_ms);
    }
    if (c_.has_given_up) return;
    if (c_.has_ended) return fail("outcome client_backoff: it ended otherwise " + told());
    if (run.size() < 2) return fail("outcome client_backoff: fewer than two waits without progress, " + waits());
    if (run.back() <= run.front() && run.back() < long_wait_ms) fail("outcome client_backoff: no growth, " + waits());
  }

  void judge_waits(const json& written) {
    if (!written.is_string()) throw case_error("limit waits must be a text");
    const std::string text = written.get<std::string>();
    for (std::size_t begin = 0; begin <= text.size();) {
      const std::size_t end = std::min(text.find(',', begin), text.size());
      const std::size_t first = std::min(text.find_first_not_of(' ', begin), end);
      judge_rule(text.substr(first, end - first));
      begin = end + 1;
    }
  }

  void judge_rule(const std::string& rule) {
    const std::vector<client_request> all = after_first();
    if (rule == "non-decreasing") return judge_growth();
    if (rule == "honour retry: as minimum") return judge_asked(rule, &client_request::retry_ms);
    if (rule == "honour retry-after as minimum") return judge_asked(rule, &client_request::retry_after_ms);
    const auto least = number_between(rule, "at least ", " ms"), most = number_between(rule, "at most ", " ms");
    if (!least && !most) throw case_error("unknown rule `" + rule + "` of limit waits");
    if (all.empty()) return fail("limit waits, " + rule + ": it never waited");
    for (const client_request& r : all) {
      const bool is_right = (!least || r.waited_ms >= *least) && (!most || r.waited_ms <= *most);
      if (!is_right) return fail("limit waits, " + rule + ": " + waits());
    }
  }

  void judge_growth() {
    std::size_t compared = 0;
    const client_request* before = nullptr;
    const std::vector<client_request> all = after_first();
    for (const client_request& r : all) {
      const bool is_pair = before != nullptr && !r.follows_progress;
      if (is_pair && r.waited_ms < before->waited_ms) return fail("limit waits, non-decreasing: " + waits());
      if (is_pair) ++compared;
      before = &r;
    }
    if (compared == 0) fail("limit waits, non-decreasing: no two to compare, " + waits());
  }

  void judge_asked(const std::string& rule, std::optional<std::uint64_t> client_request::*asked) {
    const std::vector<client_request> all = after_first();
    if (all.empty()) return fail("limit waits, " + rule + ": it never waited");
    bool is_any = false;
    for (const client_request& r : all) {
      is_any = is_any || r.*asked;
      const bool is_right = !(r.*asked) || r.waited_ms >= *(r.*asked);
      if (!is_right)
        return fail("limit waits, " + rule + ": asked for " + std::to_string(*(r.*asked)) + ", " + waits());
    }
    if (!is_any) notes_.push_back("limit waits, " + rule + ": the server asked for nothing");
  }

  // A loop is constant where no wait is over half longer than the shortest one may be: jitter is not growth.
  void judge_loop(const std::string& text, std::uint64_t ms) {
    const std::vector<client_request> all = after_first();
    if (all.size() < 2) return fail("must_not `" + text + "`: fewer than two waits, " + waits());
    const auto is_about = [ms](const client_request& r) { return r.waited_ms <= ms + ms / 2; };
    if (std::all_of(all.begin(), all.end(), is_about)) fail("must_not `" + text + "`: " + waits());
  }

  // ---- Text

  static std::optional<std::uint64_t> number_between(std::string_view text, std::string_view before,
                                                     std::string_view after) {
    const bool is_framed = text.size() > before.size() + after.size() && text.substr(0, before.size()) == before &&
                           text.substr(text.size() - after.size()) == after;
    if (!is_framed) return std::nullopt;
    text.remove_prefix(before.size());
    text.remove_suffix(after.size());
    return parse_number(text);
  }
  static std::optional<std::uint64_t> seconds_of(const std::string& limit) {
    const auto seconds = number_between(limit, "max_requests_in_", "s");
    return seconds && *seconds != 0 && *seconds <= 0xFFFFFFFFU ? seconds : std::nullopt;
  }
  static std::optional<std::uint64_t> constant_wait(const std::string& text) {
    if (const auto ms = number_between(text, "constant ", " ms loop")) return ms;
    const auto seconds = number_between(text, "constant ", " s loop");
    return seconds ? std::optional<std::uint64_t>(*seconds * 1000) : std::nullopt;
  }
  std::uint64_t most_requests_in(std::uint64_t ms) const {
    std::uint64_t most = 0;
    std::size_t first = 0;
    for (std::size_t i = 0; i != c_.requests.size(); ++i) {
      while (c_.requests[i].at_ms - c_.requests[first].at_ms >= ms) ++first;
      most = std::max<std::uint64_t>(most, i + 1 - first);
    }
    return most;
  }

  const scripted_client& c_;
  const world& all_;
  std::vector<std::string>& failures_;
  std::vector<std::string>& notes_;
};

}  // namespace field
