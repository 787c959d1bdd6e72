// Decoders of the Gemma family that read images in front of or between the tokens of a prompt.
#pragma once

#include <optional>
#include <utility>

#include "classes/call.h"
#include "model/tasks/causal_lm.h"

namespace attn::keras {

class ImageCausalLM : public CausalLM {
 public:
  [[nodiscard]] Decoded decode(Lowering& lowering, graph::ValueId token_ids, bool every_position) override;

 protected:
  /// For a step that reads images: adds them to the embedded tokens (rows, count, D), from further inputs of the graph.
  /// Returns the rows that the blocks read, and further arguments of the blocks.
  [[nodiscard]] virtual std::pair<graph::ValueId, ArgDict> with_images(Lowering& lowering, graph::ValueId texts) = 0;
};

}  // namespace attn::keras
