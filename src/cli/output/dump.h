// Writes the outputs of every layer of a pass to files.
#pragma once

#include <span>
#include <string>

#include "attn/base/tensor.h"
#include "attn/graph/graph.h"
#include "attn/report/values.h"
#include "attn/run/session.h"

namespace attn::cli {

/// The file of the arrays in a dump's folder.
inline constexpr const char* kDumpArrays = "layers.npz";

/// Creates `folder` if it does not exist, and writes two files into it. The arrays file, layers.npz, has the inputs by
/// name, then the layers' outputs by path (run::layer_arrays), in the order of execution. The manifest, manifest.json,
/// describes each array and the pass; it exists only together with its arrays. `graph` is the lowered graph; `session`
/// has the layers' outputs.
void write_dump(const std::string& folder, const graph::Graph& graph, std::span<const Tensor> inputs,
                const run::Session& session, const report::RunReport& report);

}  // namespace attn::cli
