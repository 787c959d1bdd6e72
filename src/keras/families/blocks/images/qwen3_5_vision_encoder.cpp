#include "families/blocks/images/qwen3_5_vision_encoder.h"

#include <array>
#include <cmath>
#include <memory>
#include <tuple>
#include <utility>

#include "attn/base/text.h"
#include "families/blocks/images/vision_blocks.h"

namespace attn::keras {
namespace {

using graph::Builder;
using graph::ValueId;

/// The encoder reads its frequencies; KerasHub never calls it.
class Qwen3_5VisionRotaryEmbedding final : public Layer {
 public:
  void fields(Fields& f) override {
    f.required("head_dim", head_dim);
    f("theta", theta);
  }
  Arg call(Call&) override { throw bad_input("the layer cannot be called; the vision encoder reads its frequencies"); }

 private:
  Positive head_dim;
  Number theta = 10000.0;
};

/// Returns the angle per position of each pair of features: half of the pairs turn with the row, half with the column.
Tensor frequencies(Dim head_size) {
  const Dim half = head_size / 2;
  Tensor out(DType::float32, {half / 2});
  for (Dim i = 0; i < half; i += 2)
    out.set(i / 2, 1.0 / std::pow(10000.0, static_cast<double>(i) / static_cast<double>(half)));
  return out;
}

/// The rows, or the columns, of a table between which a position is.
struct Neighbors {
  Expression low, high;
  Expression share;  ///< of the higher one, in float32
};

/// Spreads `count` positions over a table of `size`: the first and the last one are those of the table.
Neighbors neighbors(const Expression& position, const Expression& count, Dim size) {
  const double last = static_cast<double>(size - 1);
  const Expression steps = max(count + -1.0, count.number(1.0)).cast(DType::float32);
  const Expression place = position.cast(DType::float32) * (steps.number(last) / steps);
  const Expression low = place.cast(DType::int32);
  return {low, min(low + 1.0, low.number(last)), place - low.cast(DType::float32)};
}

/// Returns whether the grids are known to be those of one image of one frame, whose patches all see each other.
bool is_one_frame(const graph::Value& grids) {
  return grids.kind == graph::ValueKind::constant && grids.shape[0] == 1 && grids.constant.at(0) == 1.0;
}

}  // namespace

void Qwen3_5VisionEncoder::fields(Fields& f) {
  f.required("depth", depth);
  f.required("hidden_size", hidden_size);
  f.required("num_heads", num_heads);
  f.required("intermediate_size", intermediate_size);
  f("in_channels", in_channels);
  f("patch_size", patch_size);
  f("temporal_patch_size", temporal_patch_size);
  f("spatial_merge_size", spatial_merge_size);
  f("out_hidden_size", out_hidden_size);
  f("num_position_embeddings", num_position_embeddings);
}

void Qwen3_5VisionEncoder::check(const Ref& config) {
  constexpr std::int64_t kMostFeatures = std::int64_t{1} << 24, kMostPixels = 1 << 10;  // far above published models
  for (const auto& [key, size, most] : {std::tuple("hidden_size", hidden_size.value, kMostFeatures),
                                        {"num_position_embeddings", num_position_embeddings.value, kMostFeatures},
                                        {"in_channels", in_channels.value, kMostPixels},
                                        {"patch_size", patch_size.value, kMostPixels},
                                        {"temporal_patch_size", temporal_patch_size.value, kMostPixels},
                                        {"spatial_merge_size", spatial_merge_size.value, kMostPixels}})
    if (size > most) config[key].fail(fmt::format("more than {} are not accepted", most));
  check_blocks(config, "depth", depth);
  check_heads(config, "num_heads", hidden_size, num_heads);
  if (hidden_size / num_heads % 4 != 0)
    config["num_heads"].fail(
        fmt::format("heads of {} features cannot be divided among rows and columns of pairs", hidden_size / num_heads));
  if (!out_hidden_size) out_hidden_size = hidden_size;
  if (name.empty()) name = snake_case(class_name());
  policy = {};
}

std::span<const std::string_view> Qwen3_5VisionEncoder::arguments() const {
  static constexpr std::array<std::string_view, 2> kNames = {"pixel_values", "grid_thw"};
  return kNames;
}

std::optional<std::vector<Shape>> Qwen3_5VisionEncoder::symbolic_shapes(Call& call) {
  const Shape in = call.shape("pixel_values");
  return in.rank() == 6 ? std::vector<Shape>{{in[0], kUnknown, features()}}
                        : std::vector<Shape>{{kUnknown, features()}};
}

Dim Qwen3_5VisionEncoder::table_side() const {
  return static_cast<Dim>(std::sqrt(static_cast<double>(num_position_embeddings.value)));
}

Layer* Qwen3_5VisionEncoder::part(std::string_view class_name, std::string_view called, std::string_view attribute,
                                  Json arguments) {
  parts_.push_back(&make(class_name, called, attribute, std::move(arguments)));
  return parts_.back();
}

void Qwen3_5VisionEncoder::build(Weights&, Call&) {
  patch_embed_ = part("Qwen3_5VisionPatchEmbed", "patch_embed", "layers/qwen3_5_vision_patch_embed",
                      {{"patch_size", patch_size.value},
                       {"temporal_patch_size", temporal_patch_size.value},
                       {"in_channels", in_channels.value},
                       {"hidden_size", hidden_size.value}});
  pos_embed_ = part("Embedding", "pos_embed", "layers/embedding",
                    {{"input_dim", num_position_embeddings.value}, {"output_dim", hidden_size.value}});
  part("Qwen3_5VisionRotaryEmbedding", "rotary_pos_emb", "layers/qwen3_5_vision_rotary_embedding",
       {{"head_dim", hidden_size / num_heads}});
  for (std::int64_t i = 0; i < depth; ++i)
    blocks_.push_back(part("Qwen3_5VisionBlock", fmt::format("blocks_{}", i),
                           "blocks/qwen3_5_vision_block" + (i == 0 ? "" : fmt::format("_{}", i)),
                           {{"hidden_size", hidden_size.value},
                            {"num_heads", num_heads.value},
                            {"intermediate_size", intermediate_size.value}}));
  merger_ = part("Qwen3_5VisionPatchMerger", "merger", "layers/qwen3_5_vision_patch_merger",
                 {{"hidden_size", hidden_size.value},
                  {"spatial_merge_size", spatial_merge_size.value},
                  {"out_hidden_size", features()}});
}

Arg Qwen3_5VisionEncoder::call(Call& call) {
  const LayerScope scope(call.lowering(), name);
  Builder& b = call.builder();
  const bool symbolic = call.lowering().symbolic();
  const Shape given = call.shape("pixel_values"), grids = call.shape("grid_thw");
  const bool batched = given.rank() == 6;
  if (given.rank() != 5 && !batched)
    throw bad_input("expected pixel_values (batch, patches, frames, height, width, channels), got {}", given.str());
  if (grids.back() != 3) throw bad_input("expected a grid (frames, rows, columns) of each image, got {}", grids.str());
  const auto all_of = [&](const Shape& shape) {
    if (!batched) return shape[0];
    return shape[0] == kUnknown || shape[1] == kUnknown ? kUnknown : shape[0] * shape[1];
  };
  const Dim patches = all_of(given), square = spatial_merge_size * spatial_merge_size;
  const auto result = [&](ValueId rows) { return Call::result(batched ? b.expand_dims(rows, 0) : rows); };
  if (patches == 0) return result(b.apply(graph::Fill{{0, features()}, call.compute_dtype(), 0.0}, {}));
  if (!symbolic && (patches % square != 0 || all_of(grids) == 0))
    throw bad_input("{} patches cannot be divided into squares of {} in {} images", patches, square, all_of(grids));

  Shape shape{patches};
  shape.append(patch_shape());
  TensorPtr x = apply(call, *patch_embed_, {Call::result(b.reshape(call.tensor("pixel_values")->id, shape))});
  ArgDict how;
  if (symbolic) {  // only builds the table
    apply(call, *pos_embed_, {Call::result(b.apply(graph::Fill{{kUnknown}, DType::int32, 0.0}, {}))});
    pos_embed_->node_shapes = {{{kUnknown, hidden_size}}};
  } else {
    const ValueId grid = b.cast(b.reshape(call.tensor("grid_thw")->id, {all_of(grids), 3}), DType::int32);
    const PatchPlaces places = patch_places(b, grid, patches, spatial_merge_size);
    x = sum(call, x, Call::result(positions(call, places)));
    how = {{"position_embeddings", angles(call, places)}};
    if (!is_one_frame(b.graph().value(grid))) {
      const Expression same = places.frame == Expression(b, b.transpose(places.frame, {1, 0}));
      how.emplace_back("attention_mask", Call::result(b.reshape(same, {1, 1, patches, patches})));
    }
  }
  for (Layer* block : blocks_) x = apply(call, *block, {x}, how);
  return result(apply(call, *merger_, {x})->id);
}

ValueId Qwen3_5VisionEncoder::positions(Call& call, const PatchPlaces& places) const {
  Builder& b = call.builder();
  const Dim side = table_side();
  const Neighbors row = neighbors(places.row, places.rows, side),
                  column = neighbors(places.column, places.columns, side);
  const auto corner = [&](const Expression& r, const Expression& c, const Expression& weight) {
    const Expression place = r * static_cast<double>(side) + c;
    const ValueId ids = b.reshape(place, {place.shape()[0]});
    const Expression rows(b, apply(call, *pos_embed_, {Call::result(ids)})->id);
    return rows * weight.cast(rows.dtype());
  };
  const Expression up = 1.0 - row.share, left = 1.0 - column.share;
  return corner(row.low, column.low, up * left) + corner(row.low, column.high, up * column.share) +
         corner(row.high, column.low, row.share * left) + corner(row.high, column.high, row.share * column.share);
}

ArgList Qwen3_5VisionEncoder::angles(Call& call, const PatchPlaces& places) const {
  Builder& b = call.builder();
  const Dim size = hidden_size / num_heads, patches = places.row.shape()[0];
  const Expression turns(b, b.constant(frequencies(size)));
  const Expression row = places.row.cast(DType::float32) * turns, column = places.column.cast(DType::float32) * turns;
  const Expression all(b, b.apply(graph::Concat{1}, {row, column, row, column}));
  const auto of = [&](graph::UnaryFn fn) {
    return Call::result(b.reshape(all.unary(fn).cast(call.compute_dtype()), {1, patches, 1, size}));
  };
  return {of(graph::UnaryFn::cos), of(graph::UnaryFn::sin)};
}

LayerPtr make_qwen3_5_vision_rotary() { return std::make_unique<Qwen3_5VisionRotaryEmbedding>(); }

}  // namespace attn::keras
