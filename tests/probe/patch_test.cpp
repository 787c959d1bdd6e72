#include "attn/probe/patch.h"

#include <doctest/doctest.h>

#include <map>

#include "attn/base/error.h"
#include "cases.h"

using namespace attn;
using namespace attn::test;

namespace {

/// Returns the numbers of each kind of point, in order.
template <typename Number>
std::map<std::string, std::vector<double>> by_kind(const probe::Patched& patched, Number number) {
  std::map<std::string, std::vector<double>> out;
  for (const probe::PatchedPlace& place : patched.places)
    out[place.point.substr(0, place.point.rfind('.'))].push_back(number(place));
  return out;
}

}  // namespace

TEST_CASE("probe: a patch at every place has the reference's metric, and one gradient the estimates") {
  for (const Run& run : runs(kSingleStacks)) {
    const std::string& name = run.name;
    Case test(name, run.way);
    probe::PatchOptions options;
    options.points = "resid_pre,resid_post,attn_out,mlp_out,z,q,k,v,pattern";
    if (name != "gpt_neo_x") options.points += ",resid_mid";
    options.metric = test.metric();
    options.estimates = !test.is_quantized();
    const probe::Prompt clean = test.prompt("clean"), corrupt = test.prompt("corrupt");
    const probe::Patched out = probe::patch(test.subject(), clean, corrupt, options);
    test.expect({out.clean}, "patching", "metric_clean");
    test.expect({out.corrupt}, "patching", "metric_corrupt");
    for (const auto& [kind, values] : by_kind(out, [](const auto& place) { return *place.value; }))
      test.expect(values, "patching", kind);
    for (const auto& [kind, values] : by_kind(out, [](const auto& place) { return place.estimate.value_or(0); }))
      if (!test.is_quantized()) test.expect(values, "attribution_patching", kind);

    options.points = "z";
    options.heads = probe::Places::by_head_and_position;
    const probe::Patched each = probe::patch(test.subject(), clean, corrupt, options);
    test.expect(by_kind(each, [](const auto& place) { return *place.value; })["z"], "patching", "z_by_position");
    if (test.is_quantized()) continue;
    test.expect(by_kind(each, [](const auto& place) { return *place.estimate; })["z"], "attribution_patching",
                "z_by_position");
  }
}

TEST_CASE("probe: the streams of encoder and decoder can be patched from another encoder sequence") {
  Case test("t5_tied", {"onednn", "float32"});
  probe::Prompt clean = test.prompt("decoder"), corrupt = clean;
  clean.encoder = test.prompt("encoder").ids;
  corrupt.encoder = test.prompt("corrupt").ids;
  probe::PatchOptions options;
  options.metric = test.metric();
  options.points = "encoder.resid_post,decoder.resid_post";
  const probe::Patched out = probe::patch(test.subject(), clean, corrupt, options);
  test.expect({out.clean}, "seq2seq", "metric_clean");
  test.expect({out.corrupt}, "seq2seq", "metric_corrupt");
  auto values = by_kind(out, [](const auto& place) { return *place.value; });
  test.expect(values["encoder.resid_post"], "seq2seq", "patch_encoder_stream");
  test.expect(values["decoder.resid_post"], "seq2seq", "patch_decoder_stream");
}

TEST_CASE("probe: the largest estimates are confirmed by exact patches") {
  Case test("gpt2", {"onednn", "float32"});
  probe::PatchOptions options;
  options.exact = false;
  options.estimates = true;
  options.confirm = 3;
  const probe::Patched out = probe::patch(test.subject(), test.prompt("clean"), test.prompt("corrupt"), options);
  int exact = 0;
  for (const probe::PatchedPlace& place : out.places) exact += place.value ? 1 : 0;
  CHECK(exact == 3);
}

TEST_CASE("probe: prompts of different lengths cannot be patched, and equal prompts restore nothing") {
  Case test("gpt2", {"onednn", "float32"});
  CHECK_THROWS_WITH_AS(static_cast<void>(probe::patch(test.subject(), test.prompt("clean"), test.prompt("ids"), {})),
                       doctest::Contains("10 tokens and the corrupted one 12"), Error);
  const probe::Patched out = probe::patch(test.subject(), test.prompt("clean"), test.prompt("clean"), {});
  CHECK_FALSE(out.normalized(0.0).has_value());
}
