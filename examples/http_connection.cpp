// SPDX-License-Identifier: MIT
#include "http_connection.hpp"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string_view>

#include "printable.hpp"

namespace example {
namespace {

constexpr std::chrono::milliseconds slice{20};          // how late a closing is noticed
constexpr std::chrono::milliseconds for_address{5000};  // where there is another one to try

class descriptor {
 public:
  explicit descriptor(int number = -1) : number_(number) {}
  descriptor(const descriptor&) = delete;
  descriptor& operator=(const descriptor&) = delete;
  ~descriptor() { reset(-1); }
  void reset(int number) {
    if (number_ >= 0) ::close(number_);
    number_ = number;
  }
  int number() const { return number_; }

 private:
  int number_;
};

class connection {
 public:
  connection(const http_limits& limits, const std::atomic<bool>& is_closed) : limits_(limits), is_closed_(is_closed) {
    renew_patience();
  }

  // What went wrong; empty where all is well, and where it is we who have closed.
  const std::string& trouble() const { return trouble_; }
  void renew_patience() {
    const auto now = steady::now();
    until_ = limits_.deadline - now > limits_.patience ? now + limits_.patience : limits_.deadline;
  }

  bool open(const endpoint& to) {
    for (const endpoint::address& each : to.addresses) {
      const bool is_last = &each == &to.addresses.back();
      const steady::time_point end = until_;
      if (!is_last) until_ = std::min(until_, steady::now() + for_address);
      trouble_.clear();
      const bool is_open = open(each);
      until_ = end;
      if (is_open || is_closed_) return is_open;
    }
    return false;
  }
  bool send(std::string_view text) {
    while (!text.empty() && wait(POLLOUT)) {
      const ssize_t n = ::send(socket_.number(), text.data(), text.size(), MSG_NOSIGNAL);
      if (n < 0 && !is_for_later(errno)) return fail(std::strerror(errno));
      text.remove_prefix(n < 0 ? 0 : static_cast<std::size_t>(n));
    }
    return text.empty();
  }
  // Empty where the connection has ended, or something is wrong.
  std::string_view receive() {
    while (wait(POLLIN)) {
      const ssize_t n = ::recv(socket_.number(), buffer_, sizeof buffer_, 0);
      if (n < 0 && is_for_later(errno)) continue;
      if (n < 0) fail(std::strerror(errno));
      if (n <= 0) break;
      trouble_.clear();  // of the request: a server may answer, and close, before it has read all of it
      size_ += static_cast<std::size_t>(n);
      if (size_ <= limits_.most_bytes) return {buffer_, static_cast<std::size_t>(n)};
      fail("more than " + std::to_string(limits_.most_bytes >> 20U) + " MiB came");
      break;
    }
    return {};
  }

 private:
  bool open(const endpoint::address& to) {
    socket_.reset(::socket(to.bytes.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (socket_.number() < 0) return fail(std::strerror(errno));
    const int on = 1;
    ::setsockopt(socket_.number(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (::connect(socket_.number(), reinterpret_cast<const sockaddr*>(&to.bytes), to.size) == 0) return true;
    if (errno != EINPROGRESS) return fail(std::strerror(errno));
    if (!wait(POLLOUT)) return false;
    int error = 0;
    socklen_t size = sizeof error;
    ::getsockopt(socket_.number(), SOL_SOCKET, SO_ERROR, &error, &size);
    return error == 0 || fail(std::strerror(error));
  }
  bool wait(short events) {
    while (!is_closed_) {
      if (steady::now() >= until_) return fail("the time was up");
      pollfd asked{socket_.number(), events, 0};
      if (::poll(&asked, 1, static_cast<int>(slice.count())) > 0) return true;
    }
    return false;
  }
  bool fail(const std::string& trouble) {
    trouble_ = trouble;
    return false;
  }
  static bool is_for_later(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

  const http_limits& limits_;
  const std::atomic<bool>& is_closed_;
  steady::time_point until_{};
  std::string trouble_;
  descriptor socket_;
  std::size_t size_ = 0;
  char buffer_[16384];
};

bool is_loopback_address(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET) {
    const auto& four = reinterpret_cast<const sockaddr_in&>(address);
    return ntohl(four.sin_addr.s_addr) >> 24U == 127;
  }
  const auto& six = reinterpret_cast<const sockaddr_in6&>(address);
  return IN6_IS_ADDR_LOOPBACK(&six.sin6_addr);
}

std::vector<endpoint::address> resolve(std::string name, int port) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  if (name.front() == '[') name = name.substr(1, name.size() - 2);
  if (::getaddrinfo(name.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) return {};
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> held(found, ::freeaddrinfo);
  std::vector<endpoint::address> all;
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    endpoint::address& next = all.emplace_back();
    std::memcpy(&next.bytes, each->ai_addr, each->ai_addrlen);
    next.size = each->ai_addrlen;
  }
  return all;
}

bool is_port(const std::string& text) {
  const bool is_number = !text.empty() && text.size() <= 5 && text.find_first_not_of("0123456789") == text.npos;
  return is_number && std::stoi(text) > 0 && std::stoi(text) < 65536;
}

// No header of it can begin another one.
bool can_be_sent(const http_request& asked) {
  return std::all_of(asked.fields.begin(), asked.fields.end(), [](const auto& field) {
    constexpr std::string_view forbidden("\r\n\0", 3);
    return field.first.find_first_of(forbidden) == std::string::npos &&
           field.second.find_first_of(forbidden) == std::string::npos;
  });
}

std::string text_of(const endpoint& to, const http_request& asked) {
  std::string text = asked.method + " " + to.path + " HTTP/1.1\r\nHost: " + to.host;
  if (to.port != 80) text += ":" + std::to_string(to.port);
  text += "\r\nConnection: close\r\n";
  for (const auto& [name, value] : asked.fields) text.append(name).append(": ").append(value).append("\r\n");
  if (!asked.body.empty()) text += "Content-Length: " + std::to_string(asked.body.size()) + "\r\n";
  return text + "\r\n" + asked.body;
}

}  // namespace

bool endpoint::is_loopback() const {
  return std::all_of(addresses.begin(), addresses.end(),
                     [](const address& each) { return is_loopback_address(each.bytes); });
}

endpoint parse_endpoint(const std::string& url) {
  constexpr std::string_view scheme = "http://";
  const auto fail = [&url](const char* why = "must be http://host:port/path") {
    throw std::runtime_error(printable(url) + ": " + why);
  };
  if (url.rfind("https://", 0) == 0) fail("TLS is not spoken here: name the port behind the proxy");
  const bool is_plain = std::all_of(url.begin(), url.end(), [](char c) { return c > ' ' && c < 0x7F; });
  if (url.rfind(scheme, 0) != 0 || !is_plain || url.find_first_of("@#\\") != url.npos) fail();
  endpoint to;
  const std::size_t path = std::min(url.find_first_of("/?", scheme.size()), url.size());
  to.path = url.substr(path);
  if (to.path.empty() || to.path.front() != '/') to.path.insert(0, "/");
  const std::string authority = url.substr(scheme.size(), path - scheme.size());
  const std::size_t bracket = authority.rfind(']'), colon = authority.rfind(':');
  const bool has_port = colon != authority.npos && (bracket == authority.npos || colon > bracket);
  const std::string port = has_port ? authority.substr(colon + 1) : "80";
  to.host = authority.substr(0, has_port ? colon : authority.npos);
  if (to.host.empty() || !is_port(port)) fail();
  to.port = std::stoi(port);
  to.addresses = resolve(to.host, to.port);
  if (to.addresses.empty()) fail("there is no such host");
  return to;
}

std::string exchange_over_http(const endpoint& to, const http_request& asked, const http_limits& limits,
                               const std::atomic<bool>& is_closed, const http_taker& taker) {
  if (!can_be_sent(asked)) return "a header of the request has an end of line";
  connection over(limits, is_closed);
  if (!over.open(to)) return over.trouble();
  over.send(text_of(to, asked));
  http_reader reader(taker);
  for (;;) {
    const std::string_view bytes = over.receive();
    if (bytes.empty()) break;
    if (!reader.take(bytes)) return reader.trouble();
    if (reader.has_head() && reader.head().is_event_stream()) over.renew_patience();
  }
  if (is_closed) return {};
  if (!over.trouble().empty()) return over.trouble();
  reader.end();
  return reader.trouble();
}

}  // namespace example
