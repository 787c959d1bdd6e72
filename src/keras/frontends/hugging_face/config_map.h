// One walk over the sizes of a model that turns Hugging Face's config into KerasHub's, or that one back.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "config/json.h"

namespace attn::keras {

/// A family calls the members once for each of its keys, in the order in which the result is to have them. What only
/// one direction knows asks reading().
class ConfigMap {
 public:
  /// From Hugging Face's config. As KerasHub converts it: what its converters do not read is not read here either.
  /// `is_converted`: KerasHub has a converter for the family.
  ConfigMap(const Ref& hugging_face, bool as_keras_hub, bool is_converted = true)
      : from_(hugging_face), as_keras_hub_(as_keras_hub && is_converted), is_converted_(is_converted) {}
  /// From the config of a backbone.
  explicit ConfigMap(const Json& keras) : keras_(&keras) {}

  [[nodiscard]] bool reading() const { return from_.has_value(); }
  [[nodiscard]] bool as_keras_hub() const { return as_keras_hub_; }
  /// What the walk has made.
  [[nodiscard]] Json& result() { return result_; }
  /// By keys of result() as pointers: "/hidden_dim".
  [[nodiscard]] const Origins& origins() const { return origins_; }

  /// A value that both have, under two names. A missing one is `fallback`; without that it is an error.
  void same(std::string_view keras, std::string_view hugging_face, const std::optional<Json>& fallback = {});
  /// A value that is null where it is off.
  void nullable(std::string_view keras, std::string_view hugging_face, const Json& fallback);
  /// A value that KerasHub's converter leaves to the default of its class.
  void unread(std::string_view keras, std::string_view hugging_face, const Json& fallback);
  /// An integer that is `factor` times as large in KerasHub.
  void times(std::string_view keras, std::string_view hugging_face, std::int64_t factor);
  /// What the class always computes so: the config may say any of `accepted`, of which the first is the default and
  /// what is written.
  void fixed(std::string_view hugging_face, std::initializer_list<Json> accepted);
  /// The same of a key whose default in transformers, which holds where it is missing, may be another.
  void always(std::string_view hugging_face, const Json& value, const Json& fallback);
  /// A value of the result alone.
  void put(std::string_view key, Json value, std::string_view origin = "");

  /// Hugging Face's value, nothing where it is missing or null. While reading.
  [[nodiscard]] std::optional<Ref> find(std::string_view key) const;
  [[nodiscard]] std::int64_t integer(std::string_view key, std::optional<std::int64_t> fallback = {}) const;
  [[nodiscard]] bool flag(std::string_view key, bool fallback) const;
  [[nodiscard]] double number(std::string_view key, double fallback) const;
  /// KerasHub's value, null where it is missing. While writing.
  [[nodiscard]] Json of_keras(std::string_view key) const;

  /// Throws Error (bad_input): the backbone's class does not compute what the key asks for, and KerasHub's converter
  /// reads over it. Nothing happens where that is asked for.
  void refuse(const Ref& value, const std::string& what) const;
  /// Throws the same of what KerasHub's converter does not read over either.
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
