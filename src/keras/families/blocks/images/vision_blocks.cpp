#include "families/blocks/images/vision_blocks.h"

#include <utility>

#include "attn/base/size.h"
#include "classes/layers/attention/attend.h"
#include "classes/training.h"

namespace attn::keras {

using graph::Builder;
using graph::ValueId;

ValueId rows_of_cells(Builder& b, ValueId x) {
  const Shape shape = b.shape(x);
  const int last = shape.rank() - 1;
  const Shape cells = shape.slice(1, last);
  return b.reshape(x, {shape[0], cells.known() ? cells.size() : kUnknown, shape[last]});
}

ValueId behind_rows(Builder& b, ValueId rows, ValueId x) {
  const Shape shape = b.shape(rows);
  const ValueId repeated = b.apply(graph::Broadcast{{b.shape(x)[0], shape[1], shape[2]}}, {rows});
  return b.apply(graph::Concat{1}, {repeated, x});
}

ValueId rows_between(Builder& b, ValueId x, std::optional<std::int64_t> start, std::optional<std::int64_t> stop) {
  graph::Slice slice;
  slice.ranges.resize(static_cast<std::size_t>(b.shape(x).rank()));
  slice.ranges[1] = {start, stop, 1};
  return b.apply(slice, {x});
}

graph::Initializer normal_numbers(std::string_view class_name, double stddev) {
  graph::Initializer out = Initializer(class_name).value;
  out.stddev = stddev;
  return out;
}

void check_blocks(const Ref& config, std::string_view key, std::int64_t count) {
  if (count > kMaxBlocks) config[key].fail(fmt::format("more than {} blocks are not accepted", kMaxBlocks));
}

void check_rate(const Ref& config, std::string_view key, double rate) {
  if (rate < 0.0 || rate > 1.0) config[key].fail("expected a number from 0 to 1, got " + config[key].kind());
}

void check_heads(const Ref& config, std::string_view key, std::int64_t width, std::int64_t heads) {
  if (width % heads != 0) config[key].fail(fmt::format("{} features cannot be divided among {} heads", width, heads));
}

std::int64_t checked_patches(const Ref& config, std::string_view key, std::int64_t rows, std::int64_t columns) {
  const auto count = checked_mul(rows, columns);
  if (!count || *count == 0 || *count > kMaxSize - 1) config[key].fail("the images cannot be divided into patches");
  return *count;
}

Json drop_path(double rate) { return {{"rate", rate}, {"noise_shape", {nullptr, 1, 1}}}; }

ValueId attended_heads(Call& call, ValueId query, ValueId key, ValueId value, AttentionOptions how, double rate) {
  Builder& b = call.builder();
  const bool drops = keras::drops(call, rate);
  how.scores = drops || call.lowering().want_scores;
  Attended out = attend(call, query, key, value, how);
  if (call.lowering().want_scores) call.lowering().add_scores(out.scores);
  if (drops) {
    const ValueId kept = dropped(call, out.scores, rate, Json(), b.shape(out.scores));
    out.context = b.apply(graph::Einsum{"bnts,bsnh->btnh"}, {kept, value});
  }
  const Shape shape = b.shape(out.context);
  return b.reshape(out.context, {shape[0], shape[1], shape[2] * shape[3]});
}

Arg PreNormBlock::call(Call& call) {
  const LayerScope scope(call.lowering(), name);
  const TensorPtr in = call.tensor("inputs");
  const TensorPtr x = sum(call, attended(call, apply(call, *norm_1_, {in})), in);
  return sum(call, fed(call, apply(call, *norm_2_, {x})), x);
}

TensorPtr PreNormBlock::fed(Call& call, const TensorPtr& x) {
  TensorPtr out = x;
  for (Layer* part : feed_) out = apply(call, *part, {out});
  return out;
}

void PreNormBlock::expect_width(Call& call, std::int64_t width) {
  const Shape in = call.shape("inputs");
  if (in.rank() != 3 || in.back() != width)
    throw bad_input("expected an input (batch, length, {}), got {}", width, in.str());
}

Layer& PreNormBlock::make_norm(const char* called, const char* attribute, double epsilon) {
  return make("LayerNormalization", called, attribute, {{"epsilon", epsilon}});
}

Layer& PreNormBlock::make_heads(const char* called, const char* attribute, std::int64_t heads, std::int64_t width,
                                Json further) {
  further["num_heads"] = heads;
  further["key_dim"] = width / heads;
  return make("MultiHeadAttention", called, attribute, std::move(further));
}

void ImageBackbone::check_fields(const Ref& /*config*/) {
  if (!name.empty()) prefix_ = name + "_";
}

TensorRef ImageBackbone::images(std::string_view called) {
  return input(called, {kUnknown, image_shape.items[0], image_shape.items[1], image_shape.items[2]}, DType::float32);
}

void ImageBackbone::check_square(const Ref& config) const {
  if (height() != width())
    config["image_shape"].fail(fmt::format("expected square images, got {} by {}", height(), width()));
}

}  // namespace attn::keras
