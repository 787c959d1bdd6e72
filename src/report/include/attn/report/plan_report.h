// The plan of a pass, as plain values.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "attn/plan/plan.h"
#include "attn/report/values.h"

namespace attn::report {

/// The kernel of a step.
struct StepKernel {
  std::string name;  ///< name of the kernel: "onednn matmul"
  std::string why;   ///< the reason why other kernels were not selected, or ""
};

/// A state of a layer: its keys, its values, or a recurrent state with one position.
struct CachedState {
  std::string name;  ///< name of the state: "transformer_layer_0/self_attention_layer/keys"
  DType dtype = DType::float32;
  Dim positions = 0;             ///< number of positions of each sequence
  std::int64_t token_bytes = 0;  ///< bytes for one position of one sequence
};

/// The KV cache of a decoder for a batch of sequences.
struct DecoderCache {
  Dim sequences = 1;
  Dim positions = 0;  ///< maximum number of positions of each sequence
  std::vector<CachedState> states;
};

struct PlanReport {
  Setting setting;
  graph::Graph lowered;                         ///< the graph before optimization, without the values of weights
  plan::Plan plan;                              ///< plan of the graph after optimization by the backend
  std::optional<DecoderCache> cache;            ///< the KV cache of a decoder
  std::int64_t memory_bytes = 0;                ///< peak host memory of preparation and run, in bytes
  std::map<graph::NodeId, StepKernel> kernels;  ///< kernel of each step, if requested
};

}  // namespace attn::report
