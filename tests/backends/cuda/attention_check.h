// Every attention kernel against double loops, over a table of problems; on the emulator or on a GPU.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "attn/base/dtype.h"
#include "device.h"

namespace attn::cuda {

/// Whether every problem is run in each dtype, or in one of them, by turns.
enum class Dtypes : std::uint8_t { each, in_turn };

struct AttentionCheck {
  int runs = 1;  ///< of each problem
  Dtypes on_problems = Dtypes::each;
  bool heavy = true;    ///< run those too that take gigabytes, once and in the last dtype
  bool crowded = true;  ///< run those too that have tens of thousands of blocks
  bool tells = false;   ///< prints what is run next, which is the last line where a kernel hangs
};

/// Problems, by dtype and path.
struct AttentionCount {
  int taken = 0, declined = 0;
};

/// Runs the kernel of that name on all problems and checks its results, that they repeat bit for bit, and that nothing
/// is written beside them. With ATTN_TEST_BRIEF in the environment in the last dtype alone, once, and nothing heavy.
AttentionCount check_attention(std::string_view name, std::initializer_list<DType> dtypes, const AttentionCheck& how,
                               const Device& device);

/// How many problems Hopper's own kernel takes on one, in one dtype; and how many of them are heavy.
inline constexpr int kTakenBySm90 = 57, kHeavyTakenBySm90 = 1;
/// The same for the one that shares out keys.
inline constexpr int kTakenBySplit = 13;

}  // namespace attn::cuda
