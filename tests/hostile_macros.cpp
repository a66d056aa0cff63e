// SPDX-License-Identifier: MIT
// The header and its use survive the macros that system headers, Qt, Arduino, X11 and assertion libraries define.
// Standard headers first: those macros would break them, and are no business of this library.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <mutex>
#include <new>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

// A macro that is used stops the compiler: `@` is no token of C++.
#define BROKEN @

#define min(a, b) BROKEN  // windows.h, Arduino
#define max(a, b) BROKEN
#define abs(x) BROKEN
#define round(x) BROKEN
#define bit(b) BROKEN
#define word BROKEN
#define F(text) BROKEN
#define B BROKEN
#define check(x) BROKEN  // AssertMacros.h of macOS, GoogleTest-like libraries
#define verify(x) BROKEN
#define require(x, label) BROKEN
#define assert(x) BROKEN
#define CHECK(x) BROKEN
#define REQUIRE(x) BROKEN
#define emit BROKEN  // Qt
#define slots BROKEN
#define signals BROKEN
#define foreach BROKEN
#define forever BROKEN
#define small BROKEN  // windows.h
#define near BROKEN
#define far BROKEN
#define interface BROKEN
#define IN BROKEN
#define OUT BROKEN
#define OPTIONAL BROKEN
#define ERROR BROKEN
#define DELETE BROKEN
#define VOID BROKEN
#define CONST BROKEN
#define TRUE BROKEN
#define FALSE BROKEN
#define NO_ERROR BROKEN
#define STRICT BROKEN
#define CALLBACK BROKEN
#define GAP BROKEN
#define None BROKEN  // X11
#define Bool BROKEN
#define Status BROKEN
#define Success BROKEN
#define Always BROKEN
#define major(device) BROKEN  // sys/types.h, sys/sysmacros.h
#define minor(device) BROKEN
#define makedev(a, b) BROKEN
#define I BROKEN  // complex.h
#define DEBUG BROKEN
#define LOG(x) BROKEN
#define likely(x) BROKEN
#define unlikely(x) BROKEN
#define uint BROKEN
#define byte BROKEN
#define index(a, b) BROKEN
#define SERVER BROKEN
#define CLIENT BROKEN

#include <mcp_resume/client.hpp>

int main() {
  mcp_resume::local_session_table sessions;
  if (sessions.create("8c0f", "alice", mcp_resume::protocol::v2025_11_25) != mcp_resume::refusal::none) return 1;
  mcp_resume::opened call = sessions.open_stream("8c0f", "7");
  const mcp_resume::appended first = sessions.append(call.stream, "e1");
  const mcp_resume::appended second = sessions.append(call.stream, "e2");
  if (!call || !first || !second || sessions.finish(call.stream) != mcp_resume::refusal::none) return 2;

  const std::string cursor = to_string(first.id);
  mcp_resume::reader reader;
  const auto answer = sessions.resume({"2025-11-25", "8c0f", cursor, "alice"}, reader);
  if (answer.reason != mcp_resume::reason::replay || mcp_resume::describe(answer).empty()) return 3;
  std::string frames;
  const auto progress = sessions.read(reader, frames);
  if (progress.events != 1 || progress.state != mcp_resume::read_state::finished) return 4;

  mcp_resume::stream_guard guard(mcp_resume::stream_kind::request, "8c0f", cursor);
  mcp_resume::reconnect_policy policy;
  policy.note(guard.answer({200, "text/event-stream"}));
  mcp_resume::event_reader blocks;
  std::string_view bytes = frames;
  while (const auto next = blocks.next(bytes)) {
    policy.note(guard.block(*next));
    guard.taken();
  }
  guard.answer_taken();
  return guard.closed().reason == mcp_resume::continuity::complete && policy.wait_ms(0) == 1000 ? 0 : 5;
}
