// SPDX-License-Identifier: MIT
// The test program's entry point, spelled out because Catch2 2 and 3 offer theirs in different ways.
#if __has_include(<catch2/catch_session.hpp>)
#include <catch2/catch_session.hpp>
#else
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
#endif

int main(int argc, char* argv[]) { return Catch::Session().run(argc, argv); }
