// SPDX-License-Identifier: MIT
// The subcommands. Each adds itself to the program; when it is chosen it prints to stdout and sets the exit status:
// 0 fine, 1 findings. Wrong input throws input_error: main prints it and exits with 2.
#ifndef MCP_RESUME_EXAMPLES_COMMANDS_HPP
#define MCP_RESUME_EXAMPLES_COMMANDS_HPP

#include <CLI/CLI.hpp>

namespace oracle {

void add_table(CLI::App& program, int& status);
void add_explain(CLI::App& program, int& status);
void add_vectors(CLI::App& program, int& status);
void add_run(CLI::App& program, int& status);
void add_judge(CLI::App& program, int& status);
void add_probe(CLI::App& program, int& status);

}  // namespace oracle

#endif  // MCP_RESUME_EXAMPLES_COMMANDS_HPP
