// SPDX-License-Identifier: MIT
// MCP_RESUME_STD_MUTEX=0 keeps <mutex> out; a table takes the mutex that the platform has.
#define MCP_RESUME_STD_MUTEX 0
#include <mcp_resume/resume.hpp>

#if defined(_GLIBCXX_MUTEX) || defined(_LIBCPP_MUTEX) || defined(_MUTEX_)
#error "<mutex> was included"
#endif

// A name of the header's would make the use of this one ambiguous.
namespace mcp_resume {
struct session_table {};
}  // namespace mcp_resume
using not_declared_by_the_header = mcp_resume::session_table;

namespace {
int locked = 0;
bool is_locked = false;

struct counting_mutex {
  void lock() noexcept {
    ++locked;
    is_locked = true;
  }
  void unlock() noexcept { is_locked = false; }
};
}  // namespace

int main() {
  mcp_resume::basic_session_table<counting_mutex> sessions;
  if (sessions.create("8c0f", "alice", mcp_resume::protocol::v2025_11_25) != mcp_resume::refusal::none) return 1;
  const int before = locked;
  const auto event = sessions.append(*sessions.standalone("8c0f"), "e1");
  return event && locked == before + 2 && !is_locked ? 0 : 2;
}
