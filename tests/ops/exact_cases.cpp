#include <fmt/format.h>

#include "generated_cases.h"

namespace attn::test {
namespace {

using namespace attn::graph;

Operand whole(Shape shape) { return {std::move(shape), Numbers::integers, DType::float32, false}; }
Operand whole_weight(Shape shape) { return {std::move(shape), Numbers::integers, DType::float32, true}; }

/// Depths and widths around the sizes of vectors, tiles and blocks. 81 · 513 is far below 2^24.
constexpr Dim kSizes[] = {1, 2, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 129, 513};

class Cases {
 public:
  void add(const std::string& name, const Op& op, std::vector<Operand> inputs) {
    found_.push_back({fmt::format("exact {} {}", name, found_.size()), op, std::move(inputs)});
  }
  std::vector<Case> take() { return std::move(found_); }

 private:
  std::vector<Case> found_;
};

void add_linear(Cases& cases) {
  for (const Dim depth : kSizes) {
    for (const Dim width : {1, 5, 16, 17, 64, 100}) {
      Linear op;
      std::vector<Operand> inputs{whole({3, 7, depth}), whole_weight({depth, width})};
      if (width % 2 == 0) {
        op.bias = true;
        inputs.push_back(whole_weight({width}));
      }
      if (depth % 2 == 0) op.activation = {UnaryFn::relu, 0.0, 0.0, INFINITY};
      if (width == 64) {
        op.residual = true;
        inputs.push_back(whole({3, 7, width}));
      }
      cases.add("linear", op, std::move(inputs));
    }
  }
  for (const Dim heads : {1, 2, 5, 8}) {
    for (const Dim size : {1, 8, 17, 64}) {
      Linear out;
      out.contracted = 2;
      cases.add("linear of heads", out, {whole({2, 9, heads, size}), whole_weight({heads, size, 33})});
      cases.add("linear to heads", Linear{}, {whole({2, 9, 33}), whole_weight({33, heads, size})});
    }
  }
}

void add_matmul(Cases& cases) {
  for (const Dim depth : kSizes) {
    for (const bool x : {false, true}) {
      for (const bool y : {false, true}) {
        const Shape left = x ? Shape{2, 1, depth, 9} : Shape{2, 1, 9, depth};
        const Shape right = y ? Shape{3, 17, depth} : Shape{3, depth, 17};
        cases.add("matmul", MatMul{x, y}, {whole(left), whole(right)});
      }
    }
  }
  for (const char* equation :
       {"abc,cde->abde", "ab,cb->ac", "abcd,aecd->acbe", "acbe,aecd->abcd", "ab,ab->a", "abc->b"}) {
    for (const Dim size : {3, 8, 17}) {
      std::vector<Operand> inputs;
      const std::string text(equation);
      const std::string left = text.substr(0, text.find_first_of(",-"));
      inputs.push_back(whole(Shape(std::vector<Dim>(left.size(), size))));
      if (const auto comma = text.find(','); comma != std::string::npos)
        inputs.push_back(whole(Shape(std::vector<Dim>(text.find('-') - comma - 1, size))));
      cases.add("einsum", Einsum{text}, std::move(inputs));
    }
  }
}

void add_windows(Cases& cases) {
  for (const Dim channels : {1, 3, 8, 17}) {
    for (const Padding padding : {Padding::valid, Padding::same}) {
      for (const std::int64_t stride : {1, 2, 3}) {
        Conv line;
        line.strides = {stride};
        line.dilation = {stride == 1 ? 2 : 1};
        line.padding = padding;
        cases.add("conv 1d", line, {whole({2, 33, channels}), whole_weight({3, channels, 9})});
        Conv plane;
        plane.strides = {stride, 1};
        plane.dilation = {1, 1};
        plane.padding = padding;
        plane.bias = true;
        cases.add("conv 2d", plane,
                  {whole({1, 11, 9, channels}), whole_weight({3, 2, channels, 16}), whole_weight({16})});
        Conv apart = line;
        apart.groups = channels;
        cases.add("conv depthwise", apart, {whole({2, 33, channels}), whole_weight({3, 1, 2 * channels})});
        // Four cells: their mean is exact. Without padding, because there are fewer at the edge.
        cases.add("average pool", Pool{true, {2, 2}, {stride, stride}, Padding::valid}, {whole({2, 9, 10, channels})});
        cases.add("max pool", Pool{false, {3, 2}, {stride, 1}, padding}, {whole({2, 9, 10, channels})});
      }
    }
  }
}

void add_reductions(Cases& cases) {
  for (const Dim size : kSizes) {
    for (const ReduceFn fn : {ReduceFn::sum, ReduceFn::max, ReduceFn::argmax}) {
      cases.add("reduce last", Reduce{fn, {2}, false}, {whole({3, 5, size})});
      cases.add("reduce middle", Reduce{fn, {1}, true}, {whole({3, size, 5})});
    }
    cases.add("running sum", Cumulate{false, 1}, {whole({3, size, 5})});
    cases.add("gather", Gather{0}, {whole({9, size}), {{3, 4}, Numbers::indices, DType::int32, false}});
  }
  for (const Dim size : {4, 8, 64}) cases.add("mean", Reduce{ReduceFn::mean, {1}, false}, {whole({3, size, 5})});
  cases.add("mean of all", Reduce{ReduceFn::mean, {0, 1}, false}, {whole({16, 32})});
  cases.add("product", Reduce{ReduceFn::prod, {1}, false}, {whole({17, 5})});
}

}  // namespace

std::vector<Case> exact_cases() {
  Cases cases;
  add_linear(cases);
  add_matmul(cases);
  add_windows(cases);
  add_reductions(cases);
  return cases.take();
}

}  // namespace attn::test
