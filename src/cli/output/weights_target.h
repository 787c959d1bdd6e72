// Writes weights for a command.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "attn/base/tensor.h"
#include "attn/open/model.h"
#include "attn/report/weights_view.h"
#include "output/console.h"

namespace attn::cli {

/// Throws Error (usage) if `path` has no known extension, or is one of the files that the command reads. `others` is
/// that of weights::check_save_path.
void check_target(const std::string& path, const std::vector<std::string>& read, std::string_view others = {});

/// Writes the model's weights in the model's order, and reports the arrays. Low-rank additions are merged into their
/// kernels, as Keras saves them. A .keras archive also gets the model's config; it gets compile_config only together
/// with the optimizer's `state`, because Keras would miss it otherwise. Shows progress on the console. Throws Error.
report::SavedReport save_model_weights(const std::string& path, const open::LoadedModel& loaded,
                                       const std::vector<Tensor>& tensors, std::vector<NamedTensor> state,
                                       const Console& console);

/// Returns a report on the written arrays.
[[nodiscard]] report::SavedReport saved_report(const std::string& path, const std::vector<Tensor>& tensors);

}  // namespace attn::cli
