// Models as graphs of operations.
#pragma once

#include <cstdint>
#include <vector>

#include "attn/keras/options.h"
#include "model/functional.h"
#include "model/model_lowering.h"

namespace attn::keras {

/// Input layers as inputs of the graph, as they are: unknown dimensions stay unknown.
[[nodiscard]] std::vector<TensorPtr> symbolic_inputs(const Functional& model, Lowering& lowering);

/// Adds the model to the graph of `lowering`, all its variables first, in Keras's order, and gives its outputs (none of
/// a decoding). Throws Error (bad_input) where what is asked for does not fit the model.
std::vector<TensorPtr> lower(Functional& model, const LowerOptions& options, ModelLowering& lowering);

/// The input layers of strings, and what layers make of them.
[[nodiscard]] std::vector<TextInput> text_inputs(const Functional& model);
[[nodiscard]] std::vector<TextStage> text_stages(Functional& model);
/// The outputs that stand for strings. Throws Error (bad_input) where the model computes with strings.
[[nodiscard]] std::vector<TextOutput> text_outputs(Functional& model);

/// Can an unknown dimension of the inputs be `length`, or are all known and one of them that?
[[nodiscard]] bool takes_length(const Functional& model, std::int64_t length);

}  // namespace attn::keras
