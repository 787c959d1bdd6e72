// `attn bench MODEL --pp --tg`: the speed of prefill and of decoding single tokens.
#pragma once

#include <cstdint>
#include <vector>

#include "attn/open/model.h"
#include "bench/plan.h"

namespace attn::cli {

struct DecoderTests {
  std::vector<std::int64_t> prompts;    ///< numbers of tokens in one prefill (--pp)
  std::vector<std::int64_t> steps;      ///< numbers of tokens that are decoded one by one (--tg)
  std::vector<std::int64_t> depths{0};  ///< numbers of filled positions before each test

  [[nodiscard]] bool empty() const { return prompts.empty() && steps.empty(); }
  [[nodiscard]] std::size_t size() const { return (prompts.size() + steps.size()) * depths.size(); }
  /// Returns the positions that a sequence needs.
  [[nodiscard]] std::int64_t longest() const;
};

/// Adds a row for each test, with the plan's batch. The tokens are random, because their values do not change the time,
/// and no sampler runs. The last timed result is checked: the logits of single-token steps are compared with those of
/// one prefill, and vice versa. Throws Error.
void measure_decoder(const BenchPlan& plan, const DecoderTests& tests, const open::LoadedModel& loaded,
                     const backends::Backend& backend);

}  // namespace attn::cli
