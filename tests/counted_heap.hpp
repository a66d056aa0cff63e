// SPDX-License-Identifier: MIT
// Allocation that is counted and of which the n-th one can fail. One source of a program replaces the global operator
// new by it; all its sources see the same counts.
#ifndef MCP_RESUME_TESTS_COUNTED_HEAP_HPP
#define MCP_RESUME_TESTS_COUNTED_HEAP_HPP

#include <cstddef>
#include <cstdlib>
#include <new>

namespace heap {

constexpr std::size_t head = alignof(std::max_align_t);  // in front of each block, holds its size
inline std::size_t blocks = 0;                           // held
inline std::size_t bytes = 0;                            // asked for and held
inline std::size_t most_bytes = 0;                       // held at once, since it was set
inline std::size_t calls = 0;                            // ever
inline std::size_t until_failure = 0;                    // the allocation with which it gets to 0 fails; 0 = none
inline bool has_failed = false;

inline void* allocate(std::size_t size) noexcept {
  ++calls;
  if (until_failure != 0 && --until_failure == 0) {
    has_failed = true;
    return nullptr;
  }
  void* const block = std::malloc(head + size);
  if (block == nullptr) return nullptr;
  ::new (block) std::size_t(size);
  ++blocks;
  bytes += size;
  if (most_bytes < bytes) most_bytes = bytes;
  return static_cast<char*>(block) + head;
}

inline void release(void* place) noexcept {
  if (place == nullptr) return;
  void* const block = static_cast<char*>(place) - head;
  --blocks;
  bytes -= *static_cast<std::size_t*>(block);
  std::free(block);
}

inline void* allocate_or_throw(std::size_t size) {
  void* const place = allocate(size);
  if (place == nullptr) throw std::bad_alloc();
  return place;
}

// While it lives, the n-th allocation fails.
class failure {
 public:
  explicit failure(std::size_t n) noexcept {
    has_failed = false;
    until_failure = n;
  }
  ~failure() { until_failure = 0; }
  failure(const failure&) = delete;
  failure& operator=(const failure&) = delete;
};

}  // namespace heap

#endif
