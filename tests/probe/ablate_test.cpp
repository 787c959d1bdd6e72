#include "attn/probe/ablate.h"

#include <doctest/doctest.h>

#include <map>

#include "attn/base/error.h"
#include "cases.h"

using namespace attn;
using namespace attn::test;

namespace {

const std::map<std::string, std::string> kSites = {{"z", "head"}, {"attn_out", "attn"}, {"mlp_out", "mlp"}};

}  // namespace

TEST_CASE("probe: ablating a head, an attention and an MLP changes the metric as in the reference") {
  for (const Run& run : runs(kSingleStacks)) {
    const std::string& name = run.name;
    Case test(name, run.way);
    const auto check = [&](const std::string& how, probe::Ablation with, std::vector<probe::Prompt> reference) {
      probe::AblateOptions options;
      options.attention = true;
      options.with = with;
      options.reference = std::move(reference);
      options.metric = test.metric();
      const probe::Ablated out = probe::ablate(test.subject(), test.prompt("ids"), options);
      std::map<std::string, std::vector<double>> loss, kl, metric;
      for (const probe::AblatedPart& part : out.parts) {
        const std::string kind = part.point.substr(0, part.point.find('.'));
        loss[kind].push_back(part.change.loss.value_or(0.0));
        kl[kind].push_back(part.change.kl);
        metric[kind].push_back(part.change.metric);
      }
      test.expect({out.baseline.metric}, "ablation", "metric");
      for (const auto& [kind, site] : kSites) {
        const std::string array = site + "_" + how + "_";
        test.expect(metric[kind], "ablation", array + "metric");
        if (name == "bert_classifier") continue;
        test.expect(loss[kind], "ablation", array + "loss");
        test.expect(kl[kind], "ablation", array + "kl");
      }
    };
    check("zero", probe::Ablation::zero, {});
    check("mean_own", probe::Ablation::mean, {});
    check("mean_reference", probe::Ablation::mean, test.prompts("reference"));
    check("mean_reference_by_position", probe::Ablation::mean_by_position, test.prompts("reference"));
  }
}

TEST_CASE("probe: heads of encoder, decoder and cross-attention can be ablated") {
  Case test("t5_tied", {"onednn", "float32"});
  probe::Prompt prompt = test.prompt("decoder");
  prompt.encoder = test.prompt("encoder").ids;
  probe::AblateOptions options;
  options.metric = test.metric();
  std::map<std::string, std::vector<double>> changes;
  for (const probe::AblatedPart& part : probe::ablate(test.subject(), prompt, options).parts)
    changes[part.point.substr(0, part.point.rfind('.'))].push_back(part.change.metric);
  test.expect(changes["encoder.z"], "seq2seq", "encoder_head_zero");
  test.expect(changes["decoder.z"], "seq2seq", "decoder_head_zero");
  test.expect(changes["cross.z"], "seq2seq", "cross_head_zero");
  test.expect(changes["encoder.mlp_out"], "seq2seq", "encoder_mlp_zero");
  test.expect(changes["decoder.mlp_out"], "seq2seq", "decoder_mlp_zero");
}

TEST_CASE("probe: a reference by position needs prompts of the same length") {
  Case test("gpt2", {"onednn", "float32"});
  probe::AblateOptions options;
  options.with = probe::Ablation::resample;
  CHECK_THROWS_WITH_AS(static_cast<void>(probe::ablate(test.subject(), test.prompt("ids"), options)),
                       doctest::Contains("`reference`"), Error);
  options.reference = test.prompts("clean");
  CHECK_THROWS_WITH_AS(static_cast<void>(probe::ablate(test.subject(), test.prompt("ids"), options)),
                       doctest::Contains("12 tokens"), Error);
}
