// SPDX-License-Identifier: MIT
// Promise: `mcp-resume-oracle run` says of field cases what field_cases says, in each format, and names what is no case.
#include <nlohmann/json.hpp>

#if !defined(_WIN32)  // needs popen and mkstemp
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

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "catch.hpp"

namespace {

using nlohmann::json;

const std::string field_file = MCP_RESUME_SOURCE_DIR "/tests/cases/field.jsonl";

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::string text_of_file(const std::string& name) {
  std::ifstream file(name, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

class temporary_file {
 public:
  explicit temporary_file(const std::string& text = "") {
    char pattern[] = "/tmp/oracle_runXXXXXX";
    const int made = mkstemp(pattern);
    REQUIRE(made >= 0);
    close(made);
    name = pattern;
    std::ofstream(name, std::ios::binary) << text;
  }
  ~temporary_file() { std::remove(name.c_str()); }
  temporary_file(const temporary_file&) = delete;
  temporary_file& operator=(const temporary_file&) = delete;
  std::string name;
};

struct run_of_program {
  int status = -1;
  std::string out, complaints;
  std::string last_line() const {
    const std::size_t end = out.find_last_not_of('\n');
    const std::size_t begin = end == std::string::npos ? 0 : out.rfind('\n', end) + 1;
    return out.substr(begin, end + 1 - begin);
  }
};

run_of_program run_program(const std::string& command) {
  const temporary_file complaints;
  run_of_program done;
  FILE* pipe = popen((command + " 2>" + complaints.name).c_str(), "r");
  REQUIRE(pipe != nullptr);
  char buffer[4096];
  while (const std::size_t size = std::fread(buffer, 1, sizeof buffer, pipe)) done.out.append(buffer, size);
  const int status = pclose(pipe);
  done.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  done.complaints = text_of_file(complaints.name);
  return done;
}
run_of_program run_oracle(const std::string& arguments) { return run_program(ORACLE_PROGRAM " run " + arguments); }

std::string case_line(const std::string& id, const std::string& outcome, const std::string& op = "drop") {
  return R"({"id":")" + id +
         R"(","class":"c","steps":[{"op":"open_session","s":"A"},{"op":"open_stream","s":"A","x":"get"},)" +
         R"({"op":"append","s":"A","x":"get","e":["e1","e2"]},{"op":")" + op + R"(","s":"A","x":"get"},)" +
         R"({"op":"resume","s":"A","cursor":{"of":"e1"}}],"expect":{"outcome":")" + outcome +
         R"(","why":"e2 is held"}})" + "\n";
}
const std::string good = case_line("good", "continue"), bad = case_line("bad", "gap"),
                  skipped = case_line("skipped", "gap", "promote");

// `41 passed, 0 failed, 3 skipped` or `41 ok, 0 findings, 3 skipped`, as numbers.
std::vector<int> counts_in(const std::string& line) {
  std::smatch parts;
  const bool is_found = std::regex_match(line, parts, std::regex("([0-9]+) [a-z]+, ([0-9]+) [a-z]+, ([0-9]+) skipped"));
  if (!is_found) return {};
  return {std::stoi(parts[1]), std::stoi(parts[2]), std::stoi(parts[3])};
}

TEST_CASE("run and field_cases agree on the counts and the exit status of every file", "[oracle_run]") {
  const std::string texts[] = {good,
                               skipped,
                               bad,
                               good + bad + skipped,
                               "\n" + good + "\r\n \t\n",
                               "\xEF\xBB\xBF\n" + good,
                               good + good,
                               good + good.substr(0, 100) + "\n" + bad,
                               good.substr(0, good.size() - 1),
                               "[]\n{}\n3\n",
                               "{\"id\":\"a\",\"id\":\"b\"}\n",
                               std::string(1000, '[') + "\n",
                               "\x80\n" + std::string("\0\n", 2) + good,
                               case_line("unknown", "continue", "no_such_word"),
                               std::string(2000000, 'x') + "\n" + good,
                               "",
                               "\n\n"};
  std::vector<std::string> files{field_file, MCP_RESUME_SOURCE_DIR "/tests/cases/words.jsonl", "/nowhere/at/all",
                                 "/tmp", field_file + " /nowhere/at/all"};
  std::vector<std::unique_ptr<temporary_file>> made;
  for (const std::string& text : texts) {
    made.push_back(std::make_unique<temporary_file>(text));
    files.push_back(made.back()->name);
  }
  files.push_back(made[0]->name + " " + made[2]->name + " " + made[0]->name);
  for (const std::string& file : files) {
    const run_of_program theirs = run_program(FIELD_CASES_PROGRAM " " + file), ours = run_oracle(file);
    INFO(file << "\n" << theirs.out.substr(0, 500) << "\n" << ours.out.substr(0, 500) << "\n" << ours.complaints);
    REQUIRE(counts_in(theirs.last_line()).size() == 3);
    CHECK(counts_in(ours.last_line()) == counts_in(theirs.last_line()));
    CHECK(ours.status == theirs.status);
    CHECK((ours.status == 2) == !ours.complaints.empty());
  }
}

TEST_CASE("each case has its entry with its place and the reason of a failure or skip", "[oracle_run]") {
  const temporary_file file(good + "\n" + bad + skipped);
  const run_of_program done = run_oracle(file.name + " --format json");
  CHECK(done.status == 1);
  const json entries = json::parse(done.out)["entries"];
  REQUIRE(entries.size() == 3);
  CHECK(entries[0] == json({{"name", "good c"},
                            {"status", "ok"},
                            {"verdict", "ok"},
                            {"place", file.name + ":1"},
                            {"saw", ""},
                            {"advice", ""}}));
  CHECK(entries[1]["name"] == "bad c");
  CHECK(entries[1]["verdict"] == "FAIL");
  CHECK(entries[1]["place"] == file.name + ":3");
  CHECK(has(entries[1]["saw"], "outcome of `resume`: expected gap, got continue 200"));
  CHECK(entries[1]["advice"] == "e2 is held");
  CHECK(entries[2]["status"] == "skipped");
  CHECK(entries[2]["saw"] == "word `promote`");
}

TEST_CASE("an id that stands twice is a failure and a missing one is that alone", "[oracle_run]") {
  const temporary_file file(good + good + "{}\n{}\n");
  const json entries = json::parse(run_oracle(file.name + " --format json").out)["entries"];
  REQUIRE(entries.size() == 4);
  CHECK(entries[0]["status"] == "ok");
  CHECK(entries[1]["saw"] == "this id stands twice in the file");
  CHECK(entries[3]["saw"] == "`id` is missing or no string");
}

TEST_CASE("what was not measured is said of a case that passes", "[oracle_run]") {
  const json made = json::parse(run_oracle(field_file + " --format json").out);
  const auto is_told = [](const json& e) {
    return e["status"] == "ok" && has(e["saw"], "note: limit ") && has(e["saw"], "not measured");
  };
  CHECK(std::any_of(made["entries"].begin(), made["entries"].end(), is_told));
}

TEST_CASE("every format says the same of each case", "[oracle_run]") {
  const temporary_file file(good + bad + skipped);
  const auto out = [&file](const std::string& format) {
    const run_of_program done = run_oracle("--format " + format + " " + file.name);
    CHECK(done.status == 1);
    return done.out;
  };
  CHECK(run_oracle(file.name).out == out("text"));
  CHECK(has(out("text"), "\n1 ok, 1 finding, 1 skipped\n"));
  CHECK(has(out("tap"), "\n1..3\n"));
  CHECK(has(out("tap"), "\nok 1 - good c\nnot ok 2 - bad c\n"));
  CHECK(has(out("tap"), "\nok 3 - skipped c # SKIP word `promote`\n"));
  CHECK(has(out("junit"), "tests=\"3\" failures=\"1\" errors=\"0\" skipped=\"1\""));
  CHECK(has(out("html"), "<title>run " + file.name + ": 1 ok, 1 finding, 1 skipped</title>"));
}

TEST_CASE("the page shows the history of a case that failed and of no other", "[oracle_run]") {
  const temporary_file file(good + bad + skipped);
  const std::string page = run_oracle("--format html " + file.name).out;
  CHECK(has(page, "<summary>bad "));
  CHECK_FALSE(has(page, "<summary>good "));
  CHECK_FALSE(has(page, "<summary>skipped "));
  CHECK(has(page, ">A get</text>"));
  CHECK(has(page, ">FAIL</text>"));
  CHECK(has(page, "held e1 to e2, cursor e1"));
  CHECK(has(page, "continue: replay of stream 0; goes on after 1, 1 events held behind it"));
  const temporary_file fine(good);
  CHECK_FALSE(has(run_oracle("--format html " + fine.name).out, "<summary>good "));
}

// Names of its step, and what came before it, although it fails in the middle.
TEST_CASE("a case that breaks off shows what came before", "[oracle_run]") {
  const temporary_file file(
      R"({"id":"broken","steps":[{"op":"open_session","s":"A"},{"op":"append","s":"A","x":"get","e":["e1"]},)"
      R"({"op":"resume","s":"A","cursor":{"of":"nothing"}}],"expect":{"outcome":"continue"}})");
  const run_of_program done = run_oracle("--format html " + file.name);
  CHECK(done.status == 1);
  CHECK(has(done.out, "no event `nothing` was issued"));
  CHECK(has(done.out, ">e1</text>"));
}

TEST_CASE("a line that is no case is named with its place and the others are run", "[oracle_run]") {
  const temporary_file file(good + "{\"id\":\n" + bad + "[\n");
  const run_of_program done = run_oracle(file.name);
  CHECK(done.status == 2);
  CHECK(done.last_line() == "1 ok, 3 findings, 0 skipped");
  for (const char* line : {":2: not JSON: ", ":4: not JSON: "}) {
    CHECK(has(done.complaints, "mcp-resume-oracle: " + file.name + line));
  }
  const run_of_program missing = run_oracle("/nowhere/at/all " + file.name);
  CHECK(has(missing.complaints, "mcp-resume-oracle: /nowhere/at/all: cannot be opened\n"));
  CHECK(missing.last_line() == "1 ok, 3 findings, 0 skipped");
  CHECK(run_oracle("/tmp").complaints == "mcp-resume-oracle: /tmp: cannot be read\n");
  const temporary_file empty;
  CHECK(run_oracle(empty.name).complaints == "mcp-resume-oracle: " + empty.name + ": holds no case\n");
}

TEST_CASE("a line over 16 MiB ends the file with a complaint", "[oracle_run]") {
  const std::string long_line((std::size_t{16} << 20U) + 1, ' ');
  const temporary_file file(good + long_line + "\n" + bad);
  const run_of_program done = run_oracle(file.name);
  CHECK(done.status == 2);
  CHECK(done.complaints == "mcp-resume-oracle: " + file.name + ":2: longer than 16 MiB\n");
  CHECK(done.last_line() == "1 ok, 0 findings, 0 skipped");
  const temporary_file fits(good + long_line.substr(1) + "\n" + skipped);
  CHECK(run_oracle(fits.name).status == 0);
}

// As in field_words.cpp: what is the square of the size needs many minutes.
TEST_CASE("a line of very many small values costs run and judge no more than its size", "[oracle_run]") {
  constexpr std::size_t n = 700000;
  std::string lists = "[", members = "{";
  for (std::size_t i = 0; i != n; ++i) {
    lists += "{},";
    members += "\"" + std::to_string(i) + "\":0,";
  }
  for (const std::string& value : {lists + "0]", members + "\"\":0}"}) {
    const temporary_file file(R"({"note":)" + value + R"(,"id":"a","steps":)" + value + "}\n");
    const std::string limited = "ulimit -t 60; exec " ORACLE_PROGRAM " ";
    CHECK(run_program(limited + "run " + file.name).last_line() == "0 ok, 1 finding, 0 skipped");
    CHECK(run_program(limited + "judge " + file.name).status == 2);
  }
}

TEST_CASE("no control byte of a case reaches the terminal", "[oracle_run]") {
  const std::string no_cases =
      "\"\x1b[31m\n\"\x9b\n"
      R"({"\u001b[31m":1,"\u001b[31m":2})";
  const temporary_file file(case_line("\\u001b[31m\\u009b", "gap") + no_cases);
  for (const char* format : {"text", "tap", "json", "html"}) {
    const run_of_program done = run_oracle(file.name + " --format " + format);
    INFO(format << done.out);
    CHECK(done.status == 2);
    for (const std::string& text : {done.out, done.complaints}) {
      CHECK_FALSE(has(text, "\x1b"));
      CHECK_FALSE(has(text, "\x9b"));
    }
  }
  CHECK(has(run_oracle(file.name).out, "\\x1b[31m\\u009b c"));
  CHECK(has(run_oracle(file.name).complaints, ":4: key `\\x1b[31m` stands twice in one object\n"));
  CHECK(run_oracle("$(printf '/no\\033where')").complaints == "mcp-resume-oracle: /no\\x1bwhere: cannot be opened\n");
}

TEST_CASE("wrong usage is status 2 with a word on what is wrong", "[oracle_run]") {
  CHECK(run_oracle("").status == 2);
  CHECK(has(run_oracle("").complaints, "FILE"));
  const run_of_program format = run_oracle(field_file + " --format xml");
  CHECK(format.status == 2);
  CHECK(has(format.complaints, "xml"));
  CHECK(format.out.empty());
}

TEST_CASE("the help has an example and says what each exit status means", "[oracle_run]") {
  const run_of_program help = run_oracle("--help");
  CHECK(help.status == 0);
  for (const char* part : {"Example: mcp-resume-oracle run ", "Exit status: 0 ", ", 1 ", ", 2 ", "--format"}) {
    CHECK(has(help.out, part));
  }
}

TEST_CASE("output that cannot be written is no success", "[oracle_run]") {
  if (access("/dev/full", W_OK) != 0) return;
  const temporary_file file(good);
  CHECK(run_oracle(file.name + " >/dev/full").status == 2);
}

}  // namespace
#endif
