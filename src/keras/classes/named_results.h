// Layers that return a dict.
#pragma once

#include <span>
#include <string_view>

namespace attn::keras {

class NamedResults {
 public:
  virtual ~NamedResults() = default;
  /// Returns the keys of the results of call(), sorted.
  [[nodiscard]] virtual std::span<const std::string_view> result_keys() const = 0;
};

}  // namespace attn::keras
