// SPDX-License-Identifier: MIT
// Promise: every word of `expect` is compared with what happened, or named as not measured; none is passed over.
#pragma once

#if defined(__GNUC__) && !defined(__clang__)
// GCC 12 sees uninitialised values in <regex> under the address sanitizer (GCC bug 105562). Remove when GCC 12 is
// tested no more.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <regex>
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

#include <array>

#include "field_case_audit.hpp"
#include "field_case_client_expect.hpp"
#include "field_case_words.hpp"

namespace field {

// Compares one case's expectations with its run.
class verdict {
 public:
  std::vector<std::string> failures;
  std::vector<std::string> notes;

  verdict(const json& expect, case_run& run) : expect_(expect), run_(run) {}

  void judge() {
    connections_ = audit(run_.all);
    judge_names();
    judge_refusals();
    if (run_.answers.empty() && !run_.tested_client) judge_without_answers();
    judge_client();
    for (const answer& a : run_.answers) judge_answer(a);
    if (const json* list = find("same_answer")) judge_same(*list);
    if (const json* list = find("owner_live")) judge_owner(*list);
    if (const json* limits = find("limits")) judge_limits(*limits);
    if (const json* wire = find("wire")) judge_wire(*wire);
    for (const std::string& f : run_.all.failures()) failures.push_back(f);
  }

  static void check_words(const json& expect) {
    if (!expect.is_object()) throw case_error("`expect` must be an object");
    check_keys(expect,
               "outcome by each replay then_live status missing same_answer owner_live limits wire missed delivered "
               "recovery cursors accept must_not why note",
               "expect");
    bool is_any = false;
    for (const char* key : {"outcome", "by", "each", "replay", "then_live", "status", "missing", "same_answer",
                            "owner_live", "limits", "wire", "missed", "delivered", "recovery", "cursors"}) {
      is_any = is_any || expect.contains(key);
    }
    if (!is_any) throw case_error("`expect` expects nothing that can be compared");
    if (expect.contains("outcome")) check_outcome(expect["outcome"]);
    if (expect.contains("each")) check_outcome(expect["each"]);
    if (!expect.contains("by")) return;
    if (!expect["by"].is_object()) throw case_error("`by` must be an object");
    for (const json& each : expect["by"]) check_outcome(each);
  }

 private:
  using names = std::vector<std::string>;

  const json* find(const char* key) const {
    const auto found = expect_.find(key);
    return found == expect_.end() ? nullptr : &*found;
  }
  void fail(const std::string& what) { failures.push_back(what); }
  static void check_outcome(const json& written) {
    constexpr std::string_view known =
        " continue reset gap reject bounded undecided refused ignore_headers client_backoff ";
    const bool is_known =
        written.is_string() && known.find(" " + written.get<std::string>() + " ") != std::string_view::npos;
    if (!is_known) throw case_error("unknown outcome " + written.dump());
  }

  // ---- Who is meant

  // The names of an answer, the most exact first.
  static names names_of(const answer& a) {
    names all{a.name, a.written_name, a.cursor_symbol};
    if (a.op == "resume_each") all.emplace_back("each");
    all.push_back(a.op);
    return all;
  }
  static const json* look_up(const json& map, const answer& a) {
    for (const std::string& name : names_of(a)) {
      const auto found = name.empty() ? map.end() : map.find(name);
      if (found != map.end()) return &*found;
    }
    return nullptr;
  }
  bool names_an_answer(const std::string& name) const {
    for (const answer& a : run_.answers) {
      const names all = names_of(a);
      if (std::find(all.begin(), all.end(), name) != all.end()) return true;
    }
    return false;
  }
  bool names_a_setup(const std::string& name) const {
    for (const setup_result& s : run_.setups) {
      if (s.op == name || s.name == name) return true;
    }
    return false;
  }
  bool names_the_client(const std::string& name) const {
    const bool is_own = run_.tested_client && !name.empty() && name == run_.tested_client->settings().name;
    return is_own || (run_.tested_client && name == "client");
  }

  bool names_beside(const std::string& name) const { return names_a_setup(name) || names_the_client(name); }

  // A name that stands for nothing would leave its expectation unchecked.
  void judge_names() {
    for (const char* key : {"by", "status", "replay", "then_live", "missing"}) {
      const json* map = find(key);
      if (map == nullptr || !map->is_object()) continue;
      for (auto each = map->begin(); each != map->end(); ++each) {
        const bool is_known = names_an_answer(each.key()) || (key == std::string("by") && names_beside(each.key()));
        if (!is_known) fail(std::string(key) + ": nothing in the case is named `" + each.key() + "`");
      }
    }
    for (const char* key : {"replay", "then_live", "missing", "status"}) {
      const bool is_list = find(key) != nullptr && !find(key)->is_object();
      const auto is_meant = [this](const answer& a) { return has_default_outcome(a); };
      if (is_list && std::none_of(run_.answers.begin(), run_.answers.end(), is_meant)) {
        fail(std::string(key) + ": the case asks nothing that it could be compared with");
      }
    }
  }

  std::string default_outcome() const { return find("outcome") ? find("outcome")->get<std::string>() : ""; }
  std::string expected_outcome(const answer& a) const {
    if (find("by") != nullptr) {
      if (const json* own = look_up(*find("by"), a)) return own->get<std::string>();
    }
    if (find("each") != nullptr && a.op == "resume_each") return find("each")->get<std::string>();
    const std::string all = default_outcome();
    return all == "bounded" || all == "refused" ? "" : all;
  }
  // A list without names is meant for those answers whose outcome is the case's.
  bool has_default_outcome(const answer& a) const {
    const std::string all = default_outcome();
    return all.empty() || all == "bounded" || all == "refused" || expected_outcome(a) == all;
  }
  // The expectation under `key` for an answer: its own in a map, else the list of all.
  const json* expected(const char* key, const answer& a) const {
    const json* written = find(key);
    if (written == nullptr) return nullptr;
    if (written->is_object()) return look_up(*written, a);
    return has_default_outcome(a) ? written : nullptr;
  }
  static names symbols_of(const json& written, const answer& a, const char* key) {
    return expand_symbols(as_texts(substitute(written, a.loop), std::string("`") + key + "`"));
  }

  // ---- Answers

  static std::string joined(const names& all) {
    std::string out = "[";
    for (std::size_t i = 0; i != all.size() && i != 20; ++i) out += (i == 0 ? "" : " ") + all[i];
    if (all.size() > 20) out += " ... " + all.back() + " (" + std::to_string(all.size()) + ")";
    return out + "]";
  }
  void compare(const std::string& what, const std::string& wanted, const std::string& got) {
    if (wanted != got) fail(what + ": expected " + wanted + ", got " + got);
  }
  static std::string detail_of(const answer& a) {
    std::string text = a.outcome + " " + (a.status == 0 ? "2xx" : std::to_string(a.status));
    if (a.decided) text += " (" + mr::describe(*a.decided) + ")";
    return text;
  }
  const audited_connection* audited(const answer& a) const {
    for (const audited_connection& c : connections_) {
      if (a.reads && c.of == a.reads) return &c;
    }
    return nullptr;
  }

  void judge_answer(const answer& a) {
    const std::string what = a.label();
    const std::string wanted = expected_outcome(a);
    if (wanted == "reject" && a.is_literal_issued && a.outcome != "reject") {
      notes.push_back("`" + what + "`: the edited cursor is an id that was issued; not judged");
      ++excluded_;
      if (excluded_ == run_.answers.size()) throw case_skip("every cursor of it is an id that was issued");
      return;
    }
    const audited_connection* c = audited(a);
    const bool is_gap_after_pause = wanted == "gap" && c != nullptr && c->of->was_paused && c->starts_with_gap;
    if (!wanted.empty() && wanted != a.outcome && !is_gap_after_pause) {
      fail("outcome of `" + what + "`: expected " + wanted + ", got " + detail_of(a));
    }
    if (const json* codes = expected("status", a)) judge_status(a, *codes);
    if (!a.decided) return;
    judge_delivery(a, c);
    const json* missing = expected("missing", a);
    if (missing != nullptr) {
      compare("missing of `" + what + "`", joined(symbols_of(*missing, a, "missing")), joined(a.missing));
    }
  }

  void judge_status(const answer& a, const json& written) {
    const json codes = written.is_array() ? written : json::array({written});
    bool is_allowed = false;
    for (const json& code : codes) {
      const auto value = as_number(code);
      if (!value) throw case_error("`status` must hold HTTP codes");
      const bool is_any_2xx = a.status == 0 && *value / 100 == 2;
      is_allowed = is_allowed || is_any_2xx || *value == static_cast<std::uint64_t>(a.status);
    }
    if (!is_allowed) fail("status of `" + a.label() + "`: expected " + codes.dump() + ", got " + detail_of(a));
  }

  static names symbols_in(const std::vector<delivered_event>& events, std::size_t from, std::size_t to) {
    names out;
    for (std::size_t i = from; i < to; ++i) out.push_back(events[i].symbol);
    return out;
  }

  // A list of `then_live` is meant for the last answer that the case's outcome is expected of; one with a variable for
  // each turn of its loop.
  const json* expected_live(const answer& a) const {
    const json* written = expected("then_live", a);
    if (written == nullptr || find("then_live")->is_object()) return written;
    if (written->dump().find('$') != std::string::npos) return written;
    const answer* last = nullptr;
    for (const answer& each : run_.answers) {
      if (each.decided && has_default_outcome(each)) last = &each;
    }
    return last == &a ? written : nullptr;
  }

  // `replay` and then `then_live` are one sequence. With `replay` alone, what came behind it must have been appended
  // after the resume began.
  void judge_delivery(const answer& a, const audited_connection* c) {
    const std::vector<delivered_event> none;
    const std::vector<delivered_event>& got = c == nullptr ? none : c->events;
    const json* replay = expected("replay", a);
    const json* live = expected_live(a);
    if (replay == nullptr && live == nullptr) return;
    names wanted = replay == nullptr ? names() : symbols_of(*replay, a, "replay");
    const names then = live == nullptr ? names() : symbols_of(*live, a, "then_live");
    std::size_t begin = 0, end = got.size();
    if (live == nullptr) {
      while (end > wanted.size() && got[end - 1].appended > a.began) --end;
    } else if (replay == nullptr) {
      while (begin + then.size() < end && got[begin].appended < a.attached) ++begin;
    }
    wanted.insert(wanted.end(), then.begin(), then.end());
    compare("delivery of `" + a.label() + "`", joined(wanted), joined(symbols_in(got, begin, end)));
    if (wanted.size() > 20 && wanted != symbols_in(got, begin, end)) fail("delivery of `" + a.label() + "` differs");
  }

  // ---- The client

  std::string expected_of_client() const {
    const json* by = find("by");
    for (const std::string& name : {run_.tested_client->settings().name, std::string("client")}) {
      if (by != nullptr && !name.empty() && by->contains(name)) return (*by)[name].get<std::string>();
    }
    const std::string all = default_outcome();
    return all == "bounded" || all == "refused" ? "" : all;
  }
  // Whether the case expects anything of a client but limits.
  bool expects_of_client() const {
    const auto is_there = [this](const char* key) { return find(key) != nullptr; };
    const std::array<const char*, 4> keys{"missed", "delivered", "recovery", "cursors"};
    return std::any_of(keys.begin(), keys.end(), is_there) ||
           (run_.tested_client ? !expected_of_client().empty() : default_outcome() == "client_backoff");
  }

  void judge_client() {
    if (!run_.tested_client) {
      if (expects_of_client()) fail("the case has no client");
      return;
    }
    client_verdict client(*run_.tested_client, run_.all, failures, notes);
    const std::string wanted = expected_of_client();
    if (!wanted.empty()) client.judge_outcome(wanted);
    if (const json* missed = find("missed")) client.judge_missed(*missed);
    if (const json* delivered = find("delivered")) client.judge_delivered(*delivered);
    if (const json* recovery = find("recovery")) client.judge_recovery(*recovery);
    if (const json* cursors = find("cursors")) client.judge_cursors(*cursors);
    if (const json* never = find("must_not")) {
      for (const std::string& text : as_texts(*never, "`must_not`")) client.judge_must_not(text);
    }
  }

  // ---- Cases without an answer, refusals

  // The outcome of a case that only opens streams is that of their connections.
  void judge_without_answers() {
    const std::string wanted = default_outcome();
    if (wanted.empty() || wanted == "bounded" || wanted == "refused") return;
    if (wanted != "continue") return fail("outcome " + wanted + ": the case asks nothing");
    if (connections_.empty()) fail("outcome continue: the case opens nothing");
    for (const audited_connection& c : connections_) {
      const bool is_ended = c.of->state == mr::read_state::gone || c.of->state == mr::read_state::superseded;
      if (is_ended) fail("outcome continue: a connection was closed as " + std::string(mr::to_string(c.of->state)));
    }
  }

  // `try_ids` must be refused, all of them, unless the case says otherwise; of other calls of the set-up that `by` or
  // the outcome calls refused, at least one.
  void judge_refusals() {
    const json* by = find("by");
    for (const setup_result& s : run_.setups) {
      if (s.op != "try_ids") continue;
      const bool is_named = by != nullptr && (by->contains("try_ids") || by->contains(s.name));
      const json wanted = !is_named ? json("refused") : by->contains("try_ids") ? (*by)["try_ids"] : (*by)[s.name];
      if (wanted != (s.is_refused ? "refused" : "continue")) {
        fail("session id " + s.detail + ": expected " + wanted.dump() + ", got " + (s.is_refused ? "refused" : "made"));
      }
    }
    if (default_outcome() == "refused" && !is_any_refused("")) fail("outcome refused: nothing was refused");
    if (by == nullptr) return;
    for (auto each = by->begin(); each != by->end(); ++each) {
      const bool is_asked = names_an_answer(each.key()) || names_the_client(each.key());
      if (each.key() == "try_ids" || is_asked || !names_a_setup(each.key())) continue;
      const bool is_refused = is_any_refused(each.key());
      compare("`" + each.key() + "`", each->get<std::string>(), is_refused ? "refused" : "continue");
    }
  }
  bool is_any_refused(const std::string& name) const {
    const auto is_refused = [&name](const setup_result& s) {
      return s.is_refused && (name.empty() || s.op == name || s.name == name);
    };
    return std::any_of(run_.setups.begin(), run_.setups.end(), is_refused);
  }

  // ---- Answers beside each other

  static std::string whole_answer(const answer& a) {
    std::string text = std::to_string(a.status) + "\n";
    for (const mr::header& h : mr::headers_for(a.status)) {
      text += std::string(h.name) + ": " + std::string(h.value) + "\n";
    }
    return text + "\n" + (a.reads ? a.reads->bytes : "");
  }

  void judge_same(const json& written) {
    const bool is_list_of_lists = written.is_array() && !written.empty() && written[0].is_array();
    if (is_list_of_lists) {
      for (const json& each : written) judge_same(each);
      return;
    }
    const names wanted = as_texts(written, "`same_answer`");
    const answer* first = nullptr;
    std::size_t compared = 0;
    for (const std::string& name : wanted) {
      const std::size_t before = compared;
      for (const answer& a : run_.answers) {
        const names own = names_of(a);
        if (std::find(own.begin(), own.end(), name) == own.end()) continue;
        if (first == nullptr) first = &a;
        ++compared;
        if (whole_answer(a) != whole_answer(*first)) {
          fail("same_answer: `" + a.label() + "` differs from `" + first->label() + "`: " + detail_of(a) + " and " +
               detail_of(*first));
        }
      }
      if (compared == before) fail("same_answer: nothing in the case is named `" + name + "`");
    }
    if (compared < 2) fail("same_answer: fewer than two answers");
  }

  // What the connections that the set-up opened get from the first request under test on.
  void judge_owner(const json& written) {
    if (run_.answers.empty()) return fail("owner_live: the case asks nothing");
    const std::uint64_t from = run_.answers.front().began;
    const auto judge_one = [&](const json& symbols, const std::string& session) {
      std::vector<delivered_event> got;
      for (const audited_connection& c : connections_) {
        const bool is_open = !c.of->is_under_test && c.of->opened < from && (c.of->lost == 0 || c.of->lost > from);
        if (!is_open || !is_of(c, session)) continue;
        for (const delivered_event& e : c.events) {
          if (e.read > from) got.push_back(e);
        }
      }
      std::sort(got.begin(), got.end(), [](const auto& x, const auto& y) { return x.appended < y.appended; });
      const names wanted = expand_symbols(as_texts(symbols, "`owner_live`"));
      compare("owner_live", joined(wanted), joined(symbols_in(got, 0, got.size())));
    };
    if (!written.is_object()) return judge_one(written, "");
    for (auto each = written.begin(); each != written.end(); ++each) judge_one(*each, each.key());
  }
  // Without a session: of any session that the case asks for.
  bool is_of(const audited_connection& c, const std::string& session) const {
    if (!session.empty()) return c.of->session == session;
    const auto is_asked = [&c](const answer& a) { return a.session == c.of->session; };
    return std::any_of(run_.answers.begin(), run_.answers.end(), is_asked);
  }

  // ---- Limits and wire

  static std::optional<std::uint64_t> count_of(const mr::inspection& counts, const std::string& limit) {
    if (limit == "stored_events") return counts.events;
    if (limit == "stored_bytes") return counts.bytes;
    if (limit == "stream_records") return counts.streams;
    // The only index is that of the sessions: an event is found by its number.
    if (limit == "session_records" || limit == "index_entries") return counts.sessions;
    return std::nullopt;
  }

  void judge_limits(const json& limits) {
    if (!limits.is_object()) throw case_error("`limits` must be an object");
    if (run_.measures.empty()) run_.measures.push_back({run_.all.live_table().inspect()});
    bool is_any_measured = false;
    for (auto each = limits.begin(); each != limits.end(); ++each) {
      if (client_verdict::is_limit(each.key())) {
        is_any_measured = true;
        judge_client_limit(each.key(), *each);
        continue;
      }
      if (!count_of({}, each.key())) {
        notes.push_back("limit " + each.key() + ": not measured");
        continue;
      }
      is_any_measured = true;
      const auto most = as_number(*each);
      if (!most) throw case_error("limit " + each.key() + " must be a whole number");
      for (const measured& m : run_.measures) {
        const std::uint64_t got = *count_of(m.counts, each.key());
        if (got > *most)
          fail("limit " + each.key() + ": at most " + std::to_string(*most) + ", got " + std::to_string(got));
      }
    }
    const bool is_client_judged = run_.tested_client && expects_of_client();
    if (!is_any_measured && run_.answers.empty() && !is_client_judged) {
      throw case_skip("none of its limits can be measured");
    }
  }
  void judge_client_limit(const std::string& name, const json& bound) {
    if (!run_.tested_client) return fail("limit " + name + ": the case has no client");
    client_verdict(*run_.tested_client, run_.all, failures, notes).judge_limit(name, bound);
  }

  void judge_wire(const json& wire) {
    check_keys(wire, "id_regex data_lines events empty_data_frames first_frame", "wire");
    if (!run_.has_check_wire) run_.check_wire_at_end();
    std::vector<sse_block> blocks;
    for (const audited_connection& c : connections_) {
      if (std::find(run_.wires.begin(), run_.wires.end(), c.of) == run_.wires.end()) continue;
      blocks.insert(blocks.end(), c.frames.blocks.begin(), c.frames.blocks.end());
    }
    if (blocks.empty()) return fail("wire: there are no frames");
    const arguments a(wire);
    std::vector<std::string> lines;
    std::uint64_t events = 0, empty = 0;
    for (const sse_block& b : blocks) {
      if (b.has_empty_data()) ++empty;
      if (b.kind() != block_kind::event) continue;
      ++events;
      lines.insert(lines.end(), b.data_lines.begin(), b.data_lines.end());
    }
    if (a.has("id_regex")) judge_ids(blocks, a.text("id_regex"));
    if (a.has("data_lines")) compare("wire data_lines", joined(a.texts("data_lines")), joined(lines));
    if (a.has("events")) compare("wire events", std::to_string(a.number("events")), std::to_string(events));
    if (a.has("empty_data_frames")) {
      compare("wire empty_data_frames", std::to_string(a.number("empty_data_frames")), std::to_string(empty));
    }
    if (a.has("first_frame")) compare("wire first_frame", a.text("first_frame"), first_frame(blocks));
  }

  // The marker does not count.
  std::string first_frame(const std::vector<sse_block>& blocks) const {
    for (const sse_block& b : blocks) {
      if (b.kind() == block_kind::gap) return "gap";
      if (b.kind() == block_kind::reset) return "reset";
      if (b.kind() != block_kind::event) continue;
      const auto id = mr::event_id::parse(*b.id);
      const issued_event* issued = id ? run_.all.find_event(*id) : nullptr;
      return issued == nullptr ? *b.id : issued->symbol;
    }
    return "none";
  }

  void judge_ids(const std::vector<sse_block>& blocks, const std::string& pattern) {
    try {
      const std::regex wanted(pattern);
      bool is_any = false;
      for (const sse_block& b : blocks) {
        if (!b.id) continue;
        is_any = true;
        if (!std::regex_match(*b.id, wanted)) fail("wire id_regex: expected " + pattern + ", got " + *b.id);
      }
      if (!is_any) fail("wire id_regex: there are no ids");
    } catch (const std::regex_error& e) {
      throw case_error(std::string("`id_regex` is no regular expression: ") + e.what());
    }
  }

  const json& expect_;
  case_run& run_;
  std::vector<audited_connection> connections_;
  std::size_t excluded_ = 0;
};

}  // namespace field
