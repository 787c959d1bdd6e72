#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "attn/graph/einsum.h"
#include "attn/plan/passes.h"
#include "passes/uses.h"

namespace attn::plan {

using graph::Builder;
using graph::Graph;
using graph::Node;
using graph::ValueId;

namespace {

bool has(const std::string& letters, char letter) { return letters.find(letter) != std::string::npos; }

bool repeats(const std::string& letters) {
  return std::any_of(letters.begin(), letters.end(),
                     [&](char letter) { return std::count(letters.begin(), letters.end(), letter) > 1; });
}

// The letters of a matrix product x (batch, rows, depth) · y (batch, depth, columns).
struct Product {
  std::string x, y, output;                 // spelled as in the equation
  std::string batch, rows, columns, depth;  // batch in the order of the output, rows and depth in that of x
};

// Returns the roles of the letters, or nothing if the equation is not a matrix product.
std::optional<Product> product_of(const std::string& x, const std::string& y, const std::string& output) {
  if (repeats(x) || repeats(y)) return std::nullopt;
  Product product{x, y, output, {}, {}, {}, {}};
  for (const char letter : output) {
    if (has(x, letter) && has(y, letter)) product.batch += letter;
  }
  for (const char letter : x) {
    if (has(output, letter)) {
      if (!has(y, letter)) product.rows += letter;
    } else if (has(y, letter)) {
      product.depth += letter;
    } else {
      return std::nullopt;  // an axis that only x has, and that is summed, is no axis of a matrix product
    }
  }
  for (const char letter : y) {
    if (has(x, letter)) continue;
    if (!has(output, letter)) return std::nullopt;
    product.columns += letter;
  }
  // Without depth it is an outer product; without rows and columns, a sum of products.
  if (product.depth.empty() || (product.rows.empty() && product.columns.empty())) return std::nullopt;
  return product;
}

std::vector<int> permutation_to(const std::string& wanted, const std::string& letters) {
  std::vector<int> permutation;
  for (const char letter : wanted) permutation.push_back(static_cast<int>(letters.find(letter)));
  return permutation;
}

class Rewriter {
 public:
  Rewriter(Builder& build, const Product& product, ValueId x, ValueId y)
      : build_(build), product_(product), x_(x), y_(y) {
    for (std::size_t i = 0; i < product.x.size(); ++i) size_of(product.x[i]) = build.shape(x)[static_cast<int>(i)];
    for (std::size_t i = 0; i < product.y.size(); ++i) size_of(product.y[i]) = build.shape(y)[static_cast<int>(i)];
  }

  // x (rows…, depth…) · kernel (depth…, columns…), which Linear takes with all their axes.
  ValueId linear() {
    const auto& [x, y, output, batch, rows, columns, depth] = product_;
    const ValueId left = build_.transpose(x_, permutation_to(rows + depth, x));
    const ValueId kernel = build_.transpose(y_, permutation_to(depth + columns, y));
    graph::Linear op;
    op.contracted = static_cast<int>(depth.size());
    return build_.transpose(build_.apply(op, {left, kernel}), permutation_to(output, rows + columns));
  }

  // x (batch…, rows, depth) · y (batch…, depth, columns) with each group of letters as one axis.
  ValueId matmul() {
    const auto& [x, y, output, batch, rows, columns, depth] = product_;
    graph::MatMul op;
    op.transpose_x = x == batch + depth + rows && x != batch + rows + depth;
    op.transpose_y = y == batch + columns + depth && y != batch + depth + columns;
    const ValueId left = op.transpose_x ? matrix(x_, x, depth, rows) : matrix(x_, x, rows, depth);
    const ValueId right = op.transpose_y ? matrix(y_, y, columns, depth) : matrix(y_, y, depth, columns);
    const ValueId result = build_.apply(op, {left, right});
    const ValueId split = build_.reshape(result, shape_of(batch + rows + columns));
    return build_.transpose(split, permutation_to(output, batch + rows + columns));
  }

 private:
  Dim& size_of(char letter) { return sizes_[static_cast<std::size_t>(static_cast<unsigned char>(letter))]; }

  Shape shape_of(const std::string& letters) {
    Shape shape;
    for (const char letter : letters) shape.push_back(size_of(letter));
    return shape;
  }

  ValueId matrix(ValueId value, const std::string& letters, const std::string& first, const std::string& second) {
    const ValueId ordered = build_.transpose(value, permutation_to(product_.batch + first + second, letters));
    Shape shape = shape_of(product_.batch);
    shape.push_back(shape_of(first).size());
    shape.push_back(shape_of(second).size());
    return build_.reshape(ordered, shape);
  }

  Builder& build_;
  const Product& product_;
  ValueId x_, y_;
  std::array<Dim, 128> sizes_{};  // for each letter
};

// Appends nodes that compute `node`; the last one makes its result. Returns false if the Einsum is kept.
bool rewrite(Builder& build, const Node& node, const std::vector<bool>& fixed) {
  const auto* einsum = std::get_if<graph::Einsum>(&node.op);
  if (einsum == nullptr || node.inputs.size() != 2) return false;
  for (const ValueId id : node.inputs) {
    if (!build.shape(id).known()) return false;
  }
  const graph::EinsumEquation equation = graph::parse_einsum(einsum->equation);
  ValueId x = node.inputs[0], y = node.inputs[1];
  auto product = product_of(equation.inputs[0], equation.inputs[1], equation.output);
  if (!product) return false;

  const bool x_is_fixed = fixed[static_cast<std::size_t>(x)], y_is_fixed = fixed[static_cast<std::size_t>(y)];
  const bool linear = product->batch.empty() && x_is_fixed != y_is_fixed;
  // The kernel is on the right; of two activations, the one whose axes come last in the output.
  const bool columns_first = !product->columns.empty() && !product->rows.empty() &&
                             equation.output.find(product->columns[0]) < equation.output.find(product->rows[0]);
  if (linear ? x_is_fixed : columns_first) {
    std::swap(x, y);
    product = product_of(equation.inputs[1], equation.inputs[0], equation.output);
  }
  build.set_layer(node.layer);
  Rewriter rewriter(build, *product, x, y);
  linear ? rewriter.linear() : rewriter.matmul();
  return true;
}

}  // namespace

Graph simplify_einsum(Graph graph) {
  const std::vector<bool> fixed = fixed_values(graph);
  const std::vector<Node> nodes = std::exchange(graph.nodes, {});
  Builder build(graph);
  for (const Node& node : nodes) {
    if (!rewrite(build, node, fixed)) {
      graph.nodes.push_back(node);
      continue;
    }
    // The result takes the id that readers use.
    graph.nodes.back().outputs = node.outputs;
    graph.values.pop_back();
  }
  return graph;
}

}  // namespace attn::plan
