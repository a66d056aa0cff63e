// SPDX-License-Identifier: MIT
// Where the platform has no random numbers, no session is made and nothing is thrown.
#include <mcp_resume/resume.hpp>
#include <random>
#include <stdexcept>

#if defined(__GLIBCXX__) && defined(__linux__)
// Replaces the function of libstdc++ that every draw goes through.
std::random_device::result_type std::random_device::_M_getval() { throw std::runtime_error("no entropy"); }

int main() {
  const auto version = mcp_resume::protocol::v2025_11_25;
  mcp_resume::session session;
  if (session.create("8c0f", "alice", version) != mcp_resume::refusal::no_randomness || session.is_live()) return 1;
  mcp_resume::session_table sessions;
  if (sessions.create("8c0f", "alice", version) != mcp_resume::refusal::no_randomness) return 2;
  if (sessions.restore("8c0f", "alice", version, 7) != mcp_resume::refusal::no_randomness) return 3;
  return sessions.inspect().sessions == 0 ? 0 : 4;
}
#else
int main() {}
#endif
