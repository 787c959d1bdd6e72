#include "families/blocks/layer_classes.h"

#include "families/families.h"
#include "model/functional.h"
#include "model/input_layer.h"
#include "model/sequential.h"

namespace attn::keras {

const ClassTable& layer_classes() {
  static const ClassTable table = [] {
    std::vector<Family> families = {input_classes(), functional_classes(), sequential_classes()};
    const std::vector<Family> layers = layer_families();
    families.insert(families.end(), layers.begin(), layers.end());
    for (const ModelFamily* family : model_families()) families.push_back(family->layers);
    for (const ModelFamily* family : model_families()) families.push_back(family->models);
    return ClassTable(std::move(families));
  }();
  return table;
}

}  // namespace attn::keras
