// keras_hub.models.TextEmbedder: a backbone, and one vector for each text, pooled from the vectors of its tokens.
#pragma once

#include <span>
#include <string_view>

#include "model/tasks/task.h"

namespace attn::keras {

/// The pooling of a family's embedders.
struct Pooling {
  std::span<const std::string_view> modes;  ///< the values of `pooling_mode`; the first is the default
  std::string_view sequence;                ///< key of the backbone's result to pool; "" if there is a single result
  double fewest;                            ///< lower bound of the number of tokens in a mean
};

class TextEmbedder : public Task {
 public:
  explicit TextEmbedder(const Pooling* how)
      : how_(*how), pooling_mode{std::string(how->modes[0]), {how->modes.begin(), how->modes.end()}} {}
  void fields(Fields& f) override {
    f("pooling_mode", pooling_mode);
    f("normalize", normalize);
  }

 protected:
  [[nodiscard]] std::string_view kind() const override { return "TextEmbedder"; }
  /// Returns the pooled vectors (B,D) of the backbone's tokens (B,T,D).
  virtual TensorRef pooled();
  void assemble() override;

 private:
  TensorRef mean(const TensorRef& x);
  TensorRef maximum(const TensorRef& x);
  TensorRef last(const TensorRef& x);
  /// Returns the name of the dtype in which the backbone computes.
  [[nodiscard]] std::string_view compute_dtype() const;

  const Pooling& how_;
  Choice pooling_mode;
  bool normalize = true;
};

inline constexpr std::string_view kEncoderModes[] = {"mean", "cls", "max"}, kDecoderModes[] = {"last", "mean"};
inline constexpr Pooling kBertPooling{kEncoderModes, "sequence_output", 1e-9}, kRobertaPooling{kEncoderModes, "", 1e-5},
    kDecoderPooling{kDecoderModes, "", 1e-5};

}  // namespace attn::keras
