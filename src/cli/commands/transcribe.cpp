#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "arguments/shared_options.h"
#include "attn/base/error.h"
#include "attn/io/atomic_file.h"
#include "attn/io/audio.h"
#include "attn/open/execution.h"
#include "attn/open/session.h"
#include "attn/open/tokenizer.h"
#include "attn/report/transcript_view.h"
#include "attn/transcribe/transcriber.h"
#include "options/command.h"
#include "output/common.h"
#include "output/progress.h"

namespace attn::cli {
namespace {

struct TranscribeCommand {
  Common common;
  open::Execution execution;
  std::string model;
  std::vector<std::string> files;
  std::optional<std::string> srt;
  std::string task = "transcribe";
  transcribe::TranscribeOptions words;

  void declare(Options& options) {
    add_common(options, common, {Format::text, Format::json, Format::html});
    options.add("model", model, "MODEL", "preset folder or .keras of Whisper or Moonshine, or Hugging Face folder")
        .required();
    options.add("files", files, "FILE", "WAV or FLAC files").required();
    options.group(OptionGroup::input);
    options.add("--language", words.language, "LANG",
                "spoken language, as a code or in English: fr, French (default detected)");
    options.add("--task", task, "TASK", "transcribe, or translate into English (default transcribe)")
        .one_of({"transcribe", "translate"});
    options.flag("--timestamps", words.timestamps, "let the model divide the text into segments with times");
    options.flag("--words", words.words, "give the times of words; implies --timestamps");
    options.add("--num-beams", words.num_beams, "N", "number of beams of a beam search (default 1, greedy)")
        .above_zero();
    options.add("-n,--max-new-tokens", words.max_new_tokens, "N", "maximum number of tokens for each window of sound")
        .above_zero();
    options.group(OptionGroup::result);
    options.output("--srt", srt, "FILE",
                   "write the segments of one FILE, or its words, as subtitles; implies --timestamps");
    add_device(options, execution.device);
    add_backend(options, execution.backend);
    add_dtype_of_weights(options, execution.dtype);
    add_threads(options, execution.threads);
    add_weights(options, execution.weights);
    add_matmul_precision(options, execution.precision);
    add_memory_limit(options, execution.memory_limit);
  }

  int run() {
    if (srt && files.size() != 1) throw bad_usage("--srt requires a single FILE, got {}", files.size());
    words.translate = task == "translate";
    const auto backend = open::open_backend(execution.device, execution.backend, common.console);
    const open::LoadedModel loaded = open::load_model(std::optional(model), execution, common.console);
    if ((srt || words.words) && loaded.model.class_name() == "WhisperBackbone") words.timestamps = true;
    const auto tokenizer = open::open_tokenizer_of(model, loaded);
    const auto transcriber =
        transcribe::Transcriber::open(*backend, loaded, *tokenizer, execution, words, common.console);
    report::TranscriptReport report{model,
                                    loaded.model.class_name(),
                                    tokenizer->class_name(),
                                    open::weights_origin(loaded, execution),
                                    files,
                                    {},
                                    words.translate,
                                    words.timestamps,
                                    words.words};
    Progress progress(common.console, "transcribing", static_cast<double>(files.size()));
    std::exception_ptr failure;  // is reported after the transcripts of the files before it
    try {
      for (const std::string& file : files) {
        report.transcripts.push_back(transcriber->transcribe(io::read_audio(file), file));
        progress.advance(1);
      }
    } catch (const Error&) {
      if (report.transcripts.empty()) throw;
      failure = std::current_exception();
    }
    if (srt) write_result(report::subtitles(report.transcripts.front()), srt);
    if (srt != "-") common.write(report::render(common.form(), report), Formatting::model_text);
    if (failure) std::rethrow_exception(failure);
    return static_cast<int>(ExitCode::done);
  }
};

}  // namespace

Command transcribe_command() {
  return command_of<TranscribeCommand>("transcribe", "convert speech in WAV and FLAC files to text");
}

}  // namespace attn::cli
