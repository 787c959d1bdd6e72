// What the views of a plan have in common.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attn/report/plan_report.h"
#include "attn/report/table.h"

namespace attn::report {

/// A result of a step.
struct PlanResult {
  graph::ValueId value = graph::kNone;
  std::int64_t bytes = 0;
  std::size_t stay = 0;            ///< index into PlanSteps::stays
  std::optional<int> in_place_of;  ///< the step whose result it is written over
};

struct PlanStep {
  const graph::Node* node = nullptr;
  std::string layer, class_name;  ///< "" for none; may hold anything
  std::string operation;          ///< "linear + relu"
  std::string kernel, why;        ///< as StepKernel has them; "" where nobody asked
  std::vector<PlanResult> results;
  std::vector<std::size_t> reads;  ///< stays
  std::int64_t live_bytes = 0;     ///< of the arena that are taken while it runs
};

/// How many operations of a kind became fewer, or more.
struct PlanChange {
  std::string operation;
  int count = 0;
};

struct PlanSteps {
  std::vector<plan::Stay> stays;
  std::vector<PlanStep> steps;
  std::int64_t peak_bytes = 0;      ///< the most of live_bytes
  int peak_step = 0;                ///< the first that has it
  std::int64_t unshared_bytes = 0;  ///< of all results, had each a place of its own
  int lowered = 0, views = 0, in_place = 0;
  int activations = 0, residuals = 0, packed = 0, products = 0;  ///< as plan_text tells them
  std::vector<PlanChange> removed, added;                        ///< besides those
  std::vector<std::pair<std::string, std::string>> idle;         ///< layers without a step: name and class
};

[[nodiscard]] PlanSteps steps_of(const PlanReport& report);

/// Is the result read behind the last step, as an output is?
[[nodiscard]] bool to_the_end(const plan::Stay& stay, const PlanSteps& plan);

/// A row per result of a step.
[[nodiscard]] Table steps_table(const PlanReport& report, const PlanSteps& plan);

/// What a stay is called, in lines: by the step that wrote it first.
[[nodiscard]] std::vector<std::string> title_of(const PlanReport& report, const PlanSteps& plan,
                                                const plan::Stay& stay);

}  // namespace attn::report
