#include "families/blocks/roformer_blocks.h"

#include <array>
#include <cmath>
#include <vector>

#include "attn/base/error.h"
#include "attn/base/size.h"
#include "classes/layers/attention/attend.h"
#include "classes/layers/preprocessing/table.h"
#include "classes/ops/expression.h"
#include "classes/rounding.h"

namespace attn::keras {

using graph::Builder;
using graph::ValueId;

Angles angles_by(Call& call, const std::string& name, Dim length, Dim width,
                 const std::function<double(Dim, Dim)>& angle) {
  const DType dtype = call.compute_dtype();
  const std::string key = fmt::format("{} of {} positions and {} features in {}", name, length, width, name_of(dtype));
  const std::vector<ValueId>& values = call.lowering().common(key, [&] {
    const Rounding rounded(dtype);
    const Shape shape{1, length, 1, width};
    Tensor cos = table(dtype, shape, "cosines of positions"), sin = table(dtype, shape, "sines of positions");
    for (Dim t = 0; t < length; ++t) {
      for (Dim i = 0; i < width; ++i) {
        const double at = angle(t, i);
        cos.set(t * width + i, rounded(std::cos(at)));
        sin.set(t * width + i, rounded(std::sin(at)));
      }
    }
    return std::vector{call.builder().constant(std::move(cos)), call.builder().constant(std::move(sin))};
  });
  return {values[0], values[1]};
}

void RoformerAttention::fields(Fields& f) {
  f.required("heads", heads_);
  f.required("head_size", head_size);
  f("out_dim", out_dim);
  f("use_bias", use_bias);
  f("max_wavelength", max_wavelength);
  f("kernel_initializer", kernel_initializer);
}

void RoformerAttention::check(const Ref& config) {
  const auto width = checked_mul(heads_, head_size);
  if (!width) config["head_size"].fail("the features of all heads are too many");
  if (!out_dim) out_dim = *width;
  if (!(max_wavelength > 0.0)) config["max_wavelength"].fail("expected a number > 0");
}

std::span<const std::string_view> RoformerAttention::arguments() const {
  static constexpr std::array<std::string_view, 2> kNames = {"x", "attention_mask"};
  return kNames;
}

void RoformerAttention::build(Weights&, Call&) {
  const auto dense = [&](const char* called, const char* attribute, std::int64_t units) {
    return &make("Dense", called, attribute,
                 {{"units", units}, {"use_bias", use_bias}, {"kernel_initializer", kernel_initializer.json}});
  };
  q_dense_ = dense("q_dense_layer", "q_dense", heads_ * head_size);
  k_dense_ = dense("k_dense_layer", "k_dense", heads_ * head_size);
  v_dense_ = dense("v_dense_layer", "v_dense", heads_ * head_size);
  o_dense_ = dense("o_dense_layer", "o_dense", *out_dim);
}

Arg RoformerAttention::call(Call& call) {
  const LayerScope scope(call.lowering(), name);
  Builder& b = call.builder();
  const TensorPtr x = call.tensor("x");
  const Shape in = call.shape(x);
  if (in.rank() != 3) throw bad_input("expected an input (batch, length, features), got {}", in.str());
  const auto heads_of = [&](Layer& dense) {
    return b.reshape(apply(call, dense, {x})->id, {in[0], in[1], heads_, head_size});
  };
  const ValueId query = rotated(call, heads_of(*q_dense_)), key = rotated(call, heads_of(*k_dense_));
  AttentionOptions how;
  how.scale = 1.0 / std::sqrt(static_cast<double>(head_size.value));
  how.scores = call.lowering().want_scores;
  const ValueId mask = b.cast(call.tensor("attention_mask")->id, DType::boolean);  // (B,T)
  if (b.shape(mask).rank() != 2) throw bad_input("attention_mask must be (batch, length), got {}", b.shape(mask).str());
  how.masks = {b.expand_dims(b.expand_dims(mask, 1), -1)};
  const Attended out = attend(call, query, key, heads_of(*v_dense_), how);
  if (out.scores != graph::kNone) call.lowering().add_scores(out.scores);
  const ValueId joined = b.reshape(out.context, {in[0], in[1], heads_ * head_size});
  return apply(call, *o_dense_, {Call::result(joined)});
}

ValueId RoformerAttention::rotated(Call& call, ValueId x) const {
  Builder& b = call.builder();
  const Dim width = head_size, length = b.shape(x)[1];
  if (width % 2 != 0) throw bad_input("expected an even number of features in a head, got {}", width);
  if (call.lowering().symbolic()) return x;
  check_turning(width);
  // The positions are in the compute dtype, the frequencies in at least float32.
  const DType dtype = call.compute_dtype();
  const Rounding position(dtype), product(dtype == DType::float64 ? dtype : DType::float32);
  std::vector<float> frequencies;
  for (Dim i = 0; i < width / 2; ++i)
    frequencies.push_back(
        std::pow(static_cast<float>(max_wavelength), static_cast<float>(-2 * i) / static_cast<float>(width)));
  const auto angle = [&](Dim t, Dim i) {
    const double turn = product(position(static_cast<double>(t)) * frequencies[static_cast<std::size_t>(i / 2)]);
    return i % 2 == 0 ? -turn : turn;
  };
  const Angles angles =
      angles_by(call, fmt::format("RoFormer's angles by {}", max_wavelength.value), length, width, angle);
  Tensor partners = table(DType::int32, {width}, "pairs of columns");
  for (Dim i = 0; i < width; ++i) partners.set(i, static_cast<double>(i % 2 == 0 ? i + 1 : i - 1));
  const Expression partner(b, b.apply(graph::Gather{3}, {x, b.constant(std::move(partners))}));
  return Expression(b, x) * Expression(b, angles.cos) + partner * Expression(b, angles.sin);
}

void RoformerBlock::fields(Fields& f) {
  f.required("heads", heads_);
  f.required("head_size", head_size);
  f.required("intermediate_size", intermediate_size);
  f("max_wavelength", max_wavelength);
  f("use_bias", use_bias);
  f("activation", activation);
  f("dropout", dropout);
  own_fields(f);
  f("kernel_initializer", kernel_initializer);
}

void RoformerBlock::check(const Ref& config) {
  if (dropout < 0.0 || dropout > 1.0)
    config["dropout"].fail("expected a number from 0 to 1, got " + config["dropout"].kind());
}

std::span<const std::string_view> RoformerBlock::arguments() const {
  static constexpr std::array<std::string_view, 2> kNames = {"x", "attention_mask"};
  return kNames;
}

void RoformerBlock::make_parts(Call& call, const Parts& parts) {
  const Shape in = call.shape("x");
  if (in.rank() != 3 || in.back() == kUnknown)
    throw bad_input("expected an input (batch, length, features), got {}", in.str());
  Json attention = parts.attention_arguments;
  attention.update({{"heads", heads_.value},
                    {"head_size", head_size.value},
                    {"use_bias", use_bias},
                    {"max_wavelength", max_wavelength.value},
                    {"kernel_initializer", kernel_initializer.json}});
  const auto dense = [&](const char* called, std::int64_t units, const Json& function) {
    return &make("Dense", called, called,
                 {{"units", units},
                  {"use_bias", use_bias},
                  {"activation", function},
                  {"kernel_initializer", kernel_initializer.json}});
  };
  attention_ = &make(parts.attention, "attention_layer", "attention_layer", std::move(attention));
  dropout_layer_ = &make("Dropout", "self_attention_dropout", "dropout_layer", {{"rate", dropout.value}});
  intermediate_dense_ = dense("feedforward_intermediate_dense", intermediate_size, activation.json);
  output_dense_ = dense("feedforward_output_dense", in.back(), "linear");
  attention_norm_ = &make(parts.norm, "attention_norm", "attention_norm", parts.norm_arguments);
  feedforward_norm_ = &make(parts.norm, parts.feedforward_norm, "feedforward_norm", parts.norm_arguments);
}

}  // namespace attn::keras
