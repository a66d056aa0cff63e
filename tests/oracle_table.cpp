// SPDX-License-Identifier: MIT
// Promise: the oracle's `table`, `explain` and `vectors` say what the library decides and nothing else, in a form that
// stays; wrong usage and wrong input are refused with their place.

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "documents.hpp"
#include "mcp_resume/resume.hpp"
#include "model.hpp"

namespace {

namespace mr = mcp_resume;
using nlohmann::json;
using texts = std::vector<std::string>;

// ---- Running programs -----------------------------------------------------------------------------------------------

class temporary_file {
 public:
  explicit temporary_file(const std::string& text) {
    char pattern[] = "/tmp/oracle_tableXXXXXX";
    const int made = mkstemp(pattern);
    REQUIRE(made >= 0);
    std::FILE* file = fdopen(made, "wb");
    REQUIRE(file != nullptr);
    std::fwrite(text.data(), 1, text.size(), file);
    std::fclose(file);
    name = pattern;
  }
  ~temporary_file() { std::remove(name.c_str()); }
  temporary_file(const temporary_file&) = delete;
  temporary_file& operator=(const temporary_file&) = delete;
  std::string name;
};

struct run_of_program {
  int status = -1;
  std::string out, err;
};

std::string quoted(const std::string& text) { return "'" + documents::replaced(text, "'", "'\\''") + "'"; }

std::string output_of(const std::string& command, int& status) {
  std::string out;
  FILE* pipe = popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  char buffer[4096];
  while (const std::size_t size = std::fread(buffer, 1, sizeof buffer, pipe)) out.append(buffer, size);
  const int ended = pclose(pipe);
  status = WIFEXITED(ended) ? WEXITSTATUS(ended) : -1;
  return out;
}

run_of_program run(const texts& words) {
  const temporary_file complaints("");
  std::string command;
  for (const std::string& word : words) command += quoted(word) + " ";
  run_of_program done;
  done.out = output_of(command + "2>" + complaints.name, done.status);
  std::ostringstream text;
  text << std::ifstream(complaints.name, std::ios::binary).rdbuf();
  done.err = text.str();
  return done;
}

run_of_program oracle(texts words) {
  words.insert(words.begin(), ORACLE_PROGRAM);
  return run(words);
}

bool is_harmless(const std::string& text) {
  return std::none_of(text.begin(), text.end(),
                      [](char c) { return (c >= 0 && c < 0x20 && c != '\n') || c == 0x7F; }) &&
         text.find("\xc2\x9b") == std::string::npos;  // what a terminal takes for ESC [
}

// What is refused says why, in one line that a terminal does not obey, and prints nothing else.
void check_refused(const run_of_program& done, const std::string& complaint) {
  INFO(done.err);
  CHECK(done.status == 2);
  CHECK(done.out.empty());
  CHECK(done.err.find(complaint) != std::string::npos);
  CHECK(done.err.size() < 1000);
  CHECK(is_harmless(done.err));
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// ---- table ----------------------------------------------------------------------------------------------------------

TEST_CASE("the table of README is the output of the command", "[oracle_table]") {
  std::string in_readme;
  for (const std::string& line : documents::section("## The decision")) {
    if (documents::starts_with(line, "|")) in_readme += line + "\n";
  }
  const run_of_program done = oracle({"table", "--format", "markdown"});
  CHECK(done.status == 0);
  CHECK(done.out == in_readme);
  CHECK(done.err.empty());
}

TEST_CASE("the table as text has a line for each row in order", "[oracle_table]") {
  const run_of_program done = oracle({"table"});
  CHECK(done.status == 0);
  CHECK(oracle({"table", "--format", "text"}).out == done.out);
  const texts lines = documents::lines_of(done.out);
  REQUIRE(lines.size() == mr::reason_count + 1);
  CHECK(documents::with_single_blanks(lines[0]) ==
        "# reason outcome HTTP advice fact; the first one that fits decides");
  CHECK(documents::with_single_blanks(lines[1]) ==
        "1 unsupported_protocol reject 400 stop protocol version sent but not among those supported");
  CHECK(documents::with_single_blanks(lines[14]) == "14 evicted gap 200 resync seq + 1 < first");
  for (std::size_t i = 0; i != mr::reason_count; ++i) {
    const mr::decision_row& row = mr::decision_table[i];
    const std::string expected = std::to_string(i + 1) + " " + std::string(row.name) + " " +
                                 std::string(to_string(row.outcome)) + " " + std::to_string(row.http_status) + " " +
                                 std::string(to_string(row.advice)) + " " + std::string(row.fact);
    CHECK(documents::with_single_blanks(lines[i + 1]) == expected);
  }
}

TEST_CASE("the table as JSON has all of each row", "[oracle_table]") {
  const run_of_program done = oracle({"table", "--format", "json"});
  CHECK(done.status == 0);
  const json rows = json::parse(done.out);
  REQUIRE(rows.size() == mr::reason_count);
  for (std::size_t i = 0; i != rows.size(); ++i) {
    const mr::decision_row& row = mr::decision_table[i];
    CHECK(rows[i] == json{{"row", i + 1},
                          {"fact", row.fact},
                          {"reason", row.name},
                          {"outcome", to_string(row.outcome)},
                          {"status", row.http_status},
                          {"advice", to_string(row.advice)}});
  }
}

// The place of a word among those of its enum, in the order of the header.
std::size_t place_of(const json& facts, const char* fact, std::string_view words) {
  const std::string wanted = facts.at(fact).get<std::string>();
  std::size_t place = 0;
  std::istringstream in{std::string(words)};
  for (std::string word; in >> word; ++place) {
    if (word == wanted) return place;
  }
  FAIL("no such word: " << wanted);
  return place;
}

mr::facts facts_in(const json& words) {
  mr::facts f;
  f.version = static_cast<mr::version_fact>(place_of(words, "version", "supported stateless unsupported"));
  f.session = static_cast<mr::session_fact>(place_of(words, "session", "live not_named gone of_another_principal"));
  f.cursor = static_cast<mr::cursor_fact>(
      place_of(words, "cursor", "absent malformed foreign stale_standalone stale_request own"));
  f.standalone = static_cast<mr::reader_fact>(place_of(words, "standalone_reader", "none live"));
  f.stream = static_cast<mr::stream_fact>(place_of(words, "stream", "open finished forgotten never_opened"));
  f.place = static_cast<mr::place_fact>(place_of(words, "place", "inside newest evicted ahead"));
  return f;
}

TEST_CASE("every combination of facts stands there once with what the library decides", "[oracle_table]") {
  constexpr std::size_t combinations = 3 * 4 * 6 * 2 * 4 * 4;
  const run_of_program done = oracle({"table", "--all", "--format", "json"});
  CHECK(done.status == 0);
  texts lines = documents::lines_of(done.out);
  REQUIRE(lines.size() == combinations + 1);
  CHECK(json::parse(lines[0]) == json{{"combinations", combinations}});
  lines.erase(lines.begin());
  std::set<std::string> facts, reasons;
  for (const std::string& line : lines) {
    const json each = json::parse(line);
    const mr::decision_row& row = mr::row_of(mr::decide(facts_in(each.at("facts"))));
    CHECK(each.at("reason") == row.name);
    CHECK(each.at("row") == static_cast<std::size_t>(row.reason) + 1);
    CHECK(each.at("outcome") == to_string(row.outcome));
    CHECK(each.at("status") == row.http_status);
    CHECK(each.at("advice") == to_string(row.advice));
    facts.insert(each.at("facts").dump());
    reasons.insert(each.at("reason").get<std::string>());
  }
  CHECK(facts.size() == combinations);
  CHECK(reasons.size() == mr::reason_count);
}

TEST_CASE("every combination as text says the same and how many they are", "[oracle_table]") {
  const run_of_program done = oracle({"table", "--all"});
  CHECK(done.status == 0);
  const texts lines = documents::lines_of(done.out);
  const texts in_json = documents::lines_of(oracle({"table", "--all", "--format", "json"}).out);
  REQUIRE(lines.size() == in_json.size() + 1);
  CHECK(documents::starts_with(lines[0], std::to_string(in_json.size() - 1) + " combinations of facts"));
  for (std::size_t i = 1; i != in_json.size(); ++i) {
    const json each = json::parse(in_json[i]), facts = each.at("facts");
    std::string expected;
    for (const char* fact : {"version", "session", "cursor", "standalone_reader", "stream", "place"}) {
      expected += facts.at(fact).get<std::string>() + " ";
    }
    expected += each.at("row").dump() + " " + each.at("reason").get<std::string>() + " " +
                each.at("outcome").get<std::string>() + " " + each.at("status").dump();
    CHECK(documents::with_single_blanks(lines[i + 1]) == expected);
  }
}

TEST_CASE("table refuses what it does not know", "[oracle_table]") {
  check_refused(oracle({"table", "--format", "html"}), "html not in {text,markdown,json}");
  check_refused(oracle({"table", "--all", "--format", "markdown"}), "--format markdown: has no --all");
  check_refused(oracle({"table", "--every"}), "--every");
  check_refused(oracle({"table", "extra"}), "extra");
}

// ---- explain: the facts as options ----------------------------------------------------------------------------------

std::string after_label(const std::string& out, const std::string& label) {
  const std::size_t at = out.find(label);
  if (at == std::string::npos) return "no " + label;
  const std::size_t begin = at + label.size();
  return out.substr(begin, out.find('\n', begin) - begin);
}

std::string reason_of(const run_of_program& done) {
  const std::string line = after_label(done.out, "reason    ");
  return line.substr(0, line.find(','));
}

TEST_CASE("explain prints all of a decision", "[oracle_table]") {
  const run_of_program done =
      oracle({"explain", "--session", "live", "--cursor-seq", "418", "--first", "513", "--next", "601"});
  CHECK(done.status == 0);
  CHECK(done.err.empty());
  CHECK(
      done.out ==
      "outcome   gap\n"
      "reason    evicted, row 14 of 17\n"
      "status    200\n"
      "          Cache-Control: no-store\n"
      "          Content-Type: text/event-stream\n"
      "          X-Accel-Buffering: no\n"
      "advice    resync\n"
      "rule      seq + 1 < first\n"
      "source    This library: no loss is silent. MCP, Resumability and Redelivery, only says that the server \"MAY\" "
      "replay, and\n"
      "          has no word for what it cannot. The stream goes on, so it is no 4xx.\n"
      "for logs  gap: cursor 418, oldest held 513, 94 events no longer held; goes on after 600, 182 missed\n"
      "\n"
      "stream 0, window [513, 601)\n"
      "  |... 1 to 418 ...|... 419 to 512 ...[=== 513 to 600 ===)\n"
      "                   ^ cursor 418\n"
      "                                                         ^ goes on after 600\n"
      "  . not held   = held\n");
}

struct explained {
  texts options;
  const char* reason;
  const char* part;  // of what is printed
};

TEST_CASE("each row can be explained from its facts", "[oracle_table]") {
  const explained wanted[] = {
      {{"--protocol", "draft"}, "unsupported_protocol", "MUST respond with `400 Bad Request`"},
      {{"--protocol", "2026-07-28"}, "stateless_protocol", "\n          Allow: POST\n"},
      {{"--session", "not_named"}, "no_session", "SHOULD respond to requests without"},
      {{"--session", "gone"}, "session_gone", "HTTP 404 Not Found"},
      {{"--session", "gone", "--cursor", "own"}, "session_gone", "no stream is looked at"},
      {{"--session", "of_another_principal"}, "wrong_principal", "MUST NOT use sessions for authentication"},
      {{"--standalone-reader"}, "occupied", "MCP is silent"},
      {{"--cursor", "absent"}, "fresh", "  ^ read mark 0\n  ^ goes on after 0\n  nothing was issued yet\n"},
      {{"--cursor", "malformed"}, "malformed_cursor", "no stream is looked at"},
      {{"--cursor", "malformed", "--standalone-reader"}, "malformed_cursor", "no stream is looked at"},
      {{"--cursor", "foreign", "--cursor-seq", "3"}, "foreign_cursor", "of another session"},
      {{"--cursor", "stale", "--first", "4", "--next", "8"}, "stale_incarnation", "another life of the log"},
      {{"--cursor", "stale", "--stream", "2"}, "stale_request", "another life of the log"},
      {{"--cursor", "own", "--never-opened", "--stream", "9"}, "never_issued", "stream 9 was never opened\n"},
      {{"--cursor-seq", "5", "--first", "1", "--next", "4"},
       "never_issued",
       "  [=== 1 to 3 ===)??? 4 to 5 ???|\n                                ^ cursor 5\n  = held   ? never issued\n"},
      {{"--cursor", "own", "--forgotten"}, "forgotten", "stream 1 has no record any more\n"},
      {{"--cursor-seq", "1", "--first", "4", "--next", "8", "--finished"},
       "evicted",
       "  |... 1 ...|... 2 to 3 ...[=== 4 to 6 ===|=== 7 ===)\n            ^ cursor 1\n"
       "                                          ^ goes on after 6\n"},
      {{"--cursor-seq", "1", "--first", "4", "--next", "8", "--after-gap", "oldest_held"},
       "evicted",
       "  |... 1 ...|... 2 to 3 ...[=== 4 to 7 ===)\n            ^ cursor 1\n"
       "                           ^ goes on after 3\n"},
      {{"--cursor-seq", "3", "--first", "1", "--next", "4", "--finished"}, "complete", "stop reconnecting"},
      {{"--cursor-seq", "3", "--first", "4", "--next", "4"}, "up_to_date", "  |... 1 to 3 ...|\n"},
      {{"--cursor-seq", "18446744073709551614", "--first", "18446744073709551615", "--next", "18446744073709551615"},
       "up_to_date",
       "goes on after 18446744073709551614"},
      {{"--cursor-seq", "18446744073709551615", "--first", "1", "--next", "18446744073709551615"},
       "never_issued",
       "18446744073709551615 ???"},
      {{"--cursor-seq", "3", "--first", "4", "--next", "8"}, "replay", "   ^ cursor 3\n"},
      {{"--cursor-seq", "4", "--first", "4", "--next", "8"}, "replay", "[=== 4 ===|=== 5 to 7 ===)\n"},
      {{"--cursor-seq", "3", "--first", "4", "--next", "8", "--stream", "4294967295"}, "replay", "stream 4294967295, "},
      {{"--read-mark", "2", "--first", "5", "--next", "9"}, "fresh", "^ read mark 2\n"},
  };
  std::set<std::string> reasons;
  for (const explained& each : wanted) {
    texts words = each.options;
    words.insert(words.begin(), "explain");
    const run_of_program done = oracle(words);
    INFO(done.out << done.err);
    CHECK(done.status == 0);
    CHECK(reason_of(done) == each.reason);
    CHECK(contains(done.out, each.part));
    reasons.insert(reason_of(done));
  }
  CHECK(reasons.size() == mr::reason_count);
}

TEST_CASE("contradictory and missing facts are refused by name", "[oracle_table]") {
  const std::pair<texts, const char*> wrong[] = {
      {{}, "explain: say the facts"},
      {{"--cursor", "own"}, "--cursor own: needs also --cursor-seq --first --next\n"},
      {{"--cursor", "own", "--cursor-seq", "3"}, "--cursor own: needs also --first --next\n"},
      {{"--cursor-seq", "3"}, "--cursor-seq: needs also --first --next\n"},
      {{"--cursor-seq", "3", "--first", "1"}, "--next: is missing beside --first"},
      {{"--cursor-seq", "3", "--next", "1"}, "--first: is missing beside --next"},
      {{"--cursor-seq", "3", "--first", "0", "--next", "1"}, "--first: must be from 1 to --next"},
      {{"--cursor-seq", "3", "--first", "6", "--next", "5"}, "--first: must be from 1 to --next"},
      {{"--cursor-seq", "3", "--first", "6", "--next", "5", "--session", "gone"}, "--first: must be from 1 to --next"},
      {{"--cursor", "absent", "--cursor-seq", "3"}, "--cursor-seq: contradicts a cursor that is absent"},
      {{"--cursor", "malformed", "--cursor-seq", "3"}, "--cursor-seq: contradicts a cursor that is malformed"},
      {{"--cursor", "malformed", "--stream", "3"}, "--stream: contradicts a cursor that is malformed"},
      {{"--finished"}, "--finished: contradicts a cursor that is absent"},
      {{"--forgotten", "--cursor", "malformed"}, "--forgotten: contradicts a cursor that is malformed"},
      {{"--cursor-seq", "3", "--read-mark", "1"}, "--read-mark: contradicts a cursor that is own"},
      {{"--read-mark", "4", "--first", "1", "--next", "4"}, "--read-mark: must be a whole number from 0 to 3"},
      {{"--cursor-seq", "3", "--finished", "--forgotten"}, "--finished: contradicts the other of"},
      {{"--cursor-seq", "3", "--finished", "--stream", "0"}, "--finished: contradicts --stream 0"},
      {{"--cursor-seq", "3", "--never-opened", "--stream", "0"}, "--never-opened: contradicts --stream 0"},
      {{"--cursor-seq", "3", "--forgotten", "--first", "1", "--next", "4"}, "--forgotten: contradicts --first"},
      {{"--cursor-seq", "-1", "--first", "1", "--next", "4"}, "--cursor-seq: must be a whole number"},
      {{"--cursor-seq", "0x1", "--first", "1", "--next", "4"}, "--cursor-seq: must be a whole number"},
      {{"--cursor-seq", "", "--first", "1", "--next", "4"}, "--cursor-seq"},
      {{"--cursor-seq", "18446744073709551616", "--first", "1", "--next", "4"}, "--cursor-seq: must be a whole number"},
      {{"--cursor-seq", "1\x1b[31m", "--first", "1", "--next", "4"}, "not \"1\\x1b[31m\""},
      {{"--cursor-seq", "1", "--stream", "4294967296", "--first", "1", "--next", "4"}, "from 0 to 4294967295"},
      {{"--session", "dead"}, "dead not in"},
      {{"--cursor", "mine"}, "mine not in"},
      {{"--after-gap", "nowhere", "--cursor", "absent"}, "nowhere not in"},
      {{"--session-id", "8c0f"}, "--session-id: needs --state"},
      {{"--last-event-id", "x"}, "--last-event-id: needs --state"},
      {{"--principal", "alice"}, "--principal: needs --state"},
      {{"--colour"}, "--colour"},
  };
  for (const auto& [options, complaint] : wrong) {
    texts words = options;
    words.insert(words.begin(), "explain");
    INFO(complaint);
    check_refused(oracle(words), complaint);
  }
}

// ---- explain: a state file and a request ----------------------------------------------------------------------------

const std::string alice_tags = R"("tags":{"session":"5f0c2d9a1b3e4c77","incarnation":"9f8e7d6c5b4a3921"})";
const std::string alice = R"({"id":"8c0f","principal":"alice","version":"2025-11-25",)" + alice_tags;

std::string state_with(const std::string& streams) {
  return R"({"sessions":[)" + alice + R"(,"streams":[)" + streams + "]}]}";
}

run_of_program explain_state(const std::string& state, texts options) {
  const temporary_file file(state);
  options.insert(options.begin(), {"explain", "--state", file.name});
  return oracle(options);
}

TEST_CASE("a state file and two headers are explained by what the file holds", "[oracle_table]") {
  const std::string state = state_with(R"({"number":0,"first":513,"next":601},{"number":3,"state":"finished","first":2,
    "next":3,"events":["5f0c2d9a1b3e4c77.9f8e7d6c5b4a3921.3.2"]},{"number":4,"state":"forgotten"})");
  const auto reason_for = [&](const std::string& cursor, const std::string& principal = "alice") {
    const run_of_program done = explain_state(state, {"--protocol", "2025-11-25", "--session-id", "8c0f",
                                                      "--last-event-id=" + cursor, "--principal", principal});
    INFO(done.err);
    CHECK(done.status == 0);
    return reason_of(done);
  };
  const std::string own = "5f0c2d9a1b3e4c77.9f8e7d6c5b4a3921.";
  CHECK(reason_for(own + "0.418") == "evicted");
  CHECK(reason_for(own + "0.512") == "replay");
  CHECK(reason_for(own + "0.600") == "up_to_date");
  CHECK(reason_for(own + "0.601") == "never_issued");
  CHECK(reason_for(own + "3.2") == "complete");
  CHECK(reason_for(own + "4.2") == "forgotten");
  CHECK(reason_for(own + "5.2") == "never_issued");
  CHECK(reason_for("5f0c2d9a1b3e4c78.9f8e7d6c5b4a3921.0.600") == "foreign_cursor");
  CHECK(reason_for("5f0c2d9a1b3e4c77.9f8e7d6c5b4a3920.0.600") == "stale_incarnation");
  CHECK(reason_for(own + "0.512", "mallory") == "wrong_principal");
  CHECK(reason_for("\x1b[31m") == "malformed_cursor");
  CHECK(reason_of(explain_state(state, {"--session-id", "8c0f"})) == "wrong_principal");
  CHECK(reason_of(explain_state(state, {"--principal", "alice"})) == "no_session");
  CHECK(reason_of(explain_state(state, {"--session-id", "8c0f", "--principal", "alice"})) == "fresh");
}

TEST_CASE("a state file may leave out what is usual", "[oracle_table]") {
  const std::string bare = R"({"sessions":[)" + alice + "}]}";
  const texts request = {"--session-id", "8c0f", "--principal", "alice"};
  CHECK(reason_of(explain_state(bare, request)) == "fresh");
  CHECK(reason_of(explain_state(R"({"sessions":[{"id":"8c0f","state":"ended"}]})", request)) == "session_gone");
  CHECK(reason_of(explain_state(R"({"sessions":[]})", request)) == "session_gone");
  const std::string old = R"({"sessions":[],"supported":["2025-06-18"]})";
  CHECK(reason_of(explain_state(old, {"--protocol", "2025-11-25"})) == "unsupported_protocol");
  CHECK(reason_of(explain_state(old, {"--protocol", "2025-06-18"})) == "no_session");
  const std::string read = R"({"sessions":[)" + alice + R"(,"standalone_reader":true}]})";
  CHECK(reason_of(explain_state(read, request)) == "occupied");
}

TEST_CASE("a wrong state file is refused with its field", "[oracle_table]") {
  const std::string zero = R"("number":0,"first":1,"next":3)";
  const std::pair<std::string, const char*> wrong[] = {
      {"", "not JSON"},
      {"{", "not JSON"},
      {"\xff\xfe", "not JSON"},
      {R"({"sessions":["\x1b)", "not JSON"},
      {std::string(100000, '['), "nested more than 64 deep"},
      {"[]", "must be an object"},
      {"{}", "`sessions` is missing"},
      {R"({"sessions":[],"sessions":[]})", "`sessions` stands twice"},
      {R"({"sessions":{}})", "`sessions` must be a list"},
      {R"({"session":[]})", "unknown field `session`"},
      {R"({"sessions":[],"\u001b[31m":1})", "unknown field `\\x1b[31m`"},
      {R"({"sessions":[],"supported":["draft"]})", "supported[0]: must be a known protocol version"},
      {R"({"sessions":[7]})", "sessions[0]: must be an object"},
      {R"({"sessions":[{}]})", "sessions[0]: `id` is missing"},
      {R"({"sessions":[{"id":""}]})", "sessions[0]: `id` must not be empty"},
      {R"({"sessions":[{"id":7}]})", "sessions[0]: `id` must be a string"},
      {R"({"sessions":[{"id":"a"}]})", "sessions[0]: `version` is missing"},
      {R"({"sessions":[{"id":"a","version":"x"}]})", "sessions[0].version: must be a known protocol version"},
      {R"({"sessions":[{"id":"a","version":"2026-07-28"}]})", "sessions[0]: `version` has no sessions"},
      {R"({"sessions":[{"id":"a","version":"2025-11-25"}]})", "sessions[0]: `tags` is missing"},
      {R"({"sessions":[{"id":"a","version":"2025-11-25","tags":{"session":"5F0c2d9a1b3e4c77"}}]})",
       "sessions[0].tags: `session` must be 16 lower-case hex digits"},
      {R"({"sessions":[{"id":"a","state":"dead"}]})", "sessions[0]: `state` must be live, ended or expired"},
      {R"({"sessions":[{"id":"a","state":"ended","streams":[]}]})", "sessions[0]: unknown field `streams`"},
      {R"({"sessions":[)" + alice + "}," + alice + "}]}", "sessions[1]: `id` stands twice"},
      {R"({"sessions":[)" + alice + R"(,"standalone_reader":1}]})", "`standalone_reader` must be true or false"},
      {state_with("{}"), "sessions[0].streams[0]: `number` is missing"},
      {state_with(R"({"number":-1})"), "`number` must be a whole number from 0 to 4294967295"},
      {state_with(R"({"number":4294967296})"), "`number` must be a whole number from 0 to 4294967295"},
      {state_with(R"({"number":1.5})"), "`number` must be a whole number"},
      {state_with(R"({"number":0,"next":3})"), "`first` is missing"},
      {state_with(R"({"number":0,"first":0,"next":3})"), "`first` must be from 1 to `next`"},
      {state_with(R"({"number":0,"first":4,"next":3})"), "`first` must be from 1 to `next`"},
      {state_with(R"({"number":0,"first":1,"next":"18446744073709551616"})"), "`next` must be a whole number"},
      {state_with("{" + zero + R"(,"state":"finished"})"), "stream 0 is always open"},
      {state_with("{" + zero + R"(,"state":"closed"})"), "`state` must be open, finished, forgotten or never_opened"},
      {state_with("{" + zero + R"(,"read_mark":3})"), "`read_mark` must be a whole number from 0 to 2"},
      {state_with("{" + zero + "},{" + zero + "}"), "sessions[0].streams[1]: `number` stands twice"},
      {state_with(R"({"number":1,"first":1,"next":3,"read_mark":1})"), "unknown field `read_mark`"},
      {state_with(R"({"number":1,"state":"never_opened"})"), "leave out a stream that was never opened"},
      {state_with(R"({"number":1,"state":"forgotten","first":1})"), "unknown field `first`"},
      {state_with("{" + zero + R"(,"events":[]})"), "`events` must hold every event of [first, next)"},
      {state_with("{" + zero + R"(,"events":["5f0c2d9a1b3e4c77.9f8e7d6c5b4a3921.0.2"]})"),
       "sessions[0].streams[0].events[0]: must be \"5f0c2d9a1b3e4c77.9f8e7d6c5b4a3921.0.1\""},
      {state_with(R"({"number":0,"first":1,"next":1,"events":[7]})"), "events[0]: is not in [first, next)"},
  };
  for (const auto& [state, complaint] : wrong) {
    const temporary_file file(state);
    INFO(state.substr(0, 200));
    const run_of_program done = oracle({"explain", "--state", file.name});
    check_refused(done, complaint);
    CHECK(contains(done.err, file.name + ": "));
  }
}

TEST_CASE("a state file that cannot be read or is huge is refused", "[oracle_table]") {
  check_refused(oracle({"explain", "--state", "/nowhere/at/all"}), "/nowhere/at/all: cannot be read");
  check_refused(oracle({"explain", "--state", "/tmp"}), "/tmp: cannot be read");
  check_refused(oracle({"explain", "--state", "/nowhere\x1b[31m"}), "cannot be read");
  check_refused(explain_state(std::string((16U << 20U) + 1, ' '), {}), "is larger than 16 MiB");
  check_refused(explain_state(std::string(16U << 20U, ' '), {}), "not JSON");
}

std::string repeated(const std::string& text, std::size_t times) {
  std::string out;
  for (std::size_t i = 0; i != times; ++i) out += text;
  return out;
}

// At the cost of a square of its size each of these would take minutes.
TEST_CASE("a state file costs what its size says", "[oracle_table]") {
  check_refused(explain_state(R"({"sessions":[)" + repeated("{},", 300000) + "{}]}", {}), "`id` is missing");
  std::string sessions, keys;
  for (int i = 0; i != 60000; ++i) {
    keys += "\"k" + std::to_string(i) + "\":0,";
    sessions += R"({"id":"s)" + std::to_string(i) + R"(","state":"ended"},)";
  }
  check_refused(explain_state("{" + keys + R"("sessions":[]})", {}), "unknown field `k0`");
  CHECK(explain_state(R"({"sessions":[)" + sessions + alice + "}]}", {}).status == 0);
}

TEST_CASE("facts as options contradict a state file", "[oracle_table]") {
  for (const char* option : {"--session=live", "--cursor=own", "--cursor-seq=1", "--stream=1", "--first=1", "--next=1",
                             "--read-mark=1", "--finished", "--forgotten", "--never-opened", "--standalone-reader"}) {
    const std::string name = std::string(option).substr(0, std::string(option).find('='));
    check_refused(explain_state(R"({"sessions":[]})", {option}), name + ": contradicts --state");
  }
}

// ---- vectors --------------------------------------------------------------------------------------------------------

const std::string& default_vectors() {
  static const run_of_program done = oracle({"vectors"});
  CHECK(done.status == 0);
  CHECK(done.err.empty());
  return done.out;
}

std::vector<json> parsed(const std::string& lines) {
  std::vector<json> out;
  for (const std::string& line : documents::lines_of(lines)) out.push_back(json::parse(line));
  return out;
}

std::uint64_t whole(const json& value) {
  if (value.is_number_unsigned()) return value.get<std::uint64_t>();
  return std::strtoull(value.get<std::string>().c_str(), nullptr, 10);
}

// FNV-1a.
std::uint64_t checksum(const std::string& bytes) {
  std::uint64_t sum = 0xCBF29CE484222325U;
  for (const char c : bytes) sum = (sum ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
  return sum;
}

// If this fails, vectors of other people's files have changed: that needs another schema version.
TEST_CASE("the vectors of version 1 never change", "[oracle_table]") {
  const std::string& lines = default_vectors();
  CHECK(documents::lines_of(lines)[0] ==
        R"({"count":1000,"fixed":497,"schema":"mcp-resume-vectors","seed":1,"version":1})");
  CHECK(checksum(lines) == 0x151EA35DCCC22529);
  const run_of_program other = oracle({"vectors", "--seed", "18446744073709551615", "--count", "1200"});
  CHECK(checksum(other.out) == 0xFB5D5419F4478978);
  CHECK(documents::lines_of(other.out)[0] ==
        R"({"count":1200,"fixed":497,"schema":"mcp-resume-vectors","seed":"18446744073709551615","version":1})");
}

TEST_CASE("a number is a string from 2^53 + 1 on", "[oracle_table]") {
  const auto schema = [](const char* seed) {
    return json::parse(documents::lines_of(oracle({"vectors", "--count", "497", "--seed", seed}).out).at(0));
  };
  CHECK(schema("9007199254740992").at("seed") == 9007199254740992U);
  CHECK(schema("9007199254740993").at("seed") == "9007199254740993");
}

TEST_CASE("a seed changes the random vectors alone and a count their number alone", "[oracle_table]") {
  const texts usual = documents::lines_of(default_vectors());
  const texts other = documents::lines_of(oracle({"vectors", "--seed", "2"}).out);
  const texts more = documents::lines_of(oracle({"vectors", "--count", "1100"}).out);
  const texts fixed = documents::lines_of(oracle({"vectors", "--count", "497"}).out);
  REQUIRE(usual.size() == 1001);
  REQUIRE(other.size() == 1001);
  REQUIRE(more.size() == 1101);
  REQUIRE(fixed.size() == 498);
  CHECK(std::equal(fixed.begin() + 1, fixed.end(), usual.begin() + 1));
  CHECK(std::equal(usual.begin() + 1, usual.end(), more.begin() + 1));
  CHECK(std::equal(fixed.begin() + 1, fixed.end(), other.begin() + 1));
  std::size_t same = 0;
  for (std::size_t i = 498; i != 1001; ++i) same += usual[i] == other[i] ? 1U : 0U;
  CHECK(same == 0);
}

// No number that a double would change, and each text of a number is one that it would.
void check_numbers(const json& value) {
  constexpr std::uint64_t most = std::uint64_t{1} << 53U;
  if (value.is_number()) {
    CHECK(value.is_number_unsigned());
    CHECK(value.get<std::uint64_t>() <= most);
  }
  if (!value.is_object() && !value.is_array()) return;
  for (const auto& [key, each] : value.items()) {
    const bool is_count = key == "first" || key == "next" || key == "read_mark" || key == "missed";
    if (is_count && each.is_string()) CHECK(whole(each) > most);
    check_numbers(each);
  }
}

TEST_CASE("each vector is ASCII with sorted keys and exact numbers and a name of its own", "[oracle_table]") {
  std::set<std::string> names;
  std::size_t texts_of_numbers = 0;
  for (const std::string& line : documents::lines_of(default_vectors())) {
    const json vector = json::parse(line);
    CHECK(line == vector.dump(-1, ' ', true));  // of this type of JSON the keys are sorted
    CHECK(std::all_of(line.begin(), line.end(), [](char c) { return c >= 0x20 && c <= 0x7E; }));
    check_numbers(vector);
    texts_of_numbers += contains(line, R"("next":"184)") ? 1U : 0U;
    if (vector.contains("name")) CHECK(names.insert(vector.at("name").get<std::string>()).second);
  }
  CHECK(names.size() == 1000);
  CHECK(texts_of_numbers > 20);
}

struct answer_of_reason {
  const char* reason;
  const char* outcome;
  int status;
  const char* advice;
};
const answer_of_reason answers[] = {
    {"unsupported_protocol", "reject", 400, "stop"},
    {"stateless_protocol", "reject", 405, "stop"},
    {"no_session", "reset", 400, "reinitialize"},
    {"session_gone", "reset", 404, "reinitialize"},
    {"wrong_principal", "reject", 404, "reinitialize"},
    {"occupied", "reject", 409, "retry"},
    {"fresh", "continue", 200, "none"},
    {"malformed_cursor", "reject", 400, "resubscribe"},
    {"foreign_cursor", "reject", 409, "resubscribe"},
    {"stale_incarnation", "reset", 200, "resync"},
    {"stale_request", "reset", 410, "resync"},
    {"never_issued", "reject", 409, "resubscribe"},
    {"forgotten", "gap", 410, "resync"},
    {"evicted", "gap", 200, "resync"},
    {"complete", "continue", 204, "none"},
    {"up_to_date", "continue", 200, "none"},
    {"replay", "continue", 200, "none"},
};

// The model in the state of a vector.
class model_of_state {
 public:
  explicit model_of_state(const json& state) : world(bounds_for(state)) {
    for (const json& each : state.at("sessions")) {
      if (each.at("state") == "live") add(each);
    }
  }

  model::world world;

 private:
  static mr::options bounds_for(const json& state) {
    mr::options bounds;
    for (std::size_t i = 0; i != mr::protocol_count; ++i) {
      const auto version = static_cast<mr::protocol>(i);
      const json& listed = state.at("supported");
      const bool is_listed = std::find(listed.begin(), listed.end(), json(to_string(version))) != listed.end();
      if (!is_listed) bounds.supported = bounds.supported.without(version);
    }
    return bounds;
  }
  void add(const json& state) {
    const std::string id = state.at("id");
    const auto tag = [&](const char* of) { return model::tag_of(state.at("tags").at(of).get<std::string>()); };
    const auto version = mr::parse_protocol(state.at("version").get<std::string>());
    REQUIRE(version.has_value());
    REQUIRE(world.create(id, state.at("principal"), *version, tag("session"), tag("incarnation")) == mr::refusal::none);
    auto& session = const_cast<model::session&>(*world.find(id));  // no history leads to a state that is given
    session.streams.clear();
    for (const json& each : state.at("streams")) session.streams.push_back(stream(each, session.owner));
    session.streams[0].is_attached = state.at("standalone_reader");
  }
  static model::stream stream(const json& state, mr::tags owner) {
    model::stream made;
    made.number = state.at("number");
    made.is_finished = state.at("state") != "open";
    made.has_record = state.at("state") != "forgotten";
    if (!made.has_record) return made;
    made.first_seq = whole(state.at("first"));
    for (std::uint64_t seq = made.first_seq; seq != whole(state.at("next")); ++seq) {
      CHECK(state.at("events").at(made.events.size()) == to_string(mr::event_id{owner, made.number, seq}));
      made.events.push_back({"payload", 0, true});
    }
    CHECK(state.at("events").size() == made.events.size());
    if (made.number == 0) made.read_mark = whole(state.at("read_mark"));
    return made;
  }
};

texts replay_of(model::world& world, model::reader& from) {
  texts ids;
  const auto take = [&](const model::frame& f) {
    if (f.kind == mr::frame_kind::event) ids.push_back(to_string(f.id));
    return true;
  };
  for (int reads = 0; reads != 3; ++reads) static_cast<void>(world.read(from, take));  // a signal, then all of it
  return ids;
}

json expected_by_model(const json& vector) {
  model_of_state server(vector.at("state"));
  const json& headers = vector.at("request").at("headers");
  const model::asked asked{headers.value("MCP-Protocol-Version", ""), headers.value("Mcp-Session-Id", ""),
                           headers.value("Last-Event-ID", ""), vector.at("request").at("principal")};
  const model::decision decided = server.world.resolve(asked);
  const answer_of_reason& answer = answers[static_cast<std::size_t>(decided.reason)];
  model::reader reader = server.world.attach(decided, {});
  json out{{"row", static_cast<int>(decided.reason) + 1},
           {"reason", answer.reason},
           {"outcome", answer.outcome},
           {"status", answer.status},
           {"advice", answer.advice},
           {"resume_after", nullptr}};
  if (decided.is_served()) {
    out["resume_after"] = to_string(mr::event_id{decided.to.owner, decided.to.stream, *decided.resume_after});
  }
  out["missed"] = decided.missed;
  out["replay"] = replay_of(server.world, reader);
  return out;
}

TEST_CASE("a slow model decides every vector in the same way from its state alone", "[oracle_table]") {
  std::map<std::string, int> reasons;
  int gaps_of_fresh = 0, answers_after_gap = 0;
  for (const char* seed : {"1", "20260728"}) {
    for (const json& vector : parsed(oracle({"vectors", "--count", "1500", "--seed", seed}).out)) {
      if (!vector.contains("name")) continue;
      json expected = vector.at("expect");
      expected["missed"] = whole(expected.at("missed"));
      INFO(vector.dump());
      CHECK(expected == expected_by_model(vector));
      ++reasons[expected.at("reason")];
      gaps_of_fresh += expected.at("reason") == "fresh" && expected.at("missed") != 0 ? 1 : 0;
      answers_after_gap += expected.at("reason") == "evicted" && !expected.at("replay").empty() ? 1 : 0;
    }
  }
  CHECK(reasons.size() == mr::reason_count);
  for (const auto& [reason, count] : reasons) {
    INFO(reason);
    CHECK(count >= 10);
  }
  CHECK(gaps_of_fresh >= 10);
  CHECK(answers_after_gap >= 10);
}

// The seqs of the own cursors in the fixed vectors beside the window of their streams.
TEST_CASE("the fixed vectors have every row and every edge", "[oracle_table]") {
  std::set<std::string> rows, edges, streams, versions, lives;
  for (const json& vector : parsed(oracle({"vectors", "--count", "497"}).out)) {
    if (!vector.contains("name")) continue;
    rows.insert(vector.at("expect").at("reason"));
    const json& headers = vector.at("request").at("headers");
    versions.insert(headers.value("MCP-Protocol-Version", "absent"));
    for (const json& session : vector.at("state").at("sessions")) lives.insert(session.at("state"));
    const auto id = model::parse(headers.value("Last-Event-ID", ""));
    const json& session = vector.at("state").at("sessions").at(0);
    if (!id || session.at("state") != "live") continue;
    streams.insert(std::to_string(id->stream));
    for (const json& stream : session.at("streams")) {
      const std::string state = stream.at("state");
      if (stream.at("number") != id->stream || state == "forgotten") continue;
      const std::string kind = id->stream == 0 ? "standalone " : state + " ";
      const std::uint64_t first = whole(stream.at("first")), next = whole(stream.at("next"));
      for (const std::uint64_t below : {0U, 1U, 2U}) {
        if (id->seq == first - below) edges.insert(kind + "first - " + std::to_string(below));
        if (id->seq == next - below) edges.insert(kind + "next - " + std::to_string(below));
      }
      if (id->seq > next) edges.insert(kind + "beyond");
      if (id->seq == 0) edges.insert(kind + "0");
      if (id->seq == mr::event_id::last_seq) edges.insert(kind + "2^64 - 2");
      if (id->seq == ~std::uint64_t{0}) edges.insert(kind + "2^64 - 1");
    }
  }
  CHECK(rows.size() == mr::reason_count);
  CHECK(edges.size() == 3 * 10);
  for (const char* number : {"0", "1", "4294967295"}) CHECK(streams.count(number) == 1);
  for (std::size_t i = 0; i != mr::protocol_count; ++i) {
    CHECK(versions.count(std::string(to_string(static_cast<mr::protocol>(i)))) == 1);
  }
  for (const char* version : {"absent", "", "draft", "1999-01-01"}) CHECK(versions.count(version) == 1);
  CHECK(lives == std::set<std::string>{"live", "ended", "expired"});
}

TEST_CASE("explain says of a vector what the vector says", "[oracle_table]") {
  const std::vector<json> vectors = parsed(default_vectors());
  for (std::size_t i = 1; i < vectors.size(); i += 17) {
    const json& vector = vectors[i];
    const json& headers = vector.at("request").at("headers");
    texts options{"--principal", vector.at("request").at("principal")};
    const std::pair<const char*, const char*> names[] = {{"MCP-Protocol-Version", "--protocol="},
                                                         {"Mcp-Session-Id", "--session-id="},
                                                         {"Last-Event-ID", "--last-event-id="}};
    for (const auto& [header, option] : names) {
      const std::string value = headers.value(header, "");
      if (!value.empty()) options.push_back(option + value);
    }
    const run_of_program done = explain_state(vector.at("state").dump(), options);
    INFO(vector.dump() << done.out << done.err);
    const json& expect = vector.at("expect");
    CHECK(done.status == 0);
    CHECK(after_label(done.out, "reason    ") ==
          expect.at("reason").get<std::string>() + ", row " + expect.at("row").dump() + " of 17");
    CHECK(after_label(done.out, "outcome   ") == expect.at("outcome"));
    CHECK(after_label(done.out, "status    ") == expect.at("status").dump());
    CHECK(after_label(done.out, "advice    ") == expect.at("advice"));
    const std::uint64_t missed = whole(expect.at("missed"));
    if (missed != 0) CHECK(contains(done.out, ", " + std::to_string(missed) + " missed\n"));
  }
}

TEST_CASE("vectors refuses a wrong seed or count", "[oracle_table]") {
  check_refused(oracle({"vectors", "--count", "496"}), "--count: must be from 497, the fixed vectors, to 1000000");
  check_refused(oracle({"vectors", "--count", "1000001"}), "--count: must be from 497");
  check_refused(oracle({"vectors", "--count", "many"}), "--count: must be a whole number");
  check_refused(oracle({"vectors", "--count", "1e3"}), "--count: must be a whole number");
  check_refused(oracle({"vectors", "--seed", "-1"}), "--seed: must be a whole number");
  check_refused(oracle({"vectors", "--seed", "18446744073709551616"}), "--seed: must be a whole number");
  check_refused(oracle({"vectors", "--random"}), "--random");
}

// ---- What they have in common ---------------------------------------------------------------------------------------

TEST_CASE("each help has an example and says what the exit statuses mean", "[oracle_table]") {
  for (const char* command : {"table", "explain", "vectors"}) {
    const run_of_program done = oracle({command, "--help"});
    CHECK(done.status == 0);
    CHECK(done.err.empty());
    CHECK(contains(done.out, std::string("Example: mcp-resume-oracle ") + command + " "));
    CHECK(contains(done.out, "Exit status: 0 "));
    CHECK(contains(done.out, "2 wrong usage"));
  }
}

TEST_CASE("output that cannot be written is an error", "[oracle_table]") {
  if (access("/dev/full", W_OK) != 0) return;
  const std::string program = quoted(ORACLE_PROGRAM);
  for (const char* words : {" table", " table --all", " explain --session gone", " vectors"}) {
    int status = 0;
    const std::string complaint = output_of(program + words + " 2>&1 >/dev/full", status);
    CHECK(status == 2);
    CHECK(contains(complaint, "stdout: cannot be written"));
  }
}

// ---- The consumers --------------------------------------------------------------------------------------------------

bool can_run(const std::string& command) { return std::system((command + " >/dev/null 2>&1").c_str()) == 0; }

// Runs a consumer on the vectors as they are, with one expectation changed, and with the last line missing.
void check_consumer(texts command, const std::string& right, const std::string& changed) {
  const std::string& lines = default_vectors();
  const std::size_t at = lines.find(right);
  REQUIRE(at != std::string::npos);
  std::string wrong = lines;
  wrong.replace(at, right.size(), changed);
  const temporary_file good(lines), bad(wrong), cut(lines.substr(0, lines.rfind('\n', lines.size() - 2) + 1));
  command.push_back(good.name);
  const run_of_program passed = run(command);
  INFO(passed.out << passed.err);
  CHECK(passed.status == 0);
  CHECK(passed.out == "1000 vectors, 0 differ\n");
  command.back() = bad.name;
  const run_of_program failed = run(command);
  CHECK(failed.status == 1);
  CHECK(contains(failed.out, "1000 vectors, 1 differ\n"));
  command.back() = cut.name;
  CHECK(run(command).status == 1);
}

TEST_CASE("the consumer in Python agrees with every vector and finds a wrong one", "[oracle_table]") {
  if (!can_run("python3 --version")) return;
  check_consumer({"python3", MCP_RESUME_SOURCE_DIR "/examples/oracle/consumers/vectors.py"}, R"("reason":"replay")",
                 R"("reason":"evicted")");
}

// Node 22 and later; another one than the first of PATH is named by MCP_RESUME_NODE.
TEST_CASE("the consumer in TypeScript agrees with every vector and finds a wrong one", "[oracle_table]") {
  const char* const named = std::getenv("MCP_RESUME_NODE");
  const std::string node = named != nullptr ? named : "node";
  if (!can_run(quoted(node) + " --experimental-strip-types -e 0")) return;
  check_consumer({node, "--disable-warning=ExperimentalWarning", "--experimental-strip-types",
                  MCP_RESUME_SOURCE_DIR "/examples/oracle/consumers/vectors.ts"},
                 R"(1.0.2","a11)", R"(1.0.2","b11)");
}

}  // namespace
