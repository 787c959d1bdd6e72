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

/// What a metric is made of: values that are averaged, or sums.
struct Made {
  ValueId values = graph::kNone;                       ///< one for each prediction
  ValueId total = graph::kNone, count = graph::kNone;  ///< in place of values
};

/// What a metric is asked about.
struct Asked {
  Builder& b;
  const Json& config;  ///< the fields of its object
  ValueId y_true, y_pred;
  std::optional<ValueId> mask, weights;
  const Ref& ref;  ///< for messages

  [[nodiscard]] double number(const char* key, double otherwise) const {
    if (!config.contains(key) || config[key].is_null()) return otherwise;
    if (!config[key].is_number()) ref.fail(fmt::format("the field {} is a list, and one number is known", key));
    return config[key].get<double>();
  }
  void expect_none(std::initializer_list<const char*> keys) const {
    for (const char* key : keys)
      if (config.contains(key) && !config[key].is_null() && config[key] != Json(false))
        ref.fail(fmt::format("the field {} is not known in training", key));
  }
};

/// Of the target's score, how many are larger: is it among the k largest (tf.math.in_top_k)?
Made top_k(const Asked& asked, ValueId classes) {
  Builder& b = asked.b;
  const Shape shape = b.shape(asked.y_pred);
  const ValueId columns = b.apply(graph::Iota{{shape.back()}, b.dtype(classes), 0}, {});
  const ValueId is_target = b.binary(BinaryFn::equal, b.expand_dims(classes, -1), columns);
  const ValueId own = b.apply(graph::Select{}, {is_target, asked.y_pred, b.scalar_like(asked.y_pred, 0.0)});
  const auto over_classes = [&](ValueId x, bool keeps) {
    return b.apply(graph::Reduce{ReduceFn::sum, {shape.rank() - 1}, keeps}, {x});
  };
  const ValueId larger =
      b.cast(b.binary(BinaryFn::greater, asked.y_pred, over_classes(own, true)), b.dtype(asked.y_pred));
  const ValueId count = over_classes(larger, false);
  const ValueId is_among = b.binary(BinaryFn::less, count, b.scalar_like(count, asked.number("k", 5.0)));
  return {b.cast(is_among, b.dtype(asked.y_pred))};
}

Made sparse_top_k(const Asked& asked) {
  Builder& b = asked.b;
  ValueId classes = asked.y_true;
  const Shape truth = b.shape(classes);
  if (truth.rank() == b.shape(asked.y_pred).rank() && truth.back() == 1)
    classes = b.reshape(classes, truth.slice(0, truth.rank() - 1));
  return top_k(asked, b.cast(classes, DType::int32));
}

Made categorical_top_k(const Asked& asked) { return top_k(asked, argmax(asked.b, asked.y_true)); }

/// Targets, predictions and weights, one for each prediction.
struct Flat {
  ValueId truth, pred, weights;
};

Flat flat(const Asked& asked) {
  Builder& b = asked.b;
  LossCall call(b, b.cast(asked.y_true, b.dtype(asked.y_pred)), asked.y_pred);
  match_ranks(call);
  const ValueId ones = b.apply(graph::Fill{b.shape(call.y_pred), b.dtype(call.y_pred), 1.0}, {});
  ValueId weights = ones;
  for (const auto& factor : {asked.mask, asked.weights}) {
    if (!factor) continue;
    ValueId given = b.cast(*factor, b.dtype(ones));
    while (b.shape(given).rank() < b.shape(ones).rank()) given = b.expand_dims(given, -1);
    weights = b.binary(BinaryFn::multiply, weights, given);
  }
  const ValueId truth = b.binary(BinaryFn::not_equal, call.y_true, b.scalar_like(call.y_true, 0.0));
  return {b.cast(truth, b.dtype(ones)), call.y_pred, weights};
}

/// Which parts of the confusion matrix are the total and the count of a metric at one threshold.
template <bool kTruth, bool kPrediction>
ValueId confused(Builder& b, const Flat& of, ValueId above) {
  const auto side = [&](ValueId x, bool as_is) {
    return as_is ? x : b.binary(BinaryFn::subtract, b.scalar_like(x, 1.0), x);
  };
  const ValueId both = b.binary(BinaryFn::multiply, side(of.truth, kTruth), side(above, kPrediction));
  return sum_of_all(b, b.binary(BinaryFn::multiply, both, of.weights));
}

ValueId above_threshold(const Asked& asked, const Flat& of) {
  asked.expect_none({"top_k", "class_id"});
  const ValueId threshold = asked.b.scalar_like(of.pred, asked.number("thresholds", 0.5));
  return asked.b.cast(asked.b.binary(BinaryFn::greater, of.pred, threshold), asked.b.dtype(of.pred));
}

Made precision(const Asked& asked) {
  const Flat of = flat(asked);
  const ValueId above = above_threshold(asked, of), tp = confused<true, true>(asked.b, of, above);
  return {graph::kNone, tp, asked.b.binary(BinaryFn::add, tp, confused<false, true>(asked.b, of, above))};
}

Made recall(const Asked& asked) {
  const Flat of = flat(asked);
  const ValueId above = above_threshold(asked, of), tp = confused<true, true>(asked.b, of, above);
  return {graph::kNone, tp, asked.b.binary(BinaryFn::add, tp, confused<true, false>(asked.b, of, above))};
}

template <bool kTruth, bool kPrediction>
Made one_count(const Asked& asked) {
  const Flat of = flat(asked);
  const ValueId sum = confused<kTruth, kPrediction>(asked.b, of, above_threshold(asked, of));
  return {graph::kNone, sum, sum};
}

/// The confusion matrix at thresholds i/(T − 1), of which the first lets all through.
Made area(const Asked& asked) {
  Builder& b = asked.b;
  asked.expect_none({"multi_label", "label_weights"});
  for (const auto& [key, usual] : {std::pair("summation_method", "interpolation")})
    if (asked.config.contains(key) && asked.config[key] != usual)
      asked.ref.fail(fmt::format("the {} is not known in training but as '{}'", key, usual));
  const auto thresholds = static_cast<Dim>(asked.number("num_thresholds", 200.0));
  Flat of = flat(asked);
  if (asked.config.value("from_logits", false)) of.pred = b.unary(graph::UnaryFn::sigmoid, of.pred);
  const Dim size = b.shape(of.pred).size();
  const auto column = [&](ValueId x) { return b.reshape(x, {size, 1}); };
  const ValueId pred = b.unary(graph::UnaryFn::clip, column(of.pred), 0.0, 1.0);
  const ValueId place = b.binary(BinaryFn::multiply, pred, b.scalar_like(pred, static_cast<double>(thresholds - 1)));
  const ValueId index = b.apply(graph::Iota{{1, thresholds}, b.dtype(place), 1}, {});
  const ValueId first = b.binary(BinaryFn::equal, index, b.scalar_like(index, 0.0));
  const ValueId passes = b.binary(BinaryFn::logical_or, b.binary(BinaryFn::greater, place, index), first);
  const ValueId above = b.cast(passes, b.dtype(pred));  // (N,T)
  const ValueId below = b.binary(BinaryFn::subtract, b.scalar_like(above, 1.0), above);
  const ValueId weights = column(of.weights), truth = column(of.truth);
  const ValueId yes = b.binary(BinaryFn::multiply, truth, weights);
  const ValueId no = b.binary(BinaryFn::subtract, weights, yes);
  std::vector<ValueId> rows;
  for (const auto& [labels, side] : {std::pair(yes, above), {no, above}, {no, below}, {yes, below}})
    rows.push_back(b.apply(graph::Reduce{ReduceFn::sum, {0}, true}, {b.binary(BinaryFn::multiply, labels, side)}));
  const ValueId all = b.apply(graph::Concat{0}, rows);
  return {graph::kNone, all, all};
}

Made binary(const Asked& asked) {
  return {binary_accuracy(asked.b, asked.y_true, asked.y_pred, asked.number("threshold", 0.5))};
}
Made categorical(const Asked& asked) { return {categorical_accuracy(asked.b, asked.y_true, asked.y_pred)}; }
Made sparse_categorical(const Asked& asked) {
  return {sparse_categorical_accuracy(asked.b, asked.y_true, asked.y_pred)};
}

/// A metric that is no loss.
struct MetricClass {
  std::string_view name;
  Made (*make)(const Asked& asked);
  MetricKind kind = MetricKind::ratio;
  bool up = true;
};

constexpr std::array kMetrics = {
    MetricClass{"BinaryAccuracy", binary},
    MetricClass{"CategoricalAccuracy", categorical},
    MetricClass{"SparseCategoricalAccuracy", sparse_categorical},
    MetricClass{"TopKCategoricalAccuracy", categorical_top_k},
    MetricClass{"SparseTopKCategoricalAccuracy", sparse_top_k},
    MetricClass{"Precision", precision},
    MetricClass{"Recall", recall},
    MetricClass{"TruePositives", one_count<true, true>, MetricKind::sum},
    MetricClass{"TrueNegatives", one_count<false, false>, MetricKind::sum},
    MetricClass{"FalsePositives", one_count<false, true>, MetricKind::sum, false},
    MetricClass{"FalseNegatives", one_count<true, false>, MetricKind::sum, false},
    MetricClass{"AUC", area, MetricKind::roc},
};

/// The class, from a name of a class or the snake case of one; null for one that is a loss, or is not known.
const MetricClass* class_of(std::string_view name, const Shape& truth, const Shape& pred) {
  if (name == "accuracy" || name == "acc" || name == "Accuracy") name = accuracy_for(truth, pred);
  for (const MetricClass& row : kMetrics)
    if (name == row.name || name == snake_case(row.name)) return &row;
  return nullptr;
}

}  // namespace

bool is_known_function(std::string_view name) { return loss_class(name) || class_of(name, {}, {}) != nullptr; }

LossGraph::Metric metric(Builder& b, const Ref& ref, ValueId y_true, ValueId y_pred, std::optional<ValueId> mask,
                         std::optional<ValueId> weights) {
  const Json config = ref.is_object() ? ref.json().value("config", Json::object()) : Json::object();
  const Json& told = ref.is_object() ? ref["class_name"].json() : ref.json();
  if (!told.is_string()) ref.fail("expected the name of a metric, or its object");
  const std::string name = told.get<std::string>();
  if (name == "function") {
    // A function of Keras's own is a name; one that somebody wrote is code that no file holds.
    const Ref function = ref["config"];
    if (!function.is_string() || !is_known_function(function.text()))
      ref.fail("a metric that is a function of its own is in no file");
    return metric(b, function, y_true, y_pred, mask, weights);
  }
  LossGraph::Metric out;
  out.name = name;
  if (ref.is_object()) out.name = config.value("name", snake_case(name));
  ValueId values = graph::kNone;
  if (const MetricClass* const row = class_of(name, b.shape(y_true), b.shape(y_pred))) {
    const Made made = row->make({b, config, y_true, y_pred, mask, weights, ref});
    out.kind = row->kind;
    out.up = row->up;
    if (row->kind == MetricKind::roc && config.value("curve", "ROC") == "PR") out.kind = MetricKind::precision_recall;
    values = made.values;
    if (values == graph::kNone) {
      out.total = made.total;
      out.count = made.count;
      return out;
    }
  } else {
    const bool is_root = name == "RootMeanSquaredError" || name == "root_mean_squared_error";
    if (is_root) out.kind = MetricKind::root;
    Json loss = is_root ? Json("mse") : ref.json();
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
    // The loss is least where two directions agree, and the metric most.
    if (name == "CosineSimilarity" || name == "cosine_similarity") {
      values = b.unary(graph::UnaryFn::negative, values);
      out.up = true;
    }
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
