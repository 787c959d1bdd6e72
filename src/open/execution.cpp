#include "attn/open/execution.h"

namespace attn::open {

bool is_quantization(const std::optional<std::string>& dtype) {
  return dtype && (*dtype == "int8" || *dtype == "int4" || dtype->starts_with("int4:"));
}

ReadingOptions Execution::reading() const {
  return {input_shape, keras_version, as_keras_hub, is_quantization(dtype) ? dtype : std::nullopt};
}

}  // namespace attn::open
