// Options for vocabularies that libraries use differently.
#pragma once

#include <cstdint>

namespace attn::tokenizers {

/// The library whose ids a tokenizer reproduces, if libraries differ for a vocabulary.
enum class Workflow : std::uint8_t {
  of_files,     ///< default of the files: KerasHub's Python workflow for a preset, tokenizer.json for a Hugging Face
                ///< folder
  python,       ///< KerasHub's Python workflow, which its generate() uses
  tensorflow,   ///< KerasHub's TensorFlow workflow, which runs in tf.data
  hugging_face  ///< Hugging Face's tokenizers library
};

/// The pre-tokenization of KerasHub's byte-pair tokenizers: how they split a text into words.
enum class Words : std::uint8_t {
  of_workflow,  ///< as in the workflow
  none,         ///< no splitting
  gpt2,
  llama3
};

struct OpenOptions {
  Workflow workflow = Workflow::of_files;
  Words words = Words::of_workflow;
};

}  // namespace attn::tokenizers
