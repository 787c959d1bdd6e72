#include "training/lower_loss.h"

#include <algorithm>
#include <array>
#include <utility>

#include "attn/base/text.h"
#include "attn/keras/json_text.h"
#include "classes/reading.h"
#include "classes/training.h"
#include "config/bounded_fields.h"
#include "model/lower.h"
#include "model/variables.h"
#include "training/constraint.h"
#include "training/loss.h"
#include "training/metric.h"
#include "training/ranks.h"
#include "training/reduction.h"
#include "training/regularizer.h"

namespace attn::keras {

using graph::BinaryFn;
using graph::Builder;
using graph::ValueId;

namespace {

/// Returns Keras's names of the outputs: the keys of a dict, otherwise the names of the layers that computed them.
std::vector<std::string> output_names(const Functional& model, const graph::Graph& graph) {
  std::vector<std::string> names;
  for (const graph::Output& output : graph.outputs)
    names.push_back(model.output_struct.as<ArgDict>() == nullptr ? output.layer : output.name);
  return names;
}

/// The loss (or the loss weight) of each output. A config has one for all outputs, a list, or a dict by output.
class PerOutput {
 public:
  PerOutput(const Ref& ref, const std::vector<std::string>& names, std::string_view what) {
    const bool by_name = ref.is_object() && !ref.find("class_name");
    if (by_name) {
      for (const auto& [key, value] : ref.members()) {
        if (std::ranges::count(names, key) == 0)
          value.fail(fmt::format("the {} of '{}', which is not an output{}", what, printable(key),
                                 did_you_mean(key, std::span<const std::string>(names))));
      }
    } else if (ref.is_array() && ref.size() != names.size()) {
      ref.fail(fmt::format("{} {}s for {} outputs", ref.size(), what, names.size()));
    }
    for (std::size_t i = 0; i < names.size(); ++i) {
      std::optional<Ref> own = by_name ? ref.find(names[i]) : ref.is_array() ? ref[i] : ref;
      if (own && own->is_null()) own.reset();
      refs_.push_back(std::move(own));
    }
  }
  [[nodiscard]] const std::optional<Ref>& operator[](std::size_t i) const { return refs_[i]; }

 private:
  std::vector<std::optional<Ref>> refs_;
};

/// The maximum number of metrics, because each adds nodes to the graph.
constexpr std::size_t kMostMetrics = 1000;

/// The loss and the loss weights from compile_config.
struct ConfiguredLoss {
  Json loss, weights;
};

Json compile_config_of(const Functional& model, const LossOptions& options) {
  return options.compile_config ? parse_json_text(*options.compile_config, "compile_config")
                                : model.envelope.value("compile_config", Json());
}

ConfiguredLoss told(const Functional& model, const LossOptions& options, std::size_t outputs) {
  ConfiguredLoss out;
  const Json compiled = compile_config_of(model, options);
  if (compiled.is_object()) out.weights = compiled.value("loss_weights", Json());
  if (options.loss) {
    const std::string& text = *options.loss;
    const bool is_json = !text.empty() && (text[0] == '{' || text[0] == '[' || text[0] == '"');
    out.loss = is_json ? Document("loss", text).root() : Json(text);
  } else if (compiled.is_object()) {
    out.loss = compiled.value("loss", Json());
  }
  if (out.loss.is_null() && options.output) out.loss = "mean_squared_error";
  if (out.loss.is_null()) {
    out.loss = Json::array({"mean_squared_error"});
    out.loss.insert(out.loss.end(), outputs - 1, nullptr);
  }
  return out;
}

/// Returns the input of the softmax or sigmoid that computed `x`, if one did.
std::optional<ValueId> logits_of_probabilities(const graph::Graph& graph, ValueId x) {
  for (const graph::Node& node : graph.nodes) {
    if (node.outputs.front() != x) continue;
    const auto* softmax = std::get_if<graph::Softmax>(&node.op);
    const auto* unary = std::get_if<graph::Unary>(&node.op);
    const bool is_softmax = softmax != nullptr && softmax->kind == graph::SoftmaxKind::softmax;
    const bool is_sigmoid = unary != nullptr && unary->fn == graph::UnaryFn::sigmoid;
    if (is_softmax || is_sigmoid) return node.inputs[0];
  }
  return std::nullopt;
}

class LossLowering {
 public:
  /// `computed` is the dtype of losses and metrics.
  LossLowering(Functional& model, const LossOptions& options, DType computed, LossGraph& out, ModelLowering& lowering)
      : model_(model), options_(options), computed_(computed), out_(out), b_(lowering.builder()), lowering_(lowering) {}

  void run(const std::vector<TensorPtr>& outputs) {
    const std::vector<std::string> names = output_names(model_, out_.graph);
    const ConfiguredLoss said = told(model_, options_, names.size());
    const Document losses("loss", said.loss), weights("loss_weights", said.weights);
    const PerOutput loss(Ref(losses), names, "loss");
    const PerOutput weight(Ref(weights), names, "weight");
    ValueId total = graph::kNone;
    const auto add = [&](const std::string& name, ValueId value, double factor) {
      out_.terms.push_back({name, value});
      if (factor != 1.0) value = b_.binary(BinaryFn::multiply, value, b_.scalar_like(value, factor));
      total = total == graph::kNone ? value : b_.binary(BinaryFn::add, total, value);
    };
    // With several outputs, a single loss and a single target "y" belong to the first output.
    const bool one_of_many =
        options_.arrays.contains("y") && (said.loss.is_string() || said.loss.contains("class_name"));
    const auto has_loss = [&](std::size_t i) {
      if (options_.output && names[i] != *options_.output) return false;
      return loss[i] && (i == 0 || !one_of_many || options_.output);
    };
    if (const auto& only = options_.output; only && std::ranges::count(names, *only) == 0)
      throw bad_usage("the model has no output '{}'{}; its outputs are {}", printable(*only),
                      did_you_mean(*only, std::span<const std::string>(names)), printable(join(names, ", ")));
    std::size_t losses_given = 0;
    for (std::size_t i = 0; i < names.size(); ++i) losses_given += has_loss(i) ? 1 : 0;
    single_ = losses_given == 1;
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (!has_loss(i)) continue;
      const ValueId value = output_loss(*loss[i], names[i], *outputs[i]);
      add(names[i] + "_loss", value, weight[i] ? number_in(*weight[i], kFinite) : 1.0);
    }
    if (total == graph::kNone)
      Ref(losses).fail(options_.output ? fmt::format("the output '{}' has no loss", printable(*options_.output))
                                       : "no output has a loss");
    check_arrays(names);
    ValueId regularization = graph::kNone;
    for (const ValueId term : regularizations(model_, lowering_)) {
      const ValueId cast = b_.cast(term, b_.dtype(total));
      regularization = regularization == graph::kNone ? cast : b_.binary(BinaryFn::add, regularization, cast);
    }
    if (regularization != graph::kNone) add("regularization", regularization, 1.0);
    out_.loss = total;
    if (!options_.metrics) return;
    add_targets_without_loss(names, outputs);
    add_metrics(names);
  }

 private:
  /// Returns the name of an array of the data: "y" if only one output has a loss and the data has no array "y:price",
  /// otherwise "y:price".
  [[nodiscard]] std::string array_name(const std::string& what, const std::string& output) const {
    const std::string full = what + ":" + output;
    const bool has_full = options_.arrays.contains(full) && !options_.arrays.contains(what);
    return single_ && !has_full ? what : full;
  }

  /// Returns the type of the array, if the data has it.
  std::optional<graph::TensorType> given(const std::string& name) {
    const auto found = options_.arrays.find(name);
    if (found == options_.arrays.end()) return std::nullopt;
    used_.push_back(name);
    return found->second;
  }

  ValueId output_loss(const Ref& ref, const std::string& output, const KerasTensor& tensor) {
    const Shape predicted = b_.shape(tensor.id);
    if (!is_floating(b_.dtype(tensor.id)))
      ref.fail(fmt::format("the output '{}' holds integers, which have no loss", printable(output)));
    const std::string name = array_name("y", output);
    const auto type = given(name);
    const LossPtr loss = read_loss(ref, predicted, type ? std::optional(type->shape) : std::nullopt);
    if (loss->reduction.value_or("none") == "none")
      ref.fail(
          "the reduction 'none' leaves a number for each prediction; training needs 'sum_over_batch_size', 'sum' "
          "or 'mean_with_sample_weight'");
    out_.described += (out_.described.empty() ? "" : ", ") + (single_ ? "" : output + ": ") + loss->name;

    const bool classes = loss->labels() == Labels::classes;
    const Shape expected = classes ? predicted.slice(0, predicted.rank() - 1) : predicted;
    const graph::TensorType assumed{classes ? DType::int32 : computed_, expected};
    const ValueId target = b_.input(name, type.value_or(assumed).dtype, type.value_or(assumed).shape);
    out_.targets.push_back(
        {target, loss->labels(), predicted.rank() > 0 ? predicted.back() : 1, loss->is_bounded(), loss->ignored()});

    LossCall call(b_, target, b_.cast(tensor.id, computed_));
    if (call.y_pred == tensor.id) call.logits = logits_of_probabilities(out_.graph, tensor.id);
    if (classes) {
      if (!is_integer(b_.dtype(target))) call.y_true = b_.cast(target, DType::int32);
    } else {
      call.y_true = b_.cast(target, computed_);
    }
    match_ranks(call);
    if (!loss->takes(b_.shape(target), predicted)) expect_targets(name, output, b_.shape(target), classes, call);

    ValueId values = loss->values(call);
    std::optional<ValueId> mask = call.mask;
    if (tensor.mask) mask = mask ? b_.binary(BinaryFn::logical_and, *tensor.mask, *mask) : *tensor.mask;
    const auto weights = measured(output, tensor, target, array_name("sample_weight", output));
    return reduced(b_, values, weights, mask, *loss->reduction);
  }

  /// Keeps the values of an output for its metrics. Returns its sample weights, if the data has them.
  std::optional<ValueId> measured(const std::string& output, const KerasTensor& tensor, ValueId target,
                                  const std::string& weight_name) {
    std::optional<ValueId> weights;
    if (const auto weight = given(weight_name)) {
      weights = b_.input(weight_name, weight->dtype, weight->shape);
      out_.sample_weights.push_back(*weights);
    }
    const ValueId prediction = b_.cast(tensor.id, computed_);
    const auto behind = prediction == tensor.id ? logits_of_probabilities(out_.graph, tensor.id) : std::nullopt;
    measured_.push_back({output, {b_, target, prediction, behind, tensor.mask, weights}});
    return weights;
  }

  /// Keeps the values of the outputs without a loss for which the data has targets.
  void add_targets_without_loss(const std::vector<std::string>& names, const std::vector<TensorPtr>& outputs) {
    for (std::size_t i = 0; i < names.size(); ++i) {
      const bool has_loss = std::ranges::find(measured_, names[i], &Measured::output) != measured_.end();
      if (has_loss || !is_floating(b_.dtype(outputs[i]->id))) continue;
      const std::string name = "y:" + names[i];
      const auto type = given(name);
      if (!type) continue;
      const ValueId target = b_.input(name, type->dtype, type->shape);
      out_.targets.push_back({.value = target});
      (void)measured(names[i], *outputs[i], target, "sample_weight:" + names[i]);
    }
  }

  static void expect_targets(const std::string& name, const std::string& output, const Shape& given, bool classes,
                             const LossCall& call) {
    const Shape truth = call.b.shape(call.y_true), pred = call.b.shape(call.y_pred);
    Shape one_each = pred.slice(0, pred.rank() - 1);
    const bool fits = classes && truth == one_each;
    one_each.push_back(1);
    if (fits || (classes ? truth == one_each : truth == pred)) return;
    const std::string wanted = !classes ? pred.str()
                               : truth == pred
                                   ? "class numbers for this loss; categorical_crossentropy takes one-hot rows"
                                   : one_each.slice(0, pred.rank() - 1).str();
    throw bad_input("the targets '{}' {} do not fit the output '{}' {}: they must be {}", printable(name), given.str(),
                    printable(output), pred.str(), wanted);
  }

  /// Throws Error for weights and targets that belong to no output, because they would be ignored silently.
  void check_arrays(const std::vector<std::string>& outputs) const {
    for (const auto& [name, type] : options_.arrays) {
      const std::string output = name.substr(name.find(':') + 1);  // the whole name if it has no colon
      if (std::ranges::count(used_, name) == 0 && std::ranges::count(outputs, output) == 0)
        throw bad_input("the array '{}' belongs to no output with a loss; the outputs are {}", printable(name),
                        printable(join(outputs, ", ")));
    }
  }

  /// The values of an output that its metrics read.
  struct Measured {
    std::string output;
    MetricCall call;
  };

  /// Adds the metrics. Their names follow keras/src/trainers/compile_utils.py: "accuracy", "price_mae",
  /// "weighted_accuracy".
  void add_metrics(const std::vector<std::string>& outputs) {
    const Json compiled = compile_config_of(model_, options_);
    for (const bool weighted : {false, true}) {
      const Json told =
          compiled.is_object() ? compiled.value(weighted ? "weighted_metrics" : "metrics", Json()) : Json();
      if (told.is_null()) continue;
      const Document document(weighted ? "weighted_metrics" : "metrics", told);
      for (std::size_t i = 0; i < outputs.size(); ++i) {
        const auto seen = std::ranges::find(measured_, outputs[i], &Measured::output);
        if (seen == measured_.end()) continue;
        for (const Ref& one : metrics_of(Ref(document), outputs, i)) {
          MetricCall call = seen->call;
          if (!weighted) call.weights.reset();
          LossGraph::Metric made = lower_metric(one, call);
          if (out_.metrics.size() >= kMostMetrics) one.fail("more than 1,000 metrics are not accepted");
          made.name = unused(outputs.size() > 1 ? outputs[i] + "_" : "", made.name, weighted);
          out_.metrics.push_back(std::move(made));
        }
      }
    }
  }

  /// Returns the metrics of one output. They are the whole list or dict for a single output, whose name Keras does not
  /// compare, the element at the same position in a list of equal length, or the entry in a dict.
  static std::vector<Ref> metrics_of(const Ref& told, const std::vector<std::string>& outputs, std::size_t i) {
    std::vector<Ref> own;
    const auto add = [&](const auto& self, const Ref& ref) -> void {
      if (ref.is_null()) return;
      if (ref.is_array()) {
        for (const Ref& each : ref.elements()) self(self, each);
      } else {
        own.push_back(ref);
      }
    };
    if (told.is_object() && !told.find("class_name")) {
      for (const auto& [name, metrics] : told.members()) {
        if (outputs.size() == 1 || name == outputs[i]) {
          add(add, metrics);
        } else if (std::ranges::count(outputs, name) == 0) {
          metrics.fail(fmt::format("the metrics of '{}', which is not an output{}", printable(name),
                                   did_you_mean(name, std::span<const std::string>(outputs))));
        }
      }
    } else if (outputs.size() == 1) {
      add(add, told);
    } else if (told.is_array() && told.size() == outputs.size()) {
      add(add, told[i]);
    } else {
      told.fail("the metrics of a model with several outputs must be a list with an entry for each, or a dict");
    }
    return own;
  }

  [[nodiscard]] std::string unused(const std::string& prefix, const std::string& name, bool weighted) const {
    const auto taken = [&](const std::string& full) {
      return std::ranges::any_of(out_.metrics, [&](const auto& other) { return other.name == full; });
    };
    std::string full = prefix + name;
    if (weighted && taken(full)) full = prefix + "weighted_" + name;
    const std::string first = full;
    for (int n = 1; taken(full); ++n) full = fmt::format("{}_{}", first, n);
    return full;
  }

  Functional& model_;
  const LossOptions& options_;
  DType computed_;
  LossGraph& out_;
  Builder& b_;
  ModelLowering& lowering_;
  bool single_ = true;
  std::vector<std::string> used_;  // names of the arrays that outputs use
  std::vector<Measured> measured_;
};

/// Throws Error for a layer whose training behavior is unsupported. The lowering has recorded the layers.
void check_training(Functional& model, const Training& training) {
  static constexpr std::array<const char*, 8> kRates = {"rate",
                                                        "dropout",
                                                        "dropout_rate",
                                                        "stddev",
                                                        "recurrent_dropout",
                                                        "attention_dropout",
                                                        "attention_dropout_rate",
                                                        "feedforward_dropout_rate"};
  const auto draws = [&](Layer& layer) {
    const auto parts = layer.sublayers();
    return training.random.contains(&layer) || std::ranges::any_of(parts, [&](const Layer::Sublayer& part) {
             return training.random.contains(part.layer);
           });
  };
  visit_layers(model, [&](Layer& layer) {
    if (layer.is_operation() || layer.is_model()) return;
    const Json config = layer_config(layer, kNewest);
    if (config.value("stateful", false))
      layer.fail("a state that persists between batches is not supported in training", "stateful");
    if (layer.class_name() == "SpectralNormalization")
      layer.fail("dividing a kernel by its largest singular value is not supported in training");
    if (!training.drops || draws(layer)) return;
    bool has_rate = false;
    for (const char* key : kRates) {
      if (!config.contains(key) || !config[key].is_number()) continue;
      has_rate = true;
      if (config[key] > 0)
        layer.fail(fmt::format("the dropout of a {} is not supported in training", layer.class_name()), key);
    }
    if (layer.info->role == Role::training && !has_rate)
      layer.fail(fmt::format("a {} is not supported in training", layer.class_name()));
  });
}

}  // namespace

LossGraph lower_loss(Functional& model, const LowerOptions& options, const LossOptions& loss) {
  LossGraph out;
  ModelLowering lowering(out.graph, false);
  Training training;
  training.drops = loss.drops;
  training.seed = loss.seed;
  if (loss.training) lowering.training = &training;
  const std::vector<TensorPtr> outputs = lower(model, options, lowering);
  if (loss.training) check_training(model, training);
  if (outputs.empty()) throw bad_input("the model has no output");
  // Keras computes losses in its floatx (float32) for all policies of the layers. Here they are float64 if the whole
  // model is.
  const DType computed = options.dtype == "float64" ? DType::float64 : DType::float32;
  LossLowering(model, loss, computed, out, lowering).run(outputs);
  for (const Training::Update& update : training.updates) {
    const ValueId weight = lowering.weight(*update.layer, update.weight);
    out.updates.push_back({out.graph.value(weight).weight, update.value});
  }
  out.constraints = constraints_of(model);
  for (const Training::Draw& draw : training.draws)
    out.draws.push_back({draw.layer, draw.value, draw.normal_seed, draw.always});
  return out;
}

}  // namespace attn::keras
