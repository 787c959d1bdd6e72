#include "attn/report/plot.h"

#include <memory>

#include "command.h"
#include "form.h"
#include "layer_graph.h"
#include "model_source.h"

namespace attn::cli {
namespace {

struct PlotCommand {
  Common common;
  std::optional<std::string> model, input_shape;
  bool expand_nested = false;

  [[nodiscard]] int run() const {
    static const Endings kEndings = {{".svg", "svg"},     {".dot", "dot"},         {".gv", "dot"},
                                     {".mmd", "mermaid"}, {".mermaid", "mermaid"}, {".json", "json"}};
    const std::string form = form_of(common.format, common.output, kEndings, "svg");
    const LoadedModel loaded = load_model(model, input_shape, common.console);
    write_result(text(layer_graph(loaded.model, expand_nested), form), common.output,
                 form == "json" ? Look::fitting : Look::exact);
    return 0;
  }

  static std::string text(const report::PlotGraph& graph, const std::string& form) {
    if (form == "dot") return report::plot_dot(graph);
    if (form == "mermaid") return report::plot_mermaid(graph);
    if (form == "json") return report::plot_json(graph);
    return report::plot_svg(graph);
  }
};

}  // namespace

Run add_plot(CLI::App& app) {
  auto command = std::make_shared<PlotCommand>();
  command->common.format.clear();  // the ending of -o tells it
  add_common(app, command->common, {"svg", "dot", "mermaid", "json"});
  app.add_option("model", command->model, "Keras JSON, .keras, .h5, or short encoder config; - is stdin")
      ->type_name("MODEL");
  app.add_option("--input-shape", command->input_shape, "shape without the batch, for a single layer: 50,512")
      ->type_name("DIMS");
  app.add_flag("--expand-nested", command->expand_nested, "show what is inside nested models");
  return [command] { return command->run(); };
}

}  // namespace attn::cli
