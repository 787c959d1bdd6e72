#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "attn/base/error.h"
#include "attn/base/stop.h"
#include "attn/base/text.h"
#include "attn/keras/optimizer.h"
#include "attn/parallel/parts.h"
#include "attn/report/training.h"
#include "attn/run/compare.h"
#include "attn/run/memory.h"
#include "attn/train/fit.h"
#include "attn/weights/save.h"
#include "callback_options.h"
#include "common.h"
#include "facts.h"
#include "interrupt.h"
#include "low_rank.h"
#include "memory_limit.h"
#include "options/command.h"
#include "parallel_model.h"
#include "prepared_model.h"
#include "shared_options.h"
#include "training_archive.h"
#include "training_arrays.h"
#include "training_callbacks.h"
#include "training_checkpoints.h"
#include "training_data.h"
#include "training_log.h"
#include "training_losses.h"
#include "training_model.h"
#include "training_options.h"
#include "training_trial.h"

namespace attn::cli {
namespace {

using Clock = std::chrono::steady_clock;

struct TrainCommand : TrainingOptions {
  /// What a training is made of.
  struct Job {
    train::FitOptions options;
    std::unique_ptr<backends::Backend> backend;
    std::optional<LoadedModel> loaded;
    std::string compiled;
    optimizers::Settings settings;
    GivenInputs given, held_out;
    std::optional<train::Data> rows, validation_rows;
    std::optional<ExpectedLosses> expected;
    TrainingState state;
    keras::LossGraph shown;
    std::optional<TrainingCallbacks> callbacks;
    std::unique_ptr<train::Trainer> trainer;
    std::vector<Tensor> taken_over;  ///< the optimizer's variables that a file had
    std::int64_t memory = 0;         ///< bytes that training takes
    Clock::time_point start = Clock::now();
  };

  [[nodiscard]] int run() const {
    if (const std::optional<ParallelWord> shared = ranks.asked()) return run_shared(*shared);
    expect_one_process("--parallel data lets them share it");
    Job job;
    prepare(job, nullptr);
    return plans ? tell_plan(job) : train(job, nullptr);
  }

  /// Of ranks the first tells and writes; all read the same files and compute the rows that are their own.
  [[nodiscard]] int run_shared(const ParallelWord& word) const {
    Ranks world(ranks, word, common.console);
    if (!world.speaks()) {
      TrainCommand silent;
      static_cast<TrainingOptions&>(silent) = this->silent();
      silent.writes = false;
      return silent.run_as(world);
    }
    return run_as(world);
  }

  [[nodiscard]] int run_as(Ranks& world) const {
    Job job;
    return world.together([&] { return prepare(job, &world.world()); }, [&] { return train(job, &world); });
  }

  /// All that can fail before the first step. Gives what ranks must agree on.
  std::vector<Fact> prepare(Job& job, communicators::Communicator* world) const {
    job.options = check();
    if (expected_losses) job.expected = read_expected_losses(*expected_losses);
    job.backend = open_backend("cpu", execution.backend, common.console);
    job.loaded.emplace(load_model(model, execution, common.console));
    LoadedModel& loaded = *job.loaded;
    keras::ConfigOptions whole;
    whole.assets = true;
    if (policy) loaded.model = keras::Model::read(loaded.file, with_policy(loaded.model.config(whole), *policy));
    if (lora) {
      const std::vector<std::string> all{"*"};
      loaded.model = keras::Model::read(loaded.file, with_low_rank(loaded.model.config(whole), low_rank_of(*lora),
                                                                   lora_layers.empty() ? all : lora_layers));
    }
    job.compiled = compile_config(loaded.model, changes);

    job.given = read_training_data(loaded.model, files.words(loaded.model), execution.sequence_length);
    if (validation) job.held_out = read_training_data(loaded.model, {*validation}, execution.sequence_length);
    if (validation_split) job.held_out = split_off(job.given, *validation_split);
    if (overfit) keep_rows(job.given, batch_size);
    if (class_weight) add_class_weights(job.given, *class_weight);
    job.rows.emplace(job.given.arrays);
    job.validation_rows.emplace(job.held_out.arrays);
    if (job.rows->rows() == 0) throw bad_input("there is no row to train on");
    job.compiled = with_schedule(job.compiled, changes, job.options.steps_in_all(job.rows->rows()));
    job.settings = keras::compiled_optimizer(job.compiled);
    optimizers::Settings& settings = job.settings;
    if (const std::int64_t batches = job.options.batches_of(job.rows->rows()); steps_per_epoch > batches)
      common.console.warn(fmt::format("--steps-per-epoch {}: the data has {} batches, and an epoch ends with them",
                                      *steps_per_epoch, batches));

    job.state = begin(loaded, job.given);
    loaded.model.freeze(job.state.frozen);
    job.options.seed = job.state.seed;
    train::TrainerOptions how;
    how.compile = execution.compile_options();
    how.compile.ranks = world;
    how.tables = tables;
    how.recompute = recomputes;
    how.reduce_dtype = reduce_dtype;
    how.shares_optimizer = zero == 1;
    if (deterministic) {
      how.parts = parallel::kParts;
      if (world != nullptr && world->size() > parallel::kParts)
        throw bad_usage("--deterministic: a batch is in {} parts, which {} ranks cannot share: 1 to {} work",
                        parallel::kParts, world->size(), parallel::kParts);
    }
    const TrainedModel lowering{job.compiled, execution.sequence_length, !no_dropout, job.state.seed};
    const train::Batch sample = job.rows->gather(first_rows(job.rows->rows()));
    job.shown = lowering.lower(loaded.model, sample, true);
    const keras::LossGraph& shown = job.shown;
    expect_labels(shown, job.given);
    expect_labels(shown, job.held_out);
    if (no_loss_scale) {
      settings.loss_scale.reset();
    } else if (uses_float16(shown.graph) && !settings.loss_scale) {  // as compile() wraps the optimizer
      settings.loss_scale.emplace();
      settings.loss_scale_factor.reset();
    }
    const std::optional<std::string> none;
    job.callbacks.emplace(overfit ? none : early_stopping, overfit ? none : reduce_lr, save_best,
                          watchable(shown, validates()), job.state);
    require_memory_for(weights_and_gradients(shown.graph));
    std::vector<Tensor> weights = load_weights(loaded, execution, common.console);
    go_on_with(job.state.unmerged, weights);
    revive(loaded.model.weights(), weights, job.state.seed);
    job.trainer = std::make_unique<train::Trainer>(
        *job.backend,
        [&loaded, lowering](const train::Batch& batch, bool training) {
          return lowering.lower(loaded.model, batch, training);
        },
        loaded.model.weights(), weights, settings, how);
    train::Trainer& trainer = *job.trainer;
    job.memory = trainer.memory_needed(sample);
    require_memory_for(static_cast<UInt128>(job.memory));
    trainer.prepare(sample);
    trainer.set_draws(job.state.draws);
    job.taken_over = take_over_optimizer(loaded, trainer);
    trainer.optimizer().set_unsaved(job.state.unsaved);
    if (lora_output) expect_low_rank(trainer);
    if (writes && saves()) require_disk(*target, trainer, job.callbacks->keeps_best_weights(), keep.value_or(0) + 1);
    return world == nullptr ? std::vector<Fact>() : facts(job);
  }

  [[nodiscard]] std::vector<Fact> facts(const Job& job) const {
    std::string arrays;
    for (const GivenInputs* given : {&job.given, &job.held_out})
      for (const auto& [name, print] : fingerprints(given->arrays)) arrays += name + " " + print + "\n";
    return {fact_of("attn", ATTN_VERSION),
            fact_of("model", graph::print(job.shown.graph) + job.compiled),
            fact_of("options", decisive() + fmt::format(" {}", job.state.position.step)),
            fact_of("data", arrays),
            fact_of("weights", job.trainer->weights()),
            fact_of("optimizer", job.taken_over)};
  }

  [[nodiscard]] int train(Job& job, Ranks* world) const {
    train::Trainer& trainer = *job.trainer;
    TrainingState& state = job.state;
    const SaveEvery every = save_every_of(save_every);
    if (world != nullptr) world->world().reset_counts();
    const auto began = Clock::now();
    report::TrainingReport report =
        describe(*job.loaded, job.shown, *job.backend, job.settings, job.rows->rows(), state.seed);
    TrainingLog log(log_targets(), job.options.epochs, common.console);
    log.start(report);
    const auto save = [&](const std::string& path, const std::vector<NamedTensor>& variables) {
      state.draws = trainer.draws();
      job.callbacks->keep(state);
      if (writes) write_training(path, *job.loaded, job.compiled, trainer, variables, state);
    };
    const auto write = [&](const std::string& path, const std::vector<NamedTensor>& variables) {
      save(path, variables);
      if (writes) log.checkpoint(path, state.position.step);
    };
    const auto write_target = [&](const std::vector<NamedTensor>& variables) {
      const auto to = [&](const std::string& path) { write(path, variables); };
      if (keep && writes) return write_and_keep(*target, state.position.step, *keep, state.kept, to);
      to(*target);
    };
    std::string failure;  // of the last checkpoint, which is told once
    const auto checkpoint = [&](bool is_best) {
      const std::vector<NamedTensor> variables = trainer.optimizer_state();
      try {
        is_best ? write(*save_best, variables) : write_target(variables);
        failure.clear();
      } catch (const Error& error) {  // nothing that was trained is lost: the one before is still there
        if (std::exchange(failure, error.what()) != error.what())
          common.console.warn(
              fmt::format("{}; the training goes on, and the next checkpoint is tried again", error.what()));
      }
    };
    train::FitEvents events;
    events.begin = [&](std::int64_t epoch, std::int64_t batches) { log.begin_epoch(epoch, batches); };
    events.step = [&](const train::StepEvent& event) {
      log.step(event);
      if (!event.result.not_finite.empty()) {
        report.not_finite = event.result.not_finite;
        return;
      }
      report.points.push_back({event.position.step, event.result.loss, event.result.learning_rate});
      if (every.steps > 0 && event.position.step % every.steps == 0) checkpoint(false);
    };
    events.epoch = [&](const train::EpochEvent& event) {
      const EpochVerdict verdict = job.callbacks->end_of_epoch(event, trainer);
      for (const auto& [name, value] : verdict.logs) report.history[name].push_back(value);
      report.ends_of_epochs.push_back(state.position.step);
      log.epoch(event, verdict.logs);
      if (!verdict.message.empty()) log.say(verdict.message);
      if (verdict.is_best) checkpoint(true);
      if (every.epochs > 0 && event.epoch % every.epochs == 0 && event.epoch < job.options.epochs) checkpoint(false);
      return !verdict.stops;
    };

    const std::int64_t steps_before = state.position.step;
    try {
      report.end =
          train_until(trainer, *job.rows, validates() ? &*job.validation_rows : nullptr, job.options, state, events);
    } catch (const Error& error) {
      // A rank alone cannot ask the others for their parts.
      if (world != nullptr || !saves() || state.position.step == steps_before) throw;
      const std::string kept =
          keep_what_was_trained([&](const std::string& path) { save(path, trainer.optimizer_state()); });
      throw Error(error.code(), fmt::format("after step {}: {}; {}", state.position.step, error.what(), kept))
          .about(error.field());
    }
    if (world != nullptr) report.parallel = shared_report(*world, report, began);
    if (dump || zero == 1) {  // all ranks have a part in it, where they share the optimizer
      const std::vector<NamedTensor> variables = trainer.optimizer_state();
      if (dump) write_dump(*dump, trainer, variables);
    }
    if (report.end == "epochs" || report.end == "early stopping") {
      trainer.finalize();
      job.callbacks->restore_best_weights(trainer);
    }
    // A step that is not finite has moved nothing: what was before it is kept, where there is no checkpoint, or beside
    // it.
    const bool lost = report.end == "not finite";
    if (saves() && (!lost || state.position.step > steps_before)) {
      const std::string place =
          lost && std::filesystem::exists(*target) ? beside(*target, state.position.step) : *target;
      const std::vector<NamedTensor> variables = trainer.optimizer_state();
      write_at_end(place, [&](const std::string& path) { write(path, variables); });
      report.file = place;
    }
    if (lora_output && !lost) write_low_rank(*lora_output, trainer);
    report.epochs = state.position.epoch;
    report.steps = state.position.step;
    report.seconds = std::chrono::duration<double>(Clock::now() - job.start).count();
    log.end(report.end, report.steps);
    if (overfit) report.learned = has_learned(report);
    if (svg) write_result(report::render(Format::svg, report), svg, Look::exact);
    if (writes) write_report(report::render(common.form(), report), common.console, svg == "-");
    const int code = exit_code(report, world);
    return code == static_cast<int>(ExitCode::done) ? checked(report, job.expected) : code;
  }

  /// What the training takes; the time of a step by a few that are tried.
  [[nodiscard]] int tell_plan(Job& job) const {
    report::TrainingReport report =
        describe(*job.loaded, job.shown, *job.backend, job.settings, job.rows->rows(), job.state.seed);
    const train::Position& position = job.state.position;
    report.epochs = position.epoch;
    report.steps = position.step;
    report.end = "plan";
    report.plan = plan_of(*job.trainer, job.rows->gather(first_rows(job.rows->rows())), job.rows->rows(), job.options,
                          position, job.memory);
    report.seconds = std::chrono::duration<double>(Clock::now() - job.start).count();
    write_report(report::render(common.form(), report), common.console, false);
    return static_cast<int>(ExitCode::done);
  }

  [[nodiscard]] report::ParallelReport shared_report(Ranks& world, const report::TrainingReport& report,
                                                     Clock::time_point began) const {
    const communicators::Counts counts = world.world().counts();
    const double seconds = std::chrono::duration<double>(Clock::now() - began).count();
    const parallel::Shared rows{"the batch", "rows",
                                parallel::shares(std::min(batch_size, report.rows), world.world().size())};
    return parallel_report(world, {rows}, counts, seconds, report.setting.threads);
  }

  bool writes = true;  ///< of ranks one does

 private:
  /// The least that training holds, which is known before anything is read.
  [[nodiscard]] static UInt128 weights_and_gradients(const graph::Graph& graph) {
    UInt128 bytes = 0;
    for (const graph::WeightSpec& spec : graph.weights)
      bytes += static_cast<UInt128>(spec.shape.size()) * attn::bytes_of(spec.dtype) * (spec.trainable ? 2U : 1U);
    return bytes;
  }

  /// By --overfit and --expect-loss, of a training that has ended well.
  [[nodiscard]] int checked(const report::TrainingReport& report, const std::optional<ExpectedLosses>& expected) const {
    bool fails = false;
    const auto fail = [&](const std::string& message) {
      fails = true;
      if (writes) common.console.error(message);
    };
    if (report.learned == false) fail(why_not_learned(report));
    const run::Tolerance usual;
    if (expected)
      if (const auto differing = differing_losses(*expected, report, rtol.value_or(usual.rtol),
                                                  atol.value_or(usual.atol), *expected_losses))
        fail(*differing);
    return static_cast<int>(fails ? ExitCode::differs : ExitCode::done);
  }

  void require_memory_for(UInt128 bytes) const {
    run::require_memory("training takes", bytes, memory_limit(execution.memory_limit), [&] {
      return fmt::format("a smaller --batch-size takes less{}", recomputes ? "" : ", and so does --checkpoint layer");
    });
  }

  [[nodiscard]] std::vector<std::int64_t> first_rows(std::int64_t all) const {
    std::vector<std::int64_t> out;
    for (std::int64_t row = 0; row < std::min(all, batch_size); ++row) out.push_back(row);
    return out;
  }

  [[nodiscard]] TrainingState begin(const LoadedModel& loaded, const GivenInputs& given) const {
    TrainingState state;
    const auto data_now = fingerprints(given.arrays);
    if (resume) {
      const auto kept = loaded.weights ? read_training_state(*loaded.weights) : std::nullopt;
      if (!kept) throw bad_input("{}: attn did not train it, so there is no place to go on from", printable(*model));
      state = *kept;
      check_resumed(state);
      for (const auto& [name, now] : data_now) {
        const auto before = state.data.find(name);
        if (before != state.data.end() && before->second == now) continue;
        common.console.warn(fmt::format(
            "the array '{}' of the data is not what it was when the training stopped: {}, and it was {}; what follows "
            "is "
            "not what a training that never stopped would have given",
            printable(name), printable(now), before == state.data.end() ? "not there" : printable(before->second)));
      }
    } else {
      state.seed = execution.seed;
      state.batch_size = batch_size;
      state.shuffle = !no_shuffle;
      state.shuffled_block = shuffled_block;
      state.steps_per_epoch = steps_per_epoch.value_or(0);
      state.frozen = frozen_layers(loaded.model, frozen, trained);
    }
    state.data = data_now;
    return state;
  }

  /// In place of what stands for them in Keras's files.
  void go_on_with(const std::map<int, Tensor>& unmerged, std::vector<Tensor>& weights) const {
    for (const auto& [number, tensor] : unmerged) {
      const auto at = static_cast<std::size_t>(number);
      if (number < 0 || at >= weights.size() || tensor.shape() != weights[at].shape())
        throw bad_input("{}: what attn keeps of the training is of another model; go on without --resume",
                        printable(*model));
      weights[at] = tensor.cast(weights[at].dtype());
    }
  }

  /// What fit() left in the archive goes on, where the optimizer is the model's own.
  /// Gives what that was.
  [[nodiscard]] std::vector<Tensor> take_over_optimizer(const LoadedModel& loaded, train::Trainer& trainer) const {
    if (!loaded.weights || execution.weights || changes.optimizer || changes.file || changes.schedule()) return {};
    std::vector<Tensor> state = read_optimizer_state(*loaded.weights);
    const std::size_t all = trainer.optimizer().state().size();
    if (state.empty() || (state.size() != all && state.size() <= trainer.optimizer().scale_variables() + 2))
      return {};  // never trained: rates and scales at most
    const bool fits = state.size() == all || state.size() + trainer.optimizer().scale_variables() == all;
    if (!resume && !fits) {  // as Keras does
      common.console.warn(fmt::format(
          "{}: the optimizer has {} variables there and {} here, for other layers are trained: it begins anew",
          printable(*loaded.weights), state.size(), all));
      return {};
    }
    trainer.optimizer().set_state(state);
    if (changes.learning_rate) trainer.optimizer().set_learning_rate(*changes.learning_rate);
    return state;
  }

  [[nodiscard]] report::TrainingReport describe(const LoadedModel& loaded, const keras::LossGraph& shown,
                                                const backends::Backend& backend, const optimizers::Settings& settings,
                                                std::int64_t rows, std::uint64_t seed) const {
    report::TrainingReport report;
    report.setting = setting_of(loaded, shown.graph, backend, execution);
    report.optimizer = settings.name + (settings.loss_scale ? " with a scaled loss" : "");
    report.loss = shown.described;
    report.seed = seed;
    report.rows = rows;
    for (const graph::WeightSpec& spec : shown.graph.weights) {
      report.params += spec.shape.size();
      if (spec.trainable) report.trainable += spec.shape.size();
    }
    if (report.trainable == 0) throw bad_input("no layer is left to train");
    return report;
  }

  /// How it ended.
  static std::string train_until(train::Trainer& trainer, const train::Data& rows, const train::Data* validation_rows,
                                 const train::FitOptions& options, TrainingState& state,
                                 const train::FitEvents& events) {
    const Interrupt interrupt;
    try {
      switch (train::fit(trainer, rows, validation_rows, options, state.position, events)) {
        case train::FitEnd::epochs:
          return "epochs";
        case train::FitEnd::steps:
          return "steps";
        case train::FitEnd::deadline:
          return "time limit";
        case train::FitEnd::listener:
          return "early stopping";
        case train::FitEnd::not_finite:
          return "not finite";
      }
    } catch (const Stopped&) {
      take_back_stop();
    }
    return "signal";
  }

  /// Where the steps before a failure are.
  [[nodiscard]] std::string keep_what_was_trained(const std::function<void(const std::string&)>& write) const {
    try {
      write_at_end(*target, write);
    } catch (const Error& error) {
      return error.what();
    }
    return fmt::format("what was trained is in {}, and --resume goes on from there", printable(*target));
  }

  [[nodiscard]] int exit_code(const report::TrainingReport& report, Ranks* world) const {
    const std::string resumes =
        saves() ? fmt::format("`attn train {} --resume` with the same data and options goes on", printable(*target))
                : "nothing was written";
    if (report.end == "not finite") {
      if (writes)
        common.console.error(fmt::format("step {} is not finite, first in {}; {}", report.steps + 1, report.not_finite,
                                         what_is_left(report)));
      return static_cast<int>(ExitCode::differs);
    }
    if (report.end == "signal") {
      common.console.warn(fmt::format("interrupted after step {}; {}", report.steps, resumes));
      return world == nullptr ? Interrupt::exit_code() : Interrupt::exit_code(first_signal(*world));
    }
    if (report.end == "time limit")
      common.console.warn(fmt::format("the time is over after step {}; {}", report.steps, resumes));
    return static_cast<int>(ExitCode::done);
  }

  /// Of a training that a step ended which is not finite.
  [[nodiscard]] std::string what_is_left(const report::TrainingReport& report) const {
    if (!saves()) return "nothing was written";
    const bool is_kept = std::filesystem::exists(*target);
    if (report.file.empty()) return is_kept ? printable(*target) + " is as it was before" : "nothing was trained";
    const std::string before = fmt::format("what was trained before it is in {}", printable(report.file));
    return report.file == *target ? before : fmt::format("{}, and {} is as it was before", before, printable(*target));
  }

  /// One of those that some rank has got.
  [[nodiscard]] static int first_signal(Ranks& world) {
    return static_cast<int>(std::ranges::max(gather_numbers(world.world(), Interrupt::signal())));
  }
};

}  // namespace

Command train_command() { return command_of<TrainCommand>("train", "train a model, as Keras's fit() does"); }

}  // namespace attn::cli
