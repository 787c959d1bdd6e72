// Muon's step of a matrix. Private to the room.
#pragma once

#include "attn/optimizers/settings.h"
#include "step.h"

namespace attn::optimizers {

/// By the orthogonal matrix nearest to the momentum, as five steps of Newton and Schulz find it
/// (keras/src/optimizers/muon.py).
void move_by_muon(const Muon& rule, const Step& step);

}  // namespace attn::optimizers
