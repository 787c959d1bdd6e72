// The window of a convolution, shared by Conv, DepthwiseConv, SeparableConv and ConvTranspose.
#pragma once

#include "classes/call.h"
#include "classes/layers/spatial.h"

namespace attn::keras {

class ConvolutionLayer : public Layer {
 protected:
  explicit ConvolutionLayer(int rank)
      : rank_(rank), kernel_size(window(rank)), strides(window(rank)), dilation_rate(window(rank)) {}

  void check(const Ref& config) override;
  [[nodiscard]] virtual bool strides_and_dilation() const { return false; }

  /// Returns the index of the bias, if the layer has one.
  [[nodiscard]] std::optional<int> bias(int index) const { return use_bias ? std::optional(index) : std::nullopt; }
  /// Returns the number of input channels, which must be known, and checks the rank.
  [[nodiscard]] Dim channels(Call& call) const;
  /// Returns the shape kernel_size followed by `last`.
  [[nodiscard]] Shape kernel_shape(const Shape& last) const;
  /// Returns the convolution of x, with channels last. `bias` is the index of a variable, if there is one.
  [[nodiscard]] graph::ValueId convolve(Call& call, graph::ValueId x, graph::ValueId kernel, std::int64_t groups,
                                        std::optional<int> bias) const;
  /// Converts y from channels last to the layer's data format, and applies the activation.
  [[nodiscard]] Arg finish(Call& call, graph::ValueId y) const;

  int rank_;
  Window kernel_size, strides, dilation_rate;
  Choice padding{"valid", {"valid", "same"}};
  DataFormat format;
  Activation activation;
  bool use_bias = true;
  Initializer bias_initializer{"zeros"};
  Regularizer bias_regularizer, activity;
  Constraint bias_constraint;

 private:
  static Window window(int rank) { return {std::vector<std::int64_t>(static_cast<std::size_t>(rank), 1)}; }
};

}  // namespace attn::keras
