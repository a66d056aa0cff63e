// SPDX-License-Identifier: MIT
// Whatever the network does between an honest server and its clients: what an
// application takes plus the gaps that it is told of is exactly what was sent,
// in order, once; and nobody is told to resync without a cause.
//
// The world: one server with a session_table, wired as README says; sessions of
// two principals and two protocol versions; clients, each a follower of one
// stream; a network that delivers any number of bytes, cuts, delays and
// repeats. What was sent is written down beside the table, and every entry of a
// client is checked against that.
//
// MCP_RESUME_DEPTH=n  longer sequences of steps, and more pairs of cuts
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "follower.hpp"
#include "mcp_resume/client.hpp"
#include "mcp_resume/resume.hpp"
#include "property.hpp"
#include "randomness.hpp"

namespace {

using mcp_resume::continuity;
using mcp_resume::event_id;
using mcp_resume::options;
using mcp_resume::outcome;
using mcp_resume::protocol;
using mcp_resume::read_state;
using mcp_resume::recovery;
using mcp_resume::stream_handle;
using mcp_resume::stream_kind;
using mcp_resume::tags;
using property::failure;

// ---- What was sent --------------------------------------------------------------------------------------------------

struct sent_stream {
  std::string session_id;
  stream_handle handle;
  std::string label;
  std::vector<std::string> payloads;  // of event 1, 2, ...
  std::uint64_t first = 1;            // the oldest that was held when last looked
  std::uint64_t handed = 0;           // the newest that any connection was handed
  bool is_finished = false;
  bool is_dropped = false;  // its record, or its life of the log
};

class ledger {
 public:
  std::vector<sent_stream>& streams() { return streams_; }
  const std::vector<sent_stream>& streams() const { return streams_; }
  // Lives and streams are few.
  const sent_stream* find(tags owner, std::uint32_t stream) const {
    for (const sent_stream& each : streams_) {
      if (each.handle.owner == owner && each.handle.stream == stream) return &each;
    }
    return nullptr;
  }
  // Where a payload was sent: each is sent once.
  std::optional<event_id> place_of(std::string_view payload) const {
    for (const sent_stream& each : streams_) {
      const auto found = std::find(each.payloads.begin(), each.payloads.end(), payload);
      if (found == each.payloads.end()) continue;
      return event_id{each.handle.owner, each.handle.stream, std::uint64_t(found - each.payloads.begin()) + 1};
    }
    return std::nullopt;
  }
  // Which life began first: their tags are in no order.
  std::size_t order_of(tags owner) const {
    std::size_t at = 0;
    while (at != streams_.size() && streams_[at].handle.owner != owner) ++at;
    return at;
  }

 private:
  std::vector<sent_stream> streams_;
};

// ---- The server -----------------------------------------------------------------------------------------------------

constexpr std::string_view tools_changed = R"({"jsonrpc":"2.0","method":"notifications/tools/list_changed"})";
constexpr std::string_view lists_changed = R"({"jsonrpc":"2.0","method":"notifications/resources/list_changed"})";

std::string error_for(const std::string& label) {
  return R"({"id":)" + label + R"(,"error":{"message":"The answer is no longer held."}})";
}

std::string head_of(int status, std::string_view session_id) {
  std::string head = "HTTP/1.1 " + std::to_string(status) + " \r\n";
  for (const mcp_resume::header& h : mcp_resume::headers_for(status)) {
    if (h.name == "Content-Type") head.append(h.name).append(": ").append(h.value).append("\r\n");
  }
  if (!session_id.empty()) head.append("Mcp-Session-Id: ").append(session_id).append("\r\n");
  return head + "\r\n";
}

// What belongs to one `Mcp-Session-Id`, as its owner knows it.
struct account_holder {
  std::string session_id;
  std::string principal;
  protocol negotiated;
  std::size_t lives = 0;  // how many session ids there were
};

// What both ends and the wire between them hold of one connection.
struct connection {
  std::size_t client = 0;
  std::size_t attempt = 0;  // of the client; 0: a repeated request, whose answer goes nowhere
  mcp_resume::reader from;
  std::string wire;       // written, not delivered
  bool is_served = true;  // the server reads on
  bool is_dead = false;   // nothing arrives any more, and nobody is told
  bool is_quiet = false;  // everything that is due was written
};

// A GET on its way.
struct flight {
  std::size_t client = 0;
  std::size_t attempt = 0;
  follower::get sent;
};

// What a client's entries add up to.
struct account {
  std::size_t checked = 0;  // entries
  std::optional<tags> life;
  std::uint64_t place = 0;
  std::string cursor;
  std::optional<tags> owner;         // of the session, as far as the client knows
  std::string refused;               // the cursor that is not to be sent again
  bool is_stranger = false;          // of another principal
  bool was_refused = false;          // by something between it and the server
  bool is_dropped = false;           // its cursor: the next place is taken as it is
  bool is_resynced = false;          // since then
  bool was_told_without_id = false;  // of a gap, when it had no cursor
};

struct client {
  follower::application app;
  std::size_t holder = 0;
  std::uint32_t stream = 0;
  std::string label;
  std::string head;  // of the answer, until it is complete
  bool has_answer = false;
  account sum;
};

constexpr std::uint32_t max_attempts = 60;

class world {
 public:
  explicit world(const options& bounds) : bounds_(bounds) {
    table_.emplace(bounds_);
    table_->tick(now_);
  }

  std::vector<client>& clients() { return clients_; }
  std::vector<connection>& connections() { return connections_; }
  std::vector<flight>& flights() { return flights_; }
  const ledger& sent() const { return sent_; }
  const options& bounds() const { return bounds_; }
  std::size_t holder_count() const { return holders_.size(); }

  // ---- Sessions
  void add_holder(std::string principal, protocol negotiated) {
    holders_.push_back({"", std::move(principal), negotiated, 0});
    initialise(holders_.size() - 1, false);
  }
  // The session ends, and its owner begins another one. The same id without its tag is another session.
  void initialise(std::size_t which, bool keeps_id) {
    account_holder& holder = holders_[which];
    table_->end(holder.session_id);
    if (!keeps_id || holder.lives == 0) {
      holder.session_id = holder.principal + "-" + std::to_string(++holder.lives);
    }
    table_->create(holder.session_id, holder.principal, holder.negotiated, random_);
    note_life(holder);
    follow(which);
  }
  void end(std::size_t which) { table_->end(holders_[which].session_id); }
  void renew(std::size_t which) {
    if (table_->renew(holders_[which].session_id, random_) == mcp_resume::refusal::none) note_life(holders_[which]);
  }
  // The process dies and comes back with the session tags that it stored; what is on the wire still arrives.
  void restart() {
    std::vector<std::optional<stream_handle>> stored;
    for (const account_holder& each : holders_) stored.push_back(table_->standalone(each.session_id));
    table_.emplace(bounds_);
    table_->tick(now_);
    for (std::size_t i = 0; i != holders_.size(); ++i) {
      if (!stored[i]) continue;
      table_->restore(holders_[i].session_id, holders_[i].principal, holders_[i].negotiated, stored[i]->owner.session,
                      random_);
      note_life(holders_[i]);
    }
    for (connection& each : connections_) each.is_served = false;
  }
  void tick(std::uint64_t ms) {
    now_ += ms;
    table_->tick(now_);
    look();
  }

  // ---- Events
  // To a stream of the present life, by its place among them; a request stream gets no more once it is finished.
  void append(std::size_t which, std::uint32_t shape) {
    if (sent_stream* const to = present_stream(which)) add(*to, event_text(shape), false);
  }
  void finish(std::size_t which) {
    std::vector<sent_stream*> open;
    for (sent_stream& each : sent_.streams()) {
      if (!each.is_dropped && !each.is_finished && each.handle.stream != 0) open.push_back(&each);
    }
    if (open.empty()) return;
    sent_stream* const to = open[which % open.size()];
    add(*to, R"({"id":)" + to->label + R"(,"result":)" + std::to_string(++texts_) + "}", true);
  }
  void forget(std::size_t which) {
    if (const sent_stream* const of = present_stream(which)) table_->forget(of->handle);
  }
  // A worker of another life of the log, or of a session that has ended, does not know that.
  void append_late(std::size_t which) {
    auto& all = sent_.streams();
    if (!all.empty() && all[which % all.size()].is_dropped) add(all[which % all.size()], event_text(0), false);
  }

  // ---- Clients
  std::size_t follow(std::size_t which) {
    add_client(which, stream_kind::standalone, 0, "");
    return clients_.size() - 1;
  }
  // A POST that is answered with an event stream: the answer is on the wire.
  void post(std::size_t which, bool is_read_at_once) {
    const account_holder& holder = holders_[which];
    const std::string label = std::to_string(100 + ++texts_);
    const mcp_resume::opened call = table_->open_stream(holder.session_id, label);
    if (!call) return;
    sent_.streams().push_back({holder.session_id, call.stream, label, {}, 1, 0, false, false});
    add_client(which, stream_kind::request, call.stream.stream, label);
    client& asking = clients_.back();
    asking.app.connect();
    answer({clients_.size() - 1, 1, {}}, call.reader, 200, is_read_at_once);
  }
  // Somebody else with the session id and the cursor of a client: whatever he asks for, he is told that nothing is
  // here.
  void intrude(std::size_t which) {
    const client victim = clients_[which];
    if (victim.sum.is_stranger) return;
    follower::settings how;
    how.kind = victim.stream == 0 ? stream_kind::standalone : stream_kind::request;
    how.session_id = victim.app.guard().session_id();
    how.cursor = victim.app.guard().cursor();
    how.bounds.max_attempts = max_attempts;
    clients_.push_back(
        {follower::application(how), (victim.holder + 1) % holders_.size(), victim.stream, "", "", false, {}});
    account& sum = clients_.back().sum;
    sum.is_stranger = true;
    sum.cursor = how.cursor;
    sum.life = sum.owner = clients_.back().app.guard().owner();
    connect(clients_.size() - 1, old::given_up);
  }
  void learn(std::size_t a, std::size_t b) {
    clients_[a].app.learn(clients_[b].app);
    clients_[a].sum.owner = clients_[a].app.guard().owner();
  }
  // Another connection. The client gives the one up that it has, or keeps to it.
  enum class old { given_up, kept };
  void connect(std::size_t which, old what) {
    client& asking = clients_[which];
    if (asking.app.is_connected() && what == old::kept) return;
    asking.app.close();
    if (asking.app.is_over()) return;
    follower::get sent = asking.app.connect();
    asking.head.clear();
    asking.has_answer = false;
    flights_.push_back({which, asking.app.gets().size(), std::move(sent)});
  }

  // ---- The network
  enum class then { gone, stays };  // of a request that has arrived: it may arrive once more
  enum class binding { client, nobody };
  void arrive(std::size_t which, then what, binding to, bool is_read_at_once) {
    flight asked = flights_[which];
    if (what == then::gone) flights_.erase(flights_.begin() + std::ptrdiff_t(which));
    if (is_answered(asked) || to == binding::nobody) asked.attempt = 0;
    const account_holder& holder = holders_[clients_[asked.client].holder];
    mcp_resume::reader made;
    const auto decided =
        table_->resume({version_of(holder), asked.sent.session_id, asked.sent.cursor, holder.principal}, made);
    answer(asked, made, decided.http_status(), is_read_at_once);
  }
  // A request is repeated on the way: the server reads all that it is due into a connection that leads nowhere.
  void repeat_last(std::size_t which) {
    const client& asking = clients_[which];
    follower::get sent = asking.app.gets().back();
    if (asking.stream != 0 && sent.cursor.empty()) sent.cursor = asking.app.guard().cursor();  // of a POST
    if (asking.stream != 0 && sent.cursor.empty()) return;
    flights_.push_back({which, 0, std::move(sent)});
    arrive(flights_.size() - 1, then::gone, binding::nobody, true);
    serve_all(connections_.back());
  }
  // Something between them answers in the server's place.
  void refuse(std::size_t which, int status) {
    const flight asked = flights_[which];
    flights_.erase(flights_.begin() + std::ptrdiff_t(which));
    if (is_answered(asked)) return;
    if (status == 400 || status == 410) clients_[asked.client].sum.was_refused = true;
    answer(asked, {}, status, false);
  }
  // One turn of the server's loop.
  void serve(connection& c, std::size_t max_bytes = 65536) {
    if (!c.is_served) return;
    const mcp_resume::progress done = table_->read(c.from, c.wire, max_bytes);
    if (done.events != 0) note_handed(c.from.position());
    add_words(c, done);
    c.is_quiet = done.state == read_state::caught_up;
    c.is_served =
        done.state != read_state::finished && done.state != read_state::superseded && done.state != read_state::gone;
    if (!c.is_served) table_->release(c.from);
  }
  void serve_all(connection& c) {
    for (int turns = 0; turns != 1000 && c.is_served && !c.is_quiet; ++turns) serve(c);
  }
  void keep_alive(connection& c) {
    if (c.is_served && c.is_quiet) mcp_resume::append_keep_alive(c.wire);
  }
  void deliver(connection& c, std::size_t bytes) {
    const std::string arrived = c.wire.substr(0, bytes);
    c.wire.erase(0, bytes);
    if (!reaches(c)) return;
    take(clients_[c.client], arrived);
    if (c.wire.empty() && !c.is_served) clients_[c.client].app.close();
  }
  // The client loses the connection and the bytes on it; the server learns of it at once, or reads on.
  void cut(connection& c, bool is_noticed) {
    if (reaches(c)) clients_[c.client].app.close();
    c.wire.clear();
    c.is_dead = true;
    if (is_noticed) notice(c);
  }
  void notice(connection& c) {
    table_->release(c.from);
    c.is_served = false;
  }
  bool reaches(const connection& c) const {
    const client& to = clients_[c.client];
    return !c.is_dead && to.app.is_connected() && c.attempt == to.app.gets().size();
  }
  connection* connection_of(std::size_t which) {
    for (connection& each : connections_) {
      if (each.client == which && reaches(each)) return &each;
    }
    return nullptr;
  }

  // ---- Until it is quiet
  // The network delivers everything to one client, until it is caught up or follows no more.
  failure settle(std::size_t which) {
    const std::size_t before = clients_[which].app.gets().size();
    for (int turns = 0; !clients_[which].app.is_over(); ++turns) {
      if (turns == 10000) return {"endless", "client " + std::to_string(which) + " is never quiet"};
      connection* const c = connection_of(which);
      if (c == nullptr) {
        const bool loops = clients_[which].app.gets().size() > before + 12 &&
                           !is_stranded(clients_[which], clients_[which].app.guard().owner());
        if (loops) return {"endless", "client " + std::to_string(which) + " connects again and again"};
        reconnect(which);
      } else if (c->is_served && !c->is_quiet) {
        serve(*c);
      } else if (!c->wire.empty() || !c->is_served) {
        deliver(*c, c->wire.size());
      } else {
        serve(*c);  // something may have come since
        if (c->is_quiet && c->wire.empty()) break;
      }
    }
    const failure bad = check();
    return bad ? bad : check_settled(clients_[which]);
  }
  // One more event on each stream, and every answer.
  void continue_all() {
    for (sent_stream& each : sent_.streams()) {
      if (!each.is_dropped) add(each, event_text(0), false);
    }
    for (std::size_t i = 0; i != sent_.streams().size(); ++i) finish(0);
  }
  failure settle_all() {
    flights_.clear();
    for (std::size_t i = 0; i != clients_.size(); ++i) {
      if (failure bad = settle(i)) return bad;
    }
    return {};
  }

  // Looks at the log, and checks what was told since the last time.
  failure check() {
    look();
    for (std::size_t i = 0; i != clients_.size(); ++i) {
      client& each = clients_[i];
      for (; each.sum.checked != each.app.entries().size(); ++each.sum.checked) {
        const follower::entry& next = each.app.entries()[each.sum.checked];
        failure bad = check_cause(each, next);
        if (!bad) bad = check_sum(each, next);
        if (bad) {
          bad.text = "client " + std::to_string(i) + ", " + describe(next.made) + "; " + bad.text;
          return bad;
        }
      }
    }
    return {};
  }

  // As a patient client does: it waits as long as its policy says.
  void reconnect(std::size_t which) {
    connect(which, old::given_up);
    if (clients_[which].app.is_over()) return;
    if (bounds_.reader_timeout_ms == 0) {  // a reader is live until its connection is known to be gone
      for (connection& each : connections_) cut(each, true);
    }
    tick(clients_[which].app.gets().back().wait_ms);
    arrive(flights_.size() - 1, then::gone, binding::client, true);
  }

 private:
  static std::string_view version_of(const account_holder& holder) { return to_string(holder.negotiated); }

  void note_handed(const event_id& newest) {
    for (sent_stream& each : sent_.streams()) {
      const bool is_it = each.handle.owner == newest.owner && each.handle.stream == newest.stream;
      if (is_it) each.handed = std::max(each.handed, newest.seq);
    }
  }
  void note_life(const account_holder& holder) {
    const stream_handle handle = table_->standalone(holder.session_id).value();
    sent_.streams().push_back({holder.session_id, handle, "", {}, 1, 0, false, false});
  }
  // Every field that a text can have: short, of several lines, long.
  std::string event_text(std::uint32_t shape) {
    const std::string number = std::to_string(++texts_);
    if (shape % 4 == 1) return "{\n\"n\":" + number + "\n\n}";
    if (shape % 4 == 2) return R"({"id: 7":"data: ","n":)" + number + "}";
    return R"({"n":)" + number + (shape % 4 == 3 ? std::string(shape % 300, ' ') : "") + "}";
  }
  void add(sent_stream& to, std::string text, bool is_answer) {
    const mcp_resume::appended done = is_answer ? table_->finish(to.handle, text) : table_->append(to.handle, text);
    if (!done) return;
    to.payloads.push_back(std::move(text));
    to.is_finished = is_answer;
    look();
    for (connection& each : connections_) each.is_quiet = false;
  }
  sent_stream* present_stream(std::size_t which) {
    std::vector<sent_stream*> present;
    for (sent_stream& each : sent_.streams()) {
      if (!each.is_dropped) present.push_back(&each);
    }
    return present.empty() ? nullptr : present[which % present.size()];
  }
  void add_client(std::size_t holder, stream_kind kind, std::uint32_t stream, std::string label) {
    follower::settings how;
    how.kind = kind;
    how.session_id = holders_[holder].session_id;
    how.bounds.max_attempts = max_attempts;
    clients_.push_back({follower::application(how), holder, stream, std::move(label), "", false, {}});
  }

  bool is_answered(const flight& asked) const {
    for (const connection& each : connections_) {
      if (each.client == asked.client && each.attempt == asked.attempt) return true;
    }
    return false;
  }
  void answer(const flight& asked, mcp_resume::reader from, int status, bool is_read_at_once) {
    connection c;
    c.client = asked.client;
    c.attempt = asked.attempt;
    c.from = from;
    const bool names_session = connections_.size() % 2 == 1;  // a header that may be absent
    c.wire = head_of(status, names_session ? clients_[asked.client].app.guard().session_id() : "");
    c.is_served = status == 200;
    for (connection& each : connections_) each.is_quiet = false;  // one of them may be superseded
    if (is_read_at_once) serve(c);
    connections_.push_back(std::move(c));
  }
  void add_words(connection& c, const mcp_resume::progress& done) {
    const bool has_lost = done.state == read_state::gap || done.state == read_state::reset;
    if (has_lost && c.from.stream().stream == 0) {
      mcp_resume::append_message(c.wire, tools_changed);
      mcp_resume::append_message(c.wire, lists_changed);
    } else if (has_lost && done.answer == mcp_resume::answer::lost) {
      mcp_resume::append_message(c.wire, error_for(table_->label_of(c.from)));
    } else if (done.state == read_state::superseded) {
      const std::uint64_t retry_ms = std::min<std::uint64_t>(1000 * c.from.lease(), 30000);
      append_marker(c.wire, c.from.position(), c.from.negotiated(), static_cast<std::uint32_t>(retry_ms));
    }
  }
  // Bytes as they come: first the head, then the event stream.
  static void take(client& to, std::string_view bytes) {
    if (to.has_answer) return to.app.read(bytes);
    to.head.append(bytes);
    const std::size_t end = to.head.find("\r\n\r\n");
    if (end == std::string::npos) return;
    const std::string rest = to.head.substr(end + 4);
    to.head.resize(end + 2);
    to.has_answer = true;
    to.app.answer(std::stoi(to.head.substr(9, 3)), header_of(to.head, "Content-Type"),
                  header_of(to.head, "Mcp-Session-Id"));
    to.app.read(rest);
  }
  static std::string header_of(const std::string& head, const std::string& name) {
    const std::size_t at = head.find("\r\n" + name + ": ");
    if (at == std::string::npos) return {};
    const std::size_t begin = at + name.size() + 4;
    return head.substr(begin, head.find("\r\n", begin) - begin);
  }
  void look() {
    for (sent_stream& each : sent_.streams()) {
      if (each.is_dropped) continue;
      const auto held = table_->window_of(each.handle);
      each.is_dropped = !held;
      if (held) each.first = held->first;
    }
  }
  std::optional<tags> present_life(const client& of) const {
    const auto handle = table_->standalone(of.app.guard().session_id());
    return handle ? std::optional<tags>(handle->owner) : std::nullopt;
  }
  // Whether a session of that id has ever ended.
  bool has_gone(const client& c) const {
    const std::optional<tags> present = present_life(c);
    for (const sent_stream& each : sent_.streams()) {
      const bool is_of_id = each.session_id == c.app.guard().session_id();
      if (is_of_id && !(present && present->session == each.handle.owner.session)) return true;
    }
    return false;
  }
  // It follows a session whose id another one has now: to it every event is foreign, and only its policy ends that.
  bool is_stranded(const client& c, std::optional<tags> known) const {
    const std::optional<tags> present = present_life(c);
    return known && present && known->session != present->session;
  }

  failure check_cause(client& c, const follower::entry& e);
  bool has_lost(const client& c, const follower::entry& e) const;
  bool has_ended(const client& c, const follower::entry& e) const;
  failure check_sum(client& c, const follower::entry& e);
  failure check_taken(const client& c, const follower::entry& e, bool& is_event) const;
  failure check_move(account& sum, const follower::entry& e, bool is_event) const;
  failure check_settled(const client& c) const;

  options bounds_;
  std::optional<mcp_resume::session_table> table_;
  randomness::counted_tags random_;
  std::uint64_t now_ = 1000;  // ms
  std::uint32_t texts_ = 0;   // so that no payload comes twice
  std::vector<account_holder> holders_;
  ledger sent_;
  std::vector<client> clients_;
  std::vector<connection> connections_;
  std::vector<flight> flights_;
};

// ---- What must hold -------------------------------------------------------------------------------------------------

// Whether an event is lost to the client: the next one was evicted, seen from its place or, where it has no cursor to
// stand on, from that of a gap frame; or it was handed to a connection that broke before the client had an id.
bool world::has_lost(const client& c, const follower::entry& e) const {
  const auto id = event_id::parse(e.id.value_or(""));
  const sent_stream* const of = id ? sent_.find(id->owner, id->stream) : nullptr;
  if (of == nullptr) return false;
  const bool is_fresh = c.stream == 0 && c.app.gets()[e.attempt - 1].cursor.empty();
  const bool is_frame = e.made.reason == continuity::gap_announced;
  if (is_fresh && is_frame) return of->first > id->seq + 1;
  return of->first > c.sum.place + 1 || (is_fresh && of->handed > c.sum.place);
}

// Whether the life of the log that the client knows, or that the block is of, is over; or the record of its stream.
bool world::has_ended(const client& c, const follower::entry& e) const {
  const auto present = present_life(c);
  const auto id = event_id::parse(e.id.value_or(""));
  if (!present || (c.sum.owner && *c.sum.owner != *present) || (id && id->owner != *present)) return true;
  const sent_stream* const of = sent_.find(*present, c.stream);
  return of == nullptr || of->is_dropped;
}

// Nobody is told of a loss, a reset or a refusal that did not happen. By default: it may not be told at all.
// NOLINTNEXTLINE(readability-function-size): a flat switch
failure world::check_cause(client& c, const follower::entry& e) {
  const auto must = [](bool holds) { return holds ? failure{} : failure{"no cause", "told without a cause"}; };
  switch (e.made.reason) {
    case continuity::opened:
    case continuity::undecided:
    case continuity::disconnected:
    case continuity::complete:
    case continuity::blank:
    case continuity::next_event:
    case continuity::marker:
      return {};
    case continuity::message: {  // words come after a signal, or after others
      const continuity before = c.app.entries()[c.sum.checked - 1].made.reason;
      return must(before == continuity::message || before == continuity::gap_announced ||
                  before == continuity::reset_announced);
    }
    case continuity::busy:
      return must(has_gone(c) || (c.stream == 0 && c.app.gets()[e.attempt - 1].cursor.empty()));
    case continuity::gap_announced:
      if (c.sum.cursor.empty()) c.sum.was_told_without_id = true;
      return must(has_lost(c, e));
    case continuity::gap_located:
      return must(c.sum.is_dropped || has_lost(c, e));
    case continuity::marker_ahead:  // after a resubscribe the place is taken as it is
      return must(!c.sum.is_dropped && has_lost(c, e));
    case continuity::unresumable:
      return must(c.stream != 0 && c.sum.cursor.empty());
    case continuity::reopened:
      return must(c.sum.was_told_without_id || c.sum.is_dropped || c.sum.was_refused || has_gone(c));
    case continuity::session_gone:
      return must(has_gone(c) || c.sum.is_stranger);
    case continuity::refused:
      return must(c.sum.was_refused);
    case continuity::cursor_refused:
      return must(c.sum.was_refused || has_ended(c, e));
    case continuity::reset_announced:
    case continuity::reset_located:
      return must(has_ended(c, e));
    case continuity::foreign_event:
      return must(has_gone(c));
    default:
      return must(false);
  }
}

// What was handed to the application was sent on its own stream under that id, or the server's words for it.
failure world::check_taken(const client& c, const follower::entry& e, bool& is_event) const {
  if (c.sum.is_stranger) return {"stolen", "a stranger took " + *e.taken};
  const auto place = sent_.place_of(*e.taken);
  is_event = place.has_value();
  if (!place) {
    const bool is_word =
        c.stream == 0 ? *e.taken == tools_changed || *e.taken == lists_changed : *e.taken == error_for(c.label);
    return is_word && !e.id ? failure{} : failure{"invented", "took what nobody sent to it: " + *e.taken};
  }
  const sent_stream* const of = sent_.find(place->owner, place->stream);
  const bool is_own = of->session_id == c.app.guard().session_id() && place->stream == c.stream;
  if (!is_own) return {"not its own", "took an event of another stream or session: " + *e.taken};
  if (e.id != to_string(*place)) return {"wrong id", "took " + *e.taken + " under " + e.id.value_or("no id")};
  return {};
}

failure world::check_move(account& sum, const follower::entry& e, bool is_event) const {
  const event_id next = event_id::parse(e.cursor).value();
  const std::uint64_t expected = sum.place + e.made.missed + (is_event ? 1 : 0);
  const bool is_same_life = !sum.life || *sum.life == next.owner;
  if (sum.is_dropped) {
    if (!sum.is_resynced) return {"not told", "goes on after a resubscribe, and was not told to resync"};
    if (is_same_life && next.seq < sum.place) return {"back", "goes back to " + e.cursor};
  } else if (is_same_life) {
    if (next.seq != expected) {
      return {"sum", "is at " + e.cursor + ", should be at " + std::to_string(expected)};
    }
  } else {
    const bool is_told = e.made.outcome() == outcome::reset && e.made.recovery() == recovery::resync;
    if (!is_told || is_event || e.made.missed != 0) return {"not told", "another life, without a reset"};
    if (sent_.order_of(next.owner) < sent_.order_of(*sum.life)) return {"back", "an earlier life: " + e.cursor};
  }
  sum.life = sum.owner = next.owner;
  sum.place = next.seq;
  sum.is_dropped = false;
  return {};
}

failure world::check_sum(client& c, const follower::entry& e) {
  account& sum = c.sum;
  bool is_event = false;
  if (e.taken) {
    if (failure bad = check_taken(c, e, is_event)) return bad;
  }
  if (e.made.recovery() == recovery::resync) sum.is_resynced = true;
  if (e.made.missed != 0 && e.made.recovery() != recovery::resync) return {"not told", "a loss without a resync"};
  const bool is_moved = e.cursor != sum.cursor;
  if (!is_moved && (is_event || e.made.missed != 0)) return {"sum", "an event or a loss that does not move the place"};
  failure bad;
  if (is_moved && !e.cursor.empty()) bad = check_move(sum, e, is_event);
  if (!e.cursor.empty() && e.cursor == sum.refused) return {"again", "would send " + e.cursor + " again"};
  if (e.made.reason == continuity::cursor_refused) sum.refused = sum.cursor;
  if (e.made.recovery() == recovery::resubscribe || (is_moved && e.cursor.empty())) {
    sum.is_dropped = true;
    sum.is_resynced = e.made.recovery() == recovery::resync;
  }
  // The dropped cursor, given out once more, stays dropped; but the place is known.
  const auto id = event_id::parse(e.id.value_or(""));
  if (sum.is_dropped && id && sum.is_resynced && sum.life == id->owner && sum.place == id->seq) sum.is_dropped = false;
  if (e.made.reason == continuity::reopened && sum.life) sum.is_dropped = true;
  sum.cursor = e.cursor;
  return bad;
}

// At the end nothing is left over: the last event was taken or counted, or the client was told why it follows no more.
failure world::check_settled(const client& c) const {
  const account& sum = c.sum;
  const sent_stream* const of = sum.life ? sent_.find(*sum.life, c.stream) : nullptr;
  const bool has_all = of != nullptr && sum.place == of->payloads.size();
  if (!c.app.is_over()) {
    const bool is_present = sum.life == present_life(c) && !sum.is_dropped;
    return has_all && is_present ? failure{} : failure{"left over", "is quiet at " + c.app.guard().cursor()};
  }
  if (c.app.has_given_up()) return has_gone(c) ? failure{} : failure{"gave up", "gave up without a cause"};
  const mcp_resume::verdict& last = c.app.entries().back().made;
  const bool is_told = last.recovery() == recovery::resync || last.recovery() == recovery::reinitialize;
  if (is_told || last.reason == continuity::refused || (has_all && of->is_finished)) return {};
  return {"left over", "follows no more at " + c.app.guard().cursor() + ": " + describe(last)};
}

// ---- Histories ------------------------------------------------------------------------------------------------------

enum class op : std::uint8_t {
  bound,  // sets one option for the whole history, wherever it stands
  append,
  finish,
  forget,
  append_late,
  follow,
  post,
  learn,
  intrude,
  forbid,
  connect,
  arrive,
  repeat,
  refuse,
  serve,
  keep_alive,
  deliver,
  cut,
  notice,
  fail,
  settle,
  tick,
  restart,
  renew,
  end,
  initialise,
};
constexpr std::size_t op_count = static_cast<std::size_t>(op::initialise) + 1;
constexpr std::array<const char*, op_count> op_names{
    "bound",  "append",  "finish", "forget", "append_late", "follow", "post",       "learn",     "intrude",
    "forbid", "connect", "arrive", "repeat", "refuse",      "serve",  "keep_alive", "deliver",   "cut",
    "notice", "fail",    "settle", "tick",   "restart",     "renew",  "end",        "initialise"};

// What the numbers mean is decided by the state in which the step is taken; 0 is the plainest choice everywhere.
struct step {
  op what = op::tick;
  std::array<std::uint32_t, 3> n{};
};
using history = std::vector<step>;

std::string show(const step& s) {
  std::string text = "  {op::";
  text += op_names[static_cast<std::size_t>(s.what)];
  text += ", {" + std::to_string(s.n[0]) + ", " + std::to_string(s.n[1]) + ", " + std::to_string(s.n[2]) + "}},";
  return text;
}

using weights = std::vector<std::pair<op, std::uint32_t>>;

history make_history(property::random& source, const weights& usual, std::uint32_t length) {
  history made;
  for (std::uint32_t which = 0; which != 6; ++which) {
    if (source.below(2) == 0) made.push_back({op::bound, {which, source.below(8), 0}});
  }
  std::uint32_t sum = 0;
  for (const auto& each : usual) sum += each.second;
  for (std::uint32_t left = 5 + source.below(length); left != 0; --left) {
    std::uint32_t drawn = source.below(sum);
    std::size_t which = 0;
    for (; drawn >= usual[which].second; ++which) drawn -= usual[which].second;
    made.push_back({usual[which].first, {source.below(4096), source.below(4096), source.below(4096)}});
  }
  return made;
}

template <class T, std::size_t N>
T pick(const std::array<T, N>& values, std::uint32_t n) {
  return values[n % N];
}

// The first value of each list is the default, so that a history shrinks to default options.
options bounds_of(const history& h) {
  options o;
  for (const step& each : h) {
    if (each.what != op::bound) continue;
    const std::uint32_t n = each.n[1];
    if (each.n[0] % 6 == 0) o.max_events = pick<std::uint32_t, 6>({1024, 1, 2, 3, 4, 8}, n);
    if (each.n[0] % 6 == 1) o.max_bytes = pick<std::size_t, 4>({8388608, 400, 600, 1000}, n);
    if (each.n[0] % 6 == 2) o.max_age_ms = pick<std::uint64_t, 4>({0, 100, 5000, 60000}, n);
    if (each.n[0] % 6 == 3) o.max_streams = pick<std::uint32_t, 4>({256, 2, 1, 3}, n);
    if (each.n[0] % 6 == 4) o.reader_timeout_ms = pick<std::uint32_t, 3>({45000, 0, 50}, n);
    if (each.n[0] % 6 == 5)
      o.after_gap =
          pick<mcp_resume::after_gap, 2>({mcp_resume::after_gap::live_edge, mcp_resume::after_gap::oldest_held}, n);
  }
  return o;
}

// How many bytes of a wire arrive: all, a few, any number, or up to the end of a block.
std::size_t piece_of(const std::string& wire, std::uint32_t how, std::uint32_t n) {
  if (how % 4 == 0 || wire.empty()) return wire.size();
  if (how % 4 == 1) return n % 8;
  if (how % 4 == 2) return n % wire.size();
  const std::size_t end = wire.find("\n\n", n % wire.size());
  return end == std::string::npos ? wire.size() : end + 2;
}

// Steps that concern a client, and those that concern a connection, a flight or nothing: each is nothing where there
// is none to concern.
void take_client_step(world& w, const step& s) {
  const auto& n = s.n;
  const std::size_t which = n[0] % w.clients().size();
  if (s.what == op::learn) {
    w.learn(which, n[1] % w.clients().size());
  } else if (s.what == op::intrude) {
    w.intrude(which);
  } else if (s.what == op::connect) {
    w.connect(which, n[1] % 4 == 3 ? world::old::given_up : world::old::kept);
  } else if (s.what == op::fail) {
    w.clients()[which].app.fail_after(n[1] % 4);
  }
}
void take_flight_step(world& w, const step& s) {
  if (w.flights().empty()) return;
  const auto& n = s.n;
  const std::size_t which = n[0] % w.flights().size();
  const auto to = n[1] % 8 == 7 ? world::binding::nobody : world::binding::client;
  if (s.what == op::arrive) {
    w.arrive(which, world::then::gone, to, n[2] % 4 != 3);
  } else if (s.what == op::repeat) {
    w.arrive(which, world::then::stays, to, n[2] % 4 != 3);
  } else if (s.what == op::forbid) {
    w.refuse(which, n[1] % 2 == 0 ? 400 : 410);
  } else {
    w.refuse(which, pick<int, 6>({503, 500, 429, 408, 302, 202}, n[1]));
  }
}
void take_connection_step(world& w, const step& s) {
  if (w.connections().empty()) return;
  const auto& n = s.n;
  connection& c = w.connections()[w.connections().size() - 1 - n[0] % w.connections().size()];
  if (s.what == op::serve) {
    w.serve(c, n[1] % 4 == 3 ? n[2] % 200 : 65536);
  } else if (s.what == op::keep_alive) {
    w.keep_alive(c);
  } else if (s.what == op::deliver) {
    w.deliver(c, piece_of(c.wire, n[1], n[2]));
  } else if (s.what == op::cut) {
    w.deliver(c, piece_of(c.wire, n[1] + 1, n[2]));
    w.cut(c, n[1] % 2 == 0);
  } else if (!w.reaches(c)) {
    w.notice(c);
  }
}
// NOLINTNEXTLINE(readability-function-size): a flat switch
failure take_step(world& w, const step& s) {
  const auto& n = s.n;
  const std::size_t holder = n[0] % w.holder_count();
  switch (s.what) {
    case op::bound:
      break;
    case op::append:
      for (std::uint32_t i = 0; i <= n[2] % 3; ++i) w.append(n[0], n[1]);
      break;
    case op::finish:
      w.finish(n[0]);
      break;
    case op::forget:
      w.forget(n[0]);
      break;
    case op::append_late:
      w.append_late(n[0]);
      break;
    case op::follow:
      w.follow(holder);
      break;
    case op::post:
      w.post(holder, n[1] % 2 == 0);
      break;
    case op::settle:
      return w.settle(n[0] % w.clients().size());
    case op::tick:
      w.tick(pick<std::uint64_t, 4>({20, 100, 10000, 2000000}, n[0] % 16 == 15 ? 3 : n[0] % 3));
      break;
    case op::restart:
      w.restart();
      break;
    case op::renew:
      w.renew(holder);
      break;
    case op::end:
      w.end(holder);
      break;
    case op::initialise:
      w.initialise(holder, n[1] % 4 == 3);
      break;
    case op::learn:
    case op::intrude:
    case op::connect:
    case op::fail:
      take_client_step(w, s);
      break;
    case op::arrive:
    case op::repeat:
    case op::refuse:
    case op::forbid:
      take_flight_step(w, s);
      break;
    default:
      take_connection_step(w, s);
  }
  return w.check();
}

failure run_history(const history& h) {
  world w(bounds_of(h));
  w.add_holder("alice", protocol::v2025_11_25);
  w.add_holder("bob", protocol::v2025_06_18);
  for (const step& each : h) {
    if (failure bad = take_step(w, each)) return bad;
  }
  if (failure bad = w.settle_all()) return bad;
  w.continue_all();  // what was quiet is alive
  return w.settle_all();
}

// Its call is over with the connection that brought the answer: it asks for no other one.
bool has_ended_with_answer(const client& c) {
  const auto& all = c.app.entries();
  const auto has_answer = [](const follower::entry& e) { return e.taken && follower::is_answer(*e.taken); };
  const auto answer = std::find_if(all.begin(), all.end(), has_answer);
  if (answer == all.end() || all.back().made.reason != continuity::complete) return false;
  return all.back().attempt == answer->attempt;
}

// It took all that was sent on its stream, and was never told of anything but to connect again.
failure check_undisturbed(const world& w, const client& c) {
  for (const follower::entry& e : c.app.entries()) {
    const bool is_plain = e.made.recovery() == recovery::none || e.made.recovery() == recovery::retry;
    const bool is_quiet = !e.made.outcome() || e.made.outcome() == outcome::continue_;
    if (!is_plain || !is_quiet || e.made.missed != 0) return {"disturbed", describe(e.made)};
  }
  const sent_stream* const of = w.sent().find(c.app.guard().owner().value(), c.stream);
  if (c.app.taken() != of->payloads) return {"disturbed", "did not take what was sent"};
  return c.stream == 0 || has_ended_with_answer(c) ? failure{} : failure{"disturbed", "its call did not end in time"};
}

// A history without any loss: the log holds everything, and whoever is cut has had an id before.
failure run_gentle_history(const history& h) {
  world w(options{});
  w.add_holder("alice", protocol::v2025_11_25);
  w.add_holder("bob", protocol::v2025_06_18);
  failure bad = w.settle_all();
  for (std::size_t i = 0; i != h.size() && !bad; ++i) {
    bad = take_step(w, h[i]);
    if (h[i].what != op::post) continue;
    w.serve_all(w.connections().back());
    w.deliver(w.connections().back(), 65536);
  }
  if (!bad) bad = w.settle_all();
  w.continue_all();
  if (!bad) bad = w.settle_all();
  for (client& each : w.clients()) {
    if (!bad) bad = check_undisturbed(w, each);
  }
  return bad;
}

// ---- Small worlds ---------------------------------------------------------------------------------------------------

// A client whose first connection is answered, with everything due on the wire.
struct scene {
  const char* name;
  protocol negotiated;
  options bounds;
  void (*prepare)(world&);
};

void one_event_each(world& w) {
  for (std::size_t i = 0; i != w.sent().streams().size(); ++i) w.append(i, 0);
}
void open_standalone(world& w) {
  w.reconnect(0);
  w.serve_all(w.connections().back());
  one_event_each(w);
  w.append(0, 1);
  w.serve_all(w.connections().back());
}
// The client has a cursor, and was away while the log went on.
void come_back(world& w) {
  w.reconnect(0);
  w.append(0, 0);
  w.serve_all(w.connections().back());
  w.deliver(w.connections().back(), 65536);
  w.cut(w.connections().back(), true);
  for (int i = 0; i != 4; ++i) w.append(0, 0);
  w.reconnect(0);
  w.serve_all(w.connections().back());
}
void come_back_after_restart(world& w) {
  w.reconnect(0);
  w.serve_all(w.connections().back());
  w.deliver(w.connections().back(), 65536);
  w.restart();
  w.check();
  w.append(0, 0);
  w.reconnect(0);
  w.serve_all(w.connections().back());
}
// The client under test is the last one.
void call(world& w) {
  w.post(0, true);
  w.append(1, 0);
  w.append(1, 1);
  w.finish(0);
  w.serve_all(w.connections().back());
}

options with(std::uint32_t max_events, mcp_resume::after_gap rule = mcp_resume::after_gap::live_edge) {
  options o;
  o.max_events = max_events;
  o.after_gap = rule;
  return o;
}

const std::array<scene, 8> scenes{{
    {"standalone", protocol::v2025_11_25, with(8), open_standalone},
    {"standalone, older", protocol::v2025_06_18, with(8), open_standalone},
    {"a gap", protocol::v2025_11_25, with(2), come_back},
    {"a gap to the oldest", protocol::v2025_06_18, with(2, mcp_resume::after_gap::oldest_held), come_back},
    {"a reset", protocol::v2025_11_25, with(2), come_back_after_restart},
    {"a call", protocol::v2025_11_25, with(8), call},
    {"a call, older", protocol::v2025_06_18, with(8), call},
    {"a gap in a call", protocol::v2025_11_25, with(2), call},
}};

// What happens while the client is away.
enum class meanwhile : std::uint8_t { nothing, append, evict, restart, take_over };
constexpr std::array<meanwhile, 5> all_meanwhile{meanwhile::nothing, meanwhile::append, meanwhile::evict,
                                                 meanwhile::restart, meanwhile::take_over};
constexpr std::array<const char*, 5> meanwhile_names{"nothing", "append", "evict", "restart", "take_over"};

// The connection ends after so many bytes.
struct cut_at {
  std::size_t bytes = 0;
  meanwhile then = meanwhile::nothing;
};

void pass_time(world& w, std::size_t which, meanwhile what) {
  const std::size_t stream = w.clients()[which].stream == 0 ? 0 : 1;
  const auto burst = w.bounds().max_events + 1;
  switch (what) {
    case meanwhile::nothing:
      break;
    case meanwhile::append:
      w.append(stream, 0);
      break;
    case meanwhile::evict:
      for (std::uint32_t i = 0; i != burst; ++i) w.append(i % 4 == 0 ? 0 : stream, 0);
      break;
    case meanwhile::restart:
      w.restart();
      break;
    case meanwhile::take_over:
      w.repeat_last(which);
      break;
  }
}

struct trial {
  failure bad;
  std::vector<std::string> wires;  // of the connections that were cut
};

// Each cut in turn; then until it is quiet, and once more after further events.
trial try_cuts(const scene& where, const std::vector<cut_at>& cuts) {
  trial done;
  world w(where.bounds);
  w.add_holder("alice", where.negotiated);
  where.prepare(w);
  const std::size_t which = w.clients().size() - 1;
  for (const cut_at& each : cuts) {
    connection* const c = w.connection_of(which);
    if (c == nullptr) break;  // the client follows no more, or waits
    done.wires.push_back(c->wire);
    w.deliver(*c, each.bytes);
    w.cut(*c, each.bytes % 2 == 0);
    pass_time(w, which, each.then);
    if ((done.bad = w.check())) return done;
    w.reconnect(which);
    if (connection* const next = w.connection_of(which)) w.serve_all(*next);
  }
  done.bad = w.settle_all();
  if (done.bad) return done;
  w.continue_all();
  done.bad = w.settle_all();
  return done;
}

std::string report_of(const scene& where, const std::vector<cut_at>& cuts, const failure& bad) {
  std::string text = std::string(where.name) + ": " + bad.kind + ": " + bad.text;
  for (const cut_at& each : cuts) {
    text += "; cut after " + std::to_string(each.bytes) + " bytes, then " +
            meanwhile_names[static_cast<std::size_t>(each.then)];
  }
  return text;
}

// How much more than usual is tried: 0, or 1 for longer sequences and cuts at every byte of every connection.
std::size_t more_depth() { return property::number_from("MCP_RESUME_DEPTH").value_or(0) != 0 ? 1 : 0; }

// Where a wire is cut: at every byte; at every 31st and around the end of each block; or once in each block and at the
// end.
enum class places { every_byte, some_bytes, each_block };
std::vector<std::size_t> places_of(const std::string& wire, places which) {
  if (which == places::some_bytes && more_depth() != 0) which = places::every_byte;
  std::vector<bool> is_cut(wire.size() + 1, which == places::every_byte);
  is_cut[0] = is_cut[wire.size()] = true;
  for (std::size_t i = 0; i < is_cut.size(); i += 31) is_cut[i] = is_cut[i] || which == places::some_bytes;
  for (std::size_t begin = 0, end = 0; begin < wire.size(); begin = end) {
    const std::size_t lf = wire.find("\n\n", begin), crlf = wire.find("\r\n\r\n", begin);
    end = std::min({wire.size(), crlf == std::string::npos ? crlf : crlf + 4, lf == std::string::npos ? lf : lf + 2});
    is_cut[(begin + end) / 2] = true;
    if (which == places::some_bytes) is_cut[end - 1] = is_cut[end] = true;
  }
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i != is_cut.size(); ++i) {
    if (is_cut[i]) all.push_back(i);
  }
  return all;
}

// Every way to cut the connections one after the other, each at the places that `depth` says for it. Returns a report
// of the first that fails, and counts the trials.
std::string cut_everywhere(const scene& where, std::vector<cut_at> cuts, const std::vector<places>& depth,
                           std::size_t& trials) {
  const std::size_t level = cuts.size();
  cuts.push_back({});
  const trial probe = try_cuts(where, cuts);
  if (probe.wires.size() <= level) return probe.bad ? report_of(where, cuts, probe.bad) : std::string();
  for (const std::size_t bytes : places_of(probe.wires[level], depth[level])) {
    for (const meanwhile then : all_meanwhile) {
      cuts[level] = {bytes, then};
      std::string report;
      if (level + 1 != depth.size()) {
        report = cut_everywhere(where, cuts, depth, trials);
      } else {
        ++trials;
        const trial done = try_cuts(where, cuts);
        if (done.bad) report = report_of(where, cuts, done.bad);
      }
      if (!report.empty()) return report;
    }
  }
  return {};
}

enum class scenes_tried { all, richest };
void check_cuts(const std::vector<places>& depth, scenes_tried which = scenes_tried::all) {
  for (const scene& where : scenes) {
    const bool is_rich = std::string_view(where.name) == "a gap" || std::string_view(where.name) == "a gap in a call";
    if (which == scenes_tried::richest && more_depth() == 0 && !is_rich) continue;
    std::size_t trials = 0;
    const std::string report = cut_everywhere(where, {}, depth, trials);
    INFO(where.name << ", " << trials << " trials; " << report);
    CHECK(report.empty());
    CHECK(trials > 1000);
  }
}

// ---- Short sequences ------------------------------------------------------------------------------------------------

// A client on stream 0 and one whose call is running, in a log that holds three events.
enum class letter : std::uint8_t {
  append,      // to stream 0
  progress,    // of the call
  evict,       // what stream 0 held
  finish,      // the call
  forget,      // it
  connect,     // the client of stream 0 gives up its connection and asks for
               // another
  call_again,  // so does the client of the call
  arrive,      // the oldest request
  repeat,      // it arrives, and will once more
  flow,        // everything due comes on the newest connection
  cut,         // it, in the block after the first one; nobody notices
  fail,        // both applications, at the next block
  restart,     // the server
  wait,        // until no reader is taken for live
};
constexpr std::size_t letter_count = static_cast<std::size_t>(letter::wait) + 1;
constexpr std::array<const char*, letter_count> letter_names{"append",  "progress",   "evict",   "finish", "forget",
                                                             "connect", "call_again", "arrive",  "repeat", "flow",
                                                             "cut",     "fail",       "restart", "wait"};

void cut_in_second_block(world& w, connection& c) {
  w.serve_all(c);
  const std::size_t first = c.wire.find("\n\n");
  w.deliver(c, first == std::string::npos ? 8 : first + 8);
  w.cut(c, false);
}

// NOLINTNEXTLINE(readability-function-size): a flat switch
void take_letter(world& w, letter which) {
  switch (which) {
    case letter::append:
      return w.append(0, 0);
    case letter::progress:
      return w.append(1, 0);
    case letter::evict:
      for (int i = 0; i != 4; ++i) w.append(0, 0);
      return;
    case letter::finish:
      return w.finish(0);
    case letter::forget:
      return w.forget(1);
    case letter::connect:
      return w.connect(0, world::old::given_up);
    case letter::call_again:
      return w.connect(1, world::old::given_up);
    case letter::arrive:
      return w.arrive(0, world::then::gone, world::binding::client, true);
    case letter::repeat:
      return w.arrive(0, world::then::stays, world::binding::client, true);
    case letter::flow:
      w.serve_all(w.connections().back());
      return w.deliver(w.connections().back(), 65536);
    case letter::cut:
      return cut_in_second_block(w, w.connections().back());
    case letter::fail:
      for (client& each : w.clients()) each.app.fail_after(0);
      return;
    case letter::restart:
      return w.restart();
    case letter::wait:
      return w.tick(50000);
  }
}

// Whether the letter can do anything at all where the last one led to.
bool has_effect(world& w, letter which) {
  if (which == letter::arrive || which == letter::repeat) return !w.flights().empty();
  if (which == letter::flow || which == letter::cut) return w.reaches(w.connections().back());
  if (which == letter::connect) return !w.clients()[0].app.is_over();
  if (which == letter::call_again) return !w.clients()[1].app.is_over();
  return true;
}

struct spelled {
  failure bad;
  std::vector<letter> useful;  // what may come next
};
spelled try_letters(const std::vector<letter>& word, const options& bounds, protocol negotiated) {
  world w(bounds);
  w.add_holder("alice", negotiated);
  w.post(0, true);
  w.reconnect(0);
  spelled done;
  for (const letter each : word) {
    take_letter(w, each);
    if ((done.bad = w.check())) return done;
  }
  for (std::size_t i = 0; i != letter_count; ++i) {
    if (has_effect(w, static_cast<letter>(i))) done.useful.push_back(static_cast<letter>(i));
  }
  if ((done.bad = w.settle_all())) return done;
  w.continue_all();
  done.bad = w.settle_all();
  return done;
}

std::string spell_all(std::vector<letter> word, std::size_t left, const options& bounds, protocol negotiated,
                      std::size_t& trials) {
  const spelled done = try_letters(word, bounds, negotiated);
  ++trials;
  if (done.bad) {
    std::string report = done.bad.kind + ": " + done.bad.text + ":";
    for (const letter each : word) report.append(" ").append(letter_names[static_cast<std::size_t>(each)]);
    return report;
  }
  if (left == 0) return {};
  word.push_back({});
  for (const letter next : done.useful) {
    word.back() = next;
    std::string report = spell_all(word, left - 1, bounds, negotiated, trials);
    if (!report.empty()) return report;
  }
  return {};
}

void check_letters(std::size_t length, const options& bounds, protocol negotiated) {
  std::size_t trials = 0;
  const std::string report = spell_all({}, length, bounds, negotiated, trials);
  INFO(trials << " sequences; " << report);
  CHECK(report.empty());
  CHECK(trials > 1000);
}

}  // namespace

TEST_CASE("whatever the network does, taken events and reported gaps are what was sent, in order, once", "[network]") {
  const weights usual{
      {op::append, 24},    {op::finish, 5},  {op::forget, 1},  {op::append_late, 1}, {op::follow, 2},
      {op::post, 5},       {op::learn, 3},   {op::intrude, 1}, {op::connect, 12},    {op::arrive, 14},
      {op::repeat, 3},     {op::refuse, 1},  {op::forbid, 1},  {op::serve, 16},      {op::deliver, 24},
      {op::keep_alive, 2}, {op::cut, 8},     {op::notice, 2},  {op::fail, 2},        {op::settle, 3},
      {op::tick, 3},       {op::restart, 1}, {op::renew, 1},   {op::end, 1},         {op::initialise, 1}};
  const std::string report = property::for_all(
      8000, [&](property::random& source) { return make_history(source, usual, 90); }, run_history, show);
  INFO(report);
  CHECK(report.empty());
}

TEST_CASE("a client that is cut as often as may be, and loses nothing, is told nothing", "[network]") {
  const weights gentle{
      {op::append, 24}, {op::finish, 3}, {op::post, 4},       {op::connect, 10}, {op::arrive, 14},
      {op::repeat, 3},  {op::refuse, 1}, {op::serve, 16},     {op::deliver, 24}, {op::cut, 14},
      {op::notice, 2},  {op::fail, 3},   {op::keep_alive, 2}, {op::settle, 2},
  };
  const std::string report = property::for_all(
      3000, [&](property::random& source) { return make_history(source, gentle, 120); }, run_gentle_history, show);
  INFO(report);
  CHECK(report.empty());
}

TEST_CASE("a client that is cut after each event goes on for ever, and never waits longer", "[network]") {
  world w(options{});
  w.add_holder("alice", protocol::v2025_11_25);
  REQUIRE_FALSE(w.settle(0));
  for (std::size_t i = 0; i != 2 * max_attempts; ++i) {
    w.append(0, 0);
    REQUIRE_FALSE(w.settle(0));
    w.cut(*w.connection_of(0), i % 2 == 0);
  }
  const follower::application& app = w.clients()[0].app;
  CHECK_FALSE(app.is_over());
  CHECK(app.taken().size() == 2 * max_attempts);
  for (const follower::get& each : app.gets()) CHECK(each.wait_ms == mcp_resume::reconnect_options().first_wait_ms);
}

TEST_CASE("clients that take a stream over from each other wait as long as the server asks, longer each time",
          "[network]") {
  world w(options{});
  w.add_holder("alice", protocol::v2025_11_25);
  w.follow(0);
  REQUIRE_FALSE(w.settle_all());
  for (int i = 0; i != 12; ++i) {
    w.append(0, 0);
    REQUIRE_FALSE(w.settle_all());
  }
  for (const client& each : w.clients()) {
    std::uint64_t longest = 0;
    std::size_t fights = 0;
    for (const follower::get& sent : each.app.gets()) {
      if (sent.cursor.empty() || ++fights < 3) continue;  // until both have had an event
      CHECK(sent.wait_ms > longest);
      longest = sent.wait_ms;
    }
    CHECK(fights >= 12);
    CHECK(longest > 15000);
  }
}

TEST_CASE("a session id that another session has now brings nothing, and the attempts end", "[network]") {
  world w(options{});
  w.add_holder("alice", protocol::v2025_11_25);
  w.append(0, 0);
  REQUIRE_FALSE(w.settle(0));
  const std::string cursor = w.clients()[0].app.guard().cursor();
  w.initialise(0, true);
  for (int i = 0; i != 3; ++i) w.append(0, 0);
  REQUIRE_FALSE(w.settle(0));

  const follower::application& app = w.clients()[0].app;
  CHECK(app.has_given_up());
  CHECK(app.taken().size() == 1);
  CHECK(app.count(continuity::cursor_refused) == 1);
  for (std::size_t i = 1; i != app.gets().size(); ++i) CHECK(app.gets()[i].cursor == (i <= 3 ? cursor : ""));
}

TEST_CASE("cut at any byte of a connection, nothing is lost unsaid and nothing comes twice", "[network]") {
  check_cuts({places::every_byte});
}

TEST_CASE("cut at any byte, and again in any block of the connection that follows", "[network]") {
  check_cuts({places::some_bytes, places::each_block});
}

TEST_CASE("cut in any block, and again at any byte of the connection that follows", "[network]") {
  check_cuts({places::each_block, places::some_bytes});
}

TEST_CASE("cut in any block, three times in a row", "[network]") {
  check_cuts({places::each_block, places::each_block, places::each_block}, scenes_tried::richest);
}

TEST_CASE("after any short sequence of steps nothing is lost unsaid and nothing comes twice", "[network]") {
  check_letters(4 + more_depth(), with(3), protocol::v2025_11_25);
}

TEST_CASE("the same where a gap goes to the oldest event that is held, in an older protocol", "[network]") {
  check_letters(3 + more_depth(), with(3, mcp_resume::after_gap::oldest_held), protocol::v2025_06_18);
}

// The application has the server's error in place of the answer, and lost the connection before it was told how much
// is missing: that may not be `continue`.
TEST_CASE("a gap that was announced is not complete before its place is known", "[network]") {
  world w(with(1));
  w.add_holder("alice", protocol::v2025_11_25);
  w.post(0, true);
  w.finish(0);
  w.append(0, 0);  // evicts the answer
  w.serve(w.connections().back());
  w.deliver(w.connections().back(), 65536);
  const follower::application& app = w.clients().back().app;
  REQUIRE(app.count(continuity::gap_announced) == 1);
  w.cut(w.connections().back(), true);
  CHECK(app.count(continuity::complete) == 0);
  w.settle_all();
  CHECK(app.missed() == 1);
  CHECK(app.count(recovery::resync) == 1);
}
