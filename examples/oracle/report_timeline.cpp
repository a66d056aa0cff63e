// SPDX-License-Identifier: MIT
// A history as inline SVG: one lane for each stream, marks from left to right, broken into rows of a page's width; below
// each resume the window that was held and the cursor; then the same in words.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "report_html.hpp"
#include "report_text.hpp"

namespace oracle {
namespace {

// ---- Which marks ----------------------------------------------------------------------------------------------------

constexpr std::size_t most_marks = 240;  // of one history; about ten rows

// Of a long history, findings and resumes, the events that their windows and cursors name, and what lies around them.
class choice {
 public:
  explicit choice(std::vector<const mark*> marks)
      : marks_(std::move(marks)), is_chosen_(marks_.size(), marks_.size() <= most_marks) {
    if (marks_.size() <= most_marks) return;
    take_those([](const mark& m) { return !m.verdict.empty(); });
    take_those([](const mark& m) { return m.kind == mark_kind::resume; });
    for (std::size_t i = 0; i != 4; ++i) take(i), take(marks_.size() - 1 - i);
  }

  bool has(std::size_t i) const { return is_chosen_[i]; }

 private:
  void take(std::size_t i) {
    if (i >= marks_.size() || is_chosen_[i] || left_ == 0) return;
    is_chosen_[i] = true;
    --left_;
  }

  void take_step(std::size_t step, std::size_t lane) {
    const auto is_before = [](const mark* m, std::size_t s) { return m->step < s; };
    auto at = std::lower_bound(marks_.begin(), marks_.end(), step, is_before);
    while (at != marks_.end() && (*at)->step == step && (*at)->lane != lane) ++at;
    if (step != 0 && at != marks_.end() && (*at)->step == step) take(static_cast<std::size_t>(at - marks_.begin()));
  }

  template <class IsMeant>
  void take_those(IsMeant is_meant) {
    std::vector<std::size_t> meant;
    for (std::size_t i = 0; i != marks_.size(); ++i) {
      if (is_meant(*marks_[i])) meant.push_back(i);
    }
    for (const std::size_t i : meant) take(i);
    for (const std::size_t i : meant) {
      for (const std::size_t step : {marks_[i]->first, marks_[i]->newest, marks_[i]->cursor}) {
        if (marks_[i]->kind == mark_kind::resume) take_step(step, marks_[i]->lane);
      }
    }
    for (std::size_t distance = 1; distance <= 4; ++distance) {
      for (const std::size_t i : meant) take(i - distance), take(i + distance);  // below 0 wraps, and is refused
    }
  }

  std::vector<const mark*> marks_;  // by step
  std::vector<bool> is_chosen_;
  std::size_t left_ = most_marks;
};

// ---- Where they stand -----------------------------------------------------------------------------------------------

constexpr std::size_t page_width = 960, gutter = 150;  // pixels; the gutter holds the lanes' names
constexpr std::size_t most_label = 14, most_verdict = 24, most_name = 40, most_text = 500;

std::string sentence_of(const mark& m) {
  const std::string_view text = m.text.empty() ? m.label : m.text;
  return xml_text(shortened(printable(text.substr(0, 4 * most_text)), most_text));
}

// Of monospaced text of 11 pixels.
std::size_t pixels_of(const std::string& text) { return columns_of(text) * 67 / 10; }

struct column {
  std::size_t step = 0;
  std::size_t left_out = 0;  // a break: so many marks are not shown here
  std::size_t width = 30;
  std::size_t x = 0;  // of its middle, in its row
};
struct placed_mark {
  const mark* what = nullptr;
  std::size_t lane = 0;
  std::size_t column = 0;
};
struct row {
  std::size_t begin = 0, end = 0;  // columns
};

// A mark of a lane that there is not stands in one more.
class layout {
 public:
  std::vector<std::string> lanes;
  std::vector<column> columns;
  std::vector<placed_mark> marks;  // by column
  std::vector<row> rows;
  std::size_t all = 0;  // marks of the history, shown or not

  explicit layout(const timeline& history) : lanes(history.lanes), all(history.marks.size()) {
    std::vector<const mark*> sorted;
    for (const mark& m : history.marks) sorted.push_back(&m);
    std::stable_sort(sorted.begin(), sorted.end(), [](const mark* a, const mark* b) { return a->step < b->step; });
    const choice chosen(sorted);
    std::size_t left_out = 0;
    for (std::size_t i = 0; i != sorted.size(); ++i) {
      left_out = chosen.has(i) ? left_out : left_out + 1;
      if (!chosen.has(i)) continue;
      add_break(std::exchange(left_out, 0));
      add(*sorted[i]);
    }
    add_break(left_out);
    break_rows();
  }

  // Of the newest shown mark at or before a step: of its lane if there is one at that step.
  std::optional<std::size_t> column_of(std::size_t step, std::size_t lane) const {
    if (step == 0 || columns.empty()) return std::nullopt;
    const auto is_before = [](const column& c, std::size_t s) { return c.step < s; };
    auto at =
        static_cast<std::size_t>(std::lower_bound(columns.begin(), columns.end(), step, is_before) - columns.begin());
    if (at == columns.size() || columns[at].step != step) return at == 0 ? 0 : at - 1;
    if (columns[at].left_out != 0 && at + 1 != columns.size() && columns[at + 1].step == step) ++at;
    const auto found = events_.find({step, lane});
    return found == events_.end() ? at : found->second;
  }

  // What an event is called that is shown at a step, rather in a lane than in another; else the step's number.
  std::string name_of(std::size_t step, std::size_t lane) const {
    const mark* found = nullptr;
    for (const placed_mark& m : marks) {
      const bool is_meant = m.what->step == step && m.what->kind == mark_kind::event && !m.what->label.empty();
      if (is_meant && (found == nullptr || m.lane == lane)) found = m.what;
    }
    return found == nullptr ? fmt::format("step {}", step) : shortened(printable(found->label), most_name);
  }

 private:
  void add_break(std::size_t left_out) {
    if (left_out == 0) return;
    column made;
    made.step = columns.empty() ? 0 : columns.back().step;
    made.left_out = left_out;
    made.width = std::max<std::size_t>(56, pixels_of(std::to_string(left_out)) + 12);
    columns.push_back(made);
    used_.clear();
  }

  // Into the column of its step; beside it, if its lane has a mark there.
  void add(const mark& m) {
    std::size_t lane = m.lane;
    if (lane >= lanes.size()) {
      if (!has_extra_) lanes.emplace_back("?");
      has_extra_ = true;
      lane = lanes.size() - 1;
    }
    const bool is_same_step = !used_.empty() && columns.back().step == m.step;
    if (!is_same_step) used_.clear();
    const std::size_t nth = used_[lane]++;
    if (!is_same_step) first_of_step_ = columns.size();
    const std::size_t at = first_of_step_ + nth;
    if (at == columns.size()) {
      columns.emplace_back();
      columns.back().step = m.step;
      columns.back().width = std::max(columns.back().width, pixels_of(std::to_string(m.step)) + 10);
    }
    const std::string label = shortened(printable(m.label), most_label);
    const std::string verdict = shortened(printable(m.verdict), most_verdict);
    columns[at].width = std::max({columns[at].width, pixels_of(label) + 12, pixels_of(verdict) + 14});
    marks.push_back({&m, lane, at});
    if (m.kind == mark_kind::event) events_.insert({{m.step, lane}, at});
  }

  void break_rows() {
    std::stable_sort(marks.begin(), marks.end(),
                     [](const placed_mark& a, const placed_mark& b) { return a.column < b.column; });
    std::size_t x = page_width;
    for (std::size_t i = 0; i != columns.size(); ++i) {
      if (x + columns[i].width > page_width - 16) {
        rows.push_back({i, i});
        x = gutter;
      }
      columns[i].x = x + columns[i].width / 2;
      x += columns[i].width;
      rows.back().end = i + 1;
    }
  }

  bool has_extra_ = false;
  std::size_t first_of_step_ = 0;
  std::map<std::size_t, std::size_t> used_;                            // by lane: marks at the newest step
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> events_;  // step and lane
};

// ---- Windows --------------------------------------------------------------------------------------------------------

// Of one resume, in columns.
struct held_window {
  const placed_mark* resume = nullptr;
  std::optional<std::size_t> first, newest, cursor;
  std::size_t begin = 0;  // the leftmost of them
  std::size_t line = 0;   // below its lane
};

std::vector<held_window> windows_of(const layout& all) {
  std::vector<held_window> out;
  for (const placed_mark& m : all.marks) {
    if (m.what->kind != mark_kind::resume) continue;
    held_window made;
    made.resume = &m;
    made.first = all.column_of(m.what->first, m.lane);
    made.newest = all.column_of(m.what->newest, m.lane);
    if (!made.first || !made.newest || *made.first > *made.newest) made.first = made.newest = std::nullopt;
    made.cursor = all.column_of(m.what->cursor, m.lane);
    if (!made.first && !made.cursor) continue;
    made.begin = std::min(made.first.value_or(m.column), made.cursor.value_or(m.column));
    out.push_back(made);
  }
  return out;
}

// ---- Drawing --------------------------------------------------------------------------------------------------------

const char* class_of(mark_kind kind) {
  switch (kind) {
    case mark_kind::event:
      return "event";
    case mark_kind::delivery:
      return "delivery";
    case mark_kind::drop:
      return "drop";
    case mark_kind::resume:
      return "resume";
    default:
      return "note";
  }
}

// Each kind has a shape of its own, so that no colour is needed.
std::string glyph_of(mark_kind kind, std::size_t x, std::size_t y) {
  const char* shape = "<circle r=\"4\"/>";
  if (kind == mark_kind::delivery) shape = "<path d=\"M-5-4.5H5L0 5z\"/>";
  if (kind == mark_kind::drop) shape = "<path d=\"M-5-5L5 5M-5 5L5-5\"/>";
  if (kind == mark_kind::resume) shape = "<path d=\"M-5-6.5L7 0L-5 6.5z\"/>";
  if (kind == mark_kind::note) shape = "<path d=\"M0-5L5 0L0 5L-5 0z\"/>";
  return fmt::format("<g class=\"{}\" transform=\"translate({} {})\">{}</g>", class_of(kind), x, y, shape);
}

constexpr std::size_t line_height = 15;

// One row of the picture. Only lanes that have something in it are drawn, if there are many.
class picture {
 public:
  picture(const layout& all, const std::vector<held_window>& windows, const row& of) : all_(all), of_(of) {
    for (const held_window& w : windows) {
      const std::size_t resume = w.resume->column;
      const bool is_near = resume >= of.begin && w.begin < of.end;  // both ends of a window that spans two rows
      if (is_near && (resume < of.end || is_next_row(resume))) place(w);
    }
    for (const placed_mark& m : all.marks) {
      if (m.column < of.begin || m.column >= of.end) continue;
      lane& in = lanes_[m.lane];
      in.has_verdict = in.has_verdict || !m.what->verdict.empty();
    }
    for (std::size_t i = 0; i != all.lanes.size() && all.lanes.size() <= 8; ++i) (void)lanes_[i];
    height_ = 4;
    for (auto& [number, in] : lanes_) {
      in.top = height_;
      in.height = 44 + (in.has_verdict ? line_height : 0) + in.line_ends.size() * line_height;
      height_ += in.height;
    }
  }

  std::string svg(const std::string& label) {
    const std::size_t end = all_.columns[of_.end - 1].x + all_.columns[of_.end - 1].width / 2 + 16;
    const std::size_t width = all_.rows.size() > 1 ? page_width : std::max(end, gutter + 200);
    add("<svg role=\"img\" aria-label=\"{}\" viewBox=\"0 0 {} {}\" width=\"{}\" height=\"{}\">\n", html_text(label),
        width, height_ + 20, width, height_ + 20);
    bool is_even = false;
    for (const auto& [number, in] : lanes_) draw_lane(number, in, width, is_even = !is_even);
    for (std::size_t i = of_.begin; i != of_.end; ++i) draw_column(i);
    for (const held_window& w : windows_) draw_window(w);
    for (const placed_mark& m : all_.marks) {
      if (m.column >= of_.begin && m.column < of_.end) draw_mark(m);
    }
    return out_ + "</svg>\n";
  }

 private:
  struct lane {
    std::size_t top = 0, height = 0;
    bool has_verdict = false;
    std::vector<std::size_t> line_ends;  // of the windows below it: the last column that each line has used
  };

  template <class... Arguments>
  void add(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Arguments>(arguments)...);
  }

  bool is_next_row(std::size_t column) const {
    const auto next =
        std::find_if(all_.rows.begin(), all_.rows.end(), [&](const row& r) { return r.begin == of_.end; });
    return next != all_.rows.end() && column < next->end;
  }

  // On the first line below its lane that is free from its begin on.
  void place(held_window w) {
    std::vector<std::size_t>& ends = lanes_[w.resume->lane].line_ends;
    const std::size_t begin = std::max(w.begin, of_.begin);
    while (w.line != ends.size() && ends[w.line] >= begin) ++w.line;
    if (w.line == ends.size()) ends.push_back(0);
    ends[w.line] = w.resume->column;
    windows_.push_back(w);
  }

  static std::size_t middle_of(const lane& in) { return in.top + 25; }

  void draw_lane(std::size_t number, const lane& in, std::size_t width, bool is_even) {
    const std::string name = printable(all_.lanes[number]);
    add("<g class=\"lane\"><rect class=\"{}\" x=\"0\" y=\"{}\" width=\"{}\" height=\"{}\"/>", is_even ? "even" : "odd",
        in.top, width, in.height);
    add("<path d=\"M{} {}H{}\"/>", gutter, middle_of(in), width - 8);
    add("<text x=\"8\" y=\"{}\"><title>{}</title>{}</text></g>\n", middle_of(in) + 4, xml_text(name),
        xml_text(shortened(name.empty() ? "(no name)" : name, 19)));
  }

  void draw_column(std::size_t i) {
    const column& c = all_.columns[i];
    if (c.left_out == 0) {
      const bool is_first = i == of_.begin || all_.columns[i - 1].step != c.step || all_.columns[i - 1].left_out != 0;
      if (is_first) add("<text class=\"step\" x=\"{}\" y=\"{}\">{}</text>\n", c.x, height_ + 13, c.step);
      return;
    }
    add("<g class=\"break\"><rect x=\"{}\" y=\"4\" width=\"{}\" height=\"{}\"/>", c.x - c.width / 2 + 4, c.width - 8,
        height_ - 4);
    add("<text x=\"{0}\" y=\"{1}\">{2}</text><text x=\"{0}\" y=\"{3}\">left out</text></g>\n", c.x, height_ / 2,
        c.left_out, height_ / 2 + 12);
  }

  // In pixels, cut off at the row's ends.
  std::size_t x_of(std::size_t at) const {
    if (at < of_.begin) return gutter;
    return at < of_.end ? all_.columns[at].x : all_.columns[of_.end - 1].x + all_.columns[of_.end - 1].width / 2;
  }
  bool is_here(std::size_t at) const { return at >= of_.begin && at < of_.end; }

  // A thin line from its begin to the resume and up to it; on it a bar for what was held, and a tick for the cursor.
  void draw_window(const held_window& w) {
    const lane& in = lanes_[w.resume->lane];
    const std::size_t y = in.top + in.height - (in.line_ends.size() - w.line) * line_height + 3;
    const std::size_t resume = x_of(w.resume->column);
    add("<g class=\"window\"><path class=\"lead\" d=\"M{} {}H{}", x_of(w.begin), y, resume);
    if (is_here(w.resume->column)) {
      add("V{}", middle_of(in) + 9 + (w.resume->what->verdict.empty() ? 0 : line_height + 2));
    }
    add("\"/>");
    if (w.first && *w.newest >= of_.begin && *w.first < of_.end) {
      const std::size_t from = x_of(*w.first) - (is_here(*w.first) ? 7 : 0);
      const std::size_t to = x_of(*w.newest) + (is_here(*w.newest) ? 7 : 0);
      add("<rect class=\"held\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"6\" rx=\"{}\"/>", from, y - 3, to - from,
          is_here(*w.first) && is_here(*w.newest) ? 3 : 0);
    }
    if (w.cursor && is_here(*w.cursor)) {
      add("<path class=\"cursor\" d=\"M{0} {1}V{2}M{3} {4}L{0} {5}L{6} {4}z\"/>", x_of(*w.cursor), y + 6, y - 6,
          x_of(*w.cursor) - 4, y - 3, y - 8, x_of(*w.cursor) + 4);
    }
    add("</g>\n");
  }

  void draw_mark(const placed_mark& m) {
    const std::size_t x = all_.columns[m.column].x, y = middle_of(lanes_[m.lane]);
    const bool is_wrong = !m.what->verdict.empty();
    add("<g class=\"mark{}\"><title>{}: {}{}</title>", is_wrong ? " wrong" : "", class_of(m.what->kind),
        is_wrong ? html_text(m.what->verdict + ": ") : "", sentence_of(*m.what));
    if (is_wrong) add("<circle class=\"ring\" cx=\"{}\" cy=\"{}\" r=\"10\"/>", x, y);
    add("{}<text x=\"{}\" y=\"{}\">{}</text>", glyph_of(m.what->kind, x, y), x, y - (is_wrong ? 13 : 10),
        xml_text(shortened(printable(m.what->label), most_label)));
    if (is_wrong) {
      add("<text class=\"verdict\" x=\"{}\" y=\"{}\">{}</text>", x, y + 22,
          xml_text(shortened(printable(m.what->verdict), most_verdict)));
    }
    add("</g>\n");
  }

  const layout& all_;
  const row of_;
  std::map<std::size_t, lane> lanes_;
  std::vector<held_window> windows_;
  std::size_t height_ = 0;
  std::string out_;
};

// ---- In words -------------------------------------------------------------------------------------------------------

std::string window_in_words(const layout& all, const placed_mark& m) {
  if (m.what->kind != mark_kind::resume) return "";
  std::string text;
  if (m.what->first != 0 && m.what->first <= m.what->newest) {
    text = "held " + all.name_of(m.what->first, m.lane);
    if (m.what->first != m.what->newest) text += " to " + all.name_of(m.what->newest, m.lane);
  }
  if (m.what->cursor != 0) text += (text.empty() ? "cursor " : ", cursor ") + all.name_of(m.what->cursor, m.lane);
  return text.empty() ? "none" : xml_text(text);
}

std::string table_of(const layout& all) {
  std::string out;
  for (const placed_mark& m : all.marks) {
    const bool is_wrong = !m.what->verdict.empty();
    if (!is_wrong && m.what->kind != mark_kind::resume) continue;
    fmt::format_to(std::back_inserter(out),
                   "<tr class=\"{}\"><td class=\"number\">{}</td><td class=\"verdict\">{}</td><td "
                   "class=\"stream\">{}</td><td class=\"kind\">{} {}</td>"
                   "<td>{}</td><td class=\"held\">{}</td></tr>\n",
                   is_wrong ? "wrong" : "right", m.what->step, is_wrong ? html_text(m.what->verdict) : "ok",
                   html_text(all.lanes[m.lane]), class_of(m.what->kind), html_text(m.what->label), sentence_of(*m.what),
                   window_in_words(all, m));
  }
  if (out.empty()) return "<p>No resume and no finding.</p>\n";
  return "<div class=\"scroll\"><table>\n<thead><tr><th>Step</th><th>Verdict</th><th>Stream</th><th>Mark</th><th>What "
         "happened</th><th>Window and cursor</th></tr></thead>\n<tbody>\n" +
         out + "</tbody></table></div>\n";
}

}  // namespace

bool has_findings(const timeline& history) {
  return std::any_of(history.marks.begin(), history.marks.end(), [](const mark& m) { return !m.verdict.empty(); });
}

std::string format_timeline(const timeline& history, bool is_open) {
  const layout all(history);
  const std::vector<held_window> windows = windows_of(all);
  const std::size_t lanes = all.lanes.size();
  std::string out = fmt::format("<details{}>\n<summary>{} <span class=\"faint\">{} lane{}, {} mark{}",
                                is_open ? " open=\"open\"" : "", html_text(history.title), lanes, lanes == 1 ? "" : "s",
                                all.all, all.all == 1 ? "" : "s");
  out += has_findings(history) ? ", <b class=\"bad\">with findings</b></span></summary>\n" : "</span></summary>\n";
  if (all.marks.size() < all.all) {
    fmt::format_to(std::back_inserter(out),
                   "<p>Shown are {} of {} marks, those at and near findings and resumes; {} are left out.</p>\n",
                   all.marks.size(), all.all, all.all - all.marks.size());
  }
  std::size_t number = 0;
  for (const row& each : all.rows) {
    picture drawn(all, windows, each);
    out += "<div class=\"scroll\">" +
           drawn.svg(fmt::format("{}, row {} of {}", history.title, ++number, all.rows.size())) + "</div>\n";
  }
  return out + table_of(all) + "</details>\n";
}

}  // namespace oracle
