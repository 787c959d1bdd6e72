// KerasHub's tasks: a backbone, and layers that make an answer of what it gives.
#pragma once

#include <string>
#include <string_view>

#include "model/assembled_model.h"
#include "model/tasks/preprocessor.h"

namespace attn::keras {

/// A class gives the keys of its own (fields) and assembles the calls behind the backbone's. Inputs and layers of the
/// backbone are its own as well.
class Task : public AssembledModel {
 public:
  void config(Fields& f) override;
  void check(const Ref& config) override;

  [[nodiscard]] Functional& backbone() const { return *model_; }
  [[nodiscard]] TaskInfo task_info();

 protected:
  /// What the class's name ends with behind that of its family: "CausalLM". The backbone's ends with "Backbone" there.
  [[nodiscard]] virtual std::string_view kind() const = 0;

  [[nodiscard]] virtual std::optional<Packing> packing() const { return std::nullopt; }
  [[nodiscard]] virtual std::string keras_hub_error() { return ""; }

  /// What the backbone gives for this model's inputs; where it gives several tensors, the one under `key`.
  TensorRef backbone_result(std::string_view key = {});
  /// The backbone's layer that turns tokens into vectors, and vectors into logits.
  [[nodiscard]] Layer& token_embedding();
  /// Logits of `x` by the token embedding, which becomes a member.
  TensorRef reverse_embedding(const TensorRef& x);
  /// An integer > 0 of the backbone's config.
  [[nodiscard]] std::int64_t backbone_size(std::string_view key);
  /// A flag of it.
  [[nodiscard]] bool backbone_flag(std::string_view key);
  /// Is a key of it null?
  [[nodiscard]] bool backbone_lacks(std::string_view key);

 private:
  LayerPtr backbone_;
  Functional* model_ = nullptr;  // the same
  PreprocessorField preprocessor_;
};

[[nodiscard]] Family causal_lm_tasks();
[[nodiscard]] Family seq_2_seq_lm_tasks();
[[nodiscard]] Family text_classifier_tasks();
[[nodiscard]] Family masked_lm_tasks();
[[nodiscard]] Family image_classifier_tasks();

}  // namespace attn::keras
