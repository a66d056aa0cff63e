// SPDX-License-Identifier: MIT
// Two copies of a session would hand out the same numbers twice.
#include <mcp_resume/resume.hpp>

#include <utility>

void use(mcp_resume::session& session, mcp_resume::local_session_table& sessions) {
#if !defined(MUST_FAIL)
  mcp_resume::session other(std::move(session));
  session = std::move(other);
#elif MUST_FAIL == 1
  mcp_resume::session other(session);
#elif MUST_FAIL == 2
  mcp_resume::session other;
  other = session;
#elif MUST_FAIL == 3
  mcp_resume::local_session_table other(sessions);
#elif MUST_FAIL == 4
  mcp_resume::local_session_table other(std::move(sessions));
#endif
  static_cast<void>(session), static_cast<void>(sessions);
}
