// A model with its loss, as compile() would have made it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "attn/graph/graph.h"
#include "attn/optimizers/settings.h"

namespace attn::keras {

struct LossOptions {
  /// The name of a loss, or JSON as compile_config has it (an object, a list, a dict by outputs); nothing: what the
  /// file says, else the mean squared error of the first output.
  std::optional<std::string> loss;
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
  /// Inputs that count the draws of a layer's random numbers: int64 ().
  struct Draw {
    std::string layer;
    graph::ValueId count = graph::kNone;
  };
  std::vector<Draw> draws;
  /// The running value of a metric is Σ total/Σ count over batches, of `root` its square root.
  struct Metric {
    std::string name;
    graph::ValueId total = graph::kNone, count = graph::kNone;
    bool root = false;
  };
  std::vector<Metric> metrics;
  /// By weight: what it becomes after each step.
  std::vector<std::optional<optimizers::Constraint>> constraints;
};

}  // namespace attn::keras
