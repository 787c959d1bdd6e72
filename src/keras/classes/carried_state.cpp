#include "classes/carried_state.h"

#include <algorithm>
#include <utility>

#include "classes/decoding.h"
#include "classes/ops/expression.h"

namespace attn::keras {
namespace {

using graph::Builder;
using graph::ValueId;

ValueId integers(Builder& b, const Shape& shape, const std::vector<Dim>& numbers) {
  Tensor out(DType::int32, shape);
  for (std::size_t i = 0; i < numbers.size(); ++i) out.set(static_cast<Dim>(i), static_cast<double>(numbers[i]));
  return b.constant(std::move(out));
}

/// Returns the position () of a token that is counted from the first new one.
Expression position_of(Call& call, Dim token) {
  const Expression first(call.builder(), call.lowering().decoding->position);
  return first + static_cast<double>(token);
}

/// Returns the entries (B) that have the states after the last earlier position.
ValueId entries_before(Call& call, Dim rows) {
  const auto make = [&] {
    const Decoding& decoding = *call.lowering().decoding;
    Builder& b = call.builder();
    if (decoding.sources) return std::vector{b.apply(graph::Gather{1}, {*decoding.sources, position_of(call, -1)})};
    std::vector<Dim> entries;
    for (Dim row = 0; row < rows; ++row) entries.push_back(row * decoding.entries / rows);
    return std::vector{integers(b, {rows}, entries)};
  };
  return call.lowering().common(fmt::format("entries of {} carried states", rows), make).front();
}

/// Returns the row () in which the state after a new token is kept, and that before the first one for token −1.
ValueId kept_row(Call& call, Dim token) {
  const Dim kept = call.lowering().decoding->kept;
  const auto make = [&] {
    if (kept == 1) return std::vector{integers(call.builder(), {}, {0})};
    const Expression position = position_of(call, token);
    const Expression count = position.number(static_cast<double>(kept));
    return std::vector{position.binary(graph::BinaryFn::mod, count).id};
  };
  return call.lowering()
      .common(fmt::format("row of the carried state after token {}", kept == 1 ? 0 : token), make)
      .front();
}

/// Returns whether the new tokens follow others.
ValueId follows(Call& call) {
  return call.lowering()
      .common("whether a state is carried",
              [&] { return std::vector{(Expression(call.builder(), call.lowering().decoding->position) > 0.0).id}; })
      .front();
}

}  // namespace

CarriedState::CarriedState(Call& call, std::string_view what, Dim rows, Shape shape, DType dtype)
    : call_(call), shape_(std::move(shape)) {
  Decoding& decoding = *call.lowering().decoding;
  Builder& b = call.builder();
  const Dim size = shape_.slice(1, shape_.rank()).size();
  state_ = decoding.state(call, what, {decoding.entries, shape_[0], decoding.kept, size}, dtype);
  ValueId found = state_;
  if (decoding.sources || rows != decoding.entries)
    found = b.apply(graph::Gather{0}, {found, entries_before(call, rows)});
  if (decoding.kept > 1) found = b.apply(graph::Gather{2}, {found, kept_row(call, -1)});
  Shape whole{rows};
  whole.append(shape_);
  const Expression earlier(b, b.reshape(found, whole));
  before_ = where(Expression(b, follows(call)), earlier, earlier.number(0.0));
}

std::vector<Dim> CarriedState::kept_counts() const {
  const Decoding& decoding = *call_.lowering().decoding;
  const Dim count = call_.builder().shape(decoding.positions).back();
  std::vector<Dim> out;
  for (Dim end = std::max<Dim>(count - decoding.kept, 0) + 1; end <= count; ++end) out.push_back(end);
  return out;
}

void CarriedState::keep(const std::vector<ValueId>& after) {
  Builder& b = call_.builder();
  const std::vector<Dim> counts = kept_counts();
  const Shape state = b.shape(state_);
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const ValueId row = b.reshape(after.at(i), {b.shape(before_)[0], 1, state[1], state[3]});
    state_ = b.apply(graph::Append{}, {state_, row, kept_row(call_, counts[i] - 1)});
  }
}

}  // namespace attn::keras
