#include "frontends/keras2/operations.h"

#include <algorithm>
#include <array>
#include <functional>

#include "attn/base/size.h"
#include "attn/base/text.h"
#include "config/dtype_policy.h"

namespace attn::keras {
namespace {

constexpr std::string_view kNumpy = "keras.src.ops.numpy", kNn = "keras.src.ops.nn", kMath = "keras.src.ops.math",
                           kCore = "keras.src.ops.core";

constexpr const char* kTensorClass = "__keras_tensor__";

Json operation(std::string_view module, std::string_view class_name, const std::string& name, Json config, Json args,
               Json kwargs = Json::object()) {
  Json named = {{"name", name}};
  for (auto it = config.begin(); it != config.end(); ++it) named[it.key()] = *it;
  return {{"module", module},
          {"class_name", class_name},
          {"config", std::move(named)},
          {"registered_name", class_name},
          {"name", name},
          {"inbound_nodes", Json::array({{{"args", std::move(args)}, {"kwargs", std::move(kwargs)}}})}};
}

bool is_number_list(const Json& json) {
  if (!json.is_array()) return json.is_number() || json.is_boolean();
  return std::all_of(json.begin(), json.end(), is_number_list);
}

bool is_any(const Json& json, bool (*test)(const Json&)) {
  if (!json.is_array()) return test(json);
  return std::any_of(json.begin(), json.end(), [&](const Json& item) { return is_any(item, test); });
}

/// Returns whether a list contains a tensor, as slices and lengths may.
bool holds_tensor(const Json& json) {
  if (is_keras_tensor(json)) return true;
  return json.is_structured() && std::any_of(json.begin(), json.end(), holds_tensor);
}

}  // namespace

Json keras_tensor(const std::string& layer, std::int64_t node, std::int64_t tensor) {
  return {{"class_name", kTensorClass}, {"config", {{"keras_history", Json::array({layer, node, tensor})}}}};
}

bool is_keras_tensor(const Json& json) {
  return json.is_object() && json.contains("class_name") && json["class_name"] == kTensorClass;
}

Json as_argument(Json value) {
  if (!value.is_array() || value.empty()) return value;
  if (!is_number_list(value)) {
    for (Json& item : value) item = as_argument(std::move(item));
    return value;
  }
  const bool real = is_any(value, [](const Json& item) { return item.is_number_float(); });
  const bool boolean = is_any(value, [](const Json& item) { return item.is_boolean(); });
  return {{"class_name", "__numpy__"},
          {"config",
           {{"value", std::move(value)},
            {"dtype", real      ? "float32"
                      : boolean ? "bool"
                                : "int32"}}}};
}

bool is_operation_class(std::string_view class_name) {
  return class_name == "TFOpLambda" || class_name == "SlicingOpLambda";
}

/// A TensorFlow function that corresponds to one operation of keras.ops. `call` lists the arguments of the operation's
/// call and `config` those of its constructor, in order and separated by spaces: "keras:tf=default". ":tf" is omitted
/// if the names are equal; an argument without a default is required. The first of `call` is the function's first
/// argument.
struct TfFunction {
  std::string_view name, class_name, module, call, config{};
};

/// The only call of a TFOpLambda layer.
struct TfCall {
  const Ref& layer;
  std::string name;      // name of the layer
  std::string function;  // "math.add", without the prefix of TensorFlow 1 names
  const Json& first;
  const Json& arguments;

  [[noreturn]] void fail(const std::string& message) const {
    layer["config"]["function"].fail(fmt::format("tf.{} of '{}': {}", printable(function), printable(name), message));
  }
  /// Returns the argument, or null.
  [[nodiscard]] Json argument(std::string_view key) const {
    const auto it = arguments.find(key);
    return it == arguments.end() ? Json() : *it;
  }
  /// Returns the argument, or `missing` if it is null or not given.
  [[nodiscard]] Json argument(std::string_view key, const Json& missing) const {
    Json given = argument(key);
    return given.is_null() ? missing : given;
  }
  /// Rejects an argument unless it is missing, null or `value`.
  void only(std::string_view key, const Json& value) const {
    const Json given = argument(key);
    if (!given.is_null() && given != value)
      fail(fmt::format("only {}={} is supported, got {}", key, to_python_text(value), to_python_text(given)));
  }
};

namespace {

// Functions with a direct equivalent in keras.ops; the others need further code.
constexpr std::string_view kX = "x", kFeatures = "x:features", kTwo = "x1:x x2:y", kReduce = "axis=null keepdims=false",
                           kReduced = "x:input_tensor";

constexpr std::array kFunctions = {
    TfFunction{"__operators__.add", "Add", kNumpy, kTwo},
    TfFunction{"math.add", "Add", kNumpy, kTwo},
    TfFunction{"math.subtract", "Subtract", kNumpy, kTwo},
    TfFunction{"math.multiply", "Multiply", kNumpy, kTwo},
    TfFunction{"math.divide", "Divide", kNumpy, kTwo},
    TfFunction{"math.truediv", "TrueDivide", kNumpy, kTwo},
    TfFunction{"math.floordiv", "FloorDivide", kNumpy, kTwo},
    TfFunction{"floor_div", "FloorDivide", kNumpy, kTwo},
    TfFunction{"math.floormod", "Mod", kNumpy, kTwo},
    TfFunction{"math.pow", "Power", kNumpy, kTwo},
    TfFunction{"math.maximum", "Maximum", kNumpy, kTwo},
    TfFunction{"math.minimum", "Minimum", kNumpy, kTwo},
    TfFunction{"math.atan2", "Arctan2", kNumpy, "x1:y x2:x"},
    TfFunction{"__operators__.eq", "Equal", kNumpy, "x1:self x2:other"},
    TfFunction{"__operators__.ne", "NotEqual", kNumpy, "x1:self x2:other"},
    TfFunction{"math.equal", "Equal", kNumpy, kTwo},
    TfFunction{"math.not_equal", "NotEqual", kNumpy, kTwo},
    TfFunction{"math.less", "Less", kNumpy, kTwo},
    TfFunction{"math.less_equal", "LessEqual", kNumpy, kTwo},
    TfFunction{"math.greater", "Greater", kNumpy, kTwo},
    TfFunction{"math.greater_equal", "GreaterEqual", kNumpy, kTwo},
    TfFunction{"math.logical_and", "LogicalAnd", kNumpy, kTwo},
    TfFunction{"math.logical_or", "LogicalOr", kNumpy, kTwo},
    TfFunction{"math.logical_xor", "LogicalXor", kNumpy, kTwo},
    TfFunction{"math.logical_not", "LogicalNot", kNumpy, kX},
    TfFunction{"math.abs", "Absolute", kNumpy, kX},
    TfFunction{"math.negative", "Negative", kNumpy, kX},
    TfFunction{"math.exp", "Exp", kNumpy, kX},
    TfFunction{"math.expm1", "Expm1", kNumpy, kX},
    TfFunction{"math.log", "Log", kNumpy, kX},
    TfFunction{"math.log1p", "Log1p", kNumpy, kX},
    TfFunction{"math.sqrt", "Sqrt", kNumpy, kX},
    TfFunction{"math.rsqrt", "Rsqrt", kMath, kX},
    TfFunction{"math.square", "Square", kNumpy, kX},
    TfFunction{"math.reciprocal", "Reciprocal", kNumpy, kX},
    TfFunction{"math.sin", "Sin", kNumpy, kX},
    TfFunction{"math.cos", "Cos", kNumpy, kX},
    TfFunction{"math.tan", "Tan", kNumpy, kX},
    TfFunction{"math.tanh", "Tanh", kNumpy, kX},
    TfFunction{"math.sinh", "Sinh", kNumpy, kX},
    TfFunction{"math.cosh", "Cosh", kNumpy, kX},
    TfFunction{"math.asin", "Arcsin", kNumpy, kX},
    TfFunction{"math.acos", "Arccos", kNumpy, kX},
    TfFunction{"math.atan", "Arctan", kNumpy, kX},
    TfFunction{"math.erf", "Erf", kMath, kX},
    TfFunction{"math.floor", "Floor", kNumpy, kX},
    TfFunction{"math.ceil", "Ceil", kNumpy, kX},
    TfFunction{"math.round", "Round", kNumpy, kX},
    TfFunction{"math.sign", "Sign", kNumpy, kX},
    TfFunction{"math.sigmoid", "Sigmoid", kNn, kX},
    TfFunction{"math.log_sigmoid", "LogSigmoid", kNn, kX},
    TfFunction{"math.softplus", "Softplus", kNn, kFeatures},
    TfFunction{"math.is_nan", "Isnan", kNumpy, kX},
    TfFunction{"math.is_inf", "Isinf", kNumpy, kX},
    TfFunction{"math.is_finite", "Isfinite", kNumpy, kX},
    TfFunction{"nn.relu", "Relu", kNn, kFeatures},
    TfFunction{"nn.relu6", "Relu6", kNn, kFeatures},
    TfFunction{"nn.elu", "Elu", kNn, kFeatures},
    TfFunction{"nn.selu", "Selu", kNn, kFeatures},
    TfFunction{"nn.softsign", "Softsign", kNn, kFeatures},
    TfFunction{"nn.silu", "Silu", kNn, "x:features"},
    TfFunction{"nn.gelu", "Gelu", kNn, kFeatures, "approximate=false"},
    TfFunction{"nn.leaky_relu", "LeakyRelu", kNn, kFeatures, "negative_slope:alpha=0.2"},
    TfFunction{"nn.softmax", "Softmax", kNn, "x:logits", "axis=-1"},
    TfFunction{"nn.log_softmax", "LogSoftmax", kNn, "x:logits", "axis=-1"},
    TfFunction{"math.reduce_mean", "Mean", kNumpy, kReduced, kReduce},
    TfFunction{"math.reduce_sum", "Sum", kNumpy, kReduced, kReduce},
    TfFunction{"math.reduce_max", "Max", kNumpy, kReduced, kReduce},
    TfFunction{"math.reduce_min", "Min", kNumpy, kReduced, kReduce},
    TfFunction{"math.reduce_prod", "Prod", kNumpy, kReduced, kReduce},
    TfFunction{"math.reduce_all", "All", kNumpy, kReduced, kReduce},
    TfFunction{"math.reduce_any", "Any", kNumpy, kReduced, kReduce},
    TfFunction{"math.reduce_std", "Std", kNumpy, kReduced, kReduce},
    TfFunction{"math.reduce_variance", "Var", kNumpy, kReduced, kReduce},
    TfFunction{"math.reduce_logsumexp", "Logsumexp", kMath, kReduced, kReduce},
    TfFunction{"concat", "Concatenate", kNumpy, "xs:values", "axis"},
    TfFunction{"stack", "Stack", kNumpy, "x:values", "axis=0"},
    TfFunction{"unstack", "Unstack", kCore, "x:value", "num=null axis=0"},
    TfFunction{"expand_dims", "ExpandDims", kNumpy, "x:input", "axis"},
    TfFunction{"squeeze", "Squeeze", kNumpy, "x:input", "axis=null"},
    TfFunction{"tile", "Tile", kNumpy, "x:input", "repeats:multiples"},
    TfFunction{"repeat", "Repeat", kNumpy, "x:input", "repeats axis=null"},
    TfFunction{"reverse", "Flip", kNumpy, "x:tensor", "axis"},
    TfFunction{"roll", "Roll", kNumpy, "x:input", "shift axis"},
    TfFunction{"broadcast_to", "BroadcastTo", kNumpy, "x:input", "shape"},
    TfFunction{"cast", "Cast", kCore, kX, "dtype"},
    TfFunction{"zeros_like", "ZerosLike", kNumpy, "x:input", "dtype=null"},
    TfFunction{"ones_like", "OnesLike", kNumpy, "x:input", "dtype=null"},
    TfFunction{"identity", "Copy", kNumpy, "x:input"},
    TfFunction{"stop_gradient", "StopGradient", kCore, "variable:input"},
    TfFunction{"convert_to_tensor", "Copy", kNumpy, "x:value"},
    TfFunction{"where", "Where", kNumpy, "condition x1:x x2:y"},
    TfFunction{"clip_by_value", "Clip", kNumpy, "x:t", "x_min:clip_value_min x_max:clip_value_max"},
    TfFunction{"tensordot", "Tensordot", kNumpy, "x1:a x2:b", "axes"},
    TfFunction{"nn.bias_add", "Add", kNumpy, "x1:value x2:bias"},
};

/// An argument of the table, such as "x:input" or "axis=null": its names in Keras and in TensorFlow, and its default.
struct Argument {
  std::string keras, tf;
  std::optional<Json> missing;
};

std::vector<Argument> arguments_of(std::string_view text) {
  std::vector<Argument> out;
  if (text.empty()) return out;
  for (const std::string& word : split(text, ' ')) {
    Argument argument;
    const auto equals = word.find('=');
    if (equals != std::string::npos) argument.missing = Json::parse(word.substr(equals + 1));
    const std::string names = word.substr(0, equals);
    const auto colon = names.find(':');
    argument.keras = names.substr(0, colon);
    argument.tf = colon == std::string::npos ? argument.keras : names.substr(colon + 1);
    out.push_back(std::move(argument));
  }
  return out;
}

}  // namespace

std::string OperationTranslator::fresh_name(const std::string& wanted) {
  std::string name = wanted;
  for (int n = 1; !names_.insert(name).second; ++n) name = wanted + "_" + std::to_string(n);
  return name;
}

/// Returns the length that a tensor argument represents, which is a part of another tensor's shape. Returns empty if it
/// represents none.
std::optional<OperationTranslator::Length> OperationTranslator::length_of(const Json& tensor) const {
  if (!is_keras_tensor(tensor)) return std::nullopt;
  const Json& history = tensor["config"]["keras_history"];
  const auto& layer = history[0].get_ref<const std::string&>();
  if (unstacked_.contains(layer)) return Length{history[2].get<std::int64_t>()};
  const auto it = lengths_.find(layer);
  return it == lengths_.end() ? std::nullopt : std::optional(it->second);
}

/// Returns the length or shape that the call computes: tf.shape(x), and operations that extract one length from it.
/// Empty for all other calls.
std::optional<OperationTranslator::Length> OperationTranslator::measured(const TfCall& call) const {
  if (call.function == "shape") return Length{};
  const auto of = length_of(call.first);
  if (!of) return std::nullopt;
  const Json index = call.argument("slice_spec");
  if (call.function == "__operators__.getitem" && !of->axis && index.is_number_integer())
    return Length{index.get<std::int64_t>()};
  if (call.function == "cast" || call.function == "identity") return of;
  return std::nullopt;
}

Json OperationTranslator::converted(const TfCall& call, const TfFunction& function) const {
  std::set<std::string, std::less<>> used;
  Json args = Json::array(), config = Json::object();
  for (const Argument& argument : arguments_of(function.call)) {
    used.insert(argument.tf);
    const Json value = args.empty() ? call.first : call.argument(argument.tf);
    if (value.is_null()) call.fail(fmt::format("the argument '{}' is missing", argument.tf));
    if (length_of(value)) call.fail("the shape of a tensor takes part in a computation; give it as numbers");
    args.push_back(as_argument(value));
  }
  for (const Argument& argument : arguments_of(function.config)) {
    used.insert(argument.tf);
    if (!argument.missing && call.argument(argument.tf).is_null())
      call.fail(fmt::format("the argument '{}' is missing", argument.tf));
    config[argument.keras] = call.argument(argument.tf, argument.missing.value_or(Json()));
    if (holds_tensor(config[argument.keras]))
      call.fail(fmt::format("'{}' is known only when the model runs; give it as a number", argument.tf));
  }
  for (auto it = call.arguments.begin(); it != call.arguments.end(); ++it) {
    if (used.contains(it.key()) || it->is_null() || it.key() == "name") continue;
    if (it.key() == "beta" && *it == 1.0) continue;  // tf.nn.silu writes this key
    call.fail(fmt::format("the argument {}={} is not supported", printable(it.key()), printable(to_python_text(*it))));
  }
  return operation(function.module, function.class_name, call.name, std::move(config), std::move(args));
}

std::vector<Json> OperationTranslator::translate(const Ref& layer, const Json& first, const Json& arguments) {
  const Ref symbol = layer["config"]["function"];
  std::string function = symbol.text();
  for (const std::string_view prefix : {"compat.v1.", "compat.v2."})
    if (function.starts_with(prefix)) function.erase(0, prefix.size());
  const TfCall call{layer, layer["name"].text(), function, first, arguments};

  if (const auto length = measured(call)) {
    lengths_[call.name] = *length;
    return {};
  }
  if (const auto of = length_of(first); function == "unstack" && of && !of->axis) {
    unstacked_.insert(call.name);
    return {};
  }
  if (auto out = special(call); !out.empty()) return out;

  std::vector<std::string_view> names;
  for (const TfFunction& row : kFunctions) {
    if (row.name == function) return {converted(call, row)};
    names.push_back(row.name);
  }
  symbol.fail(
      fmt::format("TensorFlow's function tf.{} has no counterpart here{}; replace it by a layer or an operation "
                  "of keras.ops",
                  printable(function), did_you_mean(function, names)));
}

namespace {

/// Translates an element of a subscript: an index, an ellipsis, or a slice.
Json subscript(const Json& item) {
  if (item.is_object() && item.contains("class_name")) return {{"class_name", item["class_name"]}, {"config", {}}};
  if (!item.is_object() || !item.contains("start") || !item.contains("stop")) return item;
  const Json step = item.contains("step") ? item["step"] : Json();
  return {{"class_name", "__slice__"}, {"config", {{"start", item["start"]}, {"stop", item["stop"]}, {"step", step}}}};
}

Json subscripts(const Json& spec) {
  if (!spec.is_array()) return subscript(spec);
  Json out = Json::array();
  for (const Json& item : spec) out.push_back(subscript(item));
  return out;
}

Json tensor_of(const Json& op) { return keras_tensor(op["name"].get<std::string>(), 0, 0); }

/// Converts num_or_size_splits for keras.ops.split: a list of part sizes becomes the indices at which the parts end; a
/// number of equal parts is kept.
Json sections_of(const TfCall& call) {
  Json sizes = call.argument("num_or_size_splits");
  if (sizes.is_number_integer()) return sizes;
  if (!sizes.is_array()) call.fail("expected the number of parts or their sizes");
  Json out = Json::array();
  std::int64_t end = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (!sizes[i].is_number_integer() || sizes[i] < 0 || sizes[i] > kMaxSize)
      call.fail("the sizes of the parts must be given");
    const auto next = checked_add(end, sizes[i].get<std::int64_t>());
    if (!next) call.fail("the parts are too large");
    end = *next;
    if (i + 1 < sizes.size()) out.push_back(end);
  }
  return out;
}

Json pad(const TfCall& call) {
  const Json given = call.argument("mode", "CONSTANT");
  if (!given.is_string()) call.fail("expected a word as the mode");
  std::string mode = given.get<std::string>();
  std::transform(mode.begin(), mode.end(), mode.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c; });
  if (holds_tensor(call.argument("paddings"))) call.fail("'paddings' are known only when the model runs");
  const Json value = call.argument("constant_values", 0);
  return operation(kNumpy, "Pad", call.name, {{"pad_width", call.argument("paddings")}, {"mode", mode}},
                   Json::array({call.first}),
                   mode == "constant" && value != 0 ? Json{{"constant_values", value}} : Json::object());
}

std::vector<Json> add_all(const TfCall& call, const std::function<std::string(const std::string&)>& fresh) {
  if (!call.first.is_array() || call.first.size() < 2) call.fail("expected a list of two tensors or more");
  std::vector<Json> out;
  Json sum = call.first[0];
  for (std::size_t i = 1; i < call.first.size(); ++i) {
    const std::string name = i + 1 == call.first.size() ? call.name : fresh(call.name + "_sum");
    out.push_back(operation(kNumpy, "Add", name, Json::object(), Json::array({sum, call.first[i]})));
    sum = tensor_of(out.back());
  }
  return out;
}

}  // namespace

std::vector<Json> OperationTranslator::matmul(const TfCall& call) {
  for (const char* key : {"adjoint_a", "adjoint_b", "a_is_sparse", "b_is_sparse", "grad_a", "grad_b"})
    call.only(key, false);
  call.only("output_type", nullptr);
  std::vector<Json> out;
  const auto side = [&](const Json& value, const char* flag) {
    if (value.is_null()) call.fail("the argument 'b' is missing");
    if (call.argument(flag) != true) return as_argument(value);
    out.push_back(operation(kNumpy, "Swapaxes", fresh_name(call.name + "_" + flag), {{"axis1", -2}, {"axis2", -1}},
                            Json::array({as_argument(value)})));
    return tensor_of(out.back());
  };
  const Json a = side(call.first, "transpose_a"), b = side(call.argument("b"), "transpose_b");
  out.push_back(operation(kNumpy, "Matmul", call.name, Json::object(), Json::array({a, b})));
  return out;
}

Json OperationTranslator::reshape(const TfCall& call) const {
  Json shape = call.argument("shape");
  if (!shape.is_array()) shape = Json::array({shape});
  int unknown = 0;
  bool keeps_batch = false;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (is_keras_tensor(shape[i])) {
      const auto length = length_of(shape[i]);
      if (!length || !length->axis) call.fail("a dimension is computed when the model runs; give it as a number or -1");
      keeps_batch = keeps_batch || (i == 0 && *length->axis == 0);
      shape[i] = -1;
    }
    if (!shape[i].is_number_integer()) call.fail("expected a list of integers");
    if (shape[i] == -1) ++unknown;
  }
  if (unknown <= 1) return operation(kNumpy, "Reshape", call.name, {{"newshape", shape}}, Json::array({call.first}));
  if (!keeps_batch || unknown > 2) call.fail("more than one dimension is known only when the model runs");
  // The layer keeps the batch axis, so that one more size can be unknown.
  shape.erase(shape.begin());
  Json layer = operation("keras.layers", "Reshape", call.name,
                         {{"trainable", true}, {"dtype", DTypePolicy().json()}, {"target_shape", shape}},
                         Json::array({call.first}));
  layer["registered_name"] = nullptr;
  return layer;
}

/// Translates functions without a direct equivalent; returns an empty list for all others.
std::vector<Json> OperationTranslator::special(const TfCall& call) {
  const std::string& f = call.function;
  const Json x = Json::array({call.first});
  if (f == "__operators__.getitem") {
    const Json spec = call.argument("slice_spec");
    if (holds_tensor(spec)) call.fail("a subscript must be known before the model runs");
    return {operation(kNumpy, "GetItem", call.name, Json::object(), Json::array({call.first, subscripts(spec)}))};
  }
  if (f == "transpose") {
    call.only("conjugate", false);
    return {operation(kNumpy, "Transpose", call.name, {{"axes", call.argument("perm")}}, x)};
  }
  if (f == "linalg.matmul") return matmul(call);
  if (f == "math.squared_difference") {
    Json difference = operation(kNumpy, "Subtract", fresh_name(call.name + "_difference"), Json::object(),
                                Json::array({as_argument(call.first), as_argument(call.argument("y"))}));
    Json square = operation(kNumpy, "Square", call.name, Json::object(), Json::array({tensor_of(difference)}));
    return {std::move(difference), std::move(square)};
  }
  if (f == "math.add_n") return add_all(call, [this](const std::string& name) { return fresh_name(name); });
  if (f == "split")
    return {operation(kNumpy, "Split", call.name,
                      {{"indices_or_sections", sections_of(call)}, {"axis", call.argument("axis", 0)}}, x)};
  if (f == "pad") return {pad(call)};
  if (f == "gather") {
    call.only("batch_dims", 0);
    return {operation(kNumpy, "Take", call.name, {{"axis", call.argument("axis", 0)}},
                      Json::array({call.first, as_argument(call.argument("indices"))}))};
  }
  if (f == "one_hot") {
    call.only("on_value", 1.0);
    call.only("off_value", 0.0);
    return {operation(kNn, "OneHot", call.name,
                      {{"num_classes", call.argument("depth")},
                       {"axis", call.argument("axis", -1)},
                       {"dtype", call.argument("dtype", "float32")},
                       {"sparse", false}},
                      x)};
  }
  if (f == "math.argmax" || f == "math.argmin")
    return {operation(kNumpy, f == "math.argmax" ? "Argmax" : "Argmin", call.name,
                      {{"axis", call.argument("axis", 0)}, {"keepdims", false}}, x)};
  if (f == "math.cumsum") {
    call.only("exclusive", false);
    call.only("reverse", false);
    return {operation(kNumpy, "Cumsum", call.name, {{"axis", call.argument("axis", 0)}, {"dtype", nullptr}}, x)};
  }
  if (f == "math.l2_normalize") {
    // TensorFlow limits the sum of squares by epsilon, keras.ops the norm.
    call.only("epsilon", 1e-12);
    return {
        operation(kNn, "Normalize", call.name, {{"axis", call.argument("axis")}, {"order", 2}, {"epsilon", 1e-6}}, x)};
  }
  if (f == "reshape") return {reshape(call)};
  return {};
}

}  // namespace attn::keras
