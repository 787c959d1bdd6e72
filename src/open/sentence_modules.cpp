#include "attn/open/sentence_modules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/io/json_text.h"
#include "preset_text.h"

namespace attn::open {
namespace {

using Json = nlohmann::json;

constexpr const char *kModules = "modules.json", *kLengthFile = "sentence_bert_config.json";

/// A JSON file of the folder; null if it is missing.
struct JsonFile {
  JsonFile(const std::string& folder, const std::string& name) : place(printable(folder + "/" + name)) {
    if (const auto text = preset_text(folder, name)) root = io::parse_json(*text, place);
  }
  [[noreturn]] void fail(const std::string& expected) const { throw bad_input("{}: expected {}", place, expected); }
  /// Returns the member of an object; null if it is missing.
  [[nodiscard]] Json member(const char* key) const {
    if (root.is_null()) return nullptr;
    if (!root.is_object()) fail("an object");
    return root.contains(key) ? root[key] : Json(nullptr);
  }

  std::string place;
  Json root;
};

/// The values of `pooling_mode`, those of sentence-transformers and KerasHub's.
constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kModes{
    {{"mean", "mean"}, {"cls", "cls"}, {"max", "max"}, {"lasttoken", "last"}}};

/// The flags of older versions, and the value that each stands for.
constexpr std::array<std::pair<const char*, const char*>, 6> kFlags{
    {{"pooling_mode_cls_token", "cls"},
     {"pooling_mode_mean_tokens", "mean"},
     {"pooling_mode_max_tokens", "max"},
     {"pooling_mode_mean_sqrt_len_tokens", "mean_sqrt_len"},
     {"pooling_mode_weightedmean_tokens", "weightedmean"},
     {"pooling_mode_lasttoken", "lasttoken"}}};

/// Returns sentence-transformers' names of the requested poolings, whose results are concatenated.
std::vector<std::string> poolings_in(const JsonFile& file) {
  std::vector<std::string> out;
  const Json modes = file.member("pooling_mode");
  for (const Json& mode : modes.is_array() ? modes : Json::array({modes})) {
    if (mode.is_null()) continue;
    if (!mode.is_string()) file.fail("a string as pooling_mode");
    out.push_back(mode.get<std::string>());
  }
  for (const auto& [key, mode] : kFlags) {
    const Json flag = file.member(key);
    if (!flag.is_null() && !flag.is_boolean()) file.fail(fmt::format("true or false as {}", key));
    if (flag == true && std::ranges::find(out, mode) == out.end()) out.emplace_back(mode);
  }
  if (out.empty()) out.emplace_back("mean");
  return out;
}

void read_pooling(const JsonFile& file, SentenceModules& out) {
  const std::vector<std::string> poolings = poolings_in(file);
  const auto* const known = std::ranges::find(kModes, poolings.front(), &decltype(kModes)::value_type::first);
  if (poolings.size() > 1)
    out.unsupported = fmt::format("one that concatenates {} poolings", poolings.size());
  else if (known == kModes.end())
    out.unsupported = fmt::format("one with the pooling '{}'", printable(shortened(poolings.front())));
  else if (file.member("include_prompt") == false)
    out.unsupported = "one that leaves the prompt out of its pooling";
  else
    out.settings.pooling_mode = known->second;
}

/// A module in modules.json.
struct Module {
  std::string kind;  ///< the last part of its type: "Pooling"
  Json path;
};

std::vector<Module> modules_in(const JsonFile& file) {
  if (!file.root.is_array()) file.fail("an array of modules");
  std::vector<Module> out;
  for (const Json& module : file.root) {
    if (!module.is_object() || !module.contains("type") || !module["type"].is_string())
      file.fail("modules with a string `type`");
    const std::string type = module["type"].get<std::string>();
    out.push_back({type.substr(type.rfind('.') + 1), module.value("path", Json(nullptr))});
  }
  return out;
}

/// Returns the name of a module's folder.
std::string folder_of(const JsonFile& file, const Module& module) {
  std::string path = module.path.is_string() ? module.path.get<std::string>() : "";
  if (path.empty() || path == ".." || path.find_first_of("/\\") != std::string::npos)
    file.fail(fmt::format("the name of a folder as the `path` of a {}", printable(shortened(module.kind))));
  return path;
}

/// Returns the config of a module.
JsonFile config_of(const std::string& folder, const std::string& module) {
  JsonFile config(folder, module + "/config.json");
  if (config.root.is_null()) throw bad_input("{}: the file is missing, but {} names it", config.place, kModules);
  return config;
}

void read_dense(const JsonFile& config, SentenceModules& out) {
  const Json units = config.member("out_features"), activation = config.member("activation_function");
  constexpr std::int64_t kMost = std::int64_t{1} << 31;
  if (!units.is_number_integer() || units.get<std::int64_t>() < 1 || units.get<std::int64_t>() >= kMost)
    config.fail("an integer from 1 to 2147483647 as out_features");
  const bool is_linear =
      activation.is_null() || (activation.is_string() && activation.get<std::string>().ends_with("Identity"));
  if (config.member("bias") != false || !is_linear)
    out.unsupported = "one with a Dense that has a bias or an activation";
  out.settings.dense_units.push_back(units.get<std::int64_t>());
}

/// Reads the chain of modules: a transformer, a pooling, dense layers, and at most a normalization.
void read_modules(const std::string& folder, const JsonFile& file, SentenceModules& out) {
  const std::vector<Module> modules = modules_in(file);
  std::size_t at = 0;
  const auto follows = [&](std::string_view kind) { return at < modules.size() && modules[at].kind == kind; };
  if (follows("Transformer")) ++at;
  if (at == 1 && follows("Pooling"))
    read_pooling(config_of(folder, folder_of(file, modules[at++])), out);
  else if (at == modules.size())
    out.unsupported = "one without a pooling";
  for (; at > 1 && follows("Dense"); ++at) {
    out.dense_folders.push_back(folder_of(file, modules[at]));
    read_dense(config_of(folder, out.dense_folders.back()), out);
  }
  out.settings.normalize = at > 1 && follows("Normalize");
  if (out.settings.normalize) ++at;
  if (at < modules.size())
    out.unsupported = fmt::format("one with a {} as module {}", printable(shortened(modules[at].kind)), at + 1);
}

/// Returns a length in tokens; nothing if the file has none, or the huge one with which tokenizers have no limit.
std::optional<std::int64_t> length_in(const JsonFile& file, const char* key) {
  const Json length = file.member(key);
  constexpr double kMost = 1e9;
  if (length.is_null() || (length.is_number() && length.get<double>() > kMost)) return std::nullopt;
  if (!length.is_number_integer() || length.get<std::int64_t>() < 1)
    file.fail(fmt::format("an integer > 0 as {}", key));
  return length.get<std::int64_t>();
}

/// Reads the length to which texts are cut, which newer versions leave to the tokenizer.
void read_length(const std::string& folder, SentenceModules& out) {
  out.settings.sequence_length = length_in({folder, kLengthFile}, "max_seq_length");
  if (!out.settings.sequence_length)
    out.settings.sequence_length = length_in({folder, "tokenizer_config.json"}, "model_max_length");
}

void read_prompts(const JsonFile& file, SentenceModules& out) {
  const Json prompts = file.member("prompts"), default_name = file.member("default_prompt_name");
  if (!prompts.is_null() && !prompts.is_object()) file.fail("an object as prompts");
  for (const auto& [name, text] : prompts.items()) {
    if (!text.is_string()) file.fail("a string as each of the prompts");
    out.prompts.emplace(name, text.get<std::string>());
  }
  if (default_name.is_null()) return;
  if (!default_name.is_string() || !out.prompts.contains(default_name.get<std::string>()))
    file.fail("the name of one of the prompts as default_prompt_name");
  out.default_prompt = default_name.get<std::string>();
}

}  // namespace

std::optional<SentenceModules> read_sentence_modules(const std::string& folder) {
  const JsonFile modules(folder, kModules);
  if (modules.root.is_null()) return std::nullopt;
  SentenceModules out;
  read_modules(folder, modules, out);
  read_length(folder, out);
  read_prompts({folder, "config_sentence_transformers.json"}, out);
  return out;
}

std::map<std::string, std::string> sentence_modules_files(const keras::EmbedderSettings& settings, std::int64_t width) {
  using nlohmann::ordered_json;
  constexpr int kIndent = 2;
  std::map<std::string, std::string> files;
  ordered_json modules = ordered_json::array();
  const auto add = [&](const std::string& type) {
    const std::string at = std::to_string(modules.size());
    const std::string path = modules.empty() ? "" : at + "_" + type;
    modules.push_back(
        {{"idx", modules.size()}, {"name", at}, {"path", path}, {"type", "sentence_transformers.models." + type}});
    return path + "/config.json";
  };
  add("Transformer");
  const std::string pooling_file = add("Pooling");
  std::int64_t inputs = width;
  for (const std::int64_t units : settings.dense_units) {
    files[add("Dense")] = ordered_json({{"in_features", inputs},
                                        {"out_features", units},
                                        {"bias", false},
                                        {"activation_function", "torch.nn.modules.linear.Identity"}})
                              .dump(kIndent) +
                          "\n";
    inputs = units;
  }
  if (settings.normalize) add("Normalize");
  const auto* const mode = std::ranges::find(kModes, settings.pooling_mode, &decltype(kModes)::value_type::second);
  ordered_json pooling = {{"word_embedding_dimension", width}};
  for (const auto& [key, own] : kFlags) pooling[key] = own == mode->first;
  files[kModules] = modules.dump(kIndent) + "\n";
  files[pooling_file] = pooling.dump(kIndent) + "\n";
  if (settings.sequence_length)
    files[kLengthFile] = ordered_json({{"max_seq_length", *settings.sequence_length}}).dump(kIndent) + "\n";
  return files;
}

}  // namespace attn::open
