// Parts of vision transformers.
//
// Letters: B batch, P patches, R further rows, D width, N heads, H head size.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "classes/composite.h"
#include "classes/layers/attention/attention_options.h"
#include "families/blocks/arguments.h"
#include "model/backbones/backbone.h"

namespace attn::keras {

/// Returns the cells (B,…,D) of images as rows (B,P,D).
[[nodiscard]] graph::ValueId rows_of_cells(graph::Builder& b, graph::ValueId x);
/// Repeats `rows` (1,R,D) for each entry of the batch, and puts them in front of x (B,P,D).
[[nodiscard]] graph::ValueId behind_rows(graph::Builder& b, graph::ValueId rows, graph::ValueId x);
/// Returns the rows of x (B,P,D) from `start` to `stop`.
[[nodiscard]] graph::ValueId rows_between(graph::Builder& b, graph::ValueId x, std::optional<std::int64_t> start,
                                          std::optional<std::int64_t> stop);

/// Returns the initializer of a class of normal numbers.
[[nodiscard]] graph::Initializer normal_numbers(std::string_view class_name, double stddev);

/// Throws Error (bad_input), with the key, unless the number of blocks is accepted.
void check_blocks(const Ref& config, std::string_view key, std::int64_t count);
/// Throws Error (bad_input), with the key, unless the value is from 0 to 1.
void check_rate(const Ref& config, std::string_view key, double rate);
/// Throws Error (bad_input), with the key, unless every head has the same number of features.
void check_heads(const Ref& config, std::string_view key, std::int64_t width, std::int64_t heads);
/// Returns the number of patches. Throws Error (bad_input), with the key, if it is 0 or exceeds the limit.
std::int64_t checked_patches(const Ref& config, std::string_view key, std::int64_t rows, std::int64_t columns);

/// Returns the dropout of whole entries of the batch x (B,T,D), for stochastic depth: the arguments of a Dropout.
[[nodiscard]] Json drop_path(double rate);

/// An attention with heads: (B,T,N,H), (B,S,N,H) and (B,S,N,H) → (B,T,N·H). A training drops probabilities at `rate`.
[[nodiscard]] graph::ValueId attended_heads(Call& call, graph::ValueId query, graph::ValueId key, graph::ValueId value,
                                            AttentionOptions how, double rate = 0.0);

/// A block x + attention(norm₁ x), then x + dense layers(norm₂ x). A subclass makes the parts in build().
class PreNormBlock : public Composite {
 public:
  Arg call(Call& call) override;

 protected:
  /// Returns the result of the attention.
  virtual TensorPtr attended(Call& call, const TensorPtr& x) { return apply(call, *attention_, {x, x}); }
  /// Returns the result of the dense layers.
  virtual TensorPtr fed(Call& call, const TensorPtr& x);

  /// Throws Error (bad_input) unless the input is (B,T,width).
  static void expect_width(Call& call, std::int64_t width);
  Layer& make_norm(const char* called, const char* attribute, double epsilon);
  Layer& make_heads(const char* called, const char* attribute, std::int64_t heads, std::int64_t width,
                    Json further = Json::object());

  Layer* norm_1_ = nullptr;
  Layer* attention_ = nullptr;
  Layer* norm_2_ = nullptr;
  std::vector<Layer*> feed_;  ///< the dense layers, in order
};

/// A backbone for images of one size.
class ImageBackbone : public Backbone {
 protected:
  void check_fields(const Ref& config) override;
  /// Adds the input layer of images.
  TensorRef images(std::string_view called);
  /// Returns the name of a layer behind that of the backbone, as KerasHub does if the backbone was given a name.
  [[nodiscard]] std::string prefixed(std::string_view called) const { return prefix_ + std::string(called); }
  /// Throws Error (bad_input) unless height and width are equal.
  void check_square(const Ref& config) const;
  [[nodiscard]] std::int64_t height() const { return image_shape.items[0]; }
  [[nodiscard]] std::int64_t width() const { return image_shape.items[1]; }

  Window image_shape{{224, 224, 3}};

 private:
  std::string prefix_;
};

/// An image backbone whose stages other models read.
class PyramidBackbone : public ImageBackbone {
 public:
  ArgDict pyramid;  ///< references to the results of the stages, by name
  /// Returns the stage as another model reads it, which may add a call of one of this model's layers.
  [[nodiscard]] virtual Arg stage(const Arg& result) { return result; }
  [[nodiscard]] Shape input_shape() const {
    return {kUnknown, image_shape.items[0], image_shape.items[1], image_shape.items[2]};
  }
};

}  // namespace attn::keras
