#include <array>

#include "keras_tokenizers.h"
#include "pre_tokenizers.h"

namespace attn::tokenizers {
namespace {

using Kind = KerasClass::Kind;

constexpr std::string_view kText = "<|endoftext|>", kBos = "<s>", kEos = "</s>", kPad = "<pad>";

KerasClass byte_pairs(std::string_view name, std::string_view start, std::string_view end, std::string_view pad,
                      std::string_view words = {}) {
  KerasClass row{name, Kind::byte_pairs, start, end, pad};
  row.words = words;
  return row;
}
KerasClass qwen(std::string_view name, std::string_view end, std::string_view pad) {
  KerasClass row = byte_pairs(name, "", end, pad, kQwenWords);
  row.nfc = true;
  return row;
}
KerasClass gpt_neo_x() {
  KerasClass row = byte_pairs("GPTNeoXTokenizer", kText, kText, "", kGpt2Words);
  row.nfc = true;
  return row;
}
KerasClass roberta() {
  KerasClass row = byte_pairs("RobertaTokenizer", kBos, kEos, kPad, kGpt2Words);
  row.more = {"<mask>"};
  return row;
}
KerasClass llama3() {
  KerasClass row = byte_pairs("Llama3Tokenizer", "<|begin_of_text|>", "<|end_of_text|>", "", kLlama3Words);
  row.more = {"<|start_header_id|>", "<|end_header_id|>"};
  row.second_end = "<|eot_id|>";
  return row;
}
KerasClass smol_lm3() {
  KerasClass row = byte_pairs("SmolLM3Tokenizer", "", "<|end_of_text|>", "", kLlama3Words);
  row.more = {"<|begin_of_text|>", "<think>", "</think>"};
  return row;
}
KerasClass word_piece(std::string_view name) {
  KerasClass row{name, Kind::word_piece, "[CLS]", "[SEP]", "[PAD]"};
  row.more = {"[MASK]"};
  return row;
}
KerasClass sentence_piece(std::string_view name, std::string_view start, std::string_view end, std::string_view pad,
                          std::vector<std::string_view> more = {}, Numbering numbering = Numbering::pieces) {
  KerasClass row{name, Kind::sentence_piece, start, end, pad};
  row.more = std::move(more);
  row.numbering = numbering;
  return row;
}

/// Source: keras_hub/src/models/*/*_tokenizer.py (0.32).
const std::vector<KerasClass>& classes() {
  static const std::vector<KerasClass> kClasses = {
      byte_pairs("BytePairTokenizer", "", "", "", kGpt2Words),
      byte_pairs("BartTokenizer", kBos, kEos, kPad, kGpt2Words),
      byte_pairs("BloomTokenizer", kBos, kEos, kPad, kBloomWords),
      byte_pairs("FalconTokenizer", kText, kText, "", kGpt2Words),  // for Falcon-RW, the only Falcon that KerasHub has
      byte_pairs("GPT2Tokenizer", kText, kText, "", kGpt2Words),
      gpt_neo_x(),
      byte_pairs("GptOssTokenizer", "", kText, ""),
      llama3(),
      byte_pairs("MistralTekkenTokenizer", kBos, kEos, ""),
      byte_pairs("OPTTokenizer", kEos, kEos, kPad, kGpt2Words),
      qwen("QwenTokenizer", kText, ""),
      qwen("QwenMoeTokenizer", kText, ""),
      qwen("Qwen3Tokenizer", "<|im_end|>", kText),
      qwen("Qwen3MoeTokenizer", "<|im_end|>", kText),
      roberta(),
      smol_lm3(),
      {"WordPieceTokenizer", Kind::word_piece, "", "", ""},
      word_piece("BertTokenizer"),
      word_piece("DistilBertTokenizer"),
      word_piece("ElectraTokenizer"),
      word_piece("RoformerV2Tokenizer"),
      sentence_piece("SentencePieceTokenizer", "", "", ""),
      sentence_piece("AlbertTokenizer", "[CLS]", "[SEP]", kPad, {"[MASK]"}),
      sentence_piece("DebertaV3Tokenizer", "[CLS]", "[SEP]", "[PAD]", {"[MASK]"}, Numbering::mask_behind),
      sentence_piece("FNetTokenizer", "[CLS]", "[SEP]", kPad, {"[MASK]"}),
      sentence_piece("GemmaTokenizer", "<bos>", "<eos>", kPad),
      sentence_piece("Gemma3Tokenizer", "<bos>", "<eos>", kPad),
      sentence_piece("LlamaTokenizer", kBos, kEos, ""),
      sentence_piece("MistralTokenizer", kBos, kEos, ""),
      sentence_piece("MixtralTokenizer", kBos, kEos, ""),
      sentence_piece("PaliGemmaTokenizer", "<bos>", "<eos>", kPad),
      sentence_piece("Phi3Tokenizer", kBos, kText, ""),
      sentence_piece("T5Tokenizer", kEos, kEos, kPad),
      sentence_piece("XLMRobertaTokenizer", kBos, kEos, kPad, {"<unk>"}, Numbering::fairseq),
  };
  return kClasses;
}

}  // namespace

const KerasClass* find_keras_class(std::string_view name) noexcept {
  for (const KerasClass& row : classes())
    if (row.name == name) return &row;
  return nullptr;
}

std::vector<std::string> asset_names(KerasClass::Kind kind) {
  switch (kind) {
    case Kind::byte_pairs:
      return {"vocabulary.json", "merges.txt"};
    case Kind::word_piece:
      return {"vocabulary.txt"};
    case Kind::sentence_piece:
      break;
  }
  return {"vocabulary.spm"};
}

std::vector<std::string_view> keras_class_names() {
  std::vector<std::string_view> names;
  for (const KerasClass& row : classes()) names.push_back(row.name);
  return names;
}

}  // namespace attn::tokenizers
