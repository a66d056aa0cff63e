// SPDX-License-Identifier: MIT
// Promise: any bytes as the texts of a request meet the row that the words of the table give them, in every form of the
// question, and asking changes nothing. An input is five lines, then a history (history_input.hpp): the request's
// version, session id, cursor and principal, and the principal that owns the first session. It is asked after every
// step; the history goes on, and ends as the model's does, which nobody has asked.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "../history.hpp"
#include "../model.hpp"
#include "history_input.hpp"
#include "input.hpp"
#include "mcp_resume/resume.hpp"

namespace {

using fuzz::require;
using mcp_resume::reason;

struct asked_lines {
  std::string_view version, session_id, cursor, principal, owner;
};

// In a cursor `\s` stands for the tags of the first session, `\i` for those of another life of its log.
fuzz::words words_for(const model::world& seen) {
  mcp_resume::tags owner{0x5f0c2d9a1b3e4c77U, 0x9f8e7d6c5b4a3921U};
  if (const model::session* s = seen.find(histories::session_ids[0])) owner = s->owner;
  const auto tags_of = [](mcp_resume::tags of) {
    char text[40];
    std::snprintf(text, sizeof text, "%016llx.%016llx.", static_cast<unsigned long long>(of.session),
                  static_cast<unsigned long long>(of.incarnation));
    return std::string(text);
  };
  return {{'s', tags_of(owner)}, {'i', tags_of({owner.session, owner.incarnation ^ 1U})}};
}

// What the design's table says of each row, apart from the code's.
struct row {
  const char* outcome;
  int http_status;
  const char* advice;
};
constexpr row rows[] = {{"reject", 400, "stop"},        {"reject", 405, "stop"},         {"reset", 400, "reinitialize"},
                        {"reset", 404, "reinitialize"}, {"reject", 404, "reinitialize"}, {"reject", 409, "retry"},
                        {"continue", 200, "none"},      {"reject", 400, "resubscribe"},  {"reject", 409, "resubscribe"},
                        {"reset", 200, "resync"},       {"reset", 410, "resync"},        {"reject", 409, "resubscribe"},
                        {"gap", 410, "resync"},         {"gap", 200, "resync"},          {"continue", 204, "none"},
                        {"continue", 200, "none"},      {"continue", 200, "none"}};

void check_row(const mcp_resume::resolution& made) {
  const row& expected = rows[static_cast<std::size_t>(made.reason)];
  const bool is_same = to_string(made.outcome()) == expected.outcome && made.http_status() == expected.http_status &&
                       to_string(made.advice()) == expected.advice;
  require(is_same, "each row has its outcome and status and advice", to_string(made));
}

// describe() goes to a log: one line, which says a cursor's numbers only where the cursor is of this session.
void check_description(const mcp_resume::resolution& made) {
  const std::string said = describe(made);
  for (const char c : said) require(c >= ' ' && c <= '~', "a description is one line of ASCII", said);
  mcp_resume::resolution without = made;
  without.cursor = {};
  const bool is_foreign = made.reason < reason::stale_incarnation && made.reason != reason::fresh;
  require(!is_foreign || describe(without) == said, "a description never repeats foreign numbers", said);
}

bool is_same(const mcp_resume::resolution& a, const mcp_resume::resolution& b) {
  return a.reason == b.reason && a.cursor == b.cursor && a.window == b.window && a.missed == b.missed &&
         a.no_longer_held == b.no_longer_held && a.stream.owner == b.stream.owner &&
         a.stream.stream == b.stream.stream && a.resume_after == b.resume_after;
}

void check_other_forms(const histories::table_subject&, const mcp_resume::request&, const mcp_resume::resolution&,
                       mcp_resume::protocol_set) {}

// The form for logs that live elsewhere, fed from a session in hand.
void check_other_forms(const histories::sessions_subject& library, const mcp_resume::request& asked,
                       const mcp_resume::resolution& made, mcp_resume::protocol_set supported) {
  const mcp_resume::session* named = nullptr;
  for (const std::string& id : histories::session_ids) {
    if (asked.session_id.view() == id) named = &library.with(id);
  }
  const std::optional<mcp_resume::session_facts> known =
      named == nullptr ? std::nullopt : std::optional(named->facts());
  int calls = 0;
  const auto facts_of = [&](std::uint32_t stream) {
    ++calls;
    return named->facts_of(stream);
  };
  const auto again = resolve_resume(asked, known ? &*known : nullptr, facts_of, supported);
  require(is_same(again, made), "the facts alone give the same decision", to_string(again));
  require(calls <= (made.reason < reason::occupied ? 0 : 1), "a stream is looked at once, and only where it counts");
}

template <class Subject>
void check(const asked_lines& lines, const histories::history& steps) {
  histories::tally seen;
  histories::trial<Subject> tried(steps, histories::promise::all, seen, fuzz::unescaped(lines.owner));
  const auto ask = [&] {
    const fuzz::words known = words_for(tried.reference());
    const model::asked text{fuzz::unescaped(lines.version), fuzz::unescaped(lines.session_id),
                            fuzz::unescaped(lines.cursor, known), fuzz::unescaped(lines.principal)};
    const fuzz::exact_copy version(text.version), id(text.session_id), cursor(text.cursor), principal(text.principal);
    const mcp_resume::request view{version.view(), id.view(), cursor.view(), principal.view()};
    const mcp_resume::resolution made = tried.ask(text, view);
    check_row(made);
    check_description(made);
    check_other_forms(tried.library(), view, made, tried.reference().bounds().supported);
  };
  fuzz::require_nothing(tried.run(ask), steps);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  std::vector<std::string_view> lines = fuzz::lines_of(fuzz::text_of(bytes, size));
  if (lines.size() < 5) return 0;
  const asked_lines asked{lines[0], lines[1], lines[2], lines[3], lines[4]};
  histories::history steps;
  for (std::size_t i = 5; i != lines.size(); ++i) {
    if (!lines[i].empty()) steps.push_back(fuzz::step_of(lines[i]));
  }
  check<histories::table_subject>(asked, steps);
  check<histories::sessions_subject>(asked, steps);
  return 0;
}
