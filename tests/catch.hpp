// SPDX-License-Identifier: MIT
// The one place that knows which Catch2 is installed, 2 (one header) or 3; the tests use only what both have.
#ifndef MCP_RESUME_TESTS_CATCH_HPP
#define MCP_RESUME_TESTS_CATCH_HPP

#include <cstdint>

#if __has_include(<catch2/catch_test_macros.hpp>)
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_adapters.hpp>
#include <catch2/generators/catch_generators_range.hpp>

namespace test {
inline std::uint32_t catch_seed() { return Catch::getSeed(); }
}  // namespace test
#else
#include <catch2/catch.hpp>

namespace test {
inline std::uint32_t catch_seed() { return Catch::rngSeed(); }
}  // namespace test
#endif

#endif  // MCP_RESUME_TESTS_CATCH_HPP
