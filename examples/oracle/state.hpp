// SPDX-License-Identifier: MIT
// What a server holds at one moment, as far as it decides a resume: its JSON form, and the library's decision.
#ifndef MCP_RESUME_EXAMPLES_STATE_HPP
#define MCP_RESUME_EXAMPLES_STATE_HPP

#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "facts.hpp"
#include "mcp_resume/resume.hpp"

namespace oracle {

enum class session_life { live, ended, expired };
template <>
struct fact_words<session_life> {
  static constexpr std::array<std::string_view, 3> all{"live", "ended", "expired"};
};

struct server_stream {
  std::uint32_t number = 0;
  mcp_resume::stream_facts facts;
};
struct server_session {
  std::string id, principal;
  mcp_resume::protocol negotiated = mcp_resume::protocol::v2025_11_25;
  mcp_resume::tags owner;
  session_life life = session_life::live;
  mcp_resume::reader_fact standalone_reader = mcp_resume::reader_fact::none;
  std::vector<server_stream> streams;  // the standalone one, and the request streams of this incarnation
};
struct server_state {
  mcp_resume::protocol_set supported;
  std::vector<server_session> sessions;
};

// The library's decision: it is asked as a server asks whose log lives elsewhere.
mcp_resume::resolution decide_for(const server_state& held, const mcp_resume::request& asked,
                                  mcp_resume::after_gap rule);

// Beyond 2^53 as a text, for readers of JSON that know doubles only.
nlohmann::json json_of(std::uint64_t number);
nlohmann::json json_of(const server_state& state);

// Throws input_error with the name and the field. `name` is that of the file.
server_state read_state(std::string_view text, const std::string& name);

}  // namespace oracle

#endif  // MCP_RESUME_EXAMPLES_STATE_HPP
