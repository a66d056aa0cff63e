// SPDX-License-Identifier: MIT
// Reads one answer of HTTP/1.1 out of whatever bytes a server sends. It holds no more than one line of a head, and its
// work is the bytes that it takes.
#ifndef MCP_RESUME_EXAMPLES_HTTP_READER_HPP
#define MCP_RESUME_EXAMPLES_HTTP_READER_HPP

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace example {

// Of a head, what an MCP client reads. Everything is as the server wrote it.
struct http_head {
  int status = 0;
  std::string content_type, session_id, retry_after;

  bool is_of_type(std::string_view media_type) const;  // in lower case
  bool is_event_stream() const { return is_of_type("text/event-stream"); }
};

// Gets the parts of an answer in order. False: nothing more is wanted.
struct http_taker {
  std::function<bool(const http_head&)> head;
  std::function<bool(std::string_view)> content;  // as it came, without chunks
};

class http_reader {
 public:
  static constexpr std::size_t most_line = std::size_t{8} << 10U;
  static constexpr std::size_t most_head = std::size_t{64} << 10U;  // interim answers (1xx) count, trailers do anew
  static constexpr std::size_t most_lines = 256;                    // the same

  explicit http_reader(http_taker taker) : taker_(std::move(taker)) {}

  // Takes what comes next. False once nothing more is wanted: the answer is whole or wrong, or its taker has said so.
  bool take(std::string_view bytes);
  // The connection has ended.
  void end();

  bool has_head() const { return has_head_; }
  const http_head& head() const { return head_; }
  // What is wrong with the answer, in words of ours. Empty: nothing, so far.
  const std::string& trouble() const { return trouble_; }

 private:
  // What comes next. Up to `header` it is the head.
  enum class state { status_line, header, counted, unbounded, chunk_size, chunk, chunk_end, trailer, over };

  bool is_content() const { return state_ == state::counted || state_ == state::unbounded || state_ == state::chunk; }
  void take_content(std::string_view& bytes);
  void take_part_of_line(std::string_view& bytes);
  void take_line(std::string_view line);
  void take_status_line(std::string_view line);
  void take_header(std::string_view line);
  void take_field(const std::string& name, std::string_view value);
  void take_length(std::string_view value);
  void take_chunk_size(std::string_view line);
  void end_head();
  void begin_content();
  void fail(const std::string& trouble);
  std::string what_broke_off() const;

  http_taker taker_;
  state state_ = state::status_line;
  http_head head_;
  std::string line_;
  std::size_t head_bytes_ = 0, head_lines_ = 0;
  bool is_chunked_ = false, has_head_ = false, has_first_byte_ = false;
  unsigned char first_byte_ = 0;
  std::optional<std::uint64_t> length_;
  std::uint64_t left_ = 0;  // of the content or the chunk that is being read
  std::string trouble_;
};

}  // namespace example

#endif  // MCP_RESUME_EXAMPLES_HTTP_READER_HPP
