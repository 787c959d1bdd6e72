#include <algorithm>
#include <memory>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/keras/explanation.h"
#include "attn/plan/plan.h"
#include "attn/report/explain_view.h"
#include "command.h"
#include "model_source.h"
#include "prepared_model.h"

namespace attn::cli {
namespace {

struct ExplainCommand {
  Common common;
  std::optional<std::string> model, layer, input_shape;
  std::optional<std::int64_t> batch, sequence_length;

  [[nodiscard]] int run() const {
    std::optional<std::string> path = model, wanted = layer;
    // One word that is no file may be a layer of the built-in encoder.
    if (path && !wanted && *path != "-" && !is_file(*path) && is_builtin_layer(*path)) std::swap(path, wanted);
    const LoadedModel loaded = load_model(path, input_shape, common.console);
    keras::LowerOptions size;
    size.batch = batch;
    size.sequence_length = sequence_length;
    warn_of_fixed_lengths(loaded.model, sequence_length, common.console);
    const keras::Anatomy anatomy = loaded.model.anatomy(size);
    const plan::Plan plan = plan::make_plan(anatomy.graph);
    const keras::Explainer explainer(anatomy, plan.graph, plan.steps);
    const report::ExplainedModel about{loaded.model.name(), loaded.model.class_name(), batch_of(anatomy.graph),
                                       sequence_length_of(anatomy.graph)};
    write_result(wanted ? layer_text(about, explainer, *wanted) : overview_text(about, explainer.classes()),
                 common.output);
    return 0;
  }

  /// Is it one, or a slip away from one and no file's name?
  static bool is_builtin_layer(const std::string& name) {
    const auto encoder = keras::Model::read("configs/encoder.json", keras::Model::builtin_encoder());
    const std::vector<std::string> names = encoder.layer_names();
    const std::string top = name.substr(0, name.find('/'));
    if (std::find(names.begin(), names.end(), top) != names.end()) return true;
    return name.find_first_of("./") == std::string::npos &&
           !nearest(name, std::vector<std::string_view>(names.begin(), names.end())).empty();
  }

  [[nodiscard]] std::string layer_text(const report::ExplainedModel& about, const keras::Explainer& explainer,
                                       const std::string& name) const {
    const std::optional<std::int32_t> part = explainer.find(name);
    if (!part) {
      const std::vector<std::string> names = explainer.names();
      throw bad_usage("no layer is called '{}'{}", printable(name),
                      did_you_mean(name, std::span<const std::string>(names)));
    }
    const keras::Explanation explanation = explainer.explain(*part);
    if (common.format == "json") return report::explain_json(about, explanation);
    if (common.format == "markdown") return report::explain_markdown(about, explanation);
    if (common.format == "latex") return report::explain_latex(about, explanation);
    return report::explain_text(about, explanation);
  }

  [[nodiscard]] std::string overview_text(const report::ExplainedModel& about,
                                          const std::vector<keras::ClassTotals>& classes) const {
    if (common.format == "json") return report::overview_json(about, classes);
    if (common.format == "markdown") return report::overview_markdown(about, classes);
    if (common.format == "latex") return report::overview_latex(about, classes);
    return report::overview_text(about, classes);
  }
};

}  // namespace

Run add_explain(CLI::App& app) {
  auto command = std::make_shared<ExplainCommand>();
  add_common(app, command->common, {"table", "json", "markdown", "latex"});
  for (const char* format : {"markdown", "latex"})
    app.add_flag_callback(
        std::string("--") + format, [command, format] { command->common.format = format; },
        std::string("short for --format ") + format);
  app.add_option("model", command->model, "Keras JSON, .keras, .h5, or short encoder config; - is stdin")
      ->type_name("MODEL");
  app.add_option("layer", command->layer, "a layer of it, or what is in one: block/dense, multi_head_attention/query")
      ->type_name("LAYER");
  app.add_option("--input-shape", command->input_shape, "shape without the batch, for a single layer: 50,512")
      ->type_name("DIMS");
  app.add_option("--batch", command->batch, "for an unknown first dimension (1)")
      ->check(CLI::PositiveNumber)
      ->type_name("N");
  app.add_option("--seq-len", command->sequence_length, "for other unknown lengths (128)")
      ->check(CLI::PositiveNumber)
      ->type_name("N");
  return [command] { return command->run(); };
}

}  // namespace attn::cli
