#include "attn/probe/points.h"

#include <doctest/doctest.h>

#include "attn/base/error.h"
#include "attn/probe/capture.h"
#include "attn/probe/edits.h"
#include "cases.h"

using namespace attn;
using namespace attn::test;

TEST_CASE("probe: every point of every family has the reference's value") {
  for (const Run& run : runs(kSingleStacks)) {
    const std::string& name = run.name;
    Case test(name, run.way);
    const probe::Prompt ids = test.prompt("ids");
    std::string kinds = "embed,resid_pre,q,k,v,pattern,z,attn_out,mlp_post,mlp_out,resid_post,logits";
    if (name != "gpt_neo_x") kinds += ",resid_mid";
    if (name != "bert_classifier") kinds += ",final_norm";
    for (const NamedTensor& array : probe::captured(test.subject(), {&ids, 1}, kinds)) {
      if (array.name == "ids") continue;
      const std::size_t dot = array.name.find('.');
      const auto size = static_cast<std::size_t>(array.tensor.size());
      const std::size_t layer = dot == std::string::npos ? 0 : std::stoul(array.name.substr(dot + 1));
      CAPTURE(array.name);
      test.expect(numbers(array.tensor), "activations", array.name.substr(0, dot), layer * size, false);
    }
  }
}

TEST_CASE("probe: encoder, decoder and cross-attention have separate points") {
  Case test("t5_tied", {"onednn", "float32"});
  probe::Prompt prompt = test.prompt("decoder");
  prompt.encoder = test.prompt("encoder").ids;
  const auto check = [&](const std::string& points, const std::string& array, std::size_t layers) {
    const auto all = probe::captured(test.subject(), {&prompt, 1}, points);
    REQUIRE(all.size() == layers + 1);  // and the ids
    std::vector<double> got;
    for (std::size_t i = 0; i < layers; ++i)
      for (const double value : numbers(all[i].tensor)) got.push_back(value);
    test.expect(got, "seq2seq", array);
  };
  check("encoder.pattern", "encoder_pattern", 2);
  check("decoder.pattern", "decoder_pattern", 2);
  check("cross.pattern", "cross_pattern", 2);
  check("logits", "logits", 1);
}

TEST_CASE("probe: negative layer numbers count from the end, and a wrong name suggests the nearest") {
  Case test("gpt2", {"onednn", "float32"});
  const probe::Points points = test.subject().lower(1, test.prompt("ids")).points;
  CHECK(points.find("z.-1").name == "z.1");
  CHECK(points.select("mlp_out,z.0").size() == 3);
  CHECK_THROWS_WITH_AS(static_cast<void>(points.find("resid_pos.0")), doctest::Contains("resid_post.0"), Error);
  CHECK_THROWS_AS(static_cast<void>(points.find("z.2")), Error);
}

TEST_CASE("probe: prompts of different lengths are padded, and an array has their lengths") {
  Case test("gpt2", {"onednn", "float32"});
  std::vector<probe::Prompt> both = {test.prompt("ids"), test.prompt("clean")};
  const auto arrays = probe::captured(test.subject(), both, "resid_post.0,pattern.1");
  REQUIRE(arrays.size() == 4);
  CHECK(arrays[0].tensor.shape() == Shape{2, 12, 32});
  CHECK(arrays[1].tensor.shape() == Shape{2, 4, 12, 12});
  CHECK(numbers(arrays[3].tensor) == std::vector<double>{12, 10});
  const auto alone = probe::captured(test.subject(), {&both[1], 1}, "resid_post.0,pattern.1");
  CHECK(arrays[0].tensor.at((12 + 9) * 32) == alone[0].tensor.at(9 * 32));
  CHECK(arrays[0].tensor.at((12 + 10) * 32) == 0);
}
