// Names that Keras gives to layers without a name.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attn/base/text.h"
#include "classes/composite.h"

namespace attn::keras {

/// Names layers by their class, numbered in the order in which constructors create them: as in a program that loads
/// only this model, because Keras numbers the layers of all models of a program.
class AutomaticNames {
 public:
  std::string operator()(std::string_view class_name) {
    const std::string base = snake_case(class_name);
    const int earlier = counts_[base]++;
    return earlier == 0 ? base : base + '_' + std::to_string(earlier);
  }
  /// Returns the names of several layers, as a constructor argument.
  [[nodiscard]] Json of(std::span<const std::string_view> class_names) {
    Json out = Json::array();
    for (const std::string_view class_name : class_names) out.push_back((*this)(class_name));
    return out;
  }

 private:
  std::map<std::string, int> counts_;
};

/// A layer with parts that have automatic names. The model that contains it states them in order, in the argument
/// `part_names`; without it, they are counted from 0.
class NamedParts : public Composite {
 public:
  /// Sets the names that are used without `part_names`.
  void count_from(const AutomaticNames& names) { own_names_ = names; }

 protected:
  void part_names(Fields& f) {
    if (f.reading()) f("part_names", part_names_);
  }
  /// Makes a part with the next name.
  Layer& make_part(std::string_view class_name, std::string_view attribute, Json arguments = Json::object()) {
    return make(class_name, path_ + next_name(class_name), store_ + std::string(attribute), std::move(arguments));
  }
  /// Makes the parts of a layer that has only parts, and the next name.
  template <typename Make>
  void inside(std::string_view class_name, std::string_view attribute, Make make_parts) {
    const std::string path = std::exchange(path_, path_ + next_name(class_name) + "/");
    const std::string store = std::exchange(store_, store_ + std::string(attribute) + "/");
    make_parts();
    path_ = path;
    store_ = store;
  }
  [[nodiscard]] std::string next_name(std::string_view class_name) {
    return next_ < part_names_.size() ? part_names_[next_++] : own_names_(class_name);
  }

 private:
  std::vector<std::string> part_names_;
  std::size_t next_ = 0;
  std::string path_, store_;
  AutomaticNames own_names_;
};

}  // namespace attn::keras
