#include "classes/layers/rms_norm.h"

#include <array>

#include "classes/layers/layers.h"

namespace attn::keras {

using graph::ValueId;

ValueId rms_normalized(graph::Builder& b, ValueId x, ValueId scale, double epsilon, DType out) {
  const DType computed = b.dtype(x) == DType::float64 ? DType::float64 : DType::float32;
  const int last = b.shape(x).rank() - 1;
  const ValueId normal = b.apply(graph::LayerNorm{graph::NormKind::rms, {last}, epsilon, true, false},
                                 {b.cast(x, computed), b.cast(scale, computed)});
  return b.cast(normal, out);
}

namespace {

/// Llama's RMS norm, and those of later families with other names.
class RmsNorm : public Layer {
 public:
  void fields(Fields& f) override { f("epsilon", epsilon); }
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 1> kNames = {"x"};
    return kNames;
  }
  void build(Weights& w, Call& call) override { w.add("scale", {size(call.shape("x"))}, Initializer("ones")); }
  Arg call(Call& call) override {
    return Call::result(
        rms_normalized(call.builder(), call.tensor("x")->id, call.weight(0), epsilon, call.compute_dtype()));
  }

 protected:
  [[nodiscard]] virtual Dim size(const Shape& in) const { return in.back(); }

 private:
  Number epsilon{1e-6};
};

/// Can be created with an explicit size.
class Qwen3LayerNorm : public RmsNorm {
 public:
  void fields(Fields& f) override {
    f("head_dim", head_dim);
    RmsNorm::fields(f);
  }

 private:
  [[nodiscard]] Dim size(const Shape& in) const override { return head_dim ? head_dim->value : in.back(); }

  std::optional<Positive> head_dim;
};

constexpr std::string_view kSymbols = "scale: d_model";

constexpr std::array kRmsNormClasses = {
    ClassInfo{.name = "LlamaLayerNorm",
              .make = make_layer<RmsNorm>,
              .since = kAnyKeras,
              .module = "keras_hub.src.models.llama.llama_layernorm",
              .role = Role::normalization,
              .symbols = kSymbols},
    ClassInfo{.name = "MistralLayerNormalization",
              .make = make_layer<RmsNorm>,
              .since = kAnyKeras,
              .module = "keras_hub.src.models.mistral.mistral_layer_norm",
              .role = Role::normalization,
              .symbols = kSymbols},
    ClassInfo{.name = "MixtralLayerNormalization",
              .make = make_layer<RmsNorm>,
              .since = kAnyKeras,
              .module = "keras_hub.src.models.mixtral.mixtral_layer_norm",
              .role = Role::normalization,
              .symbols = kSymbols},
    ClassInfo{.name = "QwenLayerNorm",
              .make = make_layer<RmsNorm>,
              .since = kAnyKeras,
              .module = "keras_hub.src.models.qwen.qwen_layernorm",
              .role = Role::normalization,
              .symbols = kSymbols},
    ClassInfo{.name = "Qwen3LayerNorm",
              .make = make_layer<Qwen3LayerNorm>,
              .since = kAnyKeras,
              .module = "keras_hub.src.models.qwen3.qwen3_layernorm",
              .role = Role::normalization,
              .symbols = kSymbols},
    ClassInfo{.name = "Phi3LayerNorm",
              .make = make_layer<RmsNorm>,
              .since = kAnyKeras,
              .module = "keras_hub.src.models.phi3.phi3_layernorm",
              .role = Role::normalization,
              .symbols = kSymbols},
};

}  // namespace

Family rms_norm_classes() { return kRmsNormClasses; }

}  // namespace attn::keras
