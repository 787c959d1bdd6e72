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
  Validator(const json& whole, std::set<std::string>* seen) : whole_(whole), seen_(seen) {}

  /// `at` is the pointer in the schema, `place` that in the value.
  Errors check(const json& schema, const std::string& at, const json& value, const std::string& place) const {
    if (schema.is_boolean()) return schema.get<bool>() ? Errors() : Errors{place + ": not allowed"};
    saw(at);
    Errors errors;
    for (const auto& [keyword, rule] : schema.items())
      for (std::string& error : by(keyword, rule, schema, at, value, place)) errors.push_back(std::move(error));
    return errors;
  }

 private:
  void saw(const std::string& at) const {
    if (seen_ != nullptr) seen_->insert(at);
  }

  Errors by(const std::string& keyword, const json& rule, const json& schema, const std::string& at, const json& value,
            const std::string& place) const {
    const std::string here = at + "/" + keyword;
    const auto expect = [&](bool holds) {
      return holds ? Errors() : Errors{fmt::format("{}: {} {} against {}", place, keyword, rule.dump(), value.dump())};
    };
    /// One of the alternatives must hold.
    const auto expect_one = [&](const auto& holds) {
      for (std::size_t i = 0; i < rule.size(); ++i) {
        if (!holds(i)) continue;
        saw(fmt::format("{}/{}", here, i));
        return Errors();
      }
      return expect(false);
    };
    if (keyword == "$schema" || keyword == "$id" || keyword == "$defs" || keyword == "title" ||
        keyword == "description")
      return {};
    if (keyword == "$ref") {
      const auto target = rule.get<std::string>().substr(1);
      return check(whole_.at(json::json_pointer(target)), target, value, place);
    }
    if (keyword == "type" && rule.is_array()) return expect_one([&](std::size_t i) { return is_type(value, rule[i]); });
    if (keyword == "type") return expect(is_type(value, rule));
    if (keyword == "const") return expect(value == rule);
    if (keyword == "enum") return expect_one([&](std::size_t i) { return value == rule[i]; });
    if (keyword == "minimum") return expect(!value.is_number() || value.get<double>() >= rule.get<double>());
    if (keyword == "minItems") return expect(!value.is_array() || value.size() >= rule.get<std::size_t>());
    if (keyword == "anyOf") {
      return expect_one([&](std::size_t i) {
        const std::string one = fmt::format("{}/{}", here, i);
        // A failed alternative does not count as checked.
        if (!Validator(whole_, nullptr).check(rule[i], one, value, "").empty()) return false;
        return check(rule[i], one, value, "").empty();
      });
    }
    Errors errors;
    const auto add = [&](const json& one, const std::string& one_at, const json& part, const std::string& where) {
      for (std::string& error : check(one, one_at, part, where)) errors.push_back(std::move(error));
    };
    if (keyword == "items") {
      if (value.is_array())
        for (std::size_t i = 0; i < value.size(); ++i) add(rule, here, value[i], fmt::format("{}/{}", place, i));
    } else if (keyword == "required") {
      for (const json& key : rule)
        if (value.is_object() && !value.contains(key)) errors.push_back(place + ": no " + key.get<std::string>());
    } else if (keyword == "properties") {
      for (const auto& [key, one] : rule.items())
        if (value.is_object() && value.contains(key)) add(one, here + "/" + key, value.at(key), place + "/" + key);
    } else if (keyword == "additionalProperties") {
      const json known = schema.value("properties", json::object());
      if (value.is_object())
        for (const auto& [key, part] : value.items())
          if (!known.contains(key)) add(rule, here, part, place + "/" + key);
    } else {
      errors.push_back("unknown keyword " + keyword);
    }
    return errors;
  }

  const json& whole_;
  std::set<std::string>* seen_;
};

void collect(const json& schema, const std::string& at, std::set<std::string>& parts) {
  if (!schema.is_object()) return;
  parts.insert(at);
  for (const auto& [keyword, rule] : schema.items()) {
    const std::string here = at + "/" + keyword;
    if (keyword == "properties" || keyword == "$defs") {
      for (const auto& [key, one] : rule.items()) collect(one, here + "/" + key, parts);
    } else if (keyword == "items" || keyword == "additionalProperties") {
      collect(rule, here, parts);
    } else if (rule.is_array() && (keyword == "type" || keyword == "enum" || keyword == "anyOf")) {
      for (std::size_t i = 0; i < rule.size(); ++i) {
        parts.insert(fmt::format("{}/{}", here, i));
        collect(rule[i], fmt::format("{}/{}", here, i), parts);
      }
    }
  }
}

}  // namespace

std::vector<std::string> schema_errors(const json& schema, const json& value, std::set<std::string>* seen) {
  return Validator(schema, seen).check(schema, "", value, "");
}

std::set<std::string> schema_parts(const json& schema) {
  std::set<std::string> parts;
  collect(schema, "", parts);
  return parts;
}

}  // namespace attn::test
