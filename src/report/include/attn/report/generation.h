// Generated text and its statistics, as text and as JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attn/generate/generate.h"
#include "attn/report/format.h"

namespace attn::report {

/// The model that generated the text.
struct GenerationModel {
  std::string path;                     ///< path on the command line
  std::string weights;                  ///< source of the weights: a file or folder, or "random, seed 0"
  std::string class_name;               ///< class of the model: "GPT2CausalLM"
  std::optional<std::string> backbone;  ///< class of the backbone: "GPT2Backbone"
  std::int64_t parameters = 0;
  std::optional<std::string> tokenizer;  ///< class of the tokenizer: "GPT2Tokenizer"; empty if token ids were used
};

/// A generated sequence. Texts may contain bytes that are not UTF-8.
struct GenerationResult {
  std::optional<std::string> prompt;
  generate::Sequence sequence;
  bool stop_string = false;         ///< the text ended at one of the stop strings
  std::optional<std::string> text;  ///< the text up to the stop string
  std::vector<std::string> beams;   ///< texts in the order of Sequence::beams, if there is a tokenizer
};

/// Times, tokens and bytes of the whole generation.
struct GenerationStats {
  double load_seconds = 0.0;      ///< time from the start until the model is ready
  double tokenize_seconds = 0.0;  ///< time for the tokens of the prompts
  double first_seconds = 0.0;     ///< time from the ready model to the first token, including prefill
  generate::Stats tokens;
  std::int64_t weight_bytes = 0;  ///< bytes of weights that each decode step reads
  std::int64_t cache_bytes = 0;
  std::int64_t cache_bytes_read = 0;  ///< bytes of the KV cache that a decode step reads, as a mean of all
  std::optional<double> bandwidth;    ///< measured memory bandwidth in bytes per second
};

struct GenerationReport {
  GenerationModel model;
  generate::SamplerOptions sampler;
  std::int64_t max_length = 0;
  std::vector<generate::Token> stop_token_ids;
  std::vector<GenerationResult> results;
  bool all_beams = false;  ///< also print all beams as text
  GenerationStats stats;
};

/// text: the texts, each followed by a newline, with a blank line between two; token ids if there are no texts. json
/// ("attn.generate/1"), and jsonl: a line for each result.
[[nodiscard]] std::string render(Format format, const GenerationReport& report);

/// Returns a few lines: times, tokens per second, and the ratio to the limit of the memory bandwidth.
[[nodiscard]] std::string stats_text(const GenerationStats& stats);

}  // namespace attn::report
