// Where convert writes ONNX.
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
  std::optional<std::int64_t> batch, sequence_length;  ///< in place of sizes that the model leaves open
  std::map<std::string, Shape> shapes;                 ///< whole shapes of inputs; they go before the two above
  std::optional<std::string> dtype;                    ///< to compute in, in place of the model's policy
};

/// Is ONNX asked for, by the name of the file?
[[nodiscard]] bool is_onnx(const std::string& path);

/// Writes the model with these weights. Throws Error.
[[nodiscard]] report::SavedReport save_onnx(const std::string& path, const open::LoadedModel& loaded,
                                            const weights::Store& store, const OnnxOptions& options,
                                            const Console& console);

}  // namespace attn::cli
