// Checks the calls of a model that is partly invalid.
#include <algorithm>

#include "attn/base/text.h"
#include "classes/call.h"
#include "classes/custom_layer.h"
#include "model/functional.h"
#include "model/input_layer.h"
#include "model/model_lowering.h"
#include "model/structure.h"

namespace attn::keras {

void Functional::check_valid_parts(const Document& of_file) {
  const auto check = [&](const std::vector<TensorRef>& refs, const std::string& at) {
    for (const TensorRef& ref : refs)
      if (!is_wrong(ref.layer)) of_file.attempt([&] { (void)producer(ref, at); });
  };
  for (const Arg* ends : {&input_struct, &output_struct}) {
    std::vector<TensorRef> refs;
    collect_refs(*ends, refs);
    for (TensorRef& ref : refs)
      if (is_functional_member(ref.layer)) --ref.node;
    check(refs, pointer + (ends == &input_struct ? "/input_layers" : "/output_layers"));
  }
  for (const Layer* layer : members_) {
    for (const NodeSpec& node : layer->nodes) {
      std::vector<TensorRef> refs;
      collect_refs(node.args, refs);
      collect_refs(node.kwargs, refs);
      check(refs, node.pointer);
    }
  }
  check_calls(of_file);
}

void Functional::check_calls(const Document& of_file) {
  graph::Graph scratch;
  ModelLowering lowering(scratch, true);
  // The results of each member's calls; empty for a call with unknown results.
  std::vector<std::vector<std::optional<std::vector<TensorPtr>>>> results(members_.size());
  struct Waiting {
    std::size_t member = 0, call = 0;
    std::vector<TensorRef> reads;
  };
  std::vector<Waiting> waiting;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    Layer& layer = *members_[i];
    results[i].resize(std::max<std::size_t>(layer.nodes.size(), 1));
    if (is_wrong(layer.name)) continue;
    if (const auto* input = as_input(layer)) {
      results[i][0] = {input_tensor(lowering.builder(), *input, input->batch_shape)};
      continue;
    }
    for (std::size_t n = 0; n < layer.nodes.size(); ++n) {
      waiting.push_back({i, n, {}});
      collect_refs(layer.nodes[n].args, waiting.back().reads);
      collect_refs(layer.nodes[n].kwargs, waiting.back().reads);
    }
  }
  const auto known = [&](const TensorRef& ref) -> const std::vector<TensorPtr>* {
    const auto it = index_.find(ref.layer);
    if (it == index_.end()) return nullptr;
    const auto& calls = results[static_cast<std::size_t>(it->second)];
    if (ref.node < 0 || static_cast<std::size_t>(ref.node) >= calls.size()) return nullptr;
    const auto& call = calls[static_cast<std::size_t>(ref.node)];
    return call ? &*call : nullptr;
  };
  // Layers are usually in execution order, so a few rounds suffice.
  constexpr int kMostRounds = 100;
  for (int round = 0; round < kMostRounds; ++round) {
    const std::size_t count = waiting.size();
    std::erase_if(waiting, [&](const Waiting& next) {
      if (!std::all_of(next.reads.begin(), next.reads.end(), known)) return false;
      Layer& layer = *members_[next.member];
      if (as_custom(layer) != nullptr) return true;
      const NodeSpec& spec = layer.nodes[next.call];
      of_file.attempt([&] {
        const auto result_of = [&](const TensorRef& ref) -> Arg {
          const std::vector<TensorPtr>& outputs = *known(ref);
          if (static_cast<std::size_t>(ref.tensor) >= outputs.size())
            throw of_file.error(spec.pointer, false,
                                fmt::format("'{}' gives {} results in call {}, but result {} is requested",
                                            printable(ref.layer), outputs.size(), ref.node, ref.tensor));
          return outputs[static_cast<std::size_t>(ref.tensor)];
        };
        const Arg args = resolved(spec.args, result_of), kwargs = resolved(spec.kwargs, result_of);
        const std::vector<TensorPtr> outputs = tensors_of(lowering.apply(layer, args, kwargs));
        if (std::none_of(outputs.begin(), outputs.end(), is_unknown)) results[next.member][next.call] = outputs;
      });
      return true;
    });
    if (waiting.size() == count) break;
  }
}

}  // namespace attn::keras
