#include "program.h"

#include <fcntl.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "../places.h"

namespace attn::test {

std::string read_text(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string fixture(const std::string& name) { return in_repository("tests/data/keras/") + name; }

Result run_attn(const std::vector<std::string>& arguments, const std::string& input) {
  return run_program(attn_program(), arguments, input);
}

Result run_program(const std::string& program, const std::vector<std::string>& arguments, const std::string& input) {
  const TemporaryFolder folder;
  const std::string in = folder.file("in", input), out = folder / "out", err = folder / "err";
  const pid_t child = fork();
  if (child == 0) {
    const int write_flags = O_WRONLY | O_CREAT | O_TRUNC;
    dup2(open(in.c_str(), O_RDONLY), STDIN_FILENO);
    dup2(open(out.c_str(), write_flags, 0600), STDOUT_FILENO);
    dup2(open(err.c_str(), write_flags, 0600), STDERR_FILENO);
    if (chdir(in_repository("").c_str()) != 0) _exit(126);
    std::vector<char*> words = {const_cast<char*>(program.c_str())};
    for (const std::string& word : arguments) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    execv(program.c_str(), words.data());
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  Result result;
  result.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  result.out = read_text(out);
  result.err = read_text(err);
  return result;
}

Result run_on_terminal(const std::vector<std::string>& arguments, int columns) {
  winsize size{};
  size.ws_col = static_cast<unsigned short>(columns);
  size.ws_row = 24;
  int terminal = -1;
  const std::string program = attn_program();
  const pid_t child = forkpty(&terminal, nullptr, nullptr, &size);
  if (child == 0) {
    if (chdir(in_repository("").c_str()) != 0) _exit(126);
    std::vector<char*> words = {const_cast<char*>(program.c_str())};
    for (const std::string& word : arguments) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    execv(program.c_str(), words.data());
    _exit(127);
  }
  Result result;
  std::array<char, 4096> buffer{};
  // If the other end of a terminal is closed, read() fails instead of returning 0.
  for (ssize_t got = 0; (got = read(terminal, buffer.data(), buffer.size())) > 0;)
    result.out.append(buffer.data(), static_cast<std::size_t>(got));
  close(terminal);
  int status = 0;
  waitpid(child, &status, 0);
  result.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

Environment::Environment(Variables variables) : variables_(std::move(variables)) {
  for (const auto& [name, value] : variables_) setenv(name.c_str(), value.c_str(), 1);
}

Environment::~Environment() {
  for (const auto& [name, value] : variables_) unsetenv(name.c_str());
}

}  // namespace attn::test
