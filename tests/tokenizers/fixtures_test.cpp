#include "fixtures.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "attn/base/error.h"
#include "attn/tokenizers/open.h"
#include "files/text_lines.h"

namespace attn::tokenizers {
namespace {

using test::json_file;
using test::tokenizer_case;

std::vector<Id> ids_of(const nlohmann::json& row, const char* key) { return row.at(key).get<std::vector<Id>>(); }

/// A row without results of the TensorFlow workflow has those of the Python workflow.
const char* key_of(const nlohmann::json& row, const char* tensorflow, const char* python) {
  return row.contains(tensorflow) ? tensorflow : python;
}

TEST_CASE("tokenizers: both forms of a preset give KerasHub's ids and texts") {
  for (const std::string name : test::kCases) {
    CAPTURE(name);
    const nlohmann::json expected = json_file(tokenizer_case(name + "/tokens.json"));
    for (const Workflow workflow : {Workflow::of_files, Workflow::python, Workflow::tensorflow}) {
      const auto tokenizer = open_tokenizer(tokenizer_case(name + "/preset"), {workflow, Words::of_workflow});
      const bool is_tensorflow = workflow == Workflow::tensorflow;
      CHECK(tokenizer->class_name() == expected["class"].get<std::string>());
      CHECK(tokenizer->size() == expected["vocabulary_size"].get<std::int64_t>());
      for (const nlohmann::json& row : expected["rows"]) {
        const auto text = row["text"].get<std::string>();
        CAPTURE(row.dump());
        const std::vector<Id> ids = ids_of(row, is_tensorflow ? key_of(row, "ids_tf", "ids") : "ids");
        CHECK(tokenizer->encode(text) == ids);
        // The TensorFlow workflow drops bytes that are not UTF-8.
        if (!is_tensorflow) CHECK(valid_utf8(tokenizer->decode(ids)) == row["decoded"].get<std::string>());
      }
    }
  }
}

TEST_CASE("tokenizers: source code, which splits at punctuation, has the ids of sentencepiece") {
  const std::string code = "for (int i = 0; i < n; ++i)\n    out[i] = f(a->b, \"the_model\");  // reads\n";
  struct Row {
    const char* model;
    std::vector<Id> ids;  // from sentencepiece 0.2.3
  };
  for (const Row& row :
       {Row{"llama", {315, 447, 479, 428, 265, 447, 483, 447, 468, 563, 265, 447, 564, 285, 563, 395, 503, 455, 480,
                      482, 447, 447, 447, 381, 94,  455, 96,  447, 483, 271, 479, 450, 48,  65,  465, 476, 447, 37,
                      449, 260, 98,  461, 451, 376, 457, 37,  480, 563, 447, 447, 494, 494, 422, 450, 458, 456, 482}},
        Row{"gemma",
            {466, 280, 451, 487, 378, 453, 274, 451, 486, 451, 469, 576, 274, 451, 577, 319, 576, 451, 528, 528,
             459, 488, 6,   9,   284, 453, 561, 459, 562, 451, 486, 281, 487, 454, 55,  72,  472, 479, 451, 44,
             453, 267, 105, 465, 456, 359, 461, 44,  488, 576, 8,   497, 497, 451, 273, 454, 462, 460, 6}},
        Row{"t5", {21,  5,  28, 350, 144, 5,  30,  5,  396, 2,   144, 5,  2,  5,   20,  2, 5, 378,
                   378, 95, 38, 143, 285, 95, 286, 5,  30,  166, 28,  24, 2,  116, 14,  5, 2, 18,
                   399, 53, 2,  113, 23,  42, 53,  98, 2,   38,  2,   5,  26, 26,  151, 12}}}) {
    CAPTURE(row.model);
    const auto tokenizer = open_tokenizer(tokenizer_case(std::string(row.model) + "/preset"));
    CHECK(tokenizer->encode(code) == row.ids);
    CHECK(tokenizer->encode(code) == row.ids);  // its words are now cached
  }
}

TEST_CASE("tokenizers: float32 sums decide between two equal segmentations") {
  const auto tokenizer = open_tokenizer(tokenizer_case("t5/preset"));
  struct Row {
    const char* text;
    std::vector<Id> ids;  // from sentencepiece 0.2.3
  };
  for (const Row& row : {Row{"don'ttt", {364, 20, 11, 18, 178}},
                         Row{"3.14\302\205.don'ttt&", {5, 29, 7, 99, 46, 2, 7, 42, 23, 20, 11, 18, 178, 311}}}) {
    CAPTURE(row.text);
    CHECK(tokenizer->encode(row.text) == row.ids);
  }
  // A long text is normalized in words, and segmented as a whole.
  std::string text = "attention";
  std::vector<Id> ids = tokenizer->encode(text);
  const std::vector<Id> more = tokenizer->encode(" reads");
  for (int i = 0; i < 400; ++i) {
    text += " reads";
    ids.insert(ids.end(), more.begin(), more.end());
  }
  CHECK(tokenizer->encode(text) == ids);
}

TEST_CASE("tokenizers: a class's special tokens have KerasHub's ids") {
  for (const std::string name : test::kCases) {
    CAPTURE(name);
    const nlohmann::json special = json_file(tokenizer_case(name + "/tokens.json"))["special"];
    const auto tokenizer = open_tokenizer(tokenizer_case(name + "/preset"));
    const auto expect = [&](const char* key, std::optional<Id> id) {
      CAPTURE(key);
      if (special.contains(key)) CHECK(id == special[key][1].get<Id>());
    };
    expect("start_token", tokenizer->specials().start);
    expect("end_token", tokenizer->specials().end);
    expect("pad_token", tokenizer->specials().pad);
    if (!special.contains("pad_token")) CHECK(tokenizer->specials().pad == 0);
    if (!special.contains("start_token")) CHECK(!tokenizer->specials().start);
    std::vector<Id> all, stop = {special["end_token"][1].get<Id>()};
    for (const auto& [key, pair] : special.items()) all.push_back(pair[1].get<Id>());
    if (special.contains("end_token2")) stop.push_back(special["end_token2"][1].get<Id>());
    if (tokenizer->class_name() == "Gemma3Tokenizer")  // stands for <end_of_turn>, which this vocabulary lacks
      stop.push_back(*tokenizer->id("<unk>"));
    if (tokenizer->class_name() == "Gemma3nTokenizer") stop.push_back(*tokenizer->id("<end_of_turn>"));
    if (tokenizer->class_name() == "Gemma4Tokenizer") stop.push_back(*tokenizer->id("<turn|>"));
    if (tokenizer->class_name() == "RWKVTokenizer") all = {0};  // its end token is text
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    CHECK(tokenizer->specials().all == all);
    CHECK(tokenizer->specials().stop == stop);
  }
}

TEST_CASE("tokenizers: a line of RWKV's vocabulary must have an id, a Python string and its length") {
  struct Row {
    const char *line, *message;
  };
  for (const Row& row :
       {Row{"1 'a'", "expected an id"}, Row{"x 'a' 1", "expected an integer"},
        Row{"1 'a' 2", "the token has 1 bytes, not 2"}, Row{"1 a 1", "expected a string as Python writes it"},
        Row{"1 'a'b' 3", "the string ends before the end"}, Row{"1 '\\x4' 1", "too few digits"},
        Row{"1 '\\N{DIGIT ONE}' 1", "names of characters"}, Row{"1 b'\\u0041' 6", ""},
        Row{"1 '\\ud800' 3", "not a character"}, Row{"1 b'\303\251' 2", "outside of ASCII"}, Row{"-1 'a' 1", "id"},
        Row{"99999999999 'a' 1", "id"}, Row{"1 'a\\' 2", "ends in a backslash"}}) {
    CAPTURE(row.line);
    const std::string text = std::string(row.line) + "\n";
    if (*row.message == '\0') {
      CHECK(read_numbered_tokens(text, "v.txt").token(1) == "\\u0041");
      continue;
    }
    try {
      (void)read_numbered_tokens(text, "v.txt");
      FAIL_CHECK("accepted");
    } catch (const Error& error) {
      CHECK(std::string(error.what()).find(row.message) != std::string::npos);
      CHECK(error.code() == ExitCode::bad_input);
    }
  }
  const std::string text = "5 '\\x41\\n\\'' 3\n6 b'\\xe2\\101' 2\n7 \"\\u00e9'\" 3\n";
  const Vocabulary vocabulary = read_numbered_tokens(text, "v.txt");
  CHECK(vocabulary.token(5) == "A\n'");
  CHECK(vocabulary.token(6) ==
        "\xe2"
        "A");
  CHECK(vocabulary.token(7) == "\u00e9'");
}

TEST_CASE("tokenizers: a Hugging Face folder gives the ids and texts of Hugging Face's tokenizers") {
  for (const std::string name : test::kFolders) {
    CAPTURE(name);
    const auto tokenizer = open_tokenizer(tokenizer_case(name + "/hf"));
    const nlohmann::json expected = json_file(tokenizer_case(name + "/hf_tokens.json"));
    for (const nlohmann::json& row : expected["rows"]) {
      const auto text = row["text"].get<std::string>();
      CAPTURE(row.dump());
      EncodeOptions whole;
      whole.add_specials = true;
      CHECK(tokenizer->encode(text, whole) == ids_of(row, "ids"));
      CHECK(tokenizer->encode(text) == ids_of(row, "ids_plain"));
      CHECK(valid_utf8(tokenizer->decode(ids_of(row, "ids_plain"))) == row["decoded"].get<std::string>());
    }
  }
}

TEST_CASE("tokenizers: a normalized added token decodes to its normalized text") {
  const nlohmann::json expected = json_file(tokenizer_case("normalized_added_tokens.json"));
  for (const nlohmann::json& row : expected["rows"]) {
    CAPTURE(row.dump());
    const nlohmann::json file = {
        {"added_tokens", {{{"id", 9}, {"content", row["content"]}, {"normalized", true}, {"special", false}}}},
        {"normalizer", row["normalizer"]},
        {"decoder", row["decoder"]},
        {"model",
         {{"type", "BPE"},
          {"merges", nlohmann::json::array({"\u2581 a"})},
          {"vocab",
           {{"a", 0},
            {"b", 1},
            {"x", 2},
            {"\u2581", 3},
            {"\u2581a", 4},
            {"\u0120", 5},
            {"\u00e9", 6},
            {"\u00c3", 7},
            {"\u00a9", 8}}}}}};
    const std::filesystem::path folder =
        std::filesystem::temp_directory_path() / ("attn-added-" + std::to_string(getpid()));
    std::filesystem::create_directory(folder);
    std::ofstream(folder / "tokenizer.json") << file.dump();
    const auto tokenizer = open_tokenizer(folder.string());
    std::filesystem::remove_all(folder);
    CHECK(tokenizer->token(9) == row["token"].get<std::string>());
    CHECK(tokenizer->id(row["content"].get<std::string>()) == 9);
    CHECK(tokenizer->decode(std::vector<Id>{0, 9, 1}) == row["text"].get<std::string>());
    CHECK(tokenizer->decode(std::vector<Id>{9}) == row["alone"].get<std::string>());
  }
}

TEST_CASE("tokenizers: KerasHub's forms read a Hugging Face folder as KerasHub converts it") {
  for (const std::string name : test::kFolders) {
    CAPTURE(name);
    const nlohmann::json expected = json_file(tokenizer_case(name + "/tokens.json"));
    for (const Workflow workflow : {Workflow::python, Workflow::tensorflow}) {
      const auto tokenizer = open_tokenizer(tokenizer_case(name + "/hf"), {workflow, Words::of_workflow});
      CHECK(tokenizer->class_name() == expected["class"].get<std::string>());
      for (const nlohmann::json& row : expected["rows"]) {
        CAPTURE(row.dump());
        const char* const key = workflow == Workflow::python ? "ids" : key_of(row, "ids_tf", "ids");
        CHECK(tokenizer->encode(row["text"].get<std::string>()) == ids_of(row, key));
      }
    }
  }
}

}  // namespace
}  // namespace attn::tokenizers
