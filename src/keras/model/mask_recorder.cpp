#include "model/mask_recorder.h"

#include <algorithm>

#include "attn/base/text.h"

namespace attn::keras {
namespace {

bool is_mask_argument(std::string_view name) { return name == "mask" || name.ends_with("_mask"); }

/// Returns the names in quotes: "'a'", "'a' and 'b'".
std::string quoted(const std::vector<std::string>& names) {
  std::string out;
  for (std::size_t i = 0; i < names.size(); ++i) {
    out += i == 0 ? "" : i + 1 == names.size() ? " and " : ", ";
    out += "'" + printable(names[i]) + "'";
  }
  return out;
}

}  // namespace

std::string MaskRecorder::origin(const TensorPtr& tensor) const {
  const auto found = origins_.find(tensor);
  return found == origins_.end() ? "" : found->second;
}

MaskedTensor MaskRecorder::described(const TensorPtr& tensor) const {
  MaskedTensor out{origin(tensor), std::nullopt};
  if (tensor->mask) out.mask = graph_.value(*tensor->mask).shape;
  return out;
}

std::size_t MaskRecorder::warn(const std::string& text, bool is_due) {
  const auto [said, is_new] = said_.emplace(text, warnings_.size());
  if (is_new) warnings_.push_back({text, is_due});
  warnings_[said->second].is_due = warnings_[said->second].is_due || is_due;
  return said->second;
}

void MaskRecorder::finish() {
  for (const Warning& warning : warnings_)
    if (warning.is_due) trace_.warnings.push_back(warning.text);
}

MaskRecorder::Call MaskRecorder::begin(const Layer& layer, const BoundArguments& bound, const Arg& args,
                                       const Arg& kwargs) {
  MaskRow row;
  row.name = layer.name;
  row.class_name = layer.class_name();
  row.level = level_;
  row.call = calls_[scope_ + layer.name]++;

  Call call;
  call.row = trace_.rows.size();
  call.first_node = graph_.nodes.size();
  const auto read = [&](const std::string& name, const Arg& arg) {
    for (const TensorPtr& tensor : tensors_of(arg)) {
      if (is_mask_argument(name)) {
        call.arguments.emplace_back(name, tensor->id);
        call.masks.push_back(tensor->id);
        continue;
      }
      row.inputs.push_back(described(tensor));
      call.read.push_back(tensor);
      call.masked.push_back(tensor->mask.has_value());
      if (tensor->mask) {
        call.masks.push_back(*tensor->mask);
        continue;
      }
      if (layer.is_model()) continue;  // the layers of the model read the tensor, in rows of their own
      if (const auto lost = losses_.find(tensor); lost != losses_.end())
        call.losses.insert(lost->second.begin(), lost->second.end());
      if (const auto taken = taken_.find(tensor); taken != taken_.end())
        call.losses.insert(warn(
            fmt::format("'{}' removed the mask of the output of '{}', so '{}' ({}) reads it without one",
                        printable(taken->second), printable(origin(tensor)), printable(layer.name), row.class_name),
            false));
    }
  };
  const auto names = layer.arguments();
  const ArgList& list = *args.as<ArgList>();
  for (std::size_t i = 0; i < list.size() && i < names.size(); ++i) read(std::string(names[i]), list[i]);
  for (const auto& [name, value] : *kwargs.as<ArgDict>()) read(name, value);
  // The masks of the inputs, as far as they are passed as arguments.
  for (const auto& [name, value] : bound) {
    if (!is_mask_argument(name)) continue;
    for (const TensorPtr& tensor : tensors_of(value))
      if (std::find(call.arguments.begin(), call.arguments.end(), std::pair(name, tensor->id)) == call.arguments.end())
        call.arguments.emplace_back(name, tensor->id);
  }
  call.from_scratch = call.masks.empty();
  trace_.rows.push_back(std::move(row));
  if (layer.is_model()) {
    ++level_;
    scope_ += layer.name + "/";
  }
  return call;
}

void MaskRecorder::computed(const Call& call, bool uses_masks) {
  MaskRow& row = trace_.rows[call.row];
  const auto is_read = [&](graph::ValueId mask) {
    for (std::size_t i = call.first_node; i < graph_.nodes.size(); ++i) {
      const auto& inputs = graph_.nodes[i].inputs;
      if (std::find(inputs.begin(), inputs.end(), mask) != inputs.end()) return true;
    }
    return false;
  };
  for (const auto& [name, mask] : call.arguments)
    if (std::find(row.uses.begin(), row.uses.end(), name) == row.uses.end() && (uses_masks || is_read(mask)))
      row.uses.push_back(name);
  if (row.uses.empty() && std::any_of(call.masks.begin(), call.masks.end(), is_read)) row.uses.emplace_back("inputs");
}

void MaskRecorder::end(Call& call, const Layer& layer, const std::vector<TensorPtr>& outputs) {
  if (layer.is_model()) {
    --level_;
    scope_.resize(scope_.size() - layer.name.size() - 1);
  }
  MaskRow& row = trace_.rows[call.row];
  if (layer.is_model()) row.uses.clear();  // the layers of the model use the masks, in rows of their own
  for (const TensorPtr& output : outputs) {
    // A layer may return its input, and a model the result of a layer.
    if (!origins_.contains(output) || layer.is_model()) origins_[output] = layer.name;
    row.outputs.push_back(described(output));
    row.outputs.back().of = layer.name;
    if (!output->mask) continue;
    const bool known = std::find(call.masks.begin(), call.masks.end(), *output->mask) != call.masks.end();
    (call.from_scratch ? row.makes : known ? row.keeps : row.merges) = true;
  }
  for (std::size_t i = 0; i < call.read.size(); ++i) {
    if (!call.masked[i] || call.read[i]->mask) continue;
    row.takes_off = true;
    taken_.emplace(call.read[i], layer.name);
  }
  const bool out = row.makes || row.keeps || row.merges;
  row.drops = !call.from_scratch && !out && row.uses.empty() && !layer.is_model();
  warn_of_loss(row, layer, call);
  if (!layer.is_model()) follow_losses(row, layer, call, outputs);
}

/// Propagates a loss from the inputs of a call to its results, until a call uses a mask, or would use one but has none.
void MaskRecorder::follow_losses(const MaskRow& row, const Layer& layer, const Call& call,
                                 const std::vector<TensorPtr>& outputs) {
  if (!row.uses.empty()) return;
  const auto names = layer.arguments();
  if (std::any_of(names.begin(), names.end(), is_mask_argument)) {
    // A loss of this call is propagated to its results.
    for (const std::size_t loss : call.losses) warnings_[loss].is_due = true;
    return;
  }
  for (const TensorPtr& output : outputs)
    if (!output->mask) losses_[output].insert(call.losses.begin(), call.losses.end());
}

void MaskRecorder::warn_of_loss(const MaskRow& row, const Layer& layer, Call& call) {
  std::vector<std::string> with, without;
  for (const MaskedTensor& input : row.inputs) {
    auto& names = input.mask ? with : without;
    if (std::find(names.begin(), names.end(), input.of) == names.end()) names.push_back(input.of);
  }
  const std::string what = fmt::format("'{}' ({})", printable(row.name), row.class_name);
  if (row.drops && !layer.is_operation() && !layer.supports_masking()) {
    warn(fmt::format("{} does not support masks: that of {} ends there{}", what, quoted(with),
                     layer.follows_keras2() ? "" : ", and Keras warns"),
         true);
  } else if (row.drops) {
    const std::string reason = layer.is_operation() ? ", as all operations do"
                               : without.empty()    ? ""
                                                    : fmt::format(", because {} has none", quoted(without));
    call.losses.insert(warn(fmt::format("{} silently drops the mask of {}{}", what, quoted(with), reason), false));
  } else if (row.merges && layer.info->keeps_unmasked && !with.empty() && !without.empty() && !layer.follows_keras2()) {
    const Shape in = graph_.value(call.read.front()->id).shape;
    const Shape whole =
        layer.node_shapes.empty() || layer.node_shapes.front().empty() ? in : layer.node_shapes.front().front();
    if (whole[-1] != in[-1])
      warn(fmt::format("{} keeps every step of {}, because {} has no mask", what, quoted(with), quoted(without)), true);
  }
}

}  // namespace attn::keras
