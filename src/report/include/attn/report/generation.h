// What was generated, as text and as JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attn/generate/generate.h"
#include "attn/report/format.h"

namespace attn::report {

/// The model that generated.
struct GenerationModel {
  std::string path;                     ///< as it was given
  std::string weights;                  ///< where they came from: a file or folder, or "random, seed 0"
  std::string class_name;               ///< "GPT2CausalLM"
  std::optional<std::string> backbone;  ///< "GPT2Backbone"
  std::int64_t parameters = 0;
  std::optional<std::string> tokenizer;  ///< "GPT2Tokenizer"; nothing where ids were given and taken
};

/// One sequence. Texts may hold bytes that are no UTF-8.
struct GenerationResult {
  std::optional<std::string> prompt;
  generate::Sequence sequence;
  bool stop_string = false;         ///< it ends where one of the texts began that end it
  std::optional<std::string> text;  ///< cut there
  std::vector<std::string> beams;   ///< by Sequence::beams, where there is a tokenizer
};

/// Seconds, tokens and bytes of the whole.
struct GenerationStats {
  double load_seconds = 0.0;      ///< from the start to a model that is ready
  double tokenize_seconds = 0.0;  ///< of the prompts
  double first_seconds = 0.0;     ///< from a ready model to the first token, prompts read
  generate::Stats tokens;
  std::int64_t weight_bytes = 0;  ///< that a step reads
  std::int64_t cache_bytes = 0;
  std::int64_t cache_bytes_read = 0;  ///< by a step, in the mean
  std::optional<double> bandwidth;    ///< bytes a second that the machine's memory was measured to give
};

struct GenerationReport {
  GenerationModel model;
  generate::SamplerOptions sampler;
  std::int64_t max_length = 0;
  std::vector<generate::Token> stop_token_ids;
  std::vector<GenerationResult> results;
  bool all_beams = false;  ///< as text, too
  GenerationStats stats;
};

/// text: the texts, each with a newline behind it, and a blank line between two; ids where there are no texts.
/// json ("attn.generate/1"), and jsonl: a line for each result.
[[nodiscard]] std::string render(Format format, const GenerationReport& report);

/// A few lines: times, tokens a second, and the share of what the memory allows.
[[nodiscard]] std::string stats_text(const GenerationStats& stats);

}  // namespace attn::report
