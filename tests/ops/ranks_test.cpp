// Every operation in a graph that is parallelized over ranks: together they compute the same as one rank.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>

#include "../long.h"
#include "attn/backends/cpu.h"
#include "attn/backends/reference.h"
#include "attn/base/error.h"
#include "attn/communicators/launch.h"
#include "attn/communicators/open.h"
#include "attn/communicators/simulated.h"
#include "attn/parallel/buckets.h"
#include "attn/parallel/parallelize.h"
#include "attn/plan/plan.h"
#include "cases.h"
#include "compare.h"
#include "runner.h"
#include "tolerance.h"

namespace attn::test {
namespace {

using communicators::Communicator;
using parallel::Kind;

/// The ranks of mpirun, if it started this program; null if ranks are threads.
Communicator* processes() {
  static const communicators::Launch kLaunch = communicators::launched();
  static const auto kWorld = kLaunch.size > 1 ? communicators::open_mpi(kLaunch) : nullptr;
  return kWorld.get();
}

std::vector<int> numbers_of_ranks() {
  if (const Communicator* const world = processes()) return {world->size()};
  return runs_long() ? std::vector{2, 3, 4} : std::vector{2};
}

void run_ranks(int ranks, const std::function<void(Communicator&)>& body) {
  if (Communicator* const world = processes()) return body(*world);
  communicators::run_ranks(ranks, body);
}

Tensor copy_of(const Tensor& x) {
  Tensor out(x.dtype(), x.shape());
  std::copy_n(x.data(), x.bytes(), out.data());
  return out;
}

/// This rank's outputs of the case.
std::vector<Tensor> run_shared(const backends::Backend& backend, const Case& row, const std::vector<Tensor>& operands,
                               Kind kind, Communicator& world) {
  std::vector<Tensor> inputs, weights;
  for (std::size_t i = 0; i < operands.size(); ++i) (row.inputs[i].weight ? weights : inputs).push_back(operands[i]);
  const parallel::Parallel local = parallel::parallelize(graph_of(row), kind, world.rank(), world.size());
  graph::verify(local.graph);
  graph::Graph graph = parallel::bucket_sums(local.graph, 64);
  graph::verify(graph);
  graph = backend.optimize(std::move(graph));
  backends::CompileOptions options{1};
  options.ranks = &world;
  const auto executable =
      backend.compile(plan::make_plan(graph), parallel::local_weights(local, weights, world.rank()), options);
  executable->run(inputs);
  std::vector<Tensor> outputs;
  for (const graph::Output& output : graph.outputs) outputs.push_back(copy_of(executable->value(output.value)));
  return outputs;
}

/// Whether this many ranks can share the case.
bool is_shared(const Case& row, Kind kind, int ranks) {
  try {
    return !parallel::parallelize(graph_of(row), kind, 0, ranks).shared.empty();
  } catch (const Error& error) {
    REQUIRE(error.code() == ExitCode::usage);
    return false;
  }
}

/// Returns the first difference on any rank.
std::optional<std::string> problem_of(const backends::Backend& backend, const Case& row, Kind kind, int ranks) {
  const std::vector<Tensor> operands = draw(row);
  const std::vector<Tensor> expected = reference(row.op, operands);
  const auto allowed = tolerances(row, operands, expected);
  std::optional<std::string> problem;
  std::mutex mutex;
  run_ranks(ranks, [&](Communicator& world) {
    const std::vector<Tensor> got = run_shared(backend, row, operands, kind, world);
    const std::lock_guard lock(mutex);
    for (std::size_t o = 0; o < expected.size(); ++o)
      if (const auto one = difference(expected[o], got[o], allowed[o]))
        problem = fmt::format("{} by {} on {} ranks, output {} of rank {}: {}", row.name, name_of(kind), ranks, o,
                              world.rank(), *one);
  });
  return problem;
}

}  // namespace

TEST_CASE("ops: ranks that share an operation compute the result of one rank") {
  const auto loops = backends::make_reference_backend({.poison_arena = true});
  const auto kernels = backends::make_cpu_backend({.poison_arena = true});
  std::map<Kind, std::set<std::string_view>> shared;
  for (const Case& row : all_cases()) {
    if (graph::is_collective(row.op)) continue;
    if (std::ranges::any_of(row.inputs, [](const Operand& operand) { return operand.state; })) continue;
    for (const Kind kind : {Kind::data, Kind::tensor, Kind::sequence}) {
      for (const int ranks : numbers_of_ranks()) {
        if (!is_shared(row, kind, ranks)) continue;
        shared[kind].insert(graph::name_of(row.op));
        for (const backends::Backend* backend : {loops.get(), kernels.get()}) {
          if (backend == kernels.get() && !runs_long()) continue;
          std::optional<std::string> problem;
          CHECK_NOTHROW_MESSAGE(problem = problem_of(*backend, row, kind, ranks), row.name);
          CHECK_MESSAGE(!problem, problem.value_or(""));
        }
      }
    }
  }
  // Small arrays cannot be sharded over more than two ranks.
  const bool has_two = numbers_of_ranks().front() == 2;
  CHECK(shared[Kind::data].size() >= (has_two ? 110 : 90));
  CHECK(shared[Kind::sequence].size() >= (has_two ? 100 : 80));
  CHECK(shared[Kind::tensor].size() >= 2);  // a product and a lookup; other operations only follow them
}

}  // namespace attn::test
