// SPDX-License-Identifier: MIT
#include "probe_http.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <httplib.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>

#include "input_error.hpp"
#include "report_text.hpp"

namespace oracle {
namespace {

constexpr std::size_t most_kept = std::size_t{32} << 20U;   // of one answer
constexpr std::size_t most_bytes = std::size_t{64} << 20U;  // that one connection may bring
constexpr std::size_t most_head = std::size_t{64} << 10U;
constexpr std::size_t most_head_line = std::size_t{8} << 10U;
constexpr std::size_t cost_of_frame = 1024;  // beside its text: it is kept in several places
constexpr std::chrono::milliseconds slice{20};

class descriptor {
 public:
  explicit descriptor(int number) : number_(number) {}
  descriptor(const descriptor&) = delete;
  descriptor& operator=(const descriptor&) = delete;
  ~descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  int number() const { return number_; }

 private:
  int number_;
};

// httplib's own connection has no deadline for a whole answer, no bound for a head, and its regular expression for the
// status line exhausts the stack on a long one. So httplib speaks HTTP, but over this.
class bounded_stream final : public httplib::Stream {
 public:
  bounded_stream(const endpoint& to, steady::time_point deadline, const std::atomic<bool>& is_closed)
      : deadline_(deadline), is_closed_(is_closed), socket_(::socket(to.address.ss_family, SOCK_STREAM, 0)) {
    ::fcntl(socket_.number(), F_SETFL, O_NONBLOCK);
    const auto* address = reinterpret_cast<const sockaddr*>(&to.address);
    int error = ::connect(socket_.number(), address, to.address_size) == 0 ? 0 : errno;
    if (error == EINPROGRESS) {
      socklen_t size = sizeof error;
      const bool is_ready = wait(POLLOUT) && ::getsockopt(socket_.number(), SOL_SOCKET, SO_ERROR, &error, &size) == 0;
      if (!is_ready && trouble_.empty()) error = ETIMEDOUT;
    }
    if (error != 0) trouble_ = std::strerror(error);
    const int on = 1;
    ::setsockopt(socket_.number(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }

  const std::string& trouble() const { return trouble_; }
  std::size_t size() const { return size_; }
  const std::string& first_bytes() const { return first_bytes_; }
  bool has_head() const { return !is_head_; }
  void end_head() { is_head_ = false; }

  bool is_readable() const override { return begin_ != end_ || wait(POLLIN); }
  bool is_writable() const override { return wait(POLLOUT); }
  bool wait_readable() const { return is_readable(); }  // as later versions of httplib call them
  bool wait_writable() const { return is_writable(); }
  time_t duration() const { return 0; }
  ssize_t read(char* to, std::size_t size) override {
    if (begin_ == end_ && !fill()) return trouble_.empty() ? 0 : -1;
    const std::size_t n = std::min(size, end_ - begin_);
    if (!is_head_within({buffer_ + begin_, n})) return -1;
    std::memcpy(to, buffer_ + begin_, n);
    begin_ += n;
    return static_cast<ssize_t>(n);
  }
  ssize_t write(const char* from, std::size_t size) override {
    return wait(POLLOUT) ? ::send(socket_.number(), from, size, MSG_NOSIGNAL) : -1;
  }
  void get_remote_ip_and_port(std::string&, int&) const override {}
  void get_local_ip_and_port(std::string&, int&) const override {}
  socket_t socket() const override { return socket_.number(); }

 private:
  bool wait(short events) const {
    while (!is_closed_ && steady::now() < deadline_ && trouble_.empty()) {
      pollfd asked{socket_.number(), events, 0};
      if (::poll(&asked, 1, static_cast<int>(slice.count())) > 0) return true;
    }
    if (!is_closed_ && trouble_.empty()) trouble_ = "the time was up";
    return false;
  }
  bool fill() {
    if (!wait(POLLIN)) return false;
    const ssize_t n = ::recv(socket_.number(), buffer_, sizeof buffer_, 0);
    if (n < 0) trouble_ = std::strerror(errno);
    if (n <= 0) return false;
    begin_ = 0;
    end_ = static_cast<std::size_t>(n);
    size_ += end_;
    if (first_bytes_.size() < 16) first_bytes_.append(buffer_, std::min<std::size_t>(end_, 16));
    if (size_ > most_bytes) trouble_ = fmt::format("more than {} MiB came", most_bytes >> 20U);
    return trouble_.empty();
  }
  bool is_head_within(std::string_view bytes) {
    if (!is_head_) return true;
    for (const char c : bytes) line_ = c == '\n' ? 0 : line_ + 1;
    head_ += bytes.size();
    if (line_ <= most_head_line && head_ <= most_head) return true;
    trouble_ = "the head of the answer is too large";
    return false;
  }

  steady::time_point deadline_;
  const std::atomic<bool>& is_closed_;
  mutable std::string trouble_;
  descriptor socket_;
  char buffer_[16384];
  std::size_t begin_ = 0, end_ = 0, size_ = 0, line_ = 0, head_ = 0;
  std::string first_bytes_;
  bool is_head_ = true;
};

// Gives httplib's client a stream of ours.
class http_on_stream : public httplib::ClientImpl {
 public:
  explicit http_on_stream(const endpoint& to) : ClientImpl(to.host, to.port) {
    set_url_encode(false);
    set_decompress(false);
  }
  bool send_over(httplib::Stream& over, httplib::Request& asked, httplib::Response& got) {
    auto error = httplib::Error::Success;
    return process_request(over, asked, got, true, error);
  }
};

bool is_loopback_address(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET) {
    const auto& four = reinterpret_cast<const sockaddr_in&>(address);
    return ntohl(four.sin_addr.s_addr) >> 24U == 127;
  }
  const auto& six = reinterpret_cast<const sockaddr_in6&>(address);
  return IN6_IS_ADDR_LOOPBACK(&six.sin6_addr);
}

// Of a name with several addresses, one on which somebody listens: `localhost` is two.
void resolve(endpoint& to) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  std::string name = to.host;
  if (name.front() == '[') name = name.substr(1, name.size() - 2);
  if (::getaddrinfo(name.c_str(), std::to_string(to.port).c_str(), &hints, &found) != 0)
    throw input_error(printable(to.url), "there is no such host");
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> held(found, ::freeaddrinfo);
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    std::memcpy(&to.address, each->ai_addr, each->ai_addrlen);
    to.address_size = each->ai_addrlen;
    to.is_loopback = is_loopback_address(to.address);
    if (each->ai_next == nullptr || !to.is_loopback) return;
    const std::atomic<bool> is_closed{false};
    if (bounded_stream(to, steady::now() + std::chrono::seconds(1), is_closed).trouble().empty()) return;
  }
}

bool is_port(const std::string& text) {
  const bool is_number = !text.empty() && text.size() <= 5 && text.find_first_not_of("0123456789") == text.npos;
  return is_number && std::stoi(text) > 0 && std::stoi(text) < 65536;
}

std::string what_went_wrong(const bounded_stream& over) {
  if (!over.trouble().empty()) return over.trouble();
  if (over.has_head()) return "it broke off";
  if (over.size() == 0) return "the connection was closed";
  const char first = over.first_bytes()[0];
  return first == 0x15 || first == 0x16 ? "what came is no HTTP but TLS" : "what came is no HTTP";
}

}  // namespace

endpoint parse_endpoint(const std::string& url) {
  constexpr std::string_view scheme = "http://";
  if (url.rfind("https://", 0) == 0)
    throw input_error(printable(url), "TLS is not spoken here: name the port behind the proxy");
  if (url.rfind(scheme, 0) != 0) throw input_error(printable(url), "must be http://host:port/path");
  const bool is_plain = std::all_of(url.begin(), url.end(), [](char c) { return c > ' ' && c < 0x7F; });
  if (!is_plain || url.find_first_of("@#\\") != url.npos)
    throw input_error(printable(url), "must be http://host:port/path");
  endpoint to;
  to.url = url;
  const std::size_t path = std::min(url.find_first_of("/?", scheme.size()), url.size());
  to.path = url.substr(path);
  if (to.path.empty() || to.path.front() != '/') to.path.insert(0, "/");
  const std::string authority = url.substr(scheme.size(), path - scheme.size());
  const std::size_t bracket = authority.rfind(']'), colon = authority.rfind(':');
  const bool has_port = colon != authority.npos && (bracket == authority.npos || colon > bracket);
  const std::string port = has_port ? authority.substr(colon + 1) : "80";
  to.host = authority.substr(0, has_port ? colon : authority.npos);
  if (to.host.empty() || !is_port(port)) throw input_error(printable(url), "must be http://host:port/path");
  to.port = std::stoi(port);
  resolve(to);
  return to;
}

bool http_answer::is_event_stream() const {
  constexpr std::string_view wanted = "text/event-stream";
  return content_type.size() >= wanted.size() &&
         std::equal(wanted.begin(), wanted.end(), content_type.begin(),
                    [](char a, char b) { return a == std::tolower(static_cast<unsigned char>(b)); });
}

exchange::exchange(const endpoint& to, http_request asked, steady::time_point deadline, byte_budget& budget)
    : deadline_(deadline), budget_(budget) {
  answer_.last = begun_;
  reading_ = std::thread([this, to, sent = std::move(asked)] { run(to, sent); });
}

bool exchange::wait(steady::time_point until, const condition& holds) {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait_until(lock, until, [&] { return is_over_ || holds(answer_); });
  return holds(answer_);
}

void exchange::wait_quiet(std::chrono::milliseconds quiet, steady::time_point until) {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!is_over_ && steady::now() < std::min(answer_.last + quiet, until)) {
    changed_.wait_until(lock, std::min(answer_.last + quiet, until));
  }
}

void exchange::close() {
  is_closed_ = true;
  if (reading_.joinable()) reading_.join();
}

http_answer exchange::answer() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return answer_;
}

void exchange::run(const endpoint& to, const http_request& asked) {
  try {
    bounded_stream over(to, deadline_, is_closed_);
    if (!over.trouble().empty()) return end(over.trouble());
    httplib::Request request;
    request.method = asked.method;
    request.path = to.path;
    request.body = asked.body;
    for (const auto& [name, value] : asked.fields) request.headers.emplace(name, value);
    request.response_handler = [&](const httplib::Response& got) {
      over.end_head();
      return take_head(got.status, got.get_header_value("Content-Type"), got.get_header_value("Mcp-Session-Id"));
    };
    request.content_receiver = [&](const char* bytes, std::size_t size, std::uint64_t, std::uint64_t) {
      return take({bytes, size});
    };
    httplib::Response got;
    const bool is_whole = http_on_stream(to).send_over(over, request, got);
    // A 204 has no content: httplib does not ask what is to become of it.
    if (is_whole && got.status == 204) take_head(204, "", "");
    end(is_whole ? "" : what_went_wrong(over));
  } catch (const std::exception& e) {
    end(e.what());
  }
}

bool exchange::take_head(int status, std::string content_type, std::string session_id) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const bool is_status = status >= 100 && status < 600;
  if (!is_status) answer_.trouble = fmt::format("{} is no status of HTTP", status);
  answer_.status = is_status ? status : 0;
  answer_.content_type = std::move(content_type);
  answer_.session_id = std::move(session_id);
  answer_.last = steady::now();
  changed_.notify_all();
  return is_status && !is_closed_;
}

bool exchange::take(std::string_view bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const std::size_t size = bytes.size();
  std::size_t cost = size;
  const bool is_stream = answer_.status == 200 && answer_.is_event_stream();
  if (!is_stream) answer_.body.append(bytes);
  while (const auto block = is_stream ? reader_.next(bytes) : std::nullopt) {
    if (!block->id && !block->data) continue;
    trace_frame frame;
    if (block->id) frame.id = std::string(*block->id);
    if (block->data) frame.data = std::string(*block->data);
    if (block->type != "message") frame.event = std::string(block->type);
    answer_.frames.push_back(std::move(frame));
    cost += cost_of_frame;
  }
  if (!is_stream || cost != size) answer_.last = steady::now();
  changed_.notify_all();
  kept_ += cost;
  const bool is_within = kept_ <= most_kept && !reader_.is_too_large() && cost <= budget_.left;
  if (is_within) budget_.left -= cost;
  if (!is_within) answer_.trouble = "more came than is kept";
  return is_within && !is_closed_;
}

void exchange::end(std::string trouble) {
  const std::lock_guard<std::mutex> lock(mutex_);
  is_over_ = true;
  answer_.has_ended = !is_closed_;
  if (answer_.trouble.empty()) answer_.trouble = std::move(trouble);
  changed_.notify_all();
}

}  // namespace oracle
