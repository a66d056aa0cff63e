// SPDX-License-Identifier: MIT
// The physical limit of each work: the least that has to be done for it, and nothing else.
#ifndef MCP_RESUME_TESTS_BENCH_LIMITS_HPP
#define MCP_RESUME_TESTS_BENCH_LIMITS_HPP

#include <charconv>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "bench.hpp"

namespace limits {

// A place for `count` payloads of `size` bytes, which are copied to it one after the other, round and round.
class byte_ring {
 public:
  byte_ring(std::size_t count, std::size_t size) : bytes_(count * size), size_(size) {}
  char* copy(std::string_view payload) noexcept {
    at_ = at_ + size_ == bytes_.size() ? 0 : at_ + size_;
    std::memcpy(bytes_.data() + at_, payload.data(), payload.size());
    return bytes_.data() + at_;
  }
  // The same, each to another part of it: no copy meets a page or cache line that is near the one before.
  char* copy_far(std::string_view payload) noexcept {
    constexpr std::size_t prime = 1000003;
    at_ = (at_ + prime * size_) % bytes_.size();
    std::memcpy(bytes_.data() + at_, payload.data(), payload.size());
    return bytes_.data() + at_;
  }
 private:
  std::vector<char> bytes_;
  std::size_t size_;
  std::size_t at_ = 0;
};

inline char* format_tag(char* out, std::uint64_t tag) noexcept {
  char digits[16];
  const auto size = static_cast<std::size_t>(std::to_chars(digits, digits + 16, tag, 16).ptr - digits);
  std::memset(out, '0', 16 - size);
  std::memcpy(out + 16 - size, digits, size);
  return out + 16;
}

// Formats an id by std::to_chars, its four fields.
inline std::size_t format_id(char* out, const mcp_resume::event_id& id) noexcept {
  char* at = format_tag(out, id.owner.session);
  *at++ = '.';
  at = format_tag(at, id.owner.incarnation);
  *at++ = '.';
  at = std::to_chars(at, at + 10, id.stream).ptr;
  *at++ = '.';
  return static_cast<std::size_t>(std::to_chars(at, at + 20, id.seq).ptr - out);
}

// Formats an id where the text of the tags is kept.
inline std::size_t format_id_after(char* out, std::string_view tags, std::uint32_t stream, std::uint64_t seq) noexcept {
  std::memcpy(out, tags.data(), tags.size());
  char* at = std::to_chars(out + tags.size(), out + tags.size() + 10, stream).ptr;
  *at++ = '.';
  return static_cast<std::size_t>(std::to_chars(at, at + 20, seq).ptr - out);
}

// The four fields by std::from_chars, and the dots between them. Not as strict as the grammar: it takes upper case,
// leading zeros and short tags.
inline std::optional<mcp_resume::event_id> parse_id(std::string_view text) noexcept {
  mcp_resume::event_id id;
  const char* const end = text.data() + text.size();
  const char* at = text.data();
  const auto take = [&at, end](auto& value, int base, bool is_last) {
    const auto [stop, error] = std::from_chars(at, end, value, base);
    if (error != std::errc() || (stop == end) != is_last || (!is_last && *stop != '.')) return false;
    at = is_last ? stop : stop + 1;
    return true;
  };
  const bool is_good = take(id.owner.session, 16, false) && take(id.owner.incarnation, 16, false) &&
                       take(id.stream, 10, false) && take(id.seq, 10, true);
  return is_good ? std::optional<mcp_resume::event_id>(id) : std::nullopt;
}

// An id is split by substr at its dots; the tags are compared as texts, the numbers made by std::stoull.
inline std::optional<std::uint64_t> parse_by_substr(const std::string& text, const std::string& session_tag,
                                                    const std::string& incarnation_tag, std::uint64_t& stream) {
  const std::size_t first = text.find('.');
  const std::size_t second = first == text.npos ? first : text.find('.', first + 1);
  const std::size_t third = second == text.npos ? second : text.find('.', second + 1);
  if (third == text.npos) return std::nullopt;
  if (text.substr(0, first) != session_tag) return std::nullopt;
  if (text.substr(first + 1, second - first - 1) != incarnation_tag) return std::nullopt;
  try {
    stream = std::stoull(text.substr(second + 1, third - second - 1));
    return std::stoull(text.substr(third + 1));
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

// Parse, lock and look-up alone: std::from_chars, one of 16 mutexes, and open addressing by std::hash with the id of the
// session beside what is looked up, in one block.
class lookup {
 public:
  explicit lookup(std::size_t sessions) {
    while (slots_.size() < 2 * sessions) slots_.resize(slots_.empty() ? 4 : slots_.size() * 2);
  }
  void create(const bench::owner& who) {
    const std::size_t hash = hash_of(who.session_id);
    std::size_t i = hash & (slots_.size() - 1);
    while (slots_[i].held) i = (i + 1) & (slots_.size() - 1);
    slots_[i] = slot{hash, std::make_unique<node>()};
    slots_[i].held->size = who.session_id.copy(slots_[i].held->id, sizeof node::id);
  }
  // The id of the cursor, if the session is there.
  std::optional<mcp_resume::event_id> decide(const bench::asked& from) {
    const std::size_t hash = hash_of(from.session_id);
    const std::lock_guard<std::mutex> guard(parts_[hash % 16].mutex);
    for (std::size_t i = hash & (slots_.size() - 1); slots_[i].held; i = (i + 1) & (slots_.size() - 1)) {
      if (slots_[i].hash != hash || slots_[i].held->text() != from.session_id) continue;
      return parse_id(from.last_event_id);
    }
    return std::nullopt;
  }
 private:
  struct node {
    std::size_t size = 0;
    char id[48] = {};
    std::string_view text() const noexcept { return {id, size}; }
  };
  struct slot {
    std::size_t hash = 0;
    std::unique_ptr<node> held;
  };
  struct part {
    alignas(64) std::mutex mutex;
  };
  static std::size_t hash_of(std::string_view id) noexcept { return std::hash<std::string_view>()(id); }
  part parts_[16];
  std::vector<slot> slots_;
};

}  // namespace limits

#endif
