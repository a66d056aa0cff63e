// SPDX-License-Identifier: MIT
// Promise: what is easy to get wrong in the decision is right, its numbers are exact, and no input is too large for it.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "decision_world.hpp"
#include "mcp_resume/resume.hpp"
#include "sse.hpp"

using namespace mcp_resume;
using world::id_text;
using world::max64;
using world::numbers_of;
using world::scenario;
using world::scenarios;
using world::scripted_random;
using world::twins;

namespace {

constexpr std::size_t megabyte = std::size_t{1} << 20U;

options bounds_of(std::uint32_t max_events, after_gap rule = after_gap::live_edge) {
  options bounds;
  bounds.max_events = max_events;
  bounds.after_gap = rule;
  return bounds;
}

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// The answer to a GET as the wire shows it: status and headers.
std::string answer_of(int http_status) {
  std::string text = std::to_string(http_status);
  for (const header& h : headers_for(http_status)) {
    text += "\n" + std::string(h.name) + ": " + std::string(h.value);
  }
  return text;
}

// What two answers must have in common if nothing may be learned from them, bodies included.
std::string whole_answer(twins& w, const request& asked) {
  return answer_of(w.resolve(asked).http_status()) + "\n\n" + w.frames_for(asked);
}

// The numbers of a decision, in the order of `resolution`.
struct numbers {
  mcp_resume::reason reason;
  event_id cursor;
  mcp_resume::window window;
  std::uint64_t missed;
  std::uint64_t no_longer_held;
  std::uint64_t resume_after;
};

void check_numbers(const resolution& decided, const numbers& expected) {
  resolution whole;
  whole.reason = expected.reason;
  whole.cursor = expected.cursor;
  whole.window = expected.window;
  whole.missed = expected.missed;
  whole.no_longer_held = expected.no_longer_held;
  whole.resume_after = expected.resume_after;
  whole.stream = decided.stream;
  CHECK(numbers_of(decided) == numbers_of(whole));
  CHECK(decided.stream.owner == world::own);
}

event_id own_id(std::uint32_t stream, std::uint64_t seq) { return {world::own, stream, seq}; }

std::string reason_text(const resolution& decided) { return std::string(to_string(decided.reason)); }

}  // namespace

// ---- What is easy to get wrong ---------------------------------------------------------------------------------------

TEST_CASE("the cursor's own event may be gone while the next one is held", "[decision_edges]") {
  twins w(bounds_of(4));
  w.append(0, 10);
  REQUIRE(w.in_hand.window_of(w.handle(0)) == window{7, 11});
  const resolution decided = w.get(id_text(0, 6));
  CHECK(decided.reason == reason::replay);
  CHECK(decided.outcome() == outcome::continue_);
  CHECK(decided.missed == 0);
  const std::vector<sse::block> blocks = sse::read(w.frames_for(id_text(0, 6)));
  REQUIRE(blocks.size() == 5);
  for (std::size_t i = 0; i != blocks.size(); ++i) CHECK(blocks[i].id == id_text(0, 6 + i));
}

TEST_CASE("a client that has everything continues even when the log is empty or expired", "[decision_edges]") {
  options bounds;
  bounds.max_age_ms = 100;
  twins w(bounds);
  const std::uint32_t call = w.open();
  CHECK(w.get(id_text(0, 0)).reason == reason::up_to_date);
  CHECK(w.get(id_text(call, 0)).reason == reason::up_to_date);

  w.append(0, 3);
  w.append(call, 2);
  w.tick(500);
  REQUIRE(w.in_hand.inspect().events == 0);
  check_numbers(w.get(id_text(0, 3)), {reason::up_to_date, own_id(0, 3), {4, 4}, 0, 0, 3});
  check_numbers(w.get(id_text(call, 2)), {reason::up_to_date, own_id(call, 2), {3, 3}, 0, 0, 2});
  w.finish(call);
  check_numbers(w.get(id_text(call, 2)), {reason::complete, own_id(call, 2), {3, 3}, 0, 0, 2});
  CHECK(w.get(id_text(call, 2)).http_status() == 204);

  w.append(0, 1, "news");
  const std::vector<sse::block> blocks = sse::read(w.frames_for(id_text(0, 3)));
  REQUIRE(blocks.size() == 2);
  CHECK(blocks[1].id == id_text(0, 4));
  CHECK(blocks[1].data == "news");
}

TEST_CASE("a cursor ahead of the newest event is refused and never has nothing to replay", "[decision_edges]") {
  twins w;
  w.append(0, 3);
  for (const std::uint64_t ahead : {std::uint64_t{4}, std::uint64_t{5}, std::uint64_t{1} << 53U, max64 - 1, max64}) {
    const resolution decided = w.get(id_text(0, ahead));
    CAPTURE(ahead);
    CHECK(decided.reason == reason::never_issued);
    CHECK(decided.outcome() == outcome::reject);
    CHECK(decided.http_status() == 409);
    CHECK(w.frames_for(id_text(0, ahead)).empty());
  }
}

TEST_CASE("an equal number from another incarnation proves nothing", "[decision_edges]") {
  twins w;
  const tags first = world::own;
  const tags second{first.session, 2};
  const tags third{first.session, 3};
  w.append(0, 3);
  w.renew(second.incarnation);
  w.append(0, 3);
  CHECK(w.get(id_text(0, 2, first)).reason == reason::stale_incarnation);
  CHECK(w.get(id_text(0, 2, second)).reason == reason::replay);

  // The third life differs from the second, and the first is not forgiven.
  w.renew(third.incarnation);
  w.append(0, 3);
  CHECK(w.get(id_text(0, 2, first)).reason == reason::stale_incarnation);
  CHECK(w.get(id_text(0, 2, second)).reason == reason::stale_incarnation);
  CHECK(w.get(id_text(0, 2, third)).reason == reason::replay);
  for (const std::uint64_t seq : {std::uint64_t{0}, std::uint64_t{3}, std::uint64_t{4}, max64}) {
    CHECK(w.get(id_text(0, seq, second)).reason == reason::stale_incarnation);
    CHECK(w.get(id_text(1, seq, second)).reason == reason::stale_request);
  }
}

TEST_CASE("an id that is used again makes earlier cursors foreign unless its tag is restored", "[decision_edges]") {
  const request asked{"2025-11-25", "s-1", "aaaaaaaaaaaaaaaa.bbbbbbbbbbbbbbbb.0.1", "alice"};
  local_session_table created;
  REQUIRE(created.create("s-1", "alice", protocol::v2025_11_25, scripted_random({7, 8})) == refusal::none);
  REQUIRE(created.append(*created.standalone("s-1"), "x"));
  CHECK(resolve_resume(asked, created).reason == reason::foreign_cursor);

  local_session_table restored;
  REQUIRE(restored.restore("s-1", "alice", protocol::v2025_11_25, world::own.session, scripted_random({8})) ==
          refusal::none);
  REQUIRE(restored.append(*restored.standalone("s-1"), "x"));
  CHECK(resolve_resume(asked, restored).reason == reason::stale_incarnation);
}

TEST_CASE("an event that is still in memory is no permission", "[decision_edges]") {
  const std::string held = id_text(0, 1);
  const auto secret_of = [](twins& w, const request& asked) { return contains(w.frames_for(asked), "secret"); };
  twins w;
  w.append(0, 3, "secret");
  REQUIRE(secret_of(w, {"2025-11-25", "s-1", held, "alice"}));  // the owner gets them

  // Row 4: the session that is named is not the one that holds them.
  CHECK(w.resolve({"2025-11-25", "s-2", held, "alice"}).reason == reason::session_gone);
  CHECK_FALSE(secret_of(w, {"2025-11-25", "s-2", held, "alice"}));
  // Row 5: held, but for another principal.
  CHECK(w.resolve({"2025-11-25", "s-1", held, "mallory"}).reason == reason::wrong_principal);
  CHECK_FALSE(secret_of(w, {"2025-11-25", "s-1", held, "mallory"}));
  // Row 9: the same stream and seq under another session's tag.
  const std::string foreign = id_text(0, 1, {1, world::own.incarnation});
  CHECK(w.get(foreign).reason == reason::foreign_cursor);
  CHECK_FALSE(contains(w.frames_for(foreign), "secret"));
  // Row 11: the same stream and seq of another incarnation.
  w.append(w.open(), 3, "secret");
  const std::string stale = id_text(1, 1, {world::own.session, 1});
  CHECK(w.get(stale).reason == reason::stale_request);
  CHECK(w.frames_for(stale).empty());
  // Row 10: only after the reset signal, as events of the incarnation that holds them, from the oldest on.
  const std::vector<sse::block> blocks = sse::read(w.frames_for(id_text(0, 1, {world::own.session, 1})));
  REQUIRE(blocks.size() == 5);
  CHECK(blocks[0].type == "reset");
  CHECK(blocks[1].id == id_text(0, 0));
  CHECK(blocks[2].id == id_text(0, 1));
}

TEST_CASE("a version header that is absent or empty never forbids", "[decision_edges]") {
  for (const protocol negotiated : {protocol::v2024_11_05, protocol::v2025_03_26, protocol::v2025_11_25}) {
    options bounds;
    bounds.supported = protocol_set().without(protocol::v2025_03_26).without(protocol::v2026_07_28);
    twins w(bounds, negotiated);
    CHECK(w.resolve({"", "s-1", "", "alice"}).reason == reason::fresh);
    CHECK(w.resolve({{}, "s-1", "", "alice"}).reason == reason::fresh);
    CHECK(w.resolve({"", "", "", ""}).reason == reason::no_session);
  }
}

TEST_CASE("versions are compared by membership and never as text", "[decision_edges]") {
  twins w;
  const auto reason_for = [&w](std::string_view version) { return w.resolve({version, "s-1", "", "alice"}).reason; };
  for (const char* known : {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"}) {
    CHECK(reason_for(known) == reason::fresh);
  }
  CHECK(reason_for("2026-07-28") == reason::stateless_protocol);
  for (const char* unknown : {"draft", "2025-11-26", "2025-11-2", "2025-11-255", "2027-01-01", "2025-12-01", " ", "0",
                              "2025-11-25 ", " 2025-11-25", "2025-11-25,2025-11-25", "DRAFT-2026-v1", "1.0", "~"}) {
    CAPTURE(unknown);
    CHECK(reason_for(unknown) == reason::unsupported_protocol);
  }
  CHECK(reason_for(std::string_view("2025-11-25\0", 11)) == reason::unsupported_protocol);
}

TEST_CASE("a server that removes a version refuses it", "[decision_edges]") {
  for (const auto& [version, text] :
       {std::pair{protocol::v2026_07_28, "2026-07-28"}, std::pair{protocol::v2025_06_18, "2025-06-18"}}) {
    options bounds;
    bounds.supported = protocol_set().without(version);
    twins w(bounds);
    CHECK(w.resolve({text, "s-1", "", "alice"}).reason == reason::unsupported_protocol);
    CHECK(w.resolve_session({text, "s-1", "", "alice"}) == reason::unsupported_protocol);
    CHECK(w.resolve({"2025-11-25", "s-1", "", "alice"}).reason == reason::fresh);
  }
}

TEST_CASE("the negotiated version decides the frames whatever the header says", "[decision_edges]") {
  for (const char* sent : {"", "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"}) {
    for (const protocol negotiated : {protocol::v2024_11_05, protocol::v2025_03_26, protocol::v2025_06_18}) {
      twins older({}, negotiated);
      const std::vector<sse::block> blocks = sse::read(older.frames_for({sent, "s-1", "", "alice"}));
      REQUIRE(blocks.size() == 1);
      CHECK(blocks[0].type == "resume");
      CHECK(contains(blocks[0].data.value_or(""), "notifications/resume/continued"));
    }
    twins newest({}, protocol::v2025_11_25);
    const std::vector<sse::block> blocks = sse::read(newest.frames_for({sent, "s-1", "", "alice"}));
    REQUIRE(blocks.size() == 1);
    CHECK(blocks[0].type == "message");
    CHECK(blocks[0].data == "");
  }
}

TEST_CASE("a principal is compared byte for byte and nobody equals only nobody", "[decision_edges]") {
  const std::vector<std::string> names{"",
                                       "alice",
                                       "alic",
                                       "alice ",
                                       "Alice",
                                       "alicf",
                                       "blice",
                                       std::string(1, '\0'),
                                       std::string("alice\0", 6),
                                       std::string("alice\0a", 7),
                                       std::string("alice\0b", 7),
                                       std::string("al\0ce", 5),
                                       "\xFF\xFE",
                                       "\xC3\xA9",
                                       "e\xCC\x81"};
  for (const std::string& owner : names) {
    twins w({}, protocol::v2025_11_25, owner);
    for (const std::string& asking : names) {
      const bool is_owner = &owner == &asking;
      CAPTURE(owner, asking);
      const request asked{"2025-11-25", "s-1", "", asking};
      CHECK(w.resolve(asked).reason == (is_owner ? reason::fresh : reason::wrong_principal));
      CHECK(w.resolve_session(asked) == (is_owner ? std::nullopt : std::optional<reason>(reason::wrong_principal)));
    }
  }
}

TEST_CASE("whether a session exists is not learned from an answer", "[decision_edges]") {
  twins w;
  w.append(0, 3);
  const std::string cursor = id_text(0, 1);
  for (const std::string& presented : {std::string(), cursor, std::string("evt-4471"), id_text(9, 9, {1, 2})}) {
    const request unknown{"2025-11-25", "s-2", presented, "mallory"};
    const request not_hers{"2025-11-25", "s-1", presented, "mallory"};
    REQUIRE(w.resolve(unknown).reason == reason::session_gone);
    REQUIRE(w.resolve(not_hers).reason == reason::wrong_principal);
    CHECK(whole_answer(w, unknown) == whole_answer(w, not_hers));
  }
}

TEST_CASE("whether an id exists is not learned from an answer", "[decision_edges]") {
  twins w;
  w.append(0, 3);
  const std::string foreign = id_text(0, 1, {1, 2});
  const request not_own{"2025-11-25", "s-1", foreign, "alice"};
  REQUIRE(w.resolve(not_own).reason == reason::foreign_cursor);
  for (const std::string& never : {id_text(0, 4), id_text(1, 0), id_text(0xFFFFFFFFU, max64)}) {
    const request ahead{"2025-11-25", "s-1", never, "alice"};
    REQUIRE(w.resolve(ahead).reason == reason::never_issued);
    CHECK(whole_answer(w, ahead) == whole_answer(w, not_own));
  }
}

// ---- Numbers of a decision -------------------------------------------------------------------------------------------

TEST_CASE("describe says of a gap what the design says", "[decision_edges]") {
  twins w(bounds_of(88));
  w.append(0, 600);
  REQUIRE(w.in_hand.window_of(w.handle(0)) == window{513, 601});
  const resolution decided = w.get(id_text(0, 418));
  check_numbers(decided, {reason::evicted, own_id(0, 418), {513, 601}, 182, 94, 600});
  CHECK(describe(decided) ==
        "gap: cursor 418, oldest held 513, 94 events no longer held; goes on after 600, 182 missed");
  CHECK(to_string(decided) == describe(decided));
}

TEST_CASE("a continuation goes on after its cursor and misses nothing", "[decision_edges]") {
  twins w;
  w.append(0, 5);
  check_numbers(w.get(id_text(0, 2)), {reason::replay, own_id(0, 2), {1, 6}, 0, 0, 2});
  check_numbers(w.get(id_text(0, 5)), {reason::up_to_date, own_id(0, 5), {1, 6}, 0, 0, 5});
  const std::uint32_t call = w.open();
  w.append(call, 2);
  w.finish(call);
  check_numbers(w.get(id_text(call, 0)), {reason::replay, own_id(call, 0), {1, 3}, 0, 0, 0});
  check_numbers(w.get(id_text(call, 2)), {reason::complete, own_id(call, 2), {1, 3}, 0, 0, 2});
  CHECK(w.get(id_text(call, 0)).stream.stream == call);
}

TEST_CASE("a fresh reader starts after the read mark", "[decision_edges]") {
  twins w;
  check_numbers(w.get(""), {reason::fresh, own_id(0, 0), {1, 1}, 0, 0, 0});
  // What was sent before the first GET is not lost.
  w.append(0, 5);
  check_numbers(w.get(""), {reason::fresh, own_id(0, 0), {1, 6}, 0, 0, 0});
  // What was handed out does not come twice.
  w.connect("", 2);
  w.disconnect();
  check_numbers(w.get(""), {reason::fresh, own_id(0, 2), {1, 6}, 0, 0, 2});
  w.connect("");
  w.disconnect();
  check_numbers(w.get(""), {reason::fresh, own_id(0, 5), {1, 6}, 0, 0, 5});
  // The read mark never goes back when an older cursor reads again.
  w.connect(id_text(0, 1), 1);
  w.disconnect();
  check_numbers(w.get(""), {reason::fresh, own_id(0, 5), {1, 6}, 0, 0, 5});
}

TEST_CASE("a fresh reader has a gap where events after the read mark are gone", "[decision_edges]") {
  for (const after_gap rule : {after_gap::live_edge, after_gap::oldest_held}) {
    twins w(bounds_of(4, rule));
    w.append(0, 3);
    w.connect("", 2);
    w.disconnect();
    w.append(0, 3);
    check_numbers(w.get(""), {reason::fresh, own_id(0, 2), {3, 7}, 0, 0, 2});  // the next one is held
    w.append(0, 4);
    const bool live = rule == after_gap::live_edge;
    const numbers expected{reason::fresh, own_id(0, 2), {7, 11}, live ? 8U : 4U, 4, live ? 10U : 6U};
    const resolution decided = w.get("");
    check_numbers(decided, expected);
    CHECK(decided.outcome() == outcome::continue_);
    CHECK(contains(describe(decided), live ? "8 missed" : "4 missed"));
  }
}

TEST_CASE("a reset goes on before the oldest held event of the new incarnation and counts no missed",
          "[decision_edges]") {
  for (const after_gap rule : {after_gap::live_edge, after_gap::oldest_held}) {
    twins w(bounds_of(4, rule));
    w.append(0, 3);
    w.renew(2);
    CHECK(w.get(id_text(0, 3)).resume_after == 0);
    w.append(0, 10);
    const resolution decided = w.get(id_text(0, 3));
    CHECK(decided.reason == reason::stale_incarnation);
    CHECK(decided.cursor == own_id(0, 3));
    CHECK(decided.window == window{7, 11});
    CHECK(decided.missed == 0);
    CHECK(decided.no_longer_held == 0);
    CHECK(decided.resume_after == 6);
    CHECK(decided.stream.owner == tags{world::own.session, 2});
    const std::vector<sse::block> blocks = sse::read(w.frames_for(id_text(0, 3)));
    REQUIRE(blocks.size() == 6);
    CHECK(blocks[1].id == id_text(0, 6, {world::own.session, 2}));
  }
}

TEST_CASE("a gap goes on at the live edge or before the oldest held event", "[decision_edges]") {
  twins live(bounds_of(4));
  live.append(0, 10);
  check_numbers(live.get(id_text(0, 5)), {reason::evicted, own_id(0, 5), {7, 11}, 5, 1, 10});
  check_numbers(live.get(id_text(0, 0)), {reason::evicted, own_id(0, 0), {7, 11}, 10, 6, 10});

  twins oldest(bounds_of(4, after_gap::oldest_held));
  oldest.append(0, 10);
  check_numbers(oldest.get(id_text(0, 5)), {reason::evicted, own_id(0, 5), {7, 11}, 1, 1, 6});
  check_numbers(oldest.get(id_text(0, 0)), {reason::evicted, own_id(0, 0), {7, 11}, 6, 6, 6});
}

TEST_CASE("the live edge of a finished request stream lies before its answer while that is held", "[decision_edges]") {
  twins w(bounds_of(4));
  const std::uint32_t call = w.open();
  w.append(call, 9);
  w.append(call, 1, "answer");
  check_numbers(w.get(id_text(call, 2)), {reason::evicted, own_id(call, 2), {7, 11}, 8, 4, 10});
  w.finish(call);
  check_numbers(w.get(id_text(call, 2)), {reason::evicted, own_id(call, 2), {7, 11}, 7, 4, 9});
  CHECK(contains(w.frames_for(id_text(call, 2)), "answer"));

  twins oldest(bounds_of(4, after_gap::oldest_held));
  const std::uint32_t other = oldest.open();
  oldest.append(other, 10);
  oldest.finish(other);
  check_numbers(oldest.get(id_text(other, 2)), {reason::evicted, own_id(other, 2), {7, 11}, 4, 4, 6});
}

TEST_CASE("the answer alone may be held and is reached by the gap", "[decision_edges]") {
  twins w(bounds_of(1));
  const std::uint32_t call = w.open();
  w.append(call, 10);
  w.finish(call);
  for (const std::uint64_t seq : {std::uint64_t{0}, std::uint64_t{8}}) {
    check_numbers(w.get(id_text(call, seq)), {reason::evicted, own_id(call, seq), {10, 11}, 9 - seq, 9 - seq, 9});
  }
  CHECK(w.get(id_text(call, 9)).reason == reason::replay);
}

TEST_CASE("a gap on a finished stream whose answer is gone goes on at its end", "[decision_edges]") {
  for (const after_gap rule : {after_gap::live_edge, after_gap::oldest_held}) {
    options bounds = bounds_of(4, rule);
    bounds.max_age_ms = 100;
    twins w(bounds);
    const std::uint32_t call = w.open();
    w.append(call, 10);
    w.finish(call);
    w.tick(500);
    check_numbers(w.get(id_text(call, 2)), {reason::evicted, own_id(call, 2), {11, 11}, 8, 8, 10});
  }
}

TEST_CASE("an attached reader goes on where the decision said", "[decision_edges]") {
  for (const scenario& s : scenarios()) {
    twins w(world::small_bounds());
    prepare(w, s);
    const resolution decided = w.resolve(s.asked());
    if (decided.http_status() != 200) continue;
    CAPTURE(to_string(s.reason), s.cursor);
    const std::vector<sse::block> blocks = sse::read(w.frames_for(s.asked()));
    const bool has_signal = decided.outcome() != outcome::continue_;
    REQUIRE(blocks.size() > (has_signal ? 1U : 0U));
    const event_id marker{decided.stream.owner, decided.stream.stream, decided.resume_after};
    CHECK(blocks[has_signal ? 1 : 0].id == to_string(marker));
    CHECK(blocks.size() - (has_signal ? 2 : 1) == decided.window.next - 1 - decided.resume_after);
  }
}

TEST_CASE("describe never repeats bytes of the request", "[decision_edges]") {
  for (const scenario& s : scenarios()) {
    twins w(world::small_bounds());
    prepare(w, s);
    const std::string text = describe(w.resolve(s.asked()));
    CAPTURE(text);
    CHECK(text.size() > 10);
    CHECK_FALSE(contains(text, "\n"));
    for (const char* foreign : {"1999-01-01", "draft", "alice", "mallory", "s-1", "s-2", "evt-4471", "aaaa", "bbbb"}) {
      CHECK_FALSE(contains(text, foreign));
    }
  }
}

TEST_CASE("describe of a refused cursor does not depend on the cursor", "[decision_edges]") {
  twins w;
  w.append(0, 3);
  const auto text_of = [&w](const std::string& cursor, const char* expected) {
    const resolution decided = w.get(cursor);
    CHECK(reason_text(decided) == expected);
    return describe(decided);
  };
  CHECK(text_of("evt-1", "malformed_cursor") == text_of("\r\nid: 31415", "malformed_cursor"));
  CHECK(text_of(id_text(0, 1, {1, 2}), "foreign_cursor") ==
        text_of(id_text(3141592653U, 2718281828459045U, {3, 4}), "foreign_cursor"));
  CHECK(text_of(id_text(9, 0), "never_issued") == text_of(id_text(3141592653U, 2718281828459045U), "never_issued"));
}

// ---- No input is too large -------------------------------------------------------------------------------------------

TEST_CASE("a megabyte in any header has a clear answer", "[decision_edges]") {
  twins w;
  w.append(0, 3);
  const std::string id = "s-1" + std::string(megabyte, 'x');
  const std::string version = "2025-11-25" + std::string(megabyte, '0');
  const std::string principal = "alice" + std::string(megabyte, 'x');
  const std::string nul(megabyte, '\0');
  const std::string malformed[] = {id_text(0, 1) + std::string(megabyte, '0'), std::string(megabyte, '.'),
                                   std::string(megabyte, 'a'), id_text(0, 1) + nul, nul};
  const std::string good = id_text(0, 1);
  for (int i = 0; i != 100; ++i) {
    CHECK(w.resolve({version, "s-1", good, "alice"}).reason == reason::unsupported_protocol);
    CHECK(w.resolve({nul, "s-1", good, "alice"}).reason == reason::unsupported_protocol);
    CHECK(w.resolve({"", id, good, "alice"}).reason == reason::session_gone);
    CHECK(w.resolve({"", nul, good, "alice"}).reason == reason::session_gone);
    CHECK(w.resolve({"", "s-1", good, principal}).reason == reason::wrong_principal);
    for (const std::string& cursor : malformed) {
      CHECK(w.resolve({"", "s-1", cursor, "alice"}).reason == reason::malformed_cursor);
    }
    CHECK(w.resolve_session({version, id, good, principal}) == reason::unsupported_protocol);
    CHECK(w.resolve_session({"", id, malformed[0], principal}) == reason::session_gone);
  }
  CHECK(describe(w.resolve({"", "s-1", malformed[0], "alice"})).size() < 200);
}

TEST_CASE("any byte in a session id or principal or version is only compared", "[decision_edges]") {
  twins w;
  for (int byte = 0; byte != 256; ++byte) {
    const std::string text(1, static_cast<char>(static_cast<unsigned char>(byte)));
    CAPTURE(byte);
    CHECK(w.resolve({text, "s-1", "", "alice"}).reason == reason::unsupported_protocol);
    CHECK(w.resolve({"", text, "", "alice"}).reason == reason::session_gone);
    CHECK(w.resolve({"", "s-1", "", text}).reason == reason::wrong_principal);
    CHECK(w.resolve({"", "s-1", text, "alice"}).reason == reason::malformed_cursor);
  }
}

TEST_CASE("a read mark ahead of a log that lives elsewhere skips nothing in silence", "[decision_edges]") {
  session_facts known;
  known.id = "s-1";
  known.owner = {7, 8};
  for (const std::uint64_t mark : {std::uint64_t{4}, std::uint64_t{5}, std::uint64_t{9}, ~std::uint64_t{0}}) {
    const auto facts_of = [mark](std::uint32_t) { return stream_facts{stream_fact::open, {1, 5}, mark}; };
    const resolution decided = resolve_resume({"", "s-1", "", ""}, &known, facts_of);
    CAPTURE(mark);
    CHECK(decided.reason == reason::fresh);
    CHECK((decided.resume_after == 4 && decided.missed == 0));
  }
}
