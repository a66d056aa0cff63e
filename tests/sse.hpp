// SPDX-License-Identifier: MIT
// A reader of server-sent events, written from the text of the HTML standard (section 9.2.6) and from nothing in the
// library: what the library's frames mean is what this says.

#ifndef MCP_RESUME_TESTS_SSE_HPP
#define MCP_RESUME_TESTS_SSE_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sse {

// What one blank line ends. Of a repeated field the last one counts; `data` lines are joined by LF. A stray blank line
// ends a block too, an empty one, so that a writer of too many is found out.
struct block {
  std::optional<std::string> id;
  std::string type = "message";
  std::optional<std::string> data;
  std::optional<std::uint64_t> retry;  // ms
  std::size_t comments = 0;
};

// Lines end with CRLF, LF or a lone CR. What stands behind the last line end is no line.
inline std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  std::string line;
  for (std::size_t i = 0; i != text.size(); ++i) {
    const bool is_lf_of_crlf = text[i] == '\n' && i != 0 && text[i - 1] == '\r';
    if (is_lf_of_crlf) continue;
    if (text[i] == '\n' || text[i] == '\r') {
      lines.push_back(line);
      line.clear();
    } else {
      line.push_back(text[i]);
    }
  }
  return lines;
}

// "If value consists of only ASCII digits": none for the empty text, as browsers have it; what is beyond 64 bits is the
// largest number of them.
inline std::optional<std::uint64_t> number_of(const std::string& value) {
  if (value.empty() || value.find_first_not_of("0123456789") != std::string::npos) return std::nullopt;
  const std::string largest = "18446744073709551615";
  const std::string digits = value.substr(std::min(value.find_first_not_of('0'), value.size() - 1));
  const bool is_beyond = digits.size() > largest.size() || (digits.size() == largest.size() && digits > largest);
  return std::stoull(is_beyond ? largest : digits);
}

// Field names are compared literally; unknown ones are ignored.
inline void process_field(block& open, const std::string& name, const std::string& value) {
  if (name == "event") {
    open.type = value.empty() ? "message" : value;
  } else if (name == "data") {
    open.data = open.data ? *open.data + "\n" + value : value;
  } else if (name == "id") {
    if (value.find('\0') == std::string::npos) open.id = value;
  } else if (name == "retry") {
    if (const auto number = number_of(value)) open.retry = number;
  }
}

// A field without a colon has the empty value; one leading blank of a value is dropped.
struct field {
  std::string name, value;
};
inline field field_of(const std::string& line) {
  const std::size_t colon = line.find(':');
  if (colon == std::string::npos) return {line, ""};
  std::string value = line.substr(colon + 1);
  if (!value.empty() && value[0] == ' ') value.erase(0, 1);
  return {line.substr(0, colon), value};
}

// A comment begins with a colon.
inline void process_line(block& open, const std::string& line) {
  if (line[0] == ':') {
    ++open.comments;
    return;
  }
  const field read = field_of(line);
  process_field(open, read.name, read.value);
}

// The blocks of a whole stream. One leading byte order mark is dropped; a block that no blank line ends is none.
inline std::vector<block> read(std::string_view stream) {
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  if (stream.substr(0, byte_order_mark.size()) == byte_order_mark) stream.remove_prefix(byte_order_mark.size());
  std::vector<block> blocks;
  block open;
  for (const std::string& line : lines_of(stream)) {
    if (!line.empty()) {
      process_line(open, line);
    } else {
      blocks.push_back(open);
      open = block();
    }
  }
  return blocks;
}

// The blocks that a reader with a bound returns: those with an id, data or `retry:`, up to the first that is too large.
// Too large is where the open block (its id, its type, its data) and the line that is being read are more bytes together
// than the bound; a comment is no part of either.
class bounded_reading {
 public:
  bounded_reading(std::string_view stream, std::size_t bound) : bound_(bound) {
    const std::size_t last_end = stream.find_last_of("\r\n");
    for (const std::string& line : lines_of(stream)) {
      if (!admits(line)) return;
      take(without_mark(line));
      is_first_ = false;
    }
    (void)admits(last_end == std::string_view::npos ? stream : stream.substr(last_end + 1));
  }
  [[nodiscard]] const std::vector<block>& blocks() const { return blocks_; }
  [[nodiscard]] bool is_too_large() const { return is_too_large_; }

 private:
  [[nodiscard]] std::string_view without_mark(std::string_view line) const {
    const bool is_marked = is_first_ && line.substr(0, 3) == "\xEF\xBB\xBF";
    return is_marked ? line.substr(3) : line;
  }
  bool admits(std::string_view line) {
    const std::size_t held = (open_.id ? open_.id->size() : 0) + type_size_ + (open_.data ? open_.data->size() : 0);
    const bool is_comment = without_mark(line).substr(0, 1) == ":";
    is_too_large_ = held + (is_comment ? 0 : line.size()) > bound_;
    return !is_too_large_;
  }
  void take(std::string_view line) {
    if (!line.empty()) {
      const field read = field_of(std::string(line));
      if (read.name == "event") type_size_ = read.value.size();
      return process_line(open_, std::string(line));
    }
    if (open_.id || open_.data || open_.retry) blocks_.push_back(open_);
    open_ = block();
    type_size_ = 0;
  }

  std::size_t bound_;
  bool is_first_ = true;
  block open_;
  std::size_t type_size_ = 0;  // as written: `message` and the empty text are one type
  std::vector<block> blocks_;
  bool is_too_large_ = false;
};

}  // namespace sse

#endif
