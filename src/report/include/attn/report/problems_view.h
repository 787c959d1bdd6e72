// What is wrong with a model, as text.
#pragma once

#include <string>
#include <vector>

#include "attn/keras/problem.h"

namespace attn::report {

struct ProblemReport {
  std::string file;
  std::vector<keras::Problem> problems;
  [[nodiscard]] std::size_t errors() const;
  [[nodiscard]] std::size_t warnings() const { return problems.size() - errors(); }
};

/// A line per problem as compilers write it, "file:line:column: error: /pointer: …", and a line of totals.
[[nodiscard]] std::string problems_text(const ProblemReport& report);
[[nodiscard]] std::string problems_markdown(const ProblemReport& report);
/// One record per problem: severity, file, line, column, pointer, message, did_you_mean.
[[nodiscard]] std::string problems_csv(const ProblemReport& report);
/// "attn.validate/1"
[[nodiscard]] std::string problems_json(const ProblemReport& report);

}  // namespace attn::report
