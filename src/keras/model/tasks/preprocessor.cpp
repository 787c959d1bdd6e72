#include "model/tasks/preprocessor.h"

#include <algorithm>

#include "attn/base/text.h"
#include "config/built_in.h"

namespace attn::keras {
namespace {

/// Returns the name in a config, otherwise Keras's automatic name for the class.
std::string name_of_object(const Ref& config, const std::string& class_name) {
  const auto name = config.find("name");
  return name && name->is_string() ? name->text() : snake_case(class_name);
}

std::optional<std::int64_t> count_in(const Ref& config, std::string_view key) {
  const auto value = config.find(key);
  if (!value || value->is_null()) return std::nullopt;
  return value->integer_from(1);
}

bool flag_in(const Ref& config, std::string_view key) {
  const auto value = config.find(key);
  return !value || value->is_null() || value->boolean();
}

Shape image_size_in(const Ref& config) {
  const auto size = config.find("image_size");
  if (!size || size->is_null()) return {kUnknown, kUnknown};
  return size->shape();
}

/// Returns what audio_shape() of a converter of this class returns.
std::vector<std::int64_t> audio_shape_in(const Ref& config, std::string_view class_name) {
  const auto count = [&](std::string_view key, std::int64_t otherwise) {
    return count_in(config, key).value_or(otherwise);
  };
  if (class_name == "WhisperAudioConverter") return {count("max_audio_length", 30), count("num_mels", 80)};
  if (class_name == "Gemma4AudioConverter")
    return {count("sampling_rate", 16000) * count("max_audio_length", 30) / count("stride", 160),
            count("num_mels", 128)};
  return {kUnknown};
}

/// Adds the tokenizers and converters in the order of the config's keys.
void add_parts(const Ref& config, std::vector<PreprocessorPart>& parts) {
  for (const auto& [key, value] : config.members()) {
    if (!value.is_object() || !value.find("class_name") || !value.find("config")) continue;
    check_built_in(value);
    const std::string class_name(package_and_class(value["class_name"].text()).second);
    const Ref inner = value["config"];
    inner.expect_object();
    const bool tokenizer = class_name.ends_with("Tokenizer"), image = class_name.ends_with("ImageConverter");
    const bool audio = class_name.ends_with("AudioConverter");
    if (!tokenizer && !image && !audio) {
      add_parts(inner, parts);
      continue;
    }
    PreprocessorPart part{name_of_object(inner, class_name), class_name, {}, {}, {}};
    if (image) part.image_size = image_size_in(inner);
    if (audio) part.audio_shape = audio_shape_in(inner, class_name);
    parts.push_back(std::move(part));
  }
  // A constructor sets the converter of sounds last; a config has its keys in alphabetical order.
  std::stable_partition(parts.begin(), parts.end(), [](const PreprocessorPart& part) { return !part.audio_shape; });
}

}  // namespace

void read_field(const Ref& ref, PreprocessorField& value, std::vector<std::string>& /*warnings*/) {
  value = {ref.json(), std::nullopt};
  if (ref.is_null()) return;
  ref.expect_object();
  check_built_in(ref);
  Preprocessor out;
  out.class_name = package_and_class(ref["class_name"].text()).second;
  const Ref config = ref["config"];
  config.expect_object();
  out.name = name_of_object(config, out.class_name);
  out.sequence_length = count_in(config, "sequence_length");
  out.encoder_sequence_length = count_in(config, "encoder_sequence_length");
  out.decoder_sequence_length = count_in(config, "decoder_sequence_length");
  // A preprocessor without images has 0.
  if (const auto tokens = config.find("num_vision_tokens_per_image");
      tokens && !tokens->is_null() && tokens->integer_from(0) > 0)
    out.num_vision_tokens_per_image = tokens->integer();
  out.add_start_token = flag_in(config, "add_start_token");
  out.add_end_token = flag_in(config, "add_end_token");
  add_parts(config, out.parts);
  value.what = std::move(out);
}

Json write_field(const PreprocessorField& value, Version /*version*/) { return value.json; }

}  // namespace attn::keras
