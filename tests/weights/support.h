// Helpers of this module's tests.
#pragma once

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "../places.h"
#include "../refusal.h"
#include "../temporary_folder.h"
#include "attn/base/error.h"
#include "attn/base/tensor.h"
#include "attn/graph/weight.h"

namespace attn::weights {

/// A file that real Keras wrote; tests/data/weights/generate.py describes it.
inline std::string data_path(std::string_view name) { return test::in_repository("tests/data/weights/").append(name); }

using test::refusal;
using test::TemporaryFolder;

inline graph::WeightSpec weight(std::string path, Shape shape, graph::Initializer initializer = {},
                                DType dtype = DType::float32) {
  graph::WeightSpec spec;
  spec.path = std::move(path);
  spec.shape = std::move(shape);
  spec.initializer = std::move(initializer);
  spec.dtype = dtype;
  return spec;
}

/// The same with a name in .weights.h5.
inline graph::WeightSpec stored(const std::string& path, const std::string& store_path, const Shape& shape) {
  graph::WeightSpec spec = weight(path, shape);
  spec.store_path = store_path;
  return spec;
}

inline graph::Initializer initializer(std::string class_name) {
  graph::Initializer out;
  out.class_name = std::move(class_name);
  return out;
}

inline bool same_bytes(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() &&
         std::equal(a.data(), a.data() + a.bytes(), b.data(), b.data() + b.bytes());
}

}  // namespace attn::weights
