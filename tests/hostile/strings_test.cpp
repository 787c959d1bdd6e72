// Names that would affect a terminal, a page, a spreadsheet or a graph, through every command and output format.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "../places.h"
#include "attempt.h"
#include "attn/base/text.h"
#include "zip.h"

namespace attn::test {
namespace {

using namespace std::string_literals;

/// The strings as written in JSON.
const std::vector<std::string> kNames = {
    R"(\u001b[31mred\u001b[0m)",
    R"(\u001b]0;title\u0007)",
    R"(\u001b]8;;http://127.0.0.1/\u001b\\link\u001b]8;;\u001b\\)",
    R"(\u001b]52;c;cm0gLXJm\u0007)",
    R"(\u001bP+q544e\u001b\\)",
    R"(\u009b31m)",
    R"(\u009d0;title\u009c)",
    "\xC2\x9B"
    "31m",
    "\xC2\x9D"
    "52;c;x\xC2\x9C",
    R"(\u202egnp.exe)",
    "\xE2\x80\xAE"
    "evil",
    R"(\u2066a\u2069\u200f)",
    R"(zero\u200bwidth\u200d\u2060\ufeff)",
    R"(nul\u0000l)",
    R"(line\nbreak)",
    R"(carriage\rreturn)",
    R"(tab\tand\bback\u007f)",
    R"(\u2028\u2029\u0085)",
    R"(<script>alert(1)</script>)",
    R"(</script><img src=x onerror=alert(1)>)",
    R"(]]><x>)",
    R"(<!--)",
    R"(\"onmouseover=\"alert(1))",
    R"('onmouseover='alert(1))",
    R"(&lt;b&gt;&amp;)",
    R"(=cmd|' -C calc'!A0)",
    R"(+1+1)",
    R"(-1+1)",
    R"(@SUM(A1))",
    R"(a,b;\"c\")",
    R"(a|b`c`)",
    R"([x](http://127.0.0.1/))",
    R"(![x](http://127.0.0.1/))",
    R"(a];b[\"c\\)",
    R"(a\\\"];evil[label=x)",
    R"(\\begin{x}$%_#&{}~^\\input{/etc/passwd})",
    R"(%s%n%d{}{0})",
    R"($(id)`id`)",
    R"(\ud83d\ude00\u0301\u0301)",
    R"(\uffff\ufdd0)",
};

/// A model with attention in which each name contains one of `names`: its own has the first, and each also has an input
/// and two layers.
std::string model_named(const std::vector<std::string>& names) {
  const auto tensor = [&](const std::string& of) {
    return R"({"class_name": "__keras_tensor__", "config": {"shape": [null, 3, 4], "dtype": "float32", "keras_history": [")" +
           of + R"(", 0, 0]}})";
  };
  std::vector<std::string> layers, inputs, outputs;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string out = names[i] + std::to_string(i), in = "i" + out, attention = out + "a";
    layers.push_back(R"({"class_name": "InputLayer", "config": {"batch_shape": [null, 3, 4], "name": ")" + in +
                     R"("}, "name": ")" + in + R"(", "inbound_nodes": []})");
    layers.push_back(R"({"class_name": "MultiHeadAttention", "config": {"name": ")" + attention +
                     R"(", "num_heads": 1, "key_dim": 2}, "name": ")" + attention +
                     R"(", "inbound_nodes": [{"args": [)" + tensor(in) + ", " + tensor(in) + R"(], "kwargs": {}}]})");
    layers.push_back(R"({"class_name": "Dense", "config": {"name": ")" + out + R"(", "units": 2}, "name": ")" + out +
                     R"(", "inbound_nodes": [{"args": [)" + tensor(attention) + R"(], "kwargs": {}}]})");
    inputs.push_back(R"([")" + in + R"(", 0, 0])");
    outputs.push_back(R"([")" + out + R"(", 0, 0])");
  }
  return R"({"class_name": "Functional", "config": {"name": ")" + names[0] + R"(m", "layers": [)" +
         join(layers, ",\n") + R"(], "input_layers": [)" + join(inputs, ", ") + R"(], "output_layers": [)" +
         join(outputs, ", ") + "]}}";
}

/// CSV lines end in CR LF.
std::string without_line_ends(std::string text) {
  for (std::size_t at = text.find("\r\n"); at != std::string::npos; at = text.find("\r\n", at)) text.erase(at, 1);
  return text;
}

/// No CSV cell may begin a formula.
void check_csv(const std::string& text) {
  bool quoted = false, begins = true;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (begins && c != '"') CHECK_FALSE(std::string_view("=+@").find(c) != std::string_view::npos);
    if (begins && c == '"' && i + 1 < text.size())
      CHECK_FALSE(std::string_view("=+@").find(text[i + 1]) != std::string_view::npos);
    if (begins && c == '-') CHECK(std::string_view("0123456789").find(text[i + 1]) != std::string_view::npos);
    begins = !quoted && (c == ',' || c == '\n');
    if (c == '"') quoted = !quoted;
  }
}

void check_form(const std::string& form, const std::string& text) {
  CHECK(is_clean(without_line_ends(text)));
  if (form == "csv") check_csv(text);
  if (form == "html" || form == "svg") {
    CHECK_FALSE(contains(text, "<script>alert"));
    CHECK_FALSE(contains(text, "<img src=x"));
    CHECK_FALSE(contains(text, "]]><x>"));
    CHECK_FALSE(contains(text, "\"onmouseover=\""));
  }
  if (form == "markdown") {
    CHECK_FALSE(contains(text, "<script>"));
    CHECK_FALSE(contains(text, "<img"));
    CHECK_FALSE(contains(text, "](http"));
  }
  if (form == "dot") CHECK_FALSE(contains(text, "\n];evil"));
}

}  // namespace

TEST_CASE("strings: names of a model reach the terminal and documents only as text") {
  struct Command {
    std::vector<std::string> words;
    std::vector<std::string> forms;  // "": the command has a single format
  };
  const std::vector<Command> commands = {
      {{"summary", "-"}, {"table", "json", "markdown", "csv"}},
      {{"summary", "-", "--costs", "--weights", "--depth", "2"}, {"table", "json", "markdown", "csv"}},
      {{"summary", "-", "--masks"}, {"table", "json", "markdown", "csv"}},
      {{"summary", "-", "--line-length", "80"}, {""}},
      {{"explain", "-"}, {"table", "json", "markdown", "latex"}},
      {{"validate", "-"}, {"table", "json", "markdown", "csv"}},
      {{"get-config", "-"}, {"json", "python"}},
      {{"plot", "-"}, {"svg", "dot", "mermaid", "json"}},
      {{"plan", "-"}, {"table", "json", "svg"}},
      {{"run", "-", "--backend", "reference", "--verbose"}, {"table", "json"}},
      {{"report", "-"}, {"html"}},
      {{"heatmap", "-"}, {"table", "json", "html", "svg"}},
      {{"bench", "-", "--iterations", "1", "--warmup", "0", "--min-time", "0", "--backend", "reference"},
       {"table", "json", "markdown", "csv"}},
  };
  std::vector<std::string> names;  // the names in the model
  for (const std::string& name : kNames) {
    CAPTURE(name);
    const Attempt alone = summarise(model_named({name}));
    if (alone.code == 0) {
      names.push_back(name);
    } else {
      check_refused(alone, "stdin:");
    }
  }
  REQUIRE(names.size() > 35);
  for (const Command& command : commands) {
    for (const std::string& form : command.forms) {
      std::vector<std::string> words = command.words;
      if (!form.empty()) words.insert(words.end(), {"--format", form});
      const Attempt result = attempt(words, model_named(names));
      CAPTURE(join(words, " "));
      CAPTURE(result.err);
      CHECK(result.code == 0);
      CHECK(is_clean(result.err));
      check_form(form, result.out);
      std::rotate(names.begin(), names.begin() + 1, names.end());  // the model gets another name for the next format
    }
  }
}

TEST_CASE("strings: names in error messages are escaped and of limited length") {
  for (const std::string& name : kNames) {
    CAPTURE(name);
    const std::string quoted = "\"" + name + "\"";
    check_refused(summarise(model_of(name, "{}")), "stdin:");
    check_refused(summarise(model_of("Dense", R"({"name": "d", "units": )" + quoted + "}")), "stdin:");
    check_refused(summarise(model_of("Dense", R"({"name": "d", "units": 2, "activation": )" + quoted + "}")), "stdin:");
    check_refused(summarise(model_of("Dense", "{" + quoted + R"(: 1, "name": "d", "units": 2})")), "stdin:");
    check_refused(summarise("{" + quoted + ": 1, " + quoted + ": 1}"), "stdin:");
    check_refused(summarise(model_of("Dense", R"({"units": 2, "kernel_initializer": )" + quoted + "}")), "stdin:");
    check_refused(summarise(model_of("Dense", R"({"units": 2, "module": "os", "dtype": )" + quoted + "}")), "stdin:");
  }
  const std::string mebibyte(1 << 20, 'x');
  for (const std::string& text :
       {model_of(mebibyte, "{}"), model_of("Dense", R"({"name": ")" + mebibyte + R"(", "units": 0})"),
        model_of("Dense", R"({"units": ")" + mebibyte + "\"}"),
        model_of("Dense", R"({"units": 2, "activation": ")" + mebibyte + "\"}"),
        model_of("Dense", R"({"name": ")" + mebibyte + R"(", "units": 2})"),
        model_of("Dense", "{\"" + mebibyte.substr(0, 1024) + R"(": 1, "units": 2})"), "{\"a\": " + mebibyte + "}"})
    check_refused(summarise(text), "stdin:");
  // 64 KiB are still a valid name.
  CHECK(summarise(model_of("Dense", R"({"name": ")" + mebibyte.substr(0, 65536) + R"(", "units": 2})")).code == 0);
}

TEST_CASE("strings: names of arrays and archive members are text too") {
  const Folder folder;
  for (const std::string& name : kNames) {
    if (contains(name, "\\u0000") || contains(name, "\\ud83d")) continue;
    CAPTURE(name);
    const std::string json = "{\"" + name + R"(":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";
    const std::string good = folder.file("good.safetensors", number(json.size(), 8) + json + std::string(4, '\0'));
    const std::string bad = folder.file("bad.safetensors", number(json.size(), 8) + json + std::string(5, '\0'));
    for (const char* form : {"table", "json", "markdown", "csv"}) {
      const Attempt result = attempt({"weights", good, "--format", form});
      CHECK(result.code == 0);
      CHECK(is_clean(result.err));
      check_form(form, result.out);
      const Attempt diff = attempt({"weights", good, "--expect", good, "--format", form});
      check_form(form, diff.out);
      CHECK(is_clean(diff.err));
    }
    check_refused(attempt({"weights", bad}), "bad.safetensors");
    const Attempt converted = attempt({"convert", good, folder / "x.npz", "--verbose"});
    CHECK((converted.code == 0 || converted.code == 3));
    CHECK(is_clean(converted.out + converted.err));
    const Attempt run = attempt({"run", "--weights", good});
    CHECK(run.code == 3);
    CHECK(is_clean(run.err));
  }
}

TEST_CASE("strings: command-line arguments are quoted, shortened and escaped, with the exit code of a usage error") {
  const std::string long_word(100'000, 'x');
  std::vector<std::string> words = {long_word,
                                    "--" + long_word,
                                    "-" + long_word,
                                    "\x1b]0;x\a",
                                    "--\x1b[31m",
                                    "\xC2\x9D"
                                    "52;c;x\xC2\x9C",
                                    "\xff\xfe",
                                    "a\nb",
                                    "\xE2\x80\xAE"};
  for (const std::string& word : words) {
    CAPTURE(word.substr(0, 20));
    for (const std::vector<std::string>& line :
         std::vector<std::vector<std::string>>{{word},
                                               {"summary", word},
                                               {"summary", "-o"},
                                               {"summary", "--format", word},
                                               {"summary", "--line-length", word},
                                               {"summary", "--input-shape", word},
                                               {"summary", "a", word},
                                               {"summary", "--layer-range", word, word},
                                               {"run", "--device", word},
                                               {"run", "--backend", word},
                                               {"run", "--dtype", word},
                                               {"run", "--batch-size", word},
                                               {"run", "--seed", word},
                                               {"run", "--threads", word},
                                               {"run", "--input", word},
                                               {"run", "--weights", word},
                                               {"run", "-o", word},
                                               {"run", "--expect", word},
                                               {"run", "--matmul-precision", word},
                                               {"bench", "--batch-size", word},
                                               {"bench", "--seq-len", word},
                                               {"bench", "--baseline", word},
                                               {"bench", "--fail-if-slower", word},
                                               {"bench", "--device", word},
                                               {"get-config", word},
                                               {"get-config", "Dense", word},
                                               {"get-config", "Dense", "units=" + word},
                                               {"get-config", "--layer", word},
                                               {"get-config", "--keras-version", word},
                                               {"weights", word},
                                               {"weights", "--sort", word},
                                               {"convert", word, word},
                                               {"init", "-o", word},
                                               {"plot", "-o", word},
                                               {"heatmap", "--layer", word},
                                               {"heatmap", "--head", word},
                                               {"explain", "--layer", word},
                                               {"help", word},
                                               {"completion", word},
                                               {"man", word},
                                               {"compare", word},
                                               {"report", word},
                                               {"validate", word}}) {
      const Attempt result = attempt(line);
      CAPTURE(line.front().substr(0, 20));
      CAPTURE(line.back().substr(0, 20));
      CAPTURE(result.err.substr(0, 200));
      CHECK((result.code == 2 || result.code == 3 || result.code == 1 || result.code == 0));
      CHECK(result.err.size() < 4096);
      CHECK(is_clean(result.err));
      CHECK(is_clean(result.out));
    }
  }
  // "init -o \n" and similar are valid file names.
  for (const std::string& word : words) std::filesystem::remove(in_repository(word.substr(0, 200)));
}

}  // namespace attn::test
