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

namespace attn::optimizers {

/// A weight that is trained. Its gradient, its slots and the arithmetic of a step have its dtype, as in Keras.
struct Variable {
  std::string path;
  Shape shape;
  std::optional<Constraint> constraint;
  DType dtype = DType::float32;  ///< a floating one
};

/// What a step is given for a variable. Both are empty where the loss does not depend on it.
struct Gradient {
  Tensor sum;
  /// Where the gradient is a list of entries, of which several may belong to one place, as TensorFlow has it for tables
  /// that are looked up: Σ entries². Else empty: it is sum².
  Tensor squares{};
  /// Σ |entries|, which Adamax takes the largest of. Empty where there are none, or the rule is another.
  Tensor sizes{};
};

/// What a step did.
struct StepReport {
  double gradient_norm = 0;  ///< over all variables, before clipping
  bool clipped = false;
  bool skipped = false;     ///< a gradient was not finite: the loss scale is halved, and nothing else has changed
  bool not_finite = false;  ///< a gradient was not, and there is no loss scale: no weight has moved
};

/// Of several that train the same weights, each keeps the rule's numbers of a part of them, and moves that part.
struct Sharing {
  int rank = 0, ranks = 1;
};

/// Elements [begin, end) of a variable, in a row.
struct Range {
  std::int64_t begin = 0, end = 0;
  [[nodiscard]] std::int64_t size() const { return end - begin; }
};

struct Pass;
struct Moment;
template <typename T>
struct Visit;

/// Keras's optimizer of these settings (keras/src/optimizers). Steps give the same bits for any number of threads. Not
/// for two threads at once.
class Optimizer {
 public:
  Optimizer(Settings settings, std::vector<Variable> variables, int threads = 0, Sharing sharing = {});

  /// All variables in Keras's order, as files have them: the first is the iteration (int64), the second the learning
  /// rate (float32) where there is no schedule. With a loss scale four come before them: its own iteration and learning
  /// rate, which stay 0, the steps since the scale has changed, and the scale.
  [[nodiscard]] const std::vector<NamedTensor>& state() const { return state_; }
  /// Where they are shared out, state() has this rank's part of some, in a row of its own. Of such a one the whole
  /// shape, and how many bytes each rank has; of others, and of those of one that shares with nobody, nothing.
  struct Pieces {
    Shape whole;
    std::vector<std::int64_t> bytes;
  };
  [[nodiscard]] std::optional<Pieces> pieces(std::size_t variable_of_state) const;
  /// By variable, what a rank moves: whole variables, where the rule looks at all of one.
  [[nodiscard]] const std::vector<Range>& moved_by(int rank) const { return moved_[static_cast<std::size_t>(rank)]; }
  /// How many of them are the loss scale's.
  [[nodiscard]] std::size_t scale_variables() const { return first_; }
  /// Takes over the numbers of such a list of whole arrays, which may lack those of the loss scale. Throws Error
  /// (bad_input) where its arrays are others.
  void set_state(const std::vector<Tensor>& state);

  /// What a training needs to go on bit for bit and Keras has no place for: under a loss scale, Nadam's product.
  [[nodiscard]] std::vector<Tensor> unsaved() const;
  /// Takes such a list over, where it is of this optimizer's length. Throws Error (bad_input) where its arrays are
  /// others.
  void set_unsaved(const std::vector<Tensor>& kept);

  [[nodiscard]] const Settings& settings() const { return settings_; }
  /// Steps done: of batches, where gradients are accumulated over several.
  [[nodiscard]] std::int64_t iteration() const;
  /// What the next step takes.
  [[nodiscard]] double learning_rate() const;
  /// What the loss is to be multiplied by in the next step; 1 without a loss scale.
  [[nodiscard]] double loss_scale() const;
  /// For where there is no schedule.
  void set_learning_rate(double rate);

  /// Must be called before the first step, with the weights that it begins with.
  void begin(const std::vector<Tensor>& weights);
  /// Moves the weights, in place: one tensor and one gradient for each variable. Where they are shared out, `exchange`
  /// gives every rank what the others have moved. Throws Stopped, with all as it was before.
  StepReport apply(const std::vector<Tensor>& weights, const std::vector<Gradient>& gradients,
                   const std::function<void()>& exchange = {});
  /// Overwrites the weights with their averages, as the end of fit() does where there are some; of what is shared out,
  /// those that this rank moves.
  void finalize(const std::vector<Tensor>& weights) const;

 private:
  /// A piece of a variable.
  struct Part {
    std::size_t variable;
    std::int64_t begin, end;
  };

  Tensor& add(const std::string& name, Tensor tensor);
  void add_slots();
  void share_out(std::int64_t elements);
  /// An empty variable is nobody's: each has what goes with it.
  [[nodiscard]] bool is_shared(std::size_t variable) const {
    return sharing_.ranks > 1 && variables_[variable].shape.size() > 0;
  }
  [[nodiscard]] const Range& moved(std::size_t variable) const { return moved_by(sharing_.rank)[variable]; }
  /// Of a slot of `whole` shape.
  [[nodiscard]] Shape own_shape(std::size_t variable, const Shape& whole) const;
  void move_scale(bool finite) const;
  [[nodiscard]] std::vector<double> squares_of(const std::vector<Gradient>& gradients) const;
  void accumulate(std::vector<Gradient>& gradients, double factor, bool moves) const;
  /// Throws Error (internal) where an array has not the variable's dtype and shape: steps read and write by these.
  void check(const std::vector<Tensor>& weights, const std::vector<Gradient>& gradients) const;
  [[nodiscard]] std::optional<double> decay_of(const Variable& variable) const;
  [[nodiscard]] Moment begin_step();
  [[nodiscard]] Pass pass() const;
  template <typename T>
  [[nodiscard]] Visit<T> visit_of(std::size_t n, const Moment& moment, const Tensor& weight, const Gradient& gradient,
                                  double factor) const;
  /// Muon: by variable, where it moves. They are found before anything moves, because they can take long.
  [[nodiscard]] std::vector<Tensor> directions_of(const Pass& how, const std::vector<Tensor>& weights,
                                                  const std::vector<Gradient>& gradients,
                                                  const std::vector<double>& factors) const;
  void follow_averages(const std::vector<Tensor>& weights, const std::vector<Gradient>& gradients) const;
  /// Clips, decays, takes the rule's step and averages; the gradients are to be multiplied by `factor`.
  void move(const std::vector<Tensor>& weights, std::vector<Gradient>& gradients, double factor, StepReport& report);
  [[nodiscard]] std::int64_t updates() const;  ///< iteration / accumulated steps
  [[nodiscard]] bool uses_adam(const Variable& variable) const;

  Settings settings_;
  std::vector<Variable> variables_;
  int threads_;
  Sharing sharing_;
  std::vector<Part> parts_, own_parts_;
  std::vector<std::vector<Range>> moved_;  // by rank
  /// A slot that is shared out, by its place in state_: whose, and its shape.
  std::map<std::size_t, std::pair<std::size_t, Shape>> shared_;
  std::vector<NamedTensor> state_;
  std::size_t first_ = 0;                        // of state_: where the loss scale's variables end
  std::vector<Tensor> averages_, accumulators_;  // by variable, of state_
  std::vector<std::vector<Tensor>> slots_;       // by variable: the rule's own, in its order
  Tensor product_;                               // Nadam
};

}  // namespace attn::optimizers
