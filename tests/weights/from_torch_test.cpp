#include "attn/weights/from_torch.h"

#include "modules.h"
#include "support.h"

namespace attn::weights {
namespace {

using graph::WeightSpec;

/// Arrays with unique elements: 100 · position + element.
Store state_dict(const std::vector<std::pair<std::string, Shape>>& arrays, DType dtype = DType::float32) {
  Store store;
  store.file = "f";
  for (const auto& [name, shape] : arrays) {
    const Tensor tensor(dtype, shape);
    for (std::int64_t i = 0; i < tensor.size(); ++i)
      tensor.set(i, static_cast<double>(100 * static_cast<std::int64_t>(store.weights.size()) + i));
    store.weights.push_back({name, tensor});
  }
  return store;
}

void add_attention(std::vector<WeightSpec>& specs, const std::string& name) {
  for (const char* part : {"query", "key", "value"}) {
    specs.push_back(weight(name + "/" + part + "/kernel", {4, 2, 2}));
    specs.push_back(weight(name + "/" + part + "/bias", {2, 2}));
  }
  specs.push_back(weight(name + "/attention_output/kernel", {2, 2, 4}));
  specs.push_back(weight(name + "/attention_output/bias", {4}));
}

void add_dense(std::vector<WeightSpec>& specs, const std::string& name, Dim in, Dim out) {
  specs.push_back(weight(name + "/kernel", {in, out}));
  specs.push_back(weight(name + "/bias", {out}));
}

void add_norm(std::vector<WeightSpec>& specs, const std::string& name) {
  specs.push_back(weight(name + "/gamma", {4}));
  specs.push_back(weight(name + "/beta", {4}));
}

/// The blocks of the short encoder config, with normalization at the end.
std::vector<WeightSpec> encoder(int blocks) {
  std::vector<WeightSpec> specs;
  for (int i = 0; i < blocks; ++i) {
    const std::string n = i == 0 ? "" : "_" + std::to_string(i);
    add_attention(specs, "multi_head_attention" + n);
    add_norm(specs, "layer_normalization_" + std::to_string(2 * i));
    add_dense(specs, "dense_" + std::to_string(2 * i), 4, 6);
    add_dense(specs, "dense_" + std::to_string(2 * i + 1), 6, 4);
    add_norm(specs, "layer_normalization_" + std::to_string(2 * i + 1));
  }
  return specs;
}

void add_torch_layer(std::vector<std::pair<std::string, Shape>>& arrays, const std::string& prefix) {
  // In the order of safetensors, which is not the order of layers.
  arrays.insert(arrays.end(), {{prefix + "linear1.bias", {6}},
                               {prefix + "linear1.weight", {6, 4}},
                               {prefix + "linear2.bias", {4}},
                               {prefix + "linear2.weight", {4, 6}},
                               {prefix + "norm1.bias", {4}},
                               {prefix + "norm1.weight", {4}},
                               {prefix + "norm2.bias", {4}},
                               {prefix + "norm2.weight", {4}},
                               {prefix + "self_attn.in_proj_bias", {12}},
                               {prefix + "self_attn.in_proj_weight", {12, 4}},
                               {prefix + "self_attn.out_proj.bias", {4}},
                               {prefix + "self_attn.out_proj.weight", {4, 4}}});
}

/// The source array of each weight: "weight < array".
std::vector<std::string> origins(const std::vector<WeightSpec>& specs, const Store& store) {
  const std::vector<TorchSource> sources = from_torch(specs, store);
  std::vector<std::string> out;
  for (std::size_t i = 0; i < specs.size(); ++i) out.push_back(specs[i].path + " < " + sources[i].array);
  return out;
}

bool has(const std::vector<std::string>& list, const std::string& item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

std::string torch_refusal(const std::vector<WeightSpec>& specs, const Store& store) {
  return refusal([&] { static_cast<void>(from_torch(specs, store)); });
}

TEST_CASE("torch: in_proj_weight is split into query, key and value, each transposed") {
  std::vector<WeightSpec> specs;
  add_attention(specs, "attention");
  const Store store = state_dict(
      {{"in_proj_weight", {12, 4}}, {"in_proj_bias", {12}}, {"out_proj.weight", {4, 4}}, {"out_proj.bias", {4}}});
  const std::vector<TorchSource> sources = from_torch(specs, store);
  for (int third = 0; third < 3; ++third) {
    const Tensor& kernel = sources[static_cast<std::size_t>(2 * third)].tensor;  // (D, N, H)
    const Tensor& bias = sources[static_cast<std::size_t>(2 * third + 1)].tensor;
    CHECK(kernel.shape() == Shape{4, 2, 2});
    CHECK(bias.shape() == Shape{2, 2});
    for (int d = 0; d < 4; ++d)
      for (int nh = 0; nh < 4; ++nh) CHECK(kernel.at(d * 4 + nh) == (third * 4 + nh) * 4 + d);
    for (int nh = 0; nh < 4; ++nh) CHECK(bias.at(nh) == 100 + third * 4 + nh);
  }
  const Tensor& output = sources[6].tensor;  // (N, H, D)
  CHECK(output.shape() == Shape{2, 2, 4});
  for (int nh = 0; nh < 4; ++nh)
    for (int d = 0; d < 4; ++d) CHECK(output.at(nh * 4 + d) == 200 + d * 4 + nh);
}

TEST_CASE("torch: keys and values of different sizes have separate weights") {
  std::vector<WeightSpec> specs = {weight("a/query/kernel", {4, 2, 2}), weight("a/key/kernel", {3, 2, 2}),
                                   weight("a/value/kernel", {5, 2, 2}), weight("a/attention_output/kernel", {2, 2, 4})};
  const Store store = state_dict({{"x.k_proj_weight", {4, 3}},
                                  {"x.out_proj.weight", {4, 4}},
                                  {"x.q_proj_weight", {4, 4}},
                                  {"x.v_proj_weight", {4, 5}}});
  CHECK(origins(specs, store) ==
        std::vector<std::string>{"a/query/kernel < x.q_proj_weight", "a/key/kernel < x.k_proj_weight",
                                 "a/value/kernel < x.v_proj_weight", "a/attention_output/kernel < x.out_proj.weight"});
}

TEST_CASE("torch: layers are ordered by their numbers, not by their names") {
  std::vector<std::pair<std::string, Shape>> arrays;
  for (const char* number : {"0", "1", "10", "11", "2", "3", "4", "5", "6", "7", "8", "9"})
    add_torch_layer(arrays, "encoder.layers." + std::string(number) + ".");
  const auto found = origins(encoder(12), state_dict(arrays));
  CHECK(has(found, "multi_head_attention/key/bias < encoder.layers.0.self_attn.in_proj_bias"));
  CHECK(has(found, "multi_head_attention_2/query/kernel < encoder.layers.2.self_attn.in_proj_weight"));
  CHECK(has(found, "layer_normalization_21/gamma < encoder.layers.10.norm2.weight"));
  CHECK(has(found, "dense_22/kernel < encoder.layers.11.linear1.weight"));
  CHECK(has(found, "dense_23/bias < encoder.layers.11.linear2.bias"));
}

TEST_CASE("torch: a single layer, a last normalization, and dense layers around the blocks are matched") {
  std::vector<std::pair<std::string, Shape>> one;
  add_torch_layer(one, "");
  CHECK(has(origins(encoder(1), state_dict(one)), "dense_1/kernel < linear2.weight"));

  std::vector<WeightSpec> specs;
  add_dense(specs, "projection", 3, 4);
  for (WeightSpec& spec : encoder(2)) specs.push_back(std::move(spec));
  add_norm(specs, "layer_normalization_4");
  add_dense(specs, "classes", 4, 5);
  std::vector<std::pair<std::string, Shape>> arrays = {{"blocks.norm.weight", {4}}, {"blocks.norm.bias", {4}},
                                                       {"head.weight", {5, 4}},     {"head.bias", {5}},
                                                       {"embed.weight", {4, 3}},    {"embed.bias", {4}}};
  add_torch_layer(arrays, "blocks.0.");
  add_torch_layer(arrays, "blocks.1.");
  const auto found = origins(specs, state_dict(arrays));
  CHECK(has(found, "projection/kernel < embed.weight"));
  CHECK(has(found, "classes/bias < head.bias"));
  CHECK(has(found, "layer_normalization_4/gamma < blocks.norm.weight"));
  CHECK(has(found, "dense_0/kernel < blocks.0.linear1.weight"));
}

TEST_CASE("torch: BERT is matched to KerasHub's backbone, with and without prefix and old LayerNorm names") {
  std::vector<WeightSpec> specs = {weight("token_embedding/embeddings", {9, 4}),
                                   weight("position_embedding/embeddings", {7, 4}),
                                   weight("segment_embedding/embeddings", {2, 4})};
  add_norm(specs, "embeddings_layer_norm");
  for (const std::string layer : {"transformer_layer_0/", "transformer_layer_1/"}) {
    add_attention(specs, layer + "self_attention_layer");
    add_norm(specs, layer + "self_attention_layer_norm");
    add_norm(specs, layer + "feedforward_layer_norm");
    add_dense(specs, layer + "feedforward_intermediate_dense", 4, 6);
    add_dense(specs, layer + "feedforward_output_dense", 6, 4);
  }
  add_dense(specs, "pooled_dense", 4, 4);

  for (const std::string prefix : {"", "bert."}) {
    for (const bool old : {false, true}) {
      CAPTURE(prefix);
      CAPTURE(old);
      const std::string gamma = old ? "LayerNorm.gamma" : "LayerNorm.weight";
      const std::string beta = old ? "LayerNorm.beta" : "LayerNorm.bias";
      std::vector<std::pair<std::string, Shape>> arrays = {{"embeddings.position_ids", {1, 7}},
                                                           {"embeddings.position_embeddings.weight", {7, 4}},
                                                           {"embeddings.token_type_embeddings.weight", {2, 4}},
                                                           {"embeddings.word_embeddings.weight", {9, 4}},
                                                           {"embeddings." + gamma, {4}},
                                                           {"embeddings." + beta, {4}},
                                                           {"pooler.dense.weight", {4, 4}},
                                                           {"pooler.dense.bias", {4}}};
      for (const std::string layer : {"encoder.layer.1.", "encoder.layer.0."}) {
        for (const char* part : {"query", "key", "value"}) {
          arrays.push_back({layer + "attention.self." + part + ".weight", {4, 4}});
          arrays.push_back({layer + "attention.self." + part + ".bias", {4}});
        }
        arrays.insert(arrays.end(), {{layer + "attention.output.dense.weight", {4, 4}},
                                     {layer + "attention.output.dense.bias", {4}},
                                     {layer + "attention.output." + gamma, {4}},
                                     {layer + "attention.output." + beta, {4}},
                                     {layer + "intermediate.dense.weight", {6, 4}},
                                     {layer + "intermediate.dense.bias", {6}},
                                     {layer + "output.dense.weight", {4, 6}},
                                     {layer + "output.dense.bias", {4}},
                                     {layer + "output." + gamma, {4}},
                                     {layer + "output." + beta, {4}}});
      }
      for (auto& [name, shape] : arrays) name.insert(0, prefix);
      const auto found = origins(specs, state_dict(arrays));
      CHECK(has(found, "token_embedding/embeddings < " + prefix + "embeddings.word_embeddings.weight"));
      CHECK(has(found, "segment_embedding/embeddings < " + prefix + "embeddings.token_type_embeddings.weight"));
      CHECK(has(found, "embeddings_layer_norm/beta < " + prefix + "embeddings." + beta));
      CHECK(has(found, "transformer_layer_1/self_attention_layer/value/bias < " + prefix +
                           "encoder.layer.1.attention.self.value.bias"));
      CHECK(has(found, "transformer_layer_0/self_attention_layer/attention_output/kernel < " + prefix +
                           "encoder.layer.0.attention.output.dense.weight"));
      CHECK(has(found, "transformer_layer_0/self_attention_layer_norm/gamma < " + prefix +
                           "encoder.layer.0.attention.output." + gamma));
      CHECK(has(found,
                "transformer_layer_1/feedforward_layer_norm/gamma < " + prefix + "encoder.layer.1.output." + gamma));
      CHECK(has(found, "transformer_layer_1/feedforward_output_dense/kernel < " + prefix +
                           "encoder.layer.1.output.dense.weight"));
      CHECK(has(found, "pooled_dense/kernel < " + prefix + "pooler.dense.weight"));
    }
  }
}

TEST_CASE("torch: weights without a counterpart are listed on both sides") {
  std::vector<std::pair<std::string, Shape>> arrays;
  add_torch_layer(arrays, "layers.0.");
  arrays.push_back({"cls.decoder.weight", {9, 4}});
  arrays.push_back({"cls.\x1b[2J", {9}});
  std::vector<WeightSpec> specs = encoder(1);
  specs.push_back(weight("scale/scale", {4}));
  CHECK(torch_refusal(specs, state_dict(arrays)) ==
        "f: no counterpart for 2 of the file's 14 arrays ('cls.decoder.weight', 'cls.\\u{1b}[2J') and 1 of the model's "
        "17 weights ('scale/scale')");
  // A split array is reported once.
  CHECK(torch_refusal({}, state_dict({{"in_proj_weight", {12, 4}}})) ==
        "f: no counterpart for 1 of the file's 1 arrays ('in_proj_weight')");
}

TEST_CASE("torch: mismatched sizes and dtypes are listed") {
  std::vector<WeightSpec> specs;
  add_dense(specs, "head", 4, 5);
  CHECK(torch_refusal(specs, state_dict({{"head.weight", {4, 5}}, {"head.bias", {5}}})) ==
        "f: does not fit: 'head.weight' for 'head/kernel' (expected float32 (5, 4), found float32 (4, 5))");
  CHECK(torch_refusal(specs, state_dict({{"head.weight", {5, 4}}, {"head.bias", {5}}}, DType::int8))
            .find("found int8 (5, 4)") != std::string::npos);
  CHECK(torch_refusal(specs, state_dict({{"in_proj_weight", {4, 4}}, {"head.weight", {}}}))
            .starts_with("f: no counterpart for 2 of the file's 2 arrays"));
}

TEST_CASE("torch: layers of two stacks are not ordered") {
  std::vector<std::pair<std::string, Shape>> arrays;
  add_torch_layer(arrays, "encoder.layers.0.");
  add_torch_layer(arrays, "decoder.layers.0.");
  CHECK(torch_refusal(encoder(2), state_dict(arrays)) ==
        "f: 'encoder.layers.0.self_attn' and 'decoder.layers.0.self_attn' belong to two stacks of layers, whose order "
        "is unknown");
}

TEST_CASE("torch: an extra normalization leaves all of them without a counterpart") {
  std::vector<WeightSpec> specs = encoder(1);
  add_norm(specs, "last");
  std::vector<std::pair<std::string, Shape>> arrays;
  add_torch_layer(arrays, "layers.0.");
  CHECK(torch_refusal(specs, state_dict(arrays)).find("'layers.0.norm1.bias', 'layers.0.norm1.weight'") !=
        std::string::npos);
}

TEST_CASE("torch: modules of equal shape are matched by their numbers, and not matched without numbers") {
  std::vector<WeightSpec> specs;
  add_dense(specs, "dense", 4, 4);
  add_dense(specs, "dense_1", 4, 4);
  CHECK(has(
      origins(
          specs,
          state_dict({{"mlp.10.weight", {4, 4}}, {"mlp.10.bias", {4}}, {"mlp.2.weight", {4, 4}}, {"mlp.2.bias", {4}}})),
      "dense/kernel < mlp.2.weight"));
  CHECK(torch_refusal(specs, state_dict({{"a.weight", {4, 4}}, {"a.bias", {4}}, {"b.weight", {4, 4}}, {"b.bias", {4}}}))
            .find("'a.weight', 'b.bias'") != std::string::npos);
}

}  // namespace
}  // namespace attn::weights
