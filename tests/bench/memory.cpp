// SPDX-License-Identifier: MIT
// What is allocated, by mallinfo2: bytes in use of the heap and of mapped blocks, with malloc's own.
#include <malloc.h>

#include "bench.hpp"
#include "peers.hpp"
#include "stores.hpp"

namespace bench {
namespace {

double allocated() {
  const struct mallinfo2 now = mallinfo2();
  return static_cast<double>(now.uordblks + now.hblkhd);
}

// Bytes for each event at the bound. Pages fill and empty, so sessions at different places of that are measured.
double of_event(std::size_t size, std::uint32_t streams) {
  constexpr std::uint32_t sessions = 16;
  const std::string payload = payload_of(size);
  std::vector<mcp_resume::session> all;
  all.reserve(sessions);
  std::vector<mcp_resume::stream_handle> handles;
  handles.reserve(streams);
  double held = 0;
  const double before = allocated();
  for (std::uint32_t n = 0; n != sessions; ++n) {
    all.push_back(session_of(owner(n), holding(full)));
    handles.assign(1, all.back().standalone());
    while (handles.size() != streams) handles.push_back(all.back().open_stream("7").stream);
    for (std::uint32_t i = 0; i != 3 * full + 37 * n; ++i) {
      require(bool(all.back().append(handles[i % streams], payload)), "an append was refused");
    }
    held += static_cast<double>(all.back().inspect().events);
  }
  require(held == full * sessions, "a session is not at its bound");
  return (allocated() - before) / held;
}

template <class Store>
double of_event_in(std::size_t size) {
  const std::string payload = payload_of(size);
  const std::vector<owner> all = owners(16);
  const double before = allocated();
  Store store(full);
  fill(store, all, 3 * full, payload);
  return (allocated() - before) / (full * static_cast<double>(all.size()));
}

// Bytes of each of 1,000 finished streams of two events, beside their payloads.
double of_finished_stream(std::size_t size) {
  constexpr std::uint32_t streams = 1000;
  const std::string payload = payload_of(size);
  mcp_resume::options bounds = holding(2 * streams);
  bounds.max_streams = streams;
  mcp_resume::session session = session_of(owner(0), bounds);
  const double before = allocated();
  for (std::uint32_t n = 0; n != streams; ++n) {
    const auto call = session.open_stream("1234567");
    for (int i = 0; i != 2; ++i) require(bool(session.append(call.stream, payload)), "an append was refused");
    require(session.finish(call.stream) == mcp_resume::refusal::none, "a stream was not finished");
  }
  require(session.inspect().events == 2 * streams, "an event is not held");
  return (allocated() - before) / streams - 2.0 * static_cast<double>(size);
}

// Bytes of a session without events, beside the characters of its id and principal. Principals are of 1 to 16
// characters, since malloc rounds to 16 bytes.
template <class Store>
double of_idle_session(std::uint32_t capacity) {
  constexpr std::size_t sessions = 10000;
  std::vector<owner> all = owners(sessions);
  double characters = 0;
  for (std::size_t n = 0; n != sessions; ++n) {
    all[n].principal.assign(1 + n % 16, 'u');
    characters += static_cast<double>(all[n].session_id.size() + all[n].principal.size());
  }
  const double before = allocated();
  Store store(capacity);
  for (const owner& who : all) store.create(who);
  return (allocated() - before - characters) / sessions;
}

// The table alone, without the handles that a server keeps.
struct table_alone {
  mcp_resume::session_table table;
  explicit table_alone(std::uint32_t capacity) : table(holding(capacity)) {}
  void create(const owner& who) {
    const auto why = table.create(who.session_id, who.principal, mcp_resume::protocol::v2025_11_25, tags_of(who));
    require(why == mcp_resume::refusal::none, "a session could not be created");
  }
};

}  // namespace

void measure_memory(runner& works) {
  for (const std::size_t size : {std::size_t{32}, usual_size, std::size_t{4096}}) {
    const std::string of = std::to_string(size);
    for (const std::uint32_t streams : {1U, 16U}) {
      works.note_bytes("memory of event: library, " + of + " bytes, streams/" + std::to_string(streams),
                       of_event(size, streams));
    }
    works.note_bytes("memory of event: peer ring, " + of + " bytes", of_event_in<peers::ring>(size));
    works.note_bytes("memory of event: peer map, " + of + " bytes", of_event_in<peers::map>(size));
    works.note_bytes("memory of event: peer deque, " + of + " bytes", of_event_in<peers::deque>(size));
  }
  works.note_bytes("memory of finished stream: library, 60 bytes", of_finished_stream(60));
  works.note_bytes("memory of finished stream: library, 256 bytes", of_finished_stream(usual_size));
  works.note_bytes("memory of idle session: library", of_idle_session<table_alone>(full));
  works.note_bytes("memory of idle session: peer ring", of_idle_session<peers::ring>(full));
  works.note_bytes("memory of idle session: peer map", of_idle_session<peers::map>(full));
  works.note_bytes("memory of idle session: peer deque", of_idle_session<peers::deque>(full));
}

}  // namespace bench
