// A layer of a custom class, whose Python code is never run. attn knows only its config, its weights in a file, and the
// input shapes of later layers.
#pragma once

#include <string>

#include "classes/layer.h"

namespace attn::keras {

class CustomLayer : public Layer {
 public:
  /// `why` is the message of the error if the layer has to run.
  CustomLayer(std::string class_name, std::string why);

  void config(Fields& f) override;
  Arg call(Call& call) override;

  /// Throws Error (bad_input) because the layer would have to run, with its location in the file.
  [[noreturn]] void refuse() const;

 private:
  std::string class_name_, why_;
  ClassInfo own_info_;
  Json config_;  // the config as read
};

/// Returns the layer as a CustomLayer, or null.
[[nodiscard]] inline CustomLayer* as_custom(Layer& layer) { return dynamic_cast<CustomLayer*>(&layer); }
[[nodiscard]] inline const CustomLayer* as_custom(const Layer& layer) {
  return dynamic_cast<const CustomLayer*>(&layer);
}

}  // namespace attn::keras
