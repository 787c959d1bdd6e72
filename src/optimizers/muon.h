// Muon's step for a matrix. Private to the module.
#pragma once

#include "attn/optimizers/settings.h"
#include "step.h"

namespace attn::optimizers {

/// Computes the direction of a step, one element for each weight: the orthogonal matrix nearest to the updated
/// momentum, by five Newton–Schulz iterations (keras/src/optimizers/muon.py). Changes no state. May take long, and
/// throws Stopped. Defined, like move_by_muon, for float, double, Float16 and BFloat16.
template <typename T>
void muon_direction(const Muon& rule, const Step<T>& step, T* direction);

/// Updates the weights along step.direction, and the momentum.
template <typename T>
void move_by_muon(const Muon& rule, const Step<T>& step);

}  // namespace attn::optimizers
