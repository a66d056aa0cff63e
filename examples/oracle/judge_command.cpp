// SPDX-License-Identifier: MIT
// `judge`: reads traces and prints what is wrong in them.
#include <fmt/format.h>
#include <unistd.h>

#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "commands.hpp"
#include "input_error.hpp"
#include "judge.hpp"
#include "report.hpp"
#include "text.hpp"
#include "trace.hpp"

namespace oracle {
namespace {

constexpr const char* description =
    "Judges recorded traces of any server: what each client was owed, and what it got.\n"
    "Exit status: 0 nothing wrong, 1 findings, 2 wrong usage or input.\n"
    "Example: mcp-resume-oracle judge --format junit trace.jsonl > judge.xml\n"
    "The format of a trace, and recorders for Node and Python: examples/oracle/README.md";

trace read_file(const std::string& name) {
  if (name == "-") return read_trace(std::cin, "stdin");
  std::ifstream file(name, std::ios::binary);
  if (!file) throw input_error(name, "cannot be opened");
  return read_trace(file, name);
}

// Into a terminal's line, which the next one overwrites; the last one is empty.
void show_progress(const std::string& text) {
  if (isatty(STDERR_FILENO) != 0) fmt::print(stderr, "\r\x1b[K{}", text);
}

template <class T>
void append(std::vector<T>& to, std::vector<T>&& from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

report judge_files(const std::vector<std::string>& files) {
  report all;
  for (std::size_t i = 0; i != files.size(); ++i) {
    show_progress(fmt::format("judging {} of {}: {}", i + 1, files.size(), printable(files[i])));
    const trace recorded = read_file(files[i]);
    report one = report_of(recorded, judge(recorded));
    all.title = files.size() == 1 ? one.title : fmt::format("judge {} traces", files.size());
    append(all.entries, std::move(one.entries));
    append(all.timelines, std::move(one.timelines));
  }
  show_progress("");
  return all;
}

}  // namespace

void add_judge(CLI::App& program, int& status) {
  struct options {
    std::vector<std::string> files;
    report_format format = report_format::text;
  };
  const auto chosen = std::make_shared<options>();
  CLI::App* const command = program.add_subcommand("judge", description);
  command->add_option("FILE", chosen->files, "traces as JSON lines; - is the standard input")->required();
  const std::map<std::string, report_format> formats = {{"text", report_format::text},
                                                        {"tap", report_format::tap},
                                                        {"junit", report_format::junit},
                                                        {"json", report_format::json},
                                                        {"html", report_format::html}};
  command->add_option("--format", chosen->format, "text, tap, junit, json or html")
      ->transform(CLI::CheckedTransformer(formats).description(""));
  command->callback([chosen, &status] {
    const report made = judge_files(chosen->files);
    print_all(format_report(made, chosen->format));
    status = made.has_findings() ? 1 : 0;
  });
}

}  // namespace oracle
