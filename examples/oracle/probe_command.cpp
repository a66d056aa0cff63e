// SPDX-License-Identifier: MIT
// The subcommand `probe`.
#include <fmt/core.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "../bounded_json.hpp"
#include "commands.hpp"
#include "input_error.hpp"
#include "probe.hpp"
#include "text.hpp"

namespace oracle {
namespace {

struct asked {
  probe_options options;
  std::vector<std::string> headers;
  report_format format = report_format::text;
};

bool is_token(const std::string& name) {
  constexpr const char* most = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.!#$%&'*+^`|~";
  return !name.empty() && name.find_first_not_of(most) == name.npos;
}

bool is_of_the_probe(const std::string& name) {
  const auto is_same = [&name](const std::string& other) {
    return std::equal(name.begin(), name.end(), other.begin(), other.end(),
                      [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; });
  };
  const std::vector<std::string> own{
      "accept",        "connection",     "content-length",       "content-type",     "host",
      "last-event-id", "mcp-session-id", "mcp-protocol-version", "transfer-encoding"};
  return std::any_of(own.begin(), own.end(), is_same);
}

std::pair<std::string, std::string> header_of(const std::string& text) {
  const std::size_t colon = text.find(':');
  const std::string name = text.substr(0, colon);
  if (colon == text.npos || !is_token(name)) throw input_error("--header", "must be NAME:VALUE");
  if (is_of_the_probe(name)) throw input_error("--header", name + " is set by the probe itself");
  const std::size_t begin = std::min(text.find_first_not_of(' ', colon + 1), text.size());
  const std::string value = text.substr(begin);
  const bool is_plain = std::none_of(value.begin(), value.end(), [](unsigned char c) { return c < ' ' || c == 0x7F; });
  if (!is_plain) throw input_error("--header", name + " has a control character");
  return {name, value};
}

void check_arguments(const std::string& text) {
  if (example::nests_too_deep(text)) throw input_error("--args", "nests deeper than 64");
  if (!nlohmann::json::parse(text, nullptr, false).is_object()) throw input_error("--args", "must be a JSON object");
}

int run(asked& what) {
  signal(SIGPIPE, SIG_IGN);
  check_arguments(what.options.arguments);
  for (const std::string& each : what.headers) what.options.headers.push_back(header_of(each));
  const bool is_seen = isatty(STDERR_FILENO) != 0;
  const auto progress = [is_seen](const std::string& name) {
    if (is_seen) fmt::print(stderr, "\r\x1b[K{} ...", name);
  };
  std::ofstream trace_file;
  if (!what.options.trace_path.empty()) trace_file.open(what.options.trace_path);
  if (!what.options.trace_path.empty() && !trace_file)
    throw input_error(printable(what.options.trace_path), "cannot be written");
  const probed found = probe(what.options, progress);
  if (is_seen) fmt::print(stderr, "\r\x1b[K");
  if (trace_file.is_open()) write_trace(trace_file, found.recorded);
  if (trace_file.is_open() && !trace_file.flush())
    throw input_error(printable(what.options.trace_path), "cannot be written");
  print_all(format_report(found.made, what.format));
  return found.made.has_findings() ? 1 : 0;
}

}  // namespace

void add_probe(CLI::App& program, int& status) {
  const auto what = std::make_shared<asked>();
  CLI::App* command = program.add_subcommand(
      "probe",
      "Drives a live MCP server: breaks connections, resumes them, and checks what comes.\n"
      "It calls no tool but the one that is named. At most a minute.\n"
      "Exit status: 0 all is well, 1 findings (NO RESUME is one), 2 wrong usage, or no MCP server is there.\n"
      "Example: mcp-resume-oracle probe http://127.0.0.1:8931/mcp --tool burst --args '{\"n\":8,\"tag\":\"p\"}'");
  command->add_option("URL", what->options.url, "endpoint of the server: http://host:port/path")->required();
  command->add_option("--tool", what->options.tool,
                      "tool that sends events; without it only what needs none is checked");
  command->add_option("--args", what->options.arguments, "its arguments, a JSON object")->capture_default_str();
  command->add_option("--header", what->headers, "NAME:VALUE, for every request; may be repeated")
      ->take_all()
      ->allow_extra_args(false);
  command->add_option("--sessions", what->options.sessions, "sessions that are opened")
      ->check(CLI::Range(1, 16))
      ->capture_default_str();
  command->add_option("--evict", what->options.evict, "events to produce until the first id is presented again")
      ->check(CLI::Range(0, 10000))
      ->capture_default_str();
  const std::map<std::string, report_format> formats{{"text", report_format::text},
                                                     {"tap", report_format::tap},
                                                     {"junit", report_format::junit},
                                                     {"json", report_format::json},
                                                     {"html", report_format::html}};
  command->add_option("--format", what->format, "text, tap, junit, json or html")
      ->transform(CLI::CheckedTransformer(formats).description(""));
  command->add_option("--trace", what->options.trace_path, "file for the trace of it all, as `judge` reads it");
  command->add_flag("--i-own-this-server", what->options.is_own_server, "probe a server of another machine");
  command->callback([what, &status] { status = run(*what); });
}

}  // namespace oracle
