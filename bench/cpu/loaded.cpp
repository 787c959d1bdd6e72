// attn's library in a process that stays loaded and runs passes on request, as worker.py does.
//
// Usage: attn-loaded MODEL WEIGHTS DTYPE THREADS INPUT OUTPUT
//
// WEIGHTS is a file, or "-" for the model's own. DTYPE is the compute dtype, or "-". INPUT is a float32 array (.npy)
// for the model's single input. OUTPUT is a file for the concatenated outputs. Prints a line of JSON when it is ready.
// For each line SECONDS that it reads, it runs passes for that long and prints their milliseconds. At the end it prints
// its peak memory.
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "attn/attn.h"

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// Reads the numbers of a float32 .npy file into a tensor of the same size.
void read_numbers(const std::string& path, attn::Tensor& to) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const auto bytes = static_cast<std::size_t>(to.bytes());
  if (text.size() < bytes || to.dtype() != attn::DType::float32)
    throw attn::bad_input("{}: expected {} numbers of float32", path, to.size());
  std::memcpy(to.data(), text.data() + text.size() - bytes, bytes);
}

void print(const std::vector<double>& milliseconds) {
  std::cout << "{\"ms\": [";
  for (std::size_t i = 0; i < milliseconds.size(); ++i) std::cout << (i == 0 ? "" : ", ") << milliseconds[i];
  std::cout << "]}" << std::endl;
}

void serve(const std::vector<std::string>& words) {
  attn::RunOptions options;
  if (words[1] != "-") options.weights = words[1];
  if (words[2] != "-") options.dtype = words[2];
  options.threads = std::stoi(words[3]);
  // The input's first axis is the batch; the model defines the others.
  attn::Runner once = attn::Model::open(words[0]).prepare(options);
  attn::NamedTensor input = once.inputs().front();
  std::ifstream file(words[4], std::ios::binary | std::ios::ate);
  const auto size = static_cast<std::int64_t>(file.tellg());
  options.batch = std::max<std::int64_t>(size / input.tensor.bytes(), 1);
  attn::Runner runner = *options.batch == 1 ? std::move(once) : attn::Model::open(words[0]).prepare(options);
  input = runner.inputs().front();
  read_numbers(words[4], input.tensor);
  const std::map<std::string, attn::Tensor> inputs{{input.name, input.tensor}};

  std::ofstream out(words[5], std::ios::binary);
  std::cout << "{\"ready\": true, \"shapes\": [";
  const std::vector<attn::NamedTensor> outputs = runner.run(inputs);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const attn::Tensor numbers = outputs[i].tensor.cast(attn::DType::float32);
    out.write(reinterpret_cast<const char*>(numbers.data()), static_cast<std::streamsize>(numbers.bytes()));
    std::cout << (i == 0 ? "[" : ", [");
    for (int axis = 0; axis < numbers.shape().rank(); ++axis)
      std::cout << (axis == 0 ? "" : ", ") << numbers.shape()[axis];
    std::cout << "]";
  }
  out.close();
  std::cout << "]}" << std::endl;

  for (std::string line; std::getline(std::cin, line);) {
    const double wanted = std::stod(line);
    std::vector<double> taken;
    for (const auto start = Clock::now(); taken.empty() || seconds_since(start) < wanted;) {
      const auto before = Clock::now();
      (void)runner.run(inputs);
      taken.push_back(1e3 * seconds_since(before));
    }
    print(taken);
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::cout << "{\"peak_bytes\": " << 1024 * usage.ru_maxrss << "}" << std::endl;
}

}  // namespace

int main(int count, char** words) {
  constexpr int kWords = 7;
  if (count != kWords) {
    std::cerr << "usage: attn-loaded MODEL WEIGHTS DTYPE THREADS INPUT OUTPUT\n";
    return 2;
  }
  try {
    serve({words + 1, words + count});
  } catch (const attn::Error& error) {
    std::cerr << "attn-loaded: " << error.what() << "\n";
    return static_cast<int>(error.code());
  }
  return 0;
}
