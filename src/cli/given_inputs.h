// The arrays that --input names.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "attn/base/tensor.h"
#include "attn/graph/graph.h"
#include "attn/keras/model.h"
#include "attn/report/values.h"

namespace attn::cli {

/// By the names of the model's inputs.
struct GivenInputs {
  std::map<std::string, Tensor> arrays;
  std::map<std::string, std::string> files;  ///< that they came from
};

/// `words` are FILE or NAME=FILE.
[[nodiscard]] GivenInputs read_inputs(const keras::Model& model, const std::vector<std::string>& words);

/// One row for each input of the graph.
[[nodiscard]] std::vector<report::InputReport> describe_inputs(const graph::Graph& graph, const GivenInputs& given);

}  // namespace attn::cli
