#include "pre_tokenizers.h"

#include <utility>

#include "byte_level.h"
#include "text/unicode8.h"

namespace attn::tokenizers {
namespace {

class Split : public PreTokenizer {
 public:
  Split(Pattern pattern, Behavior behavior, bool invert)
      : pattern_(std::move(pattern)), behavior_(behavior), invert_(invert) {}

  void apply(Pieces& pieces) const override {
    pieces.split([&](std::string_view text) {
      std::vector<Part> parts = parts_by(pattern_, text, pieces.limit());
      if (invert_)
        for (Part& part : parts) part.is_match = !part.is_match;
      return joined(std::move(parts), behavior_);
    });
  }

 private:
  Pattern pattern_;
  Behavior behavior_;
  bool invert_;
};

class ByteLevel : public PreTokenizer {
 public:
  ByteLevel(bool add_prefix_space, bool use_regex) : add_prefix_space_(add_prefix_space) {
    if (use_regex) words_ = make_split(Pattern::regex(kGpt2Words, "ByteLevel"), Behavior::isolated, false);
  }

  void apply(Pieces& pieces) const override {
    if (add_prefix_space_) {
      pieces.replace([](const Piece&, std::string_view text) {
        return text.starts_with(' ') ? std::string(text) : " " + std::string(text);
      });
    }
    if (words_) words_->apply(pieces);
    pieces.replace([](const Piece&, std::string_view text) { return byte_letters(text); });
  }

 private:
  bool add_prefix_space_;
  std::unique_ptr<PreTokenizer> words_;
};

class Metaspace : public PreTokenizer {
 public:
  Metaspace(std::string replacement, Prepend prepend, bool split)
      : mark_(Pattern::literal(replacement)), replacement_(std::move(replacement)), prepend_(prepend), split_(split) {}

  void apply(Pieces& pieces) const override {
    pieces.replace([&](const Piece& piece, std::string_view text) {
      std::string out;
      const bool is_meant = prepend_ == Prepend::always || (prepend_ == Prepend::first && piece.begins_text);
      if (is_meant && !text.starts_with(' ') && !text.starts_with(replacement_)) out = replacement_;
      for (const char c : text) {
        if (c == ' ') {
          out += replacement_;
        } else {
          out += c;
        }
      }
      return out;
    });
    if (split_)
      pieces.split([&](std::string_view text) {
        return joined(parts_by(mark_, text, pieces.limit()), Behavior::merged_with_next);
      });
  }

 private:
  Pattern mark_;
  std::string replacement_;
  Prepend prepend_;
  bool split_;
};

/// Splits at code points with a property.
class Property : public PreTokenizer {
 public:
  Property(bool (*is)(char32_t), Behavior behavior) : is_(is), behavior_(behavior) {}
  void apply(Pieces& pieces) const override {
    pieces.split([&](std::string_view text) { return joined(parts_by(text, is_), behavior_); });
  }

 private:
  bool (*is_)(char32_t);
  Behavior behavior_;
};

bool is_bert_punctuation(char32_t point) { return is_ascii_symbol(point) || unicode8::is_punctuation(point); }

class BertWords : public PreTokenizer {
 public:
  void apply(Pieces& pieces) const override {
    pieces.split([](std::string_view text) { return joined(parts_by(text, is_white_space), Behavior::removed); });
    pieces.split([](std::string_view text) { return parts_by(text, is_bert_punctuation); });
  }
};

}  // namespace

std::unique_ptr<PreTokenizer> make_split(Pattern pattern, Behavior behavior, bool invert) {
  return std::make_unique<Split>(std::move(pattern), behavior, invert);
}
std::unique_ptr<PreTokenizer> make_byte_level(bool add_prefix_space, bool use_regex) {
  return std::make_unique<ByteLevel>(add_prefix_space, use_regex);
}
std::unique_ptr<PreTokenizer> make_metaspace(std::string replacement, Prepend prepend, bool split) {
  return std::make_unique<Metaspace>(std::move(replacement), prepend, split);
}
std::unique_ptr<PreTokenizer> make_bert_words() { return std::make_unique<BertWords>(); }
std::unique_ptr<PreTokenizer> make_white_space_split() {
  return std::make_unique<Property>(is_white_space, Behavior::removed);
}
std::unique_ptr<PreTokenizer> make_word_runs() { return std::make_unique<Property>(is_word, Behavior::contiguous); }
std::unique_ptr<PreTokenizer> make_digits(bool individual_digits) {
  return std::make_unique<Property>(is_number, individual_digits ? Behavior::isolated : Behavior::contiguous);
}
std::unique_ptr<PreTokenizer> make_punctuation(Behavior behavior) {
  return std::make_unique<Property>(is_bert_punctuation, behavior);
}

}  // namespace attn::tokenizers
