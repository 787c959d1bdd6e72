// The record of a model family: everything that attn knows about the family. The record is at the end of the family's
// file.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "attn/tokenizers/tables.h"
#include "attn/weights/name_table.h"
#include "classes/class_info.h"
#include "families/blocks/config_map.h"

namespace attn::keras {

/// Stands for the task of a head that attn computes from the backbone, because KerasHub has no class for it.
inline constexpr std::string_view kBackboneHead{};

/// A suffix of the architectures in transformers, and the KerasHub task with such a head.
struct Head {
  std::string_view architecture, task;
};
inline constexpr std::array kDecoderHeads{Head{"ForCausalLM", "CausalLM"}};
inline constexpr std::array kSeq2SeqHeads{Head{"ForConditionalGeneration", "Seq2SeqLM"}};

/// Configs of transformers for a KerasHub backbone.
struct HuggingFaceModel {
  std::string_view model_type;  ///< model_type in config.json
  /// The prefix of the class names in KerasHub: "GPT2" for GPT2Backbone and GPT2CausalLM.
  std::string_view stem;
  /// The prefix of the architectures in transformers: "GPT2" for GPT2LMHeadModel.
  std::string_view architecture;
  /// Converts the config of the backbone.
  void (*sizes)(ConfigMap& map);
  /// Whether KerasHub has a converter for such folders.
  bool is_converted = true;
  /// The heads that both libraries have.
  std::span<const Head> heads = kDecoderHeads;
  /// Whether the backbone can project pooled vectors by two dense layers, and normalize them (is_embedding_model).
  bool has_projections = false;
  /// For a second row with the same model type: returns whether a config needs this row's class. A config does so if
  /// the class of the first row does not support it.
  bool (*is_needed)(const ConfigMap& map) = nullptr;
  /// If several rows have this backbone class: returns whether a backbone with this config is written with this row's
  /// model type.
  bool (*is_written)(const Json& config) = nullptr;
};

struct ModelFamily {
  std::string_view name;
  std::span<const ClassInfo> layers{};  ///< the layer classes that only this family has
  std::span<const ClassInfo> models{};  ///< the classes of backbones and tasks
  std::span<const HuggingFaceModel> hugging_face{};
  std::span<const weights::NameTable> weight_names{};  ///< the names of Hugging Face's arrays
  std::span<const tokenizers::KerasClass> tokenizer_classes{};
  std::span<const tokenizers::FolderTokenizer> tokenizer_folders{};  ///< the tokenizers of Hugging Face folders
  std::string_view sampler = "top_k";                                ///< KerasHub's default for generating text
  /// Whether KerasHub's backbone accepts tie_word_embeddings but does not write it into its config.
  bool hides_tying = false;
};

}  // namespace attn::keras
