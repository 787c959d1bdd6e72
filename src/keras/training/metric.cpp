// Metrics (keras/src/metrics).
#include "training/metric.h"

#include <algorithm>
#include <array>

#include "attn/base/size.h"
#include "attn/base/text.h"
#include "config/bounded_fields.h"
#include "training/ranks.h"
#include "training/reduction.h"

namespace attn::keras {

using graph::BinaryFn;
using graph::Builder;
using graph::ReduceFn;
using graph::ValueId;

namespace {

/// The index of the largest element of the last axis.
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

/// The accuracy that the word stands for with these shapes (keras/src/trainers/compile_utils.py).
std::string_view accuracy_for(const Shape& truth, const Shape& pred) {
  if (pred.rank() > 0 && pred.back() == 1) return "BinaryAccuracy";
  const bool sparse = truth.rank() < pred.rank() || (truth.rank() > 0 && truth.back() == 1);
  return sparse ? "SparseCategoricalAccuracy" : "CategoricalAccuracy";
}

/// The result of a metric: values to average, or sums.
struct Made {
  ValueId values = graph::kNone;                       ///< one for each prediction
  ValueId total = graph::kNone, count = graph::kNone;  ///< instead of values
};

/// The fields of metrics that are not losses, with Keras's defaults.
struct MetricFields {
  double threshold = 0.5, thresholds = 0.5;
  std::int64_t k = 5, num_thresholds = 200;
  bool from_logits = false, precision_recall = false;
};

/// The inputs of a metric.
struct Asked {
  Builder& b;
  const MetricFields& told;
  ValueId y_true, y_pred;
  std::optional<ValueId> mask, weights;
};

// ---- The fields of a class, each checked while it is read.

using ReadFields = void (*)(Fields&, MetricFields&);

/// Fields for which only the neutral value is supported: null, or false.
void expect_none(Fields& f, std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys)
    if (const auto ref = f.take(key); ref && !ref->is_null() && ref->json() != Json(false))
      ref->fail(fmt::format("the field {} is not known in training", key));
}

void no_fields(Fields&, MetricFields&) {}

void one_threshold(Fields& f, MetricFields& told) { number(f, "threshold", told.threshold, kFinite); }

void all_thresholds(Fields& f, MetricFields& told) {
  const auto ref = f.take("thresholds");
  if (!ref || ref->is_null()) return;
  if (ref->is_array()) ref->fail("a list of thresholds is not known in training, and one number is");
  told.thresholds = number_in(*ref, kFromZeroToOne);
}

void thresholds_of_classes(Fields& f, MetricFields& told) {
  all_thresholds(f, told);
  expect_none(f, {"top_k", "class_id"});
}

void largest(Fields& f, MetricFields& told) {
  integer(f, "k", told.k, 1, kMaxSize);
  expect_none(f, {"from_sorted_ids"});
}

void curve(Fields& f, MetricFields& told) {
  constexpr std::int64_t kMostThresholds = 1'000'000;
  expect_none(f, {"multi_label", "num_labels", "label_weights", "thresholds"});
  integer(f, "num_thresholds", told.num_thresholds, 2, kMostThresholds);
  f("from_logits", told.from_logits);
  Choice method{"interpolation", {"interpolation"}}, kind{"ROC", {"ROC", "PR", "roc", "pr"}};
  f("summation_method", method);
  f("curve", kind);
  told.precision_recall = kind.value == "PR" || kind.value == "pr";
}

// ---- The computation of each class.

/// Whether the target's score is among the k largest, by counting larger ones (tf.math.in_top_k).
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
  const ValueId is_among = b.binary(BinaryFn::less, count, b.scalar_like(count, static_cast<double>(asked.told.k)));
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

/// Targets, predictions and weights, flattened to one for each prediction.
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

/// One entry of the confusion matrix at a threshold: kTruth and kPrediction select it.
template <bool kTruth, bool kPrediction>
ValueId confused(Builder& b, const Flat& of, ValueId above) {
  const auto side = [&](ValueId x, bool as_is) {
    return as_is ? x : b.binary(BinaryFn::subtract, b.scalar_like(x, 1.0), x);
  };
  const ValueId both = b.binary(BinaryFn::multiply, side(of.truth, kTruth), side(above, kPrediction));
  return sum_of_all(b, b.binary(BinaryFn::multiply, both, of.weights));
}

ValueId above_threshold(const Asked& asked, const Flat& of) {
  const ValueId threshold = asked.b.scalar_like(of.pred, asked.told.thresholds);
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

/// The confusion matrix at thresholds i/(T − 1); the first accepts everything.
Made area(const Asked& asked) {
  Builder& b = asked.b;
  const Dim thresholds = asked.told.num_thresholds;
  Flat of = flat(asked);
  if (asked.told.from_logits) of.pred = b.unary(graph::UnaryFn::sigmoid, of.pred);
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

Made binary(const Asked& asked) { return {binary_accuracy(asked.b, asked.y_true, asked.y_pred, asked.told.threshold)}; }
Made categorical(const Asked& asked) { return {categorical_accuracy(asked.b, asked.y_true, asked.y_pred)}; }
Made sparse_categorical(const Asked& asked) {
  return {sparse_categorical_accuracy(asked.b, asked.y_true, asked.y_pred)};
}

/// A metric that is not a loss.
struct MetricClass {
  std::string_view name;
  ReadFields fields;
  Made (*make)(const Asked& asked);
  MetricKind kind = MetricKind::ratio;
  bool up = true;
};

constexpr std::array kMetrics = {
    MetricClass{"BinaryAccuracy", one_threshold, binary},
    MetricClass{"CategoricalAccuracy", no_fields, categorical},
    MetricClass{"SparseCategoricalAccuracy", no_fields, sparse_categorical},
    MetricClass{"TopKCategoricalAccuracy", largest, categorical_top_k},
    MetricClass{"SparseTopKCategoricalAccuracy", largest, sparse_top_k},
    MetricClass{"Precision", thresholds_of_classes, precision},
    MetricClass{"Recall", thresholds_of_classes, recall},
    MetricClass{"TruePositives", all_thresholds, one_count<true, true>, MetricKind::sum},
    MetricClass{"TrueNegatives", all_thresholds, one_count<false, false>, MetricKind::sum},
    MetricClass{"FalsePositives", all_thresholds, one_count<false, true>, MetricKind::sum, false},
    MetricClass{"FalseNegatives", all_thresholds, one_count<true, false>, MetricKind::sum, false},
    MetricClass{"AUC", curve, area, MetricKind::roc},
};

/// The class, from a class name or its snake case; null if it is a loss or unknown.
const MetricClass* class_of(std::string_view name, const Shape& truth, const Shape& pred) {
  if (name == "accuracy" || name == "acc" || name == "Accuracy") name = accuracy_for(truth, pred);
  for (const MetricClass& row : kMetrics)
    if (name == row.name || name == snake_case(row.name)) return &row;
  return nullptr;
}

/// The fields of an object; for a name, Keras's defaults.
MetricFields fields_of(const MetricClass& row, const Ref& ref, std::string& name) {
  MetricFields told;
  const auto config = ref.is_object() ? ref.find("config") : std::nullopt;
  if (!config) return told;
  std::vector<std::string> warnings;
  Fields fields(*config, warnings);
  fields.ignored({"dtype", "fn"});
  fields("name", name);
  row.fields(fields, told);
  fields.check_keys();
  return told;
}

/// Converts a metric's object to that of the loss that it averages.
Json as_loss(const Ref& ref, bool is_root, std::string& name) {
  if (!ref.is_object()) return is_root ? Json("mse") : ref.json();
  Json loss = ref.json();
  if (const auto config = ref.find("config")) {
    if (const auto given = config->find("name"); given && !given->is_null()) name = given->text();
    for (const char* key : {"name", "dtype", "fn"}) loss["config"].erase(key);
  }
  return is_root ? Json("mse") : loss;
}

}  // namespace

bool is_known_function(std::string_view name) { return loss_class(name) || class_of(name, {}, {}) != nullptr; }

LossGraph::Metric metric(Builder& b, const Ref& ref, ValueId y_true, ValueId y_pred, std::optional<ValueId> mask,
                         std::optional<ValueId> weights) {
  if (!ref.is_object() && !ref.is_string()) ref.fail("expected the name of a metric, or its object, got " + ref.kind());
  const std::string name = ref.is_object() ? ref["class_name"].text() : ref.text();
  if (name == "function") {
    // A function of Keras is stored as a name; a custom function is code that no file contains.
    const Ref function = ref["config"];
    if (!function.is_string() || !is_known_function(function.text()))
      ref.fail("a metric that is a function of its own is in no file");
    return metric(b, function, y_true, y_pred, mask, weights);
  }
  LossGraph::Metric out;
  out.name = ref.is_object() ? snake_case(name) : name;
  ValueId values = graph::kNone;
  if (const MetricClass* const row = class_of(name, b.shape(y_true), b.shape(y_pred))) {
    const MetricFields told = fields_of(*row, ref, out.name);
    const Made made = row->make({b, told, y_true, y_pred, mask, weights});
    out.kind = row->kind;
    out.up = row->up;
    if (told.precision_recall) out.kind = MetricKind::precision_recall;
    values = made.values;
    if (values == graph::kNone) {
      out.total = made.total;
      out.count = made.count;
      return out;
    }
  } else {
    const bool is_root = name == "RootMeanSquaredError" || name == "root_mean_squared_error";
    if (is_root) out.kind = MetricKind::root;
    const Document document("metric", as_loss(ref, is_root, out.name));
    const LossPtr loss = read_loss(Ref(document), b.shape(y_pred), b.shape(y_true));
    LossCall call(b, y_true, y_pred);
    if (loss->labels() == Labels::classes) {
      if (!is_integer(b.dtype(y_true))) call.y_true = b.cast(y_true, DType::int32);
    } else {
      call.y_true = b.cast(y_true, b.dtype(y_pred));
    }
    match_ranks(call);
    values = loss->values(call);
    // The loss is smallest, and the metric largest, if two directions agree.
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
