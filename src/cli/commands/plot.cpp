#include "attn/report/plot.h"

#include <memory>

#include "arguments/shared_options.h"
#include "attn/library/layer_graph.h"
#include "attn/open/execution.h"
#include "attn/open/model.h"
#include "options/command.h"
#include "output/common.h"
#include "output/custom_classes.h"

namespace attn::cli {
namespace {

struct PlotCommand {
  Common common;
  std::optional<std::string> model;
  std::optional<Shape> input_shape;
  bool expand_nested = false;

  void declare(Options& options) {
    // the extension of -o selects the form
    add_common(options, common, {Format::svg, Format::png, Format::dot, Format::mermaid, Format::json});
    add_model(options, model);
    add_input_shape(options, input_shape);
    options.flag("--expand-nested", expand_nested, "show the layers of nested models");
  }

  [[nodiscard]] int run() const {
    const Format form = common.form_of_output();
    refuse_page_on_terminal(form, common.output, model);
    const open::LoadedModel loaded = open::load_model(model, open::ReadingOptions{input_shape}, common.console);
    warn_of_custom_classes(loaded.model, common.console);
    common.write(report::render(form, library::layer_graph(loaded.model, expand_nested)),
                 form == Format::json ? Formatting::fitting : Formatting::exact);
    return 0;
  }
};

}  // namespace

Command plot_command() {
  return command_of<PlotCommand>("plot", "draw the graph of layers as SVG, PNG, DOT or Mermaid");
}

}  // namespace attn::cli
