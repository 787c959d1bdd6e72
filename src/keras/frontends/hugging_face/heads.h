// Heads that transformers and KerasHub both have.
#pragma once

#include <string_view>

#include "frontends/hugging_face/families.h"

namespace attn::keras {

/// What an architecture of transformers ends in, and a task of KerasHub with such a head.
struct Head {
  std::string_view architecture, task;
};

/// Null where KerasHub's family has no task for it.
[[nodiscard]] const Head* head_of_architecture(const HuggingFaceFamily& family, std::string_view architecture);
/// `task` is the class's name without that of the family: "CausalLM". Null where transformers has none.
[[nodiscard]] const Head* head_of_task(const HuggingFaceFamily& family, std::string_view task);

}  // namespace attn::keras
