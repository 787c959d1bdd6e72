// Schedules a graph and places its values in one arena.
#pragma once

#include <cstdint>
#include <vector>

#include "attn/graph/graph.h"
#include "attn/plan/bytes.h"

namespace attn::plan {

/// The memory of a value while a plan runs.
enum class Place : std::uint8_t {
  nowhere,   ///< the value is never computed: it was fused away or is dead
  input,     ///< the caller's memory
  weight,    ///< the bound weight
  constant,  ///< the graph's constant
  state,     ///< memory that persists between runs, shared by name with other plans of the model
  prepared,  ///< computed once, before the first run, only from weights and constants
  arena,     ///< the memory at `offset` in the arena
};

struct Slot {
  Place place = Place::nowhere;
  std::int64_t offset = 0;  ///< bytes into the arena, or into the prepared memory; a multiple of kAlignment
  std::int64_t bytes = 0;
  /// The value whose bytes this value shares, with the same place, offset and size; that value is no alias. An alias is
  /// a view (a reshape), or the result of a step that overwrites an input which no later step reads.
  graph::ValueId alias_of = graph::kNone;
};

/// A graph with all shapes known, in execution order, with a place for every value. `prepare` are nodes that depend
/// only on weights and constants and run once; `steps` run every time. Nodes that only view the bytes of their input
/// are in neither. Values whose lifetimes overlap never overlap in the arena; outputs and scores live until the end of
/// a run.
///
/// An output can be, or be a view of, an input, weight or constant, or be prepared: its slot's place shows that, and
/// alias_of names the value. No step writes it then. The runner reads it from there; for an input, the caller's array
/// must be kept until the next run.
///
/// The result of Append is the state that it writes to, under another id: an alias of it, with the node as a step.
///
/// A step overwrites an input only if its operation is Unary, Binary, Select or UnaryGrad and the two have the same
/// shape and dtype: an elementwise loop is then correct in place.
struct Plan {
  graph::Graph graph;
  std::vector<graph::NodeId> prepare;
  std::vector<graph::NodeId> steps;
  std::vector<Slot> slots;  ///< one slot per value
  std::int64_t arena_bytes = 0;
  std::int64_t prepared_bytes = 0;  ///< total bytes of the prepared values
  std::int64_t weight_bytes = 0;    ///< total bytes of the weights that are read
  std::int64_t input_bytes = 0;     ///< total bytes of all inputs
  std::int64_t state_bytes = 0;     ///< total bytes of all states
};

/// Plans `graph`: removes dead nodes, separates nodes that can be prepared, and determines lifetimes and places. The
/// graph's shapes must be known. Throws Error (no_memory) if a size exceeds kMaxSize.
[[nodiscard]] Plan make_plan(graph::Graph graph);

/// A range of the arena and the steps during which it is in use, from the one that writes it to the last that reads it.
/// All values that share the range count: views, and results that overwrite it.
struct Allocation {
  graph::ValueId value = graph::kNone;  ///< the value written first
  std::int64_t offset = 0, bytes = 0;
  int first = 0, last = 0;  ///< step numbers; the number of steps stands for the end of a run
};

/// Returns every allocation, ordered by first step.
[[nodiscard]] std::vector<Allocation> allocations(const Plan& plan);

}  // namespace attn::plan
