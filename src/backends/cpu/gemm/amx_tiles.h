// Eight registers of 16 rows of 64 bytes, and products of two of them: by AMX, or by plain loops that give the same
// bits.
#pragma once

#include <cstdint>
#include <cstring>

namespace attn::backends::cpu {

/// The bit pattern of a bfloat16.
using Bfloat16 = std::uint16_t;

/// A tile holds 16 × 32 bfloat16 or 16 × 16 float32.
inline constexpr std::int64_t kTileRows = 16, kTileDepth = 32, kTileBytes = 1024;
inline constexpr std::int64_t kTileNumbers = kTileRows * kTileDepth;

/// The tile registers of this thread, while the object exists. Requires isa() to be amx.
///
/// GCC's intrinsics of the same names accept only literal register numbers, and do not declare that they read memory.
#if defined(__x86_64__)
class AmxTiles {
 public:
  /// The maximum number of parts; products with more are slower than other kernels.
  static constexpr int kMostParts = 3;

  AmxTiles() {
    static constexpr Shape kWhole;
    __asm__ volatile("ldtilecfg %0" : : "m"(kWhole));
  }
  ~AmxTiles() { __asm__ volatile("tilerelease"); }
  AmxTiles(const AmxTiles&) = delete;
  AmxTiles& operator=(const AmxTiles&) = delete;

  template <int kTile>
  [[gnu::always_inline]] void zero() {
    __asm__ volatile("tilezero %%tmm%c0" : : "i"(kTile));
  }
  /// Loads 16 consecutive rows.
  template <int kTile>
  [[gnu::always_inline]] void load(const Bfloat16* from) {
    __asm__ volatile("tileloadd (%0,%1,1), %%tmm%c2" : : "r"(from), "r"(kRowBytes), "i"(kTile) : "memory");
  }
  /// Loads 16 consecutive rows of data that is not read again soon, bypassing the L1 cache.
  template <int kTile>
  [[gnu::always_inline]] void stream(const Bfloat16* from) {
    __asm__ volatile("tileloaddt1 (%0,%1,1), %%tmm%c2" : : "r"(from), "r"(kRowBytes), "i"(kTile) : "memory");
  }
  /// Loads 16 rows of float32 accumulators; row r is at from + r·stride.
  template <int kTile>
  [[gnu::always_inline]] void load_sums(const float* from, std::int64_t stride) {
    __asm__ volatile("tileloadd (%0,%1,1), %%tmm%c2"
                     :
                     : "r"(from), "r"(stride * static_cast<std::int64_t>(sizeof(float))), "i"(kTile)
                     : "memory");
  }
  /// Stores 16 rows of float32 accumulators; row r goes to to + r·stride.
  template <int kTile>
  [[gnu::always_inline]] void store(float* to, std::int64_t stride) {
    __asm__ volatile("tilestored %%tmm%c2, (%0,%1,1)"
                     :
                     : "r"(to), "r"(stride * static_cast<std::int64_t>(sizeof(float))), "i"(kTile)
                     : "memory");
  }
  /// Loads 16 rows of 64 bytes, row r from from + r·stride.
  template <int kTile>
  [[gnu::always_inline]] void load_bytes(const std::uint8_t* from, std::int64_t stride) {
    __asm__ volatile("tileloadd (%0,%1,1), %%tmm%c2" : : "r"(from), "r"(stride), "i"(kTile) : "memory");
  }
  /// Loads 16 × 16 int32 accumulators; row r is at from + r·stride.
  template <int kTile>
  [[gnu::always_inline]] void load_integers(const std::int32_t* from, std::int64_t stride) {
    load_bytes<kTile>(reinterpret_cast<const std::uint8_t*>(from),
                      stride * static_cast<std::int64_t>(sizeof(std::int32_t)));
  }
  template <int kTile>
  [[gnu::always_inline]] void store_integers(std::int32_t* to, std::int64_t stride) {
    __asm__ volatile("tilestored %%tmm%c2, (%0,%1,1)"
                     :
                     : "r"(to), "r"(stride * static_cast<std::int64_t>(sizeof(std::int32_t))), "i"(kTile)
                     : "memory");
  }
  /// Adds products of unsigned and signed bytes to a tile of int32 sums, as multiply_int8_tiles() does. Requires
  /// has_int8_tiles().
  template <int kSums, int kLeft, int kRight>
  [[gnu::always_inline]] void multiply_bytes() {
    __asm__ volatile("tdpbusd %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(kSums), "i"(kLeft), "i"(kRight));
  }
  /// Adds products of bfloat16 numbers to a tile of float32 sums, as multiply_tiles() does.
  template <int kSums, int kLeft, int kRight>
  [[gnu::always_inline]] void multiply() {
    __asm__ volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(kSums), "i"(kLeft), "i"(kRight));
  }

 private:
  static constexpr std::int64_t kRowBytes = 64;

  /// The configuration of all eight registers at full size, in the format of LDTILECFG.
  struct alignas(64) Shape {
    std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
    std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
    std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
  };
};
#endif

/// sums(m, n) += Σ left(m, k)·right(k, n), in float32 and in the order of TDPBF16PS in Intel's manual. The even k and
/// the odd k are summed separately from 0, without rounding of the products. The two sums are added, then the previous
/// value. Denormal operands and results count as zero. left is (16, 32); right is (16, 16, 2) with number (k, n) at
/// (k/2, n, k%2).
void multiply_tiles(float* sums, const Bfloat16* left, const Bfloat16* right);

/// sums(m, n) += Σ left(m, k)·right(k, n) with wrap-around, as TDPBUSD does. left is (16, 64) unsigned bytes; right is
/// (16, 16, 4) signed bytes with number (k, n) at (k/4, n, k%4).
void multiply_int8_tiles(std::int32_t* sums, const std::uint8_t* left, const std::int8_t* right);

/// The interface of AmxTiles on any CPU.
class EmulatedTiles {
 public:
  static constexpr int kMostParts = 3;

  template <int kTile>
  void zero() {
    std::memset(registers_[kTile], 0, kTileBytes);
  }
  template <int kTile>
  void load(const Bfloat16* from) {
    std::memcpy(registers_[kTile], from, kTileBytes);
  }
  template <int kTile>
  void stream(const Bfloat16* from) {
    load<kTile>(from);
  }
  template <int kTile>
  void load_sums(const float* from, std::int64_t stride) {
    for (std::int64_t row = 0; row < kTileRows; ++row)
      std::memcpy(registers_[kTile] + row * kTileDepth, from + row * stride, kTileBytes / kTileRows);
  }
  template <int kTile>
  void store(float* to, std::int64_t stride) {
    for (std::int64_t row = 0; row < kTileRows; ++row)
      std::memcpy(to + row * stride, registers_[kTile] + row * kTileDepth, kTileBytes / kTileRows);
  }
  template <int kTile>
  void load_bytes(const std::uint8_t* from, std::int64_t stride) {
    for (std::int64_t row = 0; row < kTileRows; ++row)
      std::memcpy(registers_[kTile] + row * kTileDepth, from + row * stride, kTileBytes / kTileRows);
  }
  template <int kTile>
  void load_integers(const std::int32_t* from, std::int64_t stride) {
    for (std::int64_t row = 0; row < kTileRows; ++row)
      std::memcpy(registers_[kTile] + row * kTileDepth, from + row * stride, kTileBytes / kTileRows);
  }
  template <int kTile>
  void store_integers(std::int32_t* to, std::int64_t stride) {
    for (std::int64_t row = 0; row < kTileRows; ++row)
      std::memcpy(to + row * stride, registers_[kTile] + row * kTileDepth, kTileBytes / kTileRows);
  }
  template <int kSums, int kLeft, int kRight>
  void multiply_bytes() {
    std::int32_t sums[kTileBytes / sizeof(std::int32_t)];
    std::memcpy(sums, registers_[kSums], kTileBytes);
    multiply_int8_tiles(sums, reinterpret_cast<const std::uint8_t*>(registers_[kLeft]),
                        reinterpret_cast<const std::int8_t*>(registers_[kRight]));
    std::memcpy(registers_[kSums], sums, kTileBytes);
  }
  template <int kSums, int kLeft, int kRight>
  void multiply() {
    float sums[kTileBytes / sizeof(float)];
    std::memcpy(sums, registers_[kSums], kTileBytes);
    multiply_tiles(sums, registers_[kLeft], registers_[kRight]);
    std::memcpy(registers_[kSums], sums, kTileBytes);
  }

 private:
  Bfloat16 registers_[8][kTileNumbers] = {};
};

}  // namespace attn::backends::cpu
