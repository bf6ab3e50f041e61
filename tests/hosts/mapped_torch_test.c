/* SPDX-License-Identifier: MIT
 *
 * A process that has another LibTorch mapped: the load is refused, naming both. LibTorch is a stand-in of that file
 * name (other_torch.c) that says another version. mapped_torch_test STAND-IN.so MODEL.onnx
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "timbre/timbre.h"

int main(int argc, char **argv) {
  timbre_engine *engine = NULL;
  timbre_model *model = NULL;
  timbre_model_file file;
  timbre_status status;
  const char *message;
  if (argc != 3 || dlopen(argv[1], RTLD_NOW) == NULL) return fprintf(stderr, "cannot open the stand-in\n"), 2;
  memset(&file, 0, sizeof file);
  file.struct_size = sizeof file;
  file.path = argv[2];
  if (timbre_engine_create(NULL, &engine) != TIMBRE_OK) return 2;
  status = timbre_model_load(engine, &file, 1, sizeof file, NULL, &model);
  message = timbre_last_error();
  printf("%s: %s\n", timbre_status_name(status), message);
  timbre_engine_destroy(engine);
  return status == TIMBRE_ERR_INCOMPATIBLE && strstr(message, argv[1]) != NULL && strstr(message, "1.2.3") != NULL &&
                 strstr(message, "libtimbre-torch.so") != NULL
             ? 0
             : 1;
}
