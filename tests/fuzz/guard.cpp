// SPDX-License-Identifier: MIT
// Promise: whatever comes on whatever connections, a client that follows a stream says and sends what a witness that
// forgets nothing says, however the bytes are cut; it is handed no event of another session or stream and none twice,
// loses nothing in silence, never goes back, and holds little memory.
//
// An input's first line is the follower: `r` for a request stream, `t` for one that trusts trailing counters, then the
// bound of a block and that of attempts, then `|` and a cursor that was kept. Each further line is a step:
//   <200 1|text/event-stream   connects and is answered; the second number is its session id: none, the same, another
//   :data: text                a line of the stream; `+` adds no line end to it
//   x                          the network closes
//   !2                         the application fails on the block after two others
//   l1                         learns the tags of the session from a sibling, or those of another life
// In all of them `\o` stands for the tags of the session, `\i` for those of another life of it, `\s` for a stranger's,
// `\c` for the cursor and `\d` for its successor.
#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../counted_heap.hpp"
#include "../follower.hpp"
#include "../model.hpp"
#include "../replaced_new.hpp"
#include "../sse.hpp"
#include "../witness.hpp"
#include "input.hpp"
#include "mcp_resume/client.hpp"

namespace {

using fuzz::require;
using mcp_resume::event_id;
using mcp_resume::recovery;
using mcp_resume::stream_kind;
using witnesses::told;

const std::string session_name = "8c0f";
const std::string own = "5f0c2d9a1b3e4c77.9f8e7d6c5b4a3921.";
const std::string reborn = "5f0c2d9a1b3e4c77.00000000000000aa.";
const std::string stranger = "5f0c2d9a1b3e4c78.9f8e7d6c5b4a3921.";

fuzz::words words_at(const std::string& cursor) {
  return {{'o', own}, {'i', reborn}, {'s', stranger}, {'c', cursor}, {'d', witnesses::plus_one(cursor)}};
}

follower::settings settings_of(std::string_view line) {
  const std::size_t bar = line.find('|');
  const std::string_view head = line.substr(0, bar);
  const std::vector<std::uint64_t> numbers = fuzz::numbers_of(head);
  follower::settings how;
  if (head.find('r') != head.npos) how.kind = stream_kind::request;
  if (head.find('t') != head.npos) how.others = mcp_resume::foreign_ids::trailing_counter;
  how.session_id = session_name;
  if (!numbers.empty()) how.max_block_bytes = static_cast<std::size_t>(numbers[0] % 70000);
  if (numbers.size() > 1) how.bounds.max_attempts = static_cast<std::uint32_t>(numbers[1]);
  if (bar != line.npos) how.cursor = fuzz::unescaped(line.substr(bar + 1), words_at({}));
  return how;
}

witnesses::meant_id meant_id_of(const std::string& text) { return {model::parse(text), text}; }

// What can be sent as a header: no control character, no blank at an end, and no more than a server takes.
bool can_be_sent(const std::string& text) {
  const auto is_control = [](unsigned char c) { return c < 32 || c == 127; };
  return !text.empty() && text.size() <= 1024 && text.front() != ' ' && text.back() != ' ' &&
         std::none_of(text.begin(), text.end(), is_control);
}

// A cursor that cannot be sent, or is of a stream of the other kind, is as none.
std::optional<witnesses::meant_id> kept_cursor(const follower::settings& how) {
  const witnesses::meant_id kept = meant_id_of(how.cursor);
  const bool is_request = how.kind == stream_kind::request;
  if (kept.number) return (kept.number->stream != 0) == is_request ? std::optional(kept) : std::nullopt;
  return can_be_sent(how.cursor) ? std::optional(kept) : std::nullopt;
}

// Media types are compared without case, and without what follows a semicolon.
bool is_event_stream(std::string_view type) {
  std::string name;
  for (const char c : type.substr(0, type.find(';')))
    name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const std::size_t begin = name.find_first_not_of(" \t"), end = name.find_last_not_of(" \t");
  return begin != name.npos && name.substr(begin, end - begin + 1) == "text/event-stream";
}

// ---- One step --------------------------------------------------------------------------------------------------------

struct step {
  char what = 'x';
  std::vector<std::uint64_t> numbers;
  std::string bytes;  // of the stream, or the content type

  [[nodiscard]] std::uint64_t number(std::size_t i) const { return i < numbers.size() ? numbers[i] : 0; }
  [[nodiscard]] int status() const { return static_cast<int>(number(0) % 1000); }
  [[nodiscard]] std::string session_id() const {
    return number(1) % 3 == 0 ? "" : number(1) % 3 == 1 ? session_name : "8c0e";
  }
};

step step_of(std::string_view line, const std::string& cursor) {
  if (line[0] == ':' || line[0] == '+') {
    return {':', {}, fuzz::unescaped(line.substr(1), words_at(cursor)) + (line[0] == ':' ? "\n" : "")};
  }
  const std::size_t bar = line.find('|');
  const std::string type = bar == line.npos ? "text/event-stream" : fuzz::unescaped(line.substr(bar + 1));
  return {line[0], fuzz::numbers_of(line.substr(0, bar)), type};
}

void take(follower::application& by, const step& now, std::size_t chunk) {
  std::string_view rest = now.bytes;
  switch (now.what) {
    case '<':
      if (!by.is_connected() && by.is_over()) return;
      by.connect();
      return by.answer(now.status(), now.bytes, now.session_id());
    case ':':
      for (; !rest.empty(); rest.remove_prefix(std::min(chunk, rest.size()))) {
        const fuzz::exact_copy part(rest.substr(0, chunk));
        by.read(part.view());
      }
      return;
    case '!':
      return by.fail_after(static_cast<std::size_t>(now.number(0)));
    case 'l': {
      follower::settings sibling;
      sibling.session_id = session_name;
      sibling.cursor = (now.number(0) % 2 == 0 ? own : reborn) + "0.1";
      return by.learn(follower::application(sibling));
    }
    default:
      return by.close();
  }
}

// ---- The witness beside a follower -----------------------------------------------------------------------------------

class judge {
 public:
  explicit judge(const follower::settings& how)
      : how_(how), witness_(how.kind, kept_cursor(how), how.others), cursor_(witness_.cursor()) {}

  void hear(const step& now, const follower::application& by) {
    if (now.what == '<') begin(now, by);
    if (now.what == ':') stream_ += now.bytes;
    if (now.what == '!') fails_in_ = now.number(0);
    if (now.what == 'l') witness_.learn(model::parse((now.number(0) % 2 == 0 ? own : reborn) + "0.1")->owner);
    const sse::bounded_reading read(stream_, how_.max_block_bytes);
    for (; judged_ != by.entries().size(); ++judged_) hear(by.entries()[judged_], read.blocks());
    if (now.what == '<') stream_.clear();  // the entries before the answer's are of the connection before
    if (by.is_connected()) {
      require(heard_ == read.blocks().size() || now.what == '<', "the application is handed every block");
      require(!read.is_too_large() || now.what == '<', "a connection with a block over the bound is closed");
    }
    require(by.guard().cursor() == witness_.cursor(), "the cursor is the witness's", by.guard().cursor());
    require(by.guard().owner() == witness_.owner(), "the tags are the witness's");
    require(by.has_given_up() == (how_.bounds.max_attempts != 0 && attempts_ > how_.bounds.max_attempts),
            "attempts end, and only attempts without anything new");
  }

 private:
  void begin(const step& now, const follower::application& by) {
    if (by.gets().size() == connections_) return;  // it follows no more
    ++connections_;
    answer_ = {now.status(), is_event_stream(now.bytes), now.number(1) % 3 == 2};
    const follower::get& sent = by.gets().back();
    const std::uint64_t longest =
        std::max<std::uint64_t>({how_.bounds.max_wait_ms, how_.bounds.first_wait_ms,
                                 std::min<std::uint64_t>(retry_ms_.value_or(0), how_.bounds.max_retry_ms)});
    require(sent.wait_ms <= longest, "no wait is longer than its bounds", std::to_string(sent.wait_ms));
    const std::uint64_t least =
        retry_ms_ ? std::min<std::uint64_t>(*retry_ms_, how_.bounds.max_retry_ms) : how_.bounds.first_wait_ms;
    require(sent.wait_ms >= least, "no wait is shorter than the server asked for", std::to_string(sent.wait_ms));
  }

  void hear(const follower::entry& next, const std::vector<sse::block>& blocks) {
    std::string expected;
    switch (next.from) {
      case follower::source::answer:
        expected = witness_.hear_answer(answer_);
        heard_ = 0;
        break;
      case follower::source::block:
        return hear_block(next, blocks);
      case follower::source::close:
        if (fails_in_ == std::uint64_t{0} && heard_ < blocks.size()) {
          (void)witness_.hear(meant(blocks[heard_++]));  // what the application failed on, and has not taken
          fails_in_.reset();
        }
        expected = witness_.hear_end();
        break;
    }
    conclude(next, expected);
  }

  static witnesses::meant_block meant(const sse::block& b) {
    return {b.id ? std::optional(meant_id_of(*b.id)) : std::nullopt, b.type, b.data};
  }

  void hear_block(const follower::entry& next, const std::vector<sse::block>& blocks) {
    require(heard_ < blocks.size(), "no block is made up");
    if (fails_in_) --*fails_in_;
    const sse::block& read = blocks[heard_++];
    require(next.id == read.id && next.type == read.type && next.made.retry_ms == read.retry,
            "a block is what the standard reads", next.id.value_or("absent") + " " + next.type);
    require(!next.taken || next.taken == read.data, "what is delivered is the block's data");
    const witnesses::meant_block block = meant(read);
    check_delivery(next, block);
    const std::string expected = witness_.hear(block);
    check_silence(next, block);
    if (next.taken && follower::is_answer(*next.taken)) witness_.take_answer();
    witness_.take();
    conclude(next, expected);
  }

  // What holds whatever the witness makes of a block.
  void check_delivery(const follower::entry& next, const witnesses::meant_block& block) const {
    require(!next.made.is_new || next.made.deliver, "what is not delivered is not new");
    require(!next.made.is_new || next.made.recovery() == recovery::none, "what asks for a recovery is not new");
    if (!next.made.deliver) return;
    require(block.has_data(), "just data is delivered");
    if (!block.id || !block.id->number) return;
    const event_id& id = *block.id->number;
    require(!witness_.was_taken(id), "no event is delivered twice", block.id->text);
    const auto owner = witness_.owner();
    require(!owner || owner->session == id.owner.session, "no event of another session is delivered", block.id->text);
    require((id.stream != 0) == (how_.kind == stream_kind::request), "no event of another stream is delivered",
            block.id->text);
  }

  // What is not delivered was taken before, or is a loss that the application is told of.
  void check_silence(const follower::entry& next, const witnesses::meant_block& block) const {
    const bool brings_something = block.id ? block.is_event() : block.has_data();
    if (!brings_something || next.made.deliver || next.made.recovery() != recovery::none) return;
    const auto at = model::parse(cursor_);
    const auto taken = at ? at : model::parse(newest_);
    const bool is_behind = block.id && block.id->number && taken && block.id->number->owner == taken->owner &&
                           block.id->number->seq <= taken->seq;
    require(is_behind, "nothing is dropped in silence", told(next.made));
  }

  void conclude(const follower::entry& next, const std::string& expected) {
    require(told(next.made) == expected, "the verdict is the witness's", told(next.made) + " instead of " + expected);
    require(next.cursor == witness_.cursor(), "the cursor is the witness's", next.cursor);
    const auto before = model::parse(newest_), after = model::parse(next.cursor);
    const bool goes_back =
        before && after && before->owner == after->owner && before->stream == after->stream && after->seq < before->seq;
    require(!goes_back, "the cursor never goes back", next.cursor);
    cursor_ = next.cursor;
    if (!cursor_.empty()) newest_ = cursor_;
    if (next.made.retry_ms) retry_ms_ = next.made.retry_ms;
    if (next.made.is_new) attempts_ = 0;
    if (next.made.recovery() != recovery::none) ++attempts_;
  }

  follower::settings how_;
  witnesses::witness witness_;
  std::string cursor_;
  std::string newest_;  // the last cursor that there was
  std::uint64_t attempts_ = 0;
  std::optional<std::uint64_t> retry_ms_;
  std::size_t judged_ = 0;  // entries
  std::size_t connections_ = 0;
  std::optional<std::uint64_t> fails_in_;  // blocks

  // Of the connection:
  witnesses::heard_answer answer_;
  std::string stream_;
  std::size_t heard_ = 0;  // blocks
};

std::string shown(const follower::entry& e) {
  return std::string(to_string(e.made.reason)) + ": " + told(e.made) + ", new " + (e.made.is_new ? "1" : "0") +
         ", id " + e.id.value_or("absent") + ", type " + e.type + ", took " + e.taken.value_or("nothing") + ", at " +
         e.cursor;
}

void require_alike(const follower::application& a, const follower::application& b) {
  require(a.entries().size() == b.entries().size(), "however the bytes are cut as much happens");
  for (std::size_t i = 0; i != a.entries().size(); ++i) {
    const std::string expected = shown(a.entries()[i]), got = shown(b.entries()[i]);
    require(expected == got, "however the bytes are cut the verdicts are the same", expected + "\n" + got);
  }
}

// ---- Memory ----------------------------------------------------------------------------------------------------------

// A guard and a reader without a follower around them, which keeps all that it is told.
void check_memory(const follower::settings& how, const std::vector<step>& steps) {
  mcp_resume::stream_guard guard(how.kind, how.session_id, how.cursor, how.others);
  mcp_resume::event_reader reader(how.max_block_bytes);
  std::size_t longest_id = how.cursor.size();
  const std::size_t before = heap::bytes;
  heap::most_bytes = before;
  for (const step& now : steps) {
    if (now.what == '<') {
      (void)guard.closed();
      (void)guard.answer({now.status(), now.bytes, {}, {}});
      reader = mcp_resume::event_reader(how.max_block_bytes);
    }
    std::string_view rest = now.what == ':' ? std::string_view(now.bytes) : std::string_view();
    while (const auto next = reader.next(rest)) {
      if (next->id) longest_id = std::max(longest_id, next->id->size());
      (void)guard.block(*next);
      guard.taken();
    }
  }
  // Three times the bound while a string grows; beside it what three others keep, of 64 KiB each and as much again from
  // growing. The guard has three texts, none longer than what can be sent.
  const std::size_t kept = 6 * std::min(how.max_block_bytes, std::size_t{64} * 1024);
  const std::size_t texts = 6 * std::min(longest_id, std::size_t{1024});
  require(heap::most_bytes - before <= 3 * how.max_block_bytes + kept + texts + 256, "memory is bounded",
          std::to_string(heap::most_bytes - before) + " bytes");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::vector<std::string_view> lines = fuzz::lines_of(fuzz::text_of(bytes, size));
  const follower::settings how = settings_of(lines[0]);
  std::array<follower::application, 3> clients{follower::application(how), follower::application(how),
                                               follower::application(how)};
  const std::array<std::size_t, 3> chunks{~std::size_t{0}, 1, 2 + size % 11};
  judge judged(how);
  std::vector<step> steps;
  for (std::size_t i = 1; i != lines.size(); ++i) {
    if (lines[i].empty()) continue;
    const step now = step_of(lines[i], clients[0].guard().cursor());
    for (std::size_t c = 0; c != clients.size(); ++c) take(clients[c], now, chunks[c]);
    judged.hear(now, clients[0]);
    steps.push_back(now);
  }
  require_alike(clients[0], clients[1]);
  require_alike(clients[0], clients[2]);
  check_memory(how, steps);
  return 0;
}
