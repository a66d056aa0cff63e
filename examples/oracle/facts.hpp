// SPDX-License-Identifier: MIT
// The facts of a decision in words: each enumerator of the library's fact enums, in its order.
#ifndef MCP_RESUME_EXAMPLES_FACTS_HPP
#define MCP_RESUME_EXAMPLES_FACTS_HPP

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "mcp_resume/resume.hpp"

namespace oracle {

template <class Fact>
struct fact_words;  // `all`: the words of an enum
template <>
struct fact_words<mcp_resume::version_fact> {
  static constexpr std::array<std::string_view, 3> all{"supported", "stateless", "unsupported"};
};
template <>
struct fact_words<mcp_resume::session_fact> {
  static constexpr std::array<std::string_view, 4> all{"live", "not_named", "gone", "of_another_principal"};
};
template <>
struct fact_words<mcp_resume::cursor_fact> {
  static constexpr std::array<std::string_view, 6> all{"absent",           "malformed",     "foreign",
                                                       "stale_standalone", "stale_request", "own"};
};
template <>
struct fact_words<mcp_resume::reader_fact> {
  static constexpr std::array<std::string_view, 2> all{"none", "live"};
};
template <>
struct fact_words<mcp_resume::stream_fact> {
  static constexpr std::array<std::string_view, 4> all{"open", "finished", "forgotten", "never_opened"};
};
template <>
struct fact_words<mcp_resume::place_fact> {
  static constexpr std::array<std::string_view, 4> all{"inside", "newest", "evicted", "ahead"};
};
static_assert(fact_words<mcp_resume::version_fact>::all[std::size_t(mcp_resume::version_fact::unsupported)] ==
              "unsupported");
static_assert(fact_words<mcp_resume::session_fact>::all[std::size_t(mcp_resume::session_fact::of_another_principal)] ==
              "of_another_principal");
static_assert(fact_words<mcp_resume::cursor_fact>::all[std::size_t(mcp_resume::cursor_fact::own)] == "own");
static_assert(fact_words<mcp_resume::reader_fact>::all[std::size_t(mcp_resume::reader_fact::live)] == "live");
static_assert(fact_words<mcp_resume::stream_fact>::all[std::size_t(mcp_resume::stream_fact::never_opened)] ==
              "never_opened");
static_assert(fact_words<mcp_resume::place_fact>::all[std::size_t(mcp_resume::place_fact::ahead)] == "ahead");

template <class Fact>
constexpr std::string_view word_of(Fact fact) {
  return fact_words<Fact>::all[static_cast<std::size_t>(fact)];
}

template <class Fact>
constexpr std::optional<Fact> fact_of(std::string_view word) {
  for (std::size_t i = 0; i != fact_words<Fact>::all.size(); ++i) {
    if (fact_words<Fact>::all[i] == word) return static_cast<Fact>(i);
  }
  return std::nullopt;
}

// Calls `call(fact)` with each fact of an enum.
template <class Fact, class Call>
void for_each_fact(Call call) {
  for (std::size_t i = 0; i != fact_words<Fact>::all.size(); ++i) call(static_cast<Fact>(i));
}

// "live, gone or expired"
template <class Words>
std::string listed(const Words& words) {
  std::string text;
  for (std::size_t i = 0; i != words.size(); ++i) {
    text += i == 0 ? "" : i + 1 == words.size() ? " or " : ", ";
    text += words[i];
  }
  return text;
}

}  // namespace oracle

#endif  // MCP_RESUME_EXAMPLES_FACTS_HPP
