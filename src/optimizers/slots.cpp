#include "slots.h"

#include "attn/optimizers/state_size.h"

namespace attn::optimizers {

bool uses_adam(const Muon& muon, const Variable& variable) {
  if (variable.shape.rank() != 2) return true;
  std::string path = variable.path;
  std::ranges::transform(path, path.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  if (muon.exclude_embeddings && path.find("embedding") != std::string::npos) return true;
  return std::ranges::any_of(muon.exclude_layers,
                             [&](const std::string& part) { return variable.path.find(part) != std::string::npos; });
}

StateSize state_size(const Settings& settings, const std::vector<Variable>& variables) {
  StateSize out;
  const auto add = [&](UInt128 elements, DType dtype) {
    out.elements += elements;
    out.bytes += elements * static_cast<UInt128>(bytes_of(dtype));
  };
  const auto add_slot = [&](const Slot& slot) {
    add(count_product(slot.shape).value_or(kMaxCount), variables[slot.variable].dtype);
  };
  const auto add_loose = [&](std::optional<std::size_t>, DType dtype) {
    if (!settings.loss_scale) add(1, dtype);
  };
  if (settings.loss_scale)
    for (const DType dtype : {DType::int64, DType::float32, DType::int64, DType::float32}) add(1, dtype);
  add(1, DType::int64);
  if (!settings.schedule) add(1, DType::float32);
  visit_slots(settings, variables, add_slot, add_loose);
  return out;
}

}  // namespace attn::optimizers
