// A training step, or an evaluation, as a graph and a plan. Private to the module.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "attn/backends/backend.h"
#include "attn/keras/loss_graph.h"
#include "attn/optimizers/optimizer.h"
#include "attn/parallel/parallelize.h"
#include "attn/plan/plan.h"
#include "attn/train/trainer_options.h"
#include "entries.h"

namespace attn::train {

/// The name of the input that multiplies the loss.
inline constexpr const char* kLossScaleInput = "loss_scale";

/// A diagnosis also keeps the output of each layer.
enum class Purpose : std::uint8_t { step, evaluation, diagnosis };

/// A step, or an evaluation, for batches of one shape.
struct TrainingProgram {
  keras::LossGraph model;            ///< the model as it was lowered; its graph has been moved from
  graph::Graph graph;                ///< the graph that runs
  std::vector<std::size_t> weights;  ///< the indices of the inputs that are weights; these inputs follow the others
  std::vector<EntrySums> gradients;  ///< by trainable weight: the sums of its gradient
  std::vector<std::pair<graph::ValueId, std::string>>
      layers;          ///< for diagnosis: the output of each layer, in execution order
  graph::Graph shown;  ///< a graph with only those inputs that are not weights
  plan::Plan plan;     ///< the plan, until it is compiled
  std::unique_ptr<backends::Executable> executable;
};

/// Makes programs. The arguments of the constructor must outlive it.
class ProgramPlanner {
 public:
  /// `trainable` has the indices of the weights with gradients.
  ProgramPlanner(const backends::Backend& backend, const optimizers::Settings& settings, const TrainerOptions& options,
                 const std::vector<std::size_t>& trainable)
      : backend_(backend), settings_(settings), options_(options), trainable_(trainable) {}

  /// Makes everything of a program except the executable, for batches of this number of rows.
  [[nodiscard]] std::unique_ptr<TrainingProgram> plan(keras::LossGraph model, Dim rows, Purpose purpose) const;

 private:
  [[nodiscard]] bool splits_batch(Dim rows) const;
  void parallelize_step(TrainingProgram& program, graph::Graph& graph, Dim rows) const;
  [[nodiscard]] parallel::Parallel parts_of(const graph::Graph& graph, Dim rows) const;
  [[nodiscard]] parallel::Parallel rows_of_rank(const TrainingProgram& program, const graph::Graph& graph) const;

  const backends::Backend& backend_;
  const optimizers::Settings& settings_;
  const TrainerOptions& options_;
  const std::vector<std::size_t>& trainable_;
};

}  // namespace attn::train
