// Layers that make layers, as their Python constructors and build() do.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "classes/call.h"

namespace attn::keras {

/// More blocks than this are refused: each is made, however short the config. The deepest published have 1,000 layers
/// (Wang et al., "DeepNet", 2022).
inline constexpr std::int64_t kMaxBlocks = 1'000;

/// The layer that `maker` makes of a class from the arguments of its constructor, with the dtype policy of `maker`,
/// under which .weights.h5 keeps it as `attribute`. What fails in it is told at the place of `maker`.
[[nodiscard]] LayerPtr make_sublayer(const Layer& maker, std::string_view class_name, std::string_view name,
                                     Json arguments, std::string_view attribute = "");

/// A layer that is made of layers when it is built. Their calls go through Lowering::apply, so that masks and dtypes
/// behave as in Keras.
class Composite : public Layer {
 public:
  [[nodiscard]] std::vector<Sublayer> sublayers() override;

 protected:
  /// Makes a sublayer, in the order in which Keras sets the attributes; `attribute` is its key in .weights.h5.
  Layer& make(std::string_view class_name, std::string_view called, std::string_view attribute,
              Json arguments = Json::object());
  /// The same of a sublayer that Keras builds before this layer has its own name: its variables do not carry it.
  Layer& make_detached(std::string_view class_name, std::string_view called, std::string_view attribute,
                       Json arguments = Json::object());
  /// One call of a sublayer with one result.
  static TensorPtr apply(Call& call, Layer& sublayer, ArgList args, ArgDict kwargs = {});
  /// x + y by operator: no layer, so the result has no mask.
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
