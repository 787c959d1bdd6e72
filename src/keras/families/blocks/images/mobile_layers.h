// Convolutions of MobileNetV5 with their normalizations and activations (keras_hub/src/models/mobilenetv5).
//
// Letters: B batch, H height, W width, C channels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "families/blocks/automatic_names.h"

namespace attn::keras {

[[nodiscard]] LayerPtr make_rms_norm_2d();
[[nodiscard]] LayerPtr make_layer_scale_2d();
[[nodiscard]] LayerPtr make_conv_norm_act();

/// The maximum number of channels.
inline constexpr double kMostChannels = 1e9;
/// Returns the multiple of 8 nearest to `channels` that is at least 8 and not below 0.9 of it. Throws Error (bad_input)
/// for more channels than a layer can have.
[[nodiscard]] std::int64_t adjusted_channels(double channels);

/// Returns the class of a normalization: "batch_norm" or "rms_norm".
[[nodiscard]] std::string_view norm_class(std::string_view norm_layer);
/// Returns the initializer of all convolutions.
[[nodiscard]] Json conv_initializer();
/// Returns the classes with automatic names in `count` ConvNormAct layers, in the order in which KerasHub makes them.
[[nodiscard]] std::vector<std::string_view> conv_parts(std::size_t count, std::string_view norm_layer);

/// The fields and parts that layers of MobileNetV5 have in common.
class MobileLayer : public NamedParts {
 public:
  void check(const Ref& config) override;

 protected:
  void axis_fields(Fields& f);
  /// Returns C of the input (B,H,W,C). Throws Error (bad_input) if it is unknown.
  static Dim channels(Call& call);
  Layer& make_norm(std::string_view called, std::string_view attribute, std::int64_t count, double epsilon = 1e-3);

  Choice pad_type{"same", {"same", "valid"}}, norm_layer{"batch_norm", {"batch_norm", "rms_norm"}};
  Opaque data_format, channel_axis;  ///< null if the constructor did not get them
};

/// A block whose result is added to its input if it keeps the size and the channels.
class MobileBlock : public MobileLayer {
 public:
  void check(const Ref& config) override;

 protected:
  Layer& make_conv(std::string_view attribute, std::int64_t out_chs, std::int64_t kernel_size, Json further = {});
  /// Adds what follows the last convolution: the layer scale, and the stochastic depth of a block with a skip
  /// connection.
  void make_end(std::string_view scale_name, Dim in);
  [[nodiscard]] TensorPtr finished(Call& call, TensorPtr x, const TensorPtr& shortcut);

  Positive filters, stride = 1, dilation = 1;
  bool noskip = false;
  Activation act_layer;
  Number exp_ratio = 1.0, drop_path_rate = 0.0;
  std::optional<Number> layer_scale_init_value;

 private:
  Layer* layer_scale_ = nullptr;
  Layer* drop_path_ = nullptr;  // set if there is a skip connection
};

}  // namespace attn::keras
