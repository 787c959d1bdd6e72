// Layers whose results have names.
#pragma once

#include <span>
#include <string_view>

namespace attn::keras {

/// A layer whose call returns an ArgDict, for a model of this layer only.
class NamedResults {
 public:
  virtual ~NamedResults() = default;
  /// Returns the names of the results, in sorted order.
  [[nodiscard]] virtual std::span<const std::string_view> result_names() const = 0;
};

}  // namespace attn::keras
