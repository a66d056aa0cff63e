// SPDX-License-Identifier: MIT
#include "admission.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace example {
namespace {

constexpr std::size_t most_header_lines = 64;

// A page of another site must not reach a server on this machine, not by a name that it resolves to here either (DNS
// rebinding): so only these names are ours.
bool is_loopback(std::string_view host) {
  const std::size_t colon = host.rfind(':');
  const bool has_port = colon != host.npos && host.find_first_not_of("0123456789", colon + 1) == host.npos;
  if (has_port) host = host.substr(0, colon);
  return host == "127.0.0.1" || host == "localhost" || host == "[::1]";
}

bool is_own_origin(std::string_view origin) {
  constexpr std::string_view scheme = "http://";
  return origin.substr(0, scheme.size()) == scheme && is_loopback(origin.substr(scheme.size()));
}

bool has_control_byte(const std::string& value) {
  return std::any_of(value.begin(), value.end(), [](unsigned char c) { return c < 0x20 || c == 0x7F; });
}

bool is_listed(std::string_view method, std::string_view methods) {
  const std::size_t at = methods.find(method);
  return at != methods.npos && (at == 0 || methods[at - 1] == ' ');
}

bool is_json(const std::string& content_type) {
  const std::string type = in_lower_case(content_type.substr(0, content_type.find(';')));
  return type.substr(0, type.find_last_not_of(" \t") + 1) == "application/json";
}

}  // namespace

std::string in_lower_case(std::string text) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return text;
}

// All but these are refused: httplib answers a HEAD like the GET, which would take over a stream for an answer without
// body, and reads the body of any other method into memory.
std::string methods_of(const std::string& path) {
  if (path == "/mcp") return "GET, POST, DELETE";
  return path == "/page/cut" || path == "/page/send" ? "POST" : "GET";
}

int refusal_of(const httplib::Request& asked, const std::string& principal_header) {
  if (asked.headers.size() > most_header_lines) return 431;
  for (const char* name : {"Host", "Origin", "Mcp-Session-Id", "Last-Event-ID", "MCP-Protocol-Version", "Accept",
                           "Content-Type", principal_header.c_str()}) {
    if (*name == '\0') continue;
    const auto [first, last] = asked.headers.equal_range(name);  // get_header_value() ends at a NUL
    if (first != last && (std::next(first) != last || has_control_byte(first->second))) return 400;
  }
  if (!is_loopback(asked.get_header_value("Host"))) return 403;
  if (asked.has_header("Origin") && !is_own_origin(asked.get_header_value("Origin"))) return 403;
  if (asked.has_header("Range")) return 416;  // httplib serves any number of ranges of one answer, however they overlap
  if (!is_listed(asked.method, methods_of(asked.path))) return 405;
  const bool is_anonymous = !principal_header.empty() && asked.get_header_value(principal_header).empty();
  if (asked.path != "/mcp") return 0;
  if (is_anonymous) return 401;
  // Before the body is read: httplib fails on one in several parts.
  return asked.method == "POST" && !is_json(asked.get_header_value("Content-Type")) ? 415 : 0;
}

}  // namespace example
