// KerasHub's position layers.
#include <array>
#include <cmath>

#include "layers.h"
#include "lowering.h"

namespace attn::keras {
namespace {

/// A learned row per position, (B,T,D) like its input.
class PositionEmbedding : public Layer {
 public:
  void fields(Fields& f) override {
    f.required("sequence_length", sequence_length);
    f("initializer", initializer);
  }
  void build(Weights& w, Call& call) override {
    const Shape& in = call.shape("inputs");
    if (in.rank() < 2 || in.back() == kUnknown) throw bad_input("expected an input (…, T, D), got {}", in.str());
    w.add("embeddings", {sequence_length, in.back()}, initializer);
  }
  Arg call(Call& call) override {
    graph::Builder& b = call.builder();
    const Shape& in = call.shape("inputs");
    const Dim length = in[-2];
    if (length > sequence_length)
      throw bad_input("the input has {} positions, the layer knows {}", length, sequence_length.value);
    graph::Slice first;
    first.ranges = {{0, length == kUnknown ? std::optional<std::int64_t>() : length, 1}, {}};
    return Call::result(b.apply(graph::Broadcast{in}, {b.apply(first, {call.weight(0)})}));
  }

 private:
  Positive sequence_length;
  Initializer initializer{"glorot_uniform"};
};

/// "Attention Is All You Need", 3.5: even features sin, odd ones cos of position · max_wavelength^(−2⌊i/2⌋/D).
class SinePositionEncoding : public Layer {
 public:
  void fields(Fields& f) override { f("max_wavelength", max_wavelength); }
  Arg call(Call& call) override {
    graph::Builder& b = call.builder();
    const Shape& in = call.shape("inputs");
    const DType dtype = call.compute_dtype();
    if (in.rank() < 2) throw bad_input("expected an input (…, T, D), got {}", in.str());
    const Dim length = in[-2], width = in.back();
    if (length == kUnknown || width == kUnknown) return Call::result(b.apply(graph::Fill{in, dtype, 0.0}, {}));
    // In double and rounded once; only the positions are first rounded to the compute dtype, as Keras does, which makes
    // 256 and 257 equal in bfloat16.
    Tensor table(dtype, {length, width});
    Tensor position(dtype, {1});
    for (Dim t = 0; t < length; ++t) {
      position.set(0, static_cast<double>(t));
      for (Dim i = 0; i < width; ++i) {
        const Dim pair = i / 2;
        const double exponent = -2.0 * static_cast<double>(pair) / static_cast<double>(width);
        const double angle = position.at(0) * std::pow(max_wavelength.value, exponent);
        table.set(t * width + i, i % 2 == 0 ? std::sin(angle) : std::cos(angle));
      }
    }
    return Call::result(b.apply(graph::Broadcast{in}, {b.constant(std::move(table))}));
  }

 private:
  Number max_wavelength{10000.0};
};

constexpr std::array kRows = {
    LayerRow{"PositionEmbedding", "keras_hub.layers", make_layer<PositionEmbedding>},
    LayerRow{"SinePositionEncoding", "keras_hub.layers", make_layer<SinePositionEncoding>},
};

}  // namespace

std::span<const LayerRow> keras_hub_rows() { return kRows; }

}  // namespace attn::keras
