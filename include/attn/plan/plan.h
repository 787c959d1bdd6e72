// From a graph to ordered work in one arena.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attn/graph/graph.h"

namespace attn::plan {

/// Where the bytes of a value live while a plan runs.
enum class Place : std::uint8_t {
  nowhere,   ///< never read: it was fused away or is dead
  input,     ///< the caller's
  weight,    ///< the bound weight's
  constant,  ///< the graph's
  prepared,  ///< computed once from weights and constants alone, before the first run
  arena,     ///< at `offset` in the arena
};

struct Slot {
  Place place = Place::nowhere;
  std::int64_t offset = 0;                    ///< bytes into the arena
  std::int64_t bytes = 0;
  graph::ValueId alias_of = graph::kNone;     ///< shares the bytes of this value (a reshape); resolved to the root
};

/// A graph with all shapes known, in the order it runs, with a place for every value. `prepare` are nodes that depend on
/// weights and constants alone and run once; `steps` run every time. Values whose lifetimes overlap never overlap in
/// the arena; outputs stay until the end of a run.
struct Plan {
  graph::Graph graph;
  std::vector<graph::NodeId> prepare;
  std::vector<graph::NodeId> steps;
  std::vector<Slot> slots;  ///< one per value
  std::int64_t arena_bytes = 0;
  std::int64_t prepared_bytes = 0;
  std::int64_t weight_bytes = 0;
  std::int64_t input_bytes = 0;
};

/// Plans `graph`: removes dead nodes, separates what can be prepared, finds lifetimes and places. The graph's shapes must
/// be known. Throws Error (no_memory) where a size passes kMaxSize.
[[nodiscard]] Plan make_plan(graph::Graph graph);

}  // namespace attn::plan
