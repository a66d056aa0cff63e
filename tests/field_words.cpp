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
const std::string hundred_events = R"({"op":"open_session","s":"A","principal":"p1"},
  {"op":"append_n","s":"A","x":"get","prefix":"e","from":1,"to":100},
  {"op":"client","s":"A","client_has_cursor":{"of":"e1"},"as_":"c"},)";
const std::string client_gap = hundred_events + R"(
  {"op":"server_script","on":"GET","answer":"200 event-stream, gap e1, marker e95, event e96, message m, clean close"},
  {"op":"server_script","on":"GET","answer":"404"},{"op":"tick","ms":5000})";
const std::string client_continues = hundred_events + R"(
  {"op":"server_script","on":"GET","answer":"200 event-stream, event e2, event e3, stays open"},{"op":"tick","ms":5000})";
const std::string client_repeats = R"({"op":"client","policy":"default"},
  {"op":"server_script","on":"GET","repeat":2,"answer":["200 event-stream",{"event":{"raw":"i"},"data":"d"},"clean close"]},
  {"op":"server_script","on":"GET","answer":"404"},{"op":"tick","ms":15000})";
const std::string backs_off = R"({"op":"client","policy":"default"},
  {"op":"server_script","on":"GET","repeat":50,"answer":"200 event-stream, no event, clean close"},
  {"op":"tick","ms":60000})";
const std::string constant_loop =
    R"({"op":"client","policy":{"first_wait_ms":1000,"max_wait_ms":1000,"max_attempts":0}},
  {"op":"server_script","on":"GET","repeat":500,"answer":"200 event-stream, no event, clean close"},
  {"op":"tick","ms":60000})";
const std::string shrinking = R"({"op":"client"},
  {"op":"server_script","on":"GET","answer":"200 event-stream, retry 9000, clean close"},
  {"op":"server_script","on":"GET","answer":"200 event-stream, retry 1, clean close"},
  {"op":"server_script","on":"GET","repeat":9,"answer":"503"},{"op":"tick","ms":60000})";
const std::string refused_at_once = R"({"op":"client"},{"op":"server_script","on":"GET","answer":"404"},
  {"op":"tick","ms":5000})";
const std::string refused_later = R"({"op":"client"},{"op":"server_script","on":"GET","repeat":4,"answer":"503"},
  {"op":"server_script","on":"GET","answer":"404"},{"op":"tick","ms":60000})";
const std::string gives_up = R"({"op":"client","policy":{"max_attempts":1}},
  {"op":"server_script","on":"GET","repeat":2,"answer":"no answer"},{"op":"tick","ms":60000})";
const std::string nothing_said = R"({"op":"client"},
  {"op":"server_script","on":"GET","answer":"200 event-stream, stays open"},{"op":"tick","ms":5000})";
const std::string client_and_resume = resume_e1 + R"(,{"op":"client","s":"A","as_":"c"},
  {"op":"server_script","on":"GET","answer":"404"},{"op":"tick","ms":1},{"op":"measure"})";

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

const std::vector<twin> client_twins = {
    {"gravest outcome",
     client_gap,
     R"({"outcome":"reset"})",
     {R"({"outcome":"continue"})", R"({"outcome":"gap"})", R"({"outcome":"reject"})", R"({"outcome":"undecided"})",
      R"({"outcome":"client_backoff"})", R"({"outcome":"ignore_headers"})", R"({"by":{"c":"gap"}})",
      R"({"by":{"client":"gap"}})", R"({"outcome":"reset","by":{"d":"reset"}})", R"({"outcome":"refused"})"}},
    {"continue",
     client_continues,
     R"({"outcome":"continue","missed":0,"delivered":["e2","e3"],"recovery":[],"cursors":["e1"]})",
     {R"({"outcome":"gap"})", R"({"outcome":"client_backoff"})", R"({"missed":1})", R"({"delivered":["e3","e2"]})",
      R"({"delivered":["e2"]})", R"({"delivered":["e2","e3","e4"]})", R"({"recovery":["resync"]})"}},
    {"undecided", nothing_said, R"({"outcome":"undecided"})", {R"({"outcome":"continue"})"}},
    {"missed",
     client_gap,
     R"({"missed":94,"must_not":["deliver e95"]})",
     {R"({"missed":94,"must_not":["constant 500 ms loop"]})", R"({"missed":93})", R"({"missed":95})", R"({"missed":0})",
      R"({"missed":"many"})", R"({"missed":-94})"}},
    {"delivered",
     client_gap,
     R"({"delivered":["e96","m"]})",
     {R"({"delivered":[]})", R"({"delivered":["e96"]})", R"({"delivered":["m","e96"]})", R"({"delivered":["e95","m"]})",
      R"({"delivered":[7]})", R"({"delivered":["e94","...","e96","m"]})"}},
    {"recovery",
     client_gap,
     R"({"recovery":["resync","retry","reinitialize"]})",
     {R"({"recovery":["resync"]})", R"({"recovery":["retry","resync","reinitialize"]})", R"({"recovery":[]})",
      R"({"recovery":["resync","resync","retry","reinitialize"]})", R"({"recovery":7})"}},
    {"recovery by giving up",
     gives_up,
     R"({"outcome":"client_backoff","recovery":["retry","stop"]})",
     {R"({"recovery":["retry"]})", R"({"recovery":["retry","retry","stop"]})",
      R"({"outcome":"undecided","missed":2})"}},
    {"cursors",
     client_gap,
     R"({"cursors":["e1","e96"]})",
     {R"({"cursors":["e1"]})", R"({"cursors":["e1","e95"]})", R"({"cursors":["e1",null]})",
      R"({"cursors":[null,null]})", R"({"cursors":["e1","e96","e96"]})", R"({"cursors":"e1"})", R"({"cursors":[1]})"}},
    {"no cursor",
     backs_off,
     R"({"outcome":"client_backoff"})",
     {R"({"cursors":["null"]})", R"({"cursors":[]})", R"({"outcome":"client_backoff","by":{"":"reset"}})"}},
    {"text for a cursor",
     client_repeats,
     R"({"cursors":[null,"i","i"],"delivered":["d","d"],"limits":{"waits":"non-decreasing"}})",
     {R"({"cursors":[null,"d","d"]})", R"({"cursors":[null,null,null]})", R"({"delivered":["d"]})"}},
    {"client_backoff",
     backs_off,
     R"({"outcome":"client_backoff","must_not":["constant 1 s loop"],"limits":{"max_requests_in_60s":6,
     "max_requests":6,"waits":"non-decreasing, honour retry: as minimum, at least 1000 ms, at most 20000 ms"}})",
     {R"({"outcome":"continue"})", R"({"limits":{"max_requests_in_60s":5}})", R"({"limits":{"max_requests":5}})",
      R"({"limits":{"max_requests_in_20s":4}})", R"({"limits":{"max_requests_in_61s":9}})",
      R"({"limits":{"max_requests":"few"}})", R"({"limits":{"waits":"at least 1500 ms"}})",
      R"({"limits":{"waits":"at most 15000 ms"}})", R"({"limits":{"waits":"growing"}})", R"({"limits":{"waits":7}})",
      R"({"limits":{"waits":""}})", R"({"limits":{"waits":"non-decreasing,"}})",
      R"({"outcome":"client_backoff","must_not":["constant 20 s loop"]})",
      R"({"outcome":"undecided","must_not":[7]})"}},
    {"a constant loop",
     constant_loop,
     R"({"outcome":"undecided","must_not":["constant 600 ms loop"],"limits":{"waits":"non-decreasing, at most 1000 ms",
     "max_requests_in_60s":60,"max_requests_in_1s":1}})",
     {R"({"outcome":"client_backoff"})", R"({"outcome":"undecided","must_not":["constant 1 s loop"]})",
      R"({"outcome":"undecided","must_not":["constant 1000 ms loop"]})", R"({"limits":{"max_requests_in_60s":59}})",
      R"({"limits":{"max_requests_in_2s":1}})"}},
    {"waits that shrink",
     shrinking,
     R"({"outcome":"undecided","limits":{"waits":"honour retry: as minimum"}})",
     {R"({"outcome":"client_backoff"})", R"({"limits":{"waits":"non-decreasing"}})"}},
    {"too little to compare",
     refused_at_once,
     R"({"outcome":"reset","limits":{"max_requests_in_60s":1}})",
     {R"({"outcome":"client_backoff"})", R"({"limits":{"waits":"non-decreasing"}})",
      R"({"limits":{"waits":"honour retry: as minimum"}})", R"({"limits":{"waits":"honour retry-after as minimum"}})",
      R"({"limits":{"waits":"at most 9 ms"}})", R"({"outcome":"reset","must_not":["constant 1 s loop"]})"}},
    {"an end that is no backoff",
     refused_later,
     R"({"outcome":"reset","limits":{"waits":"non-decreasing"}})",
     {R"({"outcome":"client_backoff"})"}},
    {"an event that must not be delivered",
     client_continues,
     R"({"outcome":"continue","must_not":["deliver e4","deliver e2 twice","deliver anything else"]})",
     {R"({"outcome":"continue","must_not":["deliver e2"]})",
      R"({"outcome":"continue","must_not":["x","deliver e3"]})"}},
    {"a client beside a resume",
     client_and_resume,
     R"({"outcome":"continue","by":{"c":"reset"},"replay":["e2","e3"],"limits":{"stored_events":3,"max_requests":1}})",
     {R"({"outcome":"continue"})", R"({"outcome":"reset"})", R"({"by":{"r":"continue","c":"continue"}})",
      R"({"by":{"":"reset"}})", R"({"by":{"c":"reset"},"limits":{"stored_events":2}})"}},
};

std::string listed(const field::case_report& report) {
  std::string out;
  for (const std::string& each_reason : report.reasons) out += each_reason + "\n";
  return out;
}

void check_twins(const std::vector<twin>& all) {
  for (const twin& t : all) {
    const field::case_report right = field::run_line(case_text(t.steps, t.right));
    INFO(t.name << ": " << t.right << "\n" << listed(right));
    CHECK(right.result == result::passed);
    for (const char* wrong : t.wrong) {
      INFO("twin: " << wrong);
      CHECK(field::run_line(case_text(t.steps, wrong)).result == result::failed);
    }
  }
}

TEST_CASE("a case passes when it is right and fails when one word of it is wrong", "[field_words]") {
  check_twins(twins);
}

TEST_CASE("a client case passes when it is right and fails when one word of it is wrong", "[field_words]") {
  check_twins(client_twins);
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
    {client_continues + R"(,{"op":"client"})", "a second client"},
    {client_continues + R"(,{"op":"client_has_cursor","cursor":{"of":"e1"}})", "the client has begun"},
    {R"({"op":"client_has_cursor","cursor":null})", "there is no client"},
    {R"({"op":"client","client_has_cursor":null},{"op":"client_has_cursor","cursor":null})", "the client has a cursor"},
    {R"({"op":"client"},{"op":"client_has_cursor"})", "`cursor` is missing"},
    {R"({"op":"client","client_has_cursor":{"of":"e1"}})", "no event `e1` was issued"},
    {R"({"op":"client","client_has_cursor":"e1"})", "a cursor must be an object"},
    {resume_e1 + R"(,{"op":"tick","ms":1,"client_has_cursor":null})", "unknown key `client_has_cursor`"},
    {R"({"op":"client","policy":"patient"})", "unknown `policy` \"patient\""},
    {R"({"op":"client","policy":{"waits":1}})", "policy: unknown key `waits`"},
    {R"({"op":"client","policy":{"max_wait_ms":4294967296}})", "`max_wait_ms` must be at most 4294967295"},
    {R"({"op":"client","foreign_ids":"guess"})", "unknown `foreign_ids` guess"},
    {R"({"op":"client","speed":1})", "unknown key `speed`"},
    {R"({"op":"client"})", "the client never asked"},
    {R"({"op":"client"},{"op":"tick","ms":1})", "a GET after 0 ms, and no server_script is left"},
    {R"({"op":"client","x":"r1"},{"op":"server_script","on":"GET","answer":"404"},{"op":"tick","ms":0})",
     "a POST after 0 ms, and no server_script is left"},
    {client_continues + R"(,{"op":"server_script","on":"POST","answer":"404"})", "server_script 2: nobody asked"},
    {R"({"op":"server_script","on":"GET","answer":"404"})", "server_script 1: nobody asked"},
    {R"({"op":"server_script","on":"PUT","answer":"404"})", "unknown `on` `PUT`"},
    {R"({"op":"server_script","on":"GET","repeat":0,"answer":"404"})", "`repeat` is 0"},
    {R"({"op":"server_script","on":"GET","repeat":"often","answer":"404"})", "`repeat` must be a whole number"},
    {R"({"op":"server_script","on":"GET"})", "`answer` is missing"},
    {R"({"op":"server_script","answer":"404"})", "`on` is missing"},
};

TEST_CASE("a step that is not understood fails its case and is named", "[field_words]") {
  for (const wrong_steps& w : mistakes) {
    const field::case_report report = field::run_line(case_text(w.steps, R"({"outcome":"continue"})"));
    INFO(w.message << "\n" << listed(report));
    CHECK(report.result == result::failed);
    CHECK(listed(report).find(w.message) != std::string::npos);
  }
}

// What `answer` says, beside the message that names what is wrong with it.
const std::vector<std::pair<const char*, const char*>> wrong_answers = {
    {R"("")", "an answer begins with its status"},
    {R"("fine")", "an answer begins with its status, or with `no answer`, not with `fine`"},
    {R"("20")", "an answer begins with its status"},
    {R"("2000")", "an answer begins with its status"},
    {R"("099")", "an answer begins with its status"},
    {R"("+20 json")", "an answer begins with its status"},
    {R"("event e1")", "an answer begins with its status"},
    {R"([])", "`answer` must be a text, or a list of words"},
    {R"(200)", "`answer` must be a text, or a list of words"},
    {R"([200])", "an answer begins with its status"},
    {R"("200 video")", "unknown content type `video`"},
    {R"("200 event-stream")", "an event stream ends with"},
    {R"("200 event-stream, no event")", "an event stream ends with"},
    {R"("200 TEXT/EVENT-STREAM;a=b, no event")", "an event stream ends with"},
    {R"("no answer, clean close")", "`clean close` after the end"},
    {R"("200 event-stream, cut, event e1")", "`event` after the end"},
    {R"("200 event-stream, stays open, clean close")", "`clean close` after the end"},
    {R"("200 event-stream, clean close,")", "unknown word `` of an answer"},
    {R"("200 event-stream, fly, clean close")", "unknown word `fly` of an answer"},
    {R"("200 event-stream, fly home, clean close")", "unknown word `fly` of an answer"},
    {R"("200 event-stream, Event e1, clean close")", "unknown word `Event` of an answer"},
    {R"("200 event-stream, clean, clean close")", "unknown word `clean` of an answer"},
    {R"("200 event-stream, event e9, clean close")", "no event `e9` was issued"},
    {R"("200 event-stream, event, clean close")", "`event` needs an event"},
    {R"("200 event-stream, cut here")", "`cut` stands alone"},
    {R"("200 event-stream, comment c, clean close")", "`comment` stands alone"},
    {R"("200 event-stream, no event, event e1, clean close")", "`no event` beside an event"},
    {R"("200 event-stream, message m, no event, clean close")", "`no event` beside an event"},
    {R"("200 event-stream, retry soon, clean close")", "a whole number is expected, not \"soon\""},
    {R"("200 event-stream, retry 4294967296, clean close")", "a whole number is expected"},
    {R"("200 event-stream, after -1, clean close")", "a whole number is expected"},
    {R"("503, retry-after Monday")", "a whole number is expected"},
    {R"("503, retry-after")", "`retry-after` needs seconds"},
    {R"("200 event-stream, bytes x, clean close")", "`bytes` needs a literal"},
    {R"(["200 event-stream",{"bytes":{"of":"e1"}},"clean close"])", "`bytes` needs a literal"},
    {R"(["200 event-stream",{"fly":1},"clean close"])", "unknown word `fly` of an answer"},
    {R"(["200 event-stream",{"event":{"of":"e1"},"date":""},"clean close"])", "unknown key `date`"},
    {R"(["200 event-stream",{"marker":{"of":"e1"},"data":""},"clean close"])", "unknown key `data`"},
    {R"(["200 event-stream",{"event":{"of":"e1"},"data":7},"clean close"])", "`data` must be a string"},
    {R"(["200 event-stream",{"event":{"raw":"x"}},"clean close"])", "the event was never issued: it needs `data`"},
    {R"(["200 event-stream",{"event":7},"clean close"])", "a cursor must be an object"},
    {R"(["200 event-stream",{"event":null},"clean close"])", "`event` needs an event"},
    {R"(["200 event-stream",{"message":7},"clean close"])", "a text is expected"},
    {R"(["200 event-stream",{},"clean close"])", "a word of an answer is a text or an object"},
    {R"(["200 event-stream",7,"clean close"])", "a word of an answer is a text or an object"},
};

TEST_CASE("an answer that is not understood fails its case and is named", "[field_words]") {
  for (const auto& [answer, message] : wrong_answers) {
    const std::string steps = three_events + R"(,{"op":"client"},{"op":"server_script","on":"GET","answer":)" + answer +
                              R"(},{"op":"tick","ms":1})";
    const field::case_report report = field::run_line(case_text(steps, R"({"missed":0})"));
    INFO(answer << ": " << message << "\n" << listed(report));
    CHECK(report.result == result::failed);
    CHECK(listed(report).find(message) != std::string::npos);
  }
}

TEST_CASE("what is expected of a client fails where there is none", "[field_words]") {
  for (const char* expect : {R"({"outcome":"client_backoff"})", R"({"missed":0})", R"({"delivered":[]})",
                             R"({"recovery":[]})", R"({"cursors":[]})", R"({"limits":{"waits":"non-decreasing"}})",
                             R"({"limits":{"max_requests":9}})", R"({"limits":{"max_requests_in_60s":9}})"}) {
    for (const std::string& steps : {resume_e1, open_a + R"({"op":"measure"})"}) {
      const field::case_report report = field::run_line(case_text(steps, expect));
      INFO(expect << "\n" << listed(report));
      CHECK(report.result == result::failed);
      CHECK(listed(report).find("the case has no client") != std::string::npos);
    }
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
      {R"({"op":"parallel","n":1,"steps":[{"op":"client"}]})", "`client` inside of `parallel`"},
      {R"({"op":"client"},{"op":"parallel","n":1,"steps":[{"op":"client_has_cursor","cursor":null}]})",
       "`client_has_cursor` inside of `parallel`"},
      {R"({"op":"client"},{"op":"parallel","n":1,"steps":[{"op":"server_script","on":"GET","answer":"404"}]})",
       "`server_script` inside of `parallel`"},
      {R"({"op":"client"},{"op":"parallel","n":1,"steps":[{"op":"tick","ms":1}]})", "`tick` inside of `parallel`"},
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

TEST_CASE("what cannot be measured of a client is named and the case counts by the rest", "[field_words]") {
  const field::case_report by_rest = field::run_line(
      case_text(backs_off, R"({"outcome":"client_backoff","must_not":["whatever"],"limits":{"joy":1}})"));
  INFO(listed(by_rest));
  CHECK(by_rest.result == result::passed);
  CHECK(by_rest.notes == std::vector<std::string>{"must_not `whatever`: not measured", "limit joy: not measured"});
  CHECK(field::run_line(case_text(backs_off, R"({"limits":{"joy":1}})")).result == result::skipped);
  const std::string honour = R"({"limits":{"waits":"honour retry: as minimum"}})";
  CHECK(field::run_line(case_text(backs_off, honour)).notes.size() == 1);  // it asked for nothing
  CHECK(field::run_line(case_text(shrinking, honour)).notes.empty());
  const std::string asked = R"({"op":"client"},{"op":"server_script","on":"GET","answer":"503, retry-after 7"},
    {"op":"server_script","on":"GET","answer":"404"},{"op":"tick","ms":9000})";
  CHECK(field::run_line(case_text(asked, R"({"limits":{"waits":"honour retry-after as minimum"}})")).notes.empty());
}

// ---- What a client does, whatever the library's does -----------------------------------------------------------------

TEST_CASE("a scripted answer is sent byte for byte as it is written", "[field_words]") {
  field::world all;
  field::session_state& old = all.sessions["O"];
  old.tag = 0xABU;
  old.negotiated = field::mr::protocol::v2025_06_18;
  const std::string of_old = "00000000000000ab.0000000000000001.0.5", of_none = "00000000000000cd.0000000000000001.0.5";
  field::answer_reader words(all, [](const field::json& c) { return c.at("of").get<std::string>(); });
  const field::scripted_answer read = words.read(field::json::parse(
      R"(["206 Text/x","session S","retry-after 3","marker )" + of_old + R"(","marker )" + of_none +
      R"(","gap a","reset b","message m","retry 5","comment",{"bytes":{"raw_hex":"000d0a"}},"after 7","after 2",
      {"data":"l1\rl2","event":{"of":"c"}}])"));
  CHECK(read.status == 206);
  CHECK(read.content_type == "Text/x");
  CHECK(read.session_id == "S");
  CHECK(read.retry_after_ms == 3000);
  CHECK_FALSE(read.is_kept_open);
  std::string sent;
  std::uint64_t waited = 0;
  for (const field::scripted_bytes& b : read.sent) {
    sent += b.bytes;
    waited += b.after_ms;
  }
  CHECK(waited == 9);
  CHECK(read.sent.back().after_ms == 9);
  const auto notification = [](const std::string& what, const std::string& id) {
    return R"({"jsonrpc":"2.0","method":"notifications/resume/)" + what + R"(","params":{"lastEventId":")" + id +
           "\"}}";
  };
  CHECK(sent == "event: resume\nid: " + of_old + "\ndata: " + notification("continued", of_old) + "\n\nid: " + of_none +
                    "\ndata: \n\nevent: gap\nid: a\ndata: " + notification("gap", "a") +
                    "\n\nevent: reset\nid: b\ndata: " + notification("reset", "b") + "\n\ndata: m\n\nretry: 5\n\n: \n" +
                    std::string("\0\r\n", 3) + "id: c\ndata: l1\ndata: l2\n\n");
}

struct made_request {
  std::uint64_t waited_ms;
  std::uint64_t retry_ms;        // 0: none
  std::uint64_t retry_after_ms;  // 0: none
  bool follows_progress;
};

// What one limit says of a client that sent these requests after its first one.
std::vector<std::string> judged(const std::vector<made_request>& requests, const std::string& limit,
                                const field::json& bound) {
  const field::world all;
  field::scripted_server server;
  field::scripted_client client({}, server, all);
  client.requests.emplace_back();
  for (const made_request& r : requests) {
    field::client_request made;
    made.at_ms = client.requests.back().at_ms + r.waited_ms;
    made.waited_ms = r.waited_ms;
    made.follows_progress = r.follows_progress;
    if (r.retry_ms != 0) made.retry_ms = r.retry_ms;
    if (r.retry_after_ms != 0) made.retry_after_ms = r.retry_after_ms;
    client.requests.push_back(made);
  }
  client.has_ended = true;  // its time does not matter
  std::vector<std::string> failures, notes;
  field::client_verdict(client, all, failures, notes).judge_limit(limit, bound);
  return failures;
}

TEST_CASE("a client that does not wait as it was asked fails its rule", "[field_words]") {
  const char* retry = "honour retry: as minimum";
  CHECK(judged({{5000, 0, 0, false}, {5000, 5000, 0, false}}, "waits", retry).empty());
  CHECK_FALSE(judged({{4999, 5000, 0, false}}, "waits", retry).empty());
  CHECK_FALSE(judged({{9000, 5000, 0, false}, {4999, 5000, 0, true}}, "waits", retry).empty());
  CHECK(judged({{9, 0, 10, false}}, "waits", retry).empty());
  const char* retry_after = "honour retry-after as minimum";
  CHECK(judged({{5000, 9000, 5000, false}, {1, 0, 0, false}}, "waits", retry_after).empty());
  CHECK_FALSE(judged({{5000, 0, 5000, false}, {4999, 0, 5000, false}}, "waits", retry_after).empty());
}

TEST_CASE("waits may become shorter only after progress", "[field_words]") {
  const char* rule = "non-decreasing";
  CHECK(judged({{1, 0, 0, false}, {1, 0, 0, false}, {2, 0, 0, false}}, "waits", rule).empty());
  CHECK_FALSE(judged({{1, 0, 0, false}, {3, 0, 0, false}, {2, 0, 0, false}}, "waits", rule).empty());
  CHECK(judged({{1, 0, 0, false}, {3, 0, 0, false}, {2, 0, 0, true}}, "waits", rule).empty());
  CHECK_FALSE(judged({{1, 0, 0, false}, {3, 0, 0, true}, {2, 0, 0, false}}, "waits", rule).empty());
  CHECK_FALSE(judged({{1, 0, 0, false}, {3, 0, 0, true}, {4, 0, 0, true}}, "waits", rule).empty());  // no pair
  CHECK_FALSE(judged({{1, 0, 0, false}}, "waits", rule).empty());
}

TEST_CASE("requests are counted in every stretch of time and not in the first one alone", "[field_words]") {
  const std::vector<made_request> late = {{90000, 0, 0, false}, {10000, 0, 0, false}, {10000, 0, 0, false}};
  CHECK(judged(late, "max_requests_in_60s", 3U).empty());
  CHECK_FALSE(judged(late, "max_requests_in_60s", 2U).empty());
  CHECK(judged(late, "max_requests_in_20s", 2U).empty());  // two ends of a stretch are not in it
  CHECK(judged(late, "max_requests_in_90s", 3U).empty());
  CHECK_FALSE(judged(late, "max_requests_in_111s", 3U).empty());
  CHECK(judged(late, "max_requests", 4U).empty());
  CHECK_FALSE(judged(late, "max_requests", 3U).empty());
}

TEST_CASE("a wait that the server asked for holds until it asks for another one", "[field_words]") {
  field::case_run run;
  run.run(field::json::parse(R"([{"op":"client","policy":{"max_retry_ms":8000}},
    {"op":"server_script","on":"GET","answer":"200 event-stream, retry 5000, clean close"},
    {"op":"server_script","on":"GET","answer":"503, retry-after 9"},
    {"op":"server_script","on":"GET","answer":"200 event-stream, no event, clean close"},
    {"op":"server_script","on":"GET","answer":"200 event-stream, retry 9000, clean close"},
    {"op":"server_script","on":"GET","answer":"200 event-stream, stays open"},{"op":"tick","ms":200000}])"));
  using asked = std::optional<std::uint64_t>;
  std::vector<asked> retry, retry_after;
  for (const field::client_request& r : run.tested_client->requests) {
    retry.push_back(r.retry_ms);
    retry_after.push_back(r.retry_after_ms);
  }
  CHECK(retry == std::vector<asked>{asked(), 5000U, 5000U, 5000U, 8000U});
  CHECK(retry_after == std::vector<asked>{asked(), asked(), 8000U, asked(), asked()});
}

TEST_CASE("what a server asks to wait is read without the library's reader", "[field_words]") {
  CHECK(field::retry_in("retry: 7\n\nretry:8\n\nretry: 9\n") == 8U);
  CHECK(field::retry_in("retry: 0007\r\rretry: x\n\nretry: 1 \n\nretry:\n\n") == 7U);
  CHECK(field::retry_in("retry: 0\n\n") == 0U);
  CHECK(field::retry_in("retry: 99999999999999999999999\n\n") == ~std::uint64_t{0});
  CHECK_FALSE(field::retry_in("retry: -1\n\ndata: retry: 5\n\n"));
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

// Values of every kind, and every place for one.
TEST_CASE("the strict parser makes the values that the JSON library makes", "[field_words]") {
  const char* const scalars[] = {"null",
                                 "true",
                                 "false",
                                 "0",
                                 "-1",
                                 "18446744073709551615",
                                 "1.5",
                                 "-0.0",
                                 "1e300",
                                 R"("")",
                                 R"("a\"\u00e4\u0000")",
                                 "[]",
                                 "{}"};
  for (const std::string scalar : scalars) {
    for (const std::string& text :
         {scalar, "[" + scalar + "]", "[[]," + scalar + ",{}]", R"({"b":)" + scalar + R"(,"a":[)" + scalar + "]}",
          R"([{"b":{"z":)" + scalar + R"(,"":)" + scalar + "}}," + scalar + "]"}) {
      INFO(text);
      const auto ordered = example::parse_strictly<nlohmann::ordered_json>(text);
      CHECK(ordered.dump() == nlohmann::ordered_json::parse(text).dump());
      CHECK(example::parse_strictly(text) == nlohmann::json::parse(text));
    }
  }
  for (const char* wrong :
       {"", "[", "[1,]", "{\"a\"}", "{} {}", "1e400", "nul", "[1 2]", "{\"a\":{\"b\":1,\"b\":2}}"}) {
    INFO(wrong);
    CHECK_THROWS_AS(example::parse_strictly(wrong), example::json_error);
  }
  const auto nested = [](int depth) { return std::string(unsigned(depth), '[') + std::string(unsigned(depth), ']'); };
  CHECK(example::parse_strictly(nested(64)).is_array());
  CHECK_THROWS_AS(example::parse_strictly(nested(65)), example::json_error);
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

run_of_program run_program(const std::string& files, const std::string& before = "") {
  run_of_program done;
  FILE* pipe = popen((before + std::string(FIELD_CASES_PROGRAM) + " " + files + " 2>&1").c_str(), "r");
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

std::string many(std::size_t n, const std::string& piece) {
  std::string all;
  for (std::size_t i = 0; i != n; ++i) all += piece;
  return all;
}

// A cost that is the square of the line's size needs many minutes here, one that is its size a second: the limit is CPU time,
// which other programs do not use up, and far from both.
TEST_CASE("a line of very many small values costs no more than its size", "[field_words]") {
  constexpr std::size_t n = 700000;
  std::string members;
  for (std::size_t i = 0; i != n; ++i) members += "\"" + std::to_string(i) + "\":0,";
  const std::string wide[] = {"[" + many(n, "[],") + "0]", "[" + many(n, "{},") + "0]", "[" + many(n, "1,") + "0]",
                              "{" + members + "\"\":0}"};
  for (const std::string& value : wide) {
    const temporary_file file(R"({"note":)" + value + R"(,"id":"a","steps":)" + value + R"(,"expect":{}})" + "\n" +
                              value);
    const run_of_program done = run_program(file.name, "ulimit -t 60; exec ");
    INFO(value.substr(0, 20) << done.out.substr(0, 300));
    CHECK(done.status == 1);
    CHECK(done.last_line() == "0 passed, 2 failed, 0 skipped");
  }
}

TEST_CASE("a line over 16 MiB is an input error that ends its file", "[field_words]") {
  const std::string good = one_line(case_text(resume_e1, R"({"outcome":"continue"})"));
  const std::string blank(std::size_t{16} << 20U, ' ');
  const temporary_file longer(good + blank + " \n" + good), fits(blank + "\n" + good);
  const run_of_program refused = run_program(longer.name);
  CHECK(refused.status == 2);
  CHECK(refused.out == "FAIL " + longer.name + ":2: longer than 16 MiB\n1 passed, 0 failed, 0 skipped\n");
  CHECK(run_program(fits.name).status == 0);
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
