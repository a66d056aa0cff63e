// SPDX-License-Identifier: MIT
// Promise: a case passes only if it was executed and every expectation held. One case stands in each line of a file; the
// words of its steps are in case_run::find_word, those of a server's answer to a client in answer_reader::words, those of
// what it expects in verdict::check_words and, of a client, beside client_verdict.
#pragma once

#include <fstream>
#include <istream>
#include <ostream>

#include "field_case_expect.hpp"

namespace field {

enum class result { passed, failed, skipped, unreadable };

struct case_report {
  field::result result = result::failed;
  std::string id;
  std::vector<std::string> reasons;  // of a failure or skip
  std::vector<std::string> notes;
};

struct totals {
  std::size_t passed = 0, failed = 0, skipped = 0;
  bool has_input_error = false;
};

// ---- What one process cannot express ---------------------------------------------------------------------------------

inline std::optional<std::string> reason_to_skip_config(const json& config) {
  const std::string store = config.contains("store") && config["store"].is_string() ? config["store"] : json("");
  const bool has_nodes = config.contains("nodes") && config["nodes"].is_array() && config["nodes"].size() > 1;
  if (has_nodes) return "several nodes";
  if (!store.empty() && store != "shared" && store != "memory" && store != "local" && store != "per_node") {
    return "store `" + store + "`";
  }
  return std::nullopt;
}

inline std::optional<std::string> reason_to_skip(const json& steps, std::set<std::string>& nodes) {
  if (!steps.is_array()) return std::nullopt;
  constexpr std::string_view words = " node_joins replicate fail promote pin ";
  for (const json& step : steps) {
    if (!step.is_object() || !step.contains("op") || !step["op"].is_string()) continue;
    const std::string op = step["op"];
    if (words.find(" " + op + " ") != std::string_view::npos) return "word `" + op + "`";
    if (op == "config") {
      if (const auto reason = reason_to_skip_config(step)) return reason;
    }
    if (step.contains("pin") && step["pin"] != json(false)) return std::string("pinned events");
    if (step.contains("filter") && !step["filter"].is_null()) return std::string("stream filters");
    if (step.contains("tag") && op != "open_session") return "word `tag` on `" + op + "`";
    if (step.contains("node") && step["node"].is_string()) nodes.insert(step["node"].get<std::string>());
    if (nodes.size() > 1) return std::string("several nodes");
    if (!step.contains("steps")) continue;
    if (const auto reason = reason_to_skip(step["steps"], nodes)) return reason;
  }
  return std::nullopt;
}

// Of a client `undecided` says that nothing it was told decides anything; of a resume, that its store cannot be asked.
inline bool has_client(const json& steps) {
  if (!steps.is_array()) return false;
  return std::any_of(steps.begin(), steps.end(), [](const json& step) {
    return step.is_object() && step.contains("op") && step["op"] == "client";
  });
}

inline std::optional<std::string> reason_to_skip(const json& one) {
  std::set<std::string> nodes;
  if (one.contains("steps")) {
    if (const auto reason = reason_to_skip(one["steps"], nodes)) return reason;
  }
  if (!one.contains("expect") || !one["expect"].is_object()) return std::nullopt;
  const json& expect = one["expect"];
  json outcomes = json::array();
  if (expect.contains("outcome")) outcomes.push_back(expect["outcome"]);
  if (expect.contains("by") && expect["by"].is_object()) {
    for (const json& each : expect["by"]) outcomes.push_back(each);
  }
  for (const json& each : outcomes) {
    if (each == "undecided" && !has_client(one.value("steps", json()))) {
      return std::string("outcome `undecided`: a store that cannot be asked");
    }
  }
  return std::nullopt;
}

// ---- One case --------------------------------------------------------------------------------------------------------

inline void execute(const json& one, case_report& report) {
  check_keys(one, "id class source steps expect why note tag", "case");
  if (!one.contains("steps") || !one.contains("expect")) throw case_error("`steps` or `expect` is missing");
  if (one["steps"].is_array() && one["steps"].empty()) throw case_error("`steps` is empty");
  case_run::check_words(one["steps"]);
  verdict::check_words(one["expect"]);
  case_run run;
  run.run(one["steps"]);
  verdict judged(one["expect"], run);
  judged.judge();
  report.notes = judged.notes;
  report.reasons = judged.failures;
  report.result = judged.failures.empty() ? result::passed : result::failed;
}

// Never throws for what a case holds: whatever goes wrong is a failure of that case.
inline case_report run_case(const json& one) {
  case_report report;
  report.id = one.is_object() && one.contains("id") && one["id"].is_string() ? one["id"].get<std::string>() : "?";
  try {
    if (!one.is_object()) throw case_error("a case must be an object");
    if (report.id == "?") throw case_error("`id` is missing or no string");
    if (const auto reason = reason_to_skip(one)) throw case_skip(*reason);
    execute(one, report);
  } catch (const case_skip& skip) {
    report.result = result::skipped;
    report.reasons = {skip.what()};
  } catch (const std::exception& e) {
    report.result = result::failed;
    report.reasons = {e.what()};
  }
  return report;
}

inline case_report run_line(const std::string& line) {
  try {
    return run_case(parse_line(line));
  } catch (const input_error& e) {
    case_report report;
    report.result = result::unreadable;
    report.id = "?";
    report.reasons = {e.what()};
    return report;
  }
}

// ---- Files -----------------------------------------------------------------------------------------------------------

inline void print(std::ostream& out, const case_report& report, const std::string& place) {
  for (const std::string& note : report.notes) out << "note " << report.id << " (" << place << "): " << note << "\n";
  if (report.result == result::passed) return;
  const char* word = report.result == result::skipped ? "skip " : "FAIL ";
  for (const std::string& reason : report.reasons) {
    out << word << report.id << " (" << place << "): " << reason << "\n";
  }
}

inline constexpr std::size_t longest_line = std::size_t{16} << 20U;

enum class read_line_result { line, end, too_long };

inline read_line_result read_line(std::istream& in, std::string& line) {
  line.clear();
  for (char c = 0; in.get(c);) {
    if (c == '\n') return read_line_result::line;
    if (line.size() == longest_line) return read_line_result::too_long;
    line += c;
  }
  return line.empty() ? read_line_result::end : read_line_result::line;
}

// `name` stands in messages. What follows a line that is too long is not read.
inline void run_stream(std::istream& in, const std::string& name, std::ostream& out, totals& sum) {
  std::string line;
  std::size_t number = 0, cases = 0;
  std::set<std::string> ids;
  read_line_result got = read_line_result::line;
  while ((got = read_line(in, line)) == read_line_result::line) {
    ++number;
    if (line.find_first_not_of(" \t\r\xEF\xBB\xBF") == std::string::npos) continue;
    ++cases;
    case_report report = run_line(line);
    if (report.id != "?" && !ids.insert(report.id).second) {
      report.result = result::failed;
      report.reasons.insert(report.reasons.begin(), "this id stands twice in the file");
    }
    print(out, report, name + ":" + std::to_string(number));
    sum.has_input_error = sum.has_input_error || report.result == result::unreadable;
    ++(report.result == result::passed ? sum.passed : report.result == result::skipped ? sum.skipped : sum.failed);
  }
  const bool is_too_long = got == read_line_result::too_long;
  if (is_too_long) out << "FAIL " << name << ":" << number + 1 << ": longer than 16 MiB\n";
  const bool is_wrong = in.bad() || (cases == 0 && !is_too_long);
  if (is_wrong) out << "FAIL " << name << ": " << (in.bad() ? "cannot be read" : "holds no case") << "\n";
  sum.has_input_error = sum.has_input_error || is_too_long || is_wrong;
}

// Exit status: 0, 1 after a failure, 2 if the input was wrong.
inline int run_files(const std::vector<std::string>& files, std::ostream& out) {
  totals sum;
  for (const std::string& name : files) {
    std::ifstream in(name, std::ios::binary);
    if (in) {
      run_stream(in, name, out, sum);
    } else {
      out << "FAIL " << name << ": cannot be opened\n";
      sum.has_input_error = true;
    }
  }
  out << sum.passed << " passed, " << sum.failed << " failed, " << sum.skipped << " skipped\n";
  if (sum.has_input_error) return 2;
  return sum.failed == 0 ? 0 : 1;
}

}  // namespace field
