#include "analysis/validation.h"

#include <algorithm>
#include <tuple>

#include "analysis/model_warnings.h"
#include "attn/base/text.h"
#include "frontends/read_model.h"
#include "model/names.h"
#include "model/trace_masks.h"

namespace attn::keras {
namespace {

Problem as_warning(Problem problem) {
  problem.warning = true;
  return problem;
}

/// Returns the layer whose name a message begins with: "'dense' (Dense) …".
const Layer* find_quoted(Functional& model, const std::string& sentence) {
  const auto first = sentence.find('\''), last = sentence.find('\'', first + 1);
  if (first == std::string::npos || last == std::string::npos) return nullptr;
  return find_layer(model, sentence.substr(first + 1, last - first - 1));
}

}  // namespace

std::vector<Problem> validate(const std::string& source, std::string text, const ReadOptions& options) {
  std::vector<Problem> problems;
  try {
    const ReadModel read = read_model(source, std::move(text), options, &problems);
    read.document->collect(nullptr);
    if (read.expanded) read.expanded->collect(nullptr);
    const Document& file = read.file();
    for (const std::string& pointer : file.foreign_key_pointers())
      add_problem(as_warning(file.problem(pointer, true, "a key of another Keras version, ignored")), problems);
    find_model_warnings(*read.root, file, problems);
    if (Functional* model = read.model(); model != nullptr && model->connected) {
      for (const std::string& warning : trace_masks(*model).warnings) {
        const Layer* layer = find_quoted(*model, warning);
        add_problem(as_warning(layer != nullptr ? file.problem(layer->pointer, false, warning)
                                                : Problem{true, "", 0, 0, "", warning}),
                    problems);
      }
    }
  } catch (const Collected&) {  // the problems are already collected
  } catch (const Error& error) {
    if (error.code() != ExitCode::bad_input) throw;
    problems.push_back(problem_of(error));
  }
  const bool full = problems.size() >= kMostProblems;
  for (Problem& problem : problems)
    if (problem.file.empty()) problem.file = printable(source);
  const auto key = [](const Problem& problem) {
    return std::tie(problem.line, problem.column, problem.warning, problem.pointer, problem.message);
  };
  std::stable_sort(problems.begin(), problems.end(), [&](const auto& a, const auto& b) { return key(a) < key(b); });
  problems.erase(
      std::unique(problems.begin(), problems.end(), [&](const auto& a, const auto& b) { return key(a) == key(b); }),
      problems.end());
  if (full) {
    const std::string more = fmt::format("there may be more: reading stops after {} problems",
                                         with_commas(static_cast<std::int64_t>(kMostProblems)));
    problems.push_back({true, printable(source), 0, 0, "", more});
  }
  return problems;
}

}  // namespace attn::keras
