// What every layer of a pass gave, as files.
#pragma once

#include <span>
#include <string>

#include "attn/base/tensor.h"
#include "attn/graph/graph.h"
#include "attn/report/values.h"
#include "attn/run/session.h"

namespace attn::cli {

/// The file in a dump's folder that holds the arrays.
inline constexpr const char* kDumpArrays = "layers.npz";

/// Makes `folder` where it is not there and writes into it layers.npz, the inputs by name and then the layers' outputs
/// by path (run::layer_arrays), in the order of execution, and manifest.json, which tells what each array is and what
/// the pass was; it is there only while the arrays are those that it tells of. `graph` is as it was lowered, `session`
/// keeps the layers' outputs.
void write_dump(const std::string& folder, const graph::Graph& graph, std::span<const Tensor> inputs,
                const run::Session& session, const report::RunReport& report);

}  // namespace attn::cli
