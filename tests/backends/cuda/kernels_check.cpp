#include "kernels_check.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "compare.h"
#include "tolerance.h"

namespace attn::test {
namespace {

bool is_empty(const Tensor& tensor) { return tensor.size() == 0; }

bool may_be_in_place(const graph::Op& op) {
  return std::holds_alternative<graph::Unary>(op) || std::holds_alternative<graph::Binary>(op) ||
         std::holds_alternative<graph::Select>(op);
}

}  // namespace

Question question_of(const Case& row, std::vector<Tensor> inputs) {
  Question question{row, std::move(inputs), {}, {}};
  question.expected = reference(row.op, question.inputs);
  question.allowed = tolerances(row, question.inputs, question.expected);
  return question;
}

Question question_of(const Case& row) { return question_of(row, draw(row)); }

std::string check_kernel(const Question& question, const Setting& setting, std::string_view how) {
  const Outcome outcome = run_kernel(question.row.op, question.inputs, setting);
  if (outcome.outputs.empty()) return "";
  const std::string what = fmt::format("{}, {}, shift {}, in place {}: {}", question.row.name, how, setting.shift,
                                       setting.in_place, outcome.kernel);
  CHECK_MESSAGE(outcome.problem.empty(), fmt::format("{}: {}", what, outcome.problem));
  CHECK_MESSAGE(outcome.fault.kind == cuda::Fault::none, what);
  REQUIRE(outcome.outputs.size() == question.expected.size());
  for (std::size_t o = 0; o < outcome.outputs.size(); ++o) {
    const auto problem = difference(question.expected[o], outcome.outputs[o], question.allowed[o]);
    CHECK_MESSAGE(!problem, fmt::format("{}, output {}: {}", what, o, problem.value_or("")));
  }
  return outcome.kernel;
}

std::string check_case(const Question& question) {
  if (std::ranges::all_of(question.expected, is_empty)) return "";  // nothing is launched
  std::vector<Setting> settings;
  for (const int shift : {0, 1}) settings.push_back({{}, shift, -1});
  if (may_be_in_place(question.row.op)) {
    for (std::size_t i = 0; i < question.inputs.size(); ++i) {
      const Tensor &input = question.inputs[i], &output = question.expected[0];
      if (input.shape() == output.shape() && input.dtype() == output.dtype()) {
        settings.push_back({{}, 0, static_cast<int>(i)});
      }
    }
  }
  std::string fast;
  for (Setting& setting : settings) {
    setting.make = [](const cuda::Step& step) { return cuda::make_plain(step); };
    CHECK_MESSAGE(!check_kernel(question, setting, "plain").empty(), question.row.name);
    if (std::ranges::any_of(question.inputs, is_empty)) continue;  // fast kernels are not selected
    setting.make = [](const cuda::Step& step) { return cuda::make_fast(step); };
    const std::string name = check_kernel(question, setting, "fast");
    if (setting.shift == 0 && setting.in_place < 0) fast = name;
  }
  return fast;
}

}  // namespace attn::test
