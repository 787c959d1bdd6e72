// Layers that create other layers, in their Python constructors or in build().
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "classes/call.h"

namespace attn::keras {

/// The maximum number of blocks. A short config could request any number, and each block is created. The deepest
/// published models have 1,000 layers (Wang et al., "DeepNet", 2022).
inline constexpr std::int64_t kMaxBlocks = 1'000;

/// Creates the sublayer of `maker` from a class name and constructor arguments, with the dtype policy of `maker`;
/// `attribute` is its key in .weights.h5. Errors have the location of `maker`.
[[nodiscard]] LayerPtr make_sublayer(const Layer& maker, std::string_view class_name, std::string_view name,
                                     Json arguments, std::string_view attribute = "");

/// A layer that creates sublayers when it is built. Their calls go through Lowering::apply, so that masks and dtypes
/// behave as in Keras.
class Composite : public Layer {
 public:
  [[nodiscard]] std::vector<Sublayer> sublayers() override;

 protected:
  /// Creates a sublayer. Sublayers must be created in the order in which Keras sets the attributes. `attribute` is the
  /// key in .weights.h5.
  Layer& make(std::string_view class_name, std::string_view called, std::string_view attribute,
              Json arguments = Json::object());
  /// Creates a Dense without bias, whose attribute has its name.
  Layer& make_unbiased(std::string_view called, std::int64_t units);
  /// Creates a sublayer that Keras builds before the name scope of this layer, so its variable paths do not include
  /// this layer's name.
  Layer& make_detached(std::string_view class_name, std::string_view called, std::string_view attribute,
                       Json arguments = Json::object());
  /// Calls a sublayer that has one result.
  static TensorPtr apply(Call& call, Layer& sublayer, ArgList args, ArgDict kwargs = {});
  /// Returns x + y as the + operator does: no layer is involved, so the result has no mask.
  static TensorPtr sum(Call& call, const TensorPtr& x, const TensorPtr& y);

 private:
  struct Part {
    LayerPtr layer;
    std::string attribute;
    bool detached = false;
  };
  std::vector<Part> parts_;
};

}  // namespace attn::keras
