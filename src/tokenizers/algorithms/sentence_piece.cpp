#include "sentence_piece.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "attn/base/companion.h"
#include "attn/base/error.h"
#include "attn/base/text.h"

namespace attn::tokenizers {
namespace {

constexpr const char* kPlugin = "libattn_sentencepiece.so";
constexpr std::string_view kMark = "\u2581";  // SentencePiece's replacement of a space

constexpr bool is_graphic(char c) noexcept { return c > ' ' && c < '\x7f'; }

/// Throws Error (bad_input), whose message begins with `place`, if the plugin is missing.
const SentencePieceFunctions* sentence_piece(const std::string& place) {
  const std::string path = companion(kPlugin);
  if (path.empty())
    throw bad_input(
        "{}: a SentencePiece model, and this attn has no {} beside it or in ../lib/attn; build attn where "
        "libsentencepiece-dev is installed",
        place, kPlugin);
  void* const plugin = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);  // never closed, because models use its code
  if (plugin == nullptr)
    throw bad_input("{}: a SentencePiece model, and {}; install libsentencepiece0", place, printable(dlerror()));
  const auto get = reinterpret_cast<GetSentencePiece>(dlsym(plugin, kSentencePieceSymbol));
  const SentencePieceFunctions* const functions = get == nullptr ? nullptr : get();
  if (functions == nullptr || functions->seam != kSentencePieceSeam)
    throw bad_input("{}: {} is of another version than this attn: install both together", place, printable(path));
  return functions;
}

/// Adds a piece for each byte to the file of a Unigram model, for which the library only normalizes. The library joins
/// adjacent unknown letters in quadratic time, but splits them into bytes in linear time. Other models, and those that
/// have byte pieces, are unchanged.
std::string with_bytes(std::string_view file, const ModelProto& proto) {
  std::string out(file);
  if (!proto.is_unigram) return out;
  constexpr int kBytes = 256;
  for (int byte = 0; byte < kBytes; ++byte) {
    const std::string piece = fmt::format("<0x{:02X}>", byte);
    if (proto.pieces.find(piece)) return std::string(file);
    // Field 1 of the model is a piece. Its field 1 is the text, its field 3 the type; type 6 is a byte.
    out += fmt::format("\x0a\x0a\x0a\x06{}\x18\x06", piece);
  }
  out += "\x12\x03\x98\x02\x01";  // field 2, the trainer's settings, with its field 35, byte_fallback
  return out;
}

void take_text(void* sink, const char* text, std::size_t size) { static_cast<std::string*>(sink)->append(text, size); }
void take_ids(void* sink, const int* ids, std::size_t count) {
  auto& all = *static_cast<std::vector<Id>*>(sink);
  all.insert(all.end(), ids, ids + count);
}

}  // namespace

SentencePieceModel::SentencePieceModel(std::string_view file, const std::string& place)
    : proto_(read_model_proto(file, place)), library_(sentence_piece(place)), model_(nullptr, library_->close) {
  unknown_ = static_cast<Id>(std::find(proto_.kinds.begin(), proto_.kinds.end(), ModelProto::Kind::unknown) -
                             proto_.kinds.begin());
  std::string why;
  const std::string model = with_bytes(file, proto_);
  model_.reset(library_->open(model.data(), model.size(), take_text, &why));
  if (model_ == nullptr) throw bad_input("{}: SentencePiece refuses this model: {}", place, shortened(why));
  if (proto_.is_unigram) pieces_.emplace(proto_);
  cut_ = cut();
  squeezes_ = squeezes();
  cuts_at_lines_ = cuts_at_lines();
  if (pieces_ && cut_ == SpaceSplit::without_space && !proto_.changes_ascii) {
    std::string normalized;
    append_whole("a~", normalized);
    keeps_ascii_ = normalized == std::string(kMark) + "a~";
  }
  stop_ = stop_letter();
  seams_ = seams();
}

/// Decides whether texts can be cut at spaces. They can if no piece has a space after another character, because the
/// words are then independent. A trial shows whether the library puts a space before each text.
SentencePieceModel::SpaceSplit SentencePieceModel::cut() const {
  if (!proto_.pieces.find(kMark)) return SpaceSplit::never;
  for (Id id = 0; id < proto_.pieces.end(); ++id) {
    const std::string_view piece = proto_.pieces.token(id).value_or("");
    std::size_t at = 0;
    while (piece.substr(at).starts_with(kMark)) at += kMark.size();
    if (piece.find(kMark, at) != std::string_view::npos || piece.find(' ') != std::string_view::npos)
      return SpaceSplit::never;
  }
  return pieces_ ? tried<std::string>() : tried<std::vector<Id>>();
}

template <typename Out>
SentencePieceModel::SpaceSplit SentencePieceModel::tried() const {
  constexpr std::string_view kWords[] = {"ab", "c1,", "(of)", "z~"};
  const auto by = [&](SpaceSplit how) {
    Out out;
    for (const std::string_view word : kWords)
      append_whole((how == SpaceSplit::with_space && word != kWords[0] ? " " : "") + std::string(word), out);
    return out;
  };
  Out whole;
  append_whole("ab c1, (of) z~", whole);
  if (by(SpaceSplit::without_space) == whole) return SpaceSplit::without_space;
  return by(SpaceSplit::with_space) == whole ? SpaceSplit::with_space : SpaceSplit::never;
}

void SentencePieceModel::append_whole(std::string_view text, std::vector<Id>& ids) const {
  if (!library_->encode(model_.get(), text.data(), text.size(), take_ids, &ids))
    throw bad_input("{}: SentencePiece failed on a text", proto_.pieces.place());
}

void SentencePieceModel::append_whole(std::string_view text, std::string& normalized) const {
  if (!library_->normalize(model_.get(), text.data(), text.size(), take_text, &normalized))
    throw bad_input("{}: SentencePiece failed on a text", proto_.pieces.place());
}

/// Returns whether the library collapses white space between words. This is used only for models whose text the library
/// normalizes and attn cuts into pieces.
bool SentencePieceModel::squeezes() const {
  if (!pieces_ || cut_ != SpaceSplit::without_space) return false;
  std::string whole, words;
  append_whole("ab\n  cd\t ef \r\ng!", whole);
  for (const std::string_view word : {"ab", "cd", "ef", "g!"}) append_whole(word, words);
  return whole == words;
}

/// Returns whether texts can also be cut at newlines. They cannot if a piece contains a newline, or if unknown
/// characters around it would become one token.
bool SentencePieceModel::cuts_at_lines() const {
  if (pieces_ || cut_ != SpaceSplit::without_space) return false;
  for (Id id = 0; id < proto_.pieces.end(); ++id)
    if (proto_.pieces.token(id).value_or("").find('\n') != std::string_view::npos) return false;
  const auto byte = proto_.pieces.find("<0x0A>");
  if (!byte || proto_.kinds[static_cast<std::size_t>(*byte)] != ModelProto::Kind::byte) return false;
  std::vector<Id> whole, lines;
  append_whole("ab\n  cd\ne", whole);
  append_whole("ab", lines);
  for (const std::string_view line : {"\n  cd", "\ne"}) {
    const auto part = part_of<std::vector<Id>>(line, true);
    lines.insert(lines.end(), part.begin(), part.end());
  }
  return whole == lines;
}

/// Returns the ids or the normalized text of a word. The library puts a space before each text. If the word begins with
/// a newline, that space is a separate piece, which is removed for a word after others.
template <typename Out>
Out SentencePieceModel::part_of(std::string_view word, bool behind_letters) const {
  Out part;
  append_whole(word, part);
  if (behind_letters && word.starts_with('\n') && !part.empty()) part.erase(part.begin());
  return part;
}

namespace {

/// Appends the remembered result for a word. If there is none, `make` computes it, and it is remembered.
template <typename Out, typename Make>
void append_known(WordMemory<Out>& memory, std::string_view word, Out& out, Make&& make) {
  if (memory.append(word, out)) return;
  Out made = make();
  out.insert(out.end(), made.begin(), made.end());
  memory.remember(word, std::move(made));
}

}  // namespace

/// The first word may begin with spaces of the original text.
void SentencePieceModel::append_word(std::string_view word, bool is_first, std::vector<Id>& ids) const {
  using Ids = std::vector<Id>;
  Words<Ids>& words = std::get<Words<Ids>>(*memory_);
  const std::size_t seam = seams_.behind(word, 0);
  const std::string_view begin_of_word = word.substr(0, seam);
  append_known(is_first ? words.first : words.behind, begin_of_word, ids,
               [&] { return part_of<Ids>(begin_of_word, !is_first); });
  for (std::size_t begin = seam, end = seam; begin < word.size(); begin = end) {
    end = seams_.behind(word, begin);
    const std::string_view part = word.substr(begin, end - begin);
    if (part.size() == 1) {
      ids.push_back(seams_.piece_of(part.front()));
    } else {
      append_known(words.inside, part, ids, [&] { return inside_of(part); });
    }
  }
}

void SentencePieceModel::append_word(std::string_view word, bool is_first, std::string& normalized) const {
  if (keeps_ascii_ && std::all_of(word.begin(), word.end(), is_graphic)) {
    normalized.append(kMark).append(word);
    return;
  }
  Words<std::string>& words = std::get<Words<std::string>>(*memory_);
  append_known(is_first ? words.first : words.behind, word, normalized,
               [&] { return part_of<std::string>(word, !is_first); });
}

/// Returns a character that is encoded as a byte and occurs in no piece, so that nothing merges with it.
std::optional<char> SentencePieceModel::stop_letter() const {
  const auto is_inside = [&](char letter) {
    for (Id id = 0; id < proto_.pieces.end(); ++id)
      if (proto_.pieces.token(id).value_or("").find(letter) != std::string_view::npos) return true;
    return false;
  };
  for (char letter = '\x01'; letter < '\t'; ++letter) {
    const auto byte = proto_.pieces.find(fmt::format("<0x{:02X}>", static_cast<int>(letter)));
    if (!byte || proto_.kinds[static_cast<std::size_t>(*byte)] != ModelProto::Kind::byte) continue;
    if (!is_inside(letter)) return letter;
  }
  return std::nullopt;
}

/// Returns the ids of a part after a seam. If the library puts a space before each text, a stop letter before the part
/// takes that space, and both are removed from the result.
std::vector<Id> SentencePieceModel::inside_of(std::string_view part) const {
  std::vector<Id> ids;
  if (cut_ == SpaceSplit::with_space) {
    append_whole(part, ids);
    return ids;
  }
  constexpr std::ptrdiff_t kSpaceAndStop = 2;
  append_whole(std::string{*stop_} + std::string(part), ids);
  ids.erase(ids.begin(), ids.begin() + std::min(kSpaceAndStop, std::ssize(ids)));
  return ids;
}

/// Returns the pairs of characters between which a word can be cut further. A trial of the first pair shows whether the
/// library gives the same ids.
Seams SentencePieceModel::seams() const {
  const Seams all(proto_);
  if (pieces_ || cut_ == SpaceSplit::never || (cut_ == SpaceSplit::without_space && !stop_)) return {};
  for (char left = '!'; left <= '~'; ++left)
    for (char right = '!'; right <= '~'; ++right) {
      if (!all.between(left, right)) continue;
      std::vector<Id> whole, apart;
      append_whole(std::string{left, right, left}, whole);
      append_whole(std::string{left}, apart);
      const std::vector<Id> behind = inside_of(std::string{right, left});
      apart.insert(apart.end(), behind.begin(), behind.end());
      return whole == apart ? all : Seams();
    }
  return {};
}

/// Returns the ids of a text, or its normalized form.
template <typename Out>
Out SentencePieceModel::all_of(std::string_view text) const {
  constexpr std::string_view kBlank = " \t\r\n";
  Out out;
  if (cut_ == SpaceSplit::never) {
    append_whole(text, out);
    return out;
  }
  for (std::size_t from = 0, to = 0; from < text.size(); from = to) {
    std::size_t begin = from;  // beginning of the word itself
    if (from > 0 && cut_ == SpaceSplit::without_space && text[from] != '\n') ++begin;
    if (from > 0 && squeezes_) begin = text.find_first_not_of(kBlank, from);
    // Cuts only between two ASCII characters, because Unicode normalization composes nothing across such a position.
    for (to = text.find_first_of(kBlank, begin + 1); to < text.size(); to = text.find_first_of(kBlank, to + 1)) {
      if (!is_graphic(text[to - 1])) continue;
      if (cuts_at_lines_ && text[to] == '\n') break;
      const std::size_t next = squeezes_ ? text.find_first_not_of(kBlank, to) : to + 1;
      if (next < text.size() && is_graphic(text[next]) && (squeezes_ || text[to] == ' ')) break;
    }
    to = std::min(to, text.size());
    append_word(text.substr(begin, to - begin), from == 0, out);
  }
  return out;
}

std::vector<Id> SentencePieceModel::encode(std::string_view text) const {
  if (!pieces_) return all_of<std::vector<Id>>(text);
  std::vector<Id> ids;
  pieces_->encode(all_of<std::string>(text), ids);
  return ids;
}

std::string SentencePieceModel::decode(std::span<const Id> ids) const {
  std::string text;
  if (!library_->decode(model_.get(), ids.data(), ids.size(), take_text, &text))
    throw bad_input("{}: SentencePiece failed on token ids", proto_.pieces.place());
  return text;
}

namespace {

// XLM-RoBERTa was trained with fairseq, which has these ids (xlm_roberta_tokenizer.py in KerasHub).
constexpr Id kStart = 0, kPad = 1, kEnd = 2, kUnknown = 3;
constexpr const char* kPrefix[] = {"<s>", "<pad>", "</s>", "<unk>"};
constexpr const char* kFairseqMask = "<mask>";
constexpr const char* kMask = "[MASK]";

constexpr bool is_fairseq(Numbering numbering) {
  return numbering == Numbering::fairseq || numbering == Numbering::fairseq_unmasked;
}

}  // namespace

SentencePieceTokenizer::SentencePieceTokenizer(SentencePieceModel model, SentencePieceParts parts)
    : model_(std::move(model)), parts_(std::move(parts)) {
  class_name_ = parts_.class_name;
  if (parts_.numbering == Numbering::mask_behind && model_.proto().pieces.find(kMask))
    parts_.numbering = Numbering::pieces;
  constexpr std::int64_t kRenumbered = 3;  // <unk>, <s> and </s>, in another order in fairseq
  if (is_fairseq(parts_.numbering) && model_.proto().pieces.size() < kRenumbered)
    throw bad_input("{}: {} needs the pieces <unk>, <s> and </s>", model_.proto().pieces.place(), class_name_);
}

std::int64_t SentencePieceTokenizer::size() const {
  const std::int64_t pieces = model_.proto().pieces.size();
  switch (parts_.numbering) {
    case Numbering::pieces:
      return pieces;
    case Numbering::mask_behind:
      return pieces + 1;
    case Numbering::fairseq:
      return pieces + 2;
    case Numbering::fairseq_unmasked:
      return pieces + 1;
  }
  return pieces;
}

std::optional<std::string> SentencePieceTokenizer::token(Id id) const {
  if (id < 0 || id >= size()) return std::nullopt;
  Id piece = id;
  if (parts_.numbering == Numbering::fairseq && id == size() - 1) return kFairseqMask;
  if (parts_.numbering == Numbering::mask_behind && id == size() - 1) return kMask;
  if (is_fairseq(parts_.numbering)) {
    if (id <= kUnknown) return kPrefix[id];
    --piece;
  }
  const auto text = model_.proto().pieces.token(piece);
  return text ? std::optional(std::string(*text)) : std::nullopt;
}

std::optional<Id> SentencePieceTokenizer::id(std::string_view token) const {
  const auto mask = static_cast<Id>(size() - 1);
  if (parts_.numbering == Numbering::mask_behind && token == kMask) return mask;
  const std::optional<Id> piece = model_.proto().pieces.find(token);
  if (!is_fairseq(parts_.numbering)) return piece;
  if (parts_.numbering == Numbering::fairseq && token == kFairseqMask) return mask;
  const auto* const found = std::find(std::begin(kPrefix), std::end(kPrefix), token);
  if (found != std::end(kPrefix)) return static_cast<Id>(found - std::begin(kPrefix));
  return piece ? std::optional(*piece + 1) : std::nullopt;
}

std::vector<Id> SentencePieceTokenizer::encode_valid(std::string_view text, const EncodeOptions& options) const {
  std::vector<Id> ids = model_.encode(text);
  if (is_fairseq(parts_.numbering))
    for (Id& id : ids) id = id == model_.unknown() ? kUnknown : id + 1;
  ids.insert(ids.begin(), parts_.before.begin(), parts_.before.end());
  ids.insert(ids.end(), parts_.after.begin(), parts_.after.end());
  if (options.add_specials) {
    ids.insert(ids.begin(), parts_.specials_before.begin(), parts_.specials_before.end());
    ids.insert(ids.end(), parts_.specials_after.begin(), parts_.specials_after.end());
  }
  return ids;
}

std::string SentencePieceTokenizer::decode(std::span<const Id> ids) const {
  std::vector<Id> pieces;
  pieces.reserve(ids.size());
  for (const Id id : ids) {
    if (id < 0 || id >= size())
      throw bad_usage("the id {} is not in the vocabulary, whose ids end before {}", id, size());
    if (parts_.numbering == Numbering::pieces) {
      pieces.push_back(id);
    } else if (parts_.numbering == Numbering::fairseq_unmasked) {
      if (id > kUnknown) pieces.push_back(id - 1);  // KerasHub drops the unknown token too
    } else if (id == size() - 1) {
      continue;  // the mask token is not text
    } else if (parts_.numbering == Numbering::mask_behind) {
      pieces.push_back(id);
    } else {
      switch (id) {
        case kStart:
          pieces.push_back(1);
          break;
        case kEnd:
          pieces.push_back(2);
          break;
        case kPad:
        case kUnknown:
          pieces.push_back(0);
          break;
        default:
          pieces.push_back(id - 1);
      }
    }
  }
  return model_.decode(pieces);
}

}  // namespace attn::tokenizers
