// Models of user-written layers whose streams or logits have unusual shapes, with their initial weights. They are made
// by tests/oracle/make_odd_streams.py.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "../capture.h"
#include "../places.h"
#include "attn/base/error.h"
#include "attn/open/session.h"
#include "attn/probe/ablate.h"
#include "attn/probe/attention.h"
#include "attn/probe/compare.h"
#include "attn/probe/dla.h"
#include "attn/probe/lens.h"
#include "attn/probe/outliers.h"
#include "attn/probe/saliency.h"

using namespace attn;

namespace {

const open::Silent kUnheard{};
const probe::Prompt kOddPrompt{{1, 2, 3, 19, 1, 2, 3, 4}, {}, {}};

/// A model of tests/data/probe/odd.
class Odd {
 public:
  explicit Odd(const std::string& name, std::vector<probe::Scaling> scalings = {}) {
    execution_.threads = 1;
    backend_ = open::open_backend("cpu", "reference", kUnheard);
    const std::string file = test::in_repository("tests/data/probe/odd/" + name + ".json");
    loaded_ = std::make_unique<open::LoadedModel>(open::load_model(std::optional(file), execution_, kUnheard));
    subject_ = std::make_unique<probe::Subject>(*loaded_, execution_, *backend_, kUnheard, std::move(scalings));
  }
  [[nodiscard]] const probe::Subject& subject() const { return *subject_; }

 private:
  open::Execution execution_;
  std::unique_ptr<backends::Backend> backend_;
  std::unique_ptr<open::LoadedModel> loaded_;
  std::unique_ptr<probe::Subject> subject_;
};

/// Returns the message of a refusal; "" if the model is read.
template <typename Read>
std::string refusal_of(Read read) {
  try {
    read();
  } catch (const Error& error) {
    CHECK(error.code() != ExitCode::internal);
    return error.what();
  }
  return "";
}

std::string lens_refusal(const Odd& model, const probe::LensOptions& options = {}) {
  return refusal_of([&] { static_cast<void>(probe::lens(model.subject(), kOddPrompt, options)); });
}
std::string ablate_refusal(const Odd& model) {
  return refusal_of([&] { static_cast<void>(probe::ablate(model.subject(), kOddPrompt, {})); });
}
std::string dla_refusal(const Odd& model) {
  return refusal_of([&] { static_cast<void>(probe::attribute(model.subject(), kOddPrompt, std::nullopt)); });
}
std::string compare_refusal(const Odd& a, const Odd& b, const std::string& points) {
  return refusal_of([&] { static_cast<void>(probe::compare(a.subject(), b.subject(), {&kOddPrompt, 1}, points)); });
}

}  // namespace

TEST_CASE("probe: a tagger with fewer logits than tokens has no loss and no next token") {
  const Odd model("narrow_logits");
  const probe::Ablated ablated = probe::ablate(model.subject(), kOddPrompt, {});
  CHECK_FALSE(ablated.baseline.loss);
  CHECK_FALSE(ablated.parts.empty());
  const probe::Lens lens = probe::lens(model.subject(), kOddPrompt, {});
  CHECK(lens.cells.back().front().top.size() == 3);
  CHECK_FALSE(lens.cells.back()[2].target);  // the next token is 19
  CHECK(probe::saliency(model.subject(), kOddPrompt, {}).tokens.size() == 8);
}

TEST_CASE("probe: a lens rejects a token outside the logits") {
  probe::LensOptions options;
  options.target = 20;
  CHECK(lens_refusal(Odd("plain"), options) == "token 20 is outside the model's logits, 0 to 19");
}

TEST_CASE("probe: a stream whose shape changes is rejected only for the model's end") {
  const Odd widths("other_widths"), lengths("other_lengths");
  const std::string refused = lens_refusal(widths);
  CHECK(refused.find("resid_pre.0 has the shape (1, 8, 16)") != std::string::npos);
  CHECK(dla_refusal(widths).find("streams of several shapes") != std::string::npos);
  CHECK(ablate_refusal(widths).empty());
  CHECK(lens_refusal(lengths).find("have the shape (1, 4, 20)") != std::string::npos);
}

TEST_CASE("probe: logits without a row for each token are rejected with their shape") {
  for (const auto& [name, shape] : std::vector<std::pair<std::string, std::string>>{
           {"longer_logits", "(1, 16, 20)"}, {"logits_of_rank_4", "(1, 8, 4, 5)"}, {"other_lengths", "(1, 4, 20)"}}) {
    CAPTURE_BINDING(name);
    const Odd model(name);
    for (const std::string& refused : {lens_refusal(model), ablate_refusal(model), dla_refusal(model)})
      CHECK(refused.find("have the shape " + shape) != std::string::npos);
  }
}

TEST_CASE("probe: rollout and head scores reject attention that is not square") {
  for (const char* name : {"fewer_keys", "other_lengths"}) {
    CAPTURE(name);
    const Odd model(name);
    const std::string rolled =
        refusal_of([&] { static_cast<void>(probe::rollout(model.subject(), kOddPrompt, probe::Fuse::mean)); });
    CHECK(rolled.find("not a row and a column for each of 8 tokens") != std::string::npos);
    CHECK(refusal_of([&] { static_cast<void>(probe::head_scores(model.subject(), kOddPrompt)); }) == rolled);
  }
}

TEST_CASE("probe: outliers and saliency reject a stream without a row for each token") {
  const Odd twice("tokens_read_twice");
  CHECK(refusal_of([&] {
          static_cast<void>(probe::saliency(twice.subject(), kOddPrompt, {}));
        }).find("the rows of the token table have the shape (1, 16, 8), not one for each of 8 tokens") !=
        std::string::npos);
  for (const char* name : {"tokens_read_twice", "longer_logits", "other_lengths"}) {
    CAPTURE(name);
    const Odd model(name);
    CHECK(refusal_of([&] {
            static_cast<void>(probe::outliers(model.subject(), kOddPrompt, {}));
          }).find("outliers reads one row for each token") != std::string::npos);
  }
}

TEST_CASE("probe: compare rejects points and prompts with different numbers of rows") {
  const Odd plain("plain");
  CHECK(compare_refusal(plain, Odd("fewer_keys"), "k").find("equally many rows") != std::string::npos);
  CHECK(compare_refusal(plain, Odd("other_lengths"), "resid_post").find("equally many rows") != std::string::npos);
  CHECK(compare_refusal(plain, Odd("other_widths"), "resid_post").empty());
}

TEST_CASE("probe: a model aligns with itself, by products of rows or of features") {
  const Odd plain("plain");
  for (const std::size_t prompts : {1, 4}) {  // 8 rows of 8 features, and 32
    const std::vector<probe::Prompt> all(prompts, kOddPrompt);
    const probe::ComparedPoint point = probe::compare(plain.subject(), plain.subject(), all, "resid_post.0").front();
    CHECK(point.cka == doctest::Approx(1.0).epsilon(1e-12));
  }
}

TEST_CASE("probe: a factor must be finite, and NaN and infinity are rejected at the point where they appear") {
  const auto outliers_of = [](double factor) {
    const Odd model("plain", {{"mlp_out.0", factor}});
    return refusal_of([&] { static_cast<void>(probe::lens(model.subject(), kOddPrompt, {})); });
  };
  for (const double factor : {std::numeric_limits<double>::infinity(), std::nan(""), 1e39})
    CHECK(outliers_of(factor) == "mlp_out.0: a factor is a finite number of float32");
  CHECK(outliers_of(3e38).find("NaN or Inf") != std::string::npos);
}
