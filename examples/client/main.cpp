// SPDX-License-Identifier: MIT
// mcp_resume_client: calls a tool of an MCP server, over any number of broken connections, and says what it was told.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <thread>

#include "../usage_error.hpp"
#include "mcp_client.hpp"

namespace {

struct asked {
  std::string url, tool, arguments = "{}";
  bool is_watching = false;
  example::client_settings settings;
};

int run(const asked& what) {
  const nlohmann::json arguments = nlohmann::json::parse(what.arguments, nullptr, false);
  if (!arguments.is_object()) throw std::runtime_error("--args must be a JSON object");
  example::printer out;
  example::mcp_client client(what.url, what.settings, out);
  client.initialize();
  std::thread watcher;
  mcp_resume::recovery left = mcp_resume::recovery::none, watched = left;
  if (what.is_watching) watcher = std::thread([&client, &watched] { watched = client.watch(); });
  if (!what.tool.empty()) {
    left = client.call(what.tool, arguments);
    client.end();
    client.stop();
  }
  if (watcher.joinable()) watcher.join();
  if (what.tool.empty()) left = watched;
  if (left == mcp_resume::recovery::none) return 0;
  std::fprintf(stderr, "mcp_resume_client: %s; recovery: %s\n",
               what.tool.empty() ? "the stream has ended" : "no answer", std::string(to_string(left)).c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  asked what;
  CLI::App app(
      "Calls a tool of an MCP server and survives broken connections.\n"
      "Example: mcp_resume_client http://127.0.0.1:8931/mcp --tool slow --args '{\"steps\":20}' --watch");
  app.add_option("URL", what.url, "endpoint of the server")->required();
  app.add_option("--tool", what.tool, "tool to call");
  app.add_option("--args", what.arguments, "its arguments, a JSON object")->capture_default_str();
  app.add_flag("--watch", what.is_watching, "follow the standalone stream too");
  app.add_option("--attempts", what.settings.patience.max_attempts,
                 "failed attempts in a row until it gives up; 0 = never")
      ->capture_default_str();
  app.add_option_function<unsigned>(
         "--timeout", [&what](unsigned seconds) { what.settings.timeout = std::chrono::seconds(seconds); },
         "seconds without an answer, or without a byte on a stream, that end a connection")
      ->check(CLI::Range(1U, 3600U))
      ->default_str("60");
  app.failure_message(example::usage_error);
  try {
    app.parse(argc, argv);
    return run(what);
  } catch (const CLI::ParseError& e) {
    return app.exit(e);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "mcp_resume_client: %s\n", example::printable(e.what()).c_str());
    return 2;
  }
}
