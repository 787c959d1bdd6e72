#include "attn/keras/problem.h"

namespace attn::keras {
namespace {

std::string text_of(const Problem& problem) {
  std::string out;
  if (!problem.file.empty()) out += problem.file + ":";
  if (problem.line > 0) out += fmt::format("{}:{}:", problem.line, problem.column);
  if (!out.empty()) out += ' ';
  if (!problem.pointer.empty()) out += problem.pointer + ": ";
  return out + problem.message;
}

}  // namespace

ConfigError::ConfigError(Problem problem)
    : Error(ExitCode::bad_input, text_of(problem)), problem_(std::move(problem)) {}

Problem problem_of(const Error& error) {
  if (const auto* placed = dynamic_cast<const ConfigError*>(&error)) return placed->problem();
  Problem problem;
  problem.message = error.what();
  return problem;
}

}  // namespace attn::keras
