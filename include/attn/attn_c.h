/* attn for programs in C, and for other languages that call C: opens a Keras model, shows it, runs it, and generates
 * text. The functions wrap those of attn/attn.h, which has more.
 *
 *     attn_model* model = NULL;
 *     if (attn_open("model.keras", &model) != ATTN_OK) { fputs(attn_last_error(), stderr); return 1; }
 *     puts(attn_summary(model, 100));
 *     attn_close(model);
 *
 * A function that can fail returns an attn_status. After a failure attn_last_error() has the message: one sentence
 * with the file, the place and a way out. A result that a function passes through a pointer is set only if it
 * succeeds. Null for an object is an ATTN_USAGE error; the functions that free an object ignore null.
 *
 * Texts are UTF-8 and end in a zero byte. Arrays are dense and row-major. Different objects may be used by different
 * threads at the same time; one object is for one thread at a time. */
#ifndef ATTN_ATTN_C_H
#define ATTN_ATTN_C_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The exit codes of the program. */
typedef enum attn_status {
  ATTN_OK = 0,
  ATTN_USAGE = 2,     /* an argument is wrong */
  ATTN_BAD_INPUT = 3, /* a file or config is wrong */
  ATTN_NO_MEMORY = 4, /* it does not fit in memory */
  ATTN_NO_DEVICE = 5, /* the device is absent or failed */
  ATTN_INTERNAL = 70  /* an error in attn */
} attn_status;

typedef enum attn_dtype {
  ATTN_FLOAT64,
  ATTN_FLOAT32,
  ATTN_FLOAT16,
  ATTN_BFLOAT16,
  ATTN_INT64,
  ATTN_INT32,
  ATTN_INT16,
  ATTN_INT8,
  ATTN_UINT64,
  ATTN_UINT32,
  ATTN_UINT16,
  ATTN_UINT8,
  ATTN_BOOL /* one byte: 0 or 1 */
} attn_dtype;

/* An array with a name. `data` has the product of `shape` elements. */
typedef struct attn_tensor {
  const char* name;
  attn_dtype dtype;
  size_t rank;
  const int64_t* shape;
  const void* data;
} attn_tensor;

/* Arrays that an object owns: valid until the next call that returns arrays of the same object, or until it is freed.
 */
typedef struct attn_tensors {
  const attn_tensor* items;
  size_t count;
} attn_tensors;

/* Zeros stand for the defaults: `attn_run_options options = {0};`. */
typedef struct attn_run_options {
  const char* device;  /* cpu (default), cuda, cuda:N, or auto */
  const char* backend; /* reference, onednn or cuda; default: the fastest of the device */
  const char* dtype;   /* float32, bfloat16, float16 or float64; or int8, int4 or int4:BLOCK to quantize the weights;
                          default: the model's policy */
  const char* weights; /* a file; default: the model's own, or drawn from the seed */
  int64_t batch;       /* size of an unknown batch axis (default 1) */
  int64_t sequence_length; /* size of other unknown axes (default 128) */
  uint64_t seed;           /* seed of drawn weights and inputs */
  int threads;             /* 0: all cores */
  int scores;              /* not 0: keep the attention scores of every attention layer */
} attn_run_options;

/* Zeros stand for the defaults. */
typedef struct attn_generate_options {
  const char* sampler;    /* greedy, random, top_k, top_p, beam or contrastive; default: greedy for Gemma, else top_k */
  double temperature;     /* default 1 */
  double top_p;           /* nucleus probability of top_p (default 0.1) */
  double alpha;           /* degeneration penalty of contrastive (default 0.6) */
  int64_t top_k;          /* candidates of top_k (default 5), top_p and contrastive */
  int64_t beams;          /* for beam (default 5) */
  int64_t max_new_tokens; /* default: up to max_length */
  int64_t max_length;     /* tokens of a sequence, the prompt included (default: the preprocessor's) */
  int64_t seed;           /* used if has_seed is not 0; otherwise the seed is random */
  int has_seed;
  int strip_prompt; /* not 0: return the text without the prompt */
} attn_generate_options;

typedef struct attn_model attn_model;         /* a model */
typedef struct attn_runner attn_runner;       /* a model with weights, compiled for one set of shapes */
typedef struct attn_generator attn_generator; /* a decoder that continues texts */

/* Returns the message of the last failure in this thread, or "". Valid until the next failure in this thread. */
const char* attn_last_error(void);
/* Returns the version of the library: "0.2.0". */
const char* attn_version(void);

/* Opens Keras JSON, a .keras archive, a whole-model .h5, a preset folder, a Hugging Face folder or a short encoder
 * config. */
attn_status attn_open(const char* path, attn_model** model);
void attn_close(attn_model* model);
/* Returns the text of Keras's model.summary(line_length), valid until the next call for the model; NULL after a
 * failure. With a line_length of 0 no name is truncated. */
const char* attn_summary(attn_model* model, int line_length);

/* Reads or draws the weights and compiles the model. The runner does not need the model any more. `options` may be
 * NULL. */
attn_status attn_prepare(const attn_model* model, const attn_run_options* options, attn_runner** runner);
void attn_free_runner(attn_runner* runner);
/* Returns the inputs that a pass takes, filled with zeros. */
attn_status attn_inputs(attn_runner* runner, attn_tensors* inputs);
/* Runs a forward pass. A missing input is filled with random numbers from the seed; an array has the dtype and the
 * shape that attn_inputs gives. The arrays are read during the call only. */
attn_status attn_run(attn_runner* runner, const attn_tensor* inputs, size_t count, attn_tensors* outputs);
/* Returns the attention scores of the last pass by layer, if attn_run_options.scores was set: (batch, heads, queries,
 * keys). */
attn_status attn_scores(attn_runner* runner, attn_tensors* scores);

/* Prepares the generation of text. Fails with ATTN_BAD_INPUT for a model that is not a decoder. `options` may be NULL;
 * its sizes and scores have no effect. */
attn_status attn_prepare_generator(const attn_model* model, const attn_run_options* options,
                                   attn_generator** generator);
void attn_free_generator(attn_generator* generator);
/* Continues a text. `text` is valid until the next call for the generator. `options` may be NULL. */
attn_status attn_generate(attn_generator* generator, const char* prompt, const attn_generate_options* options,
                          const char** text);

#ifdef __cplusplus
}
#endif

#endif
