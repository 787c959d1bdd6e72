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
#include "attn/parallel/parallelize.h"

namespace attn::train {

/// Rows of data: the model's inputs, targets and sample weights by their names.
using Batch = std::map<std::string, Tensor>;

/// How the gradient of a table that is looked up is squared, by rules that square it.
enum class TableGradient : std::uint8_t {
  entries,  ///< each looked-up row, before equal ones are added up: Keras on TensorFlow
  dense     ///< after: Keras on JAX and PyTorch
};

struct TrainerOptions {
  /// With ranks, each computes the rows of a batch that are its own, and all come to the same weights: every rank is
  /// given whole batches, and calls the same in the same order.
  backends::CompileOptions compile;
  TableGradient tables = TableGradient::entries;
  /// Compute activations a second time on the way back instead of keeping them: the same numbers in less memory.
  bool recompute = false;
  /// In which gradients travel between ranks: float32 gives their sums, a half rounds them for half as many bytes.
  DType reduce_dtype = DType::float32;
  /// Above 0: a batch is in so many parts, or one for each row where there are fewer, whose sums are added up in one
  /// order. Every number of ranks gives the same bits, and so does one process without ranks.
  int parts = 0;
  /// Each rank keeps the optimizer's numbers of a part of the weights, moves that part, and gives it to the others.
  bool shares_optimizer = false;
};

/// What a pass told.
struct PassResult {
  double loss = 0;
  std::vector<double> terms;  ///< of LossGraph::terms
  struct Metric {
    std::vector<double> total, count;
  };
  std::vector<Metric> metrics;  ///< of LossGraph::metrics
};

struct StepResult : PassResult {
  double learning_rate = 0;
  double loss_scale = 1;
  double gradient_norm = 0;  ///< before clipping
  bool clipped = false;
  bool skipped = false;  ///< a gradient was not finite, and no weight has moved
  /// What came out as no number first, as "the layer 'dense_1'"; "" where all is finite. No weight has moved then.
  std::string not_finite;
};

/// Where the time of a step goes.
struct StepTimes {
  struct Node {
    graph::NodeId node = graph::kNone;  ///< of the graph that runs
    std::string name;                   ///< "matmul: panels"
    double seconds = 0;
  };
  std::vector<Node> nodes;  ///< as they ran
  double optimizer = 0;     ///< seconds
};

/// What an input that random numbers come from is given when its layer has drawn `count` times.
[[nodiscard]] Tensor drawn_numbers(const graph::Graph& graph, const keras::LossGraph::Draw& draw, std::int64_t count);

/// Not for two threads at once.
class Trainer {
 public:
  /// The model with its loss for a batch, in training or not. Its weights are the same for all.
  using Lower = std::function<keras::LossGraph(const Batch& batch, bool training)>;

  /// `weights` are in the order of graph.weights, with the dtypes and shapes of `specs`; they are copied. The backend
  /// must outlive this.
  Trainer(const backends::Backend& backend, Lower lower, std::vector<graph::WeightSpec> specs,
          const std::vector<Tensor>& weights, optimizers::Settings settings, const TrainerOptions& options);
  ~Trainer();

  /// Gets ready for batches of this shape; the first call makes the optimizer.
  void prepare(const Batch& batch) { program(batch, true); }
  /// The most bytes that training on batches of this shape holds: weights, gradients, the optimizer's variables, and
  /// the arena of a step. To be asked before the first of them; the optimizer is made for it.
  [[nodiscard]] std::int64_t memory_needed(const Batch& batch);
  /// Forward, backward, and a step of the optimizer. Throws Error where the numbers are wrong input.
  StepResult step(const Batch& batch) { return step(batch, nullptr); }
  /// The same, and where its time goes, unless `times` is null.
  StepResult step(const Batch& batch, StepTimes* times);
  /// The loss and the metrics alone, as in a run.
  PassResult evaluate(const Batch& batch);

  [[nodiscard]] const std::vector<graph::WeightSpec>& specs() const { return specs_; }
  [[nodiscard]] const std::vector<Tensor>& weights() const { return weights_; }
  /// Copies numbers into them: one tensor of the same kind for each. Throws Error (bad_input) where they differ.
  void set_weights(const std::vector<Tensor>& weights);
  /// Throws what set_weights would.
  void expect_weights(const std::vector<Tensor>& weights) const;
  /// Once something was prepared.
  [[nodiscard]] optimizers::Optimizer& optimizer() { return *optimizer_; }
  /// Its variables, whole. Where ranks share them all must call it, and the first gets them; others get empty arrays.
  [[nodiscard]] std::vector<NamedTensor> optimizer_state() const;
  /// Their bytes.
  [[nodiscard]] std::int64_t optimizer_bytes() const;
  /// The names of the terms and metrics of the last pass.
  [[nodiscard]] const std::vector<std::string>& terms() const { return terms_; }
  [[nodiscard]] const std::vector<std::string>& metrics() const { return metrics_; }
  [[nodiscard]] const std::vector<keras::MetricKind>& kinds() const { return kinds_; }
  [[nodiscard]] bool has_ranks() const { return options_.compile.ranks != nullptr; }
  /// Is it so on any rank? Without ranks: is it so?
  [[nodiscard]] bool anywhere(bool here) const;
  /// How often each layer that draws random numbers has done so.
  [[nodiscard]] const std::map<std::string, std::int64_t>& draws() const { return draws_; }
  void set_draws(std::map<std::string, std::int64_t> draws) { draws_ = std::move(draws); }
  /// The weights become their averages, where there are some: the end of Keras's fit().
  void finalize();

 private:
  struct Program;
  enum class Purpose : std::uint8_t { step, evaluation, diagnosis };
  Program& program(const Batch& batch, bool training);
  void begin(const Batch& batch);
  Program& planned(const Batch& batch, bool training);
  /// All but the executable.
  [[nodiscard]] std::unique_ptr<Program> plan_of(const Batch& batch, Purpose purpose);
  [[nodiscard]] bool shares_out(const Batch& batch) const;
  void share_out(Program& program, graph::Graph& graph, Dim rows) const;
  [[nodiscard]] parallel::Parallel parts_of(const graph::Graph& graph, Dim rows) const;
  [[nodiscard]] parallel::Parallel rows_of_rank(const Program& program, const graph::Graph& graph) const;
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
  std::vector<std::size_t> trainable_;  ///< indices of weights, in the optimizer's order
  optimizers::Settings settings_;
  TrainerOptions options_;
  std::unique_ptr<optimizers::Optimizer> optimizer_;
  std::map<std::string, std::unique_ptr<Program>> programs_;         ///< by the shapes of a batch
  std::map<std::string, std::int64_t> draws_, draws_of_evaluation_;  // by layer; the latter, of a pass
  std::vector<std::string> terms_, metrics_;
  std::vector<keras::MetricKind> kinds_;
};

}  // namespace attn::train
