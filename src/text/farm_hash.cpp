// FarmHash's Fingerprint64 (farmhashna::Hash64, https://github.com/google/farmhash, MIT license, Google Inc.).
#include <utility>

#include "attn/text/hash.h"
#include "bytes.h"

namespace attn::text {
namespace {

constexpr std::uint64_t k0 = 0xc3a5c85c97cb3127ULL;
constexpr std::uint64_t k1 = 0xb492b66fbe98f273ULL;
constexpr std::uint64_t k2 = 0x9ae16a3b2f90404fULL;

std::uint64_t shift_mix(std::uint64_t value) { return value ^ (value >> 47U); }

std::uint64_t mix(std::uint64_t u, std::uint64_t v, std::uint64_t mul) {
  const std::uint64_t a = shift_mix((u ^ v) * mul);
  return shift_mix((v ^ a) * mul) * mul;
}

std::uint64_t of_16(const char* s, std::size_t size) {
  if (size >= 8) {
    const std::uint64_t mul = k2 + size * 2, a = fetch64(s) + k2, b = fetch64(s + size - 8);
    return mix(std::rotr(b, 37) * mul + a, (std::rotr(a, 25) + b) * mul, mul);
  }
  if (size >= 4) {
    const std::uint64_t mul = k2 + size * 2, a = fetch32(s);
    return mix(size + (a << 3U), fetch32(s + size - 4), mul);
  }
  if (size == 0) return k2;
  const auto byte = [&](std::size_t at) { return static_cast<std::uint32_t>(static_cast<unsigned char>(s[at])); };
  const std::uint32_t y = byte(0) + (byte(size >> 1U) << 8U);
  const std::uint32_t z = static_cast<std::uint32_t>(size) + (byte(size - 1) << 2U);
  return shift_mix(y * k2 ^ z * k0) * k2;
}

std::uint64_t of_32(const char* s, std::size_t size) {
  const std::uint64_t mul = k2 + size * 2, a = fetch64(s) * k1, b = fetch64(s + 8), c = fetch64(s + size - 8) * mul,
                      d = fetch64(s + size - 16) * k2;
  return mix(std::rotr(a + b, 43) + std::rotr(c, 30) + d, a + std::rotr(b + k2, 18) + c, mul);
}

std::uint64_t of_64(const char* s, std::size_t size) {
  const std::uint64_t mul = k2 + size * 2, a = fetch64(s) * k2, b = fetch64(s + 8), c = fetch64(s + size - 8) * mul,
                      d = fetch64(s + size - 16) * k2;
  const std::uint64_t y = std::rotr(a + b, 43) + std::rotr(c, 30) + d, z = mix(y, a + std::rotr(b + k2, 18) + c, mul);
  const std::uint64_t e = fetch64(s + 16) * mul, f = fetch64(s + 24), g = (y + fetch64(s + size - 32)) * mul,
                      h = (z + fetch64(s + size - 24)) * mul;
  return mix(std::rotr(e + f, 43) + std::rotr(g, 30) + h, e + std::rotr(f + a, 18) + g, mul);
}

using Pair = std::pair<std::uint64_t, std::uint64_t>;

Pair weak_of_32(const char* s, std::uint64_t a, std::uint64_t b) {
  const std::uint64_t w = fetch64(s), x = fetch64(s + 8), y = fetch64(s + 16), z = fetch64(s + 24);
  a += w;
  b = std::rotr(b + a + z, 21);
  const std::uint64_t c = a;
  a += x + y;
  b += std::rotr(a, 44);
  return {a + z, b + c};
}

/// The state between blocks of 64 bytes.
struct State {
  std::uint64_t x, y, z;
  Pair v{}, w{};

  void take(const char* s, std::uint64_t mul, std::uint64_t often) {
    x = std::rotr(x + y + v.first + fetch64(s + 8), 37) * mul;
    y = std::rotr(y + v.second + fetch64(s + 48), 42) * mul;
    x ^= w.second * often;
    y += v.first * often + fetch64(s + 40);
    z = std::rotr(z + w.first, 33) * mul;
    v = weak_of_32(s, v.second * mul, x + w.first);
    w = weak_of_32(s + 32, z + w.second, y + fetch64(s + 16));
    std::swap(z, x);
  }
};

}  // namespace

std::uint64_t farm_fingerprint(std::string_view text) noexcept {
  const char* s = text.data();
  const std::size_t size = text.size();
  if (size <= 16) return of_16(s, size);
  if (size <= 32) return of_32(s, size);
  if (size <= 64) return of_64(s, size);
  constexpr std::uint64_t kSeed = 81;
  const std::uint64_t y = kSeed * k1 + 113;
  State state{kSeed * k2 + fetch64(s), y, shift_mix(y * k2 + 113) * k2};
  const std::size_t blocks = (size - 1) / 64, rest = (size - 1) % 64;
  for (std::size_t i = 0; i < blocks; ++i) state.take(s + 64 * i, k1, 1);
  const std::uint64_t mul = k1 + ((state.z & 0xffU) << 1U);
  state.w.first += rest;
  state.v.first += state.w.first;
  state.w.first += state.v.first;
  state.take(s + size - 64, mul, 9);
  return mix(mix(state.v.first, state.w.first, mul) + shift_mix(state.y) * k0 + state.z,
             mix(state.v.second, state.w.second, mul) + state.x, mul);
}

std::uint64_t joined_hash(std::uint64_t first, std::uint64_t second) noexcept {
  constexpr std::uint64_t kMul = 0xc6a4a7935bd1e995U;
  std::uint64_t result = first ^ kMul;
  result ^= shift_mix(second * kMul) * kMul;
  return shift_mix(shift_mix(result * kMul) * kMul);
}

std::int64_t bucket_of(std::string_view text, std::int64_t count, const std::optional<Salt>& salt) noexcept {
  const std::uint64_t hash = salt ? sip_hash(text, *salt) : farm_fingerprint(text);
  return static_cast<std::int64_t>(hash % static_cast<std::uint64_t>(count));
}

}  // namespace attn::text
