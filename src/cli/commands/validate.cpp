#include <memory>

#include "arguments/shared_options.h"
#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/report/problems_view.h"
#include "model_source.h"
#include "options/command.h"
#include "output/common.h"

namespace attn::cli {
namespace {

struct ValidateCommand {
  Common common;
  std::optional<std::string> model, input_shape, keras_version;
  bool strict = false;

  void declare(Options& options) {
    add_common(options, common, {Format::table, Format::json, Format::markdown, Format::csv});
    add_model(options, model);
    add_input_shape(options, input_shape);
    add_keras_version(options, keras_version);
    options.flag("--strict", strict, "exit 3 for warnings too");
  }

  [[nodiscard]] int run() const {
    library::ModelText source = read_model_text(model, input_shape);
    if (keras_version) source.options.keras_version = parse_version(*keras_version);
    report::ProblemReport report{printable(source.name), {}};
    report.problems = keras::Model::validate(source.name, std::move(source.text), source.options);
    common.write(report::render(common.form(), report));
    const bool fails = report.errors() > 0 || (strict && !report.problems.empty());
    return static_cast<int>(fails ? ExitCode::bad_input : ExitCode::done);
  }
};

}  // namespace

Command validate_command() {
  return command_of<ValidateCommand>("validate", "list all that is wrong with a model, and what may surprise");
}

}  // namespace attn::cli
