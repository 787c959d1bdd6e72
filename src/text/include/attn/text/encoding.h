// Encodes strings, and numbers that are hashed as strings, as integers, like Keras's preprocessing layers. Runs before
// the graph.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "attn/base/tensor.h"
#include "attn/base/text_array.h"
#include "attn/text/hash.h"
#include "attn/text/splitting.h"

namespace attn::text {

/// Indices of terms in a vocabulary; smaller indices stand for terms outside it.
struct Lookup {
  std::vector<std::string> terms;
  std::unordered_map<std::string, std::int64_t> places;  ///< index of each term, from 0 on
  std::int64_t first = 1;                                ///< the index of the first term
  std::int64_t others = 1;          ///< number of indices for terms outside the vocabulary, directly below `first`
  std::optional<std::string> mask;  ///< the padding term: has index 0, or is not counted
  std::string other_name = "[UNK]";
  std::optional<Salt> salt;
};

/// Assigns terms to hash buckets.
struct Buckets {
  std::int64_t count = 1;
  std::optional<std::string> mask;  ///< the term of the first bucket, into which no other term falls
  std::optional<Salt> salt;
};

/// Combines the elements that several arrays have at one position, and assigns the combinations to hash buckets
/// (tf.sparse.cross_hashed).
struct Crossing {
  std::int64_t count = 1;
  std::vector<bool> numbers;  ///< for each array, whether it contains numbers as decimals, which are parsed
};

/// The output form for the indices of a row.
enum class Form : std::uint8_t {
  indices,   ///< the indices; those of a split text are padded with 0
  hot,       ///< the indices, with -1 for masked terms, for one-hot rows
  presence,  ///< a vector of `depth` elements: 1 for each index that occurs
  counts     ///< a vector of `depth` elements: the count of each index
};

struct Encoding {
  std::optional<Splitting> splitting;  ///< empty: each string is one term
  std::variant<Lookup, Buckets, Crossing> index;
  Form form = Form::indices;
  std::int64_t depth = 0;              ///< the largest index + 1
  std::optional<std::int64_t> length;  ///< length of rows of indices; empty: the number of terms of the longest text
  std::string missing{};               ///< the reason why the encoding cannot be used, if its vocabulary is missing

  /// Returns whether each string becomes a row of terms.
  [[nodiscard]] bool splits() const { return splitting && splitting->split != Split::whole; }
};

/// Returns integers (int64). Texts that are split have the shape (batch,) or (batch, 1). Throws Error (bad_input) for a
/// term without an index, and for an unsupported shape.
[[nodiscard]] Tensor encode(const Encoding& encoding, const TextArray& texts);

/// Returns integers (int64) for several arrays of one shape, which a Crossing combines; any other encoding takes the
/// first array. Throws Error (bad_input) for arrays of different shapes.
[[nodiscard]] Tensor encode(const Encoding& encoding, std::span<const TextArray> arrays);

/// Returns the shape of the result, given the shape of the first array. The length of split texts is unknown unless
/// `length` is set.
[[nodiscard]] Shape encoded_shape(const Encoding& encoding, const Shape& texts);

/// Returns the term of an index. This is the out-of-vocabulary term for an index without a term, and "" for padding and
/// buckets.
[[nodiscard]] std::string term_of(const Encoding& encoding, std::int64_t index);

}  // namespace attn::text
