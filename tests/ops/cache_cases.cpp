// KV caches: appending rows, and attention to the filled rows.
#include <fmt/format.h>

#include <cmath>

#include "cases.h"

namespace attn::test {
namespace {

using namespace attn::graph;  // the operations, which fill this file

Operand in(Shape shape, DType dtype = DType::float32) { return {std::move(shape), Numbers::normal, dtype}; }
Operand state(Shape shape, DType dtype = DType::float32) {
  return {std::move(shape), Numbers::normal, dtype, false, true};
}
Operand count(std::int64_t n) { return {{}, Numbers::count, DType::int32, false, false, n}; }
Operand entries(Shape shape, std::int64_t n) {
  return {std::move(shape), Numbers::entries, DType::int32, false, false, n};
}
Operand mask(Shape shape) { return {std::move(shape), Numbers::mask, DType::boolean}; }

void add_appends(std::vector<Case>& cases) {
  const auto add = [&](const std::string& name, Operand cache, Operand x, std::int64_t position) {
    cases.push_back({"append " + name, Append{}, {std::move(cache), std::move(x), count(position)}});
  };
  const Shape cache{2, 3, 20, 8};
  add("a row", state(cache), in({2, 1, 3, 8}), 7);
  add("at the front", state(cache), in({2, 5, 3, 8}), 0);
  add("up to the end", state(cache), in({2, 5, 3, 8}), 15);
  add("all rows", state(cache), in({2, 20, 3, 8}), 0);
  add("no row", state(cache), in({2, 0, 3, 8}), 20);
  add("every second entry", state({4, 3, 20, 8}), in({2, 5, 3, 8}), 3);
  add("heads of 5", state({1, 2, 9, 5}), in({1, 2, 2, 5}), 4);
  add("to bfloat16", state(cache, DType::bfloat16), in({2, 5, 3, 8}), 3);
  add("to float16", state(cache, DType::float16), in({2, 5, 3, 8}), 3);
  add("of bfloat16", state(cache, DType::bfloat16), in({2, 5, 3, 8}, DType::bfloat16), 3);
  add("a recurrent state", state({2, 3, 1, 64}), in({2, 1, 3, 64}), 0);
  add("to an empty cache", state({0, 3, 20, 8}), in({0, 5, 3, 8}), 3);
}

struct Size {
  Dim B, T, N, K, S, H, V;
  std::int64_t length;
};

/// A case whose caches have `entries_of_cache` entries.
Case attention(const std::string& name, const Size& s, CachedAttention op, Dim entries_of_cache,
               DType dtype = DType::float32, DType cache = DType::float32) {
  op.scale = s.H > 0 ? 1.0 / std::sqrt(static_cast<double>(s.H)) : 1.0;
  return {fmt::format("cached attention B{} T{} N{} K{} S{} H{} V{} length {} {}", s.B, s.T, s.N, s.K, s.S, s.H, s.V,
                      s.length, name),
          op,
          {in({s.B, s.T, s.N, s.H}, dtype), state({entries_of_cache, s.K, s.S, s.H}, cache),
           state({entries_of_cache, s.K, s.S, s.V}, cache), count(s.length)}};
}

void add_attention(std::vector<Case>& cases) {
  for (const Size& s :
       {Size{1, 1, 4, 4, 40, 16, 16, 1}, Size{1, 1, 4, 2, 40, 16, 16, 23}, Size{1, 1, 8, 1, 40, 64, 64, 40},
        Size{2, 1, 6, 2, 300, 24, 24, 257}, Size{2, 9, 4, 2, 40, 16, 8, 9}, Size{1, 9, 4, 2, 40, 16, 16, 31},
        Size{1, 33, 4, 4, 80, 64, 64, 65}, Size{2, 3, 2, 1, 8, 7, 5, 8}, Size{1, 2, 3, 3, 1100, 8, 8, 1057},
        Size{0, 1, 4, 2, 40, 16, 16, 23}, Size{1, 0, 4, 2, 40, 16, 16, 23}, Size{1, 1, 2, 2, 9, 8, 0, 4}}) {
    cases.push_back(attention("", s, {}, s.B));
    CachedAttention window;
    window.window = 5;
    cases.push_back(attention("window", s, window, s.B));
    CachedAttention across;  // cross-attention
    across.causal = false;
    cases.push_back(attention("not causal", s, across, s.B));
  }
  const Size s{2, 3, 4, 2, 40, 16, 16, 29};
  CachedAttention across, soft, biased, masked, beams, beams_masked, explicit_masked;
  across.causal = false;
  soft.soft_cap = 2.0;
  cases.push_back(attention("soft cap", s, soft, 2));
  biased.bias = true;
  for (const Shape& shape : {Shape{4, 1, 40}, Shape{2, 4, 3, 40}, Shape{4, 3, 1}}) {
    Case row = attention("bias " + shape.str(), s, biased, 2);
    row.inputs.push_back(in(shape));
    cases.push_back(std::move(row));
  }
  masked.masks = 1;
  explicit_masked = masked;
  explicit_masked.path = AttentionPath::explicit_;
  for (const CachedAttention& op : {masked, explicit_masked}) {
    Case row = attention(op.path == AttentionPath::fused ? "mask" : "mask explicit", s, op, 2);
    row.inputs.push_back(mask({2, 1, 1, 40}));
    cases.push_back(std::move(row));
  }
  across.masks = 1;
  Case over_encoder = attention("mask, not causal", s, across, 2);
  over_encoder.inputs.push_back(mask({2, 1, 1, 40}));
  cases.push_back(std::move(over_encoder));
  beams.sources = true;
  for (const Dim T : {Dim{1}, Dim{3}}) {
    Case row = attention("beams", {6, T, 4, 2, 40, 16, 16, 29}, beams, 6);
    row.inputs.push_back(entries({6, 40}, 6));
    cases.push_back(std::move(row));
  }
  beams_masked = beams;
  beams_masked.masks = 1;
  Case both = attention("beams, mask", {6, 1, 4, 2, 40, 16, 16, 29}, beams_masked, 6);
  both.inputs.push_back(entries({6, 40}, 6));
  both.inputs.push_back(mask({6, 1, 1, 40}));
  cases.push_back(std::move(both));
  cases.push_back(attention("every third entry", s, {}, 6));
  for (const DType cache : {DType::float32, DType::bfloat16, DType::float16}) {
    cases.push_back(attention(fmt::format("cache of {}", name_of(cache)), s, {}, 2, DType::float32, cache));
    if (cache == DType::float32) continue;
    cases.push_back(attention(fmt::format("{} and its cache", name_of(cache)), s, {}, 2, cache, cache));
    cases.push_back(attention(fmt::format("{} and its cache, a token", name_of(cache)), {1, 1, 8, 2, 70, 64, 64, 67},
                              {}, 1, cache, cache));
  }
}

}  // namespace

std::vector<Case> cache_cases() {
  std::vector<Case> cases;
  add_appends(cases);
  add_attention(cases);
  return cases;
}

}  // namespace attn::test
