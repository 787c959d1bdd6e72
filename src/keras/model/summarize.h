// What model.summary() shows.
#pragma once

#include "attn/keras/summary.h"
#include "model/functional.h"

namespace attn::keras {

[[nodiscard]] Summary summarize(Functional& model);

}  // namespace attn::keras
