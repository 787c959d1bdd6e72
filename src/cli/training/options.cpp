#include "training/options.h"

#include <charconv>
#include <string_view>

#include "arguments/shared_options.h"
#include "attn/base/error.h"
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
  std::int64_t rows = 0;
  const char* const end = text.data() + text.size();
  const bool is_block = text.starts_with(kBlock);
  const auto [last, error] = std::from_chars(text.data() + (is_block ? kBlock.size() : 0), end, rows);
  if (!is_block || error != std::errc() || last != end || rows < 1)
    throw bad_usage("--shuffle '{}': expected rows, or block:N with a number of rows, as block:4096", printable(text));
  return rows;
}

void declare_files(Options& options, train::DataFiles& files) {
  options
      .add("--data", files.data, "FILE",
           "inputs by name, targets y or y:<output>, sample_weight (.npz, .npy, .safetensors), a table of numbers "
           "(.csv) or a text (.txt); of several files the rows are one sequence")
      .repeatable();
  options.add("--x", files.x, "FILE", "one array, for the only input, or for NAME with NAME=FILE").repeatable();
  options.add("--y", files.y, "FILE", "one array, the targets of the only output, or of NAME with NAME=FILE")
      .repeatable();
  options
      .add("--sample-weight", files.sample_weights, "FILE",
           "one array, the weight of each sample in the loss, also by NAME=FILE")
      .repeatable();
  options.add("--csv-target", files.csv_target, "COLUMN",
              "the column of the targets in a table, by its name, or its index from 0 (y, or target)");
}

}  // namespace

void TrainingOptions::declare(Options& options) {
  add_common(options, common, {Format::table, Format::json}, false);
  add_model(options, model);
  declare_files(options, files);
  options.output("-o,--output", target, "FILE",
                 "the trained model, .keras, with its optimizer's state (with --resume by default MODEL)");
  options.add("--epochs", epochs, "N", "times over the data, those before --resume too (1)").above_zero();
  options.add("--steps", steps, "N", "end after so many steps in all").above_zero();
  options
      .add("--steps-per-epoch", steps_per_epoch, "N",
           "steps of an epoch, which continues in the data where the one before ended")
      .above_zero();
  options.add("--time-limit", time_limit, "TIME", "end after the step in which 90s, 30m or 1h30m are over");
  options.add("--batch-size", batch_size, "N", "rows of a step (32)").above_zero();
  options.flag("--no-shuffle", no_shuffle, "take the rows in their order in every epoch");
  options.parsed(
      "--shuffle", [this](const std::string& word) { shuffled_block = shuffled_block_of(word); }, "HOW",
      "rows: each for itself; block:N: rows stay in blocks of N, for files on disks that are slow to jump in");
  options.flag("--drop-remainder", drop_remainder, "leave out a last batch with fewer rows");
  options.add("--validation", validation, "FILE", "data to evaluate after each epoch");
  options.add("--validation-split", validation_split, "SHARE", "the last part of the data instead").between(0.0, 1.0);
  options.add("--class-weight", class_weight, "JSON", "the weight of a row by its class, as {\"0\": 1, \"1\": 5}");
  options.add("--loss", changes.loss, "LOSS", "a name, or JSON as Keras writes it, in place of the model's own");
  options.add("--loss-weights", changes.loss_weights, "WEIGHTS",
              "the weight of each output's loss, as 1,0.5, or JSON by their names, instead of the model's own");
  options.add("--optimizer", changes.optimizer, "OPTIMIZER",
              "a name, or JSON as Keras writes it, in place of the model's own");
  options.add("--learning-rate", changes.learning_rate, "RATE",
              "in place of the optimizer's: a number, or a schedule in JSON as Keras writes it");
  options
      .add("--warmup-steps", changes.warmup_steps, "N", "steps in which the learning rate rises from 0 to what it is")
      .above_zero();
  options
      .add("--decay", changes.decay, "HOW",
           "the decay to 0 until the last step, after the warmup: cosine, linear (without --warmup-steps), or none")
      .one_of({"cosine", "linear", "none"});
  options.add("--weight-decay", changes.weight_decay, "R", "likewise").not_negative();
  options.add("--clipnorm", changes.clipnorm, "R", "the most that the norm of a weight's gradient may be")
      .not_negative();
  options.add("--global-clipnorm", changes.global_clipnorm, "R", "the same of all gradients together").not_negative();
  options.add("--clipvalue", changes.clipvalue, "R", "the same of each number").not_negative();
  options
      .add("--accumulate", changes.accumulate, "N", "add up gradients over so many steps (gradient_accumulation_steps)")
      .above_zero();
  options.add("--ema", changes.ema, "SHARE", "keep averages of the weights, which the end puts in their place")
      .between(0.0, 1.0);
  options.flag("--from-logits", changes.from_logits, "the outputs that the loss reads are logits");
  options.add("--label-smoothing", changes.label_smoothing, "SHARE", "for a loss of classes").between(0.0, 1.0);
  options.add("--metrics", changes.metrics, "METRICS",
              "names between commas, or JSON as Keras writes it, in place of the model's own; none");
  options.add("--compile", changes.file, "FILE",
              "a compile_config, as get_compile_config() gives it in JSON, in place of the model's own");
  options
      .add("--dtype", policy, "POLICY",
           "the policy of all layers instead of their own: float32, mixed_bfloat16 or mixed_float16")
      .one_of({"float32", "mixed_bfloat16", "mixed_float16"});
  options.parsed(
      "--loss-scale", [this](const std::string& word) { changes.loss_scale = train::loss_scaling_of(word); }, "HOW",
      "dynamic: as Keras's LossScaleOptimizer, which is what a model that computes in float16 gets; N: times N in "
      "every step; none");
  options.flag("--no-dropout", no_dropout, "drop nothing, and add no noise");
  options.choice<train::TableGradient>(
      "--embedding-gradient", tables,
      {{"keras-tf", train::TableGradient::entries}, {"dense", train::TableGradient::dense}}, "HOW",
      "square the gradient of a looked-up table row by row as on TensorFlow, or as a whole");
  options.add("--freeze", frozen, "PATTERN", "leave layers of such names as they are, with * and ?").repeatable();
  options.add("--train", trained, "PATTERN", "leave all other layers as they are").repeatable();
  options.parsed(
      "--lora", [this](const std::string& word) { lora = train::low_rank_of(word); }, "RANK[,ALPHA]",
      "train low-rank additions to kernels, as Keras's enable_lora");
  options.add("--lora-layers", lora_layers, "PATTERN", "to those of layers with such names; without it to all")
      .repeatable();
  options.output("--lora-output", lora_output, "FILE",
                 "only the low-rank additions, as arrays (.npz, .safetensors); -o holds the merged weights");
  options.parsed(
      "--early-stopping",
      [this](const std::string& word) {
        early_stopping = early_stopping_of(word);
        early_stopping_text_ = word;
      },
      "KEY=VALUE,…",
      "end where nothing improves: monitor, patience, min_delta, mode, baseline, restore_best_weights, "
      "start_from_epoch");
  options.parsed(
      "--reduce-lr",
      [this](const std::string& word) {
        reduce_lr = reduce_lr_of(word);
        reduce_lr_text_ = word;
      },
      "KEY=VALUE,…",
      "lower the learning rate where nothing improves: monitor, factor, patience, min_delta, mode, cooldown, "
      "min_lr");
  options.flag("--resume", resume, "continue the training of MODEL as if it had never stopped");
  options.add("--save-every", save_every, "N[steps]", "write -o after every N epochs, or steps, too");
  options
      .add("--keep", keep, "N", "with --save-every: keep the last N beside -o, as NAME.step100.keras; -o is the newest")
      .above_zero();
  options.output("--save-best", save_best, "FILE", "the model of the epoch with the least validation loss, .keras");
  options.output("--log", logs.events, "FILE", "an event in each line, as JSON; --resume appends");
  options.output("--csv", logs.csv, "FILE", "a row for each epoch, as Keras's CSVLogger; --resume appends");
  options.output("--tensorboard", logs.tensorboard, "DIR", "event files for TensorBoard, of steps and epochs");
  options.output("--svg", svg, "FILE", "draw the losses and the learning rate over the steps");
  options.output("--dump", dump, "FILE", "weights and the optimizer's variables after the last step, as arrays");
  options.flag("--plan", plans, "report the memory, steps and time of the training, without training");
  options
      .add("--overfit", overfit, "N",
           "can the model learn? N steps on only the first batch; exit 1 unless its loss falls to a tenth")
      .above_zero();
  options.add("--expect-loss", expected_losses, "FILE",
              "a --log, or a CSVLogger's file of Keras's; exit 1 where losses of the same steps or epochs differ");
  add_tolerance(options, rtol, atol, " of --expect-loss");
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
  ranks.declare(options);
  options
      .add("--zero", zero, "N",
           "with --parallel, 1: each rank keeps the optimizer's variables for a part of the weights (0)")
      .between(0, 1);
  options.flag("--deterministic", deterministic,
               "the same bits on 1 to 8 ranks: a batch is in eight parts, whose sums are added up in one order");
  options.choice<DType>("--reduce-dtype", reduce_dtype,
                        {{"float32", DType::float32}, {"bfloat16", DType::bfloat16}, {"float16", DType::float16}},
                        "DTYPE",
                        "with --parallel, the dtype of sent gradients: bfloat16 halves the bytes and rounds (float32)");
}

namespace {

void exclude(bool one, bool other, const char* why) {
  if (one && other) throw bad_usage("{}", why);
}

}  // namespace

void TrainingOptions::check() const {
  if (!target && saves()) throw bad_usage("-o FILE is missing: the trained model has to go somewhere");
  exclude(plans, overfit.has_value(), "--plan and --overfit exclude each other");
  exclude(overfit.has_value(), resume, "--overfit tries from the beginning: it goes without --resume");
  exclude(overfit.has_value(), steps || steps_per_epoch,
          "--overfit N sets the number of steps: use it without --steps and --steps-per-epoch");
  exclude(!saves(), dump || lora_output || save_every || save_best,
          "--plan and --overfit write no model: they go without --dump, --lora-output, --save-every and --save-best");
  exclude(plans, expected_losses || svg || logs.events || logs.csv || logs.tensorboard,
          "--plan trains nothing: it goes without --expect-loss, --log, --csv, --tensorboard and --svg");
  exclude(!saves(), ranks.asked().has_value(), "--plan and --overfit are of one process: they go without --parallel");
  exclude(keep.has_value(), !save_every, "--keep is of --save-every");
  exclude(no_shuffle, shuffled_block > 0, "--shuffle and --no-shuffle exclude each other");
  exclude(changes.schedule(), reduce_lr.has_value(),
          "--reduce-lr moves the learning rate, which a schedule, --warmup-steps or --decay moves already");
  exclude(!expected_losses, rtol || atol, "--rtol and --atol are of --expect-loss");
  if (lora_output) io::check_tensor_path(*lora_output);
  if (target && !weights::holds_config(*target))
    throw bad_usage("-o {}: the trained model is a .keras", printable(*target));
  if (save_best && !weights::holds_config(*save_best))
    throw bad_usage("--save-best {}: the trained model is a .keras", printable(*save_best));
  if (dump) io::check_tensor_path(*dump);
  if (validation && validation_split) throw bad_usage("--validation and --validation-split exclude each other");
  if (resume && !model) throw bad_usage("--resume needs a MODEL that attn has trained");
  exclude(resume, execution.weights.has_value(), "--resume continues with MODEL's own weights: it excludes --weights");
  if (!lora && !lora_layers.empty()) throw bad_usage("--lora-layers is of --lora");
  if (const auto word = ranks.asked(); word && word->kind != parallel::Kind::data)
    throw bad_usage("--parallel {}: ranks share the rows of a training step: --parallel data",
                    printable(*ranks.parallel));
  if (zero == 1 && !ranks.asked())
    throw bad_usage("--zero is of --parallel data: one process has nobody to share its optimizer with");
  if (reduce_dtype != DType::float32 && !ranks.asked())
    throw bad_usage("--reduce-dtype is of --parallel data: one process sends no gradients");
  if (reduce_dtype != DType::float32 && deterministic)
    throw bad_usage("--deterministic gives others sums of several parts, which --reduce-dtype {} would round",
                    name_of(reduce_dtype));
}

LogTargets TrainingOptions::log_targets() const {
  LogTargets out = logs;
  out.append = resume;
  if (overfit && out.progress == ShownProgress::automatic) out.progress = ShownProgress::none;
  if (common.form() != Format::table || common.console.quiet || svg == "-") out.progress = ShownProgress::none;
  return out;
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
  return fmt::format("{} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {}", epochs, batch_size,
                     steps.value_or(-1), time_limit.value_or(""), no_shuffle, drop_remainder, resume, no_dropout,
                     recomputes, static_cast<int>(tables), early_stopping_text_, reduce_lr_text_, save_best.has_value(),
                     save_every.value_or(""), class_weight.value_or(""), fmt::join(frozen, ","), name_of(reduce_dtype),
                     zero, deterministic, steps_per_epoch.value_or(0), shuffled_block);
}

}  // namespace attn::cli
