// Families of decoders with grouped attention: the fields that their attention, blocks and backbones share.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "classes/layers/grouped_attention.h"

namespace attn::keras {

/// Llama and Llama 3: frequencies may be adjusted to sequences longer than in training.
class LlamaFamily final : public AttentionFamily {
 public:
  void fields(Fields& f) override;
  void check(const Ref& config) const override;
  [[nodiscard]] graph::ValueId turned(Call& call, graph::ValueId x) const override;

  Number rope_max_wavelength = 10000;
  Number rope_position_scaling_factor{1.0};  ///< KerasHub accepts it but does not use it
  std::optional<Number> rope_frequency_adjustment_factor, rope_low_freq_factor, rope_high_freq_factor,
      rope_pretraining_sequence_length;

 private:
  [[nodiscard]] std::vector<float> frequencies(Dim size) const;
};

/// Mistral: a query attends to the last `sliding_window` positions, including its own.
class MistralFamily final : public LinearRotaryFamily {
 public:
  void fields(Fields& f) override;
  [[nodiscard]] Dim head_size(Dim width, Dim heads) const override {
    return head_dim ? head_dim->value : LinearRotaryFamily::head_size(width, heads);
  }
  [[nodiscard]] std::optional<std::int64_t> window() const override;

  std::optional<Positive> sliding_window = Positive(512), head_dim;
};

/// Mixtral: the same as Mistral.
class MixtralFamily final : public LinearRotaryFamily {
 public:
  void fields(Fields& f) override;
  [[nodiscard]] std::optional<std::int64_t> window() const override;
  [[nodiscard]] std::string_view prefix() const override { return ""; }

  std::optional<Positive> sliding_window = Positive(512);
};

/// Qwen 2 and 2.5: query, key and value have biases.
class QwenFamily final : public LinearRotaryFamily {
 public:
  void fields(Fields& f) override;
  [[nodiscard]] std::optional<std::int64_t> window() const override;
  [[nodiscard]] bool biased() const override { return true; }

  bool use_sliding_window_attention = false;
  std::optional<Positive> sliding_window_size = Positive(4096);
};

/// Qwen 3: queries and keys are normalized over the features of each head.
class Qwen3Family final : public LinearRotaryFamily {
 public:
  void fields(Fields& f) override;
  [[nodiscard]] Dim head_size(Dim width, Dim heads) const override {
    return head_dim ? head_dim->value : LinearRotaryFamily::head_size(width, heads);
  }
  [[nodiscard]] std::optional<std::int64_t> window() const override;
  [[nodiscard]] std::optional<double> norm_epsilon() const override { return kEpsilon; }

  std::optional<Positive> head_dim, sliding_window_size;

 private:
  /// KerasHub's blocks do not pass their ε to the attention.
  static constexpr double kEpsilon = 1e-5;
};

/// Phi-3: frequencies are divided pairwise by a list of factors, one for short sequences and another for long ones
/// ("su").
class Phi3Family final : public AttentionFamily {
 public:
  void fields(Fields& f) override;
  void check(const Ref& config) const override;
  [[nodiscard]] graph::ValueId turned(Call& call, graph::ValueId x) const override;
  [[nodiscard]] std::string_view prefix() const override { return ""; }

  Positive max_sequence_length = 4096, pretraining_sequence_length = 4096;
  Number rope_max_wavelength = 10000;
  std::optional<std::string> rope_scaling_type;  ///< "su", or empty
  std::optional<std::vector<Number>> rope_scaling_short_factor, rope_scaling_long_factor;

 private:
  [[nodiscard]] Rotary rotary(Dim size, bool is_long) const;
};

}  // namespace attn::keras
