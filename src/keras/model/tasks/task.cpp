#include "model/tasks/task.h"

#include <algorithm>
#include <vector>

#include "attn/base/text.h"
#include "classes/reading.h"
#include "model/variables.h"

namespace attn::keras {

void Task::config(Fields& f) {
  f.required("backbone", backbone_);
  f("preprocessor", preprocessor_);
  f("name", name);
  fields(f);
}

void Task::check(const Ref& config) {
  const std::string_view own = class_name();
  const std::string wanted = std::string(own.substr(0, own.size() - kind().size())) + "Backbone";
  if (backbone_ == nullptr || backbone_->class_name() != wanted)
    config["backbone"].fail(
        fmt::format("the backbone of a {} is a {}{}", own, wanted,
                    backbone_ == nullptr ? "" : fmt::format(", not a {}", backbone_->class_name())));
  model_ = dynamic_cast<Functional*>(backbone_.get());
  if (model_ == nullptr)  // a class of the same name from another module, whose code is unknown
    config["backbone"].fail(
        fmt::format("the backbone of a {} is KerasHub's {}, not a custom class of this name", own, wanted));
  policy = backbone_->policy;
  AssembledModel::check(config);
}

TaskInfo Task::task_info() {
  const bool is_member = find(model_->name) != nullptr;
  const std::string store = is_member ? "layers/" + snake_case(model_->class_name()) + "/" : "";
  return {std::string(model_->class_name()),
          store,
          preprocessor_.what,
          packing(),
          keras_hub_error(),
          unused_weights_,
          kind() == "CausalLM"};
}

void Task::assemble_backbone() {
  input_struct = model_->input_struct;
  output_struct = model_->output_struct;
  for (Layer* member : model_->members()) borrow(*member);
}

TensorRef Task::backbone_result(std::string_view key, const ArgDict& unused) {
  if (key == "sequence_output") unused_weights_ = "pooled_dense/";  // a SegmentedBackbone's other result needs it
  if (find(model_->name) == nullptr) {
    input_struct = model_->input_struct;
    if (!unused.empty()) {
      ArgDict all = *input_struct.as<ArgDict>();
      all.insert(all.end(), unused.begin(), unused.end());
      input_struct = std::move(all);
    }
    for (Layer* layer : model_->input_layers()) borrow(*layer);
    borrow(*model_);
    call(*model_, {input_struct});
  }
  if (key.empty()) return {model_->name, 0, 0};
  std::vector<std::string> keys;
  for (const auto& [name_of_output, result] : *model_->output_struct.as<ArgDict>()) keys.push_back(name_of_output);
  std::sort(keys.begin(), keys.end());
  return {model_->name, 0, static_cast<int>(std::find(keys.begin(), keys.end(), key) - keys.begin())};
}

Layer& Task::token_embedding() {
  Layer* found = nullptr;
  visit_layers(*model_, [&](Layer& layer) {
    if (found == nullptr && layer.name == embedding_name()) found = &layer;
  });
  if (found == nullptr) fail(fmt::format("the backbone {} has no token embedding", model_->class_name()));
  return *found;
}

TensorRef Task::reverse_embedding(const TensorRef& x) {
  Layer& embedding = token_embedding();
  borrow(embedding);
  return call(embedding, {x}, {{"reverse", true}});
}

Json Task::backbone_value(std::string_view key) { return layer_config(*model_, kNewest).at(std::string(key)); }

std::int64_t Task::backbone_size(std::string_view key) { return backbone_value(key).get<std::int64_t>(); }

bool Task::backbone_lacks(std::string_view key) { return backbone_value(key).is_null(); }

bool Task::backbone_flag(std::string_view key) { return backbone_value(key).get<bool>(); }

}  // namespace attn::keras
