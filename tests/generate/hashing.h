// A decoder whose logits tests can compute themselves.
#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include "attn/generate/decoder.h"

namespace attn::generate {

/// The logits and hidden states are a function of the context's tokens. It keeps a cache of rows like a real decoder,
/// so that a search that follows the wrong row is detected.
class Hashing : public Decoder {
 public:
  Hashing(Dim rows, Dim capacity)
      : cache_(static_cast<std::size_t>(rows), std::vector<Token>(static_cast<std::size_t>(capacity), -1)) {}
  [[nodiscard]] Dim vocabulary_size() const override { return kSize; }
  [[nodiscard]] Dim capacity() const override { return static_cast<Dim>(cache_[0].size()); }

  DecoderOutput advance(const Advance& step) override {
    const Dim branches = static_cast<Dim>(cache_.size()) / step.rows;
    const Dim asked = step.every_position ? step.count : 1;
    DecoderOutput out{Tensor(DType::float32, {step.rows, asked, kSize}),
                      Tensor(DType::float32, {step.rows, step.count, kWidth})};
    ++calls;
    for (Dim row = 0; row < step.rows; ++row) {
      const Dim own = row * branches;
      for (Dim t = 0; t < step.count; ++t) {
        cache_[static_cast<std::size_t>(own)][static_cast<std::size_t>(step.position + t)] =
            step.tokens[static_cast<std::size_t>(row * step.count + t)];
        const std::vector<Token> context = context_of(step, row, own, step.position + t + 1);
        for (Dim i = 0; i < kWidth; ++i) out.hidden.set((row * step.count + t) * kWidth + i, number(context, 1000 + i));
        const Dim at = row * asked + t - (step.count - asked);
        if (step.every_position || t + 1 == step.count)
          for (Dim i = 0; i < kSize; ++i) out.logits.set(at * kSize + i, number(context, i));
      }
    }
    return out;
  }

  int calls = 0;
  static constexpr Dim kSize = 11, kWidth = 4;
  /// A number in [-2, 2), derived from the tokens and an index.
  static double number(const std::vector<Token>& context, Dim i) {
    std::uint64_t hash = 1469598103934665603ULL + static_cast<std::uint64_t>(i);
    for (const Token token : context) hash = (hash ^ static_cast<std::uint64_t>(token + 7)) * 1099511628211ULL;
    hash ^= hash >> 29U;
    return static_cast<double>(hash % 4096) / 1024.0 - 2.0;
  }

 private:
  [[nodiscard]] std::vector<Token> context_of(const Advance& step, Dim row, Dim own, Dim length) const {
    std::vector<Token> context;
    for (Dim p = 0; p < length; ++p) {
      Dim from = own;
      if (p < step.position && !step.sources.empty())
        from = step.sources[static_cast<std::size_t>(row * step.position + p)];
      context.push_back(cache_[static_cast<std::size_t>(from)][static_cast<std::size_t>(p)]);
      REQUIRE(context.back() >= 0);
    }
    return context;
  }

  std::vector<std::vector<Token>> cache_;
};

}  // namespace attn::generate
