// SPDX-License-Identifier: MIT
// What Catch2 tests check with the counted heap: that each allocation of a call may fail.
#ifndef MCP_RESUME_TESTS_COUNTED_NEW_HPP
#define MCP_RESUME_TESTS_COUNTED_NEW_HPP

#include <cstddef>
#include <new>
#include <string>

#include "catch.hpp"
#include "counted_heap.hpp"

namespace heap {

// Catch's macros allocate as well, so what is counted is checked by this.
struct broken {
  const char* promise;
};
inline void must(bool holds, const char* promise) {
  if (!holds) throw broken{promise};
}

// Runs attempt(n), which makes the n-th allocation of a call fail and returns whether there was an n-th one, for
// n = 1, 2, ... until there was none. No attempt may leak. Returns how many allocations the call makes.
template <class Attempt>
std::size_t for_each_failure(Attempt attempt) {
  for (std::size_t n = 1;; ++n) {
    const std::size_t blocks_before = blocks;
    const char* promise = "";
    bool was_there = false;
    try {
      was_there = attempt(n);
    } catch (const broken& b) {
      promise = b.promise;
    }
    const bool leaks = blocks != blocks_before;
    CAPTURE(n, promise);
    REQUIRE(*promise == '\0');
    REQUIRE(!leaks);
    if (!was_there) return n - 1;
  }
}

// `text()` throws when it finds no memory.
template <class Text>
void fail_each_text(Text text) {
  const std::string expected = text();
  const std::size_t needed = for_each_failure([&](std::size_t n) {
    try {
      const failure armed(n);
      must(text() == expected, "the text is the same each time");
    } catch (const std::bad_alloc&) {
      return true;
    }
    must(!has_failed, "a failed allocation throws");
    return false;
  });
  CHECK(needed > 0);
}

}  // namespace heap

#endif
