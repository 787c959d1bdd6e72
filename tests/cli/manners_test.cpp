// Behavior at a terminal: suggestions, help, environment variables, color, ASCII, progress, pipes.
#include <doctest/doctest.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <thread>

#include "../places.h"
#include "../text.h"
#include "attn/base/text.h"
#include "attn/io/tensor_file.h"
#include "attn/keras/model.h"
#include "output/progress.h"
#include "program.h"

namespace attn::test {
namespace {

using attn::test::contains;

using nlohmann::json;

/// Returns whether the text has bytes that control a terminal, except newlines.
bool has_control(const std::string& text) {
  const std::vector<std::string> lines = split(text, '\n');
  return std::any_of(lines.begin(), lines.end(), [](const std::string& line) { return printable(line) != line; });
}

std::vector<std::string> command_names() {
  std::vector<std::string> names;
  const std::string help = run_attn({"help"}).out;
  bool listed = false;
  for (const std::string& line : split(help, '\n')) {
    if (listed && line.empty()) break;
    if (listed && line.starts_with("  ") && line[2] != ' ') names.push_back(line.substr(2, line.find(' ', 2) - 2));
    listed = listed || line == "Commands:";
  }
  return names;
}

/// The long options in the help of a command, without dashes.
std::vector<std::string> option_names(const std::string& command) {
  std::vector<std::string> names;
  for (const std::string& line : split(run_attn({"help", command}).out, '\n')) {
    const auto at = line.find("--");
    if (at != 6) continue;
    names.push_back(line.substr(8, line.find(' ', 8) - 8));
  }
  return names;
}

std::vector<std::string> layer_names() {
  std::vector<std::string> names;
  const json summary = json::parse(run_attn({"summary", "--json"}).out);
  for (const json& layer : summary["layers"]) names.push_back(layer["name"]);
  return names;
}

/// Generates typing errors from a seed.
class Typist {
 public:
  explicit Typist(unsigned seed) : random_(seed) {}

  std::size_t below(std::size_t n) { return random_() % n; }
  const std::string& pick(const std::vector<std::string>& words) { return words[below(words.size())]; }

  std::string slip(std::string word) {
    const char letter = static_cast<char>('a' + below(26));
    switch (below(4)) {
      case 0:
        word.erase(below(word.size()), 1);
        break;
      case 1:
        word.insert(below(word.size() + 1), 1, letter);
        break;
      case 2:
        word[below(word.size())] = letter;
        break;
      default:
        if (word.size() > 1) {
          const std::size_t at = below(word.size() - 1);
          std::swap(word[at], word[at + 1]);
        }
    }
    return word;
  }

  /// Returns the word with one or two typing errors, which differs from all other words.
  std::string misspelt(const std::string& word, const std::vector<std::string>& words) {
    while (true) {
      std::string typed = slip(word);
      if (below(2) == 1 && !typed.empty()) typed = slip(typed);
      if (!typed.empty() && std::find(words.begin(), words.end(), typed) == words.end()) return typed;
    }
  }

 private:
  std::mt19937 random_;
};

TEST_CASE("attn: 95 % of 200 misspelled commands, options, layers and classes get the right suggestion") {
  const std::vector<std::string> commands = command_names();
  REQUIRE(commands.size() >= 9);
  const std::vector<std::string> layers = layer_names();
  const std::vector<std::string> classes = keras::Model::layer_classes();
  std::map<std::string, std::vector<std::string>> options;
  for (const std::string& command : commands) options[command] = option_names(command);
  const TemporaryFolder folder;
  Typist typist(20);
  int right = 0;
  std::string wrong;
  for (int i = 0; i < 200; ++i) {
    std::string meant;
    std::string typed;
    std::vector<std::string> line;
    if (i % 4 == 0) {
      meant = typist.pick(commands);
      typed = typist.misspelt(meant, commands);
      line = {typed};
    } else if (i % 4 == 1) {
      const std::string& command = typist.pick(commands);
      const std::string& option = typist.pick(options[command]);
      meant = "--" + option;
      typed = "--" + typist.misspelt(option, options[command]);
      line = {command, typed};
    } else if (i % 4 == 2) {
      meant = typist.pick(layers);
      typed = typist.misspelt(meant, layers);
      line = {"get-config", "--layer", typed};
    } else {
      meant = typist.pick(classes);
      typed = typist.misspelt(meant, classes);
      const std::string layer = R"({"module": "keras.layers", "class_name": ")" + typed + R"(", "config": {}})";
      line = i % 8 == 3 ? std::vector<std::string>{"get-config", typed}
                        : std::vector<std::string>{"summary", folder.file("layer.json", layer)};
    }
    const Result result = run_attn(line);
    CHECK_MESSAGE((result.code == 2 || result.code == 3), typed);
    CHECK(result.out.empty());
    CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
    const auto asked = result.err.find("(did you mean ");
    const bool found = asked != std::string::npos && contains(result.err.substr(asked), "'" + meant + "'");
    right += found ? 1 : 0;
    if (!found) wrong += meant + " as " + typed + ": " + result.err;
  }
  MESSAGE(right << " of 200");
  CHECK_MESSAGE(right >= 190, wrong);
}

TEST_CASE("attn: numbers on the command line are decimal, also with leading zeros") {
  const auto summary = [](const std::string& depth) { return run_attn({"summary", "--depth", depth}).out; };
  CHECK(summary("01") == summary("1"));
  CHECK(summary("+1") == summary("1"));
  CHECK(summary("1") != summary("0"));
  CHECK(contains(run_attn({"plan", "--batch-size", "010"}).out, "batch 10,"));
  CHECK(contains(run_attn({"run", "--seed", "18446744073709551615"}).out, "seed 18446744073709551615"));
}

TEST_CASE("attn: a wrong command line is one sentence that names the wrong word, with exit code 2") {
  struct Row {
    std::vector<std::string> line;
    std::string sentence;
  };
  const std::vector<Row> rows = {
      {{"summary", "--dept", "2"}, "unknown option '--dept' (did you mean '--depth'?)"},
      {{"summary", "--dept=2"}, "unknown option '--dept' (did you mean '--depth'?)"},
      {{"summary", "-depth", "2"}, "unknown option '-depth' (did you mean '--depth'?)"},
      {{"--verson"}, "unknown option '--verson' (did you mean '--version'?)"},
      {{"--color", "never", "summary"}, "'--color' must follow the command, as in attn summary --color"},
      {{"summary", "--format", "jsn"}, "--format 'jsn': expected table, json, markdown, csv (did you mean 'json'?)"},
      {{"run", "--matmul-precision", "hgh"}, "expected high, highest, medium (did you mean 'high'?)"},
      {{"run", "--device", "cuad"}, "expected cpu, cuda, cuda:N or auto (did you mean 'cuda'?)"},
      {{"run", "--dtype", "flaot32"}, "(did you mean 'float32'?)"},
      {{"run", "--batch-size", "0"}, "--batch-size '0': expected a number above 0"},
      {{"run", "--threads", "x"}, "--threads 'x': expected a number from 0 to 1024"},
      {{"run", "--threads", "1.5"}, "--threads '1.5': expected a whole number"},
      {{"run", "--threads", "0x2"}, "--threads '0x2': expected a number from 0 to 1024"},
      {{"run", "--threads", "4294967297"}, "--threads '4294967297': expected a smaller number"},
      {{"run", "--batch-size", "9223372036854775808"}, "--batch-size '9223372036854775808': expected a smaller number"},
      {{"run", "--rtol", "nan"}, "--rtol 'nan': expected a number that is not below 0"},
      {{"run", "--seed", "many"}, "--seed 'many': expected a whole number from 0 to 2^64 - 1"},
      {{"run", "--seed", "-1"}, "--seed '-1': expected a whole number from 0 to 2^64 - 1"},
      {{"run", "--seed", "18446744073709551616"}, "expected a whole number from 0 to 2^64 - 1"},
      {{"bench", "--mean-length", "nan"}, "--mean-length 'nan': expected a number from 0 to 1"},
      {{"bench", "--mean-length", "2"}, "--mean-length '2': expected a number from 0 to 1"},
      {{"summary", "--batch-size"}, "--batch-size requires a value: N"},
      {{"convert", "in.npz"}, "OUT is missing: attn convert IN OUT [options]"},
      {{"init"}, "--output FILE is missing: attn init [MODEL] --output FILE [options]"},
      {{"init", "--sed", "3"}, "unknown option '--sed' (did you mean '--seed'?)"},
      {{"summary", "a", "b"}, "attn summary takes only MODEL, but got also 'b'"},
      {{"devices", "x"}, "attn devices takes no argument, got 'x'"},
      {{"help", "sumary"}, "unknown command 'sumary' (did you mean 'summary'?)"},
      {{"explain", "dens"}, "there is no layer 'dens' (did you mean 'dense'?)"},
      {{"summary", "--line-length", "80", "--ascii"}, "--line-length"},
  };
  for (const Row& row : rows) {
    const Result result = run_attn(row.line);
    CAPTURE(row.sentence);
    CHECK(result.code == 2);
    CHECK(result.out.empty());
    CHECK_MESSAGE(contains(result.err, row.sentence), result.err);
    CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
  }
}

TEST_CASE("attn: control sequences on the command line do not reach the terminal") {
  const std::vector<std::string> words = {"\x1b]52;c;aGk=\x07",
                                          "\x1b[2J",
                                          "\xc2\x9b"
                                          "2J",
                                          "\xe2\x80\xae"
                                          "gnp",
                                          "\xff\xfe",
                                          "a\nattn: error: forged",
                                          std::string(100000, 'x')};
  for (const std::string& word : words)
    for (const std::vector<std::string>& line : {std::vector<std::string>{word},
                                                 {"summary", "--" + word},
                                                 {"summary", "--format", word},
                                                 {"run", "a", word},
                                                 {"run", "--threads", word},
                                                 {"run", "--device", word},
                                                 {"run", "--dtype", word},
                                                 {"run", "--backend", word},
                                                 {"get-config", "--layer", word},
                                                 {"get-config", "A" + word},
                                                 {"explain", word},
                                                 {"help", word},
                                                 {"man", word},
                                                 {"completion", word},
                                                 {"summary", "--layer-range", word, word}}) {
      const Result result = run_attn(line);
      CHECK(result.code != 0);
      CHECK(result.code < 70);
      CHECK_MESSAGE(!has_control(result.err), line.front());
      CHECK(result.out.empty());
    }
}

TEST_CASE("attn: the three examples in the help of each command run") {
  const TemporaryFolder folder;
  // Files for the examples: a model with its weights, an input, a compiled model with data, a preset.
  const std::string config = folder.file("model.json", R"({"name": "encoder", "input_shape": [6, 16], "num_layers": 1,
    "num_heads": 2, "intermediate_dim": 32})");
  REQUIRE(run_attn({"init", config, "-o", folder / "model.keras"}).code == 0);
  REQUIRE(run_attn({"convert", folder / "model.keras", folder / "model.weights.h5"}).code == 0);
  io::write_tensors(folder / "x.npz", std::vector<NamedTensor>{{"input_layer", Tensor(DType::float32, {2, 6, 16})}});
  const std::string trained = in_repository("tests/data/training/loss/two_outputs/");
  std::filesystem::copy(trained + "start.keras", folder / "compiled.keras");
  std::filesystem::copy(trained + "data.npz", folder / "data.npz");
  std::filesystem::copy(in_repository("tests/data/generation/gpt2/preset"), folder / "preset",
                        std::filesystem::copy_options::recursive);
  std::filesystem::copy(in_repository("tests/data/embed/bert"), folder / "embedder",
                        std::filesystem::copy_options::recursive);
  static_cast<void>(folder.file("texts.txt", "the red planet\nmars\n"));
  std::filesystem::copy(in_repository("tests/data/transcribe/whisper"), folder / "whisper",
                        std::filesystem::copy_options::recursive);
  std::filesystem::copy(in_repository("tests/data/transcribe/speech.wav"), folder / "speech.wav");
  for (const std::string& command : command_names()) {
    const Result help = run_attn({command, "--help"});
    CHECK(help.code == 0);
    CHECK(help.out == run_attn({"help", command}).out);
    std::vector<std::string> examples;
    const auto at = help.out.find("\nExamples:\n");
    REQUIRE_MESSAGE(at != std::string::npos, command);
    for (const std::string& line : split(help.out.substr(at + 11), '\n'))
      if (line.starts_with("  attn ")) examples.push_back(line.substr(2));
    CHECK_MESSAGE(examples.size() == 3, command);
    for (const std::string& example : examples) {
      const std::string path = std::filesystem::path(attn_program()).parent_path().string();
      const Result result =
          run_program("/bin/bash", {"-ec", "cd \"$1\"; PATH=\"$2:$PATH\"; " + example, "bash", folder / "", path});
      CHECK_MESSAGE(result.code == 0, example << "\n" << result.err);
      CHECK_MESSAGE(
          (example.find("-o") != std::string::npos || example.find('>') != std::string::npos || !result.out.empty()),
          example);
    }
  }
}

TEST_CASE("attn: ATTN_ variables set defaults, options override them, and an error names the variable") {
  const Environment variables(Variables{{"ATTN_SEED", "7"}, {"ATTN_THREADS", "1"}});
  const json run = json::parse(run_attn({"run", "--json"}).out);
  CHECK(run["seed"] == 7);
  CHECK(run["threads"] == 1);
  CHECK(json::parse(run_attn({"run", "--json", "--seed", "3"}).out)["seed"] == 3);
  {
    const Environment format(Variables{{"ATTN_FORMAT", "markdown"}});
    CHECK(run_attn({"summary"}).out.starts_with("## encoder"));
    CHECK(run_attn({"summary", "--json"}).out.starts_with("{"));
    CHECK(run_attn({"devices"}).out.starts_with("Device"));  // it has no Markdown format
  }
  const std::vector<std::vector<std::string>> wrong = {
      {"ATTN_FORMAT", "tabel", "summary"}, {"ATTN_THREADS", "x", "run"},     {"ATTN_DEVICE", "cuad", "run"},
      {"ATTN_DTYPE", "int3", "run"},       {"ATTN_BACKEND", "onedn", "run"}, {"ATTN_COLOR", "red", "devices"},
      {"ATTN_BATCH_SIZE", "0", "explain"}};
  for (const auto& row : wrong) {
    const Environment variable(Variables{{row[0], row[1]}});
    const Result result = run_attn({row[2]});
    CHECK(result.code == 2);
    CHECK_MESSAGE(contains(result.err, row[0]), result.err);
    CHECK(contains(result.err, row[1]));
  }
  // Invalid values of variables have no effect in commands that do not read them.
  const Environment harmless(Variables{{"ATTN_BATCH_SIZE", "4"},
                                       {"ATTN_RTOL", "0.1"},
                                       {"ATTN_OUTPUT", "nowhere/x"},
                                       {"ATTN_MODEL", "nowhere"},
                                       {"ATTN_DTYPE", "float16"}});
  CHECK(run_attn({"summary"}).code == 0);
  CHECK(json::parse(run_attn({"summary", "--costs", "--json"}).out)["costs"]["batch"] == 4);
  CHECK(run_attn({"weights", "tests/data/io/model.weights.h5"}).code == 0);
}

TEST_CASE("attn: headings and colors can be switched off") {
  const std::string bold = "\x1b[1m";
  {
    const Environment utf8(Variables{{"LC_ALL", "C.UTF-8"}, {"TERM", "xterm"}});
    CHECK(contains(run_on_terminal({"devices"}).out, bold + "Device"));
    CHECK(contains(run_on_terminal({"summary"}, 120).out, bold + "┃ Layer (type)"));
    CHECK(contains(run_on_terminal({"help"}).out, bold + "Commands:"));
    CHECK_FALSE(contains(run_on_terminal({"devices", "--color", "never"}).out, "\x1b"));
    CHECK_FALSE(contains(run_on_terminal({"summary", "--line-length", "100"}).out, "\x1b"));
    CHECK_FALSE(contains(run_on_terminal({"summary", "--json"}).out, "\x1b"));
    const Environment no_color(Variables{{"NO_COLOR", "1"}});
    CHECK_FALSE(contains(run_on_terminal({"devices"}).out, "\x1b"));
    CHECK_FALSE(contains(run_on_terminal({"nonsense"}).out, "\x1b"));
    CHECK(contains(run_on_terminal({"devices", "--color", "always"}).out, bold));
  }
  CHECK_FALSE(contains(run_attn({"devices"}).out, "\x1b"));
  CHECK(contains(run_attn({"devices", "--color", "always"}).out, bold));
}

TEST_CASE("attn: ASCII is used on request or if the locale requires it, except in Keras's own bytes") {
  const auto is_ascii = [](const std::string& text) {
    return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<signed char>(c) >= 0; });
  };
  const Environment plain(Variables{{"LC_ALL", "C"}, {"TERM", "dumb"}});
  CHECK(is_ascii(run_on_terminal({"summary"}, 100).out));
  CHECK(is_ascii(run_on_terminal({"summary", "nirgends/é.json"}).out));
  CHECK_FALSE(is_ascii(run_on_terminal({"summary", "--line-length", "100"}).out));
  CHECK_FALSE(is_ascii(run_attn({"summary"}).out));  // a pipe keeps UTF-8
  for (const std::vector<std::string>& line :
       {std::vector<std::string>{"summary"}, {"devices"}, {"explain", "dense"}, {"run"}, {"summary", "--costs"}}) {
    std::vector<std::string> ascii = line;
    ascii.push_back("--ascii");
    const Result result = run_attn(ascii);
    CHECK(result.code == 0);
    CHECK(is_ascii(result.out));
  }
  // The widths are the same: the lines of the table end in the same column.
  const std::vector<std::string> lines = split(run_attn({"summary", "--ascii"}).out, '\n');
  const std::vector<std::string> drawn = split(run_attn({"summary"}).out, '\n');
  REQUIRE(lines.size() == drawn.size());
  for (std::size_t i = 0; i < lines.size(); ++i) CHECK(display_width(lines[i]) == display_width(drawn[i]));
  // Names with escapes need more columns than before.
  const TemporaryFolder wide;
  const std::string names = wide.file("m.json", R"({"class_name": "Functional", "config": {"name": "注意力", "layers": [
    {"class_name": "InputLayer", "name": "入力", "config": {"name": "入力", "batch_shape": [null, 4, 8]}},
    {"class_name": "Dense", "name": "e\u0301té\u202e", "config": {"name": "e\u0301té\u202e", "units": 8}, "inbound_nodes":
      [{"args": [{"class_name": "__keras_tensor__", "config": {"shape": [null, 4, 8], "dtype": "float32",
                  "keras_history": ["入力", 0, 0]}}], "kwargs": {}}]},
    {"class_name": "Add", "name": "plain", "config": {"name": "plain"}, "inbound_nodes":
      [{"args": [[{"class_name": "__keras_tensor__", "config": {"shape": [null, 4, 8], "dtype": "float32",
                   "keras_history": ["入力", 0, 0]}},
                  {"class_name": "__keras_tensor__", "config": {"shape": [null, 4, 8], "dtype": "float32",
                   "keras_history": ["e\u0301té\u202e", 0, 0]}}]], "kwargs": {}}]}],
    "input_layers": [["入力", 0, 0]], "output_layers": [["plain", 0, 0]]}})");
  const auto table_widths = [](const std::string& text) {
    std::set<int> widths;
    for (std::string line : split(text, '\n')) {
      std::erase(line, '\r');
      if (line.starts_with('|') || line.starts_with('+')) widths.insert(display_width(line));
    }
    return widths;
  };
  for (const std::vector<std::string>& line :
       {std::vector<std::string>{"summary", names, "--ascii"}, {"summary", names, "--format", "markdown", "--ascii"}}) {
    const Result result = run_attn(line);
    CHECK(result.code == 0);
    CHECK(is_ascii(result.out));
    CHECK(contains(result.out, "\\u{5165}\\u{529b}"));
    CHECK_MESSAGE(table_widths(result.out).size() == 1, result.out);
  }
  for (const int columns : {70, 90, 140}) {
    const std::string shown = run_on_terminal({"summary", names}, columns).out;
    CHECK(is_ascii(shown));
    CHECK_MESSAGE(table_widths(shown).size() == 1, shown);
    CHECK(*table_widths(shown).begin() <= columns);
  }
  const std::vector<std::string> costs = split(run_attn({"summary", names, "--costs", "--ascii"}).out, '\n');
  const auto shape_at = [](const std::string& line) { return line.find("(1, 4, 8)"); };
  REQUIRE(costs.size() > 6);
  CHECK(shape_at(costs[4]) != std::string::npos);
  CHECK(shape_at(costs[4]) == shape_at(costs[5]));
  CHECK(shape_at(costs[4]) == shape_at(costs[6]));
  // Output to a file is not limited to ASCII.
  CHECK(run_on_terminal({"summary", names, "--costs", "-o", wide / "costs.txt"}).code == 0);
  CHECK(read_text(wide / "costs.txt") == run_attn({"summary", names, "--costs"}).out);
  // JSON uses escapes, which have the same meaning.
  const TemporaryFolder folder;
  const std::string model =
      folder.file("m.json", R"({"name": "注意😀", "input_shape": [4, 8], "num_layers": 1, "num_heads": 2, "key_dim": 4,
                    "intermediate_dim": 8})");
  const Result values = run_attn({"summary", model, "--json", "--ascii"});
  CHECK(is_ascii(values.out));
  CHECK(json::parse(values.out)["name"] == "注意😀");
}

TEST_CASE("attn: columns with wide and combining characters are aligned") {
  const TemporaryFolder folder;
  const std::vector<NamedTensor> arrays = {{"注意力", {DType::float32, {2}}},
                                           {"e\xcc\x81t\xc3\xa9", {DType::float32, {2}}},
                                           {"plain", {DType::float32, {2}}}};
  io::write_tensors(folder / "wide.npz", arrays);
  const std::vector<std::string> lines = split(run_attn({"weights", folder / "wide.npz"}).out, '\n');
  REQUIRE(lines.size() > 4);
  const auto column = [](const std::string& line) { return display_width(line.substr(0, line.find("(2,)"))); };
  CHECK(column(lines[2]) == column(lines[3]));
  CHECK(column(lines[2]) == column(lines[4]));
}

TEST_CASE("attn: tables and help fit the terminal's width, and no name is cut") {
  const Environment utf8(Variables{{"LC_ALL", "C.UTF-8"}, {"NO_COLOR", "1"}});
  struct Row {
    int columns;  // the smallest width for lines with numbers, which are not wrapped
    std::vector<std::string> line;
  };
  const std::vector<Row> rows = {{60, {"summary"}},
                                 {60, {"help"}},
                                 {60, {"help", "run"}},
                                 {60, {"bench", "--help"}},
                                 {60, {"doctor"}},
                                 {100, {"run"}},
                                 {80, {"weights", "tests/data/io/model.keras"}},
                                 {80, {"summary", "--costs"}}};
  for (const int columns : {60, 80, 110}) {
    for (const auto& [least, line] : rows) {
      if (columns < least) continue;
      std::string longest;
      for (std::string text : split(run_on_terminal(line, columns).out, '\n')) {
        std::erase(text, '\r');
        const bool example = text.starts_with("  attn ") || text.starts_with("Usage: ");  // not wrapped, so that it can
                                                                                          // be copied
        if (!example && display_width(text) > display_width(longest)) longest = text;
      }
      CHECK_MESSAGE(display_width(longest) <= columns, longest);
    }
  }
  std::string joined = run_on_terminal({"doctor"}, 60).out;
  std::string whole = run_attn({"doctor"}).out;
  for (std::string* text : {&joined, &whole})
    std::erase_if(*text, [](char c) { return c == ' ' || c == '\r' || c == '\n' || static_cast<signed char>(c) < 0; });
  std::sort(joined.begin(), joined.end());
  std::sort(whole.begin(), whole.end());
  CHECK(joined.substr(joined.find('A')) == whole.substr(whole.find('A')));  // numbers differ between runs
}

TEST_CASE("attn: a table too wide for the terminal breaks names at their parts and omits columns") {
  const Environment utf8(Variables{{"LC_ALL", "C.UTF-8"}, {"NO_COLOR", "1"}});
  const std::string narrow = run_on_terminal({"summary", "--costs"}, 80).out;
  for (const char* whole : {"(MultiHeadAttention)", "(1, 50, 2048)", "104,960,000",
                            "80 columns are too few for Weights, Activations, Scores"})
    CHECK_MESSAGE(contains(narrow, whole), whole);
  const std::string wide = run_on_terminal({"summary", "--costs"}, 120).out;
  for (const char* whole : {"(LayerNormalization)", "4.01 MB float32", "78.12 KB"})
    CHECK_MESSAGE(contains(wide, whole), whole);
  CHECK_FALSE(contains(wide, "no room"));
}

TEST_CASE("attn: a table too wide omits its least important columns, and says how to see them") {
  const Environment utf8(Variables{{"LC_ALL", "C.UTF-8"}, {"NO_COLOR", "1"}});
  const std::string weights = run_on_terminal({"weights", "tests/data/keras/model/encoder/model.keras"}, 80).out;
  for (const char* heading : {"NaN", "Inf", "Min", "| less -S"}) CHECK_MESSAGE(contains(weights, heading), heading);
  const std::string compare = run_on_terminal({"compare", "configs/encoder.json", "--quiet"}, 80).out;
  CHECK(contains(compare, "Result"));
  const std::string grad = run_on_terminal({"grad", "configs/encoder.json", "--quiet"}, 80).out;
  for (const char* heading : {"Flow", "Note"}) CHECK_MESSAGE(contains(grad, heading), heading);
  // Sentences are wrapped between words.
  for (const std::string& text : {weights, compare, grad})
    for (std::string line : split(text, '\n')) {
      std::erase(line, '\r');
      CHECK_MESSAGE(display_width(line) <= 80, line);
    }
}

TEST_CASE("heatmap: the colored table fits a terminal like the plain one") {
  const Environment utf8(Variables{{"LC_ALL", "C.UTF-8"}, {"TERM", "xterm-256color"}});
  std::string out =
      run_on_terminal({"heatmap", "configs/encoder.json", "--seq-len", "20", "--color", "always"}, 60).out;
  for (std::string line : split(out, '\n')) {
    std::erase(line, '\r');
    std::string shown;  // text without escape sequences
    for (std::size_t i = 0; i < line.size(); ++i) {
      if (line[i] == '\x1b') {
        i = line.find('m', i);
        if (i == std::string::npos) break;
      } else {
        shown += line[i];
      }
    }
    CHECK_MESSAGE(display_width(shown) <= 60, shown);
  }
}

TEST_CASE("attn: a repeated option that is allowed once is an error with attn's own message") {
  const Result result = run_attn({"run", "--seed", "1", "--seed", "2"});
  CHECK(result.code == 2);
  CHECK(contains(result.err, "--seed may be given only once, not 2 times"));
}

TEST_CASE("attn: a closed pipe ends the program without a message") {
  const Result result = run_program(
      "/bin/bash",
      {"-c", "\"$1\" summary configs/bert_base.json --weights --expand-nested | head -n 1", "bash", attn_program()});
  CHECK(result.code == 0);
  CHECK(std::count(result.out.begin(), result.out.end(), '\n') == 1);
  CHECK(result.err.empty());
}

TEST_CASE("attn: - is stdin and stdout for arrays too, with the report on stderr") {
  const TemporaryFolder folder;
  const Result weights = run_attn({"init", "-o", "-", "--seed", "5"});
  CHECK(weights.code == 0);
  CHECK(weights.out.starts_with("PK"));
  CHECK(contains(weights.err, "18 weights"));
  const Result listed = run_attn({"weights", "-", "--json"}, weights.out);
  CHECK(json::parse(listed.out)["arrays"].size() == 18);
  CHECK(run_attn({"weights", "-", "--model", "configs/encoder.json"}, weights.out).code == 0);
  const Result converted = run_attn({"convert", "-", "-", "--quiet"}, weights.out);
  CHECK(converted.code == 0);
  CHECK(converted.err.empty());
  CHECK(
      run_attn({"weights", folder.file("a.npz", converted.out), "--expect", folder.file("b.npz", weights.out)}).code ==
      0);
  const Result outputs = run_attn({"run", "-o", "-", "--json"});
  CHECK(json::parse(outputs.err)["schema"] == "attn.run/1");
  CHECK(run_attn({"run", "--expect", "-"}, outputs.out).code == 0);
  CHECK(run_attn({"run", "-o", "-", "--scores", "-"}).code == 2);
  CHECK(run_attn({"get-config", "-o", "-"}).out == run_attn({"get-config"}).out);
  CHECK(run_attn({"summary", "-"}, read_text(in_repository("configs/encoder.json"))).out == run_attn({"summary"}).out);
}

/// The output on a terminal after a quarter of the work and 1.5 seconds.
std::string progress_on_terminal(bool quiet, double total) {
  std::fflush(stdout);  // ThreadSanitizer's _exit would also write the child's copy of the buffer
  int terminal = -1;
  const pid_t child = forkpty(&terminal, nullptr, nullptr, nullptr);
  if (child == 0) {
    cli::Console console;
    console.quiet = quiet;
    {
      cli::Progress progress(console, "drawing\x1b[2J", total);
      progress.advance();
      std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    }
    _exit(0);
  }
  std::string out;
  std::array<char, 256> buffer{};
  for (ssize_t got = 0; (got = read(terminal, buffer.data(), buffer.size())) > 0;)
    out.append(buffer.data(), static_cast<std::size_t>(got));
  close(terminal);
  waitpid(child, nullptr, 0);
  return out;
}

TEST_CASE("attn: work over a second shows its progress on a terminal, erases it, and is silent elsewhere") {
  const std::string wipe = "\r\x1b[K";
  const std::string shown = progress_on_terminal(false, 4);
  CHECK_MESSAGE(shown.starts_with(wipe + "attn: drawing\\u{1b}[2J  25%, "), shown);
  CHECK(contains(shown, " s left"));
  CHECK(shown.ends_with(wipe));
  const std::string endless = progress_on_terminal(false, 0);
  CHECK_MESSAGE(endless.starts_with(wipe + "attn: drawing\\u{1b}[2J, "), endless);
  CHECK(contains(endless, " s" + wipe));
  CHECK(endless.ends_with(wipe));
  CHECK(progress_on_terminal(true, 4).empty());
  const TemporaryFolder folder;
  CHECK(run_attn({"init", "-o", folder / "w.npz"}).err.empty());
}

TEST_CASE("doctor: the report shows the CPU, reasons for missing parts, and unknown variables") {
  const Environment variables(Variables{{"ATTN_DEVCE", "cuda"}, {"ATTN_SEED", "3\x1b[2J"}});
  const Result text = run_attn({"doctor"});
  CHECK(text.code == 0);
  CHECK(contains(text.out, "agrees with the reference loops"));
  CHECK(contains(text.out, "no option has the variable ATTN_DEVCE (did you mean 'ATTN_DEVICE'?)"));
  CHECK_FALSE(has_control(text.out));
  const json values = json::parse(run_attn({"doctor", "--json"}).out);
  CHECK(values["works"] == true);
  CHECK(values["checks"][0]["works"] == true);
  CHECK(values["hdf5"].is_string());
  CHECK(values["variables"]["ATTN_SEED"] == "3\x1b[2J");
  for (const json& check : values["checks"]) CHECK(check["works"].get<bool>() == check["why_not"].is_null());
  const Result page = run_attn({"doctor", "--format", "markdown"});
  CHECK(page.out.starts_with("### attn doctor\n"));
  CHECK_FALSE(has_control(page.out));
}

TEST_CASE("doctor: a broken HDF5 program is reported, and the CPU still works") {
  const Environment broken(Variables{{"ATTN_HDF5", "/bin/false"}});
  const Result result = run_attn({"doctor", "--json"});
  CHECK(result.code == 0);
  const json values = json::parse(result.out);
  CHECK(values["checks"][1]["name"] == "HDF5 files");
  CHECK(values["checks"][1]["works"] == false);
  CHECK(contains(values["checks"][1]["why_not"], "/bin/false does not answer"));
}

}  // namespace
}  // namespace attn::test
