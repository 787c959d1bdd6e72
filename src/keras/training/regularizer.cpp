#include "training/regularizer.h"

#include "attn/base/text.h"
#include "config/bounded_fields.h"
#include "config/built_in.h"
#include "config/foreign_class.h"
#include "model/variables.h"
#include "training/layer_configs.h"
#include "training/reduction.h"

namespace attn::keras {

using graph::BinaryFn;
using graph::ReduceFn;
using graph::UnaryFn;
using graph::ValueId;

namespace {

ValueId scaled_sum(graph::Builder& b, UnaryFn fn, ValueId x, double factor) {
  const ValueId sum = sum_of_all(b, b.unary(fn, x));
  return b.binary(BinaryFn::multiply, sum, b.scalar_like(sum, factor));
}

/// Returns λ·½·Σ|ŵŵᵀ off its diagonal|/(n(n − 1)/2), where the rows (or columns) of ŵ have length 1.
ValueId orthogonal(graph::Builder& b, ValueId x, double factor, bool rows) {
  const Shape shape = b.shape(x);
  if (shape.rank() != 2) throw bad_input("an OrthogonalRegularizer takes a matrix, not {}", shape.str());
  constexpr double kEpsilon = 1e-7;
  const ValueId sums = b.apply(graph::Reduce{ReduceFn::sum, {rows ? 1 : 0}, true}, {b.unary(UnaryFn::square, x)});
  const ValueId root = b.unary(UnaryFn::rsqrt, sums);
  const ValueId unit =
      b.binary(BinaryFn::multiply, x, b.binary(BinaryFn::minimum, root, b.scalar_like(root, 1.0 / kEpsilon)));
  const ValueId products = b.apply(graph::MatMul{!rows, rows}, {unit, unit});
  const Dim n = shape[rows ? 0 : 1];
  const ValueId row = b.apply(graph::Iota{{n, 1}, DType::int32, 0}, {});
  const ValueId column = b.apply(graph::Iota{{1, n}, DType::int32, 1}, {});
  const ValueId off =
      b.apply(graph::Select{}, {b.binary(BinaryFn::equal, row, column), b.scalar_like(x, 0.0), products});
  const double pairs = static_cast<double>(n) * static_cast<double>(n - 1) / 2.0;
  return scaled_sum(b, UnaryFn::absolute, off, factor * 0.5 / pairs);
}

/// Returns a factor of a regularizer, whose arguments are already checked.
double factor_of(const Json& config, const char* key, double otherwise) {
  const double factor = config.value(key, otherwise);
  if (!kNotNegative.hold(factor))
    throw bad_input("the {} of a regularizer is {}, and training expects {}", key, factor, kNotNegative.expected);
  return factor;
}

}  // namespace

ValueId regularization(graph::Builder& b, ValueId x, const Json& regularizer) {
  const std::string name = regularizer.value("class_name", "");
  const Json given = regularizer.value("config", Json()), config = given.is_object() ? given : Json::object();
  if (name == "OrthogonalRegularizer")
    return orthogonal(b, x, factor_of(config, "factor", 0.01), config.value("mode", "rows") == "rows");
  if (name != "L1" && name != "L2" && name != "L1L2")
    throw bad_input("the regularizer '{}' is not supported in training", printable(object_name(regularizer)));
  const double l1 = factor_of(config, "l1", 0.0), l2 = factor_of(config, "l2", 0.0);
  ValueId sum = graph::kNone;
  if (l1 != 0.0) sum = scaled_sum(b, UnaryFn::absolute, x, l1);
  if (l2 != 0.0) {
    const ValueId squares = scaled_sum(b, UnaryFn::square, x, l2);
    sum = sum == graph::kNone ? squares : b.binary(BinaryFn::add, sum, squares);
  }
  return sum == graph::kNone ? b.scalar_like(x, 0.0) : sum;
}

namespace {

/// Returns the regularizer of a layer's outputs.
Json activity_regularizer(const Layer& layer, const Json& config) {
  const bool is_layer = layer.class_name() == "ActivityRegularization";
  const Document given("activity_regularizer",
                       is_layer ? Json{{"class_name", "L1L2"}, {"config", {{"l1", config["l1"]}, {"l2", config["l2"]}}}}
                                : config.value("activity_regularizer", Json()));
  try {
    return keras::regularizer(Ref(given));  // converts a name to an object
  } catch (const Error& error) {
    layer.fail(error.what());
  }
}

}  // namespace

std::vector<ValueId> regularizations(Functional& model, ModelLowering& lowering) {
  graph::Builder& b = lowering.builder();
  LayerConfigs configs;
  std::vector<ValueId> terms;
  const auto add = [&](const Layer& layer, ValueId x, const Json& regularizer, double divisor) {
    try {
      const ValueId term = regularization(b, x, regularizer);
      terms.push_back(divisor == 1.0 ? term : b.binary(BinaryFn::divide, term, b.scalar_like(term, divisor)));
    } catch (const Error& error) {
      layer.fail(error.what());
    }
  };
  visit_variables(model, [&](const Variable& variable) {
    if (!variable.spec().trainable) return;
    const Json* const regularizer = configs.of_variable(variable, "_regularizer");
    if (regularizer != nullptr) add(variable.layer, lowering.weight(variable.layer, variable.index), *regularizer, 1.0);
  });
  for (std::size_t i = 0; i < lowering.callees().size(); ++i) {
    const Layer& layer = *lowering.callees()[i];
    if (layer.is_operation() || layer.is_model()) continue;
    const Json regularizer = activity_regularizer(layer, configs.of(layer));
    if (regularizer.is_null()) continue;
    const std::vector<ValueId> outputs = b.graph().layers[i].outputs;
    for (const ValueId out : outputs)
      if (is_floating(b.dtype(out))) add(layer, out, regularizer, static_cast<double>(b.shape(out)[0]));
  }
  return terms;
}

}  // namespace attn::keras
