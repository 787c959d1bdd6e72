// Control characters of a file never reach a terminal.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "../places.h"
#include "output/terminal_text.h"
#include "program.h"

namespace attn::test {
namespace {

using cli::Colors;
using cli::terminal_text;

constexpr const char* kHostile = "\x1b]0;owned\x07\x1b[31m\u009b31m\x7f";

/// The bytes that control a terminal; newlines and a "\r" before them come from the terminal itself.
std::string acted_on(const std::string& out, bool on_terminal) {
  std::string found;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto byte = static_cast<unsigned char>(out[i]);
    const bool is_c1 = byte == 0xc2 && i + 1 < out.size() && static_cast<unsigned char>(out[i + 1]) < 0xa0;
    const bool ends_csv = byte == '\r' && i + 1 < out.size() && out[i + 1] == '\n';
    const bool is_end = byte == '\n' || byte == '\t' || ends_csv || (on_terminal && byte == '\r');
    if (is_c1 || byte == 0x7f || (byte < 0x20 && !is_end)) found += out.substr(i, 8);
  }
  return found;
}

/// A preset whose tokens are control sequences, except single letters.
std::string hostile_preset(const TemporaryFolder& folder) {
  std::string path = folder / "preset";
  std::filesystem::copy(in_repository("tests/data/generation/gpt2/preset"), path,
                        std::filesystem::copy_options::recursive);
  const std::string assets = path + "/assets/tokenizer/";
  nlohmann::json vocabulary = nlohmann::json::parse(read_text(assets + "vocabulary.json")), changed;
  for (const auto& [token, id] : vocabulary.items()) {
    const bool stays = token.size() <= 2 || token.starts_with("<|");
    // ESC, BEL and U+009B, as byte-level letters.
    changed[stays ? token : "\u011b]0;" + std::to_string(id.get<int>()) + "\u0107\u00c2\u013d31m"] = id;
  }
  std::ofstream(assets + "vocabulary.json") << changed.dump();
  std::ofstream(assets + "merges.txt") << "#version: 0.2\n";
  return path;
}

}  // namespace

TEST_CASE("terminal text: line ends of CSV are kept, and a lone carriage return is not") {
  CHECK(terminal_text("a,b\r\n1,2\r\n") == "a,b\r\n1,2\r\n");
  CHECK(terminal_text("a\rb") == "a\\u{d}b");
}

TEST_CASE("terminal text: only control characters and invalid UTF-8 are escaped") {
  CHECK(terminal_text("plain\ttext\n") == "plain\ttext\n");
  CHECK(terminal_text("\x1b]0;x\x07") == "\\u{1b}]0;x\\u{7}");
  CHECK(terminal_text("\u009b31m\u0080\u009f\x7f\r\b") == "\\u{9b}31m\\u{80}\\u{9f}\\u{7f}\\u{d}\\u{8}");
  CHECK(terminal_text("\x9b\xff\xc2 \xe2\x82") == "\\x9b\\xff\\xc2 \\xe2\\x82");
  CHECK(terminal_text("caf\u00e9 \u6771\u4eac \U0001f9d1\u200d\U0001f680 \u05d0\u200f") ==
        "caf\u00e9 \u6771\u4eac \U0001f9d1\u200d\U0001f680 \u05d0\u200f");
  CHECK(terminal_text("\x1b[1;31mred\x1b[0m\x1b[2J", Colors::kept) == "\x1b[1;31mred\x1b[0m\\u{1b}[2J");
  CHECK(terminal_text("\x1b[31mred") == "\\u{1b}[31mred");
}

TEST_CASE("generate, tokenize: control characters of tokens reach a pipe, and a terminal only with --raw") {
  const TemporaryFolder folder;
  const std::string preset = hostile_preset(folder);
  const std::vector<std::string> generate = {"generate",         preset, "--prompt",  "a",
                                             "--max-new-tokens", "6",    "--sampler", "greedy"};
  const std::vector<std::string> decode = {"tokenize", preset, "--ids", "300,301,302", "--decode"};
  for (std::vector<std::string> words : {generate, decode}) {
    CAPTURE(words[0]);
    const Result piped = run_attn(words);
    CHECK(piped.code == 0);
    CHECK(piped.out.find("\x1b]0;") != std::string::npos);
    const Result shown = run_on_terminal(words);
    CHECK(shown.code == 0);
    CHECK(acted_on(shown.out, true) == "");
    CHECK(shown.out.find("\\u{1b}]0;") != std::string::npos);
    words.emplace_back("--raw");
    CHECK(run_on_terminal(words).out.find("\x1b]0;") != std::string::npos);
    words.back() = "--json";
    CHECK(acted_on(run_attn(words).out, false) == "");
  }
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"tokenize", preset, "--ids", "300,301"},
        {"score", preset, "--text", "a b"},
        {"generate", preset, "--prompt", "a", "--format", "jsonl", "--max-new-tokens", "3"}}) {
    CHECK(acted_on(run_attn(words).out, false) == "");
    CHECK(acted_on(run_on_terminal(words, 60).out, true).find("]0;") == std::string::npos);
  }
}

TEST_CASE("every command: control characters of names reach neither a terminal nor a pipe") {
  const TemporaryFolder folder;
  const nlohmann::json model = {
      {"class_name", "Sequential"},
      {"config",
       {{"name", std::string("model") + kHostile},
        {"layers",
         {{{"class_name", "InputLayer"},
           {"config",
            {{"name", std::string("in") + kHostile}, {"batch_shape", {nullptr, 4, 8}}, {"dtype", "float32"}}}},
          {{"class_name", "Dense"}, {"config", {{"name", std::string("dense") + kHostile}, {"units", 4}}}}}}}}};
  const std::string file = folder.file(std::string("m") + "\x1b]0;x\x07" + ".json", model.dump());
  const std::vector<std::vector<std::string>> commands = {{"summary", file},
                                                          {"summary", file, "--line-length", "80"},
                                                          {"summary", file, "--costs"},
                                                          {"summary", file, "--json"},
                                                          {"summary", file, "--format", "csv"},
                                                          {"summary", file, "--format", "markdown"},
                                                          {"explain", file},
                                                          {"validate", file},
                                                          {"get-config", file},
                                                          {"get-config", file, "--format", "python"},
                                                          {"plan", file},
                                                          {"plan", file, "--json"},
                                                          {"plot", file, "--format", "text"},
                                                          {"plot", file, "--format", "dot"},
                                                          {"plot", file, "--format", "mermaid"},
                                                          {"run", file, "-v"},
                                                          {"run", file, "--json"},
                                                          {"run", file, "--input", file},
                                                          {"run", file, "--weights", file},
                                                          {"grad", file},
                                                          {"heatmap", file},
                                                          {"compare", file, file},
                                                          {"bench", file, "--iterations", "1", "--warmup", "0"},
                                                          {"train", file, "--data", file},
                                                          {"weights", file},
                                                          {"convert", file, file},
                                                          {"generate", file, "--ids", "1"},
                                                          {"score", file, "--ids", "1,2"},
                                                          {"tokenize", file, "--text", "a"},
                                                          {"flatten-script", file},
                                                          {kHostile},
                                                          {"run", file, std::string("--") + kHostile}};
  for (const std::vector<std::string>& words : commands) {
    CAPTURE(words[0]);
    CAPTURE(words.back());
    const Result piped = run_attn(words);
    CHECK(piped.code != 70);
    CHECK(acted_on(piped.out, false) == "");
    CHECK(acted_on(piped.err, false) == "");
    const std::string shown = run_on_terminal(words, 70).out;
    CHECK(shown.find("\x1b]") == std::string::npos);
    CHECK(shown.find("\x1b[31m\\u") == std::string::npos);  // attn's own color never precedes escaped text
    CHECK(shown.find('\x07') == std::string::npos);
    CHECK(shown.find("\u009b") == std::string::npos);
  }
}

}  // namespace attn::test
