// An optimizer: its variables, and a step of all weights.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attn/base/tensor.h"
#include "attn/optimizers/settings.h"
#include "attn/optimizers/variable.h"

namespace attn::optimizers {

/// The gradient of a variable in a step. All tensors are empty if the loss does not depend on the variable.
struct Gradient {
  Tensor sum;
  /// Σ entries² of the gradient, if the gradient is a list of entries, one for each lookup in an embedding table
  /// (TensorFlow's IndexedSlices). Several entries may address the same row, so this differs from sum². For other
  /// gradients it is empty, and sum² is used.
  Tensor squares{};
  /// Σ |entries|, for Adamax. Empty for other optimizers, and if the gradient is not a list of entries.
  Tensor sizes{};
};

/// The result of a step.
struct StepReport {
  double gradient_norm = 0;  ///< the norm over all variables, before clipping
  bool clipped = false;
  bool skipped = false;     ///< a gradient was not finite: the loss scale was halved, and nothing else changed
  bool not_finite = false;  ///< a gradient was not finite and there is no loss scale: no weight was updated
};

/// With several ranks that train the same weights, each holds the optimizer state of one shard and updates that shard.
struct Sharing {
  int rank = 0, ranks = 1;
};

/// Elements [begin, end) of a flattened variable.
struct Range {
  std::int64_t begin = 0, end = 0;
  [[nodiscard]] std::int64_t size() const { return end - begin; }
};

struct Pass;
struct StepValues;
template <typename T>
struct Visit;

/// Keras's optimizer with these settings (keras/src/optimizers). Results are bitwise equal for any number of threads.
/// Not thread-safe.
class Optimizer {
 public:
  Optimizer(Settings settings, std::vector<Variable> variables, int threads = 0, Sharing sharing = {});

  /// Returns all variables in the order of Keras's files. The first are the iteration (int64) and, if there is no
  /// schedule, the learning rate (float32). With a loss scale, four variables precede them: its own iteration and
  /// learning rate (both stay 0), the number of steps since the last change of the scale, and the scale.
  [[nodiscard]] const std::vector<NamedTensor>& state() const { return state_; }
  /// With a sharded optimizer, state() holds this rank's shard of some variables, flattened. For such a variable,
  /// `Pieces` has the whole shape and the bytes of each rank. It is empty for a variable that is not sharded.
  struct Pieces {
    Shape whole;
    std::vector<std::int64_t> bytes;
  };
  [[nodiscard]] std::optional<Pieces> pieces(std::size_t variable_of_state) const;
  /// Returns the ranges that a rank updates, by variable. They are whole variables if the rule needs all elements of
  /// one.
  [[nodiscard]] const std::vector<Range>& moved_by(int rank) const { return moved_[static_cast<std::size_t>(rank)]; }
  /// Returns the number of variables that belong to the loss scale.
  [[nodiscard]] std::size_t scale_variables() const { return first_; }
  /// Copies the values of a list such as state(), but of whole arrays; the variables of the loss scale may be missing.
  /// Throws Error (bad_input) if other arrays differ in dtype or shape.
  void set_state(const std::vector<Tensor>& state);

  /// Returns the state that an exact resume needs and Keras does not save: Nadam's momentum product if there is a loss
  /// scale.
  [[nodiscard]] std::vector<Tensor> unsaved() const;
  /// Copies a list such as unsaved() if it has as many arrays. Throws Error (bad_input) if the arrays differ in dtype
  /// or shape.
  void set_unsaved(const std::vector<Tensor>& kept);

  [[nodiscard]] const Settings& settings() const { return settings_; }
  /// Returns the number of steps done; with gradient accumulation, the number of batches.
  [[nodiscard]] std::int64_t iteration() const;
  /// Returns the learning rate of the next step.
  [[nodiscard]] double learning_rate() const;
  /// Returns the factor of the loss in the next step; 1 without a loss scale.
  [[nodiscard]] double loss_scale() const;
  /// Sets the learning rate. Only for an optimizer without a schedule.
  void set_learning_rate(double rate);

  /// Prepares the optimizer for the initial weights. Must be called before the first step.
  void begin(const std::vector<Tensor>& weights);
  /// Updates the weights in place; there is one tensor and one gradient for each variable. With a sharded optimizer,
  /// `exchange` sends the updated shards to all ranks. Throws Stopped, with everything unchanged.
  StepReport apply(const std::vector<Tensor>& weights, const std::vector<Gradient>& gradients,
                   const std::function<void()>& exchange = {});
  /// Overwrites the weights with their moving averages, if there are any, as at the end of fit(). With a sharded
  /// optimizer, overwrites only the shards that this rank updates.
  void finalize(const std::vector<Tensor>& weights) const;

 private:
  /// A range of one variable.
  struct Part {
    std::size_t variable;
    std::int64_t begin, end;
  };

  Tensor& add(const std::string& name, Tensor tensor);
  void add_slots();
  void shard_variables(std::int64_t elements);
  /// Returns whether the variable is sharded. An empty variable never is: each rank keeps its state.
  [[nodiscard]] bool is_shared(std::size_t variable) const {
    return sharing_.ranks > 1 && variables_[variable].shape.size() > 0;
  }
  [[nodiscard]] const Range& moved(std::size_t variable) const { return moved_by(sharing_.rank)[variable]; }
  /// Returns the shape of this rank's shard of a slot whose shape is `whole`.
  [[nodiscard]] Shape own_shape(std::size_t variable, const Shape& whole) const;
  void move_scale(bool finite) const;
  [[nodiscard]] std::vector<double> squares_of(const std::vector<Gradient>& gradients) const;
  void accumulate(std::vector<Gradient>& gradients, double factor, bool moves) const;
  /// Throws Error (internal) if an array does not have the dtype and shape of its variable, because steps index by
  /// these.
  void check(const std::vector<Tensor>& weights, const std::vector<Gradient>& gradients) const;
  [[nodiscard]] std::optional<double> decay_of(const Variable& variable) const;
  [[nodiscard]] StepValues begin_step();
  [[nodiscard]] Pass pass() const;
  template <typename T>
  [[nodiscard]] Visit<T> visit_of(std::size_t n, const StepValues& values, const Tensor& weight,
                                  const Gradient& gradient, double factor) const;
  /// Returns the update directions of Muon, by variable. They are computed before any weight changes, because this
  /// takes long and can be stopped.
  [[nodiscard]] std::vector<Tensor> directions_of(const Pass& how, const std::vector<Tensor>& weights,
                                                  const std::vector<Gradient>& gradients,
                                                  const std::vector<double>& factors) const;
  void follow_averages(const std::vector<Tensor>& weights, const std::vector<Gradient>& gradients) const;
  /// Clips, decays, applies the rule and averages. The gradients are multiplied by `factor` first.
  void move(const std::vector<Tensor>& weights, std::vector<Gradient>& gradients, double factor, StepReport& report);
  [[nodiscard]] std::int64_t updates() const;  ///< number of updates: the iteration divided by the accumulated steps

  Settings settings_;
  std::vector<Variable> variables_;
  int threads_;
  Sharing sharing_;
  std::vector<Part> parts_, own_parts_;
  std::vector<std::vector<Range>> moved_;  // the ranges that each rank updates: [rank][variable]
  /// For each sharded slot, by its index in state_: its variable and the shape of the shard.
  std::map<std::size_t, std::pair<std::size_t, Shape>> shared_;
  std::vector<NamedTensor> state_;
  std::size_t first_ = 0;                        // index in state_ of the first variable after those of the loss scale
  std::vector<Tensor> averages_, accumulators_;  // shared with state_; one for each variable
  std::vector<std::vector<Tensor>> slots_;       // the slots of the rule, by variable
  Tensor product_;                               // Nadam's momentum product
};

}  // namespace attn::optimizers
