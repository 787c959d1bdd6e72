#include <unistd.h>

#include <memory>

#include "ascii.h"
#include "attention_source.h"
#include "attn/base/error.h"
#include "common.h"
#include "options/command.h"
#include "provenance.h"
#include "shared_options.h"

namespace attn::cli {
namespace {

struct HeatmapCommand {
  Common common;
  Execution execution;
  Heads heads;
  std::optional<std::string> model;
  std::vector<std::string> inputs;
  std::optional<std::int64_t> cells;

  void declare(Options& options) {
    // the ending of -o tells it
    add_common(options, common, {Format::table, Format::json, Format::html, Format::svg, Format::png});
    add_model(options, model);
    add_forward(options, execution, inputs);
    add_heads(options, heads);
    options.add("--cells", cells, "N", "at most this many cells on a side of a map; more weights share one")
        .between(2, 4096);
  }

  [[nodiscard]] int run() const {
    const Format form = common.form_of_output();
    const bool to_stdout = !common.output || *common.output == "-";
    if (form == Format::png) refuse_image_on_terminal(common.output);
    if (!heads.labels.empty() && form == Format::json)
      common.console.warn("--labels changes tables, pages and pictures alone");
    const LoadedModel loaded = load_model(model, execution, common.console);
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
    report::HeatmapReport report = attention_of(loaded, execution, inputs, heads, limits, common.console);
    if (form == Format::html) report.provenance = provenance_of(model);
    // Pages, pictures and colours are not folded.
    const bool plain = form == Format::json || (form == Format::table && preview.ink != report::Ink::color);
    write_result(report::render(form, report, preview), common.output, plain ? Look::fitting : Look::exact);
    return 0;
  }

  /// What the preview is drawn with, for the terminal that it goes to.
  [[nodiscard]] report::Ink ink(bool to_stdout) const {
    if (Console::ascii || (to_stdout && isatty(STDOUT_FILENO) == 1 && !locale_is_utf8())) return report::Ink::ascii;
    if (Console::color == Color::always) return report::Ink::color;
    return to_stdout && colors_results() ? report::Ink::color : report::Ink::shade;
  }
};

}  // namespace

Command heatmap_command() {
  return command_of<HeatmapCommand>("heatmap", "what each head attends to: figures, a preview, HTML, SVG, PNG");
}

}  // namespace attn::cli
