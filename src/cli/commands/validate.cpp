#include <memory>

#include "arguments/parsed_values.h"
#include "arguments/shared_options.h"
#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/open/model.h"
#include "attn/report/problems_view.h"
#include "options/command.h"
#include "output/common.h"

namespace attn::cli {
namespace {

struct ValidateCommand {
  Common common;
  std::optional<std::string> model;
  open::ReadingOptions how;
  bool strict = false;

  void declare(Options& options) {
    add_common(options, common, {Format::table, Format::json, Format::markdown, Format::csv});
    add_model(options, model);
    add_input_shape(options, how.input_shape);
    add_keras_version(options, how.keras_version);
    options.flag("--strict", strict, "exit 3 on warnings, not only on errors");
  }

  [[nodiscard]] int run() const {
    open::ModelText source = open::read_model_text(model, how);
    report::ProblemReport report{printable(source.name), {}};
    report.problems = keras::Model::validate(source.name, std::move(source.text), source.options);
    common.write(report::render(common.form(), report));
    const bool fails = report.errors() > 0 || (strict && !report.problems.empty());
    return static_cast<int>(fails ? ExitCode::bad_input : ExitCode::done);
  }
};

}  // namespace

Command validate_command() {
  return command_of<ValidateCommand>("validate", "list the errors and warnings of a model");
}

}  // namespace attn::cli
