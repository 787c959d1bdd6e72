#include "classes/composite.h"

#include <utility>

#include "attn/base/error.h"
#include "classes/class_table.h"
#include "classes/reading.h"

namespace attn::keras {

LayerPtr make_sublayer(const Layer& maker, std::string_view class_name, std::string_view name, Json arguments,
                       std::string_view attribute) {
  arguments["name"] = std::string(name);
  arguments["dtype"] = maker.policy.source_name();
  if (maker.document == nullptr) throw internal_error("'{}' creates layers without a document", maker.name);
  const auto document =
      std::make_shared<const Document>(std::string(class_name), std::move(arguments), &maker.document->layers());
  std::vector<std::string> warnings;  // discarded, because they are about configs that no user wrote
  LayerPtr layer;
  try {
    layer = read_layer_config(class_name, Ref(*document), warnings);
  } catch (const Error& error) {
    maker.fail(error.what());
  }
  if (!layer->is_operation()) layer->policy = maker.policy.of(name, attribute);
  if (maker.policy.asked) layer->quantize(*maker.policy.asked);
  layer->document = maker.document;
  layer->own_document = document;
  layer->pointer = maker.pointer;
  return layer;
}

std::vector<Layer::Sublayer> Composite::sublayers() {
  std::vector<Sublayer> out;
  for (const Part& part : parts_)
    out.push_back({part.layer.get(), part.layer->name + "/", part.attribute + "/", part.detached});
  return out;
}

Layer& Composite::make(std::string_view class_name, std::string_view called, std::string_view attribute,
                       Json arguments) {
  parts_.push_back({make_sublayer(*this, class_name, called, std::move(arguments), attribute), std::string(attribute)});
  return *parts_.back().layer;
}

Layer& Composite::make_unbiased(std::string_view called, std::int64_t units) {
  return make("Dense", called, called, {{"units", units}, {"use_bias", false}});
}

Layer& Composite::make_detached(std::string_view class_name, std::string_view called, std::string_view attribute,
                                Json arguments) {
  Layer& out = make(class_name, called, attribute, std::move(arguments));
  parts_.back().detached = true;
  return out;
}

TensorPtr Composite::apply(Call& call, Layer& sublayer, ArgList args, ArgDict kwargs) {
  return tensors_of(call.lowering().apply(sublayer, std::move(args), std::move(kwargs))).front();
}

TensorPtr Composite::sum(Call& call, const TensorPtr& x, const TensorPtr& y) {
  return Call::result(call.builder().binary(graph::BinaryFn::add, x->id, y->id));
}

}  // namespace attn::keras
