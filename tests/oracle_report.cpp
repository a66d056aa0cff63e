// SPDX-License-Identifier: MIT
// Promise: whatever bytes a server sent, each format of a report is whole: readers of TAP, XML, JSON and HTML take it, a
// terminal obeys nothing in it, and its timelines show each mark, window and cursor where it was.
#include "report.hpp"

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

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "catch.hpp"
#include "randomness.hpp"
#include "report_text.hpp"

namespace {

using nlohmann::json;
using oracle::entry_status;
using oracle::mark_kind;
using oracle::report_format;

constexpr report_format all_formats[] = {report_format::text, report_format::tap, report_format::junit,
                                         report_format::json, report_format::html};

// ---- Readers --------------------------------------------------------------------------------------------------------

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++count;
  return count;
}
bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::vector<std::smatch> matches_of(const std::string& text, const std::string& pattern) {
  const std::regex compiled(pattern);
  return {std::sregex_iterator(text.begin(), text.end(), compiled), std::sregex_iterator()};
}
std::vector<std::smatch> matches_of(std::string&&, const std::string&) = delete;  // a match points into its text

bool is_utf8(const std::string& text) {
  try {
    (void)json(text).dump();  // throws at the first byte that is none
    return true;
  } catch (const json::exception&) {
    return false;
  }
}

// Neither bytes that a terminal obeys, but for line ends, nor what turns the direction of a line.
bool is_harmless(const std::string& text) {
  const auto is_control = [](unsigned char c) { return (c < 0x20U && c != '\n') || c == 0x7FU; };
  if (std::any_of(text.begin(), text.end(), is_control)) return false;
  for (std::size_t i = 0; i + 1 < text.size(); ++i) {  // U+0080 to U+009F
    if (text[i] == '\xC2' && static_cast<unsigned char>(text[i + 1]) < 0xA0U) return false;
  }
  return !has(text, "\xE2\x80\xAE") && !has(text, "\xE2\x80\xA8");
}

// What is wrong with a text as XML: tags that do not pair, attributes without quotes or twice, bare markup, characters
// that XML 1.0 does not have. Empty: nothing.
class xml_reader {
 public:
  explicit xml_reader(const std::string& text) : text_(text) {}

  std::string fault() {
    if (!is_utf8(text_)) return "no UTF-8";
    for (const char c : text_) {
      if (static_cast<unsigned char>(c) < 0x20U && c != '\n' && c != '\t' && c != '\r') return "a control byte";
    }
    if (has(text_, "\xEF\xBF\xBE") || has(text_, "\xEF\xBF\xBF")) return "a code point that is no character";
    while (at_ < text_.size() && fault_.empty()) text_[at_] == '<' ? tag() : plain();
    if (fault_.empty() && !open_.empty()) fault_ = "<" + open_.back() + "> is not closed";
    return fault_;
  }

 private:
  void plain() {
    const std::size_t end = std::min(text_.find('<', at_), text_.size());
    check_references(text_.substr(at_, end - at_));
    at_ = end;
  }

  void check_references(const std::string& part) {
    static const std::regex reference("&(#[0-9]+|#x[0-9a-fA-F]+|amp|lt|gt|quot|apos);");
    for (auto at = part.find('&'); at != std::string::npos; at = part.find('&', at + 1)) {
      if (!std::regex_match(part.substr(at, part.find(';', at) + 1 - at), reference)) fail("a bare & in " + part);
    }
  }

  void tag() {
    const std::size_t end = text_.find('>', at_);
    if (end == std::string::npos) return fail("a tag without an end");
    const std::string tag = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    if (tag.rfind("?xml ", 0) == 0 || tag == "!DOCTYPE html") return;
    static const std::regex form("(/?)([a-zA-Z][a-zA-Z0-9]*)((\\s+[a-zA-Z-]+=\"[^\"<]*\")*)\\s*(/?)");
    std::smatch parts;
    if (!std::regex_match(tag, parts, form)) return fail("a tag that is none: <" + tag.substr(0, 200));
    check_attributes(parts[3]);
    if (parts[1].length() != 0) return close(parts[2]);
    if (parts[5].length() == 0) open_.push_back(parts[2]);
  }

  void check_attributes(const std::string& written) {
    check_references(written);
    static const std::regex attribute("\\s([a-zA-Z-]+)=\"[^\"]*\"");
    std::set<std::string> names;
    for (std::sregex_iterator each(written.begin(), written.end(), attribute), end; each != end; ++each) {
      if (!names.insert((*each)[1]).second) fail("an attribute that stands twice: " + written);
    }
  }

  void close(const std::string& name) {
    if (open_.empty() || open_.back() != name) return fail("</" + name + "> closes nothing");
    open_.pop_back();
  }
  void fail(const std::string& what) { fault_ = what; }

  const std::string& text_;
  std::size_t at_ = 0;
  std::vector<std::string> open_;
  std::string fault_;
};
std::string fault_of_xml(const std::string& text) { return xml_reader(text).fault(); }

struct tap_test {
  bool is_ok = false;
  std::string name, skip;
  json diagnostics = json::object();
};

// By the grammar of TAP 13: the version, the plan, tests numbered from 1 on, comments, YAML blocks of scalars.
struct tap_reader {
  std::string fault;
  std::vector<tap_test> tests;

  explicit tap_reader(const std::string& text) : lines_(lines_of(text)) {
    if (lines_.empty() || lines_[0] != "TAP version 13") fail("no version");
    for (at_ = 1; at_ < lines_.size() && fault.empty(); ++at_) read(lines_[at_]);
    if (plan_ != std::to_string(tests.size())) fail("plan of " + plan_ + " for " + std::to_string(tests.size()));
  }

 private:
  void fail(const std::string& what) { fault = what; }

  void read(const std::string& line) {
    static const std::regex test("(not )?ok ([0-9]+) - ((?:[^#\\\\]|\\\\#|\\\\\\\\)*)(?: # SKIP ?(.*))?");
    std::smatch parts;
    if (line.rfind('#', 0) == 0) return;
    if (at_ == 1 && std::regex_match(line, parts, std::regex("1\\.\\.([0-9]+)"))) {
      plan_ = parts[1];
    } else if (line == "  ---") {
      read_block();
    } else if (!std::regex_match(line, parts, test) || parts[2] != std::to_string(tests.size() + 1)) {
      fail("no test line: " + line);
    } else {
      tests.push_back({parts[1].length() == 0, unescaped(parts[3]), parts[4].matched ? "SKIP " + parts[4].str() : ""});
    }
  }

  void read_block() {
    for (++at_; at_ != lines_.size() && lines_[at_] != "  ..."; ++at_) {
      std::smatch parts;
      if (!std::regex_match(lines_[at_], parts, std::regex("  ([a-z]+): (\".*\")")))
        return fail("no YAML: " + lines_[at_]);
      const json value = json::parse(parts[2].str(), nullptr, false);
      if (!value.is_string()) return fail("no scalar: " + lines_[at_]);
      tests.back().diagnostics[parts[1].str()] = value;
    }
    if (at_ == lines_.size()) fail("a block without an end");
  }

  static std::string unescaped(const std::string& text) {
    return std::regex_replace(text, std::regex("\\\\([#\\\\])"), "$1");
  }

  std::vector<std::string> lines_;
  std::size_t at_ = 0;
  std::string plan_;
};

// What is wrong with a report in a format. Empty: nothing.
std::string fault_in(report_format format, const std::string& text) {
  if (text.empty() || text.back() != '\n') return "no line end";
  if (!is_utf8(text)) return "no UTF-8";
  if (format != report_format::junit && !is_harmless(text)) return "a byte that a terminal obeys";
  if (format == report_format::tap) return tap_reader(text).fault;
  if (format == report_format::json) return json::parse(text, nullptr, false).is_object() ? "" : "no JSON";
  return format == report_format::text ? "" : fault_of_xml(text);
}

// ---- Reports --------------------------------------------------------------------------------------------------------

oracle::entry fine(const std::string& name, const std::string& saw = "") {
  return {name, entry_status::ok, "ok", "", saw, ""};
}
oracle::entry wrong(const std::string& name) {
  return {name, entry_status::finding, "LEAK", "t.jsonl:14", "session A's event came", "Keep one store for each."};
}
oracle::entry skipped(const std::string& name) {
  return {name, entry_status::skipped, "", "", "no tool was named", ""};
}

oracle::report small_report() {
  oracle::report made;
  made.title = "judge t.jsonl";
  made.entries = {fine("in window", "200, 2 events"), wrong("another session's id"), skipped("twice at once")};
  made.entries[0].place = "t.jsonl:9";
  return made;
}

oracle::mark mark_of(mark_kind kind, std::size_t lane, std::size_t step, const std::string& label) {
  oracle::mark made;
  made.kind = kind;
  made.lane = lane;
  made.step = step;
  made.label = label;
  made.text = "text of " + label;
  return made;
}
oracle::mark event(std::size_t lane, std::size_t step) {
  return mark_of(mark_kind::event, lane, step, "e" + std::to_string(step));
}
oracle::mark resume(std::size_t lane, std::size_t step, std::size_t first, std::size_t newest, std::size_t cursor) {
  oracle::mark made = mark_of(mark_kind::resume, lane, step, "200");
  made.first = first;
  made.newest = newest;
  made.cursor = cursor;
  return made;
}

std::string page_of(const oracle::timeline& history) {
  oracle::report made;
  made.timelines = {history};
  std::string page = format_report(made, report_format::html);
  CHECK(fault_in(report_format::html, page).empty());
  return page.substr(page.find("</div>\n<details"));  // behind the legend
}

// The bytes that have hurt a format somewhere, and any others.
std::string any_bytes(std::uint64_t& state) {
  static const std::vector<std::string> parts = {"\x1b[31m",
                                                 "\xFF",
                                                 "\xC3",
                                                 std::string(1, '\0'),
                                                 "<",
                                                 "&",
                                                 "]]>",
                                                 "\"",
                                                 "'",
                                                 "\n",
                                                 "\r",
                                                 "\t",
                                                 "#",
                                                 "\\",
                                                 "# SKIP",
                                                 "ok 1 - x",
                                                 "\x7F",
                                                 "\xEF\xBF\xBE",
                                                 "  ---",
                                                 "\xED\xA0\x80",
                                                 "...",
                                                 "1..7",
                                                 "</script>",
                                                 "</style>",
                                                 "\xC2\x9B",
                                                 "\xE2\x80\xAE",
                                                 "\xC3\xBC",
                                                 "\xF0\x9F\x98\x80",
                                                 "-->",
                                                 "{}",
                                                 "\xE2\x80\xA8",
                                                 "<!--"};
  std::string out;
  for (std::uint64_t left = randomness::next_random(state) % 6; left != 0; --left) {
    const std::uint64_t drawn = randomness::next_random(state);
    out += drawn % 4 == 0 ? std::string(1, static_cast<char>(drawn >> 8U)) : parts[(drawn >> 8U) % parts.size()];
  }
  return out;
}

oracle::report any_report(std::uint64_t& state) {
  const auto below = [&state](std::uint64_t n) { return static_cast<std::size_t>(randomness::next_random(state) % n); };
  oracle::report made;
  made.title = any_bytes(state);
  for (std::size_t left = below(5); left != 0; --left) {
    made.entries.push_back({any_bytes(state), static_cast<entry_status>(below(3)), any_bytes(state), any_bytes(state),
                            any_bytes(state), any_bytes(state)});
  }
  oracle::timeline history{any_bytes(state), {any_bytes(state), any_bytes(state)}, {}};
  for (std::size_t left = below(12); left != 0; --left) {
    oracle::mark m = resume(below(4), below(9), below(9), below(9), below(9));
    m.kind = static_cast<mark_kind>(below(5));
    m.label = any_bytes(state);
    m.text = any_bytes(state);
    m.verdict = any_bytes(state);
    history.marks.push_back(m);
  }
  made.timelines = {history};
  return made;
}

// ---- Formats --------------------------------------------------------------------------------------------------------

TEST_CASE("the counts are a sentence with the right plural", "[oracle_report]") {
  oracle::report made;
  CHECK(made.counts() == "0 ok, 0 findings, 0 skipped");
  CHECK_FALSE(made.has_findings());
  made.entries = {fine("a"), fine("b"), skipped("c")};
  CHECK_FALSE(made.has_findings());
  made.entries.push_back(wrong("d"));
  CHECK(made.counts() == "2 ok, 1 finding, 1 skipped");
  CHECK(made.has_findings());
}

TEST_CASE("text has one aligned line for each entry and what was seen below a finding alone", "[oracle_report]") {
  CHECK(format_report(small_report(), report_format::text) ==
        "judge t.jsonl\n"
        "ok       in window             t.jsonl:9   200, 2 events\n"
        "LEAK     another session's id  t.jsonl:14\n"
        "    saw:    session A's event came\n"
        "    advice: Keep one store for each.\n"
        "skipped  twice at once                     no tool was named\n"
        "1 ok, 1 finding, 1 skipped\n");
}

TEST_CASE("text is aligned by what a terminal shows and one long name moves no other", "[oracle_report]") {
  oracle::report made;
  made.entries = {fine("\xC3\xBC", "x"), fine("ab", "x"), fine("\xE8\xAA\x9E", "x"), fine("\x1b", "x"),
                  fine(std::string(300, 'n'), "x")};
  const std::vector<std::string> lines = lines_of(format_report(made, report_format::text));
  REQUIRE(lines.size() == 6);
  CHECK(lines[0] == "ok  \xC3\xBC     x");
  CHECK(lines[1] == "ok  ab    x");
  CHECK(lines[2] == "ok  \xE8\xAA\x9E    x");
  CHECK(lines[3] == "ok  \\x1b  x");
  CHECK(lines[4] == "ok  " + std::string(300, 'n') + "  x");
}

TEST_CASE("foreign bytes become printable text that still says what they were", "[oracle_report]") {
  CHECK(oracle::printable("a\n\r\t\x1b\x7f\xC2\x9B\xE2\x80\xAE") == "a\\n\\r\\t\\x1b\\x7f\\u009b\\u202e");
  CHECK(oracle::printable(std::string("a\0b", 3)) == "a\\x00b");
  CHECK(oracle::printable("\xFF"
                          "a\xC3") ==
        "\xEF\xBF\xBD"
        "a\xEF\xBF\xBD");
  CHECK(oracle::printable("\xED\xA0\x80").find("\xED") == std::string::npos);  // a surrogate
  CHECK(oracle::printable("\xC3\xBC \xF0\x9F\x98\x80 \xC2\xA0") == "\xC3\xBC \xF0\x9F\x98\x80 \xC2\xA0");
  CHECK(oracle::xml_text("<a b='\"&'>\x01\n\xEF\xBF\xBE") ==
        "&#60;a b=&#39;&#34;&#38;&#39;&#62;\xEF\xBF\xBD&#10;\xEF\xBF\xBD");
  CHECK(oracle::shortened("abcdef", 6) == "abcdef");
  CHECK(oracle::shortened("abcdefg", 6) == "abcde\xE2\x80\xA6");
  CHECK(oracle::shortened("\xE8\xAA\x9E\xE8\xAA\x9E\xE8\xAA\x9E", 5) == "\xE8\xAA\x9E\xE8\xAA\x9E\xE2\x80\xA6");
}

TEST_CASE("TAP is read by its grammar with the reason of a skip and the block of a finding", "[oracle_report]") {
  const std::string text = format_report(small_report(), report_format::tap);
  const tap_reader read(text);
  CHECK(read.fault.empty());
  REQUIRE(read.tests.size() == 3);
  CHECK(read.tests[0].is_ok);
  CHECK(read.tests[0].name == "in window");
  CHECK(read.tests[0].diagnostics.empty());
  CHECK_FALSE(read.tests[1].is_ok);
  CHECK(read.tests[1].diagnostics == json({{"verdict", "LEAK"},
                                           {"place", "t.jsonl:14"},
                                           {"saw", "session A's event came"},
                                           {"advice", "Keep one store for each."}}));
  CHECK(read.tests[2].is_ok);
  CHECK(read.tests[2].skip == "SKIP no tool was named");
  CHECK(has(text, "# 1 ok, 1 finding, 1 skipped\n"));
}

TEST_CASE("a name cannot forge a directive of TAP or a line", "[oracle_report]") {
  oracle::report made;
  made.entries = {wrong("a # SKIP"), wrong("b \\# TODO\nok 2"), fine("ok \\")};
  const tap_reader read(format_report(made, report_format::tap));
  CHECK(read.fault.empty());
  REQUIRE(read.tests.size() == 3);
  CHECK_FALSE(read.tests[0].is_ok);
  CHECK(read.tests[0].skip.empty());
  CHECK(read.tests[0].name == "a # SKIP");
  CHECK(read.tests[1].name == "b \\# TODO\\nok 2");
  CHECK(read.tests[2].name == "ok \\");
}

TEST_CASE("JUnit has one case for each entry with the attributes that every reader knows", "[oracle_report]") {
  const std::string text = format_report(small_report(), report_format::junit);
  CHECK(fault_of_xml(text).empty());
  CHECK(has(text, "<testsuites name=\"judge t.jsonl\" tests=\"3\" failures=\"1\" errors=\"0\" time=\"0\">"));
  CHECK(
      has(text, "<testsuite name=\"judge t.jsonl\" tests=\"3\" failures=\"1\" errors=\"0\" skipped=\"1\" time=\"0\">"));
  CHECK(count_of(text, "<testcase ") == 3);
  CHECK(has(text, "<testcase classname=\"judge t.jsonl\" name=\"in window\" time=\"0\"/>"));
  CHECK(has(text,
            "<failure type=\"LEAK\" message=\"LEAK: session A&#39;s event came\">t.jsonl:14&#10;session A&#39;s "
            "event came&#10;Keep one store for each.&#10;</failure>"));
  CHECK(has(text, "<skipped message=\"no tool was named\"/>"));
}

TEST_CASE("JSON is of version 1 with just these members", "[oracle_report]") {
  const json wanted = {{"version", 1},
                       {"title", "judge t.jsonl"},
                       {"counts", {{"ok", 1}, {"findings", 1}, {"skipped", 1}}},
                       {"entries",
                        {{{"name", "in window"},
                          {"status", "ok"},
                          {"verdict", "ok"},
                          {"place", "t.jsonl:9"},
                          {"saw", "200, 2 events"},
                          {"advice", ""}},
                         {{"name", "another session's id"},
                          {"status", "finding"},
                          {"verdict", "LEAK"},
                          {"place", "t.jsonl:14"},
                          {"saw", "session A's event came"},
                          {"advice", "Keep one store for each."}},
                         {{"name", "twice at once"},
                          {"status", "skipped"},
                          {"verdict", "skipped"},
                          {"place", ""},
                          {"saw", "no tool was named"},
                          {"advice", ""}}}}};
  CHECK(json::parse(format_report(small_report(), report_format::json)) == wanted);
  CHECK(json::parse(format_report(oracle::report(), report_format::json))["entries"] == json::array());
}

TEST_CASE("a control byte comes back from JSON as it was", "[oracle_report]") {
  oracle::report made;
  made.entries = {fine(std::string("\0\x1b\x7f\n", 4), "\xFF")};
  const json read = json::parse(format_report(made, report_format::json));
  CHECK(read["entries"][0]["name"] == std::string("\0\x1b\x7f\n", 4));
  CHECK(read["entries"][0]["saw"] == "\xEF\xBF\xBD");
}

TEST_CASE("the page shows findings before all else and asks nobody for anything", "[oracle_report]") {
  const std::string page = format_report(small_report(), report_format::html);
  CHECK(fault_in(report_format::html, page).empty());
  const std::size_t finding = page.find(">another session&#39;s id<");
  REQUIRE(finding != std::string::npos);
  CHECK(finding < page.find(">in window<"));
  CHECK(finding < page.find(">twice at once<"));
  CHECK(page.find(">LEAK<") < finding);
  CHECK(has(page, ">session A&#39;s event came<"));
  CHECK(has(page, ">Keep one store for each.<"));
  CHECK(has(page, ">no tool was named<"));
  CHECK(has(page, "<title>judge t.jsonl: 1 ok, 1 finding, 1 skipped</title>"));
  for (const char* asks : {"<script", "http:", "https:", " src=", "href", "url(", "@import", "<link"}) {
    INFO(asks);
    CHECK_FALSE(has(page, asks));
  }
  CHECK(matches_of(page, " on[a-z]+=").empty());
  CHECK(has(page, "prefers-color-scheme: dark"));
  CHECK(has(page, "@media print"));
}

TEST_CASE("every format of any bytes is whole", "[oracle_report]") {
  std::uint64_t state = 1;
  for (int i = 0; i != 100; ++i) {
    const oracle::report made = any_report(state);
    for (const report_format format : all_formats) {
      const std::string text = format_report(made, format);
      const std::string fault = fault_in(format, text);
      INFO(i << " " << static_cast<int>(format) << " " << text);
      REQUIRE(fault == "");
    }
    const tap_reader read(format_report(made, report_format::tap));
    REQUIRE(read.tests.size() == made.entries.size());
    for (std::size_t e = 0; e != made.entries.size(); ++e) {
      CHECK(read.tests[e].is_ok == (made.entries[e].status != entry_status::finding));
    }
  }
}

TEST_CASE("the reader of XML finds what is wrong", "[oracle_report]") {
  CHECK(fault_of_xml("<a b=\"c\"><d/>&#60;</a>").empty());
  for (const char* text :
       {"<a>", "<a></b>", "<a b=c/>", "<a>&</a>", "<a b=\"&\"/>", "<a b=\"<\"/>", "<a b=\"1\" b=\"2\"/>", "<a>\x01</a>",
        "<a>\xFF</a>", "<a", "<!--x-->", "<a>\xEF\xBF\xBE</a>"}) {
    INFO(text);
    CHECK_FALSE(fault_of_xml(text).empty());
  }
}

#if !defined(_WIN32)
// The same by a reader that shares nothing with this file, where there is one.
TEST_CASE("an XML parser of others takes JUnit and the page", "[oracle_report]") {
  const std::string parse =
      "python3 -c 'import sys, xml.etree.ElementTree as t; t.fromstring(sys.stdin.buffer.read())'";
  if (std::system("python3 -c 'import xml.etree.ElementTree' >/dev/null 2>&1") != 0) {
    WARN("python3 not found, not checked");
    return;
  }
  const auto is_taken = [&parse](const std::string& text) {
    FILE* pipe = popen((parse + " 2>/dev/null").c_str(), "w");
    REQUIRE(pipe != nullptr);
    (void)std::fwrite(text.data(), 1, text.size(), pipe);
    return pclose(pipe) == 0;
  };
  CHECK_FALSE(is_taken("<a>"));
  std::uint64_t state = 7;
  for (int i = 0; i != 3; ++i) {
    oracle::report made = any_report(state);
    for (int n = 0; n != 50; ++n)
      made.entries.push_back(any_report(state).entries.empty() ? fine("x") : wrong(any_bytes(state)));
    CHECK(is_taken(format_report(made, report_format::junit)));
    CHECK(is_taken(format_report(made, report_format::html)));
  }
}
#endif

// ---- Timelines ------------------------------------------------------------------------------------------------------

struct spot {
  int x = 0, y = 0;
};
// Of the marks of one kind, in the order in which they stand.
std::vector<spot> spots_of(const std::string& page, const std::string& kind) {
  std::vector<spot> out;
  for (const std::smatch& each :
       matches_of(page, "<g class=\"" + kind + "\" transform=\"translate\\(([0-9]+) ([0-9]+)\\)")) {
    out.push_back({std::stoi(each[1]), std::stoi(each[2])});
  }
  return out;
}
struct bar {
  int from = 0, to = 0;
};
std::vector<bar> bars_of(const std::string& page) {
  std::vector<bar> out;
  for (const std::smatch& each :
       matches_of(page, "<rect class=\"held\" x=\"([0-9]+)\" y=\"[0-9]+\" width=\"([0-9]+)\"")) {
    out.push_back({std::stoi(each[1]), std::stoi(each[1]) + std::stoi(each[2])});
  }
  return out;
}
std::vector<int> cursors_of(const std::string& page) {
  std::vector<int> out;
  for (const std::smatch& each : matches_of(page, "<path class=\"cursor\" d=\"M([0-9]+) "))
    out.push_back(std::stoi(each[1]));
  return out;
}

std::size_t left_out_in(const std::string& page) {
  std::size_t sum = 0;
  for (const std::smatch& each : matches_of(page, ">([0-9]+)</text><text [^>]*>left out<")) sum += std::stoul(each[1]);
  return sum;
}

TEST_CASE("marks stand in their stream's lane from left to right", "[oracle_report]") {
  oracle::timeline history{"S", {"standalone", "request 1"}, {}};
  history.marks = {event(0, 3),
                   event(1, 2),
                   event(0, 1),
                   mark_of(mark_kind::drop, 0, 4, ""),
                   mark_of(mark_kind::delivery, 1, 5, "d"),
                   mark_of(mark_kind::note, 1, 6, "DELETE")};
  const std::string page = page_of(history);
  const std::vector<spot> events = spots_of(page, "event");  // by step
  REQUIRE(events.size() == 3);
  CHECK(events[0].x < events[1].x);
  CHECK(events[1].x < events[2].x);
  CHECK(events[0].y == events[2].y);
  CHECK(events[0].y < events[1].y);
  REQUIRE(spots_of(page, "drop").size() == 1);
  CHECK(spots_of(page, "drop")[0].y == events[0].y);
  REQUIRE(spots_of(page, "delivery").size() == 1);
  CHECK(spots_of(page, "delivery")[0].y == events[1].y);
  CHECK(spots_of(page, "note").size() == 1);
  for (const char* text : {">standalone<", ">request 1<", ">e3<", ">DELETE<", "text of e2"}) CHECK(has(page, text));
}

TEST_CASE("marks of one lane and step stand side by side and those of two lanes below each other", "[oracle_report]") {
  oracle::timeline history{"S", {"a", "b"}, {}};
  history.marks = {event(0, 1), event(0, 1), event(1, 1), event(0, 2)};
  const std::vector<spot> events = spots_of(page_of(history), "event");
  REQUIRE(events.size() == 4);
  std::set<std::pair<int, int>> places;
  for (const spot& s : events) places.insert({s.x, s.y});
  CHECK(places.size() == 4);
  CHECK(std::count_if(events.begin(), events.end(), [&](const spot& s) { return s.x == events[0].x; }) == 2);
}

TEST_CASE("long labels do not run into each other", "[oracle_report]") {
  oracle::timeline history{"S", {"a"}, {}};
  history.marks = {mark_of(mark_kind::event, 0, 1, "0123456789"), mark_of(mark_kind::event, 0, 2, "0123456789"),
                   mark_of(mark_kind::event, 0, 3, std::string(1000, 'x'))};
  const std::vector<spot> events = spots_of(page_of(history), "event");
  REQUIRE(events.size() == 3);
  CHECK(events[1].x - events[0].x > 67);   // ten characters of 6.7 pixels
  CHECK(events[2].x - events[1].x < 200);  // cut off
}

TEST_CASE("a resume shows the window that was held and its cursor under their events", "[oracle_report]") {
  oracle::timeline history{"S", {"a"}, {}};
  history.marks = {event(0, 1), event(0, 2), event(0, 3), event(0, 4), resume(0, 5, 2, 4, 3)};
  const std::string page = page_of(history);
  const std::vector<spot> events = spots_of(page, "event");
  const std::vector<bar> bars = bars_of(page);
  REQUIRE(events.size() == 4);
  REQUIRE(bars.size() == 1);
  CHECK(bars[0].from < events[1].x);
  CHECK(bars[0].from > events[0].x);
  CHECK(bars[0].to > events[3].x);
  CHECK(bars[0].to < spots_of(page, "resume")[0].x);
  CHECK(cursors_of(page) == std::vector<int>{events[2].x});
  CHECK(has(page, ">held e2 to e4, cursor e3<"));
}

TEST_CASE("a cursor is called by its event of the same lane and else of another", "[oracle_report]") {
  oracle::timeline history{"S", {"a", "b"}, {}};
  history.marks = {mark_of(mark_kind::event, 0, 1, "a1"), mark_of(mark_kind::event, 1, 1, "b1"),
                   mark_of(mark_kind::event, 1, 2, "b2"), resume(0, 3, 1, 1, 1), resume(0, 4, 0, 0, 2)};
  const std::string page = page_of(history);
  CHECK(has(page, ">held a1, cursor a1<"));
  CHECK(has(page, ">cursor b2<"));
}

TEST_CASE("a resume without a window or a cursor has neither", "[oracle_report]") {
  oracle::timeline history{"S", {"a"}, {}};
  history.marks = {event(0, 1), event(0, 2), resume(0, 3, 0, 0, 0)};
  const std::string none = page_of(history);
  CHECK(bars_of(none).empty());
  CHECK(cursors_of(none).empty());
  CHECK(has(none, ">none<"));
  history.marks.back() = resume(0, 3, 2, 2, 0);
  CHECK(bars_of(page_of(history)).size() == 1);
  CHECK(cursors_of(page_of(history)).empty());
  CHECK(has(page_of(history), ">held e2<"));
  history.marks.back() = resume(0, 3, 0, 0, 1);
  CHECK(bars_of(page_of(history)).empty());
  CHECK(cursors_of(page_of(history)).size() == 1);
  CHECK(has(page_of(history), ">cursor e1<"));
  history.marks.back() = resume(0, 3, 2, 1, 0);  // no range
  CHECK(bars_of(page_of(history)).empty());
}

TEST_CASE("windows of several resumes of a lane lie below each other where they overlap", "[oracle_report]") {
  oracle::timeline history{"S", {"a"}, {}};
  history.marks = {event(0, 1),           event(0, 2), resume(0, 3, 1, 2, 1),
                   resume(0, 4, 1, 2, 2), event(0, 5), resume(0, 6, 5, 5, 5)};
  std::vector<int> heights;
  const std::string page = page_of(history);
  for (const std::smatch& each : matches_of(page, "<rect class=\"held\" x=\"[0-9]+\" y=\"([0-9]+)\"")) {
    heights.push_back(std::stoi(each[1]));
  }
  REQUIRE(heights.size() == 3);
  CHECK(heights[0] < heights[1]);
  CHECK(heights[2] == heights[0]);
}

TEST_CASE("a verdict stands in words below its mark and in the table", "[oracle_report]") {
  oracle::timeline history{"S", {"a"}, {}};
  history.marks = {event(0, 1), resume(0, 2, 1, 1, 1), mark_of(mark_kind::delivery, 0, 3, "e9")};
  CHECK(has(page_of(history), "<tr class=\"right\">"));
  CHECK_FALSE(has(page_of(history), "<tr class=\"wrong\">"));
  CHECK_FALSE(has(page_of(history), "with findings"));
  history.marks[2].verdict = "LEAK";
  const std::string page = page_of(history);
  CHECK(has(page, "<text class=\"verdict\""));
  CHECK(count_of(page, ">LEAK<") == 2);
  CHECK(count_of(page, "<tr class=\"wrong\">") == 1);
  CHECK(has(page, "with findings"));
}

TEST_CASE("a mark of a lane that there is not is still shown", "[oracle_report]") {
  oracle::timeline history{"S", {}, {}};
  history.marks = {event(0, 1), event(~std::size_t{0}, 2)};
  const std::string page = page_of(history);
  CHECK(spots_of(page, "event").size() == 2);
  CHECK(has(page, ">?<"));
}

TEST_CASE("a timeline wider than a page goes on in another row with its windows", "[oracle_report]") {
  oracle::timeline history{"S", {"a"}, {}};
  for (std::size_t i = 1; i <= 40; ++i) history.marks.push_back(event(0, i));
  history.marks.push_back(resume(0, 41, 2, 40, 3));
  const std::string page = page_of(history);
  CHECK(count_of(page, "<svg ") == 2);
  CHECK(spots_of(page, "event").size() == 40);
  CHECK(bars_of(page).size() == 2);
  CHECK(cursors_of(page).size() == 1);
  for (const spot& s : spots_of(page, "event")) CHECK(s.x < 960);
  for (const bar& b : bars_of(page)) CHECK((b.from >= 143 && b.to <= 960 && b.from < b.to));
}

TEST_CASE("of 10000 marks those near resumes and findings are shown and the rest is counted", "[oracle_report]") {
  oracle::timeline history{"S", {"a", "b"}, {}};
  for (std::size_t i = 1; i <= 10000; ++i) history.marks.push_back(event(i % 2, i));
  history.marks[4999] = resume(1, 5000, 1001, 4999, 3001);
  history.marks[6999].verdict = "DUPLICATE";
  const std::string page = page_of(history);
  for (const char* name : {"e1", "e10000", "e1001", "e3001", "e4999", "e5001", "e6999", "e7000", "e7001"}) {
    INFO(name);
    CHECK(has(page, ">" + std::string(name) + "</text>"));
  }
  CHECK(has(page, ">held e1001 to e4999, cursor e3001<"));
  const auto told = matches_of(page, "Shown are ([0-9]+) of 10000 marks, [^;]*; ([0-9]+) are left out");
  REQUIRE(told.size() == 1);
  const std::size_t shown = spots_of(page, "event").size() + spots_of(page, "resume").size();
  CHECK(std::stoul(told[0][1]) == shown);
  CHECK(std::stoul(told[0][2]) == 10000 - shown);
  CHECK(left_out_in(page) == 10000 - shown);
  CHECK(page.size() < 100000);
}

TEST_CASE("a page stays small however much is wrong", "[oracle_report]") {
  oracle::timeline history{"S", {"a"}, {}};
  for (std::size_t i = 1; i <= 300; ++i) {
    history.marks.push_back(resume(0, i, 1, i, i));
    history.marks.back().verdict = "LEAK";
    history.marks.back().text = std::string(1000, 'x');
  }
  oracle::timeline long_history = history;
  while (long_history.marks.size() < 100000)
    long_history.marks.push_back(resume(0, long_history.marks.size(), 1, 9, 5));
  const std::string long_page = page_of(long_history);
  CHECK(long_page.size() < 1000000);
  CHECK(left_out_in(long_page) + spots_of(long_page, "resume").size() == 100000);
  oracle::report made;
  made.timelines.assign(50, history);
  made.timelines.push_back({"clean", {"a"}, {event(0, 1)}});
  made.timelines.insert(made.timelines.begin(), {"clean", {"a"}, {event(0, 1)}});
  const std::string page = format_report(made, report_format::html);
  CHECK(page.size() < 40000000);
  CHECK(has(page, "12 more timelines are left out, 10 of them with findings."));
  CHECK_FALSE(has(page, "<summary>clean"));
  made.timelines.resize(3);
  const std::string few = format_report(made, report_format::html);
  CHECK(few.find("<summary>S ") < few.find("<summary>clean"));
  CHECK_FALSE(has(few, "more timelines"));
}

TEST_CASE("a page of very many entries says how many it leaves out", "[oracle_report]") {
  oracle::report made;
  made.entries.assign(5001, fine("x"));
  made.entries.insert(made.entries.end(), 1003, wrong("y"));
  const std::string page = format_report(made, report_format::html);
  CHECK(count_of(page, "<article>") == 1000);
  CHECK(has(page, "<p>3 more are left out; "));
  CHECK(count_of(page, "<tr><td>x</td>") == 5000);
  CHECK(has(page, "<p>1 more are left out; "));
  CHECK(has(page, "<b>5001</b> ok"));
  CHECK(has(page, "<b>1003</b> findings"));
}

TEST_CASE("many lanes are drawn only where they have something", "[oracle_report]") {
  oracle::timeline history{"S", std::vector<std::string>(1000, "lane"), {}};
  history.marks = {event(7, 1), event(990, 2)};
  CHECK(count_of(page_of(history), "<g class=\"lane\">") == 2);
  history.lanes.resize(8);
  history.marks.pop_back();
  CHECK(count_of(page_of(history), "<g class=\"lane\">") == 8);
}

}  // namespace

TEST_CASE("a place is printed however long it is", "[oracle_report]") {
  oracle::report made;
  const std::string place = "a/directory/in/a/directory/in/a/directory/in/a/directory/trace.jsonl:4";
  made.entries.push_back({"a check", oracle::entry_status::finding, "LEAK", place, "it came", "look"});
  CHECK(oracle::format_report(made, oracle::report_format::text).find(place) != std::string::npos);
}
