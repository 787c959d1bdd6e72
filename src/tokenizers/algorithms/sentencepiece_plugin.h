// The interface between attn and libattn_sentencepiece.so: plain functions, so that it does not depend on the compiler
// of either.
#pragma once

#include <cstddef>
#include <cstdint>

namespace attn::tokenizers {

/// The version of the interface, which attn and the plugin must share. Changes with the functions below.
inline constexpr int kSentencePieceSeam = 2;

/// Receives the result; `sink` is the caller's pointer.
using TakeIds = void (*)(void* sink, const int* ids, std::size_t count);
using TakeText = void (*)(void* sink, const char* text, std::size_t size);

struct SentencePieceFunctions {
  int seam;
  /// Opens a validated ModelProto; null if the library rejects it: `why` receives the reason.
  void* (*open)(const char* proto, std::size_t size, TakeText why, void* sink);
  void (*close)(void* model);
  /// Returns false if the library failed.
  bool (*encode)(const void* model, const char* text, std::size_t size, TakeIds take, void* sink);
  /// Returns the normalized text, which the pieces are parts of; false if the library failed.
  bool (*normalize)(const void* model, const char* text, std::size_t size, TakeText take, void* sink);
  bool (*decode)(const void* model, const int* ids, std::size_t count, TakeText take, void* sink);
};

/// The only symbol of the plugin.
inline constexpr const char* kSentencePieceSymbol = "attn_sentencepiece";
using GetSentencePiece = const SentencePieceFunctions* (*)();

}  // namespace attn::tokenizers
