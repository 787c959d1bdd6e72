#include "model/lower.h"

#include <algorithm>
#include <array>
#include <utility>

#include "attn/base/text.h"
#include "classes/call.h"
#include "classes/decoding.h"
#include "model/autoregressive.h"
#include "model/input_layer.h"
#include "model/sized_inputs.h"
#include "model/string_values.h"
#include "model/variables.h"
#include "model/vision_language_model.h"

namespace attn::keras {
namespace {

/// Returns the batch of the option `batch`, otherwise that of a given array or a fixed input, otherwise 1.
std::int64_t batch_for(const Functional& model, const LowerOptions& options) {
  if (options.batch) return *options.batch;
  for (const auto& [name, shape] : options.input_shapes)
    if (shape.rank() > 0) return shape[0];
  for (const Layer* layer : model.input_layers()) {
    const Shape& shape = as_input(*layer)->batch_shape;
    if (shape.rank() > 0 && shape[0] != kUnknown) return shape[0];
  }
  return 1;
}

/// Returns the default of unknown lengths: kDefaultSequenceLength, or the number of trained positions if smaller.
std::int64_t default_length(Functional& model) {
  return std::min(kDefaultSequenceLength, most_positions(model).value_or(kDefaultSequenceLength));
}

/// Returns a hint for the message if the array is a single example without the batch; otherwise "".
std::string without_batch(const Shape& shape, const Shape& given) {
  bool one = shape.rank() == given.rank() + 1 && (shape[0] == kUnknown || shape[0] == 1);
  for (int axis = 0; one && axis < given.rank(); ++axis)
    one = shape[axis + 1] == kUnknown || shape[axis + 1] == given[axis];
  if (!one) return "";
  Shape whole{1};
  whole.append(given);
  return fmt::format("; it lacks the batch axis, which comes first: {}", whole.str());
}

Shape concrete_shape(const Functional& model, const InputLayer& input, const LowerOptions& options, std::int64_t batch,
                     std::int64_t length) {
  Shape shape = input.batch_shape;
  if (const auto given = options.input_shapes.find(input.name); given != options.input_shapes.end()) {
    bool fits = given->second.rank() == shape.rank();
    for (int axis = 0; fits && axis < shape.rank(); ++axis)
      fits = shape[axis] == kUnknown || shape[axis] == given->second[axis];
    if (!fits)
      throw bad_input("the input '{}' has the shape {}, but its array has {}{}", printable(input.name), shape.str(),
                      given->second.str(), without_batch(shape, given->second))
          .about("inputs");
    return given->second;
  }
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] != kUnknown) {
      if (axis == 0 && options.batch && *options.batch != shape[0])
        throw bad_usage("the model fixes the batch of '{}' to {}, not {}", printable(input.name), shape[0],
                        *options.batch)
            .about("batch");
      continue;
    }
    const auto* const sized = dynamic_cast<const SizedInputs*>(&model);
    const std::optional<Dim> own = sized == nullptr ? std::nullopt : sized->default_size(input.name, axis);
    shape[axis] = axis == 0 ? batch : own.value_or(length);
  }
  return shape;
}

constexpr std::array<std::string_view, 4> kComputed = {"float32", "bfloat16", "float16", "float64"};

/// Overrides the compute dtype of all layers during a lowering.
class PolicyOverride {
 public:
  PolicyOverride(Layer& root, const std::optional<std::string>& dtype) {
    if (!dtype) return;
    const auto compute = dtype_of(*dtype);
    if (!compute || !is_floating(*compute))
      throw bad_usage("dtype '{}': expected float32, bfloat16, float16 or float64{}", printable(*dtype),
                      did_you_mean(*dtype, kComputed))
          .about("dtype");
    visit_layers(root, [&](Layer& layer) {
      saved_.emplace_back(&layer, layer.policy);
      if (is_floating(layer.policy.compute)) layer.policy.compute = *compute;
    });
  }
  ~PolicyOverride() {
    for (auto& [layer, policy] : saved_) layer->policy = policy;
  }
  PolicyOverride(const PolicyOverride&) = delete;
  PolicyOverride& operator=(const PolicyOverride&) = delete;

 private:
  std::vector<std::pair<Layer*, DTypePolicy>> saved_;
};

/// Names the outputs: the keys of a dict, otherwise output_0, … in order.
void name_outputs(const Functional& model, const std::vector<TensorPtr>& tensors, graph::Graph& graph) {
  std::vector<std::string> keys;
  if (const auto* dict = model.output_struct.as<ArgDict>())
    for (const auto& [key, value] : *dict) keys.push_back(key);
  std::sort(keys.begin(), keys.end());  // tensors are in the order of sorted keys
  const bool has_keys = keys.size() == tensors.size();
  const std::vector<std::string> layers = model.output_layers();
  for (std::size_t i = 0; i < tensors.size(); ++i)
    if (!is_unknown(tensors[i]))
      graph.outputs.push_back({has_keys ? keys[i] : "output_" + std::to_string(i), tensors[i]->id, layers[i]});
}

/// Returns the lengths of the inputs; empty if a dimension except the batch is unknown.
std::optional<std::vector<Dim>> fixed_lengths(const Functional& model) {
  std::vector<Dim> lengths;
  for (const Layer* layer : model.input_layers()) {
    const Shape& shape = as_input(*layer)->batch_shape;
    for (int axis = 1; axis < shape.rank(); ++axis)
      if (shape[axis] == kUnknown) return std::nullopt;
    if (shape.rank() > 1) lengths.push_back(shape[1]);
  }
  return lengths;
}

/// Adds the input of sources. An image's positions have the source of the first token, which was read with them.
graph::ValueId sources_behind(graph::Builder& b, const DecodeOptions& options, Dim front) {
  const graph::ValueId sources = b.input("sources", DType::int32, {options.rows, options.capacity});
  if (front == 0) return sources;
  graph::Slice first;
  first.ranges = {{}, {0, 1, 1}};
  const graph::ValueId column = b.apply(first, {sources});
  return b.apply(graph::Concat{1}, {b.apply(graph::Broadcast{{options.rows, front}}, {column}), sources});
}

/// Returns the number of positions of an image in front of each prompt.
Dim positions_in_front(const Functional& model) {
  const auto* const multimodal = dynamic_cast<const Multimodal*>(&model);
  if (multimodal == nullptr) return 0;
  const std::vector<MediaPrompt> prompts = multimodal->media_prompts();
  const auto found = std::ranges::find_if(prompts, &MediaPrompt::begins_prompt);
  return found == prompts.end() ? 0 : found->tokens;
}

/// Adds the inputs of an encoder, which also reads `front` positions of an image.
EncoderSequences encoder_sequences(Autoregressive& model, const DecodeOptions& options, Dim front, graph::Builder& b) {
  EncoderSequences encoder;
  encoder.entries = options.encoder_entries;
  encoder.length = options.encoder_length;
  const Shape shape{options.rows, options.encoder_length};
  if (model.reads_features()) {
    const auto features = model.features(options.encoder_length);
    encoder.length = features->encoded;
    if (options.reads_encoder)
      encoder.input = b.input("encoder_features", DType::float32, {shape[0], shape[1], features->width});
    return encoder;
  }
  encoder.length += front;
  encoder.padding = b.input("encoder_padding_mask", DType::int32, shape);
  if (options.reads_encoder) encoder.input = b.input("encoder_token_ids", DType::int32, shape);
  return encoder;
}

/// Lowers a decode step instead of whole sequences.
void lower_decoding(Functional& model, const DecodeOptions& options, ModelLowering& lowering) {
  auto* decodes = dynamic_cast<Autoregressive*>(&model);
  if (decodes == nullptr)
    throw bad_input("a {} does not predict the next token; a task such as GPT2CausalLM does", model.class_name());
  graph::Builder& b = lowering.builder();
  const graph::ValueId tokens = b.input("token_ids", DType::int32, {options.rows, options.count});
  Decoding decoding;
  decoding.position = b.input("position", DType::int32, {});
  // The positions of an image in front of each prompt are not counted in the options. An encoder has its own.
  const Dim image = positions_in_front(model), front = decodes->has_encoder() ? 0 : image;
  const Dim count = options.count + (options.media.empty() ? 0 : front);
  if (front > 0 && options.media.empty())
    decoding.position =
        b.binary(graph::BinaryFn::add, decoding.position, b.scalar_like(decoding.position, static_cast<double>(front)));
  const graph::ValueId steps = b.apply(graph::Iota{{1, count}, DType::int32, 1}, {});
  decoding.positions = b.binary(graph::BinaryFn::add, steps, decoding.position);
  decoding.length =
      b.binary(graph::BinaryFn::add, decoding.position, b.scalar_like(decoding.position, static_cast<double>(count)));
  if (options.sources) decoding.sources = sources_behind(b, options, front);
  decoding.entries = options.entries;
  decoding.capacity = options.capacity + front;
  decoding.media = options.media;
  decoding.kept = options.kept;
  decoding.cache_dtype = options.cache_dtype;
  if (decodes->reads_features() && options.encoder_length == 0)
    throw bad_input("a {} reads sound, so it cannot continue tokens; attn transcribe runs it", model.class_name());
  if (decodes->has_encoder() != (options.encoder_length > 0))
    throw internal_error("a {} was lowered {} an encoder's sequence", model.class_name(),
                         decodes->has_encoder() ? "without" : "with");
  if (decodes->has_encoder()) decoding.encoder = encoder_sequences(*decodes, options, image, b);
  lowering.decoding = &decoding;
  lowering.keras_hub_step = options.keras_hub_step;
  const Decoded decoded = decodes->decode(lowering, tokens, options.every_position);
  lowering.decoding = nullptr;
  b.graph().outputs.push_back({"logits", b.cast(decoded.logits, DType::float32)});
  if (options.hidden) b.graph().outputs.push_back({"hidden", b.cast(decoded.hidden, DType::float32)});
}

/// Lowers the vision encoder for one image, or texts with images, instead of the model.
void lower_with_images(Functional& model, const LowerOptions& options, ModelLowering& lowering) {
  auto* reader = dynamic_cast<VisionLanguageModel*>(&model);
  const std::vector<MediaPrompt> prompts = reader == nullptr ? std::vector<MediaPrompt>() : reader->media_prompts();
  if (prompts.empty()) throw internal_error("a {} does not read images of any size", model.class_name());
  graph::Builder& b = lowering.builder();
  const auto output = [&](const char* called, graph::ValueId value) {
    b.graph().outputs.push_back({called, b.cast(value, DType::float32)});
  };
  if (options.image) {
    Shape patches = prompts.front().shape;
    patches[0] = options.image->rows * options.image->columns;
    const graph::ValueId pixels = b.input("pixel_values", DType::float32, patches);
    output("image_embeddings", reader->encode_image(lowering, pixels, *options.image));
    return;
  }
  const Dim batch = options.batch.value_or(1), length = options.sequence_length.value_or(default_length(model));
  ScoreInputs texts;
  texts.token_ids = b.input("token_ids", DType::int32, {batch, length});
  texts.padding_mask = b.input("padding_mask", DType::int32, {batch, length});
  if (const Dim rows = *options.image_rows; rows > 0) {
    texts.image_embeddings = b.input("image_embeddings", DType::float32, {rows, reader->image_width()});
    texts.vision_indices = b.input("vision_indices", DType::int32, {rows});
    texts.position_ids = b.input("position_ids", DType::int32, {batch, 4, length});
  }
  output("logits", reader->score(lowering, texts));
}

}  // namespace

std::vector<TensorPtr> symbolic_inputs(const Functional& model, Lowering& lowering) {
  std::vector<TensorPtr> inputs;
  for (const Layer* layer : model.input_layers()) {
    const InputLayer& input = *as_input(*layer);
    inputs.push_back(input_tensor(lowering.builder(), input, input.batch_shape));
  }
  return inputs;
}

std::vector<TextInput> text_inputs(const Functional& model) {
  std::vector<TextInput> out;
  for (const Layer* layer : model.input_layers())
    if (const InputLayer& input = *as_input(*layer); input.is_text()) out.push_back({input.name, input.batch_shape});
  return out;
}

std::vector<TextStage> text_stages(Functional& model) {
  bool any = false;
  visit_layers(model, [&](const Layer& layer) { any = any || layer.takes_texts(); });
  if (!any) return {};
  graph::Graph scratch;
  ModelLowering lowering(scratch, true);
  model.run(lowering, symbolic_inputs(model, lowering), false);
  return lowering.texts;
}

bool takes_length(const Functional& model, std::int64_t length) {
  const auto fixed = fixed_lengths(model);
  return !fixed || std::find(fixed->begin(), fixed->end(), length) != fixed->end();
}

std::vector<TensorPtr> lower(Functional& model, const LowerOptions& options, ModelLowering& lowering) {
  std::vector<std::string> names;
  for (const Layer* layer : model.input_layers()) names.push_back(layer->name);
  for (const TextStage& stage : text_stages(model)) names.push_back(stage.name);
  for (const auto& [name, shape] : options.input_shapes)
    if (std::find(names.begin(), names.end(), name) == names.end())
      throw bad_input("the model has no input '{}'; its inputs are {}", printable(name), join(names, ", "));
  const PolicyOverride policy(model, options.dtype);
  graph::Graph& graph = lowering.builder().graph();
  graph.name = model.name;
  lowering.want_scores = options.scores;
  lowering.ones = model.ones();
  visit_variables(
      model, [&](const Variable& variable) { lowering.declare(variable.layer, variable.index, variable.named()); });
  if (options.decode) {
    lower_decoding(model, *options.decode, lowering);
    return {};
  }
  if (options.image || options.image_rows) {
    lower_with_images(model, options, lowering);
    return {};
  }
  std::vector<TensorPtr> inputs;
  if (options.symbolic) {
    inputs = symbolic_inputs(model, lowering);
  } else {
    const std::int64_t batch = batch_for(model, options);
    const std::int64_t length = options.sequence_length ? *options.sequence_length : default_length(model);
    if (options.open_custom) lowering.opened = {batch, length};
    lowering.text_length = length;
    lowering.given_shapes = options.input_shapes;
    for (const Layer* layer : model.input_layers()) {
      const InputLayer& input = *as_input(*layer);
      const Shape shape = concrete_shape(model, input, options, batch, length);
      inputs.push_back(input_tensor(lowering.builder(), input, shape));
    }
  }
  std::vector<TensorPtr> outputs = model.run(lowering, inputs, false);
  name_outputs(model, outputs, graph);
  if (!options.symbolic) static_cast<void>(strings_of(graph, lowering.callees()));
  return outputs;
}

std::vector<TextOutput> text_outputs(Functional& model) {
  bool any = false;
  visit_layers(model, [&](const Layer& layer) { any = any || gives_texts(layer); });
  if (!any) return {};
  graph::Graph graph;
  ModelLowering lowering(graph, true);
  LowerOptions options;
  options.symbolic = true;
  lower(model, options, lowering);
  const Strings strings = strings_of(graph, lowering.callees());
  std::vector<TextOutput> out;
  for (const graph::Output& output : graph.outputs)
    if (const auto found = strings.find(output.value); found != strings.end())
      out.push_back({output.name, found->second});
  return out;
}

}  // namespace attn::keras
