// Finds all errors and warnings of a config.
#pragma once

#include <string>
#include <vector>

#include "attn/keras/options.h"
#include "attn/keras/problem.h"

namespace attn::keras {

/// Implements Model::validate.
[[nodiscard]] std::vector<Problem> validate(const std::string& source, std::string text, const ReadOptions& options);

}  // namespace attn::keras
