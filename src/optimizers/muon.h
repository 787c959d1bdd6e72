// Muon's step of a matrix. Private to the module.
#pragma once

#include "attn/optimizers/settings.h"
#include "step.h"

namespace attn::optimizers {

/// The direction of a step, one number for each weight: the orthogonal matrix nearest to the momentum after the step,
/// as five steps of Newton and Schulz find it (keras/src/optimizers/muon.py). It changes nothing, and may take long:
/// throws Stopped. Defined, as the next one, for float, double, Float16 and BFloat16.
template <typename T>
void muon_direction(const Muon& rule, const Step<T>& step, T* direction);

/// Moves the weights in step.direction, and the momentum.
template <typename T>
void move_by_muon(const Muon& rule, const Step<T>& step);

}  // namespace attn::optimizers
