// Outputs are checked before a command works, kept if another output fails, and reported if they are missing.
#include <doctest/doctest.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "../places.h"
#include "../text.h"
#include "attn/io/tensor_file.h"
#include "program.h"

using attn::test::attn_program;
using attn::test::contains;
using attn::test::fixture;
using attn::test::read_text;
using attn::test::Result;
using attn::test::run_attn;
using attn::test::run_program;
using attn::test::TemporaryFolder;

namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

const std::string kOutputsModel = "tests/data/training/norm/batch/start.keras";
const std::string kOutputsData = "tests/data/training/norm/batch/data.npz";  // 40 rows
const std::string kCausal = "tests/data/keras/mha/causal/model.keras";
const std::string kGenerates = "tests/data/generation/gpt2/preset";

Words extended(Words line, const Words& more) {
  line.insert(line.end(), more.begin(), more.end());
  return line;
}

Words training(const std::string& target, const Words& more = {}) {
  return extended({"train", kOutputsModel, "--data", kOutputsData, "-o", target, "--epochs", "2"}, more);
}

std::string shell_words(const Words& words) {
  std::string out = "'" + attn_program() + "'";
  for (const std::string& word : words) out += " '" + word + "'";
  return out;
}

Result run_shell(const std::string& line) { return run_program("/bin/sh", {"-c", line}); }

/// A path to /dev/full with the file extension that a command requires: every write fails because the disk is full.
std::string full_disk(const TemporaryFolder& folder, const std::string& name) {
  fs::create_symlink("/dev/full", folder / name);
  return folder / name;
}

int lines_of(const std::string& text) { return static_cast<int>(std::count(text.begin(), text.end(), '\n')); }

}  // namespace

TEST_CASE("outputs: a path that cannot be written ends a command before its work, for every option") {
  const TemporaryFolder folder;
  const std::string missing = folder / "missing/", model = kCausal;
  const std::vector<Words> lines = {
      training(folder / "a.keras", {"--dump", missing + "a.npz"}),
      training(folder / "a.keras", {"--save-best", missing + "b.keras", "--validation-split", "0.2"}),
      training(folder / "a.keras", {"--svg", missing + "a.svg"}),
      training(folder / "a.keras", {"--log", missing + "a.jsonl"}),
      training(folder / "a.keras", {"--csv", missing + "a.csv"}),
      training(folder / "a.keras", {"--lora", "2", "--lora-output", missing + "a.npz"}),
      training(folder / "a.keras", {"--tensorboard", "/dev/null/runs"}),
      training(missing + "a.keras"),
      {"convert", model, missing + "a.npz"},
      {"convert", model, missing + "a.onnx"},
      {"init", model, "-o", missing + "a.npz"},
      {"run", model, "-o", missing + "a.npz"},
      {"run", model, "-o", folder / "a.npz", "--scores", missing + "b.npz"},
      {"run", model, "-o", folder / "a.npz", "--dump", "/dev/null/dump"},
      {"grad", model, "-o", folder / "a.npz", "--svg", missing + "a.svg"},
      {"generate", kGenerates, "--prompt", "a", "--logits", missing + "a.npz"},
      {"summary", model, "-o", missing + "a.txt"},
      {"bench", model, "--json", "-o", missing + "a.json"},
      {"plot", model, "-o", missing + "a.svg"},
      {"heatmap", model, "-o", missing + "a.html"}};
  for (const Words& line : lines) {
    const Result result = run_attn(line);
    CAPTURE(fmt::format("{}", fmt::join(line, " ")));
    CHECK(result.code == 3);
    CHECK_MESSAGE(lines_of(result.err) == 1, result.err);
    CHECK(result.out.empty());
    CHECK(folder.names().empty());
  }
}

TEST_CASE("outputs: two options with the same file are rejected, because one result would replace the other") {
  const TemporaryFolder folder;
  fs::create_directory_symlink(folder / ".", folder / "again");
  for (const Words& line :
       {training(folder / "a.keras", {"--save-best", folder / "a.keras", "--validation-split", "0.2"}),
        training(folder / "a.keras", {"--save-best", folder / "again/a.keras", "--validation-split", "0.2"}),
        training(folder / "a.keras", {"--log", folder / "a.log", "--csv", folder / "a.log"}),
        training(folder / "a.keras", {"--tensorboard", folder / "a.keras"}),
        Words{"run", kCausal, "-o", folder / "a.npz", "--scores", folder / "a.npz"}}) {
    const Result result = run_attn(line);
    CHECK(result.code == 2);
    CHECK_MESSAGE(contains(result.err, "two options write to this file"), result.err);
  }
  CHECK(folder.names() == Words{"again"});
}

TEST_CASE("outputs: a result never replaces a file that the command reads") {
  const TemporaryFolder folder;
  const std::string data = folder / "data.npz", model = folder / "model.json", x = folder / "x.npz";
  fs::copy_file(attn::test::in_repository(kOutputsData), data);
  fs::create_symlink(data, folder / "other.npz");
  const std::string config = folder.file("model.json", read_text(fixture("mha/causal/model.json")));
  REQUIRE(run_attn({"run", config, "-o", x}).code == 0);
  const std::vector<std::string> before = {read_text(data), read_text(config), read_text(x)};
  const auto trained = [&](const Words& more) {
    return extended({"train", kOutputsModel, "--data", data, "-o", folder / "a.keras"}, more);
  };
  for (const Words& line :
       {trained({"--log", data}), trained({"--csv", data}), trained({"--svg", data}), trained({"--dump", data}),
        trained({"--dump", folder / "other.npz"}), Words{"run", config, "--input", x, "-o", x},
        Words{"run", config, "--input", "input=" + x, "-o", x}, Words{"run", config, "--input", x, "--scores", x},
        Words{"run", config, "--input", data, "--output-dir", folder / "."},
        Words{"run", config, "--json", "-o", config}, Words{"summary", config, "--json", "-o", config},
        Words{"grad", kOutputsModel, "--data", data, "-o", data}}) {
    CAPTURE(fmt::format("{}", fmt::join(line, " ")));
    const Result result = run_attn(line);
    CHECK(result.code == 2);
    CHECK_MESSAGE((contains(result.err, "cannot write to the input file") ||
                   contains(result.err, "would replace this input file")),
                  result.err);
    CHECK(std::vector<std::string>{read_text(data), read_text(config), read_text(x)} == before);
  }
}

TEST_CASE("outputs: data on stdout excludes the report") {
  const TemporaryFolder folder;
  const auto trained = [&](const Words& more) { return run_attn(training(folder / "a.keras", more)); };
  const auto begins = [](const Result& result, std::string_view with) {
    CHECK(result.code == 0);
    CHECK_MESSAGE(result.out.starts_with(with), result.out.substr(0, 100));
    CHECK(contains(result.err, "a.keras"));
  };
  begins(trained({"--dump", "-"}), "PK");
  begins(trained({"--svg", "-"}), "<svg");
  begins(trained({"--log", "-"}), "{");
  begins(trained({"--csv", "-"}), "epoch,");
  CHECK(!contains(trained({"--csv", "-"}).out, "1/2"));
  const Result logits = run_attn({"generate", kGenerates, "--prompt", "a", "--logits", "-"});
  CHECK(logits.code == 2);
  CHECK(contains(logits.err, "--logits requires a file"));
  const Result terminal = attn::test::run_on_terminal(training(folder / "b.keras", {"--dump", "-"}));
  CHECK(terminal.code == 2);
  CHECK(contains(terminal.out, "binary data is not written to a terminal"));
}

TEST_CASE("outputs: a full disk for one output of a training is an error, and keeps the others") {
  const TemporaryFolder folder;
  const std::vector<Words> outputs = {{"--log", full_disk(folder, "full.jsonl")},
                                      {"--csv", full_disk(folder, "full.csv")},
                                      {"--svg", full_disk(folder, "full.svg")},
                                      {"--dump", full_disk(folder, "full.npz")},
                                      {"--save-best", full_disk(folder, "full.keras"), "--validation-split", "0.2"}};
  for (const Words& output : outputs) {
    const std::string target = folder / "a.keras";
    const Result result = run_attn(training(target, output));
    CAPTURE(output.front());
    CHECK(result.code == 3);
    CHECK_MESSAGE(contains(result.err, "error: " + output[1] + ": cannot be written: No space left on device"),
                  result.err);
    CHECK(run_attn({"summary", target}).code == 0);
    fs::remove(target);
  }
}

TEST_CASE("outputs: a full disk for the trained model is an error that names the file with the model") {
  const TemporaryFolder folder, other;
  const attn::test::Environment temporary({{"TMPDIR", other / ""}});
  const Result result = run_attn(training(full_disk(folder, "a.keras")));
  CHECK(result.code == 3);
  CHECK_MESSAGE(contains(result.err, "the trained model is in " + (other / "attn-train-")), result.err);
  REQUIRE(other.names().size() == 1);
  CHECK(run_attn({"summary", other / other.names().front()}).code == 0);
}

TEST_CASE("outputs: a limit on the file size is an error for every command, and leaves nothing") {
  const TemporaryFolder folder;
  const std::string npz = folder / "a.npz";
  for (const Words& line :
       {Words{"init", kCausal, "-o", npz}, Words{"convert", kCausal, npz},
        Words{"convert", kCausal, folder / "a.keras"}, Words{"convert", kCausal, folder / "a.onnx"},
        Words{"run", kCausal, "-o", npz, "--batch-size", "64"}, Words{"grad", kCausal, "-o", npz, "--loss", "mse"}}) {
    const Result result = run_shell("ulimit -f 1; " + shell_words(line) + " > /dev/null");
    CAPTURE(fmt::format("{}", fmt::join(line, " ")));
    CHECK(result.code == 3);
    CHECK(folder.names().empty());
  }
}

TEST_CASE("outputs: a training with a closed stdout writes its file") {
  const TemporaryFolder folder;
  const std::string target = folder / "a.keras", log = folder / "a.jsonl";
  const Result piped = run_shell(shell_words(training(target, {"--log", log})) + " | head -n 1");
  CHECK(lines_of(piped.out) == 1);
  CHECK(run_attn({"summary", target}).code == 0);
  CHECK(contains(read_text(log), R"("reason": "epochs")"));
  for (const char* closed : {" >&-", " > /dev/full"}) {
    const Result result = run_shell(shell_words(training(folder / "b.keras")) + closed);
    CHECK(result.code == 3);
    CHECK(contains(result.err, "stdout: cannot be written"));
    CHECK(fs::exists(folder / "b.keras"));
    fs::remove(folder / "b.keras");
  }
}

TEST_CASE("outputs: the next training removes temporary files and checkpoints of killed ones") {
  const TemporaryFolder folder;
  const std::string target = folder / "a.keras";
  for (const char* left : {".a.keras.abcdefghijkl.tmp", ".a.keras.222222222222.tmp", ".a.keras.short.tmp"})
    CHECK(fs::exists(folder.file(left, "half")));
  REQUIRE(run_attn(training(target, {"--save-every", "1", "--keep", "2"})).code == 0);
  CHECK(folder.names() == Words{".a.keras.short.tmp", "a.keras", "a.step2.keras"});
}

TEST_CASE("outputs: --keep follows a target that is a symbolic link") {
  const TemporaryFolder folder;
  fs::create_directory(folder / "disk");
  CHECK(fs::exists(folder.file("disk/real.keras", "before")));
  fs::create_symlink("disk/real.keras", folder / "a.keras");
  REQUIRE(run_attn(training(folder / "a.keras", {"--save-every", "1", "--keep", "2"})).code == 0);
  CHECK(fs::is_symlink(folder / "a.keras"));
  CHECK(run_attn({"summary", folder / "disk/real.keras"}).code == 0);
  CHECK(run_attn({"summary", folder / "a.step2.keras"}).code == 0);
}

TEST_CASE("outputs: --csv quotes names, and --expect-loss reads them back") {
  const TemporaryFolder folder;
  const std::string csv = folder / "a.csv";
  const std::string metrics =
      R"([{"class_name": "MeanSquaredError", "config": {"name": "=1+1,\"x\""}, "module": "keras.metrics"}])";
  REQUIRE(run_attn(training(folder / "a.keras", {"--csv", csv, "--metrics", metrics})).code == 0);
  CHECK_MESSAGE(contains(read_text(csv), R"("'=1+1,""x""")"), read_text(csv));
  CHECK(run_attn(training(folder / "a.keras", {"--expect-loss", csv, "--metrics", metrics})).code == 0);
}

TEST_CASE("outputs: --expect-loss rejects losses that are missing or not finite") {
  const TemporaryFolder folder;
  const auto expecting = [&](const std::string& name, const std::string& text) {
    return run_attn(training(folder / "a.keras", {"--expect-loss", folder.file(name, text)}));
  };
  for (const char* loss : {"inf", "-inf", "nan", "1e308"})
    CHECK(expecting("a.csv", fmt::format("epoch,loss\r\n0,{}\r\n", loss)).code == 1);
  CHECK(expecting("a.csv", "epoch,loss\r\n0,much\r\n").code == 3);
  CHECK(expecting("a.csv", "epoch,loss\r\n0\r\n").code == 3);
  CHECK(expecting("a.jsonl", "{\"event\": \"epoch\", \"epoch\": 1, \"loss\": null}\n").code == 1);
  CHECK(expecting("a.jsonl", "{\"event\": \"epoch\", \"epoch\": 1, \"lo").code == 3);
  for (const char* epoch : {"9223372036854775807", "0.5", "1e300", "nan"}) {  // no epoch has such a number
    CHECK(expecting("a.csv", fmt::format("epoch,loss\r\n{},1\r\n", epoch)).code == 3);
    CHECK(expecting("a.jsonl", fmt::format(R"({{"event": "step", "step": {}, "loss": 1}})", epoch)).code == 3);
  }
}
