/* SPDX-License-Identifier: MIT
 *
 * A host that links timbre: speaks token ids with a model and prints how many samples came and how loud they are.
 *
 * usage: consumer MODEL ID...
 */
#include <stdio.h>
#include <stdlib.h>
#include <timbre/timbre.h>

static int failed(const char *what) {
  fprintf(stderr, "%s: %s\n", what, timbre_last_error());
  return 1;
}

static int speak(timbre_model *model, const int32_t *ids, uint64_t count) {
  timbre_speech_request request;
  timbre_speech *speech = NULL;
  timbre_status status;
  float chunk[4096];
  float peak = 0;
  uint64_t samples = 0;
  uint64_t got = 0;
  uint64_t i;
  timbre_speech_request_init(&request, sizeof request);
  request.input_kind = TIMBRE_INPUT_IDS;
  request.ids = ids;
  request.id_count = count;
  if (timbre_speech_open(model, &request, &speech) != TIMBRE_OK) return failed("open");
  while ((status = timbre_speech_read(speech, chunk, 4096, &got)) == TIMBRE_OK) {
    for (i = 0; i < got; ++i) peak = chunk[i] > peak ? chunk[i] : peak;
    samples += got;
  }
  timbre_speech_close(speech);
  if (status != TIMBRE_DONE) return failed("read");
  printf("samples %lu peak %.3f\n", (unsigned long)samples, (double)peak);
  return samples > 0 && peak > 0 ? 0 : 1;
}

int main(int argc, char **argv) {
  timbre_engine *engine = NULL;
  timbre_model *model = NULL;
  timbre_model_file file = {0};
  int32_t ids[256];
  uint64_t count = 0;
  int result = 1;
  int i;
  if (argc < 3 || argc > 257) return 2;
  for (i = 2; i < argc; ++i) ids[count++] = (int32_t)atoi(argv[i]);
  file.struct_size = sizeof file;
  file.path = argv[1];
  if (timbre_engine_create(NULL, &engine) != TIMBRE_OK) return failed("engine");
  if (timbre_model_load(engine, &file, 1, sizeof file, NULL, &model) == TIMBRE_OK) {
    result = speak(model, ids, count);
  } else {
    failed("load");
  }
  timbre_model_release(model);
  timbre_engine_destroy(engine);
  return result;
}
