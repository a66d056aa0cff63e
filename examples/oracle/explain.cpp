// SPDX-License-Identifier: MIT
// `explain`: one decision with its reason, whose rule it is, and a picture of window and cursor. The library decides.
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "commands.hpp"
#include "facts.hpp"
#include "input_error.hpp"
#include "state.hpp"
#include "text.hpp"

namespace oracle {
namespace {

namespace mr = mcp_resume;

// ---- Whose rules they are -------------------------------------------------------------------------------------------

struct rule_source {
  mr::reason reason;
  std::string_view text;  // lines without an end
};

// "MCP" is the specification of 2025-11-25 (section names are its own), if no other is named.
constexpr rule_source sources[] = {
    {mr::reason::unsupported_protocol,
     "MCP since 2025-06-18, Protocol Version Header: \"If the server receives a request with an invalid or\n"
     "unsupported `MCP-Protocol-Version`, it MUST respond with `400 Bad Request`.\""},
    {mr::reason::stateless_protocol,
     "MCP 2026-07-28, Streamable HTTP: \"Resumable SSE streams via `Last-Event-ID` are not supported.\" A server of\n"
     "that revision alone SHOULD answer a GET with 405, which RFC 9110 (15.5.6) wants with `Allow`."},
    {mr::reason::no_session,
     "MCP, Session Management: \"Servers that require a session ID SHOULD respond to requests without an\n"
     "`MCP-Session-Id` header (other than initialization) with HTTP 400 Bad Request.\""},
    {mr::reason::session_gone,
     "MCP, Session Management: \"The server MAY terminate the session at any time, after which it MUST respond to\n"
     "requests containing that session ID with HTTP 404 Not Found.\" An id that never was cannot be told from one\n"
     "that a restart forgot: the same answer."},
    {mr::reason::wrong_principal,
     "MCP, Security Best Practices: \"MCP Servers MUST NOT use sessions for authentication.\" The status is this\n"
     "library's: that of a session that is gone, so that nobody learns that it exists (RFC 9110, 15.5.5)."},
    {mr::reason::occupied,
     "This library; MCP is silent. A client without a cursor waits for a reader that lives, or two connections would\n"
     "take the standalone stream from each other for ever. A client with a cursor takes over."},
    {mr::reason::fresh,
     "MCP, Listening for Messages from the Server: \"The client MAY issue an HTTP GET to the MCP endpoint.\" That it\n"
     "starts after the read mark is this library's: nothing sent before the first GET is lost, nothing comes twice."},
    {mr::reason::malformed_cursor,
     "This library; MCP is silent. Not 404: it makes a client drop the session (MCP, Session Management, 4). Not 200:\n"
     "a fresh stream would pose as the continuation."},
    {mr::reason::foreign_cursor,
     "MCP, Resumability and Redelivery: \"The server MUST NOT replay messages that would have been delivered on a\n"
     "different stream.\" The status is this library's: that of an id never issued, so that nobody learns which "
     "exist."},
    {mr::reason::stale_incarnation,
     "MCP, Resumability and Redelivery: an event id \"MUST be globally unique across all streams within that\n"
     "session\", so a number of another life of the log names no event of this one. The reset signal is this\n"
     "library's: MCP has none."},
    {mr::reason::stale_request,
     "MCP, Resumability and Redelivery: an event id \"MUST be globally unique across all streams within that\n"
     "session\", so a number of another life of the log names no event of this one. 410 is this library's (RFC 9110,\n"
     "15.5.11): the answer cannot come any more, and after a 200 clients would reconnect for ever."},
    {mr::reason::never_issued,
     "This library; MCP is silent. A cursor ahead of the newest event is never \"nothing to replay\": a server that\n"
     "lost its tail would hide the loss. Not 404: it makes a client drop the session (MCP, Session Management, 4)."},
    {mr::reason::forgotten,
     "This library; MCP is silent. Nobody can say what was missed. 410 (RFC 9110, 15.5.11) ends it, where a 200 would\n"
     "make clients reconnect for ever."},
    {mr::reason::evicted,
     "This library: no loss is silent. MCP, Resumability and Redelivery, only says that the server \"MAY\" replay, "
     "and\n"
     "has no word for what it cannot. The stream goes on, so it is no 4xx."},
    {mr::reason::complete,
     "MCP, Sending Messages to the Server: \"After the JSON-RPC response has been sent, the server SHOULD terminate\n"
     "the SSE stream.\" HTML, 9.2: \"a client can be told to stop reconnecting using the HTTP 204 No Content response\n"
     "code.\""},
    {mr::reason::up_to_date,
     "MCP, Resumability and Redelivery: \"The server MAY use this header to replay messages that would have been sent\n"
     "after the last event ID, on the stream that was disconnected, and to resume the stream from that point.\""},
    {mr::reason::replay,
     "MCP, Resumability and Redelivery: \"The server MAY use this header to replay messages that would have been sent\n"
     "after the last event ID, on the stream that was disconnected, and to resume the stream from that point.\""},
};

constexpr bool are_sources_in_order() {
  std::size_t row = 0;
  for (const rule_source& each : sources) {
    if (static_cast<std::size_t>(each.reason) != row++) return false;
  }
  return row == mr::reason_count;
}
static_assert(are_sources_in_order(), "one source for each row");

// ---- The picture ----------------------------------------------------------------------------------------------------

struct pointer {
  std::uint64_t after;  // stands behind the event of that seq
  std::string text;
};

// Events from left to right. What lies between two places that matter is one piece, whatever its length.
class picture {
 public:
  picture(mr::window held, std::vector<pointer> pointers) : held_(held), pointers_(std::move(pointers)) {
    places_ = {0, held.first - 1, held.next - 1};
    for (const pointer& each : pointers_) places_.push_back(each.after);
    std::sort(places_.begin(), places_.end());
    places_.erase(std::unique(places_.begin(), places_.end()), places_.end());
  }

  std::string text() {
    std::string line;
    for (std::size_t i = 0; i != places_.size(); ++i) {
      columns_.push_back(line.size());
      line += border_at(places_[i]);
      if (i + 1 != places_.size()) line += piece(places_[i], places_[i + 1]);
    }
    std::string out = "  " + line + "\n";
    for (const pointer& each : pointers_) out += fmt::format("  {:{}}^ {}\n", "", column_of(each.after), each.text);
    return out + legend();
  }

 private:
  char border_at(std::uint64_t place) const {
    if (held_.first == held_.next) return '|';
    return place == held_.first - 1 ? '[' : place == held_.next - 1 ? ')' : '|';
  }
  // The events behind `from` up to `to`.
  std::string piece(std::uint64_t from, std::uint64_t to) {
    const char kind = to < held_.first ? '.' : to < held_.next ? '=' : '?';
    if (kinds_.find(kind) == std::string::npos) kinds_ += kind;
    const std::string ends = from + 1 == to ? fmt::format(" {} ", to) : fmt::format(" {} to {} ", from + 1, to);
    return std::string(3, kind) + ends + std::string(3, kind);
  }
  std::size_t column_of(std::uint64_t place) const {
    return columns_[static_cast<std::size_t>(std::find(places_.begin(), places_.end(), place) - places_.begin())];
  }
  std::string legend() const {
    std::string out;
    for (const char kind : kinds_) {
      out += out.empty() ? "  " : "   ";
      out += kind == '.' ? ". not held" : kind == '=' ? "= held" : "? never issued";
    }
    return out.empty() ? "  nothing was issued yet\n" : out + "\n";
  }

  mr::window held_;
  std::vector<pointer> pointers_;
  std::vector<std::uint64_t> places_;
  std::vector<std::size_t> columns_;
  std::string kinds_;
};

// Whether the window is that of the cursor's stream.
bool is_in_window(mr::reason why) {
  return why >= mr::reason::never_issued || why == mr::reason::fresh || why == mr::reason::occupied;
}

std::string picture_of(const mr::resolution& decided) {
  const bool is_fresh = decided.reason == mr::reason::fresh || decided.reason == mr::reason::occupied;
  std::vector<pointer> pointers;
  if (is_in_window(decided.reason)) {
    pointers.push_back(
        {decided.cursor.seq, fmt::format("{} {}", is_fresh ? "read mark" : "cursor", decided.cursor.seq)});
  }
  if (decided.http_status() == 200) {
    pointers.push_back({decided.resume_after, fmt::format("goes on after {}", decided.resume_after)});
  }
  return fmt::format("stream {}, window {}\n", decided.stream.stream, to_string(decided.window)) +
         picture(decided.window, std::move(pointers)).text();
}

// ---- A decision in words --------------------------------------------------------------------------------------------

struct question {
  server_state state;
  std::string version, session_id, last_event_id, principal;
  mr::after_gap rule = mr::after_gap::live_edge;

  mr::resolution decide() const { return decide_for(state, {version, session_id, last_event_id, principal}, rule); }
};

// Whether the record of the stream that the cursor names is held.
bool is_held(const server_state& state, const mr::resolution& decided) {
  for (const server_session& session : state.sessions) {
    if (session.owner != decided.stream.owner) continue;
    for (const server_stream& stream : session.streams) {
      if (stream.number == decided.stream.stream) return stream.facts.state != mr::stream_fact::forgotten;
    }
  }
  return false;
}

std::string view_of(const server_state& state, const mr::resolution& decided) {
  switch (decided.reason) {
    case mr::reason::malformed_cursor:
      return "no stream is looked at: the cursor names none\n";
    case mr::reason::foreign_cursor:
      return "no stream is looked at: the cursor's number is of another session\n";
    case mr::reason::stale_request:
      return "no stream is looked at: the cursor's is of another life of the log\n";
    case mr::reason::stale_incarnation:
      return picture_of(decided) + "  the cursor is not in the picture: its number is of another life of the log\n";
    default:
      break;
  }
  if (decided.reason < mr::reason::occupied) return "no stream is looked at: the request is refused before\n";
  if (is_held(state, decided)) return picture_of(decided);
  const bool was_opened = decided.reason == mr::reason::forgotten;
  return fmt::format("stream {} {}\n", decided.stream.stream,
                     was_opened ? "has no record any more" : "was never opened");
}

std::string indented(std::string_view lines) {
  std::string out;
  for (const char c : lines) out += c == '\n' ? "\n          " : std::string(1, c);
  return out;
}

std::string explanation(const question& asked) {
  const mr::resolution decided = asked.decide();
  const mr::decision_row& row = mr::row_of(decided.reason);
  std::string headers;
  for (const mr::header& each : mr::headers_for(row.http_status)) {
    headers += fmt::format("\n          {}: {}", each.name, each.value);
  }
  std::string out = fmt::format("outcome   {}\n", mr::to_string(row.outcome));
  out +=
      fmt::format("reason    {}, row {} of {}\n", row.name, static_cast<std::size_t>(row.reason) + 1, mr::reason_count);
  out += fmt::format("status    {}{}\n", row.http_status, headers);
  out += fmt::format("advice    {}\n", mr::to_string(row.advice));
  out += fmt::format("rule      {}\n", row.fact);
  out += fmt::format("source    {}\n", indented(sources[static_cast<std::size_t>(decided.reason)].text));
  out += fmt::format("for logs  {}\n\n", describe(decided));
  return out + view_of(asked.state, decided);
}

// ---- The facts as options -------------------------------------------------------------------------------------------

using text_option = std::optional<std::string>;

struct options {
  text_option protocol, session, cursor, cursor_seq, stream, first, next, read_mark;  // facts
  bool is_finished = false, is_forgotten = false, is_never_opened = false, has_reader = false;
  text_option state, session_id, last_event_id, principal;  // a state file and a request
  std::string after_gap = "live_edge";
};

void refuse_if(bool is_wrong, std::string_view option, const std::string& why) {
  if (is_wrong) throw input_error(std::string(option), why);
}

std::string_view flag_of(const options& asked) {
  return asked.is_finished ? "--finished" : asked.is_forgotten ? "--forgotten" : "--never-opened";
}

// The facts of one stream: the cursor's, and without a cursor the standalone one.
struct stream_options {
  std::string cursor;  // absent, malformed, foreign, stale, own
  std::uint32_t number = 0;
  mr::stream_facts facts;
  std::uint64_t seq = 0;
};

void check_words(const options& asked, const std::string& cursor) {
  const bool has_flag = asked.is_finished || asked.is_forgotten || asked.is_never_opened;
  const bool names_stream = cursor != "absent" && cursor != "malformed";
  const std::string contradiction = fmt::format("contradicts a cursor that is {}", cursor);
  refuse_if(asked.cursor_seq && !names_stream, "--cursor-seq", contradiction);
  refuse_if(asked.stream && !names_stream, "--stream", contradiction);
  refuse_if(has_flag && !names_stream, flag_of(asked), contradiction);
  refuse_if(asked.read_mark && cursor != "absent", "--read-mark", contradiction);
  const int flags = int{asked.is_finished} + int{asked.is_forgotten} + int{asked.is_never_opened};
  refuse_if(flags > 1, flag_of(asked), "contradicts the other of --finished, --forgotten and --never-opened");
  const bool has_window = asked.first || asked.next;
  const bool has_record = !asked.is_forgotten && !asked.is_never_opened;
  refuse_if(has_window && !has_record, flag_of(asked), "contradicts --first and --next: such a stream has no window");
  refuse_if(asked.first && !asked.next, "--next", "is missing beside --first");
  refuse_if(asked.next && !asked.first, "--first", "is missing beside --next");
}

stream_options stream_of(const options& asked) {
  stream_options out;
  out.cursor = asked.cursor.value_or(asked.cursor_seq ? "own" : "absent");
  check_words(asked, out.cursor);
  const bool has_flag = asked.is_finished || asked.is_forgotten || asked.is_never_opened;
  out.number = has_flag ? 1 : 0;
  if (asked.stream) out.number = static_cast<std::uint32_t>(whole_of("--stream", *asked.stream, 0xFFFFFFFFU));
  refuse_if(has_flag && out.number == 0, flag_of(asked), "contradicts --stream 0, which is always open");
  out.facts.state = asked.is_finished       ? mr::stream_fact::finished
                    : asked.is_forgotten    ? mr::stream_fact::forgotten
                    : asked.is_never_opened ? mr::stream_fact::never_opened
                                            : mr::stream_fact::open;
  if (asked.cursor_seq) out.seq = whole_of("--cursor-seq", *asked.cursor_seq);
  if (asked.first) {
    constexpr std::uint64_t last_next = mr::event_id::last_seq + 1;
    out.facts.window = {whole_of("--first", *asked.first, last_next), whole_of("--next", *asked.next, last_next)};
    const bool is_window = out.facts.window.first != 0 && out.facts.window.first <= out.facts.window.next;
    refuse_if(!is_window, "--first", "must be from 1 to --next");
  }
  if (asked.read_mark) out.facts.read_mark = whole_of("--read-mark", *asked.read_mark, out.facts.window.next - 1);
  return out;
}

std::string cursor_text(const stream_options& named, mr::tags own) {
  if (named.cursor == "absent") return "";
  if (named.cursor == "malformed") return "evt-418";
  if (named.cursor == "foreign") ++own.session;
  if (named.cursor == "stale") ++own.incarnation;
  return to_string(mr::event_id{own, named.number, named.seq});
}

// A cursor of this session's present log is placed beside a window, so that must be known.
void check_place(const options& asked, const stream_options& named) {
  if (named.cursor != "own" || asked.is_forgotten || asked.is_never_opened) return;
  std::string missing;
  if (!asked.cursor_seq) missing += " --cursor-seq";
  if (!asked.first) missing += " --first --next";
  refuse_if(!missing.empty(), asked.cursor ? "--cursor own" : "--cursor-seq", "needs also" + missing);
}

question question_of_facts(const options& asked) {
  refuse_if(asked.session_id.has_value(), "--session-id", "needs --state; without it say --session");
  refuse_if(asked.last_event_id.has_value(), "--last-event-id",
            "needs --state; without it say --cursor or --cursor-seq");
  refuse_if(asked.principal.has_value(), "--principal", "needs --state; without it say --session of_another_principal");
  const mr::session_fact fact = *fact_of<mr::session_fact>(asked.session.value_or("live"));
  const stream_options named = stream_of(asked);

  server_session session;
  session.id = "session";
  session.principal = fact == mr::session_fact::of_another_principal ? "another" : "";
  session.owner = {0x5f0c2d9a1b3e4c77U, 0x9f8e7d6c5b4a3921U};
  if (asked.has_reader) session.standalone_reader = mr::reader_fact::live;
  if (named.number != 0) session.streams.push_back({0, {mr::stream_fact::open, {}, 0}});
  if (!asked.is_never_opened) session.streams.push_back({named.number, named.facts});

  question made;
  made.version = asked.protocol.value_or("");
  made.session_id = fact == mr::session_fact::not_named ? "" : "session";
  if (fact != mr::session_fact::gone) made.state.sessions.push_back(session);
  if (made.decide().reason >= mr::reason::occupied) check_place(asked, named);
  made.last_event_id = cursor_text(named, session.owner);
  return made;
}

// ---- The facts as a state file and a request ------------------------------------------------------------------------

constexpr std::size_t largest_state = std::size_t{16} << 20U;  // bytes

std::string text_of_file(const std::string& name) {
  std::ifstream file(name, std::ios::binary);
  std::string text, piece(65536, '\0');
  while (file && text.size() <= largest_state) {
    file.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    text.append(piece, 0, static_cast<std::size_t>(file.gcount()));
  }
  if (!file.is_open() || file.bad()) throw input_error(printable(name), "cannot be read");
  if (text.size() > largest_state) throw input_error(printable(name), "is larger than 16 MiB");
  return text;
}

question question_of_state(const options& asked) {
  const std::pair<bool, std::string_view> facts[] = {
      {asked.session.has_value(), "--session"},
      {asked.cursor.has_value(), "--cursor"},
      {asked.cursor_seq.has_value(), "--cursor-seq"},
      {asked.stream.has_value(), "--stream"},
      {asked.first.has_value(), "--first"},
      {asked.next.has_value(), "--next"},
      {asked.read_mark.has_value(), "--read-mark"},
      {asked.is_finished, "--finished"},
      {asked.is_forgotten, "--forgotten"},
      {asked.is_never_opened, "--never-opened"},
      {asked.has_reader, "--standalone-reader"},
  };
  for (const auto& [is_given, option] : facts) refuse_if(is_given, option, "contradicts --state, which says it itself");
  question made;
  made.state = read_state(text_of_file(*asked.state), *asked.state);
  made.version = asked.protocol.value_or("");
  made.session_id = asked.session_id.value_or("");
  made.last_event_id = asked.last_event_id.value_or("");
  made.principal = asked.principal.value_or("");
  return made;
}

// ---- The command ----------------------------------------------------------------------------------------------------

void explain(const options& asked, bool has_options) {
  refuse_if(!has_options, "explain", "say the facts (--session, --cursor, ...) or a --state; see --help");
  question made = asked.state ? question_of_state(asked) : question_of_facts(asked);
  made.rule = asked.after_gap == "oldest_held" ? mr::after_gap::oldest_held : mr::after_gap::live_edge;
  print_all(explanation(made));
}

void add_fact_options(CLI::App& command, options& asked) {
  const std::string facts = "The facts in words";
  command
      .add_option("--session", asked.session,
                  "the session that is named: live (default), not_named, gone or "
                  "of_another_principal")
      ->check(CLI::IsMember({"live", "not_named", "gone", "of_another_principal"}))
      ->group(facts);
  command
      .add_option("--cursor", asked.cursor,
                  "Last-Event-ID: absent, malformed, foreign (of another session), stale "
                  "(of another incarnation) or own")
      ->check(CLI::IsMember({"absent", "malformed", "foreign", "stale", "own"}))
      ->group(facts);
  command.add_option("--cursor-seq", asked.cursor_seq, "its seq; alone it says --cursor own")->group(facts);
  command
      .add_option("--stream", asked.stream, "the number of its stream; 0, the standalone one, if nothing else is said")
      ->group(facts);
  command.add_option("--first", asked.first, "seq of the stream's oldest event that is held")
      ->type_name("N")
      ->group(facts);
  command.add_option("--next", asked.next, "seq that the stream's next event gets")->type_name("N")->group(facts);
  command.add_flag("--finished", asked.is_finished, "the stream takes no more events")->group(facts);
  command.add_flag("--forgotten", asked.is_forgotten, "the finished stream's record is gone")->group(facts);
  command.add_flag("--never-opened", asked.is_never_opened, "there never was such a stream")->group(facts);
  command.add_flag("--standalone-reader", asked.has_reader, "stream 0 has a live reader")->group(facts);
  command
      .add_option("--read-mark", asked.read_mark, "newest seq of stream 0 that any reader was handed; without a cursor")
      ->group(facts);
}

}  // namespace

void add_explain(CLI::App& program, int& status) {
  const auto asked = std::make_shared<options>();
  CLI::App* command = program.add_subcommand(
      "explain",
      "Explains one decision: outcome, reason, status, whose rule it is, and where the cursor lies.\n"
      "Example: mcp-resume-oracle explain --session live --cursor-seq 418 --first 513 --next 601\n"
      "Example: mcp-resume-oracle explain --state state.json --session-id 8c0f --last-event-id ID --principal alice\n"
      "Exit status: 0 explained, 2 wrong usage or input.");
  command->add_option("--protocol", asked->protocol, "MCP-Protocol-Version as it was sent; absent if it was not")
      ->type_name("VERSION");
  command->add_option("--after-gap", asked->after_gap, "where reading goes on after a gap: live_edge or oldest_held")
      ->check(CLI::IsMember({"live_edge", "oldest_held"}))
      ->capture_default_str();
  add_fact_options(*command, *asked);
  const std::string request = "Or a state file and the request";
  command->add_option("--state", asked->state, "JSON file: the sessions that the server holds")
      ->type_name("FILE")
      ->group(request);
  command->add_option("--session-id", asked->session_id, "Mcp-Session-Id")->group(request);
  command->add_option("--last-event-id", asked->last_event_id, "Last-Event-ID")->group(request);
  command->add_option("--principal", asked->principal, "whoever the request is authenticated as")->group(request);
  command->callback([command, asked, &status] {
    explain(*asked, command->count_all() > 1);
    status = 0;
  });
}

}  // namespace oracle
