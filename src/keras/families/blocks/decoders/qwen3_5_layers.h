// The attentions of Qwen 3.5, which its family with mixtures of experts shares.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "classes/layer.h"
#include "config/fields.h"

namespace attn::keras {

/// The fields of the linear attention, which the blocks and the backbone have too.
struct Qwen3_5LinearFields {
  Positive linear_num_key_heads = 16, linear_num_value_heads = 32, linear_key_head_dim = 128,
           linear_value_head_dim = 128, linear_conv_kernel_dim = 4;

  void fields(Fields& f) {
    f("linear_num_key_heads", linear_num_key_heads);
    f("linear_num_value_heads", linear_num_value_heads);
    f("linear_key_head_dim", linear_key_head_dim);
    f("linear_value_head_dim", linear_value_head_dim);
    f("linear_conv_kernel_dim", linear_conv_kernel_dim);
  }
  void check(const Ref& config) const {
    if (linear_num_value_heads % linear_num_key_heads != 0)
      config["linear_num_value_heads"].fail(fmt::format("{} heads of values cannot share {} heads of keys evenly",
                                                        linear_num_value_heads.value, linear_num_key_heads.value));
    constexpr std::int64_t kMost = std::int64_t{1} << 24;  // features of all heads; far above published models
    const auto limit = [&](const char* key, std::int64_t heads, std::int64_t size) {
      if (heads > kMost || size > kMost / heads)
        config[key].fail(fmt::format("{} heads of {} features are more than {} features", heads, size, kMost));
    };
    limit("linear_key_head_dim", linear_num_value_heads, linear_key_head_dim);
    limit("linear_value_head_dim", linear_num_value_heads, linear_value_head_dim);
  }
};

/// Throws Error (bad_input), with the key, unless the part of a head that has rotary positions has an even number of
/// its features, and `mrope_section` counts the pairs of three axes.
void check_qwen3_5_rotary(const Ref& config, std::int64_t head_dim, double partial_rotary_factor,
                          const std::optional<std::vector<std::int64_t>>& mrope_section);

/// Makes an RMS norm whose variable is added to 1.
[[nodiscard]] LayerPtr make_qwen3_5_norm();
/// Makes a grouped attention with a gate.
[[nodiscard]] LayerPtr make_qwen3_5_attention();
/// Makes a linear attention by the gated delta rule, after a causal convolution of queries, keys and values.
[[nodiscard]] LayerPtr make_qwen3_5_delta_net();

}  // namespace attn::keras
