// From strings, and from numbers that are hashed as such, to integers, as Keras's layers do it: the step before a
// graph.
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

/// Places of terms in a vocabulary, those of other terms before them.
struct Lookup {
  std::vector<std::string> terms;
  std::unordered_map<std::string, std::int64_t> places;  ///< of the terms, from 0 on
  std::int64_t first = 1;                                ///< the index of the first term
  std::int64_t others = 1;          ///< indices of terms that are not in the vocabulary, which end before `first`
  std::optional<std::string> mask;  ///< the term of padding: index 0, or one that counts nowhere
  std::string other_name = "[UNK]";
  std::optional<Salt> salt;
};

/// Buckets of hashes.
struct Buckets {
  std::int64_t count = 1;
  std::optional<std::string> mask;  ///< falls into the first bucket, where no other term does
  std::optional<Salt> salt;
};

/// Buckets of what several arrays of one shape have at a place: tf.sparse.cross_hashed.
struct Crossing {
  std::int64_t count = 1;
  std::vector<bool> numbers;  ///< which of the arrays are decimals, whose numbers count
};

/// What becomes of the indices of a row.
enum class Form : std::uint8_t {
  indices,   ///< themselves; those of a split text are padded with 0
  hot,       ///< themselves, and -1 for what is masked, for one-hot rows
  presence,  ///< 1 for each index that occurs, of `depth`
  counts     ///< how often it does
};

struct Encoding {
  std::optional<Splitting> splitting;  ///< nothing: each string is one term
  std::variant<Lookup, Buckets, Crossing> index;
  Form form = Form::indices;
  std::int64_t depth = 0;              ///< one more than the largest index
  std::optional<std::int64_t> length;  ///< of rows of indices; nothing: of the longest text
  std::string missing{};               ///< why it cannot encode, where a vocabulary is not there

  /// Does it make a row of terms of each string?
  [[nodiscard]] bool splits() const { return splitting && splitting->split != Split::whole; }
};

/// The integers, int64. Texts that are split come as (batch,) or (batch, 1). Throws Error (bad_input) for a term that
/// has no place, and for a shape that the encoding does not take.
[[nodiscard]] Tensor encode(const Encoding& encoding, const TextArray& texts);

/// The same of several arrays, which a Crossing takes.
[[nodiscard]] Tensor encode(const Encoding& encoding, std::span<const TextArray> arrays);

/// What the shape of that is, of the first array's; unknown is the length of split texts that is not told.
[[nodiscard]] Shape encoded_shape(const Encoding& encoding, const Shape& texts);

/// The term of an index: of one that is not in the vocabulary what stands for such, of padding and of buckets "".
[[nodiscard]] std::string term_of(const Encoding& encoding, std::int64_t index);

}  // namespace attn::text
