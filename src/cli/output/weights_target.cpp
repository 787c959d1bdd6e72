#include "output/weights_target.h"

#include <filesystem>
#include <utility>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/open/model.h"
#include "attn/train/low_rank.h"
#include "attn/train/save_model.h"
#include "attn/weights/save.h"
#include "output/progress.h"

namespace attn::cli {

void check_target(const std::string& path, const std::vector<std::string>& read, std::string_view others) {
  weights::check_save_path(path, others);
  for (const std::string& file : read) {
    std::error_code ignored;
    if (path == "-") continue;
    if (file == path || std::filesystem::equivalent(file, path, ignored))
      throw bad_usage("{}: cannot write to the input file; give the result another name", printable(path));
  }
}

report::SavedReport save_model_weights(const std::string& path, const open::LoadedModel& loaded,
                                       const std::vector<Tensor>& tensors, std::vector<NamedTensor> state,
                                       const Console& console) {
  const train::StoredWeights stored = train::stored_weights(loaded.model.weights(), tensors, loaded.model);
  const Progress progress = writing(console, path, stored.weights);
  train::save_weights(path, loaded, stored, std::move(state));
  return saved_report(path, stored.weights);
}

report::SavedReport saved_report(const std::string& path, const std::vector<Tensor>& tensors) {
  report::SavedReport out;
  out.file = path;
  out.weights = static_cast<std::int64_t>(tensors.size());
  for (const Tensor& tensor : tensors) {
    out.elements += tensor.size();
    out.bytes += tensor.bytes();
  }
  return out;
}

}  // namespace attn::cli
