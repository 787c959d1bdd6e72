// The files of sentence-transformers.
#include "attn/open/sentence_modules.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>
#include <vector>

#include "../refusal.h"
#include "../temporary_folder.h"

using attn::open::read_sentence_modules;
using attn::open::SentenceModules;
using attn::test::refusal;

namespace {

constexpr const char *kPooling = R"({"type": "sentence_transformers.models.Pooling", "path": "1_Pooling"})",
                     *kTransformer = R"({"type": "sentence_transformers.models.Transformer", "path": ""})",
                     *kNormalize = R"({"type": "sentence_transformers.models.Normalize", "path": "2_Normalize"})";

/// A folder of sentence-transformers with only the files of the modules.
class Folder {
 public:
  Folder(const std::string& modules, const std::string& pooling) {
    write("modules.json", modules);
    if (!pooling.empty()) write("1_Pooling/config.json", pooling);
  }
  void write(const std::string& name, const std::string& text) const { folder_.file(name, text); }
  [[nodiscard]] SentenceModules read() const { return read_sentence_modules(folder_.path()).value(); }
  [[nodiscard]] std::string refused() const {
    return refusal([&] { static_cast<void>(read()); });
  }

 private:
  attn::test::TemporaryFolder folder_;
};

std::string chain(const std::string& rest) { return "[" + std::string(kTransformer) + ", " + rest + "]"; }

SentenceModules with_pooling(const std::string& pooling) { return Folder(chain(kPooling), pooling).read(); }

}  // namespace

TEST_CASE("sentence-transformers: flags of older versions and the field of newer ones select the same pooling") {
  CHECK(with_pooling(R"({"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false})").settings.pooling_mode ==
        "cls");
  CHECK(with_pooling(R"({"pooling_mode_max_tokens": true})").settings.pooling_mode == "max");
  CHECK(with_pooling(R"({"pooling_mode_lasttoken": true})").settings.pooling_mode == "last");
  CHECK(with_pooling(R"({"pooling_mode": "cls", "pooling_mode_cls_token": true})").settings.pooling_mode == "cls");
  CHECK(with_pooling(R"({"pooling_mode": ["lasttoken"]})").settings.pooling_mode == "last");
  CHECK(with_pooling("{}").settings.pooling_mode == "mean");
}

TEST_CASE("sentence-transformers: only a Normalize module normalizes") {
  CHECK_FALSE(with_pooling("{}").settings.normalize);
  CHECK(Folder(chain(kPooling + std::string(", ") + kNormalize), "{}").read().settings.normalize);
}

TEST_CASE("sentence-transformers: modules that KerasHub's embedder lacks are named") {
  const auto missing = [](const std::string& modules, const std::string& pooling) {
    return Folder(modules, pooling).read().unsupported;
  };
  CHECK(missing(chain(kPooling), R"({"pooling_mode": ["mean", "max"]})") == "one that concatenates 2 poolings");
  CHECK(missing(chain(kPooling), R"({"pooling_mode_weightedmean_tokens": true})") ==
        "one with the pooling 'weightedmean'");
  CHECK(missing(chain(kPooling), R"({"include_prompt": false})") == "one that leaves the prompt out of its pooling");
  CHECK(missing(chain(kPooling + std::string(R"(, {"type": "sentence_transformers.models.LSTM", "path": "2_LSTM"})")),
                "{}") == "one with a LSTM as module 3");
  CHECK(missing("[" + std::string(kTransformer) + "]", "") == "one without a pooling");
  CHECK(missing("[]", "") == "one without a pooling");
}

TEST_CASE("sentence-transformers: dense layers after the pooling are read if they are linear and have no bias") {
  const auto dense = [](int number) {
    return fmt::format(R"({{"type": "sentence_transformers.models.Dense", "path": "{}_Dense"}})", number);
  };
  const Folder folder(chain(fmt::format("{}, {}, {}, {}", kPooling, dense(2), dense(3), kNormalize)), "{}");
  folder.write("2_Dense/config.json", R"({"out_features": 20, "bias": false})");
  folder.write("3_Dense/config.json",
               R"({"out_features": 10, "bias": false, "activation_function": "torch.nn.modules.linear.Identity"})");
  const SentenceModules both = folder.read();
  CHECK(both.unsupported.empty());
  CHECK(both.settings.dense_units == std::vector<std::int64_t>{20, 10});
  CHECK(both.dense_folders == std::vector<std::string>{"2_Dense", "3_Dense"});
  CHECK(both.settings.normalize);
  for (const char* config : {R"({"out_features": 10, "bias": true})",
                             R"({"out_features": 10, "bias": false, "activation_function": "torch.nn.Tanh"})"}) {
    CAPTURE(config);
    folder.write("3_Dense/config.json", config);
    CHECK(folder.read().unsupported == "one with a Dense that has a bias or an activation");
  }
  folder.write("3_Dense/config.json", R"({"out_features": 2147483648, "bias": false})");
  CHECK(folder.refused().ends_with("expected an integer from 1 to 2147483647 as out_features"));
}

TEST_CASE("sentence-transformers: the length comes from its own file, otherwise from the tokenizer's") {
  const Folder folder(chain(kPooling), "{}");
  CHECK_FALSE(folder.read().settings.sequence_length);
  folder.write("tokenizer_config.json", R"({"model_max_length": 1000000000000000019884624838656})");
  CHECK_FALSE(folder.read().settings.sequence_length);
  folder.write("tokenizer_config.json", R"({"model_max_length": 512})");
  CHECK(folder.read().settings.sequence_length == 512);
  folder.write("sentence_bert_config.json", R"({"max_seq_length": 256})");
  CHECK(folder.read().settings.sequence_length == 256);
}

TEST_CASE("sentence-transformers: files of another form are rejected with their place") {
  CHECK(refusal([] {
          static_cast<void>(with_pooling(R"({"pooling_mode": 3})"));
        }).ends_with("1_Pooling/config.json: expected a string as pooling_mode"));
  CHECK(refusal([] { static_cast<void>(with_pooling("[]")); }).ends_with("config.json: expected an object"));
  CHECK(Folder("{}", "").refused().ends_with("modules.json: expected an array of modules"));
  CHECK(Folder("[1]", "").refused().ends_with("expected modules with a string `type`"));
  CHECK(Folder(chain(kPooling), "").refused().ends_with("the file is missing, but modules.json names it"));
  for (const char* path : {"\"../1_Pooling\"", "\"/etc\"", "\"..\"", "7"}) {
    CAPTURE(path);
    const Folder folder(chain(R"({"type": "Pooling", "path": )" + std::string(path) + "}"), "{}");
    CHECK(folder.refused().ends_with("expected the name of a folder as the `path` of a Pooling"));
  }
  const Folder folder(chain(kPooling), "{}");
  for (const char* length : {"0", "-1", "1.5", "\"long\""}) {
    CAPTURE(length);
    folder.write("sentence_bert_config.json", R"({"max_seq_length": )" + std::string(length) + "}");
    CHECK(folder.refused().ends_with("expected an integer > 0 as max_seq_length"));
  }
  folder.write("sentence_bert_config.json", "{}");
  folder.write("config_sentence_transformers.json", R"({"prompts": {"query": "q"}, "default_prompt_name": "none"})");
  CHECK(folder.refused().ends_with("expected the name of one of the prompts as default_prompt_name"));
}
