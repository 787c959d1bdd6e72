// Attention in its three forms: three inputs, one packed input, and concatenated sequences.
#include <algorithm>

#include "attend.h"
#include "attn/base/error.h"
#include "kernels.h"
#include "numbers.h"

namespace attn::backends::reference {
namespace {

/// Splits the packed input into query, key and value, and computes attention.
void compute_packed(const graph::Attention& op, Tensors in, Tensors out) {
  const Shape& packed = in[0].shape();  // (B, T, N+2K, H)
  const Dim keys = op.packed_heads, queries = packed[2] - 2 * keys;
  std::vector<Tensor> parts;
  for (const auto& [first, count] : {std::pair(Dim{0}, queries), {queries, keys}, {queries + keys, keys}}) {
    parts.emplace_back(in[0].dtype(), Shape{packed[0], packed[1], count, packed[3]});
    graph::Slice slice{{{}, {}, {first, first + count}, {}}};
    compute(slice, in.first(1), std::span(&parts.back(), 1));
  }
  parts.insert(parts.end(), in.begin() + 1, in.end());
  graph::Attention unpacked = op;
  unpacked.packed_heads = 0;
  compute(unpacked, parts, out);
}

/// Returns rows [first, first + count) of x (1, P, …).
Tensor rows_of(const Tensor& x, Dim first, Dim count) {
  graph::Slice slice{{{}, {first, first + count}, {}, {}}};
  Shape shape = x.shape();
  shape[1] = count;
  Tensor out(x.dtype(), shape);
  compute(slice, std::span(&x, 1), std::span(&out, 1));
  return out;
}

/// Computes one sequence after the other.
void compute_varlen(const graph::Attention& op, Tensors in, Tensors out) {
  graph::Attention one = op;
  one.varlen = 0;
  const auto starts = read<std::int64_t>(in.back());
  const Dim rows = in[0].shape()[1];
  std::vector<double> whole_context(static_cast<std::size_t>(out[0].size()), 0.0);
  for (std::size_t b = 0; b + 1 < starts.size(); ++b) {
    const Dim first = starts[b], count = starts[b + 1] - first;
    if (first < 0 || count < 0 || count > op.varlen || first + count > rows) {
      throw bad_input("sequence {} is the rows from {} to {} of {}, and at most {}", b, first, first + count, rows,
                      op.varlen);
    }
    if (count == 0) continue;
    std::vector<Tensor> parts;
    for (const Tensor& whole : in.first(in.size() - 1)) parts.push_back(rows_of(whole, first, count));
    Tensor context = rows_of(out[0], first, count);
    compute(one, parts, std::span(&context, 1));
    const auto numbers = read<double>(context);
    std::ranges::copy(numbers, whole_context.begin() + first * (out[0].size() / rows));
  }
  write(out[0], whole_context);
}

}  // namespace

void compute(const graph::Attention& op, Tensors in, Tensors out) {
  if (op.varlen > 0) return compute_varlen(op, in, out);
  if (op.packed_heads > 0) return compute_packed(op, in, out);
  const Shape& query = in[0].shape();
  const Shape& key = in[1].shape();
  Rules rules = rules_of(op, in[0].dtype());
  rules.read_further(op, in.subspan(3), {query[0], query[2], query[1], key[1]});
  const Attended result = attend(rules, in[0], in[1], in[2], op.lse);
  write(out[0], result.context);
  if (op.scores) write(out[1], result.scores);
  if (op.lse) write(out.back(), result.lse);
}

}  // namespace attn::backends::reference
