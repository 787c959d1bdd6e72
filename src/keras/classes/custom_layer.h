// A layer of a custom class. Its Python code is never run. Only its config, its weights in a file, and the input shapes
// of layers after it are known.
#pragma once

#include <string>

#include "classes/layer.h"

namespace attn::keras {

class CustomLayer : public Layer {
 public:
  /// `why` is the error message for an attempt to run it.
  CustomLayer(std::string class_name, std::string why);

  void config(Fields& f) override;
  Arg call(Call& call) override;

  /// Throws the Error (bad_input) for an attempt to run it, with its location in the file.
  [[noreturn]] void refuse() const;

 private:
  std::string class_name_, why_;
  ClassInfo own_info_;
  Json config_;  // the config as read
};

/// The layer as a CustomLayer, or null.
[[nodiscard]] inline CustomLayer* as_custom(Layer& layer) { return dynamic_cast<CustomLayer*>(&layer); }
[[nodiscard]] inline const CustomLayer* as_custom(const Layer& layer) {
  return dynamic_cast<const CustomLayer*>(&layer);
}

}  // namespace attn::keras
