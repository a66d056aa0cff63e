// SPDX-License-Identifier: MIT
// Promise: a field case is read strictly. What is not understood is an error with its place, never ignored.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "../examples/strict_json.hpp"

namespace field {

using json = nlohmann::ordered_json;  // edits of a cursor are applied in the order in which they stand

// The text is no case at all: an input error.
struct input_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};
// The case cannot be executed as it is written: it fails.
struct case_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};
// The case needs a word that one process cannot express.
struct case_skip : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Parses one line. Refuses a key that stands twice in one object, since one of the two would go unchecked.
inline json parse_line(const std::string& line) {
  try {
    return example::parse_strictly<json>(line);
  } catch (const example::json_error& e) {
    throw input_error(e.what());
  }
}

// ---- Substitution ----------------------------------------------------------------------------------------------------

// Variables of the loops around a step, without `$`.
using variables = std::map<std::string, std::string>;

// `$n1` is the first event of the stream called `$name`: 0 if no such variable stands at the front of `text`, else the
// length of its name.
inline std::size_t match_event_of_name(std::string_view text, const variables& known) {
  if (text.empty() || text[0] != 'n' || known.count("name") == 0) return 0;
  std::size_t size = 1;
  while (size < text.size() && text[size] >= '0' && text[size] <= '9') ++size;
  return size == 1 ? 0 : size;
}

// The longest variable whose name stands at the front of `text`: its end is not marked (`k$i_1`).
inline variables::const_iterator match_variable(std::string_view text, const variables& known) {
  auto best = known.end();
  for (auto each = known.begin(); each != known.end(); ++each) {
    const bool fits = text.substr(0, each->first.size()) == each->first;
    if (fits && (best == known.end() || best->first.size() < each->first.size())) best = each;
  }
  return best;
}

inline std::string substitute_text(std::string_view text, const variables& known) {
  std::string out;
  while (!text.empty()) {
    const char c = text[0];
    text.remove_prefix(1);
    if (c != '$') {
      out += c;
      continue;
    }
    const auto found = match_variable(text, known);
    const std::size_t event = match_event_of_name(text, known);
    if (found != known.end()) {
      out += found->second;
      text.remove_prefix(found->first.size());
    } else if (event != 0) {
      out += known.at("name") + "#" + std::string(text.substr(1, event - 1));
      text.remove_prefix(event);
    } else {
      out += c;
    }
  }
  return out;
}

// Everywhere but in nested `steps`, which get the variables of their own loop.
inline json substitute(const json& value, const variables& known) {
  if (known.empty()) return value;
  if (value.is_string()) return substitute_text(value.get_ref<const std::string&>(), known);
  if (!value.is_structured()) return value;
  json out = value;
  for (auto each = out.begin(); each != out.end(); ++each) {
    if (!value.is_object() || each.key() != "steps") *each = substitute(*each, known);
  }
  return out;
}

// ---- Typed access ----------------------------------------------------------------------------------------------------

// Decimal text of an unsigned number, or none. Numbers beyond 2^53 are written as strings, for readers of JSON that
// know doubles only.
inline std::optional<std::uint64_t> parse_number(std::string_view digits) {
  if (digits.empty() || digits.size() > 20) return std::nullopt;
  std::uint64_t value = 0;
  for (const char c : digits) {
    if (c < '0' || c > '9') return std::nullopt;
    const auto digit = static_cast<std::uint64_t>(c - '0');
    if (value > (std::numeric_limits<std::uint64_t>::max() - digit) / 10) return std::nullopt;
    value = value * 10 + digit;
  }
  return value;
}

inline std::optional<std::uint64_t> as_number(const json& value) {
  if (value.is_number_unsigned()) return value.get<std::uint64_t>();
  if (value.is_string()) return parse_number(value.get_ref<const std::string&>());
  return std::nullopt;
}

inline std::vector<std::string> as_texts(const json& value, const std::string& what) {
  std::vector<std::string> out;
  if (value.is_string()) return {value.get<std::string>()};
  if (!value.is_array()) throw case_error(what + " must be a list of strings");
  for (const json& each : value) {
    if (!each.is_string()) throw case_error(what + " must hold strings only, not " + each.dump());
    out.push_back(each.get<std::string>());
  }
  return out;
}

// The parameters of one step.
class arguments {
 public:
  explicit arguments(const json& step, std::string name_as_written = {})
      : written_name(std::move(name_as_written)), step_(step) {}

  std::string written_name;  // `as_` before substitution

  const json* find(const char* key) const {
    const auto found = step_.find(key);
    return found == step_.end() ? nullptr : &*found;
  }
  bool has(const char* key) const { return find(key) != nullptr; }
  bool is_null(const char* key) const { return has(key) && find(key)->is_null(); }
  const json& at(const char* key) const {
    if (const json* found = find(key)) return *found;
    throw case_error("`" + std::string(key) + "` is missing");
  }
  std::string text(const char* key) const {
    const json& value = at(key);
    if (!value.is_string()) throw case_error(expected(key, "a string"));
    return value.get<std::string>();
  }
  std::string text_or(const char* key, const std::string& absent) const { return has(key) ? text(key) : absent; }
  // As text_or; null says that there is none: the empty text.
  std::string nullable_text(const char* key, const std::string& absent) const {
    return is_null(key) ? std::string() : text_or(key, absent);
  }
  std::uint64_t number(const char* key, std::uint64_t most = std::numeric_limits<std::uint64_t>::max()) const {
    const std::optional<std::uint64_t> value = as_number(at(key));
    if (!value) throw case_error(expected(key, "a whole number from 0 on"));
    if (*value > most) throw case_error(expected(key, "at most " + std::to_string(most)));
    return *value;
  }
  bool flag_or(const char* key, bool absent) const {
    if (!has(key)) return absent;
    if (!at(key).is_boolean()) throw case_error(expected(key, "true or false"));
    return at(key).get<bool>();
  }
  // A string counts as a list of one.
  std::vector<std::string> texts(const char* key) const { return as_texts(at(key), "`" + std::string(key) + "`"); }
  const json& list(const char* key) const {
    if (!at(key).is_array()) throw case_error(expected(key, "a list"));
    return at(key);
  }

 private:
  std::string expected(const char* key, const std::string& what) const {
    return "`" + std::string(key) + "` must be " + what + ", not " + at(key).dump().substr(0, 80);
  }

  const json& step_;
};

// Fails on the first key that is not among the words of `allowed`, which are parted by blanks.
inline void check_keys(const json& object, std::string_view allowed, const std::string& where) {
  const std::string padded = " " + std::string(allowed) + " ";
  for (auto each = object.begin(); each != object.end(); ++each) {
    if (padded.find(" " + each.key() + " ") == std::string::npos) {
      throw case_error(where + ": unknown key `" + each.key() + "`");
    }
  }
}

// ---- Lists of symbols ------------------------------------------------------------------------------------------------

// A symbol as what stands before its trailing number, and the number.
inline std::pair<std::string, std::optional<std::uint64_t>> split_symbol(const std::string& symbol) {
  std::size_t begin = symbol.size();
  while (begin != 0 && symbol[begin - 1] >= '0' && symbol[begin - 1] <= '9') --begin;
  return {symbol.substr(0, begin), parse_number(std::string_view(symbol).substr(begin))};
}

// Replaces `...` by the numbered symbols between its neighbours.
inline std::vector<std::string> expand_symbols(const std::vector<std::string>& written) {
  constexpr std::uint64_t most = 10000000;
  std::vector<std::string> out;
  for (std::size_t i = 0; i != written.size(); ++i) {
    if (written[i] != "...") {
      out.push_back(written[i]);
      continue;
    }
    if (i == 0 || i + 1 == written.size()) throw case_error("`...` stands at an end of its list");
    const auto [prefix, from] = split_symbol(written[i - 1]);
    const auto [other, to] = split_symbol(written[i + 1]);
    if (!from || !to || prefix != other || *from >= *to || *to - *from > most) {
      throw case_error("`...` needs numbered symbols in order around it, not `" + written[i - 1] + "` and `" +
                       written[i + 1] + "`");
    }
    for (std::uint64_t n = *from + 1; n < *to; ++n) out.push_back(prefix + std::to_string(n));
  }
  return out;
}

}  // namespace field
