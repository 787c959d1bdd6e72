// KerasHub's tasks: a backbone, and layers that compute an answer from its outputs.
#pragma once

#include <string>
#include <string_view>

#include "model/assembled_model.h"
#include "model/tasks/preprocessor.h"

namespace attn::keras {

/// A subclass defines its own keys (fields) and assembles the calls after those of the backbone. The inputs and layers
/// of the backbone are also its own.
class Task : public AssembledModel {
 public:
  void config(Fields& f) override;
  void check(const Ref& config) override;

  [[nodiscard]] Functional& backbone() const { return *model_; }
  [[nodiscard]] TaskInfo task_info();

 protected:
  /// The suffix of the class name after the family's: "CausalLM". It replaces "Backbone" in the backbone's name.
  [[nodiscard]] virtual std::string_view kind() const = 0;

  [[nodiscard]] virtual std::optional<Packing> packing() const { return std::nullopt; }
  [[nodiscard]] virtual std::string keras_hub_error() { return ""; }

  /// The backbone's result for this model's inputs; if there are several tensors, the one with `key`.
  TensorRef backbone_result(std::string_view key = {});
  /// The backbone's token embedding, which also converts vectors to logits.
  [[nodiscard]] Layer& token_embedding();
  /// The logits of `x` by the token embedding, which becomes a member.
  TensorRef reverse_embedding(const TensorRef& x);
  /// A value in the backbone's config.
  [[nodiscard]] Json backbone_value(std::string_view key);
  /// A positive integer in the backbone's config.
  [[nodiscard]] std::int64_t backbone_size(std::string_view key);
  /// A flag in the backbone's config.
  [[nodiscard]] bool backbone_flag(std::string_view key);
  /// Whether a key of the backbone's config is null.
  [[nodiscard]] bool backbone_lacks(std::string_view key);

 private:
  LayerPtr backbone_;
  Functional* model_ = nullptr;  // backbone_ as a Functional
  PreprocessorField preprocessor_;
};

}  // namespace attn::keras
