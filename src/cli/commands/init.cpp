#include <memory>

#include "arguments/parsed_values.h"
#include "arguments/shared_options.h"
#include "attn/base/error.h"
#include "attn/base/size.h"
#include "attn/base/text.h"
#include "attn/open/memory.h"
#include "attn/open/model.h"
#include "attn/open/session.h"
#include "options/command.h"
#include "output/common.h"
#include "output/weights_target.h"

namespace attn::cli {
namespace {

struct InitCommand {
  Common common;
  std::optional<std::string> model;
  open::ReadingOptions how;
  std::optional<std::int64_t> memory;
  std::string out;
  std::uint64_t seed = 0;

  void declare(Options& options) {
    add_common(options, common, {Format::table, Format::json}, false);
    add_model(options, model);
    add_input_shape(options, how.input_shape);
    options.group(OptionGroup::result);
    options.output("-o,--output", out, "FILE", "output file: .weights.h5, .keras, .h5, .safetensors or .npz")
        .required();
    add_seed(options, seed);
    add_keras_version(options, how.keras_version);
    add_memory_limit(options, memory);
  }

  [[nodiscard]] int run() const {
    refuse_binary_on_terminal(out);
    check_target(out, model ? std::vector{*model} : std::vector<std::string>());
    const open::LoadedModel loaded = open::load_model(model, how, common.console);
    loaded.model.require_no_custom_class();
    const std::vector<graph::WeightSpec> specs = loaded.model.weights();
    run::require_memory("the weights take", bytes_of_all(specs), open::memory_limit(memory));
    const std::vector<Tensor> tensors = open::draw_weights(specs, seed, 0, common.console);
    const report::SavedReport report = save_model_weights(out, loaded, tensors, {}, common.console);
    write_report(report::render(common.form(), report, "init"), common.console, out == "-");
    return 0;
  }

  static UInt128 bytes_of_all(const std::vector<graph::WeightSpec>& specs) {
    UInt128 bytes = 0;
    for (const graph::WeightSpec& spec : specs)
      bytes += spec.shape.count() * static_cast<UInt128>(bytes_of(spec.dtype));
    return bytes;
  }
};

}  // namespace

Command init_command() { return command_of<InitCommand>("init", "write a model's initial weights"); }

}  // namespace attn::cli
