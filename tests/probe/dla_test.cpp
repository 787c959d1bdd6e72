#include "attn/probe/dla.h"

#include <doctest/doctest.h>

#include <map>

#include "attn/base/error.h"
#include "cases.h"

using namespace attn;
using namespace attn::test;

TEST_CASE("probe: the parts of a logit equal the reference's and add up to the logit") {
  for (const Way& way : kWays)
    for (const std::string& name : kDecoders)
      for (const char* kind : {"pair", "token"}) {
        Case test(name, way);
        probe::Metric metric = test.metric();
        if (std::string(kind) == "token") metric.versus.reset();
        const probe::Attribution out = probe::attribute(test.subject(), test.prompt("clean"), metric);
        std::map<std::string, std::vector<double>> parts;
        for (const probe::AttributedPart& part : out.parts) {
          std::vector<double>& all = parts[part.part.substr(0, part.part.find('.'))];
          all.insert(all.end(), part.values.begin(), part.values.end());
        }
        const auto check = [&](const std::vector<double>& values, const std::string& array) {
          test.expect(values, "dla", std::string(kind) + "_" + array);
        };
        check(parts["embed"], "embed");
        check(parts["z"], "heads");
        check(parts["mlp_out"], "mlp");
        check(out.sum, "sum");
        test.expect(out.after_cap, "dla", std::string("logit_") + kind);
        if (name == "gpt2") {
          check(parts["pos_embed"], "pos_embed");
          check(parts["attn_bias"], "attn_bias");
          test.expect({parts["norm_bias"].front()}, "dla", std::string(kind) + "_norm_bias");
        }
      }
}

TEST_CASE("probe: attribution rejects a post-norm model, whose parts do not add up") {
  Case test("bert_classifier", {"onednn", "float32"});
  CHECK_THROWS_WITH_AS(static_cast<void>(probe::attribute(test.subject(), test.prompt("clean"), {})),
                       doctest::Contains("use ablate or patch"), Error);
}
