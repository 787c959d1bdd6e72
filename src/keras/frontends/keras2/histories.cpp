#include "frontends/keras2/histories.h"

#include "frontends/keras2/operations.h"
#include "model/input_layer.h"

namespace attn::keras {
namespace {

Json shape_json(const Shape& shape) {
  Json out = Json::array();
  for (const Dim dim : shape) out.push_back(dim == kUnknown ? Json() : Json(dim));
  return out;
}

void complete(Json& json, const Functional& model) {
  if (!is_keras_tensor(json)) {
    if (json.is_structured())
      for (Json& item : json) complete(item, model);
    return;
  }
  const Json history = json["config"]["keras_history"];
  const Layer* const layer = model.find(history[0].get<std::string>());
  const auto node = history[1].get<std::size_t>(), tensor = history[2].get<std::size_t>();
  if (layer == nullptr || node >= layer->node_shapes.size() || tensor >= layer->node_shapes[node].size()) return;
  const InputLayer* const input = as_input(*layer);
  json["config"] = {{"shape", shape_json(layer->node_shapes[node][tensor])},
                    {"dtype", input == nullptr ? std::string(name_of(layer->policy.compute)) : input->dtype},
                    {"keras_history", history}};
}

}  // namespace

void complete_histories(Functional& model) {
  for (Layer* const layer : model.operations()) {
    if (layer->envelope.contains("inbound_nodes")) complete(layer->envelope["inbound_nodes"], model);
    if (auto* const nested = dynamic_cast<Functional*>(layer)) complete_histories(*nested);
  }
}

}  // namespace attn::keras
