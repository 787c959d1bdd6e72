// The backbone of ViTDet, which SAM contains.
#pragma once

#include <cstdint>
#include <vector>

#include "families/blocks/automatic_names.h"
#include "families/blocks/images/vision_blocks.h"

namespace attn::keras {

class ViTDetBackbone final : public ImageBackbone {
 public:
  void fields(Fields& f) override;

  AutomaticNames names;  ///< those that its layers have taken

 protected:
  void check_fields(const Ref& config) override;
  void assemble() override;

 private:
  Positive patch_size = 16, hidden_size, num_layers, intermediate_dim, num_heads, num_output_channels = 256;
  bool use_bias = true, use_abs_pos = true, use_rel_pos = true;
  std::int64_t window_size = 14;
  std::vector<std::int64_t> global_attention_layer_indices;
  Number layer_norm_epsilon = 1e-6;
};

}  // namespace attn::keras
