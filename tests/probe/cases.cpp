#include "cases.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "../instrumented.h"
#include "../places.h"
#include "attn/io/file.h"
#include "attn/io/tensor_file.h"
#include "attn/open/session.h"

namespace attn::test {
namespace {

const open::Silent kSilent{};

nlohmann::json parsed(const std::string& meta) { return nlohmann::json::parse(meta); }

}  // namespace

Case::Case(const std::string& name, const Way& way) : name_(name), dtype_(way.dtype) {
  meta_ = std::string(io::read_file(in_repository("tests/data/probe/" + name + "/meta.json"), 1 << 20).text());
  execution_.backend = way.backend;
  if (!way.dtype.empty()) execution_.dtype = way.dtype;
  execution_.threads = 1;
  backend_ = open::open_backend("cpu", way.backend, kSilent);
  const std::string model = in_repository("tests/data/" + parsed(meta_)["model"].get<std::string>());
  loaded_ = std::make_unique<open::LoadedModel>(open::load_model(std::optional(model), execution_, kSilent));
  subject_ = std::make_unique<probe::Subject>(*loaded_, execution_, *backend_, kSilent);
}

std::vector<Run> runs(const std::vector<std::string>& names) {
  std::vector<Run> out;
  for (const Way& way : kWays)
    for (const std::string& name : names) out.push_back({name, way});
  for (const char* backend : {"reference", "onednn"})
    for (const char* name : {"gpt2_int8", "llama3_int8", "llama3_int4"}) out.push_back({name, {backend, ""}});
  return out;
}

const Tensor& Case::array(const std::string& file, const std::string& name) {
  auto& arrays = files_[file];
  if (arrays.empty())
    for (NamedTensor& each : io::read_tensors(in_repository("tests/data/probe/" + name_ + "/" + file + ".npz")))
      arrays.emplace(each.name, each.tensor);
  REQUIRE_MESSAGE(arrays.contains(name), file, " ", name);
  return arrays.at(name);
}

std::vector<probe::Prompt> Case::prompts(const std::string& name) {
  const Tensor& ids = array("inputs", name);
  std::vector<probe::Prompt> out(static_cast<std::size_t>(ids.shape()[0]));
  for (std::int64_t i = 0; i < ids.size(); ++i)
    out[static_cast<std::size_t>(i / ids.shape()[1])].ids.push_back(static_cast<probe::Id>(ids.at(i)));
  return out;
}

int Case::number(const std::string& key) const { return parsed(meta_)[key].get<int>(); }

std::vector<std::string> Case::names(const std::string& key) const {
  return parsed(meta_)[key].get<std::vector<std::string>>();
}

void Case::expect(const std::vector<double>& got, const std::string& file, const std::string& name, std::size_t first,
                  bool whole) {
  const Tensor& expected = array(file, name);
  if (whole) REQUIRE(static_cast<std::int64_t>(got.size()) == expected.size());
  if (is_quantized()) return expect_rounded(got, file, name, first);
  double largest = 0, worst = 0;
  for (std::int64_t i = 0; i < expected.size(); ++i) largest = std::max(largest, std::abs(expected.at(i)));
  for (std::size_t i = 0; i < got.size(); ++i)
    worst = std::max(worst, std::abs(got[i] - expected.at(static_cast<std::int64_t>(first + i))));
  const nlohmann::json meta = parsed(meta_);
  // Rotary angles of a float64 run are float32. Without fused multiply-add, sums round once more.
  double tolerance = (kIsInstrumented ? 2e-5 : 1e-5) * largest;
  if (dtype_ == "float64" && (name_ == "gpt2" || name_ == "bert_classifier")) {
    tolerance = 1e-9 * largest;
  } else if (dtype_ == "float32" && meta.contains("float32_error")) {
    const bool gradients = file == "saliency" || file == "attribution_patching";  // forward and backward pass
    tolerance = (gradients ? 1e-5 : 1e-6) * std::max(largest, scale_of(file));
    if (const auto& errors = meta["float32_error"][file]; errors.contains(name))
      tolerance = std::max(tolerance, 4.0 * errors[name].get<double>());
  }
  if (expected.dtype() == DType::float32) tolerance = std::max(tolerance, 3e-7 * largest);
  CHECK_MESSAGE(worst <= tolerance, name_, " ", dtype_, " ", file, " ", name, ": error ", worst, ", largest ", largest);
}

void Case::expect_rounded(const std::vector<double>& got, const std::string& file, const std::string& name,
                          std::size_t first) {
  const Tensor& expected = array(file, name);
  double largest = scale_of(file), worst = 0;
  for (const double value : numbers(expected)) largest = std::max(largest, std::abs(value));
  std::size_t far = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double error = std::abs(got[i] - expected.at(static_cast<std::int64_t>(first + i)));
    worst = std::max(worst, error);
    if (!(error <= 1e-4 * largest)) ++far;
  }
  CHECK_MESSAGE(((far <= 1 || far * 50 <= got.size()) && worst <= 0.02 * largest), name_, " ", file, " ", name, ": ",
                far, " of ", got.size(), " are off by more than 1e-4 of ", largest, ", one by ", worst);
}

double Case::scale_of(const std::string& file) {
  if (file != "ablation" && file != "patching" && file != "attribution_patching" && file != "dla") return 0.0;
  double largest = 0;
  for (const double logit : numbers(array("activations", "logits"))) largest = std::max(largest, std::abs(logit));
  return largest;
}

std::vector<double> numbers(const Tensor& tensor) {
  std::vector<double> out;
  for (std::int64_t i = 0; i < tensor.size(); ++i) out.push_back(tensor.at(i));
  return out;
}

}  // namespace attn::test
