// SPDX-License-Identifier: MIT
#include "http_reader.hpp"

#include <algorithm>
#include <limits>

namespace example {
namespace {

// Only ASCII has case here, whatever the locale.
char in_lower_case(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string in_lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = in_lower_case(c);
  return lower;
}

bool is_token(std::string_view name) {
  const auto is_token_byte = [](char c) {
    return c > ' ' && c < 0x7F && std::string_view("\"(),/:;<=>?@[\\]{}").find(c) == std::string_view::npos;
  };
  return !name.empty() && std::all_of(name.begin(), name.end(), is_token_byte);
}

bool is_control(char c) { return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7F; }

std::string_view without_blanks(std::string_view text) {
  const std::size_t begin = std::min(text.find_first_not_of(" \t"), text.size());
  return text.substr(begin, text.find_last_not_of(" \t") + 1 - begin);
}

// Nothing for what is no number, or none that counts bytes: at most 15 digits, so that nothing overflows.
std::optional<std::uint64_t> number_of(std::string_view digits, unsigned base) {
  if (digits.empty() || digits.size() > 15) return std::nullopt;
  std::uint64_t value = 0;
  for (const char c : digits) {
    const std::size_t digit = std::string_view("0123456789abcdef").find(in_lower_case(c));
    if (digit >= base) return std::nullopt;
    value = value * base + digit;
  }
  return value;
}

}  // namespace

bool http_head::is_of_type(std::string_view media_type) const {
  return in_lower_case(without_blanks(std::string_view(content_type).substr(0, content_type.find(';')))) == media_type;
}

bool http_reader::take(std::string_view bytes) {
  if (!has_first_byte_ && !bytes.empty()) {
    has_first_byte_ = true;
    first_byte_ = static_cast<unsigned char>(bytes[0]);
  }
  while (!bytes.empty() && state_ != state::over) {
    if (is_content()) {
      take_content(bytes);
    } else {
      take_part_of_line(bytes);
    }
  }
  return state_ != state::over;
}

void http_reader::end() {
  if (state_ != state::over && state_ != state::unbounded) fail(what_broke_off());
  state_ = state::over;
}

std::string http_reader::what_broke_off() const {
  if (!has_first_byte_) return "the connection was closed";
  if (state_ != state::status_line) return "it broke off";
  const bool is_tls = first_byte_ == 0x15 || first_byte_ == 0x16;  // the types of its first records
  return is_tls ? "what came is no HTTP but TLS" : "what came is no HTTP";
}

void http_reader::fail(const std::string& trouble) {
  trouble_ = trouble;
  state_ = state::over;
}

void http_reader::take_content(std::string_view& bytes) {
  const std::string_view part = bytes.substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(left_, bytes.size())));
  bytes.remove_prefix(part.size());
  left_ -= part.size();
  const bool is_wanted = taker_.content(part);
  if (!is_wanted || (left_ == 0 && state_ == state::counted)) {
    state_ = state::over;
  } else if (left_ == 0 && state_ == state::chunk) {
    state_ = state::chunk_end;
  }
}

// ---- Lines ----

void http_reader::take_part_of_line(std::string_view& bytes) {
  const std::size_t end = bytes.find('\n');
  const bool is_complete = end != bytes.npos;
  const std::string_view part = bytes.substr(0, end);
  bytes.remove_prefix(is_complete ? end + 1 : bytes.size());
  const bool is_of_head = state_ <= state::header || state_ == state::trailer;
  if (is_of_head) head_bytes_ += part.size() + (is_complete ? 1 : 0);
  if (is_of_head && is_complete) ++head_lines_;
  if (line_.size() + part.size() > most_line || head_bytes_ > most_head || head_lines_ > most_lines) {
    return fail(is_of_head ? "the head of the answer is too large" : "a chunk of the answer has no size");
  }
  line_ += part;
  if (!is_complete) return;
  if (!line_.empty() && line_.back() == '\r') line_.pop_back();
  take_line(line_);
  line_.clear();
}

void http_reader::take_line(std::string_view line) {
  if (state_ == state::status_line) return take_status_line(line);
  if (state_ == state::header) return line.empty() ? end_head() : take_header(line);
  if (state_ == state::chunk_size) return take_chunk_size(line);
  if (state_ == state::chunk_end && !line.empty()) return fail("a chunk of the answer is longer than its size");
  if (state_ == state::chunk_end) state_ = state::chunk_size;
  if (state_ == state::trailer && line.empty()) state_ = state::over;
}

// `HTTP/1.1 200 OK`, where the last part may be missing.
void http_reader::take_status_line(std::string_view line) {
  constexpr std::string_view version = "HTTP/1.";
  constexpr std::size_t size = version.size() + 5;
  const bool is_http = line.size() >= size && line.substr(0, version.size()) == version &&
                       (line[version.size()] == '0' || line[version.size()] == '1') &&
                       line[version.size() + 1] == ' ' && (line.size() == size || line[size] == ' ');
  const std::optional<std::uint64_t> status =
      is_http ? number_of(line.substr(version.size() + 2, 3), 10) : std::optional<std::uint64_t>();
  if (!status) return fail(what_broke_off());
  if (*status < 100 || *status >= 600) return fail(std::to_string(*status) + " is no status of HTTP");
  head_.status = static_cast<int>(*status);
  state_ = state::header;
}

void http_reader::take_header(std::string_view line) {
  const std::size_t colon = line.find(':');
  const std::string_view name = line.substr(0, colon);
  const std::string_view value = colon == line.npos ? "" : without_blanks(line.substr(colon + 1));
  if (colon == line.npos || !is_token(name) || std::any_of(value.begin(), value.end(), is_control)) {
    return fail("a header of the answer is malformed");
  }
  take_field(in_lower_case(name), value);
}

void http_reader::take_field(const std::string& name, std::string_view value) {
  const auto keep_first = [value](std::string& field) {
    if (field.empty()) field = value;
  };
  if (name == "content-type") keep_first(head_.content_type);
  if (name == "mcp-session-id") keep_first(head_.session_id);
  if (name == "retry-after") keep_first(head_.retry_after);
  if (name == "content-length") take_length(value);
  if (name == "transfer-encoding") {
    if (is_chunked_ || in_lower_case(value) != "chunked") return fail("the answer's transfer coding is not known here");
    is_chunked_ = true;
  }
  if (name == "content-encoding" && !value.empty() && in_lower_case(value) != "identity") {
    fail("the answer is compressed, which was not asked for");
  }
}

void http_reader::take_length(std::string_view value) {
  const std::optional<std::uint64_t> length = number_of(value, 10);
  if (!length || (length_ && *length_ != *length)) return fail("the answer's Content-Length is no length");
  length_ = length;
}

void http_reader::end_head() {
  const bool is_interim = head_.status < 200;
  if (is_interim && head_.status == 101) return fail("the server speaks another protocol after 101");
  if (!is_interim) return begin_content();
  head_ = {};
  length_.reset();
  is_chunked_ = false;
  state_ = state::status_line;
}

void http_reader::begin_content() {
  const bool has_none = head_.status == 204 || head_.status == 304 || (!is_chunked_ && length_ == 0U);
  left_ = is_chunked_ ? 0 : length_.value_or(std::numeric_limits<std::uint64_t>::max());
  state_ = has_none ? state::over : is_chunked_ ? state::chunk_size : length_ ? state::counted : state::unbounded;
  head_bytes_ = head_lines_ = 0;
  has_head_ = true;
  if (!taker_.head(head_)) state_ = state::over;
}

// Hex digits, and perhaps an extension.
void http_reader::take_chunk_size(std::string_view line) {
  const std::optional<std::uint64_t> size = number_of(without_blanks(line.substr(0, line.find(';'))), 16);
  if (!size) return fail("a chunk of the answer has no size");
  left_ = *size;
  state_ = left_ == 0 ? state::trailer : state::chunk;
}

}  // namespace example
