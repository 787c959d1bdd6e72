#include "attn/open/arrays.h"

#include <utility>

#include "attn/open/session.h"
#include "attn/open/weights_source.h"

namespace attn::open {

std::shared_ptr<const weights::Store> stored_arrays(std::span<const graph::WeightSpec> specs,
                                                    std::span<const Tensor> tensors, std::vector<NamedTensor> state) {
  auto out = std::make_shared<weights::Store>();
  out->file = "the weights in memory";
  out->naming = weights::Naming::store_path;
  for (std::size_t i = 0; i < specs.size(); ++i)
    out->weights.push_back({specs[i].store_path.empty() ? specs[i].path : specs[i].store_path, tensors[i]});
  out->state = std::move(state);
  return out;
}

ModelText in_memory(const ModelText& source, std::string config, std::shared_ptr<const weights::Store> arrays) {
  ModelText out{source.name, std::move(config), {}, std::nullopt, std::move(arrays)};
  out.options.input_shape = source.options.input_shape;
  out.options.as_keras_hub = source.options.as_keras_hub;
  out.options.tie_word_embeddings = source.options.tie_word_embeddings;
  return out;
}

weights::Store stored_weights_of(const LoadedModel& loaded, const Execution& execution, const Listener& listener) {
  if (loaded.arrays && !execution.weights) return *loaded.arrays;
  if (const std::optional<std::string>& file = execution.weights ? execution.weights : loaded.weights)
    return read_weights(*file, &loaded, listener).store;
  const std::vector<graph::WeightSpec> specs = loaded.model.weights();
  return *stored_arrays(specs, draw_weights(specs, execution.seed, execution.threads, listener));
}

}  // namespace attn::open
