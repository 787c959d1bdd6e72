// The hash functions by which TensorFlow sorts strings into buckets.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

namespace attn::text {

/// Fingerprint64 of FarmHash, which never changes: tf.strings.to_hash_bucket_fast.
[[nodiscard]] std::uint64_t farm_fingerprint(std::string_view text) noexcept;

/// FingerprintCat64 of TensorFlow: the hash of two things from theirs.
[[nodiscard]] std::uint64_t joined_hash(std::uint64_t first, std::uint64_t second) noexcept;

/// The key of the strong hash.
using Salt = std::pair<std::uint64_t, std::uint64_t>;

/// SipHash-2-4: tf.strings.to_hash_bucket_strong.
[[nodiscard]] std::uint64_t sip_hash(std::string_view text, const Salt& salt) noexcept;

/// The bucket of `count` (> 0) that a string falls into: by the strong hash where there is a salt.
[[nodiscard]] std::int64_t bucket_of(std::string_view text, std::int64_t count,
                                     const std::optional<Salt>& salt) noexcept;

}  // namespace attn::text
