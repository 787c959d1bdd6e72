#include <memory>

#include "attn/base/error.h"
#include "attn/base/size.h"
#include "attn/base/text.h"
#include "command.h"
#include "memory_limit.h"
#include "prepared_model.h"
#include "weights_target.h"

namespace attn::cli {
namespace {

struct InitCommand {
  Common common;
  std::optional<std::string> model, input_shape, keras_version, memory;
  std::string out;
  std::uint64_t seed = 0;

  [[nodiscard]] int run() const {
    check_target(out, model ? std::vector{*model} : std::vector<std::string>());
    std::optional<keras::Version> version;
    if (keras_version) version = parse_version(*keras_version);
    const LoadedModel loaded = load_model(model, input_shape, common.console, version);
    const std::vector<graph::WeightSpec> specs = loaded.model.weights();
    run::require_memory("the weights take", bytes_of_all(specs), memory_limit(memory));
    const std::vector<Tensor> tensors = draw_weights(specs, seed, 0, common.console);
    save_model_weights(out, loaded, tensors, {}, common.console);
    const report::SavedReport report = saved_report(out, tensors);
    write_report(common.format == "json" ? report::saved_json(report, "init") : report::saved_text(report),
                 common.console, out == "-");
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

Run add_init(CLI::App& app) {
  auto command = std::make_shared<InitCommand>();
  add_common(app, command->common, {"table", "json"}, false);
  app.add_option("model", command->model, "Keras JSON, .keras, or short encoder config; - is stdin")
      ->type_name("MODEL");
  app.add_option("--input-shape", command->input_shape, "shape without the batch, for a single layer: 50,512")
      ->type_name("DIMS");
  app.add_option("-o,--output", command->out, ".weights.h5, .keras, .h5, .safetensors or .npz")
      ->required()
      ->type_name("FILE");
  app.add_option("--seed", command->seed, "of the random numbers")->type_name("SEED");
  add_keras_version(app, command->keras_version);
  add_memory_limit(app, command->memory);
  return [command] { return command->run(); };
}

}  // namespace attn::cli
