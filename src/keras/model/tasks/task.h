// KerasHub's tasks: a backbone, and layers that compute an answer from its outputs.
#pragma once

#include <string>
#include <string_view>

#include "model/assembled_model.h"
#include "model/tasks/preprocessor.h"

namespace attn::keras {

/// A subclass defines its config fields and assembles the calls that follow the backbone. The inputs and layers of the
/// backbone are also those of the task.
class Task : public AssembledModel {
 public:
  void config(Fields& f) override;
  void check(const Ref& config) override;

  [[nodiscard]] Functional& backbone() const { return *model_; }
  [[nodiscard]] TaskInfo task_info();

 protected:
  /// Returns the suffix of the task's class name, after the family's name: "CausalLM". The backbone's class has
  /// "Backbone" in its place.
  [[nodiscard]] virtual std::string_view kind() const = 0;

  /// Returns the name of the embedding that also converts vectors to logits.
  [[nodiscard]] virtual std::string_view embedding_name() const { return "token_embedding"; }
  [[nodiscard]] const std::optional<Preprocessor>& preprocessor() const { return preprocessor_.what; }
  [[nodiscard]] virtual std::optional<Packing> packing() const { return std::nullopt; }
  [[nodiscard]] virtual std::string keras_hub_error() { return ""; }

  /// Returns the backbone's result for the task's inputs; if there are several tensors, the one named `key`. The task
  /// has the inputs of the backbone, and `unused` ones, which it passes to the backbone too.
  TensorRef backbone_result(std::string_view key = {}, const ArgDict& unused = {});
  /// Makes the backbone's layers and results those of the task, for a task whose outputs are the backbone's.
  void assemble_backbone();
  /// Returns the backbone's token embedding. Called in reverse, it converts hidden states to logits.
  [[nodiscard]] Layer& token_embedding();
  /// Adds the token embedding to the task's layers, and returns its logits of `x`.
  TensorRef reverse_embedding(const TensorRef& x);
  /// Returns a value of the backbone's config.
  [[nodiscard]] Json backbone_value(std::string_view key);
  /// Returns a positive integer of the backbone's config.
  [[nodiscard]] std::int64_t backbone_size(std::string_view key);
  /// Returns a flag of the backbone's config.
  [[nodiscard]] bool backbone_flag(std::string_view key);
  /// Returns whether a value of the backbone's config is null.
  [[nodiscard]] bool backbone_lacks(std::string_view key);

  std::string unused_weights_;  // see TaskInfo

 private:
  LayerPtr backbone_;
  Functional* model_ = nullptr;  // backbone_ as a Functional
  PreprocessorField preprocessor_;
};

}  // namespace attn::keras
