#include "attn/plan/plan.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

#include "attn/base/error.h"
#include "attn/base/rng.h"
#include "attn/base/tensor.h"
#include "graphs.h"

using namespace attn;
using namespace attn::graph;
using namespace attn::plan;

namespace {

const Slot& slot(const Plan& plan, ValueId id) { return plan.slots[static_cast<std::size_t>(id)]; }

// Runs the plan with the ids of values in place of their numbers. Data that a step or an output reads from the arena
// must be the value that was written for it, not overwritten since.
void check_run(const Plan& plan) {
  const std::int64_t unit = kAlignment;
  std::vector<ValueId> arena(static_cast<std::size_t>(plan.arena_bytes / unit), kNone);
  std::vector<ValueId> prepared(static_cast<std::size_t>(plan.prepared_bytes / unit), kNone);
  std::vector<ValueId> content(plan.slots.size());  // for each value: itself, or the value that it is a view of
  std::iota(content.begin(), content.end(), 0);
  for (std::size_t i = 0; i < plan.graph.nodes.size(); ++i) {
    const auto is_here = [&](const auto& nodes) {
      return std::find(nodes.begin(), nodes.end(), static_cast<NodeId>(i)) != nodes.end();
    };
    const Node& node = plan.graph.nodes[i];
    if (is_here(plan.prepare) || is_here(plan.steps)) continue;
    content[static_cast<std::size_t>(node.outputs[0])] = content[static_cast<std::size_t>(node.inputs[0])];
  }
  const auto cells = [&](ValueId id, const auto& act) {
    const Slot& where = slot(plan, id);
    if (where.place != Place::arena && where.place != Place::prepared) return;
    REQUIRE(where.offset % unit == 0);
    for (std::int64_t at = where.offset; at < where.offset + where.bytes; at += unit) {
      act((where.place == Place::arena ? arena : prepared).at(static_cast<std::size_t>(at / unit)));
    }
  };
  const auto read = [&](ValueId id) {
    REQUIRE(slot(plan, id).place != Place::nowhere);
    cells(id, [&](const ValueId& cell) { REQUIRE(cell == content[static_cast<std::size_t>(id)]); });
  };
  const auto step = [&](NodeId id) {
    const Node& node = plan.graph.nodes[static_cast<std::size_t>(id)];
    for (const ValueId input : node.inputs) read(input);
    for (const ValueId output : node.outputs) cells(output, [&](ValueId& cell) { cell = output; });
  };
  for (const NodeId id : plan.prepare) step(id);
  for (int run = 0; run < 2; ++run) {
    for (const NodeId id : plan.steps) step(id);
    for (const Output& output : plan.graph.outputs) read(output.value);
    for (const Scores& scores : plan.graph.scores) read(scores.value);
  }
}

Plan checked_plan(const Graph& graph) {
  verify(graph);
  Plan plan = make_plan(graph);
  verify(plan.graph);
  check_run(plan);
  return plan;
}

}  // namespace

TEST_CASE("plan: nodes without a path to an output are removed") {
  Graph graph;
  Builder build(graph);
  const ValueId x = build.input("x", DType::float32, {2, 3});
  const ValueId dead = build.unary(UnaryFn::tanh, x);
  output(build, build.unary(UnaryFn::relu, x));
  const Plan plan = checked_plan(graph);
  CHECK(plan.steps.size() == 1);
  CHECK(slot(plan, dead).place == Place::nowhere);
  CHECK(slot(plan, x).place == Place::input);
  CHECK(plan.input_bytes == 24);
  CHECK(plan.arena_bytes == 64);
}

TEST_CASE("plan: values that depend only on weights and constants are computed once") {
  Graph graph;
  Builder build(graph);
  const ValueId x = build.input("x", DType::float32, {2, 8});
  const ValueId kernel = weight(build, "kernel", {4, 8});
  const ValueId turned = build.transpose(kernel, {1, 0});
  const ValueId scaled = build.binary(BinaryFn::multiply, turned, build.scalar_like(turned, 0.5));
  const ValueId y = build.apply(Linear{}, {x, scaled});
  output(build, y);
  output(build, scaled);
  const Plan plan = checked_plan(graph);
  CHECK(plan.prepare.size() == 2);
  CHECK(plan.steps.size() == 1);
  CHECK(slot(plan, kernel).place == Place::weight);
  CHECK(slot(plan, turned).place == Place::prepared);
  CHECK(slot(plan, scaled).place == Place::prepared);
  CHECK(slot(plan, y).place == Place::arena);
  CHECK(plan.weight_bytes == 4 * 8 * 4);
  CHECK(plan.prepared_bytes == 2 * 4 * 8 * 4);
}

TEST_CASE("plan: views share the bytes of their source and are not steps") {
  Graph graph;
  Builder build(graph);
  const ValueId x = build.input("x", DType::float32, {2, 1, 8});
  const ValueId flat = build.reshape(x, {16});
  const ValueId turned = build.transpose(x, {1, 0, 2});
  const ValueId sum = build.apply(Reduce{ReduceFn::sum, {0}}, {x});  // (1, 8)
  const ValueId squeezed = build.apply(Reduce{ReduceFn::max, {0}}, {sum});
  const ValueId moved = build.transpose(build.reshape(x, {2, 8}), {1, 0});
  for (const ValueId id : {flat, turned, squeezed, moved}) output(build, id);
  const Plan plan = checked_plan(graph);
  CHECK(plan.steps.size() == 2);  // the sum, and the transpose that moves data
  CHECK(slot(plan, flat).alias_of == x);
  CHECK(slot(plan, flat).place == Place::input);
  CHECK(slot(plan, turned).alias_of == x);
  CHECK(slot(plan, squeezed).alias_of == sum);
  CHECK(slot(plan, moved).alias_of == kNone);
}

TEST_CASE("plan: an output may be an input, a weight or a constant") {
  Graph graph;
  Builder build(graph);
  const ValueId x = build.input("x", DType::float32, {2});
  const ValueId w = weight(build, "w", {2});
  const ValueId c = build.scalar_like(x, 1.0);
  for (const ValueId id : {x, w, c}) output(build, id);
  const ValueId filled = build.apply(Fill{{3}, DType::float32, 2.0}, {});
  output(build, filled);
  const Plan plan = checked_plan(graph);
  CHECK(plan.steps.empty());
  CHECK(slot(plan, x).place == Place::input);
  CHECK(slot(plan, w).place == Place::weight);
  CHECK(slot(plan, c).place == Place::constant);
  CHECK(slot(plan, filled).place == Place::prepared);
}

TEST_CASE("plan: elementwise functions overwrite an input that is not read again") {
  Graph graph;
  Builder build(graph);
  const ValueId x = build.input("x", DType::float32, {2, 3});
  const ValueId a = build.unary(UnaryFn::relu, x);           // not over the caller's input
  const ValueId b = build.unary(UnaryFn::tanh, a);           // over a
  const ValueId c = build.binary(BinaryFn::subtract, x, b);  // a kernel may only overwrite its first input
  const ValueId d = build.binary(BinaryFn::add, x, c);       // an addition may be swapped
  const ValueId e = build.binary(BinaryFn::less, d, x);      // another dtype
  const ValueId f = build.apply(Select{}, {e, x, d});        // over d
  output(build, f);
  const Plan plan = checked_plan(graph);
  CHECK(slot(plan, a).alias_of == kNone);
  CHECK(slot(plan, b).alias_of == a);
  CHECK(slot(plan, c).alias_of == kNone);
  CHECK(slot(plan, d).alias_of == c);
  CHECK(slot(plan, e).alias_of == kNone);
  CHECK(slot(plan, f).alias_of == c);
}

TEST_CASE("plan: outputs, values that are still read, and broadcast inputs are never overwritten") {
  Graph graph;
  Builder build(graph);
  const ValueId x = build.input("x", DType::float32, {4, 1});
  const ValueId kept = build.unary(UnaryFn::relu, x);
  output(build, kept);
  const ValueId a = build.unary(UnaryFn::tanh, kept);
  const ValueId b = build.unary(UnaryFn::exponential, a);
  const ValueId c = build.binary(BinaryFn::add, a, b);  // a dies here
  // (1, 4) + (4, 1) broadcasts both inputs, so it must not overwrite c. The product of a view with itself may.
  const ValueId grid = build.binary(BinaryFn::add, build.reshape(c, {1, 4}), c);
  const ValueId flat = build.reshape(grid, {16});
  const ValueId twice = build.binary(BinaryFn::multiply, flat, flat);
  output(build, twice);
  const Plan plan = checked_plan(graph);
  CHECK(slot(plan, a).alias_of == kNone);
  CHECK(slot(plan, b).alias_of == kNone);
  CHECK(slot(plan, c).alias_of == a);
  CHECK(slot(plan, grid).alias_of == kNone);
  CHECK(slot(plan, twice).alias_of == grid);

  Graph same_size;
  Builder more(same_size);
  const ValueId y = more.unary(UnaryFn::relu, more.input("y", DType::float32, {1, 4}));
  const ValueId sum = more.binary(BinaryFn::add, y, more.reshape(y, {4}));  // the same bytes under another shape
  output(more, sum);
  CHECK(slot(checked_plan(same_size), sum).alias_of == kNone);
}

TEST_CASE("plan: random graphs run without one value overwriting another") {
  RandomStream random(2, "plan");
  const auto below = [&](std::size_t limit) { return static_cast<std::size_t>(random.bits() % limit); };
  for (int round = 0; round < 200; ++round) {
    Graph graph;
    Builder build(graph);
    std::vector<ValueId> ids{build.input("x", DType::float32, {4, 16}), weight(build, "w", {4, 16})};
    for (int i = 0; i < 30; ++i) {
      const ValueId a = ids[below(ids.size())], b = ids[below(ids.size())];
      switch (below(6)) {
        case 0:
          ids.push_back(build.unary(UnaryFn::tanh, a));
          break;
        case 1:
          ids.push_back(build.binary(BinaryFn::subtract, a, b));
          break;
        case 2:
          ids.push_back(build.binary(BinaryFn::add, a, b));
          break;
        case 3:
          ids.push_back(build.reshape(build.transpose(build.reshape(a, {64, 1}), {1, 0}), {4, 16}));
          break;
        case 4:
          ids.push_back(build.apply(Concat{0}, {a, b}));
          ids.back() = build.apply(Slice{{{std::nullopt, 4}, {}}}, {ids.back()});
          break;
        default:
          ids.push_back(build.apply(Softmax{SoftmaxKind::softmax, {1}}, {a}));
          break;
      }
      if (below(8) == 0) output(build, ids.back());
    }
    output(build, ids.back());
    checked_plan(graph);
  }
}

TEST_CASE("plan: unknown shapes are an internal error, and excessive sizes are rejected") {
  Graph unknown;
  Builder build(unknown);
  output(build, build.unary(UnaryFn::relu, build.input("x", DType::float32, {kUnknown})));
  CHECK_THROWS_AS(static_cast<void>(make_plan(unknown)), Error);

  Graph huge;
  Builder more(huge);
  output(more, more.unary(UnaryFn::relu, more.input("x", DType::float32, {Dim{1} << 61})));
  try {
    static_cast<void>(make_plan(huge));
    FAIL("it was accepted");
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::no_memory);
  }
}

TEST_CASE("plan: an allocation lasts from the step that writes it to the last step that reads it") {
  Graph graph;
  Builder build(graph);
  const ValueId x = build.input("x", DType::float32, {2, 8});
  begin_layer(build, "dense");
  const ValueId dense = build.apply(Linear{}, {x, build.transpose(weight(build, "kernel", {8, 8}), {1, 0})});
  end_layer(build, dense);
  const ValueId y = build.unary(UnaryFn::tanh, dense);  // over dense
  const ValueId sum = build.apply(Reduce{ReduceFn::sum, {1}, true}, {y});
  output(build, build.reshape(sum, {2}));
  const Plan plan = checked_plan(graph);
  const std::vector<Allocation> all = allocations(plan);
  REQUIRE(all.size() == 2);
  CHECK(all[0].value == dense);
  CHECK(all[0].bytes == 64);
  CHECK(all[0].first == 0);
  CHECK(all[0].last == 2);
  CHECK(all[1].value == sum);
  CHECK(all[1].bytes == 8);
  CHECK(all[1].first == 2);
  CHECK(all[1].last == 3);  // its view is the output
  CHECK(all[1].offset >= all[0].bytes);
}
