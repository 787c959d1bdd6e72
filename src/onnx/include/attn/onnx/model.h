// The contents of an ONNX file as plain structs: https://github.com/onnx/onnx/blob/main/onnx/onnx.proto.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "attn/base/dtype.h"
#include "attn/base/shape.h"
#include "attn/base/tensor.h"

namespace attn::onnx {

struct Graph;

/// TensorProto.DataType
[[nodiscard]] std::int64_t type_code(DType dtype) noexcept;

struct Attribute {
  std::string name;
  std::variant<std::int64_t, double, std::string, std::vector<std::int64_t>, Tensor, std::shared_ptr<const Graph>>
      value;
};

struct Node {
  std::string op;  ///< "MatMul"
  std::string name;
  std::vector<std::string> inputs, outputs;  ///< an omitted input is ""
  std::vector<Attribute> attributes;
};

/// A fixed size, or the name of a size known at run time.
using Dimension = std::variant<Dim, std::string>;

/// An input or output of a graph.
struct ValueInfo {
  std::string name;
  DType dtype = DType::float32;
  std::vector<Dimension> shape;
  bool ranked = true;  ///< if false, the shape is unspecified
};

struct Graph {
  std::string name;
  std::vector<Node> nodes;
  std::vector<ValueInfo> inputs, outputs;
  std::vector<NamedTensor> initializers;
};

struct Model {
  int opset = 0;
  Graph graph;
};

}  // namespace attn::onnx
