#include "composite.h"

#include <utility>

#include "lowering.h"

namespace attn::keras {

LayerPtr make_sublayer(const Layer& maker, std::string_view class_name, std::string_view name, const Json& arguments) {
  Json config = {{"name", std::string(name)}, {"dtype", maker.policy.json()}};
  config.update(arguments);
  const Document document(std::string(class_name), to_json_text(without_tuples(config)));
  std::vector<std::string> warnings;  // of what no user wrote
  LayerPtr layer = read_layer_config(class_name, Ref(document), warnings);
  layer->document = maker.document;
  layer->pointer = maker.pointer;
  return layer;
}

std::vector<Layer::Sublayer> Composite::sublayers() {
  std::vector<Sublayer> out;
  for (const Part& part : parts_) out.push_back({part.layer.get(), part.layer->name + "/", part.attribute + "/"});
  return out;
}

Layer& Composite::make(std::string_view class_name, std::string_view called, std::string_view attribute,
                       const Json& arguments) {
  parts_.push_back({make_sublayer(*this, class_name, called, arguments), std::string(attribute)});
  return *parts_.back().layer;
}

TensorPtr Composite::apply(Call& call, Layer& sublayer, ArgList args, ArgDict kwargs) {
  return tensors_of(call.lowering().apply(sublayer, std::move(args), std::move(kwargs))).front();
}

TensorPtr Composite::sum(Call& call, const TensorPtr& x, const TensorPtr& y) {
  return Call::result(call.builder().binary(graph::BinaryFn::add, x->id, y->id));
}

}  // namespace attn::keras
