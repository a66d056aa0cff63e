// SPDX-License-Identifier: MIT
// Promise: no bytes crash the reader or the judge, and what was read is written as something that reads the same.
#include "trace.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>

#include "input_error.hpp"
#include "judge.hpp"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

std::string written(const oracle::trace& made) {
  std::ostringstream out;
  oracle::write_trace(out, made);
  return out.str();
}

void check(const oracle::trace& read) {
  const auto findings = oracle::judge(read);
  const std::size_t entries = oracle::report_of(read, findings).entries.size();
  require(entries >= findings.size());
  const std::string text = written(read);
  std::istringstream in(text);
  const oracle::trace again = oracle::read_trace(in, "again");
  require(written(again) == text);
  require(oracle::judge(again).size() == findings.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  std::istringstream in(std::string(reinterpret_cast<const char*>(bytes), size));
  oracle::trace read;
  try {
    read = oracle::read_trace(in, "fuzz");
  } catch (const oracle::input_error&) {
    return 0;
  }
  check(read);  // not in the try: what it writes must be readable
  return 0;
}
