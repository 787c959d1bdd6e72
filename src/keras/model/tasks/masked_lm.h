// keras_hub.models.MaskedLM: an encoder, and logits for the masked tokens of its input.
#pragma once

#include <string_view>

#include "model/tasks/task.h"

namespace attn::keras {

class MaskedLM : public Task {
 public:
  /// `sequence` is the key of the backbone's result to read; "" if there is a single result.
  explicit MaskedLM(const char* sequence, bool tanh_gelu = false) : sequence_(sequence), tanh_gelu_(tanh_gelu) {}

 protected:
  /// The layer that computes the logits.
  struct LogitsLayer {
    std::string_view class_name;
    Json arguments;                ///< besides the size of the vocabulary and the embedding
    bool shares_embedding = true;  ///< whether it has the backbone's token embedding
  };

  [[nodiscard]] std::string_view kind() const override { return "MaskedLM"; }
  [[nodiscard]] virtual LogitsLayer logits_layer();
  void assemble() override;

 private:
  std::string_view sequence_;
  bool tanh_gelu_;
};

// Values of `sequence` for the records of families.
inline constexpr char kSequenceOutput[] = "sequence_output", kOnlyOutput[] = "";

}  // namespace attn::keras
