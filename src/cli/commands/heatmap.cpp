#include <unistd.h>

#include <memory>

#include "arguments/execution.h"
#include "arguments/heads.h"
#include "arguments/label_words.h"
#include "arguments/shared_options.h"
#include "attn/base/error.h"
#include "attn/library/attention.h"
#include "attn/library/prompt_inputs.h"
#include "attn/open/execution.h"
#include "attn/open/input_files.h"
#include "attn/open/model.h"
#include "options/command.h"
#include "output/common.h"
#include "output/locale.h"
#include "output/provenance.h"

namespace attn::cli {
namespace {

struct HeatmapCommand {
  Common common;
  open::Execution execution;
  library::Heads heads;
  std::optional<std::string> model;
  open::InputFiles inputs;
  LabelWords label_texts;
  std::optional<std::string> prompt, decoder_prompt;
  std::optional<std::int64_t> cells;
  bool no_header = false;

  void declare(Options& options) {
    // the extension of -o selects the form
    add_common(options, common, {Format::table, Format::json, Format::html, Format::svg, Format::png});
    add_model(options, model);
    add_forward(options, execution, inputs);
    label_texts.declare(options);
    {
      const OptionGroupGuard group(options, OptionGroup::input);
      options.add("--prompt", prompt, "TEXT", "text that the model reads, and whose tokens label the positions");
      options.add("--decoder-prompt", decoder_prompt, "TEXT",
                  "with --prompt: start of the output of an encoder-decoder model");
    }
    add_heads(options, heads);
    options.add("--cells", cells, "N", "maximum number of cells per side of a map; more weights share a cell")
        .between(2, 4096);
    options.flag("--no-header", no_header, "omit model, device, seed and inputs from pictures");
  }

  [[nodiscard]] int run() const {
    const Format form = common.form_of_output();
    if (no_header && form != Format::svg && form != Format::png)
      throw bad_usage("--no-header requires --format svg or png");
    const bool to_stdout = !common.output || *common.output == "-";
    refuse_page_on_terminal(form, common.output, model);
    if (!heads.labels.empty() && form == Format::json) common.console.warn("--labels has no effect with --format json");
    const open::LoadedModel loaded = open::load_model(model, execution, common.console);
    const open::GivenInputs given = read_inputs(loaded);
    if (!heads.labels.empty() && given.arrays.empty())
      common.console.warn("--labels: the inputs are random, not these labels; give --input or --prompt");
    const report::PreviewOptions preview{ink(to_stdout), terminal_columns().value_or(100)};
    const auto limits = [&](const std::vector<run::ScoresLayout>& layouts) {
      run::MapOptions out;
      out.most_cells = form == Format::svg ? report::kMostSvgCells : report::kMostPageCells;
      out.most_rows = cells.value_or(form == Format::png ? 1024 : 4096);
      if (form == Format::table && !cells)
        out.most_rows =
            report::preview_cells(preview.columns, heads.head ? 1 : static_cast<std::size_t>(layouts.front().heads));
      return out;
    };
    report::HeatmapReport report = library::attention_of(loaded, execution, given, heads, limits, common.console);
    report.header = !no_header;
    if (form == Format::html) report.provenance = provenance_of(model);
    if (const std::string why = report::why_no_labels(form, report); !heads.labels.empty() && !why.empty())
      common.console.warn("--labels: " + why);
    const bool plain = form == Format::json || form == Format::table;  // pages and pictures are never folded
    common.write(report::render(form, report, preview), plain ? Formatting::fitting : Formatting::exact);
    return 0;
  }

  [[nodiscard]] open::GivenInputs read_inputs(const open::LoadedModel& loaded) const {
    if (!prompt && decoder_prompt) throw bad_usage("--decoder-prompt requires --prompt");
    if (!prompt)
      return open::read_input_files(loaded, label_texts.added_to(inputs), execution, common.console, heads.item + 1);
    if (!model) throw bad_usage("--prompt requires a MODEL with a tokenizer");
    if (!inputs.inputs.empty() || !inputs.images.empty() || label_texts.are_given())
      throw bad_usage("--prompt replaces --input, --image and --text");
    return library::prompt_inputs(loaded, *model, *prompt, decoder_prompt.value_or(""), execution, common.console);
  }

  /// Returns the characters and colors of the preview for its terminal.
  [[nodiscard]] report::Ink ink(bool to_stdout) const {
    if (Console::ascii || (to_stdout && isatty(STDOUT_FILENO) == 1 && !locale_is_utf8())) return report::Ink::ascii;
    if (Console::color == Color::always) return report::Ink::color;
    return to_stdout && colors_results() ? report::Ink::color : report::Ink::shade;
  }
};

}  // namespace

Command heatmap_command() {
  return command_of<HeatmapCommand>("heatmap", "show each head's attention as text, HTML, SVG or PNG");
}

}  // namespace attn::cli
