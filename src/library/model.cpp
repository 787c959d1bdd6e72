#include "attn/keras/model.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "attn/attn.h"
#include "attn/backends/precision.h"
#include "attn/base/text.h"
#include "attn/library/layer_graph.h"
#include "attn/open/memory.h"
#include "attn/open/model.h"
#include "attn/open/session.h"
#include "attn/open/texts.h"
#include "attn/open/weights.h"
#include "attn/report/plot.h"
#include "attn/report/summary.h"
#include "attn/run/output_names.h"
#include "attn/weights/bind.h"
#include "generator_parts.h"
#include "model_parts.h"
#include "runner_parts.h"
#include "trainer_parts.h"

namespace attn {
namespace {

backends::MatmulPrecision precision_of(const std::string& name) {
  using enum backends::MatmulPrecision;
  for (const backends::MatmulPrecision precision : {highest, high, medium})
    if (name_of(precision) == name) return precision;
  throw bad_usage("matmul_precision '{}': expected highest, high or medium", printable(name)).about("matmul_precision");
}

/// `is_open`: a size may be kUnknown.
void expect_sizes(const char* field, const Shape& shape, bool is_open) {
  if (std::ranges::any_of(shape, [&](Dim size) { return size < 0 && !(is_open && size == kUnknown); }))
    throw bad_usage("{} {}: expected sizes from 0 on", field, shape.str()).about(field);
}

open::ModelText with_options(open::ModelText text, const OpenOptions& options) {
  text.options.input_shape = options.input_shape;
  if (options.input_shape) expect_sizes("input_shape", *options.input_shape, true);
  if (options.keras_version) {
    text.options.keras_version = keras::version_of(*options.keras_version);
    if (!text.options.keras_version)
      throw bad_usage("keras_version '{}': expected a version, as in 3.15", printable(*options.keras_version))
          .about("keras_version");
  }
  if (options.compat != "none" && options.compat != "keras-hub")
    throw bad_usage("compat '{}': expected none or keras-hub", printable(options.compat)).about("compat");
  text.options.as_keras_hub = options.compat == "keras-hub";
  return text;
}

}  // namespace

open::ReadingOptions reading_of(const open::ModelText& text) {
  return {text.options.input_shape, text.options.keras_version, text.options.as_keras_hub, std::nullopt};
}

open::Execution execution_of(const RunOptions& options) {
  open::Execution out;
  out.device = options.device;
  out.backend = options.backend;
  out.dtype = options.dtype;
  out.weights = options.weights;
  out.batch = options.batch;
  out.sequence_length = options.sequence_length;
  out.seed = options.seed;
  out.threads = options.threads;
  out.memory_limit = options.memory_limit;
  out.skip_padding = options.skip_padding;
  out.precision = precision_of(options.matmul_precision);
  if (options.threads < 0)
    throw bad_usage("threads {}: expected their number, or 0 for all cores", options.threads).about("threads");
  for (const auto& [name, size] :
       {std::pair("batch", options.batch), std::pair("sequence_length", options.sequence_length)})
    if (size && *size < 1) throw bad_usage("{} {}: expected 1 or more", name, *size).about(name);
  for (const auto& [name, shape] : options.input_shapes) expect_sizes("input_shapes", shape, false);
  return out;
}

open::LoadedModel loaded_for(const open::ModelText& text, const open::Execution& execution) {
  open::ReadingOptions how = execution.reading();
  how.as_keras_hub = text.options.as_keras_hub;
  return open::load_model(text, how, open::Silent());
}

Model::Parts::Parts(open::ModelText text, std::optional<std::string> file)
    : source(std::move(text)),
      path(std::move(file)),
      loaded(open::load_model(source, reading_of(source), open::Silent())) {}

graph::Graph Model::Parts::symbolic() const {
  keras::LowerOptions options;
  options.symbolic = true;
  return loaded.model.lower(options);
}

Model::Model(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;
Model::~Model() = default;

Model Model::open(const std::string& path, const OpenOptions& options) {
  return Model(std::make_unique<Parts>(with_options(open::read_model_file(path), options), path));
}

Model Model::parse(const std::string& name, std::string text, const OpenOptions& options) {
  return Model(std::make_unique<Parts>(with_options({name, std::move(text), {}, {}, {}}, options), std::nullopt));
}

std::string Model::name() const {
  const std::lock_guard lock(parts_->walked);
  return parts_->loaded.model.name();
}

std::vector<std::string> Model::text_input_names() const {
  const std::lock_guard lock(parts_->walked);
  std::vector<std::string> out;
  for (const keras::TextInput& input : parts_->loaded.model.text_inputs()) out.push_back(input.name);
  return out;
}

std::map<std::string, Tensor> Model::encode_texts(const std::map<std::string, TextArray>& texts,
                                                  const std::map<std::string, Tensor>& numbers) const {
  const std::lock_guard lock(parts_->walked);
  if (!parts_->encodes) parts_->encodes = !parts_->loaded.model.text_stages().empty();
  if (texts.empty() && !*parts_->encodes) return {};
  const std::vector<std::string> names = parts_->loaded.model.input_names();
  for (const auto& [name, array] : texts)
    if (std::find(names.begin(), names.end(), name) == names.end())
      throw bad_input("the model has no input '{}'", printable(name));
  return open::encode_texts(parts_->loaded.model, texts, numbers);
}

std::map<std::string, TextArray> Model::decode_texts(const std::vector<NamedTensor>& outputs) const {
  const std::lock_guard lock(parts_->walked);
  if (!parts_->text_outputs) parts_->text_outputs = parts_->loaded.model.text_outputs();
  std::map<std::string, TextArray> out;
  if (parts_->text_outputs->empty()) return out;
  for (NamedTexts& texts : open::decode_texts(*parts_->text_outputs, outputs).texts)
    out.emplace(std::move(texts.name), std::move(texts.texts));
  return out;
}

std::vector<std::string> Model::input_names() const {
  const std::lock_guard lock(parts_->walked);
  return parts_->loaded.model.input_names();
}

std::map<std::string, Shape> Model::input_shapes() const {
  const std::lock_guard lock(parts_->walked);
  const graph::Graph graph = parts_->symbolic();
  std::map<std::string, Shape> out;
  for (const graph::ValueId id : graph.inputs) out.emplace(graph.value(id).name, graph.value(id).shape);
  return out;
}

std::uint64_t Model::count_params() const {
  const std::lock_guard lock(parts_->walked);
  std::uint64_t out = 0;
  for (const graph::WeightSpec& spec : parts_->loaded.model.weights())
    out += static_cast<std::uint64_t>(spec.shape.size());
  return out;
}

std::vector<std::string> Model::output_names() const {
  const std::lock_guard lock(parts_->walked);
  const graph::Graph graph = parts_->symbolic();
  const run::OutputNames names = run::output_names(graph);
  std::vector<std::string> out;
  for (const graph::Output& output : graph.outputs) {
    const auto found = names.find(output.name);
    out.push_back(found == names.end() ? output.name : found->second);
  }
  return out;
}

const std::vector<std::string>& Model::warnings() const { return parts_->loaded.model.warnings(); }

std::string Model::config() const {
  const std::lock_guard lock(parts_->walked);
  return parts_->loaded.model.config({});
}

std::string Model::summary(std::optional<int> line_length, bool expand_nested, bool show_trainable) const {
  report::SummaryOptions options;
  options.line_length = line_length;
  options.expand_nested = expand_nested;
  options.show_trainable = show_trainable;
  const std::lock_guard lock(parts_->walked);
  return report::render(report::Format::table, parts_->loaded.model.summary(), options);
}

std::vector<Layer> Model::layers() const {
  const std::lock_guard lock(parts_->walked);
  const keras::Summary summary = parts_->loaded.model.summary();
  std::vector<Layer> out;
  for (const keras::SummaryRow& row : summary.rows) {
    if (row.level > 0) continue;
    out.push_back({row.name, row.class_name, row.output_shape_text, static_cast<std::uint64_t>(row.params),
                   static_cast<std::uint64_t>(row.trainable_params), row.connected_to});
  }
  return out;
}

std::string Model::plot() const {
  const std::lock_guard lock(parts_->walked);
  return report::render(report::Format::svg, library::layer_graph(parts_->loaded.model, false));
}

Runner Model::prepare(const RunOptions& options) const {
  const open::Execution execution = execution_of(options);
  auto backend = open::open_backend(options.device, options.backend, open::kSilent);
  keras::LowerOptions lower;
  lower.batch = options.batch;
  lower.sequence_length = options.sequence_length;
  lower.input_shapes = options.input_shapes;
  lower.scores = options.scores;
  std::optional<open::LoadedModel> quantized;
  if (open::is_quantization(options.dtype)) {
    open::ReadingOptions how = reading_of(parts_->source);
    how.quantize = options.dtype;
    quantized.emplace(open::load_model(parts_->source, how, open::kSilent));
  } else {
    lower.dtype = options.dtype;
  }
  std::unique_lock lock(parts_->walked);
  const open::LoadedModel& loaded = quantized ? *quantized : parts_->loaded;
  graph::Graph graph = loaded.model.lower(lower);
  open::require_memory(loaded, lower, graph, *backend, execution);
  const std::optional<std::string>& file = options.weights ? options.weights : loaded.weights;
  const open::WantedWeights wanted = open::wanted_weights(loaded.model);
  lock.unlock();
  const bool in_memory = loaded.arrays && !options.weights;
  std::vector<Tensor> weights = quantized   ? open::load_weights(loaded, execution, open::kSilent)
                                : in_memory ? weights::bind(wanted.specs, *loaded.arrays)
                                : file      ? open::load_weights(wanted, *file)
                                            : open::draw_weights(wanted.specs, options.seed, options.threads);
  auto parts = std::make_unique<Runner::Parts>();
  parts->weights_origin = open::weights_origin(loaded, execution);
  if (execution.skip_padding) {
    if (options.scores)
      throw bad_usage("`scores` cannot be combined with `skip_padding`, which does not compute the weights of padding");
    parts->weights = std::move(weights);
  } else {
    parts->session = std::make_unique<run::Session>(*backend, graph, std::move(weights), execution.compile_options());
  }
  parts->graph = std::move(graph);
  parts->execution = execution;
  parts->backend = std::move(backend);
  return Runner(std::move(parts));
}

Trainer Model::trainer(const std::map<std::string, Tensor>& data, const TrainOptions& options,
                       const std::map<std::string, Tensor>& validation) const {
  return Trainer(std::make_unique<Trainer::Parts>(parts_->source, parts_->path, data, options, validation));
}

Generator Model::generator(const RunOptions& options) const {
  return Generator(std::make_unique<Generator::Parts>(parts_->source, parts_->path, execution_of(options)));
}

}  // namespace attn
