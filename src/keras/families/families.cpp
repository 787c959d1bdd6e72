#include "attn/keras/families.h"

#include <array>
#include <vector>

#include "families/families.h"

// Lists one row for each family, whose file defines `const ModelFamily& <row>::family()`.
#define ATTN_FAMILIES(row)                                                                                             \
  row(llama) row(mistral) row(mixtral) row(qwen) row(qwen3) row(qwen_moe) row(qwen3_moe) row(qwen3_5) row(qwen3_5_moe) \
      row(gpt_oss) row(phi3) row(smollm3) row(gemma) row(gemma3) row(gemma3n) row(gemma4) row(gpt2) row(opt)           \
          row(gpt_neo_x) row(bloom) row(falcon) row(bert) row(albert) row(electra) row(distil_bert) row(roberta)       \
              row(f_net) row(esm) row(roformer_v2) row(deberta_v3) row(xlnet) row(rwkv7) row(edrec) row(bart) row(t5)  \
                  row(t5gemma) row(t5gemma2) row(vit) row(deit) row(dinov2) row(dinov3) row(clip) row(siglip) row(mit) \
                      row(swin_transformer) row(mobilenetv5) row(vit_det) row(sam) row(depth_anything) row(parseq)     \
                          row(pali_gemma) row(blip2) row(video_prism) row(whisper) row(moonshine)                      \
                              row(other_tokenizers)

namespace attn::keras {

#define DECLARED(name)         \
  namespace name {             \
  const ModelFamily& family(); \
  }
ATTN_FAMILIES(DECLARED)
#undef DECLARED

namespace {

/// Collects the rows of all families.
template <typename Row>
std::vector<Row> rows_of(std::span<const Row> ModelFamily::*member) {
  std::vector<Row> out;
  for (const ModelFamily* family : model_families())
    out.insert(out.end(), (family->*member).begin(), (family->*member).end());
  return out;
}

}  // namespace

std::span<const ModelFamily* const> model_families() {
#define LISTED(name) &name::family(),
  static const std::array kFamilies = {ATTN_FAMILIES(LISTED)};
#undef LISTED
  return kFamilies;
}

const ModelFamily* family_of_model(std::string_view class_name) {
  for (const ModelFamily* family : model_families())
    for (const ClassInfo& info : family->models)
      if (info.name == class_name) return family;
  return nullptr;
}

std::string_view default_sampler(std::string_view task) {
  const ModelFamily* const family = family_of_model(task);
  // A family's sampler is that of its CausalLM.
  return family == nullptr || task.ends_with("Seq2SeqLM") ? ModelFamily{}.sampler : family->sampler;
}

std::span<const weights::NameTable> weight_names() {
  static const std::vector<weights::NameTable> names = rows_of(&ModelFamily::weight_names);
  return names;
}

tokenizers::TokenizerTables tokenizer_tables() {
  static const std::vector<tokenizers::KerasClass> classes = rows_of(&ModelFamily::tokenizer_classes);
  static const std::vector<tokenizers::FolderTokenizer> folders = rows_of(&ModelFamily::tokenizer_folders);
  return {classes, folders};
}

}  // namespace attn::keras
