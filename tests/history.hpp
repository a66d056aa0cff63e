// SPDX-License-Identifier: MIT
// A history of calls, taken by the library and by the model at once: the library answers as the model does, and keeps
// its guarantees G1 to G6. Where histories come from is another matter: tests/history.cpp draws them, tests/fuzz/ reads
// them from bytes.
#ifndef MCP_RESUME_TESTS_HISTORY_HPP
#define MCP_RESUME_TESTS_HISTORY_HPP

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mcp_resume/resume.hpp"
#include "model.hpp"
#include "property.hpp"
#include "sse.hpp"

namespace histories {

using mcp_resume::event_id;
using mcp_resume::frame_kind;
using mcp_resume::options;
using mcp_resume::outcome;
using mcp_resume::protocol;
using mcp_resume::read_state;
using mcp_resume::reason;
using mcp_resume::refusal;
using mcp_resume::tags;

// ---- Histories -------------------------------------------------------------------------------------------------------

enum class op : std::uint8_t {
  bound,  // sets one option for the whole history, wherever it stands
  create,
  restore,
  renew,
  end,
  open_stream,
  append,
  append_all,
  finish,
  forget,
  tick,
  touch,
  resolve,
  attach,
  resume,
  read,
  read_raw,
  visit,
  release,
  copy,
  move,
};
inline constexpr std::size_t op_count = static_cast<std::size_t>(op::move) + 1;
inline constexpr std::array<const char*, op_count> op_names{
    "bound", "create",  "restore", "renew",  "end",  "open_stream", "append", "append_all", "finish", "forget", "tick",
    "touch", "resolve", "attach",  "resume", "read", "read_raw",    "visit",  "release",    "copy",   "move"};

// What the numbers mean is decided by the state in which the step is taken; 0 is the plainest choice everywhere.
struct step {
  op what = op::tick;
  std::array<std::uint32_t, 4> n{};
};
using history = std::vector<step>;

inline std::string show(const step& s) {
  std::string text = "  {op::";
  text += op_names[static_cast<std::size_t>(s.what)];
  text += ", {";
  for (const std::uint32_t n : s.n) text += std::to_string(n) + ", ";
  text.resize(text.size() - 2);
  return text + "}},";
}

inline constexpr std::uint32_t option_count = 12;

// How often each step is taken, beside the others.
inline constexpr std::array<std::pair<op, std::uint32_t>, op_count - 1> weights{{
    {op::create, 7},   {op::restore, 2},    {op::renew, 1},   {op::end, 1},     {op::open_stream, 8},
    {op::append, 36},  {op::append_all, 5}, {op::finish, 8},  {op::forget, 4},  {op::tick, 18},
    {op::touch, 1},    {op::resolve, 12},   {op::attach, 4},  {op::resume, 20}, {op::read, 26},
    {op::read_raw, 4}, {op::visit, 4},      {op::release, 3}, {op::copy, 1},    {op::move, 1},
}};

inline history make_history(property::random& source) {
  const auto numbers = [&source] {
    std::array<std::uint32_t, 4> n{};
    for (std::uint32_t& each : n) each = source.below(4096);
    return n;
  };
  history made;
  for (std::uint32_t which = 0; which != option_count; ++which) {
    const bool numbers_run_out = which == 4 || which == 5;  // soon little would be left to happen
    if (source.below(numbers_run_out ? 9 : 3) == 0) made.push_back({op::bound, {which, source.below(8), 0, 0}});
  }
  made.push_back({op::create, {}});
  std::uint32_t sum = 0;
  for (const auto& each : weights) sum += each.second;
  for (std::uint32_t left = 10 + source.below(70); left != 0; --left) {
    std::uint32_t drawn = source.below(sum);
    std::size_t which = 0;
    for (; drawn >= weights[which].second; ++which) drawn -= weights[which].second;
    made.push_back({weights[which].first, numbers()});
  }
  return made;
}

template <class T, std::size_t N>
T pick(const std::array<T, N>& values, std::uint32_t n) {
  return values[n % N];
}

// The first value of each list is the default, so that a history shrinks to default options.
// NOLINTNEXTLINE(readability-function-size): a flat switch
inline void set_option(options& o, std::uint32_t which, std::uint32_t n) {
  constexpr std::uint64_t most = ~std::uint64_t{0};
  switch (which % option_count) {
    case 0:
      o.max_events = pick<std::uint32_t, 8>({1024, 1, 2, 3, 4, 2, 8, 0}, n);
      break;
    case 1:
      o.max_bytes = pick<std::size_t, 8>({8388608, 100, 600, 5000, 250, 20000, 40, 0}, n);
      break;
    case 2:
      o.max_age_ms = pick<std::uint64_t, 4>({0, 100, 10, 1}, n);
      break;
    case 3:
      o.max_streams = pick<std::uint32_t, 8>({256, 2, 1, 3, 2, 3, 4, 0}, n);
      break;
    case 4:
      o.first_seq = pick<std::uint64_t, 8>(
          {1, most - 5, most - 2, most - 1, most, std::uint64_t{1} << 32U, (std::uint64_t{1} << 53U) - 2, 0}, n);
      break;
    case 5:
      o.first_stream = pick<std::uint32_t, 4>({1, 0xFFFFFFFEU, 0x7FFFFFFFU, 0}, n);
      break;
    case 6:
      o.retry_ms = pick<std::uint32_t, 2>({0, 1500}, n);
      break;
    case 7:
      o.reader_timeout_ms = pick<std::uint32_t, 4>({45000, 0, 50, 1}, n);
      break;
    case 8:
      o.after_gap = n % 2 == 0 ? mcp_resume::after_gap::live_edge : mcp_resume::after_gap::oldest_held;
      break;
    case 9:
      if (n % 3 == 1) o.supported = o.supported.without(protocol::v2026_07_28);
      if (n % 3 == 2) o.supported = o.supported.without(protocol::v2024_11_05);
      break;
    case 10:
      o.max_sessions = pick<std::size_t, 4>({10000, 2, 1, 0}, n);
      break;
    default:
      o.idle_ms = pick<std::uint64_t, 4>({1800000, 100, 50, 0}, n);
      break;
  }
}

inline options options_of(const history& steps) {
  options o;
  for (const step& s : steps) {
    if (s.what == op::bound) set_option(o, s.n[0], s.n[1]);
  }
  return o;
}

// ---- The library under test: a table, or sessions in hand ------------------------------------------------------------

class table_subject {
 public:
  static constexpr bool has_sessions_in_hand = false;
  explicit table_subject(const options& bounds) : table_(bounds) {}
  static options bounds_of(const options& given) { return given; }

  mcp_resume::local_session_table& with(const std::string&) { return table_; }
  const mcp_resume::local_session_table& with(const std::string&) const { return table_; }
  template <class Random>
  refusal create(const std::string& id, std::string_view principal, protocol negotiated, Random& random) {
    return table_.create(id, principal, negotiated, random);
  }
  template <class Random>
  refusal restore(const std::string& id, std::string_view principal, protocol negotiated, std::uint64_t tag,
                  Random& random) {
    return table_.restore(id, principal, negotiated, tag, random);
  }
  template <class Random>
  refusal renew(const std::string& id, Random& random) {
    return table_.renew(id, random);
  }
  refusal end(const std::string& id) { return table_.end(id); }
  void tick(std::uint64_t now, std::vector<std::string>& expired) { table_.tick(now, &expired); }
  refusal touch(const std::string& id, const std::string& principal) { return table_.touch(id, principal); }
  mcp_resume::opened open_stream(const std::string& id, std::string_view label, std::optional<std::uint32_t> retry_ms) {
    return table_.open_stream(id, label, retry_ms);
  }
  std::optional<mcp_resume::stream_handle> standalone(const std::string& id) const { return table_.standalone(id); }
  mcp_resume::broadcast append_all(std::string_view payload) { return table_.append_all(payload); }
  mcp_resume::appended finish(const std::string&, const mcp_resume::stream_handle& of, std::string_view answer) {
    return table_.finish(of, answer);
  }
  std::string label_of(const std::string&, const mcp_resume::reader& of) const { return table_.label_of(of); }
  mcp_resume::inspection inspect(const std::string& id) const { return table_.inspect(id); }
  mcp_resume::inspection inspect() const { return table_.inspect(); }
  mcp_resume::resolution resolve(const mcp_resume::request& asked) const {
    return mcp_resume::resolve_resume(asked, table_);
  }
  std::optional<reason> resolve_post(const mcp_resume::request& asked) const {
    return mcp_resume::resolve_session(asked, table_);
  }
  mcp_resume::resolution resume(const mcp_resume::request& asked, mcp_resume::reader& attached,
                                std::optional<std::uint32_t> retry_ms) {
    return table_.resume(asked, attached, retry_ms);
  }
  void move(const std::string&) {}

 private:
  mcp_resume::local_session_table table_;
};

// The same calls, spelled with sessions that an application keeps by their ids. They do not expire.
class sessions_subject {
 public:
  static constexpr bool has_sessions_in_hand = true;
  explicit sessions_subject(const options& bounds) : bounds_(bounds) {}
  static options bounds_of(options given) {
    given.idle_ms = 0;
    given.max_sessions = 1000;
    return given;
  }

  mcp_resume::session& with(const std::string& id) { return sessions_[id]; }
  const mcp_resume::session& with(const std::string& id) const { return const_cast<sessions_subject*>(this)->with(id); }
  template <class Random>
  refusal create(const std::string& id, std::string_view principal, protocol negotiated, Random& random) {
    const refusal why = with(id).create(id, principal, negotiated, bounds_, random);
    if (why == refusal::none) with(id).tick(now_);
    return why;
  }
  template <class Random>
  refusal restore(const std::string& id, std::string_view principal, protocol negotiated, std::uint64_t tag,
                  Random& random) {
    const refusal why = with(id).restore(id, principal, negotiated, tag, bounds_, random);
    if (why == refusal::none) with(id).tick(now_);
    return why;
  }
  template <class Random>
  refusal renew(const std::string& id, Random& random) {
    return with(id).renew(random);
  }
  refusal end(const std::string& id) {
    const refusal why = with(id).is_live() ? refusal::none : refusal::gone;
    with(id).end();
    return why;
  }
  void tick(std::uint64_t now, std::vector<std::string>&) {
    now_ = std::max(now, now_);
    for (auto& each : sessions_) each.second.tick(now);
  }
  refusal touch(const std::string& id, const std::string& principal) {
    return with(id).is_live() && with(id).facts().principal == principal ? refusal::none : refusal::gone;
  }
  mcp_resume::opened open_stream(const std::string& id, std::string_view label, std::optional<std::uint32_t> retry_ms) {
    return with(id).open_stream(label, retry_ms);
  }
  std::optional<mcp_resume::stream_handle> standalone(const std::string& id) const {
    if (!with(id).is_live()) return std::nullopt;
    return with(id).standalone();
  }
  mcp_resume::broadcast append_all(std::string_view payload) {
    mcp_resume::broadcast done;
    for (auto& each : sessions_) {
      if (!each.second.is_live()) continue;
      ++(each.second.append(each.second.standalone(), payload) ? done.appended : done.refused);
    }
    return done;
  }
  mcp_resume::appended finish(const std::string& id, const mcp_resume::stream_handle& of, std::string_view answer) {
    if (of.stream == 0) return {with(id).finish(of), {}, 0, 0};
    const mcp_resume::appended done = with(id).append(of, answer);
    if (done) static_cast<void>(with(id).finish(of));
    return done;
  }
  std::string label_of(const std::string& id, const mcp_resume::reader& of) const {
    return std::string(with(id).label_of(of.stream()));
  }
  mcp_resume::inspection inspect(const std::string& id) const { return with(id).inspect(); }
  mcp_resume::inspection inspect() const {
    mcp_resume::inspection sum;
    for (const auto& each : sessions_) {
      const mcp_resume::inspection one = each.second.inspect();
      sum.sessions += one.sessions;
      sum.streams += one.streams;
      sum.events += one.events;
      sum.bytes += one.bytes;
      sum.oldest_age_ms = std::max(sum.oldest_age_ms, one.oldest_age_ms);
      sum.evicted_unread += one.evicted_unread;
    }
    return sum;
  }
  mcp_resume::resolution resolve(const mcp_resume::request& asked) const {
    return mcp_resume::resolve_resume(asked, named_by(asked), bounds_.supported);
  }
  std::optional<reason> resolve_post(const mcp_resume::request& asked) const {
    return mcp_resume::resolve_session(asked, named_by(asked), bounds_.supported);
  }
  mcp_resume::resolution resume(const mcp_resume::request& asked, mcp_resume::reader& attached,
                                std::optional<std::uint32_t> retry_ms) {
    const mcp_resume::resolution decided = resolve(asked);
    attached = with(std::string(asked.session_id.view())).attach(decided, retry_ms);
    return decided;
  }
  void move(const std::string& id) {
    mcp_resume::session elsewhere(std::move(with(id)));
    with(id) = std::move(elsewhere);
  }

 private:
  const mcp_resume::session* named_by(const mcp_resume::request& asked) const {
    const auto found = sessions_.find(std::string(asked.session_id.view()));
    return found == sessions_.end() ? nullptr : &found->second;
  }

  options bounds_;
  std::uint64_t now_ = 0;
  std::map<std::string, mcp_resume::session> sessions_;
};

// ---- What is on the wire ---------------------------------------------------------------------------------------------

// A payload as the other end sees it: every line end is LF.
inline std::string as_received(const std::string& payload) {
  std::string text;
  for (std::size_t i = 0; i != payload.size(); ++i) {
    const bool is_crlf = payload[i] == '\r' && i + 1 != payload.size() && payload[i + 1] == '\n';
    if (!is_crlf) text += payload[i] == '\r' ? '\n' : payload[i];
  }
  return text;
}

// The text between `before` and the next `end`, empty where there is none.
inline std::string text_behind(const std::string& text, const std::string& before, char end) {
  const std::size_t at = text.find(before);
  if (at == std::string::npos) return {};
  const std::size_t begin = at + before.size();
  return text.substr(begin, text.find(end, begin) - begin);
}

inline std::optional<model::frame> frame_of(const sse::block& from) {
  const std::map<std::string, frame_kind> kinds{{"message", frame_kind::event},
                                                {"resume", frame_kind::marker},
                                                {"gap", frame_kind::gap},
                                                {"reset", frame_kind::reset}};
  const auto id = model::parse(from.id.value_or(""));
  if (!id || !from.data || kinds.count(from.type) == 0) return std::nullopt;
  model::frame f;
  f.kind = kinds.at(from.type);
  f.id = *id;
  f.retry_ms = static_cast<std::uint32_t>(from.retry.value_or(0));
  if (f.kind == frame_kind::event && from.data->empty()) f.kind = frame_kind::marker;  // priming
  if (f.kind == frame_kind::event) f.payload = *from.data;
  if (from.type != "message" && text_behind(*from.data, R"("lastEventId":")", '"') != *from.id) return std::nullopt;
  if (f.kind == frame_kind::event || f.kind == frame_kind::marker) return f;
  const auto resume_from = model::parse(text_behind(*from.data, R"("resumeFrom":")", '"'));
  if (!resume_from) return std::nullopt;
  f.resume_from = *resume_from;
  if (f.kind == frame_kind::gap) f.missed = std::stoull("0" + text_behind(*from.data, R"("missed":)", '}'));
  return f;
}

// The frames of that text, or none if it is anything but whole frames.
inline std::optional<std::vector<model::frame>> frames_of(const std::string& text) {
  std::vector<model::frame> frames;
  if (!text.empty() && (text.size() < 2 || text.substr(text.size() - 2) != "\n\n")) return std::nullopt;
  for (const sse::block& each : sse::read(text)) {
    const auto f = frame_of(each);
    if (!f) return std::nullopt;
    frames.push_back(*f);
  }
  return frames;
}

inline std::size_t size_of(const model::frame& f, protocol negotiated) {
  mcp_resume::frame written;
  written.kind = f.kind;
  written.id = f.id;
  written.payload = f.payload;
  written.resume_from = f.resume_from;
  written.missed = f.missed;
  written.negotiated = negotiated;
  written.retry_ms = f.retry_ms;
  std::string text;
  mcp_resume::append_frame(text, written);
  return text.size();
}

// ---- One history -----------------------------------------------------------------------------------------------------

// All that can be observed of the library, or of the model in the same order.
using snapshot = std::vector<std::pair<const char*, std::uint64_t>>;

enum class promise { model, g1, g2, g3, g4, g5, g6, all };

// How often each value was seen.
struct tally {
  std::map<reason, std::uint64_t> reasons;
  std::map<refusal, std::uint64_t> refusals;
  std::map<read_state, std::uint64_t> states;
  std::map<mcp_resume::answer, std::uint64_t> answers;
};

inline std::string text_of(const std::string& text) { return text; }
inline std::string text_of(std::uint64_t number) { return std::to_string(number); }
inline std::string text_of(const std::optional<reason>& why) { return why ? std::string(to_string(*why)) : "none"; }
template <class T>
std::string text_of(const T& value) {
  return std::string(to_string(value));
}

// A connection, and what its client knows.
struct connection {
  std::string session_id;
  std::string principal;
  mcp_resume::reader lib;
  model::reader ref;
  event_id last;                // the id under which the client stands
  std::optional<event_id> due;  // the marker that must come next, where that is known
  bool is_primed = false;       // events may come
};

struct worker {
  std::string session_id;
  mcp_resume::stream_handle lib;
  model::handle ref;
};

struct decision_pair {
  std::string principal;
  event_id presented;  // by the client; where it presented nothing, the read mark's
  mcp_resume::resolution lib;
  model::decision ref;
};

// A request with its texts, which the library's only views.
struct owned_request {
  model::asked text;
  mcp_resume::request view() const { return {text.version, text.session_id, text.cursor, text.principal}; }
};

inline const std::array<std::string, 3> session_ids{"8c0f-a", "8c0f-b", "8c0f-c"};
inline const std::array<std::string, 3> principals{"alice", "bob", ""};
inline const std::array<protocol, 4> negotiable{protocol::v2025_11_25, protocol::v2025_06_18, protocol::v2025_03_26,
                                                protocol::v2024_11_05};

template <class Subject>
class trial {
 public:
  // The first of the principals may be named otherwise.
  trial(const history& steps, promise watched, tally& seen, const std::string& first_principal = principals[0])
      : steps_(steps),
        bounds_(Subject::bounds_of(options_of(steps))),
        library_(bounds_),
        model_(bounds_),
        watched_(watched),
        seen_(seen) {
    principals_[0] = first_principal;
  }

  property::failure run() {
    return run([] {});
  }
  // Calls `after_each()` behind each step.
  template <class AfterEach>
  property::failure run(AfterEach after_each) {
    before_ = snapshot_of_library();
    for (const step& s : steps_) {
      changes_nothing_ = false;
      take(s);
      compare_states();
      after_each();
      if (found_) return found_;
    }
    for (std::size_t i = 0; i != connections_.size() && !found_; ++i) drain(connections_[i]);
    return found_;
  }
  // A question of any texts. `view` has the same texts as `text`.
  mcp_resume::resolution ask(const model::asked& text, const mcp_resume::request& view) {
    const mcp_resume::resolution made = library_.resolve(view);
    changes_nothing_ = true;
    decided({text}, made);
    same("reason that forbids", library_.resolve_post(view), model_.resolve_session(text));
    compare_states();
    return made;
  }
  const Subject& library() const { return library_; }
  const model::world& reference() const { return model_; }

 private:
  void take(const step& s);
  void bound(const step&) {}
  void create(const step& s);
  void restore(const step& s);
  void begun(const std::string& id);
  bool has_place_for(const std::string& id) const;
  void renew(const step& s);
  void end(const step& s);
  void open_stream(const step& s);
  void append(const step& s);
  void append_all(const step& s);
  std::uint64_t next_of_standalone(const std::string& id) const;
  void finish(const step& s);
  void forget(const step& s);
  void tick(const step& s);
  void touch(const step& s);
  void resolve(const step& s);
  void attach(const step& s);
  void resume(const step& s);
  void read(const step& s);
  void read_raw(const step& s);
  void visit(const step& s);
  void release(const step& s);
  void copy(const step& s);
  void move(const step& s) { library_.move(pick(session_ids, s.n[0])); }

  std::string session_of(std::uint32_t n) const;
  owned_request request_of(const step& s) const;
  std::string cursor_of(const std::string& session_id, std::uint32_t kind, std::uint32_t n) const;
  std::string malformed_cursor(std::uint32_t n) const;
  std::string payload_of(std::uint32_t size_class, std::uint32_t n);
  void compare_decisions(const owned_request& asked, const mcp_resume::resolution& lib, const model::decision& ref);
  void check_g4(const owned_request& asked, const mcp_resume::resolution& decided);
  decision_pair decided(const owned_request& asked, const mcp_resume::resolution& lib);
  void connect(const decision_pair& from, const mcp_resume::reader& lib, const model::reader& ref);
  template <class Read, class Take>
  void read_with(connection& of, Read read_library, Take take_in_model);
  void compare_reads(connection& of, const mcp_resume::progress& lib, const model::progress& ref);
  void receive(connection& of, const model::frame& f);
  void receive_event(connection& of, const model::frame& f);
  std::uint64_t handed_out(const event_id& of) const;
  void drain(connection& of);
  void compare_appended(const std::string& call, const worker& to, const std::string& payload,
                        const mcp_resume::appended& lib, const model::appended& ref);
  void note_appended(const std::string& session_id, const event_id& id, const std::string& payload);
  void compare_states();
  snapshot snapshot_of_library() const;
  snapshot snapshot_of_model() const;
  void check_g6();

  bool is_watched(promise kept) const { return watched_ == kept || watched_ == promise::all; }
  // Records the first failure of the promises that are watched.
  void expect(promise kept, bool holds, const std::string& what, const std::string& text = {}) {
    if (holds || !is_watched(kept) || found_) return;
    found_ = {what, text};
  }
  template <class T>
  void same(const std::string& what, const T& library, const T& model) {
    if (!(library == model))
      expect(promise::model, false, what, "got " + text_of(library) + ", model " + text_of(model));
  }
  void refused(const std::string& call, refusal library, refusal model) {
    ++seen_.refusals[library];
    same(call + " refuses", library, model);
    changes_nothing_ = library != refusal::none;
  }
  template <class T>
  T* chosen(std::vector<T>& from, std::uint32_t n) {  // 0 is the newest
    return from.empty() ? nullptr : &from[from.size() - 1 - n % from.size()];
  }
  static std::optional<std::uint32_t> retry_of(std::uint32_t n) {
    if (n % 4 != 3) return std::nullopt;
    return n / 4 % 3 * 700;
  }

  const history& steps_;
  options bounds_;
  Subject library_;
  model::world model_;
  promise watched_;
  tally& seen_;
  property::failure found_;
  property::random tags_{7};
  std::uint64_t serial_ = 0;
  std::vector<worker> workers_;
  std::vector<connection> connections_;
  std::vector<decision_pair> decisions_;
  std::array<std::string, 3> principals_ = principals;
  std::map<std::string, std::uint64_t> stored_tags_;
  // Everything that the library accepted, by the text of its id.
  std::map<std::string, std::string> payloads_;
  std::map<std::uint64_t, std::string> owners_;      // principal by session tag
  std::map<std::string, std::uint64_t> handed_out_;  // seq, by the id of place 0 of the stream
  std::vector<event_id> issued_;
  snapshot before_;
  bool changes_nothing_ = false;
};

// ---- Steps -----------------------------------------------------------------------------------------------------------

template <class Subject>
void trial<Subject>::take(const step& s) {
  using taker = void (trial::*)(const step&);
  static constexpr std::array<taker, op_count> takers{
      &trial::bound,   &trial::create,     &trial::restore, &trial::renew,  &trial::end,      &trial::open_stream,
      &trial::append,  &trial::append_all, &trial::finish,  &trial::forget, &trial::tick,     &trial::touch,
      &trial::resolve, &trial::attach,     &trial::resume,  &trial::read,   &trial::read_raw, &trial::visit,
      &trial::release, &trial::copy,       &trial::move};
  (this->*takers[static_cast<std::size_t>(s.what)])(s);
}

template <class Subject>
void trial<Subject>::copy(const step& s) {
  const connection* of = chosen(connections_, s.n[0]);
  if (of != nullptr) connections_.push_back(connection(*of));
}

// Random bits that are known beforehand; the draw with number `fails_at` finds none.
struct known_random {
  std::array<std::uint64_t, 2> drawn;
  std::size_t fails_at;
  std::size_t draws = 0;
  std::optional<std::uint64_t> operator()() {
    const std::size_t draw = draws++;
    if (draw == fails_at || draw >= drawn.size()) return std::nullopt;
    return drawn[draw];
  }
};

// Whether nothing but randomness can be missing: which of two refusals comes first is not laid down.
template <class Subject>
bool trial<Subject>::has_place_for(const std::string& id) const {
  return model_.find(id) == nullptr && model_.sessions().size() < model_.bounds().max_sessions;
}

template <class Subject>
void trial<Subject>::create(const step& s) {
  std::string id = pick(session_ids, s.n[0]);
  const std::uint32_t variation = s.n[1] % 16 > 5 && !has_place_for(id) ? 0 : s.n[1] % 16;
  if (variation == 4) id = pick<std::string, 4>({"", " 8c0f", std::string(257, 'a'), "8c\x7f"}, s.n[0]);
  const std::string principal = pick(principals_, s.n[0] + s.n[2] % 2);
  const protocol negotiated = variation == 5 ? protocol::v2026_07_28 : pick(negotiable, s.n[3]);
  const std::uint64_t first = tags_.next(), second = tags_.next();
  known_random random{{first, second}, variation == 6 ? 0U : variation == 7 ? 1U : 2U};
  const auto session_tag = variation == 6 ? std::nullopt : std::optional(first);
  const auto incarnation = variation == 7 ? std::nullopt : std::optional(second);
  const refusal why = library_.create(id, principal, negotiated, random);
  refused("create", why, model_.create(id, principal, negotiated, session_tag, incarnation));
  if (why != refusal::none) return;
  stored_tags_[id] = first;
  owners_[first] = principal;
  begun(id);
}

template <class Subject>
void trial<Subject>::restore(const step& s) {
  const std::string& id = pick(session_ids, s.n[0]);
  if (stored_tags_.count(id) == 0) return;
  const std::uint64_t session_tag = stored_tags_[id];
  const std::string& principal = owners_[session_tag];
  const bool fails = s.n[1] % 8 == 7 && has_place_for(id);
  const std::uint64_t drawn = tags_.next();
  known_random random{{drawn, 0}, fails ? 0U : 2U};
  const refusal why = library_.restore(id, principal, pick(negotiable, s.n[3]), session_tag, random);
  refused(
      "restore", why,
      model_.create(id, principal, pick(negotiable, s.n[3]), session_tag, fails ? std::nullopt : std::optional(drawn)));
  if (why == refusal::none) begun(id);
}

// A worker of the standalone stream of each life.
template <class Subject>
void trial<Subject>::begun(const std::string& id) {
  const auto standalone = library_.standalone(id);
  const model::session* s = model_.find(id);
  expect(promise::model, standalone && s != nullptr, "a session that began is there");
  if (!standalone || s == nullptr) return;
  same("session tag", standalone->owner.session, s->owner.session);
  same("incarnation", standalone->owner.incarnation, s->owner.incarnation);
  workers_.push_back({id, *standalone, {id, s->owner, 0}});
}

template <class Subject>
void trial<Subject>::renew(const step& s) {
  const std::string& id = pick(session_ids, s.n[0]);
  const bool fails = s.n[1] % 8 == 7 && model_.find(id) != nullptr;
  const bool repeats = s.n[1] % 8 == 6 && model_.find(id) != nullptr;
  const std::uint64_t drawn = repeats ? model_.find(id)->owner.incarnation : tags_.next();
  known_random random{{drawn, 0}, fails ? 0U : 2U};
  const refusal why = library_.renew(id, random);
  refused("renew", why, model_.renew(id, fails ? std::nullopt : std::optional(drawn)));
  if (why == refusal::none) begun(id);
}

template <class Subject>
void trial<Subject>::end(const step& s) {
  const std::string& id = pick(session_ids, s.n[0]);
  refused("end", library_.end(id), model_.end(id));
}

template <class Subject>
void trial<Subject>::open_stream(const step& s) {
  const std::string id = session_of(s.n[0]);
  std::string label(s.n[1] / 8 % 66, 'l');  // 65 is too long
  if (s.n[1] % 8 == 7) label += pick<char, 3>({'\n', '\r', '\0'}, s.n[1] / 8);
  const auto retry_ms = retry_of(s.n[2]);
  const mcp_resume::opened lib = library_.open_stream(id, label, retry_ms);
  const model::opened ref = model_.open_stream(id, label, retry_ms);
  refused("open_stream", lib.why, ref.why);
  if (lib.why != refusal::none || ref.why != refusal::none) return;
  same("stream number", std::uint64_t{lib.stream.stream}, std::uint64_t{ref.to.stream});
  same("label", library_.label_of(id, lib.reader), label);
  workers_.push_back({id, lib.stream, ref.to});
  const event_id start{lib.stream.owner, lib.stream.stream, model_.bounds().first_seq - 1};
  connections_.push_back({id, owners_[start.owner.session], lib.reader, ref.first_reader, start, start, false});
}

// Sizes about the edges of pages and bounds. Payloads that have room for it differ from each other.
template <class Subject>
std::string trial<Subject>::payload_of(std::uint32_t size_class, std::uint32_t n) {
  std::string payload = "e" + std::to_string(++serial_) + "|";
  std::size_t size = payload.size();
  switch (size_class % 16) {
    case 1:
      return {};
    case 2:
      size = 1 + n % 4;
      break;
    case 3:
      size = 440 + n % 81;
      break;
    case 4:
      size = 4000 + n % 101;
      break;
    case 5:
      return payload + pick<std::string, 6>({"\n", "\r\n", "\r", "a\nid: 1\n\n", "\n\r\n\rb", "a\r\n\r\nb"}, n);
    case 6:
      if (bounds_.max_bytes > 17 && bounds_.max_bytes <= 20000) size = bounds_.max_bytes - 17 + n % 3;
      break;
    case 7:
      size = 9000;
      break;
    case 8:
    case 9:
      size = 20 + n % 40;
      break;
    default:
      break;
  }
  payload.resize(size, 'x');
  return payload;
}

template <class Subject>
void trial<Subject>::note_appended(const std::string& session_id, const event_id& id, const std::string& payload) {
  const bool is_successor =
      id.seq == model_.bounds().first_seq || payloads_.count(to_string(event_id{id.owner, id.stream, id.seq - 1})) == 1;
  expect(promise::g2, is_successor, "G2: numbers have no holes", session_id + " " + to_string(id));
  expect(promise::g1, payloads_.emplace(to_string(id), payload).second, "G1: no id is issued twice", to_string(id));
  issued_.push_back(id);
}

template <class Subject>
void trial<Subject>::compare_appended(const std::string& call, const worker& to, const std::string& payload,
                                      const mcp_resume::appended& lib, const model::appended& ref) {
  refused(call, lib.why, ref.why);
  same("id of the appended", to_string(lib.id), to_string(ref.id));
  same("unread", lib.unread, ref.unread);
  same("evicted unread", lib.evicted_unread, ref.evicted_unread);
  if (lib) note_appended(to.session_id, lib.id, payload);
}

template <class Subject>
void trial<Subject>::append(const step& s) {
  worker* to = chosen(workers_, s.n[0] % 4 == 3 ? s.n[0] / 4 : s.n[0] % 2);
  if (to == nullptr) return;
  bool any_is_done = false;
  for (std::uint32_t left = s.n[3] % 8 == 7 ? 6 : 1; left != 0; --left) {
    const std::string payload = payload_of(s.n[1], s.n[2]);
    const mcp_resume::appended lib = library_.with(to->session_id).append(to->lib, payload);
    compare_appended("append", *to, payload, lib, model_.append(to->ref, payload));
    any_is_done |= static_cast<bool>(lib);
    check_g6();
  }
  changes_nothing_ = !any_is_done;
}

template <class Subject>
void trial<Subject>::append_all(const step& s) {
  const std::string payload = payload_of(s.n[0], s.n[1]);
  std::uint64_t appended = 0, refused = 0;
  for (const std::string& id : session_ids) {
    const model::session* to = model_.find(id);
    if (to == nullptr) continue;
    const model::appended ref = model_.append({id, to->owner, 0}, payload, false);
    ++(ref.why == refusal::none ? appended : refused);
  }
  std::map<std::string, std::uint64_t> next;
  for (const std::string& id : session_ids) next[id] = next_of_standalone(id);
  const mcp_resume::broadcast lib = library_.append_all(payload);
  same("appended to all", lib.appended, appended);
  same("refused by all", lib.refused, refused);
  for (const std::string& id : session_ids) {
    const auto standalone = library_.standalone(id);
    if (next_of_standalone(id) != next[id]) note_appended(id, {standalone->owner, 0, next[id]}, payload);
  }
}

template <class Subject>
std::uint64_t trial<Subject>::next_of_standalone(const std::string& id) const {
  const auto standalone = library_.standalone(id);
  const auto held = standalone ? library_.with(id).window_of(*standalone) : std::nullopt;
  return held ? held->next : 0;
}

template <class Subject>
void trial<Subject>::finish(const step& s) {
  const worker* of = chosen(workers_, s.n[0] % 4 == 3 ? s.n[0] / 4 : s.n[0] % 2);
  if (of == nullptr) return;
  if (s.n[1] % 2 == 0) {
    refused("finish", library_.with(of->session_id).finish(of->lib), model_.finish(of->ref));
    return;
  }
  const std::string answer = payload_of(s.n[2], s.n[3]);
  compare_appended("finish with an answer", *of, answer, library_.finish(of->session_id, of->lib, answer),
                   model_.finish(of->ref, answer));
}

template <class Subject>
void trial<Subject>::forget(const step& s) {
  const worker* of = chosen(workers_, s.n[0]);
  if (of != nullptr) refused("forget", library_.with(of->session_id).forget(of->lib), model_.forget(of->ref));
}

template <class Subject>
void trial<Subject>::tick(const step& s) {
  const std::uint64_t now = model_.now();
  const std::uint64_t step_size = 1 + s.n[1] % 64;
  std::uint64_t then = now + step_size;
  if (s.n[0] % 8 == 3) then = now + 1;
  if (s.n[0] % 8 == 4) then = now + pick<std::uint64_t, 6>({10, 11, 50, 51, 100, 101}, s.n[1]);
  if (s.n[0] % 8 == 5) then = now;
  if (s.n[0] % 8 == 6) then = now - std::min(now, step_size);
  if (s.n[0] % 8 == 7)
    then = now + pick<std::uint64_t, 6>({45000, 45001, 1800000, 1800001, 101, std::uint64_t{1} << 33U}, s.n[1]);
  std::vector<std::string> expired;
  library_.tick(then, expired);
  const std::vector<std::string> expected = model_.tick(then);
  same("expired sessions", std::uint64_t{expired.size()}, std::uint64_t{expected.size()});
  std::sort(expired.begin(), expired.end());
  expect(promise::model, expired == expected, "the right sessions expired");
}

template <class Subject>
void trial<Subject>::touch(const step& s) {
  const std::string& id = pick(session_ids, s.n[0]);
  const std::string& principal = pick(principals_, s.n[0] + s.n[1] % 2);
  refused("touch", library_.touch(id, principal), model_.touch(id, principal));
}

// ---- Requests --------------------------------------------------------------------------------------------------------

// Mostly the session in which something happened last.
template <class Subject>
std::string trial<Subject>::session_of(std::uint32_t n) const {
  return n % 8 > 5 || workers_.empty() ? pick(session_ids, n / 8) : workers_.back().session_id;
}

template <class Subject>
owned_request trial<Subject>::request_of(const step& s) const {
  owned_request made;
  made.text.session_id = session_of(s.n[0]);
  if (s.n[0] % 64 == 63) made.text.session_id = "8c0f-unknown";
  if (s.n[0] % 64 == 62) made.text.session_id.clear();
  const model::session* named = model_.find(made.text.session_id);
  made.text.principal = named == nullptr ? principals_[0] : named->principal;
  made.text.cursor = cursor_of(made.text.session_id, s.n[2], s.n[3]);
  switch (s.n[1] % 24) {
    case 23:
      made.text.principal = pick(principals_, s.n[1] / 24);
      break;
    case 22:
      made.text.version = "2026-07-28";
      break;
    case 21:
      made.text.version = pick<std::string, 3>({"draft", "2025-11-25 ", "2024-11-04"}, s.n[1] / 24);
      break;
    case 20:
      made.text.version = pick<std::string, 3>({"2025-11-25", "2024-11-05", "2025-06-18"}, s.n[1] / 24);
      break;
    case 19:
      made.text.principal = named == nullptr ? "" : named->principal + std::string(1, '\0');
      break;
    default:
      break;
  }
  return made;
}

template <class Subject>
std::string trial<Subject>::malformed_cursor(std::uint32_t n) const {
  const std::string good = to_string(issued_.empty() ? event_id{} : issued_[n / 16 % issued_.size()]);
  const std::size_t last = good.size() - 1;
  return pick<std::string, 12>(
      {"1", good + " ", " " + good, good + ".1", good.substr(0, last), good.substr(0, 34) + "4294967296.1",
       good.substr(0, 34) + "0.18446744073709551616", good.substr(0, 34) + "0.01", good.substr(0, 34) + "00.1",
       "A" + good.substr(1), good + std::string(1, '\0'), std::string(5000, '9')},
      n);
}

// Ids that were issued (of every session and life), places about the edges of a window, streams and numbers at random.
template <class Subject>
std::string trial<Subject>::cursor_of(const std::string& session_id, std::uint32_t kind, std::uint32_t n) const {
  const model::session* s = model_.find(session_id);
  event_id id = issued_.empty() ? event_id{} : issued_[issued_.size() - 1 - n % issued_.size()];
  if (kind % 12 == 0 || kind % 12 == 11) return {};
  if (kind % 24 == 1) return malformed_cursor(n);
  if (kind % 12 == 2 && !connections_.empty()) id = connections_[n % connections_.size()].last;
  if (s == nullptr || kind % 12 <= 4) return to_string(id);

  const model::stream& of = s->streams[n % s->streams.size()];
  id = {s->owner, of.number, of.first() - 3 + n / 8 % 5};
  if (kind % 3 == 0) id.seq = of.next() - 3 + n / 8 % 5;
  if (kind % 24 == 10) id.seq = pick<std::uint64_t, 4>({0, 1, ~std::uint64_t{0} - 1, ~std::uint64_t{0}}, n / 8);
  if (kind % 24 == 22) id.stream = pick<std::uint32_t, 4>({1, 0xFFFFFFFFU, 0xFFFFFFFEU, 17}, n / 8);
  if (kind % 24 == 8) id.stream = s->streams.back().number + 1;
  if (kind % 48 == 7) id.owner.session ^= 1U << n % 2;
  if (kind % 48 == 31) id.owner.incarnation ^= 1U << n % 2;
  return to_string(id);
}

template <class Subject>
void trial<Subject>::compare_decisions(const owned_request& asked, const mcp_resume::resolution& lib,
                                       const model::decision& ref) {
  ++seen_.reasons[lib.reason];
  same("reason", lib.reason, ref.reason);
  same("missed", lib.missed, ref.missed);
  same("no longer held", lib.no_longer_held, ref.no_longer_held);
  same("cursor", to_string(lib.cursor), to_string(ref.cursor));
  if (ref.held) same("window of the decision", lib.window, mcp_resume::window(*ref.held));
  if (ref.resume_after) {
    same("resume after", lib.resume_after, *ref.resume_after);
    same("stream", std::uint64_t{lib.stream.stream}, std::uint64_t{ref.to.stream});
    expect(promise::model, lib.stream.owner == ref.to.owner, "the decision is about the session's own log");
  }
  same("reason that forbids", library_.resolve_post(asked.view()), model_.resolve_session(asked.text));
  check_g4(asked, lib);
}

// A client that presents an id which this life of the log issued is never rejected, and continues if there is nothing
// that it missed.
template <class Subject>
void trial<Subject>::check_g4(const owned_request& asked, const mcp_resume::resolution& decided) {
  const auto standalone = library_.standalone(asked.text.session_id);
  const auto cursor = model::parse(asked.text.cursor);
  if (!standalone || !cursor || !(cursor->owner == standalone->owner) || !asked.text.version.empty()) return;
  if (payloads_.count(asked.text.cursor) == 0 || owners_[cursor->owner.session] != asked.text.principal) return;
  expect(promise::g4, decided.outcome() == outcome::continue_ || decided.outcome() == outcome::gap,
         "G4: an issued id is not refused", to_string(decided));

  mcp_resume::stream_handle of = *standalone;
  of.stream = cursor->stream;
  const auto held = library_.with(asked.text.session_id).window_of(of);
  if (!held || cursor->seq + 1 < held->first) return;
  expect(promise::g4, decided.outcome() == outcome::continue_ && decided.missed == 0,
         "G4: a client that missed nothing continues", to_string(decided));
}

// Compares a decision with the model's. The client's side of it is kept without the model.
template <class Subject>
decision_pair trial<Subject>::decided(const owned_request& asked, const mcp_resume::resolution& lib) {
  const model::decision ref = model_.resolve(asked.text);
  compare_decisions(asked, lib, ref);
  const event_id read_mark{lib.stream.owner, 0, handed_out({lib.stream.owner, 0, 0})};
  return {asked.text.principal, model::parse(asked.text.cursor).value_or(read_mark), lib, ref};
}

template <class Subject>
void trial<Subject>::resolve(const step& s) {
  const owned_request asked = request_of(s);
  decisions_.push_back(decided(asked, library_.resolve(asked.view())));
  changes_nothing_ = true;
}

template <class Subject>
void trial<Subject>::attach(const step& s) {
  const decision_pair* from = chosen(decisions_, s.n[0]);
  if (from == nullptr) return;
  const auto retry_ms = retry_of(s.n[1]);
  const mcp_resume::reader lib = library_.with(from->ref.to.session_id).attach(from->lib, retry_ms);
  const model::reader ref = model_.attach(from->ref, retry_ms);
  connect(*from, lib, ref);
  changes_nothing_ = ref.phase == model::phase::gone;
}

template <class Subject>
void trial<Subject>::resume(const step& s) {
  const owned_request asked = request_of(s);
  const auto retry_ms = retry_of(s.n[0] / 64);
  mcp_resume::reader attached;
  const mcp_resume::resolution lib = library_.resume(asked.view(), attached, retry_ms);
  const decision_pair from = decided(asked, lib);
  connect(from, attached, model_.attach(from.ref, retry_ms));
  changes_nothing_ = lib.http_status() != 200;
}

// ---- Readers ---------------------------------------------------------------------------------------------------------

template <class Subject>
void trial<Subject>::connect(const decision_pair& from, const mcp_resume::reader& lib, const model::reader& ref) {
  const std::string& id = from.ref.to.session_id;
  connection made{id, from.principal, lib, ref, from.presented, std::nullopt, false};
  const bool is_signalled = from.lib.outcome() != outcome::continue_ || from.lib.missed != 0;
  if (!is_signalled) made.due = made.last;
  if (ref.phase != model::phase::gone) {
    connections_.push_back(made);
    return;
  }
  std::string frames;
  const mcp_resume::progress done = library_.with(id).read(made.lib, frames);
  same("state of a reader that was not attached", done.state, read_state::gone);
  expect(promise::g1, frames.empty(), "G1: a refused reader reads nothing", frames);
}

// Reads with both, and hands what the library wrote to the client of the connection.
template <class Subject>
template <class Read, class Take>
void trial<Subject>::read_with(connection& of, Read read_library, Take take_in_model) {
  const protocol negotiated = of.lib.negotiated();
  std::string text;
  const mcp_resume::progress lib = read_library(text);
  std::vector<model::frame> expected;
  const model::progress ref = model_.read(of.ref, [&](const model::frame& f) {
    const bool is_taken = take_in_model(size_of(f, negotiated));
    if (is_taken) expected.push_back(f);
    return is_taken;
  });
  compare_reads(of, lib, ref);

  const auto frames = frames_of(text);
  expect(promise::model, frames.has_value(), "whole frames are written", text);
  if (!frames) return;
  same("frames", std::uint64_t{frames->size()}, std::uint64_t{expected.size()});
  for (std::size_t i = 0; i != std::min(frames->size(), expected.size()); ++i) {
    const model::frame &got = (*frames)[i], &want = expected[i];
    same("kind of a frame", std::uint64_t(got.kind), std::uint64_t(want.kind));
    same("id of a frame", to_string(got.id), to_string(want.id));
    same("payload", got.payload, as_received(want.payload));
    same("place of a signal", to_string(got.resume_from), to_string(want.resume_from));
    same("missed of a signal", got.missed, want.missed);
    same("retry of a marker", std::uint64_t{got.retry_ms}, std::uint64_t{want.retry_ms});
  }
  for (const model::frame& f : *frames) receive(of, f);
  if (lib.state != read_state::caught_up && lib.state != read_state::finished) return;
  const auto held = library_.with(of.session_id).window_of(of.lib.stream());
  expect(promise::g2, held && !of.due && of.last.seq + 1 == held->next,
         "G2: a reader that caught up has everything or was told", to_string(of.last));
}

template <class Subject>
void trial<Subject>::compare_reads(connection& of, const mcp_resume::progress& lib, const model::progress& ref) {
  ++seen_.states[lib.state];
  if (lib.state == read_state::gap) ++seen_.answers[lib.answer];
  same("state", lib.state, ref.state);
  same("answer", lib.answer, ref.answer);
  same("missed of a read", lib.missed, ref.missed);
  same("events of a read", lib.events, ref.events);
  if (lib.state != read_state::gone) {
    same("position", to_string(of.lib.position()), to_string(of.ref.position));
    same("lease", of.lib.lease(), of.ref.lease);
  }
  const model::stream* s = model_.find(of.ref.to);
  same("label of a reader", library_.label_of(of.session_id, of.lib), s == nullptr ? std::string() : s->label);
  changes_nothing_ = lib.state == read_state::gone || lib.state == read_state::superseded;
}

// The client's view, without the model: each frame goes on where the one before it ended.
template <class Subject>
void trial<Subject>::receive(connection& of, const model::frame& f) {
  const tags owner = of.lib.stream().owner;
  if (f.kind == frame_kind::event) return receive_event(of, f);
  if (f.kind == frame_kind::marker) {
    expect(promise::g2, of.due && f.id == *of.due, "G2: a marker stands where the stream goes on", to_string(f.id));
    of.is_primed = true;
    of.due.reset();
    of.last = f.id;
    return;
  }
  expect(promise::g2, f.id == of.last, "G2: a signal stands under the last id", to_string(f.id));
  expect(promise::g1, f.resume_from.owner == owner && f.resume_from.stream == of.lib.stream().stream,
         "G1: a signal leads to the reader's own stream", to_string(f.resume_from));
  const bool is_counted = f.kind == frame_kind::reset || (f.missed != 0 && f.resume_from.seq - f.id.seq == f.missed);
  expect(promise::g2, is_counted, "G2: a gap says how many are missed", to_string(f.resume_from));
  of.is_primed = false;
  of.due = f.resume_from;
}

template <class Subject>
void trial<Subject>::receive_event(connection& of, const model::frame& f) {
  const mcp_resume::stream_handle from = of.lib.stream();
  expect(promise::g1, f.id.owner == from.owner && f.id.stream == from.stream,
         "G1: an event is of the reader's own stream", to_string(f.id));
  const auto appended = payloads_.find(to_string(f.id));
  expect(promise::g1, appended != payloads_.end() && as_received(appended->second) == f.payload,
         "G1: an event is what was appended under its id", to_string(f.id));
  expect(promise::g1, owners_[f.id.owner.session] == of.principal, "G1: an event is of the reader's own principal",
         of.principal);
  expect(promise::g2, of.is_primed && f.id.seq <= of.last.seq + 1, "G2: no event is left out in silence",
         to_string(f.id));
  expect(promise::g3, f.id.seq > of.last.seq, "G3: no event comes twice or out of order", to_string(f.id));
  of.last = f.id;
  std::uint64_t& newest = handed_out_[to_string(event_id{f.id.owner, f.id.stream, 0})];
  newest = std::max(newest, f.id.seq);
}

// The newest seq of a stream that the library wrote for any reader.
template <class Subject>
std::uint64_t trial<Subject>::handed_out(const event_id& of) const {
  const auto newest = handed_out_.find(to_string(of));
  return newest == handed_out_.end() ? model_.bounds().first_seq - 1 : newest->second;
}

template <class Subject>
void trial<Subject>::read(const step& s) {
  connection* of = chosen(connections_, s.n[0] % 4 == 3 ? s.n[0] / 4 : s.n[0] % 2);
  if (of == nullptr) return;
  const std::size_t max_bytes = pick<std::size_t, 6>({65536, 0, 120, 300, 1000, 65536}, s.n[1]);
  std::size_t size = 0;
  read_with(
      *of,
      [&](std::string& text) {
        std::string out = s.n[2] % 2 == 0 ? "" : ": keep-alive\n";
        const std::size_t before = out.size();
        const mcp_resume::progress done = library_.with(of->session_id).read(of->lib, out, max_bytes);
        text = out.substr(before);
        same("bytes of a read", std::uint64_t{done.bytes}, std::uint64_t{text.size()});
        return done;
      },
      [&](std::size_t frame_size) {
        if (size != 0 && size + frame_size > max_bytes) return false;
        size += frame_size;
        return true;
      });
}

template <class Subject>
void trial<Subject>::read_raw(const step& s) {
  connection* of = chosen(connections_, s.n[0] % 4 == 3 ? s.n[0] / 4 : s.n[0] % 2);
  if (of == nullptr) return;
  const std::size_t room = s.n[1] % 4 == 0 ? 4096 : s.n[1] % 400;
  std::size_t size = 0;
  read_with(
      *of,
      [&](std::string& text) {
        std::vector<char> buffer(room + 1, '#');
        const mcp_resume::progress done = library_.with(of->session_id).read(of->lib, buffer.data(), room);
        expect(promise::g6, buffer[room] == '#' && done.bytes <= room, "G6: a raw buffer is not overrun");
        text.assign(buffer.data(), std::min<std::size_t>(done.bytes, room));
        return done;
      },
      [&](std::size_t frame_size) {
        if (size + frame_size > room) return false;
        size += frame_size;
        return true;
      });
}

// A visitor that takes a few frames and then refuses. A table has none.
template <class Subject>
void trial<Subject>::visit(const step& s) {
  connection* of = chosen(connections_, s.n[0] % 4 == 3 ? s.n[0] / 4 : s.n[0] % 2);
  if (of == nullptr) return;
  if constexpr (Subject::has_sessions_in_hand) {
    const std::uint32_t limit = s.n[1] % 5;
    std::uint32_t taken_from_library = 0, taken_from_model = 0;
    read_with(
        *of,
        [&](std::string& text) {
          return library_.with(of->session_id).visit(of->lib, [&](const mcp_resume::frame& f) {
            if (taken_from_library == limit) return false;
            ++taken_from_library;
            mcp_resume::append_frame(text, f);
            return true;
          });
        },
        [&](std::size_t) { return taken_from_model != limit && ++taken_from_model != 0; });
  }
}

template <class Subject>
void trial<Subject>::release(const step& s) {
  connection* of = chosen(connections_, s.n[0]);
  if (of == nullptr) return;
  library_.with(of->session_id).release(of->lib);
  model_.release(of->ref);
}

// At the end every connection reads on until there is nothing more.
template <class Subject>
void trial<Subject>::drain(connection& of) {
  std::uint32_t reads = 0;
  for (bool is_done = false; !is_done && !found_; ++reads) {
    expect(promise::g2, reads != 1000, "G2: reading comes to an end");
    if (reads == 1000) return;
    read_with(
        of,
        [&](std::string& text) {
          const mcp_resume::progress done = library_.with(of.session_id).read(of.lib, text);
          is_done = done.state != read_state::more && done.state != read_state::gap && done.state != read_state::reset;
          return done;
        },
        [size = std::size_t{0}](std::size_t frame_size) mutable {
          if (size != 0 && size + frame_size > 65536) return false;
          size += frame_size;
          return true;
        });
  }
}

// ---- States ----------------------------------------------------------------------------------------------------------

inline void add(snapshot& to, const mcp_resume::inspection& seen) {
  to.insert(to.end(), {{"sessions", seen.sessions},
                       {"streams", seen.streams},
                       {"events", seen.events},
                       {"bytes", seen.bytes},
                       {"oldest age", seen.oldest_age_ms},
                       {"evicted unread", seen.evicted_unread}});
}

inline void add(snapshot& to, const std::optional<mcp_resume::window>& held) {
  to.insert(to.end(), {{"first", held ? held->first : 0}, {"next", held ? held->next : 0}});
}

inline void add(snapshot& to, reason why, std::uint64_t read_mark, std::uint64_t missed) {
  to.insert(to.end(), {{"reason without a cursor", static_cast<std::uint64_t>(why)},
                       {"read mark", read_mark},
                       {"missed without a cursor", missed}});
}

// Counts, windows, and what a client without a cursor would be told.
template <class Subject>
snapshot trial<Subject>::snapshot_of_library() const {
  snapshot seen;
  add(seen, library_.inspect());
  for (const std::string& id : session_ids) {
    add(seen, library_.inspect(id));
    const auto standalone = library_.standalone(id);
    const model::session* s = model_.find(id);
    if (!standalone || s == nullptr) continue;
    for (std::size_t i = 0; i <= s->streams.size(); ++i) {  // the last is opened next, where a number is left
      const std::uint64_t number = i == 0 ? 0 : std::uint64_t{model_.bounds().first_stream} + (i - 1);
      mcp_resume::stream_handle of = *standalone;
      of.stream = static_cast<std::uint32_t>(number);
      add(seen, number > 0xFFFFFFFFU ? std::nullopt : library_.with(id).window_of(of));
    }
    const mcp_resume::resolution fresh = library_.resolve({{}, id, {}, s->principal});
    add(seen, fresh.reason, fresh.cursor.seq, fresh.missed);
  }
  return seen;
}

template <class Subject>
snapshot trial<Subject>::snapshot_of_model() const {
  snapshot seen;
  mcp_resume::inspection sum;
  snapshot each_session;
  for (const std::string& id : session_ids) {
    mcp_resume::inspection one;
    const model::session* s = model_.find(id);
    if (s == nullptr) {
      add(each_session, one);
      continue;
    }
    one = {1, s->records(), s->held_events(), s->held_bytes(), 0, s->evicted_unread};
    snapshot windows;
    for (const model::stream& of : s->streams) {
      for (const model::event& e : of.events) {
        if (e.is_held) one.oldest_age_ms = std::max(one.oldest_age_ms, model_.now() - e.appended_at);
      }
      add(windows, of.has_record ? std::optional(of.held()) : std::nullopt);
    }
    add(windows, std::nullopt);  // of the stream that is opened next
    const model::decision fresh = model_.resolve({{}, id, {}, s->principal});
    add(windows, fresh.reason, fresh.cursor.seq, fresh.missed);
    add(each_session, one);
    each_session.insert(each_session.end(), windows.begin(), windows.end());
    sum = {sum.sessions + 1,
           sum.streams + one.streams,
           sum.events + one.events,
           sum.bytes + one.bytes,
           std::max(sum.oldest_age_ms, one.oldest_age_ms),
           sum.evicted_unread + one.evicted_unread};
  }
  add(seen, sum);
  seen.insert(seen.end(), each_session.begin(), each_session.end());
  return seen;
}

inline std::string difference(const snapshot& got, const snapshot& expected) {
  for (std::size_t i = 0; i != std::min(got.size(), expected.size()); ++i) {
    if (got[i] == expected[i]) continue;
    return std::string(got[i].first) + ": got " + text_of(got[i].second) + ", expected " + text_of(expected[i].second);
  }
  return got.size() == expected.size() ? "none" : "another number of streams or sessions";
}

template <class Subject>
void trial<Subject>::compare_states() {
  const snapshot after = snapshot_of_library();
  if (changes_nothing_) {
    expect(promise::g5, after == before_, "G5: a decision or a refusal changes nothing", difference(after, before_));
  }
  if (is_watched(promise::model)) {
    const snapshot expected = snapshot_of_model();
    expect(promise::model, after == expected, "state", difference(after, expected));
  }
  before_ = after;
  check_g6();
}

template <class Subject>
void trial<Subject>::check_g6() {
  if (!is_watched(promise::g6)) return;
  const auto at_least_1 = [](std::uint64_t bound) { return std::max<std::uint64_t>(bound, 1); };
  for (const std::string& id : session_ids) {
    const mcp_resume::inspection seen = library_.inspect(id);
    expect(promise::g6, seen.events <= at_least_1(bounds_.max_events), "G6: events are bounded");
    expect(promise::g6, seen.bytes <= at_least_1(bounds_.max_bytes), "G6: bytes are bounded");
    expect(promise::g6, seen.streams <= at_least_1(bounds_.max_streams), "G6: streams are bounded");
    expect(promise::g6, bounds_.max_age_ms == 0 || seen.oldest_age_ms <= bounds_.max_age_ms, "G6: age is bounded");
  }
  expect(promise::g6, library_.inspect().sessions <= at_least_1(bounds_.max_sessions), "G6: sessions are bounded");
}

}  // namespace histories

#endif  // MCP_RESUME_TESTS_HISTORY_HPP
