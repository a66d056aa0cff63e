// SPDX-License-Identifier: MIT
#include "verdicts.hpp"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <iterator>
#include <ostream>
#include <sstream>

namespace bench {
namespace {

constexpr goal at_most = goal::at_most, at_least = goal::at_least;

std::string fixed(double value, int digits) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(digits) << value;
  return text.str();
}
std::string fixed(const std::optional<double>& value) { return value ? fixed(*value, *value >= 100 ? 0 : 2) : "-"; }

void add_hot(std::vector<verdict>& all, const runner& w) {
  const auto beside = [&w](const char* a, const char* b) { return w.figure(a) / w.figure(b); };
  all = {
      {"append to a full session in hand / copy and format its id", at_most, 2.5, 2.0,
       beside("append/hand", "append/limit: copy, format id")},
      {"  the same, and its id formatted",
       at_most,
       {},
       {},
       beside("append/hand, id formatted", "append/limit: copy, format id")},
      {"  beside a copy and an id that is formatted whole",
       at_most,
       {},
       {},
       beside("append/hand", "append/limit: copy, format id whole")},
      {"append through the table, faster than the ring", at_least, 3.0, 4.0,
       beside("append/peer: ring", "append/table")},
      {"  lock, copy and look for line ends alone, faster than the ring",
       at_least,
       {},
       {},
       beside("append/peer: ring", "append/limit: lock, copy, look for line ends")},
      {"  over 1,000 full sessions in turn", at_least, {}, {}, beside("append cold/peer: ring", "append cold/table")},
      {"parse and check an id / substr and std::stoull",
       at_most,
       0.4,
       {},
       beside("parse/library", "parse/peer: substr, stoull")},
      {"parse and check an id / std::from_chars of its fields", at_most, 1.0, 0.8,
       beside("parse/library", "parse/limit: from_chars")},
      {"  what is no id / std::from_chars of its fields",
       at_most,
       {},
       {},
       beside("parse bad/library", "parse bad/limit: from_chars")},
  };
}

// The target of one session was set beside a peer that parses its ids field by field. One stream needs less: to compare
// how the id begins; so does the best peer of many sessions.
void add_decision(std::vector<verdict>& all, const runner& w) {
  const auto beside = [&w](const char* a, const char* b) { return w.figure(a) / w.figure(b); };
  const double best_peer = std::min(w.figure("decision: peer map/10000"), w.figure("decision: peer ring/10000"));
  const verdict rows[] = {
      {"decision, one session / map that parses ids by fields", at_most, 0.8, 0.65,
       beside("decision of one: library", "decision of one: peer map, by fields")},
      {"  beside the map that compares how ids begin",
       at_most,
       {},
       {},
       beside("decision of one: library", "decision of one: peer map")},
      {"  parse, lock and look-up alone, beside the same",
       at_most,
       {},
       {},
       beside("decision: limit/1", "decision of one: peer map")},
      {"decision, 10,000 sessions / parse, lock and look-up",
       at_most,
       1.3,
       {},
       beside("decision: library/10000", "decision: limit/10000")},
      {"  of a request stream",
       at_most,
       {},
       {},
       beside("decision: library, request stream/10000", "decision: limit/10000")},
      {"decision, 10,000 sessions, faster than the best peer", at_least, 3.0, 4.0,
       best_peer / w.figure("decision: library/10000")},
      {"  parse, lock and look-up alone, faster than the best peer",
       at_least,
       {},
       {},
       best_peer / w.figure("decision: limit/10000")},
  };
  all.insert(all.end(), std::begin(rows), std::end(rows));
}

void add_replay(std::vector<verdict>& all, const runner& w) {
  const auto beside = [&w](const char* a, const char* b) { return w.figure(a) / w.figure(b); };
  all.insert(all.end(), {
                            {"replay 100 events into a buffer / bulk copy", at_most, 3.0, 2.5,
                             beside("replay into buffer: library/100", "replay into buffer: limit/100")},
                            {"  1,000 events", at_most, 3.0, 2.5,
                             beside("replay into buffer: library/1000", "replay into buffer: limit/1000")},
                            {"replay 100 events into a string / bulk copy into a buffer",
                             at_most,
                             4.5,
                             {},
                             beside("replay into string: library/100", "replay into buffer: limit/100")},
                            {"  1,000 events",
                             at_most,
                             4.5,
                             {},
                             beside("replay into string: library/1000", "replay into buffer: limit/1000")},
                            {"  100 events, faster than the ring",
                             at_least,
                             {},
                             {},
                             beside("replay into string: peer ring/100", "replay into string: library/100")},
                            {"replay one stream of 16 / the same events alone",
                             at_most,
                             1.2,
                             {},
                             beside("replay one stream of/16", "replay one stream of/1")},
                            {"reconnect with 100 sessions / with 1", at_most, 1.5, 1.3,
                             beside("reconnect: library/100", "reconnect: library/1")},
                        });
}

void add_rest(std::vector<verdict>& all, const runner& w) {
  const auto beside = [&w](const char* a, const char* b) { return w.figure(a) / w.figure(b); };
  const auto bytes = [&w](const char* name) { return w.figure(name); };
  const double finished = std::max(bytes("memory of finished stream: library, 60 bytes"),
                                   bytes("memory of finished stream: library, 256 bytes"));
  all.insert(
      all.end(),
      {
          {"bytes of a 256-byte event, one stream", at_most, 290, 280,
           bytes("memory of event: library, 256 bytes, streams/1")},
          {"bytes of a 256-byte event, 16 streams", at_most, 330, 280,
           bytes("memory of event: library, 256 bytes, streams/16")},
          {"bytes of a finished stream of 2 events beside them", at_most, 140, {}, finished},
          {"bytes of an idle session beside its characters", at_most, 216, 200,
           bytes("memory of idle session: library")},
          {"append, two threads on different parts / one",
           at_most,
           1.2,
           {},
           beside("threads: append/2", "threads: append/1")},
          {"decision, two threads on different parts / one",
           at_most,
           1.2,
           {},
           beside("threads: decision/2", "threads: decision/1")},
          {"  append, parts shared",
           at_most,
           {},
           {},
           beside("threads: append, parts shared/2", "threads: append, parts shared/1")},
          {"  decision, parts shared",
           at_most,
           {},
           {},
           beside("threads: decision, parts shared/2", "threads: decision, parts shared/1")},
          {"  16 locks alone", at_most, {}, {}, beside("threads: 16 locks alone/2", "threads: 16 locks alone/1")},
      });
}

// The works of one name by their size, which stands behind the last slash.
std::vector<std::pair<double, double>> series_of(const runner& works, const std::string& name) {
  std::vector<std::pair<double, double>> points;
  for (const runner::timed& each : works.times()) {
    const std::size_t slash = each.name.rfind('/');
    if (slash == each.name.npos || each.name.substr(0, slash) != name) continue;
    const std::string size = each.name.substr(slash + 1);
    if (size.find_first_not_of("0123456789") == size.npos) points.emplace_back(std::stod(size), each.median());
  }
  std::sort(points.begin(), points.end());
  return points;
}

double exponent_of(const std::vector<std::pair<double, double>>& points) {
  double x = 0, y = 0, xx = 0, xy = 0;
  for (const auto& [size, figure] : points) {
    x += std::log(size);
    y += std::log(figure);
    xx += std::log(size) * std::log(size);
    xy += std::log(size) * std::log(figure);
  }
  const auto n = static_cast<double>(points.size());
  return (n * xy - x * y) / (n * xx - x * x);
}

std::string verdict_text(const verdict& v) {
  if (!v.target) return "";
  return v.reaches(*v.target) ? "met" : "MISSED";
}

void print_times(std::ostream& out, const runner& works) {
  out << "CPU time of each work, ns: median, least\n";
  for (const runner::timed& each : works.times()) {
    out << "  " << std::left << std::setw(58) << each.name << std::right << std::setw(12) << fixed(each.median(), 1)
        << std::setw(12) << fixed(each.ns.front(), 1) << '\n';
  }
  out << "\nMemory, bytes\n";
  for (const auto& [name, bytes] : works.bytes()) {
    out << "  " << std::left << std::setw(58) << name << std::right << std::setw(12) << fixed(bytes, 1) << '\n';
  }
}

// Quotes a text of this program, which has nothing to escape but quotes and backslashes.
std::string quoted(const std::string& text) {
  std::string made = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') made.push_back('\\');
    made.push_back(c);
  }
  return made + "\"";
}
std::string number(const std::optional<double>& value) { return value ? fixed(*value, 4) : "null"; }

template <class Items, class Write>
void print_list(std::ostream& out, const char* name, const Items& items, Write write) {
  out << "  " << quoted(name) << ": [";
  bool is_first = true;
  for (const auto& each : items) {
    out << (std::exchange(is_first, false) ? "\n    {" : ",\n    {");
    write(each);
    out << '}';
  }
  out << "\n  ]";
}

}  // namespace

std::vector<verdict> verdicts_of(const runner& works) {
  std::vector<verdict> all;
  add_hot(all, works);
  add_decision(all, works);
  add_replay(all, works);
  add_rest(all, works);
  return all;
}

std::vector<growth> growth_of(const runner& works) {
  std::vector<growth> all;
  for (const char* name :
       {"append to held events", "append to streams", "decision: library", "decision: limit", "decision: peer ring",
        "decision: peer map", "decision among streams", "replay views: library", "replay into buffer: library",
        "replay into string: library", "replay into string: peer ring", "replay into string: peer map",
        "reconnect: library", "reconnect: limit", "reconnect: peer ring", "reconnect: peer map",
        "reconnect: peer deque"}) {
    const auto points = series_of(works, name);
    require(points.size() > 1, "a work has one size only");
    all.push_back({name, points.front().first, points.back().first, points.front().second, points.back().second,
                   exponent_of(points)});
  }
  return all;
}

void print(std::ostream& out, const runner& works) {
  print_times(out, works);
  out << "\nGrowth: time as size ^ exponent\n";
  for (const growth& g : growth_of(works)) {
    out << "  " << std::left << std::setw(34) << g.what << std::right << std::setw(6) << fixed(g.smallest_size, 0)
        << " to " << std::setw(6) << fixed(g.largest_size, 0) << std::setw(12) << fixed(g.at_smallest, 1) << " to "
        << std::setw(12) << fixed(g.at_largest, 1) << " ns   ^ " << fixed(g.exponent, 2) << '\n';
  }
  out << "\nRatios of medians" << (works.is_quick() ? ", QUICK: a smoke test, too short to be quoted" : "") << '\n';
  out << "  " << std::left << std::setw(60) << "" << std::right << std::setw(10) << "target" << std::setw(10)
      << "stretch" << std::setw(10) << "measured" << '\n';
  for (const verdict& v : verdicts_of(works)) {
    const char* const sign = v.wanted == goal::at_most ? "<= " : ">= ";
    out << "  " << std::left << std::setw(60) << v.what << std::right << std::setw(10)
        << (v.target ? sign + fixed(v.target) : "-") << std::setw(10) << fixed(v.stretch) << std::setw(10)
        << fixed(v.measured) << "  " << verdict_text(v)
        << (v.stretch && v.target && v.reaches(*v.stretch) ? ", stretch too" : "") << '\n';
  }
}

void print_json(std::ostream& out, const runner& works) {
  out << "{\n  \"version\": " << quoted(std::to_string(MCP_RESUME_VERSION))
      << ",\n  \"compiler\": " << quoted(__VERSION__) << ",\n  \"quick\": " << (works.is_quick() ? "true" : "false")
      << ",\n";
  print_list(out, "times", works.times(), [&out](const runner::timed& each) {
    out << "\"name\": " << quoted(each.name) << ", \"median_ns\": " << number(each.median())
        << ", \"least_ns\": " << number(each.ns.front());
  });
  out << ",\n";
  print_list(out, "memory", works.bytes(), [&out](const auto& each) {
    out << "\"name\": " << quoted(each.first) << ", \"bytes\": " << number(each.second);
  });
  out << ",\n";
  print_list(out, "growth", growth_of(works), [&out](const growth& g) {
    out << "\"name\": " << quoted(g.what) << ", \"smallest\": " << number(g.smallest_size)
        << ", \"largest\": " << number(g.largest_size) << ", \"exponent\": " << number(g.exponent);
  });
  out << ",\n";
  print_list(out, "ratios", verdicts_of(works), [&out](const verdict& v) {
    const std::string name = v.what.substr(v.what.find_first_not_of(' '));
    out << "\"name\": " << quoted(name)
        << ", \"wanted\": " << quoted(v.wanted == goal::at_most ? "at most" : "at least")
        << ", \"target\": " << number(v.target) << ", \"stretch\": " << number(v.stretch)
        << ", \"measured\": " << number(v.measured) << ", \"verdict\": " << quoted(verdict_text(v));
  });
  out << "\n}\n";
}

}  // namespace bench
