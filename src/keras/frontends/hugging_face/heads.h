// Model heads that both transformers and KerasHub have.
#pragma once

#include <string_view>

#include "frontends/hugging_face/families.h"

namespace attn::keras {

/// The suffix of an architecture in transformers, and the KerasHub task with such a head.
struct Head {
  std::string_view architecture, task;
};

/// Null if KerasHub's family has no task for it.
[[nodiscard]] const Head* head_of_architecture(const HuggingFaceFamily& family, std::string_view architecture);
/// `task` is the class name without the prefix of the family: "CausalLM". Null if transformers has none.
[[nodiscard]] const Head* head_of_task(const HuggingFaceFamily& family, std::string_view task);

}  // namespace attn::keras
