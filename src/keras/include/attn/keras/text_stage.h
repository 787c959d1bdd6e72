// String inputs (and numbers to hash) of a model, the graph inputs that are derived from these, and string outputs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "attn/base/shape.h"
#include "attn/text/encoding.h"

namespace attn::keras {

/// A string input layer.
struct TextInput {
  std::string name;
  Shape shape;  ///< shape including the batch; dimensions may be unknown
};

/// The result of a text layer for an input, or of a crossing for several inputs.
struct TextStage {
  std::string
      name;  ///< name of the layer and of the graph's input: "block/text_vectorization", from its second call on "…[1]"
  std::vector<std::string> inputs;  ///< names of the input layers that the text layer reads
  std::shared_ptr<const text::Encoding> encoding;
};

/// A string output; the graph computes indices into its vocabulary.
struct TextOutput {
  std::string name;
  std::shared_ptr<const text::Lookup> terms;
};

}  // namespace attn::keras
