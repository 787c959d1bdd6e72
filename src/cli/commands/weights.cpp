#include <algorithm>
#include <memory>
#include <set>

#include "arguments/shared_options.h"
#include "attn/base/error.h"
#include "attn/base/name_pattern.h"
#include "attn/base/text.h"
#include "attn/io/sha256.h"
#include "attn/open/execution.h"
#include "attn/open/model.h"
#include "attn/open/weights_source.h"
#include "attn/report/weights_view.h"
#include "attn/run/compare_weights.h"
#include "attn/weights/agreement.h"
#include "attn/weights/bind.h"
#include "attn/weights/file_names.h"
#include "attn/weights/stats.h"
#include "options/command.h"
#include "output/common.h"
#include "output/progress.h"

namespace attn::cli {
namespace {

struct WeightsCommand {
  Common common;
  std::string file;
  std::optional<std::string> model, other;
  std::optional<Shape> input_shape;
  std::vector<std::string> patterns;
  std::optional<std::string> sort;
  run::Tolerance tolerance{0.0, 0.0};
  bool sha256 = false;

  void declare(Options& options) {
    add_common(options, common, {Format::table, Format::json, Format::markdown, Format::csv});
    options.add("file", file, "FILE", "folder, .weights.h5, .keras, .h5, .weights.json, .safetensors, .npz or .npy")
        .required();
    options.add("--model", model, "MODEL", "name the weights by this model and check them against it");
    add_input_shape(options, input_shape, "with --model: ");
    options.add("--expect", other, "FILE", "compare with the weights of this file; exit 1 if they differ");

    // rejected without --expect, like --atol
    options
        .add("--rtol", tolerance.rtol, "R",
             "relative tolerance of --expect; 0 requires equality, dtypes too (default 0)")
        .not_negative()
        .without_variable();
    options.add("--atol", tolerance.atol, "A", "absolute tolerance of --expect (default 0)")
        .not_negative()
        .without_variable();
    options.add("--match", patterns, "PATTERN", "only arrays with matching names (wildcards * and ?); repeatable")
        .repeatable();
    options.flag("--sha256", sha256, "show the SHA-256 of each array");
    options.add("--sort", sort, "KEY", "sort by name, size, max (largest magnitude) or std (default file order)")
        .one_of({"name", "size", "max", "std"});
  }

  [[nodiscard]] int run() const {
    if (other && sort) throw bad_usage("--sort and --expect exclude each other");
    if (!other && (tolerance.rtol > 0 || tolerance.atol > 0)) throw bad_usage("--rtol and --atol require --expect");
    std::optional<open::LoadedModel> asked;
    if (model) asked = open::load_model(model, open::ReadingOptions{input_shape}, common.console);
    const open::WeightsSource source = open::read_weights(file, asked ? &*asked : nullptr, common.console);
    source.warn(common.console);
    return other ? compare(source, asked) : list(source, asked);
  }

  [[nodiscard]] int list(const open::WeightsSource& source, const std::optional<open::LoadedModel>& asked) const {
    report::WeightsReport report;
    report.file = file;
    std::vector<NamedTensor> arrays = open::named_weights(source, asked ? &*asked : nullptr);
    arrays.insert(arrays.end(), source.store.state.begin(), source.store.state.end());
    double numbers = 0;
    for (const NamedTensor& array : arrays) numbers += static_cast<double>(array.tensor.size());
    Progress progress(common.console, "looking at arrays", numbers);
    for (const NamedTensor& array : arrays) {
      if (chosen(array.name)) report.arrays.push_back(describe(array));
      progress.advance(static_cast<double>(array.tensor.size()));
    }
    if (report.arrays.empty() && !arrays.empty())
      throw bad_usage("--match: none of the {} arrays of {} matches", arrays.size(), printable(file));
    order(report.arrays);
    if (asked) report.check = check(*asked, source.store);
    common.write(report::render(common.form(), report));
    const bool pass = !report.check || report.check->pass();
    return static_cast<int>(pass ? ExitCode::done : ExitCode::differs);
  }

  [[nodiscard]] int compare(const open::WeightsSource& a, const std::optional<open::LoadedModel>& asked) const {
    const open::WeightsSource b = open::read_weights(*other, asked ? &*asked : nullptr, common.console);
    b.warn(common.console);
    // --model names the arrays of both files. Without it, a file without a model is named by the other file's model.
    const open::LoadedModel* of_a = asked ? &*asked : a.model ? &*a.model : b.model ? &*b.model : nullptr;
    const open::LoadedModel* of_b = asked ? &*asked : b.model ? &*b.model : of_a;
    report::DiffReport report{file, *other, tolerance.rtol, tolerance.atol, {}};
    report.result = compared(filtered(open::weights_by_place(a, of_a)), filtered(open::weights_by_place(b, of_b)));
    if (report.result.both.empty() && of_a == nullptr && !report.result.only_a.empty() && !report.result.only_b.empty())
      common.console.warn("no array has the same name in both files; --model pairs them");
    common.write(report::render(common.form(), report));
    return static_cast<int>(report.result.equal() ? ExitCode::done : ExitCode::differs);
  }

  [[nodiscard]] run::WeightsComparison compared(const std::vector<NamedTensor>& a,
                                                const std::vector<NamedTensor>& b) const {
    double numbers = 0;
    for (const NamedTensor& array : a) numbers += static_cast<double>(array.tensor.size());
    Progress progress(common.console, "comparing", numbers);
    return run::compare_weights(a, b, tolerance, [&](double more) { progress.advance(more); });
  }

  [[nodiscard]] bool chosen(const std::string& name) const { return patterns.empty() || matches_any(name, patterns); }

  [[nodiscard]] std::vector<NamedTensor> filtered(std::vector<NamedTensor> arrays) const {
    std::erase_if(arrays, [&](const NamedTensor& array) { return !chosen(array.name); });
    return arrays;
  }

  [[nodiscard]] report::ArrayReport describe(const NamedTensor& array) const {
    const weights::TensorStats stats = weights::stats_of(array.tensor);
    std::string sum;
    if (sha256) sum = io::sha256({array.tensor.data(), static_cast<std::size_t>(array.tensor.bytes())});
    return {
        array.name,    array.tensor.shape(), array.tensor.dtype(), stats.count,     array.tensor.bytes(), stats.min,
        stats.max,     stats.mean,           stats.stddev,         stats.nan_count, stats.inf_count,      stats.zeros,
        std::move(sum)};
  }

  /// Sorts by --sort: numbers in descending order, names alphabetically.
  void order(std::vector<report::ArrayReport>& arrays) const {
    if (!sort) return;
    using Array = report::ArrayReport;
    const auto by = [&](auto&& key) {
      std::stable_sort(arrays.begin(), arrays.end(), [&](const Array& a, const Array& b) { return key(a) > key(b); });
    };
    if (*sort == "name")
      std::stable_sort(arrays.begin(), arrays.end(), [](const Array& a, const Array& b) { return a.name < b.name; });
    if (*sort == "size") by([](const Array& array) { return array.bytes; });
    if (*sort == "max") by([](const Array& array) { return std::max(-array.min, array.max); });
    if (*sort == "std") by([](const Array& array) { return array.std; });
  }

  static report::ModelCheck check(const open::LoadedModel& loaded, const weights::Store& store) {
    using Weight = report::ModelCheck::Weight;
    const std::vector<graph::WeightSpec> specs = weights::without_absent_factors(loaded.model.weights(), store);
    const std::vector<std::string> names = weights::file_names(specs);
    const weights::Agreement agreement = weights::agree(specs, store);
    report::ModelCheck out;
    out.model = loaded.name;
    out.weights = static_cast<std::int64_t>(specs.size());
    const auto weight = [&](std::size_t spec) {
      return Weight{names[spec], specs[spec].shape, {}, specs[spec].dtype, {}};
    };
    for (const std::size_t spec : agreement.missing) out.missing.push_back(weight(spec));
    for (const std::size_t extra : agreement.extra) {
      const NamedTensor& array = store.weights[extra];
      out.extra.push_back({array.name, {}, array.tensor.shape(), {}, array.tensor.dtype()});
    }
    std::set<std::size_t> wrong(agreement.wrong_shape.begin(), agreement.wrong_shape.end());
    wrong.insert(agreement.wrong_dtype.begin(), agreement.wrong_dtype.end());
    for (const std::size_t spec : wrong) {
      const Tensor& tensor = store.weights[*agreement.matches[spec]].tensor;
      Weight found = weight(spec);
      found.found = tensor.shape();
      found.found_dtype = tensor.dtype();
      out.mismatched.push_back(std::move(found));
    }
    return out;
  }
};

}  // namespace

Command weights_command() {
  return command_of<WeightsCommand>("weights", "list, check or compare the arrays of a file");
}

}  // namespace attn::cli
