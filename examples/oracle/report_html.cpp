// SPDX-License-Identifier: MIT
// A report as one HTML page: no script, no request, findings first.
#include "report_html.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "report_text.hpp"

namespace oracle {
namespace {

// Colours are variables, so that the pictures follow the page into the dark and onto paper.
constexpr std::string_view style = R"page(
:root { color-scheme: light dark; --page: #f7f7f5; --card: #fff; --ink: #1c2127; --faint: #626a74; --line: #d8dbe0;
  --stripe: #f2f4f7; --good: #17703f; --bad: #b3261e; --bad-card: #fdf1ef; --blue: #285a98; --held: #a9c6ea; }
@media screen and (prefers-color-scheme: dark) {
  :root { --page: #14171b; --card: #1c2026; --ink: #e4e7eb; --faint: #9aa3ae; --line: #363c45; --stripe: #21262d;
    --good: #6fce97; --bad: #ff9a8f; --bad-card: #2c1f1f; --blue: #8db9ee; --held: #3d6798; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); font: 15px/1.5 system-ui, "Segoe UI", Helvetica, Arial,
  sans-serif; }
main { max-width: 1024px; margin: 0 auto; padding: 28px 20px 48px; }
h1 { font-size: 24px; line-height: 1.25; margin: 0 0 14px; overflow-wrap: anywhere; }
h2 { font-size: 17px; margin: 36px 0 10px; }
p { margin: 6px 0 10px; }
.faint { color: var(--faint); font-weight: normal; }
.bad { color: var(--bad); }
.counts { display: flex; flex-wrap: wrap; gap: 10px; padding: 0; margin: 0; list-style: none; }
.counts li { border: 1px solid var(--line); border-radius: 8px; background: var(--card); padding: 6px 14px; }
.counts b { font-size: 19px; margin-right: 4px; }
.counts .ok b { color: var(--good); } .counts .finding b { color: var(--bad); }
article { background: var(--bad-card); border: 1px solid var(--line); border-left: 5px solid var(--bad);
  border-radius: 6px; padding: 10px 16px; margin: 0 0 12px; break-inside: avoid; }
article h3 { display: flex; flex-wrap: wrap; gap: 4px 12px; align-items: baseline; margin: 0 0 4px; font-size: 15px; }
article h3 .verdict { font-size: 13px; letter-spacing: .04em; }
article dl { display: grid; grid-template-columns: 58px 1fr; gap: 2px 10px; margin: 0; }
dt { color: var(--faint); } dd { margin: 0; overflow-wrap: anywhere; }
.place { font: 12.5px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; color: var(--faint);
  overflow-wrap: anywhere; }
.verdict { color: var(--bad); font-weight: 700; white-space: nowrap; }
.right .verdict { color: var(--good); }
.scroll { overflow-x: auto; }
table { width: 100%; border-collapse: collapse; font-size: 13.5px; }
th { text-align: left; font-weight: 600; color: var(--faint); }
th, td { padding: 4px 14px 4px 0; border-bottom: 1px solid var(--line); vertical-align: top; }
td { overflow-wrap: anywhere; min-width: 4em; }
.number { white-space: nowrap; } .stream { min-width: 7em; } .kind { min-width: 7.5em; } td.held { min-width: 12em; }
tr { break-inside: avoid; }
details { background: var(--card); border: 1px solid var(--line); border-radius: 6px; padding: 8px 16px;
  margin: 0 0 12px; }
summary { cursor: pointer; font-weight: 600; overflow-wrap: anywhere; break-after: avoid; }
details[open] summary { margin-bottom: 8px; }
.legend { display: flex; flex-wrap: wrap; gap: 2px 18px; font-size: 13px; color: var(--faint); margin-bottom: 10px; }
.legend span { display: inline-flex; align-items: center; gap: 6px; }
svg { display: block; break-inside: avoid; font: 11px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace;
  margin-bottom: 8px; }
.legend svg { margin: 0; }
svg text { fill: var(--ink); text-anchor: middle; }
.lane rect { fill: var(--card); } .lane .even { fill: var(--stripe); } .lane path { stroke: var(--line); }
.lane text { text-anchor: start; font-weight: 600; }
svg .step, .break text { fill: var(--faint); font-size: 10px; }
.break rect { fill: var(--card); stroke: var(--line); stroke-dasharray: 3 3; }
.event { fill: var(--blue); } .delivery { fill: var(--card); stroke: var(--blue); stroke-width: 1.6; }
.drop { stroke: var(--ink); stroke-width: 2; fill: none; } .resume { fill: var(--ink); }
.note { fill: var(--card); stroke: var(--faint); stroke-width: 1.4; }
.ring { fill: none; stroke: var(--bad); stroke-width: 2; }
svg .wrong .verdict { fill: var(--bad); font-weight: 700; }
.lead { fill: none; stroke: var(--faint); stroke-dasharray: 2 3; } rect.held { fill: var(--held); stroke: var(--blue); }
.cursor { fill: var(--ink); stroke: var(--ink); stroke-width: 1.5; }
footer { margin-top: 32px; font-size: 13px; color: var(--faint); }
@media print {
  :root { --page: #fff; } * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  main { max-width: none; padding: 0; } .scroll { overflow: visible; } svg { max-width: 100%; height: auto; }
  details::details-content { content-visibility: visible; } }
)page";

constexpr std::string_view legend = R"page(<div class="legend">
<span><svg width="12" height="14"><g class="event" transform="translate(6 7)"><circle r="4"/></g></svg>
event issued</span>
<span><svg width="12" height="14"><g class="delivery" transform="translate(6 7)"><path d="M-5-4.5H5L0 5z"/></g></svg>
event delivered</span>
<span><svg width="12" height="14"><g class="drop" transform="translate(6 7)"><path d="M-5-5L5 5M-5 5L5-5"/></g></svg>
connection dropped</span>
<span><svg width="14" height="14"><g class="resume" transform="translate(6 7)"><path d="M-5-6.5L7 0L-5 6.5z"/></g></svg>
resume, with its status</span>
<span><svg width="12" height="14"><g class="note" transform="translate(6 7)"><path d="M0-5L5 0L0 5L-5 0z"/></g></svg>
anything else</span>
<span><svg width="44" height="18"><g class="window"><path class="lead" d="M2 11H43"/><rect class="held" x="14" y="8"
width="20" height="6" rx="3"/><path class="cursor" d="M8 17V5M4 8L8 3L12 8z"/></g></svg>
at a resume: bar = events held, pointer = cursor</span>
<span><svg width="24" height="22"><circle class="ring" cx="12" cy="11" r="9"/></svg>
wrong; the verdict stands below it</span>
</div>
)page";

// ---- Entries --------------------------------------------------------------------------------------------------------

std::vector<const entry*> those_of(const report& made, entry_status status) {
  std::vector<const entry*> out;
  for (const entry& e : made.entries) {
    if (e.status == status) out.push_back(&e);
  }
  return out;
}

// A browser shall open the page of a long trace too.
constexpr std::size_t most_findings = 1000, most_rows = 5000;

// Cuts a list, and says so.
std::string cut(std::vector<const entry*>& entries, std::size_t most) {
  if (entries.size() <= most) return "";
  const std::size_t left_out = entries.size() - most;
  entries.resize(most);
  return fmt::format("<p>{} more are left out; the other formats have them.</p>\n", left_out);
}

void append_findings(std::string& out, std::vector<const entry*> findings) {
  if (findings.empty()) return;
  out += "<section>\n<h2>Findings</h2>\n";
  const std::string left_out = cut(findings, most_findings);
  for (const entry* e : findings) {
    fmt::format_to(
        std::back_inserter(out),
        "<article>\n<h3><span class=\"verdict\">{}</span><span>{}</span><span class=\"place\">{}</span></h3>\n",
        html_text(verdict_of(*e)), html_text(e->name), html_text(e->place));
    if (!e->saw.empty() || !e->advice.empty()) out += "<dl>";
    if (!e->saw.empty()) out += "<dt>Saw</dt><dd>" + html_text(e->saw) + "</dd>\n";
    if (!e->advice.empty()) out += "<dt>Advice</dt><dd>" + html_text(e->advice) + "</dd>\n";
    out += e->saw.empty() && e->advice.empty() ? "</article>\n" : "</dl>\n</article>\n";
  }
  out += left_out + "</section>\n";
}

// Closed if it is so long that it hides what comes below.
void append_table(std::string& out, const char* title, const char* what, std::vector<const entry*> entries) {
  if (entries.empty()) return;
  const auto has_place = [](const entry* e) { return !e->place.empty(); };
  const bool has_places = std::any_of(entries.begin(), entries.end(), has_place);
  fmt::format_to(std::back_inserter(out),
                 "<details{}>\n<summary>{} <span class=\"faint\">{}</span></summary>\n<div class=\"scroll\"><table>\n"
                 "<thead><tr><th>Check</th><th>{}</th>{}</tr></thead>\n<tbody>\n",
                 entries.size() <= 60 ? " open=\"open\"" : "", title, entries.size(), what,
                 has_places ? "<th>Place</th>" : "");
  const std::string left_out = cut(entries, most_rows);
  for (const entry* e : entries) {
    fmt::format_to(std::back_inserter(out), "<tr><td>{}</td><td>{}</td>", html_text(e->name), html_text(e->saw));
    if (has_places) out += "<td class=\"place\">" + html_text(e->place) + "</td>";
    out += "</tr>\n";
  }
  out += "</tbody></table></div>\n" + left_out + "</details>\n";
}

// ---- Timelines ------------------------------------------------------------------------------------------------------

constexpr std::size_t most_timelines = 40;

void append_timelines(std::string& out, const report& made) {
  if (made.timelines.empty()) return;
  std::vector<const timeline*> sorted;
  for (const timeline& t : made.timelines) sorted.push_back(&t);
  const auto clean =
      std::stable_partition(sorted.begin(), sorted.end(), [](const timeline* t) { return has_findings(*t); });
  const auto wrong = static_cast<std::size_t>(clean - sorted.begin());
  const std::size_t shown = std::min(most_timelines, sorted.size());
  out += "<section>\n<h2>Timelines</h2>\n";
  out += legend;
  for (std::size_t i = 0; i != shown; ++i) {
    out += format_timeline(*sorted[i], i < 6 || (i < wrong && i < 20));
  }
  if (shown < sorted.size()) {
    fmt::format_to(std::back_inserter(out), "<p>{} more timelines are left out, {} of them with findings.</p>\n",
                   sorted.size() - shown, wrong > shown ? wrong - shown : 0);
  }
  out += "</section>\n";
}

}  // namespace

std::string format_html(const report& made) {
  const std::vector<const entry*> findings = those_of(made, entry_status::finding);
  const std::vector<const entry*> fine = those_of(made, entry_status::ok);
  const std::vector<const entry*> skipped = those_of(made, entry_status::skipped);
  std::string out = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\"/>\n"
      "<title>{0}: {1}</title>\n<style>{2}</style>\n</head>\n<body>\n<main>\n<h1>{0}</h1>\n",
      html_text(made.title), html_text(made.counts()), style);
  fmt::format_to(std::back_inserter(out),
                 "<ul class=\"counts\"><li class=\"ok\"><b>{}</b> ok</li><li class=\"{}\"><b>{}</b> finding{}</li>"
                 "<li><b>{}</b> skipped</li></ul>\n",
                 fine.size(), findings.empty() ? "none" : "finding", findings.size(), findings.size() == 1 ? "" : "s",
                 skipped.size());
  append_findings(out, findings);
  append_timelines(out, made);
  append_table(out, "Skipped", "Why", skipped);
  append_table(out, "Ok", "Saw", fine);
  return out +
         "<footer>Made by mcp-resume-oracle. The page is complete: it runs no script and asks no other for "
         "anything.</footer>\n</main>\n</body>\n</html>\n";
}

}  // namespace oracle
