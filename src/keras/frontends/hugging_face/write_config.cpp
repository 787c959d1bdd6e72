#include "frontends/hugging_face/write_config.h"

#include <fmt/format.h>

#include "attn/base/error.h"
#include "classes/reading.h"
#include "families/families.h"
#include "model/tasks/task.h"

namespace attn::keras {
namespace {

const HuggingFaceModel& model_for(const std::string& backbone, const Json& config) {
  for (const ModelFamily* family : model_families()) {
    for (const HuggingFaceModel& model : family->hugging_face) {
      if (std::string(model.stem) + "Backbone" != backbone) continue;
      if (model.is_written == nullptr || model.is_written(config)) return model;
    }
  }
  throw bad_input("a {} cannot be written as a Hugging Face folder: its family is not supported there", backbone);
}

Json labels(std::int64_t count) {
  constexpr std::int64_t kMost = 100'000;
  Json out = Json::object();
  for (std::int64_t i = 0; i < std::min(count, kMost); ++i) out[std::to_string(i)] = "LABEL_" + std::to_string(i);
  return out;
}

/// `task` is the class name without the prefix of the family: "CausalLM". Null if transformers has none.
const Head* head_of_task(const HuggingFaceModel& model, std::string_view task) {
  for (const Head& head : model.heads)
    if (head.task == task) return &head;
  return nullptr;
}

}  // namespace

std::string hugging_face_config(Functional& model, const std::string& dtype) {
  auto* const task = dynamic_cast<Task*>(&model);
  Layer& backbone = task != nullptr ? task->backbone() : model;
  // The text has lists in place of Python's tuples.
  const Json config = Json::parse(to_json_text(layer_config(backbone, kNewest), 0));
  const HuggingFaceModel& form = model_for(std::string(backbone.class_name()), config);
  ConfigMap map(config);
  form.sizes(map);
  const Head* const own_head = head_of_task(form, kBackboneHead);
  std::string architecture =
      std::string(form.architecture) + (own_head != nullptr ? std::string(own_head->architecture) : "Model");
  Json classes;
  if (task != nullptr) {
    const std::string name(model.class_name());
    const Head* const head = head_of_task(form, std::string_view(name).substr(form.stem.size()));
    if (head == nullptr)
      throw bad_input("a {} cannot be written as a Hugging Face folder: transformers has no such head", name);
    architecture = std::string(form.architecture) + std::string(head->architecture);
    const Json own = layer_config(model, kNewest);
    if (own.contains("num_classes")) classes = labels(own["num_classes"].get<std::int64_t>());
  }
  Json out = {{"architectures", {architecture}}, {"model_type", form.model_type}, {"torch_dtype", dtype}};
  out.update(map.result());
  if (!classes.is_null()) out["id2label"] = std::move(classes);
  return to_json_text(out, 2) + "\n";
}

}  // namespace attn::keras
