// SPDX-License-Identifier: MIT
// Promise: the example programs read an answer of HTTP in the same way however its bytes are cut, hand on no more than
// came, and hold no more than one line.
#include "../examples/http_reader.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "catch.hpp"

namespace {

struct seen {
  int heads = 0, status = 0;
  std::string content, session_id, trouble;
  bool wants_more = true;

  bool operator==(const seen& other) const {
    return heads == other.heads && status == other.status && content == other.content &&
           session_id == other.session_id && trouble == other.trouble && wants_more == other.wants_more;
  }
};

// In parts of that size, and then the end of the connection.
seen read_in_parts(std::string_view text, std::size_t first, std::size_t rest) {
  seen all;
  example::http_reader reader({[&all](const example::http_head& got) {
                                 ++all.heads;
                                 all.status = got.status;
                                 all.session_id = got.session_id;
                                 return true;
                               },
                               [&all](std::string_view bytes) {
                                 all.content.append(bytes);
                                 return true;
                               }});
  for (std::size_t size = first; !text.empty() && all.wants_more; size = rest) {
    all.wants_more = reader.take(text.substr(0, size));
    text.remove_prefix(std::min(size, text.size()));
  }
  reader.end();
  all.trouble = reader.trouble();
  return all;
}

const std::vector<std::string>& answers() {
  static const std::vector<std::string> all{
      "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nMcp-Session-Id:  s \t\r\n\r\nhello",
      "HTTP/1.0 200\r\n\r\nhello",
      "HTTP/1.1 100 Continue\r\nMcp-Session-Id: x\r\n\r\nHTTP/1.1 103 X\r\n\r\nHTTP/1.1 200 "
      "OK\r\ncontent-length:5\r\n\r\nhello",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n2;a=b\r\nhe\r\n003\r\nllo\r\n0\r\nX: y\r\n\r\n",
      "HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n5\nhello\n0\n\n",
      "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
  };
  return all;
}

}  // namespace

TEST_CASE("an answer is read in the same way however it is cut", "[http]") {
  for (const std::string& text : answers()) {
    const seen whole = read_in_parts(text, text.size(), 1);
    INFO(text);
    CHECK(whole.trouble.empty());
    CHECK(whole.heads == 1);
    CHECK(whole.status == 200);
    CHECK(whole.session_id != "x");  // of an interim answer
    CHECK(whole.content == "hello");
    for (std::size_t at = 1; at < text.size(); ++at) {
      CHECK(read_in_parts(text, at, text.size()) == whole);
      CHECK(read_in_parts(text, at, 1) == whole);
    }
  }
}

TEST_CASE("an answer that is cut short is never taken for a whole one", "[http]") {
  for (const std::string& text : answers()) {
    const bool ends_with_connection = text.find("ength") == text.npos && text.find("hunked") == text.npos;
    for (std::size_t size = 0; size < text.size(); ++size) {
      const seen cut = read_in_parts(std::string_view(text).substr(0, size), 7, 7);
      INFO(text.substr(0, size));
      CHECK(std::string("hello").rfind(cut.content, 0) == 0);
      CHECK(cut.trouble.empty() == (ends_with_connection && cut.heads == 1));
    }
  }
}

TEST_CASE("answers without content end with their head", "[http]") {
  for (const char* status : {"204 No Content\r\nContent-Length: 5", "304 X", "200 OK\r\nContent-Length: 0"}) {
    const seen got = read_in_parts(std::string("HTTP/1.1 ") + status + "\r\n\r\nHTTP", 1, 1);
    INFO(status);
    CHECK(got.heads == 1);
    CHECK(!got.wants_more);
    CHECK(got.content.empty());
    CHECK(got.trouble.empty());
  }
}

TEST_CASE("both sides of each bound of a head", "[http]") {
  using reader = example::http_reader;
  const std::string ok = "HTTP/1.1 200 OK\r\n", end = "Content-Length: 0\r\n\r\n";
  const auto is_taken = [](const std::string& text) { return read_in_parts(text, 1, 4096).trouble.empty(); };
  const auto line_of = [](std::size_t size) { return "X: " + std::string(size - 4, 'a') + "\r"; };
  CHECK(is_taken(ok + line_of(reader::most_line) + "\n" + end));
  CHECK(!is_taken(ok + line_of(reader::most_line + 1) + "\n" + end));
  std::string many = ok;
  for (std::size_t i = 0; i + 3 < reader::most_lines; ++i) many += "X: y\r\n";
  CHECK(is_taken(many + end));  // with the status line, the length and the empty line
  CHECK(!is_taken(many + "X: y\r\n" + end));
  std::string large = ok;
  while (large.size() + 1000 + end.size() <= reader::most_head) large += line_of(999) + "\n";
  const std::size_t left = reader::most_head - large.size() - end.size();
  CHECK(is_taken(large + line_of(left - 1) + "\n" + end));
  CHECK(!is_taken(large + line_of(left) + "\n" + end));
}
