// The slot variables of a rule, in the order in which Keras makes them. Private to the module.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "attn/optimizers/settings.h"
#include "attn/optimizers/variable.h"

namespace attn::optimizers {

/// Returns whether Muon updates the variable by Adam.
[[nodiscard]] bool uses_adam(const Muon& muon, const Variable& variable);

enum class SlotKind : std::uint8_t { average, accumulator, rule };

/// A slot, which has the dtype of its variable.
struct Slot {
  SlotKind kind;
  std::size_t variable;  ///< index of the variable
  const char* name;      ///< name of the slot: "momentum"
  Shape shape;
  double value = 0.0;  ///< initial value of all elements
};

/// Calls `slot(const Slot&)` for each slot, and `loose(variable or nothing, dtype)` for each scalar that Keras creates
/// without registering it with the optimizer, so that LossScaleOptimizer never saves it.
template <typename AddSlot, typename AddLoose>
void visit_slots(const Settings& settings, const std::vector<Variable>& variables, AddSlot slot, AddLoose loose) {
  const auto for_all = [&](auto make) {
    for (std::size_t n = 0; n < variables.size(); ++n) make(n);
  };
  const auto own = [&](std::size_t n, const char* name, double value = 0.0) {
    slot(Slot{SlotKind::rule, n, name, variables[n].shape, value});
  };
  const auto moments = [&](const char* first, const char* second, double value = 0.0) {
    for_all([&](std::size_t n) {
      own(n, first, value);
      own(n, second);
    });
  };
  if (settings.use_ema)
    for_all([&](std::size_t n) { slot(Slot{SlotKind::average, n, "average", variables[n].shape}); });
  if (settings.gradient_accumulation_steps)
    for_all([&](std::size_t n) { slot(Slot{SlotKind::accumulator, n, "gradient_accumulator", variables[n].shape}); });
  const auto& rule = settings.rule;
  if (const auto* sgd = std::get_if<SGD>(&rule)) {
    if (sgd->momentum != 0.0) for_all([&](std::size_t n) { own(n, "momentum"); });
  } else if (const auto* adam = std::get_if<Adam>(&rule)) {
    moments("momentum", "velocity");
    if (adam->amsgrad) for_all([&](std::size_t n) { own(n, "velocity_hat"); });
  } else if (std::holds_alternative<Adamax>(rule)) {
    moments("momentum", "norm");
  } else if (std::holds_alternative<Nadam>(rule)) {
    moments("momentum", "velocity");
    loose(std::nullopt, variables.empty() ? DType::float32 : variables.front().dtype);
  } else if (std::holds_alternative<Lamb>(rule) || std::holds_alternative<ScheduleFreeAdamW>(rule)) {
    moments("momentum", "velocity");
  } else if (const auto* rms = std::get_if<RMSprop>(&rule)) {
    for_all([&](std::size_t n) { own(n, "velocity"); });
    if (rms->momentum > 0.0) for_all([&](std::size_t n) { own(n, "momentum"); });
    if (rms->centered) for_all([&](std::size_t n) { own(n, "average_gradient"); });
  } else if (const auto* adagrad = std::get_if<Adagrad>(&rule)) {
    for_all([&](std::size_t n) { own(n, "accumulator", adagrad->initial_accumulator_value); });
  } else if (std::holds_alternative<Adadelta>(rule)) {
    moments("accumulated_grad", "accumulated_delta_var");
  } else if (const auto* ftrl = std::get_if<Ftrl>(&rule)) {
    moments("accumulator", "linear", ftrl->initial_accumulator_value);
  } else if (std::holds_alternative<Lion>(rule)) {
    for_all([&](std::size_t n) { own(n, "momentum"); });
  } else if (std::holds_alternative<Adafactor>(rule)) {
    for_all([&](std::size_t n) {
      const Shape& shape = variables[n].shape;
      const int rank = shape.rank();
      if (rank < 2) {  // the slots are unused, but Keras's files have them
        loose(n, DType::int32);
        loose(n, DType::int32);
      } else {
        Shape columns = shape.slice(0, rank - 2);
        columns.push_back(shape.back());
        slot(Slot{SlotKind::rule, n, "r", shape.slice(0, rank - 1)});
        slot(Slot{SlotKind::rule, n, "c", columns});
      }
      own(n, "velocity");
    });
  } else if (const auto* muon = std::get_if<Muon>(&rule)) {
    for_all([&](std::size_t n) {
      own(n, "momentum");
      if (uses_adam(*muon, variables[n])) own(n, "velocity");
    });
  }
}

}  // namespace attn::optimizers
