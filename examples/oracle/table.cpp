// SPDX-License-Identifier: MIT
// `table`: the decision table of the library as it decides, and every combination of facts with its reason.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "commands.hpp"
#include "facts.hpp"
#include "text.hpp"

namespace oracle {
namespace {

namespace mr = mcp_resume;
using nlohmann::json;

// ---- The rows -------------------------------------------------------------------------------------------------------

std::size_t number_of(mr::reason why) { return static_cast<std::size_t>(why) + 1; }

json json_of(const mr::decision_row& row) {
  return {{"row", number_of(row.reason)},          {"fact", row.fact},          {"reason", row.name},
          {"outcome", mr::to_string(row.outcome)}, {"status", row.http_status}, {"advice", mr::to_string(row.advice)}};
}

std::string rows_as_markdown() {
  std::string out = "| # | fact | reason | outcome | HTTP | advice |\n|--:|---|---|---|--:|---|\n";
  for (const mr::decision_row& row : mr::decision_table) {
    out += fmt::format("| {} | {} | `{}` | {} | {} | {} |\n", number_of(row.reason), row.fact, row.name,
                       mr::to_string(row.outcome), row.http_status, mr::to_string(row.advice));
  }
  return out;
}

std::string rows_as_text() {
  std::string out = fmt::format("{:>2}  {:20}  {:8}  {:4}  {:12}  {}\n", "#", "reason", "outcome", "HTTP", "advice",
                                "fact; the first one that fits decides");
  for (const mr::decision_row& row : mr::decision_table) {
    out += fmt::format("{:>2}  {:20}  {:8}  {:4}  {:12}  {}\n", number_of(row.reason), row.name,
                       mr::to_string(row.outcome), row.http_status, mr::to_string(row.advice), row.fact);
  }
  return out;
}

std::string rows_as_json() {
  json rows = json::array();
  for (const mr::decision_row& row : mr::decision_table) rows.push_back(json_of(row));
  return rows.dump(2) + "\n";
}

// ---- Every combination of facts -------------------------------------------------------------------------------------

template <class Call>
void for_each_combination(Call call) {
  mr::facts f;
  const auto each_place = [&](mr::place_fact place) {
    f.place = place;
    call(std::as_const(f));
  };
  const auto each_stream = [&](mr::stream_fact stream) {
    f.stream = stream;
    for_each_fact<mr::place_fact>(each_place);
  };
  const auto each_reader = [&](mr::reader_fact reader) {
    f.standalone = reader;
    for_each_fact<mr::stream_fact>(each_stream);
  };
  const auto each_cursor = [&](mr::cursor_fact cursor) {
    f.cursor = cursor;
    for_each_fact<mr::reader_fact>(each_reader);
  };
  const auto each_session = [&](mr::session_fact session) {
    f.session = session;
    for_each_fact<mr::cursor_fact>(each_cursor);
  };
  for_each_fact<mr::version_fact>([&](mr::version_fact version) {
    f.version = version;
    for_each_fact<mr::session_fact>(each_session);
  });
}

std::string line_as_text(const mr::facts& f) {
  const mr::decision_row& row = mr::row_of(mr::decide(f));
  return fmt::format("{:11}  {:20}  {:16}  {:10}  {:12}  {:7}  {:>3}  {:20}  {:8}  {}\n", word_of(f.version),
                     word_of(f.session), word_of(f.cursor), word_of(f.standalone), word_of(f.stream), word_of(f.place),
                     number_of(row.reason), row.name, mr::to_string(row.outcome), row.http_status);
}

std::string line_as_json(const mr::facts& f) {
  const json facts = {{"version", word_of(f.version)}, {"session", word_of(f.session)},
                      {"cursor", word_of(f.cursor)},   {"standalone_reader", word_of(f.standalone)},
                      {"stream", word_of(f.stream)},   {"place", word_of(f.place)}};
  json line = json_of(mr::row_of(mr::decide(f)));
  line.erase("fact");
  line["facts"] = facts;
  return line.dump() + "\n";
}

std::string combinations(bool as_json) {
  std::size_t count = 0;
  std::string lines;
  for_each_combination([&](const mr::facts& f) {
    ++count;
    lines += as_json ? line_as_json(f) : line_as_text(f);
  });
  if (as_json) return json{{"combinations", count}}.dump() + "\n" + lines;
  return fmt::format("{} combinations of facts; one that an earlier rule makes irrelevant may have any value\n",
                     count) +
         fmt::format("{:11}  {:20}  {:16}  {:10}  {:12}  {:7}  {:>3}  {:20}  {:8}  {}\n", "version", "session",
                     "cursor", "reader", "stream", "place", "row", "reason", "outcome", "HTTP") +
         lines;
}

// ---- The command ----------------------------------------------------------------------------------------------------

std::string table(const std::string& format, bool is_all) {
  if (is_all && format == "markdown") throw input_error("--format markdown", "has no --all; use text or json");
  if (is_all) return combinations(format == "json");
  if (format == "markdown") return rows_as_markdown();
  return format == "json" ? rows_as_json() : rows_as_text();
}

}  // namespace

void add_table(CLI::App& program, int& status) {
  struct options {
    std::string format = "text";
    bool is_all = false;
  };
  const auto asked = std::make_shared<options>();
  CLI::App* command =
      program.add_subcommand("table",
                             "Prints the decision table: what a GET with these facts is to be answered.\n"
                             "Example: mcp-resume-oracle table --format markdown\n"
                             "Exit status: 0 printed, 2 wrong usage.");
  command->add_option("--format", asked->format, "text, markdown or json")
      ->check(CLI::IsMember({"text", "markdown", "json"}))
      ->capture_default_str();
  command->add_flag("--all", asked->is_all,
                    "every combination of facts instead, each with its reason: text, or JSON lines; the first line "
                    "says how many they are");
  command->callback([asked, &status] {
    print_all(table(asked->format, asked->is_all));
    status = 0;
  });
}

}  // namespace oracle
