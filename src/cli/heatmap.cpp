#include <unistd.h>

#include <memory>

#include "ascii.h"
#include "attention_source.h"
#include "attn/base/error.h"
#include "command.h"
#include "form.h"

namespace attn::cli {
namespace {

struct HeatmapCommand {
  Common common;
  Execution execution;
  Heads heads;
  std::optional<std::string> model;
  std::vector<std::string> inputs;
  std::optional<std::int64_t> cells;

  [[nodiscard]] int run() const {
    static const Endings kEndings = {{".html", "html"}, {".htm", "html"},  {".svg", "svg"},
                                     {".png", "png"},   {".json", "json"}, {".txt", "table"}};
    const std::string form = form_of(common.format, common.output, kEndings, "table");
    const bool to_stdout = !common.output || *common.output == "-";
    if (form == "png" && to_stdout && isatty(STDOUT_FILENO) == 1)
      throw bad_usage("a PNG image is no text for a terminal; write it with -o FILE.png");
    if (!heads.labels.empty() && (form == "table" || form == "json"))
      common.console.warn("--labels changes pages and pictures alone (-o FILE.html, FILE.svg)");
    const LoadedModel loaded = load_model(model, execution, common.console);
    const report::PreviewOptions preview{ink(to_stdout), terminal_columns().value_or(100)};
    const auto limits = [&](const std::vector<run::ScoresLayout>& layouts) {
      run::MapOptions out;
      out.most_cells = form == "svg" ? report::kMostSvgCells : report::kMostPageCells;
      out.most_rows = cells.value_or(form == "png" ? 1024 : 4096);
      if (form == "table" && !cells)
        out.most_rows =
            report::preview_cells(preview.columns, heads.head ? 1 : static_cast<std::size_t>(layouts.front().heads));
      return out;
    };
    const report::HeatmapReport report = attention_of(loaded, execution, inputs, heads, limits, common.console);
    // Pages, pictures and colours are not folded.
    const bool plain = form == "json" || (form == "table" && preview.ink != report::Ink::color);
    write_result(text(report, form, preview), common.output, plain ? Look::fitting : Look::exact);
    return 0;
  }

  [[nodiscard]] static std::string text(const report::HeatmapReport& report, const std::string& form,
                                        const report::PreviewOptions& preview) {
    if (form == "html") return report::heatmap_html(report);
    if (form == "svg") return report::heatmap_svg(report);
    if (form == "png") return report::heatmap_png(report);
    if (form == "json") return report::heatmap_json(report);
    return report::heatmap_text(report, preview);
  }

  /// What the preview is drawn with, for the terminal that it goes to.
  [[nodiscard]] report::Ink ink(bool to_stdout) const {
    if (Console::ascii || (to_stdout && isatty(STDOUT_FILENO) == 1 && !locale_is_utf8())) return report::Ink::ascii;
    if (Console::color == Color::always) return report::Ink::color;
    return to_stdout && colors_results() ? report::Ink::color : report::Ink::shade;
  }
};

}  // namespace

Run add_heatmap(CLI::App& app) {
  auto command = std::make_shared<HeatmapCommand>();
  command->common.format.clear();  // the ending of -o tells it
  add_common(app, command->common, {"table", "json", "html", "svg", "png"});
  app.add_option("model", command->model, "Keras JSON, .keras, .h5, or short encoder config; - is stdin")
      ->type_name("MODEL");
  add_forward(app, command->execution, command->inputs);
  add_heads(app, command->heads);
  app.add_option("--cells", command->cells, "at most this many cells on a side of a map; more weights share one")
      ->check(CLI::Range(2, 4096))
      ->type_name("N");
  return [command] { return command->run(); };
}

}  // namespace attn::cli
