// Colored results.
#include <doctest/doctest.h>

#include <string>

#include "../text.h"
#include "program.h"

namespace attn::test {
namespace {

TEST_CASE("summary: the colored table has Keras's colors") {
  const std::string out = run_attn({"summary", "--color", "always", "--show-trainable"}).out;
  CHECK(contains(out, "\x1b[1mModel: \"encoder\"\x1b[0m"));
  CHECK(contains(out, "input_layer (\x1b[38;5;33mInputLayer\x1b[0m)"));
  CHECK(contains(out, "(\x1b[38;5;45mNone\x1b[0m, \x1b[38;5;34m50\x1b[0m, \x1b[38;5;34m512\x1b[0m)"));
  CHECK(contains(out, "\x1b[38;5;34m1,050,624\x1b[0m"));
  CHECK(contains(out, "input_layer[\x1b[38;5;34m0\x1b[0m][\x1b[38;5;34m0\x1b[0m]"));
  CHECK(contains(out, "\x1b[1m Total params: \x1b[0m\x1b[38;5;34m3,415,040\x1b[0m (13.03 MB)"));
  CHECK(contains(out, "\x1b[38;5;34mY\x1b[0m"));
  std::string plain;
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (out[i] == '\x1b')
      i = out.find('m', i);
    else
      plain += out[i];
  }
  CHECK(plain == run_attn({"summary", "--show-trainable"}).out);
}

}  // namespace
}  // namespace attn::test
