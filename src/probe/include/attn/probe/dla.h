// Direct logit attribution: the share of each part of the residual stream in a logit.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attn/probe/measure.h"
#include "attn/probe/subject.h"

namespace attn::probe {

/// A part of the stream: a head, an output bias, an MLP, an embedding, or a constant.
struct AttributedPart {
  std::string part;  ///< "embed", "pos_embed", "z.0", "attn_bias.0", "mlp_out.0", "norm_bias", "unembed_bias"
  std::optional<int> layer, head;
  std::vector<double> values;  ///< by position
};

struct Attribution {
  Metric metric;
  std::vector<AttributedPart> parts;
  std::vector<double> sum;    ///< of all parts, by position
  std::vector<double> logit;  ///< the model's own number before a soft cap
  std::vector<double> after_cap;
};

/// Attributes logit[token], or logit[token] − logit[versus], at every position. The final norm's statistics are those
/// of the whole stream, and so are those of a norm behind attention. A head includes its value bias. Weights are used
/// as they are: no norm is folded. Throws Error (bad_input) if the stream is no sum of parts.
[[nodiscard]] Attribution attribute(const Subject& subject, const Prompt& prompt, const std::optional<Metric>& metric);

}  // namespace attn::probe
