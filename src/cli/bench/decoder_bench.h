// `attn bench MODEL --pp --tg`: how fast a decoder reads prompts, and goes on with tokens one by one.
#pragma once

#include <cstdint>
#include <vector>

#include "attn/open/model.h"
#include "bench/plan.h"

namespace attn::cli {

struct DecoderTests {
  std::vector<std::int64_t> prompts;    ///< tokens that are read at once
  std::vector<std::int64_t> steps;      ///< tokens that come one by one
  std::vector<std::int64_t> depths{0};  ///< positions that are filled before each

  [[nodiscard]] bool empty() const { return prompts.empty() && steps.empty(); }
  [[nodiscard]] std::size_t size() const { return (prompts.size() + steps.size()) * depths.size(); }
  /// Positions that a sequence needs.
  [[nodiscard]] std::int64_t longest() const;
};

/// A row for each test, of the plan's batch. The tokens are random: which they are takes no time, and no sampler has a
/// part in it. What was timed last is checked: the logits behind tokens that came one by one against those of reading
/// all at once, and the other way round. Throws Error.
void measure_decoder(const BenchPlan& plan, const DecoderTests& tests, const open::LoadedModel& loaded,
                     const backends::Backend& backend);

}  // namespace attn::cli
