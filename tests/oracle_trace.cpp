// SPDX-License-Identifier: MIT
// Promise: a trace is read strictly, what is not understood is an error with its line and field, and what was written
// reads as what it was.
#include "trace.hpp"

#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "input_error.hpp"
#include "oracle_traced_table.hpp"

namespace {

using oracle::trace;
using oracle::trace_op;

trace read(const std::string& text) {
  std::istringstream in(text);
  return oracle::read_trace(in, "F");
}

// What reading says is wrong, or nothing.
std::string complaint_of(const std::string& text) {
  try {
    (void)read(text);
    return "";
  } catch (const oracle::input_error& e) {
    return e.what();
  }
}

std::string written(const trace& made) {
  std::ostringstream out;
  write_trace(out, made);
  return out.str();
}

bool is_same(const oracle::trace_frame& a, const oracle::trace_frame& b) {
  return a.id == b.id && a.data == b.data && a.event == b.event;
}
bool is_same(const oracle::trace_step& a, const oracle::trace_step& b) {
  bool same = a.frames.size() == b.frames.size() && is_same(a.frame, b.frame);
  for (std::size_t i = 0; same && i != a.frames.size(); ++i) same = is_same(a.frames[i], b.frames[i]);
  return same && a.line == b.line && a.op == b.op && a.session == b.session && a.stream == b.stream && a.as == b.as &&
         a.is_answer == b.is_answer && a.id == b.id && a.last_event_id == b.last_event_id && a.status == b.status &&
         a.has_ended == b.has_ended && a.waited_ms == b.waited_ms;
}

const std::string head = "{\"trace\":1,\"server\":\"S\"}\n";
const std::string session = head + R"({"op":"session","session":"A"})"
                                   "\n";
const std::string event = session + R"({"op":"event","session":"A","stream":"","frame":{"id":"1","data":"x"}})"
                                    "\n";

TEST_CASE("every field of every step is read", "[oracle_trace]") {
  const trace made =
      read("\n" + head +
           R"({"op":"session","session":"A"})"
           "\r\n"
           R"({"op":"stream","session":"A","stream":"s"})"
           "\n \n"
           R"({"op":"event","session":"A","stream":"s","frame":{"id":"1","data":"x","event":"e"},"is_answer":true})"
           "\n"
           R"({"op":"drop","session":"A","stream":"s","id":"1"})"
           "\n"
           R"({"op":"drop","session":"A","stream":""})"
           "\n"
           R"({"op":"lost","session":"A","stream":"s","id":"1"})"
           "\n"
           R"({"op":"resume","session":"A","as":"why","last_event_id":"","status":200,)"
           R"("frames":[{"id":""},{"data":"\u0000"}],)"
           R"("has_ended":true,"waited_ms":4294967295})"
           "\n"
           R"({"op":"resume","session":"A","status":0})"
           "\n"
           R"({"op":"end","session":"A"})");
  CHECK(made.name == "F");
  CHECK(made.server == "S");
  REQUIRE(made.steps.size() == 9);
  const std::vector<std::size_t> lines = {3, 4, 6, 7, 8, 9, 10, 11, 12};
  const std::vector<trace_op> ops = {trace_op::session, trace_op::stream, trace_op::event,
                                     trace_op::drop,    trace_op::drop,   trace_op::lost,
                                     trace_op::resume,  trace_op::resume, trace_op::end};
  for (std::size_t i = 0; i != 9; ++i) {
    CHECK(made.steps[i].line == lines[i]);
    CHECK(made.steps[i].op == ops[i]);
    CHECK(made.steps[i].session == "A");
  }
  CHECK(is_same(made.steps[2].frame, {"1", "x", "e"}));
  CHECK(made.steps[2].is_answer);
  CHECK(made.steps[3].id == "1");
  CHECK_FALSE(made.steps[4].id);
  const oracle::trace_step& resume = made.steps[6];
  CHECK(resume.as == "why");
  CHECK(resume.last_event_id == "");
  CHECK(resume.status == 200);
  REQUIRE(resume.frames.size() == 2);
  CHECK(is_same(resume.frames[0], {"", {}, ""}));
  CHECK(is_same(resume.frames[1], {{}, std::string(1, '\0'), ""}));
  CHECK(resume.has_ended);
  CHECK(resume.waited_ms == 4294967295U);
  CHECK_FALSE(made.steps[7].last_event_id);
}

TEST_CASE("a wrong line is refused with its place and field", "[oracle_trace]") {
  const std::pair<std::string, std::string> wrong[] = {
      {"", "F: holds no trace"},
      {"\n \r\n", "F: holds no trace"},
      {"{", "F:1: not JSON: "},
      {"[]", "F:1: must be an object"},
      {"{\"server\":\"S\"}", "F:1: trace: is missing"},
      {"{\"op\":\"session\"}", "F:1: trace: is missing"},
      {"{\"trace\":2,\"server\":\"S\"}", "F:1: trace: must be 1"},
      {"{\"trace\":\"1\",\"server\":\"S\"}", "F:1: trace: must be 1"},
      {"{\"trace\":1}", "F:1: server: is missing"},
      {"{\"trace\":1,\"server\":1}", "F:1: server: must be a string"},
      {"{\"trace\":1,\"server\":\"S\",\"x\":1}", "F:1: x: unknown field; known are trace server"},
      {head + "{}", "F:2: op: is missing"},
      {head + R"({"op":7})", "F:2: op: must be a string"},
      {head + R"({"op":"sesion"})", R"(F:2: op: "sesion" is none of session stream event drop resume end lost)"},
      {head + R"({"op":"session","session":"A","stream":""})", "F:2: stream: unknown field; known are op session"},
      {head + R"({"op":"session","session":"A","op session":1})", "F:2: op session: unknown field"},
      {head + R"({"op":"session"})", "F:2: session: is missing"},
      {head + R"({"op":"session","session":null})", "F:2: session: must be a string"},
      {head + R"({"op":"session","session":""})", "F:2: session: must not be empty"},
      {head + R"({"op":"session","session":")" + std::string(1025, 'x') + "\"}",
       "F:2: session: is longer than 1024 bytes"},
      {session + R"({"op":"session","session":"A"})", R"(F:3: session: "A" begins twice)"},
      {head + R"({"op":"resume","session":"A","status":200})", R"(F:2: session: "A" did not begin before this line)"},
      {head + R"({"op":"end","session":"A"})", R"(F:2: session: "A" did not begin)"},
      {session + R"({"op":"end","session":"A"})"
                 "\n"
                 R"({"op":"end","session":"A"})",
       "F:4: session: has ended before"},
      {session + R"({"op":"stream","session":"A","stream":""})", R"(F:3: stream: "" is the standalone stream)"},
      {session + R"({"op":"stream","session":"A","stream":"s"})"
                 "\n"
                 R"({"op":"stream","session":"A","stream":"s"})",
       R"(F:4: stream: "s" begins twice in its session)"},
      {session + R"({"op":"event","session":"A","frame":{}})", "F:3: stream: is missing"},
      {session + R"({"op":"event","session":"A","stream":"s","frame":{}})", R"(F:3: stream: "s" did not begin)"},
      {session + R"({"op":"event","session":"A","stream":""})", "F:3: frame: is missing"},
      {session + R"({"op":"event","session":"A","stream":"","frame":[]})", "F:3: frame: must be an object"},
      {session + R"({"op":"event","session":"A","stream":"","frame":{"id":7}})", "F:3: frame.id: must be a string"},
      {session + R"({"op":"event","session":"A","stream":"","frame":{"idd":""}})", "F:3: frame.idd: unknown field"},
      {session + R"({"op":"event","session":"A","stream":"","frame":{},"is_answer":1})",
       "F:3: is_answer: must be true or false"},
      {session + R"({"op":"drop","session":"A","stream":"","id":"1"})", R"(F:3: id: "1" is in no event or answer)"},
      {event + R"({"op":"drop","session":"A","stream":"","id":1})", "F:4: id: must be a string"},
      {event + R"({"op":"lost","session":"A","stream":""})", "F:4: id: is missing"},
      {event + R"({"op":"lost","session":"A","stream":"","id":"2"})", R"(F:4: id: "2" was not issued on this stream)"},
      {event + R"({"op":"stream","session":"A","stream":"s"})"
               "\n"
               R"({"op":"lost","session":"A","stream":"s","id":"1"})",
       R"(F:5: id: "1" was not issued on this stream)"},
      {session + R"({"op":"resume","session":"A"})", "F:3: status: is missing"},
      {session + R"({"op":"resume","session":"A","status":"200"})",
       "F:3: status: must be a whole number from 0 to 599"},
      {session + R"({"op":"resume","session":"A","status":200.5})", "F:3: status: must be a whole number"},
      {session + R"({"op":"resume","session":"A","status":-1})", "F:3: status: must be a whole number"},
      {session + R"({"op":"resume","session":"A","status":99})",
       "F:3: status: must be 0 (no answer) or from 100 to 599"},
      {session + R"({"op":"resume","session":"A","status":600})", "F:3: status: must be a whole number from 0 to 599"},
      {session + R"({"op":"resume","session":"A","status":1e400})", "F:3: "},
      {session + R"({"op":"resume","session":"A","status":200,"waited_ms":4294967296})",
       "F:3: waited_ms: must be a whole number"},
      {session + R"({"op":"resume","session":"A","status":200,"has_ended":"no"})",
       "F:3: has_ended: must be true or false"},
      {session + R"({"op":"resume","session":"A","status":200,"last_event_id":5})",
       "F:3: last_event_id: must be a string"},
      {session + R"({"op":"resume","session":"A","status":200,"frames":{}})", "F:3: frames: must be a list"},
      {session + R"({"op":"resume","session":"A","status":200,"frames":[{},{"data":7}]})",
       "F:3: frames[1].data: must be a string"},
      {session + R"({"op":"resume","session":"A","status":200,"frames":[7]})", "F:3: frames[0]: must be an object"},
      {session + R"({"op":"resume","session":"A","status":200,"stream":""})", "F:3: stream: unknown field"},
      {session + R"({"op":"resume","session":"A","status":200,"status":404})", "F:3: key `status` stands twice"},
      {session + R"({"op":"resume","session":"A","status")", "F:3: not JSON: "},
      {session + "{\"op\":\"end\",\"session\":\"\xC3\x28\"}", "F:3: not JSON: "},
      {session + R"({"op":"end","session":"A"} {})", "F:3: not JSON: "},
      {session + std::string(64, '[') + "1" + std::string(64, ']'), "F:3: must be an object"},
      {session + std::string(65, '[') + "1" + std::string(65, ']'), "F:3: nested more than 64 deep"},
      {session + std::string(100000, '['), "F:3: nested more than 64 deep"},
      {session + std::string(1, '\0'), "F:3: not JSON: "},
  };
  for (const auto& [text, complaint] : wrong) {
    INFO(text.substr(0, 300));
    CHECK(complaint_of(text).substr(0, complaint.size()) == complaint);
  }
}

TEST_CASE("a client may have an id that only an answer named", "[oracle_trace]") {
  const std::string answer = R"({"op":"resume","session":"A","status":200,"frames":[{"id":"p","data":""}]})";
  const std::string drop = R"({"op":"drop","session":"A","stream":"","id":"p"})";
  CHECK(complaint_of(session + answer + "\n" + drop).empty());
  CHECK_FALSE(complaint_of(session + drop + "\n" + answer).empty());
}

TEST_CASE("no complaint holds a control byte or is long", "[oracle_trace]") {
  const std::string hostile[] = {
      session + R"({"op":"\u001b[2J\u0000\u009b\u202e"})",
      session + R"({"op":"end","session":"A","\u001b]0;x\u0007":1})",
      session + R"({"op":"end","session":")" + std::string(1000, 'x') + "\"}",
      session + R"({"op":")" + std::string(100000, 'x') + "\"}",
      session + R"({"\u001b":1,"\u001b":1})",
      session + "{\"op\":\"\x1b[2J\"}",
      session + "{\"op\":\"\x9b\"}",
  };
  for (const std::string& text : hostile) {
    const std::string complaint = complaint_of(text);
    INFO(complaint);
    CHECK_FALSE(complaint.empty());
    CHECK(complaint.size() < 300);
    for (const char c : complaint) CHECK((static_cast<unsigned char>(c) >= ' ' && c != '\x7f'));
    CHECK(complaint.find("\xC2\x9B") == std::string::npos);
    CHECK(complaint.find("\xE2\x80\xAE") == std::string::npos);
  }
}

TEST_CASE("a line may be 16 MiB and no longer", "[oracle_trace]") {
  const std::string begin = R"({"op":"event","session":"A","stream":"","frame":{"data":")", end = "\"}}";
  const std::size_t most = std::size_t{16} << 20U;
  const std::string longest = begin + std::string(most - begin.size() - end.size(), 'x') + end;
  CHECK(complaint_of(session + longest + "\n").empty());
  CHECK(complaint_of(session + longest + " \n") == "F:3: longer than 16 MiB");
  CHECK(complaint_of(session + longest + "x") == "F:3: longer than 16 MiB");
}

TEST_CASE("a trace has at most a million lines", "[oracle_trace]") {
  CHECK(complaint_of(head + std::string(999999, '\n')).empty());
  CHECK(complaint_of(head + std::string(1000000, '\n')) == "F:1000001: more than 1000000 lines");
}

// Gives bytes for ever.
class endless : public std::streambuf {
  int_type underflow() override {
    setg(bytes_, bytes_, bytes_ + sizeof bytes_);
    return traits_type::to_int_type(bytes_[0]);
  }
  char bytes_[4096] = {};
};

TEST_CASE("an input without an end is refused", "[oracle_trace]") {
  endless bytes;
  std::istream in(&bytes);
  CHECK_THROWS_AS(oracle::read_trace(in, "F"), oracle::input_error);
}

TEST_CASE("what was written reads as what it was", "[oracle_trace]") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const trace made = traced::history(seed, 100);
    const std::string text = written(made);
    const trace again = read(text);
    CHECK(again.server == made.server);
    REQUIRE(again.steps.size() == made.steps.size());
    for (std::size_t i = 0; i != made.steps.size(); ++i) {
      INFO("seed " << seed << ", line " << made.steps[i].line);
      REQUIRE(is_same(again.steps[i], made.steps[i]));
    }
    CHECK(written(again) == text);
  }
}

TEST_CASE("bytes that are no text are written as something that can be read", "[oracle_trace]") {
  trace made = read(event);
  made.server = "\xFF";
  made.steps[1].frame.data = "a\xC3(\x1b";
  const trace again = read(written(made));
  CHECK(again.server == "\xEF\xBF\xBD");
  CHECK(again.steps[1].frame.data == "a\xEF\xBF\xBD(\x1b");
}

TEST_CASE("every part of a good trace is read or refused with its place", "[oracle_trace]") {
  const std::string text = written(traced::history(7, 30));
  for (std::size_t size = 0; size < text.size(); size += 41) {
    const std::string complaint = complaint_of(text.substr(0, size));
    if (!complaint.empty()) CHECK(complaint.substr(0, 2) == "F:");
  }
}

}  // namespace
