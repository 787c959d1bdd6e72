// The strings, and numbers to hash, that go into a model, and the inputs of its graph that are made of them; and the
// strings that come out of it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "attn/base/shape.h"
#include "attn/text/encoding.h"

namespace attn::keras {

/// An input layer of strings.
struct TextInput {
  std::string name;
  Shape shape;  ///< with the batch; dimensions may be unknown
};

/// What a layer of text makes of an input; a crossing of several.
struct TextStage {
  std::string
      name;  ///< of the layer, and of the graph's input: "block/text_vectorization", from its second call on "…[1]"
  std::vector<std::string> inputs;  ///< the input layers that it reads
  std::shared_ptr<const text::Encoding> encoding;
};

/// An output of strings, of which the graph has the places in a vocabulary.
struct TextOutput {
  std::string name;
  std::shared_ptr<const text::Lookup> terms;
};

}  // namespace attn::keras
