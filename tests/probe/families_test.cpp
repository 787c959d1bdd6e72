// Every operation on every family that attn generates or classifies with, by facts that need no reference.
#include <doctest/doctest.h>

#include <cmath>
#include <numeric>

#include "../places.h"
#include "attn/open/session.h"
#include "attn/probe/ablate.h"
#include "attn/probe/attention.h"
#include "attn/probe/dla.h"
#include "attn/probe/lens.h"
#include "attn/probe/outliers.h"
#include "attn/probe/patch.h"
#include "attn/probe/saliency.h"
#include "cases.h"

using namespace attn;
using namespace attn::test;

namespace {

const open::Silent kSilent{};
const std::vector<std::string> kFamilies = {"bart",
                                            "bert_classifier",
                                            "bert_masked_lm",
                                            "bloom",
                                            "falcon",
                                            "gemma",
                                            "gemma2",
                                            "gemma3",
                                            "gemma_bf16",
                                            "gpt2",
                                            "gpt2_int8",
                                            "gpt2_mixed_bf16",
                                            "gpt_neo_x",
                                            "llama",
                                            "llama3",
                                            "llama3_bf16",
                                            "llama3_int4",
                                            "llama3_int8",
                                            "mistral",
                                            "mixtral",
                                            "opt",
                                            "phi3",
                                            "qwen2",
                                            "qwen3",
                                            "smollm3",
                                            "t5",
                                            "t5_tied"};

/// A model of tests/data/generation on a backend.
struct Studied {
  open::Execution execution;
  std::unique_ptr<backends::Backend> backend;
  open::LoadedModel loaded;
  probe::Subject subject;
  probe::Prompt prompt{{5, 9, 12, 9, 7}, {}, {}}, other{{5, 9, 30, 9, 7}, {}, {}};
  bool is_float, is_half;

  explicit Studied(const std::string& name, const std::string& backend_name = "onednn")
      : backend(open::open_backend("cpu", backend_name, kSilent)),
        loaded(open::load_model(std::optional(preset(name)), execution, kSilent)),
        subject(loaded, execution, *backend, kSilent),
        is_float(name.find("int") == std::string::npos),
        is_half(name.find("bf16") != std::string::npos) {
    if (!subject.has_encoder()) return;
    prompt.encoder = {8, 3, 11};
    other.encoder = {8, 4, 11};
  }
};

}  // namespace

TEST_CASE("probe: every family has every point, and the last row of the lens is the prediction") {
  for (const std::string& name : kFamilies) {
    CAPTURE(name);
    Studied model(name);
    const probe::Lowered lowered = model.subject.lower(1, model.prompt);
    for (const probe::Block& block : lowered.points.blocks) {
      for (const graph::ValueId value : {block.resid_pre, block.resid_post, block.mlp_out, block.self.q, block.self.k,
                                         block.self.v, block.self.z, block.self.pattern, block.self.out})
        CHECK(value != graph::kNone);
      CHECK(block.cross.has_value() == (block.stack == "decoder"));
    }
    const graph::ValueId logits = lowered.points.logits;
    const Tensor own = model.subject.run(lowered, model.prompt, {&logits, 1}).at(logits);
    const probe::Lens lens = probe::lens(model.subject, model.prompt, {});
    const probe::Id best = lens.cells.back().back().top.front().token;
    const std::int64_t width = own.shape().back();
    for (std::int64_t i = own.size() - width; i < own.size(); ++i)
      CHECK(own.at(own.size() - width + best) >= own.at(i) - (model.is_half ? 0.05 : 1e-4));
  }
}

TEST_CASE("probe: every family can be ablated, and attention adds up to 1") {
  for (const std::string& name : kFamilies) {
    CAPTURE(name);
    Studied model(name);
    probe::AblateOptions options;
    options.attention = true;
    const probe::Ablated out = probe::ablate(model.subject, model.prompt, options);
    CHECK(out.parts.size() > 8);
    for (const probe::AblatedPart& part : out.parts) CHECK(std::isfinite(part.change.metric));
    for (const auto& matrix : probe::rollout(model.subject, model.prompt, probe::Fuse::mean).matrices)
      for (const std::vector<double>& row : matrix)
        CHECK(std::accumulate(row.begin(), row.end(), 0.0) == doctest::Approx(1).epsilon(0.02));
    CHECK(probe::outliers(model.subject, model.prompt, {}).size() >= 2);
    CHECK(probe::head_scores(model.subject, probe::repeated_prompt(model.subject, 4, 0)).size() >= 4);
  }
}

TEST_CASE("probe: the parts of every pre-norm decoder add up to its logit, with int8 and int4 weights too") {
  for (const std::string& name : kFamilies) {
    if (name.starts_with("bert") || name == "bart") continue;  // post-norm
    CAPTURE(name);
    Studied model(name);
    const probe::Attribution out = probe::attribute(model.subject, model.prompt, {});
    double largest = 0, worst = 0;
    for (std::size_t t = 0; t < out.sum.size(); ++t) {
      largest = std::max(largest, std::abs(out.logit[t]));
      worst = std::max(worst, std::abs(out.sum[t] - out.logit[t]));
    }
    const double tolerance = model.is_half ? 0.05 : model.is_float ? 1e-5 : 0.05;
    CHECK_MESSAGE(worst <= tolerance * largest, name, " ", worst, " of ", largest);
  }
}

TEST_CASE("probe: a patch of the whole stream reproduces the clean run for every family") {
  for (const std::string& name : kFamilies) {
    CAPTURE(name);
    Studied model(name);
    probe::PatchOptions options;
    const std::string stack = model.subject.has_encoder() ? "decoder." : "";
    options.points = stack + "resid_post." + (model.subject.has_encoder() ? "1" : "-1");
    const probe::Patched out = probe::patch(model.subject, model.prompt, model.other, options);
    // After the last block the result depends on one position: the last, or the first for a classifier.
    double nearest = 1e9;
    for (const probe::PatchedPlace& place : out.places) nearest = std::min(nearest, std::abs(*place.value - out.clean));
    CHECK(nearest <= (model.is_half ? 0.1 : 1e-4) * std::max(1.0, std::abs(out.clean)));
  }
}

TEST_CASE("probe: float models have gradients, and an error names the layer of a quantized model") {
  for (const std::string& name : kFamilies) {
    CAPTURE(name);
    Studied model(name);
    if (!model.is_float) {
      CHECK_THROWS_WITH(static_cast<void>(probe::saliency(model.subject, model.prompt, {})),
                        doctest::Contains("has no gradient"));
      continue;
    }
    for (const probe::TokenSaliency& token : probe::saliency(model.subject, model.prompt, {}).tokens)
      CHECK(std::isfinite(token.value));
  }
}
