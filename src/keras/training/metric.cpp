// After keras/src/metrics.
#include "training/metric.h"

#include <algorithm>
#include <array>

#include "attn/base/text.h"
#include "training/ranks.h"
#include "training/reduction.h"

namespace attn::keras {

using graph::BinaryFn;
using graph::Builder;
using graph::ReduceFn;
using graph::ValueId;

namespace {

/// Of the largest of the last axis.
ValueId argmax(Builder& b, ValueId x) { return b.apply(graph::Reduce{ReduceFn::argmax, {b.shape(x).rank() - 1}}, {x}); }

ValueId agree(Builder& b, ValueId x, ValueId y, DType dtype) {
  return b.cast(b.binary(BinaryFn::equal, x, b.cast(y, b.dtype(x))), dtype);
}

ValueId binary_accuracy(Builder& b, ValueId y_true, ValueId y_pred, double threshold) {
  LossCall call(b, b.cast(y_true, b.dtype(y_pred)), y_pred);
  match_ranks(call);
  const ValueId above = b.binary(BinaryFn::greater, call.y_pred, b.scalar_like(call.y_pred, threshold));
  return agree(b, call.y_true, above, b.dtype(y_pred));
}

ValueId categorical_accuracy(Builder& b, ValueId y_true, ValueId y_pred) {
  return agree(b, argmax(b, y_true), argmax(b, y_pred), b.dtype(y_pred));
}

ValueId sparse_categorical_accuracy(Builder& b, ValueId y_true, ValueId y_pred) {
  const Shape truth = b.shape(y_true), pred = b.shape(y_pred);
  if (truth.rank() == pred.rank() && truth.back() == 1) y_true = b.reshape(y_true, truth.slice(0, truth.rank() - 1));
  return agree(b, argmax(b, y_pred), y_true, b.dtype(y_pred));
}

/// Which accuracy the word means for these shapes (keras/src/trainers/compile_utils.py).
std::string_view accuracy_for(const Shape& truth, const Shape& pred) {
  if (pred.rank() > 0 && pred.back() == 1) return "BinaryAccuracy";
  const bool sparse = truth.rank() < pred.rank() || (truth.rank() > 0 && truth.back() == 1);
  return sparse ? "SparseCategoricalAccuracy" : "CategoricalAccuracy";
}

constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kAccuracies = {
    {{"binary_accuracy", "BinaryAccuracy"},
     {"categorical_accuracy", "CategoricalAccuracy"},
     {"sparse_categorical_accuracy", "SparseCategoricalAccuracy"},
     {"root_mean_squared_error", "RootMeanSquaredError"}}};

/// The class, from a name of a class or a function; "" for one that is a loss, or is not known.
std::string_view class_of(std::string_view name, const Shape& truth, const Shape& pred) {
  if (name == "accuracy" || name == "acc" || name == "Accuracy") return accuracy_for(truth, pred);
  for (const auto& [function, class_name] : kAccuracies)
    if (name == function || name == class_name) return class_name;
  return "";
}

}  // namespace

LossGraph::Metric metric(Builder& b, const Ref& ref, ValueId y_true, ValueId y_pred, std::optional<ValueId> mask,
                         std::optional<ValueId> weights) {
  const Json config = ref.is_object() ? ref.json().value("config", Json::object()) : Json::object();
  const Json& told = ref.is_object() ? ref["class_name"].json() : ref.json();
  if (!told.is_string()) ref.fail("expected the name of a metric, or its object");
  const std::string name = told.get<std::string>();
  if (name == "function") ref.fail("a metric that is a function of its own is in no file");
  LossGraph::Metric out;
  out.name = name;
  if (ref.is_object()) out.name = config.value("name", snake_case(name));
  const std::string_view class_name = class_of(name, b.shape(y_true), b.shape(y_pred));
  ValueId values = graph::kNone;
  if (class_name == "BinaryAccuracy") {
    values = binary_accuracy(b, y_true, y_pred, config.value("threshold", 0.5));
  } else if (class_name == "CategoricalAccuracy") {
    values = categorical_accuracy(b, y_true, y_pred);
  } else if (class_name == "SparseCategoricalAccuracy") {
    values = sparse_categorical_accuracy(b, y_true, y_pred);
  } else {
    out.root = class_name == "RootMeanSquaredError";
    Json loss = out.root ? Json("mse") : ref.json();
    if (loss.is_object()) {
      for (const char* key : {"name", "dtype", "fn"}) loss["config"].erase(key);
    }
    const Document document("metric", loss);
    const LossPtr as_loss = read_loss(Ref(document), b.shape(y_pred), b.shape(y_true));
    LossCall call(b, y_true, y_pred);
    if (as_loss->labels() == Labels::classes) {
      if (!is_integer(b.dtype(y_true))) call.y_true = b.cast(y_true, DType::int32);
    } else {
      call.y_true = b.cast(y_true, b.dtype(y_pred));
    }
    match_ranks(call);
    values = as_loss->values(call);
  }
  if (mask) weights = combined_weights(b, values, weights, *mask);
  if (weights) {
    const ValueId fitted = fitted_weights(b, b.cast(*weights, b.dtype(values)), values, "the sample weights");
    out.total = sum_of_all(b, b.binary(BinaryFn::multiply, values, fitted));
    out.count = sum_of_all(b, fitted);
  } else {
    out.total = sum_of_all(b, values);
    out.count = b.apply(graph::Fill{{}, b.dtype(values), static_cast<double>(b.shape(values).size())}, {});
  }
  return out;
}

}  // namespace attn::keras
