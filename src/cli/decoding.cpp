#include "decoding.h"

#include "attn/base/dtype.h"

namespace attn::cli {

generate::LowerStep step_of(const keras::Model& model, const std::optional<std::string>& dtype,
                            const std::optional<std::string>& cache_dtype) {
  return [&model, dtype, cache_dtype](const generate::StepShape& shape) {
    keras::LowerOptions lower;
    lower.dtype = dtype;
    lower.decode.emplace();
    lower.decode->rows = shape.rows;
    lower.decode->count = shape.count;
    lower.decode->entries = shape.entries;
    lower.decode->capacity = shape.capacity;
    lower.decode->sources = shape.sources;
    lower.decode->every_position = shape.every_position;
    lower.decode->hidden = shape.hidden;
    lower.decode->encoder_entries = shape.encoder_entries;
    lower.decode->encoder_length = shape.encoder_length;
    lower.decode->reads_encoder = shape.reads_encoder;
    lower.decode->keras_hub_step = shape.keras_hub_step;
    if (cache_dtype) lower.decode->cache_dtype = dtype_of(*cache_dtype);
    return model.lower(lower);
  };
}

}  // namespace attn::cli
