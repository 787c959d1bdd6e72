#include "attn/probe/saliency.h"

#include <doctest/doctest.h>

#include "attn/base/error.h"
#include "cases.h"

using namespace attn;
using namespace attn::test;

TEST_CASE("probe: gradients and integrated gradients of the embeddings equal the reference's") {
  for (const Way& way : kWays)
    for (const std::string& name : kSingleStacks) {
      Case test(name, way);
      const probe::Prompt prompt = test.prompt("ids");
      probe::SaliencyOptions options;
      options.metric = probe::Metric{test.number("target"), {}};
      const auto values = [](const std::vector<probe::TokenSaliency>& tokens) {
        std::vector<double> out;
        for (const probe::TokenSaliency& token : tokens) out.push_back(token.value);
        return out;
      };
      const probe::Saliency product = probe::saliency(test.subject(), prompt, options);
      test.expect({product.score}, "saliency", "score");
      test.expect(values(product.tokens), "saliency", "grad_x_input");
      options.method = probe::SaliencyMethod::gradient;
      const probe::Saliency gradient = probe::saliency(test.subject(), prompt, options);
      test.expect(values(gradient.tokens), "saliency", "gradient_l2");
      test.expect(numbers(gradient.gradient), "saliency", "gradient");
      options.method = probe::SaliencyMethod::integrated;
      options.baseline = test.number("pad_id");
      for (const auto& [rule, word] :
           {std::pair(probe::StepRule::midpoint, "midpoint"), {probe::StepRule::gauss, "gauss"}}) {
        options.rule = rule;
        const probe::Saliency out = probe::saliency(test.subject(), prompt, options);
        const std::string array = std::string("ig_pad_") + word;
        test.expect(values(out.tokens), "saliency", array + "_by_token");
        test.expect(numbers(out.gradient), "saliency", array);
        test.expect({*out.baseline_score}, "saliency", "score_pad");
      }
      options.baseline.reset();
      options.rule = probe::StepRule::midpoint;
      test.expect(values(probe::saliency(test.subject(), prompt, options).tokens), "saliency",
                  "ig_zero_midpoint_by_token");
    }
}

TEST_CASE("probe: saliency of an encoder-decoder covers the tokens of both sides") {
  Case test("t5_tied", {"onednn", "float32"});
  probe::Prompt prompt = test.prompt("decoder");
  prompt.encoder = test.prompt("encoder").ids;
  probe::SaliencyOptions options;
  options.metric = probe::Metric{test.number("token_a"), {}};
  const probe::Saliency out = probe::saliency(test.subject(), prompt, options);
  std::vector<double> encoder, decoder;
  for (const probe::TokenSaliency& token : out.encoder) encoder.push_back(token.value);
  for (const probe::TokenSaliency& token : out.tokens) decoder.push_back(token.value);
  test.expect({out.score}, "seq2seq", "score");
  test.expect(encoder, "seq2seq", "grad_x_input_encoder");
  test.expect(decoder, "seq2seq", "grad_x_input_decoder");
}
