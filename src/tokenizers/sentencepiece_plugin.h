// The seam between attn and libattn_sentencepiece.so: plain functions, so that neither has to know how the other was
// compiled.
#pragma once

#include <cstddef>
#include <cstdint>

namespace attn::tokenizers {

/// What an attn and a plugin that fit each other agree on. It changes with the functions below.
inline constexpr int kSentencePieceSeam = 2;

/// Gets what was made; `sink` is the caller's.
using TakeIds = void (*)(void* sink, const int* ids, std::size_t count);
using TakeText = void (*)(void* sink, const char* text, std::size_t size);

struct SentencePieceFunctions {
  int seam;
  /// A model of a checked ModelProto, or null where the library refuses it: `why` gets the reason.
  void* (*open)(const char* proto, std::size_t size, TakeText why, void* sink);
  void (*close)(void* model);
  /// False where the library failed.
  bool (*encode)(const void* model, const char* text, std::size_t size, TakeIds take, void* sink);
  /// The text as the model reads it, of which its pieces are parts. False where the library failed.
  bool (*normalize)(const void* model, const char* text, std::size_t size, TakeText take, void* sink);
  bool (*decode)(const void* model, const int* ids, std::size_t count, TakeText take, void* sink);
};

/// The one symbol of the plugin.
inline constexpr const char* kSentencePieceSymbol = "attn_sentencepiece";
using GetSentencePiece = const SentencePieceFunctions* (*)();

}  // namespace attn::tokenizers
