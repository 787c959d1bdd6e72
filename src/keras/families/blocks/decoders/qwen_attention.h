// Attention of Qwen's families, which those with mixtures of experts share.
#pragma once

#include <cstdint>
#include <optional>

#include "families/blocks/decoders/grouped_attention.h"
#include "families/blocks/rms_norm.h"

namespace attn::keras {

/// Qwen 2 and 2.5: query, key and value have biases.
class QwenFamily : public LinearRotaryFamily {
 public:
  void fields(Fields& f) override {
    LinearRotaryFamily::fields(f);
    f("use_sliding_window_attention", use_sliding_window_attention);
    f("sliding_window_size", sliding_window_size);
  }
  [[nodiscard]] std::optional<std::int64_t> window() const override {
    const bool slides = use_sliding_window_attention && sliding_window_size;
    return slides ? std::optional(sliding_window_size->value) : std::nullopt;
  }
  [[nodiscard]] bool biased() const override { return true; }

  bool use_sliding_window_attention = false;
  std::optional<Positive> sliding_window_size = Positive(4096);
};

/// Qwen 3: queries and keys are normalized over the features of each head. KerasHub's blocks do not pass their ε to the
/// attention, which has a default of its own.
class Qwen3Family : public LinearRotaryFamily {
 public:
  explicit Qwen3Family(double epsilon = 1e-5) : epsilon_(epsilon) {}

  void fields(Fields& f) override {
    f("head_dim", head_dim);
    LinearRotaryFamily::fields(f);
    f("sliding_window_size", sliding_window_size);
  }
  [[nodiscard]] Dim head_size(Dim width, Dim heads) const override {
    return head_dim ? head_dim->value : LinearRotaryFamily::head_size(width, heads);
  }
  [[nodiscard]] std::optional<std::int64_t> window() const override {
    return sliding_window_size ? std::optional(sliding_window_size->value) : std::nullopt;
  }
  [[nodiscard]] std::optional<double> norm_epsilon() const override { return epsilon_; }

  std::optional<Positive> head_dim, sliding_window_size;

 private:
  double epsilon_;
};

/// An RMS norm whose size is the field head_dim, if that is given, or the last axis of its input.
class Qwen3LayerNorm : public RmsNorm {
 public:
  void fields(Fields& f) override {
    f("head_dim", head_dim);
    RmsNorm::fields(f);
  }

 private:
  [[nodiscard]] Dim size(const Shape& in) const override { return head_dim ? head_dim->value : in.back(); }

  std::optional<Positive> head_dim;
};

}  // namespace attn::keras
