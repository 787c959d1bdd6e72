// Every attention kernel, run by the emulator.
#include <doctest/doctest.h>

#include "attention_check.h"

namespace attn::cuda {

TEST_CASE("attention: the plain kernel takes every problem in every dtype") {
  CHECK(check_attention("plain", {DType::float64, DType::float32, DType::float16, DType::bfloat16}, 2, Device(0)) == 0);
}

TEST_CASE("attention: the tiled kernel in float32 takes every mask, and head sizes to 256") {
  CHECK(check_attention("flash fma", {DType::float32}, 4, Device(0)) == 1);
}

TEST_CASE(
    "attention: the kernel on tensor cores takes half precision with every mask but lengths and a window, and head "
    "sizes to 256") {
  CHECK(check_attention("flash mma", {DType::float16, DType::bfloat16}, 4, Device(0)) == 6);
}

TEST_CASE("attention: the kernel on Hopper's instructions takes long queries in half precision") {
  check_attention("flash sm90", {DType::float16, DType::bfloat16}, 4, Device(0));
}

}  // namespace attn::cuda
