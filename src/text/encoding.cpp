#include "attn/text/encoding.h"

#include <algorithm>
#include <utility>

#include "attn/base/error.h"
#include "attn/base/text.h"

namespace attn::text {
namespace {

constexpr std::int64_t kDropped = -1;

std::int64_t index_in(const Lookup& lookup, Form form, const std::string& term) {
  if (lookup.mask && term == *lookup.mask) return form == Form::indices ? 0 : kDropped;
  if (const auto found = lookup.places.find(term); found != lookup.places.end()) return lookup.first + found->second;
  if (lookup.others == 0)
    throw bad_input("'{}' is not in the vocabulary, which has no index for other terms (num_oov_indices is 0)",
                    shortened(term));
  return lookup.first - lookup.others + bucket_of(term, lookup.others, lookup.salt);
}

std::int64_t index_in(const Buckets& buckets, Form /*form*/, const std::string& term) {
  if (!buckets.mask || buckets.count == 1) return bucket_of(term, buckets.count, buckets.salt);
  return term == *buckets.mask ? 0 : 1 + bucket_of(term, buckets.count - 1, buckets.salt);
}

/// Computes the buckets as HashCrosserV2 of TensorFlow's sparse_cross_op.cc does.
Tensor crossed(const Crossing& crossing, std::span<const TextArray> arrays) {
  constexpr std::uint64_t kSeed = 0xDECAFCAFFE;
  for (const TextArray& array : arrays)
    if (array.shape != arrays.front().shape)
      throw bad_input("arrays that are crossed have one shape, not {} and {}", arrays.front().shape.str(),
                      array.shape.str());
  Tensor out(DType::int64, arrays.front().shape);
  for (std::size_t i = 0; i < arrays.front().values.size(); ++i) {
    std::uint64_t hash = kSeed;
    for (std::size_t k = 0; k < arrays.size(); ++k) {
      const std::string& value = arrays[k].values[i];
      hash = joined_hash(hash,
                         crossing.numbers[k] ? static_cast<std::uint64_t>(std::stoll(value)) : farm_fingerprint(value));
    }
    out.as<std::int64_t>()[i] = static_cast<std::int64_t>(hash % static_cast<std::uint64_t>(crossing.count));
  }
  return out;
}

std::int64_t index_in(const Crossing& /*crossing*/, Form /*form*/, const std::string& /*term*/) {
  throw internal_error("crossing needs several terms");
}

/// The terms of each row, and the shape without the row axis.
struct Rows {
  std::vector<std::vector<std::string>> rows;
  Shape outer;
};

/// Makes each string a row, or all strings of the last axis one row.
Rows rows_of(const Encoding& encoding, const TextArray& texts) {
  const Splitting how = encoding.splitting.value_or(Splitting{.split = Split::whole});
  Rows out;
  if (encoding.splits()) {
    out.outer = texts.shape.slice(0, 1);
    for (const std::string& text : texts.values)
      out.rows.push_back(ngrams_of(pieces_of(standardized(text, how), how.split), how.ngrams));
    return out;
  }
  const std::int64_t width = texts.shape[-1];
  out.outer = texts.shape.slice(0, texts.shape.rank() - 1);
  const std::int64_t count = out.outer.size();
  for (std::int64_t row = 0; row < count; ++row) {
    std::vector<std::string> terms;
    for (std::int64_t i = 0; i < width; ++i)
      terms.push_back(standardized(texts.values[static_cast<std::size_t>(row * width + i)], how));
    out.rows.push_back(ngrams_of(terms, how.ngrams));
  }
  return out;
}

}  // namespace

Shape encoded_shape(const Encoding& encoding, const Shape& texts) {
  const int rank = texts.rank();
  if (encoding.splits() && rank != 1 && !(rank == 2 && texts[1] == 1))
    throw bad_input("texts that are split come as (batch,) or (batch, 1), not {}", texts.str());
  const bool counted = encoding.form == Form::presence || encoding.form == Form::counts;
  if (counted && !encoding.splits() && rank != 2)
    throw bad_input("rows of terms (batch, length) are counted, not {}", texts.str());
  const bool joins = encoding.splitting && !encoding.splitting->ngrams.empty() && !encoding.splits();
  if ((joins || (encoding.splitting && encoding.length && !encoding.splits())) && rank < 2)
    throw bad_input("terms that are not split come as (batch, length), not {}", texts.str());
  if (encoding.splits()) return {texts[0], counted ? encoding.depth : encoding.length.value_or(kUnknown)};
  if (counted) return {texts[0], encoding.depth};
  Shape out = texts;
  if (encoding.length) out[-1] = *encoding.length;
  if (joins && !encoding.length) out[-1] = kUnknown;
  return out;
}

Tensor encode(const Encoding& encoding, const TextArray& texts) {
  if (!encoding.missing.empty()) throw bad_input("{}", encoding.missing);
  Shape shape = encoded_shape(encoding, texts.shape);
  const auto index = [&](const std::string& term) {
    return std::visit([&](const auto& how) { return index_in(how, encoding.form, term); }, encoding.index);
  };
  if (texts.shape.rank() == 1 && !encoding.splits()) {  // not in rows
    Tensor out(DType::int64, shape);
    const Splitting how = encoding.splitting.value_or(Splitting{.split = Split::whole});
    for (std::size_t i = 0; i < texts.values.size(); ++i)
      out.as<std::int64_t>()[i] = index(standardized(texts.values[i], how));
    return out;
  }
  const Rows rows = rows_of(encoding, texts);
  if (shape[-1] == kUnknown) {
    std::size_t longest = 0;
    for (const auto& row : rows.rows) longest = std::max(longest, row.size());
    shape[-1] = static_cast<Dim>(longest);
  }
  Tensor out(DType::int64, shape);  // all zeros
  const auto numbers = out.as<std::int64_t>();
  const auto width = static_cast<std::size_t>(shape[-1]);
  const bool counted = encoding.form == Form::presence || encoding.form == Form::counts;
  for (std::size_t r = 0; r < rows.rows.size(); ++r) {
    const std::vector<std::string>& row = rows.rows[r];
    for (std::size_t i = 0; i < row.size() && (counted || i < width); ++i) {
      const std::int64_t at = index(row[i]);
      if (!counted) {
        numbers[r * width + i] = at;
      } else if (at != kDropped) {
        std::int64_t& cell = numbers[r * width + static_cast<std::size_t>(at)];
        cell = encoding.form == Form::counts ? cell + 1 : 1;
      }
    }
  }
  return out;
}

Tensor encode(const Encoding& encoding, std::span<const TextArray> arrays) {
  if (const auto* crossing = std::get_if<Crossing>(&encoding.index)) return crossed(*crossing, arrays);
  return encode(encoding, arrays.front());
}

std::string term_of(const Encoding& encoding, std::int64_t index) {
  const auto* lookup = std::get_if<Lookup>(&encoding.index);
  if (lookup == nullptr || index < 0) return "";
  if (index >= lookup->first) {
    const auto at = static_cast<std::size_t>(index - lookup->first);
    return at < lookup->terms.size() ? lookup->terms[at] : "";
  }
  return index >= lookup->first - lookup->others ? lookup->other_name : lookup->mask.value_or("");
}

}  // namespace attn::text
