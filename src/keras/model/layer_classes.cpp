#include "model/layer_classes.h"

#include "model/backbones/backbone.h"
#include "model/functional.h"
#include "model/input_layer.h"
#include "model/sequential.h"
#include "model/tasks/task.h"

namespace attn::keras {

const ClassTable& layer_classes() {
  static const ClassTable table = [] {
    std::vector<Family> families = {input_classes(), functional_classes(), sequential_classes()};
    const std::vector<Family> layers = layer_families();
    families.insert(families.end(), layers.begin(), layers.end());
    families.insert(families.end(), {encoder_backbones(), gemma_backbones(), gpt_backbones(), llama_backbones(),
                                     seq_2_seq_backbones(), vision_backbones()});
    families.insert(families.end(), {causal_lm_tasks(), seq_2_seq_lm_tasks(), text_classifier_tasks(),
                                     masked_lm_tasks(), image_classifier_tasks()});
    return ClassTable(std::move(families));
  }();
  return table;
}

}  // namespace attn::keras
