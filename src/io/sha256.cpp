#include "attn/io/sha256.h"

#include <fmt/format.h>
#include <sha2.h>
#include <sys/types.h>

#include <array>
#include <cstdint>

namespace attn::io {

std::string sha256(std::span<const std::byte> bytes) {
  SHA2_CTX context;
  SHA256Init(&context);
  SHA256Update(&context, reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  std::array<std::uint8_t, SHA256_DIGEST_LENGTH> digest;
  SHA256Final(digest.data(), &context);
  std::string text;
  for (const std::uint8_t byte : digest) text += fmt::format("{:02x}", byte);
  return text;
}

}  // namespace attn::io
