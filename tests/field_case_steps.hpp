// SPDX-License-Identifier: MIT
// Promise: each word of a field case is executed with all its parameters, or refused by its name.
#pragma once

#include <exception>
#include <iterator>
#include <thread>

#include "field_case_client.hpp"
#include "field_case_cursor.hpp"
#include "field_case_world.hpp"

namespace field {

// What a request under test was answered with.
struct answer {
  std::string op, name, written_name;  // `written_name` before substitution
  std::string cursor_symbol;           // of `{of}`
  variables loop;
  std::string outcome;
  int status = 0;  // 0: the library lets the request pass, any 2xx is the server's to choose
  std::optional<mr::resolution> decided;
  connection_ptr reads;
  std::string session;
  std::vector<std::string> missing;  // after the cursor, and no longer held
  bool is_literal_issued = false;    // the cursor was made from literals and equals an issued id
  std::uint64_t began = 0;           // moments
  std::uint64_t attached = 0;

  std::string label() const { return name.empty() ? op : name; }
};

// A call of the set-up that may be refused.
struct setup_result {
  std::string op, name;
  bool is_refused = false;
  std::string detail;
};

struct measured {
  mr::inspection counts;
};

// Runs the steps of one case.
class case_run {
 public:
  world all;
  std::vector<answer> answers;
  std::vector<setup_result> setups;
  std::vector<measured> measures;
  scripted_server script;
  std::unique_ptr<scripted_client> tested_client;
  std::vector<connection_ptr> wires;  // of check_wire
  bool has_check_wire = false;

  void run(const json& steps) {
    choose_first_time(steps);
    run_steps(steps, {});
    for (const paused_resume& p : paused_) {
      const connection_ptr& reads = answers[p.answer].reads;
      if (!reads || reads->is_connected) throw case_error("a resume was paused and never continued");
    }
    check_client();
    all.read_all();
  }

  void check_wire_at_end() { check_wire(arguments(json::object()), {}); }

  // Every word of a case known and every key of it, however deep.
  static void check_words(const json& steps);

 private:
  struct word {
    std::string_view op, keys;
    void (case_run::*run)(const arguments&, const variables&);
  };
  struct asked {
    std::string version, session_id, cursor, principal;
    std::string pause_point;
    bool is_client_gone = false;  // before it read anything
    mr::request view() const { return {version, session_id, cursor, principal}; }
  };
  struct paused_resume {
    std::size_t answer;
    asked sent;
  };
  struct begun_append {
    std::string name, s, x, e, payload;
  };

  static const word* find_word(std::string_view op);
  static bool is_loop(const std::string& op) { return op == "repeat" || op.rfind("for_each_", 0) == 0; }
  static std::string_view loop_keys(const std::string& op) {
    return op == "repeat" ? "op n steps note why" : "op n names values steps note why";
  }

  // ---- Control

  // A case whose clock is set before time passes starts there: otherwise its sessions would look decades idle.
  void choose_first_time(const json& steps) {
    for (const json& step : steps) {
      const std::string op = step.value("op", "");
      if (op == "tick") return;
      if (op != "clock" || !step.contains("set_ms")) continue;
      all.clock = arguments(step).number("set_ms");
      return;
    }
  }

  void run_steps(const json& steps, const variables& loop) {
    std::size_t number = 0;
    for (const json& written : steps) {
      ++number;
      const std::string op = written.at("op").get<std::string>();
      try {
        if (++steps_run_ > most_steps) throw case_error("more than 20 million steps");
        run_step(op, written, loop);
      } catch (const case_error& e) {
        throw case_error("step " + std::to_string(number) + " (" + op + "): " + e.what());
      }
    }
  }

  void run_step(const std::string& op, const json& written, const variables& loop) {
    const json step = substitute(written, loop);
    const json name = written.value("as_", json());
    const arguments a(step, name.is_string() ? name.get<std::string>() : "");
    if (is_loop(op)) return repeat(a, loop, op);
    if (op == "parallel") return parallel(a, loop);
    const word* known = find_word(op);
    if (known == nullptr) throw case_error("unknown op `" + op + "`");
    (this->*known->run)(a, loop);
  }

  static variables inner(const variables& loop, const std::string& name, const std::string& value) {
    variables made = loop;
    made[name] = value;
    return made;
  }

  void repeat(const arguments& a, const variables& loop, const std::string& op) {
    const char* listed = a.has("names") ? "names" : "values";
    if (!a.has(listed)) {
      for (std::uint64_t i = 1, n = a.number("n", most_steps); i <= n; ++i) {
        run_steps(a.list("steps"), inner(loop, "i", std::to_string(i)));
      }
      return;
    }
    if (a.has("n")) throw case_error("both `n` and a list");
    std::uint64_t i = 0;
    for (const std::string& name : a.texts(listed)) {
      variables made = inner(loop, "name", name);
      made["i"] = std::to_string(++i);
      if (op != "repeat") made[op.substr(std::string_view("for_each_").size())] = name;
      run_steps(a.list("steps"), made);
    }
  }

  // With `n`: that many threads run all steps. Without: one thread for each step.
  void parallel(const arguments& a, const variables& loop) {
    if (is_parallel_) throw case_error("`parallel` inside of `parallel`");
    const json& steps = a.list("steps");
    const std::size_t n = a.has("n") ? static_cast<std::size_t>(a.number("n", most_threads)) : steps.size();
    if (n > most_threads) throw case_error("more than 64 threads");
    all.live_table();
    is_parallel_ = true;
    std::vector<std::exception_ptr> thrown(n);
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i != n; ++i) {
      threads.emplace_back([&, i] {
        try {
          const json mine = a.has("n") ? steps : json::array({steps[i]});
          run_steps(mine, inner(loop, "i", std::to_string(i + 1)));
        } catch (...) {
          thrown[i] = std::current_exception();
        }
      });
    }
    for (std::thread& t : threads) t.join();
    is_parallel_ = false;
    for (const std::exception_ptr& e : thrown) {
      if (e) std::rethrow_exception(e);
    }
  }

  // ---- Set-up

  void config(const arguments& a, const variables&);
  void open_session(const arguments& a, const variables&);
  void open_stream(const arguments& a, const variables&);
  void open_standalone(session_state& s, const arguments& a);
  void open_request_stream(session_state& s, const std::string& name, const arguments& a);
  void after_open(const connection_ptr& made, const arguments& a);
  void clock(const arguments& a, const variables&);
  void tick(const arguments& a, const variables&);

  // ---- Events and faults

  void append(const arguments& a, const variables&);
  void append_n(const arguments& a, const variables&);
  void finish(const arguments& a, const variables&);
  void begin_append(const arguments& a, const variables&);
  void continue_append(const arguments& a, const variables&);
  void drop(const arguments& a, const variables&);
  void restart(const arguments& a, const variables&);
  void end_session(const arguments& a, const variables&);
  void forget_stream(const arguments& a, const variables&);

  // ---- The client's side

  void client(const arguments& a, const variables&);
  void client_has_cursor(const arguments& a, const variables&);
  void script_server(const arguments& a, const variables&);
  scripted_client& client_of_case() const;
  void check_client();

  // ---- Under test

  void resume(const arguments& a, const variables& loop);
  void continue_resume(const arguments& a, const variables&);
  void resume_each(const arguments& a, const variables& loop);
  void resume_chain(const arguments& a, const variables& loop);
  void request(const arguments& a, const variables& loop);
  void ask_session(const arguments& a, answer made, const asked& sent, const std::string& symbol);
  void measure_resume(const arguments& a, const variables& loop);
  void measure(const arguments&, const variables&) { measures.push_back({all.live_table().inspect()}); }
  void check_wire(const arguments& a, const variables&);
  void try_ids(const arguments& a, const variables&);

  std::string payload_of(const arguments& a, const std::string& symbol) const;
  void note_setup(const std::string& op, const arguments& a, mr::refusal why);
  asked ask(const arguments& a, const char* session_key, const std::string& cursor);
  std::string principal_of(const arguments& a, const session_state* s) const;
  std::string last_id_in(const std::string& name);
  cursor_text cursor_of(const json& written);
  answer begin_answer(const std::string& op, const arguments& a, const variables& loop) const;
  answer get(answer made, const asked& sent, const cursor_text& cursor, const std::string& symbol);
  void attach(answer& to, const asked& sent, const mr::reader& attached);
  void decide(answer& to, const mr::resolution& decided, const std::string& symbol);
  std::vector<std::string> missing_of(const mr::resolution& decided) const;
  void each_cursor(const char* op, const arguments& a, const variables& loop);

  static constexpr std::uint64_t most_steps = 20000000, most_threads = 64;

  std::atomic<std::uint64_t> steps_run_{0};
  std::atomic<bool> is_parallel_{false};
  std::mutex results_;  // guards answers, setups
  std::vector<paused_resume> paused_;
  std::vector<begun_append> begun_;
};

}  // namespace field
