#include "attn/io/sha256.h"

#include <fmt/format.h>
#include <sha2.h>
#include <sys/types.h>

#include <array>
#include <cstdint>
#include <fstream>
#include <vector>

#include "attn/base/error.h"
#include "attn/base/text.h"

namespace attn::io {

namespace {

class Digest {
 public:
  Digest() { SHA256Init(&context_); }
  void add(const void* bytes, std::size_t size) {
    SHA256Update(&context_, static_cast<const std::uint8_t*>(bytes), size);
  }
  [[nodiscard]] std::string text() {
    std::array<std::uint8_t, SHA256_DIGEST_LENGTH> digest;
    SHA256Final(digest.data(), &context_);
    std::string text;
    for (const std::uint8_t byte : digest) text += fmt::format("{:02x}", byte);
    return text;
  }

 private:
  SHA2_CTX context_{};
};

}  // namespace

std::string sha256(std::span<const std::byte> bytes) {
  Digest digest;
  digest.add(bytes.data(), bytes.size());
  return digest.text();
}

std::string sha256_of_file(const std::string& path) {
  constexpr std::size_t kBlock = std::size_t{1} << 18;
  std::vector<char> block(kBlock);
  std::ifstream file(path, std::ios::binary);
  Digest digest;
  while (file.read(block.data(), static_cast<std::streamsize>(kBlock)) || file.gcount() > 0)
    digest.add(block.data(), static_cast<std::size_t>(file.gcount()));
  if (!file.eof() || file.bad()) throw bad_input("{}: cannot be read", printable(path));
  return digest.text();
}

}  // namespace attn::io
