// Backbones of decoders with layer norms: GPT-2.
#include <array>

#include "classes/composite.h"
#include "model/backbones/text.h"

namespace attn::keras {
namespace {

class GPT2Backbone : public HeadedBackbone {
 public:
  GPT2Backbone() { max_sequence_length = 1024; }

 protected:
  void assemble() override {
    const TensorRef token_ids = tokens("token_ids"), padding_mask = tokens("padding_mask");
    const TensorRef rows =
        call(token_embedding({{"embeddings_initializer", normal_initializer("RandomNormal", 0.01)}}), {token_ids});
    const Json initializer = normal_initializer("RandomNormal", 0.02);
    const TensorRef positions =
        call("PositionEmbedding", "position_embedding",
             {{"sequence_length", max_sequence_length.value}, {"initializer", initializer}}, {rows});
    const TensorRef x =
        embeddings_dropout(call("Add", "embeddings_add", Json::object(), {Arg(ArgList{rows, positions})}));
    const Json block = {{"intermediate_dim", intermediate_dim.value},
                        {"num_heads", num_heads.value},
                        {"dropout", dropout.value},
                        {"layer_norm_epsilon", 1e-5},
                        {"activation", gelu_approximate()},
                        {"kernel_initializer", initializer},
                        {"normalize_first", true}};
    set_inputs({token_ids, padding_mask});
    output_struct = layer_norm("layer_norm",
                               through_blocks(
                                   x, "TransformerDecoder", "transformer_layer", [&](auto) { return block; },
                                   {{"decoder_padding_mask", padding_mask}}),
                               1e-5);
  }
};

constexpr std::array kGptBackbones = {
    ClassInfo{.name = "GPT2Backbone",
              .make = make_layer<GPT2Backbone>,
              .since = kAnyKeras,
              .module = "keras_hub.src.models.gpt2.gpt2_backbone",
              .role = Role::model,
              .package = "keras_hub"},
};

}  // namespace

Family gpt_backbones() { return kGptBackbones; }

}  // namespace attn::keras
