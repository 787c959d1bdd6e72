// A compile_config: the optimizer, the loss, its weights and the metrics, which are added to the graph of a small
// model. The optimizer then takes two steps.
#include <nlohmann/json.hpp>

#include "attn/keras/loss_graph.h"
#include "attn/keras/model.h"
#include "attn/keras/optimizer.h"
#include "attn/optimizers/optimizer.h"
#include "target.h"

namespace {

using namespace attn;

constexpr const char* kModel = R"({"class_name": "Sequential", "config": {"name": "s", "layers": [
  {"class_name": "InputLayer", "config": {"batch_shape": [null, 3], "name": "x"}},
  {"class_name": "Dense", "config": {"name": "d", "units": 4, "activation": "softmax"}}]}})";

void take_steps(const optimizers::Settings& settings) {
  for (const DType dtype : {DType::float32, DType::bfloat16}) {
    const Tensor kernel(dtype, {3, 4}), bias(dtype, {4}), ones(dtype, {4});
    for (std::int64_t i = 0; i < ones.size(); ++i) ones.set(i, 1.0);
    const optimizers::Constraint norm{optimizers::ConstraintKind::max_norm};
    optimizers::Optimizer optimizer(settings, {{"kernel", {3, 4}, norm, dtype}, {"bias", {4}, {}, dtype}}, 1);
    optimizer.begin({kernel, bias});
    for (int step = 0; step < 2; ++step) optimizer.apply({kernel, bias}, {{Tensor(dtype, {3, 4})}, {ones}});
    optimizer.finalize({kernel, bias});
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(fuzz::text_of(data, size));
  // In the program, the text comes from a model's config, which a parser with limits has already read.
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object() || text.find('\0') != std::string::npos) return 0;
  optimizers::Settings settings;
  if (fuzz::accepts([&] { settings = keras::compiled_optimizer(text); })) take_steps(settings);
  static const keras::Model model = keras::Model::read("model.json", kModel);
  fuzz::accepts([&] {
    keras::LowerOptions options;
    options.batch = 2;
    keras::LossOptions how;
    how.compile_config = text;
    how.metrics = true;
    (void)model.lower_loss(options, how);
  });
  return 0;
}
