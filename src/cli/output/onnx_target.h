// Writes ONNX for `attn convert`.
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
  std::optional<std::int64_t> batch, sequence_length;  ///< sizes for dimensions that the model leaves open
  std::map<std::string, Shape> shapes;  ///< whole shapes of inputs, which override batch and sequence_length
  std::optional<std::string> dtype;     ///< the compute dtype instead of the model's policy
};

/// Returns whether the file name requests ONNX.
[[nodiscard]] bool is_onnx(const std::string& path);

/// Writes the model with these weights. Throws Error.
[[nodiscard]] report::SavedReport save_onnx(const std::string& path, const open::LoadedModel& loaded,
                                            const weights::Store& store, const OnnxOptions& options,
                                            const Console& console);

}  // namespace attn::cli
