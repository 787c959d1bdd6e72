#include "classes/layers/spatial.h"

#include "attn/base/error.h"

namespace attn::keras {

void DataFormat::field(Fields& f, Version since) {
  if (f.reading()) {
    if (const auto ref = f.take("data_format"); ref && ref->is_null()) return;
  }
  f("data_format", choice_, since);
}

graph::ValueId DataFormat::channels_last(graph::Builder& b, graph::ValueId x) const {
  if (!channels_first()) return x;
  std::vector<int> order = {0};
  for (int axis = 2; axis < b.shape(x).rank(); ++axis) order.push_back(axis);
  order.push_back(1);
  return b.transpose(x, std::move(order));
}

graph::ValueId DataFormat::as_given(graph::Builder& b, graph::ValueId x) const {
  if (!channels_first()) return x;
  const int last = b.shape(x).rank() - 1;
  std::vector<int> order = {0, last};
  for (int axis = 1; axis < last; ++axis) order.push_back(axis);
  return b.transpose(x, std::move(order));
}

void Margins::field(Fields& f, std::string_view key) {
  const std::size_t rank = sides.size();
  if (!f.reading()) {
    std::vector<Json> pairs;
    for (const auto& [before, after] : sides) pairs.push_back(python_tuple({before, after}));
    f.put(key, rank == 1 ? pairs.front() : python_tuple(pairs));
    return;
  }
  const auto ref = f.take(key);
  if (!ref) return;
  const auto pair_of = [](const Ref& side) -> Side {
    if (side.is_integer()) return {side.integer_from(0), side.integer_from(0)};
    if (!side.is_array() || side.size() != 2) side.fail("expected an integer >= 0 or a list of 2, got " + side.kind());
    return {side[0].integer_from(0), side[1].integer_from(0)};
  };
  if (rank == 1 || ref->is_integer()) {
    sides.assign(rank, pair_of(*ref));
    return;
  }
  if (!ref->is_array() || ref->size() != rank)
    ref->fail(fmt::format("expected an integer >= 0 or a list of {}, got {}", rank, ref->kind()));
  for (std::size_t i = 0; i < rank; ++i) sides[i] = pair_of((*ref)[i]);
}

void expect_rank(const Shape& shape, int rank) {
  if (shape.rank() != rank) throw bad_input("expected an input of rank {}, got {}", rank, shape.str());
}

}  // namespace attn::keras
