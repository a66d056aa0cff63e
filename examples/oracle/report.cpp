// SPDX-License-Identifier: MIT
// A report as text, TAP, JUnit XML and JSON. See report_html.cpp for the page.
#include "report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string_view>

#include "report_html.hpp"
#include "report_text.hpp"

namespace oracle {
namespace {

std::size_t count_of(const report& made, entry_status status) {
  const auto is_meant = [status](const entry& e) { return e.status == status; };
  return static_cast<std::size_t>(std::count_if(made.entries.begin(), made.entries.end(), is_meant));
}

// ---- Text -----------------------------------------------------------------------------------------------------------

std::string padded(const std::string& text, std::size_t columns) {
  const std::size_t has = columns_of(text);
  return has < columns ? text + std::string(columns - has, ' ') : text;
}

// The widest of a column, or the most that is padded to: one long name shall not move all others.
template <class TextOf>
std::size_t width_of(const report& made, std::size_t most, TextOf text_of) {
  std::size_t width = 0;
  for (const entry& e : made.entries) {
    const std::size_t columns = columns_of(printable(text_of(e)));
    if (columns <= most) width = std::max(width, columns);
  }
  return width;
}

void append_line(std::string& out, std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  out += line + "\n";
}

std::string format_text(const report& made) {
  const std::size_t verdict = width_of(made, 20, verdict_of);
  const std::size_t name = width_of(made, 60, [](const entry& e) { return e.name; });
  const std::size_t place = width_of(made, 40, [](const entry& e) { return e.place; });
  const bool has_places =
      std::any_of(made.entries.begin(), made.entries.end(), [](const entry& e) { return !e.place.empty(); });
  std::string out;
  if (!made.title.empty()) append_line(out, printable(made.title));
  for (const entry& e : made.entries) {
    const bool is_finding = e.status == entry_status::finding;
    std::string line = padded(printable(verdict_of(e)), verdict) + "  " + padded(printable(e.name), name);
    if (has_places) line += "  " + padded(printable(e.place), place);
    if (!is_finding) line += "  " + printable(e.saw);
    append_line(out, line);
    if (!is_finding) continue;
    if (!e.saw.empty()) append_line(out, "    saw:    " + printable(e.saw));
    if (!e.advice.empty()) append_line(out, "    advice: " + printable(e.advice));
  }
  return out + made.counts() + "\n";
}

// ---- TAP ------------------------------------------------------------------------------------------------------------

// `#` begins a directive, and TAP 14 takes a backslash before either as an escape.
std::string tap_text(const std::string& bytes) {
  std::string out;
  for (const char c : printable(bytes)) {
    if (c == '#' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

// A scalar of JSON is one of YAML.
void append_yaml(std::string& out, const char* key, const std::string& value) {
  if (!value.empty())
    fmt::format_to(std::back_inserter(out), "  {}: {}\n", key, nlohmann::json(printable(value)).dump());
}

// Says version 13, which readers of 14 take too; nothing of 14 is used.
std::string format_tap(const report& made) {
  std::string out = "TAP version 13\n";
  fmt::format_to(std::back_inserter(out), "1..{}\n", made.entries.size());
  if (!made.title.empty()) out += "# " + printable(made.title) + "\n";
  std::size_t number = 0;
  for (const entry& e : made.entries) {
    const bool is_finding = e.status == entry_status::finding;
    fmt::format_to(std::back_inserter(out), "{} {} - {}", is_finding ? "not ok" : "ok", ++number, tap_text(e.name));
    if (e.status == entry_status::skipped) out += " # SKIP" + (e.saw.empty() ? "" : " " + tap_text(e.saw));
    out += "\n";
    if (!is_finding) continue;
    out += "  ---\n";
    append_yaml(out, "verdict", verdict_of(e));
    append_yaml(out, "place", e.place);
    append_yaml(out, "saw", e.saw);
    append_yaml(out, "advice", e.advice);
    out += "  ...\n";
  }
  return out + "# " + made.counts() + "\n";
}

// ---- JUnit ----------------------------------------------------------------------------------------------------------

// No attribute beside those of Jenkins' junit-10.xsd, whose reader refuses a file for one that it does not know.
void append_testcase(std::string& out, const report& made, const entry& e) {
  fmt::format_to(std::back_inserter(out), "    <testcase classname=\"{}\" name=\"{}\" time=\"0\"", xml_text(made.title),
                 xml_text(e.name));
  if (e.status == entry_status::ok) {
    out += "/>\n";
  } else if (e.status == entry_status::skipped) {
    fmt::format_to(std::back_inserter(out), "><skipped message=\"{}\"/></testcase>\n", xml_text(e.saw));
  } else {
    std::string body;
    for (const std::string& text : {e.place, e.saw, e.advice}) body += text.empty() ? "" : text + "\n";
    fmt::format_to(std::back_inserter(out),
                   ">\n      <failure type=\"{0}\" message=\"{0}: {1}\">{2}</failure>\n    </testcase>\n",
                   xml_text(verdict_of(e)), xml_text(e.saw), xml_text(body));
  }
}

std::string format_junit(const report& made) {
  const std::size_t failures = count_of(made, entry_status::finding);
  const std::string title = xml_text(made.title);
  std::string out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
  fmt::format_to(std::back_inserter(out),
                 "<testsuites name=\"{0}\" tests=\"{1}\" failures=\"{2}\" errors=\"0\" time=\"0\">\n"
                 "  <testsuite name=\"{0}\" tests=\"{1}\" failures=\"{2}\" errors=\"0\" skipped=\"{3}\" time=\"0\">\n",
                 title, made.entries.size(), failures, count_of(made, entry_status::skipped));
  for (const entry& e : made.entries) append_testcase(out, made, e);
  return out + "  </testsuite>\n</testsuites>\n";
}

// ---- JSON -----------------------------------------------------------------------------------------------------------

std::string_view name_of(entry_status status) {
  return status == entry_status::ok ? "ok" : status == entry_status::finding ? "finding" : "skipped";
}

// Version 1. Within it members are added at most: none goes, changes its type or means something else.
std::string format_json(const report& made) {
  nlohmann::ordered_json out;
  out["version"] = 1;
  out["title"] = made.title;
  out["counts"] = {{"ok", count_of(made, entry_status::ok)},
                   {"findings", count_of(made, entry_status::finding)},
                   {"skipped", count_of(made, entry_status::skipped)}};
  out["entries"] = nlohmann::ordered_json::array();
  for (const entry& e : made.entries) {
    out["entries"].push_back({{"name", e.name},
                              {"status", name_of(e.status)},
                              {"verdict", verdict_of(e)},
                              {"place", e.place},
                              {"saw", e.saw},
                              {"advice", e.advice}});
  }
  return out.dump(2, ' ', true, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string verdict_of(const entry& e) {
  if (e.status == entry_status::skipped) return "skipped";
  if (!e.verdict.empty()) return e.verdict;
  return e.status == entry_status::ok ? "ok" : "FINDING";
}

std::string report::counts() const {
  const std::size_t findings = count_of(*this, entry_status::finding);
  return fmt::format("{} ok, {} finding{}, {} skipped", count_of(*this, entry_status::ok), findings,
                     findings == 1 ? "" : "s", count_of(*this, entry_status::skipped));
}

bool report::has_findings() const { return count_of(*this, entry_status::finding) != 0; }

std::string format_report(const report& made, report_format format) {
  switch (format) {
    case report_format::tap:
      return format_tap(made);
    case report_format::junit:
      return format_junit(made);
    case report_format::json:
      return format_json(made);
    case report_format::html:
      return format_html(made);
    default:
      return format_text(made);
  }
}

}  // namespace oracle
