// The inputs of a model from files of arrays, texts and images.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attn/open/execution.h"
#include "attn/open/inputs.h"
#include "attn/open/listener.h"
#include "attn/open/model.h"

namespace attn::open {

struct InputFiles {
  std::vector<std::string> inputs;  ///< FILE or NAME=FILE, as read_inputs takes them
  std::vector<std::string> images;  ///< JPEG and PNG files: a row of the model's images each
  std::vector<std::string> texts;   ///< labels that the model compares with the images: a row of its texts each
};

/// Reads arrays and texts as read_inputs does, converts the images by the model's ImageConverter to its input of
/// images, and the labels to token ids. Throws Error.
[[nodiscard]] GivenInputs read_input_files(const LoadedModel& loaded, const InputFiles& files,
                                           const Execution& execution, const Listener& listener,
                                           std::optional<std::int64_t> most_rows = {});

}  // namespace attn::open
