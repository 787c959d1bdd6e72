#include "attn/attn.h"

#include <algorithm>
#include <mutex>
#include <numeric>
#include <string>
#include <thread>
#include <utility>

#include "attn/backends/registry.h"
#include "attn/base/text.h"
#include "attn/keras/model.h"
#include "attn/library/layer_graph.h"
#include "attn/open/model_file.h"
#include "attn/open/texts.h"
#include "attn/open/weights.h"
#include "attn/report/heatmap.h"
#include "attn/report/plot.h"
#include "attn/report/summary.h"
#include "attn/run/attention_maps.h"
#include "attn/run/inputs.h"
#include "attn/run/session.h"

namespace attn {
namespace {

open::ModelText with_options(open::ModelText text, const OpenOptions& options) {
  text.options.input_shape = options.input_shape;
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

struct Model::Parts {
  Parts(keras::Model read, std::optional<std::string> file) : model(std::move(read)), weights(std::move(file)) {}

  keras::Model model;
  std::optional<std::string> weights;  // the file that also holds the weights
  /// Lowering a model walks its layers, which hold the request's state meanwhile: one thread at a time.
  std::mutex walked = {};
  // Computed on first use.
  std::optional<bool> encodes = {};  ///< whether it has text layers
  std::optional<std::vector<keras::TextOutput>> text_outputs = {};
};

struct Runner::Parts {
  graph::Graph graph;  // the lowered graph
  RunOptions options;
  std::string device, backend, weights;  // resolved values, and the source of the weights
  run::Session session;
};

Runner::Runner(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Runner::Runner(Runner&&) noexcept = default;
Runner& Runner::operator=(Runner&&) noexcept = default;
Runner::~Runner() = default;

std::vector<NamedTensor> Runner::inputs() const {
  std::vector<NamedTensor> out;
  for (const graph::ValueId id : parts_->graph.inputs) {
    const graph::Value& value = parts_->graph.value(id);
    out.push_back({value.name, Tensor(value.dtype, value.shape)});
  }
  return out;
}

std::vector<NamedTensor> Runner::run(const std::map<std::string, Tensor>& inputs) {
  std::vector<std::string> names;
  for (const graph::ValueId id : parts_->graph.inputs) names.push_back(parts_->graph.value(id).name);
  for (const auto& [name, tensor] : inputs)
    if (std::find(names.begin(), names.end(), name) == names.end())
      throw bad_input("the model has no input '{}'; its inputs are {}", printable(name), join(names, ", "));
  parts_->session.run(run::make_inputs(parts_->graph, inputs, parts_->options.seed));
  return parts_->session.outputs();
}

std::vector<NamedTensor> Runner::scores() const { return parts_->session.scores(); }

std::string Runner::attention_maps() const {
  const std::vector<NamedTensor> scores = parts_->session.scores();
  if (scores.empty()) return "";
  constexpr std::int64_t kSide = 64;  // cells per head: enough to recognize its pattern
  run::MapOptions options;
  options.most_cells = report::kMostSvgCells;
  options.most_rows = kSide;
  std::vector<int> indices(scores.size());
  std::iota(indices.begin(), indices.end(), 0);
  report::HeatmapReport out;
  out.setting.model = printable(parts_->graph.name);
  out.setting.device = parts_->device;
  out.setting.backend = parts_->backend;
  out.setting.dtype = parts_->options.dtype.value_or(std::string(name_of(scores.front().tensor.dtype())));
  out.setting.matmul_precision = "highest";
  out.setting.batch = scores.front().tensor.shape()[0];
  const int all_cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  out.setting.threads = parts_->options.threads > 0 ? parts_->options.threads : all_cores;
  out.setting.weights = parts_->weights;
  out.seed = parts_->options.seed;
  out.layers = run::attention_maps(scores, run::scores_layouts(parts_->graph), indices, options);
  return report::render(report::Format::svg, out, {});
}

Model::Model(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;
Model::~Model() = default;

Model Model::open(const std::string& path, const OpenOptions& options) {
  open::ModelText text = with_options(open::read_model_file(path), options);
  std::optional<std::string> weights = text.weights;
  return Model(std::make_unique<Parts>(open::read_model(std::move(text)), std::move(weights)));
}

Model Model::parse(const std::string& name, std::string text, const OpenOptions& options) {
  open::ModelText given = with_options({name, std::move(text), {}, {}}, options);
  keras::Model model = keras::Model::read(name, std::move(given.text), given.options);
  return Model(std::make_unique<Parts>(std::move(model), std::nullopt));
}

std::string Model::name() const {
  const std::lock_guard lock(parts_->walked);
  return parts_->model.name();
}

std::vector<std::string> Model::text_input_names() const {
  const std::lock_guard lock(parts_->walked);
  std::vector<std::string> out;
  for (const keras::TextInput& input : parts_->model.text_inputs()) out.push_back(input.name);
  return out;
}

std::map<std::string, Tensor> Model::encode_texts(const std::map<std::string, TextArray>& texts,
                                                  const std::map<std::string, Tensor>& numbers) const {
  const std::lock_guard lock(parts_->walked);
  if (!parts_->encodes) parts_->encodes = !parts_->model.text_stages().empty();
  if (texts.empty() && !*parts_->encodes) return {};
  const std::vector<std::string> names = parts_->model.input_names();
  for (const auto& [name, array] : texts)
    if (std::find(names.begin(), names.end(), name) == names.end())
      throw bad_input("the model has no input '{}'", printable(name));
  return open::encode_texts(parts_->model, texts, numbers);
}

std::map<std::string, TextArray> Model::decode_texts(const std::vector<NamedTensor>& outputs) const {
  const std::lock_guard lock(parts_->walked);
  if (!parts_->text_outputs) parts_->text_outputs = parts_->model.text_outputs();
  std::map<std::string, TextArray> out;
  if (parts_->text_outputs->empty()) return out;
  for (NamedTexts& texts : open::decode_texts(*parts_->text_outputs, outputs).texts)
    out.emplace(std::move(texts.name), std::move(texts.texts));
  return out;
}

std::vector<std::string> Model::input_names() const {
  const std::lock_guard lock(parts_->walked);
  return parts_->model.input_names();
}

const std::vector<std::string>& Model::warnings() const { return parts_->model.warnings(); }

std::string Model::config() const {
  const std::lock_guard lock(parts_->walked);
  return parts_->model.config({});
}

std::string Model::summary(std::optional<int> line_length) const {
  report::SummaryOptions options;
  options.line_length = line_length;
  const std::lock_guard lock(parts_->walked);
  return report::render(report::Format::table, parts_->model.summary(), options);
}

std::vector<Layer> Model::layers() const {
  const std::lock_guard lock(parts_->walked);
  const keras::Summary summary = parts_->model.summary();
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
  return report::render(report::Format::svg, library::layer_graph(parts_->model, false));
}

Runner Model::prepare(const RunOptions& options) const {
  if (options.threads < 0)
    throw bad_usage("threads {}: expected their number, or 0 for all cores", options.threads).about("threads");
  const auto backend = backends::make_backend(options.device, options.backend).backend;
  keras::LowerOptions lower;
  lower.batch = options.batch;
  lower.sequence_length = options.sequence_length;
  lower.input_shapes = options.input_shapes;
  lower.dtype = options.dtype;
  lower.scores = options.scores;
  std::unique_lock lock(parts_->walked);
  graph::Graph graph = parts_->model.lower(lower);
  const open::WantedWeights wanted = open::wanted_weights(parts_->model);
  lock.unlock();
  const std::optional<std::string>& file = options.weights ? options.weights : parts_->weights;
  std::vector<Tensor> weights =
      file ? open::load_weights(wanted, *file) : open::draw_weights(wanted.specs, options.seed, options.threads);
  backends::CompileOptions compile;
  compile.threads = options.threads;
  run::Session session(*backend, graph, std::move(weights), compile);
  return Runner(std::make_unique<Runner::Parts>(
      Runner::Parts{std::move(graph), options, std::string(backend->device()), std::string(backend->name()),
                    file ? *file : "random, seed " + std::to_string(options.seed), std::move(session)}));
}

}  // namespace attn
