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

TEST_CASE("attention: the plain kernel takes every problem in every dtype") {
  CHECK(check("plain", {DType::float64, DType::float32, DType::float16, DType::bfloat16}).declined == 0);
}

TEST_CASE("attention: the tiled kernel in float32 takes every mask, and head sizes to 256") {
  CHECK(check("flash fma", {DType::float32}).declined == 1);
}

TEST_CASE(
    "attention: the kernel on tensor cores takes half precision with every mask but lengths and a window, and head "
    "sizes to 256") {
  CHECK(check("flash mma", {DType::float16, DType::bfloat16}).declined == (test::runs_long() ? 6 : 3));
}

TEST_CASE("attention: the kernel that shares out keys takes few queries over many keys, whatever hides some of them") {
  const int dtypes = test::runs_long() ? 3 : 1;
  CHECK(check("flash split", {DType::float32, DType::float16, DType::bfloat16}).taken == dtypes * kTakenBySplit);
}

TEST_CASE("attention: the kernel on Hopper's instructions takes long queries in half precision") {
  const int dtypes = test::runs_long() ? 2 : 1;
  CHECK(check("flash sm90", {DType::float16, DType::bfloat16}).taken == dtypes * kTakenBySm90 + kHeavyTakenBySm90);
}

}  // namespace attn::cuda
