#include "frontends/hugging_face/write_config.h"

#include <fmt/format.h>

#include "attn/base/error.h"
#include "classes/reading.h"
#include "frontends/hugging_face/families.h"
#include "frontends/hugging_face/heads.h"
#include "model/tasks/task.h"

namespace attn::keras {
namespace {

const HuggingFaceFamily& family_of(const std::string& backbone, const Json& config) {
  // Gemma 1 and 2 are one class in KerasHub: Gemma 2 has a second norm.
  const bool second_norm = config.value("use_post_attention_norm", false);
  for (const HuggingFaceFamily& family : hugging_face_families()) {
    if (std::string(family.stem) + "Backbone" != backbone) continue;
    if (family.model_type == "gemma" && second_norm) continue;
    return family;
  }
  throw bad_input("a {} is not written as a Hugging Face folder: attn does not know its family there", backbone);
}

Json labels(std::int64_t count) {
  constexpr std::int64_t kMost = 100'000;
  Json out = Json::object();
  for (std::int64_t i = 0; i < std::min(count, kMost); ++i) out[std::to_string(i)] = "LABEL_" + std::to_string(i);
  return out;
}

}  // namespace

std::string hugging_face_config(Functional& model, const std::string& dtype) {
  auto* const task = dynamic_cast<Task*>(&model);
  Layer& backbone = task != nullptr ? task->backbone() : model;
  const Json config = layer_config(backbone, kNewest);
  const HuggingFaceFamily& family = family_of(std::string(backbone.class_name()), config);
  ConfigMap map(config);
  family.sizes(map);
  std::string architecture = std::string(family.architecture) + "Model";
  Json classes;
  if (task != nullptr) {
    const std::string name(model.class_name());
    const Head* const head = head_of_task(family, std::string_view(name).substr(family.stem.size()));
    if (head == nullptr)
      throw bad_input("a {} is not written as a Hugging Face folder: transformers has no such head", name);
    architecture = std::string(family.architecture) + std::string(head->architecture);
    const Json own = layer_config(model, kNewest);
    if (own.contains("num_classes")) classes = labels(own["num_classes"].get<std::int64_t>());
  }
  Json out = {{"architectures", {architecture}}, {"model_type", family.model_type}, {"torch_dtype", dtype}};
  out.update(map.result());
  if (!classes.is_null()) out["id2label"] = std::move(classes);
  return to_json_text(out, 2) + "\n";
}

}  // namespace attn::keras
