// SPDX-License-Identifier: MIT
// A decision, a read's state, a first reader and a client's verdict are not for throwing away.
#include <mcp_resume/client.hpp>

void use(mcp_resume::local_session_table& sessions, mcp_resume::session& session, mcp_resume::reader& reader,
         std::string& frames, mcp_resume::stream_guard& guard, mcp_resume::event_reader& blocks) {
  std::string_view bytes = frames;
#if !defined(MUST_FAIL)
  static_cast<void>(mcp_resume::resolve_resume({}, sessions));
  static_cast<void>(sessions.read(reader, frames));
#elif MUST_FAIL == 1
  mcp_resume::resolve_resume({}, sessions);
#elif MUST_FAIL == 2
  sessions.resume({}, reader);
#elif MUST_FAIL == 3
  sessions.read(reader, frames);
#elif MUST_FAIL == 4
  session.read(reader, frames);
#elif MUST_FAIL == 5
  sessions.open_stream("8c0f", "7");
#elif MUST_FAIL == 6
  session.open_stream("7");
#elif MUST_FAIL == 7
  mcp_resume::event_id::parse("");
#elif MUST_FAIL == 8
  mcp_resume::resolve_session({}, sessions);
#elif MUST_FAIL == 9
  guard.answer({});
#elif MUST_FAIL == 10
  guard.block({});
#elif MUST_FAIL == 11
  blocks.next(bytes);
#elif MUST_FAIL == 12
  mcp_resume::validate_resumption({}, {});
#endif
  static_cast<void>(guard), static_cast<void>(blocks), static_cast<void>(bytes);
  static_cast<void>(session), static_cast<void>(reader), static_cast<void>(frames);
}
