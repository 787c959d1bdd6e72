// The contents of an HDF5 file as a value.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "attn/base/tensor.h"

namespace attn::io {

/// A string attribute. Numeric attributes are not read, except that an empty array is an empty list.
struct Hdf5Text {
  std::vector<std::string> values;
  bool is_list = false;  ///< the attribute is a list; if false, a single value
};

struct Hdf5Object {
  std::optional<Tensor> tensor;  ///< set for a dataset, absent for a group
  std::map<std::string, Hdf5Text> attributes;
};

struct Hdf5File {
  /// keyed by path without a leading slash ("layers/dense/vars/0"); the root group is ""
  std::map<std::string, Hdf5Object> objects;
};

}  // namespace attn::io
