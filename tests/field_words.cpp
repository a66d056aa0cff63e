// SPDX-License-Identifier: MIT
// Promise: the runner of field cases is not blind. Each word has a case that passes and a twin that is wrong in one
// word and fails; what is no case is named with its file and line, and never passes.

#if defined(FIELD_CASES_PROGRAM) && !defined(_WIN32)
#include <sys/wait.h>
#include <unistd.h>
#endif

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <sstream>

#include "catch.hpp"
#include "field_runner.hpp"

namespace {

using field::result;

std::string case_text(const std::string& steps, const std::string& expect) {
  return R"({"id":"T","class":"t","source":"t","steps":[)" + steps + R"(],"expect":)" + expect + "}";
}

const std::string open_a = R"({"op":"open_session","s":"A","principal":"p1","proto":"2025-11-25"},
  {"op":"open_stream","s":"A","x":"get"},)";
const std::string three_events = open_a + R"({"op":"append","s":"A","x":"get","e":["e1","e2","e3"]},
  {"op":"drop","s":"A","x":"get","seen":"e1"})";
const std::string resume_e1 = three_events + R"(,{"op":"resume","s":"A","cursor":{"of":"e1"},"as_":"r"})";
const std::string small_log = R"({"op":"config","capacity":2},)" + resume_e1 + R"(,
  {"op":"append_n","s":"A","x":"get","prefix":"e","from":4,"to":6},
  {"op":"resume","s":"A","cursor":{"of":"e1"},"as_":"late"})";
const std::string owner = open_a + R"({"op":"append","s":"A","x":"get","e":["e1"]},
  {"op":"resume","s":"A","cursor":{"of":"e1"},"principal":"p2","as_":"a"},
  {"op":"resume","s":"never","cursor":null,"as_":"b"},
  {"op":"append","s":"A","x":"get","e":["e2"]})";
const std::string loop = open_a + R"({"op":"for_each_stream_name","names":["a","b"],"steps":[
  {"op":"open_stream","s":"A","x":"$name"},{"op":"append","s":"A","x":"$name","e":["$n1","$n2"]},
  {"op":"drop","s":"A","x":"$name"},{"op":"resume","s":"A","cursor":{"of":"$n1"}}]})";
const std::string parallel = open_a + R"({"op":"parallel","n":3,"steps":[
  {"op":"open_stream","s":"A","x":"r$i"},
  {"op":"append_n","s":"A","x":"r$i","prefix":"k$i_","from":1,"to":30},
  {"op":"finish","s":"A","x":"r$i","e":"z$i"}]},
  {"op":"for_each_i","n":3,"steps":[{"op":"resume","s":"A","cursor":{"of":"k$i_1"}}]})";
const std::string paused = three_events + R"(,
  {"op":"resume","s":"A","cursor":{"of":"e1"},"pause_after":"first_event"},
  {"op":"append","s":"A","x":"get","e":["e4"]},{"op":"continue_resume"},
  {"op":"append","s":"A","x":"get","e":["e5"]})";
const std::string posts = three_events + R"(,
  {"op":"request","method":"POST","session":"A","proto":"2026-07-28","body":"ping","as_":"post"},
  {"op":"request","method":"DELETE","session":"A","as_":"delete"},
  {"op":"request","method":"GET","session":"A","cursor":{"of":"e1"},"as_":"get"})";
const std::string chain = three_events + R"(,
  {"op":"resume_chain","s":"A","cursors":[{"of":"e1"},{"of":"e2"}]})";
const std::string each = three_events + R"(,
  {"op":"resume_each","s":"A","cursors":[{"raw":"x"},{"edit":{"of":"e1","append":"x"}}]})";
const std::string restarted = three_events + R"(,{"op":"restart","keep_sessions":true,"keep_events":false},
  {"op":"open_stream","s":"A","x":"get"},{"op":"append","s":"A","x":"get","e":["f1","f2"]},
  {"op":"resume","s":"A","cursor":{"of":"e2"}})";
const std::string wire = open_a + R"({"op":"append","s":"A","x":"get","e":["e1"],"data":"l1\rl2"},{"op":"check_wire"})";
const std::string calls = R"({"op":"config","max_sessions":1},)" + open_a + R"(
  {"op":"open_session","s":"B","as_":"second"},{"op":"open_stream","s":"A","x":"r1"},
  {"op":"append","s":"A","x":"r1","e":["q1"]},{"op":"finish","s":"A","x":"r1","e":"q2"},
  {"op":"append","s":"A","x":"r1","e":["q3"],"as_":"late"},{"op":"measure"})";
const std::string ids = R"({"op":"try_ids","where":["session id"],"values":["a b"]})";
const std::string good_id = R"({"op":"try_ids","where":["session id"],"values":["fine"]})";

// One right expectation and some wrong ones.
struct twin {
  const char* name;
  const std::string& steps;
  const char* right;
  std::vector<const char*> wrong;
};

const std::vector<twin> twins = {
    {"outcome",
     resume_e1,
     R"({"outcome":"continue"})",
     {R"({"outcome":"gap"})", R"({"outcome":"reset"})", R"({"outcome":"reject"})", R"({"outcome":"ignore_headers"})"}},
    {"by",
     resume_e1,
     R"({"outcome":"reject","by":{"r":"continue"}})",
     {R"({"by":{"r":"reject"}})", R"({"outcome":"continue","by":{"q":"continue"}})"}},
    {"status",
     resume_e1,
     R"({"status":[200]})",
     {R"({"status":[404]})", R"({"status":{"r":[204]}})", R"({"status":{"q":[200]}})", R"({"status":["x"]})"}},
    {"replay",
     resume_e1,
     R"({"replay":["e2","e3"]})",
     {R"({"replay":["e2"]})", R"({"replay":["e3"]})", R"({"replay":["e3","e2"]})", R"({"replay":["e2","e3","e4"]})",
      R"({"replay":[]})", R"({"replay":{"r":[]}})", R"({"replay":{"q":["e2","e3"]}})", R"({"replay":["e2","..."]})"}},
    {"then_live",
     paused,
     R"({"replay":["e2","e3"],"then_live":["e4","e5"]})",
     {R"({"replay":["e2","e3"],"then_live":["e4"]})", R"({"replay":["e2"],"then_live":["e4","e5"]})",
      R"({"replay":["e2","e3"],"then_live":["e5","e4"]})", R"({"then_live":["e4"]})", R"({"then_live":[]})"}},
    {"missing",
     small_log,
     R"({"outcome":"gap","by":{"r":"continue"},"missing":["e2","...","e4"]})",
     {R"({"outcome":"gap","by":{"r":"continue"},"missing":["e2","e3"]})",
      R"({"outcome":"gap","by":{"r":"continue"},"missing":{"late":[]}})",
      R"({"outcome":"gap","by":{"r":"continue"},"missing":{"r":["e2"]}})"}},
    {"expanded symbols",
     chain,
     R"({"replay":{"e1":["e2","e3"],"e2":["e3"]}})",
     {R"({"replay":{"e1":["e2","...","e4"]}})", R"({"replay":["e2","e3"]})", R"({"replay":{"e3":[]}})"}},
    {"each",
     each,
     R"({"outcome":"continue","by":{"each":"reject"},"status":{"each":[400]}})",
     {R"({"outcome":"continue"})", R"({"each":"continue"})", R"({"each":"reject","status":[409]})"}},
    {"same_answer",
     owner,
     R"({"same_answer":["a","b"],"by":{"a":"reject","b":"reset"}})",
     {R"({"same_answer":["a"]})", R"({"same_answer":["a","c"]})"}},
    {"same_answer that differs",
     posts,
     R"({"by":{"post":"ignore_headers","delete":"continue","get":"reset"}})",
     {R"({"same_answer":["post","get"]})", R"({"by":{"post":"reject"}})", R"({"by":{"delete":"reset"}})"}},
    {"any 2xx",
     posts,
     R"({"status":{"post":[202],"delete":[204],"get":[404]}})",
     {R"({"status":{"delete":[404]}})", R"({"status":{"get":[200]}})"}},
    {"owner_live",
     owner,
     R"({"owner_live":["e2"]})",
     {R"({"owner_live":[]})", R"({"owner_live":["e1","e2"]})", R"({"owner_live":{"B":["e2"]}})"}},
    {"loop variables",
     loop,
     R"({"outcome":"continue","replay":["$n2"]})",
     {R"({"replay":["$n1"]})", R"({"replay":["$n3"]})", R"({"replay":["a#2"]})"}},
    {"parallel",
     parallel,
     R"({"replay":["k$i_2","...","k$i_30","z$i"]})",
     {R"({"replay":["k$i_2","...","k$i_30"]})", R"({"replay":["k$i_2","...","k$i_31","z$i"]})"}},
    {"reset",
     restarted,
     R"({"outcome":"reset","replay":["f1","f2"],"missing":["e3"]})",
     {R"({"outcome":"continue"})", R"({"outcome":"reset","replay":["f2"]})", R"({"outcome":"reset","missing":[]})"}},
    {"wire",
     wire,
     R"({"wire":{"id_regex":"[0-9a-f.]+","data_lines":["l1","l2"],"events":1,"empty_data_frames":1,"first_frame":"e1"}})",
     {R"({"wire":{"id_regex":"[0-9]+"}})", R"({"wire":{"id_regex":"("}})", R"({"wire":{"data_lines":["l1"]}})",
      R"({"wire":{"events":2}})", R"({"wire":{"empty_data_frames":0}})", R"({"wire":{"first_frame":"gap"}})",
      R"({"wire":{"frames":1}})"}},
    {"limits",
     calls,
     R"({"outcome":"bounded","limits":{"stored_events":2,"stream_records":1,"session_records":1}})",
     {R"({"limits":{"stored_events":1}})", R"({"limits":{"stream_records":0}})", R"({"limits":{"session_records":0}})",
      R"({"limits":{"index_entries":0}})", R"({"limits":{"stored_events":"x"}})"}},
    {"refusals",
     calls,
     R"({"by":{"second":"refused","late":"refused"}})",
     {R"({"by":{"second":"continue"}})", R"({"by":{"open_stream":"refused"}})", R"({"by":{"third":"refused"}})"}},
    {"try_ids", ids, R"({"by":{"try_ids":"refused"}})", {R"({"by":{"try_ids":"continue"}})"}},
    {"try_ids with an id that is none to refuse",
     good_id,
     R"({"by":{"try_ids":"continue"}})",
     {R"({"by":{"try_ids":"refused"}})", R"({"outcome":"refused"})", R"({"replay":[]})"}},
};

std::string listed(const field::case_report& report) {
  std::string out;
  for (const std::string& each_reason : report.reasons) out += each_reason + "\n";
  return out;
}

TEST_CASE("a case passes when it is right and fails when one word of it is wrong", "[field_words]") {
  for (const twin& t : twins) {
    const field::case_report right = field::run_line(case_text(t.steps, t.right));
    INFO(t.name << ": " << t.right << "\n" << listed(right));
    CHECK(right.result == result::passed);
    for (const char* wrong : t.wrong) {
      INFO("twin: " << wrong);
      CHECK(field::run_line(case_text(t.steps, wrong)).result == result::failed);
    }
  }
}

// Steps that are wrong in one word, beside the message that names it. The expectation holds otherwise.
struct wrong_steps {
  std::string steps;
  const char* message;
};

const std::vector<wrong_steps> mistakes = {
    {resume_e1 + R"(,{"op":"fly"})", "unknown op `fly`"},
    {resume_e1 + R"(,{"op":"repeat","n":1,"steps":[{"op":"fly"}]})", "unknown op `fly`"},
    {resume_e1 + R"(,{"op":"tick","ms":1,"speed":2})", "unknown key `speed`"},
    {resume_e1 + R"(,{"op":"config","capacity":1})", "after the first session"},
    {resume_e1 + R"(,{"op":"tick","ms":"soon"})", "`ms` must be a whole number"},
    {resume_e1 + R"(,{"op":"tick","ms":-1})", "`ms` must be a whole number"},
    {resume_e1 + R"(,{"op":"tick"})", "`ms` is missing"},
    {resume_e1 + R"(,7)", "a step must be an object"},
    {resume_e1 + R"(,{"op":7})", "a step must be an object"},
    {resume_e1 + R"(,{"op":"append","s":"A","x":"get","e":[7]})", "must hold strings only"},
    {resume_e1 + R"(,{"op":"append","s":"B","x":"get","e":["b"]})", "session `B` was never opened"},
    {resume_e1 + R"(,{"op":"append","s":"A","x":"r9","e":["b"]})", "stream `r9` of `A` was never opened"},
    {resume_e1 + R"(,{"op":"resume","s":"A","cursor":{"of":"e9"}})", "no event `e9` was issued"},
    {resume_e1 + R"(,{"op":"resume","s":"A","cursor":"e1"})", "a cursor must be an object"},
    {resume_e1 + R"(,{"op":"resume","s":"A","cursor":{"if":"e1"}})", "unknown key `if`"},
    {resume_e1 + R"(,{"op":"resume","s":"A","cursor":{"edit":{"of":"e1","bend":1}}})", "unknown edit `bend`"},
    {resume_e1 + R"(,{"op":"resume","s":"A","cursor":{"raw_hex":"0g"}})", "hex digits expected"},
    {resume_e1 + R"(,{"op":"resume","s":"A","cursor":{"fill":["a"]}})", "`fill` must be [char, count]"},
    {resume_e1 + R"(,{"op":"resume","s":"A","cursor":{"fill":["a",99999999999]}})", "more than 64 MiB"},
    {resume_e1 + R"(,{"op":"resume","s":"A","cursor":{"last_seen_in":"q"}})", "no resume is named `q`"},
    {resume_e1 + R"(,{"op":"resume","s":"A","cursor":{"of":"e1"},"pause_after":"snapshot"})", "never continued"},
    {resume_e1 + R"(,{"op":"continue_resume"})", "no such resume is paused"},
    {resume_e1 + R"(,{"op":"continue_append"})", "no append was begun"},
    {resume_e1 + R"(,{"op":"request","method":"PUT","session":"A"})", "unknown method `PUT`"},
    {resume_e1 + R"(,{"op":"request","method":"POST"})", "`s` is missing"},
    {resume_e1 + R"(,{"op":"parallel","n":100,"steps":[]})", "`n` must be at most 64"},
    {resume_e1 + R"(,{"op":"restart","keep_sessions":"yes"})", "`keep_sessions` must be true or false"},
    {R"({"op":"open_session","s":"A","proto":"1.0"})", "`proto` is not a version"},
};

TEST_CASE("a step that is not understood fails its case and is named", "[field_words]") {
  for (const wrong_steps& w : mistakes) {
    const field::case_report report = field::run_line(case_text(w.steps, R"({"outcome":"continue"})"));
    INFO(w.message << "\n" << listed(report));
    CHECK(report.result == result::failed);
    CHECK(listed(report).find(w.message) != std::string::npos);
  }
}

TEST_CASE("a case that expects what is not understood fails and is named", "[field_words]") {
  const std::pair<const char*, const char*> wrong[] = {
      {R"({})", "expects nothing"},
      {R"({"why":"prose","must_not":["x"]})", "expects nothing"},
      {R"([])", "`expect` must be an object"},
      {R"({"outcome":"continue","replays":[]})", "unknown key `replays`"},
      {R"({"outcome":"fine"})", "unknown outcome \"fine\""},
      {R"({"by":{"r":"fine"}})", "unknown outcome \"fine\""},
      {R"({"by":["continue"]})", "`by` must be an object"},
      {R"({"replay":7})", "`replay` must be a list of strings"},
  };
  for (const auto& [expect, message] : wrong) {
    const field::case_report report = field::run_line(case_text(resume_e1, expect));
    INFO(expect << "\n" << listed(report));
    CHECK(report.result == result::failed);
    CHECK(listed(report).find(message) != std::string::npos);
  }
}

TEST_CASE("a case that one process cannot express is skipped with its reason", "[field_words]") {
  const std::pair<std::string, const char*> cases[] = {
      {R"({"op":"config","nodes":["a","b"],"store":"shared"},)" + resume_e1, "several nodes"},
      {R"({"op":"config","store":"elsewhere"},)" + resume_e1, "store `elsewhere`"},
      {resume_e1 + R"(,{"op":"node_joins","node":"b"})", "word `node_joins`"},
      {resume_e1 + R"(,{"op":"repeat","n":1,"steps":[{"op":"promote"}]})", "word `promote`"},
      {resume_e1 + R"(,{"op":"append","s":"A","x":"get","e":["p"],"pin":true})", "pinned events"},
      {open_a + R"({"op":"open_stream","s":"A","x":"r","filter":"f"})", "stream filters"},
      {R"({"op":"config","capacity":9},)" + resume_e1 + R"(,{"op":"open_stream","s":"A","x":"r1"},
       {"op":"append","s":"A","x":"r1","e":["q1"]})",
       "`capacity` bounds each stream"},
      {resume_e1 + R"(,{"op":"clock","mode":"sundial"})", "clock mode `sundial`"},
      {resume_e1 + R"(,{"op":"resume","s":"A","cursor":null,"pause_after":"lunch"})", "pause point `lunch`"},
  };
  for (const auto& [steps, reason] : cases) {
    const field::case_report report = field::run_line(case_text(steps, R"({"outcome":"continue"})"));
    INFO(reason << "\n" << listed(report));
    CHECK(report.result == result::skipped);
    CHECK(listed(report).find(reason) != std::string::npos);
  }
  CHECK(field::run_line(case_text(resume_e1, R"({"outcome":"undecided"})")).result == result::skipped);
  CHECK(field::run_line(case_text(open_a + R"({"op":"measure"})", R"({"limits":{"joy":1}})")).result ==
        result::skipped);
}

// ---- What a connection gets, whatever a case expects -----------------------------------------------------------------

// A connection to a stream with two events `e1` and `e2`, whose bytes are the test's.
std::vector<std::string> audited(const std::function<void(std::string&)>& change) {
  field::world all;
  all.live_table();
  field::tag_source tags = all.next_tags();
  REQUIRE(all.table->create("A", "p", field::mr::protocol::v2025_11_25, tags) == field::mr::refusal::none);
  field::session_state& s = all.sessions["A"];
  s.symbol = s.id = "A";
  field::mr::reader reader;
  REQUIRE(all.table->resume({"", "A", "", "p"}, reader).http_status() == 200);
  const field::connection_ptr c = all.connect(s, all.stream_of(s, "get"), "get", reader);
  REQUIRE(all.append(s, "get", "e1", "one") == field::mr::refusal::none);
  REQUIRE(all.append(s, "get", "e2", "two") == field::mr::refusal::none);
  change(c->bytes);
  field::audit(all);
  return all.failures();
}

void replace_first(std::string& text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  text.replace(at, from.size(), to);
}

TEST_CASE("an untouched connection has no fault and every fault of its bytes is found", "[field_words]") {
  CHECK(audited([](std::string&) {}).empty());
  const std::pair<const char*, const char*> edits[] = {
      {".0.1\ndata: one\n\n", ".0.1\ndata: other\n\n"},            // another payload
      {".0.1\ndata: one\n\n", ".0.2\ndata: two\n\n"},              // left out, and twice
      {".0.1\ndata: one\n\n", ".1.1\ndata: one\n\n"},              // another stream
      {".0.2\ndata: two\n\n", ".0.3\ndata: two\n\n"},              // never issued
      {".0.2\ndata: two\n\n", ".0.2\ndata: two\n"},                // no end of the block
      {".0.2\ndata: two\n\n", ".0.2\ndata: two\nevent: gap\n\n"},  // a signal in the midst
      {".0.2\ndata: two\n\n", ".0.02\ndata: two\n\n"},             // no canonical id
      {".0.0\ndata:\n\n", ".0.1\ndata:\n\n"},                      // a marker elsewhere
      {".0.0\ndata:\n\n", ".0.0\ndata: x\n\n"},                    // no marker
      {".0.0\ndata:\n\n", ".0.0\nretry: 5\ndata:\n\n"},            // a wait that nobody asked for
      {".0.0\ndata:\n\n", ".0.0\ndata:\n\ndata: word\n\n"},        // an event without an id
      {"data: two", "data: two\nx-field: y"},                      // a field of no stream
  };
  for (const auto& edit : edits) {
    INFO(edit.first << " -> " << edit.second);
    CHECK_FALSE(audited([&](std::string& bytes) { replace_first(bytes, edit.first, edit.second); }).empty());
  }
  CHECK_FALSE(audited([](std::string& bytes) { bytes.erase(bytes.rfind("id: ")); }).empty());
  CHECK_FALSE(audited([](std::string& bytes) { bytes.append(bytes, bytes.rfind("id: "), std::string::npos); }).empty());
  CHECK_FALSE(audited([](std::string& bytes) { bytes.clear(); }).empty());
}

TEST_CASE("blocks are cut at every kind of line end and comments are no blocks", "[field_words]") {
  const field::sse_text cut = field::parse_sse(": c\nid: 1\rdata: a\r\ndata:b\r\n\r\ndata\n\n: c\n\nid: 2\n");
  REQUIRE(cut.blocks.size() == 2);
  CHECK(cut.blocks[0].id == std::string("1"));
  CHECK(cut.blocks[0].data() == "a\nb");
  CHECK(cut.blocks[1].has_empty_data());
  CHECK(cut.ends_inside_block);
}

// ---- The program -----------------------------------------------------------------------------------------------------

TEST_CASE("text that is no case is an input error with its line", "[field_words]") {
  const std::string good = case_text("REMOVED", "{}");
  const std::pair<std::string, const char*> wrong[] = {
      {case_text(resume_e1, R"({"outcome":"continue"})").substr(0, 200), "not JSON"},
      {R"({"id":"a","id":"b"})", "stands twice in one object"},
      {std::string(1000, '['), "nested more than 64 deep"},
      {std::string(100000, '{'), "not JSON"},
      {good, "not JSON"},
      {"\x80", "not JSON"},
  };
  for (const auto& [line, message] : wrong) {
    std::istringstream in("\n" + line + "\n");
    std::ostringstream out;
    field::totals sum;
    field::run_stream(in, "F", out, sum);
    INFO(out.str().substr(0, 300));
    CHECK(sum.has_input_error);
    CHECK(sum.passed == 0);
    CHECK(out.str().find("F:2): ") != std::string::npos);
    CHECK(out.str().find(message) != std::string::npos);
  }
}

#if defined(FIELD_CASES_PROGRAM) && !defined(_WIN32)  // needs popen and mkstemp

struct run_of_program {
  int status = -1;
  std::string out;
  std::string last_line() const {
    const std::size_t end = out.find_last_not_of('\n');
    const std::size_t begin = end == std::string::npos ? 0 : out.rfind('\n', end) + 1;
    return out.substr(begin, end + 1 - begin);
  }
};

run_of_program run_program(const std::string& files) {
  run_of_program done;
  FILE* pipe = popen((std::string(FIELD_CASES_PROGRAM) + " " + files + " 2>&1").c_str(), "r");
  REQUIRE(pipe != nullptr);
  char buffer[4096];
  while (const std::size_t size = std::fread(buffer, 1, sizeof buffer, pipe)) done.out.append(buffer, size);
  const int status = pclose(pipe);
  done.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return done;
}

class temporary_file {
 public:
  explicit temporary_file(const std::string& text) {
    char pattern[] = "/tmp/field_wordsXXXXXX";
    const int made = mkstemp(pattern);
    REQUIRE(made >= 0);
    std::FILE* file = fdopen(made, "wb");
    REQUIRE(file != nullptr);
    std::fwrite(text.data(), 1, text.size(), file);
    std::fclose(file);
    name = pattern;
  }
  ~temporary_file() { std::remove(name.c_str()); }
  temporary_file(const temporary_file&) = delete;
  temporary_file& operator=(const temporary_file&) = delete;
  std::string name;
};

std::string one_line(std::string text) {
  for (char& c : text) c = c == '\n' ? ' ' : c;
  return text + "\n";
}

TEST_CASE("the program's exit status and last line tell what happened", "[field_words]") {
  const std::string good = one_line(case_text(resume_e1, R"({"outcome":"continue"})"));
  const std::string bad = one_line(case_text(resume_e1, R"({"outcome":"gap"})"));
  const std::string skip = one_line(case_text(R"({"op":"promote"})", R"({"outcome":"gap"})"));
  struct expectation {
    std::string text;
    int status;
    std::string last_line;
    const char* message;
  };
  const expectation wanted[] = {
      {good, 0, "1 passed, 0 failed, 0 skipped", ""},
      {"\n" + good + "\r\n", 0, "1 passed, 0 failed, 0 skipped", ""},
      {skip, 0, "0 passed, 0 failed, 1 skipped", "skip T ("},
      {bad, 1, "0 passed, 1 failed, 0 skipped", ":1): outcome of `r`: expected gap, got continue 200"},
      {good + bad, 1, "1 passed, 1 failed, 0 skipped", ":2): this id stands twice"},
      {good.substr(0, good.size() / 2), 2, "0 passed, 1 failed, 0 skipped", ":1): not JSON"},
      {good + std::string(2000000, 'x') + "\n", 2, "1 passed, 1 failed, 0 skipped", ":2): not JSON"},
      {"[]\n", 1, "0 passed, 1 failed, 0 skipped", "a case must be an object"},
      {"{}\n", 1, "0 passed, 1 failed, 0 skipped", "`id` is missing"},
      {"", 2, "0 passed, 0 failed, 0 skipped", "holds no case"},
      {"\n\n", 2, "0 passed, 0 failed, 0 skipped", "holds no case"},
  };
  for (const expectation& w : wanted) {
    const temporary_file file(w.text);
    const run_of_program done = run_program(file.name);
    INFO(w.text.substr(0, 200) << "\n" << done.out.substr(0, 500));
    CHECK(done.status == w.status);
    CHECK(done.last_line() == w.last_line);
    CHECK(done.out.find(w.message) != std::string::npos);
  }
}

TEST_CASE("a missing file and a directory and no file at all are input errors", "[field_words]") {
  const temporary_file good(one_line(case_text(resume_e1, R"({"outcome":"continue"})")));
  const run_of_program missing = run_program("/nowhere/at/all " + good.name);
  CHECK(missing.status == 2);
  CHECK(missing.out.find("/nowhere/at/all: cannot be opened") != std::string::npos);
  CHECK(missing.last_line() == "1 passed, 0 failed, 0 skipped");
  CHECK(run_program("/tmp").status == 2);
  CHECK(run_program("").status == 2);
  CHECK(run_program("").out.find("usage: ") != std::string::npos);
}

#endif

}  // namespace
