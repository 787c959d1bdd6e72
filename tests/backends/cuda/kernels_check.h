// Checks kernels against the reference under the tolerances of the operation table.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cases.h"
#include "kernels_bench.h"

namespace attn::test {

/// A case with its numbers and what must come out.
struct Question {
  Case row;
  std::vector<Tensor> inputs, expected;
  std::vector<std::vector<double>> allowed;  ///< the error of each element of each output
};
[[nodiscard]] Question question_of(const Case& row);
[[nodiscard]] Question question_of(const Case& row, std::vector<Tensor> inputs);

/// Runs a kernel and checks every number, and every byte beside them. Its name, or "" where there is none.
std::string check_kernel(const Question& question, const Setting& setting, std::string_view how);

/// Checks the plain and the fast kernel of a case on aligned and on unaligned memory, and in the memory of an input
/// where that is allowed. The name of the fast kernel for aligned memory, or "" where there is none.
std::string check_case(const Question& question);

}  // namespace attn::test
