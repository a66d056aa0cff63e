// SPDX-License-Identifier: MIT
// The contracts of the types: triviality, sizes, noexcept, what is constant, what can be copied and moved.
#include <mcp_resume/client.hpp>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "catch.hpp"

// Defined in second_tu.cpp.
const void* second_translation_units_table();
const void* second_translation_units_continuity_table();
mcp_resume::refusal second_translation_units_create(mcp_resume::session& made);

namespace {

using namespace mcp_resume;

template <class T>
constexpr bool is_plain = std::is_trivially_copyable<T>::value&& std::is_trivially_destructible<T>::value&&
    std::is_nothrow_default_constructible<T>::value;

constexpr tags some_tags{0x5f0c2d9a1b3e4c77U, 0x9f8e7d6c5b4a3921U};

// The inline namespace that the three version macros name.
#define VERSION_NAMESPACE_(major, minor, patch) v##major##_##minor##_##patch
#define VERSION_NAMESPACE(major, minor, patch) VERSION_NAMESPACE_(major, minor, patch)
namespace versioned =
    mcp_resume::VERSION_NAMESPACE(MCP_RESUME_VERSION_MAJOR, MCP_RESUME_VERSION_MINOR, MCP_RESUME_VERSION_PATCH);

refusal create(session& made) {
  return made.create("8c0f", "alice", protocol::v2025_11_25, {}, [] { return std::optional<std::uint64_t>(4); });
}

constexpr std::size_t length_of_header_list(int status) {
  std::size_t length = 0;
  for (const header& h : headers_for(status)) length += h.name.size() + h.value.size();
  return length;
}

constexpr bool to_chars_round_trips() {
  char text[event_id::max_size] = {};
  const event_id id{some_tags, 3, 418};
  return event_id::parse({text, id.to_chars(text)}) == id;
}

}  // namespace

TEST_CASE("values are trivially copyable and made without throwing", "[contract]") {
  STATIC_REQUIRE(is_plain<tags>);
  STATIC_REQUIRE(is_plain<event_id>);
  STATIC_REQUIRE(is_plain<stream_handle>);
  STATIC_REQUIRE(is_plain<reader>);
  STATIC_REQUIRE(is_plain<resolution>);
  STATIC_REQUIRE(is_plain<progress>);
  STATIC_REQUIRE(is_plain<appended>);
  STATIC_REQUIRE(is_plain<opened>);
  STATIC_REQUIRE(is_plain<window>);
  STATIC_REQUIRE(is_plain<frame>);
  STATIC_REQUIRE(is_plain<facts>);
  STATIC_REQUIRE(is_plain<session_facts>);
  STATIC_REQUIRE(is_plain<stream_facts>);
  STATIC_REQUIRE(is_plain<inspection>);
  STATIC_REQUIRE(is_plain<options>);
  STATIC_REQUIRE(is_plain<protocol_set>);
  STATIC_REQUIRE(is_plain<request>);
  STATIC_REQUIRE(is_plain<mcp_resume::block>);
  STATIC_REQUIRE(is_plain<continuity_facts>);
  STATIC_REQUIRE(is_plain<verdict>);
  STATIC_REQUIRE(is_plain<sent>);
  STATIC_REQUIRE(is_plain<received>);
  STATIC_REQUIRE(is_plain<reconnect_policy>);
}

TEST_CASE("values stay small", "[contract]") {
  STATIC_REQUIRE(sizeof(event_id) <= 32);
  STATIC_REQUIRE(sizeof(stream_handle) <= 32);
  STATIC_REQUIRE(sizeof(reader) <= 80);
  STATIC_REQUIRE(sizeof(resolution) <= 120);
  STATIC_REQUIRE(sizeof(session) == sizeof(void*));
  STATIC_REQUIRE(sizeof(verdict) <= 40);
  STATIC_REQUIRE(sizeof(stream_guard) <= 400);
}

TEST_CASE("a value has one meaning under every version of the language", "[contract]") {
  // These are made with braces; an aggregate of C++17 that is none in C++20 would change their meaning.
  STATIC_REQUIRE(std::is_aggregate<tags>::value);
  STATIC_REQUIRE(std::is_aggregate<event_id>::value);
  STATIC_REQUIRE(std::is_aggregate<window>::value);
  STATIC_REQUIRE(std::is_aggregate<request>::value);
  STATIC_REQUIRE(std::is_aggregate<options>::value);
  STATIC_REQUIRE(std::is_aggregate<facts>::value);
  STATIC_REQUIRE(std::is_aggregate<mcp_resume::block>::value);
  STATIC_REQUIRE(std::is_aggregate<continuity_facts>::value);
  STATIC_REQUIRE(std::is_aggregate<sent>::value);
  STATIC_REQUIRE(std::is_aggregate<received>::value);
}

TEST_CASE("values are equal by every field and unequal by one", "[contract]") {
  CHECK(window{7, 9} == window{7, 9});
  CHECK(window{7, 9} != window{7, 8});
  CHECK(window{7, 9} != window{6, 9});
  CHECK(some_tags == tags{some_tags.session, some_tags.incarnation});
  CHECK(some_tags != tags{some_tags.session, 1});
  CHECK(some_tags != tags{1, some_tags.incarnation});
}

TEST_CASE("a session moves without throwing and is never copied", "[contract]") {
  STATIC_REQUIRE(std::is_nothrow_default_constructible<session>::value);
  STATIC_REQUIRE(std::is_nothrow_move_constructible<session>::value);
  STATIC_REQUIRE(std::is_nothrow_move_assignable<session>::value);
  STATIC_REQUIRE(std::is_nothrow_destructible<session>::value);
  STATIC_REQUIRE(std::is_nothrow_swappable<session>::value);
  STATIC_REQUIRE_FALSE(std::is_copy_constructible<session>::value);
  STATIC_REQUIRE_FALSE(std::is_copy_assignable<session>::value);
}

TEST_CASE("what a client keeps for a stream is a value", "[contract]") {
  STATIC_REQUIRE(std::is_copy_constructible<stream_guard>::value);
  STATIC_REQUIRE(std::is_nothrow_move_constructible<stream_guard>::value);
  STATIC_REQUIRE(std::is_copy_constructible<event_reader>::value);
  STATIC_REQUIRE(std::is_nothrow_move_constructible<event_reader>::value);
  STATIC_REQUIRE_FALSE(std::is_default_constructible<stream_guard>::value);
}

TEST_CASE("a table is neither copied nor moved", "[contract]") {
  STATIC_REQUIRE(std::is_nothrow_default_constructible<session_table>::value);
  STATIC_REQUIRE_FALSE(std::is_copy_constructible<session_table>::value);
  STATIC_REQUIRE_FALSE(std::is_move_constructible<session_table>::value);
  STATIC_REQUIRE_FALSE(std::is_copy_assignable<session_table>::value);
  STATIC_REQUIRE_FALSE(std::is_move_assignable<session_table>::value);
  STATIC_REQUIRE_FALSE(std::is_copy_constructible<local_session_table>::value);
  STATIC_REQUIRE_FALSE(std::is_move_constructible<local_session_table>::value);
}

TEST_CASE("a request refuses temporary strings and takes every other text", "[contract]") {
  STATIC_REQUIRE_FALSE(std::is_constructible<request_text, std::string>::value);
  STATIC_REQUIRE_FALSE(std::is_constructible<request_text, const std::string>::value);
  STATIC_REQUIRE_FALSE(std::is_assignable<request_text&, std::string>::value);
  STATIC_REQUIRE(std::is_nothrow_constructible<request_text, std::string&>::value);
  STATIC_REQUIRE(std::is_nothrow_constructible<request_text, const std::string&>::value);
  STATIC_REQUIRE(std::is_nothrow_constructible<request_text, std::string_view>::value);
  STATIC_REQUIRE(std::is_nothrow_constructible<request_text, const char*>::value);
}

TEST_CASE("what takes foreign bytes and what only looks does not throw", "[contract]") {
  STATIC_REQUIRE(noexcept(event_id::parse(std::string_view())));
  STATIC_REQUIRE(noexcept(parse_protocol(std::string_view())));
  STATIC_REQUIRE(noexcept(decide(facts{})));
  STATIC_REQUIRE(noexcept(headers_for(200)));
  STATIC_REQUIRE(noexcept(resolve_resume(request{}, std::declval<const session*>())));
  STATIC_REQUIRE(noexcept(resolve_session(request{}, std::declval<const session*>())));
  STATIC_REQUIRE(noexcept(std::declval<const session&>().facts()));
  STATIC_REQUIRE(noexcept(std::declval<const session&>().inspect()));
  STATIC_REQUIRE(noexcept(std::declval<const session&>().window_of(stream_handle{})));
  STATIC_REQUIRE(noexcept(judge(continuity_facts{})));
  STATIC_REQUIRE(noexcept(validate_resumption(sent{}, received{})));
  STATIC_REQUIRE(noexcept(std::declval<stream_guard&>().closed()));
  STATIC_REQUIRE(noexcept(std::declval<stream_guard&>().taken()));
}

TEST_CASE("what meets a lack of memory by a refusal does not throw", "[contract]") {
  STATIC_REQUIRE(noexcept(std::declval<session&>().append(stream_handle{}, std::string_view())));
  STATIC_REQUIRE(noexcept(std::declval<session&>().open_stream(std::string_view())));
  STATIC_REQUIRE(noexcept(std::declval<session&>().finish(stream_handle{})));
  STATIC_REQUIRE(noexcept(std::declval<session&>().forget(stream_handle{})));
  STATIC_REQUIRE(noexcept(std::declval<session&>().attach(resolution{})));
  STATIC_REQUIRE(noexcept(std::declval<session&>().tick(0)));
  STATIC_REQUIRE(noexcept(std::declval<session&>().end()));
  STATIC_REQUIRE(noexcept(std::declval<session_table&>().append(stream_handle{}, std::string_view())));
  STATIC_REQUIRE(noexcept(std::declval<session_table&>().append_all(std::string_view())));
  STATIC_REQUIRE(noexcept(std::declval<session_table&>().resume(request{}, std::declval<reader&>())));
  STATIC_REQUIRE_FALSE(noexcept(std::declval<session&>().read(std::declval<reader&>(), std::declval<std::string&>())));
}

TEST_CASE("a session that was moved from refuses every change with gone", "[contract]") {
  session from;
  REQUIRE(create(from) == refusal::none);
  opened stream = from.open_stream("7");
  session to(std::move(from));
  CHECK(to.append(stream.stream, "e1").why == refusal::none);

  CHECK_FALSE(from.is_live());  // NOLINT(bugprone-use-after-move): the state after a move is the promise
  CHECK(from.append(stream.stream, "e2").why == refusal::gone);
  CHECK(from.open_stream("8").why == refusal::gone);
  CHECK(from.finish(stream.stream) == refusal::gone);
  CHECK(from.forget(stream.stream) == refusal::gone);
  CHECK(from.renew([] { return std::optional<std::uint64_t>(4); }) == refusal::gone);
  std::string frames;
  CHECK(from.read(stream.reader, frames).state == read_state::gone);
  CHECK(frames.empty());
  CHECK(resolve_resume({"", "8c0f", "", "alice"}, &from).reason == reason::session_gone);
  CHECK(create(from) == refusal::none);
}

TEST_CASE("a session that is assigned itself keeps its events", "[contract]") {
  session kept;
  REQUIRE(create(kept) == refusal::none);
  session& same = kept;
  kept = std::move(same);
  CHECK(kept.append(kept.standalone(), "e1").why == refusal::none);
}

TEST_CASE("parsing and deciding work while compiling", "[contract]") {
  STATIC_REQUIRE(event_id::parse("5f0c2d9a1b3e4c77.9f8e7d6c5b4a3921.3.418") == event_id{some_tags, 3, 418});
  STATIC_REQUIRE_FALSE(event_id::parse("evt-4471").has_value());
  STATIC_REQUIRE(event_id{some_tags, 3, 418}.successor() == event_id{some_tags, 3, 419});
  STATIC_REQUIRE(to_chars_round_trips());
  STATIC_REQUIRE(parse_protocol("2025-06-18") == protocol::v2025_06_18);
  STATIC_REQUIRE_FALSE(parse_protocol("draft").has_value());
  STATIC_REQUIRE(decide(facts{}) == reason::fresh);
  STATIC_REQUIRE_FALSE(decide_session(facts{}).has_value());
  STATIC_REQUIRE(place_of(512, {514, 520}) == place_fact::evicted);
  STATIC_REQUIRE(place_of(513, {514, 520}) == place_fact::inside);
  STATIC_REQUIRE(row_of(reason::complete).http_status == 204);
  STATIC_REQUIRE(length_of_header_list(405) == std::string_view("Cache-Controlno-storeAllowPOST").size());
  STATIC_REQUIRE(to_string(reason::evicted) == "evicted");
  STATIC_REQUIRE(protocol_set().without(protocol::v2026_07_28).contains(protocol::v2025_11_25));
  STATIC_REQUIRE(resolution{}.outcome() == outcome::reset);
  STATIC_REQUIRE(judge(continuity_facts{}) == continuity::opened);
  STATIC_REQUIRE(validate_resumption({"8c0f", "evt-1"}, {404, ""}).reason == continuity::session_gone);
  STATIC_REQUIRE(reconnect_policy{}.wait_ms(0) == 1000);
}

TEST_CASE("the header and CMake and the inline namespace name one version", "[contract]") {
  const std::string major = std::to_string(MCP_RESUME_VERSION_MAJOR), minor = std::to_string(MCP_RESUME_VERSION_MINOR),
                    patch = std::to_string(MCP_RESUME_VERSION_PATCH);
  CHECK(major + "." + minor + "." + patch == MCP_RESUME_CMAKE_VERSION);
  STATIC_REQUIRE(MCP_RESUME_VERSION ==
                 MCP_RESUME_VERSION_MAJOR * 10000 + MCP_RESUME_VERSION_MINOR * 100 + MCP_RESUME_VERSION_PATCH);
  STATIC_REQUIRE(std::is_same<versioned::reader, mcp_resume::reader>::value);
  STATIC_REQUIRE(std::is_same<versioned::stream_guard, mcp_resume::stream_guard>::value);
}

TEST_CASE("two translation units share one table and one code", "[contract]") {
  CHECK(second_translation_units_table() == static_cast<const void*>(decision_table));
  CHECK(second_translation_units_continuity_table() == static_cast<const void*>(continuity_table));
  session made;
  REQUIRE(second_translation_units_create(made) == refusal::none);
  CHECK(made.append(made.standalone(), "e1").why == refusal::none);
}
