#pragma once

// A directory of a sandbox as the /tmp of one process and its children (docs/adr/0174).

namespace proffer {

// In the sandbox.
inline constexpr const char* kPrivateTmpName = ".tmp";

// Makes it in the directory `sandbox`, with the rights that this thread has over files. Returns 0
// or an errno.
int make_private_tmp(int sandbox);
// Makes that of the directory `sandbox` the /tmp and the /var/tmp of this process, which is root
// and has a mount namespace of its own. The directory `kept` stays at its path, also if that is
// below one of them. Returns 0 or an errno; then this process must end, since it may be half-way.
int mount_private_tmp(const char* sandbox, const char* kept);

}  // namespace proffer
