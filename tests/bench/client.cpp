// SPDX-License-Identifier: MIT
// The client's side: to cut a connection's bytes into blocks, and to judge each of them.
#include "mcp_resume/client.hpp"

#include "bench.hpp"
#include "stores.hpp"

namespace bench {
namespace {

using benchmark::DoNotOptimize;
using mcp_resume::stream_guard;

constexpr std::uint64_t events = 1000;

// What a connection brings: the marker and a thousand events of 256 bytes.
std::string connection(const owner& who) {
  library ours(events);
  fill(ours, {who}, events, payload_of(usual_size));
  mcp_resume::reader reader;
  std::string frames;
  const asked from{who.session_id, who.principal, who.event_id(0)};
  require(ours.table.resume(request_of(from), reader).reason == mcp_resume::reason::replay, "nothing is replayed");
  require(ours.table.read(reader, frames, ~std::size_t{0}).events == events, "not everything is replayed");
  return frames;
}

// The same blocks, cut.
struct cut_block {
  std::string id, data;
  mcp_resume::block view() const noexcept {
    mcp_resume::block made;
    made.id = id;
    made.data = data;
    return made;
  }
};
std::vector<cut_block> cut(std::string_view bytes) {
  std::vector<cut_block> blocks;
  mcp_resume::event_reader reader;
  while (const auto block = reader.next(bytes)) {
    blocks.push_back({std::string(*block->id), std::string(block->data.value_or(""))});
  }
  require(blocks.size() == events + 1, "not every block was cut");
  return blocks;
}

stream_guard guard_of(const owner& who) {
  stream_guard made(mcp_resume::stream_kind::standalone, who.session_id, who.event_id(0));
  const auto opened = made.answer({200, "text/event-stream"});
  require(opened.reason == mcp_resume::continuity::opened, "the stream is not open");
  return made;
}

// How many events one connection delivers.
std::uint64_t judged(const std::vector<cut_block>& blocks, stream_guard guard) {
  std::uint64_t delivered = 0;
  for (const cut_block& each : blocks) {
    delivered += guard.block(each.view()).deliver ? 1U : 0U;
    guard.taken();
  }
  return delivered;
}
std::uint64_t read_and_judged(std::string_view bytes, stream_guard guard) {
  std::uint64_t delivered = 0;
  mcp_resume::event_reader reader;
  while (const auto block = reader.next(bytes)) {
    delivered += guard.block(*block).deliver ? 1U : 0U;
    guard.taken();
  }
  return delivered;
}
std::uint64_t read_alone(std::string_view bytes) {
  std::uint64_t blocks = 0;
  mcp_resume::event_reader reader;
  while (const auto block = reader.next(bytes)) {
    DoNotOptimize(*block);
    ++blocks;
  }
  return blocks;
}

}  // namespace

void run_client(runner& works) {
  const owner who(0);
  const std::string bytes = connection(who);
  const std::vector<cut_block> blocks = cut(bytes);
  const stream_guard guard = guard_of(who);
  require(judged(blocks, guard) == events && read_and_judged(bytes, guard) == events, "an event was not delivered");
  works.add(
      "client: guard", [&] { DoNotOptimize(judged(blocks, guard)); }, events);
  works.add(
      "client: event_reader", [&] { DoNotOptimize(read_alone(bytes)); }, events);
  works.add(
      "client: event_reader and guard", [&] { DoNotOptimize(read_and_judged(bytes, guard)); }, events);
  works.add(
      "client: copy of the bytes",
      [&, held = std::string()]() mutable {
        held.assign(bytes);
        DoNotOptimize(held.data());
        benchmark::ClobberMemory();
      },
      events);
  works.run();
}

}  // namespace bench
