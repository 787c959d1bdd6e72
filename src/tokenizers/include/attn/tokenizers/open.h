// The tokenizer of a model.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "attn/tokenizers/tokenizer.h"

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

/// The tokenizer of a preset folder of KerasHub, of the .keras file of a task, or of a Hugging Face folder. Throws
/// Error (bad_input) where there is none, where a file is damaged or asks for what attn does not know, and (usage) for
/// options that do not fit it.
[[nodiscard]] std::unique_ptr<Tokenizer> open_tokenizer(const std::string& path, const OpenOptions& options = {});

}  // namespace attn::tokenizers
