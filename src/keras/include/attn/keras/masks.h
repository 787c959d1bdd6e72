// The flow of masks in a model, as plain values.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attn/base/shape.h"

namespace attn::keras {

/// A tensor that a call reads or returns, and the shape of its mask.
struct MaskedTensor {
  std::string of;  ///< name of the layer that computed the tensor
  std::optional<Shape> mask;
};

/// A call of a layer or operation, in execution order.
struct MaskRow {
  std::string name;
  std::string class_name;
  int level = 0;  ///< 0 at the top, 1 inside a nested model, …
  int call = 0;   ///< index among the calls of the layer: 0, 1, …
  std::vector<MaskedTensor> inputs, outputs;
  /// The arguments whose masks the computation uses ("mask", "query_mask", …; "inputs" for masks of its inputs).
  std::vector<std::string> uses;
  bool makes = false;      ///< an output has a mask, and no input has
  bool keeps = false;      ///< an output has the mask of an input
  bool merges = false;     ///< an output has a mask computed from those of the inputs
  bool drops = false;      ///< an input has a mask, but the layer does not use it and no output has one
  bool takes_off = false;  ///< the layer removes the masks of its inputs, also for later readers
};

struct MaskTrace {
  std::vector<MaskRow> rows;
  /// Messages about masks that are lost before a layer that would use them, or where Keras warns.
  std::vector<std::string> warnings;
};

}  // namespace attn::keras
