#include "frontends/encoder_config.h"

#include <array>
#include <map>

#include "attn/base/text.h"
#include "classes/composite.h"
#include "config/fields.h"

namespace attn::keras {
namespace {

/// The settings of one block; `layers` in the config overrides them for each block.
struct Block {
  std::optional<Positive> num_heads, key_dim, value_dim, intermediate_dim;
  Activation activation = *Activation::named("relu");
  Number dropout, layer_norm_epsilon{1e-6};
  bool use_bias = true, normalize_first = false, causal = false;
  Initializer kernel_initializer{"glorot_uniform"}, bias_initializer{"zeros"};
  std::map<std::string, std::string, std::less<>> origins;  // JSON pointers of the keys in the short config

  void fields(Fields& f) {
    f("num_heads", num_heads);
    f("key_dim", key_dim);
    f("value_dim", value_dim);
    f("intermediate_dim", intermediate_dim);
    f("activation", activation);
    f("dropout", dropout);
    f("layer_norm_epsilon", layer_norm_epsilon);
    f("use_bias", use_bias);
    f("normalize_first", normalize_first);
    f("causal", causal);
    f("kernel_initializer", kernel_initializer);
    f("bias_initializer", bias_initializer);
  }

  void read(const Ref& config, Fields& f) {
    fields(f);
    for (const auto& [key, member] : config.members()) origins.insert_or_assign(key, member.pointer());
  }

  /// Returns the location of the key; that of the whole config if it has no such key.
  [[nodiscard]] std::string origin(std::string_view key) const {
    const auto found = origins.find(key);
    return found == origins.end() ? "" : found->second;
  }
};

struct EncoderConfig {
  std::string name = "encoder";
  std::optional<Shape> input_shape;
  Positive num_layers;
  Block block;
  Choice position_encoding{"none", {"none", "sine", "learned"}};
  std::optional<Positive> vocabulary_size, sequence_length, hidden_dim, units;
  Activation output_activation = *Activation::named("linear");
  std::vector<Block> layers;
};

bool gives(const Ref& config, const char* key) {
  const auto member = config.find(key);
  return member && !member->is_null();
}

/// Checks the settings that every block needs, from its overrides or from the config.
void check_block(const Ref& config, const std::optional<Ref>& overrides) {
  for (const char* key : {"num_heads", "intermediate_dim"})
    if (!gives(config, key) && !(overrides && gives(*overrides, key)))
      config.document().attempt([&] { config.fail(fmt::format("the key '{}' is missing", key)); });
}

void check_rate(const Ref& config) {
  const auto rate = config.find("dropout");
  if (!rate || !rate->is_number()) return;
  if (rate->number() < 0.0 || rate->number() > 1.0)
    config.document().attempt([&] { rate->fail("expected a number from 0 to 1, got " + rate->kind()); });
}

/// Checks constraints between keys. Reports every problem of the config, not only the first.
void check_constraints(const Ref& config, const EncoderConfig& read) {
  const auto refuse = [&](const char* key, const std::string& message) {
    config.document().attempt([&] { key == nullptr ? config.fail(message) : config[key].fail(message); });
  };
  const bool features = gives(config, "input_shape"), tokens = gives(config, "vocabulary_size");
  if (features && tokens)
    refuse("vocabulary_size", "give either input_shape (features) or vocabulary_size (tokens), not both");
  if (!features && !tokens) refuse(nullptr, "the key 'input_shape' is missing (or vocabulary_size for tokens)");
  if (tokens)
    for (const char* key : {"sequence_length", "hidden_dim"})
      if (!gives(config, key)) refuse(nullptr, fmt::format("the key '{}' is missing (tokens need it)", key));
  if (read.input_shape && read.input_shape->rank() != 2) {
    refuse("input_shape", "expected [sequence length, features], got " + config["input_shape"].json().dump());
  } else if (read.input_shape && read.input_shape->back() == kUnknown) {
    refuse("input_shape", "the number of features must be known");
  } else if (read.input_shape && read.hidden_dim && *read.hidden_dim != read.input_shape->back()) {
    refuse("hidden_dim", "it differs from the last dimension of input_shape");
  }
}

[[noreturn]] void too_many(const Ref& ref) {
  ref.fail(fmt::format("more than {} blocks are not accepted", kMaxBlocks));
}

EncoderConfig read(const Ref& config, std::vector<std::string>& warnings) {
  EncoderConfig out;
  Fields f(config, warnings);
  f("name", out.name);
  f("input_shape", out.input_shape);
  f("num_layers", out.num_layers);
  out.block.read(config, f);
  f("position_encoding", out.position_encoding);
  f("vocabulary_size", out.vocabulary_size);
  f("sequence_length", out.sequence_length);
  f("hidden_dim", out.hidden_dim);
  f("units", out.units);
  f("output_activation", out.output_activation);
  const auto layers = f.take("layers");
  f.check_keys();
  check_rate(config);
  check_constraints(config, out);
  const Document& document = config.document();
  if (layers) {
    document.attempt([&] {
      if (static_cast<std::int64_t>(layers->elements().size()) > kMaxBlocks) too_many(*layers);
      for (const Ref& ref : layers->elements()) {
        Block block = out.block;
        ref.expect_object();
        Fields overrides(ref, warnings);
        block.read(ref, overrides);
        overrides.check_keys();
        check_rate(ref);
        check_block(config, ref);
        out.layers.push_back(std::move(block));
      }
      if (config.find("num_layers") && static_cast<std::size_t>(out.num_layers.value) != out.layers.size())
        layers->fail(
            fmt::format("num_layers is {}, but {} layers are listed", out.num_layers.value, out.layers.size()));
      out.num_layers = static_cast<std::int64_t>(out.layers.size());
    });
  } else {
    check_block(config, std::nullopt);
    if (out.num_layers > kMaxBlocks) document.attempt([&] { too_many(config["num_layers"]); });
  }
  document.stop_after_problems(0);
  return out;
}

/// Generates the model in the form of `model.to_json()`. Automatic names are numbered as in Keras.
class Expansion {
 public:
  explicit Expansion(const EncoderConfig& config) : config_(config) {}

  Translation run(const Ref& source) {
    const bool tokens = config_.vocabulary_size.has_value();
    const std::int64_t width = tokens ? config_.hidden_dim->value : config_.input_shape->back();
    shape_ = Json::array({nullptr, nullptr, width});
    if (tokens) {
      shape_[1] = config_.sequence_length->value;
    } else if ((*config_.input_shape)[0] != kUnknown) {
      shape_[1] = (*config_.input_shape)[0];
    }
    std::string x = input(tokens);
    if (tokens) x = embedding(x);
    x = positions(x, source);
    for (std::int64_t i = 0; i < config_.num_layers; ++i) {
      const Block& block = config_.layers.empty() ? config_.block : config_.layers[static_cast<std::size_t>(i)];
      x = encoder_block(x, block, source, width);
    }
    if (config_.block.normalize_first) x = layer_normalization(x, config_.block);
    if (config_.units)
      x = dense(x, *config_.units, config_.output_activation, config_.block, "units", "output_activation");
    Json model_config = object_with_room(5);
    model_config["name"] = config_.name;
    model_config["trainable"] = true;
    model_config["layers"] = std::move(layers_);
    model_config["input_layers"] = Json::array({"input_layer", 0, 0});
    model_config["output_layers"] = Json::array({x, 0, 0});
    Json root = object_with_room(6);
    root["module"] = "keras.src.models.functional";
    root["class_name"] = "Functional";
    root["config"] = std::move(model_config);
    root["registered_name"] = "Functional";
    root["build_config"] = {{"input_shape", nullptr}};
    root["compile_config"] = Json::object();
    return {std::move(root), std::move(origins_)};
  }

 private:
  std::string automatic(const std::string& stem) {
    const int count = used_[stem]++;
    return count == 0 ? stem : stem + "_" + std::to_string(count);
  }

  [[nodiscard]] Json tensor(const std::string& layer) const {
    return {
        {"class_name", "__keras_tensor__"},
        {"config",
         {{"shape", shapes_.at(layer)}, {"dtype", dtypes_.at(layer)}, {"keras_history", Json::array({layer, 0, 0})}}}};
  }

  /// Adds a layer or operation and returns its name.
  std::string add(const char* module, const char* class_name, const std::string& stem, Json config, Json args,
                  Json kwargs, std::optional<Json> build_config, Json shape) {
    std::string name = config.contains("name") ? config["name"].get<std::string>() : automatic(stem);
    const bool operation = std::string_view(module).find(".ops.") != std::string_view::npos;
    Json full = {{"name", name}};
    if (!operation) {
      full["trainable"] = true;
      full["dtype"] = DTypePolicy{}.json();
    }
    for (auto it = config.begin(); it != config.end(); ++it) full[it.key()] = *it;
    const bool hub = std::string_view(module) == "keras_hub.layers";
    const std::string registered = hub ? std::string("keras_hub>") + class_name : std::string(class_name);
    Json layer = {{"module", hub ? hub_module(class_name) : std::string(module)},
                  {"class_name", class_name},
                  {"config", std::move(full)},
                  {"registered_name", operation || hub ? Json(registered) : Json()}};
    if (build_config) layer["build_config"] = std::move(*build_config);
    layer["name"] = name;
    layer["inbound_nodes"] = Json::array({{{"args", std::move(args)}, {"kwargs", std::move(kwargs)}}});
    layers_.push_back(std::move(layer));
    shapes_[name] = std::move(shape);
    dtypes_[name] = "float32";
    return name;
  }

  /// Records the keys of the short config that define the last layer and some of its fields, for messages; "" means
  /// that no key does.
  void came_from(const std::string& origin, std::initializer_list<std::pair<const char*, std::string>> fields = {}) {
    const std::string layer = "/config/layers/" + std::to_string(layers_.size() - 1);
    origins_[layer] = origin;
    for (const auto& [field, key] : fields) origins_[layer + "/config/" + field] = key;
  }

  static std::string hub_module(std::string_view class_name) {
    return "keras_hub.src.layers.modeling." + snake_case(class_name);
  }

  std::string input(bool tokens) {
    std::string name = automatic("input_layer");
    Json shape = tokens ? Json::array({nullptr, shape_[1]}) : shape_;
    const char* dtype = tokens ? "int32" : "float32";
    layers_.push_back({{"module", "keras.layers"},
                       {"class_name", "InputLayer"},
                       {"config",
                        {{"batch_shape", shape},
                         {"dtype", dtype},
                         {"sparse", false},
                         {"ragged", false},
                         {"name", name},
                         {"optional", false}}},
                       {"registered_name", nullptr},
                       {"name", name},
                       {"inbound_nodes", Json::array()}});
    came_from(tokens ? "/sequence_length" : "/input_shape");
    shapes_[name] = std::move(shape);
    dtypes_[name] = dtype;
    return name;
  }

  std::string embedding(const std::string& x) {
    Json config = {{"input_dim", config_.vocabulary_size->value},
                   {"output_dim", shape_[2]},
                   {"embeddings_initializer", Initializer("uniform").json},
                   {"embeddings_regularizer", nullptr},
                   {"activity_regularizer", nullptr},
                   {"embeddings_constraint", nullptr},
                   {"mask_zero", false},
                   {"quantization_config", nullptr}};
    std::string name = add("keras.layers", "Embedding", "embedding", std::move(config), Json::array({tensor(x)}),
                           Json::object(), Json{{"input_shape", shapes_[x]}}, shape_);
    came_from("/vocabulary_size", {{"output_dim", "/hidden_dim"}});
    return name;
  }

  std::string positions(const std::string& x, const Ref& source) {
    const std::string& kind = config_.position_encoding.value;
    if (kind == "none") return x;
    std::string encoding;
    if (kind == "sine") {
      encoding = add("keras_hub.layers", "SinePositionEncoding", "sine_position_encoding", {{"max_wavelength", 10000}},
                     Json::array({tensor(x)}), Json::object(), std::nullopt, shape_);
    } else {
      if (shape_[1].is_null()) source["position_encoding"].fail("learned positions need a known sequence length");
      encoding = add("keras_hub.layers", "PositionEmbedding", "position_embedding",
                     {{"sequence_length", shape_[1]}, {"initializer", Initializer("glorot_uniform").json}},
                     Json::array({tensor(x)}), Json::object(), Json{{"input_shape", shape_}}, shape_);
    }
    came_from("/position_encoding");
    return plus(x, encoding);
  }

  std::string plus(const std::string& x, const std::string& y) {
    return add("keras.src.ops.numpy", "Add", "add", Json::object(), Json::array({tensor(x), tensor(y)}), Json::object(),
               std::nullopt, shape_);
  }

  std::string attention(const std::string& x, const Block& block, const Ref& source, std::int64_t width) {
    const std::int64_t heads = *block.num_heads;
    const std::int64_t key_dim = block.key_dim ? block.key_dim->value : width / heads;
    if (key_dim < 1) source.fail("the key 'key_dim' is missing, and hidden_dim / num_heads is 0");
    const std::int64_t value_dim = block.value_dim ? block.value_dim->value : key_dim;
    Json config = {{"num_heads", heads},
                   {"key_dim", key_dim},
                   {"value_dim", value_dim},
                   {"dropout", 0.0},
                   {"use_bias", block.use_bias},
                   {"use_gate", false},
                   {"output_shape", nullptr},
                   {"attention_axes", Json::array({1})},
                   {"sliding_window", nullptr},
                   {"kernel_initializer", block.kernel_initializer.json},
                   {"bias_initializer", block.bias_initializer.json},
                   {"kernel_regularizer", nullptr},
                   {"bias_regularizer", nullptr},
                   {"activity_regularizer", nullptr},
                   {"kernel_constraint", nullptr},
                   {"bias_constraint", nullptr},
                   {"seed", nullptr}};
    std::string name =
        add("keras.layers", "MultiHeadAttention", "multi_head_attention", std::move(config),
            Json::array({tensor(x), tensor(x)}), block.causal ? Json{{"use_causal_mask", true}} : Json::object(),
            Json{{"shapes_dict", {{"query_shape", shape_}, {"value_shape", shape_}}}}, shape_);
    came_from(block.origin("num_heads"), {{"key_dim", block.origin("key_dim")},
                                          {"value_dim", block.origin("value_dim")},
                                          {"kernel_initializer", block.origin("kernel_initializer")},
                                          {"bias_initializer", block.origin("bias_initializer")}});
    // The Softmax and Dropout inside MultiHeadAttention consume automatic names.
    automatic("softmax");
    automatic("dropout");
    return name;
  }

  std::string dropout(const std::string& x, const Block& block) {
    if (block.dropout == 0.0) return x;
    std::string name = add("keras.layers", "Dropout", "dropout",
                           {{"rate", block.dropout.value}, {"seed", nullptr}, {"noise_shape", nullptr}},
                           Json::array({tensor(x)}), {{"training", false}}, std::nullopt, shapes_[x]);
    came_from(block.origin("dropout"), {{"rate", block.origin("dropout")}});
    return name;
  }

  std::string layer_normalization(const std::string& x, const Block& block) {
    Json config = {{"axis", Json::array({-1})},
                   {"epsilon", block.layer_norm_epsilon.value},
                   {"center", true},
                   {"scale", true},
                   {"rms_scaling", false},
                   {"beta_initializer", Initializer("zeros").json},
                   {"gamma_initializer", Initializer("ones").json},
                   {"beta_regularizer", nullptr},
                   {"gamma_regularizer", nullptr},
                   {"beta_constraint", nullptr},
                   {"gamma_constraint", nullptr}};
    std::string name = add("keras.layers", "LayerNormalization", "layer_normalization", std::move(config),
                           Json::array({tensor(x)}), Json::object(), Json{{"input_shape", shape_}}, shape_);
    came_from("", {{"epsilon", block.origin("layer_norm_epsilon")}});
    return name;
  }

  /// `units_key` and `activation_key` are the keys of these settings; "" means none.
  std::string dense(const std::string& x, std::int64_t units, const Activation& activation, const Block& block,
                    std::string_view units_key, std::string_view activation_key) {
    Json config = {{"units", units},
                   {"activation", activation.json},
                   {"use_bias", block.use_bias},
                   {"kernel_initializer", block.kernel_initializer.json},
                   {"bias_initializer", block.bias_initializer.json},
                   {"kernel_regularizer", nullptr},
                   {"bias_regularizer", nullptr},
                   {"kernel_constraint", nullptr},
                   {"bias_constraint", nullptr},
                   {"quantization_config", nullptr}};
    Json shape = shapes_[x];
    Json build = {{"input_shape", shape}};
    shape[2] = units;
    std::string name = add("keras.layers", "Dense", "dense", std::move(config), Json::array({tensor(x)}),
                           Json::object(), std::move(build), std::move(shape));
    came_from(block.origin(units_key), {{"activation", block.origin(activation_key)},
                                        {"kernel_initializer", block.origin("kernel_initializer")},
                                        {"bias_initializer", block.origin("bias_initializer")}});
    return name;
  }

  std::string encoder_block(std::string x, const Block& block, const Ref& source, std::int64_t width) {
    const std::int64_t inner = *block.intermediate_dim;
    const Activation linear = *Activation::named("linear");
    if (block.normalize_first) {
      x = plus(x, dropout(attention(layer_normalization(x, block), block, source, width), block));
      const std::string hidden =
          dense(layer_normalization(x, block), inner, block.activation, block, "intermediate_dim", "activation");
      return plus(x, dropout(dense(hidden, width, linear, block, "", ""), block));
    }
    x = layer_normalization(plus(x, dropout(attention(x, block, source, width), block)), block);
    const std::string hidden = dense(x, inner, block.activation, block, "intermediate_dim", "activation");
    return layer_normalization(plus(x, dropout(dense(hidden, width, linear, block, "", ""), block)), block);
  }

  const EncoderConfig& config_;
  Origins origins_{{"", ""}};
  Json layers_ = Json::array();
  Json shape_;  // the shape (B,T,D) of the tensor between the blocks
  std::map<std::string, Json> shapes_;
  std::map<std::string, std::string> dtypes_;
  std::map<std::string, int> used_;
};

}  // namespace

bool is_encoder_config(const Ref& config) {
  if (!config.is_object() || config.find("class_name") || config.find("trainable")) return false;
  for (const char* key : {"input_shape", "num_layers", "intermediate_dim", "vocabulary_size", "layer_norm_epsilon"})
    if (config.find(key)) return true;
  return false;
}

Translation expand_encoder_config(const Ref& config, std::vector<std::string>& warnings) {
  const EncoderConfig read_config = read(config, warnings);
  return Expansion(read_config).run(config);
}

}  // namespace attn::keras
