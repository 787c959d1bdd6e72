// KV caches: appending rows, and attention to them.
#include <algorithm>

#include "attend.h"
#include "attn/base/error.h"
#include "kernels.h"
#include "numbers.h"

namespace attn::backends::reference {
namespace {

Dim count_of(const Tensor& x) { return read<std::int64_t>(x)[0]; }

/// Maps row s of batch entry b to an entry of a cache.
class Sources {
 public:
  Sources(const graph::CachedAttention& op, Tensors in)
      : rows_(in[1].shape()[2]), step_(in[0].shape()[0] > 0 ? in[1].shape()[0] / in[0].shape()[0] : 0) {
    if (op.sources) sources_ = read<std::int64_t>(in[4]);
    entries_ = in[1].shape()[0];
  }

  [[nodiscard]] Dim of(Dim b, Dim s) const {
    if (sources_.empty()) return b * step_;
    const std::int64_t entry = sources_[static_cast<std::size_t>(b * rows_ + s)];
    if (entry < 0 || entry >= entries_)
      throw bad_input("row {} of entry {} is in entry {}, and the cache has {}", s, b, entry, entries_);
    return entry;
  }

 private:
  Dim rows_, step_, entries_ = 0;
  std::vector<std::int64_t> sources_;
};

/// Returns the first `length` rows of a cache (C,K,S,H) for each of `batch` entries, as (B,length,K,H) in float64.
Tensor rows_of(const Tensor& cache, Dim batch, Dim length, const Sources& sources) {
  const Dim K = cache.shape()[1], S = cache.shape()[2], H = cache.shape()[3];
  const auto numbers = read<double>(cache);
  Tensor out(DType::float64, {batch, length, K, H});
  std::vector<double> rows;
  rows.reserve(static_cast<std::size_t>(out.size()));
  for (Dim b = 0; b < batch; ++b) {
    for (Dim s = 0; s < length; ++s) {
      const Dim entry = sources.of(b, s);
      for (Dim k = 0; k < K; ++k) {
        const auto row = numbers.begin() + ((entry * K + k) * S + s) * H;
        rows.insert(rows.end(), row, row + H);
      }
    }
  }
  write(out, rows);
  return out;
}

/// Returns the first `length` elements of the last axis; all of x if that axis has size 1.
Tensor first_columns(const Tensor& x, Dim length) {
  const Shape& shape = x.shape();
  if (shape.rank() == 0 || shape[-1] == 1 || shape[-1] == length) return x;
  graph::Slice slice;
  slice.ranges.resize(static_cast<std::size_t>(shape.rank()));
  slice.ranges.back() = {0, length};
  Shape cut = shape;
  cut[-1] = length;
  Tensor out(x.dtype(), cut);
  compute(slice, std::span(&x, 1), std::span(&out, 1));
  return out;
}

}  // namespace

void compute(const graph::Append&, Tensors in, Tensors out) {
  const Shape& cache = in[0].shape();  // (C,K,S,H)
  const Shape& x = in[1].shape();      // (B,T,K,H)
  const Dim position = count_of(in[2]);
  if (position < 0 || position + x[1] > cache[2])
    throw bad_input("rows {} to {} do not fit a cache of {} rows", position, position + x[1], cache[2]);
  if (out[0].data() != in[0].data()) write(out[0], read<double>(in[0]));
  const Tensor rows = in[1].cast(out[0].dtype());
  const Dim K = cache[1], S = cache[2], H = cache[3], T = x[1];
  const Dim step = x[0] > 0 ? cache[0] / x[0] : 0;
  const std::int64_t size = H * bytes_of(out[0].dtype());
  for (Dim b = 0; b < x[0]; ++b)
    for (Dim t = 0; t < T; ++t)
      for (Dim k = 0; k < K; ++k)
        std::copy_n(rows.data() + ((b * T + t) * K + k) * size, size,
                    out[0].data() + ((b * step * K + k) * S + position + t) * size);
}

void compute(const graph::CachedAttention& op, Tensors in, Tensors out) {
  const Shape& query = in[0].shape();  // (B,T,N,H)
  const Dim length = count_of(in[3]);
  const Dim rows = in[1].shape()[2];
  if (length < (op.causal ? query[1] : 0) || length > rows)
    throw bad_input("{} rows of a cache of {} cannot serve {} queries", length, rows, query[1]);
  const Sources sources(op, in);
  std::vector<Tensor> further;
  for (const Tensor& x : in.subspan(op.sources ? 5 : 4)) further.push_back(first_columns(x, length));
  Rules rules = rules_of(op, in[0].dtype());
  rules.first = length - query[1];
  rules.read_further(op, further, {query[0], query[2], query[1], length});
  const Tensor keys = rows_of(in[1], query[0], length, sources);
  const Tensor values = rows_of(in[2], query[0], length, sources);
  write(out[0], attend(rules, in[0], keys, values).context);
}

}  // namespace attn::backends::reference
