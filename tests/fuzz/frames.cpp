// SPDX-License-Identifier: MIT
// Promise: what the library writes is read by the HTML standard as what was meant, whatever the payloads hold, however
// it is asked to be cut, and by client.hpp's reader as well. An input's first line is numbers: protocol version,
// `retry:`, bytes of a read into a string and into a buffer, bounds of events and of bytes, and where reading goes on
// after a gap. Each further line is a frame: a letter, numbers, `|` and a text; or `p`, which reads the session that
// every event was appended to.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "../history.hpp"
#include "../randomness.hpp"
#include "../sse.hpp"
#include "input.hpp"
#include "mcp_resume/client.hpp"
#include "mcp_resume/resume.hpp"

namespace {

using fuzz::require;
using mcp_resume::event_id;
using mcp_resume::frame_kind;
using mcp_resume::read_state;

struct frame_line {
  char kind;
  std::vector<std::uint64_t> numbers;
  std::string text;

  [[nodiscard]] std::uint64_t number(std::size_t i) const { return i < numbers.size() ? numbers[i] : 0; }
  // Four of the numbers, from the i-th on.
  [[nodiscard]] event_id id(std::size_t i) const {
    return {{number(i), number(i + 1)}, static_cast<std::uint32_t>(number(i + 2)), number(i + 3)};
  }
};

frame_line line_of(std::string_view line) {
  const std::size_t bar = line.find('|');
  const std::string_view text = bar == line.npos ? std::string_view() : line.substr(bar + 1);
  return {line[0], fuzz::numbers_of(line.substr(0, bar)), fuzz::unescaped(text)};
}

struct setting {
  explicit setting(const std::vector<std::uint64_t>& n) {
    const auto at = [&n](std::size_t i) { return i < n.size() ? n[i] : 0; };
    version = static_cast<mcp_resume::protocol>(at(0) % (mcp_resume::protocol_count - 1));
    retry_ms = static_cast<std::uint32_t>(at(1));
    read_bytes = static_cast<std::size_t>(at(2));
    buffer_bytes = static_cast<std::size_t>(at(3) % 5000);
    bounds.max_events = static_cast<std::uint32_t>(at(4));
    bounds.max_bytes = static_cast<std::size_t>(at(5));
    bounds.after_gap = at(6) % 2 == 0 ? mcp_resume::after_gap::live_edge : mcp_resume::after_gap::oldest_held;
    bounds.retry_ms = retry_ms;
  }
  mcp_resume::protocol version;
  std::uint32_t retry_ms;
  std::size_t read_bytes;
  std::size_t buffer_bytes;
  mcp_resume::options bounds;
};

// ---- Readers --------------------------------------------------------------------------------------------------------

std::string shown(const sse::block& b) {
  return "id " + b.id.value_or("absent") + ", type " + b.type + ", data " + b.data.value_or("absent") + ", retry " +
         (b.retry ? std::to_string(*b.retry) : "absent") + "\n";
}

std::string shown(const std::vector<sse::block>& blocks) {
  std::string text;
  for (const sse::block& b : blocks) text += shown(b);
  return text;
}

std::vector<sse::block> read_by_client(std::string_view text, std::size_t chunk) {
  std::vector<sse::block> blocks;
  mcp_resume::event_reader reader;
  while (!text.empty()) {
    const fuzz::exact_copy part(text.substr(0, chunk));
    text.remove_prefix(part.view().size());
    std::string_view rest = part.view();
    while (const auto next = reader.next(rest)) {
      sse::block copy;
      if (next->id) copy.id = std::string(*next->id);
      copy.type = std::string(next->type);
      if (next->data) copy.data = std::string(*next->data);
      copy.retry = next->retry_ms;
      blocks.push_back(copy);
    }
    require(rest.empty(), "the client's reader takes all bytes");
  }
  return blocks;
}

void check_client(std::string_view text, const std::vector<sse::block>& blocks, const setting& how) {
  for (const std::size_t chunk : {text.size(), std::size_t{1}, 1 + how.buffer_bytes % 64}) {
    require(shown(read_by_client(text, std::max<std::size_t>(chunk, 1))) == shown(blocks),
            "the client's reader reads what the standard says", std::string(text));
  }
}

// ---- Frames, each by its helper --------------------------------------------------------------------------------------

struct meant {
  std::optional<event_id> id;
  frame_kind kind = frame_kind::event;
  std::string data;          // of an event
  event_id resume_from;      // of a signal
  std::uint64_t number = 0;  // of a gap what is missed, of a marker its `retry:`
};

class written_frames {
 public:
  explicit written_frames(const setting& how) : how_(how) {}

  void append(const frame_line& line) {
    const std::size_t before = out_.size();
    switch (line.kind) {
      case 'e':
      case 'm':
        return append_payload(line);
      case 'k': {
        const auto retry_ms = static_cast<std::uint32_t>(line.number(4));
        append_marker(out_, line.id(0), how_.version, retry_ms);
        meant_.push_back({line.id(0), frame_kind::marker, "", {}, retry_ms});
        break;
      }
      case 'g':
        append_gap(out_, line.id(0), line.id(4), line.number(8));
        meant_.push_back({line.id(0), frame_kind::gap, "", line.id(4), line.number(8)});
        break;
      case 'r':
        append_reset(out_, line.id(0), line.id(4));
        meant_.push_back({line.id(0), frame_kind::reset, "", line.id(4), 0});
        break;
      case 'c':
        mcp_resume::append_keep_alive(out_);
        ++comments_;
        break;
      default:
        return;
    }
    require(out_.size() > before, "a frame is written");
  }

  void check() const {
    const std::vector<sse::block> blocks = sse::read(out_);
    require(blocks.size() == meant_.size(), "as many blocks are read as were written", shown(blocks));
    std::size_t comments = 0;
    for (std::size_t i = 0; i != blocks.size(); ++i) {
      check(blocks[i], meant_[i]);
      comments += blocks[i].comments;
    }
    require(comments <= comments_, "a payload makes no comment");
    check_client(out_, blocks, how_);
  }

 private:
  void append_payload(const frame_line& line) {
    const std::size_t before = out_.size();
    const bool is_event = line.kind == 'e';
    const auto why = is_event ? append_event(out_, line.id(0), line.text) : mcp_resume::append_message(out_, line.text);
    require((why == mcp_resume::refusal::empty_payload) == line.text.empty(), "just an empty payload is refused");
    require((out_.size() == before) == line.text.empty(), "a refused payload is not written");
    if (line.text.empty()) return;
    meant_.push_back({is_event ? std::optional(line.id(0)) : std::nullopt,
                      frame_kind::event,
                      histories::as_received(line.text),
                      {},
                      0});
  }

  static void check(const sse::block& got, const meant& expected) {
    require(got.id.has_value() == expected.id.has_value(), "a block has an id where it was given one", shown(got));
    if (!got.id) {
      require(got.type == "message" && got.data == expected.data && !got.retry, "a message is its payload", shown(got));
      return;
    }
    const std::optional<model::frame> f = histories::frame_of(got);
    require(f.has_value(), "a block with an id is a frame", shown(got));
    require(f->id == *expected.id, "a frame has its id", shown(got));
    const bool is_event = expected.kind == frame_kind::event;
    require(f->kind == expected.kind, "a frame is of its kind", shown(got));
    require(!is_event || got.data == expected.data, "a payload comes back with its line ends as LF", shown(got));
    require(is_event || f->resume_from == expected.resume_from, "a signal says where the stream goes on", shown(got));
    require(expected.kind != frame_kind::gap || f->missed == expected.number, "a gap says what is missed", shown(got));
    const std::uint64_t retry = expected.kind == frame_kind::marker ? expected.number : 0;
    require(got.retry.value_or(0) == retry, "just a marker has a wait", shown(got));
  }

  setting how_;
  std::string out_;
  std::vector<meant> meant_;
  std::size_t comments_ = 0;
};

// ---- A session, read in three ways -----------------------------------------------------------------------------------

class read_session {
 public:
  explicit read_session(const setting& how) : how_(how) {
    const auto why = held_.create("8c0f", "alice", how.version, how.bounds,
                                  randomness::scripted_random({0xAAAAAAAAAAAAAAAAU, 0xBBBBBBBBBBBBBBBBU}));
    require(why == mcp_resume::refusal::none, "the session begins");
    reader_ = held_.attach(resolve_resume({{}, "8c0f", {}, "alice"}, &held_));
  }
  virtual ~read_session() = default;
  read_session(const read_session&) = delete;
  read_session& operator=(const read_session&) = delete;

  mcp_resume::appended append(std::string_view payload) { return held_.append(held_.standalone(), payload); }
  void read_all() {
    for (;;) {
      const mcp_resume::progress done = read(held_, reader_);
      if (done.state == read_state::caught_up) return;
      require(done.state == read_state::more || done.state == read_state::gap, "the session goes on");
    }
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 protected:
  virtual mcp_resume::progress read(mcp_resume::session& from, mcp_resume::reader& by) = 0;
  [[nodiscard]] const setting& how() const { return how_; }
  void add(std::string_view frames) { text_ += frames; }

 private:
  setting how_;
  mcp_resume::session held_;
  mcp_resume::reader reader_;
  std::string text_;
};

class read_whole : public read_session {
 public:
  using read_session::read_session;

 protected:
  mcp_resume::progress read(mcp_resume::session& from, mcp_resume::reader& by) override {
    std::string frames;
    const mcp_resume::progress done = from.read(by, frames, ~std::size_t{0});
    add(frames);
    return done;
  }
};

class read_bounded : public read_session {
 public:
  using read_session::read_session;

 protected:
  mcp_resume::progress read(mcp_resume::session& from, mcp_resume::reader& by) override {
    std::string frames = ": keep-alive\n";
    const std::size_t before = frames.size();
    const mcp_resume::progress done = from.read(by, frames, how().read_bytes);
    frames.erase(0, before);
    require(done.bytes == frames.size(), "a read says how many bytes it wrote");
    const bool is_bounded = done.bytes <= how().read_bytes || sse::read(frames).size() == 1;
    require(is_bounded, "a read writes at most its bound, or one frame", frames);
    require(done.state != read_state::more || done.bytes != 0, "a read writes at least one frame");
    add(frames);
    return done;
  }
};

class read_raw : public read_session {
 public:
  explicit read_raw(const setting& how) : read_session(how), size_(how.buffer_bytes) {}

 protected:
  mcp_resume::progress read(mcp_resume::session& from, mcp_resume::reader& by) override {
    std::vector<char> used(size_);
    const mcp_resume::progress done = from.read(by, used.data(), used.size());
    require(done.bytes <= used.size(), "a buffer is not overrun");
    add(std::string_view(used.data(), done.bytes));
    const bool is_too_small = done.state == read_state::more && done.bytes == 0;
    size_ = is_too_small ? size_ + 64 : how().buffer_bytes;
    return done;
  }

 private:
  std::size_t size_;
};

// What the three have to say: everything that was appended, or a gap that counts it.
void check_text(const std::string& text, const std::vector<std::string>& appended) {
  const auto frames = histories::frames_of(text);
  require(frames.has_value(), "whole frames are written", text);
  std::uint64_t at = 0;     // where the client stands
  std::uint64_t place = 0;  // where it stands after the next marker
  bool is_marker_due = true;
  for (const model::frame& f : *frames) {
    if (f.kind == frame_kind::gap) {
      const bool is_counted = f.id.seq == at && f.resume_from.seq == at + f.missed && f.missed != 0;
      require((!is_marker_due || place == 0) && is_counted, "a gap is counted", text);
      place = f.resume_from.seq;
      is_marker_due = true;
    } else if (f.kind == frame_kind::marker) {
      require(is_marker_due && f.id.seq == place, "a marker stands at its place", text);
      at = place;
      is_marker_due = false;
    } else {
      require(!is_marker_due && f.id.seq == at + 1 && at < appended.size(), "no event is left out", text);
      const std::string& payload = appended[static_cast<std::size_t>(at++)];
      require(f.payload == histories::as_received(payload), "an event has its payload", text);
    }
  }
  require(!is_marker_due && at == appended.size(), "a reader that caught up has everything or was told", text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::vector<std::string_view> lines = fuzz::lines_of(fuzz::text_of(bytes, size));
  const setting how(fuzz::numbers_of(lines[0]));
  written_frames frames(how);
  read_whole whole(how);
  read_bounded bounded(how);
  read_raw raw(how);
  read_session* const all[] = {&whole, &bounded, &raw};
  std::vector<std::string> appended;
  for (std::size_t i = 1; i != lines.size(); ++i) {
    if (lines[i].empty()) continue;
    const frame_line line = line_of(lines[i]);
    frames.append(line);
    if (line.kind == 'e' && whole.append(line.text)) {
      appended.push_back(line.text);
      for (read_session* each : {all[1], all[2]}) require(bool(each->append(line.text)), "the three are alike");
    }
    for (read_session* each : all) {
      if (line.kind == 'p') each->read_all();
    }
  }
  frames.check();
  for (read_session* each : all) each->read_all();
  require(whole.text() == bounded.text() && whole.text() == raw.text(), "every way to read writes the same bytes");
  check_text(whole.text(), appended);
  check_client(whole.text(), sse::read(whole.text()), how);
  return 0;
}
