// SPDX-License-Identifier: MIT
#include "probe_http.hpp"

#include <algorithm>
#include <exception>

namespace oracle {
namespace {

constexpr std::size_t most_kept = std::size_t{32} << 20U;   // of one answer
constexpr std::size_t most_bytes = std::size_t{64} << 20U;  // that one connection may bring
constexpr std::size_t cost_of_frame = 1024;                 // beside its text: it is kept in several places

}  // namespace

exchange::exchange(const endpoint& to, http_request asked, steady::time_point deadline, byte_budget& budget)
    : deadline_(deadline), budget_(budget) {
  answer_.last = begun_;
  reading_ = std::thread([this, to, sent = std::move(asked)] { run(to, sent); });
}

bool exchange::wait(steady::time_point until, const condition& holds) {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait_until(lock, until, [&] { return is_over_ || holds(answer_); });
  return holds(answer_);
}

void exchange::wait_quiet(std::chrono::milliseconds quiet, steady::time_point until) {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!is_over_ && steady::now() < std::min(answer_.last + quiet, until)) {
    changed_.wait_until(lock, std::min(answer_.last + quiet, until));
  }
}

void exchange::close() {
  is_closed_ = true;
  if (reading_.joinable()) reading_.join();
}

http_answer exchange::answer() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return answer_;
}

void exchange::run(const endpoint& to, const http_request& asked) {
  const example::http_taker taker{[this](const example::http_head& got) { return take_head(got); },
                                  [this](std::string_view bytes) { return take(bytes); }};
  try {
    end(exchange_over_http(to, asked, {deadline_, std::chrono::hours(1), most_bytes}, is_closed_, taker));
  } catch (const std::exception& e) {
    end(e.what());
  }
}

bool exchange::take_head(const example::http_head& got) {
  const std::lock_guard<std::mutex> lock(mutex_);
  static_cast<example::http_head&>(answer_) = got;
  answer_.last = steady::now();
  changed_.notify_all();
  return !is_closed_;
}

bool exchange::take(std::string_view bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const std::size_t size = bytes.size();
  std::size_t cost = size;
  const bool is_stream = answer_.status == 200 && answer_.is_event_stream();
  if (!is_stream) answer_.body.append(bytes);
  while (const auto block = is_stream ? reader_.next(bytes) : std::nullopt) {
    if (!block->id && !block->data) continue;
    trace_frame frame;
    if (block->id) frame.id = std::string(*block->id);
    if (block->data) frame.data = std::string(*block->data);
    if (block->type != "message") frame.event = std::string(block->type);
    answer_.frames.push_back(std::move(frame));
    cost += cost_of_frame;
  }
  if (!is_stream || cost != size) answer_.last = steady::now();
  changed_.notify_all();
  kept_ += cost;
  const bool is_within = kept_ <= most_kept && !reader_.is_too_large() && cost <= budget_.left;
  if (is_within) budget_.left -= cost;
  if (!is_within) answer_.trouble = "more came than is kept";
  return is_within && !is_closed_;
}

void exchange::end(std::string trouble) {
  const std::lock_guard<std::mutex> lock(mutex_);
  is_over_ = true;
  answer_.has_ended = !is_closed_;
  if (answer_.trouble.empty()) answer_.trouble = std::move(trouble);
  changed_.notify_all();
}

}  // namespace oracle
