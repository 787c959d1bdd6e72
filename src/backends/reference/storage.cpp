#include "attn/backends/storage.h"

#include <cstring>

#include "attn/base/error.h"

namespace attn::backends {
namespace {

using graph::at;
using graph::ValueId;

void expect_type(const Tensor& tensor, const DType dtype, const Shape& shape, std::string_view what, std::size_t i) {
  if (tensor.dtype() == dtype && tensor.shape() == shape) return;
  throw internal_error("{} {} is {} {}, the graph has {} {}", what, i, name_of(tensor.dtype()), tensor.shape().str(),
                       name_of(dtype), shape.str());
}

void expect_count(std::size_t given, std::size_t wanted, std::string_view what) {
  if (given != wanted) throw internal_error("{} {} were given, the graph has {}", given, what, wanted);
}

}  // namespace

Storage::Storage(const plan::Plan& plan, std::vector<Tensor> weights)
    : plan_(plan), arena_(allocate_bytes(plan.arena_bytes)), tensors_(plan.graph.values.size()) {
  const auto& specs = plan.graph.weights;
  expect_count(weights.size(), specs.size(), "weights");
  for (std::size_t i = 0; i < specs.size(); ++i) expect_type(weights[i], specs[i].dtype, specs[i].shape, "weight", i);

  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const graph::Value& value = plan.graph.values[i];
    const plan::Slot& slot = plan.slots[i];
    if (slot.alias_of != graph::kNone) continue;
    switch (slot.place) {
      case plan::Place::nowhere:
      case plan::Place::input:
      case plan::Place::prepared:
        break;
      case plan::Place::weight:
        tensors_[i] = weights[at(value.weight)];
        break;
      case plan::Place::constant:
        tensors_[i] = value.constant;
        break;
      case plan::Place::arena:
        tensors_[i] = {value.dtype, value.shape, std::shared_ptr<std::byte>(arena_, arena_.get() + slot.offset)};
        break;
    }
  }
}

void Storage::bind(std::span<const Tensor> inputs) {
  const auto& ids = plan_.graph.inputs;
  expect_count(inputs.size(), ids.size(), "inputs");
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const graph::Value& value = plan_.graph.value(ids[i]);
    expect_type(inputs[i], value.dtype, value.shape, "input", i);
    tensors_[at(ids[i])] = inputs[i];
  }
}

Tensor Storage::tensor(ValueId id) const {
  const ValueId root = plan_.slots[at(id)].alias_of;
  if (root == graph::kNone) return tensors_[at(id)];
  const graph::Value& value = plan_.graph.value(id);
  return {value.dtype, value.shape, tensors_[at(root)].owner()};
}

std::byte* Storage::data(ValueId id) const {
  const ValueId root = plan_.slots[at(id)].alias_of;
  return tensors_[at(root == graph::kNone ? id : root)].data();
}

std::vector<Tensor> Storage::tensors(std::span<const ValueId> ids) const {
  std::vector<Tensor> result;
  result.reserve(ids.size());
  for (const ValueId id : ids) result.push_back(tensor(id));
  return result;
}

void Storage::add_prepared(ValueId id) {
  const graph::Value& value = plan_.graph.value(id);
  if (plan_.slots[at(id)].alias_of == graph::kNone) tensors_[at(id)] = Tensor(value.dtype, value.shape);
}

void Storage::drop(ValueId id) { tensors_[at(id)] = {}; }

void Storage::poison_arena() {
  if (plan_.arena_bytes > 0) std::memset(arena_.get(), 0xFF, static_cast<std::size_t>(plan_.arena_bytes));
}

std::int64_t Storage::bytes() const {
  std::int64_t sum = plan_.arena_bytes;
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const plan::Place place = plan_.slots[i].place;
    if (place == plan::Place::weight || place == plan::Place::prepared) sum += tensors_[i].bytes();
  }
  return sum;
}

}  // namespace attn::backends
