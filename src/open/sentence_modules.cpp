#include "attn/open/sentence_modules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/io/json_text.h"
#include "preset_text.h"

namespace attn::open {
namespace {

using nlohmann::json;

constexpr const char *kModules = "modules.json", *kLengthFile = "sentence_bert_config.json";

/// A JSON file of the folder; null if it is missing.
struct JsonFile {
  JsonFile(const std::string& folder, const std::string& name) : place(printable(folder + "/" + name)) {
    if (const auto text = preset_text(folder, name)) root = io::parse_json(*text, place);
  }
  [[noreturn]] void fail(const std::string& expected) const { throw bad_input("{}: expected {}", place, expected); }
  /// Returns the member of an object; null if it is missing.
  [[nodiscard]] json member(const char* key) const {
    if (root.is_null()) return nullptr;
    if (!root.is_object()) fail("an object");
    return root.contains(key) ? root[key] : json(nullptr);
  }

  std::string place;
  json root;
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
  const json modes = file.member("pooling_mode");
  for (const json& mode : modes.is_array() ? modes : json::array({modes})) {
    if (mode.is_null()) continue;
    if (!mode.is_string()) file.fail("a string as pooling_mode");
    out.push_back(mode.get<std::string>());
  }
  for (const auto& [key, mode] : kFlags) {
    const json flag = file.member(key);
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

/// Reads the chain of modules: a transformer, a pooling, and at most a normalization.
void read_modules(const std::string& folder, const JsonFile& file, SentenceModules& out) {
  if (!file.root.is_array()) file.fail("an array of modules");
  std::vector<std::string> kinds;
  for (const json& module : file.root) {
    if (!module.is_object() || !module.contains("type") || !module["type"].is_string())
      file.fail("modules with a string `type`");
    const std::string type = module["type"].get<std::string>();
    kinds.push_back(type.substr(type.rfind('.') + 1));
    if (kinds.back() != "Pooling") continue;
    const json path = module.value("path", json(nullptr));
    if (!path.is_string() || path.get<std::string>().find_first_of("/\\") != std::string::npos || path == "..")
      file.fail("the name of a folder as the `path` of a pooling");
    const JsonFile pooling(folder, path.get<std::string>() + "/config.json");
    if (pooling.root.is_null()) throw bad_input("{}: the file is missing, but {} names it", pooling.place, kModules);
    read_pooling(pooling, out);
  }
  constexpr std::array<std::string_view, 3> kChain{"Transformer", "Pooling", "Normalize"};
  const std::size_t same = std::min(kinds.size(), kChain.size());
  const auto differs = std::mismatch(kinds.begin(), kinds.begin() + static_cast<std::ptrdiff_t>(same), kChain.begin());
  const std::size_t at = static_cast<std::size_t>(differs.first - kinds.begin());
  if (at < kinds.size())
    out.unsupported = fmt::format("one with a {1} as module {0}", at + 1, printable(shortened(kinds[at])));
  else if (kinds.size() < 2)
    out.unsupported = "one without a pooling";
  out.settings.normalize = kinds.size() == kChain.size();
}

/// Returns a length in tokens; nothing if the file has none, or the huge one with which tokenizers have no limit.
std::optional<std::int64_t> length_in(const JsonFile& file, const char* key) {
  const json length = file.member(key);
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
  const json prompts = file.member("prompts"), default_name = file.member("default_prompt_name");
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
  constexpr std::array<std::pair<const char*, const char*>, 3> kChain{
      {{"Transformer", ""}, {"Pooling", "1_Pooling"}, {"Normalize", "2_Normalize"}}};
  ordered_json modules = ordered_json::array();
  for (const auto& [type, path] : std::span(kChain).first(settings.normalize ? 3 : 2)) {
    const std::size_t at = modules.size();
    modules.push_back({{"idx", at},
                       {"name", std::to_string(at)},
                       {"path", path},
                       {"type", std::string("sentence_transformers.models.") + type}});
  }
  const auto* const mode = std::ranges::find(kModes, settings.pooling_mode, &decltype(kModes)::value_type::second);
  ordered_json pooling = {{"word_embedding_dimension", width}};
  for (const auto& [key, own] : kFlags) pooling[key] = own == mode->first;
  constexpr int kIndent = 2;
  std::map<std::string, std::string> files = {{kModules, modules.dump(kIndent) + "\n"},
                                              {"1_Pooling/config.json", pooling.dump(kIndent) + "\n"}};
  if (settings.sequence_length)
    files[kLengthFile] = ordered_json({{"max_seq_length", *settings.sequence_length}}).dump(kIndent) + "\n";
  return files;
}

}  // namespace attn::open
