// Whisper reads windows of 30 seconds.
#include <algorithm>
#include <cmath>
#include <utility>

#include "alignment.h"
#include "attn/base/error.h"
#include "attn/base/stop.h"
#include "attn/generate/open_decoder.h"
#include "cross_attention.h"
#include "kinds.h"
#include "samples.h"
#include "segments.h"
#include "whisper_rules.h"
#include "whisper_tokens.h"
#include "window_decoder.h"
#include "words.h"

namespace attn::transcribe {
namespace {

constexpr std::int64_t kUsualLength = 448;

class Whisper final : public Transcriber {
 public:
  Whisper(const TranscriberParts& parts, open::AudioConverter converter)
      : parts_(parts),
        converter_(std::move(converter)),
        tokens_(whisper_tokens(parts.loaded, parts.tokenizer)),
        decoder_(parts.backend, parts.loaded, parts.execution, parts.listener,
                 generate::within_positions(parts.loaded.model, tokens_.max_length.value_or(kUsualLength)),
                 parts.options.num_beams, tokens_.longest_prompt()) {
    if (!converter_.window()) throw bad_input("{}: the converter of sound is not Whisper's", parts_.loaded.file);
    decoder_.require(*converter_.features(), converter_.source());
    const TranscribeOptions& options = parts_.options;
    if (options.language) language_ = language_token(tokens_, *options.language);
    if (options.translate && !tokens_.translate) throw bad_usage("`task` translate: the model only transcribes");
    if (options.translate && tokens_.languages.empty())
      throw bad_usage("`task` translate: the model knows only English");
    if (options.words) attention_.emplace(parts_, tokens_.alignment_heads);
  }

  [[nodiscard]] Transcript transcribe(const io::Audio& audio, std::string_view /*name*/) override {
    const Tensor samples = io::resampled(audio.samples, audio.rate, converter_.rate());
    const Dim count = samples.shape()[0], window = *converter_.window();
    Transcript out;
    out.seconds = static_cast<double>(audio.samples.shape()[0]) / static_cast<double>(audio.rate);
    std::optional<std::pair<std::string, Id>> language = language_;
    for (Dim at = 0; at < count;) {
      throw_if_stopped();
      const Tensor features = converter_.convert(samples_in(samples, at, at + window), parts_.execution);
      if (!language && !tokens_.languages.empty()) {
        language = detected(features);
        out.detected = true;
      }
      at += add_window(features, language, at, std::min(window, count - at), out);
    }
    if (language) out.language = language->first;
    for (const Segment& segment : out.segments) out.text += segment.text;
    return out;
  }

 private:
  /// Returns the seconds of a step of timestamps: one position of the encoder, two frames.
  [[nodiscard]] double step(const Tensor& features) const {
    const double seconds = static_cast<double>(*converter_.window()) / converter_.rate();
    const Dim positions = (features.shape()[1] + 1) / 2;
    return seconds / static_cast<double>(positions);
  }

  [[nodiscard]] std::pair<std::string, Id> detected(const Tensor& features) {
    const std::vector<float> logits = decoder_.next(features, {tokens_.start});
    const auto likely = [&](const auto& row) {
      const auto id = static_cast<std::size_t>(row.second);
      return id < logits.size() ? logits[id] : -std::numeric_limits<float>::infinity();
    };
    return *std::ranges::max_element(tokens_.languages, {}, likely);
  }

  [[nodiscard]] std::vector<Token> prompt(const std::optional<std::pair<std::string, Id>>& language) const {
    std::vector<Token> out{tokens_.start};
    if (language) {
      out.push_back(language->second);
      const auto task = parts_.options.translate ? tokens_.translate : tokens_.transcribe;
      if (task) out.push_back(*task);
    }
    if (!parts_.options.timestamps) out.push_back(tokens_.no_timestamps);
    return out;
  }

  /// Adds the segments of a window of `length` samples at `at`. Returns the number of samples to the next window.
  Dim add_window(const Tensor& features, const std::optional<std::pair<std::string, Id>>& language, Dim at, Dim length,
                 Transcript& out) {
    const bool timestamps = parts_.options.timestamps;
    Search how;
    how.prompt = prompt(language);
    how.max_length = decoder_.max_length(std::ssize(how.prompt), parts_.options.max_new_tokens);
    how.end = tokens_.end;
    how.beams = parts_.options.num_beams;
    const WhisperRules rules(tokens_, timestamps, how.prompt.size());
    how.rules = [&](std::span<const Token> chosen, std::span<float> logits) { rules.apply(chosen, logits); };
    std::vector<Token> tokens = decoder_.decode(features, how);
    const bool ended = !tokens.empty() && tokens.back() == tokens_.end;
    if (ended) tokens.pop_back();

    const double seconds = step(features), rate = converter_.rate();
    const auto steps = static_cast<Id>(std::ceil(static_cast<double>(length) / rate / seconds));
    // A model may choose timestamps without being asked; transformers follows them too.
    const Parts found = split(tokens, tokens_, steps);
    const double begin = static_cast<double>(at) / rate;
    const double most = begin + static_cast<double>(length) / rate;
    const std::vector<Dim> ends =
        attention_ ? token_ends(features, how.prompt, tokens, ended, length) : std::vector<Dim>();
    for (const Part& part : found.parts) {
      Segment segment{begin + part.start * seconds, std::min(begin + part.end * seconds, most), {}, {}};
      segment.text = text_of(parts_.tokenizer, part.tokens, tokens_.first_timestamp());
      segment.tokens = part.tokens;
      if (attention_) {
        const bool spaced = has_spaces(language ? std::optional(language->first) : std::nullopt);
        for (WordPlace& word : words_in(part, ends, spaced))
          segment.words.push_back({begin + static_cast<double>(word.start) * seconds,
                                   begin + static_cast<double>(word.end) * seconds, std::move(word.text)});
      }
      out.segments.push_back(std::move(segment));
    }
    if (found.next <= 0 || found.next >= steps) return length;
    return std::min(length, static_cast<Dim>(std::llround(found.next * seconds * rate)));
  }

  /// Returns the position of the encoder at which each token ends, as transformers does: that at which the decoder
  /// begins to attend to what follows the token, when it has read it.
  [[nodiscard]] std::vector<Dim> token_ends(const Tensor& features, const std::vector<Token>& prompt,
                                            const std::vector<Token>& tokens, bool ended, Dim length) {
    // The last token of a text that was cut off has the place of the one before it.
    const std::size_t read = tokens.size() - (ended || tokens.empty() ? 0 : 1);
    if (read == 0) return std::vector<Dim>(tokens.size(), 0);
    std::vector<Token> all = prompt;
    all.insert(all.end(), tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(read));
    const Dim frames = features.shape()[1], samples = *converter_.window() / frames;
    const Dim positions = std::clamp<Dim>((length + samples - 1) / samples / 2, 1, (frames + 1) / 2);
    std::vector<Dim> out = aligned(attention_->probabilities(features, all, std::ssize(prompt), positions));
    out.resize(tokens.size(), out.back());
    return out;
  }

  struct WordPlace {
    Dim start, end;  ///< positions of the encoder
    std::string text;
  };
  [[nodiscard]] std::vector<WordPlace> words_in(const Part& part, const std::vector<Dim>& ends, bool spaced) const {
    std::vector<Id> ids;
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < part.tokens.size(); ++i) {
      if (part.tokens[i] >= tokens_.end) continue;
      ids.push_back(part.tokens[i]);
      places.push_back(part.first + i);
    }
    std::vector<WordPlace> out;
    for (WordTokens& word : words_of(parts_.tokenizer, ids, spaced)) {
      const std::size_t first = places[word.first];
      out.push_back({first == 0 ? 0 : ends[first - 1], ends[places[word.last]], std::move(word.text)});
    }
    return out;
  }

  TranscriberParts parts_;
  open::AudioConverter converter_;
  WhisperTokens tokens_;
  WindowDecoder decoder_;
  std::optional<CrossAttention> attention_;  ///< for the times of words
  std::optional<std::pair<std::string, Id>> language_;
};

}  // namespace

std::unique_ptr<Transcriber> open_whisper(const TranscriberParts& parts, open::AudioConverter converter) {
  return std::make_unique<Whisper>(parts, std::move(converter));
}

}  // namespace attn::transcribe
