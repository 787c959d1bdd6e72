// Text for models without a tokenizer: each byte is a token, as in training on a text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "attn/base/tensor.h"
#include "attn/keras/model.h"

namespace attn::open {

/// Returns rows of `length` bytes each, one after another, as int32; `bytes` must have enough.
[[nodiscard]] Tensor rows_of_bytes(std::span<const std::byte> bytes, Dim rows, Dim length);

/// The only input of a model that reads bytes: (batch, length) integers that index a table of at most 256 rows.
struct ByteInput {
  std::string name;
  Dim length = 0;  ///< length of a row in bytes
  std::int64_t vocabulary = 0;
};

/// Returns the input of a model that reads bytes; nothing if the model has other inputs, too, or reads anything else.
[[nodiscard]] std::optional<ByteInput> byte_input(const keras::Model& model,
                                                  const std::optional<std::int64_t>& sequence_length);

/// Reads the bytes of a text file as an array of the model's input, in whole rows, at most `most_rows`. A text that is
/// shorter than a row is one row if the model takes any length. Throws Error (bad_input) for a shorter text otherwise,
/// and for a byte that the model's table has no row for.
[[nodiscard]] Tensor read_byte_rows(const keras::Model& model, ByteInput input, const std::string& file,
                                    const std::optional<std::int64_t>& sequence_length,
                                    std::optional<std::int64_t> most_rows);

}  // namespace attn::open
