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

/// Runs the kernel of that name on all problems, each `runs` times, and checks its results, that they repeat bit for
/// bit, and that nothing is written beside them. How many problems it does not take. With ATTN_TEST_BRIEF in the
/// environment in the last dtype alone, and once.
int check_attention(std::string_view name, std::initializer_list<DType> dtypes, int runs, const Device& device,
                    Dtypes on_problems = Dtypes::each);

}  // namespace attn::cuda
