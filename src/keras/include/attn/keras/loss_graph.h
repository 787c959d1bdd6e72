// A model with its loss, as set by compile().
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attn/graph/graph.h"
#include "attn/keras/metric_rule.h"
#include "attn/optimizers/settings.h"

namespace attn::keras {

struct LossOptions {
  /// The name of a loss, or JSON as in compile_config (an object, a list, a dict by output). Empty: the loss in the
  /// file; if it has none, the mean squared error of the first output.
  std::optional<std::string> loss;
  /// Use only the loss of this output.
  std::optional<std::string> output;
  /// JSON that replaces the file's compile_config.
  std::optional<std::string> compile_config;
  /// The types of the data's arrays, by name. Targets are "y", or "y:<output>" if several outputs have a loss; weights
  /// are "sample_weight" or "sample_weight:<output>". A target that is not listed has the type that its loss suggests.
  /// If "y" is the only target of a model with several outputs, a single loss belongs to the first output.
  std::map<std::string, graph::TensorType> arrays;
  bool metrics = false;    ///< include the metrics of compile()
  bool training = true;    ///< layers behave as in training, for example normalize by batch statistics
  bool drops = false;      ///< dropout and noise layers act, too
  std::uint64_t seed = 0;  ///< seed for random layers that have none
};

/// The meaning of a target's elements.
enum class Labels : std::uint8_t {
  numbers,       ///< any numbers
  positive,      ///< numbers above 0
  classes,       ///< integers in [0, C) for C classes
  one_hot,       ///< a single 1 among zeros, along the last axis
  binary,        ///< each 0 or 1
  probabilities  ///< numbers above 0, with a sum of 1 along the last axis
};

/// An array of the data besides the model's inputs: a graph input with the name of the array.
struct Target {
  graph::ValueId value = graph::kNone;
  Labels labels = Labels::numbers;
  std::int64_t classes = 0;
  /// Whether a label outside the classes is an error, unless it is `ignored`.
  bool bounded = false;
  std::optional<std::int64_t> ignored{};
};

/// A model's graph followed by its loss.
struct LossGraph {
  graph::Graph graph;  ///< its inputs: those of the model, targets, sample weights, random numbers (`draws`)
  graph::ValueId loss = graph::kNone;
  std::string described;  ///< readable name of the loss: "mean_squared_error", or "price: huber, kind:
                          ///< sparse_categorical_crossentropy"

  /// The unweighted terms of the loss, by name: "price_loss", …; the last term may be "regularization".
  struct Term {
    std::string name;
    graph::ValueId value = graph::kNone;
  };
  std::vector<Term> terms;
  std::vector<Target> targets;
  std::vector<graph::ValueId> sample_weights;
  /// A weight that is not trained but changes in a step, and its new value.
  struct Update {
    std::int32_t weight = graph::kNone;
    graph::ValueId value = graph::kNone;
  };
  std::vector<Update> updates;
  /// A graph input for a layer's random numbers. It is the number of earlier draws, int64 (), or, with `normal_seed`,
  /// an array of standard normal numbers for this seed and that number.
  struct Draw {
    std::string layer;
    graph::ValueId value = graph::kNone;
    std::optional<std::int64_t> normal_seed{};
    bool always = false;  ///< an evaluation also counts as a draw, as in Keras
  };
  std::vector<Draw> draws;
  /// A metric: its sums over batches, and the rule by which its value follows from these sums.
  struct Metric {
    std::string name;
    graph::ValueId total = graph::kNone;
    graph::ValueId count = graph::kNone;  ///< kNone unless the rule divides by the count
    MetricRule rule;
    std::int64_t numbers = 1;  ///< number of elements of the value, such as one for each class
    bool up = false;           ///< whether a larger value is better
  };
  std::vector<Metric> metrics;
  /// The constraint of each weight, in the order of the weights; it is applied after each step.
  std::vector<std::optional<optimizers::Constraint>> constraints;
};

/// Returns the class of a loss ("MeanSquaredError"), given any name of the class or its function; empty if the name is
/// unknown.
[[nodiscard]] std::optional<std::string> loss_class(std::string_view name);
/// Returns whether this is the name of one of Keras's losses or metrics.
[[nodiscard]] bool is_known_function(std::string_view name);

}  // namespace attn::keras
