// Writes ONNX for convert.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "attn/open/model.h"
#include "attn/report/weights_view.h"
#include "attn/weights/store.h"
#include "output/console.h"

namespace attn::cli {

struct OnnxOptions {
  int opset = 0;
  std::optional<std::int64_t> batch, sequence_length;  ///< for sizes that the model leaves open
  std::map<std::string, Shape> shapes;                 ///< whole shapes of inputs, which override the two above
  std::optional<std::string> dtype;                    ///< the compute dtype instead of the model's policy
};

/// Whether the name of the file requests ONNX.
[[nodiscard]] bool is_onnx(const std::string& path);

/// Writes the model with these weights. Throws Error.
[[nodiscard]] report::SavedReport save_onnx(const std::string& path, const open::LoadedModel& loaded,
                                            const weights::Store& store, const OnnxOptions& options,
                                            const Console& console);

}  // namespace attn::cli
