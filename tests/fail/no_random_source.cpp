// SPDX-License-Identifier: MIT
// Where the platform's random numbers are switched off, every call that draws tags must be given a source.
#define MCP_RESUME_RANDOM_DEVICE 0
#include <mcp_resume/resume.hpp>

void use(mcp_resume::local_session_table& sessions, mcp_resume::session& session) {
#if !defined(MUST_FAIL)
  const auto random = [] { return std::optional<std::uint64_t>(4); };
  sessions.create("8c0f", "alice", mcp_resume::protocol::v2025_11_25, random);
  session.create("8c0f", "alice", mcp_resume::protocol::v2025_11_25, {}, random);
#elif MUST_FAIL == 1
  sessions.create("8c0f", "alice", mcp_resume::protocol::v2025_11_25);
#elif MUST_FAIL == 2
  session.create("8c0f", "alice", mcp_resume::protocol::v2025_11_25);
#elif MUST_FAIL == 3
  sessions.renew("8c0f");
#elif MUST_FAIL == 4
  session.restore("8c0f", "alice", mcp_resume::protocol::v2025_11_25, 7);
#endif
  static_cast<void>(session);
}
