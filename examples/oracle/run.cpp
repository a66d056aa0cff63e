// SPDX-License-Identifier: MIT
// run FILE...: field cases against the library, by the code of tests/field_cases.cpp; counts and exit status are its.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "commands.hpp"
#include "input_error.hpp"
#include "report.hpp"
#include "report_text.hpp"
#include "run_timeline.hpp"
#include "text.hpp"

namespace oracle {
namespace {

constexpr std::size_t most_timelines = 40;  // of failed cases; each is one more run

struct asked {
  std::vector<std::string> files;
  std::string format = "text";
};

constexpr std::array<std::pair<const char*, report_format>, 5> formats{{{"text", report_format::text},
                                                                        {"tap", report_format::tap},
                                                                        {"junit", report_format::junit},
                                                                        {"json", report_format::json},
                                                                        {"html", report_format::html}}};

report_format format_of(const std::string& name) {
  const auto is_meant = [&name](const auto& each) { return each.first == name; };
  return std::find_if(formats.begin(), formats.end(), is_meant)->second;
}

std::string joined(const std::vector<std::string>& texts) {
  std::string out;
  for (const std::string& text : texts) out += (out.empty() ? "" : "; ") + text;
  return out;
}

std::string text_of(const field::json& one, const char* key) {
  const bool has = one.is_object() && one.contains(key) && one[key].is_string();
  return has ? one[key].get<std::string>() : std::string();
}

// ---- Cases ----------------------------------------------------------------------------------------------------------

// Runs files, one entry for each case. What is no case at all is an input error too, as it is for field_cases; the
// other lines are run nevertheless.
class case_files {
 public:
  report made;
  std::vector<input_error> errors;

  explicit case_files(bool needs_timelines) : needs_timelines_(needs_timelines) {}

  void run(const std::string& name) {
    std::ifstream in(name, std::ios::binary);
    if (!in) return complain(name, "cannot be opened");
    std::set<std::string> ids;
    std::string line;
    std::size_t number = 0, cases = 0;
    using field::read_line_result;
    read_line_result got = read_line_result::line;
    while ((got = field::read_line(in, line)) == read_line_result::line) {
      ++number;
      if (line.find_first_not_of(" \t\r\xEF\xBB\xBF") == std::string::npos) continue;
      ++cases;
      run_line(line, name + ":" + std::to_string(number), ids);
      show_progress();
    }
    if (got == read_line_result::too_long) complain(name + ":" + std::to_string(number + 1), "longer than 16 MiB");
    if (in.bad()) return complain(name, "cannot be read");
    if (cases == 0 && got == read_line_result::end) complain(name, "holds no case");
  }

 private:
  void complain(const std::string& place, const std::string& complaint) {
    errors.emplace_back(printable(place), printable(complaint));
  }

  void run_line(const std::string& line, const std::string& place, std::set<std::string>& ids) {
    field::json one;
    try {
      one = field::parse_line(line);
    } catch (const field::input_error& e) {
      made.entries.push_back({"?", entry_status::finding, "NO CASE", place, e.what(), "Correct the line."});
      return complain(place, e.what());
    }
    field::case_report judged = field::run_case(one);
    if (judged.id != "?" && !ids.insert(judged.id).second) {
      judged.result = field::result::failed;
      judged.reasons.insert(judged.reasons.begin(), "this id stands twice in the file");
    }
    add(judged, one, place);
  }

  void add(const field::case_report& judged, const field::json& one, const std::string& place) {
    const std::string kind = text_of(one, "class");
    entry e;
    e.name = judged.id + (kind.empty() ? "" : " " + kind);
    e.place = place;
    e.saw = joined(judged.reasons);
    for (const std::string& note : judged.notes) e.saw += (e.saw.empty() ? "note: " : "; note: ") + note;
    if (judged.result == field::result::skipped) e.status = entry_status::skipped;
    if (judged.result == field::result::failed) {
      e.status = entry_status::finding;
      e.verdict = "FAIL";
      if (one.is_object() && one.contains("expect")) e.advice = text_of(one["expect"], "why");
      const bool has_steps = one.is_object() && one.contains("steps") && one["steps"].is_array();
      const bool is_wanted = needs_timelines_ && made.timelines.size() < most_timelines;
      if (has_steps && is_wanted) made.timelines.push_back(case_timeline(one, judged).take());
    }
    made.entries.push_back(e);
  }

  void show_progress() const {
    if (is_terminal_ && made.entries.size() % 50 == 0) fmt::print(stderr, "\r{} cases\r", made.entries.size());
  }

  bool needs_timelines_;
  bool is_terminal_ = isatty(2) != 0;
};

int run_files(const asked& what) {
  case_files all(what.format == "html");
  all.made.title = "run";
  for (const std::string& name : what.files) {
    all.made.title += " " + name;
    all.run(name);
  }
  print_all(format_report(all.made, format_of(what.format)));
  if (all.errors.empty()) return all.made.has_findings() ? 1 : 0;
  for (std::size_t i = 0; i + 1 < all.errors.size(); ++i)
    fmt::print(stderr, "mcp-resume-oracle: {}\n", all.errors[i].what());
  throw input_error(all.errors.back());
}

}  // namespace

void add_run(CLI::App& program, int& status) {
  auto* const command = program.add_subcommand("run", "Runs field cases against the library.");
  auto what = std::make_shared<asked>();
  std::vector<std::string> names;
  names.reserve(formats.size());
  for (const auto& each : formats) names.emplace_back(each.first);
  command->add_option("FILE", what->files, "field cases, one JSON object in each line")->required();
  command->add_option("--format", what->format, "text, tap, junit, json or html")
      ->check(CLI::IsMember(names))
      ->capture_default_str();
  command->footer(
      "Exit status: 0 every case passed or was skipped, 1 a case failed, 2 wrong usage or a line that is no case.\n"
      "Example: mcp-resume-oracle run tests/cases/field.jsonl --format junit > cases.xml");
  command->callback([what, &status] { status = run_files(*what); });
}

}  // namespace oracle
