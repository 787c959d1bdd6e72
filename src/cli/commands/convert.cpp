#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <utility>

#include "arguments/parsed_values.h"
#include "arguments/shared_options.h"
#include "attn/base/error.h"
#include "attn/base/name_pattern.h"
#include "attn/base/text.h"
#include "attn/io/tensor_file.h"
#include "attn/onnx/export.h"
#include "attn/open/execution.h"
#include "attn/open/model.h"
#include "attn/open/weights_source.h"
#include "attn/train/low_rank.h"
#include "attn/train/save_model.h"
#include "attn/weights/bind.h"
#include "attn/weights/from_torch.h"
#include "attn/weights/quantize.h"
#include "attn/weights/save.h"
#include "options/command.h"
#include "output/common.h"
#include "output/onnx_target.h"
#include "output/outputs.h"
#include "output/progress.h"
#include "output/weights_target.h"

namespace attn::cli {
namespace {

struct ConvertCommand {
  Common common;
  std::string in, from = "keras";
  std::optional<std::string> target, output;
  std::optional<train::ModelForm> form;
  std::optional<std::string> model, dtype, quantize, shard_size;
  std::optional<Shape> input_shape;
  std::optional<int> opset;
  std::optional<std::int64_t> batch, sequence_length;
  std::vector<std::string> shapes;
  std::vector<std::string> ignored;
  std::string out;  // OUT, as an argument or by -o

  void declare(Options& options) {
    add_common(options, common, {Format::table, Format::json}, false);
    options.add("in", in, "IN", "folder, .weights.h5, .keras, .h5, .weights.json, .safetensors or .npz").required();
    options.add("out", target, "OUT",
                "output: .weights.h5, .keras, .h5, .safetensors, .npz or .onnx; with --to, a folder");
    options.add("-o,--output", output, "OUT", "output, instead of the argument OUT");
    options.choice<std::optional<train::ModelForm>>(
        "--to", form,
        {{"preset", train::ModelForm::preset},
         {"hf", train::ModelForm::hugging_face},
         {"keras", train::ModelForm::keras}},
        "FORM",
        "convert the whole model with its tokenizer: KerasHub preset folder, Hugging Face folder, or .keras of a task");
    options.add("--max-shard-size", shard_size, "SIZE",
                "with --to hf: maximum size of a weights file, 2GB for example (default 5GB)");
    options.add("--model", model, "MODEL", "model that the weights belong to, if IN does not contain it");
    add_input_shape(options, input_shape, "with --model: ");

    // No variable sets --dtype here: the compute dtype of a run must not reduce the precision of a file.
    options
        .add("--dtype", dtype, "DTYPE",
             "dtype of stored floating-point weights, in which ONNX computes; --quantize has int8 and int4")
        .one_of({"float32", "float16", "bfloat16"})
        .without_variable();
    options.add("--quantize", quantize, "HOW",
                "quantize weights like Keras's model.quantize: int8, int4 (block size 128), int4:BLOCK, or int4:-1 "
                "(per-channel)");
    options
        .add("--from", from, "LIBRARY",
             "naming of the arrays in IN: keras, or torch (nn.TransformerEncoder, BERT) (default keras)")
        .one_of({"keras", "torch"});
    options.add("--ignore", ignored, "PATTERN", "omit arrays with matching names: 'pooler.*'; repeatable").repeatable();
    options.add("--opset", opset, "N", "for ONNX: opset, 18 to 23; 23 has an attention operator (default 23)")
        .between(onnx::kOldestOpset, onnx::kNewestOpset)
        .without_variable();
    options.add("--batch-size", batch, "N", "for ONNX: fix the batch size, if the model leaves it open")
        .above_zero()
        .without_variable();
    options.add("--seq-len", sequence_length, "N", "for ONNX: fix the sequence length, if the model leaves it open")
        .above_zero()
        .without_variable();
    options.add("--shape", shapes, "NAME=DIMS", "for ONNX: full shape of an input: tokens=None,128; repeatable")
        .repeatable();
  }

  [[nodiscard]] int run() {
    if (!target && !output) throw bad_usage("OUT is missing: attn convert IN OUT [options]");
    if (target && output) throw bad_usage("OUT was given twice, as an argument and with -o");
    out = target ? *target : *output;
    refuse_binary_on_terminal(out);
    if (!form || *form == train::ModelForm::keras) check_outputs(std::array{OutputPath{out}}, {});
    if (quantize && !open::is_quantization(quantize))
      throw bad_usage("--quantize {}: expected int8, int4, or int4 with a block as in int4:64", printable(*quantize));
    if (shard_size && form != train::ModelForm::hugging_face)
      throw bad_usage("--max-shard-size requires --to hf: other forms use one file");
    if (form) {
      write_report(report::render(common.form(), whole_model(), "convert"), common.console, false);
      return 0;
    }
    if (is_onnx(out)) {
      write_report(report::render(common.form(), onnx_model(), "convert"), common.console, false);
      return 0;
    }
    if (opset || batch || sequence_length || !shapes.empty())
      throw bad_usage("--opset, --batch-size, --seq-len and --shape require an .onnx file, not {}", printable(out));
    if (out != "-" && std::filesystem::path(out).extension().empty())
      throw bad_usage("{}: an OUT without an extension is a folder; add --to preset, --to hf or --to keras",
                      printable(out));
    check_target(out, model ? std::vector{in, *model} : std::vector{in}, ", .onnx");
    if (quantize && from == "torch") throw bad_usage("--quantize: convert to Keras first, then quantize the result");
    if (from == "torch" && !model) throw bad_usage("--from torch requires --model to name the arrays");
    std::optional<open::LoadedModel> asked;
    if (model) asked = open::load_model(model, open::ReadingOptions{input_shape}, common.console);
    const bool by_torch = from == "torch";  // matched by PyTorch's names, not by the model's order
    open::WeightsSource source = open::read_weights(in, asked && !by_torch ? &*asked : nullptr, common.console);
    std::erase_if(source.store.weights, [&](const NamedTensor& array) { return matches_any(array.name, ignored); });
    const report::SavedReport report = by_torch ? from_torch(*asked, source)
                                       : asked || source.model
                                           ? with_model(asked ? *asked : *source.model, std::move(source.store))
                                           : by_names(source);
    write_report(report::render(common.form(), report, "convert"), common.console, out == "-");
    return 0;
  }

  /// Writes the model with its config and its tokenizer.
  [[nodiscard]] report::SavedReport whole_model() const {
    if (from == "torch") throw bad_usage("--to writes whole models, but --from torch reads only weights");
    const std::int64_t shard_bytes = shard_size ? parse_bytes("--max-shard-size", *shard_size) : train::kShardBytes;
    train::check_model_target(out, *form);
    const open::LoadedModel floats =
        open::load_model(model ? model : std::optional(in), open::ReadingOptions{input_shape}, common.console);
    open::WeightsSource source = open::read_weights(in, &floats, common.console);
    std::optional<open::LoadedModel> integers = quantized();
    const open::LoadedModel& loaded = integers ? *integers : floats;
    const std::vector<Tensor> tensors = weights_for(floats, loaded, std::move(source.store));
    const train::StoredWeights stored = train::stored_weights(loaded.model.weights(), tensors, loaded.model);
    const Progress progress = writing(common.console, out, stored.weights);
    train::save_model(out, *form, loaded, stored, model.value_or(in), shard_bytes, common.console);
    return saved_report(out, stored.weights);
  }

  /// Writes the model as a graph for other programs.
  [[nodiscard]] report::SavedReport onnx_model() const {
    if (from == "torch") throw bad_usage("--from torch reads only weights; convert them to .keras first");
    if (quantize)
      throw bad_usage("--quantize does not support ONNX; quantize to .keras first, then convert that to ONNX");
    const open::LoadedModel loaded =
        open::load_model(model ? model : std::optional(in), open::ReadingOptions{input_shape}, common.console);
    const open::WeightsSource source = open::read_weights(in, &loaded, common.console);
    OnnxOptions options{opset.value_or(onnx::kNewestOpset), batch, sequence_length, {}, dtype};
    for (const std::string& text : shapes) {
      const std::size_t sign = text.find('=');
      if (sign == std::string::npos) throw bad_usage("--shape {}: expected NAME=DIMS", printable(text));
      options.shapes[text.substr(0, sign)] = parse_shape(text.substr(sign + 1), "--shape");
    }
    return save_onnx(out, loaded, source.store, options, common.console);
  }

  /// Returns the model of --quantize; nothing without that option.
  [[nodiscard]] std::optional<open::LoadedModel> quantized() const {
    if (!quantize) return std::nullopt;
    return open::load_model(model ? model : std::optional(in), open::ReadingOptions{input_shape, {}, false, quantize},
                            common.console);
  }

  /// Reads the weights of a model from a file. If they are quantized, the file has them as floats; each float array is
  /// released when its integers exist.
  [[nodiscard]] std::vector<Tensor> weights_for(const open::LoadedModel& floats, const open::LoadedModel& wanted,
                                                weights::Store store) const {
    const std::vector<graph::WeightSpec> specs = floats.model.weights();
    if (!quantize) return cast(weights::bind_as_stored(specs, store));
    std::vector<Tensor> numbers = weights::bind(specs, store);
    store = {};
    return weights::quantize(wanted.model.weights(), specs,
                             [&](std::size_t i) { return cast({std::exchange(numbers[i], Tensor())}).front(); });
  }

  [[nodiscard]] report::SavedReport with_model(const open::LoadedModel& floats, weights::Store store) const {
    std::optional<open::LoadedModel> integers = quantized();
    const open::LoadedModel& loaded = integers ? *integers : floats;
    // Only .weights.h5 has names of optimizer variables that other files can use.
    const bool keeps_state = store.naming == weights::Naming::store_path;
    const std::vector<NamedTensor> state = keeps_state ? std::move(store.state) : std::vector<NamedTensor>();
    const std::vector<Tensor> tensors = weights_for(floats, loaded, std::move(store));
    return save_model_weights(out, loaded, tensors, state, common.console);
  }

  [[nodiscard]] report::SavedReport from_torch(const open::LoadedModel& loaded,
                                               const open::WeightsSource& source) const {
    const std::vector<graph::WeightSpec> specs = loaded.model.weights();
    const std::vector<weights::TorchSource> found = weights::from_torch(specs, source.store);
    std::vector<Tensor> tensors;
    std::vector<report::SavedReport::Source> sources;
    for (std::size_t i = 0; i < specs.size(); ++i) {
      tensors.push_back(found[i].tensor);
      sources.push_back({found[i].array, specs[i].path});
      common.console.note(fmt::format("{} → {}", printable(found[i].array), printable(specs[i].path)));
    }
    tensors = cast(std::move(tensors));
    report::SavedReport report = save_model_weights(out, loaded, tensors, {}, common.console);
    report.sources = std::move(sources);
    return report;
  }

  /// Converts without a model: the arrays keep their names, and their paths if the file has them.
  [[nodiscard]] report::SavedReport by_names(const open::WeightsSource& source) const {
    const weights::Store& store = source.store;
    const bool places = store.naming == weights::Naming::store_path;
    // The conversion needs the model's layout, so the user gets the reason why the model cannot be read.
    if (source.unreadable && (quantize || (weights::needs_layout(out) && !out.ends_with(".weights.h5"))))
      throw Error(*source.unreadable);
    if (quantize)
      throw bad_usage("--quantize: {} contains no model, which determines the kernels to quantize; give --model",
                      printable(in));
    // The conversion needs the model's layout, so the user gets the reason why the model cannot be read.
    if (source.unreadable && weights::needs_layout(out) && !out.ends_with(".weights.h5"))
      throw Error(*source.unreadable);
    if (weights::holds_config(out))
      throw bad_usage("{}: a .keras archive contains the model too; give --model", printable(out));
    if (weights::needs_layout(out) && !(places && out.ends_with(".weights.h5"))) {
      throw bad_usage("{}: {} does not record the model paths of its arrays; give --model", printable(out),
                      printable(in));
    }
    source.warn(common.console);
    std::vector<Tensor> tensors;
    for (const NamedTensor& array : store.weights) tensors.push_back(array.tensor);
    tensors = cast(std::move(tensors));
    const Progress progress = writing(common.console, out, tensors);
    if (weights::needs_layout(out)) {
      save_places(store, tensors);
    } else {
      if (places) common.console.warn("the arrays keep the names of Keras's file; --model gives their paths");
      std::vector<NamedTensor> arrays;
      for (std::size_t i = 0; i < tensors.size(); ++i) {
        std::string name = store.weights[i].name;
        if (name.ends_with(":0")) name.resize(name.size() - 2);  // ":0" ends the names of variables in Keras 2
        arrays.push_back({std::move(name), tensors[i]});
      }
      io::write_tensors(out, arrays);
    }
    return saved_report(out, tensors);
  }

  void save_places(const weights::Store& store, const std::vector<Tensor>& tensors) const {
    std::vector<graph::WeightSpec> specs;
    for (const NamedTensor& array : store.weights) {
      graph::WeightSpec spec;
      // "layers/dense/vars/0" belongs to the layer "dense".
      spec.path = array.name.substr(0, array.name.rfind("/vars/")) + "/" + array.name.substr(array.name.rfind('/') + 1);
      spec.store_path = array.name;
      specs.push_back(std::move(spec));
    }
    weights::save(out, specs, tensors, {"", store.state});
  }

  /// Converts floating-point arrays to the dtype of --dtype.
  [[nodiscard]] std::vector<Tensor> cast(std::vector<Tensor> tensors) const {
    if (!dtype) return tensors;
    const DType wanted = *dtype_of(*dtype);
    std::int64_t overflown = 0;
    double numbers = 0;
    for (const Tensor& tensor : tensors) numbers += static_cast<double>(tensor.size());
    Progress progress(common.console, "rounding", numbers);
    for (Tensor& tensor : tensors) {
      progress.advance(static_cast<double>(tensor.size()));
      overflown += train::round_weight(tensor, wanted);
    }
    if (overflown > 0) {
      common.console.warn(fmt::format("{} {} too large for {} and became infinite", with_commas(overflown),
                                      overflown == 1 ? "number is" : "numbers are", *dtype));
    }
    const bool keras_2 = out.ends_with(".h5") && !out.ends_with(".weights.h5");
    if (wanted == DType::bfloat16 && (keras_2 || out.ends_with(".npz")))
      common.console.warn("this format has no bfloat16: rounded weights are stored as float32");
    return tensors;
  }
};

}  // namespace

Command convert_command() {
  return command_of<ConvertCommand>("convert", "convert weights and models between file formats");
}

}  // namespace attn::cli
