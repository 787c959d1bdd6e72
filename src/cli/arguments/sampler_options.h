// Sampler options of the command line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "attn/generate/sampler.h"
#include "attn/keras/model.h"
#include "options/options.h"

namespace attn::cli {

class SamplerWords {
 public:
  void declare(Options& options);

  /// Throws Error (usage) for numbers out of range and for incompatible options.
  void check() const;

  /// Returns the sampler of --sampler, else the sampler that the given options belong to (--top-p, --num-beams,
  /// --penalty-alpha), else the model's own. Throws Error (usage) for an option that has no effect with the chosen
  /// sampler.
  [[nodiscard]] generate::SamplerOptions options_for(const keras::Model& model) const;

  [[nodiscard]] bool all_beams() const noexcept { return all_beams_; }

 private:
  [[nodiscard]] std::optional<generate::SamplerKind> chosen() const;
  void expect_effect(generate::SamplerKind kind) const;

  std::string name_;
  std::optional<std::int64_t> top_k_, beams_, seed_;
  std::optional<double> top_p_, temperature_, alpha_;
  bool all_beams_ = false;
};

}  // namespace attn::cli
