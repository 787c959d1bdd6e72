// Messages for a missing GPU, driver or plugin. The driver is tests/fake_driver.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "../places.h"
#include "../text.h"
#include "program.h"

namespace attn::test {
namespace {

using attn::test::contains;

/// Includes the program's library folder, because a copy of the program does not find its libraries.
const std::pair<std::string, std::string> kFakeDriver{"LD_LIBRARY_PATH",
                                                      fake_driver() + (":" + in_repository("build/deps/onednn/lib"))};

TEST_CASE("devices: the CPU is always listed with its instruction sets, cores and memory") {
  const Result result = run_attn({"devices", "--json"});
  REQUIRE(result.code == 0);
  const auto devices = nlohmann::json::parse(result.out);
  CHECK(devices["schema"] == "attn.devices/1");
  CHECK(devices["devices"][0]["device"] == "cpu");
  CHECK(devices["devices"][0]["backend"] == "onednn");
  CHECK(devices["devices"][0]["cores"] >= 1);
  CHECK(devices["devices"][0]["memory_bytes"] > 0);
}

TEST_CASE("devices: ATTN_ISA limits kernels, and an unknown value is a usage error of every command") {
  for (const char* isa : {"sse41", "avx2", "avx2_vnni", "avx512", "avx512_vnni", "avx512_bf16", "amx"}) {
    const Environment environment(Variables{{"ATTN_ISA", isa}});
    const Result result = run_attn({"devices", "--json"});
    REQUIRE(result.code == 0);
    const std::string used = nlohmann::json::parse(result.out)["devices"][0]["kernel_isa"];
    const std::vector<std::string> words{"sse41", "avx2", "avx2_vnni", "avx512", "avx512_vnni", "avx512_bf16", "amx"};
    CHECK(std::find(words.begin(), words.end(), used) <= std::find(words.begin(), words.end(), isa));
  }
  const Environment environment(Variables{{"ATTN_ISA", "neon"}});
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"run"}, {"devices"}, {"doctor"}}) {
    const Result result = run_attn(words);
    CHECK(result.code == 2);
    CHECK(result.err ==
          "attn: error: ATTN_ISA 'neon': expected sse41, avx2, avx2_vnni, avx512, avx512_vnni, avx512_bf16 or amx\n");
  }
}

TEST_CASE("devices: each reason for a missing GPU has its own sentence and exit code 5") {
  struct Row {
    std::vector<std::pair<std::string, std::string>> environment;
    std::string device, sentence;
  };
  const std::vector<Row> rows{
      {{{"FAKE_CUDA_INIT", "34"}}, "cuda", "libcuda.so.1 is the CUDA stub (check LD_LIBRARY_PATH)"},
      {{{"FAKE_CUDA_INIT", "100"}}, "cuda", "the NVIDIA driver is installed, but there is no GPU"},
      {{{"FAKE_CUDA_INIT", "100"}, {"CUDA_VISIBLE_DEVICES", "-1"}},
       "cuda",
       "no GPU is visible (CUDA_VISIBLE_DEVICES=-1)"},
      {{{"FAKE_CUDA_INIT", "802"}}, "cuda", "fabric manager"},
      {{{"FAKE_CUDA_INIT", "803"}}, "cuda", "different versions"},
      {{{"FAKE_CUDA_INIT", "12345"}}, "cuda", "CUDA error 12345"},
      {{{"FAKE_CUDA_COUNT", "0"}}, "cuda", "no GPU"},
      {{{"FAKE_CUDA_VERSION", "12040"}}, "cuda", "the driver supports CUDA 12.4; attn was built with 13"},
      {{{"FAKE_CUDA_MAJOR", "7"}}, "cuda", "is sm_70; attn has code for sm_80"},
      {{}, "cuda:3", "this machine has 1 GPU, counted from 0"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.sentence);
    auto variables = row.environment;
    variables.push_back(kFakeDriver);
    const Environment environment(variables);
    const auto start = std::chrono::steady_clock::now();
    const Result result = run_attn({"run", "--device", row.device});
    CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(2));
    CHECK(result.code == 5);
    CHECK(result.out.empty());
    CHECK_MESSAGE(contains(result.err, row.sentence), result.err);
  }
}

TEST_CASE("devices: a machine without a driver reports the missing driver") {
  const Result result = run_attn({"devices", "--json"});
  const auto devices = nlohmann::json::parse(result.out);
  if (!devices["driver"].is_null()) return;  // this machine has a driver
  CHECK(contains(devices["cuda_missing"], "no NVIDIA driver (libcuda.so.1 not found)"));
  const Result run = run_attn({"run", "--device", "cuda"});
  CHECK(run.code == 5);
  CHECK(contains(run.err, "no NVIDIA driver"));
}

TEST_CASE("devices: auto runs on the CPU if there is no GPU, and reports why") {
  const Environment environment({{"FAKE_CUDA_INIT", "100"}, kFakeDriver});
  const Result result = run_attn({"run", "--device", "auto", "--json"});
  CHECK(result.code == 0);
  CHECK(nlohmann::json::parse(result.out)["device"] == "cpu");
  CHECK(contains(result.err, "no GPU"));
  CHECK(contains(result.err, "running on the CPU"));
}

TEST_CASE("devices: a missing plugin is reported with its path, a broken one with the loader's message") {
  const Environment environment({kFakeDriver});
  const TemporaryFolder folder;
  const std::string program = folder / "attn";
  std::filesystem::copy_file(attn_program(), program);
  const Result missing = run_program(program, {"run", "--device", "cuda"});
  CHECK(missing.code == 5);
  CHECK_MESSAGE(contains(missing.err, "libattn_cuda.so is neither next to the program nor in ../lib/attn"),
                missing.err);
  (void)folder.file("libattn_cuda.so", std::string(4096, "x"[0]));
  const Result wrong = run_program(program, {"run", "--device", "cuda"});
  CHECK(wrong.code == 5);
  CHECK_MESSAGE(contains(wrong.err, "invalid ELF header"), wrong.err);
  std::filesystem::copy_file(fake_driver() + "/libcuda.so.1", folder / "libattn_cuda.so",
                             std::filesystem::copy_options::overwrite_existing);
  const Result other = run_program(program, {"run", "--device", "cuda"});
  CHECK(other.code == 5);
  CHECK_MESSAGE(contains(other.err, "of another build"), other.err);
}

TEST_CASE("devices: control characters of a GPU's name are not printed") {
  const Environment environment({kFakeDriver});
  const Result result = run_attn({"devices"});
  CHECK(result.code == 0);
  CHECK(contains(result.out, "cuda:0"));
  CHECK_FALSE(contains(result.out, "\033"));
}

}  // namespace
}  // namespace attn::test
