#include "attn/attn_c.h"

#include <cstring>
#include <exception>
#include <new>
#include <utility>
#include <vector>

#include "attn/attn.h"

namespace {

using attn::DType;

// The enumerations of both headers have the same order.
static_assert(static_cast<int>(DType::float64) == ATTN_FLOAT64 && static_cast<int>(DType::bfloat16) == ATTN_BFLOAT16 &&
              static_cast<int>(DType::int64) == ATTN_INT64 && static_cast<int>(DType::uint64) == ATTN_UINT64 &&
              static_cast<int>(DType::boolean) == ATTN_BOOL);
constexpr std::size_t kMostDims = 64;  // more than any array has: a larger rank is a mistake of the caller

thread_local std::string last_error;

/// Calls `work`, and turns what it throws into a status and a message.
template <typename Work>
attn_status guarded(Work&& work) noexcept {
  try {
    std::forward<Work>(work)();
    return ATTN_OK;
  } catch (const attn::Error& error) {
    last_error = error.what();
    return static_cast<attn_status>(error.code());
  } catch (const std::bad_alloc&) {
    last_error = "out of memory";
    return ATTN_NO_MEMORY;
  } catch (const std::exception& error) {
    last_error = std::string("internal error: ") + error.what();
    return ATTN_INTERNAL;
  }
}

template <typename Object>
Object& checked(Object* object, const char* what) {
  if (object == nullptr) throw attn::bad_usage("the {} is NULL", what);
  return *object;
}

std::string text_of(const char* text, const char* what) { return &checked(text, what); }

std::optional<std::int64_t> size_of(std::int64_t size, const char* what) {
  if (size < 0) throw attn::bad_usage("{} is {}: expected a number above 0, or 0 for the default", what, size);
  return size == 0 ? std::nullopt : std::optional(size);
}

attn::RunOptions options_of(const attn_run_options* given) {
  attn::RunOptions out;
  if (given == nullptr) return out;
  if (given->device != nullptr) out.device = given->device;
  if (given->backend != nullptr) out.backend = given->backend;
  if (given->dtype != nullptr) out.dtype = given->dtype;
  if (given->weights != nullptr) out.weights = given->weights;
  out.batch = size_of(given->batch, "batch");
  out.sequence_length = size_of(given->sequence_length, "sequence_length");
  out.seed = given->seed;
  if (given->threads < 0) throw attn::bad_usage("threads is {}: expected 0 or more", given->threads);
  out.threads = given->threads;
  out.scores = given->scores != 0;
  return out;
}

attn::GenerateOptions options_of(const attn_generate_options* given) {
  attn::GenerateOptions out;
  if (given == nullptr) return out;
  if (given->sampler != nullptr) out.sampler = given->sampler;
  if (given->temperature != 0.0) out.temperature = given->temperature;
  if (given->top_p != 0.0) out.top_p = given->top_p;
  if (given->alpha != 0.0) out.alpha = given->alpha;
  out.top_k = size_of(given->top_k, "top_k");
  out.beams = size_of(given->beams, "beams").value_or(out.beams);
  out.max_new_tokens = size_of(given->max_new_tokens, "max_new_tokens");
  out.max_length = size_of(given->max_length, "max_length");
  if (given->has_seed != 0) out.seed = given->seed;
  out.strip_prompt = given->strip_prompt != 0;
  return out;
}

attn::Tensor tensor_of(const attn_tensor& given) {
  const auto dtype = static_cast<std::int64_t>(given.dtype);
  if (dtype < 0 || dtype > ATTN_BOOL) throw attn::bad_usage("the dtype {} is not known", dtype);
  if (given.rank > kMostDims) throw attn::bad_usage("an array has the rank {}", given.rank);
  attn::Shape shape;
  for (std::size_t i = 0; i < given.rank; ++i) {
    const std::int64_t size = (&checked(given.shape, "shape of an array"))[i];
    if (size < 0) throw attn::bad_usage("a shape has the size {}", size);
    shape.push_back(size);
  }
  const attn::Tensor out(static_cast<DType>(dtype), shape);
  if (out.bytes() > 0)
    std::memcpy(out.data(), &checked(static_cast<const std::byte*>(given.data), "data of an array"),
                static_cast<std::size_t>(out.bytes()));
  return out;
}

/// Arrays with the structs that describe them to C.
class Arrays {
 public:
  attn_tensors hold(std::vector<attn::NamedTensor> arrays) {
    arrays_ = std::move(arrays);
    items_.clear();
    for (const attn::NamedTensor& array : arrays_) {
      const std::vector<std::int64_t>& shape = array.tensor.shape().dims();
      items_.push_back({array.name.c_str(), static_cast<attn_dtype>(array.tensor.dtype()), shape.size(), shape.data(),
                        array.tensor.data()});
    }
    return {items_.data(), items_.size()};
  }

 private:
  std::vector<attn::NamedTensor> arrays_;
  std::vector<attn_tensor> items_;
};

}  // namespace

struct attn_model {
  attn::Model model;
  std::string text;
};

struct attn_runner {
  attn::Runner runner;
  Arrays arrays;
};

struct attn_generator {
  attn::Generator generator;
  std::string text;
};

extern "C" {

const char* attn_last_error(void) { return last_error.c_str(); }

const char* attn_version(void) { return ATTN_VERSION; }

attn_status attn_open(const char* path, attn_model** model) {
  return guarded([&] {
    checked(model, "result");
    *model = new attn_model{attn::Model::open(text_of(path, "path")), {}};
  });
}

void attn_close(attn_model* model) { delete model; }

const char* attn_summary(attn_model* model, int line_length) {
  const char* out = nullptr;
  guarded([&] {
    attn_model& opened = checked(model, "model");
    if (line_length < 0) throw attn::bad_usage("line_length is {}: expected 0 or more", line_length);
    opened.text = opened.model.summary(line_length == 0 ? std::nullopt : std::optional(line_length));
    out = opened.text.c_str();
  });
  return out;
}

attn_status attn_prepare(const attn_model* model, const attn_run_options* options, attn_runner** runner) {
  return guarded([&] {
    checked(runner, "result");
    *runner = new attn_runner{checked(model, "model").model.prepare(options_of(options)), {}};
  });
}

void attn_free_runner(attn_runner* runner) { delete runner; }

attn_status attn_inputs(attn_runner* runner, attn_tensors* inputs) {
  return guarded([&] {
    attn_runner& prepared = checked(runner, "runner");
    checked(inputs, "result") = prepared.arrays.hold(prepared.runner.inputs());
  });
}

attn_status attn_run(attn_runner* runner, const attn_tensor* inputs, size_t count, attn_tensors* outputs) {
  return guarded([&] {
    attn_runner& prepared = checked(runner, "runner");
    checked(outputs, "result");
    std::map<std::string, attn::Tensor> given;
    for (std::size_t i = 0; i < count; ++i) {
      const attn_tensor& input = (&checked(inputs, "list of inputs"))[i];
      given.insert_or_assign(text_of(input.name, "name of an array"), tensor_of(input));
    }
    *outputs = prepared.arrays.hold(prepared.runner.run(given));
  });
}

attn_status attn_scores(attn_runner* runner, attn_tensors* scores) {
  return guarded([&] {
    attn_runner& prepared = checked(runner, "runner");
    checked(scores, "result") = prepared.arrays.hold(prepared.runner.scores());
  });
}

attn_status attn_prepare_generator(const attn_model* model, const attn_run_options* options,
                                   attn_generator** generator) {
  return guarded([&] {
    checked(generator, "result");
    *generator = new attn_generator{checked(model, "model").model.generator(options_of(options)), {}};
  });
}

void attn_free_generator(attn_generator* generator) { delete generator; }

attn_status attn_generate(attn_generator* generator, const char* prompt, const attn_generate_options* options,
                          const char** text) {
  return guarded([&] {
    attn_generator& prepared = checked(generator, "generator");
    checked(text, "result");
    prepared.text = prepared.generator.generate({text_of(prompt, "prompt")}, options_of(options)).at(0);
    *text = prepared.text.c_str();
  });
}

}  // extern "C"
