#include "schema.h"

#include <fmt/format.h>

#include <algorithm>

namespace attn::test {
namespace {

using nlohmann::json;
using Errors = std::vector<std::string>;

bool is_type(const json& value, const std::string& type) {
  if (type == "integer") return value.is_number_integer();
  if (type == "number") return value.is_number();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_boolean();
  if (type == "null") return value.is_null();
  if (type == "array") return value.is_array();
  return type == "object" && value.is_object();
}

class Validator {
 public:
  explicit Validator(const json& whole) : whole_(whole) {}

  Errors check(const json& schema, const json& value, const std::string& place) const {
    if (schema.is_boolean()) return schema.get<bool>() ? Errors() : Errors{place + ": not allowed"};
    Errors errors;
    for (const auto& [keyword, rule] : schema.items())
      for (std::string& error : by(keyword, rule, schema, value, place)) errors.push_back(std::move(error));
    return errors;
  }

 private:
  Errors by(const std::string& keyword, const json& rule, const json& schema, const json& value,
            const std::string& place) const {
    const auto expect = [&](bool holds) {
      return holds ? Errors() : Errors{fmt::format("{}: {} {} against {}", place, keyword, rule.dump(), value.dump())};
    };
    if (keyword == "$schema" || keyword == "$id" || keyword == "$defs" || keyword == "title" ||
        keyword == "description")
      return {};
    if (keyword == "$ref") return check(whole_.at(json::json_pointer(rule.get<std::string>().substr(1))), value, place);
    if (keyword == "type") {
      const json types = rule.is_array() ? rule : json::array({rule});
      return expect(std::any_of(types.begin(), types.end(), [&](const json& type) { return is_type(value, type); }));
    }
    if (keyword == "const") return expect(value == rule);
    if (keyword == "enum") return expect(std::find(rule.begin(), rule.end(), value) != rule.end());
    if (keyword == "minimum") return expect(!value.is_number() || value.get<double>() >= rule.get<double>());
    if (keyword == "minItems") return expect(!value.is_array() || value.size() >= rule.get<std::size_t>());
    if (keyword == "anyOf")
      return expect(
          std::any_of(rule.begin(), rule.end(), [&](const json& one) { return check(one, value, "").empty(); }));
    Errors errors;
    const auto add = [&](const json& one, const json& part, const std::string& where) {
      for (std::string& error : check(one, part, where)) errors.push_back(std::move(error));
    };
    if (keyword == "items") {
      if (value.is_array())
        for (std::size_t i = 0; i < value.size(); ++i) add(rule, value[i], fmt::format("{}/{}", place, i));
    } else if (keyword == "required") {
      for (const json& key : rule)
        if (value.is_object() && !value.contains(key)) errors.push_back(place + ": no " + key.get<std::string>());
    } else if (keyword == "properties") {
      for (const auto& [key, one] : rule.items())
        if (value.is_object() && value.contains(key)) add(one, value.at(key), place + "/" + key);
    } else if (keyword == "additionalProperties") {
      const json known = schema.value("properties", json::object());
      if (value.is_object())
        for (const auto& [key, part] : value.items())
          if (!known.contains(key)) add(rule, part, place + "/" + key);
    } else {
      errors.push_back("unknown keyword " + keyword);
    }
    return errors;
  }

  const json& whole_;
};

}  // namespace

std::vector<std::string> schema_errors(const json& schema, const json& value) {
  return Validator(schema).check(schema, value, "");
}

}  // namespace attn::test
