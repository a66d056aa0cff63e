// SPDX-License-Identifier: MIT
// The views of requests and answers refuse temporary strings: a header made on the spot would be gone before it is
// read.
#include <mcp_resume/client.hpp>

std::string header();
const std::string constant_header();

mcp_resume::request asked() {
  static const std::string kept = header();
#if !defined(MUST_FAIL) || MUST_FAIL > 5
  return {kept, kept, kept, kept};
#elif MUST_FAIL == 1
  return {header(), kept, kept, kept};
#elif MUST_FAIL == 2
  return {kept, header(), kept, kept};
#elif MUST_FAIL == 3
  return {kept, kept, header(), kept};
#elif MUST_FAIL == 4
  return {kept, kept, kept, header()};
#else
  return {kept, kept, constant_header(), kept};
#endif
}

mcp_resume::sent sent() {
  static const std::string kept = header();
#if defined(MUST_FAIL) && MUST_FAIL == 6
  return {header(), kept};
#elif defined(MUST_FAIL) && MUST_FAIL == 7
  return {kept, header()};
#else
  return {kept, kept};
#endif
}

mcp_resume::received received() {
  static const std::string kept = header();
#if defined(MUST_FAIL) && MUST_FAIL == 8
  return {200, header(), kept};
#elif defined(MUST_FAIL) && MUST_FAIL == 9
  return {200, kept, header()};
#else
  return {200, kept, kept};
#endif
}
