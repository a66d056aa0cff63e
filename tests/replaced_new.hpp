// SPDX-License-Identifier: MIT
// Replaces the global operator new by the counted one: for one source of a program.
#ifndef MCP_RESUME_TESTS_REPLACED_NEW_HPP
#define MCP_RESUME_TESTS_REPLACED_NEW_HPP

#include <cstddef>
#include <new>

#include "counted_heap.hpp"

void* operator new(std::size_t size) { return heap::allocate_or_throw(size); }
void* operator new[](std::size_t size) { return heap::allocate_or_throw(size); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return heap::allocate(size); }
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept { return heap::allocate(size); }
void operator delete(void* place) noexcept { heap::release(place); }
void operator delete[](void* place) noexcept { heap::release(place); }
void operator delete(void* place, std::size_t) noexcept { heap::release(place); }
void operator delete[](void* place, std::size_t) noexcept { heap::release(place); }
void operator delete(void* place, const std::nothrow_t&) noexcept { heap::release(place); }
void operator delete[](void* place, const std::nothrow_t&) noexcept { heap::release(place); }

#endif
