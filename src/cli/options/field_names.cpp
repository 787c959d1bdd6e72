#include "options/field_names.h"

#include <algorithm>
#include <array>

namespace attn::cli {
namespace {

struct Field {
  std::string_view name, option;
};
/// Fields whose options have other names.
constexpr std::array kRenamed = {Field{"batch", "--batch-size"},
                                 Field{"images", "--image"},
                                 Field{"inputs", "--input"},
                                 Field{"memory_limit", "--mem-limit"},
                                 Field{"sequence_length", "--seq-len"},
                                 Field{"wrt", "--match"}};
/// Other fields that occur in messages; their options have the same names, with dashes.
constexpr auto kFields = std::to_array<std::string_view>({"accumulate",
                                                          "audio",
                                                          "batch_size",
                                                          "cache_dtype",
                                                          "class_weight",
                                                          "clipnorm",
                                                          "clipvalue",
                                                          "compile",
                                                          "csv_target",
                                                          "data",
                                                          "decay",
                                                          "decoder_ids",
                                                          "decoder_prompt",
                                                          "deterministic",
                                                          "draft",
                                                          "dtype",
                                                          "ema",
                                                          "freeze",
                                                          "from_logits",
                                                          "global_clipnorm",
                                                          "head",
                                                          "ids",
                                                          "input_gradients",
                                                          "item",
                                                          "label_smoothing",
                                                          "labels",
                                                          "language",
                                                          "layer",
                                                          "learning_rate",
                                                          "lora",
                                                          "lora_output",
                                                          "loss",
                                                          "loss_scale",
                                                          "loss_weights",
                                                          "max_length",
                                                          "metrics",
                                                          "no_dropout",
                                                          "no_shuffle",
                                                          "optimizer",
                                                          "recompute",
                                                          "reference",
                                                          "resume",
                                                          "scores",
                                                          "shuffle",
                                                          "skip_padding",
                                                          "steps_per_epoch",
                                                          "task",
                                                          "texts",
                                                          "train",
                                                          "validation",
                                                          "validation_split",
                                                          "warmup_steps",
                                                          "weight_decay",
                                                          "x",
                                                          "y"});

bool is_field(std::string_view word) {
  return std::ranges::find(kRenamed, word, &Field::name) != kRenamed.end() ||
         std::ranges::find(kFields, word) != kFields.end();
}

}  // namespace

std::string option_name(std::string_view field) {
  const auto known = std::ranges::find(kRenamed, field, &Field::name);
  if (known != kRenamed.end()) return std::string(known->option);
  std::string name = "--" + std::string(field);
  std::ranges::replace(name, '_', '-');
  return name;
}

std::string with_option_names(std::string_view message) {
  std::string out;
  while (true) {
    const std::size_t begin = message.find('`');
    const std::size_t end = begin == std::string_view::npos ? begin : message.find('`', begin + 1);
    if (end == std::string_view::npos) return out.append(message);
    const std::string_view word = message.substr(begin + 1, end - begin - 1);
    if (is_field(word)) {
      out.append(message.substr(0, begin)).append(option_name(word));
      message.remove_prefix(end + 1);
    } else {  // the closing backtick may open the next name
      out.append(message.substr(0, end));
      message.remove_prefix(end);
    }
  }
}

}  // namespace attn::cli
