// SPDX-License-Identifier: MIT
// One run of `probe`: its sessions, its checks, and what they found.
#ifndef MCP_RESUME_EXAMPLES_PROBER_HPP
#define MCP_RESUME_EXAMPLES_PROBER_HPP

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "judge.hpp"
#include "probe.hpp"
#include "probe_history.hpp"
#include "probe_http.hpp"

namespace oracle {

inline constexpr std::chrono::milliseconds head_wait{5000};  // for a status

// From harmless to worst.
enum class verdict {
  ok,
  no_resume,   // nothing can be resumed, or not this
  misleading,  // the answer makes a client do the wrong thing
  disorder,
  duplicate,
  silent_fresh,
  silent_loss,
  leak
};
std::string_view to_string(verdict made);
verdict verdict_of(violation kind);

struct fault {
  verdict made = verdict::ok;
  std::string saw, advice;
};

// One resume, or something else that was tried: what was sent and what came.
struct attempt {
  std::string saw;
  std::optional<std::size_t> step;  // of the trace: the judge's findings on it are this attempt's
  std::vector<fault> faults;        // what no trace shows
};

struct check {
  std::string name;
  std::vector<attempt> attempts = {};
  std::string skipped = {};      // why, if it was
  bool is_for_the_rest = false;  // the judge's findings on steps of no attempt are this check's
};

struct client_session {
  std::string name;  // in the trace
  std::string id, version;
};

struct running_call {
  const client_session* who = nullptr;
  std::string stream;
  long id = 0;
  std::unique_ptr<exchange> http;
};

// How a cursor is sent: as usual, or in two headers.
struct resume_request {
  const client_session* who = nullptr;
  std::string stream;
  std::vector<std::string> cursors;
  std::string as;  // for the trace
};

// What came, in a few words.
std::string show_answer(const http_answer& got);
// What a client makes of the status, where its cursor is no good, and where it is.
std::optional<fault> fault_of_refusal(const http_answer& got);
std::optional<fault> fault_of_continuation(const http_answer& got, bool is_owed);

class prober {
 public:
  prober(const probe_options& options, std::function<void(const std::string&)> progress);
  probed run();

 private:
  // probe.cpp
  void run_checks();
  void run_check(void (prober::*one)());
  report make_report() const;
  check& begin(const std::string& name);
  void skip(const std::string& name, const std::string& why);
  bool is_late() const { return steady::now() > end_; }
  bool is_over() const { return is_late() || unanswered_ >= 3; }

  void add_fault(check& into, std::optional<fault> made);

  // probe_session.cpp
  client_session open_session(const std::string& name);
  void open_sessions();
  void end_sessions();
  int end_session(const client_session& who);
  std::unique_ptr<exchange> send(const client_session* who, const char* method, headers fields, std::string body);
  running_call begin_call(const client_session& who);
  http_answer finish_call(running_call& call);
  void call(const client_session& who);
  void first_calls();
  std::unique_ptr<exchange> get(const resume_request& asked);
  http_answer listen(exchange& from, const std::vector<std::string>& owed);
  http_answer take(exchange& from);
  attempt record(const resume_request& asked, const http_answer& got);
  std::unique_ptr<exchange> get_patiently(const resume_request& asked);
  bool has_answer(const http_answer& got, long id) const;
  void wait_for_answer(exchange& from, long id);
  std::chrono::milliseconds patience() const { return 2 * tail_ + std::chrono::seconds(2); }
  http_answer resume(check& into, const resume_request& asked, const std::vector<std::string>& owed = {});
  http_answer expect_refusal(check& into, const resume_request& asked);
  http_answer expect_continuation(check& into, const resume_request& asked);

  // probe_checks.cpp
  void check_ids();
  void check_offer();
  void check_standalone();
  void check_window();
  void check_final_id();
  void check_running_call();
  void check_two_resumes();
  void check_two_standalone(const std::string& name);
  void check_standalone_window();
  void check_standalone_away();
  void check_foreign();
  void check_invented();
  void check_malformed();
  void check_no_session();
  void check_end();
  void check_eviction();
  void refuse(const std::string& name, const std::vector<std::string>& cursors);
  void expect_gone(check& into, const resume_request& asked);
  void compare_two(check& into, const http_answer& first, const http_answer& second, bool is_first, bool is_second);
  std::string break_call(running_call& call);
  std::vector<std::string> call_ids(const client_session& who) const;  // of its first call
  std::string any_id() const;
  bool can_resume(const std::string& name);  // else the check is skipped
  bool can_resume_standalone(const std::string& name);
  bool is_slow() const;
  std::string too_fast() const;

  const probe_options& options_;
  std::function<void(const std::string&)> progress_;
  steady::time_point end_;
  byte_budget budget_;
  endpoint to_;
  probe_history history_;
  std::deque<client_session> sessions_;
  std::deque<check> checks_;
  int unanswered_ = 0;  // requests in a row
  long last_request_ = 0;
  int last_call_ = 0;
  bool has_events_ = false;            // calls bring events that have ids
  bool is_offered_ = true;             // a GET with a cursor is not answered 405
  std::chrono::milliseconds tail_{};   // of a call, after its first id
  http_answer standalone_got_;         // of the first session
  std::size_t standalone_events_ = 0;  // that one call brings there
};

}  // namespace oracle

#endif  // MCP_RESUME_EXAMPLES_PROBER_HPP
