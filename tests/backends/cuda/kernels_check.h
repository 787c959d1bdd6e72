// Checks kernels against the reference with the tolerances of the operation table.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cases.h"
#include "kernels_bench.h"

namespace attn::test {

/// A case with its inputs and expected results.
struct Question {
  Case row;
  std::vector<Tensor> inputs, expected;
  std::vector<std::vector<double>> allowed;  ///< the error of each element of each output
};
[[nodiscard]] Question question_of(const Case& row);
[[nodiscard]] Question question_of(const Case& row, std::vector<Tensor> inputs);

/// Runs a kernel and checks every number, and every byte around them. Returns its name, or "" if there is none.
std::string check_kernel(const Question& question, const Setting& setting, std::string_view how);

/// Checks the plain and the fast kernel of a case on aligned and on unaligned memory, and in place where that is
/// allowed. Returns the name of the fast kernel for aligned memory, or "" if there is none.
std::string check_case(const Question& question);

}  // namespace attn::test
