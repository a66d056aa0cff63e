// SPDX-License-Identifier: MIT
// mcp-resume-oracle: what should an MCP server have answered to a resume, and did it?
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

#include "../usage_error.hpp"
#include "commands.hpp"

int main(int argc, char** argv) {
  CLI::App program(
      "Says what an MCP server should answer to Mcp-Session-Id and Last-Event-ID, and whether a server did.\n"
      "Exit status: 0 fine, 1 findings, 2 wrong usage or input.\n"
      "Example: mcp-resume-oracle probe http://127.0.0.1:8931/mcp --tool burst --args '{\"n\":8,\"tag\":\"p\"}'",
      "mcp-resume-oracle");
  program.require_subcommand(1);
  program.failure_message(example::usage_error);
  int status = 0;
  oracle::add_table(program, status);
  oracle::add_explain(program, status);
  oracle::add_vectors(program, status);
  oracle::add_run(program, status);
  oracle::add_judge(program, status);
  oracle::add_probe(program, status);
  try {
    program.parse(argc, argv);
    return status;
  } catch (const CLI::ParseError& e) {
    return program.exit(e) == 0 ? 0 : 2;
  } catch (const std::exception& e) {
    fmt::print(stderr, "mcp-resume-oracle: {}\n", example::printable(e.what()));
    return 2;
  }
}
