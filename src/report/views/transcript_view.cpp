#include "attn/report/transcript_view.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <utility>

#include "attn/base/text.h"
#include "attn/report/json.h"

namespace attn::report {
namespace {

/// Returns "00:01:02,345", with the separator before the milliseconds.
std::string clock_time(double seconds, char separator) {
  const std::int64_t all = std::llround(seconds * 1000.0);
  return fmt::format("{:02}:{:02}:{:02}{}{:03}", all / 3'600'000, all / 60'000 % 60, all / 1000 % 60, separator,
                     all % 1000);
}

/// Returns the text without white space at its ends, in one line.
std::string line_of(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const bool space = c == ' ' || c == '\n' || c == '\r' || c == '\t';
    if (space && (out.empty() || out.back() == ' ')) continue;
    out += space ? ' ' : c;
  }
  while (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

std::string text_of(const TranscriptReport& report) {
  std::string out;
  for (std::size_t i = 0; i < report.transcripts.size(); ++i) {
    if (report.transcripts.size() > 1) out += fmt::format("{}{}:\n", i == 0 ? "" : "\n", report.files[i]);
    if (!report.has_times) {
      out += line_of(report.transcripts[i].text) + "\n";
      continue;
    }
    for (const transcribe::Segment& segment : report.transcripts[i].segments)
      out += fmt::format("[{} --> {}] {}\n", clock_time(segment.start, '.'), clock_time(segment.end, '.'),
                         line_of(segment.text));
  }
  return out;
}

Json json_of(const transcribe::Transcript& transcript) {
  Json segments = Json::array();
  for (const transcribe::Segment& segment : transcript.segments)
    segments.push_back({{"start", segment.start},
                        {"end", segment.end},
                        {"text", json_text(segment.text)},
                        {"token_ids", segment.tokens}});
  return {{"seconds", transcript.seconds},
          {"language", transcript.language ? json_text(*transcript.language) : Json()},
          {"language_is_detected", transcript.detected},
          {"text", json_text(transcript.text)},
          {"segments", std::move(segments)}};
}

std::string document(const TranscriptReport& report) {
  Json root;
  root["schema"] = "attn.transcribe/1";
  root["model"] = {{"path", json_text(report.path)},
                   {"weights", json_text(report.weights)},
                   {"class_name", json_text(report.class_name)},
                   {"tokenizer", json_text(report.tokenizer)}};
  root["task"] = report.translated ? "translate" : "transcribe";
  Json results = Json::array();
  for (std::size_t i = 0; i < report.transcripts.size(); ++i) {
    Json result{{"file", json_text(report.files[i])}};
    result.update(json_of(report.transcripts[i]));
    results.push_back(std::move(result));
  }
  root["results"] = std::move(results);
  return json_document(root);
}

}  // namespace

std::string subtitles(const transcribe::Transcript& transcript) {
  std::string out;
  int number = 0;
  for (const transcribe::Segment& segment : transcript.segments) {
    const std::string text = line_of(segment.text);
    if (text.empty()) continue;
    out += fmt::format("{}{}\n{} --> {}\n{}\n", number == 0 ? "" : "\n", number + 1, clock_time(segment.start, ','),
                       clock_time(segment.end, ','), text);
    ++number;
  }
  return out;
}

std::string render(Format format, const TranscriptReport& report) {
  switch (format) {
    case Format::text:
      return text_of(report);
    case Format::json:
      return document(report);
    default:
      refuse(format);
  }
}

}  // namespace attn::report
