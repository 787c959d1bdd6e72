// The hash functions that TensorFlow uses for string buckets.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

namespace attn::text {

/// Returns FarmHash's Fingerprint64, which is stable across versions: tf.strings.to_hash_bucket_fast.
[[nodiscard]] std::uint64_t farm_fingerprint(std::string_view text) noexcept;

/// Combines two hashes, as TensorFlow's FingerprintCat64 does.
[[nodiscard]] std::uint64_t joined_hash(std::uint64_t first, std::uint64_t second) noexcept;

/// The key of the strong hash.
using Salt = std::pair<std::uint64_t, std::uint64_t>;

/// Returns SipHash-2-4, the hash of tf.strings.to_hash_bucket_strong.
[[nodiscard]] std::uint64_t sip_hash(std::string_view text, const Salt& salt) noexcept;

/// Returns the bucket of a string, out of `count` (> 0); with a salt, by the strong hash.
[[nodiscard]] std::int64_t bucket_of(std::string_view text, std::int64_t count,
                                     const std::optional<Salt>& salt) noexcept;

}  // namespace attn::text
