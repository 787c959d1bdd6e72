// SipHash-2-4 (Aumasson and Bernstein, https://www.131002.net/siphash/siphash.pdf).
#include "attn/text/hash.h"
#include "bytes.h"

namespace attn::text {
namespace {

struct State {
  std::uint64_t v0, v1, v2, v3;

  void rounds(int count) {
    for (int i = 0; i < count; ++i) {
      v0 += v1;
      v1 = std::rotl(v1, 13) ^ v0;
      v0 = std::rotl(v0, 32);
      v2 += v3;
      v3 = std::rotl(v3, 16) ^ v2;
      v0 += v3;
      v3 = std::rotl(v3, 21) ^ v0;
      v2 += v1;
      v1 = std::rotl(v1, 17) ^ v2;
      v2 = std::rotl(v2, 32);
    }
  }
  void take(std::uint64_t word) {
    v3 ^= word;
    rounds(2);
    v0 ^= word;
  }
};

}  // namespace

std::uint64_t sip_hash(std::string_view text, const Salt& salt) noexcept {
  const auto [a, b] = salt;
  State state{a ^ 0x736f6d6570736575ULL, b ^ 0x646f72616e646f6dULL, a ^ 0x6c7967656e657261ULL,
              b ^ 0x7465646279746573ULL};
  std::size_t at = 0;
  for (; at + 8 <= text.size(); at += 8) state.take(fetch64(text.data() + at));
  std::uint64_t last = static_cast<std::uint64_t>(text.size()) << 56U;
  for (unsigned shift = 0; at < text.size(); ++at, shift += 8)
    last |= static_cast<std::uint64_t>(static_cast<unsigned char>(text[at])) << shift;
  state.take(last);
  state.v2 ^= 0xff;
  state.rounds(4);
  return state.v0 ^ state.v1 ^ state.v2 ^ state.v3;
}

}  // namespace attn::text
