// SPDX-License-Identifier: MIT
// JSON from strangers, read strictly: valid, nested at most 64 deep, no key twice in one object. Two passes, since the
// callback of nlohmann-json's parser, which could do both in one, costs the square of a list's size.
#ifndef MCP_RESUME_EXAMPLES_STRICT_JSON_HPP
#define MCP_RESUME_EXAMPLES_STRICT_JSON_HPP

#include <cstddef>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace oracle {

// What is wrong with the text. It may hold bytes of it: print it with printable().
struct json_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class json_checker : public nlohmann::json_sax<nlohmann::json> {
 public:
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override { return enter(); }
  bool start_array(std::size_t) override { return enter(); }
  bool end_object() override { return leave(); }
  bool end_array() override { return leave(); }
  bool key(string_t& name) override {
    if (!keys_.back().insert(name).second) throw json_error("key `" + name.substr(0, 100) + "` stands twice");
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception& e) override {
    throw json_error("not JSON: " + std::string(e.what()).substr(0, 300));
  }

 private:
  bool enter() {
    if (keys_.size() == 64) throw json_error("nested more than 64 deep");
    keys_.emplace_back();
    return true;
  }
  bool leave() {
    keys_.pop_back();
    return true;
  }

  std::vector<std::set<std::string>> keys_;  // of what is open
};

inline nlohmann::json parse_strictly(std::string_view text) {
  json_checker checker;
  nlohmann::json::sax_parse(text, &checker);
  return nlohmann::json::parse(text);
}

}  // namespace oracle

#endif  // MCP_RESUME_EXAMPLES_STRICT_JSON_HPP
