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

/// Returns the number of optional inputs: the bias and the masks.
std::size_t further_inputs(const auto& op) { return (op.bias ? 1U : 0U) + static_cast<std::size_t>(op.masks); }

void expect_broadcasts(const Shape& given, const Shape& scores, std::string_view what) {
  const auto shape = broadcast(given, scores);
  bool fits = shape && shape->rank() == scores.rank();
  for (int axis = 0; fits && axis < scores.rank(); ++axis) {
    // A larger size than an unknown axis, or than an axis of 1, would broadcast the scores themselves.
    fits = agree((*shape)[axis], scores[axis]);
  }
  if (!fits) {
    throw bad_input("{} {} does not broadcast to the scores (batch, heads, T, S) = {}", what, given.str(),
                    scores.str());
  }
}

/// Checks the bias and the masks against the shape (B, N, T, S) of the scores.
void expect_further(const auto& op, Inputs further, DType dtype, const Shape& scores) {
  if (op.bias) {
    if (further[0].dtype != dtype)
      throw bad_input("the attention bias is {} and the query {}", name_of(further[0].dtype), name_of(dtype));
    expect_broadcasts(further[0].shape, scores, "the attention bias");
    further = further.subspan(1);
  }
  for (const TensorType& mask : further) {
    expect_bool(mask.dtype, "an attention mask");
    expect_broadcasts(mask.shape, scores, "the attention mask");
  }
}

/// Checks that the query heads form equal groups, one per key head.
void expect_groups(Dim heads, Dim key_heads) {
  if (heads != kUnknown && key_heads != kUnknown && (key_heads == 0 ? heads != 0 : heads % key_heads != 0))
    throw bad_input("{} query heads cannot share {} key heads evenly", heads, key_heads);
}

void expect_head_sizes(Dim query, Dim key) {
  if (!agree(query, key)) throw bad_input("a head of the query has {} numbers and one of the key {}", query, key);
}

void expect_key_heads(Dim keys, Dim values) {
  if (!agree(keys, values)) throw bad_input("the key has {} heads and the value {}", keys, values);
}

/// Checks the starts of concatenated sequences, and infers the rest.
Types infer_varlen(const Attention& op, Inputs in) {
  expect_inputs(in, op.packed_heads > 0 ? 2 : 4);
  if (op.bias || op.masks > 0 || op.window || op.scores || op.lse) {
    throw bad_input("sequences in one batch entry have no bias, masks, window, scores or lse");
  }
  const TensorType& starts = in.back();
  if (starts.dtype != DType::int32) throw bad_input("the starts of sequences are int32, not {}", name_of(starts.dtype));
  expect_rank(starts.shape, 1, "the starts of sequences");
  Attention rectangular = op;
  rectangular.varlen = 0;
  Types out = infer_types(rectangular, in.first(in.size() - 1));
  if (!agree(out[0].shape[0], 1)) throw bad_input("sequences share one batch entry, not {}", out[0].shape[0]);
  return out;
}

/// Infers the types as for the three inputs that are packed.
Types infer_packed(const Attention& op, Inputs in) {
  expect_inputs(in, 1U + further_inputs(op));
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
  expect_inputs(in, 3U + further_inputs(op));
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
  expect_key_heads(key[2], value[2]);
  expect_head_sizes(query[3], key[3]);
  const Dim heads = query[2];
  expect_groups(heads, merge(key[2], value[2]));
  const Dim batch = merge(query[0], merge(key[0], value[0]));
  const Shape scores{batch, heads, query[1], merge(key[1], value[1])};
  expect_further(op, in.subspan(3), in[0].dtype, scores);
  Types out{{in[0].dtype, Shape{batch, query[1], heads, value[3]}}};
  if (op.scores) out.push_back({in[0].dtype, scores});
  if (op.lse) {
    const DType dtype = in[0].dtype == DType::float64 ? DType::float64 : DType::float32;
    out.push_back({dtype, scores.slice(0, 3)});
  }
  return out;
}

Types infer_types(const AttentionGrad& op, Inputs in) {
  if (op.forward.packed_heads > 0 || op.forward.varlen > 0)
    throw bad_input("attention to packed inputs or to several sequences in one batch entry has no gradient");
  if (op.bias && !op.forward.bias) throw bad_input("attention without a bias has no gradient of one");
  const std::size_t given = 3U + further_inputs(op.forward);
  expect_inputs(in, given + (op.forward.scores ? 4 : 3));
  Attention forward = op.forward;
  forward.lse = true;
  const Types out = infer_types(forward, in.first(given));
  expect_type(in[given], out[0], "the context");
  expect_type(in[given + 1], out.back(), "the lse");
  expect_type(in[given + 2], out[0], "the gradient of the context");
  if (op.forward.scores) expect_type(in[given + 3], out[1], "the gradient of the scores");
  Types gradients(in.begin(), in.begin() + 3);
  if (op.bias) gradients.push_back(in[3]);
  return gradients;
}

namespace {

/// Checks a rank-0 integer whose value is known only at run time.
void expect_count(const TensorType& type, std::string_view what) {
  if (type.dtype != DType::int32) throw bad_input("{} is int32, not {}", what, name_of(type.dtype));
  expect_rank(type.shape, 0, what);
}

/// Checks that the entries of a cache are a multiple of the batch.
void expect_entries(Dim entries, Dim batch) {
  if (entries != kUnknown && batch != kUnknown && (batch == 0 ? entries != 0 : entries % batch != 0))
    throw bad_input("a cache of {} entries cannot serve a batch of {} evenly", entries, batch);
}

}  // namespace

Types infer_types(const Append&, Inputs in) {
  expect_inputs(in, 3);
  expect_floating(in[0].dtype, "a cache");
  expect_floating(in[1].dtype, "the appended array");
  const Shape& cache = in[0].shape;  // (C, K, S, H)
  const Shape& x = in[1].shape;      // (B, T, K, H)
  expect_rank(cache, 4, "the cache");
  expect_rank(x, 4, "the appended array");
  expect_count(in[2], "the position");
  expect_entries(cache[0], x[0]);
  if (!agree(cache[1], x[2]) || !agree(cache[3], x[3]))
    throw bad_input("rows {} do not fit a cache {} of (entries, heads, rows, head size)", x.str(), cache.str());
  if (x[1] != kUnknown && cache[2] != kUnknown && x[1] > cache[2])
    throw bad_input("{} rows are more than a cache of {} holds", x[1], cache[2]);
  return {in[0]};
}

Types infer_types(const CachedAttention& op, Inputs in) {
  const std::size_t own = op.sources ? 5 : 4;
  expect_inputs(in, own + further_inputs(op));
  expect_floating(in[0].dtype, "attention");
  expect_floating(in[1].dtype, "a cache");
  expect_one_dtype(in.subspan(1, 2));
  const Shape& query = in[0].shape;   // (B, T, N, H)
  const Shape& keys = in[1].shape;    // (C, K, S, H)
  const Shape& values = in[2].shape;  // (C, K, S, Hv)
  expect_rank(query, 4, "the query");
  expect_rank(keys, 4, "the cache of keys");
  expect_rank(values, 4, "the cache of values");
  expect_count(in[3], "the length");
  if (!agree(keys[0], values[0]) || !agree(keys[2], values[2]))
    throw bad_input("the cache of keys is {} and that of values {}", keys.str(), values.str());
  expect_key_heads(keys[1], values[1]);
  expect_head_sizes(query[3], keys[3]);
  expect_groups(query[2], merge(keys[1], values[1]));
  const Dim rows = merge(keys[2], values[2]);
  if (op.sources) {
    if (in[4].dtype != DType::int32) throw bad_input("sources are int32, not {}", name_of(in[4].dtype));
    expect_shape(in[4].shape, {query[0], rows}, "the sources");
  } else {
    expect_entries(merge(keys[0], values[0]), query[0]);
  }
  expect_further(op, in.subspan(own), in[0].dtype, {query[0], query[2], query[1], rows});
  return {{in[0].dtype, Shape{query[0], query[1], query[2], values[3]}}};
}

}  // namespace attn::graph
