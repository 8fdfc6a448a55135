#ifndef PUSHSIM_SYSTEM_H
#define PUSHSIM_SYSTEM_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

// Whether so many bytes, upper case letters read as lower case ones, are those of other: letters and dashes.
static inline int pushsim_equal_in_lower_case(const uint8_t *bytes, const uint8_t *other, size_t length) {
  for (size_t index = 0; index < length; index++) {
    if ((bytes[index] | 32) != other[index]) return 0;
  }
  return 1;
}

// Where a run of bytes ends that the table gives this mark: at the latest at end.
static inline size_t pushsim_run_end(
    const uint8_t *bytes, size_t start, size_t end, const uint8_t *table, uint8_t mark) {
  while (start < end && (table[bytes[start]] & mark) != 0) start++;
  return start;
}

// 1 where a file, its links followed, lies within a folder.
int pushsim_file_is_within(const char *folder, const char *path);

// What stands at a path, with the path behind its links; -errno where not even its folder is there. Neither a file nor a
// folder is OTHER: a device, a pipe, or a link that leads nowhere.
enum { PUSHSIM_PATH_NONE, PUSHSIM_PATH_FILE, PUSHSIM_PATH_FOLDER, PUSHSIM_PATH_OTHER };
int pushsim_path_resolve(const char *path, char *resolved, size_t size);

// Tells the thread sanitizer that a lock was taken or is let go. It does not see the waiting of Swift's Mutex, whose slow
// path lies in a library that is not instrumented. Without the sanitizer they do nothing.
void pushsim_lock_taken(const void *lock);
void pushsim_lock_released(const void *lock);

// Of the mathematical library.
double pushsim_exp(double x);
double pushsim_log(double x);
double pushsim_cos(double x);

// Every call that can fail answers a value >= 0, or -errno.

// Sockets: all are non-blocking, closed on exec, TCP_NODELAY, and never raise SIGPIPE.
int pushsim_listen(const char *host, uint16_t port, int backlog);
int pushsim_local_port(int fd);
int pushsim_accept(int listener);
int pushsim_connect(const char *host, uint16_t port);
int pushsim_connect_result(int fd);
int64_t pushsim_receive(int fd, void *buffer, size_t size);
int64_t pushsim_send(int fd, const void *buffer, size_t size);
int pushsim_unread(int fd);
// How many bytes the system has taken and not yet sent.
int pushsim_unsent(int fd);
int pushsim_shutdown_write(int fd);
int pushsim_close(int fd);
// Closes with a RST instead of a FIN.
int pushsim_reset(int fd);
// Makes the next close, also that at the end of the process, a RST.
int pushsim_linger_none(int fd);
// For a client that wants to be pushed back: a small receive buffer, set before data comes.
int pushsim_set_receive_buffer(int fd, int bytes);
// Writes the numeric peer address; answers its length.
int pushsim_peer_address(int fd, char *buffer, size_t size);
// A pipe, both ends non-blocking.
int pushsim_pipe(int *read_end, int *write_end);
int64_t pushsim_read(int fd, void *buffer, size_t size);
int64_t pushsim_write(int fd, const void *buffer, size_t size);

// What a poller is asked for, and tells.
enum { PUSHSIM_READABLE = 1, PUSHSIM_WRITABLE = 2, PUSHSIM_PEER_CLOSED = 4, PUSHSIM_BROKEN = 8 };

struct pushsim_event {
    uint64_t token;
    uint32_t ready;
};

struct pushsim_watch {
    int32_t fd;
    uint32_t wanted;
    uint32_t ready;
};

int pushsim_epoll_available(void);
int pushsim_epoll_create(void);
enum { PUSHSIM_ADD = 1, PUSHSIM_CHANGE = 2, PUSHSIM_REMOVE = 3 };
int pushsim_epoll_control(int poller, int operation, int fd, uint32_t wanted, uint64_t token);
int pushsim_epoll_wait(int poller, struct pushsim_event *events, int count, int milliseconds);
int pushsim_poll(struct pushsim_watch *watches, size_t count, int milliseconds);

// Time, in nanoseconds: since 1970, and since some fixed moment.
int64_t pushsim_wall_clock(void);
int64_t pushsim_monotonic_clock(void);

int pushsim_thread_start(const char *name, void (*body)(void *), void *context);
uintptr_t pushsim_thread_current(void);

// A descriptor that becomes readable on SIGTERM, SIGINT or SIGHUP; each signal is one byte. SIGPIPE is ignored from then on.
int pushsim_stop_signals(void);

// Files. The content is allocated here and freed by the caller with pushsim_free.
int pushsim_file_read(const char *path, uint8_t **content, size_t *size);
// Of a regular file its size, of anything else 0; and its first octets, as many as there is room for.
int64_t pushsim_file_size(const char *path);
int64_t pushsim_file_read_into(const char *path, uint8_t *buffer, size_t room);
// Writes to a temporary neighbour, syncs, renames: a reader sees the old file or the new one.
int pushsim_file_write(const char *path, const void *content, size_t size);
int pushsim_file_remove(const char *path);
// 0 where the folder is there already.
int pushsim_folder_make(const char *path);
int pushsim_folder_remove(const char *path);
// Calls `each` with the name of every file in a folder.
int pushsim_folder_list(const char *path, void *context, void (*each)(void *context, const char *name));
// Takes a lock that ends with the process: a descriptor, or -EAGAIN where another has it.
int pushsim_file_lock(const char *path);
void pushsim_file_unlock(int fd, const char *path);
// Modification time in nanoseconds mixed with size and inode: changes when the file does.
int pushsim_file_stamp(const char *path, uint64_t *stamp);
int64_t pushsim_write_all(int fd, const void *buffer, size_t size);
void pushsim_free(void *memory);
_Noreturn void pushsim_exit(int code);
int pushsim_is_terminal(int fd);
// EAGAIN, whose number differs between systems.
int pushsim_would_block(void);
// The message of an errno, or of a -errno.
void pushsim_error_text(int error, char *buffer, size_t size);

#endif
