#include "frontends/hugging_face/heads.h"

#include <array>

namespace attn::keras {
namespace {

constexpr std::array<Head, 6> kHeads{{{"LMHeadModel", "CausalLM"},
                                      {"ForCausalLM", "CausalLM"},
                                      {"ForConditionalGeneration", "Seq2SeqLM"},
                                      {"ForSequenceClassification", "TextClassifier"},
                                      {"ForMaskedLM", "MaskedLM"},
                                      {"ForImageClassification", "ImageClassifier"}}};

/// Returns whether KerasHub's family has a task with this head.
bool has(const HuggingFaceFamily& family, const Head& head) {
  const bool encodes = family.model_type == "bert", sees = family.model_type == "vit";
  const bool translates = family.model_type == "bart" || family.model_type == "t5";
  if (head.task == "ImageClassifier") return sees;
  if (head.task == "TextClassifier" || head.task == "MaskedLM") return encodes;
  if (head.task == "Seq2SeqLM") return translates;
  if (head.architecture == "LMHeadModel") return family.model_type == "gpt2";
  return !encodes && !sees && !translates && family.model_type != "gpt2";
}

}  // namespace

const Head* head_of_architecture(const HuggingFaceFamily& family, std::string_view architecture) {
  for (const Head& head : kHeads)
    if (architecture.ends_with(head.architecture) && has(family, head)) return &head;
  return nullptr;
}

const Head* head_of_task(const HuggingFaceFamily& family, std::string_view task) {
  for (const Head& head : kHeads)
    if (task == head.task && has(family, head)) return &head;
  return nullptr;
}

}  // namespace attn::keras
