// Converts a model's sizes between Hugging Face's config and KerasHub's with a single function for both directions.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "config/json.h"

namespace attn::keras {

/// One conversion, in either direction. A family calls a member for each of its keys, in the order that the keys have
/// in the result. Code for only one direction tests reading() first.
class ConfigMap {
 public:
  /// Reads Hugging Face's config. `as_keras_hub` ignores the keys that KerasHub's converters ignore. `is_converted`:
  /// KerasHub has a converter for the family.
  ConfigMap(const Ref& hugging_face, bool as_keras_hub, bool is_converted = true)
      : from_(hugging_face), as_keras_hub_(as_keras_hub && is_converted), is_converted_(is_converted) {}
  /// Writes the config of a backbone.
  explicit ConfigMap(const Json& keras) : keras_(&keras) {}

  [[nodiscard]] bool reading() const { return from_.has_value(); }
  [[nodiscard]] bool as_keras_hub() const { return as_keras_hub_; }
  /// Returns the converted config.
  [[nodiscard]] Json& result() { return result_; }
  /// Returns the key in the source for each key of the result. Keys of the result are JSON pointers: "/hidden_dim".
  [[nodiscard]] const Origins& origins() const { return origins_; }

  /// Converts a value with a name in each config. A missing value becomes `fallback`; without a fallback it is an
  /// error.
  void same(std::string_view keras, std::string_view hugging_face, const std::optional<Json>& fallback = {});
  /// Converts a value that is null if disabled.
  void nullable(std::string_view keras, std::string_view hugging_face, const Json& fallback);
  /// Converts a value that KerasHub's converter leaves at the default of its class.
  void unread(std::string_view keras, std::string_view hugging_face, const Json& fallback);
  /// Converts an integer that is `factor` times as large in KerasHub.
  void times(std::string_view keras, std::string_view hugging_face, std::int64_t factor);
  /// Checks a value that is constant in KerasHub's class. Hugging Face's config may have any of `accepted`; the first
  /// of these is the default, and is written.
  void fixed(std::string_view hugging_face, std::initializer_list<Json> accepted);
  /// Checks a value that is constant in KerasHub's class. Hugging Face's config must have `value`, which is written. A
  /// missing key has the default of transformers, `fallback`.
  void always(std::string_view hugging_face, const Json& value, const Json& fallback);
  /// Converts the config of an encoder, which is a KerasHub model of its own in a value of the backbone's config.
  void encoder(std::string_view keras, std::string_view hugging_face, std::string_view class_name,
               void (*sizes)(ConfigMap& map));
  /// Converts (height, width, 3) to the length of the side of a square image.
  void square(std::string_view keras, std::string_view hugging_face, const std::optional<std::int64_t>& fallback = {});
  /// Adds a value to the result only.
  void put(std::string_view key, Json value, std::string_view origin = "");

  /// Returns Hugging Face's value; empty if it is missing or null. For reading.
  [[nodiscard]] std::optional<Ref> find(std::string_view key) const;
  [[nodiscard]] std::int64_t integer(std::string_view key, std::optional<std::int64_t> fallback = {}) const;
  [[nodiscard]] bool flag(std::string_view key, bool fallback) const;
  [[nodiscard]] double number(std::string_view key, double fallback) const;
  /// Returns KerasHub's value; null if it is missing. For writing.
  [[nodiscard]] Json of_keras(std::string_view key) const;

  /// Throws Error (bad_input): the backbone's class does not implement the requested value, and KerasHub's converter
  /// ignores the key. Does nothing with `as_keras_hub`.
  void refuse(const Ref& value, const std::string& what) const;
  /// Throws Error (bad_input) for an unsupported value whose key KerasHub's converter does not ignore either.
  [[noreturn]] void unsupported(const Ref& value, const std::string& what) const;

 private:
  [[nodiscard]] const Ref& source() const { return *from_; }

  std::optional<Ref> from_;
  const Json* keras_ = nullptr;
  bool as_keras_hub_ = false, is_converted_ = true;
  Json result_ = Json::object();
  Origins origins_;
};

}  // namespace attn::keras
