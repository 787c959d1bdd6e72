#include "attn/report/summary.h"

#include <cstdlib>
#include <memory>

#include "arguments/shared_options.h"
#include "attn/base/error.h"
#include "attn/keras/families.h"
#include "attn/library/costs.h"
#include "attn/open/model.h"
#include "attn/report/costs_view.h"
#include "attn/report/masks_view.h"
#include "attn/tokenizers/open.h"
#include "options/command.h"
#include "output/common.h"
#include "output/custom_classes.h"

namespace attn::cli {
namespace {

constexpr int kPipeColumns = 80;

/// Adds the vocabulary size from the files of a task's tokenizer, as KerasHub shows it. Missing or unreadable files are
/// ignored.
void add_vocabulary_size(keras::Summary& summary, const std::string& path) {
  for (keras::PreprocessorPart& part : summary.preprocessor->parts) {
    if (part.image_size || part.audio_shape) continue;
    try {
      part.vocabulary_size = tokenizers::open_tokenizer(path, keras::tokenizer_tables())->size();
    } catch (const Error& error) {
      if (error.code() != ExitCode::bad_input && error.code() != ExitCode::usage) throw;
    }
  }
}

struct SummaryCommand {
  Common common;
  std::optional<std::string> model;
  std::optional<Shape> input_shape;
  std::optional<int> line_length;
  bool expand_nested = false, show_trainable = false, masks = false, costs = false, variables = false;
  std::optional<int> depth;
  std::optional<std::int64_t> batch, sequence_length;
  std::vector<std::string> layer_range;
  bool as_keras_hub = false;

  void declare(Options& options) {
    add_common(options, common, {Format::table, Format::json, Format::markdown, Format::csv});
    add_model(options, model);
    add_input_shape(options, input_shape);
    add_compat(options, as_keras_hub);
    options.add("--line-length", line_length, "N",
                "print Keras's table with this line_length, byte for byte; 80 matches a pipe");
    options.flag("--expand-nested", expand_nested, "show the layers of nested models");
    options.flag("--show-trainable", show_trainable, "add a Trainable column");
    options.flag("--masks", masks, "show which layers create, use, keep or drop a mask, instead of the table");
    options.flag("--costs", costs, "show FLOPs, bytes of weights, activations and attention scores, and peak memory");
    add_batch(options, batch, "with --costs: ");
    add_sequence_length(options, sequence_length, "with --costs: ");
    options
        .add("--depth", depth, "N", "levels to expand inside layers; 1 shows attention's query, key, value and output")
        .not_negative();
    options.flag("--weights", variables, "show one row per variable");
    options.add("--layer-range", layer_range, "FIRST LAST", "show only the layers from FIRST to LAST, by name")
        .words(2);
  }

  int run() const {
    check();
    const open::LoadedModel loaded =
        open::load_model(model, open::ReadingOptions{input_shape, {}, as_keras_hub}, common.console);
    warn_of_custom_classes(loaded.model, common.console);
    keras::Summary summary = loaded.model.summary();
    if (summary.preprocessor && model) add_vocabulary_size(summary, *model);
    if (summary.unknown_optimizer)
      common.console.warn("the optimizer of the compiled model is unknown; the totals do not include it");
    if (opens()) {
      keras::LowerOptions size;
      size.batch = batch;
      size.sequence_length = sequence_length;
      size.symbolic = !costs;
      open::warn_of_fixed_lengths(loaded.model, sequence_length, common.console);
      common.write(costs_text(summary, library::costs_of(loaded.model, size)));
      return 0;
    }
    report::SummaryOptions options;
    // Keras prints 80 columns into a pipe. For a task of KerasHub, only the caller sets the line length.
    if (line_length == kPipeColumns && !summary.preprocessor) {
      options.terminal_columns = kPipeColumns;
    } else {
      options.line_length = line_length;
    }
    options.expand_nested = expand_nested;
    options.show_trainable = show_trainable;
    if (!layer_range.empty()) options.layer_range = report::LayerRange{layer_range[0], layer_range[1]};
    if (!common.output && !line_length) options.terminal_columns = terminal_columns();
    std::string text =
        masks ? masks_text(summary, options, loaded.model.masks()) : report::render(common.form(), summary, options);
    if (line_length && common.form() == Format::table) text += '\n';  // Keras prints an empty line after its table
    common.write(text, line_length ? Formatting::exact : Formatting::fitting);
    return 0;
  }

  /// Returns whether the table has rows or columns that Keras's table lacks.
  [[nodiscard]] bool opens() const { return costs || depth || variables; }

  void check() const {
    // A variable sets the option for every command; a table without costs ignores it.
    const bool asked = (batch && std::getenv("ATTN_BATCH_SIZE") == nullptr) ||
                       (sequence_length && std::getenv("ATTN_SEQ_LEN") == nullptr);
    if (asked && !costs) throw bad_usage("--batch-size and --seq-len require --costs");
    if (line_length && Console::ascii)
      throw bad_usage("--line-length and --ascii exclude each other: --line-length prints Keras's table byte for byte");
    if (masks && opens()) throw bad_usage("--masks cannot be combined with --costs, --depth or --weights");
    if (!masks && !opens()) return;
    const char* const table = masks ? "--masks" : costs ? "--costs" : depth ? "--depth" : "--weights";
    for (const auto& [option, given] :
         {std::pair("--line-length", line_length.has_value()), std::pair("--show-trainable", show_trainable),
          std::pair("--layer-range", !layer_range.empty())})
      if (given) throw bad_usage("{} changes the table that {} replaces: give only one of them", option, table);
  }

  [[nodiscard]] std::string costs_text(const keras::Summary& summary, const report::CostReport& report) const {
    const report::CostOptions options{depth.value_or(0), expand_nested, variables, costs};
    return report::render(common.form(), summary, report, options);
  }

  [[nodiscard]] std::string masks_text(const keras::Summary& summary, const report::SummaryOptions& options,
                                       const keras::MaskTrace& trace) const {
    if (common.form() == Format::json) return report::render(Format::json, summary, options, &trace);
    return report::render(common.form(), summary.name, trace, expand_nested);
  }
};

}  // namespace

Command summary_command() {
  return command_of<SummaryCommand>("summary", "show a model layer by layer, as Keras does");
}

}  // namespace attn::cli
