// Every attention kernel, run by the emulator. The interleaving of concurrent work differs between the blocks of a
// launch, and a second run uses another one. More interleavings, every dtype on every problem, and very many blocks
// would take minutes.
#include <doctest/doctest.h>

#include "../../long.h"
#include "attention_check.h"

namespace attn::cuda {
namespace {

AttentionCount check(std::string_view name, std::initializer_list<DType> dtypes) {
  AttentionCheck how{.runs = 4};
  if (!test::runs_long()) how = {.runs = 2, .on_problems = Dtypes::in_turn, .crowded = false};
  return check_attention(name, dtypes, how, Device(0));
}

}  // namespace

TEST_CASE("attention: the plain kernel supports every problem in every dtype") {
  CHECK(check("plain", {DType::float64, DType::float32, DType::float16, DType::bfloat16}).declined == 0);
}

TEST_CASE("attention: the tiled kernel in float32 supports every mask and head sizes up to 256") {
  CHECK(check("flash fma", {DType::float32}).declined == 1);
}

TEST_CASE(
    "attention: the tensor-core kernel in half precision supports masks except lengths and windows, and head sizes up "
    "to 256") {
  CHECK(check("flash mma", {DType::float16, DType::bfloat16}).declined == (test::runs_long() ? 6 : 3));
}

TEST_CASE("attention: the split kernel supports few queries over many keys, with any mask") {
  const int dtypes = test::runs_long() ? 3 : 1;
  CHECK(check("flash split", {DType::float32, DType::float16, DType::bfloat16}).taken == dtypes * kTakenBySplit);
}

TEST_CASE("attention: the Hopper kernel supports long queries in half precision") {
  const int dtypes = test::runs_long() ? 2 : 1;
  CHECK(check("flash sm90", {DType::float16, DType::bfloat16}).taken == dtypes * kTakenBySm90 + kHeavyTakenBySm90);
}

}  // namespace attn::cuda
