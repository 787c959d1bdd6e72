// A model with its loss, as compile() would have made it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attn/graph/graph.h"
#include "attn/optimizers/settings.h"

namespace attn::keras {

struct LossOptions {
  /// The name of a loss, or JSON as compile_config has it (an object, a list, a dict by outputs); nothing: what the
  /// file says, else the mean squared error of the first output.
  std::optional<std::string> loss;
  /// Only the loss of this output, as if the others had none.
  std::optional<std::string> output;
  /// JSON in place of the file's compile_config.
  std::optional<std::string> compile_config;
  /// The types of the arrays that data holds, by name: of targets "y", or "y:<output>" where several outputs have a
  /// loss, and of weights "sample_weight" or "sample_weight:<output>". A target that is not among them has the type
  /// that its loss suggests. Where "y" is all that a model of several outputs gets, one loss is that of the first.
  std::map<std::string, graph::TensorType> arrays;
  bool metrics = false;    ///< with the metrics that the model was compiled with
  bool training = true;    ///< layers do what they do in training, such as to normalize by statistics of the batch
  bool drops = false;      ///< and drop numbers
  std::uint64_t seed = 0;  ///< for what is dropped by layers without a seed
};

/// What a target's numbers are.
enum class Labels : std::uint8_t {
  numbers,       ///< any
  positive,      ///< above 0
  classes,       ///< integers in [0, classes)
  one_hot,       ///< one 1 among zeros, along the last axis
  binary,        ///< 0 or 1
  probabilities  ///< above 0, with the sum 1 along the last axis
};

/// An array that data gives beside the model's inputs: an input of the graph, named as the array.
struct Target {
  graph::ValueId value = graph::kNone;
  Labels labels = Labels::numbers;
  std::int64_t classes = 0;
  /// Whether a label that is none of the classes is an error, unless it is the one that is passed over.
  bool bounded = false;
  std::optional<std::int64_t> ignored{};
};

/// What the value of a metric is, by its sums over batches.
enum class MetricKind : std::uint8_t {
  ratio,  ///< Σ total/Σ count, 0 where the count is 0
  root,   ///< the square root of that
  sum,    ///< Σ total
  roc,    ///< the area under recall over false positives; total is (4,T): true and false positives, true and false
          ///< negatives by threshold, falling
  precision_recall  ///< of the same, the area under precision over recall
};

/// A model's graph, and behind it its loss.
struct LossGraph {
  graph::Graph graph;  ///< its inputs are the model's, then the targets, the sample weights and the draws
  graph::ValueId loss = graph::kNone;
  std::string described;  ///< "mean_squared_error", or "price: huber, kind: sparse_categorical_crossentropy"

  /// What the loss is the sum of, without weights: "price_loss", …; the last may be "regularization".
  struct Term {
    std::string name;
    graph::ValueId value = graph::kNone;
  };
  std::vector<Term> terms;
  std::vector<Target> targets;
  std::vector<graph::ValueId> sample_weights;
  /// Weights that are not trained but change in a step, and what they become.
  struct Update {
    std::int32_t weight = graph::kNone;
    graph::ValueId value = graph::kNone;
  };
  std::vector<Update> updates;
  /// Inputs that a layer's random numbers come from: how often it has drawn, int64 (), or with `normal_seed` the
  /// standard normal numbers that this seed and this count give.
  struct Draw {
    std::string layer;
    graph::ValueId value = graph::kNone;
    std::optional<std::int64_t> normal_seed{};
    bool always = false;  ///< an evaluation counts as a draw too, as in Keras
  };
  std::vector<Draw> draws;
  /// A metric: what is summed over batches, and what its value is then.
  struct Metric {
    std::string name;
    graph::ValueId total = graph::kNone, count = graph::kNone;
    MetricKind kind = MetricKind::ratio;
    bool up = false;  ///< is more better?
  };
  std::vector<Metric> metrics;
  /// By weight: what it becomes after each step.
  std::vector<std::optional<optimizers::Constraint>> constraints;
};

/// The class of a loss as Keras writes it ("MeanSquaredError"), from a name of it or of its function; nothing where it
/// is not known.
[[nodiscard]] std::optional<std::string> loss_class(std::string_view name);
/// Is it the name of a loss or of a metric of Keras's own?
[[nodiscard]] bool is_known_function(std::string_view name);

}  // namespace attn::keras
