#include "attn/train/job.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/keras/optimizer.h"
#include "attn/open/execution.h"
#include "attn/open/memory.h"
#include "attn/open/model.h"
#include "attn/open/session.h"
#include "attn/parallel/parts.h"
#include "attn/run/memory.h"
#include "attn/train/archive.h"
#include "attn/train/compile_changes.h"
#include "attn/train/epoch_callbacks.h"
#include "attn/train/low_rank.h"
#include "attn/train/read_data.h"
#include "attn/train/state.h"
#include "attn/train/table.h"
#include "attn/train/trained_model.h"

namespace attn::train {
namespace {

/// Returns a lower bound of the bytes that a training takes, which is known before any file is read.
UInt128 weights_and_gradients(const graph::Graph& graph) {
  UInt128 bytes = 0;
  for (const graph::WeightSpec& spec : graph.weights)
    bytes += static_cast<UInt128>(spec.shape.size()) * attn::bytes_of(spec.dtype) * (spec.trainable ? 2U : 1U);
  return bytes;
}

/// Calls `read`. Errors about the contents of the file then begin with the file's name.
template <typename Read>
void in_file(const std::string& path, Read read) {
  try {
    read();
  } catch (const Error& error) {
    const std::string name = printable(path) + ":";
    if (error.code() != ExitCode::bad_input || std::string_view(error.what()).starts_with(name)) throw;
    throw bad_input("{} {}", name, error.what());
  }
}

/// Returns at most `count` rows, from the first on.
Batch first_rows(const Data& data, std::int64_t count) {
  std::vector<std::int64_t> rows(static_cast<std::size_t>(std::min(data.rows(), count)));
  std::iota(rows.begin(), rows.end(), 0);
  return data.gather(rows);
}

/// Arrays in memory.
struct Arrays {
  std::map<std::string, Tensor> data, validation;
};

/// Goes through the parts of a training, each made from those before it.
class Preparation {
 public:
  Preparation(Job& job, const Setup& setup, const open::Listener& listener, bool evaluates = false)
      : job_(job), setup_(setup), listener_(listener), evaluates_(evaluates) {}

  void run(communicators::Communicator* ranks, const std::optional<Arrays>& arrays) {
    read_model();
    if (arrays)
      take_arrays(*arrays);
    else
      read_files();
    check_data();
    begin();
    lower();
    make_trainer(ranks);
  }

 private:
  void read_model() {
    job_.options = setup_.fit_options();
    job_.backend = open::open_backend("cpu", setup_.execution.backend, listener_);
    job_.loaded.emplace(setup_.text ? open::load_model(*setup_.text, setup_.execution.reading(), listener_)
                                    : open::load_model(setup_.model, setup_.execution, listener_));
    open::LoadedModel& loaded = *job_.loaded;
    keras::ConfigOptions whole;
    whole.assets = true;
    const std::vector<std::string> all{"*"};
    const std::vector<std::string>& patterns = setup_.lora_layers.empty() ? all : setup_.lora_layers;
    if (setup_.resume) {
      const std::string config = loaded.model.config(whole);
      if (setup_.policy && !has_policy(config, *setup_.policy)) throw other_training("`dtype`");
      if (setup_.lora && !has_low_rank(config, *setup_.lora, patterns)) throw other_training("`lora`");
      job_.compiled = compile_config(loaded.model, without_optimizer(setup_.changes));
      return;
    }
    if (setup_.policy)
      loaded.model = keras::Model::read(loaded.file, with_policy(loaded.model.config(whole), *setup_.policy));
    if (setup_.lora)
      loaded.model = keras::Model::read(loaded.file, with_low_rank(loaded.model.config(whole), *setup_.lora, patterns));
    CompileChanges changes = setup_.changes;
    if (evaluates_) changes.optimizer = "rmsprop";  // it takes no step; the model's own may be a custom class
    job_.compiled = compile_config(loaded.model, changes);
    in_file(place_of_compile_config(), [&] { (void)keras::compiled_optimizer(job_.compiled); });
  }

  [[nodiscard]] std::string place_of_compile_config() const {
    const std::string file = setup_.changes.file ? *setup_.changes.file
                             : setup_.model      ? *setup_.model
                                                 : job_.loaded->file;
    CompileChanges alone;
    alone.file = setup_.changes.file;
    alone.config = setup_.changes.config;
    return setup_.changes == alone ? file : file + " with the options";
  }

  [[nodiscard]] Error other_training(std::string_view option) const {
    return bad_usage("`resume` continues the training in {}, which has another {}: leave out that option, or `resume`",
                     printable(*setup_.model), option);
  }

  void read_files() {
    const keras::Model& model = job_.loaded->model;
    const DataReading reading{setup_.execution.sequence_length, setup_.files.csv_target};
    job_.given = read_data(model, setup_.files.words(model), reading);
    if (setup_.validation) job_.held_out = read_data(model, {*setup_.validation}, reading);
  }

  void take_arrays(const Arrays& arrays) {
    job_.given = named_data(job_.loaded->model, arrays.data);
    if (!arrays.validation.empty()) job_.held_out = named_data(job_.loaded->model, arrays.validation);
  }

  void check_data() {
    if (setup_.validation_split) job_.held_out = split_off(job_.given, *setup_.validation_split);
    if (setup_.overfit) keep_rows(job_.given, setup_.batch_size);
    if (setup_.class_weight) add_class_weights(job_.given, *setup_.class_weight);
    job_.rows.emplace(job_.given.arrays);
    job_.validation_rows.emplace(job_.held_out.arrays);
    const std::int64_t rows = job_.rows->rows();
    if (rows == 0) throw bad_input("the {}data has no rows", evaluates_ ? "" : "training ");
    if (setup_.validation && job_.validation_rows->rows() == 0)
      throw bad_input("{}: the validation data has no rows", printable(*setup_.validation));
    const std::int64_t steps = job_.options.steps_in_all(rows);
    if (!setup_.resume) {
      job_.compiled = with_schedule(job_.compiled, setup_.changes, steps);
    } else if (change_optimizer(setup_.changes) && !has_optimizer(job_.loaded->model, setup_.changes, steps)) {
      throw other_training("optimizer (" + optimizer_options(setup_.changes) + ")");
    }
    job_.settings = keras::compiled_optimizer(job_.compiled);
    if (const std::int64_t batches = job_.options.batches_of(rows); setup_.steps_per_epoch > batches)
      listener_.warn(
          fmt::format("`steps_per_epoch` {}: the data has only {} batches", *setup_.steps_per_epoch, batches));
  }

  /// Sets the state at the start.
  void begin() {
    State& state = job_.state;
    open::LoadedModel& loaded = *job_.loaded;
    setup_.check_counts();
    const auto data_now = fingerprints(job_.given.arrays);
    if (setup_.resume) {
      const auto kept = loaded.weights ? read_state(*loaded.weights) : std::nullopt;
      if (!kept) throw bad_input("{}: the file has no training state to resume from", printable(*setup_.model));
      state = *kept;
      setup_.check_resumed(state);
      if (setup_.changes.loss_scale && setup_.changes.loss_scale != state.loss_scale)
        throw other_training("`loss_scale`");
      if ((!setup_.frozen.empty() || !setup_.trained.empty()) &&
          state.frozen != frozen_layers(loaded.model, setup_.frozen, setup_.trained))
        throw other_training("`freeze` or `train`");
      warn_of_other_data(data_now);
    } else {
      state.seed = setup_.execution.seed;
      state.batch_size = setup_.batch_size;
      state.shuffle = !setup_.no_shuffle;
      state.shuffled_block = setup_.shuffled_block;
      state.steps_per_epoch = setup_.steps_per_epoch.value_or(0);
      state.loss_scale = setup_.changes.loss_scale;
      state.frozen = frozen_layers(loaded.model, setup_.frozen, setup_.trained);
    }
    state.data = data_now;
    loaded.model.freeze(state.frozen);
    job_.options.seed = state.seed;
  }

  void warn_of_other_data(const std::map<std::string, std::string>& data_now) const {
    for (const auto& [name, now] : data_now) {
      const auto before = job_.state.data.find(name);
      if (before != job_.state.data.end() && before->second == now) continue;
      listener_.warn(fmt::format(
          "the array '{}' of the data has changed since the training stopped: it is {}, and was {}; results will "
          "differ "
          "from those of an uninterrupted training",
          printable(name), printable(now), before == job_.state.data.end() ? "not there" : printable(before->second)));
    }
  }

  [[nodiscard]] TrainedModel lowering() const {
    return {job_.compiled, setup_.execution.sequence_length, !setup_.no_dropout, job_.state.seed};
  }

  /// Lowers the graph of a step, by which data and options are checked.
  void lower() {
    lower_first_batch();
    lower_held_out();
    const keras::LossGraph& shown = job_.shown;
    expect_labels(shown, job_.given);
    expect_labels(shown, job_.held_out);
    expect_indices(shown.graph, job_.given);
    expect_indices(shown.graph, job_.held_out);
    if (!job_.state.loss_scale && is_mixed_float16(shown.graph) && !job_.settings.loss_scale) {
      job_.settings.loss_scale.emplace();  // compile() wraps the optimizer too
      job_.settings.loss_scale_factor.reset();
    }
    const bool watches = !setup_.overfit;
    job_.callbacks.emplace(watches ? setup_.early_stopping : std::nullopt, watches ? setup_.reduce_lr : std::nullopt,
                           setup_.saves_best, monitored_values(shown, watches && job_.validation_rows->rows() > 0),
                           job_.state);
    require_memory_for(weights_and_gradients(shown.graph));
  }

  /// Adds the file's name to errors about the compile_config, but not to those about the data.
  void lower_first_batch() const {
    try {
      job_.shown = lowering().lower(job_.loaded->model, job_.first_batch(), true);
    } catch (const Error& error) {
      for (const std::string_view part : {"loss:", "loss_weights:", "metric:", "metrics:", "weighted_metrics:"})
        if (error.code() == ExitCode::bad_input && std::string_view(error.what()).starts_with(part))
          throw bad_input("{}: compile_config: {}", printable(place_of_compile_config()), error.what())
              .about(error.field());
      throw;
    }
  }

  /// The data that is held out must have the arrays that the training data has.
  void lower_held_out() const {
    if (job_.validation_rows->rows() == 0) return;
    try {
      (void)lowering().lower(job_.loaded->model, first_rows(*job_.validation_rows, job_.options.batch_size), true);
    } catch (const Error& error) {
      if (error.code() != ExitCode::bad_input) throw;
      throw bad_input("{}: {}", setup_.validation ? printable(*setup_.validation) : "the validation data", error.what())
          .about(error.field());
    }
  }

  [[nodiscard]] TrainerOptions trainer_options(communicators::Communicator* ranks) const {
    TrainerOptions how;
    how.compile = setup_.execution.compile_options();
    how.compile.ranks = ranks;
    how.tables = setup_.tables;
    how.recompute = setup_.recomputes;
    how.reduce_dtype = setup_.reduce_dtype;
    how.shares_optimizer = setup_.zero == 1;
    if (!setup_.deterministic) return how;
    how.parts = parallel::kParts;
    if (ranks != nullptr && ranks->size() > parallel::kParts)
      throw bad_usage("`deterministic`: a batch has {} parts, so {} ranks are unsupported: use 1 to {}",
                      parallel::kParts, ranks->size(), parallel::kParts);
    return how;
  }

  void make_trainer(communicators::Communicator* ranks) {
    const open::LoadedModel& loaded = *job_.loaded;
    const TrainerOptions how = trainer_options(ranks);
    std::vector<Tensor> weights = open::load_weights(loaded, setup_.execution, listener_);
    go_on_with(job_.state.unmerged, weights);
    revive(loaded.model.weights(), weights, job_.state.seed);
    job_.trainer = std::make_unique<Trainer>(
        *job_.backend,
        [&loaded, lowering = lowering()](const Batch& batch, bool training) {
          return lowering.lower(loaded.model, batch, training);
        },
        loaded.model.weights(), weights, job_.settings, how);
    if (evaluates_) return;
    Trainer& trainer = *job_.trainer;
    const Batch sample = job_.first_batch();
    job_.memory = trainer.memory_needed(sample);
    require_memory_for(static_cast<UInt128>(job_.memory));
    trainer.prepare(sample);
    trainer.set_draws(job_.state.draws);
    job_.taken_over = take_over_optimizer();
    if (job_.taken_over.empty() && std::holds_alternative<optimizers::ScheduleFreeAdamW>(job_.settings.rule))
      listener_.warn(
          "the momentum of ScheduleFreeAdamW starts at the weights; Keras's fit() starts it at 0 after compile(), and "
          "after load_model() at the weights that the layers had before the file's");
    if (setup_.resume) in_file(*loaded.weights, [&] { take_over_state(); });
  }

  /// Reads the arrays that an archive holds in addition to Keras's; they must fit this model and optimizer.
  void take_over_state() const {
    const State& state = job_.state;
    job_.trainer->optimizer().set_unsaved(state.unsaved);
    if (!state.best_weights.empty()) job_.trainer->expect_weights(state.best_weights);
  }

  void require_memory_for(UInt128 bytes) const {
    run::require_memory(evaluates_ ? "evaluation takes" : "training takes", bytes,
                        open::memory_limit(setup_.execution.memory_limit), [&] {
                          return fmt::format("a smaller `batch_size` takes less{}",
                                             evaluates_ || setup_.recomputes ? "" : ", as does `recompute` layer");
                        });
  }

  /// Replaces kernels that include a low-rank addition by the separate kernel and factors.
  void go_on_with(const std::map<int, Tensor>& unmerged, std::vector<Tensor>& weights) const {
    for (const auto& [number, tensor] : unmerged) {
      const auto at = static_cast<std::size_t>(number);
      if (number < 0 || at >= weights.size() || tensor.shape() != weights[at].shape())
        throw bad_input("{}: the stored training is of another model; continue without `resume`",
                        printable(*setup_.model));
      weights[at] = tensor.cast(weights[at].dtype());
    }
  }

  /// Returns the file of the weights, for messages.
  [[nodiscard]] std::string place_of_weights() const {
    const open::LoadedModel& loaded = *job_.loaded;
    return loaded.weights && !loaded.arrays ? *loaded.weights : loaded.file;
  }

  /// Continues from the optimizer's variables that fit() left in the archive, if the optimizer is the model's own.
  /// Returns these variables.
  [[nodiscard]] std::vector<Tensor> take_over_optimizer() const {
    const open::LoadedModel& loaded = *job_.loaded;
    optimizers::Optimizer& optimizer = job_.trainer->optimizer();
    const CompileChanges& changes = setup_.changes;
    const bool is_other = changes.optimizer || changes.file || changes.schedule();
    if (setup_.execution.weights || (is_other && !setup_.resume)) return {};
    std::vector<Tensor> state = optimizer_state_of(loaded);
    const std::size_t all = optimizer.state().size();
    if (state.empty() || (state.size() != all && state.size() <= optimizer.scale_variables() + 2))
      return {};  // the optimizer was never trained: it has rates and scales at most
    const bool fits = state.size() == all || state.size() + optimizer.scale_variables() == all;
    if (!setup_.resume && !fits) {  // Keras starts anew, too
      listener_.warn(
          fmt::format("{}: the file has {} optimizer variables, but {} are needed, because other layers are trained: "
                      "the optimizer state is reset",
                      printable(place_of_weights()), state.size(), all));
      return {};
    }
    in_file(place_of_weights(), [&] { optimizer.set_state(state); });
    if (const auto rate = changes.constant_rate(); rate && !setup_.resume) optimizer.set_learning_rate(*rate);
    return state;
  }

  Job& job_;
  const Setup& setup_;
  const open::Listener& listener_;
  bool evaluates_;
};

}  // namespace

Batch Job::first_batch() const { return first_rows(*rows, options.batch_size); }

void prepare(Job& job, const Setup& setup, communicators::Communicator* ranks, const open::Listener& listener) {
  Preparation(job, setup, listener).run(ranks, std::nullopt);
}

void prepare_evaluation(Job& job, const Setup& setup, const open::Listener& listener) {
  Preparation(job, setup, listener, true).run(nullptr, std::nullopt);
}

void prepare(Job& job, const Setup& setup, std::map<std::string, Tensor> data, std::map<std::string, Tensor> validation,
             const open::Listener& listener) {
  Preparation(job, setup, listener).run(nullptr, Arrays{std::move(data), std::move(validation)});
}

}  // namespace attn::train
