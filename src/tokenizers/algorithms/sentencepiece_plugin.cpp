// libattn_sentencepiece.so: the SentencePiece library behind attn's plugin interface. It is opened when a model needs
// it.
#include "sentencepiece_plugin.h"

#include <sentencepiece_processor.h>

#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace {

using attn::tokenizers::SentencePieceFunctions;
using attn::tokenizers::TakeIds;
using attn::tokenizers::TakeText;
using sentencepiece::SentencePieceProcessor;

void* open_model(const char* proto, std::size_t size, TakeText why, void* sink) {
  std::string reason;
  try {
    auto model = std::make_unique<SentencePieceProcessor>();
    const auto status = model->LoadFromSerializedProto(std::string_view(proto, size));
    if (status.ok()) return model.release();
    reason = status.ToString();
  } catch (const std::exception& error) {
    reason = error.what();
  }
  why(sink, reason.data(), reason.size());
  return nullptr;
}

void close_model(void* model) { delete static_cast<SentencePieceProcessor*>(model); }

bool encode(const void* model, const char* text, std::size_t size, TakeIds take, void* sink) {
  try {
    std::vector<int> ids;
    if (!static_cast<const SentencePieceProcessor*>(model)->Encode(std::string_view(text, size), &ids).ok())
      return false;
    take(sink, ids.data(), ids.size());
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

/// Returns 0xAB for "<0xAB>".
char byte_of(const std::string& piece) { return static_cast<char>(std::stoi(piece.substr(3, 2), nullptr, 16)); }

bool normalize(const void* model, const char* text, std::size_t size, TakeText take, void* sink) {
  try {
    const auto& processor = *static_cast<const SentencePieceProcessor*>(model);
    const auto made = processor.EncodeAsImmutableProto(std::string_view(text, size));
    std::string all;
    for (std::size_t i = 0; i < made.pieces_size(); ++i) {
      const auto part = made.pieces(static_cast<int>(i));
      if (processor.IsByte(static_cast<int>(part.id()))) {
        all += byte_of(part.piece());
      } else {
        all += part.piece();
      }
    }
    take(sink, all.data(), all.size());
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

bool decode(const void* model, const int* ids, std::size_t count, TakeText take, void* sink) {
  try {
    std::string text;
    if (!static_cast<const SentencePieceProcessor*>(model)->Decode(std::vector<int>(ids, ids + count), &text).ok())
      return false;
    take(sink, text.data(), text.size());
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

constexpr SentencePieceFunctions kFunctions{
    attn::tokenizers::kSentencePieceSeam, open_model, close_model, encode, normalize, decode};

}  // namespace

extern "C" __attribute__((visibility("default"))) const SentencePieceFunctions* attn_sentencepiece() {
  return &kFunctions;
}
