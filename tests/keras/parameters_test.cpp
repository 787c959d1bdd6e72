// The sizes of published models, derived from their configs only.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "attn/keras/model.h"

using namespace attn;
using nlohmann::json;

namespace {

struct Published {
  std::string name, backbone;
  json config;
  std::int64_t parameters;
};

/// Vocabulary size, layers, width and inner width, with KerasHub's names.
json sizes(int vocabulary, int layers, int width, int inner) {
  return {{"vocabulary_size", vocabulary}, {"num_layers", layers}, {"hidden_dim", width}, {"intermediate_dim", inner}};
}

json with(json sizes, const json& further) {
  sizes.update(further);
  return sizes;
}

json heads(int count) { return {{"num_heads", count}}; }
json grouped(int queries, int keys) { return {{"num_query_heads", queries}, {"num_key_value_heads", keys}}; }

const std::vector<Published>& published() {
  const json tied = {{"tie_word_embeddings", true}}, untied = {{"tie_word_embeddings", false}};
  const json post_norms = {{"head_dim", 256}, {"use_post_ffw_norm", true}, {"use_post_attention_norm", true}};
  const json gemma3 = with(post_norms, {{"image_size", nullptr}});
  const json t5 = {{"key_value_dim", 64}, {"use_gated_activation", false}};
  static const std::vector<Published> rows = {
      {"BERT base uncased", "BertBackbone", with(sizes(30522, 12, 768, 3072), heads(12)), 109'482'240},
      {"GPT-2 base", "GPT2Backbone", with(sizes(50257, 12, 768, 3072), heads(12)), 124'439'808},
      {"GPT-2 XL", "GPT2Backbone", with(sizes(50257, 48, 1600, 6400), heads(25)), 1'557'611'200},
      {"OPT 125M", "OPTBackbone", with(sizes(50272, 12, 768, 3072), heads(12)), 125'237'760},
      {"OPT 6.7B", "OPTBackbone", with(sizes(50272, 32, 4096, 16384), heads(32)), 6'658'465'792},
      {"Bloom 560M", "BloomBackbone", with(sizes(250880, 24, 1024, 4096), heads(16)), 559'214'592},
      {"Falcon 1B", "FalconBackbone", with(sizes(50304, 24, 2048, 8192), {{"num_attention_heads", 32}}), 1'311'625'216},
      {"Llama 2 7B", "LlamaBackbone", with(sizes(32000, 32, 4096, 11008), grouped(32, 32)), 6'738'415'616},
      {"Llama 3 8B", "Llama3Backbone", with(sizes(128256, 32, 4096, 14336), grouped(32, 8)), 8'030'261'248},
      {"Llama 3.2 1B", "Llama3Backbone", with(with(sizes(128256, 16, 2048, 8192), grouped(32, 8)), tied),
       1'235'814'400},
      {"Llama 3.2 3B", "Llama3Backbone", with(with(sizes(128256, 28, 3072, 8192), grouped(24, 8)), tied),
       3'212'749'824},
      {"Mistral 7B", "MistralBackbone", with(sizes(32000, 32, 4096, 14336), grouped(32, 8)), 7'241'732'096},
      {"Mixtral 8x7B", "MixtralBackbone",
       with(with(sizes(32000, 32, 4096, 14336), grouped(32, 8)), {{"num_experts", 8}}), 46'702'792'704},
      {"Qwen2.5 0.5B", "QwenBackbone", with(sizes(151936, 24, 896, 4864), grouped(14, 2)), 494'032'768},
      {"Qwen2.5 1.5B", "QwenBackbone", with(sizes(151936, 28, 1536, 8960), grouped(12, 2)), 1'543'714'304},
      {"Qwen2.5 7B", "QwenBackbone", with(with(sizes(152064, 28, 3584, 18944), grouped(28, 4)), untied), 7'615'616'512},
      {"Qwen3 0.6B", "Qwen3Backbone", with(with(sizes(151936, 28, 1024, 3072), grouped(16, 8)), {{"head_dim", 128}}),
       596'049'920},
      {"Phi-3 mini", "Phi3Backbone", with(sizes(32064, 32, 3072, 8192), grouped(32, 32)), 3'821'079'552},
      {"Gemma 2B", "GemmaBackbone", with(with(sizes(256000, 18, 2048, 32768), grouped(8, 1)), {{"head_dim", 256}}),
       2'506'172'416},
      {"Gemma 7B", "GemmaBackbone", with(with(sizes(256000, 28, 3072, 49152), grouped(16, 16)), {{"head_dim", 256}}),
       8'537'680'896},
      {"Gemma2 2B", "GemmaBackbone", with(with(sizes(256000, 26, 2304, 18432), grouped(8, 4)), post_norms),
       2'614'341'888},
      {"Gemma2 9B", "GemmaBackbone", with(with(sizes(256000, 42, 3584, 28672), grouped(16, 8)), post_norms),
       9'241'705'984},
      {"Gemma3 270M", "Gemma3Backbone", with(with(sizes(262144, 18, 640, 2048), grouped(4, 1)), gemma3), 268'098'176},
      {"Gemma3 1B", "Gemma3Backbone", with(with(sizes(262144, 26, 1152, 6912), grouped(4, 1)), gemma3), 999'885'952},
      {"T5 small", "T5Backbone", with(with(sizes(32128, 6, 512, 2048), heads(8)), t5), 60'506'624},
      {"T5 base", "T5Backbone", with(with(sizes(32128, 12, 768, 3072), heads(12)), t5), 222'903'552},
      {"T5 1.1 base", "T5Backbone",
       with(with(sizes(32128, 12, 768, 2048), heads(12)),
            {{"key_value_dim", 64}, {"activation", "gelu"}, {"tie_embedding_weights", false}}),
       247'577'856},
      {"BART base", "BartBackbone", with(sizes(50265, 6, 768, 3072), heads(12)), 139'417'344},
      {"BART large", "BartBackbone", with(sizes(50265, 12, 1024, 4096), heads(16)), 406'287'360},
  };
  return rows;
}

}  // namespace

TEST_CASE("parameters: configs of published models have the published parameter counts") {
  for (const Published& row : published()) {
    CAPTURE(row.name);
    const json object = {{"class_name", row.backbone}, {"config", row.config}};
    const keras::Model model = keras::Model::read(row.name, object.dump());
    CHECK(static_cast<std::int64_t>(model.summary().total_params) == row.parameters);
  }
}
