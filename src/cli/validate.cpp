#include <memory>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/report/problems_view.h"
#include "command.h"
#include "model_source.h"

namespace attn::cli {
namespace {

struct ValidateCommand {
  Common common;
  std::optional<std::string> model, input_shape, keras_version;
  bool strict = false;

  [[nodiscard]] int run() const {
    library::ModelText source = read_model_text(model, input_shape);
    if (keras_version) source.options.keras_version = parse_version(*keras_version);
    report::ProblemReport report{printable(source.name), {}};
    report.problems = keras::Model::validate(source.name, std::move(source.text), source.options);
    write_result(text(report), common.output);
    const bool fails = report.errors() > 0 || (strict && !report.problems.empty());
    return static_cast<int>(fails ? ExitCode::bad_input : ExitCode::done);
  }

  [[nodiscard]] std::string text(const report::ProblemReport& report) const {
    if (common.format == "json") return report::problems_json(report);
    if (common.format == "markdown") return report::problems_markdown(report);
    if (common.format == "csv") return report::problems_csv(report);
    return report::problems_text(report);
  }
};

}  // namespace

Run add_validate(CLI::App& app) {
  auto command = std::make_shared<ValidateCommand>();
  add_common(app, command->common, {"table", "json", "markdown", "csv"});
  app.add_option("model", command->model, "Keras JSON, .keras, .h5, or short encoder config; - is stdin")
      ->type_name("MODEL");
  app.add_option("--input-shape", command->input_shape, "shape without the batch, for a single layer: 50,512")
      ->type_name("DIMS");
  add_keras_version(app, command->keras_version);
  app.add_flag("--strict", command->strict, "exit 3 for warnings too");
  return [command] { return command->run(); };
}

}  // namespace attn::cli
