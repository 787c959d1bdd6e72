#include <algorithm>

#include "attn/base/error.h"
#include "infer.h"

namespace attn::graph {

Types infer_types(const Softmax& op, Inputs in) {
  expect_inputs(in, 1);
  expect_floating(in[0].dtype, name_of(op));
  if (op.axes.empty()) throw bad_input("{} has no axis", name_of(op));
  std::vector<int> axes = op.axes;
  std::sort(axes.begin(), axes.end());
  expect_axes(axes, in[0].shape.rank());
  return {in[0]};
}

namespace {

/// Checks what comes instead of masks, and gives the types of the rest.
Types infer_varlen(const Attention& op, Inputs in) {
  expect_inputs(in, op.packed_heads > 0 ? 2 : 4);
  if (op.masks > 0 || op.window || op.scores) {
    throw bad_input("sequences in one batch entry have no masks, window or scores");
  }
  const TensorType& starts = in.back();
  if (starts.dtype != DType::int32) throw bad_input("where sequences start is int32, not {}", name_of(starts.dtype));
  expect_rank(starts.shape, 1, "where sequences start");
  Attention rectangular = op;
  rectangular.varlen = 0;
  Types out = infer_types(rectangular, in.first(in.size() - 1));
  if (!agree(out[0].shape[0], 1)) throw bad_input("sequences share one batch entry, not {}", out[0].shape[0]);
  return out;
}

/// As of the three inputs that the one stands for.
Types infer_packed(const Attention& op, Inputs in) {
  expect_inputs(in, 1U + static_cast<std::size_t>(op.masks));
  expect_rank(in[0].shape, 4, "the packed query, key and value");
  const Shape& packed = in[0].shape;  // (B, T, N+2K, H)
  const Dim heads = packed[2] == kUnknown ? kUnknown : packed[2] - 2 * op.packed_heads;
  if (heads != kUnknown && heads < 1) {
    throw bad_input("{} heads hold no query beside {} of the key and of the value", packed[2], op.packed_heads);
  }
  const auto part = [&](Dim count) { return TensorType{in[0].dtype, Shape{packed[0], packed[1], count, packed[3]}}; };
  std::vector<TensorType> parts{part(heads), part(op.packed_heads), part(op.packed_heads)};
  parts.insert(parts.end(), in.begin() + 1, in.end());
  Attention unpacked = op;
  unpacked.packed_heads = 0;
  return infer_types(unpacked, parts);
}

}  // namespace

Types infer_types(const Attention& op, Inputs in) {
  if (op.varlen > 0) return infer_varlen(op, in);
  if (op.packed_heads > 0) return infer_packed(op, in);
  expect_inputs(in, 3U + static_cast<std::size_t>(op.masks));
  expect_one_dtype(in.first(3));
  expect_floating(in[0].dtype, "attention");
  const Shape& query = in[0].shape;  // (B, T, N, H)
  const Shape& key = in[1].shape;    // (B, S, K, H)
  const Shape& value = in[2].shape;  // (B, S, K, Hv)
  expect_rank(query, 4, "the query");
  expect_rank(key, 4, "the key");
  expect_rank(value, 4, "the value");
  if (!agree(query[0], key[0]) || !agree(query[0], value[0]) || !agree(key[0], value[0])) {
    throw bad_input("the batch sizes of query, key and value are {}, {} and {}", query[0], key[0], value[0]);
  }
  if (!agree(key[1], value[1])) {
    throw bad_input("the key has {} positions and the value {}", key[1], value[1]);
  }
  if (!agree(key[2], value[2])) throw bad_input("the key has {} heads and the value {}", key[2], value[2]);
  if (!agree(query[3], key[3])) {
    throw bad_input("a head of the query has {} numbers and one of the key {}", query[3], key[3]);
  }
  const Dim heads = query[2];
  const Dim shared_heads = merge(key[2], value[2]);
  if (heads != kUnknown && shared_heads != kUnknown && (shared_heads == 0 ? heads != 0 : heads % shared_heads != 0)) {
    throw bad_input("{} query heads cannot share {} key heads evenly", heads, shared_heads);
  }
  const Dim batch = merge(query[0], merge(key[0], value[0]));
  const Shape scores{batch, heads, query[1], merge(key[1], value[1])};
  for (std::size_t i = 3; i < in.size(); ++i) {
    expect_bool(in[i].dtype, "an attention mask");
    const Shape& mask = in[i].shape;
    const auto shape = broadcast(mask, scores);
    bool fits = shape && shape->rank() == scores.rank();
    for (int axis = 0; fits && axis < scores.rank(); ++axis) {
      // Where the mask is larger than an unknown axis or than an axis of 1, it is the mask that would be broadcast to.
      fits = agree((*shape)[axis], scores[axis]);
    }
    if (!fits) {
      throw bad_input("the attention mask {} does not broadcast to the scores (batch, heads, T, S) = {}", mask.str(),
                      scores.str());
    }
  }
  Types out{{in[0].dtype, Shape{batch, query[1], heads, value[3]}}};
  if (op.scores) out.push_back({in[0].dtype, scores});
  return out;
}

}  // namespace attn::graph
