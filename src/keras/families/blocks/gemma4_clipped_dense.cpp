#include "families/blocks/gemma4_clipped_dense.h"

#include <array>
#include <string>

#include "classes/composite.h"
#include "classes/ops/expression.h"

namespace attn::keras {
namespace {

constexpr double kWidest = 65504.0;  ///< the limits before a file is read

/// A subclass makes the dense layer in build().
class ClippedDense : public Composite {
 public:
  [[nodiscard]] std::span<const std::string_view> arguments() const override {
    static constexpr std::array<std::string_view, 1> kNames = {"x"};
    return kNames;
  }
  Arg call(Call& call) override {
    const LayerScope scope(call.lowering(), name);
    const TensorPtr in = Call::result(clipped(call, call.tensor("x")->id, input_));
    return Call::result(clipped(call, apply(call, *dense_, {in})->id, output_));
  }

 protected:
  void further_fields(Fields& f) {
    f("use_clipped_linears", use_clipped_linears);
    f("kernel_initializer", kernel_initializer);
  }
  void add_limits(Weights& w) {
    if (!use_clipped_linears) return;
    const auto limit = [&](const char* called, double value) {
      graph::Initializer initializer = Initializer("constant").value;
      initializer.value = value;
      return w.add(called, Shape{}, initializer, false);
    };
    input_ = {limit("input_min", -kWidest), limit("input_max", kWidest)};
    output_ = {limit("output_min", -kWidest), limit("output_max", kWidest)};
  }

  Initializer kernel_initializer{"glorot_uniform"};
  Layer* dense_ = nullptr;

 private:
  struct Limits {
    int least = 0, most = 0;  ///< numbers of the variables
  };
  [[nodiscard]] graph::ValueId clipped(Call& call, graph::ValueId x, const Limits& limits) const {
    if (!use_clipped_linears) return x;
    graph::Builder& b = call.builder();
    const auto limit = [&](int index) { return Expression(b, b.cast(call.weight(index), b.dtype(x))); };
    return max(min(Expression(b, x), limit(limits.most)), limit(limits.least));
  }

  bool use_clipped_linears = true;
  Limits input_, output_;
};

class Gemma4ClippableDense final : public ClippedDense {
 public:
  void fields(Fields& f) override {
    f.required("units", units);
    f("use_bias", use_bias);
    further_fields(f);
  }
  void build(Weights& w, Call&) override {
    dense_ = &make("Dense", name + "_dense", "dense",
                   {{"units", units.value}, {"use_bias", use_bias}, {"kernel_initializer", kernel_initializer.json}});
    add_limits(w);
  }

 private:
  Positive units;
  bool use_bias = false;
};

/// An EinsumDense without bias.
class Gemma4ClippableEinsumDense final : public ClippedDense {
 public:
  void fields(Fields& f) override {
    f.required("equation", equation);
    f.required("output_shape", output_shape);
    further_fields(f);
  }
  void build(Weights& w, Call&) override {
    dense_ = &make(
        "EinsumDense", "dense", "dense",
        {{"equation", equation}, {"output_shape", output_shape.json}, {"kernel_initializer", kernel_initializer.json}});
    add_limits(w);
  }

 private:
  std::string equation;
  Opaque output_shape;
};

}  // namespace

LayerPtr make_gemma4_clipped_dense() { return std::make_unique<Gemma4ClippableDense>(); }
LayerPtr make_gemma4_clipped_einsum() { return std::make_unique<Gemma4ClippableEinsumDense>(); }

}  // namespace attn::keras
