// Parts of DINOv2 and DINOv3.
//
// Letters: see vision_blocks.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "families/blocks/images/vision_blocks.h"

namespace attn::keras {

/// The class token, registers and patches of an image.
class DinoEmbedding : public Composite {
 public:
  [[nodiscard]] std::optional<std::vector<Shape>> symbolic_shapes(Call& call) override;

 protected:
  /// Declares the class token, the token for masked patches, which only a training uses, and the registers.
  void add_tokens(Weights& w, const Shape& mask_token, const graph::Initializer& registers);
  void make_patches();
  /// Returns the class token in front of the patches.
  graph::ValueId with_class_token(Call& call);
  /// Returns x with the registers behind its first row.
  graph::ValueId with_registers(Call& call, graph::ValueId x);

  Positive hidden_dim, patch_size;
  std::int64_t num_register_tokens = 0;
  bool use_mask_token = true;

 private:
  int class_token_ = 0, register_tokens_ = 0;
  Layer* projection_ = nullptr;
};

/// Multiplies each feature by a trained factor.
class DinoLayerScale final : public Layer {
 public:
  void fields(Fields& f) override;
  void build(Weights& w, Call& call) override;
  Arg call(Call& call) override;

 private:
  Positive hidden_dim;
  Number init_values = 1.0;
};

/// A block whose attention and dense layers are scaled.
class DinoLayer : public PreNormBlock {
 protected:
  /// The values of all DINO blocks.
  struct Scaling {
    std::string_view class_name;
    double init = 1.0, drop_path = 0.0;
  };
  /// Makes the parts in KerasHub's order; the functions make attention and dense layers.
  template <typename Attention, typename Feed>
  void make_parts(std::int64_t width, double epsilon, const Scaling& how, Attention attention, Feed feed) {
    norm_1_ = &make_norm("norm1", "norm1", epsilon);
    attention();
    scale_1_ = make_scale("layer_scale1", width, how);
    drop_path_ = &make("Dropout", "drop_path", "drop_path", keras::drop_path(how.drop_path));
    norm_2_ = &make_norm("norm2", "norm2", epsilon);
    feed();
    scale_2_ = make_scale("layer_scale2", width, how);
  }
  /// Returns x, scaled as after the attention or after the dense layers.
  TensorPtr scaled(Call& call, Layer& scale, const TensorPtr& x) {
    return apply(call, *drop_path_, {apply(call, scale, {x})});
  }

  Layer* scale_1_ = nullptr;
  Layer* scale_2_ = nullptr;

 private:
  Layer* make_scale(const char* called, std::int64_t width, const Scaling& how) {
    return &make(how.class_name, called, called, {{"hidden_dim", width}, {"init_values", how.init}});
  }
  Layer* drop_path_ = nullptr;
};

/// Returns the rows after all blocks, and those after each block by the names "stage1" and so on.
class DinoEncoder : public Composite {
 public:
  /// KerasHub's encoder has its blocks in an attribute `layers`, so Keras's summary shows them as those of a model.
  [[nodiscard]] std::vector<Layer*> layers() const override { return blocks_; }
  Arg call(Call& call) override;

 protected:
  /// Makes the blocks "layers_0" and so on.
  void make_blocks(std::string_view class_name, std::int64_t count, const Json& arguments);
  /// Makes one of the blocks.
  void make_block(std::string_view class_name, std::int64_t number, Json arguments);
  /// Returns the further arguments of each block's call.
  virtual ArgDict block_arguments(Call& /*call*/) { return {}; }

 private:
  std::vector<Layer*> blocks_;
};

/// Throws Error (bad_input) unless the number of registers is accepted.
void check_registers(const Ref& config, std::int64_t count);

/// Returns the index of a stage among the results of an encoder with `count` blocks; empty if it has no such stage.
[[nodiscard]] std::optional<int> stage_result(std::string_view stage, std::int64_t count);

}  // namespace attn::keras
