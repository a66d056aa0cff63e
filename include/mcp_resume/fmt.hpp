// mcp-resume: {fmt} prints the public types as to_string does. Optional; needs {fmt} 9 or later.
// SPDX-License-Identifier: MIT
#ifndef MCP_RESUME_FMT_HPP
#define MCP_RESUME_FMT_HPP

#include <fmt/format.h>

#include "resume.hpp"
#if __has_include("client.hpp")
#include "client.hpp"
#endif

#if FMT_VERSION < 100000  // from {fmt} 10 on format_as in resume.hpp is all that is needed
namespace mcp_resume::detail {
template <class T>
struct fmt_by_text : fmt::formatter<fmt::string_view> {
  template <class Context>
  auto format(const T& value, Context& context) const {
    const auto text = to_string(value);
    return fmt::formatter<fmt::string_view>::format(fmt::string_view(text.data(), text.size()), context);
  }
};
}  // namespace mcp_resume::detail
// clang-format off
template <> struct fmt::formatter<mcp_resume::answer> : mcp_resume::detail::fmt_by_text<mcp_resume::answer> {};
template <> struct fmt::formatter<mcp_resume::event_id> : mcp_resume::detail::fmt_by_text<mcp_resume::event_id> {};
template <> struct fmt::formatter<mcp_resume::outcome> : mcp_resume::detail::fmt_by_text<mcp_resume::outcome> {};
template <> struct fmt::formatter<mcp_resume::protocol> : mcp_resume::detail::fmt_by_text<mcp_resume::protocol> {};
template <> struct fmt::formatter<mcp_resume::read_state> : mcp_resume::detail::fmt_by_text<mcp_resume::read_state> {};
template <> struct fmt::formatter<mcp_resume::reason> : mcp_resume::detail::fmt_by_text<mcp_resume::reason> {};
template <> struct fmt::formatter<mcp_resume::recovery> : mcp_resume::detail::fmt_by_text<mcp_resume::recovery> {};
template <> struct fmt::formatter<mcp_resume::refusal> : mcp_resume::detail::fmt_by_text<mcp_resume::refusal> {};
template <> struct fmt::formatter<mcp_resume::resolution> : mcp_resume::detail::fmt_by_text<mcp_resume::resolution> {};
template <> struct fmt::formatter<mcp_resume::window> : mcp_resume::detail::fmt_by_text<mcp_resume::window> {};
#if defined(MCP_RESUME_CLIENT_HPP)
template <> struct fmt::formatter<mcp_resume::continuity> : mcp_resume::detail::fmt_by_text<mcp_resume::continuity> {};
template <> struct fmt::formatter<mcp_resume::cursor_effect> : mcp_resume::detail::fmt_by_text<mcp_resume::cursor_effect> {};
template <> struct fmt::formatter<mcp_resume::next_step> : mcp_resume::detail::fmt_by_text<mcp_resume::next_step> {};
template <> struct fmt::formatter<mcp_resume::stream_kind> : mcp_resume::detail::fmt_by_text<mcp_resume::stream_kind> {};
template <> struct fmt::formatter<mcp_resume::verdict> : mcp_resume::detail::fmt_by_text<mcp_resume::verdict> {};
#endif
// clang-format on
#endif

#endif  // MCP_RESUME_FMT_HPP
