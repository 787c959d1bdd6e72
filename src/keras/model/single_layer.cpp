#include "model/single_layer.h"

#include <string>
#include <utility>

#include "classes/named_results.h"
#include "model/input_layer.h"

namespace attn::keras {

std::unique_ptr<Functional> model_around(LayerPtr layer, const Shape& input_shape) {
  auto model = std::make_unique<Functional>();
  model->info = &functional_classes().front();
  model->name = "functional";
  Shape batch_shape{kUnknown};
  batch_shape.append(input_shape);
  std::string_view dtype = "float32";
  if (layer->info->role == Role::tokens) dtype = "int32";
  auto input = make_input(layer->name == "input_layer" ? "input" : "input_layer", batch_shape, dtype);

  // The first argument of each kind of call: x, (x, x), or [x, x].
  const TensorRef x{input->name, 0, 0};
  const std::string_view first = layer->arguments().front();
  Arg args = ArgList{Arg(x)};
  if (first == "query") args = ArgList{Arg(x), Arg(x)};
  if (layer->takes_list()) args = ArgList{Arg(ArgList{Arg(x), Arg(x)})};
  layer->nodes = {NodeSpec{std::move(args), ArgDict{}, layer->pointer}};

  const auto as_json = [](const TensorRef& ref) { return Json::array({ref.layer, ref.node, ref.tensor}); };
  model->input_struct = x;
  model->envelope["input_layers"] = as_json(x);
  if (const auto* named = dynamic_cast<const NamedResults*>(layer.get())) {
    ArgDict results;
    for (const std::string_view key : named->result_keys()) {
      const TensorRef out{layer->name, 0, static_cast<int>(results.size())};
      model->envelope["output_layers"][std::string(key)] = as_json(out);
      results.emplace_back(key, out);
    }
    model->output_struct = std::move(results);
  } else {
    const TensorRef out{layer->name, 0, 0};
    model->output_struct = out;
    model->envelope["output_layers"] = as_json(out);
  }
  model->add(std::move(input));
  model->add(std::move(layer));
  model->connect();
  model->build_symbolic();
  return model;
}

}  // namespace attn::keras
