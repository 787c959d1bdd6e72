#include "attn/open/label_texts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/io/json_text.h"
#include "attn/open/tokenizer.h"
#include "preset_text.h"

namespace attn::open {
namespace {

constexpr std::int64_t kMostTokens = std::int64_t{1} << 20;

/// The settings of a preset's preprocessor.
struct Settings {
  std::int64_t length;
  bool adds_start, adds_end = true, cleans = true;
};

/// Reads a flag of the preprocessor's config.
void read_flag(const nlohmann::json& config, std::string_view key, const std::string& place, bool& value) {
  const auto found = config.find(key);
  if (found == config.end()) return;
  if (!found->is_boolean()) throw bad_input("{}: /config/{}: expected true or false", place, key);
  value = found->get<bool>();
}

Settings settings_of(const LoadedModel& loaded, const keras::ImageTexts& how, const std::string& folder) {
  const std::optional<std::int64_t> positions = loaded.model.most_positions();
  Settings out{.length = std::min(how.length, positions.value_or(how.length)), .adds_start = how.has_start};
  const std::optional<std::string> text = preset_text(folder, kPreprocessorJson);
  if (!text) return out;
  const std::string place = printable(folder + "/" + kPreprocessorJson);
  const nlohmann::json root = io::parse_json(*text, place);
  if (!root.is_object() || !root.contains("config") || !root["config"].is_object())
    throw bad_input("{}: expected an object with 'config', the settings of a {}", place, how.preprocessor);
  const nlohmann::json& config = root["config"];
  if (const auto length = config.find("sequence_length"); length != config.end()) {
    if (!length->is_number_integer() || *length < 2 || *length > kMostTokens)
      throw bad_input("{}: /config/sequence_length: expected a number of tokens from 2 to {}", place, kMostTokens);
    out.length = length->get<std::int64_t>();
  }
  if (positions && out.length > *positions)
    throw bad_input("{}: /config/sequence_length: the model has {} positions, not {}", place, *positions, out.length);
  if (how.has_start) read_flag(config, "add_start_token", place, out.adds_start);
  read_flag(config, "add_end_token", place, out.adds_end);
  read_flag(config, how.cleaning_key, place, out.cleans);
  return out;
}

constexpr bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
constexpr bool is_punctuation(char c) {
  return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
}

/// Changes the text as the preprocessor does. '=' is not among the signs that KerasHub removes. A vertical tab is no
/// space for its pattern, but is stripped.
std::string cleaned(std::string_view text, keras::TextCleaning how) {
  std::string out;
  for (char c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (how == keras::TextCleaning::canonical) {
      if (is_punctuation(c) && c != '=') continue;
      if (is_space(c) && c != '\v') {
        if (out.ends_with(' ')) continue;
        c = ' ';
      }
    }
    out += c;
  }
  if (how != keras::TextCleaning::canonical) return out;
  const auto begin = std::ranges::find_if_not(out, is_space);
  const auto end = std::find_if_not(out.rbegin(), std::make_reverse_iterator(begin), is_space).base();
  return {begin, end};
}

}  // namespace

Tensor label_ids(const LoadedModel& loaded, std::span<const std::string> texts, const Listener& listener) {
  const auto how = loaded.model.image_texts();
  if (!how)
    throw bad_input(
        "{}: `texts` requires a model that compares images with texts, as CLIP and SigLIP do, not a {}; attn "
        "generate, score, embed, probe and heatmap read prompts",
        loaded.file, loaded.model.class_name());
  if (!loaded.weights || !is_folder(*loaded.weights))
    throw bad_input("{}: `texts` requires a preset folder, which has a tokenizer; give token ids by `inputs`",
                    loaded.file);
  const Settings settings = settings_of(loaded, *how, *loaded.weights);
  const auto tokenizer = open_tokenizer_of(*loaded.weights, loaded);
  const tokenizers::SpecialIds& specials = tokenizer->specials();
  const bool starts = settings.adds_start && specials.start, ends = settings.adds_end && specials.end;
  const auto most = static_cast<std::size_t>(settings.length - (starts ? 1 : 0) - (ends ? 1 : 0));
  Tensor out(DType::int32, {std::ssize(texts), settings.length});
  for (std::size_t row = 0; row < texts.size(); ++row) {
    std::vector<tokenizers::Id> ids =
        tokenizer->encode(settings.cleans ? cleaned(texts[row], how->cleaning) : texts[row]);
    if (ids.size() > most) {
      listener.warn(fmt::format("'{}' has {} tokens, and is cut to {}", shortened(texts[row]), ids.size(), most));
      ids.resize(most);
    }
    if (starts) ids.insert(ids.begin(), *specials.start);
    if (ends) ids.push_back(*specials.end);
    ids.resize(static_cast<std::size_t>(settings.length), specials.pad.value_or(0));
    std::ranges::copy(ids, out.as<std::int32_t>().data() + static_cast<std::int64_t>(row) * settings.length);
  }
  return out;
}

std::vector<std::vector<double>> label_probabilities(const LoadedModel& loaded, const Tensor& similarities) {
  const bool is_independent = loaded.model.image_texts()->is_independent;
  const Dim images = similarities.shape()[0], texts = similarities.shape()[1];
  std::vector<std::vector<double>> out;
  for (Dim image = 0; image < images; ++image) {
    std::vector<double> row;
    for (Dim text = 0; text < texts; ++text) row.push_back(similarities.at(image * texts + text));
    const double highest = *std::ranges::max_element(row);
    double sum = 0;
    for (double& value : row) {
      value = is_independent ? 1.0 / (1.0 + std::exp(-value)) : std::exp(value - highest);
      sum += value;
    }
    if (!is_independent)
      for (double& value : row) value /= sum;
    out.push_back(std::move(row));
  }
  return out;
}

}  // namespace attn::open
