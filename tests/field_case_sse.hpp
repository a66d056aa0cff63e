// SPDX-License-Identifier: MIT
// Promise: frames are cut as a client cuts them (HTML 9.2.6), by code that shares nothing with the library's writer.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace field {

enum class block_kind { marker, gap, reset, event, word, unknown };

// One block of an event stream.
struct sse_block {
  std::size_t begin = 0;  // offset of its first byte
  std::optional<std::string> id, name, retry;
  std::vector<std::string> data_lines;
  std::string unknown_field;
  bool has_two_ids = false;

  std::string data() const {
    std::string joined;
    for (std::size_t i = 0; i != data_lines.size(); ++i) joined += (i == 0 ? "" : "\n") + data_lines[i];
    return joined;
  }
  bool has_empty_data() const { return !data_lines.empty() && data().empty(); }
  // A word is an event without an id: what a server adds for clients that ignore unknown event types.
  block_kind kind() const {
    if (name) {
      if (*name == "resume") return block_kind::marker;
      if (*name == "gap") return block_kind::gap;
      return *name == "reset" ? block_kind::reset : block_kind::unknown;
    }
    if (data_lines.empty()) return block_kind::unknown;
    if (!id) return block_kind::word;
    return has_empty_data() ? block_kind::marker : block_kind::event;
  }
};

struct sse_text {
  std::vector<sse_block> blocks;
  bool ends_inside_block = false;
};

// The lines of a text: parted by CR, LF or CRLF.
inline std::vector<std::string> split_lines(std::string_view text) {
  std::vector<std::string> lines(1);
  for (std::size_t i = 0; i != text.size(); ++i) {
    if (text[i] != '\r' && text[i] != '\n') {
      lines.back() += text[i];
      continue;
    }
    if (text[i] == '\r' && i + 1 != text.size() && text[i + 1] == '\n') ++i;
    lines.emplace_back();
  }
  return lines;
}

inline void add_field(sse_block& block, std::string_view line) {
  const std::size_t colon = line.find(':');
  const std::string_view field = line.substr(0, colon);
  std::string_view value = colon == std::string_view::npos ? std::string_view() : line.substr(colon + 1);
  if (!value.empty() && value[0] == ' ') value.remove_prefix(1);
  if (field == "data") {
    block.data_lines.emplace_back(value);
  } else if (field == "id") {
    block.has_two_ids = block.id.has_value();
    block.id = std::string(value);
  } else if (field == "event") {
    block.name = std::string(value);
  } else if (field == "retry") {
    block.retry = std::string(value);
  } else {
    block.unknown_field = std::string(field);
  }
}

inline sse_text parse_sse(std::string_view bytes) {
  sse_text out;
  sse_block open;
  bool has_fields = false;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t end = bytes.find_first_of("\r\n", at);
    const std::string_view line = bytes.substr(at, end - at);
    if (!has_fields) open.begin = at;
    if (line.empty()) {
      if (has_fields) out.blocks.push_back(open);
      open = sse_block{};
      has_fields = false;
    } else if (line[0] != ':') {
      add_field(open, line);
      has_fields = true;
    }
    if (end == std::string_view::npos) break;
    at = end + (bytes[end] == '\r' && end + 1 < bytes.size() && bytes[end + 1] == '\n' ? 2 : 1);
  }
  out.ends_inside_block = has_fields;
  return out;
}

}  // namespace field
