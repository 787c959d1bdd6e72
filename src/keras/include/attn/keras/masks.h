// Where the masks of a model go, as a value.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attn/base/shape.h"

namespace attn::keras {

/// A tensor that a call reads or gives, and the shape of the mask that hangs on it.
struct MaskedTensor {
  std::string of;  ///< the layer that gave the tensor
  std::optional<Shape> mask;
};

/// One call of a layer or operation, in the order of execution.
struct MaskRow {
  std::string name;
  std::string class_name;
  int level = 0;  ///< 0 at the top, 1 inside a nested model, …
  int call = 0;   ///< which call of the layer: 0, 1, …
  std::vector<MaskedTensor> inputs, outputs;
  /// Arguments whose masks take part in the computation ("mask", "query_mask", …; "inputs" for masks that it finds on
  /// its inputs).
  std::vector<std::string> uses;
  bool makes = false;      ///< an output has a mask, and nothing that came in
  bool keeps = false;      ///< an output has the mask of an input
  bool merges = false;     ///< an output has a mask made of the inputs'
  bool drops = false;      ///< a mask came in, was not used, and none goes out
  bool takes_off = false;  ///< its inputs have no mask any more, for whoever reads them next
};

struct MaskTrace {
  std::vector<MaskRow> rows;
  /// Sentences on masks that are lost before a layer that would use them, or where Keras warns.
  std::vector<std::string> warnings;
};

}  // namespace attn::keras
