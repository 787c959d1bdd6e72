#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "attn/base/error.h"
#include "attn/base/stop.h"
#include "attn/base/text.h"
#include "attn/io/tensor_file.h"
#include "attn/keras/optimizer.h"
#include "attn/report/json.h"
#include "attn/report/training.h"
#include "attn/train/fit.h"
#include "attn/weights/save.h"
#include "common.h"
#include "interrupt.h"
#include "options/command.h"
#include "prepared_model.h"
#include "shared_options.h"
#include "training_archive.h"
#include "training_data.h"

namespace attn::cli {
namespace {

using Json = nlohmann::ordered_json;

enum class ShownProgress : std::uint8_t { lines, none };

/// One JSON object in each line of a file, written out at once.
class EventLog {
 public:
  EventLog(const std::optional<std::string>& path, bool append) {
    if (!path) return;
    file_.open(*path, append ? std::ios::app : std::ios::trunc);
    if (!file_) throw bad_input("{}: cannot be written", printable(*path));
  }
  void write(const report::Json& event) {
    if (file_.is_open()) file_ << report::json_line(event) << std::flush;
  }

 private:
  std::ofstream file_;
};

bool is_json(const std::string& text) { return !text.empty() && (text[0] == '{' || text[0] == '[' || text[0] == '"'); }

/// JSON as it is, a name as a text.
Json as_json(const std::string& option, const std::string& text) {
  if (!is_json(text)) return text;
  Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) throw bad_usage("{}: not JSON, and no name", option);
  return json;
}

struct TrainCommand {
  Common common;
  Execution execution;
  std::optional<std::string> model, validation, target, loss, optimizer, log, dump;
  std::vector<std::string> data;
  std::optional<double> learning_rate, validation_split;
  std::int64_t epochs = 1, batch_size = 32;
  std::optional<std::int64_t> steps, save_every;
  bool no_shuffle = false, drop_remainder = false, resume = false, no_dropout = false, no_loss_scale = false;
  train::TableGradient tables = train::TableGradient::entries;
  ShownProgress progress = ShownProgress::lines;

  void declare(Options& options) {
    add_common(options, common, {Format::table, Format::json}, false);
    add_model(options, model);
    options
        .add("--data", data, "FILE",
             "inputs by name, targets y or y:<output>, sample_weight (.npz, .npy, .safetensors)")
        .repeatable()
        .required();
    options.add("-o,--output", target, "FILE", "the trained model, .keras: weights, optimizer, and where it stands")
        .required();
    options.add("--epochs", epochs, "N", "times over the data, those before --resume too (1)").above_zero();
    options.add("--steps", steps, "N", "end after so many steps in all").above_zero();
    options.add("--batch-size", batch_size, "N", "rows of a step (32)").above_zero();
    options.flag("--no-shuffle", no_shuffle, "take the rows in their order in every epoch");
    options.flag("--drop-remainder", drop_remainder, "leave out a last batch with fewer rows");
    options.add("--validation", validation, "FILE", "data to evaluate after each epoch");
    options.add("--validation-split", validation_split, "SHARE", "the last part of the data instead").between(0.0, 1.0);
    options.add("--loss", loss, "LOSS", "a name, or JSON as Keras writes it, in place of the model's own");
    options.add("--optimizer", optimizer, "OPTIMIZER",
                "a name, or JSON as Keras writes it, in place of the model's own");
    options.add("--learning-rate", learning_rate, "R", "in place of the optimizer's").not_negative();
    options.flag("--no-loss-scale", no_loss_scale, "do not scale the loss of a model that computes in float16");
    options.flag("--no-dropout", no_dropout, "drop nothing");
    options.choice<train::TableGradient>(
        "--embedding-gradient", tables,
        {{"keras-tf", train::TableGradient::entries}, {"dense", train::TableGradient::dense}}, "HOW",
        "how the gradient of a looked-up table is squared: row by row as on TensorFlow, or as a whole");
    options.flag("--resume", resume, "go on where MODEL stopped, as if it never had");
    options.add("--save-every", save_every, "N", "write -o after every N epochs too").above_zero();
    options.add("--log", log, "FILE", "an event in each line, as JSON; --resume appends");
    options.add("--dump", dump, "FILE", "weights and the optimizer's variables after the last step, as arrays");
    options.choice<ShownProgress>("--progress", progress,
                                  {{"lines", ShownProgress::lines}, {"none", ShownProgress::none}}, "HOW",
                                  "a line for each epoch, as Keras prints them, or nothing");
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
    if (!weights::holds_config(*target)) throw bad_usage("-o {}: the trained model is a .keras", printable(*target));
    if (dump) io::check_tensor_path(*dump);
    if (validation && validation_split) throw bad_usage("--validation and --validation-split exclude each other");
    if (resume && (!model || execution.weights || optimizer || learning_rate))
      throw bad_usage("--resume goes on with MODEL's own weights and optimizer");
    const auto start = std::chrono::steady_clock::now();
    const auto backend = open_backend("cpu", execution.backend, common.console);
    const LoadedModel loaded = load_model(model, execution, common.console);
    const std::string compiled = compile_config(loaded.model);
    optimizers::Settings settings = keras::compiled_optimizer(compiled);

    GivenInputs given = read_training_data(loaded.model, data);
    GivenInputs held_out;
    if (validation) held_out = read_training_data(loaded.model, {*validation});
    if (validation_split) held_out = split_off(given);
    const train::Data rows(given.arrays), validation_rows(held_out.arrays);
    if (rows.rows() == 0) throw bad_input("there is no row to train on");

    TrainingState state = begin(loaded, given);
    train::FitOptions options;
    options.epochs = epochs;
    options.batch_size = batch_size;
    options.steps = steps;
    options.shuffle = !no_shuffle;
    options.drop_remainder = drop_remainder;
    options.seed = state.seed;

    train::TrainerOptions how;
    how.compile = execution.compile_options();
    how.tables = tables;
    const train::Batch sample = rows.gather(first_rows(rows.rows()));
    const keras::LossGraph shown = lower(loaded, sample, true, state.seed);
    if (no_loss_scale) {
      settings.loss_scale.reset();
    } else if (uses_float16(shown.graph) && !settings.loss_scale) {  // as compile() wraps the optimizer
      settings.loss_scale.emplace();
      settings.loss_scale_factor.reset();
    }
    train::Trainer trainer(
        *backend, [&](const train::Batch& batch, bool training) { return lower(loaded, batch, training, state.seed); },
        loaded.model.weights(), load_weights(loaded, execution, common.console), settings, how);
    trainer.prepare(sample);
    trainer.set_draws(state.draws);
    take_over_optimizer(loaded, trainer);

    report::TrainingReport report = describe(loaded, shown, *backend, settings, rows.rows(), state.seed);
    EventLog events(log, resume);
    events.write(start_event(report));
    if (shows_lines()) std::fputs(first_line(report).c_str(), stdout);
    const auto save = [&] {
      state.draws = trainer.draws();
      write_training(*target, loaded, compiled, trainer, state);
    };
    const train::FitEnd end = [&] {
      const Interrupt interrupt;
      try {
        return train::fit(trainer, rows, validation || validation_split ? &validation_rows : nullptr, options,
                          state.position, listeners(events, report, save));
      } catch (const Stopped&) {
        take_back_stop();
        report.end = "signal";
        save();
        return train::FitEnd::steps;
      }
    }();
    if (report.end.empty())
      report.end = end == train::FitEnd::epochs ? "epochs" : end == train::FitEnd::steps ? "steps" : "not finite";
    if (dump) write_dump(trainer);
    if (end == train::FitEnd::epochs) trainer.finalize();
    const bool lost = end == train::FitEnd::not_finite;
    if (!lost && report.end != "signal") save();
    report.file = lost ? "" : *target;
    report.epochs = state.position.epoch;
    report.steps = state.position.step;
    report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    events.write(report::Json{{"event", "end"}, {"reason", report.end}, {"step", report.steps}});
    write_report(report::render(common.form(), report), common.console, false);
    if (lost)
      common.console.error(
          fmt::format("the loss of step {} is not finite; {} is as it was before", report.steps, printable(*target)));
    if (report.end == "signal") {
      common.console.warn(fmt::format("interrupted after step {}; `attn train {} --resume` with the same data goes on",
                                      report.steps, printable(*target)));
      return Interrupt::exit_code();
    }
    return static_cast<int>(lost ? ExitCode::differs : ExitCode::done);
  }

 private:
  [[nodiscard]] bool shows_lines() const {
    return progress == ShownProgress::lines && common.form() == Format::table && !common.console.quiet;
  }

  /// The model's own, with what the options change.
  [[nodiscard]] std::string compile_config(const keras::Model& loaded) const {
    const std::optional<std::string> own = loaded.compile_config();
    if (!own && !loss)
      throw bad_input("the model was never compiled: say --loss, and --optimizer where it is not to be rmsprop");
    Json config = own ? Json::parse(*own) : Json{{"optimizer", "rmsprop"}, {"loss", nullptr}};
    if (optimizer) config["optimizer"] = as_json("--optimizer", *optimizer);
    if (loss) config["loss"] = as_json("--loss", *loss);
    if (learning_rate) {
      Json& told = config["optimizer"];
      if (told.is_string())
        told = Json{{"module", "keras.optimizers"},
                    {"class_name", told},
                    {"config", Json::object()},
                    {"registered_name", nullptr}};
      told["config"]["learning_rate"] = *learning_rate;
    }
    return config.dump();
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
    const std::string data_now = fingerprint(given.arrays);
    if (resume) {
      const auto kept = loaded.weights ? read_training_state(*loaded.weights) : std::nullopt;
      if (!kept) throw bad_input("{}: attn did not train it, so there is no place to go on from", printable(*model));
      state = *kept;
      if (state.batch_size != batch_size)
        throw bad_usage("--resume: the training has a --batch-size of {}", state.batch_size);
      if (state.shuffle == no_shuffle)
        throw bad_usage("--resume: the training is {} --no-shuffle", state.shuffle ? "without" : "with");
      if (state.data != data_now)
        common.console.warn(
            fmt::format("the data is not what it was: {} instead of {}", printable(data_now), printable(state.data)));
    } else {
      state.seed = execution.seed;
      state.batch_size = batch_size;
      state.shuffle = !no_shuffle;
    }
    state.data = data_now;
    return state;
  }

  /// What fit() left in the archive goes on, where the optimizer is the model's own.
  void take_over_optimizer(const LoadedModel& loaded, train::Trainer& trainer) const {
    if (!loaded.weights || execution.weights || optimizer) return;
    const std::vector<Tensor> state = read_optimizer_state(*loaded.weights);
    const std::size_t all = trainer.optimizer().state().size();
    if (state.empty() || (state.size() != all && state.size() <= trainer.optimizer().scale_variables() + 2))
      return;  // never trained: rates and scales at most
    trainer.optimizer().set_state(state);
    if (learning_rate) trainer.optimizer().set_learning_rate(*learning_rate);
  }

  [[nodiscard]] keras::LossGraph lower(const LoadedModel& loaded, const train::Batch& batch, bool training,
                                       std::uint64_t seed) const {
    keras::LowerOptions options;
    options.batch = batch.begin()->second.shape()[0];
    options.sequence_length = execution.sequence_length;
    keras::LossOptions how;
    how.loss = loss;
    how.metrics = true;
    how.training = training;
    how.drops = training && !no_dropout;
    how.seed = seed;
    const std::vector<std::string> inputs = loaded.model.input_names();
    for (const auto& [name, tensor] : batch) {
      if (std::ranges::find(inputs, name) != inputs.end()) {
        options.input_shapes.emplace(name, tensor.shape());
      } else {
        how.arrays[name] = {tensor.dtype(), tensor.shape()};
      }
    }
    for (const std::string& name : inputs)
      if (!batch.contains(name)) throw bad_input("the data has no array for the input '{}'", printable(name));
    keras::LossGraph out = loaded.model.lower_loss(options, how);
    for (const keras::Target& target_array : out.targets)
      if (const std::string& name = out.graph.value(target_array.value).name; !batch.contains(name))
        throw bad_input("the data has no targets '{}'", printable(name));
    return out;
  }

  /// Gradients vanish below float16's range where the loss is not scaled.
  static bool uses_float16(const graph::Graph& graph) {
    return std::ranges::any_of(graph.values, [](const graph::Value& value) { return value.dtype == DType::float16; });
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
    return report;
  }

  static std::string first_line(const report::TrainingReport& report) {
    return fmt::format("{}: {} of {} parameters, {}, {}, {} rows, seed {}\n", printable(report.setting.model),
                       with_commas(report.trainable), with_commas(report.params), report.optimizer,
                       printable(report.loss), with_commas(report.rows), report.seed);
  }

  static report::Json start_event(const report::TrainingReport& report) {
    return {{"event", "start"},
            {"model", report.setting.model},
            {"params", report.params},
            {"trainable", report.trainable},
            {"optimizer", report.optimizer},
            {"loss", report.loss},
            {"seed", report.seed},
            {"rows", report.rows}};
  }

  [[nodiscard]] train::FitEvents listeners(EventLog& events, report::TrainingReport& report,
                                           const std::function<void()>& save) const {
    train::FitEvents out;
    out.begin = [this](std::int64_t epoch) {
      if (shows_lines()) std::fputs(fmt::format("Epoch {}/{}\n", epoch, epochs).c_str(), stdout);
    };
    out.step = [&events](const train::StepEvent& event) {
      events.write({{"event", "step"},
                    {"step", event.position.step},
                    {"epoch", event.position.epoch + 1},
                    {"batch", event.position.batch},
                    {"loss", event.result.loss},
                    {"learning_rate", event.result.learning_rate},
                    {"grad_norm", event.result.gradient_norm},
                    {"clipped", event.result.clipped},
                    {"loss_scale", event.result.loss_scale},
                    {"skipped", event.result.skipped},
                    {"rows", event.rows},
                    {"seconds", event.seconds}});
    };
    out.epoch = [this, &events, &report, save](const train::EpochEvent& event) {
      report::Json line{{"event", "epoch"}, {"epoch", event.epoch}};
      for (const auto& [prefix, values] : {std::pair("", &event.values), {"val_", &event.validation}}) {
        for (const auto& [name, value] : *values) {
          report.history[prefix + name].push_back(value.value());
          line[prefix + name] = value.value();
        }
      }
      events.write(line);
      if (shows_lines()) {
        std::fputs(report::epoch_line(event).c_str(), stdout);
        std::fflush(stdout);
      }
      if (save_every && event.epoch % *save_every == 0 && event.epoch < epochs) save();
    };
    return out;
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
