#include "attn/communicators/launch.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "attn/base/error.h"

namespace attn::communicators {
namespace {

/// Sets variables of a launcher for the duration of a test, and unsets those of the launcher that started the test.
class Variables {
 public:
  using Given = std::vector<std::pair<const char*, const char*>>;
  explicit Variables(const Given& given) {
    for (const char* name : kAll) {
      const char* value = std::getenv(name);
      before_.emplace_back(name, value == nullptr ? std::nullopt : std::optional<std::string>(value));
      ::unsetenv(name);
    }
    for (const auto& [name, value] : given) ::setenv(name, value, 1);
  }
  ~Variables() {
    for (const auto& [name, value] : before_) value ? ::setenv(name, value->c_str(), 1) : ::unsetenv(name);
  }
  Variables(const Variables&) = delete;
  Variables& operator=(const Variables&) = delete;

 private:
  static constexpr const char* kAll[] = {"OMPI_COMM_WORLD_RANK",
                                         "OMPI_COMM_WORLD_SIZE",
                                         "OMPI_COMM_WORLD_LOCAL_RANK",
                                         "PMI_RANK",
                                         "PMI_SIZE",
                                         "MPI_LOCALRANKID",
                                         "SLURM_PROCID",
                                         "SLURM_STEP_NUM_TASKS",
                                         "SLURM_NTASKS",
                                         "SLURM_LOCALID",
                                         "SLURM_JOB_ID",
                                         "SLURM_STEP_ID",
                                         "SLURM_STEPID",
                                         "RANK",
                                         "WORLD_SIZE",
                                         "LOCAL_RANK",
                                         "SLURM_ARRAY_TASK_ID",
                                         "SLURM_ARRAY_TASK_COUNT",
                                         "SLURM_ARRAY_TASK_MIN",
                                         "JOB_COMPLETION_INDEX"};
  std::vector<std::pair<const char*, std::optional<std::string>>> before_;
};

std::string launch_text() {
  const Launch launch = launched();
  return fmt::format("{} {}/{} local {}", launch.launcher, launch.rank, launch.size, launch.local_rank);
}

TEST_CASE("launch: rank and size come from the launcher's variables, and default to one process") {
  const std::vector<std::pair<Variables::Given, std::string>> rows = {
      {{}, " 0/1 local 0"},
      {{{"OMPI_COMM_WORLD_RANK", "3"}, {"OMPI_COMM_WORLD_SIZE", "8"}, {"OMPI_COMM_WORLD_LOCAL_RANK", "1"}},
       "Open MPI 3/8 local 1"},
      {{{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}}, "PMI 1/2 local 1"},
      {{{"SLURM_PROCID", "5"}, {"SLURM_NTASKS", "6"}, {"SLURM_LOCALID", "2"}}, "Slurm 5/6 local 2"},
      {{{"RANK", "0"}, {"WORLD_SIZE", "4"}}, "torchrun 0/4 local 0"},
      {{{"RANK", "7"}}, " 0/1 local 0"},
      // The script of a job is not one of its tasks.
      {{{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "6"}, {"SLURM_JOB_ID", "77"}}, " 0/1 local 0"},
      {{{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "6"}, {"SLURM_JOB_ID", "77"}, {"SLURM_STEP_ID", "0"}},
       "Slurm 0/6 local 0"},
  };
  for (const auto& [given, expected] : rows) {
    const Variables variables(given);
    CHECK(launch_text() == expected);
  }
}

TEST_CASE("launch: a variable that is not a number, or a rank beyond the size, is an error that names it") {
  {
    const Variables variables({{"PMI_RANK", "x"}, {"PMI_SIZE", "2"}});
    CHECK_THROWS_WITH_AS(launched(),
                         "the environment variable PMI_RANK is 'x'; expected the number that a launcher sets", Error);
  }
  const Variables variables({{"PMI_RANK", "2"}, {"PMI_SIZE", "2"}});
  CHECK_THROWS_WITH_AS(launched(), "the environment variables PMI_RANK and PMI_SIZE give the invalid rank 2 of 2",
                       Error);
}

TEST_CASE("shard: i/N, tasks of a Slurm array and processes of a launch give consecutive shards") {
  const auto text = [](std::string_view word, const Launch& launch) {
    const Shard shard = shard_of(word, launch);
    return fmt::format("{}/{}", shard.index, shard.count);
  };
  const Variables variables(
      {{"SLURM_ARRAY_TASK_ID", "12"}, {"SLURM_ARRAY_TASK_COUNT", "4"}, {"SLURM_ARRAY_TASK_MIN", "10"}});
  CHECK(text("2/8", {}) == "2/8");
  CHECK(text("0/1", {3, 4, 3, "PMI"}) == "3/4");
  CHECK(text("1/2", {3, 4, 3, "PMI"}) == "7/8");
  CHECK(text("auto", {}) == "2/4");
  CHECK(text("auto", {1, 2, 1, "PMI"}) == "5/8");
}

TEST_CASE("shard: an invalid shard is an error with the way out") {
  for (const char* word : {"", "3", "3/3", "-1/2", "a/b", "1/2/3"}) {
    CAPTURE(word);
    CHECK_THROWS_AS(static_cast<void>(shard_of(word, {})), Error);
  }
  {
    const Variables none(Variables::Given{});
    CHECK_THROWS_AS(static_cast<void>(shard_of("auto", {})), Error);
    CHECK(shard_of("auto", {1, 3, 1, "PMI"}).count == 3);
  }
  const Variables job(Variables::Given{{"JOB_COMPLETION_INDEX", "3"}});
  CHECK_THROWS_WITH_AS(static_cast<void>(shard_of("auto", {})),
                       doctest::Contains("name the shard 3/N, with N from spec.completions"), Error);
}

}  // namespace
}  // namespace attn::communicators
