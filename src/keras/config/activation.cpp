#include "config/activation.h"

#include <array>

#include "attn/base/text.h"
#include "config/activated.h"
#include "config/any_number.h"
#include "config/foreign_class.h"

namespace attn::keras {
namespace {

using graph::UnaryFn;

struct NamedActivation {
  std::string_view name;
  Since since;
  graph::Unary unary;
  WholeActivation whole = WholeActivation::none;
};

// The functions of keras/src/activations/activations.py, with their default arguments.
const std::array kActivations = {
    NamedActivation{"linear", 300, {UnaryFn::linear}},
    NamedActivation{"relu", 300, {UnaryFn::relu, 0.0, 0.0, kInfinity}},
    NamedActivation{"relu6", 300, {UnaryFn::relu, 0.0, 0.0, 6.0}},
    NamedActivation{"leaky_relu", 300, {UnaryFn::relu, 0.2, 0.0, kInfinity}},
    NamedActivation{"elu", 300, {UnaryFn::elu, 1.0}},
    NamedActivation{"selu", 300, {UnaryFn::selu}},
    NamedActivation{"celu", 307, {UnaryFn::celu, 1.0}},
    NamedActivation{"gelu", 300, {UnaryFn::gelu}},
    NamedActivation{"silu", 300, {UnaryFn::silu}},
    NamedActivation{"sigmoid", 300, {UnaryFn::sigmoid}},
    NamedActivation{"tanh", 300, {UnaryFn::tanh}},
    NamedActivation{"softplus", 300, {UnaryFn::softplus}},
    NamedActivation{"softsign", 300, {UnaryFn::softsign}},
    NamedActivation{"exponential", 300, {UnaryFn::exponential}},
    NamedActivation{"hard_sigmoid", 300, {UnaryFn::hard_sigmoid}},
    NamedActivation{"hard_silu", 300, {UnaryFn::hard_silu}},
    NamedActivation{"hard_tanh", 307, {UnaryFn::hard_tanh}},
    NamedActivation{"hard_shrink", 307, {UnaryFn::hard_shrink, 0.5}},
    NamedActivation{"soft_shrink", 307, {UnaryFn::soft_shrink, 0.5}},
    NamedActivation{"tanh_shrink", 307, {UnaryFn::tanh_shrink}},
    NamedActivation{"mish", 300, {UnaryFn::mish}},
    NamedActivation{"squareplus", 307, {UnaryFn::squareplus, 4.0}},
    NamedActivation{"sparse_plus", 308, {UnaryFn::sparse_plus}},
    NamedActivation{"sparse_sigmoid", 310, {UnaryFn::sparse_sigmoid}},
    NamedActivation{"log_sigmoid", 307, {UnaryFn::log_sigmoid}},
    NamedActivation{"softmax", 300, {}, WholeActivation::softmax},
    NamedActivation{"log_softmax", 300, {}, WholeActivation::log_softmax},
    NamedActivation{"sparsemax", 308, {}, WholeActivation::sparsemax},
    NamedActivation{"glu", 307, {}, WholeActivation::glu},
};

// Alternative names that Keras accepts; it serializes the name of the function.
constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kAliases = {
    {{"swish", "silu"}, {"hard_swish", "hard_silu"}, {"exp", "exponential"}}};

const NamedActivation* find(std::string_view name) {
  for (const auto& [alias, real] : kAliases)
    if (name == alias) name = real;
  for (const NamedActivation& row : kActivations)
    if (row.name == name) return &row;
  return nullptr;
}

std::vector<std::string_view> names() {
  std::vector<std::string_view> out;
  for (const NamedActivation& row : kActivations) out.push_back(row.name);
  return out;
}

double number_or(const Ref& config, std::string_view key, double missing) {
  const auto value = config.find(key);
  return !value || value->is_null() ? missing : value->number();
}

/// Returns the upper bound of a ReLU, which may be null or infinite.
double upper_bound(const Ref& config) {
  const auto value = config.find("max_value");
  return !value || value->is_null() ? kInfinity : any_number(*value);
}

/// Reads an activation layer that a config has in place of a function: {"class_name": "LeakyReLU", "config": {…}}.
std::optional<Activation> of_layer(const std::string& class_name, const Ref& config) {
  Activation out;
  if (class_name == "ReLU") {
    out.unary = {UnaryFn::relu, number_or(config, "negative_slope", 0.0), number_or(config, "threshold", 0.0),
                 upper_bound(config)};
  } else if (class_name == "LeakyReLU") {
    out.unary = {UnaryFn::relu, number_or(config, "negative_slope", 0.3), 0.0, kInfinity};
  } else if (class_name == "ELU") {
    out.unary = {UnaryFn::elu, number_or(config, "alpha", 1.0)};
  } else if (class_name == "Softmax") {
    if (const auto axis = config.find("axis"); axis && axis->json() != Json(-1) && axis->json() != Json::array({-1}))
      axis->fail("a Softmax can be an activation only over the last axis");
    out.whole = WholeActivation::softmax;
  } else if (class_name == "Activation") {
    return Activation::read(config["activation"]);
  } else {
    return std::nullopt;
  }
  return out;
}

}  // namespace

Version Activation::since(std::string_view name) {
  const NamedActivation* row = find(name);
  return row == nullptr ? kOldest : row->since.version;
}

std::optional<Activation> Activation::named(std::string_view name) {
  const NamedActivation* row = find(name);
  return row == nullptr ? std::nullopt : std::optional(Activation{row->whole, row->unary, std::string(row->name)});
}

Activation Activation::read(const Ref& ref) {
  if (ref.is_null()) return *named("linear");
  if (ref.is_string() && ref.text() == kKeras2HardSigmoid && ref.document().is_keras2())
    return {WholeActivation::none, {UnaryFn::hard_sigmoid, 2.5}, std::string(kKeras2HardSigmoid)};
  if (ref.is_string()) {
    if (auto found = named(ref.text())) return *found;
    ref.fail(fmt::format("unknown activation '{}'{}", printable(ref.text()), did_you_mean(ref.text(), names())));
  }
  if (!ref.is_object()) ref.fail("expected the name of an activation, got " + ref.kind());
  if (is_lambda(ref)) ref.fail(kLambdaRefusal);
  const std::string& class_name = ref["class_name"].text();
  if (class_name == "function") {
    // Accepts a Python function under its registered name, if its formula is known.
    const Ref function = ref["config"];
    std::optional<Activation> out;
    if (function.is_string()) {
      const std::string& name = function.text();
      if (name == "keras_hub>gelu_approximate" || name == "gelu_approximate") {
        out = Activation{WholeActivation::none, {UnaryFn::gelu_tanh}, {}};
      } else {
        out = named(name);
      }
    }
    if (!out) function.fail("the function " + function.kind() + " is not known; functions in a config are never run");
    out->json = ref.json();
    return *out;
  }
  if (auto out = of_layer(class_name, ref["config"])) {
    out->json = ref.json();
    return *out;
  }
  ref["class_name"].fail(fmt::format("'{}' cannot be an activation", printable(class_name)));
}

graph::ValueId Activation::apply(graph::Builder& builder, graph::ValueId x) const {
  const int last = builder.shape(x).rank() - 1;
  switch (whole) {
    case WholeActivation::none:
      return is_linear() ? x : activated(builder, unary, x);
    case WholeActivation::softmax:
      return builder.apply(graph::Softmax{graph::SoftmaxKind::softmax, {last}}, {x});
    case WholeActivation::log_softmax:
      return builder.apply(graph::Softmax{graph::SoftmaxKind::log_softmax, {last}}, {x});
    case WholeActivation::sparsemax:
      return builder.apply(graph::Softmax{graph::SoftmaxKind::sparsemax, {last}}, {x});
    case WholeActivation::glu: {
      const Dim size = builder.shape(x)[last];
      if (size == kUnknown || size % 2 != 0) throw bad_input("glu halves the last axis, which is {}", size);
      graph::Slice first, second;
      first.ranges.resize(static_cast<std::size_t>(last) + 1);
      second.ranges.resize(static_cast<std::size_t>(last) + 1);
      first.ranges.back() = {0, size / 2, 1};
      second.ranges.back() = {size / 2, size, 1};
      const auto gate = builder.unary(UnaryFn::sigmoid, builder.apply(second, {x}));
      return builder.binary(graph::BinaryFn::multiply, builder.apply(first, {x}), gate);
    }
  }
  throw internal_error("activation without a lowering");
}

}  // namespace attn::keras
