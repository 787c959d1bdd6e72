// The files with which sentence-transformers describes a text embedder beside a model of transformers.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "attn/keras/options.h"

namespace attn::open {

struct SentenceModules {
  keras::EmbedderSettings settings;
  std::vector<std::string> dense_folders;  ///< the folders with the weights of the dense layers
  /// A description of the model if KerasHub's embedder lacks some of it: "one without a pooling"; empty if it has all.
  std::string unsupported;
  std::map<std::string, std::string> prompts;  ///< instructions to write before a text, by name
  std::optional<std::string> default_prompt;   ///< the name of the prompt before texts without another one
};

/// Returns the modules of a folder; nothing if it has no modules.json, or is a file. Throws Error (bad_input) for files
/// that are not in the form of sentence-transformers.
[[nodiscard]] std::optional<SentenceModules> read_sentence_modules(const std::string& folder);

/// Returns the names and texts of the files for an embedder whose vectors have `width` numbers.
[[nodiscard]] std::map<std::string, std::string> sentence_modules_files(const keras::EmbedderSettings& settings,
                                                                        std::int64_t width);

}  // namespace attn::open
