/* SPDX-License-Identifier: MIT
 *
 * A stand-in for a LibTorch of version 1.2.3.
 */
#include <stdint.h>

uint64_t aoti_torch_abi_version(void);

__attribute__((visibility("default"))) uint64_t aoti_torch_abi_version(void) {
  return (UINT64_C(1) << 56) | (UINT64_C(2) << 48) | (UINT64_C(3) << 40);
}
