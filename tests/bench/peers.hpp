// SPDX-License-Identifier: MIT
// What a competent engineer would otherwise write: sessions in a std::unordered_map behind one mutex, the events of each
// in a boost::circular_buffer, a std::map, or a std::deque with an index. All have one stream for each session, hold a
// number of events, and know neither gaps of several streams nor bounds of bytes or age. Ring and map check whether the
// cursor is the session's: by its beginning, which is all that one stream needs, or field by field, as ids that name a
// stream are parsed. The deque knows the ids of held events only, as texts.
#ifndef MCP_RESUME_TESTS_BENCH_PEERS_HPP
#define MCP_RESUME_TESTS_BENCH_PEERS_HPP

#include <boost/circular_buffer.hpp>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "bench.hpp"

namespace peers {

struct event {
  std::string id;
  std::string payload;
};

// The seq of an id that begins with `prefix`.
inline std::optional<std::uint64_t> seq_of(const std::string& id, const std::string& prefix) {
  if (id.compare(0, prefix.size(), prefix) != 0) return std::nullopt;
  try {
    const std::string digits = id.substr(prefix.size());
    std::size_t used = 0;
    const std::uint64_t seq = std::stoull(digits, &used);
    return used == digits.size() ? std::optional<std::uint64_t>(seq) : std::nullopt;
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

// The seq of an id whose fields are those of `prefix`: each is a substring, the numbers are made by std::stoull.
inline std::optional<std::uint64_t> seq_by_fields(const std::string& id, const std::string& prefix) {
  const std::size_t first = id.find('.');
  const std::size_t second = first == id.npos ? first : id.find('.', first + 1);
  const std::size_t third = second == id.npos ? second : id.find('.', second + 1);
  if (third == id.npos || prefix.compare(0, 16, id.substr(0, first)) != 0) return std::nullopt;
  if (prefix.compare(17, 16, id.substr(first + 1, second - first - 1)) != 0) return std::nullopt;
  try {
    if (std::stoull(id.substr(second + 1, third - second - 1)) != 0) return std::nullopt;
    return std::stoull(id.substr(third + 1));
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

class ring_log {
 public:
  explicit ring_log(std::size_t capacity) : events_(capacity) {}
  void add(std::uint64_t seq, const std::string& prefix, std::string_view payload) {
    events_.push_back(event{prefix + std::to_string(seq), std::string(payload)});
  }
  std::uint64_t first(std::uint64_t next) const noexcept { return next - events_.size(); }
  std::optional<std::uint64_t> find(const std::string& id, const std::string& prefix) const {
    return seq_of(id, prefix);
  }
  // Visits the events after `seq`.
  template <class Visit>
  void visit(std::uint64_t seq, std::uint64_t next, const std::string&, Visit visit) const {
    for (std::size_t i = seq + 1 - first(next); i != events_.size(); ++i) visit(events_[i].id, events_[i].payload);
  }
 private:
  boost::circular_buffer<event> events_;
};

class map_log {
 public:
  explicit map_log(std::size_t capacity) : capacity_(capacity) {}
  void add(std::uint64_t seq, const std::string&, std::string_view payload) {
    events_.emplace_hint(events_.end(), seq, payload);
    if (events_.size() > capacity_) events_.erase(events_.begin());
  }
  std::uint64_t first(std::uint64_t next) const noexcept { return events_.empty() ? next : events_.begin()->first; }
  std::optional<std::uint64_t> find(const std::string& id, const std::string& prefix) const {
    return seq_of(id, prefix);
  }
  template <class Visit>
  void visit(std::uint64_t seq, std::uint64_t, const std::string& prefix, Visit visit) const {
    for (auto it = events_.upper_bound(seq); it != events_.end(); ++it) {
      visit(prefix + std::to_string(it->first), it->second);
    }
  }
 private:
  std::map<std::uint64_t, std::string> events_;
  std::size_t capacity_;
};

class fields_log : public map_log {
 public:
  using map_log::map_log;
  std::optional<std::uint64_t> find(const std::string& id, const std::string& prefix) const {
    return seq_by_fields(id, prefix);
  }
};

class deque_log {
 public:
  explicit deque_log(std::size_t capacity) : capacity_(capacity) {}
  void add(std::uint64_t seq, const std::string& prefix, std::string_view payload) {
    events_.push_back(event{prefix + std::to_string(seq), std::string(payload)});
    index_.emplace(events_.back().id, seq);
    if (events_.size() <= capacity_) return;
    index_.erase(events_.front().id);
    events_.pop_front();
  }
  std::uint64_t first(std::uint64_t next) const noexcept { return next - events_.size(); }
  std::optional<std::uint64_t> find(const std::string& id, const std::string&) const {
    const auto found = index_.find(id);
    return found == index_.end() ? std::nullopt : std::optional<std::uint64_t>(found->second);
  }
  template <class Visit>
  void visit(std::uint64_t seq, std::uint64_t next, const std::string&, Visit visit) const {
    for (std::size_t i = seq + 1 - first(next); i != events_.size(); ++i) visit(events_[i].id, events_[i].payload);
  }
 private:
  std::deque<event> events_;
  std::unordered_map<std::string, std::uint64_t> index_;
  std::size_t capacity_;
};

enum class decision : std::uint8_t { replay, unsupported, unknown, foreign, gap };

template <class Log>
class store {
 public:
  explicit store(std::size_t capacity) : capacity_(capacity) {}
  void create(const bench::owner& who) {
    sessions_.emplace(who.session_id, session{who.principal, who.prefix(), 1, Log(capacity_)});
  }
  std::uint64_t append(const std::string& session_id, std::string_view payload) {
    const std::lock_guard<std::mutex> guard(mutex_);
    const auto found = sessions_.find(session_id);
    if (found == sessions_.end()) return 0;
    session& s = found->second;
    s.log.add(s.next, s.prefix, payload);
    return s.next++;
  }
  decision decide(std::string_view version, const bench::asked& from) const {
    const std::lock_guard<std::mutex> guard(mutex_);
    return place(version, from).said;
  }
  // Decides, and on `replay` visits the id and payload of each event after the cursor.
  template <class Visit>
  decision replay(std::string_view version, const bench::asked& from, Visit visit) const {
    const std::lock_guard<std::mutex> guard(mutex_);
    const placed at = place(version, from);
    if (at.said == decision::replay) at.in->log.visit(at.seq, at.in->next, at.in->prefix, visit);
    return at.said;
  }
 private:
  struct session {
    std::string principal;
    std::string prefix;  // of its event ids
    std::uint64_t next;
    Log log;
  };
  struct placed {
    decision said;
    const session* in = nullptr;
    std::uint64_t seq = 0;
  };
  placed place(std::string_view version, const bench::asked& from) const {
    if (version != "2025-11-25" && version != "2025-06-18" && version != "2025-03-26") return {decision::unsupported};
    const auto found = sessions_.find(from.session_id);
    if (found == sessions_.end() || found->second.principal != from.principal) return {decision::unknown};
    const session& s = found->second;
    const std::optional<std::uint64_t> seq = s.log.find(from.last_event_id, s.prefix);
    if (!seq || *seq >= s.next) return {decision::foreign};
    if (*seq + 1 < s.log.first(s.next)) return {decision::gap};
    return {decision::replay, &s, *seq};
  }
  std::size_t capacity_;
  mutable std::mutex mutex_;
  std::unordered_map<std::string, session> sessions_;
};

using ring = store<ring_log>;
using map = store<map_log>;
using fields = store<fields_log>;
using deque = store<deque_log>;

inline void append_frame(std::string& out, const std::string& id, const std::string& payload) {
  out.append("id: ").append(id).append("\ndata: ").append(payload).append("\n\n");
}

// Decides and appends what is replayed as frames.
template <class Store>
decision replay_frames(const Store& from, const bench::asked& who, std::string& out) {
  return from.replay(bench::version, who,
                     [&out](const std::string& id, const std::string& text) { append_frame(out, id, text); });
}

}  // namespace peers

#endif
