// SPDX-License-Identifier: MIT
// The headers in a second translation unit of one program: it links, so everything in them is inline.
#include <mcp_resume/client.hpp>

const void* second_translation_units_table();
mcp_resume::refusal second_translation_units_create(mcp_resume::session& made);

const void* second_translation_units_continuity_table();
const void* second_translation_units_continuity_table() { return mcp_resume::continuity_table; }

const void* second_translation_units_table() { return mcp_resume::decision_table; }

mcp_resume::refusal second_translation_units_create(mcp_resume::session& made) {
  return made.create("8c0f", "alice", mcp_resume::protocol::v2025_11_25, {},
                     [] { return std::optional<std::uint64_t>(4); });
}
