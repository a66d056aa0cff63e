// SPDX-License-Identifier: MIT
// mcp_resume_server: a complete MCP server on Streamable HTTP whose streams can be resumed.
#include <httplib.h>
#include <signal.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <future>
#include <thread>

#include "../usage_error.hpp"
#include "mcp_server.hpp"

namespace {

constexpr std::size_t most_connections = 4096;
constexpr std::chrono::seconds longest_stop{5};

std::uint64_t now_ms() {
  const auto since_start = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(since_start).count());
}

// Signals come to the thread that waits for them, and to no other.
sigset_t signals_that_stop() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  return set;
}

// Moves the sessions' time until a signal comes, or the listener has ended by itself.
void tick_until_stopped(example::hub& sessions, const std::atomic<bool>& has_ended) {
  const sigset_t set = signals_that_stop();
  const timespec interval{0, 100'000'000};
  while (!has_ended && sigtimedwait(&set, nullptr, &interval) < 0) sessions.tick(now_ms());
}

void configure(httplib::Server& http, int& listening) {
  http.new_task_queue = [] { return new example::connection_threads(most_connections); };
  http.set_tcp_nodelay(true);
  http.set_payload_max_length(example::most_body_bytes);
  http.set_write_timeout(std::chrono::seconds(10));
  // One request for each connection: httplib leaves the body of a refused request unread, and would take it for the
  // next request, past the check of its Origin; and it drops the second of two requests that arrive together.
  http.set_keep_alive_max_count(1);
  http.set_socket_options([&listening](int socket) {
    const int yes = 1;  // httplib's own option lets two servers share a port, each with sessions that the other lacks
    ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    listening = socket;
  });
}

// Returns the exit status. A client that takes its time with a request or an answer does not hold the end up.
int serve_until_stopped(httplib::Server& http, example::mcp_server& server) {
  std::atomic<bool> has_ended{false};
  std::thread listener([&http, &has_ended] {
    http.listen_after_bind();
    has_ended = true;
  });
  // httplib forgets a stop() that comes before it runs.
  while (!http.is_running() && !has_ended) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  tick_until_stopped(server.sessions(), has_ended);
  const int status = has_ended ? 1 : 0;
  if (status != 0) std::fprintf(stderr, "mcp_resume_server: no connection can be accepted any more\n");
  const auto stopped = std::async(std::launch::async, [&] {
    server.stop();
    http.stop();
    listener.join();
  });
  if (stopped.wait_for(longest_stop) != std::future_status::ready) std::_Exit(status);
  return status;
}

int serve(const example::server_settings& settings, int port) {
  example::mcp_server server(settings, now_ms());
  httplib::Server http;
  int listening = -1;
  configure(http, listening);
  server.route(http);
  const int bound = port == 0 ? http.bind_to_any_port("127.0.0.1") : http.bind_to_port("127.0.0.1", port) ? port : -1;
  if (bound < 0) {
    std::fprintf(stderr, "mcp_resume_server: port %d of 127.0.0.1 cannot be bound\n", port);
    return 1;
  }
  ::listen(listening, SOMAXCONN);  // again: httplib lets 5 connections wait, and the others a second or more
  std::printf("http://127.0.0.1:%d/mcp\n", bound);
  std::fflush(stdout);
  return serve_until_stopped(http, server);
}

}  // namespace

int main(int argc, char** argv) {
  example::server_settings settings;
  settings.bounds.retry_ms = 1000;
  settings.bounds.supported =
      settings.bounds.supported.without(mcp_resume::protocol::v2026_07_28).without(mcp_resume::protocol::v2024_11_05);
  int port = 8931;
  CLI::App app(
      "An MCP server on Streamable HTTP whose streams can be resumed.\n"
      "Example: mcp_resume_server --port 8931 --state sessions.json");
  app.add_option("--port", port, "port on 127.0.0.1; 0 takes a free one")
      ->check(CLI::Range(0, 65535))
      ->capture_default_str();
  app.add_option("--max-events", settings.bounds.max_events, "events held by a session")->capture_default_str();
  app.add_option("--max-bytes", settings.bounds.max_bytes, "bytes held by a session")->capture_default_str();
  app.add_option("--max-age", settings.bounds.max_age_ms, "ms that an event is held; 0 = no bound")
      ->capture_default_str();
  app.add_option("--session-ttl", settings.bounds.idle_ms, "ms without activity that end a session; 0 = never")
      ->capture_default_str();
  app.add_option("--principal-header", settings.principal_header,
                 "header in which an authenticating proxy names the principal");
  app.add_option("--state", settings.state_path, "file that keeps the sessions' names over a restart");
  app.failure_message(example::usage_error);
  CLI11_PARSE(app, argc, argv);

  const sigset_t set = signals_that_stop();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);  // before any thread begins: they inherit it
  signal(SIGPIPE, SIG_IGN);
  try {
    return serve(settings, port);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "mcp_resume_server: %s\n", example::printable(e.what()).c_str());
    return 1;
  }
}
