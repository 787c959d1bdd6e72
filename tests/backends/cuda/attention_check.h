// Compares every attention kernel with double loops over a table of problems, on the emulator or on a GPU.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "attn/base/dtype.h"
#include "device.h"

namespace attn::cuda {

/// Whether every problem runs in each dtype, or in one of them in turn.
enum class Dtypes : std::uint8_t { each, in_turn };

struct AttentionCheck {
  int runs = 1;  ///< runs of each problem
  Dtypes on_problems = Dtypes::each;
  bool heavy = true;    ///< includes problems that take gigabytes, once and in the last dtype
  bool crowded = true;  ///< includes problems with tens of thousands of blocks
  bool tells = false;   ///< prints each problem before it runs, to identify a hanging kernel
};

/// Number of problems, by dtype and path.
struct AttentionCount {
  int taken = 0, declined = 0;
};

/// Runs the kernel of that name on all problems. Checks its results, that they repeat bit for bit, and that nothing
/// outside them is written. With ATTN_TEST_BRIEF in the environment it runs only the last dtype, once, and nothing
/// heavy.
AttentionCount check_attention(std::string_view name, std::initializer_list<DType> dtypes, const AttentionCheck& how,
                               const Device& device);

/// The number of problems that Hopper's own kernel takes in one dtype, and the number of heavy ones among them.
inline constexpr int kTakenBySm90 = 57, kHeavyTakenBySm90 = 1;
/// The same for the kernel that splits the keys.
inline constexpr int kTakenBySplit = 13;

}  // namespace attn::cuda
