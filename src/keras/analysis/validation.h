// Everything that is wrong with a text, and what will surprise.
#pragma once

#include <string>
#include <vector>

#include "attn/keras/options.h"
#include "attn/keras/problem.h"

namespace attn::keras {

/// What Model::validate does.
[[nodiscard]] std::vector<Problem> validate(const std::string& source, std::string text, const ReadOptions& options);

}  // namespace attn::keras
