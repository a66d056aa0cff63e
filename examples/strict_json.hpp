// SPDX-License-Identifier: MIT
// JSON from strangers, read strictly: valid, nested at most 64 deep, no key twice in one object. Its cost is the size of
// the text; with the callback of nlohmann-json's own parser, or where ordered_json looks for a key before it adds one, it
// would be the square of a list's or an object's.
#ifndef MCP_RESUME_EXAMPLES_STRICT_JSON_HPP
#define MCP_RESUME_EXAMPLES_STRICT_JSON_HPP

#include <cstddef>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace example {

// What is wrong with the text. It may hold bytes of it: print it with printable().
struct json_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Makes a value out of what the parser finds. Json is nlohmann::json or nlohmann::ordered_json.
template <class Json>
class strict_builder : public nlohmann::json_sax<Json> {
  using base = nlohmann::json_sax<Json>;

 public:
  using typename base::binary_t;
  using typename base::number_float_t;
  using typename base::number_integer_t;
  using typename base::number_unsigned_t;
  using typename base::string_t;

  Json take() { return std::move(root_); }

  bool null() override { return add(nullptr) != nullptr; }
  bool boolean(bool value) override { return add(value) != nullptr; }
  bool number_integer(number_integer_t value) override { return add(value) != nullptr; }
  bool number_unsigned(number_unsigned_t value) override { return add(value) != nullptr; }
  bool number_float(number_float_t value, const string_t&) override { return add(value) != nullptr; }
  bool string(string_t& value) override { return add(std::move(value)) != nullptr; }
  bool binary(binary_t&) override { return false; }  // no JSON text has it
  bool start_object(std::size_t) override { return enter(Json::object()); }
  bool start_array(std::size_t) override { return enter(Json::array()); }
  bool end_object() override { return leave(); }
  bool end_array() override { return leave(); }
  bool key(string_t& name) override {
    if (!open_.back().keys.insert(name).second) {
      throw json_error("key `" + name.substr(0, 100) + "` stands twice in one object");
    }
    open_.back().key = std::move(name);
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception& e) override {
    throw json_error("not JSON: " + std::string(e.what()).substr(0, 300));
  }

 private:
  struct container {
    Json* value;
    std::string key;  // of the member that comes next
    std::set<std::string> keys;
  };

  // The value where it stays as long as its container is open: nothing is added to that one's own.
  Json* add(Json value) {
    if (open_.empty()) return &(root_ = std::move(value));
    container& into = open_.back();
    if (into.value->is_array()) {
      auto& list = into.value->template get_ref<typename Json::array_t&>();
      list.push_back(std::move(value));
      return &list.back();
    }
    auto& object = into.value->template get_ref<typename Json::object_t&>();
    if constexpr (std::is_same_v<Json, nlohmann::ordered_json>) {
      object.emplace_back(std::move(into.key), std::move(value));
      return &object.back().second;
    } else {
      return &object.emplace(std::move(into.key), std::move(value)).first->second;
    }
  }
  bool enter(Json empty) {
    if (open_.size() == 64) throw json_error("nested more than 64 deep");
    open_.push_back({add(std::move(empty)), {}, {}});
    return true;
  }
  bool leave() {
    open_.pop_back();
    return true;
  }

  Json root_;
  std::vector<container> open_;
};

template <class Json = nlohmann::json>
Json parse_strictly(std::string_view text) {
  strict_builder<Json> builder;
  Json::sax_parse(text, &builder);
  return builder.take();
}

}  // namespace example

#endif  // MCP_RESUME_EXAMPLES_STRICT_JSON_HPP
