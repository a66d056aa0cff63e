// SPDX-License-Identifier: MIT
// Reads README and the headers' manuals for the tests that hold them to the code.
#ifndef MCP_RESUME_TESTS_DOCUMENTS_HPP
#define MCP_RESUME_TESTS_DOCUMENTS_HPP

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace documents {

inline std::string text_of_file(const std::string& name) {
  std::ifstream file(std::string(MCP_RESUME_SOURCE_DIR "/") + name, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();  // a checkout may have turned LF into CRLF
    lines.push_back(line);
  }
  return lines;
}

inline std::string with_single_blanks(const std::string& text) {
  std::string result, word;
  for (std::istringstream in(text); in >> word;) result += (result.empty() ? "" : " ") + word;
  return result;
}

inline std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

// The texts between lines, each without them.
template <class Opens, class Closes>
std::vector<std::string> texts_between(const std::string& file, Opens opens, Closes closes) {
  std::vector<std::string> texts;
  bool is_inside = false;
  for (const std::string& line : lines_of(text_of_file(file))) {
    if (!is_inside && opens(line)) {
      texts.emplace_back();
      is_inside = true;
    } else if (is_inside && closes(line)) {
      is_inside = false;
    } else if (is_inside) {
      texts.back() += line + "\n";
    }
  }
  return texts;
}

inline bool starts_with(const std::string& line, std::string_view start) {
  return line.compare(0, start.size(), start) == 0;
}

// The blocks of README in a language.
inline std::vector<std::string> fenced(const std::string& language) {
  return texts_between(
      "README.md", [&](const std::string& line) { return line == "```" + language; },
      [](const std::string& line) { return line == "```"; });
}

// The blocks of a test file whose name fits: between `// readme: <name>` and `// readme: end`.
template <class Fits>
std::vector<std::string> regions(const std::string& file, Fits fits) {
  const auto mark = [](const std::string& line) {
    const std::size_t at = std::min(line.find_first_not_of(' '), line.size());
    return starts_with(line.substr(at), "// readme: ") ? line.substr(at + 11) : std::string();
  };
  return texts_between(
      file, [&](const std::string& line) { return !mark(line).empty() && fits(mark(line)); },
      [&](const std::string& line) { return mark(line) == "end"; });
}

// The lines of README under a heading, up to the next heading of the same or a higher level.
inline std::vector<std::string> section(const std::string& heading) {
  const std::string level = heading.substr(0, heading.find(' ') + 1);
  std::vector<std::string> found;
  bool is_inside = false;
  for (const std::string& line : lines_of(text_of_file("README.md"))) {
    const bool is_heading = starts_with(line, "#") && line.find(' ') < level.size();
    if (is_heading) is_inside = line == heading;
    if (is_inside) found.push_back(line);
  }
  return found;
}

// The lines that start with this, without it.
inline std::vector<std::string> lines_with(const std::vector<std::string>& lines, const std::string& start) {
  std::vector<std::string> found;
  for (const std::string& line : lines) {
    if (starts_with(line, start)) found.push_back(line.substr(start.size()));
  }
  return found;
}
inline std::vector<std::string> lines_with(const std::string& file, const std::string& start) {
  return lines_with(lines_of(text_of_file(file)), start);
}

inline bool contains(const std::vector<std::string>& texts, const std::string& text) {
  return std::find(texts.begin(), texts.end(), text) != texts.end();
}

// What a function prints to std::cout.
template <class Function>
std::string printed_by(Function function) {
  std::ostringstream text;
  std::streambuf* const before = std::cout.rdbuf(text.rdbuf());
  function();
  std::cout.rdbuf(before);
  return text.str();
}

// The program under `// Smallest program` of a header's manual, as code.
inline std::string smallest_program(const std::string& header) {
  const auto begins = [](const std::string& line) { return line == "// Smallest program"; };
  const auto ends = [](const std::string& line) { return line != "//" && !starts_with(line, "//   "); };
  std::string code;
  for (const std::string& text : texts_between(header, begins, ends)) {
    for (const std::string& line : lines_of(text)) code += line.substr(std::min<std::size_t>(line.size(), 5)) + "\n";
  }
  return code;
}

}  // namespace documents

#endif  // MCP_RESUME_TESTS_DOCUMENTS_HPP
