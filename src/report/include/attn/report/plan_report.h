// How a pass runs, as plain values.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "attn/plan/plan.h"
#include "attn/report/values.h"

namespace attn::report {

/// What runs a step.
struct StepKernel {
  std::string name;  ///< "onednn matmul"
  std::string why;   ///< why others do not, or ""
};

/// What a layer keeps of tokens that were read, its keys or its values.
struct CachedState {
  std::string name;  ///< "transformer_layer_0/self_attention_layer/keys"
  DType dtype = DType::float32;
  Dim positions = 0;             ///< of each sequence
  std::int64_t token_bytes = 0;  ///< for one position of one sequence
};

/// What a decoder keeps for a batch of sequences.
struct DecoderCache {
  Dim sequences = 1;
  Dim positions = 0;  ///< of each sequence, as the decoder goes on with it
  std::vector<CachedState> states;
};

struct PlanReport {
  Setting setting;
  graph::Graph lowered;                         ///< as the layers made it; without weights' numbers
  plan::Plan plan;                              ///< of what the backend made of it
  std::optional<DecoderCache> cache;            ///< of a model that goes on with tokens
  std::int64_t memory_bytes = 0;                ///< the most of the host's memory that preparing and running hold
  std::map<graph::NodeId, StepKernel> kernels;  ///< of the steps, where they were asked for
};

}  // namespace attn::report
