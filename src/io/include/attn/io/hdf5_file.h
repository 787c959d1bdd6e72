// What an HDF5 file holds, as a value.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "attn/base/tensor.h"

namespace attn::io {

/// A string attribute. Attributes of numbers are not read, except that an empty array is an empty list.
struct Hdf5Text {
  std::vector<std::string> values;
  bool is_list = false;  ///< otherwise there is one value
};

struct Hdf5Object {
  std::optional<Tensor> tensor;  ///< of a dataset; a group has none
  std::map<std::string, Hdf5Text> attributes;
};

struct Hdf5File {
  /// By path without a leading slash ("layers/dense/vars/0"); the root group is "".
  std::map<std::string, Hdf5Object> objects;
};

}  // namespace attn::io
