#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "attn/backends/reference.h"
#include "attn/base/error.h"
#include "attn/keras/model.h"
#include "attn/plan/plan.h"

using namespace attn;

namespace {

/// An input of a model. The config has None for the batch.
struct Given {
  std::string name;
  DType dtype;
  Shape shape;  // including the batch
  std::vector<double> numbers;
};

/// A call of one operation; `$x` in args and kwargs stands for the tensor of input x.
struct Call {
  std::string module, class_name;
  std::string parameters;  // members of the config after the name: ", \"axis\": 1"
  std::string args, kwargs = "{}";
  int outputs = 1;
};

const std::string kNumpy = "numpy", kNn = "nn", kCore = "core", kMath = "math";
const std::string kLayer = "";  // not an operation

std::string with_tensors(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '$') {
      out += R"({"class_name": "__keras_tensor__", "config": {"shape": [], "dtype": "", "keras_history": [")";
      out += text[++i];
      out += R"(", 0, 0]}})";
    } else {
      out += text[i];
    }
  }
  return out;
}

std::string operation_json(const Call& call) {
  const std::string module = call.module == kLayer ? "keras.layers" : "keras.src.ops." + call.module;
  const std::string registered = call.module == kLayer ? "null" : '"' + call.class_name + '"';
  return R"({"module": ")" + module + R"(", "class_name": ")" + call.class_name + R"(", "config": {"name": "op")" +
         call.parameters + R"(}, "registered_name": )" + registered + R"(, "name": "op", "inbound_nodes": [{"args": )" +
         with_tensors(call.args) + R"(, "kwargs": )" + with_tensors(call.kwargs) + "}]}";
}

std::string model_json(const Call& call, const std::vector<Given>& inputs) {
  std::string layers, names, outputs;
  for (const Given& input : inputs) {
    std::string shape = "null";
    for (int axis = 1; axis < input.shape.rank(); ++axis) shape += ", " + std::to_string(input.shape[axis]);
    layers += R"({"module": "keras.layers", "class_name": "InputLayer", "config": {"batch_shape": [)" + shape +
              R"(], "dtype": ")" + std::string(name_of(input.dtype)) + R"(", "name": ")" + input.name +
              R"("}, "name": ")" + input.name + R"(", "inbound_nodes": []}, )";
    names += (names.empty() ? "" : ", ") + (R"([")" + input.name + R"(", 0, 0])");
  }
  for (int i = 0; i < call.outputs; ++i)
    outputs += (outputs.empty() ? "" : ", ") + (R"(["op", 0, )" + std::to_string(i) + "]");
  return R"({"module": "keras.src.models.functional", "class_name": "Functional", "config": {"name": "m",
    "trainable": true, "layers": [)" +
         layers + operation_json(call) + R"(], "input_layers": [)" + names + R"(], "output_layers": [)" + outputs +
         "]}}";
}

struct Ran {
  std::vector<Shape> shown;     // shapes in the summary
  std::vector<Tensor> outputs;  // results of the reference backend
};

Ran run(const Call& call, const std::vector<Given>& inputs) {
  const keras::Model model = keras::Model::read("model.json", model_json(call, inputs));
  Ran ran;
  for (const keras::SummaryRow& row : model.summary().rows)
    if (row.name == "op") ran.shown = row.output_shapes;

  keras::LowerOptions options;
  for (const Given& input : inputs) options.input_shapes[input.name] = input.shape;
  const graph::Graph graph = model.lower(options);
  graph::verify(graph);
  std::vector<Tensor> tensors;
  for (const Given& input : inputs) {
    tensors.emplace_back(input.dtype, input.shape);
    for (std::int64_t i = 0; i < tensors.back().size(); ++i)
      tensors.back().set(i, input.numbers[static_cast<std::size_t>(i)]);
  }
  const auto executable = backends::make_reference_backend()->compile(plan::make_plan(graph), {}, {});
  executable->run(tensors);
  for (const graph::Output& output : graph.outputs) {
    const Tensor value = executable->value(output.value);
    ran.outputs.push_back(value.cast(value.dtype()));  // a copy, because the executable is destroyed
  }
  return ran;
}

/// All elements of a result with one or several outputs.
std::vector<double> numbers(const Ran& ran) {
  std::vector<double> out;
  for (const Tensor& tensor : ran.outputs)
    for (std::int64_t i = 0; i < tensor.size(); ++i) out.push_back(tensor.at(i));
  return out;
}

std::vector<double> count_up(int n) {
  std::vector<double> out;
  for (int i = 0; i < n; ++i) out.push_back(i);
  return out;
}

Given x_of(DType dtype, std::vector<double> values) {
  return {"x", dtype, {1, static_cast<Dim>(values.size())}, std::move(values)};
}
/// 0, 1, … in the shape (1, 2, 3).
Given counted() { return {"x", DType::float32, {1, 2, 3}, count_up(6)}; }

/// Checks results that are exact in float32: integers and halves.
void check_exact(const Call& call, const std::vector<Given>& inputs, DType dtype, const Shape& shape,
                 const std::vector<double>& expected) {
  CAPTURE(call.class_name);
  const Ran ran = run(call, inputs);
  CHECK(ran.outputs.front().dtype() == dtype);
  CHECK(ran.outputs.front().shape() == shape);
  CHECK(numbers(ran) == expected);
}

/// Checks results of one or two rounded float32 functions: within a few units in the last place.
void check_close(const Call& call, const std::vector<Given>& inputs, const std::vector<double>& expected) {
  CAPTURE(call.class_name);
  const std::vector<double> got = numbers(run(call, inputs));
  REQUIRE(got.size() == expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    CAPTURE(i);
    CHECK(std::abs(got[i] - expected[i]) <= 1e-6 * std::max(1.0, std::abs(expected[i])));
  }
}

void check_refused(const Call& call, const std::vector<Given>& inputs, const std::string& part) {
  try {
    run(call, inputs);
    FAIL("accepted");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::bad_input);
    const std::string message = error.what();
    CAPTURE(message);
    CHECK(message.find(part) != std::string::npos);
  }
}

}  // namespace

// ---------------------------------------------------------------------------------------------------- dtypes

TEST_CASE("operations: a Python number takes the dtype of the other operand") {
  check_exact({kNumpy, "Add", "", "[$x, 2]"}, {x_of(DType::uint8, {1, 2})}, DType::uint8, {1, 2}, {3, 4});
  check_exact({kNumpy, "Multiply", "", "[0.5, $x]"}, {x_of(DType::float16, {1, 2})}, DType::float16, {1, 2}, {0.5, 1});
  check_exact({kNumpy, "Add", "", "[$x, 1]"}, {x_of(DType::boolean, {0, 1})}, DType::int32, {1, 2}, {1, 2});
}

TEST_CASE("operations: a Python float turns integers into float32") {
  check_exact({kNumpy, "Subtract", "", "[$x, 0.5]"}, {x_of(DType::int32, {1, 2})}, DType::float32, {1, 2}, {0.5, 1.5});
}

TEST_CASE("operations: constant arrays keep their dtype") {
  const std::string array = R"({"class_name": "__numpy__", "config": {"value": [1.5, 2.5], "dtype": "float32"}})";
  check_exact({kNumpy, "Add", "", "[$x, " + array + "]"}, {x_of(DType::float16, {1, 2})}, DType::float32, {1, 2},
              {2.5, 4.5});
}

TEST_CASE("layers: constant arrays are inputs, cast and broadcast as in Keras") {
  const auto array = [](const std::string& value, const std::string& dtype = "float32") {
    return R"({"class_name": "__numpy__", "config": {"value": )" + value + R"(, "dtype": ")" + dtype + R"("}})";
  };
  check_exact({kLayer, "Add", "", "[[$x, " + array("[[[0, 1, 2], [3, 4, 5]]]", "float64") + "]]"}, {counted()},
              DType::float32, {1, 2, 3}, {0, 2, 4, 6, 8, 10});
  // Like Keras 3.15: axes are added at the front of the second tensor, after the batch.
  check_exact({kLayer, "Add", "", "[[$x, " + array("[1, 2, 3]") + "]]"}, {counted()}, DType::float32, {3, 2, 3},
              {1, 2, 3, 4, 5, 6, 2, 3, 4, 5, 6, 7, 3, 4, 5, 6, 7, 8});
  check_exact({kLayer, "Concatenate", ", \"axis\": -1", "[[$x, " + array("[[[7], [8]]]") + "]]"}, {counted()},
              DType::float32, {1, 2, 4}, {0, 1, 2, 7, 3, 4, 5, 8});
  check_refused({kLayer, "Add", "", "[[$x, 2.0]]"}, {counted()}, "must be a list of tensors");
  check_refused({kLayer, "Add", "", "[[$x, [$x]]]"}, {counted()}, "must be a list of tensors");
}

TEST_CASE("layers: a constant that is not rectangular is rejected before its first rows determine a size") {
  std::string value = "[[" + std::string(200'000, '1');
  for (std::size_t i = 3; i < value.size(); i += 2) value[i] = ',';
  value.back() = ']';
  for (int i = 0; i < 100'000; ++i) value += ", 0";
  check_refused({kLayer, "Add", "",
                 R"([[$x, {"class_name": "__numpy__", "config": {"dtype": "float32", "value": )" + value + "]}}]]"},
                {counted()}, "a constant must be rectangular");
}

TEST_CASE("operations: integer division is in float32, and floor division in integers") {
  check_exact({kNumpy, "TrueDivide", "", "[$x, 2]"}, {x_of(DType::int32, {-3, 4})}, DType::float32, {1, 2}, {-1.5, 2});
  check_exact({kNumpy, "FloorDivide", "", "[$x, 2]"}, {x_of(DType::int32, {-3, 4})}, DType::int32, {1, 2}, {-2, 2});
  check_exact({kNumpy, "Mod", "", "[$x, 3]"}, {x_of(DType::int32, {-4, 4})}, DType::int32, {1, 2}, {2, 1});
}

TEST_CASE("operations: functions of floats cast integers first") {
  check_exact({kNumpy, "Sqrt", "", "[$x]"}, {x_of(DType::int64, {4, 9})}, DType::float32, {1, 2}, {2, 3});
  check_exact({kNumpy, "Floor", "", "[$x]"}, {x_of(DType::int32, {4, 9})}, DType::float32, {1, 2}, {4, 9});
  check_exact({kNumpy, "Square", "", "[$x]"}, {x_of(DType::int32, {4, 9})}, DType::int32, {1, 2}, {16, 81});
}

TEST_CASE("operations: a comparison treats a Python float as float32") {
  // 0.1 in float16 is 0.0999755859375, which differs from 0.1 in float32.
  check_exact({kNumpy, "Less", "", "[$x, 0.1]"}, {x_of(DType::float16, {0.1, 0.2})}, DType::boolean, {1, 2}, {1, 0});
}

TEST_CASE("operations: sums widen small integers, and means are floats") {
  check_exact({kNumpy, "Sum", R"(, "axis": -1, "keepdims": false)", "[$x]"}, {x_of(DType::int8, {100, 100})},
              DType::int32, {1}, {200});
  check_exact({kNumpy, "Mean", R"(, "axis": [1], "keepdims": true)", "[$x]"}, {x_of(DType::int32, {1, 2})},
              DType::float32, {1, 1}, {1.5});
  check_exact({kNumpy, "Any", R"(, "axis": null, "keepdims": false)", "[$x]"}, {x_of(DType::float32, {0, 2})},
              DType::boolean, {}, {1});
}

// ---------------------------------------------------------------------------------------------------- numbers

TEST_CASE("operations: Where and Select choose by condition") {
  check_exact({kNumpy, "Where", "", "[$x, 1, 0.5]"}, {x_of(DType::boolean, {1, 0})}, DType::float32, {1, 2}, {1, 0.5});
  check_exact({kNumpy, "Where", "", "[$x, $y, 0.0]"},
              {x_of(DType::boolean, {1, 0}), {"y", DType::float32, {1, 2}, {7, 8}}}, DType::float32, {1, 2}, {7, 0});
  check_exact({kNumpy, "Select", "", "[[$x, $y], [$y, 5], 9]"},
              {x_of(DType::boolean, {1, 0, 0}), {"y", DType::int32, {1, 3}, {3, 4, 0}}}, DType::int32, {1, 3},
              {3, 5, 9});
  check_refused({kNumpy, "Where", "", "[$x]"}, {x_of(DType::boolean, {1, 0})}, "pass x1 and x2");
}

TEST_CASE("operations: activations with parameters are written and computed") {
  const Given x = x_of(DType::float32, {-2, 3});
  check_exact({kNn, "Relu6", "", "[$x]"}, {x_of(DType::float32, {-2, 9})}, DType::float32, {1, 2}, {0, 6});
  check_exact({kNn, "LeakyRelu", R"(, "negative_slope": 0.5)", "[$x]"}, {x}, DType::float32, {1, 2}, {-1, 3});
  check_exact({kNn, "Threshold", R"(, "threshold": 1, "default_value": 7)", "[$x]"}, {x}, DType::float32, {1, 2},
              {7, 3});
  check_exact({kNn, "Glu", R"(, "axis": -1)", "[$x]"}, {x_of(DType::float32, {4, 0})}, DType::float32, {1, 1}, {2});
  // 3·Φ(3), and its tanh approximation, which is the default of Keras's operation.
  check_close({kNn, "Gelu", R"(, "approximate": false)", "[$x]"}, {x}, {-0.04550026, 2.99595031});
  check_close({kNn, "Gelu", "", "[$x]"}, {x}, {-0.04540231, 2.99636261});
}

TEST_CASE("operations: softmax works over one axis, several, or all elements") {
  const Given even{"x", DType::float32, {1, 2, 2}, {3, 3, 3, 3}};
  check_exact({kNn, "Softmax", R"(, "axis": -1)", "[$x]"}, {even}, DType::float32, {1, 2, 2}, {0.5, 0.5, 0.5, 0.5});
  check_exact({kNn, "Softmax", R"(, "axis": [1, 2])", "[$x]"}, {even}, DType::float32, {1, 2, 2},
              {0.25, 0.25, 0.25, 0.25});
  check_exact({kNn, "Softmax", R"(, "axis": null)", "[$x]"}, {even}, DType::float32, {1, 2, 2},
              {0.25, 0.25, 0.25, 0.25});
}

TEST_CASE("operations: reductions have their own parameters") {
  check_exact({kNumpy, "Max", R"(, "axis": 2, "keepdims": false, "initial": 3.5)", "[$x]"}, {counted()}, DType::float32,
              {1, 2}, {3.5, 5});
  check_exact({kNumpy, "Argmax", R"(, "axis": null, "keepdims": true)", "[$x]"}, {counted()}, DType::int32, {1, 1, 1},
              {5});
  check_exact({kNumpy, "Var", R"(, "axis": [0, 1], "keepdims": false)", "[$x]"}, {counted()}, DType::float32, {3},
              {2.25, 2.25, 2.25});
  check_exact({kNumpy, "Cumsum", R"(, "axis": null, "dtype": "int32")", "[$x]"}, {counted()}, DType::int32, {6},
              {0, 1, 3, 6, 10, 15});
  check_exact({kNumpy, "CountNonzero", R"(, "axis": -1)", "[$x]"}, {counted()}, DType::int32, {1, 2}, {2, 3});
  check_exact({kNumpy, "Average", R"(, "axis": 2)", "[$x]", R"({"weights": [1, 0, 1]})"}, {counted()}, DType::float32,
              {1, 2}, {1, 4});
}

TEST_CASE("operations: norms have their order and axes") {
  check_exact({"linalg", "Norm", R"(, "ord": null, "axis": -1, "keepdims": true)", "[$x]"},
              {x_of(DType::float32, {3, 4})}, DType::float32, {1, 1}, {5});
  check_exact({"linalg", "Norm", R"(, "ord": 1, "axis": [1], "keepdims": false)", "[$x]"},
              {x_of(DType::int32, {3, -4})}, DType::float32, {1}, {7});
  check_close({kNn, "Normalize", R"(, "axis": -1, "order": 2, "epsilon": null)", "[$x]"},
              {x_of(DType::float32, {3, 4})}, {0.6, 0.8});
  check_exact({kNn, "Normalize", R"(, "axis": -1, "order": 2, "epsilon": null)", "[$x]"},
              {x_of(DType::float32, {0, 0})}, DType::float32, {1, 2}, {0, 0});
}

// ---------------------------------------------------------------------------------------------------- layout

TEST_CASE("operations: subscripts select as in Python") {
  const auto slice = [](const std::string& start, const std::string& stop, const std::string& step) {
    return R"({"class_name": "__slice__", "config": {"start": )" + start + R"(, "stop": )" + stop + R"(, "step": )" +
           step + "}}";
  };
  const std::string all = slice("null", "null", "null"), dots = R"({"class_name": "__ellipsis__", "config": {}})";
  const auto item = [](const std::string& key) { return Call{kNumpy, "GetItem", "", "[$x, [" + key + "]]"}; };
  check_exact(item(all + ", -1"), {counted()}, DType::float32, {1, 3}, {3, 4, 5});
  check_exact(item(dots + ", 0"), {counted()}, DType::float32, {1, 2}, {0, 3});
  check_exact(item(all + ", null, 0, " + slice("null", "null", "-2")), {counted()}, DType::float32, {1, 1, 2}, {2, 0});
  check_exact({kNumpy, "GetItem", "", "[$x, 0]"}, {counted()}, DType::float32, {2, 3}, count_up(6));
  check_refused(item(all + ", 2"), {counted()}, "index 2 is outside of axis 1 of (None, 2, 3)");
  check_refused(item(dots + ", " + dots), {counted()}, "only one ellipsis");
  check_refused(item("0, 0, 0, 0"), {counted()}, "more indices than (None, 2, 3) has axes");
}

TEST_CASE("operations: a slice of an unknown axis is shown as None") {
  const std::string first = R"([{"class_name": "__slice__", "config": {"start": null, "stop": 1, "step": null}}])";
  CHECK(run({kNumpy, "GetItem", "", "[$x, " + first + "]"}, {counted()}).shown == std::vector<Shape>{{kUnknown, 2, 3}});
  CHECK(run({kCore, "Slice", R"(, "shape": [1, 1, -1])", "[$x, [0, 1, 1]]"}, {counted()}).shown ==
        std::vector<Shape>{{1, 1, 2}});
}

TEST_CASE("operations: reshapes and transposes move elements as in Keras") {
  const Ran ran = run({kNumpy, "Reshape", R"(, "newshape": [-1, 3])", "[$x]"}, {counted()});
  CHECK(ran.shown == std::vector<Shape>{{kUnknown, 3}});
  CHECK(ran.outputs.front().shape() == Shape{2, 3});
  CHECK(run({kNumpy, "Reshape", R"(, "newshape": [null, 6])", "[$x]"}, {counted()}).outputs.front().shape() ==
        Shape{1, 6});
  check_exact({kNumpy, "ExpandDims", R"(, "axis": [1, -1])", "[$x]"}, {counted()}, DType::float32, {1, 1, 2, 3, 1},
              count_up(6));
  check_exact({kNumpy, "Transpose", R"(, "axes": null)", "[$x]"}, {counted()}, DType::float32, {3, 2, 1},
              {0, 3, 1, 4, 2, 5});
  check_exact({kNumpy, "Moveaxis", R"(, "source": 2, "destination": 1)", "[$x]"}, {counted()}, DType::float32,
              {1, 3, 2}, {0, 3, 1, 4, 2, 5});
  check_refused({kNumpy, "Squeeze", R"(, "axis": 1)", "[$x]"}, {counted()}, "cannot be squeezed");
  check_refused({kNumpy, "Transpose", R"(, "axes": [0, 1, 1])", "[$x]"}, {counted()}, "no permutation");
  check_refused({kNumpy, "Reshape", R"(, "newshape": [-1, 4])", "[$x]"}, {counted()}, "cannot take the shape");
}

TEST_CASE("operations: rearrange follows its pattern of axes") {
  check_exact({"einops", "Rearrange", "", R"j([$x, "b t (n d) -> b n (t d)"])j", R"({"n": 3})"}, {counted()},
              DType::float32, {1, 3, 2}, {0, 3, 1, 4, 2, 5});
  check_refused({"einops", "Rearrange", "", R"([$x, "b t d -> b t"])"}, {counted()}, "must name the same axes");
  check_refused({"einops", "Rearrange", "", R"j([$x, "b t (n d) -> b t n d"])j", R"({"n": 2})"}, {counted()},
                "cannot be split");
}

TEST_CASE("operations: repeats, tiles and rolls order elements as in Keras") {
  check_exact({kNumpy, "Repeat", R"(, "repeats": 2, "axis": 1)", "[$x]"}, {x_of(DType::int32, {1, 2})}, DType::int32,
              {1, 4}, {1, 1, 2, 2});
  check_exact({kNumpy, "Repeat", R"(, "repeats": [0, 3], "axis": 1)", "[$x]"}, {x_of(DType::int32, {1, 2})},
              DType::int32, {1, 3}, {2, 2, 2});
  check_exact({kNumpy, "Tile", R"(, "repeats": [2, 2])", "[$x]"}, {x_of(DType::int32, {1, 2})}, DType::int32, {2, 4},
              {1, 2, 1, 2, 1, 2, 1, 2});
  check_exact({kNumpy, "Roll", R"(, "shift": -4, "axis": 1)", "[$x]"}, {x_of(DType::int32, {1, 2, 3})}, DType::int32,
              {1, 3}, {2, 3, 1});
  check_exact({kNumpy, "Flip", R"(, "axis": null)", "[$x]"}, {counted()}, DType::float32, {1, 2, 3},
              {5, 4, 3, 2, 1, 0});
  check_exact({kNumpy, "Rot90", R"(, "k": 1, "axes": [1, 2])", "[$x]"}, {counted()}, DType::float32, {1, 3, 2},
              {2, 5, 1, 4, 0, 3});
  check_exact(
      {kNumpy, "Pad", R"(, "pad_width": [[0, 0], [1, 0]], "mode": "constant")", "[$x]", R"({"constant_values": 7})"},
      {x_of(DType::int32, {1, 2})}, DType::int32, {1, 3}, {7, 1, 2});
  check_exact({kNumpy, "Pad", R"(, "pad_width": [[0, 0], [1, 1]], "mode": "reflect")", "[$x]"},
              {x_of(DType::int32, {1, 2})}, DType::int32, {1, 4}, {2, 1, 2, 1});
}

TEST_CASE("operations: triangles and diagonals equal Keras's") {
  check_exact({kNumpy, "Tril", R"(, "k": 0)", "[$x]"}, {counted()}, DType::float32, {1, 2, 3}, {0, 0, 0, 3, 4, 0});
  check_exact({kNumpy, "Triu", R"(, "k": 1)", "[$x]"}, {counted()}, DType::float32, {1, 2, 3}, {0, 1, 2, 0, 0, 5});
  check_exact({kNumpy, "Diagonal", R"(, "offset": 1, "axis1": 1, "axis2": 2)", "[$x]"}, {counted()}, DType::float32,
              {1, 2}, {1, 5});
  check_exact({kNumpy, "Trace", R"(, "offset": -1, "axis1": 1, "axis2": 2)", "[$x]"}, {counted()}, DType::float32, {1},
              {3});
}

TEST_CASE("operations: elements are taken by index") {
  const Given indices{"i", DType::int32, {1, 2, 2}, {0, -1, 2, 0}};
  check_exact({kNumpy, "Take", R"(, "axis": 2)", "[$x, [2, -3]]"}, {counted()}, DType::float32, {1, 2, 2},
              {2, 0, 5, 3});
  check_exact({kNumpy, "Take", R"(, "axis": null)", "[$x, 4]"}, {counted()}, DType::float32, {}, {4});
  check_exact({kNumpy, "TakeAlongAxis", R"(, "axis": -1)", "[$x, $i]"}, {counted(), indices}, DType::float32, {1, 2, 2},
              {0, 2, 5, 3});
  const Given outside{"i", DType::int32, {1, 2, 1}, {0, 3}};
  check_refused({kNumpy, "TakeAlongAxis", R"(, "axis": -1)", "[$x, $i]"}, {counted(), outside}, "is outside the table");
}

TEST_CASE("operations: several tensors are joined into one") {
  const Given y{"y", DType::float16, {1, 2}, {3, 4}};
  check_exact({kNumpy, "Concatenate", R"(, "axis": -1)", "[[$x, $y]]"}, {x_of(DType::int32, {1, 2}), y}, DType::float16,
              {1, 4}, {1, 2, 3, 4});
  check_exact({kNumpy, "Stack", R"(, "axis": -1)", "[[$x, $y]]"}, {x_of(DType::int32, {1, 2}), y}, DType::float16,
              {1, 2, 2}, {1, 3, 2, 4});
  check_exact({kNumpy, "Append", R"(, "axis": null)", "[$x, $y]"}, {x_of(DType::int32, {1, 2}), y}, DType::float16, {4},
              {1, 2, 3, 4});
}

TEST_CASE("operations: one tensor is split into several") {
  const Ran at = run({kNumpy, "Split", R"(, "indices_or_sections": [1], "axis": 2)", "[$x]", "{}", 2}, {counted()});
  CHECK(at.shown == std::vector<Shape>{{kUnknown, 2, 1}, {kUnknown, 2, 2}});
  CHECK(numbers(at) == std::vector<double>{0, 3, 1, 2, 4, 5});
  const Ran even = run({kNumpy, "Split", R"(, "indices_or_sections": 3, "axis": -1)", "[$x]", "{}", 3}, {counted()});
  CHECK(numbers(even) == std::vector<double>{0, 3, 1, 4, 2, 5});
  const Ran apart = run({kCore, "Unstack", R"(, "num": null, "axis": 1)", "[$x]", "{}", 2}, {counted()});
  CHECK(apart.shown == std::vector<Shape>{{kUnknown, 3}, {kUnknown, 3}});
  CHECK(numbers(apart) == count_up(6));
  check_refused({kNumpy, "Split", R"(, "indices_or_sections": 2, "axis": -1)", "[$x]"}, {counted()},
                "cannot be split into 2 equal parts");
  check_refused({kNumpy, "Split", R"(, "indices_or_sections": 9000000000, "axis": 0)", "[$x]"}, {counted()},
                "cannot be split into 9000000000 parts");
}

TEST_CASE("operations: zeros_like and similar take only the shape of a tensor") {
  check_exact({kNumpy, "OnesLike", R"(, "dtype": "bool")", "[$x]"}, {counted()}, DType::boolean, {1, 2, 3},
              {1, 1, 1, 1, 1, 1});
  check_exact({kNumpy, "FullLike", R"(, "dtype": null)", "[$x, 2.5]"}, {x_of(DType::float32, {1, 2})}, DType::float32,
              {1, 2}, {2.5, 2.5});
  check_exact({kNn, "OneHot", R"(, "num_classes": 2, "axis": 1, "dtype": "float32", "sparse": false)", "[$x]"},
              {x_of(DType::int32, {1, 0, 5})}, DType::float32, {1, 2, 3}, {0, 1, 0, 1, 0, 0});
  check_exact({kCore, "Cast", R"(, "dtype": "int32")", "[$x]"}, {x_of(DType::float32, {-1.75, 2.5})}, DType::int32,
              {1, 2}, {-1, 2});
}

// ---------------------------------------------------------------------------------------------------- products

TEST_CASE("operations: matrix products support vectors, numbers and integers") {
  const Given y{"y", DType::float32, {1, 3, 1}, {1, 2, 3}};
  check_exact({kNumpy, "Matmul", "", "[$x, $y]"}, {counted(), y}, DType::float32, {1, 2, 1}, {8, 26});
  check_exact({kNumpy, "Matmul", "", "[$x, [[1], [2]]]"}, {x_of(DType::int8, {3, 4})}, DType::int32, {1, 1}, {11});
  check_exact({kNumpy, "Dot", "", "[$x, [1, 10, 100]]"}, {counted()}, DType::float32, {1, 2}, {210, 543});
  check_exact({kNumpy, "Dot", "", "[$x, 2.0]"}, {x_of(DType::float32, {3, 4})}, DType::float32, {1, 2}, {6, 8});
  check_exact({kNumpy, "Tensordot", R"(, "axes": [[1, 2], [1, 0]])", "[$x, [[1, 0], [0, 1], [1, 1]]]"}, {counted()},
              DType::float32, {1}, {0 + 2 + 4 + 5});
  check_exact({kNumpy, "Vdot", "", "[$x, $x]"}, {counted()}, DType::float32, {}, {55});
  check_exact({kNumpy, "Outer", "", "[$x, [1, 2]]"}, {x_of(DType::int32, {3, 4})}, DType::int32, {2, 2}, {3, 6, 4, 8});
}

TEST_CASE("operations: the product of two int8 tensors is int32") {
  const Given y{"y", DType::int8, {1, 2}, {100, 100}};
  check_exact({kNumpy, "Einsum", R"(, "subscripts": "bi,bi->b")", "[$x, $y]"}, {x_of(DType::int8, {100, 100}), y},
              DType::int32, {1}, {20000});
}

TEST_CASE("operations: einsum writes the full equation") {
  const std::vector<double> outer = {0, 0, 0, 9, 12, 15};
  check_exact({kNumpy, "Einsum", R"(, "subscripts": "bij")", "[$x]"}, {counted()}, DType::float32, {1, 2, 3},
              count_up(6));
  check_exact({kNumpy, "Einsum", R"(, "subscripts": "...j->...")", "[$x]"}, {counted()}, DType::float32, {1, 2},
              {3, 12});
  check_exact({kNumpy, "Einsum", R"(, "subscripts": "...j,jk->...k")", "[$x, [[1], [1], [2]]]"}, {counted()},
              DType::float32, {1, 2, 1}, {5, 17});
  // An ellipsis axis of size 1 is broadcast.
  const Given y{"y", DType::float32, {1, 2, 1}, {0, 3}};
  check_exact({kNumpy, "Einsum", R"(, "subscripts": "...,...->...")", "[$x, $y]"}, {counted(), y}, DType::float32,
              {1, 2, 3}, outer);
  check_refused({kNumpy, "Einsum", R"(, "subscripts": "ab,bc->ac")", "[$x]"}, {counted()}, "is for 2 operands");
}

// ---------------------------------------------------------------------------------------------------- networks

TEST_CASE("operations: normalizations work with and without their weights") {
  const Given x{"x", DType::float32, {1, 2, 2}, {1, 3, 5, 5}};
  const std::string exact = R"(, "epsilon": 0.0)";
  check_exact({kNn, "LayerNorm", R"(, "axis": -1, "epsilon": 1.0, "rms_scaling": false)", "[$x, null, [0.5, 0.5]]"},
              {{"x", DType::float32, {1, 2}, {4, 4}}}, DType::float32, {1, 2}, {0.5, 0.5});
  check_close({kNn, "LayerNorm", R"(, "axis": 1, "epsilon": 0.0, "rms_scaling": false)", "[$x, [2, 4], null]"}, {x},
              {-2, -2, 4, 4});
  check_close({kNn, "RMSNorm", R"(, "axis": -1)" + exact, "[$x]", R"({"scale": [1, 10]})"},
              {{"x", DType::float32, {1, 2}, {3, 4}}}, {3 / std::sqrt(12.5), 40 / std::sqrt(12.5)});
  // A scale across other axes than the normalized one is broadcast.
  check_close({kNn, "RMSNorm", R"(, "axis": 1)" + exact, "[$x]", R"({"scale": [1, 10]})"}, {x},
              {1 / std::sqrt(13.0), 30 / std::sqrt(17.0), 5 / std::sqrt(13.0), 50 / std::sqrt(17.0)});
  const Ran moments =
      run({kNn, "Moments", R"(, "axes": [1], "keepdims": false, "synchronized": false)", "[$x]", "{}", 2}, {x});
  CHECK(numbers(moments) == std::vector<double>{3, 4, 4, 1});
}

TEST_CASE("operations: attention works fused and with a bias") {
  // One head of size 1: the scores of the second query are log 1 and log 3.
  const Given query{"q", DType::float32, {1, 2, 1, 1}, {0, 1}},
      key{"k", DType::float32, {1, 2, 1, 1}, {0, std::log(3.0)}}, value{"v", DType::float32, {1, 2, 1, 1}, {0, 8}};
  const std::string args = "[$q, $k, $v]";
  const auto attention = [&](const std::string& causal, const std::string& kwargs) {
    return Call{kNn, "DotProductAttention", R"(, "is_causal": )" + causal, args, kwargs};
  };
  const std::vector<Given> inputs = {query, key, value};
  check_close(attention("false", R"({"bias": null, "mask": null, "scale": null})"), inputs, {4, 6});
  check_close(attention("true", "{}"), inputs, {0, 6});
  check_close(attention("false", R"({"bias": [[[[0.0, 0.0], [0.0, 0.0]]]]})"), inputs, {4, 6});
  check_close(attention("true", R"({"bias": [[[[0.0, 0.0], [0.0, 0.0]]]]})"), inputs, {0, 6});
  check_close(attention("false", R"({"mask": [[[[true, true], [true, false]]]]})"), inputs, {4, 0});
  check_refused({kNn, "DotProductAttention", R"(, "attn_logits_soft_cap": 50.0)", args}, inputs, "soft cap");
}

TEST_CASE("operations: the summary shows the query's shape for attention, as Keras does") {
  const Given query{"q", DType::float32, {1, 1, 1, 1}, {1}}, value{"v", DType::float32, {1, 1, 1, 2}, {3, 4}};
  const Ran ran = run({kNn, "DotProductAttention", "", "[$q, $q, $v]"}, {query, value});
  CHECK(ran.shown == std::vector<Shape>{{kUnknown, 1, 1, 1}});
  CHECK(ran.outputs.front().shape() == Shape{1, 1, 1, 2});
}

TEST_CASE("operations: convolution, pooling and patches equal Keras's") {
  const Given x{"x", DType::float32, {1, 4, 1}, {1, 2, 3, 4}};
  const std::string last = R"(, "data_format": "channels_last")", first = R"(, "data_format": "channels_first")";
  check_exact({kNn, "Conv", R"(, "strides": 1, "padding": "valid")" + last + R"(, "dilation_rate": 1)",
               "[$x, [[[1.0]], [[10.0]]]]"},
              {x}, DType::float32, {1, 3, 1}, {21, 32, 43});
  check_exact({kNn, "DepthwiseConv", R"(, "strides": 2, "padding": "same")" + last + R"(, "dilation_rate": 1)",
               "[$x, [[[1.0, 2.0]]]]"},
              {x}, DType::float32, {1, 2, 2}, {1, 2, 3, 6});
  check_exact({kNn, "MaxPool", R"(, "pool_size": 2, "strides": null, "padding": "valid")" + first, "[$x]"},
              {{"x", DType::float32, {1, 1, 4}, {1, 2, 3, 4}}}, DType::float32, {1, 1, 2}, {2, 4});
  const Given image{"x", DType::float32, {1, 2, 4, 1}, count_up(8)};
  check_exact({"image", "ExtractPatches",
               R"(, "size": [2, 2], "strides": [2, 2], "dilation_rate": 1, "padding": "valid")" + last, "[$x]"},
              {image}, DType::float32, {1, 1, 2, 4}, {0, 1, 4, 5, 2, 3, 6, 7});
}

// ---------------------------------------------------------------------------------------------------- configs

TEST_CASE("operations: a config is written as it was read") {
  const std::vector<Given> x = {counted()};
  const std::vector<Call> calls = {
      {kNumpy, "Add", "", "[$x, 1.5]"},
      {kNumpy, "Clip", R"(, "x_min": 0, "x_max": 1.5)", "[$x]"},
      {kNumpy, "Mean", R"(, "axis": [0, 1], "keepdims": false)", "[$x]"},
      {kNumpy, "Max", R"(, "axis": 1, "keepdims": false, "initial": null)", "[$x]"},
      {kNumpy, "Reshape", R"(, "newshape": [null, -1])", "[$x]"},
      {kNumpy, "Pad", R"(, "pad_width": [[0, 0], [1, 2], [0, 0]], "mode": "constant")", "[$x]"},
      {kNumpy, "Tensordot", R"(, "axes": [[2], [0]])", "[$x, [1, 2, 3]]"},
      {kNumpy, "ZerosLike", R"(, "dtype": null)", "[$x]"},
      {kCore, "Cast", R"(, "dtype": "float16")", "[$x]"},
      {kNn, "Squareplus", R"(, "b": 4)", "[$x]"},
      {kNn, "Softmax", R"(, "axis": -1)", "[$x]"},
      {kMath, "Logsumexp", R"(, "axis": -1, "keepdims": true)", "[$x]"},
  };
  for (const Call& call : calls) {
    CAPTURE(call.class_name);
    const std::string json = model_json(call, x);
    CHECK(keras::Model::read("model.json", json).config({}).find(operation_json(call)) != std::string::npos);
  }
}

TEST_CASE("operations: keys of newer versions are omitted for older ones") {
  const Given q{"q", DType::float32, {1, 1, 1, 1}, {1}};
  const std::string json = model_json({kNn, "DotProductAttention", "", "[$q, $q, $q]"}, {q});
  keras::ConfigOptions old;
  old.version = 306;
  CHECK(keras::Model::read("m", json).config(old).find("flash_attention") == std::string::npos);
  CHECK(keras::Model::read("m", json).config({}).find(R"("flash_attention": null, "attn_logits_soft_cap": null)") !=
        std::string::npos);
}

TEST_CASE("operations: unknown names and arguments are reported with their place") {
  const std::vector<Given> x = {counted()};
  check_refused({kNumpy, "Mean", R"(, "axes": 1)", "[$x]"}, x, "unknown key (did you mean 'axis'?)");
  check_refused({kNumpy, "Concatenat", "", "[$x]"}, x, "did you mean 'Concatenate'?");
  check_refused({kNumpy, "Nonzero", "", "[$x]"}, x, "the operation 'Nonzero' is refused");
  check_refused({kNumpy, "Add", "", "[$x]"}, x, "the argument 'x2' is missing");
  check_refused({kNumpy, "Add", "", R"([$x, "a"])"}, x, "must be a tensor, an array or a number");
  check_refused({kNumpy, "Add", "", "[$x, [[1], [2, 3]]]"}, x, "rectangular");
  check_refused({kNumpy, "Cast", R"(, "dtype": "float")", "[$x]"}, x, "unknown");
  check_refused({kNumpy, "Sum", R"(, "axis": 3, "keepdims": false)", "[$x]"}, x, "axis 3 is outside");
  check_refused({kNumpy, "Sum", R"(, "axis": [1, -2], "keepdims": false)", "[$x]"}, x, "named twice");
  check_refused({kNumpy, "Tile", R"(, "repeats": [4611686018427387904])", "[$x]"}, x, "too many");
}

TEST_CASE("operations: invalid transforms, matrices, bits and images are rejected with the reason") {
  const std::vector<Given> x = {{"x", DType::float32, {1, 3, 4}, count_up(12)}};
  const std::vector<Given> half = {{"x", DType::float16, {1, 3, 4}, count_up(12)}};
  const std::vector<Given> wide = {{"x", DType::float32, {1, 300, 300}, count_up(90'000)}};
  const std::string stft = R"(, "sequence_length": 8, "sequence_stride": 2, "fft_length": 4)";
  check_refused({kMath, "FFT", "", "[[$x]]", "{}", 2}, x, "must be a pair");
  check_refused({kMath, "FFT", "", "[[$x, 1.0]]", "{}", 2}, x, "must have one shape");
  check_refused({kMath, "FFT", "", "[[$x, $x]]", "{}", 2}, half, "needs float32 or float64, got float16");
  check_refused({kMath, "IRFFT", R"(, "fft_length": 0)", "[[$x, $x]]"}, x, "expected");
  check_refused({kMath, "STFT", stft, "[$x]", "{}", 2}, x, "fft_length 4 is less than sequence_length 8");
  check_refused({kMath, "STFT", R"(, "sequence_length": 2, "sequence_stride": 1, "fft_length": 2, "window": [1.0])",
                 "[$x]", "{}", 2},
                x, "a window of 1 cells does not fit sequences of 2");
  check_refused({kMath, "STFT", R"(, "sequence_length": 2, "sequence_stride": 1, "fft_length": 2, "window": "kaiser")",
                 "[$x]", "{}", 2},
                x, "'hann', 'hamming', None or a list");
  check_refused({"linalg", "Inv", "", "[$x]"}, x, "expected square matrices");
  check_refused({"linalg", "Det", "", "[$x]"}, wide, "1 to 256 rows");
  check_refused({"linalg", "Qr", "", "[$x]", "{}", 2}, half, "float32 or float64, got float16");
  check_refused({"linalg", "Eigh", "", "[$x]", "{}", 2}, x, "the operation 'Eigh' is refused");
  check_refused({kNumpy, "BitwiseAnd", "", "[$x, 3]"}, x, "bits are of integers, got float32");
  check_refused({"image", "RGBToHSV", "", "[$x]"}, x, "expected images of 3 channels");
  check_refused({"image", "GaussianBlur", R"(, "kernel_size": [3], "sigma": [1.0, 1.0])", "[$x]"}, x, "2 numbers each");
  check_refused({"image", "CropImages", "", "[$x]"}, x, "expected two of");
  check_refused({"image", "MapCoordinates", R"(, "order": 3)", "[$x, [[1.0]]]"}, x, "expected order 0 or 1");
  check_refused({"image", "MapCoordinates", R"(, "order": 1)", "[$x, [[1.0]]]"}, x, "do not fit inputs");
}

TEST_CASE("operations: erfinv is infinite at 1 and NaN beyond") {
  const double infinity = std::numeric_limits<double>::infinity();
  check_exact({kMath, "Erfinv", "", "[$x]"}, {x_of(DType::float32, {-1, 0, 1})}, DType::float32, {1, 3},
              {-infinity, 0, infinity});
  CHECK(std::isnan(numbers(run({kMath, "Erfinv", "", "[$x]"}, {x_of(DType::float32, {1.5})})).front()));
}

TEST_CASE("operations: an empty segment has the dtype's minimum, 0 or 1, and a negative id belongs to none") {
  const auto segments = [](const std::string& name, const std::vector<double>& expected) {
    const std::string ids = R"({"class_name": "__numpy__", "config": {"value": [-1], "dtype": "int32"}})";
    check_exact({kMath, name, ", \"num_segments\": 2", "[$x, " + ids + "]"}, {x_of(DType::int32, {5})}, DType::int32,
                {2, 1}, expected);
  };
  segments("SegmentSum", {0, 0});
  segments("SegmentProd", {1, 1});
  segments("SegmentMax", {-2147483648.0, -2147483648.0});
  segments("SegmentMin", {2147483647.0, 2147483647.0});
  check_refused({kMath, "SegmentSum", "", "[$x, [0]]"}, {x_of(DType::float32, {1})}, "without num_segments the size");
  for (const char* name : {"SegmentSum", "SegmentMax", "SegmentProd"})
    check_refused({kMath, name, ", \"num_segments\": 2", "[$x, [2]]"}, {x_of(DType::float32, {1})},
                  "outside the table");
}

TEST_CASE("operations: scattering to an index out of range is an error that names it") {
  check_refused({kCore, "Scatter", ", \"shape\": [2, 3]", "[[[2]], $x]"}, {x_of(DType::float32, {1, 2, 3})}, "index 2");
  check_refused({kCore, "ScatterUpdate", "", "[$x, [[0, -1]], [1.0]]"}, {x_of(DType::float32, {1, 2, 3})}, "index 3");
}

TEST_CASE("operations: Keras's summary shows a rank as a row with that many entries") {
  const Ran ran = run({kNumpy, "Ndim", "", "[$x]"}, {counted()});
  CHECK(ran.shown == std::vector<Shape>{{3}});
  CHECK(numbers(ran) == std::vector<double>{3});
}

TEST_CASE("operations: relu keeps integers, and leaky_relu converts them to float32") {
  check_exact({kNn, "Relu", "", "[$x]"}, {x_of(DType::int64, {-2, 2})}, DType::int64, {1, 2}, {0, 2});
  check_exact({kNn, "LeakyRelu", ", \"negative_slope\": 0.25", "[$x]"}, {x_of(DType::int64, {-2, 2})}, DType::float32,
              {1, 2}, {-0.5, 2});
  check_refused({kNn, "LeakyRelu", "", "[$x]"}, {x_of(DType::boolean, {0, 1})}, "bool");
  check_refused({kNn, "Silu", "", "[$x]"}, {x_of(DType::int32, {0, 1})}, "int32");
}
