// SPDX-License-Identifier: MIT
// What the fuzzers read their bytes with. All but those whose input is one text read lines, so that an input can be
// written and understood by hand, and every cut of it is an input too.
#ifndef MCP_RESUME_TESTS_FUZZ_INPUT_HPP
#define MCP_RESUME_TESTS_FUZZ_INPUT_HPP

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size);

namespace fuzz {

inline void require(bool holds, const char* promise, const std::string& text = {}) {
  if (holds) return;
  std::fprintf(stderr, "broken: %s\n%s\n", promise, text.c_str());
  std::abort();
}

inline std::string_view text_of(const std::uint8_t* bytes, std::size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

// The parts between the line feeds.
inline std::vector<std::string_view> lines_of(std::string_view input) {
  std::vector<std::string_view> lines;
  for (std::size_t end = 0; end != input.npos; input.remove_prefix(end == input.npos ? 0 : end + 1)) {
    end = input.find('\n');
    lines.push_back(input.substr(0, end));
  }
  return lines;
}

// A line's text: `\n`, `\r`, `\0` are the bytes that are hard to write, a backslash before a letter of `words` is that
// word, before anything else it is itself not there. So every text can be written.
using words = std::map<char, std::string>;
inline std::string unescaped(std::string_view line, const words& known = {}) {
  std::string text;
  for (std::size_t i = 0; i != line.size(); ++i) {
    if (line[i] != '\\' || i + 1 == line.size()) {
      text += line[i];
      continue;
    }
    const char c = line[++i];
    const auto word = known.find(c);
    if (word != known.end()) {
      text += word->second;
    } else {
      text += c == 'n' ? '\n' : c == 'r' ? '\r' : c == '0' ? '\0' : c;
    }
  }
  return text;
}

// The decimal numbers of a text, modulo 2^64; whatever else it holds only separates them.
inline std::vector<std::uint64_t> numbers_of(std::string_view text) {
  std::vector<std::uint64_t> numbers;
  bool is_inside = false;
  for (const char c : text) {
    const bool is_digit = c >= '0' && c <= '9';
    if (is_digit && !is_inside) numbers.push_back(0);
    if (is_digit) numbers.back() = numbers.back() * 10 + static_cast<std::uint64_t>(c - '0');
    is_inside = is_digit;
  }
  return numbers;
}

// A copy that ends where the text ends, so that a sanitizer sees the byte behind it being read.
class exact_copy {
 public:
  explicit exact_copy(std::string_view text) : bytes_(new char[text.size()]), size_(text.size()) {
    text.copy(bytes_.get(), size_);
  }
  [[nodiscard]] std::string_view view() const { return {bytes_.get(), size_}; }

 private:
  std::unique_ptr<char[]> bytes_;
  std::size_t size_;
};

}  // namespace fuzz

#endif
