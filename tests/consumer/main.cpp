// SPDX-License-Identifier: MIT
// A user's program: builds and runs with nothing but what the library's target gives it.
#include <mcp_resume/client.hpp>
#ifdef USE_FMT
#include <mcp_resume/fmt.hpp>
#endif

int main() {
  mcp_resume::session_table sessions;
  if (sessions.create("8c0f", "alice", mcp_resume::protocol::v2025_11_25) != mcp_resume::refusal::none) return 1;
  const auto answer = mcp_resume::resolve_resume({"2025-11-25", "8c0f", "evt-4471", "alice"}, sessions);
#ifdef USE_FMT
  if (fmt::format("{}", answer.reason) != "malformed_cursor") return 1;
#endif
  if (mcp_resume::increment_event_id("evt-4471") != "evt-4472") return 1;
  return answer.reason == mcp_resume::reason::malformed_cursor ? 0 : 1;
}
