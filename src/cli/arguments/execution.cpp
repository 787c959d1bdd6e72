#include "arguments/execution.h"

#include "arguments/shared_options.h"

namespace attn::cli {

void add_execution(Options& options, open::Execution& execution) {
  add_input_shape(options, execution.input_shape);
  add_backend(options, execution.backend);
  add_weights(options, execution.weights);
  add_seed(options, execution.seed);
  add_keras_version(options, execution.keras_version);
  add_compat(options, execution.as_keras_hub);
  add_memory_limit(options, execution.memory_limit);
  const OptionGroupGuard group(options, OptionGroup::execution);
  options.flag("--skip-padding", execution.skip_padding,
               "skip positions that the padding mask hides; their outputs are 0");
  add_matmul_precision(options, execution.precision);
}

void add_forward(Options& options, open::Execution& execution, open::InputFiles& files) {
  add_inputs(options, files.inputs);
  add_images(options, files.images);
  add_batch(options, execution.batch);
  add_sequence_length(options, execution.sequence_length);
  add_device(options, execution.device);
  add_dtype_of_weights(options, execution.dtype);
  add_threads(options, execution.threads);
  add_execution(options, execution);
}

}  // namespace attn::cli
