#include <algorithm>
#include <memory>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/io/tensor_file.h"
#include "attn/weights/bind.h"
#include "attn/weights/from_torch.h"
#include "attn/weights/save.h"
#include "attn/weights/stats.h"
#include "common.h"
#include "model_target.h"
#include "name_pattern.h"
#include "options/command.h"
#include "progress.h"
#include "shared_options.h"
#include "weights_source.h"
#include "weights_target.h"

namespace attn::cli {
namespace {

struct ConvertCommand {
  Common common;
  std::string in, from = "keras";
  std::optional<std::string> target, output;
  std::optional<ModelForm> form;
  std::optional<std::string> model, input_shape, dtype;
  std::vector<std::string> ignored;
  std::string out;  // OUT, however it was given

  void declare(Options& options) {
    add_common(options, common, {Format::table, Format::json}, false);
    options.add("in", in, "IN", "a folder, .weights.h5, .keras, .h5, .weights.json, .safetensors or .npz").required();
    options.add("out", target, "OUT", ".weights.h5, .keras, .h5, .safetensors or .npz; with --to a folder");
    options.add("-o,--output", output, "OUT", "the same by name");
    options.choice<std::optional<ModelForm>>(
        "--to", form, {{"preset", ModelForm::preset}, {"hf", ModelForm::hugging_face}, {"keras", ModelForm::keras}},
        "FORM", "the whole model, tokenizer too: a preset folder of KerasHub, a Hugging Face folder, a task's .keras");
    options.add("--model", model, "MODEL", "the model whose weights they are, where IN does not hold it");
    add_input_shape(options, input_shape, "of --model, the ");

    // what a run computes in is no reason to lose digits in a file
    options.add("--dtype", dtype, "DTYPE", "store floating-point numbers as float32, float16 or bfloat16")
        .one_of({"float32", "float16", "bfloat16"})
        .without_variable();
    options.add("--from", from, "LIBRARY", "whose names IN has: keras, or torch (nn.TransformerEncoder, BERT)")
        .one_of({"keras", "torch"});
    options.add("--ignore", ignored, "PATTERN", "leave out arrays of such names: 'pooler.*'").repeatable();
  }

  [[nodiscard]] int run() {
    if (!target && !output) throw bad_usage("OUT is missing: attn convert IN OUT [options]");
    if (target && output) throw bad_usage("OUT was given twice, by its place and by -o");
    out = target ? *target : *output;
    if (form) {
      write_report(report::render(common.form(), whole_model(), "convert"), common.console, false);
      return 0;
    }
    refuse_binary_on_terminal(out);
    check_target(out, model ? std::vector{in, *model} : std::vector{in});
    if (from == "torch" && !model)
      throw bad_usage("--from torch needs --model: the arrays are named by the layers of another library");
    std::optional<LoadedModel> asked;
    if (model) asked = load_model(model, input_shape, common.console);
    const bool by_torch = from == "torch";  // whose names say more than the model knows
    WeightsSource source = read_weights(in, asked && !by_torch ? &*asked : nullptr, common.console);
    std::erase_if(source.store.weights, [&](const NamedTensor& array) { return matches_any(array.name, ignored); });
    const report::SavedReport report = by_torch                ? from_torch(*asked, source)
                                       : asked || source.model ? with_model(asked ? *asked : *source.model, source)
                                                               : by_names(source);
    write_report(report::render(common.form(), report, "convert"), common.console, out == "-");
    return 0;
  }

  /// The model itself, with its config and its tokenizer.
  [[nodiscard]] report::SavedReport whole_model() const {
    if (from == "torch") throw bad_usage("--to writes whole models, and --from torch reads weights alone");
    check_model_target(out, *form);
    const LoadedModel loaded = load_model(model ? model : std::optional(in), input_shape, common.console);
    const WeightsSource source = read_weights(in, &loaded, common.console);
    const std::vector<Tensor> tensors = cast(weights::bind_as_stored(loaded.model.weights(), source.store));
    save_model(out, *form, loaded, tensors, model.value_or(in), common.console);
    return saved_report(out, tensors);
  }

  [[nodiscard]] report::SavedReport with_model(const LoadedModel& loaded, const WeightsSource& source) const {
    const std::vector<Tensor> tensors = cast(weights::bind_as_stored(loaded.model.weights(), source.store));
    // Elsewhere the names of an optimizer's numbers mean nothing.
    const bool keeps_state = source.store.naming == weights::Naming::store_path;
    save_model_weights(out, loaded, tensors, keeps_state ? source.store.state : std::vector<NamedTensor>(),
                       common.console);
    return saved_report(out, tensors);
  }

  [[nodiscard]] report::SavedReport from_torch(const LoadedModel& loaded, const WeightsSource& source) const {
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
    save_model_weights(out, loaded, tensors, {}, common.console);
    report::SavedReport report = saved_report(out, tensors);
    report.sources = std::move(sources);
    return report;
  }

  /// Without a model the arrays keep their names, and their places where the file says them.
  [[nodiscard]] report::SavedReport by_names(const WeightsSource& source) const {
    const weights::Store& store = source.store;
    const bool places = store.naming == weights::Naming::store_path;
    if (weights::holds_config(out))
      throw bad_usage("{}: a .keras archive holds the model too; name it with --model", printable(out));
    if (weights::needs_layout(out) && !(places && out.ends_with(".weights.h5"))) {
      throw bad_usage("{}: {} does not say where its arrays belong in a model; name the model with --model",
                      printable(out), printable(in));
    }
    std::vector<Tensor> tensors;
    for (const NamedTensor& array : store.weights) tensors.push_back(array.tensor);
    tensors = cast(std::move(tensors));
    const Progress progress = writing(common.console, out, tensors);
    if (weights::needs_layout(out)) {
      save_places(store, tensors);
    } else {
      if (places)
        common.console.warn("the arrays are named by their places in Keras's file; --model gives their paths");
      std::vector<NamedTensor> arrays;
      for (std::size_t i = 0; i < tensors.size(); ++i) {
        std::string name = store.weights[i].name;
        if (name.ends_with(":0")) name.resize(name.size() - 2);  // as Keras 2 calls its variables
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
      // "layers/dense/vars/0" is of the layer "dense".
      spec.path = array.name.substr(0, array.name.rfind("/vars/")) + "/" + array.name.substr(array.name.rfind('/') + 1);
      spec.store_path = array.name;
      specs.push_back(std::move(spec));
    }
    weights::save(out, specs, tensors, {"", store.state});
  }

  /// In the dtype that was asked for. Only floating-point numbers are converted.
  [[nodiscard]] std::vector<Tensor> cast(std::vector<Tensor> tensors) const {
    if (!dtype) return tensors;
    const DType wanted = *dtype_of(*dtype);
    std::int64_t overflown = 0;
    double numbers = 0;
    for (const Tensor& tensor : tensors) numbers += static_cast<double>(tensor.size());
    Progress progress(common.console, "rounding", numbers);
    for (Tensor& tensor : tensors) {
      progress.advance(static_cast<double>(tensor.size()));
      if (!is_floating(tensor.dtype()) || tensor.dtype() == wanted) continue;
      const std::int64_t infinite = weights::stats_of(tensor).inf_count;
      tensor = tensor.cast(wanted);
      overflown += weights::stats_of(tensor).inf_count - infinite;
    }
    if (overflown > 0) {
      common.console.warn(fmt::format("{} {} too large for {} and became infinite", with_commas(overflown),
                                      overflown == 1 ? "number is" : "numbers are", *dtype));
    }
    const bool keras_2 = out.ends_with(".h5") && !out.ends_with(".weights.h5");
    if (wanted == DType::bfloat16 && (keras_2 || out.ends_with(".npz")))
      common.console.warn("this form has no bfloat16: the rounded numbers are stored as float32");
    return tensors;
  }
};

}  // namespace

Command convert_command() { return command_of<ConvertCommand>("convert", "weights from one form of file to another"); }

}  // namespace attn::cli
