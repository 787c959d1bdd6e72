// From a graph to ordered work in one arena.
#pragma once

#include <cstdint>
#include <vector>

#include "attn/graph/graph.h"
#include "attn/plan/bytes.h"

namespace attn::plan {

/// Where the bytes of a value live while a plan runs.
enum class Place : std::uint8_t {
  nowhere,   ///< never read: it was fused away or is dead
  input,     ///< the caller's
  weight,    ///< the bound weight's
  constant,  ///< the graph's
  state,     ///< memory that lives between runs, shared by name with other plans of the model
  prepared,  ///< computed once from weights and constants alone, before the first run
  arena,     ///< at `offset` in the arena
};

struct Slot {
  Place place = Place::nowhere;
  std::int64_t offset = 0;  ///< bytes into the arena, or into the prepared memory; a multiple of kAlignment
  std::int64_t bytes = 0;
  /// Shares the bytes of this value, which is no alias itself: place, offset and bytes are the same. It is a view (a
  /// reshape), or the result of a step that writes over an input which nobody reads later.
  graph::ValueId alias_of = graph::kNone;
};

/// A graph with all shapes known, in the order it runs, with a place for every value. `prepare` are nodes that depend
/// on weights and constants alone and run once; `steps` run every time. Nodes that only view the bytes of their input
/// are in neither. Values whose lifetimes overlap never overlap in the arena; outputs and scores stay until the end of
/// a run.
///
/// An output can be, or be a view of, an input, weight or constant, or be prepared: the place of its slot says so and
/// alias_of names the value. Then no step writes it. Whoever runs the plan reads it from there; for an input that means
/// to keep the caller's array until the next run.
///
/// What Append gives is the state it writes to, under another id: an alias of it, and the node a step.
///
/// A step writes over an input only where its operation is Unary, Binary, Select or UnaryGrad and the two have one
/// shape and dtype: a loop over the elements is right as it is.
struct Plan {
  graph::Graph graph;
  std::vector<graph::NodeId> prepare;
  std::vector<graph::NodeId> steps;
  std::vector<Slot> slots;  ///< one per value
  std::int64_t arena_bytes = 0;
  std::int64_t prepared_bytes = 0;  ///< memory for the prepared values
  std::int64_t weight_bytes = 0;    ///< of the weights that are read
  std::int64_t input_bytes = 0;     ///< of all inputs
  std::int64_t state_bytes = 0;     ///< of all states
};

/// Plans `graph`: removes dead nodes, separates what can be prepared, finds lifetimes and places. The graph's shapes
/// must be known. Throws Error (no_memory) where a size passes kMaxSize.
[[nodiscard]] Plan make_plan(graph::Graph graph);

/// Bytes of the arena that are taken from the step that writes them to the last that reads them, by whatever shares
/// them: views, and what is written over them.
struct Stay {
  graph::ValueId value = graph::kNone;  ///< the one that was written first
  std::int64_t offset = 0, bytes = 0;
  int first = 0, last = 0;  ///< numbers of steps; as many as there are steps: to the end of a run
};

/// Every stay, by first step.
[[nodiscard]] std::vector<Stay> stays(const Plan& plan);

}  // namespace attn::plan
