// The ONNX graph under construction.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "attn/onnx/model.h"
#include "attn/onnx/samples.h"
#include "sizes.h"

namespace attn::onnx {

/// The name of a value in the ONNX graph.
using Name = std::string;
using Names = std::vector<Name>;
/// The size of each axis of a value; an axis whose size follows no formula has an empty one.
using Sizes = std::vector<std::optional<Size>>;
using Ints = std::vector<std::int64_t>;

class Emitter {
 public:
  Emitter(const Samples& samples, int opset);

  [[nodiscard]] int opset() const noexcept { return opset_; }
  [[nodiscard]] const graph::Graph& graph() const noexcept { return samples_.base; }
  [[nodiscard]] const Samples& samples() const noexcept { return samples_; }

  /// Sets the layer that names the following nodes.
  void set_layer(const std::string& name) { layer_ = name; }

  Name node(std::string op, Names inputs, std::vector<Attribute> attributes = {});
  Names nodes(std::string op, Names inputs, std::size_t outputs, std::vector<Attribute> attributes = {});

  /// Returns `wanted`, or a similar name if that is taken.
  Name unique(const std::string& wanted);

  void initializer(const Name& name, Tensor tensor);
  Name constant(Tensor tensor);
  Name scalar(DType dtype, double value);
  Name ints(const Ints& values);   ///< a vector of int64
  Name index(std::int64_t value);  ///< a rank-0 int64

  [[nodiscard]] Sizes sizes(graph::ValueId id) const;
  /// Returns the formula of a number in the graph. Throws Error (bad_input) if the number follows none.
  [[nodiscard]] Size size(const SizeReader& read) const;
  /// Returns an int64 vector with these sizes. Throws Error (bad_input) if one follows no formula.
  Name vector(const Sizes& sizes);
  Name rank0(const Size& size);
  /// Returns the int64 vector 0, …, size − 1.
  Name range(const Size& size);

  /// Reshapes x from the sizes `from` to the sizes `to`.
  Name reshape(const Name& x, const Sizes& from, const Sizes& to);
  Name transpose(const Name& x, const std::vector<int>& permutation);
  Name expand(const Name& x, const Sizes& to);
  Name cast(const Name& x, DType from, DType to);

  /// Adds the following nodes to a separate graph, until end_body.
  void begin_body();
  /// Returns the separate graph, which can also read names of the graphs that enclose it.
  [[nodiscard]] std::shared_ptr<const Graph> end_body(const std::string& name, std::vector<ValueInfo> inputs,
                                                      std::vector<ValueInfo> outputs);

  /// Returns the finished graph.
  [[nodiscard]] Graph take();
  /// Returns whether a node computes the value of this name.
  [[nodiscard]] bool is_made(const Name& name) const;
  /// Renames a value that a node computes.
  void rename(const Name& from, const Name& to);
  /// Adds a second name for a value.
  void copy(const Name& from, const Name& to);

 private:
  Name length(int which);  // an int64 vector with one element
  Name one(const Size& size);

  const Samples& samples_;
  int opset_;
  std::string layer_;
  Graph graph_;
  std::vector<std::vector<Node>> outer_;  // nodes of the graphs that enclose a body
  std::unordered_set<std::string> taken_;
  std::map<std::pair<DType, std::string>, Name> scalars_;
  std::map<Ints, Name> ints_;
  std::map<int, Name> lengths_;
};

}  // namespace attn::onnx
