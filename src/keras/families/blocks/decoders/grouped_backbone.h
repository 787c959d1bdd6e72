// Decoder backbones with RMS norms and grouped attention.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "families/blocks/decoders/decoder_block.h"
#include "model/backbones/text.h"

namespace attn::keras {

class GroupedBackbone : public TextBackbone {
 public:
  GroupedBackbone() { dropout = 0; }

 protected:
  /// Reads or writes the first fields of all grouped backbones; their order may differ.
  void sizes(Fields& f);
  void check_fields(const Ref& config) override;
  /// Assembles the whole model. Blocks have the fields of `family`, and the arguments `further`.
  void assemble_with(AttentionFamily& family, bool tied, std::string_view block_class, std::string_view norm_class,
                     const Json& further = Json::object()) {
    assemble_blocks(family, tied, block_class, norm_class, [&](std::int64_t) { return further; });
  }
  /// The same with arguments that depend on the number of the block.
  void assemble_blocks(AttentionFamily& family, bool tied, std::string_view block_class, std::string_view norm_class,
                       const std::function<Json(std::int64_t)>& further);
  /// Returns what the blocks read, the embedded `texts` or more, and adds further inputs of the model.
  virtual TensorRef with_images(const TensorRef& texts, std::vector<TensorRef>& /*inputs*/) { return texts; }

  Positive num_query_heads, num_key_value_heads;
  Number layer_norm_epsilon{1e-6};
};

}  // namespace attn::keras
