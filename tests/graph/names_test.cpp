#include <doctest/doctest.h>

#include <set>

#include "attn/graph/op.h"

using namespace attn::graph;

TEST_CASE("names: every unary function has a unique name") {
  std::set<std::string_view> names;
  for (const UnaryFn fn : kUnaryFns) names.insert(name_of(fn));
  CHECK(names.size() == kUnaryFns.size());
  CHECK(names.count("") == 0);
}

TEST_CASE("names: the name of an operation says what it computes") {
  CHECK(name_of(Op{Unary{UnaryFn::gelu}}) == "gelu");
  CHECK(name_of(Op{Binary{BinaryFn::floor_divide}}) == "floor_divide");
  CHECK(name_of(Op{LayerNorm{NormKind::rms, {1}}}) == "rms_norm");
  CHECK(name_of(Op{Pool{true, {2}, {2}}}) == "average_pool");
  CHECK(name_of(Op{Cumulate{true}}) == "cumprod");
  CHECK(name_of(Op{Rnn{RnnCell::gru}}) == "gru");
}
