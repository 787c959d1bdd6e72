// Qwen 3.5's vision encoder, which reads patches of images of any size.
//
// Letters: B batch, P patches of all images of an entry, I images of an entry.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "classes/composite.h"
#include "families/blocks/images/patch_places.h"

namespace attn::keras {

/// Patches (B,P,frames,H,W,C) of images with the grids (B,I,3), or without the batch → (1,B·P/merge²,out).
class Qwen3_5VisionEncoder final : public Composite {
 public:
  /// KerasHub writes neither a name nor a dtype.
  void config(Fields& f) override { fields(f); }
  void fields(Fields& f) override;
  void check(const Ref& config) override;
  /// Stays in float32, because its config has no dtypes of quantized weights.
  void quantize(const Quantization&) override {}
  [[nodiscard]] std::span<const std::string_view> arguments() const override;
  [[nodiscard]] std::optional<std::vector<Shape>> symbolic_shapes(Call& call) override;
  [[nodiscard]] std::vector<Layer*> layers() const override { return parts_; }
  void build(Weights&, Call&) override;
  Arg call(Call& call) override;

  /// Returns the shape (frames,H,W,C) of a patch.
  [[nodiscard]] Shape patch_shape() const { return {temporal_patch_size, patch_size, patch_size, in_channels}; }
  [[nodiscard]] std::int64_t merge_size() const { return spatial_merge_size; }
  [[nodiscard]] std::int64_t features() const { return out_hidden_size ? *out_hidden_size : hidden_size; }

 private:
  Layer* part(std::string_view class_name, std::string_view called, std::string_view attribute, Json arguments);
  /// Returns the number of rows, and of columns, of the table of positions.
  [[nodiscard]] Dim table_side() const;
  /// Returns the trained positions (P,D), interpolated for the size of each frame.
  [[nodiscard]] graph::ValueId positions(Call& call, const PatchPlaces& places) const;
  /// Returns the cosines and sines (1,P,1,H) that turn queries and keys.
  [[nodiscard]] ArgList angles(Call& call, const PatchPlaces& places) const;

  Positive depth, hidden_size, num_heads, intermediate_size, in_channels = 3, patch_size = 16, temporal_patch_size = 2,
                                                             spatial_merge_size = 2, num_position_embeddings = 2304;
  std::optional<Positive> out_hidden_size;
  std::vector<Layer*> parts_, blocks_;
  Layer* patch_embed_ = nullptr;
  Layer* pos_embed_ = nullptr;
  Layer* merger_ = nullptr;
};

/// Makes the layer with the frequencies of the encoder's rotary positions.
[[nodiscard]] LayerPtr make_qwen3_5_vision_rotary();

}  // namespace attn::keras
