#include "keras_words.h"

#include <algorithm>
#include <array>
#include <utility>

#include "pipeline/normalizers.h"

namespace attn::tokenizers {
namespace {

struct Range {
  char32_t first, last;
};

/// Default_Ignorable_Code_Point, as listed in tensor_utils.py.
constexpr std::array<Range, 17> kIgnorable{{{0xad, 0xad},
                                            {0x34f, 0x34f},
                                            {0x61c, 0x61c},
                                            {0x115f, 0x1160},
                                            {0x17b4, 0x17b5},
                                            {0x180b, 0x180f},
                                            {0x200b, 0x200f},
                                            {0x202a, 0x202e},
                                            {0x2060, 0x206f},
                                            {0x3164, 0x3164},
                                            {0xfe00, 0xfe0f},
                                            {0xfeff, 0xfeff},
                                            {0xffa0, 0xffa0},
                                            {0xfff0, 0xfff8},
                                            {0x1bca0, 0x1bca3},
                                            {0x1d173, 0x1d17a},
                                            {0xe0000, 0xe0fff}}};

bool is_ignorable(char32_t point) noexcept {
  return std::any_of(kIgnorable.begin(), kIgnorable.end(),
                     [&](const Range& range) { return point >= range.first && point <= range.last; });
}

bool is_gap(char32_t point) noexcept { return point == ' ' || is_control(point) || is_format(point); }

bool is_mark_of_its_own(char32_t point) noexcept { return is_ascii_symbol(point) || is_punctuation(point); }

class KerasWords : public PreTokenizer {
 public:
  explicit KerasWords(bool split_on_cjk) : split_on_cjk_(split_on_cjk) {}
  void apply(Pieces& pieces) const override {
    pieces.split([](std::string_view text) { return joined(parts_by(text, is_gap), Behavior::removed); });
    pieces.split([&](std::string_view text) {
      return parts_by(
          text, [&](char32_t point) { return is_mark_of_its_own(point) || (split_on_cjk_ && is_ideograph(point)); });
    });
  }

 private:
  bool split_on_cjk_;
};

class KerasLowerCase : public PreTokenizer {
 public:
  void apply(Pieces& pieces) const override {
    const RuleLimit& limit = pieces.limit();
    pieces.replace([&](const Piece&, std::string_view text) {
      const std::string composed = normalized(text, NormalForm::nfkc, limit);
      const std::string folded = normalized(case_folded(composed), NormalForm::nfkc, limit);
      std::string out;
      for (std::size_t at = 0; at < folded.size();) {
        const std::size_t from = at;
        if (!is_ignorable(next_point(folded, at))) out.append(folded, from, at - from);
      }
      return out;
    });
  }
};

/// Marks the end of a word before a space, like KerasHub: a Devanagari 6, which texts are expected not to contain.
constexpr const char* kSix = "६";

class TensorFlowWords : public PreTokenizer {
 public:
  explicit TensorFlowWords(bool add_prefix_space) : add_prefix_space_(add_prefix_space) {
    const std::string space = R"(\t\n\f\r )", other = R"(\x{a0}\x{2009}\x{202f}\x{3000})", six = kSix;
    const auto regex = [](std::string expression) {
      return Pattern::regex(std::move(expression), "BytePairTokenizer");
    };
    mark_spaces_ = make_replace(regex("(?= [^" + space + other + "])"), six);
    mark_end_ = make_replace(regex("(?<=[" + space + "]" + other + R"()\z)"), six);
    words_ = make_split(regex("'s|'t|'re|'ve|'m|'ll|'d|[" + space + other + R"(]+[\n\r\t\f)" + six + other +
                              R"(]| ?\p{L}+| ?\p{N}+| ?[^)" + space + R"(\p{L}\p{N})" + other + "]+"),
                        Behavior::isolated, false);
    last_ = make_split(regex(R"([ \t\r\f\x0b)" + six + other + R"(]\z)"), Behavior::isolated, false);
  }

  void apply(Pieces& pieces) const override {
    pieces.replace([&](const Piece&, std::string_view text) {
      const std::string prefixed = (add_prefix_space_ ? " " : "") + std::string(text);
      return mark_end_(mark_spaces_(prefixed, pieces.limit()), pieces.limit());
    });
    words_->apply(pieces);
    last_->apply(pieces);
    pieces.replace([](const Piece&, std::string_view text) { return std::string(text == kSix ? "" : text); });
  }

 private:
  bool add_prefix_space_;
  Normalizer mark_spaces_, mark_end_;
  std::unique_ptr<PreTokenizer> words_, last_;
};

}  // namespace

std::unique_ptr<PreTokenizer> make_keras_words(bool split_on_cjk) { return std::make_unique<KerasWords>(split_on_cjk); }
std::unique_ptr<PreTokenizer> make_keras_lower_case() { return std::make_unique<KerasLowerCase>(); }
std::unique_ptr<PreTokenizer> make_tensorflow_words(bool add_prefix_space) {
  return std::make_unique<TensorFlowWords>(add_prefix_space);
}

Decoder make_keras_word_piece_decoder(std::string suffix_indicator) {
  return [suffix = std::move(suffix_indicator)](std::vector<std::string> tokens, const RuleLimit&) {
    bool is_first = true;
    for (std::string& token : tokens) {
      if (std::exchange(is_first, false)) continue;
      const bool goes_on = token.size() > suffix.size() && token.starts_with(suffix);
      token = goes_on ? token.substr(suffix.size()) : " " + token;
    }
    return tokens;
  };
}

}  // namespace attn::tokenizers
