/* SPDX-License-Identifier: MIT
 *
 * Speaks one line into a WAV file: the whole C API that a host needs for it.
 *
 *   speak MODEL TEXT OUT.wav      MODEL: a Piper .onnx, a Hugging Face VITS folder, or tone:
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <timbre/timbre.h>

/* A mono 16-bit WAV header; WAV is little endian. */
static int write_header(FILE *file, uint32_t rate_hz, uint32_t samples) {
  const uint32_t words[11] = {0x46464952, 36 + 2 * samples, 0x45564157, 0x20746d66, 16,         0x00010001,
                              rate_hz,    2 * rate_hz,      0x00100002, 0x61746164, 2 * samples};
  unsigned char bytes[44];
  int i;
  for (i = 0; i < 44; ++i) bytes[i] = (unsigned char)(words[i / 4] >> (8 * (i % 4)));
  return fseek(file, 0, SEEK_SET) == 0 && fwrite(bytes, 1, sizeof bytes, file) == sizeof bytes;
}

static int write_samples(FILE *file, const float *samples, uint64_t count) {
  uint64_t i;
  for (i = 0; i < count; ++i) {
    const int value = (int)(samples[i] * 32767.0f);
    if (fputc(value & 0xff, file) == EOF || fputc((value >> 8) & 0xff, file) == EOF) return 0;
  }
  return 1;
}

/* Pulls the utterance to its end. A game would ask for a few milliseconds at a time, with timbre_speech_try_read. */
static timbre_status pull(timbre_speech *speech, FILE *file) {
  float chunk[2048];
  uint64_t count = 0;
  uint32_t total = 0;
  timbre_status status = TIMBRE_OK;
  timbre_speech_details details;
  memset(&details, 0, sizeof details);
  details.struct_size = sizeof details;
  if (!write_header(file, 0, 0)) return TIMBRE_ERR_IO;
  while ((status = timbre_speech_read(speech, chunk, 2048, &count)) == TIMBRE_OK) {
    if (!write_samples(file, chunk, count)) return TIMBRE_ERR_IO;
    total += (uint32_t)count;
  }
  if (status == TIMBRE_DONE) status = timbre_speech_info(speech, &details);
  if (status == TIMBRE_OK && !write_header(file, details.sample_rate_hz, total)) status = TIMBRE_ERR_IO;
  return status;
}

static timbre_status speak(timbre_engine *engine, const char *path, const char *text, FILE *file) {
  timbre_model_file part;
  timbre_model *model = NULL;
  timbre_speech_request request;
  timbre_speech *speech = NULL;
  timbre_status status;

  memset(&part, 0, sizeof part);
  part.struct_size = sizeof part;
  part.path = path;
  status = timbre_model_load(engine, &part, 1, sizeof part, NULL, &model);
  if (status != TIMBRE_OK) return status;

  timbre_speech_request_init(&request, sizeof request);
  request.text = text;
  request.text_bytes = strlen(text);
  status = timbre_speech_open(model, &request, &speech);
  if (status == TIMBRE_OK) status = pull(speech, file);
  timbre_speech_close(speech); /* NULL is fine */
  timbre_model_release(model);
  return status;
}

int main(int argc, char **argv) {
  timbre_engine *engine = NULL;
  timbre_status status;
  FILE *file;
  if (argc != 4) return fprintf(stderr, "usage: speak MODEL TEXT OUT.wav\n"), 2;
  file = fopen(argv[3], "wb");
  if (file == NULL) return perror(argv[3]), 1;
  status = timbre_engine_create(NULL, &engine);
  if (status == TIMBRE_OK) status = speak(engine, argv[1], argv[2], file);
  if (status != TIMBRE_OK) fprintf(stderr, "speak: %s: %s\n", timbre_status_name(status), timbre_last_error());
  timbre_engine_destroy(engine);
  if (fclose(file) != 0) return perror(argv[3]), 1;
  return status == TIMBRE_OK ? 0 : 1;
}
