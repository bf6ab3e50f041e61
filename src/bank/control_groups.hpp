// SPDX-License-Identifier: MIT
//
// Control groups of Linux: what the container or service that this process runs in may use, whatever the machine has.
// Both versions of the interface, and both at once (kernel documentation: admin-guide/cgroup-v2, cgroup-v1/memory).
//
// A group's limit also holds for the groups below it, so the tightest of all from the process's own group up to the
// root counts. A container often sees its own group as the root and its path as it is outside: folders of the path that
// are not there are passed over.
#pragma once

#include <string>

#include "timbre/core/result.hpp"
#include "timbre/device/device.hpp"

namespace timbre::bank {

/// Tightens a reading of the machine by the control groups: free and total are what the groups leave of it. Pages of
/// files that were not used lately (inactive_file) count as free, because the kernel drops them first.
///
/// @param reading        of the machine.
/// @param proc_folder    "/proc"; has self/cgroup, without which there are no groups.
/// @param cgroup_folder  "/sys/fs/cgroup"; the groups of version 2 lie in it or in its folder "unified", those of
///                       version 1 in its folder "memory".
/// Errors: kFormat (a limit that is no number), kIo; each names the file.
[[nodiscard]] Result<device::MemoryReading> limit_by_control_groups(device::MemoryReading reading,
                                                                    const std::string& proc_folder,
                                                                    const std::string& cgroup_folder);

}  // namespace timbre::bank
