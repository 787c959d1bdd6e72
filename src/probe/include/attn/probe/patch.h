// Activation patching and attribution patching between a clean and a corrupted prompt.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attn/probe/measure.h"
#include "attn/probe/sweep.h"

namespace attn::probe {

/// The division of a point into places. Streams and parts of width D have positions, others heads.
enum class Places { by_position, by_head, by_head_and_position };

struct PatchOptions {
  /// Points without a stack, as in Points::select: "resid_pre", "z", "pattern.0".
  std::string points = "resid_pre";
  /// For z: heads at all positions, or at each position. Other points have only one way.
  Places heads = Places::by_head;
  std::optional<Metric> metric;  ///< default: the clean run's best token against the token that corruption raises most
  bool exact = true;             ///< run every patch
  bool estimates = false;        ///< estimate every patch by one gradient
  /// With estimates only: run this many of the largest exactly.
  std::int64_t confirm = 0;
};

struct PatchedPlace {
  std::string point;
  int layer = 0;
  std::optional<std::int64_t> position, head;
  std::optional<double> value;     ///< the metric with the patch
  std::optional<double> estimate;  ///< Σ (clean − corrupt)·∂metric/∂value, which approximates value − corrupt
};

struct Patched {
  Metric metric;
  double clean = 0, corrupt = 0;  ///< the metric of the clean and of the corrupted run
  std::vector<PatchedPlace> places;

  /// Returns (value − corrupt)/(clean − corrupt); empty if the two runs do not differ.
  [[nodiscard]] std::optional<double> normalized(double value) const;
};

/// Runs `corrupt`, and at one place after the other takes the value of `clean`. Both prompts have the same lengths.
/// Throws Error (bad_input), naming the layer, for estimates of a model with an operation without a gradient.
[[nodiscard]] Patched patch(const Subject& subject, const Prompt& clean, const Prompt& corrupt,
                            const PatchOptions& options);

}  // namespace attn::probe
