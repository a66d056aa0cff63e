// SPDX-License-Identifier: MIT
// A client application that follows one stream for its life and writes down all that it is told: a guard, a reader of
// blocks for each connection, a policy. It has no network: whoever plays the server hands it answers and bytes.
//
//   follower::application client({stream_kind::standalone, "8c0f"});
//   while (!client.is_over()) {
//     const follower::get sent = client.connect();   // what the GET carries
//     client.answer(200);                            // or any other status, content type, session id
//     client.read(bytes);                            // any number of times, cut anywhere
//     client.close();                                // does nothing where the application has closed already
//   }
#ifndef MCP_RESUME_TESTS_FOLLOWER_HPP
#define MCP_RESUME_TESTS_FOLLOWER_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mcp_resume/client.hpp"

namespace follower {

struct settings {
  mcp_resume::stream_kind kind = mcp_resume::stream_kind::standalone;
  std::string session_id = {};
  std::string cursor = {};  // one that was kept elsewhere
  mcp_resume::foreign_ids others = mcp_resume::foreign_ids::unprovable;
  mcp_resume::reconnect_options bounds = {};
  std::size_t max_block_bytes = 65536;
};

// What a connection is asked for with.
struct get {
  std::string session_id;
  std::string cursor;         // empty: no `Last-Event-ID`
  std::uint64_t wait_ms = 0;  // how long the policy waits before it
};

// What a verdict was about.
enum class source : std::uint8_t { answer, block, close };

// A verdict that the application acted on.
struct entry {
  source from = source::answer;
  mcp_resume::verdict made;
  std::size_t attempt = 0;           // the connection, from 1 on
  std::optional<std::string> id;     // of a block
  std::string type;                  // of a block
  std::optional<std::string> taken;  // data that the application was handed, and has
  std::string cursor;                // afterwards
};

// Whether a payload is the answer of a request.
inline bool is_answer(std::string_view payload) {
  return payload.find("\"result\":") != payload.npos || payload.find("\"error\":") != payload.npos;
}

class application {
 public:
  explicit application(settings how)
      : how_(std::move(how)), guard_(how_.kind, how_.session_id, how_.cursor, how_.others), policy_(how_.bounds) {}

  // Begins a connection. One that is open is closed before, as by the network.
  get connect() {
    close();
    gets_.push_back({guard_.session_id(), guard_.cursor(), policy_.wait_ms(0)});
    reader_ = mcp_resume::event_reader(how_.max_block_bytes);
    is_connected_ = true;
    return gets_.back();
  }
  // The status and headers of the answer, before any bytes.
  void answer(int status, std::string_view content_type = "text/event-stream", std::string_view session_id = {}) {
    if (!is_connected_) return;
    act_on({source::answer, guard_.answer({status, content_type, session_id, {}}), gets_.size(), {}, {}, {}, {}});
  }
  // More bytes of the answer's body. What comes after the application has closed is not looked at.
  void read(std::string_view bytes) {
    while (is_connected_) {
      const std::optional<mcp_resume::block> next = reader_.next(bytes);
      if (!next) break;
      take(*next);
    }
    if (is_connected_ && reader_.is_too_large()) close();
  }
  // The connection ends, or could not be made.
  void close() {
    if (is_connected_) act_on({source::close, guard_.closed(), gets_.size(), {}, {}, {}, {}});
    is_connected_ = false;
  }
  // The application fails while it handles the block after `blocks` others: it has taken nothing of it, and closes.
  void fail_after(std::size_t blocks) { fails_after_ = blocks; }
  void learn(const application& sibling) { guard_.learn(sibling.guard_); }

  [[nodiscard]] bool is_connected() const { return is_connected_; }
  // No further connection is to be made.
  [[nodiscard]] bool is_over() const { return !is_connected_ && (is_ended_ || policy_.has_ended()); }
  [[nodiscard]] bool has_given_up() const { return policy_.has_ended(); }
  [[nodiscard]] const mcp_resume::stream_guard& guard() const { return guard_; }

  // All that happened, in order.
  [[nodiscard]] const std::vector<get>& gets() const { return gets_; }
  [[nodiscard]] const std::vector<entry>& entries() const { return entries_; }
  [[nodiscard]] std::vector<std::string> taken() const {
    std::vector<std::string> all;
    for (const entry& e : entries_) {
      if (e.taken) all.push_back(*e.taken);
    }
    return all;
  }
  [[nodiscard]] std::uint64_t missed() const {
    std::uint64_t sum = 0;
    for (const entry& e : entries_) sum += e.made.missed;
    return sum;
  }
  [[nodiscard]] std::size_t count(mcp_resume::continuity why) const {
    std::size_t n = 0;
    for (const entry& e : entries_) n += std::size_t{e.made.reason == why};
    return n;
  }
  [[nodiscard]] std::size_t count(mcp_resume::recovery what) const {
    std::size_t n = 0;
    for (const entry& e : entries_) n += std::size_t{e.made.recovery() == what};
    return n;
  }

 private:
  void take(const mcp_resume::block& next) {
    const mcp_resume::verdict made = guard_.block(next);
    if (fails_after_ && (*fails_after_)-- == 0) {
      fails_after_.reset();
      return close();
    }
    entry acted{source::block, made, gets_.size(), {}, std::string(next.type), {}, {}};
    if (next.id) acted.id = std::string(*next.id);
    if (made.deliver) acted.taken = std::string(*next.data);
    if (made.deliver && is_answer(*next.data)) guard_.answer_taken();
    guard_.taken();
    act_on(std::move(acted));
  }
  void act_on(entry acted) {
    policy_.note(acted.made);
    if (acted.made.next() != mcp_resume::next_step::read_on) is_connected_ = false;
    if (acted.made.next() == mcp_resume::next_step::end) is_ended_ = true;
    acted.cursor = guard_.cursor();
    entries_.push_back(std::move(acted));
  }

  settings how_;
  mcp_resume::stream_guard guard_;
  mcp_resume::reconnect_policy policy_;
  mcp_resume::event_reader reader_;
  std::vector<get> gets_;
  std::vector<entry> entries_;
  std::optional<std::size_t> fails_after_;
  bool is_connected_ = false;
  bool is_ended_ = false;
};

}  // namespace follower

#endif  // MCP_RESUME_TESTS_FOLLOWER_HPP
