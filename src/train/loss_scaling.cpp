#include "attn/train/loss_scaling.h"

#include <cmath>
#include <optional>

#include "attn/base/error.h"
#include "attn/base/parse_number.h"
#include "attn/base/text.h"

namespace attn::train {

LossScaling loss_scaling_of(const std::string& text) {
  if (text == "none") return {LossScaling::Kind::none};
  if (text == "dynamic") return {LossScaling::Kind::dynamic};
  const std::optional<double> factor = parse_number<double>(text);
  if (!factor || !(static_cast<float>(*factor) > 0.0F) || !std::isfinite(static_cast<float>(*factor)))
    throw bad_usage("`loss_scale` '{}': expected dynamic, none, or a number of float32 above 0, as in 1024",
                    printable(text));
  return {LossScaling::Kind::fixed, *factor};
}

std::string text_of(const LossScaling& scaling) {
  if (scaling.kind == LossScaling::Kind::fixed) return fmt::format("{}", scaling.factor);
  return scaling.kind == LossScaling::Kind::none ? "none" : "dynamic";
}

}  // namespace attn::train
