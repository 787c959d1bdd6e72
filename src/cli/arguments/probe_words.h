// The options of attn probe, and the operations that each of them belongs to.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "arguments/prompts.h"
#include "options/options.h"

namespace attn::cli {

/// The values of the options, besides those of every forward pass. Empty ones were not given.
struct ProbeWords {
  std::string operation;
  std::optional<std::string> model, other, target;
  PromptWords words;
  bool no_start_token = false, no_special = false;
  bool list = false;
  std::vector<std::string> scalings;
  std::optional<std::string> points, token, versus;
  // lens
  bool mid = false, no_norm = false;
  std::optional<std::int64_t> top;
  // ablate
  std::optional<std::string> parts, with, reference;
  bool by_position = false;
  // patch
  std::optional<std::string> clean, corrupt, by;
  std::optional<std::int64_t> confirm;
  bool approximate = false, reverse = false;
  // dla, rollout, steer
  std::optional<std::int64_t> position, layer;
  std::optional<std::string> fuse;
  // saliency
  std::optional<std::string> method, rule, baseline;
  std::optional<std::int64_t> steps;
  // steer
  std::optional<std::string> positive, negative, at;
  // heads, outliers
  std::optional<std::int64_t> length;
  std::optional<double> sink, least, ratio;

  void declare(Options& options);
  /// Throws Error (usage) for an option that the operation does not have.
  void refuse_others() const;
};

}  // namespace attn::cli
