// A layer of somebody's own class. Its Python code is never run: what is known of it is its config, the weights that a
// file has for it, and what layers that read it were built for.
#pragma once

#include <string>

#include "classes/layer.h"

namespace attn::keras {

class CustomLayer : public Layer {
 public:
  /// `why`: the sentence that refuses to run it, and where the refused object stands.
  CustomLayer(std::string class_name, std::string why);

  void config(Fields& f) override;
  Arg call(Call& call) override;

  /// Throws Error (bad_input) with its place.
  [[noreturn]] void refuse() const;

 private:
  std::string class_name_, why_;
  ClassInfo own_info_;
  Json config_;  // as it was read
};

/// The layer as a CustomLayer, or null.
[[nodiscard]] inline CustomLayer* as_custom(Layer& layer) { return dynamic_cast<CustomLayer*>(&layer); }
[[nodiscard]] inline const CustomLayer* as_custom(const Layer& layer) {
  return dynamic_cast<const CustomLayer*>(&layer);
}

}  // namespace attn::keras
