#include "analysis/symbols.h"

#include <algorithm>
#include <array>
#include <span>

#include "attn/base/text.h"
#include "classes/reading.h"

namespace attn::keras {
namespace {

struct SymbolRow {
  std::string_view classes;   ///< separated by blanks; "Conv*" is every name that begins so
  std::string_view variable;  ///< the end of its name
  std::string_view symbols;   ///< of its dimensions, separated by blanks; "-" has none
};

constexpr std::string_view kHeadAttention = "MultiHeadAttention CachedMultiHeadAttention";
constexpr std::array kSymbols = {
    SymbolRow{kHeadAttention, "query/kernel", "d_model h d_head"},
    SymbolRow{kHeadAttention, "query/bias", "h d_head"},
    SymbolRow{kHeadAttention, "key/kernel", "d_model|d_key h d_head"},
    SymbolRow{kHeadAttention, "key/bias", "h d_head"},
    SymbolRow{kHeadAttention, "value/kernel", "d_model|d_value h d_head|d_v"},
    SymbolRow{kHeadAttention, "value/bias", "h d_head|d_v"},
    SymbolRow{kHeadAttention, "gate/kernel", "d_model h d_head|d_v"},
    SymbolRow{kHeadAttention, "gate/bias", "h d_head|d_v"},
    SymbolRow{kHeadAttention, "attention_output/kernel", "h d_head|d_v d_model|d_out"},
    SymbolRow{kHeadAttention, "attention_output/bias", "d_model|d_out"},
    SymbolRow{"GroupedQueryAttention", "query/kernel", "d_model h d_head"},
    SymbolRow{"GroupedQueryAttention", "query/bias", "h d_head"},
    SymbolRow{"GroupedQueryAttention", "key/kernel", "d_model|d_key g d_head"},
    SymbolRow{"GroupedQueryAttention", "key/bias", "g d_head"},
    SymbolRow{"GroupedQueryAttention", "value/kernel", "d_model|d_value g d_head"},
    SymbolRow{"GroupedQueryAttention", "value/bias", "g d_head"},
    SymbolRow{"GroupedQueryAttention", "gate/kernel", "d_model h d_head"},
    SymbolRow{"GroupedQueryAttention", "gate/bias", "h d_head"},
    SymbolRow{"GroupedQueryAttention", "attention_output/kernel", "h d_head d_model|d_out"},
    SymbolRow{"GroupedQueryAttention", "attention_output/bias", "d_model|d_out"},
    SymbolRow{"Attention AdditiveAttention", "scale", "d_model"},
    SymbolRow{"MaskedLMHead", "output_kernel", "d_model V"},
    SymbolRow{"MaskedLMHead", "output_bias", "V"},
    SymbolRow{"ViTPatchingAndEmbedding", "class_token", "- - d_model"},
    SymbolRow{"Dense", "kernel", "d_in d_out"},
    SymbolRow{"Dense", "bias", "d_out"},
    SymbolRow{"Embedding ReversibleEmbedding", "reverse_embeddings", "d_model V"},
    SymbolRow{"Embedding ReversibleEmbedding", "embeddings", "V d_model"},
    SymbolRow{"PositionEmbedding", "embeddings", "L d_model"},
    SymbolRow{"LayerNormalization RMSNormalization", "gamma", "d_model"},
    SymbolRow{"LayerNormalization", "beta", "d_model"},
    SymbolRow{"RMSNormalization", "scale", "d_model"},
    SymbolRow{"BatchNormalization GroupNormalization", "gamma", "c"},
    SymbolRow{"BatchNormalization GroupNormalization", "beta", "c"},
    SymbolRow{"BatchNormalization", "moving_mean", "c"},
    SymbolRow{"BatchNormalization", "moving_variance", "c"},
    SymbolRow{"LSTM LSTMCell", "recurrent_kernel", "u 4·u"},
    SymbolRow{"LSTM LSTMCell", "kernel", "d_in 4·u"},
    SymbolRow{"LSTM LSTMCell", "bias", "4·u"},
    SymbolRow{"GRU GRUCell", "recurrent_kernel", "u 3·u"},
    SymbolRow{"GRU GRUCell", "kernel", "d_in 3·u"},
    SymbolRow{"GRU GRUCell", "bias", "- 3·u"},
    SymbolRow{"GRU GRUCell", "bias", "3·u"},
    SymbolRow{"SimpleRNN SimpleRNNCell", "recurrent_kernel", "u u"},
    SymbolRow{"SimpleRNN SimpleRNNCell", "kernel", "d_in u"},
    SymbolRow{"SimpleRNN SimpleRNNCell", "bias", "u"},
    SymbolRow{"Conv1DTranspose", "kernel", "k f c_in"},
    SymbolRow{"Conv2DTranspose", "kernel", "k_h k_w f c_in"},
    SymbolRow{"Conv3DTranspose", "kernel", "k_d k_h k_w f c_in"},
    SymbolRow{"Conv1D", "kernel", "k c_in f"},
    SymbolRow{"Conv2D", "kernel", "k_h k_w c_in f"},
    SymbolRow{"Conv3D", "kernel", "k_d k_h k_w c_in f"},
    SymbolRow{"SeparableConv1D", "depthwise_kernel", "k c_in m"},
    SymbolRow{"SeparableConv2D", "depthwise_kernel", "k_h k_w c_in m"},
    SymbolRow{"SeparableConv1D", "pointwise_kernel", "- c_in·m f"},
    SymbolRow{"SeparableConv2D", "pointwise_kernel", "- - c_in·m f"},
    SymbolRow{"DepthwiseConv1D", "kernel", "k c_in m"},
    SymbolRow{"DepthwiseConv2D", "kernel", "k_h k_w c_in m"},
    SymbolRow{"DepthwiseConv*", "bias", "c_in·m"},
    SymbolRow{"Conv* SeparableConv*", "bias", "f"},
};

struct Meaning {
  std::string_view symbol, meaning;
};
constexpr std::array kMeanings = {
    Meaning{"d_model", "width of the model"},
    Meaning{"h", "heads"},
    Meaning{"d_head", "size of a head"},
    Meaning{"g", "heads of key and value, shared by groups of query heads"},
    Meaning{"d_key", "width of the key's input"},
    Meaning{"d_value", "width of the value's input"},
    Meaning{"d_v", "size of a value head"},
    Meaning{"d_out", "width of the output"},
    Meaning{"d_in", "width of the input"},
    Meaning{"V", "entries of the vocabulary"},
    Meaning{"L", "positions"},
    Meaning{"c", "channels"},
    Meaning{"u", "units"},
    Meaning{"4·u", "input, forget, candidate and output, side by side"},
    Meaning{"3·u", "update, reset and candidate, side by side"},
    Meaning{"k", "cells of a window"},
    Meaning{"k_d", "depth of a window"},
    Meaning{"k_h", "height of a window"},
    Meaning{"k_w", "width of a window"},
    Meaning{"c_in", "channels that a filter reads"},
    Meaning{"f", "filters"},
    Meaning{"m", "filters per channel (depth_multiplier)"},
    Meaning{"c_in·m", "filters of all channels"},
    Meaning{"o", "length of the output"},
    Meaning{"o_d", "depth of the output"},
    Meaning{"o_h", "height of the output"},
    Meaning{"o_w", "width of the output"},
    Meaning{"r", "cells that all windows read, less those of the padding"},
    Meaning{"r_d", "cells that all windows read along the depth, less those of the padding"},
    Meaning{"r_h", "cells that all windows read down the height, less those of the padding"},
    Meaning{"r_w", "cells that all windows read across the width, less those of the padding"},
    Meaning{"B", "batch"},
    Meaning{"T", "length"},
    Meaning{"S", "length of key and value"},
};

struct Reason {
  std::string_view classes, reason;
};
constexpr std::array kReasons = {
    Reason{"InputLayer", "it stands for what comes in"},
    Reason{"*Dropout* GaussianNoise", "it acts in training only, and what it draws it does not keep"},
    Reason{"Add Subtract Multiply Average Maximum Minimum Concatenate Dot", "it combines its inputs by a fixed rule"},
    Reason{"Flatten Reshape Permute RepeatVector Cropping* ZeroPadding* UpSampling* CenterCrop Resizing",
           "it moves numbers and has none of its own"},
    Reason{"*Pooling*", "it takes means or maxima, a fixed rule"},
    Reason{"Activation ReLU LeakyReLU ELU Softmax", "it is a fixed function of its input"},
    Reason{"Identity ActivityRegularization Masking", "it hands on what it gets"},
    Reason{"Attention",
           "query, key and value come as they are: it has no projections, and use_scale is off (on, it is one number)"},
    Reason{"AdditiveAttention",
           "query and key are added as they come, and use_scale is off (on, it is d_model numbers)"},
    Reason{"LayerNormalization BatchNormalization GroupNormalization", "scale and center are off"},
    Reason{"UnitNormalization", "it divides each vector by its own length"},
    Reason{"Normalization Rescaling", "the numbers that it takes stand in its config"},
    Reason{"RotaryEmbedding SinePositionEncoding", "its angles follow from the position by a formula"},
    Reason{"AlibiBias", "its slopes follow from the number of heads by a formula"},
};

bool matches(std::string_view pattern, std::string_view name) {
  const bool before = pattern.starts_with('*'), after = pattern.ends_with('*');
  if (before && after) return name.find(pattern.substr(1, pattern.size() - 2)) != std::string_view::npos;
  if (after) return name.starts_with(pattern.substr(0, pattern.size() - 1));
  return name == pattern;
}

bool in_classes(std::string_view classes, std::string_view name) {
  const std::vector<std::string> patterns = split(classes, ' ');
  return std::any_of(patterns.begin(), patterns.end(), [&](const auto& pattern) { return matches(pattern, name); });
}

/// Is `end` the whole name, or what follows a '/'?
bool is_end(std::string_view name, std::string_view end) {
  return name.ends_with(end) && (name.size() == end.size() || name[name.size() - end.size() - 1] == '/');
}

/// Of an EinsumDense: the letters of its equation.
std::vector<std::string> einsum_symbols(Layer& layer, std::string_view variable, const Shape& shape) {
  const Json config = layer_config(layer, kNewest);
  const auto text = [&](const char* key) {
    return config.contains(key) && config[key].is_string() ? config[key].get<std::string>() : std::string();
  };
  std::string letters;
  const std::string equation = text("equation");
  if (is_end(variable, "kernel")) {
    const auto comma = equation.find(','), arrow = equation.find("->");
    if (comma != std::string::npos && arrow != std::string::npos)
      letters = equation.substr(comma + 1, arrow - comma - 1);
  } else {
    // A bias has the axes of the output from its first named one on, of size 1 where they are not named.
    const std::string named = text("bias_axes");
    letters = named;
  }
  std::erase_if(letters, [](char c) { return c == '.' || c == ' '; });
  if (static_cast<int>(letters.size()) != shape.rank()) return {};
  std::vector<std::string> out;
  for (const char letter : letters) out.emplace_back(1, letter);
  return out;
}

}  // namespace

std::vector<std::string> symbols_of(Layer& layer, std::string_view variable, const Shape& shape) {
  if (layer.class_name() == "EinsumDense") return einsum_symbols(layer, variable, shape);
  for (const SymbolRow& row : kSymbols) {
    if (!is_end(variable, row.variable) || !in_classes(row.classes, layer.class_name())) continue;
    std::vector<std::string> symbols = split(row.symbols, ' ');
    if (static_cast<int>(symbols.size()) != shape.rank()) continue;
    for (std::string& symbol : symbols)
      if (symbol == "-") symbol.clear();
    return symbols;
  }
  return {};
}

std::string_view meaning_of(std::string_view symbol) {
  for (const Meaning& row : kMeanings)
    if (row.symbol == symbol) return row.meaning;
  return "";
}

std::string why_no_params(Layer& layer) {
  if (layer.is_operation())
    return "it is an operation, no layer: it computes with the tensors and numbers that it is given";
  if (!layer.built) return "it is not built: no input reaches it";
  for (const Reason& row : kReasons)
    if (in_classes(row.classes, layer.class_name())) return std::string(row.reason);
  return "what it computes is fixed by its config";
}

}  // namespace attn::keras
