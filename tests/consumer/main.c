/* Does in C what main.cc does in C++: opens a model, shows it, runs it on two backends, and meets an error; with a
 * second argument, also continues a text. */
#include <attn/attn_c.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures = 0;

static void expect(int condition, const char* what) {
  if (condition) return;
  fprintf(stderr, "consumer in C: %s: %s\n", what, attn_last_error());
  ++failures;
}

static size_t elements(const attn_tensor* array) {
  size_t count = 1;
  for (size_t i = 0; i < array->rank; ++i) count *= (size_t)array->shape[i];
  return count;
}

static void run(const attn_model* model) {
  attn_run_options options = {0};
  options.backend = "reference";
  options.scores = 1;
  attn_runner* slow = NULL;
  attn_runner* fast = NULL;
  expect(attn_prepare(model, &options, &slow) == ATTN_OK, "the reference backend is prepared");
  expect(attn_prepare(model, NULL, &fast) == ATTN_OK, "the default backend is prepared");

  attn_tensors inputs, expected, got, scores;
  expect(attn_inputs(fast, &inputs) == ATTN_OK && inputs.count == 1, "the model has one input");
  const size_t count = elements(inputs.items);
  float* numbers = malloc(count * sizeof *numbers);
  if (numbers == NULL || inputs.items->dtype != ATTN_FLOAT32) exit(2);
  for (size_t i = 0; i < count; ++i) numbers[i] = (float)(i % 7);
  const attn_tensor input = {inputs.items->name, ATTN_FLOAT32, inputs.items->rank, inputs.items->shape, numbers};
  expect(attn_run(slow, &input, 1, &expected) == ATTN_OK, "a pass of the reference backend");
  expect(attn_run(fast, &input, 1, &got) == ATTN_OK && got.count == expected.count, "a pass gives outputs");
  const float* a = expected.items->data;
  const float* b = got.items->data;
  for (size_t i = 0; i < elements(got.items); ++i) expect(fabsf(a[i] - b[i]) <= 1e-4F, "both backends agree");
  expect(attn_scores(slow, &scores) == ATTN_OK && scores.count > 0 && scores.items->rank == 4, "a layer has scores");

  const attn_tensor wrong = {"no such input", ATTN_FLOAT32, 0, NULL, numbers};
  expect(attn_run(fast, &wrong, 1, &got) == ATTN_BAD_INPUT && strstr(attn_last_error(), "no such input"),
         "an unknown input is refused by its name");
  free(numbers);
  attn_free_runner(slow);
  attn_free_runner(fast);
}

static void generate(const char* path) {
  attn_model* model = NULL;
  attn_generator* generator = NULL;
  expect(attn_open(path, &model) == ATTN_OK, "a preset opens");
  expect(attn_prepare_generator(model, NULL, &generator) == ATTN_OK, "a decoder is prepared");
  attn_generate_options options = {0};
  options.sampler = "greedy";
  options.max_new_tokens = 4;
  const char* text = NULL;
  expect(attn_generate(generator, "The model", &options, &text) == ATTN_OK, "a text is continued");
  expect(text != NULL && strncmp(text, "The model", 9) == 0 && strlen(text) > 9, "the text begins with the prompt");
  options.temperature = -1;
  options.sampler = "random";
  expect(attn_generate(generator, "The model", &options, &text) == ATTN_USAGE, "a negative temperature is refused");
  attn_free_generator(generator);
  attn_close(model);
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  attn_model* model = NULL;
  expect(attn_open(argv[1], &model) == ATTN_OK, "a model opens");
  const char* summary = attn_summary(model, 100);
  expect(summary != NULL && strncmp(summary, "Model: ", 7) == 0, "a summary begins with the model's name");
  run(model);
  attn_close(model);

  expect(attn_open("no such file", &model) == ATTN_BAD_INPUT && strstr(attn_last_error(), "no such file"),
         "a missing file is named");
  expect(attn_open(NULL, &model) == ATTN_USAGE, "NULL is refused");
  expect(attn_prepare(NULL, NULL, NULL) == ATTN_USAGE, "NULL for a result is refused");
  expect(attn_summary(NULL, 100) == NULL, "NULL for a model is refused");
  attn_close(NULL);
  if (argc > 2) generate(argv[2]);
  return failures == 0 ? 0 : 1;
}
