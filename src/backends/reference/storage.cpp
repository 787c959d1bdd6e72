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

Tensor HostStore::state(const std::string& name) const {
  const auto found = states_.find(name);
  if (found == states_.end()) throw internal_error("no state is called '{}'", name);
  const Tensor& held = found->second;
  Tensor copy(held.dtype(), held.shape());
  if (held.bytes() > 0) std::memcpy(copy.data(), held.data(), static_cast<std::size_t>(held.bytes()));
  return copy;
}

void HostStore::set_state(const std::string& name, const Tensor& value) {
  const auto found = states_.find(name);
  if (found == states_.end()) throw internal_error("no state is called '{}'", name);
  expect_type(value, found->second.dtype(), found->second.shape(), "a value for a state", 0);
  if (value.bytes() > 0) std::memcpy(found->second.data(), value.data(), static_cast<std::size_t>(value.bytes()));
}

Tensor HostStore::open(const graph::Value& value) {
  const auto [found, is_new] = states_.try_emplace(value.name);
  if (is_new) found->second = Tensor(value.dtype, value.shape);
  expect_type(found->second, value.dtype, value.shape, "a state", 0);
  return found->second;
}

std::shared_ptr<HostStore> host_store(const CompileOptions& options) {
  if (!options.store) return std::make_shared<HostStore>();
  auto store = std::dynamic_pointer_cast<HostStore>(options.store);
  if (!store) throw internal_error("a store of another kind of backend was given");
  return store;
}

Storage::Storage(const plan::Plan& plan, std::vector<Tensor> weights, HostStore& store)
    : plan_(plan), arena_(allocate_bytes(plan.arena_bytes)), tensors_(plan.graph.values.size()) {
  const auto& specs = plan.graph.weights;
  expect_count(weights.size(), specs.size(), "weights");
  for (std::size_t i = 0; i < specs.size(); ++i)
    if (weights[i].data() != nullptr) expect_type(weights[i], specs[i].dtype, specs[i].shape, "weight", i);

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
      case plan::Place::state:
        tensors_[i] = store.open(value);
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
  if (tensors_[at(root)].data() == nullptr) return {};
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
  std::int64_t sum = plan_.arena_bytes + plan_.state_bytes;
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const plan::Place place = plan_.slots[i].place;
    if (place == plan::Place::weight || place == plan::Place::prepared) sum += tensors_[i].bytes();
  }
  return sum;
}

}  // namespace attn::backends
