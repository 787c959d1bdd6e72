// Classes of Keras and KerasHub that attn knows by name and does not run.
#pragma once

#include <span>
#include <string_view>

namespace attn::keras {

struct Refused {
  std::string_view class_name;
  std::string_view why;  ///< the end of a sentence: "… is refused: <why>"
};

[[nodiscard]] std::span<const Refused> refused_layers();
[[nodiscard]] std::span<const Refused> refused_operations();

}  // namespace attn::keras
