// The results of KerasHub and Hugging Face for difficult texts (tests/data/tokenizers).
#pragma once

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "../places.h"
#include "attn/keras/families.h"
#include "attn/tokenizers/open.h"

namespace attn::tokenizers {

/// The tokenizer at `path`, with the tables of all families.
inline std::unique_ptr<Tokenizer> open_tokenizer(const std::string& path, const OpenOptions& options = {}) {
  return open_tokenizer(path, keras::tokenizer_tables(), options);
}

}  // namespace attn::tokenizers

namespace attn::test {

inline const char* const kCases[] = {
    "bart",   "bert_classifier", "bert_masked_lm", "bloom",   "clip",       "deberta_v3", "esm",       "f_net",
    "falcon", "gemma",           "gemma3",         "gemma3n", "gemma4",     "gpt2",       "gpt_neo_x", "llama",
    "llama3", "metaclip_2",      "mistral",        "opt",     "pali_gemma", "parseq",     "phi3",      "qwen2",
    "qwen3",  "roformer_v2",     "rwkv7",          "siglip",  "smollm3",    "t5"};
// The cases with a folder hf/.
inline const char* const kFolders[] = {"bert_classifier", "esm", "gemma", "gpt2", "llama3"};

inline std::string tokenizer_case(const std::string& path) { return in_repository("tests/data/tokenizers/" + path); }

inline nlohmann::json json_file(const std::string& path) {
  std::ifstream file(path);
  return nlohmann::json::parse(file);
}

}  // namespace attn::test
