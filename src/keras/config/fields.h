// The fields of a class, declared in one list. It is used to read them, to write them, and to find unknown keys.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "attn/keras/version.h"
#include "config/activation.h"
#include "config/dtype_policy.h"
#include "config/initializer.h"
#include "config/json.h"

namespace attn::keras {

/// A number that remembers whether it was an integer, because Keras prints 0 and 0.0 as they were given.
struct Number {
  double value = 0.0;
  bool integral = false;
  Number(double v = 0.0) : value(v) {}         // NOLINT: stands for a double
  Number(int v) : value(v), integral(true) {}  // NOLINT: a default that Python holds as an int
  operator double() const { return value; }    // NOLINT
};

/// An integer > 0.
struct Positive {
  std::int64_t value = 1;
  Positive(std::int64_t v = 1) : value(v) {}       // NOLINT: stands for an integer
  operator std::int64_t() const { return value; }  // NOLINT
};

/// A tuple of integers; a config may contain a single integer instead.
struct Tuple {
  std::vector<std::int64_t> items;
};

/// A tuple of `rank` positive integers for windows and strides; a single integer applies to all.
struct Window {
  std::vector<std::int64_t> items;
};

/// An axis (an integer), or a list of axes.
using Axes = std::variant<std::int64_t, std::vector<std::int64_t>>;

/// A string that must be one of `allowed`.
struct Choice {
  std::string value;
  std::vector<std::string_view> allowed;
};

/// A value without effect at inference, such as a seed, kept as read.
struct Opaque {
  Json json;
};

/// A regularizer or a constraint, as an object or a name. Both have an effect only in training.
struct Regularizer {
  Json json;
};
struct Constraint {
  Json json;
};

/// Reads or writes fields. The supported types are those above, and all types with functions read_field(ref, value,
/// warnings) and write_field(value, version).
class Fields {
 public:
  /// Reads the members of `config` into the fields. `warnings` receives notes about valid but unexpected settings.
  Fields(const Ref& config, std::vector<std::string>& warnings) : config_(&config), warnings_(&warnings) {}
  /// Writes the fields into `out` in the form of Keras `version`.
  Fields(Json& out, Version version) : out_(&out), version_(version) {}

  [[nodiscard]] bool reading() const noexcept { return config_ != nullptr; }
  [[nodiscard]] Version version() const noexcept { return version_; }
  [[nodiscard]] const Ref& config() const { return *config_; }
  [[nodiscard]] std::vector<std::string>& warnings() const { return *warnings_; }

  /// Reads or writes the field `key`, which Keras writes from version `since` up to `last`.
  template <typename T>
  void operator()(std::string_view key, T& value, Version since = kOldest, Version last = kNewest) {
    if (reading()) {
      known_.emplace_back(key);
      if (const auto ref = config_->find(key)) config_->document().attempt([&] { read(*ref, value); });
    } else if (version_ > last) {
      return;  // later versions do not have the key, because it had no effect
    } else if (version_ >= since) {
      (*out_)[std::string(key)] = write(value);
    } else {
      omitted_keys_.push_back({std::string(key), since, write(value)});
    }
  }
  /// Reads or writes a required key.
  template <typename T>
  void required(std::string_view key, T& value, Version since = kOldest) {
    if (reading() && !config_->find(key)) missing_.emplace_back(key);
    (*this)(key, value, since);
  }
  /// Returns whether there was a field with this key.
  [[nodiscard]] bool knows(std::string_view key) const {
    return std::find(known_.begin(), known_.end(), key) != known_.end();
  }
  /// Returns the member `key`, empty if it is missing. Used to read a member that is not a plain field.
  std::optional<Ref> take(std::string_view key) {
    known_.emplace_back(key);
    return config_->find(key);
  }
  /// Stores `json` under `key`. Used to write a member that is not a plain field.
  void put(std::string_view key, Json json) { (*out_)[std::string(key)] = std::move(json); }
  /// Ignores keys that Keras accepts but does not write, and that have no effect here.
  void ignored(std::initializer_list<std::string_view> keys) {
    for (const auto key : keys) ignored_.emplace_back(key);
  }
  /// Ignores keys of other Keras versions that have no effect here, and notes them in the document.
  void foreign(std::initializer_list<std::string_view> keys) {
    for (const auto key : keys) foreign_.emplace_back(key);
  }
  /// Throws an Error after reading: for each unknown key, with the most similar known one, and for the first missing
  /// key. If a Keras newer than kNewest wrote the file, an unknown key with an empty value (null, false, empty) is
  /// ignored.
  void check_keys() const;

  /// A key that the requested version does not have, and its value.
  struct OmittedKey {
    std::string key;
    Version since;
    Json value;
  };
  [[nodiscard]] const std::vector<OmittedKey>& omitted_keys() const noexcept { return omitted_keys_; }

 private:
  void read(const Ref& ref, bool& value) { value = ref.boolean(); }
  void read(const Ref& ref, std::int64_t& value) { value = ref.integer(); }
  void read(const Ref& ref, double& value) { value = ref.number(); }
  void read(const Ref& ref, std::string& value) { value = ref.text(); }
  void read(const Ref& ref, Number& value);
  void read(const Ref& ref, DType& value);
  void read(const Ref& ref, Positive& value) { value = ref.integer_from(1); }
  void read(const Ref& ref, Tuple& value);
  void read(const Ref& ref, Window& value);
  void read(const Ref& ref, Axes& value);
  void read(const Ref& ref, Choice& value);
  void read(const Ref& ref, Opaque& value);
  void read(const Ref& ref, Regularizer& value);
  void read(const Ref& ref, Constraint& value);
  void read(const Ref& ref, Initializer& value) { value = Initializer::read(ref); }
  void read(const Ref& ref, Activation& value) { value = Activation::read(ref); }
  void read(const Ref& ref, DTypePolicy& value) { value = DTypePolicy::read(ref); }
  void read(const Ref& ref, Shape& value) { value = ref.shape(); }
  template <typename T>
  void read(const Ref& ref, std::optional<T>& value) {
    value.reset();  // an explicit null overrides the default
    if (ref.is_null()) return;
    T given;
    read(ref, given);
    value = std::move(given);
  }
  template <typename T>
  void read(const Ref& ref, std::vector<T>& value) {
    ref.expect_array();
    value.clear();
    for (const Ref& element : ref.elements()) {
      T given;
      read(element, given);
      value.push_back(std::move(given));
    }
  }
  template <typename T>
  void read(const Ref& ref, T& value) {
    read_field(ref, value, *warnings_);
  }

  Json write(bool value) const { return value; }
  Json write(std::int64_t value) const { return value; }
  Json write(double value) const { return value; }
  Json write(const std::string& value) const { return value; }
  Json write(const Number& value) const;
  Json write(const DType& value) const;
  Json write(const Positive& value) const { return value.value; }
  Json write(const Tuple& value) const { return python_tuple(value.items); }
  Json write(const Window& value) const { return python_tuple(value.items); }
  Json write(const Axes& value) const;
  Json write(const Choice& value) const { return value.value; }
  Json write(const Opaque& value) const { return value.json; }
  Json write(const Regularizer& value) const { return value.json; }
  Json write(const Constraint& value) const { return value.json; }
  Json write(const Initializer& value) const;
  Json write(const Activation& value) const;
  Json write(const DTypePolicy& value) const;
  Json write(const Shape& value) const;
  template <typename T>
  Json write(const std::optional<T>& value) const {
    return value ? write(*value) : Json();
  }
  template <typename T>
  Json write(const std::vector<T>& value) const {
    Json out = Json::array();
    for (const T& element : value) out.push_back(write(element));
    return out;
  }
  template <typename T>
  Json write(const T& value) const {
    return write_field(value, version_);
  }

  const Ref* config_ = nullptr;
  std::vector<std::string>* warnings_ = nullptr;
  Json* out_ = nullptr;
  Version version_ = kNewest;
  std::vector<std::string> known_, ignored_, foreign_, missing_;
  std::vector<OmittedKey> omitted_keys_;
};

}  // namespace attn::keras
