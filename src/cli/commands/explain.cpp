#include <algorithm>
#include <memory>

#include "arguments/shared_options.h"
#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/keras/explanation.h"
#include "attn/open/execution.h"
#include "attn/open/memory.h"
#include "attn/open/model.h"
#include "attn/plan/plan.h"
#include "attn/report/explain_view.h"
#include "options/command.h"
#include "output/common.h"
#include "output/custom_classes.h"

namespace attn::cli {
namespace {

struct ExplainCommand {
  Common common;
  std::optional<std::string> model, layer;
  std::optional<Shape> input_shape;
  std::optional<std::int64_t> batch, sequence_length;

  void declare(Options& options) {
    add_common(options, common, {Format::table, Format::json, Format::markdown, Format::latex});
    for (const Format format : {Format::markdown, Format::latex}) {
      const std::string name(report::name_of(format));
      options.flag(
          "--" + name, [this, format] { common.format = format; }, "shorthand for --format " + name);
    }
    add_model(options, model);
    options.add("layer", layer, "LAYER", "layer or sublayer to explain: block/dense, multi_head_attention/query");
    add_input_shape(options, input_shape);
    add_batch(options, batch);
    add_sequence_length(options, sequence_length);
  }

  [[nodiscard]] int run() const {
    std::optional<std::string> path = model, wanted = layer;
    // A single word that is not a file can be a layer of the built-in encoder.
    if (path && !wanted && *path != "-" && !open::is_file(*path) && is_builtin_layer(*path)) std::swap(path, wanted);
    const open::LoadedModel loaded = open::load_model(path, open::ReadingOptions{input_shape}, common.console);
    warn_of_custom_classes(loaded.model, common.console);
    keras::LowerOptions size;
    size.batch = batch;
    size.sequence_length = sequence_length;
    size.open_custom = true;
    open::warn_of_fixed_lengths(loaded.model, sequence_length, common.console);
    const keras::Anatomy anatomy = loaded.model.anatomy(size);
    const plan::Plan plan = plan::make_plan(anatomy.graph);
    const keras::Explainer explainer(anatomy, plan.graph, plan.steps);
    const report::ExplainedModel about{loaded.model.name(), loaded.model.class_name(), open::batch_of(anatomy.graph),
                                       open::sequence_length_of(anatomy.graph)};
    common.write(wanted ? layer_text(about, explainer, *wanted)
                        : report::render(common.form(), about, explainer.classes()));
    return 0;
  }

  /// Returns whether the word looks like a layer of the built-in encoder, possibly misspelled, and not like a path.
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
      throw bad_usage("there is no layer '{}'{}", printable(name),
                      did_you_mean(name, std::span<const std::string>(names)));
    }
    const keras::Explanation explanation = explainer.explain(*part);
    return report::render(common.form(), about, explanation);
  }
};

}  // namespace

Command explain_command() {
  return command_of<ExplainCommand>("explain", "derive a layer's parameters and FLOPs, line by line");
}

}  // namespace attn::cli
