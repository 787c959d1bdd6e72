// A model in training: one step after another.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "attn/backends/backend.h"
#include "attn/base/tensor.h"
#include "attn/keras/loss_graph.h"
#include "attn/optimizers/optimizer.h"
#include "attn/train/trainer_options.h"

namespace attn::train {

struct TrainingProgram;
enum class Purpose : std::uint8_t;

/// Rows of data: the model's inputs, targets and sample weights by name.
using Batch = std::map<std::string, Tensor>;

/// The result of a pass.
struct PassResult {
  double loss = 0;
  std::vector<double> terms;  ///< results for LossGraph::terms
  struct Metric {
    std::vector<double> total, count;
  };
  std::vector<Metric> metrics;  ///< results for LossGraph::metrics
};

struct StepResult : PassResult {
  double learning_rate = 0;
  double loss_scale = 1;
  double gradient_norm = 0;  ///< norm of all gradients before clipping
  bool clipped = false;
  bool skipped = false;  ///< a gradient was not finite, and no weight was updated
  /// The first value that was not finite, such as "the layer 'dense_1'"; empty if all are finite. If set, no weight was
  /// updated.
  std::string not_finite;
};

/// The time of a step, by node.
struct StepTimes {
  struct Node {
    graph::NodeId node = graph::kNone;  ///< the node in the graph that runs
    std::string name;                   ///< name of the operation and its kernel: "matmul: panels"
    double seconds = 0;
  };
  std::vector<Node> nodes;  ///< the nodes in execution order
  double optimizer = 0;     ///< time of the optimizer in seconds
};

/// Returns the value of an input that holds random numbers, after its layer has drawn `count` times.
[[nodiscard]] Tensor drawn_numbers(const graph::Graph& graph, const keras::LossGraph::Draw& draw, std::int64_t count);

/// Not thread-safe.
class Trainer {
 public:
  /// Lowers the model with its loss for a batch, for training or evaluation. The weights are the same for all batches.
  using Lower = std::function<keras::LossGraph(const Batch& batch, bool training)>;

  /// `weights` are in the order of graph.weights, with the dtypes and shapes of `specs`; they are copied. The backend
  /// must outlive this.
  Trainer(const backends::Backend& backend, Lower lower, std::vector<graph::WeightSpec> specs,
          const std::vector<Tensor>& weights, optimizers::Settings settings, const TrainerOptions& options);
  ~Trainer();

  /// Compiles for batches of this shape; the first call creates the optimizer.
  void prepare(const Batch& batch) { program(batch, true); }
  /// Returns the peak memory in bytes of training on batches of this shape: weights, gradients, optimizer state, and
  /// the arena of a step. Must be called before the first step; creates the optimizer.
  [[nodiscard]] std::int64_t memory_needed(const Batch& batch);
  /// Runs forward, backward and an optimizer step. Throws Error for invalid values in the data.
  StepResult step(const Batch& batch) { return step(batch, nullptr); }
  /// Runs a step as step(batch) does, and measures each node unless `times` is null.
  StepResult step(const Batch& batch, StepTimes* times);
  /// Computes the loss and the metrics only.
  PassResult evaluate(const Batch& batch);

  [[nodiscard]] const std::vector<graph::WeightSpec>& specs() const { return specs_; }
  [[nodiscard]] const std::vector<Tensor>& weights() const { return weights_; }
  /// Copies values into the weights: one tensor of the same dtype and shape for each. Throws Error (bad_input) if they
  /// differ.
  void set_weights(const std::vector<Tensor>& weights);
  /// Throws the errors of set_weights without copying values.
  void expect_weights(const std::vector<Tensor>& weights) const;
  /// Valid once a batch shape was prepared.
  [[nodiscard]] optimizers::Optimizer& optimizer() { return *optimizer_; }
  /// Returns the optimizer's variables, whole. If the optimizer is sharded, all ranks must call it; the first gets the
  /// arrays, others get empty ones.
  [[nodiscard]] std::vector<NamedTensor> optimizer_state() const;
  /// Returns the number of bytes of the optimizer's variables.
  [[nodiscard]] std::int64_t optimizer_bytes() const;
  /// Returns the names of the terms and metrics of the last pass.
  [[nodiscard]] const std::vector<std::string>& terms() const { return terms_; }
  [[nodiscard]] const std::vector<std::string>& metrics() const { return metrics_; }
  [[nodiscard]] const std::vector<keras::MetricRule>& rules() const { return rules_; }
  [[nodiscard]] bool has_ranks() const { return options_.compile.ranks != nullptr; }
  /// Returns whether `here` is true on any rank; without ranks, `here`.
  [[nodiscard]] bool anywhere(bool here) const;
  /// Returns the number of draws of each layer with random numbers.
  [[nodiscard]] const std::map<std::string, std::int64_t>& draws() const { return draws_; }
  void set_draws(std::map<std::string, std::int64_t> draws) { draws_ = std::move(draws); }
  /// Overwrites the weights with their moving averages, if there are any, as at the end of Keras's fit().
  void finalize();

 private:
  using Program = TrainingProgram;
  Program& program(const Batch& batch, bool training);
  void begin(const Batch& batch);
  Program& planned(const Batch& batch, bool training);
  /// Makes everything of a program except the executable.
  [[nodiscard]] std::unique_ptr<Program> plan_of(const Batch& batch, Purpose purpose) const;
  void compile(Program& program) const;
  [[nodiscard]] std::string first_not_finite(const Batch& batch);
  PassResult run(Program& program, const Batch& batch, StepTimes* times);
  [[nodiscard]] std::vector<Tensor> trained() const;
  [[nodiscard]] bool shares_optimizer() const;
  void exchange_weights() const;

  const backends::Backend& backend_;
  Lower lower_;
  std::vector<graph::WeightSpec> specs_;
  std::vector<Tensor> weights_;
  std::vector<std::size_t> trainable_;  ///< indices of weights, in the order of the optimizer
  optimizers::Settings settings_;
  TrainerOptions options_;
  std::unique_ptr<optimizers::Optimizer> optimizer_;
  std::map<std::string, std::unique_ptr<Program>> programs_;         ///< programs by the shapes of their batches
  std::map<std::string, std::int64_t> draws_, draws_of_evaluation_;  // draws of each layer; draws_of_evaluation_ counts
                                                                     // within one pass
  std::vector<std::string> terms_, metrics_;
  std::vector<keras::MetricRule> rules_;  ///< rules of the metrics
};

}  // namespace attn::train
