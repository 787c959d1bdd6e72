#include "attn/probe/attention.h"

#include <doctest/doctest.h>

#include <set>

#include "attn/probe/compare.h"
#include "attn/probe/outliers.h"
#include "cases.h"

using namespace attn;
using namespace attn::test;

TEST_CASE("probe: rollout multiplies the attention of all layers") {
  for (const Run& run : runs(kSingleStacks)) {
    Case test(run.name, run.way);
    for (const auto& [fuse, array] :
         {std::pair(probe::Fuse::mean, "mean"), {probe::Fuse::max, "max"}, {probe::Fuse::min, "min"}}) {
      std::vector<double> all;
      for (const auto& matrix : probe::rollout(test.subject(), test.prompt("ids"), fuse).matrices)
        for (const std::vector<double>& row : matrix) all.insert(all.end(), row.begin(), row.end());
      test.expect(all, "rollout", array);
    }
  }
  Case test("t5_tied", {"onednn", "float32"});
  probe::Prompt prompt = test.prompt("decoder");
  prompt.encoder = test.prompt("encoder").ids;
  std::vector<double> all;
  for (const auto& matrix : probe::rollout(test.subject(), prompt, probe::Fuse::mean).matrices)
    for (const std::vector<double>& row : matrix) all.insert(all.end(), row.begin(), row.end());
  test.expect(all, "seq2seq", "encoder_rollout_mean");
}

TEST_CASE("probe: scores of heads on a repeated sequence, and their attention to each key") {
  for (const Run& run : runs(kSingleStacks)) {
    Case test(run.name, run.way);
    std::vector<double> numbers[6];
    for (const probe::HeadScores& head : probe::head_scores(test.subject(), test.prompt("repeated"))) {
      numbers[0].push_back(head.previous.mean);
      numbers[1].push_back(head.duplicate.mean);
      numbers[2].push_back(head.induction.mean);
      numbers[3].push_back(head.previous.share);
      numbers[4].push_back(head.duplicate.share);
      numbers[5].push_back(head.induction.share);
    }
    int i = 0;
    for (const char* array :
         {"previous", "duplicate", "induction", "previous_share", "duplicate_share", "induction_share"})
      test.expect(numbers[i++], "heads", array);
    std::vector<double> first, keys;
    for (const probe::HeadScores& head : probe::head_scores(test.subject(), test.prompt("ids"))) {
      first.push_back(head.first);
      keys.insert(keys.end(), head.to_key.begin(), head.to_key.end());
    }
    test.expect(first, "sinks", "to_first");
    test.expect(keys, "sinks", "to_key");
  }
}

TEST_CASE("probe: a repeated prompt contains each random token twice, and depends only on the seed") {
  Case test("gpt2", {"onednn", "float32"});
  const probe::Prompt prompt = probe::repeated_prompt(test.subject(), 12, 7);
  REQUIRE(prompt.ids.size() == 24);
  CHECK(std::set<probe::Id>(prompt.ids.begin(), prompt.ids.end()).size() == 12);
  CHECK(prompt.ids[3] == prompt.ids[15]);
  CHECK(probe::repeated_prompt(test.subject(), 12, 7).ids == prompt.ids);
  CHECK(probe::repeated_prompt(test.subject(), 12, 8).ids != prompt.ids);
}

TEST_CASE("probe: massive activations exceed both limits") {
  for (const Run& run : runs(kSingleStacks)) {
    Case test(run.name, run.way);
    probe::OutlierOptions options;
    options.top = 5;
    const auto count = [&](double least, double ratio) {
      options.least = least;
      options.ratio = ratio;
      std::vector<double> out;
      for (const auto& layer : probe::outliers(test.subject(), test.prompt("ids"), options))
        out.push_back(static_cast<double>(layer.count));
      return out;
    };
    if (!test.is_quantized()) CHECK(count(2, 5) == numbers(test.array("sinks", "massive_min2_ratio5")));
    CHECK(count(100, 1000) == numbers(test.array("sinks", "massive")));
    std::vector<double> median, values, positions, dimensions, ratios;
    for (const auto& layer : probe::outliers(test.subject(), test.prompt("ids"), options)) {
      median.push_back(layer.median);
      for (const probe::Outlier& outlier : layer.top) {
        values.push_back(outlier.value);
        ratios.push_back(outlier.ratio);
        positions.push_back(static_cast<double>(outlier.position));
        dimensions.push_back(static_cast<double>(outlier.dimension));
      }
    }
    test.expect(median, "sinks", "median");
    test.expect(values, "sinks", "top_values");
    test.expect(ratios, "sinks", "top_ratios");
    if (test.is_quantized()) continue;  // elements of nearly equal size change places
    CHECK(positions == numbers(test.array("sinks", "top_positions")));
    CHECK(dimensions == numbers(test.array("sinks", "top_dims")));
  }
}

TEST_CASE("probe: compare finds the one halved point of an otherwise equal model") {
  for (const Run& run : runs(kSingleStacks)) {
    Case test(run.name, run.way);
    const probe::Subject other(test.subject().loaded(), test.subject().execution(), test.subject().backend(),
                               test.subject().listener(), {{"mlp_out.0", 0.5}});
    const probe::Prompt prompt = test.prompt("ids");
    std::vector<double> relative, cosine, cka, largest;
    const auto points = probe::compare(test.subject(), other, {&prompt, 1}, "attn_out,mlp_out,resid_post");
    const std::size_t layers = points.size() / 3;
    for (std::size_t layer = 0; layer < layers; ++layer)
      for (std::size_t kind = 0; kind < 3; ++kind) {
        const probe::ComparedPoint& point = points[kind * layers + layer];
        largest.push_back(point.max_abs);
        relative.push_back(point.relative);
        cosine.push_back(point.cosine);
        cka.push_back(point.cka);
      }
    test.expect(largest, "compare", "max_abs");
    test.expect(relative, "compare", "relative");
    test.expect(cosine, "compare", "cosine");
    test.expect(cka, "compare", "cka");
  }
}
