// The options of attn probe, and the operations that each of them belongs to.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "arguments/prompts.h"
#include "attn/library/probe_prompts.h"
#include "attn/probe/measure.h"
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

  /// Returns the prompts of --prompt, --prompts, --ids; of stdin if there are none.
  [[nodiscard]] std::vector<probe::Prompt> read_prompts(const library::ProbePrompts& prompts) const;
  /// Returns the metric of --token and --versus.
  [[nodiscard]] std::optional<probe::Metric> metric(const library::ProbePrompts& prompts) const;
  /// Returns the factors of --scale.
  [[nodiscard]] std::vector<probe::Scaling> given_scalings() const;

 private:
  /// An option that only some operations have.
  struct Limit {
    const char* option;
    std::vector<std::string> operations;
    std::function<bool()> is_given;
  };
  std::vector<Limit> limits_;  // made by declare(), and valid where it was called
};

/// Returns a prompt of text, or of ids if it begins with "#": "#464,2746".
[[nodiscard]] probe::Prompt read_prompt(const library::ProbePrompts& prompts, const std::string& text);
/// Returns the prompts of a file: one text or "#1,2" per line, or a JSON array of them.
[[nodiscard]] std::vector<probe::Prompt> read_prompt_file(const library::ProbePrompts& prompts,
                                                          const std::string& path);

}  // namespace attn::cli
