// SPDX-License-Identifier: MIT
// mcp_resume_calls CALL N: makes one of the five hottest calls N times on the same data, so that its instructions can be
// counted: those of N calls less those of none. Without arguments it prints the names of the calls.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "mcp_resume/resume.hpp"

namespace {

using namespace mcp_resume;

constexpr std::uint64_t held = 1024;
constexpr std::string_view session_id = "b4f2c1d09e8a47365f0c2d9a1b3e4c77", principal = "user-0000418";

void require(bool holds) {
  if (!holds) std::abort();
}

// Full sessions, one in hand and one in a table, with the same history.
struct world {
  session_table table;
  session alone;
  stream_handle handle;
  std::string payload = std::string(256, 'x');
  std::string cursor;
  std::vector<char> frames = std::vector<char>(65536);
  reader behind;

  world() {
    auto draw = [next = std::uint64_t{0x9f8e7d6c5b4a3921}]() mutable -> drawn_tag {
      return next += 0x0123456789abcdef;
    };
    require(table.create(session_id, principal, protocol::v2025_11_25, draw) == refusal::none);
    require(alone.create(session_id, principal, protocol::v2025_11_25, {}, draw) == refusal::none);
    handle = *table.standalone(session_id);
    for (std::uint64_t n = 0; n != 2 * held; ++n) {
      require(bool(table.append(handle, payload)) && bool(alone.append(alone.standalone(), payload)));
    }
    cursor = to_string(event_id{handle.owner, 0, 2 * held - 100});
    require(table.resume(asked(), behind).reason == reason::replay);
  }
  request asked() const noexcept { return {"2025-11-25", session_id, cursor, principal}; }
};

bool append_in_hand(world& w) { return bool(w.alone.append(w.alone.standalone(), w.payload)); }
bool append_through_table(world& w) { return bool(w.table.append(w.handle, w.payload)); }
bool parse_id(world& w) { return event_id::parse(w.cursor)->seq == 2 * held - 100; }
bool decide_over_table(world& w) { return resolve_resume(w.asked(), w.table).reason == reason::replay; }
bool read_100_frames(world& w) {
  reader again = w.behind;
  return w.table.read(again, w.frames.data(), w.frames.size()).events == 100;
}

constexpr struct {
  std::string_view name;
  bool (*make)(world&);
} calls[] = {
    {"append_in_hand", append_in_hand},       {"append_through_table", append_through_table}, {"parse_id", parse_id},
    {"decide_over_table", decide_over_table}, {"read_100_frames", read_100_frames},
};

}  // namespace

int main(int argc, char** argv) {
  if (argc == 1) {
    for (const auto& call : calls) std::printf("%s\n", std::string(call.name).c_str());
    return 0;
  }
  const long count = argc == 3 ? std::strtol(argv[2], nullptr, 10) : -1;
  for (const auto& call : calls) {
    if (count < 0 || call.name != argv[1]) continue;
    world w;
    bool (*volatile make)(world&) = call.make;  // so that no call is left out
    for (long n = 0; n != count; ++n) require(make(w));
    return 0;
  }
  std::fputs("usage: mcp_resume_calls [CALL N]\n", stderr);
  return 2;
}
