// Which of several ways a vocabulary is used in.
#pragma once

#include <cstdint>

namespace attn::tokenizers {

/// Whose ids a tokenizer gives, where libraries differ over one vocabulary.
enum class Workflow : std::uint8_t {
  of_files,     ///< that of the files: KerasHub's Python form for a preset, tokenizer.json for a Hugging Face folder
  python,       ///< KerasHub's Python form, which its generate() uses
  tensorflow,   ///< KerasHub's TensorFlow form, which runs in tf.data
  hugging_face  ///< Hugging Face's tokenizers
};

/// How byte-pair tokenizers of KerasHub cut a text into words before they look for pairs.
enum class Words : std::uint8_t {
  of_workflow,  ///< as the workflow does
  none,         ///< not at all
  gpt2,
  llama3
};

struct OpenOptions {
  Workflow workflow = Workflow::of_files;
  Words words = Words::of_workflow;
};

}  // namespace attn::tokenizers
