// SPDX-License-Identifier: MIT
// What `run`, `judge` and `probe` found, and its five formats.
#ifndef MCP_RESUME_EXAMPLES_REPORT_HPP
#define MCP_RESUME_EXAMPLES_REPORT_HPP

#include <cstddef>
#include <string>
#include <vector>

namespace oracle {

enum class entry_status { ok, finding, skipped };

// One check. Texts may hold any bytes that a server sent: every format escapes them.
struct entry {
  std::string name;  // what was checked
  entry_status status = entry_status::ok;
  std::string verdict;  // "ok", or one word of the command: LEAK, SILENT LOSS, ...
  std::string place;    // "file:line", or empty
  std::string saw;      // what was sent and what came, in a sentence
  std::string advice;   // what to do about it, empty where all is well
};

// A history to look at: streams as lanes, marks from left to right.
enum class mark_kind { event, delivery, drop, resume, note };
struct mark {
  mark_kind kind = mark_kind::event;
  std::size_t lane = 0;
  std::size_t step = 0;    // place from left to right; several lanes may have marks at one step
  std::string label;       // a few characters: "3", "200", "DELETE"
  std::string text;        // all of it, in a sentence
  std::size_t first = 0;   // of a resume: the steps of the oldest and the newest event that were held, and of the
  std::size_t newest = 0;  // cursor's event; 0 where there is none
  std::size_t cursor = 0;
  std::string verdict;  // of a delivery or a resume that is wrong, else empty
};
struct timeline {
  std::string title;
  std::vector<std::string> lanes;
  std::vector<mark> marks;
};

struct report {
  std::string title;
  std::vector<entry> entries;
  std::vector<timeline> timelines;  // shown by html alone

  // "12 ok, 1 finding, 0 skipped"
  std::string counts() const;
  bool has_findings() const;
};

enum class report_format { text, tap, junit, json, html };

// The whole report as text that ends with a line end. HTML is one page that needs nothing else, and no JavaScript.
std::string format_report(const report& made, report_format format);

}  // namespace oracle

#endif  // MCP_RESUME_EXAMPLES_REPORT_HPP
