// What an ONNX file says, as plain values: https://github.com/onnx/onnx/blob/main/onnx/onnx.proto.
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
  std::vector<std::string> inputs, outputs;  ///< an input that is left out is ""
  std::vector<Attribute> attributes;
};

/// A size that is a number, or the name of one that only a run knows.
using Dimension = std::variant<Dim, std::string>;

/// What goes in or out of a graph.
struct ValueInfo {
  std::string name;
  DType dtype = DType::float32;
  std::vector<Dimension> shape;
  bool ranked = true;  ///< else nothing is said of the shape
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
