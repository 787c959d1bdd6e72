// Common parts of the views of a plan.
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
  std::size_t allocation = 0;      ///< index into PlanSteps::allocations
  std::optional<int> in_place_of;  ///< the step whose result this result overwrites
};

struct PlanStep {
  const graph::Node* node = nullptr;
  std::string layer, class_name;  ///< name and class of the layer; "" if there is none; may contain any characters
  std::string operation;          ///< name of the operation: "linear + relu"
  std::string kernel, why;        ///< kernel and reason from StepKernel; "" if not requested
  std::vector<PlanResult> results;
  std::vector<std::size_t> reads;  ///< indices of the allocations that the step reads
  std::int64_t live_bytes = 0;     ///< used bytes of the arena while the step runs
};

/// The change in the number of operations of a kind.
struct PlanChange {
  std::string operation;
  int count = 0;
};

struct PlanSteps {
  std::vector<plan::Allocation> allocations;
  std::vector<PlanStep> steps;
  std::int64_t peak_bytes = 0;      ///< the maximum of live_bytes
  int peak_step = 0;                ///< the first step with peak_bytes
  std::int64_t unshared_bytes = 0;  ///< total bytes of all results without sharing of memory
  int lowered = 0, views = 0, in_place = 0;
  int activations = 0, residuals = 0, packed = 0, products = 0;  ///< counts that plan_text prints
  std::vector<PlanChange> removed, added;                        ///< all other changes
  std::vector<std::pair<std::string, std::string>> idle;         ///< name and class of the layers without a step
};

[[nodiscard]] PlanSteps steps_of(const PlanReport& report);

/// Returns whether the result is read after the last step, like an output.
[[nodiscard]] bool to_the_end(const plan::Allocation& allocation, const PlanSteps& plan);

/// Returns a row for each result of a step.
[[nodiscard]] Table steps_table(const PlanReport& report, const PlanSteps& plan);

/// Returns the lines that describe an allocation: its first writer.
[[nodiscard]] std::vector<std::string> title_of(const PlanReport& report, const PlanSteps& plan,
                                                const plan::Allocation& allocation);

}  // namespace attn::report
