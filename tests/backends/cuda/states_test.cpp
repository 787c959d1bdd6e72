// States on the GPU: their place, their writers and their memory.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "attn/backends/backend.h"
#include "attn/backends/reference.h"
#include "attn/base/error.h"
#include "attn/plan/plan.h"
#include "runtime.h"

extern "C" attn::backends::Backend* attn_open_backend(int index);

namespace attn::test {
namespace {

using backends::Backend;
using graph::ValueId;
using simt::machine;

constexpr Dim kRows = 6;

std::unique_ptr<Backend> open() { return std::unique_ptr<Backend>(attn_open_backend(0)); }

/// Appends `rows` rows to a cache of one head and two columns, and attends to the filled rows. The inputs are the rows
/// (1, rows, 1, 2), the position, the length and the sources (1, kRows).
graph::Graph step_of(Dim rows) {
  graph::Graph graph;
  graph::Builder build(graph);
  graph.layers.push_back({"decoder", "Decoder", {}});
  build.set_layer(0);
  const ValueId x = build.input("x", DType::float32, {1, rows, 1, 2});
  const ValueId position = build.input("position", DType::int32, {});
  const ValueId length = build.input("length", DType::int32, {});
  const ValueId sources = build.input("sources", DType::int32, {1, kRows});
  const ValueId cache = build.state("cache", DType::float32, {1, 1, kRows, 2});
  const ValueId filled = build.apply(graph::Append{}, {cache, x, position});
  graph::CachedAttention attention;
  attention.sources = true;
  graph.outputs.push_back({"output_0", build.apply(attention, {x, filled, filled, length, sources})});
  return graph;
}

std::vector<Tensor> inputs_of(Dim rows, double number, int position, int length, int source = 0) {
  std::vector<Tensor> inputs{Tensor(DType::float32, {1, rows, 1, 2}), Tensor(DType::int32, {}),
                             Tensor(DType::int32, {}), Tensor(DType::int32, {1, kRows})};
  for (std::int64_t i = 0; i < inputs[0].size(); ++i) inputs[0].set(i, number);
  inputs[1].set(0, position);
  inputs[2].set(0, length);
  inputs[3].set(1, source);
  return inputs;
}

std::vector<double> numbers(const Tensor& x) {
  std::vector<double> result;
  for (std::int64_t i = 0; i < x.size(); ++i) result.push_back(x.at(i));
  return result;
}

/// The words of the error of a run.
std::string error_of(const Backend& backend, Dim rows, const std::vector<Tensor>& inputs) {
  const auto executable = backend.compile(plan::make_plan(step_of(rows)), {}, {});
  try {
    executable->run(inputs);
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::bad_input);
    return error.what();
  }
  return "";
}

TEST_CASE("cuda states: states start at zero, and one executable continues where another stopped") {
  const auto backend = open();
  const auto store = backend->make_store({});
  backends::CompileOptions options;
  options.store = store;
  const auto two = backend->compile(plan::make_plan(step_of(2)), {}, options);
  CHECK(numbers(store->state("cache")) == std::vector<double>(12, 0.0));
  two->run(inputs_of(2, 3.0, 0, 2));
  // A later compilation runs a warm-up pass over zeros, and leaves the state unchanged.
  const auto one = backend->compile(plan::make_plan(step_of(1)), {}, options);
  CHECK(numbers(store->state("cache")) == std::vector<double>{3, 3, 3, 3, 0, 0, 0, 0, 0, 0, 0, 0});
  one->run(inputs_of(1, 5.0, 2, 3));
  CHECK(numbers(store->state("cache")) == std::vector<double>{3, 3, 3, 3, 5, 5, 0, 0, 0, 0, 0, 0});
  two->run(inputs_of(2, 7.0, 4, 6));
  CHECK(numbers(store->state("cache")) == std::vector<double>{3, 3, 3, 3, 5, 5, 0, 0, 7, 7, 7, 7});
}

TEST_CASE("cuda states: a state is known by its name and overwritten only by its own type") {
  const auto backend = open();
  const auto store = backend->make_store({});
  backends::CompileOptions options;
  options.store = store;
  const auto executable = backend->compile(plan::make_plan(step_of(1)), {}, options);
  Tensor value(DType::float32, {1, 1, kRows, 2});
  value.set(11, 4.0);
  store->set_state("cache", value);
  CHECK(numbers(store->state("cache")) == numbers(value));
  CHECK_THROWS_AS(store->set_state("cache", Tensor(DType::float16, {1, 1, kRows, 2})), Error);
  CHECK_THROWS_AS(store->set_state("cache", Tensor(DType::float32, {12})), Error);
  CHECK_THROWS_AS((void)store->state("other"), Error);
  graph::Graph other;
  graph::Builder build(other);
  other.outputs.push_back(
      {"output_0", build.apply(graph::Unary{graph::UnaryFn::negative}, {build.state("cache", DType::float32, {3})})});
  CHECK_THROWS_AS((void)backend->compile(plan::make_plan(other), {}, options), Error);
  options.store = backends::make_reference_backend()->make_store({});
  CHECK_THROWS_AS((void)backend->compile(plan::make_plan(step_of(1)), {}, options), Error);
}

TEST_CASE("cuda states: an index out of range has the reference's message, and nothing is written after it") {
  const auto backend = open();
  const auto reference = backends::make_reference_backend();
  struct Wrong {
    Dim rows;
    int position, length, source;
  };
  for (const Wrong& it : {Wrong{1, 6, 3, 0}, Wrong{2, 5, 3, 0}, Wrong{1, -1, 3, 0}, Wrong{1, 0, 7, 0},
                          Wrong{2, 0, 1, 0}, Wrong{1, 0, -4, 0}, Wrong{1, 2, 3, 1}, Wrong{1, 2, 3, -1}}) {
    const auto inputs = inputs_of(it.rows, 1.0, it.position, it.length, it.source);
    const std::string expected = error_of(*reference, it.rows, inputs);
    CHECK(!expected.empty());
    CHECK(error_of(*backend, it.rows, inputs) == expected);
  }
  const auto store = backend->make_store({});
  backends::CompileOptions options;
  options.store = store;
  const auto executable = backend->compile(plan::make_plan(step_of(2)), {}, options);
  CHECK_THROWS_AS(executable->run(inputs_of(2, 1.0, 5, 6)), Error);
  CHECK(numbers(store->state("cache")) == std::vector<double>(12, 0.0));
  executable->run(inputs_of(2, 1.0, 4, 6));
  CHECK(numbers(store->state("cache")) == std::vector<double>{0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1});
}

TEST_CASE("cuda states: executables share each state, and the last one frees it") {
  const auto before = machine().used_bytes;
  {
    const auto backend = open();
    const auto store = backend->make_store({});
    backends::CompileOptions options;
    options.store = store;
    const auto compiled = [&] {
      graph::Graph graph;
      graph::Builder build(graph);
      const ValueId position = build.input("position", DType::int32, {});
      const ValueId x = build.input("x", DType::float32, {1, 1, 1, 64});
      const ValueId cache = build.state("cache", DType::float32, {1, 1, 100000, 64});
      (void)build.apply(graph::Append{}, {cache, x, position});
      return backend->compile(plan::make_plan(graph), {}, options);
    };
    constexpr std::int64_t kBytes = std::int64_t{100000} * 64 * 4;
    const auto empty = machine().used_bytes;
    const auto first = compiled();
    const auto with_one = machine().used_bytes;
    CHECK(with_one - empty > kBytes);
    CHECK(first->memory_bytes() > kBytes);
    const auto second = compiled();
    CHECK(machine().used_bytes - with_one < kBytes);
    // An existing state needs no memory; a new one is priced before anything is allocated.
    const std::int64_t total = machine().total_bytes;
    machine().total_bytes = machine().used_bytes + (std::int64_t{34} << 20);
    machine().total_bytes = std::max(machine().total_bytes, machine().used_bytes + kBytes);
    CHECK_NOTHROW((void)compiled());
    options.store = nullptr;
    const auto allocations = machine().allocations;
    machine().total_bytes = machine().used_bytes + kBytes / 2;
    CHECK_THROWS_AS((void)compiled(), Error);
    CHECK(machine().allocations == allocations);
    machine().total_bytes = total;
  }
  CHECK(machine().used_bytes == before);
}

}  // namespace
}  // namespace attn::test
