// GPU work that never ends, over an emulated CUDA.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <string>

#include "attn/backends/backend.h"
#include "attn/base/error.h"
#include "attn/plan/plan.h"
#include "models.h"
#include "runtime.h"
#include "time_limits.h"

extern "C" attn::backends::Backend* attn_open_backend(int index);

namespace attn::test {
namespace {

using simt::machine;

const EncoderSize kTiny{.B = 1, .T = 3, .D = 8, .N = 2, .H = 4, .F = 8, .L = 1};

/// Runs `body` in a separate process and returns its result: a lost GPU stays lost.
std::string in_another_process(const std::function<std::string()>& body) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const std::string text = body();
    const bool written = write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size());
    _exit(written ? 0 : 1);
  }
  close(ends[1]);
  std::string text;
  char part[512];
  for (ssize_t count = 0; (count = read(ends[0], part, sizeof(part))) > 0;)
    text.append(part, static_cast<std::size_t>(count));
  close(ends[0]);
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  return text;
}

/// Returns the error, if any, and the calls that would have waited for the GPU afterwards.
std::string told(const std::function<void()>& body) {
  std::string text = "no error";
  try {
    body();
  } catch (const Error& error) {
    text = fmt::format("exit {}: {}", static_cast<int>(error.code()), error.what());
  }
  return fmt::format("{}; {} calls blocked", text, machine().blocked_calls);
}

std::unique_ptr<backends::Executable> compile(const backends::Backend& backend, const graph::Graph& graph) {
  return backend.compile(plan::make_plan(backend.optimize(graph)), draw_weights(graph), {});
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("cuda: a kernel that does not end is named with its layer, and no call waits for it") {
  const graph::Graph graph = encoder(kTiny);
  // Everything that compilation submits, one item after the other: copies, launches, and work in between.
  const std::unique_ptr<backends::Backend> backend(attn_open_backend(0));
  const std::int64_t before = machine().submitted;
  (void)compile(*backend, graph);
  const std::int64_t pieces = machine().submitted - before;
  REQUIRE(pieces > 7);
  int named = 0;
  for (std::int64_t piece = 1; piece <= pieces; ++piece) {
    const std::string text = in_another_process([&] {
      cuda::time_limits() = {.seconds = 0.01, .flops_per_second = 1e10};
      machine().hang_at = machine().submitted + piece;
      return told([&] { (void)compile(*backend, graph); });
    });
    CAPTURE(text);
    CHECK(has(text, "exit 5: cuda: "));
    CHECK(has(text, "not finished after 0.01 s"));
    CHECK(has(text, "; 0 calls blocked"));
    named += has(text, "running layer '") || has(text, "running attention (") || has(text, "running linear (") ? 1 : 0;
  }
  CHECK(named >= 7);
}

TEST_CASE("cuda: a recorded pass that does not end is an error, and a profile names the step") {
  const graph::Graph graph = encoder(kTiny);
  const auto inputs = draw_inputs(graph);
  const std::unique_ptr<backends::Backend> backend(attn_open_backend(0));
  const auto run = [&](bool profiled) {
    return in_another_process([&] {
      cuda::time_limits() = {.seconds = 0.01, .flops_per_second = 1e10};
      const auto watched = compile(*backend, graph);  // its limits are set at compilation
      machine().hang_at = machine().submitted + (profiled ? 6 : 2);
      return told(
          [&] { profiled ? watched->run_profiled(inputs, [](graph::NodeId, double) {}) : watched->run(inputs); });
    });
  };
  const std::string pass = run(false), profile = run(true);
  CHECK_MESSAGE(has(pass, "exit 5: cuda: running the pass, whose steps a profile would run one by one"), pass);
  CHECK_MESSAGE(has(pass, "; 0 calls blocked"), pass);
  CHECK_MESSAGE(has(profile, "exit 5: cuda: running "), profile);
  CHECK_MESSAGE(!has(profile, "running the pass"), profile);
  CHECK_MESSAGE(has(profile, "; 0 calls blocked"), profile);
}

TEST_CASE("cuda: the time limit is a minute, plus time in proportion to the FLOPs") {
  CHECK(cuda::TimeLimits{}.seconds_for(0) == 60);
  CHECK(cuda::TimeLimits{}.seconds_for(1e12) == 160);
}

}  // namespace attn::test
