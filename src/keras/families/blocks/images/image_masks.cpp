#include "families/blocks/images/image_masks.h"

#include "attn/base/error.h"
#include "classes/ops/expression.h"

namespace attn::keras {

using graph::Builder;
using graph::ValueId;

namespace {

Expression numbers(Builder& b, const Shape& shape, int axis) {
  return {b, b.apply(graph::Iota{shape, DType::int32, axis}, {})};
}

/// The mask (1,T,T) of positions that see those before them, with a window the last `window` positions.
Expression causal_mask(Builder& b, Dim length, std::optional<Dim> window = {}) {
  const Expression key = numbers(b, {1, 1, length}, 2), query = numbers(b, {1, length, 1}, 1);
  const Expression mask = key <= query;
  return window ? mask & (query - key < static_cast<double>(*window)) : mask;
}

}  // namespace

ValueId prompt_mask(Builder& b, ValueId padding, std::optional<ValueId> response, Dim length) {
  const auto over_images = [&](ValueId mask, double fill) {
    const Shape shape = b.shape(mask);
    if (shape.rank() != 2 || shape[1] > length)
      throw bad_input("masks must be (batch, length) with a length of at most {}, got {}", length, shape.str());
    ValueId flags = b.cast(mask, DType::boolean);
    if (shape[1] < length) {
      const ValueId front = b.apply(graph::Fill{{shape[0], length - shape[1]}, DType::boolean, fill}, {});
      flags = b.apply(graph::Concat{1}, {front, flags});
    }
    return Expression(b, b.expand_dims(flags, 1));
  };
  Expression shown = over_images(padding, 1.0), causal = causal_mask(b, length);
  if (response) {
    const Expression answers = over_images(*response, 0.0);
    causal = causal & answers;
    shown = shown & answers.unary(graph::UnaryFn::logical_not);
  }
  return shown | causal;
}

ValueId image_mask(Builder& b, ValueId vision, std::optional<Dim> window) {
  const Shape shape = b.shape(vision);
  const Expression is_image(b, b.cast(b.cast(vision, DType::boolean), DType::int32));
  // A position begins an image if the one before it is text. Images are numbered from 1 on.
  graph::Slice before;
  before.ranges = {{}, {0, shape[1] - 1, 1}};
  const ValueId none = b.apply(graph::Fill{{shape[0], 1}, DType::int32, 0.0}, {});
  const Expression previous(b, b.apply(graph::Concat{1}, {none, b.apply(before, {is_image})}));
  const Expression begins = (previous < is_image).cast(DType::int32);
  const Expression number = Expression(b, b.apply(graph::Cumulate{.axis = 1}, {begins})) * is_image;
  const Expression of_query(b, b.expand_dims(number, 2)), of_key(b, b.expand_dims(number, 1));
  const Expression same = (of_query == of_key) & (of_query > 0.0);
  return same | causal_mask(b, shape[1], window);
}

ValueId widened(Builder& b, ValueId mask, Dim keys) {
  const Shape shape = b.shape(mask);
  if (shape[2] >= keys) return mask;
  const ValueId hidden = b.apply(graph::Fill{{shape[0], shape[1], keys - shape[2]}, DType::boolean, 0.0}, {});
  return b.apply(graph::Concat{2}, {mask, hidden});
}

}  // namespace attn::keras
