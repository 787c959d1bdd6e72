// Hugging Face folders as models, through attn/attn.h.
#include <nlohmann/json.hpp>

#include "attn/io/safetensors.h"
#include "attn/open/model_file.h"
#include "support.h"

using namespace attn;

namespace {

using nlohmann::json;
using test::expected_of;
using test::generation_case;
using test::refusal;
using test::relative_difference;
using test::TemporaryFolder;
using test::text_of;

Tensor output_of(const std::string& path, const test::Expected& expected) {
  RunOptions options;
  for (const auto& [name, tensor] : expected.inputs) options.input_shapes.emplace(name, tensor.shape());
  const std::vector<NamedTensor> outputs = Model::open(path).prepare(options).run(expected.inputs);
  for (const NamedTensor& output : outputs)
    if (output.name == "sequence_output") return output.tensor;
  return outputs[0].tensor;
}

void write_arrays(const std::string& path, const std::vector<NamedTensor>& arrays) {
  io::AtomicFile file(path);
  io::write_safetensors(file, arrays);
  file.commit();
}

/// A case's folder, with other arrays or other keys in its config.
class Folder {
 public:
  explicit Folder(const std::string& name)
      : config(json::parse(text_of(generation_case(name + "/hf/config.json")))),
        arrays(io::read_tensors(generation_case(name + "/hf/model.safetensors"))) {}

  const std::string& written() {
    folder_.file("config.json", config.dump(1));
    write_arrays(folder_ / "model.safetensors", arrays);
    return path_;
  }
  [[nodiscard]] const TemporaryFolder& folder() const { return folder_; }

  json config;
  std::vector<NamedTensor> arrays;

 private:
  TemporaryFolder folder_;
  std::string path_ = folder_.path();
};

std::string refused(Folder& folder) {
  return refusal([&] { static_cast<void>(Model::open(folder.written()).prepare()); });
}

std::string config_refused(Folder& folder) {
  return refusal([&] { static_cast<void>(Model::open(folder.written())); });
}

}  // namespace

TEST_CASE("a Hugging Face folder: the model computes the results of a preset with the same weights") {
  struct Case {
    const char *name, *output;
    bool with_head;
  };
  for (const Case& one : {Case{"gpt2", "logits", true},
                          {"gpt2", "hidden", false},
                          {"bert_classifier", "task_output", true},
                          {"llama3", "logits", true},
                          {"llama3", "hidden", false},
                          {"gemma", "logits", true}}) {
    CAPTURE(one.name);
    const auto expected = expected_of(one.name);
    Folder folder(one.name);
    if (!one.with_head) folder.config.erase("architectures");
    CHECK(relative_difference(output_of(folder.written(), expected), expected.outputs.at(one.output)) <
          test::kTolerance);
  }
}

TEST_CASE("a Hugging Face folder: the model computes the results of transformers") {
  for (const auto& entry : std::filesystem::directory_iterator(test::in_repository("tests/data/hugging_face"))) {
    if (!entry.is_directory()) continue;
    CAPTURE(entry.path().filename().string());
    test::Expected expected;
    for (NamedTensor& array : io::read_tensors((entry.path() / "io.npz").string())) {
      if (array.name == "y") {
        expected.outputs.emplace(array.name, std::move(array.tensor));
        continue;
      }
      expected.inputs.emplace(array.name, std::move(array.tensor));
    }
    // A KerasHub head for masked tokens has the epsilon 1e-5, which is larger than in some models of transformers.
    const double tolerance = expected.inputs.contains("mask_positions") ? 1e-4 : test::kTolerance;
    CHECK(relative_difference(output_of(entry.path().string(), expected), expected.outputs.at("y")) < tolerance);
  }
}

TEST_CASE("a Hugging Face folder: names may lack their prefix, and normalizations may have TensorFlow's names") {
  Folder folder("bert_classifier");
  const auto expected = expected_of("bert_classifier");
  for (NamedTensor& array : folder.arrays) {
    if (array.name.starts_with("bert.")) array.name.erase(0, 5);
    for (const auto& [now, then] :
         {std::pair("LayerNorm.weight", "LayerNorm.gamma"), {"LayerNorm.bias", "LayerNorm.beta"}})
      if (const auto at = array.name.find(now); at != std::string::npos)
        array.name.replace(at, std::string::npos, then);
  }
  CHECK(relative_difference(output_of(folder.written(), expected), expected.outputs.at("task_output")) <
        test::kTolerance);
}

TEST_CASE("a Hugging Face folder: weights may be in several files, in float32, bfloat16 or float16") {
  const auto expected = expected_of("gpt2");
  struct Case {
    DType dtype;
    double tolerance;  // dozens of sums, whose weights are rounded to the dtype
  };
  for (const Case& one : {Case{DType::float32, test::kTolerance}, {DType::bfloat16, 5e-2}, {DType::float16, 5e-3}}) {
    CAPTURE(name_of(one.dtype));
    Folder folder("gpt2");
    for (NamedTensor& array : folder.arrays) array.tensor = array.tensor.cast(one.dtype);
    json map;
    std::vector<NamedTensor> files[2];
    for (std::size_t i = 0; i < folder.arrays.size(); ++i) {
      files[i % 2].push_back(folder.arrays[i]);
      map[folder.arrays[i].name] = "model-0000" + std::to_string(i % 2 + 1) + "-of-00002.safetensors";
    }
    const std::string path = folder.written();
    const double whole = relative_difference(output_of(path, expected), expected.outputs.at("logits"));
    CHECK(whole < one.tolerance);
    std::filesystem::remove(folder.folder() / "model.safetensors");
    for (int i = 0; i < 2; ++i)
      write_arrays(folder.folder() / ("model-0000" + std::to_string(i + 1) + "-of-00002.safetensors"), files[i]);
    folder.folder().file("model.safetensors.index.json", json{{"metadata", {}}, {"weight_map", map}}.dump());
    CHECK(relative_difference(output_of(path, expected), expected.outputs.at("logits")) == whole);
  }
}

TEST_CASE("a Hugging Face folder: arrays that are missing, unknown or of the wrong shape are named") {
  Folder shorter("gpt2");
  std::erase_if(shorter.arrays, [](const NamedTensor& array) { return array.name.ends_with("h.1.mlp.c_fc.bias"); });
  CHECK(refused(shorter).find("1 of the model's arrays is not in it: 'h.1.mlp.c_fc.bias' (128,)") != std::string::npos);

  Folder wider("gpt2");
  for (NamedTensor& array : wider.arrays)
    if (array.name.ends_with("h.0.attn.c_attn.weight")) array.tensor = Tensor(DType::float32, {32, 95});
  CHECK(refused(wider).find("'transformer.h.0.attn.c_attn.weight' (expected (32, 96), found (32, 95))") !=
        std::string::npos);

  Folder more("llama3");
  more.config.erase("architectures");
  more.arrays.push_back({"model.layers.1.self_attn.q_proj.bias", Tensor(DType::float32, {32})});
  CHECK(refused(more).find("no weight of it: model.layers.1.self_attn.q_proj.bias") != std::string::npos);

  Folder masks("gpt2");
  masks.arrays.push_back({"transformer.h.0.attn.bias", Tensor(DType::float32, {1, 1, 64, 64})});
  masks.arrays.push_back({"score.weight", Tensor(DType::float32, {2, 32})});
  CHECK_NOTHROW(static_cast<void>(Model::open(masks.written()).prepare()));
}

TEST_CASE("a Hugging Face config: values that KerasHub's converter ignores are read") {
  Folder folder("llama3");
  folder.config.erase("architectures");
  folder.config["rms_norm_eps"] = 1e-5;
  const std::string config = Model::open(folder.written()).config();
  CHECK(config.find("\"layer_norm_epsilon\": 1e-05") != std::string::npos);
  CHECK(config.find("\"rope_frequency_adjustment_factor\": 8.0") != std::string::npos);
  OpenOptions as_keras_hub;
  as_keras_hub.compat = "keras-hub";
  CHECK(Model::open(folder.written(), as_keras_hub).config().find("\"layer_norm_epsilon\": 1e-06") !=
        std::string::npos);

  // transformers 5 stores all of it in one object.
  folder.config["rope_parameters"] = folder.config["rope_scaling"];
  folder.config["rope_parameters"]["rope_theta"] = 123456;
  folder.config.erase("rope_scaling");
  const std::string newer = Model::open(folder.written()).config();
  CHECK(newer.find("\"rope_frequency_adjustment_factor\": 8.0") != std::string::npos);
  CHECK(newer.find("\"rope_max_wavelength\": 123456") != std::string::npos);
  CHECK(Model::open(folder.written(), as_keras_hub).config().find("\"rope_frequency_adjustment_factor\": null") !=
        std::string::npos);

  Folder bert("bert_classifier");
  bert.config["hidden_act"] = "gelu";
  CHECK(Model::open(bert.written()).config().find("\"activation\": \"gelu\"") != std::string::npos);
  CHECK(Model::open(bert.written(), as_keras_hub).config().find("\"activation\": \"gelu\"") == std::string::npos);
}

TEST_CASE("a Hugging Face config: features that KerasHub's class lacks are rejected at their place") {
  const auto message = [](const std::string& name, const char* key, const json& value) {
    Folder folder(name);
    folder.config.erase("architectures");
    folder.config[key] = value;
    return config_refused(folder);
  };
  CHECK(
      message("llama3", "head_dim", 16).find("/head_dim: KerasHub's class of this family does not compute heads of") !=
      std::string::npos);
  CHECK(message("llama3", "attention_bias", true).find("/attention_bias: ") != std::string::npos);
  CHECK(message("llama3", "rope_scaling", {{"rope_type", "yarn"}, {"factor", 4.0}}).find("scaled by 'yarn'") !=
        std::string::npos);
  CHECK(message("gpt2", "activation_function", "relu").find("does not compute \"relu\"") != std::string::npos);
  CHECK(message("gpt2", "n_embd", "32").find("/n_embd: expected an integer") != std::string::npos);
  CHECK(message("gpt2", "model_type", "gpt3")
            .find("/model_type: the model type 'gpt3' is not known (did you mean "
                  "'gpt2'?)") != std::string::npos);
  Folder lacking("llama3");
  lacking.config.erase("vocab_size");
  CHECK(config_refused(lacking).find("the key 'vocab_size' is missing") != std::string::npos);
}

TEST_CASE("a Hugging Face config: the advice to read as KerasHub appears only if its converter reads the file") {
  const auto advised = [](json config) {
    TemporaryFolder folder;
    folder.file("config.json", config.dump());
    const std::string why = refusal([&] { static_cast<void>(Model::open(folder.path())); });
    CHECK(why.find("does not compute") != std::string::npos);
    return why.find("like in KerasHub") != std::string::npos;
  };
  const json sizes = {{"vocab_size", 40},         {"hidden_size", 16},        {"num_hidden_layers", 1},
                      {"num_attention_heads", 4}, {"num_key_value_heads", 2}, {"intermediate_size", 24}};
  const auto with = [&](const char* type, json more) {
    json config = sizes;
    config["model_type"] = type;
    config.update(more);
    return config;
  };
  const json yarn = {{"rope_type", "yarn"}, {"factor", 4.0}}, linear = {{"rope_type", "linear"}, {"factor", 4.0}};
  for (const char* type : {"mistral", "mixtral", "qwen2", "qwen3"})
    CHECK(advised(with(type, {{"rope_scaling", yarn}})));
  for (const char* scaling : {"yarn", "dynamic", "longrope"})
    CHECK(!advised(with("llama", {{"rope_scaling", {{"type", scaling}, {"factor", 4.0}}}})));
  for (const char* type : {"mixtral", "qwen2"}) CHECK(!advised(with(type, {{"head_dim", 8}})));
  CHECK(!advised(with("llama", {{"head_dim", 8}, {"rope_scaling", yarn}})));
  CHECK(!advised(with("llama", {{"head_dim", 8}, {"tie_word_embeddings", true}})));
  CHECK(!advised(with("llama", {{"rope_scaling", linear}, {"tie_word_embeddings", true}})));
  CHECK(!advised(with("phi3", {{"rope_scaling", yarn}})));
  CHECK(!advised(with("gpt_neox", {{"rope_scaling", yarn}})));
}

TEST_CASE("a Hugging Face config: the sizes of published models give their parameter counts") {
  struct Case {
    const char *config, *count;
  };
  const Case cases[] = {
      {R"({"model_type": "gpt2", "vocab_size": 50257, "n_layer": 12, "n_head": 12, "n_embd": 768, "n_positions": 1024})",
       "124,439,808"},
      {R"({"model_type": "llama", "vocab_size": 128256, "num_hidden_layers": 16, "num_attention_heads": 32,
           "num_key_value_heads": 8, "hidden_size": 2048, "intermediate_size": 8192, "tie_word_embeddings": true})",
       "1,235,814,400"},
      {R"({"model_type": "llama", "vocab_size": 32000, "num_hidden_layers": 32, "num_attention_heads": 32,
           "hidden_size": 4096, "intermediate_size": 11008})",
       "6,738,415,616"},
      {R"({"model_type": "mistral", "vocab_size": 32000, "num_hidden_layers": 32, "num_attention_heads": 32,
           "num_key_value_heads": 8, "hidden_size": 4096, "intermediate_size": 14336})",
       "7,241,732,096"},
      {R"({"model_type": "qwen2", "vocab_size": 151936, "num_hidden_layers": 24, "num_attention_heads": 14,
           "num_key_value_heads": 2, "hidden_size": 896, "intermediate_size": 4864, "tie_word_embeddings": true})",
       "494,032,768"},
      {R"({"model_type": "qwen3", "vocab_size": 151936, "num_hidden_layers": 28, "num_attention_heads": 16, "head_dim": 128,
           "num_key_value_heads": 8, "hidden_size": 1024, "intermediate_size": 3072, "tie_word_embeddings": true})",
       "596,049,920"},
      {R"({"model_type": "bert", "vocab_size": 30522, "num_hidden_layers": 12, "num_attention_heads": 12,
           "hidden_size": 768, "intermediate_size": 3072})",
       "109,482,240"},
      {R"({"model_type": "gpt2", "vocab_size": 50257, "n_layer": 48, "n_head": 25, "n_embd": 1600,
           "n_positions": 1024})",
       "1,557,611,200"},
      {R"({"model_type": "opt", "vocab_size": 50272, "num_hidden_layers": 12, "num_attention_heads": 12,
           "hidden_size": 768, "ffn_dim": 3072, "max_position_embeddings": 2048})",
       "125,237,760"},
      {R"({"model_type": "opt", "vocab_size": 50272, "num_hidden_layers": 32, "num_attention_heads": 32,
           "hidden_size": 4096, "ffn_dim": 16384, "max_position_embeddings": 2048})",
       "6,658,465,792"},
      {R"({"model_type": "llama", "vocab_size": 128256, "num_hidden_layers": 32, "num_attention_heads": 32,
           "num_key_value_heads": 8, "hidden_size": 4096, "intermediate_size": 14336})",
       "8,030,261,248"},
      {R"({"model_type": "llama", "vocab_size": 128256, "num_hidden_layers": 28, "num_attention_heads": 24,
           "num_key_value_heads": 8, "hidden_size": 3072, "intermediate_size": 8192,
           "tie_word_embeddings": true})",
       "3,212,749,824"},
      {R"({"model_type": "mixtral", "vocab_size": 32000, "num_hidden_layers": 32, "num_attention_heads": 32,
           "num_key_value_heads": 8, "hidden_size": 4096, "intermediate_size": 14336, "num_local_experts": 8,
           "num_experts_per_tok": 2})",
       "46,702,792,704"},
      {R"({"model_type": "gemma", "vocab_size": 256000, "num_hidden_layers": 18, "num_attention_heads": 8,
           "num_key_value_heads": 1, "hidden_size": 2048, "intermediate_size": 16384, "head_dim": 256})",
       "2,506,172,416"},
      {R"({"model_type": "gemma", "vocab_size": 256000, "num_hidden_layers": 28, "num_attention_heads": 16,
           "num_key_value_heads": 16, "hidden_size": 3072, "intermediate_size": 24576, "head_dim": 256})",
       "8,537,680,896"},
      {R"({"model_type": "gemma2", "vocab_size": 256000, "num_hidden_layers": 26, "num_attention_heads": 8,
           "num_key_value_heads": 4, "hidden_size": 2304, "intermediate_size": 9216, "head_dim": 256})",
       "2,614,341,888"},
      {R"({"model_type": "gemma2", "vocab_size": 256000, "num_hidden_layers": 42, "num_attention_heads": 16,
           "num_key_value_heads": 8, "hidden_size": 3584, "intermediate_size": 14336, "head_dim": 256})",
       "9,241,705,984"},
      {R"({"model_type": "gemma3_text", "vocab_size": 262144, "num_hidden_layers": 18,
           "num_attention_heads": 4, "num_key_value_heads": 1, "hidden_size": 640, "intermediate_size": 2048,
           "head_dim": 256})",
       "268,098,176"},
      {R"({"model_type": "gemma3_text", "vocab_size": 262144, "num_hidden_layers": 26,
           "num_attention_heads": 4, "num_key_value_heads": 1, "hidden_size": 1152, "intermediate_size": 6912,
           "head_dim": 256})",
       "999,885,952"},
      {R"({"model_type": "qwen2", "vocab_size": 151936, "num_hidden_layers": 28, "num_attention_heads": 12,
           "num_key_value_heads": 2, "hidden_size": 1536, "intermediate_size": 8960,
           "tie_word_embeddings": true})",
       "1,543,714,304"},
      {R"({"model_type": "qwen2", "vocab_size": 152064, "num_hidden_layers": 28, "num_attention_heads": 28,
           "num_key_value_heads": 4, "hidden_size": 3584, "intermediate_size": 18944})",
       "7,615,616,512"},
      {R"({"model_type": "phi3", "vocab_size": 32064, "num_hidden_layers": 32, "num_attention_heads": 32,
           "num_key_value_heads": 32, "hidden_size": 3072, "intermediate_size": 8192})",
       "3,821,079,552"},
      {R"({"model_type": "t5", "vocab_size": 32128, "d_model": 512, "d_kv": 64, "d_ff": 2048, "num_layers": 6,
           "num_heads": 8, "feed_forward_proj": "relu"})",
       "60,506,624"},
      {R"({"model_type": "t5", "vocab_size": 32128, "d_model": 768, "d_kv": 64, "d_ff": 3072, "num_layers": 12,
           "num_heads": 12, "feed_forward_proj": "relu"})",
       "222,903,552"},
      {R"({"model_type": "t5", "vocab_size": 32128, "d_model": 768, "d_kv": 64, "d_ff": 2048, "num_layers": 12,
           "num_heads": 12, "feed_forward_proj": "gated-gelu", "tie_word_embeddings": false})",
       "247,577,856"},
      {R"({"model_type": "bart", "vocab_size": 50265, "d_model": 768, "encoder_layers": 6, "decoder_layers": 6,
           "encoder_attention_heads": 12, "decoder_attention_heads": 12, "encoder_ffn_dim": 3072,
           "decoder_ffn_dim": 3072, "max_position_embeddings": 1024})",
       "139,417,344"},
      {R"({"model_type": "bart", "vocab_size": 50265, "d_model": 1024, "encoder_layers": 12,
           "decoder_layers": 12, "encoder_attention_heads": 16, "decoder_attention_heads": 16,
           "encoder_ffn_dim": 4096, "decoder_ffn_dim": 4096, "max_position_embeddings": 1024})",
       "406,287,360"},
      {R"({"model_type": "bloom", "vocab_size": 250880, "hidden_size": 1024, "n_layer": 24, "n_head": 16})",
       "559,214,592"},
      {R"({"model_type": "falcon", "vocab_size": 50304, "hidden_size": 2048, "num_hidden_layers": 24,
           "num_attention_heads": 32, "alibi": true, "multi_query": false, "parallel_attn": false, "bias": true,
           "new_decoder_architecture": false})",
       "1,311,625,216"},
  };
  for (const Case& one : cases) {
    CAPTURE(one.config);
    CHECK(Model::parse("config.json", one.config).summary().find(std::string("Total params: ") + one.count) !=
          std::string::npos);
  }
}
