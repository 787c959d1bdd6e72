// KerasHub's RMS normalizations, as layers and for use in other layers.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "attn/graph/graph.h"
#include "classes/call.h"
#include "classes/class_info.h"
#include "classes/layer.h"

namespace attn::keras {

/// Returns x/√(mean(x²) + ε)·scale over the last axis, computed in float32 or higher and cast to `out`. `scale` has the
/// size of the axis.
[[nodiscard]] graph::ValueId rms_normalized(graph::Builder& b, graph::ValueId x, graph::ValueId scale, double epsilon,
                                            DType out);

/// Llama's RMS norm. Later families have the same norm under other names.
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

/// Returns the class record of a family's norm.
template <typename Norm = RmsNorm>
constexpr ClassInfo rms_norm_record(std::string_view name, std::string_view module) {
  return {.name = name,
          .make = make_layer<Norm>,
          .since = kAnyKeras,
          .module = module,
          .role = Role::normalization,
          .symbols = "scale: d_model"};
}

}  // namespace attn::keras
