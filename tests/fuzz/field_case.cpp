// SPDX-License-Identifier: MIT
// Promise: no file of field cases crashes the runner, a line is read exactly if it is JSON without a key that stands
// twice in one object, each line counts once, and the same file gives the same report. An input is a file.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "../field_runner.hpp"
#include "input.hpp"

namespace {

using field::json;
using fuzz::require;

// What the strict reader has to find out, from the events of a parser that is not strict.
class strictness : public nlohmann::json_sax<json> {
 public:
  bool repeats_key = false;
  std::size_t depth = 0;

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override { return open(); }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override {
    repeats_key = repeats_key || !keys_.back().insert(name).second;
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override { return false; }

 private:
  bool open() {
    keys_.emplace_back();
    depth = std::max(depth, keys_.size());
    return true;
  }
  bool close() {
    keys_.pop_back();
    return true;
  }
  std::vector<std::set<std::string>> keys_;
};

std::optional<json> read(const std::string& line) {
  try {
    return field::parse_line(line);
  } catch (const field::input_error&) {
    return std::nullopt;
  }
}

// Returns what was read.
std::optional<json> check_reading(const std::string& line) {
  const std::optional<json> got = read(line);
  strictness seen;
  const bool is_json = json::sax_parse(line, &seen);
  require(is_json || !got, "what is no JSON is an input error", line);
  require(!seen.repeats_key || !got, "a key that stands twice is an input error", line);
  constexpr std::size_t deepest = 64;
  require(seen.depth <= deepest || !got, "what is nested too deep is an input error", line);
  const bool is_fine = is_json && !seen.repeats_key && seen.depth <= deepest;
  require(!is_fine || got, "a line without fault is read", line);
  require(!got || *got == json::parse(line), "what is read is what was written", line);
  return got;
}

// ---- What a case would cost ------------------------------------------------------------------------------------------

constexpr std::uint64_t too_much = 3000;

std::uint64_t capped(std::uint64_t cost) { return std::min(cost, too_much); }

// The number at the end of a text: `e100` ends a range.
std::uint64_t number_at_end_of(const std::string& text) {
  const std::vector<std::uint64_t> numbers = fuzz::numbers_of(text);
  const bool is_long = text.size() > 18;  // its number may be modulo 2^64
  if (numbers.empty()) return 0;
  return is_long ? too_much : capped(numbers.back());
}

// Numbers add up, but for a loop's, which multiply what it holds: more than enough for what the runner does.
std::uint64_t cost_of(const json& value) {
  if (value.is_string()) return 1 + number_at_end_of(value.get_ref<const std::string&>());
  if (value.is_number_unsigned()) return 1 + capped(value.get<std::uint64_t>());
  if (!value.is_structured()) return 1;
  std::uint64_t sum = 1;
  for (const json& each : value) sum = capped(sum + cost_of(each));
  const bool is_loop = value.is_object() && value.contains("steps") && value.contains("op");
  return is_loop ? capped(sum * sum) : sum;
}

bool is_cheap(const json& one) {
  // The bounds of a client and the texts of a script are not a matter of their numbers' size.
  return !one.is_object() || !one.contains("steps") || cost_of(one["steps"]) < too_much;
}

bool is_blank(const std::string& line) { return line.find_first_not_of(" \t\r\xEF\xBB\xBF") == std::string::npos; }

struct run_report {
  field::totals sum;
  std::string text;
};

run_report run(const std::string& file) {
  run_report made;
  std::istringstream in(file);
  std::ostringstream out;
  field::run_stream(in, "fuzz", out, made.sum);
  made.text = out.str();
  return made;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string file(fuzz::text_of(bytes, size));
  std::istringstream in(file);
  std::size_t cases = 0;
  bool has_unreadable = false, can_run = true;
  for (std::string line; std::getline(in, line);) {
    if (is_blank(line)) continue;
    ++cases;
    const std::optional<json> one = check_reading(line);
    has_unreadable = has_unreadable || !one;
    can_run = can_run && (!one || is_cheap(*one));
  }
  if (!can_run) return 0;
  const run_report first = run(file), second = run(file);
  require(first.sum.passed + first.sum.failed + first.sum.skipped == cases, "each line counts once", first.text);
  require(first.sum.has_input_error == (has_unreadable || cases == 0), "an input error is said", first.text);
  const bool has_failed = first.sum.failed != 0 || first.sum.has_input_error;
  require(!has_failed || first.text.find("FAIL ") != std::string::npos, "a failure is said", first.text);
  const bool is_parallel = file.find("parallel") != std::string::npos;  // threads come in any order
  require(is_parallel || first.text == second.text, "the same file gives the same report", first.text + second.text);
  return 0;
}
