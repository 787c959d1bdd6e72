// The problems of a model, as text.
#pragma once

#include <string>
#include <vector>

#include "attn/keras/problem.h"
#include "attn/report/format.h"

namespace attn::report {

struct ProblemReport {
  std::string file;
  std::vector<keras::Problem> problems;
  [[nodiscard]] std::size_t errors() const;
  [[nodiscard]] std::size_t warnings() const { return problems.size() - errors(); }
};

/// table: a line for each problem in the format of compilers, "file:line:column: error: /pointer: …", and a line of
/// totals; markdown; json ("attn.validate/1"); csv: a record for each problem with severity, file, line, column,
/// pointer, message, did_you_mean
[[nodiscard]] std::string render(Format format, const ProblemReport& report);

}  // namespace attn::report
