// Every model of tests/data/keras/families: what attn probe shows of it, or the sentence that refuses it.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <set>

#include "../places.h"
#include "attn/base/error.h"
#include "attn/open/session.h"
#include "attn/probe/ablate.h"
#include "attn/probe/attention.h"
#include "attn/probe/capture.h"
#include "attn/probe/dla.h"
#include "attn/probe/lens.h"
#include "attn/probe/outliers.h"
#include "attn/probe/patch.h"
#include "attn/probe/saliency.h"
#include "cases.h"

using namespace attn;
using namespace attn::test;

namespace {

const open::Silent kQuiet{};

/// Parts of the sentences that refuse a model of images, numbers or sounds, one of a fixed batch or of several texts,
/// and one whose layers mix positions without attention.
const std::vector<std::string> kRefusals = {"expected a model that reads only texts, but",
                                            "does not fit into",
                                            "the texts of a SigLIP have one length",
                                            "the model fixes the batch of",
                                            "has the fixed shape",
                                            "cannot be concatenated",
                                            "probe found no attention whose result is added"};
/// The models of which every operation below works.
const std::set<std::string> kOpened = {"albert",
                                       "bert_mixed_bfloat16",
                                       "bert_text_embedder",
                                       "bert_text_embedder_max",
                                       "blip2_text_causal_lm",
                                       "blip2_text_seq_2_seq_lm",
                                       "classifier",
                                       "deberta_v3",
                                       "deberta_v3_classifier",
                                       "deberta_v3_masked_lm",
                                       "deberta_v3_mixed_bfloat16",
                                       "edrec",
                                       "edrec_seq_2_seq_lm",
                                       "electra",
                                       "esm",
                                       "esm_absolute",
                                       "esm_classifier",
                                       "esm_masked_plm",
                                       "esm_mixed_bfloat16",
                                       "gemma3_text_embedder",
                                       "gemma3_text_embedder_last",
                                       "gemma3n",
                                       "gemma3n_causal_lm",
                                       "gemma3n_mixed_bfloat16",
                                       "gemma3n_separate",
                                       "gemma4",
                                       "gemma4_causal_lm",
                                       "gemma4_embedding",
                                       "gemma4_mixed_bfloat16",
                                       "gemma4_mixture",
                                       "gpt2_float16",
                                       "gpt_oss",
                                       "gpt_oss_mixed_bfloat16",
                                       "qwen3_5",
                                       "qwen3_5_layers",
                                       "qwen3_5_mixed_bfloat16",
                                       "qwen3_5_moe",
                                       "qwen3_5_moe_mixed_bfloat16",
                                       "qwen3_moe",
                                       "qwen3_moe_mixed_bfloat16",
                                       "qwen3_text_embedder",
                                       "qwen3_text_embedder_mixed_bfloat16",
                                       "qwen_moe",
                                       "qwen_moe_dense",
                                       "qwen_moe_mixed_bfloat16",
                                       "roberta",
                                       "roformer_v2",
                                       "roformer_v2_classifier",
                                       "roformer_v2_masked_lm",
                                       "roformer_v2_mixed_bfloat16",
                                       "smollm3_bfloat16",
                                       "t5gemma",
                                       "t5gemma2",
                                       "t5gemma2_narrow_windows",
                                       "t5gemma2_mixed_bfloat16",
                                       "t5gemma_mixed_bfloat16",
                                       "xlm_roberta",
                                       "xlm_roberta_text_embedder",
                                       "xlnet",
                                       "xlnet_mixed_bfloat16"};

/// Returns the sentence of an error, or "" if there is none.
std::string refusal(const std::function<void()>& question) {
  try {
    question();
  } catch (const Error& error) {
    if (error.code() != ExitCode::bad_input && error.code() != ExitCode::usage) return "not a refusal";
    return error.what();
  }
  return "";
}

/// A model of the folder, and a prompt that is short enough for all of them.
struct Opened {
  open::Execution execution;
  std::unique_ptr<backends::Backend> backend = open::open_backend("cpu", "onednn", kQuiet);
  open::LoadedModel loaded;
  probe::Subject subject;
  probe::Prompt prompt{{5, 6, 5, 7}, {}, {}}, other{{5, 8, 5, 7}, {}, {}};

  explicit Opened(const std::string& path)
      : loaded(open::load_model(std::optional(path), execution, kQuiet)), subject(loaded, execution, *backend, kQuiet) {
    if (subject.has_encoder()) prompt.encoder = other.encoder = {3, 4, 5};
  }
};

void ask_everything(Opened& model, const std::string& name) {
  const probe::Subject& subject = model.subject;
  const probe::Prompt& prompt = model.prompt;
  const bool predicts = subject.lower(1, prompt).points.logits != graph::kNone;
  const auto expect = [&](const std::string& what, const std::function<void()>& question,
                          const std::string& part = "") {
    const std::string sentence = refusal(question);
    CHECK_MESSAGE((part.empty() ? sentence.empty() : sentence.find(part) != std::string::npos), name, ", ", what, ": ",
                  sentence);
  };
  const std::string needs_logits = predicts ? "" : "ends in hidden states";
  expect(
      "lens", [&] { static_cast<void>(probe::lens(subject, prompt, {})); }, needs_logits);
  expect(
      "ablate", [&] { static_cast<void>(probe::ablate(subject, prompt, {})); }, needs_logits);
  expect(
      "patch", [&] { static_cast<void>(probe::patch(subject, prompt, model.other, {})); }, needs_logits);
  expect(
      "saliency", [&] { static_cast<void>(probe::saliency(subject, prompt, {})); }, needs_logits);
  expect("outliers", [&] { static_cast<void>(probe::outliers(subject, prompt, {})); });
  expect("heads", [&] { static_cast<void>(probe::head_scores(subject, prompt)); });
  expect("rollout", [&] { static_cast<void>(probe::rollout(subject, prompt, probe::Fuse::mean)); });
  expect("capture", [&] { static_cast<void>(probe::captured(subject, {&prompt, 1}, "z,resid_post,pattern")); });
}

}  // namespace

TEST_CASE("probe: every model answers all questions or rejects them in one sentence") {
  std::set<std::string> opened;
  for (const auto& entry : std::filesystem::directory_iterator(in_repository("tests/data/keras/families"))) {
    const std::string name = entry.path().filename().string(), path = (entry.path() / "model.keras").string();
    if (!std::filesystem::exists(path)) continue;
    CAPTURE(name);
    const std::string sentence = refusal([&] {
      Opened model(path);
      static_cast<void>(model.subject.run(model.subject.lower(1, model.prompt), model.prompt, {}));
    });
    if (!sentence.empty()) {
      const auto is_said = [&](const std::string& part) { return sentence.find(part) != std::string::npos; };
      CHECK_MESSAGE(std::ranges::any_of(kRefusals, is_said), sentence);
      continue;
    }
    opened.insert(name);
    Opened model(path);
    ask_everything(model, name);
  }
  for (const std::string& name : opened) CHECK_MESSAGE(kOpened.contains(name), name, " is opened too");
  for (const std::string& name : kOpened) CHECK_MESSAGE(opened.contains(name), name, " is not opened");
}
