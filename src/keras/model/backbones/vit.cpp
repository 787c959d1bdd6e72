// KerasHub's vision transformer.
#include <array>

#include "classes/composite.h"
#include "classes/layers/spatial.h"
#include "model/backbones/backbone.h"

namespace attn::keras {
namespace {

class ViTBackbone : public Backbone {
 public:
  void fields(Fields& f) override {
    f.required("image_shape", image_shape);
    f.required("patch_size", patch_size);
    f.required("num_layers", num_layers);
    f.required("num_heads", num_heads);
    f.required("hidden_dim", hidden_dim);
    f.required("mlp_dim", mlp_dim);
    f("dropout_rate", dropout_rate);
    f("attention_dropout", attention_dropout);
    f("layer_norm_epsilon", layer_norm_epsilon);
    f("use_mha_bias", use_mha_bias);
    f("use_mlp_bias", use_mlp_bias);
    f("use_class_token", use_class_token);
    f("use_patch_bias", use_patch_bias);
    if (f.reading()) format.field(f);  // KerasHub accepts it but does not write it
  }

 protected:
  void check_fields(const Ref& config) override {
    for (std::size_t i = 0; i < 2; ++i) {
      const std::int64_t size = image_shape.items[height_axis() + i], patch = patch_size.items[i];
      if (size % patch != 0)
        config["patch_size"].fail(fmt::format("the image's {} {} cannot be divided into patches of {}",
                                              i == 0 ? "height" : "width", size, patch));
    }
    for (const auto& [key, rate] : {std::pair("dropout_rate", dropout_rate), {"attention_dropout", attention_dropout}})
      if (rate < 0.0 || rate > 1.0) config[key].fail("expected a number from 0 to 1, got " + config[key].kind());
    if (hidden_dim < num_heads)
      config["num_heads"].fail(fmt::format("{} features are too few for {} heads", hidden_dim.value, num_heads.value));
    if (num_layers > kMaxBlocks)
      config["num_layers"].fail(fmt::format("more than {} blocks are not accepted", kMaxBlocks));
  }

  void assemble() override {
    const std::vector<std::int64_t>& image = image_shape.items;
    const std::size_t height = height_axis();
    const TensorRef images = input("images", {kUnknown, image[0], image[1], image[2]}, DType::float32);
    const TensorRef patches = call("ViTPatchingAndEmbedding", "vit_patching_and_embedding",
                                   {{"image_size", {image[height], image[height + 1]}},
                                    {"patch_size", patch_size.items},
                                    {"hidden_dim", hidden_dim.value},
                                    {"num_channels", format.channels_first() ? image[0] : image[2]},
                                    {"use_class_token", use_class_token},
                                    {"use_patch_bias", use_patch_bias},
                                    {"data_format", format.channels_first() ? "channels_first" : "channels_last"}},
                                   {images});
    output_struct = call("ViTEncoder", "vit_encoder",
                         {{"num_layers", num_layers.value},
                          {"num_heads", num_heads.value},
                          {"hidden_dim", hidden_dim.value},
                          {"mlp_dim", mlp_dim.value},
                          {"dropout_rate", dropout_rate.value},
                          {"attention_dropout", attention_dropout.value},
                          {"layer_norm_epsilon", layer_norm_epsilon.value},
                          {"use_mha_bias", use_mha_bias},
                          {"use_mlp_bias", use_mlp_bias}},
                         {patches});
    input_struct = images;
  }

 private:
  /// Index in image_shape, which has no batch.
  [[nodiscard]] std::size_t height_axis() const { return format.channels_first() ? 1 : 0; }

  Window image_shape{{1, 1, 1}}, patch_size{{1, 1}};
  Positive num_layers, num_heads, hidden_dim, mlp_dim;
  Number dropout_rate = 0.0, attention_dropout = 0.0, layer_norm_epsilon = 1e-6;
  bool use_mha_bias = true, use_mlp_bias = true, use_class_token = true, use_patch_bias = true;
  DataFormat format;
};

}  // namespace

Family vision_backbones() {
  static constexpr std::array kRows = {
      ClassInfo{.name = "ViTBackbone",
                .make = make_layer<ViTBackbone>,
                .since = kAnyKeras,
                .module = "keras_hub.src.models.vit.vit_backbone",
                .role = Role::model,
                .package = "keras_hub"},
  };
  return kRows;
}

}  // namespace attn::keras
