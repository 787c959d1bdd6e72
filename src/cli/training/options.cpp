#include "training/options.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "arguments/shared_options.h"
#include "attn/base/error.h"
#include "attn/base/parse_number.h"
#include "attn/base/text.h"
#include "attn/io/tensor_file.h"
#include "attn/train/compile_changes.h"
#include "attn/train/state.h"
#include "attn/weights/save.h"
#include "training/callback_options.h"

namespace attn::cli {

namespace {

/// Returns 0 for "rows", 4096 for "block:4096".
std::int64_t shuffled_block_of(const std::string& text) {
  constexpr std::string_view kBlock = "block:";
  if (text == "rows") return 0;
  const auto rows = text.starts_with(kBlock) ? parse_number<std::int64_t>(std::string_view(text).substr(kBlock.size()))
                                             : std::nullopt;
  if (!rows || *rows < 1)
    throw bad_usage("--shuffle '{}': expected rows, or block:N with a number of rows, as in block:4096",
                    printable(text));
  return *rows;
}

}  // namespace

void declare_data(Options& options, train::DataFiles& files) {
  const OptionGroupGuard group(options, OptionGroup::input);
  options
      .add("--data", files.data, "FILE",
           "data: inputs by name, targets y or y:<output>, sample_weight (.npz, .npy, .safetensors), a table "
           "(.csv) or text (.txt); repeatable")
      .repeatable();
  options.add("--x", files.x, "FILE", "array for the only input, or NAME=FILE for the input NAME").repeatable();
  options.add("--y", files.y, "FILE", "targets of the only output, or NAME=FILE for the output NAME").repeatable();
  options
      .add("--sample-weight", files.sample_weights, "FILE",
           "weight of each sample in the loss, or NAME=FILE for the output NAME")
      .repeatable();
  options.add("--csv-target", files.csv_target, "COLUMN",
              "target column of a .csv table, by name or index from 0 (default y or target)");
}

void declare_loss(Options& options, train::CompileChanges& changes) {
  options.add("--loss", changes.loss, "LOSS", "loss name, or JSON as Keras writes it (default the model's)");
  options.add("--loss-weights", changes.loss_weights, "WEIGHTS",
              "weight of each output's loss: 1,0.5, or JSON by output name (default the model's)");
}

void declare_metrics(Options& options, train::CompileChanges& changes) {
  options.add("--metrics", changes.metrics, "METRICS",
              "metric names separated by commas, JSON as Keras writes it, or none (default the model's)");
  options.add("--compile", changes.file, "FILE",
              "compile_config to use, as JSON of get_compile_config() (default the model's)");
}

void TrainingOptions::declare(Options& options) {
  add_common(options, common, {Format::table, Format::json}, false);
  add_model(options, setup.model);
  declare_data(options, setup.files);
  options.output("-o,--output", target, "FILE",
                 "write the trained model and optimizer state to a .keras file (default MODEL with --resume)");
  options.add("--epochs", setup.epochs, "N", "number of epochs, counting those before --resume (default 1)")
      .above_zero();
  options.add("--steps", setup.steps, "N", "stop after this many steps, counting those before --resume").above_zero();
  options.add("--steps-per-epoch", setup.steps_per_epoch, "N", "steps per epoch; the next epoch continues in the data")
      .above_zero();
  options.add("--time-limit", time_limit, "TIME", "stop after the first step that passes this time: 90s, 30m or 1h30m");
  options.add("--batch-size", setup.batch_size, "N", "batch size (default 32)").above_zero();
  options.flag("--resume", setup.resume, "resume the training of MODEL as if it had not stopped");
  options.flag("--plan", plans, "report the memory, steps and time of a training, without training");
  options
      .add("--overfit", setup.overfit, "N",
           "train N steps on the first batch only; exit 1 unless its loss falls to a tenth")
      .above_zero();
  options.group(OptionGroup::input);
  options.flag("--no-shuffle", setup.no_shuffle, "keep the order of the rows in every epoch");
  options.parsed(
      "--shuffle", [this](const std::string& word) { setup.shuffled_block = shuffled_block_of(word); }, "HOW",
      "rows shuffles single rows; block:N shuffles blocks of N rows, for disks with slow random access (default rows)");
  options.flag("--drop-remainder", setup.drop_remainder, "drop the last batch if it is incomplete");
  options.add("--validation", setup.validation, "FILE", "validation data, evaluated after each epoch");
  options
      .add("--validation-split", setup.validation_split, "SHARE",
           "validation split: fraction of the data, taken from its end")
      .between(0.0, 1.0);
  options.group(OptionGroup::loss);
  options.add("--class-weight", setup.class_weight, "JSON", "weight of each class in the loss: {\"0\": 1, \"1\": 5}");
  declare_loss(options, setup.changes);
  options.add("--optimizer", setup.changes.optimizer, "OPTIMIZER",
              "optimizer name, or JSON as Keras writes it (default the model's)");
  options.add("--learning-rate", setup.changes.learning_rate, "RATE",
              "learning rate, or a schedule as Keras's JSON (default the optimizer's)");
  options
      .add("--warmup-steps", setup.changes.warmup_steps, "N",
           "number of warmup steps, in which the learning rate rises from 0")
      .above_zero();
  options
      .add("--decay", setup.changes.decay, "HOW",
           "learning rate decay to 0 at the last step; linear excludes --warmup-steps (default none)")
      .one_of({"cosine", "linear", "none"});
  options.add("--weight-decay", setup.changes.weight_decay, "R", "weight decay (default the optimizer's)")
      .not_negative();
  options.add("--clipnorm", setup.changes.clipnorm, "R", "clip the gradient of each weight to this norm")
      .not_negative();
  options
      .add("--global-clipnorm", setup.changes.global_clipnorm, "R", "clip all gradients together to this global norm")
      .not_negative();
  options.add("--clipvalue", setup.changes.clipvalue, "R", "clip each gradient element to this absolute value")
      .not_negative();
  options.add("--accumulate", setup.changes.accumulate, "N", "number of gradient accumulation steps").above_zero();
  options
      .add("--ema", setup.changes.ema, "SHARE",
           "momentum of an exponential moving average of weights, applied at the end")
      .between(0.0, 1.0);
  options.flag("--from-logits", setup.changes.from_logits, "compute the loss from logits");
  options.add("--label-smoothing", setup.changes.label_smoothing, "SHARE", "label smoothing of a classification loss")
      .between(0.0, 1.0);
  declare_metrics(options, setup.changes);
  options
      .add("--dtype", setup.policy, "POLICY", "dtype policy of all layers, for mixed precision (default the model's)")
      .one_of({"float32", "mixed_bfloat16", "mixed_float16"});
  options.parsed(
      "--loss-scale", [this](const std::string& word) { setup.changes.loss_scale = train::loss_scaling_of(word); },
      "HOW", "loss scaling: dynamic, none, or a fixed factor N (default dynamic for float16)");
  options.group(OptionGroup::layers);
  options.flag("--no-dropout", setup.no_dropout, "disable dropout and noise");
  options.choice<train::TableGradient>(
      "--embedding-gradient", setup.tables,
      {{"keras-tf", train::TableGradient::entries}, {"dense", train::TableGradient::dense}}, "HOW",
      "square embedding gradients per lookup, as on TensorFlow, or after summing (default keras-tf)");
  options.add("--freeze", setup.frozen, "PATTERN", "freeze layers with matching names (wildcards * and ?); repeatable")
      .repeatable();
  options
      .add("--train", setup.trained, "PATTERN", "train only layers with matching names (wildcards * and ?); repeatable")
      .repeatable();
  options.parsed(
      "--lora", [this](const std::string& word) { setup.lora = train::low_rank_of(word); }, "RANK[,ALPHA]",
      "train LoRA adapters of this rank, like Keras's enable_lora");
  options
      .add("--lora-layers", setup.lora_layers, "PATTERN",
           "with --lora: only layers with matching names; repeatable (default all)")
      .repeatable();
  options.output("--lora-output", lora_output, "FILE",
                 "write only the LoRA adapters (.npz, .safetensors); -o has the merged weights");
  options.group(OptionGroup::checkpoints);
  options.parsed(
      "--early-stopping",
      [this](const std::string& word) {
        setup.early_stopping = early_stopping_of(word);
        early_stopping_text_ = word;
      },
      "KEY=VALUE,…",
      "early stopping: monitor, patience, min_delta, mode, baseline, restore_best_weights, start_from_epoch");
  options.parsed(
      "--reduce-lr",
      [this](const std::string& word) {
        setup.reduce_lr = reduce_lr_of(word);
        reduce_lr_text_ = word;
      },
      "KEY=VALUE,…",
      "reduce the learning rate on a plateau: monitor, factor, patience, min_delta, mode, cooldown, min_lr");
  options.add("--save-every", save_every, "N[steps]",
              "write a checkpoint to -o every N epochs, or every N steps: 5, 100steps");
  options.add("--keep", keep, "N", "with --save-every: keep the last N checkpoints next to -o, as NAME.step100.keras")
      .above_zero();
  options.output("--save-best", save_best, "FILE", "write the model with the lowest validation loss to a .keras file");
  options.output("--log", logs.events, "FILE", "write one JSON event per line; --resume appends");
  options.output("--csv", logs.csv, "FILE", "write one row per epoch, like Keras's CSVLogger; --resume appends");
  options.output("--tensorboard", logs.tensorboard, "DIR", "write TensorBoard event files of steps and epochs");
  options.output("--svg", svg, "FILE", "plot the losses and the learning rate over the steps");
  options.output("--dump", dump, "FILE", "write weights and optimizer state after the last step as arrays");
  options.group(OptionGroup::result);
  options.add("--expect-loss", expected_losses, "FILE",
              "compare losses with a --log or CSVLogger file; exit 1 if they differ");
  add_tolerance(options, rtol, atol, " of --expect-loss");
  options.choice<ShownProgress>("--progress", logs.progress,
                                {{"auto", ShownProgress::automatic},
                                 {"bar", ShownProgress::bar},
                                 {"lines", ShownProgress::lines},
                                 {"none", ShownProgress::none}},
                                "HOW", "progress display; auto is a bar on a terminal, otherwise lines (default auto)");
  add_recompute(options, setup.recomputes);
  add_memory_limit(options, setup.execution.memory_limit);
  add_input_shape(options, setup.execution.input_shape);
  add_weights(options, setup.execution.weights);
  add_backend(options, setup.execution.backend);
  add_matmul_precision(options, setup.execution.precision);
  add_sequence_length(options, setup.execution.sequence_length);
  add_threads(options, setup.execution.threads);
  add_seed(options, setup.execution.seed);
  add_keras_version(options, setup.execution.keras_version);
  ranks.declare(options);
  options
      .add("--zero", setup.zero, "N",
           "with --parallel: ZeRO stage; 1 shards the optimizer state over ranks (default 0)")
      .between(0, 1);
  options.flag("--deterministic", setup.deterministic,
               "produce identical bits on 1 to 8 ranks, by summing eight parts of a batch in a fixed order");
  options.choice<DType>(
      "--reduce-dtype", setup.reduce_dtype,
      {{"float32", DType::float32}, {"bfloat16", DType::bfloat16}, {"float16", DType::float16}}, "DTYPE",
      "with --parallel: dtype of sent gradients; half precision rounds, for half the bytes (default float32)");
}

namespace {

void exclude(bool one, bool other, const char* why) {
  if (one && other) throw bad_usage("{}", why);
}

}  // namespace

void TrainingOptions::check() const {
  if (!target && saves()) throw bad_usage("-o FILE is missing: where to write the trained model");
  exclude(plans, setup.overfit.has_value(), "--plan and --overfit exclude each other");
  exclude(setup.overfit.has_value(), setup.resume, "--overfit and --resume exclude each other");
  exclude(setup.overfit.has_value(), setup.steps || setup.steps_per_epoch,
          "--overfit sets the number of steps: it cannot be combined with --steps or --steps-per-epoch");
  exclude(!saves(), dump || lora_output || save_every || save_best,
          "--plan and --overfit write no model: they cannot be combined with --dump, --lora-output, --save-every or "
          "--save-best");
  exclude(plans, expected_losses || svg || logs.events || logs.csv || logs.tensorboard,
          "--plan does not train: it cannot be combined with --expect-loss, --log, --csv, --tensorboard or --svg");
  exclude(!saves(), ranks.asked().has_value(), "--plan and --overfit cannot be combined with --parallel");
  exclude(keep.has_value(), !save_every, "--keep requires --save-every");
  exclude(setup.no_shuffle, setup.shuffled_block > 0, "--shuffle and --no-shuffle exclude each other");
  exclude(setup.changes.schedule(), setup.reduce_lr.has_value(),
          "--reduce-lr cannot be combined with a schedule, --warmup-steps or --decay");
  exclude(!expected_losses, rtol || atol, "--rtol and --atol require --expect-loss");
  if (lora_output) io::check_tensor_path(*lora_output);
  if (target && !weights::holds_config(*target)) throw bad_usage("-o {}: expected a .keras file", printable(*target));
  if (save_best && !weights::holds_config(*save_best))
    throw bad_usage("--save-best {}: expected a .keras file", printable(*save_best));
  if (dump) io::check_tensor_path(*dump);
  if (setup.validation && setup.validation_split)
    throw bad_usage("--validation and --validation-split exclude each other");
  if (setup.resume && !setup.model) throw bad_usage("--resume requires a MODEL that attn has trained");
  exclude(setup.resume, setup.execution.weights.has_value(),
          "--resume and --weights exclude each other: training resumes with the weights of MODEL");
  if (!setup.lora && !setup.lora_layers.empty()) throw bad_usage("--lora-layers requires --lora");
  if (const auto word = ranks.asked(); word && word->kind != parallel::Kind::data)
    throw bad_usage("--parallel {}: training supports only --parallel data", printable(*ranks.parallel));
  if (setup.zero == 1 && !ranks.asked()) throw bad_usage("--zero requires --parallel data");
  if (setup.reduce_dtype != DType::float32 && !ranks.asked())
    throw bad_usage("--reduce-dtype requires --parallel data");
  if (setup.reduce_dtype != DType::float32 && setup.deterministic)
    throw bad_usage("--deterministic cannot be combined with --reduce-dtype {}, which rounds sums of gradients",
                    name_of(setup.reduce_dtype));
}

LogTargets TrainingOptions::log_targets() const {
  LogTargets out = logs;
  out.append = setup.resume;
  if (setup.overfit && out.progress == ShownProgress::automatic) out.progress = ShownProgress::none;
  if (common.form() != Format::table || common.console.quiet || takes_stdout()) out.progress = ShownProgress::none;
  return out;
}

bool TrainingOptions::takes_stdout() const {
  return std::ranges::any_of(std::array{&svg, &dump, &lora_output, &logs.events, &logs.csv},
                             [](const std::optional<std::string>* path) { return *path == "-"; });
}

TrainingOptions TrainingOptions::silent() const {
  TrainingOptions out = *this;
  out.logs = {};
  out.logs.progress = ShownProgress::none;
  out.svg.reset();
  out.dump.reset();
  out.lora_output.reset();
  out.common.console.quiet = true;
  return out;
}

std::string TrainingOptions::decisive() const {
  return fmt::format("{} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {}", setup.epochs, setup.batch_size,
                     setup.steps.value_or(-1), time_limit.value_or(""), setup.no_shuffle, setup.drop_remainder,
                     setup.resume, setup.no_dropout, setup.recomputes, static_cast<int>(setup.tables),
                     early_stopping_text_, reduce_lr_text_, save_best.has_value(), save_every.value_or(""),
                     setup.class_weight.value_or(""), fmt::join(setup.frozen, ","), name_of(setup.reduce_dtype),
                     setup.zero, setup.deterministic, setup.steps_per_epoch.value_or(0), setup.shuffled_block);
}

}  // namespace attn::cli
