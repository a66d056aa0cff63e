// SPDX-License-Identifier: MIT
// {fmt} prints each public type as to_string does, with the width and fill of text.
#include <mcp_resume/fmt.hpp>
#include <string>
#include <string_view>

#include "catch.hpp"

namespace {

using mcp_resume::outcome, mcp_resume::recovery, mcp_resume::protocol, mcp_resume::refusal, mcp_resume::reason,
    mcp_resume::read_state, mcp_resume::answer;

constexpr mcp_resume::event_id some_id{{0x5f0c2d9a1b3e4c77U, 0x9f8e7d6c5b4a3921U}, 3, 418};

mcp_resume::resolution gap_of_182() {
  mcp_resume::resolution decided;
  decided.reason = reason::evicted;
  decided.cursor = some_id;
  decided.window = {513, 601};
  decided.missed = 182;
  decided.no_longer_held = 94;
  decided.resume_after = 600;
  return decided;
}

template <class T>
void check_formats_as_text(const T& value) {
  const std::string text(to_string(value));
  CHECK(fmt::format("{}", value) == text);
  CHECK(fmt::format("{:*>80}", value) == fmt::format("{:*>80}", text));
}

// Every enumerator from the first to `last`, and no two of one text.
template <class Enum>
void check_enum(Enum last) {
  std::string texts = " ";
  for (int i = 0; i <= static_cast<int>(last); ++i) {
    const auto value = static_cast<Enum>(i);
    check_formats_as_text(value);
    const std::string text = fmt::format(" {} ", value);
    CHECK(texts.find(text) == std::string::npos);
    CHECK(text != " ? ");
    texts += text.substr(1);
  }
}

}  // namespace

TEST_CASE("every enumerator is formatted as its own text", "[format]") {
  check_enum(outcome::reject);
  check_enum(recovery::stop);
  check_enum(protocol::v2026_07_28);
  check_enum(refusal::no_memory);
  check_enum(reason::replay);
  check_enum(read_state::gone);
  check_enum(answer::lost);
  check_enum(mcp_resume::continuity::seen);
  check_enum(mcp_resume::next_step::end);
  check_enum(mcp_resume::cursor_effect::dropped);
  check_enum(mcp_resume::stream_kind::request);
}

TEST_CASE("ids and windows and resolutions and verdicts are formatted as their text", "[format]") {
  check_formats_as_text(some_id);
  check_formats_as_text(mcp_resume::event_id{});
  check_formats_as_text(mcp_resume::window{7, 9});
  check_formats_as_text(gap_of_182());
  check_formats_as_text(mcp_resume::verdict{});
}

TEST_CASE("the formatted texts do not change", "[format]") {
  CHECK(fmt::format("{}", some_id) == "5f0c2d9a1b3e4c77.9f8e7d6c5b4a3921.3.418");
  CHECK(fmt::format("{}", mcp_resume::window{7, 9}) == "[7, 9)");
  CHECK(fmt::format("{}", gap_of_182()) ==
        "gap: cursor 418, oldest held 513, 94 events no longer held; goes on after 600, 182 missed");
  CHECK(fmt::format("{} {} {}", outcome::continue_, protocol::v2025_11_25, recovery::resync) ==
        "continue 2025-11-25 resync");
  CHECK(fmt::format("{} {} {} {}", reason::up_to_date, refusal::too_many_streams, read_state::caught_up,
                    answer::none_yet) == "up_to_date too_many_streams caught_up none_yet");
}

TEST_CASE("width and fill and alignment are those of text", "[format]") {
  CHECK(fmt::format("{:>10}", outcome::gap) == "       gap");
  CHECK(fmt::format("{:<6}|", mcp_resume::outcome::gap) == "gap   |");
  CHECK(fmt::format("{:-^10}", mcp_resume::window{7, 9}) == "--[7, 9)--");
}
