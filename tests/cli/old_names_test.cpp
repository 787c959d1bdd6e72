// attn: former names of options.
#include "options/old_names.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "../text.h"
#include "program.h"

namespace attn::cli {
namespace {

using test::contains;
using test::Environment;
using test::run_attn;
using test::Variables;

using Words = std::vector<std::string>;

CommandSpec command_with(const Words& options) {
  CommandSpec out;
  for (const std::string& name : options) out.options.emplace_back().names = {name};
  return out;
}

TEST_CASE("old names: an old option name is replaced, with or without a value after =") {
  const CommandSpec command = command_with({"--batch-size", "--input"});
  CHECK(with_present_names(command, {"run", "--batch", "2"}) == Words{"run", "--batch-size", "2"});
  CHECK(with_present_names(command, {"run", "--batch=2"}) == Words{"run", "--batch-size=2"});
  CHECK(with_present_names(command, {"run", "--data", "x.npz"}) == Words{"run", "--input", "x.npz"});
}

TEST_CASE("old names: a name that the command has keeps its meaning, and so does a word after --") {
  const CommandSpec command = command_with({"--text", "--prompt", "--batch-size"});
  CHECK(with_present_names(command, {"--text", "a", "--prompt", "b"}) == Words{"--text", "a", "--prompt", "b"});
  CHECK(with_present_names(command, {"--", "--batch"}) == Words{"--", "--batch"});
  CHECK(with_present_names(command, {"--beams", "2"}) == Words{"--beams", "2"});
}

TEST_CASE("old names: a variable with a former name is read unless the present one is set") {
  const auto batch_of = [](const Words& variables) {
    Variables set;
    for (const std::string& name : variables) set.emplace_back(name, name == "ATTN_BATCH" ? "3" : "2");
    const Environment environment(std::move(set));
    return run_attn({"run", "--quiet"}).out;
  };
  CHECK(contains(batch_of({"ATTN_BATCH"}), "batch 3"));
  CHECK(contains(batch_of({"ATTN_BATCH", "ATTN_BATCH_SIZE"}), "batch 2"));
}

TEST_CASE("help: option groups have one order, with the common options last") {
  const std::string help = run_attn({"run", "--help"}).out;
  std::size_t last = 0;
  for (const char* heading : {"\nArguments:\n", "\nInput:\n", "\nModel:\n", "\nResult:\n", "\nExecution:\n",
                              "\nMany files:\n", "\nSeveral processes:\n", "\nCommon options:\n"}) {
    CAPTURE(heading);
    const std::size_t at = help.find(heading);
    REQUIRE(at != std::string::npos);
    CHECK(at > last);
    last = at;
  }
}

}  // namespace
}  // namespace attn::cli
