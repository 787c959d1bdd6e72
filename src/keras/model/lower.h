// Lowers models to graphs of operations.
#pragma once

#include <cstdint>
#include <vector>

#include "attn/keras/options.h"
#include "model/functional.h"
#include "model/model_lowering.h"

namespace attn::keras {

/// Adds the input layers as graph inputs with their own shapes: unknown dimensions stay unknown.
[[nodiscard]] std::vector<TensorPtr> symbolic_inputs(const Functional& model, Lowering& lowering);

/// Adds the model to the graph of `lowering`, with all its variables first in Keras's order. Returns the model's
/// outputs (none for a decode step). Throws Error (bad_input) if the options do not match the model.
std::vector<TensorPtr> lower(Functional& model, const LowerOptions& options, ModelLowering& lowering);

/// Returns the string input layers, and the results of the layers that read them.
[[nodiscard]] std::vector<TextInput> text_inputs(const Functional& model);
[[nodiscard]] std::vector<TextStage> text_stages(Functional& model);
/// Returns the string outputs. Throws Error (bad_input) if the model computes with strings.
[[nodiscard]] std::vector<TextOutput> text_outputs(Functional& model);

/// Returns whether an unknown dimension of the inputs can be `length`; if all dimensions are known, whether one of them
/// is `length`.
[[nodiscard]] bool takes_length(const Functional& model, std::int64_t length);

}  // namespace attn::keras
