// Where a command writes weights.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "attn/base/tensor.h"
#include "attn/open/model.h"
#include "attn/report/weights_view.h"
#include "output/console.h"

namespace attn::cli {

/// Throws Error (usage) where `path` ends in no known form, or is one of the files that the command reads.
/// `others` as in weights::check_save_path.
void check_target(const std::string& path, const std::vector<std::string>& read, std::string_view others = {});

/// Writes the model's weights, in its order, with low-rank additions merged in as Keras saves them, and reports what
/// was written. A .keras archive gets the model's config too, without how it was compiled where no optimizer's `state`
/// goes with it: Keras would miss it. Says on the console how far it is. Throws Error.
report::SavedReport save_model_weights(const std::string& path, const open::LoadedModel& loaded,
                                       const std::vector<Tensor>& tensors, std::vector<NamedTensor> state,
                                       const Console& console);

/// Counts what was written.
[[nodiscard]] report::SavedReport saved_report(const std::string& path, const std::vector<Tensor>& tensors);

}  // namespace attn::cli
