#include "attn/weights/from_torch.h"

#include <set>
#include <utility>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "modules.h"
#include "torch_pairing.h"
#include "transposed.h"

namespace attn::weights {
namespace {

using graph::WeightSpec;
using Kind = ModuleKind;
using Place = ModulePlace;

Tensor transposed_matrix(const Tensor& matrix) {
  const Dim rows = matrix.shape()[0], columns = matrix.shape()[1];
  return transposed(matrix, {columns, rows}, 1, rows, columns);
}

/// Rejects models with two stacks of blocks: their numbers are the same, so the order of the stacks is unknown.
void check_one_stack(const std::vector<TorchModule>& modules, const std::string& file) {
  const TorchModule* first = nullptr;
  for (const TorchModule& module : modules) {
    if (module.kind != Kind::attention || module.place != Place::block) continue;
    if (first == nullptr) first = &module;
    if (module.stack != first->stack) {
      throw bad_input("{}: '{}' and '{}' belong to two stacks of layers, whose order is unknown", file,
                      printable(first->name), printable(module.name));
    }
  }
}

constexpr std::size_t kListedMissing = 1000;  // names listed in a message

std::string listed(std::vector<std::string> names) {
  const std::size_t rest = names.size() > kListedMissing ? names.size() - kListedMissing : 0;
  names.resize(names.size() - rest);
  return join(names, ", ") + (rest > 0 ? fmt::format(" and {} more", rest) : "");
}

std::string quoted(const std::string& name) { return "'" + printable(name) + "'"; }

/// Assigns arrays to weights, and records arrays without a counterpart and mismatches.
class Transfer {
 public:
  Transfer(std::span<const WeightSpec> specs, const Store& state_dict)
      : specs_(specs), state_dict_(state_dict), sources_(specs.size()), filled_(specs.size()) {}

  void leave(const std::string& array) {
    // A split array is reported once.
    if (left_.insert(array).second) unmatched_.push_back(quoted(array));
  }

  void take(const std::string& name, const TorchModule::Part& part, std::size_t index) {
    const WeightSpec& spec = specs_[index];
    filled_[index] = true;
    const Shape wanted = torch_shape(name, spec);
    if (part.tensor.shape() != wanted || !is_floating(part.tensor.dtype())) {
      misfits_.push_back(fmt::format("{} for {} (expected {} {}, found {} {})", quoted(part.name), quoted(spec.path),
                                     name_of(spec.dtype), wanted.str(), name_of(part.tensor.dtype()),
                                     part.tensor.shape().str()));
      return;
    }
    const Tensor turned = name.ends_with("kernel") ? transposed_matrix(part.tensor) : part.tensor;
    sources_[index] = {part.name, turned.reshaped(spec.shape)};
  }

  /// Returns the sources; throws Error (bad_input) if an array or weight is left over or does not match.
  std::vector<TorchSource> finish() {
    std::vector<std::string> missing;
    for (std::size_t i = 0; i < specs_.size(); ++i)
      if (!filled_[i]) missing.push_back(quoted(specs_[i].path));
    std::vector<std::string> sides;
    if (!unmatched_.empty()) {
      sides.push_back(fmt::format("{} of the file's {} arrays ({})", unmatched_.size(), state_dict_.weights.size(),
                                  listed(unmatched_)));
    }
    if (!missing.empty()) {
      sides.push_back(fmt::format("{} of the model's {} weights ({})", missing.size(), specs_.size(), listed(missing)));
    }
    if (!sides.empty()) throw bad_input("{}: no counterpart for {}", state_dict_.file, join(sides, " and "));
    if (!misfits_.empty()) throw bad_input("{}: does not fit: {}", state_dict_.file, listed(misfits_));
    return std::move(sources_);
  }

 private:
  std::span<const WeightSpec> specs_;
  const Store& state_dict_;
  std::vector<TorchSource> sources_;
  std::vector<bool> filled_;
  std::vector<std::string> unmatched_, misfits_;
  std::set<std::string> left_;
};

}  // namespace

std::vector<TorchSource> from_torch(std::span<const WeightSpec> specs, const Store& state_dict) {
  const TorchModules torch = torch_modules(state_dict.weights);
  check_one_stack(torch.modules, state_dict.file);
  const std::vector<KerasModule> keras = keras_modules(specs);
  const auto layers = pair_modules(torch.modules, keras, specs);
  Transfer transfer(specs, state_dict);
  for (std::size_t i = 0; i < torch.modules.size(); ++i) {
    for (const auto& [name, part] : torch.modules[i].parts) {
      const KerasModule* layer = layers[i] ? &keras[*layers[i]] : nullptr;
      if (layer != nullptr && layer->parts.contains(name)) {
        transfer.take(name, part, layer->parts.at(name));
      } else {
        transfer.leave(part.name);
      }
    }
  }
  for (const std::string& name : torch.unknown) transfer.leave(name);
  return transfer.finish();
}

}  // namespace attn::weights
