#include "memory.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "attn/backends/cpu.h"
#include "attn/plan/plan.h"
#include "cases.h"
#include "runner.h"

namespace attn::test {
namespace {

TEST_CASE("memory: a kernel's record states at least the memory that the kernel holds") {
  for (const bool emulate_tiles : {false, true}) {
    const auto backend = backends::make_cpu_backend({.work_per_thread = 1.0, .emulate_tiles = emulate_tiles});
    for (const Case& row : all_cases()) {
      const graph::Graph graph = backend->optimize(graph_of(row));
      const plan::Plan plan = plan::make_plan(graph);
      const backends::CompileOptions options{.threads = 3};
      std::vector<Tensor> weights;
      const std::vector<Tensor> operands = draw(row);
      for (std::size_t i = 0; i < operands.size(); ++i)
        if (row.inputs[i].weight) weights.push_back(operands[i]);
      const std::int64_t told = backend->memory_needed(plan, options) - backends::cpu::kProgramBytes;
      const auto executable = backend->compile(plan, std::move(weights), options);
      const std::int64_t held = executable->memory_bytes() + plan.input_bytes;
      CHECK_MESSAGE(told >= held,
                    fmt::format("{}{}: told {}, held {}", row.name, emulate_tiles ? " on tiles" : "", told, held));
    }
  }
}

}  // namespace
}  // namespace attn::test
