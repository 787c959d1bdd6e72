#include "attn/library/attention.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <set>

#include "attn/base/error.h"
#include "attn/base/parse_number.h"
#include "attn/base/text.h"
#include "attn/io/file.h"
#include "attn/keras/families.h"
#include "attn/library/setting.h"
#include "attn/open/byte_text.h"
#include "attn/open/execution.h"
#include "attn/open/inputs.h"
#include "attn/open/memory.h"
#include "attn/open/model.h"
#include "attn/open/session.h"
#include "attn/report/number.h"
#include "attn/run/hidden_queries.h"
#include "attn/run/inputs.h"
#include "attn/tokenizers/open.h"
#include "attn/tokenizers/utf8_bytes.h"

namespace attn::library {
namespace {

constexpr std::int64_t kMostLabelBytes = std::int64_t{16} << 20;

std::optional<int> number_in(const std::string& text) {
  const auto value = parse_number<int>(text);
  return value && *value >= 0 ? value : std::nullopt;
}

/// Keeps only the scores of the requested layer; returns the numbers of the remaining ones.
std::vector<int> choose_layer(graph::Graph& graph, const std::optional<std::string>& wanted) {
  std::vector<int> indices;
  std::vector<graph::Scores> kept;
  const std::optional<int> number = wanted ? number_in(*wanted) : std::nullopt;
  const auto has_name = [&](const graph::Scores& scores) {  // true if any call of the layer has the name
    return scores.name == *wanted || scores.name.starts_with(*wanted + "[");
  };
  const bool is_name = wanted && std::any_of(graph.scores.begin(), graph.scores.end(), has_name);
  for (std::size_t i = 0; i < graph.scores.size(); ++i) {
    const bool keep = !wanted || (is_name ? has_name(graph.scores[i]) : number == static_cast<int>(i));
    if (!keep) continue;
    kept.push_back(graph.scores[i]);
    indices.push_back(static_cast<int>(i));
  }
  if (kept.empty()) {
    std::vector<std::string> names;
    for (const graph::Scores& scores : graph.scores) names.push_back(scores.name);
    throw bad_usage("`layer` {}: no attention layer has this name or number; there are {}, numbered from 0{}",
                    printable(*wanted), names.size(), did_you_mean(*wanted, std::span<const std::string>(names)));
  }
  graph.scores = std::move(kept);
  return indices;
}

void check_there(const std::vector<run::ScoresLayout>& layouts, const Heads& heads) {
  std::int64_t most = 0;
  for (const run::ScoresLayout& layout : layouts) {
    most = std::max(most, layout.heads);
    if (heads.item >= layout.items)
      throw bad_usage("`item` {}: there are {} in the batch, counted from 0", heads.item, layout.items);
    if (heads.head && *heads.head < layout.heads) return;
  }
  if (heads.head)
    throw bad_usage("`head` {}: the layers have {}, counted from 0", *heads.head, report::counted(most, "head"));
}

/// Returns one example of the input that is an image, (batch, height, width, 1 or 3), scaled from its darkest to its
/// lightest value. Empty if no input or several inputs are images.
std::optional<report::InputImage> image_in(const std::vector<Tensor>& inputs, std::int64_t item) {
  constexpr std::int64_t kMostPixels = std::int64_t{1} << 20;
  const Tensor* found = nullptr;
  for (const Tensor& tensor : inputs) {
    const Shape& shape = tensor.shape();
    if (shape.rank() != 4 || (shape[3] != 1 && shape[3] != 3) || shape[1] * shape[2] > kMostPixels) continue;
    if (found != nullptr) return std::nullopt;
    found = &tensor;
  }
  if (found == nullptr || item >= found->shape()[0]) return std::nullopt;
  const Shape& shape = found->shape();
  report::InputImage out{shape[2], shape[1], {}};
  const std::int64_t size = shape[1] * shape[2] * shape[3], first = item * size;
  double least = 0, most = 0;
  for (std::int64_t i = 0; i < size; ++i) {
    const double value = found->at(first + i);
    if (!std::isfinite(value)) return std::nullopt;
    least = i == 0 ? value : std::min(least, value);
    most = i == 0 ? value : std::max(most, value);
  }
  const double scale = most > least ? 255.0 / (most - least) : 0.0;
  for (std::int64_t pixel = 0; pixel < shape[1] * shape[2]; ++pixel)
    for (std::int64_t channel = 0; channel < 3; ++channel) {
      const std::int64_t at = first + pixel * shape[3] + std::min(channel, shape[3] - 1);
      out.rgb.push_back(static_cast<std::uint8_t>(std::lround((found->at(at) - least) * scale)));
    }
  return out;
}

/// Returns the lines of a file.
std::vector<std::string> read_labels(const std::string& path) {
  const io::Bytes file = io::read_file(path, kMostLabelBytes);
  std::vector<std::string> lines = split(file.text(), '\n');
  if (!lines.empty() && lines.back().empty()) lines.pop_back();
  for (std::string& line : lines)
    if (line.ends_with('\r')) line.pop_back();
  return lines;
}

/// Returns the labels of the files; keys are their numbers of positions. Throws Error if a file matches the positions
/// of no layer.
std::map<std::int64_t, std::vector<std::string>> labels_for(const std::vector<run::ScoresLayout>& layouts,
                                                            const std::vector<std::string>& files) {
  std::map<std::int64_t, std::vector<std::string>> out;
  std::set<std::int64_t> lengths;
  for (const run::ScoresLayout& layout : layouts) lengths.insert({layout.queries, layout.keys});
  for (const std::string& path : files) {
    std::vector<std::string> lines = read_labels(path);
    const auto count = static_cast<std::int64_t>(lines.size());
    if (!lengths.contains(count)) {
      std::vector<std::string> wanted;
      for (const std::int64_t length : lengths) wanted.push_back(std::to_string(length));
      throw bad_input("{}: expected {} lines, one for each position, got {}", printable(path), join(wanted, " or "),
                      count);
    }
    out[count] = std::move(lines);
  }
  return out;
}

/// Labels from the model itself: the terms or tokens of its inputs, for one example of the batch.
class ModelLabels {
 public:
  ModelLabels(const graph::Graph& graph, const std::vector<Tensor>& inputs, std::int64_t item)
      : graph_(graph), inputs_(inputs), item_(item) {}

  /// Adds the terms of layers that read strings.
  void add_terms(const keras::Model& model) {
    for (const keras::TextStage& stage : model.text_stages()) {
      if (stage.encoding->form != text::Form::indices || !stage.encoding->missing.empty()) continue;
      add([&](const std::string& input) { return input == stage.name; },
          [&](std::int64_t index) {
            const std::string term = text::term_of(*stage.encoding, index);
            return term.empty() ? "[PAD]" : term;
          });
    }
  }
  /// Adds the tokens of a KerasHub model whose files have a tokenizer.
  void add_tokens(const std::string& path, const open::Listener& listener) {
    std::unique_ptr<tokenizers::Tokenizer> tokenizer;
    try {
      tokenizer = tokenizers::find_tokenizer(path, keras::tokenizer_tables());
    } catch (const Error& error) {  // the heads are then shown without labels
      listener.warn(fmt::format("{}; positions have no labels", error.what()));
    }
    if (tokenizer != nullptr)
      add_tokens_of(*tokenizer, [](const std::string& input) { return input.ends_with("token_ids"); });
  }
  /// Adds the characters of a text, for a model that reads bytes.
  void add_bytes(const keras::Model& model, const open::Execution& execution, const open::GivenInputs& given) {
    const auto of_bytes = open::byte_input(model, execution.sequence_length);
    if (!of_bytes) return;
    const auto file = given.files.find(of_bytes->name);
    if (file == given.files.end() || !file->second.ends_with(".txt")) return;
    add_tokens_of(*tokenizers::make_byte_tokenizer(of_bytes->vocabulary),
                  [&](const std::string& input) { return input == of_bytes->name; });
  }
  [[nodiscard]] std::map<std::int64_t, std::vector<std::string>> take() { return std::move(labels_); }

 private:
  template <typename T>
  static bool in_range(std::int64_t number) {
    return number >= 0 && number <= std::numeric_limits<T>::max();
  }

  void add(const std::function<bool(const std::string&)>& is_input,
           const std::function<std::string(std::int64_t)>& label) {
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const Shape& shape = inputs_[i].shape();
      const bool is_row = shape.rank() == 2 && item_ < shape[0] && is_integer(inputs_[i].dtype());
      if (!is_row || !is_input(graph_.value(graph_.inputs[i]).name)) continue;
      std::vector<std::string> labels;
      for (std::int64_t at = 0; at < shape[1]; ++at)
        labels.push_back(label(static_cast<std::int64_t>(inputs_[i].at(item_ * shape[1] + at))));
      note(shape[1], std::move(labels));
    }
  }
  void add_tokens_of(const tokenizers::Tokenizer& tokenizer, const std::function<bool(const std::string&)>& is_input) {
    add(is_input, [&](std::int64_t index) {
      const auto token = in_range<tokenizers::Id>(index) ? tokenizer.token(static_cast<tokenizers::Id>(index))
                                                         : std::optional<std::string>();
      return token.value_or(std::to_string(index));
    });
  }
  /// If two inputs have the same length and different labels, the positions of a head are ambiguous and get no labels.
  void note(std::int64_t length, std::vector<std::string> labels) {
    const auto [known, is_new] = labels_.try_emplace(length, labels);
    if (!is_new && known->second != labels) unclear_.insert(length);
    if (unclear_.contains(length)) labels_.erase(length);
  }

  const graph::Graph& graph_;
  const std::vector<Tensor>& inputs_;
  std::int64_t item_;
  std::map<std::int64_t, std::vector<std::string>> labels_;
  std::set<std::int64_t> unclear_;
};

}  // namespace

report::HeatmapReport attention_of(const open::LoadedModel& loaded, const open::Execution& execution,
                                   const open::GivenInputs& given, const Heads& heads, const Limits& limits,
                                   const open::Listener& listener) {
  if (execution.skip_padding) throw bad_usage("`skip_padding`: the attention weights of padding are not computed then");
  const auto backend = open::open_backend(execution.device, execution.backend, listener);
  open::warn_of_given_batch(execution, given, listener);
  keras::LowerOptions lower = open::lower_options(execution, given);
  lower.scores = true;
  graph::Graph graph = loaded.model.lower(lower);
  if (graph.scores.empty()) throw bad_input("{}: the model has no attention layer", loaded.file);
  open::require_memory(loaded, lower, graph, *backend, execution);
  const std::vector<int> indices = choose_layer(graph, heads.layer);
  const std::vector<run::ScoresLayout> layouts = run::scores_layouts(graph);
  check_there(layouts, heads);

  report::HeatmapReport out;
  out.labels = labels_for(layouts, heads.labels);
  out.setting = setting_of(loaded, graph, *backend, execution);
  out.seed = execution.seed;
  out.item = heads.item;
  out.items = layouts.front().items;
  out.log_scale = heads.log_scale;

  const std::vector<Tensor> tensors = run::make_inputs(graph, given.arrays, execution.seed);
  out.inputs = describe_inputs(graph, given);
  out.image = image_in(tensors, heads.item);
  if (heads.labels.empty()) {
    ModelLabels labels(graph, tensors, heads.item);
    labels.add_terms(loaded.model);
    if (loaded.weights) labels.add_tokens(*loaded.weights, listener);
    labels.add_bytes(loaded.model, execution, given);
    out.labels = labels.take();
  }
  // Without outputs, the steps after the last requested scores are removed.
  graph.outputs.clear();
  const std::vector<graph::ValueId> masks = run::masks_of_scores(graph);
  for (const graph::ValueId mask : masks) graph.outputs.push_back({"", mask});
  const graph::Graph lowered = graph;
  run::Session session =
      open::prepare_session(*backend, std::move(graph), open::load_weights(loaded, execution, listener),
                            execution.compile_options(), listener);
  open::note_choices(session, listener);
  open::run_session(session, tensors, listener);

  run::MapOptions options = limits(layouts);
  options.item = heads.item;
  options.head = heads.head;
  options.threads = out.setting.threads;
  const std::vector<NamedTensor> masked = session.outputs();
  std::vector<std::vector<bool>> hidden;
  for (const graph::Scores& scores : lowered.scores)
    hidden.push_back(run::hidden_queries(lowered, scores.value, heads.item, [&](graph::ValueId mask) {
      return masked[static_cast<std::size_t>(std::ranges::find(masks, mask) - masks.begin())].tensor;
    }));
  out.layers = run::attention_maps(session.scores(), layouts, indices, options, hidden);
  std::erase_if(out.layers, [](const run::LayerMap& layer) { return layer.heads.empty(); });
  return out;
}

bool has_attention(const keras::Model& model, const keras::LowerOptions& options) {
  keras::LowerOptions with_scores = options;
  with_scores.scores = true;
  return !model.lower(with_scores).scores.empty();
}

}  // namespace attn::library
