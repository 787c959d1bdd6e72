#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "attn/base/error.h"
#include "attn/base/stop.h"
#include "attn/base/text.h"
#include "attn/io/tensor_file.h"
#include "attn/keras/optimizer.h"
#include "attn/report/training.h"
#include "attn/run/memory.h"
#include "attn/train/fit.h"
#include "attn/weights/save.h"
#include "callback_options.h"
#include "common.h"
#include "interrupt.h"
#include "low_rank.h"
#include "memory_limit.h"
#include "options/command.h"
#include "prepared_model.h"
#include "shared_options.h"
#include "training_archive.h"
#include "training_callbacks.h"
#include "training_data.h"
#include "training_log.h"
#include "training_model.h"

namespace attn::cli {
namespace {

using Clock = std::chrono::steady_clock;

struct TrainCommand {
  Common common;
  Execution execution;
  std::optional<std::string> model, validation, target, dump, svg, class_weight, early_stopping, reduce_lr, save_best,
      time_limit, save_every, lora;
  CompileChanges changes;
  LogTargets logs;
  std::vector<std::string> data, frozen, trained, lora_layers;
  std::optional<double> validation_split;
  std::int64_t epochs = 1, batch_size = 32;
  std::optional<std::int64_t> steps;
  bool no_shuffle = false, drop_remainder = false, resume = false, no_dropout = false, no_loss_scale = false;
  bool recomputes = false;
  train::TableGradient tables = train::TableGradient::entries;

  void declare(Options& options) {
    add_common(options, common, {Format::table, Format::json}, false);
    add_model(options, model);
    options
        .add("--data", data, "FILE",
             "inputs by name, targets y or y:<output>, sample_weight (.npz, .npy, .safetensors), or a text (.txt)")
        .repeatable()
        .required();
    options.add("-o,--output", target, "FILE", "the trained model, .keras: weights, optimizer, and where it stands")
        .required();
    options.add("--epochs", epochs, "N", "times over the data, those before --resume too (1)").above_zero();
    options.add("--steps", steps, "N", "end after so many steps in all").above_zero();
    options.add("--time-limit", time_limit, "TIME", "end after the step in which 90s, 30m or 1h30m are over");
    options.add("--batch-size", batch_size, "N", "rows of a step (32)").above_zero();
    options.flag("--no-shuffle", no_shuffle, "take the rows in their order in every epoch");
    options.flag("--drop-remainder", drop_remainder, "leave out a last batch with fewer rows");
    options.add("--validation", validation, "FILE", "data to evaluate after each epoch");
    options.add("--validation-split", validation_split, "SHARE", "the last part of the data instead").between(0.0, 1.0);
    options.add("--class-weight", class_weight, "JSON", "what a row counts by its class, as {\"0\": 1, \"1\": 5}");
    options.add("--loss", changes.loss, "LOSS", "a name, or JSON as Keras writes it, in place of the model's own");
    options.add("--optimizer", changes.optimizer, "OPTIMIZER",
                "a name, or JSON as Keras writes it, in place of the model's own");
    options.add("--learning-rate", changes.learning_rate, "R", "in place of the optimizer's").not_negative();
    options.flag("--no-loss-scale", no_loss_scale, "do not scale the loss of a model that computes in float16");
    options.flag("--no-dropout", no_dropout, "drop nothing, and add no noise");
    options.choice<train::TableGradient>(
        "--embedding-gradient", tables,
        {{"keras-tf", train::TableGradient::entries}, {"dense", train::TableGradient::dense}}, "HOW",
        "how the gradient of a looked-up table is squared: row by row as on TensorFlow, or as a whole");
    options.add("--freeze", frozen, "PATTERN", "leave layers of such names as they are, with * and ?").repeatable();
    options.add("--train", trained, "PATTERN", "leave all other layers as they are").repeatable();
    options.add("--lora", lora, "RANK[,ALPHA]", "train low-rank additions to kernels, as Keras's enable_lora");
    options.add("--lora-layers", lora_layers, "PATTERN", "to those of layers with such names; without it to all")
        .repeatable();
    options.add("--early-stopping", early_stopping, "KEY=VALUE,…",
                "end where nothing improves: monitor, patience, min_delta, mode, baseline, restore_best_weights, "
                "start_from_epoch");
    options.add("--reduce-lr", reduce_lr, "KEY=VALUE,…",
                "lower the learning rate where nothing improves: monitor, factor, patience, min_delta, mode, cooldown, "
                "min_lr");
    options.flag("--resume", resume, "go on where MODEL stopped, as if it never had");
    options.add("--save-every", save_every, "N[steps]", "write -o after every N epochs, or steps, too");
    options.add("--save-best", save_best, "FILE", "the model of the epoch with the least validation loss, .keras");
    options.add("--log", logs.events, "FILE", "an event in each line, as JSON; --resume appends");
    options.add("--csv", logs.csv, "FILE", "a row for each epoch, as Keras's CSVLogger; --resume appends");
    options.add("--tensorboard", logs.tensorboard, "DIR", "event files for TensorBoard, of steps and epochs");
    options.add("--svg", svg, "FILE", "draw the losses and the learning rate over the steps");
    options.add("--dump", dump, "FILE", "weights and the optimizer's variables after the last step, as arrays");
    options.choice<ShownProgress>("--progress", logs.progress,
                                  {{"auto", ShownProgress::automatic},
                                   {"bar", ShownProgress::bar},
                                   {"lines", ShownProgress::lines},
                                   {"none", ShownProgress::none}},
                                  "HOW", "Keras's bar on a terminal, a line for each epoch elsewhere, or nothing");
    add_checkpoint(options, recomputes);
    add_memory_limit(options, execution.memory_limit);
    add_input_shape(options, execution.input_shape);
    add_weights(options, execution.weights);
    add_backend(options, execution.backend);
    add_matmul_precision(options, execution.precision);
    add_sequence_length(options, execution.sequence_length);
    add_threads(options, execution.threads);
    add_seed(options, execution.seed);
    add_keras_version(options, execution.keras_version);
  }

  [[nodiscard]] int run() const {
    const auto start = Clock::now();
    train::FitOptions options = check();
    const SaveEvery saves = save_every_of(save_every);
    const auto backend = open_backend("cpu", execution.backend, common.console);
    LoadedModel loaded = load_model(model, execution, common.console);
    if (lora) {
      const std::vector<std::string> all{"*"};
      keras::ConfigOptions whole;
      whole.assets = true;
      loaded.model = keras::Model::read(loaded.file, with_low_rank(loaded.model.config(whole), low_rank_of(*lora),
                                                                   lora_layers.empty() ? all : lora_layers));
    }
    const std::string compiled = compile_config(loaded.model, changes);
    optimizers::Settings settings = keras::compiled_optimizer(compiled);

    GivenInputs given = read_training_data(loaded.model, data, execution.sequence_length);
    GivenInputs held_out;
    if (validation) held_out = read_training_data(loaded.model, {*validation}, execution.sequence_length);
    if (validation_split) held_out = split_off(given);
    if (class_weight) add_class_weights(given, *class_weight);
    const train::Data rows(given.arrays), validation_rows(held_out.arrays);
    if (rows.rows() == 0) throw bad_input("there is no row to train on");

    TrainingState state = begin(loaded, given);
    loaded.model.freeze(state.frozen);
    options.seed = state.seed;
    train::TrainerOptions how;
    how.compile = execution.compile_options();
    how.tables = tables;
    how.recompute = recomputes;
    const TrainedModel lowering{changes.loss, execution.sequence_length, !no_dropout, state.seed};
    const train::Batch sample = rows.gather(first_rows(rows.rows()));
    const keras::LossGraph shown = lowering.lower(loaded.model, sample, true);
    if (no_loss_scale) {
      settings.loss_scale.reset();
    } else if (uses_float16(shown.graph) && !settings.loss_scale) {  // as compile() wraps the optimizer
      settings.loss_scale.emplace();
      settings.loss_scale_factor.reset();
    }
    TrainingCallbacks callbacks(early_stopping, reduce_lr, save_best, watchable(shown, validates()), state);
    require_memory_for(weights_and_gradients(shown.graph));
    std::vector<Tensor> weights = load_weights(loaded, execution, common.console);
    go_on_with(state.unmerged, weights);
    revive(loaded.model.weights(), weights, state.seed);
    train::Trainer trainer(
        *backend,
        [&](const train::Batch& batch, bool training) { return lowering.lower(loaded.model, batch, training); },
        loaded.model.weights(), weights, settings, how);
    require_memory_for(static_cast<UInt128>(trainer.memory_needed(sample)));
    trainer.prepare(sample);
    trainer.set_draws(state.draws);
    take_over_optimizer(loaded, trainer);
    require_disk(*target, trainer, callbacks.keeps_best_weights());

    report::TrainingReport report = describe(loaded, shown, *backend, settings, rows.rows(), state.seed);
    TrainingLog log(log_targets(), epochs, common.console);
    log.start(report);
    const auto write = [&](const std::string& path) {
      state.draws = trainer.draws();
      callbacks.keep(state);
      write_training(path, loaded, compiled, trainer, state);
      log.checkpoint(path, state.position.step);
    };
    const auto checkpoint = [&](const std::string& path) {
      try {
        write(path);
      } catch (const Error& error) {  // nothing that was trained is lost: the one before is still there
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
      if (saves.steps > 0 && event.position.step % saves.steps == 0) checkpoint(*target);
    };
    events.epoch = [&](const train::EpochEvent& event) {
      const EpochVerdict verdict = callbacks.end_of_epoch(event, trainer);
      for (const auto& [name, value] : verdict.logs) report.history[name].push_back(value);
      report.ends_of_epochs.push_back(state.position.step);
      log.epoch(event, verdict.logs);
      if (!verdict.message.empty()) log.say(verdict.message);
      if (verdict.is_best) checkpoint(*save_best);
      if (saves.epochs > 0 && event.epoch % saves.epochs == 0 && event.epoch < epochs) checkpoint(*target);
      return !verdict.stops;
    };

    report.end = train_until(trainer, rows, validates() ? &validation_rows : nullptr, options, state, events);
    if (dump) write_dump(trainer);
    if (report.end == "epochs" || report.end == "early stopping") {
      trainer.finalize();
      callbacks.restore_best_weights(trainer);
    }
    const bool lost = report.end == "not finite";
    if (!lost) write_at_end(write);
    report.file = lost ? "" : *target;
    report.epochs = state.position.epoch;
    report.steps = state.position.step;
    report.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    log.end(report.end, report.steps);
    if (svg) write_result(report::render(Format::svg, report), svg, Look::exact);
    write_report(report::render(common.form(), report), common.console, svg == "-");
    return exit_code(report);
  }

 private:
  /// The least that training holds, which is known before anything is read.
  [[nodiscard]] static UInt128 weights_and_gradients(const graph::Graph& graph) {
    UInt128 bytes = 0;
    for (const graph::WeightSpec& spec : graph.weights)
      bytes += static_cast<UInt128>(spec.shape.size()) * attn::bytes_of(spec.dtype) * (spec.trainable ? 2U : 1U);
    return bytes;
  }

  void require_memory_for(UInt128 bytes) const {
    run::require_memory("training takes", bytes, memory_limit(execution.memory_limit), [&] {
      return fmt::format("a smaller --batch-size takes less{}", recomputes ? "" : ", and so does --checkpoint layer");
    });
  }

  [[nodiscard]] bool validates() const { return validation || validation_split; }

  /// What the options say of the length, once they agree with each other.
  [[nodiscard]] train::FitOptions check() const {
    if (!weights::holds_config(*target)) throw bad_usage("-o {}: the trained model is a .keras", printable(*target));
    if (save_best && !weights::holds_config(*save_best))
      throw bad_usage("--save-best {}: the trained model is a .keras", printable(*save_best));
    if (dump) io::check_tensor_path(*dump);
    if (validation && validation_split) throw bad_usage("--validation and --validation-split exclude each other");
    if (resume && (!model || execution.weights || changes.optimizer || changes.learning_rate))
      throw bad_usage("--resume goes on with MODEL's own weights and optimizer");
    if (!lora && !lora_layers.empty()) throw bad_usage("--lora-layers is of --lora");
    if (resume && (!frozen.empty() || !trained.empty() || lora))
      throw bad_usage("--resume trains what the training began with: without --freeze, --train and --lora");
    train::FitOptions options;
    options.epochs = epochs;
    options.batch_size = batch_size;
    options.steps = steps;
    options.shuffle = !no_shuffle;
    options.drop_remainder = drop_remainder;
    if (time_limit)
      options.deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                            std::chrono::duration<double>(time_span(*time_limit)));
    return options;
  }

  [[nodiscard]] LogTargets log_targets() const {
    LogTargets out = logs;
    out.append = resume;
    if (common.form() != Format::table || common.console.quiet || svg == "-") out.progress = ShownProgress::none;
    return out;
  }

  /// The last part of the rows, as Keras splits them: int(n·(1 − share)) stay.
  [[nodiscard]] GivenInputs split_off(GivenInputs& given) const {
    GivenInputs out;
    for (auto& [name, tensor] : given.arrays) {
      const std::int64_t all = tensor.shape()[0];
      const auto stay = static_cast<std::int64_t>(static_cast<double>(all) * (1.0 - *validation_split));
      if (stay == 0 || stay == all)
        throw bad_usage("--validation-split {}: of {} rows some must be on each side", *validation_split, all);
      Shape before = tensor.shape(), behind = tensor.shape();
      before[0] = stay;
      behind[0] = all - stay;
      const std::int64_t bytes = tensor.bytes() / all * stay;
      out.arrays.emplace(
          name, Tensor(tensor.dtype(), behind, std::shared_ptr<std::byte>(tensor.owner(), tensor.data() + bytes)));
      tensor = Tensor(tensor.dtype(), before, tensor.owner());
    }
    return out;
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
      if (state.batch_size != batch_size)
        throw bad_usage("--resume: the training has a --batch-size of {}", state.batch_size);
      if (state.shuffle == no_shuffle)
        throw bad_usage("--resume: the training is {} --no-shuffle", state.shuffle ? "without" : "with");
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
  void take_over_optimizer(const LoadedModel& loaded, train::Trainer& trainer) const {
    if (!loaded.weights || execution.weights || changes.optimizer) return;
    const std::vector<Tensor> state = read_optimizer_state(*loaded.weights);
    const std::size_t all = trainer.optimizer().state().size();
    if (state.empty() || (state.size() != all && state.size() <= trainer.optimizer().scale_variables() + 2))
      return;  // never trained: rates and scales at most
    if (!resume && state.size() != all && (!frozen.empty() || !trained.empty() || lora)) {
      common.console.warn("other layers are trained than before: the optimizer begins anew");
      return;
    }
    trainer.optimizer().set_state(state);
    if (changes.learning_rate) trainer.optimizer().set_learning_rate(*changes.learning_rate);
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

  /// A full disk must not cost what was trained.
  void write_at_end(const std::function<void(const std::string&)>& write) const {
    try {
      write(*target);
    } catch (const Error& error) {
      const std::string other = std::filesystem::temp_directory_path() / fmt::format("attn-train-{}.keras", ::getpid());
      try {
        write(other);
      } catch (const Error&) {
        throw error;
      }
      throw bad_input("{}; what was trained is in {}", error.what(), printable(other));
    }
  }

  [[nodiscard]] int exit_code(const report::TrainingReport& report) const {
    const std::string resumes =
        fmt::format("`attn train {} --resume` with the same data and options goes on", printable(*target));
    if (report.end == "not finite") {
      common.console.error(fmt::format("step {} is not finite, first in {}; {} is as it was before", report.steps + 1,
                                       report.not_finite, printable(*target)));
      return static_cast<int>(ExitCode::differs);
    }
    if (report.end == "signal") {
      common.console.warn(fmt::format("interrupted after step {}; {}", report.steps, resumes));
      return Interrupt::exit_code();
    }
    if (report.end == "time limit")
      common.console.warn(fmt::format("the time is over after step {}; {}", report.steps, resumes));
    return static_cast<int>(ExitCode::done);
  }

  void write_dump(train::Trainer& trainer) const {
    std::vector<NamedTensor> arrays;
    for (std::size_t i = 0; i < trainer.specs().size(); ++i)
      arrays.push_back({"weight:" + trainer.specs()[i].path, trainer.weights()[i]});
    const auto& state = trainer.optimizer().state();
    for (std::size_t i = 0; i < state.size(); ++i) arrays.push_back({fmt::format("optimizer:{}", i), state[i].tensor});
    io::write_tensors(*dump, arrays);
  }
};

}  // namespace

Command train_command() { return command_of<TrainCommand>("train", "train a model, as Keras's fit() does"); }

}  // namespace attn::cli
