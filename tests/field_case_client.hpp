// SPDX-License-Identifier: MIT
// Promise: the client of a case is the real client.hpp in the loop that its manual shows; time is the case's, and what it
// sent, was told and delivered is remembered as it happened.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "field_case_script.hpp"
#include "mcp_resume/client.hpp"

namespace field {

struct client_settings {
  std::string name;  // of `as_`
  std::string session_id;
  mr::stream_kind kind = mr::stream_kind::standalone;
  mr::foreign_ids others = mr::foreign_ids::unprovable;
  mr::reconnect_options bounds;
};

struct client_request {
  std::string method, cursor;     // `Last-Event-ID`; empty: none
  std::uint64_t at_ms = 0;        // since the client began
  std::uint64_t waited_ms = 0;    // since the connection before ended; 0 for the first
  bool follows_progress = false;  // the connection before brought an event that had not come yet
  // What the server asked to wait at least, capped as the policy's bounds say; none: it did not ask.
  std::optional<std::uint64_t> retry_ms, retry_after_ms;
};

// The newest `retry:` among the complete blocks of a stream, by HTML 9.2.6: digits alone.
inline std::optional<std::uint64_t> retry_in(const std::string& bytes) {
  std::optional<std::uint64_t> newest;
  for (const sse_block& b : parse_sse(bytes).blocks) {
    if (!b.retry || b.retry->empty() || b.retry->find_first_not_of("0123456789") != std::string::npos) continue;
    const std::size_t begin = std::min(b.retry->find_first_not_of('0'), b.retry->size() - 1);
    newest = parse_number(std::string_view(*b.retry).substr(begin));
    if (!newest) newest = ~std::uint64_t{0};
  }
  return newest;
}

// Its loop is the one that README.md shows.
class scripted_client {
 public:
  std::vector<client_request> requests;
  std::vector<mr::verdict> verdicts;    // of answers, blocks and ends, in order
  std::vector<std::string> recoveries;  // `retry` many times in a row counts as one
  std::vector<std::string> delivered;   // the symbol of an event, else its data
  bool has_given_up = false;            // the policy ended it
  bool has_ended = false;               // a verdict or the policy did

  scripted_client(client_settings with, scripted_server& server, const world& all)
      : with_(std::move(with)), server_(server), all_(all), policy_(with_.bounds) {}

  const client_settings& settings() const { return with_; }
  std::uint64_t age_ms() const { return now_; }

  void begin_with(std::string cursor) {
    if (guard_) throw case_error("the client has begun");
    if (has_cursor_) throw case_error("the client has a cursor");
    has_cursor_ = true;
    cursor_ = std::move(cursor);
  }

  // Does what is due now, and in the time that passes.
  void pass(std::uint64_t ms) {
    const std::uint64_t end = now_ + std::min(ms, ~now_);
    while (due_ && *due_ <= end) {
      now_ = *due_;
      connection_ == nullptr ? connect() : read_on();
    }
    now_ = end;
  }

 private:
  void connect() {
    if (!guard_) guard_.emplace(with_.kind, with_.session_id, cursor_, with_.others);
    if (requests.size() == most_requests) throw case_error("the client sent over 100,000 requests");
    client_request asks;
    asks.cursor = guard_->cursor();
    const bool is_post = requests.empty() && with_.kind == mr::stream_kind::request && asks.cursor.empty();
    asks.method = is_post ? "POST" : "GET";
    asks.at_ms = now_;
    asks.waited_ms = now_ - closed_at_;
    asks.follows_progress = std::exchange(is_progress_, false);
    const auto cap = std::uint64_t{with_.bounds.max_retry_ms};
    if (retry_ms_) asks.retry_ms = std::min(*retry_ms_, cap);
    if (retry_after_ms_ != 0) asks.retry_after_ms = std::min(retry_after_ms_, cap);
    requests.push_back(asks);
    const scripted_answer& got = server_.next(asks.method, now_);
    retry_after_ms_ = got.retry_after_ms;
    mr::received head;
    head.status = got.status;
    head.content_type = got.content_type;
    head.session_id = got.session_id;
    const mr::verdict made = note(guard_->answer(head));
    if (made.next() != mr::next_step::read_on) return leave(made);
    connection_ = &got;
    part_ = 0;
    received_.clear();
    unread_ = 0;
    reader_.emplace();
    wait_for_part();
  }

  void wait_for_part() {
    if (part_ != connection_->sent.size()) {
      due_ = now_ + connection_->sent[part_].after_ms;
    } else if (connection_->is_kept_open) {
      due_.reset();
    } else {
      close();
    }
  }

  void read_on() {
    const std::string& bytes = connection_->sent[part_++].bytes;
    received_ += bytes;
    std::string_view rest = bytes;
    while (const auto block = reader_->next(rest)) {
      unread_ = rest.size();
      if (take(*block) == taking::ended) return;
    }
    unread_ = 0;
    reader_->is_too_large() ? close() : wait_for_part();
  }

  enum class taking { goes_on, ended };

  taking take(const mr::block& block) {
    const mr::verdict made = note(guard_->block(block));
    const bool is_answer = made.deliver && deliver(block) && with_.kind == mr::stream_kind::request;
    if (is_answer) guard_->answer_taken();
    guard_->taken();
    const bool reads_on = made.next() == mr::next_step::read_on;
    if (reads_on && !is_answer && !policy_.has_ended()) return taking::goes_on;
    reads_on ? close() : leave(made);
    return taking::ended;
  }

  void close() { leave(note(guard_->closed())); }

  void leave(const mr::verdict& made) {
    if (connection_ != nullptr) {
      const auto retry = retry_in(received_.substr(0, received_.size() - unread_));
      if (retry) retry_ms_ = retry;
    }
    connection_ = nullptr;
    closed_at_ = now_;
    due_.reset();
    has_ended = made.next() == mr::next_step::end || policy_.has_ended();
    has_given_up = has_ended && made.next() != mr::next_step::end;
    if (has_given_up) recoveries.emplace_back(mr::to_string(mr::recovery::stop));
    if (!has_ended) due_ = now_ + policy_.wait_ms(randomness::next_random(random_), retry_after_ms_);
  }

  mr::verdict note(const mr::verdict& made) {
    policy_.note(made);
    verdicts.push_back(made);
    const std::string what(mr::to_string(made.recovery()));
    const bool is_again = made.recovery() == mr::recovery::retry && !recoveries.empty() && recoveries.back() == what;
    if (made.recovery() != mr::recovery::none && !is_again) recoveries.push_back(what);
    return made;
  }

  // What the application does with a message. True: it is the answer to a request.
  bool deliver(const mr::block& block) {
    const std::string data(*block.data);
    const auto id = block.id ? mr::event_id::parse(*block.id) : std::nullopt;
    const issued_event* issued = id ? all_.find_event(*id) : nullptr;
    const bool is_its = issued != nullptr && split_lines(issued->payload) == split_lines(data);
    delivered.push_back(is_its ? issued->symbol : data);
    const std::string known_by = block.id ? "id " + std::string(*block.id) : "data " + data;
    is_progress_ = came_.insert(known_by).second || is_progress_;
    const json message = json::parse(data, nullptr, false);
    return message.is_object() && message.contains("id") && (message.contains("result") || message.contains("error"));
  }

  static constexpr std::size_t most_requests = 100000;

  client_settings with_;
  scripted_server& server_;
  const world& all_;
  std::string cursor_;
  bool has_cursor_ = false;
  std::optional<mr::stream_guard> guard_;
  mr::reconnect_policy policy_;
  std::uint64_t random_ = 1;

  std::uint64_t now_ = 0;
  std::optional<std::uint64_t> due_ = 0;  // the next request, or the next bytes
  std::uint64_t closed_at_ = 0;
  std::optional<std::uint64_t> retry_ms_;  // the newest `retry:` that came
  std::uint64_t retry_after_ms_ = 0;       // of the newest answer; 0: none
  bool is_progress_ = false;
  std::set<std::string> came_;

  // Of the open connection:
  const scripted_answer* connection_ = nullptr;
  std::size_t part_ = 0;
  std::string received_;
  std::size_t unread_ = 0;  // bytes at its end, once a block has ended the connection
  std::optional<mr::event_reader> reader_;
};

}  // namespace field
