// SPDX-License-Identifier: MIT
// The views of a request refuse temporary strings: a header made on the spot would be gone before it is read.
#include <mcp_resume/resume.hpp>

std::string header();
const std::string constant_header();

mcp_resume::request asked() {
  static const std::string kept = header();
#if !defined(MUST_FAIL)
  return {kept, kept, kept, kept};
#elif MUST_FAIL == 1
  return {header(), kept, kept, kept};
#elif MUST_FAIL == 2
  return {kept, header(), kept, kept};
#elif MUST_FAIL == 3
  return {kept, kept, header(), kept};
#elif MUST_FAIL == 4
  return {kept, kept, kept, header()};
#elif MUST_FAIL == 5
  return {kept, kept, constant_header(), kept};
#endif
}
