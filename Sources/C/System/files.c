#ifdef __linux__
#define _GNU_SOURCE
#endif
#include "pushsim_system.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

int64_t pushsim_file_size(const char *path) {
    struct stat info;
    if (stat(path, &info) < 0) return -errno;
    return S_ISREG(info.st_mode) ? info.st_size : 0;
}

int64_t pushsim_file_read_into(const char *path, uint8_t *buffer, size_t room) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return -errno;
    size_t used = 0;
    while (used < room) {
        ssize_t count = read(fd, buffer + used, room - used);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) {
            int error = errno;
            close(fd);
            return -error;
        }
        if (count == 0) break;
        used += (size_t)count;
    }
    close(fd);
    return (int64_t)used;
}

int pushsim_file_read(const char *path, uint8_t **content, size_t *size) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return -errno;
    struct stat info;
    if (fstat(fd, &info) < 0 || S_ISDIR(info.st_mode)) {
        int error = S_ISDIR(info.st_mode) ? EISDIR : errno;
        close(fd);
        return -error;
    }
    size_t capacity = info.st_size > 0 ? (size_t)info.st_size + 1 : 65536, used = 0;
    uint8_t *bytes = malloc(capacity);
    while (bytes != NULL) {
        if (used == capacity) {
            uint8_t *larger = realloc(bytes, capacity *= 2);
            if (larger == NULL) {
                free(bytes);
                bytes = NULL;
                break;
            }
            bytes = larger;
        }
        ssize_t count = read(fd, bytes + used, capacity - used);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) {
            int error = errno;
            free(bytes);
            close(fd);
            return -error;
        }
        if (count == 0) break;
        used += (size_t)count;
    }
    close(fd);
    if (bytes == NULL) return -ENOMEM;
    *content = bytes;
    *size = used;
    return 0;
}

int pushsim_path_resolve(const char *path, char *resolved, size_t size) {
    char buffer[PATH_MAX];
    struct stat info;
    if (stat(path, &info) == 0) {
        if (S_ISDIR(info.st_mode)) return PUSHSIM_PATH_FOLDER;
        if (!S_ISREG(info.st_mode)) return PUSHSIM_PATH_OTHER;
        if (realpath(path, buffer) == NULL) return -errno;
        if (strlen(buffer) + 1 > size) return -ENAMETOOLONG;
        strcpy(resolved, buffer);
        return PUSHSIM_PATH_FILE;
    }
    // A link that leads nowhere would be replaced, not followed.
    if (lstat(path, &info) == 0) return PUSHSIM_PATH_OTHER;
    const char *slash = strrchr(path, '/');
    const char *name = slash == NULL ? path : slash + 1;
    if (*name == 0) return -ENOENT;
    size_t length = slash == NULL ? 1 : slash == path ? 1 : (size_t)(slash - path);
    char folder[PATH_MAX];
    if (length + 1 > sizeof folder) return -ENAMETOOLONG;
    memcpy(folder, slash == NULL ? "." : path, length);
    folder[length] = 0;
    if (realpath(folder, buffer) == NULL) return -errno;
    if (stat(buffer, &info) < 0 || !S_ISDIR(info.st_mode)) return -ENOTDIR;
    if (strlen(buffer) + strlen(name) + 2 > size) return -ENAMETOOLONG;
    strcpy(resolved, buffer);
    if (strcmp(buffer, "/") != 0) strcat(resolved, "/");
    strcat(resolved, name);
    return PUSHSIM_PATH_NONE;
}

int64_t pushsim_write_all(int fd, const void *buffer, size_t size) {
    size_t done = 0;
    while (done < size) {
        ssize_t count = write(fd, (const char *)buffer + done, size - done);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return -errno;
        done += (size_t)count;
    }
    return (int64_t)done;
}

int pushsim_file_write(const char *path, const void *content, size_t size) {
    size_t length = strlen(path) + 16;
    char *temporary = malloc(length);
    if (temporary == NULL) return -ENOMEM;
    snprintf(temporary, length, "%s.XXXXXX", path);
    int fd = mkstemp(temporary);
    int result = fd < 0 ? -errno : 0;
    if (result == 0) {
        int64_t written = pushsim_write_all(fd, content, size);
        if (written < 0) result = (int)written;
        if (result == 0 && (fchmod(fd, 0644) < 0 || fsync(fd) < 0)) result = -errno;
        close(fd);
        if (result == 0 && rename(temporary, path) < 0) result = -errno;
        if (result < 0) unlink(temporary);
    }
    free(temporary);
    return result;
}

int pushsim_file_remove(const char *path) { return unlink(path) < 0 ? -errno : 0; }

int pushsim_folder_make(const char *path) { return mkdir(path, 0755) < 0 && errno != EEXIST ? -errno : 0; }

int pushsim_folder_remove(const char *path) { return rmdir(path) < 0 ? -errno : 0; }

int pushsim_folder_list(const char *path, void *context, void (*each)(void *context, const char *name)) {
    DIR *folder = opendir(path);
    if (folder == NULL) return -errno;
    struct dirent *entry;
    while ((entry = readdir(folder)) != NULL) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) each(context, entry->d_name);
    }
    closedir(folder);
    return 0;
}

int pushsim_file_lock(const char *path) {
    for (;;) {
        int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
        if (fd < 0) return -errno;
        struct stat own, there;
        int result = flock(fd, LOCK_EX | LOCK_NB) < 0 ? -errno : 0;
        if (result < 0) {
            close(fd);
            return result == -EWOULDBLOCK ? -EAGAIN : result;
        }
        // Whoever had it before may have removed the file between our opening it and our locking it.
        if (fstat(fd, &own) == 0 && stat(path, &there) == 0 && own.st_ino == there.st_ino) return fd;
        close(fd);
    }
}

void pushsim_file_unlock(int fd, const char *path) {
    unlink(path);
    close(fd);
}

int pushsim_file_stamp(const char *path, uint64_t *stamp) {
    struct stat info;
    if (stat(path, &info) < 0) return -errno;
#ifdef __APPLE__
    uint64_t nanoseconds = (uint64_t)info.st_mtimespec.tv_sec * 1000000000u + (uint64_t)info.st_mtimespec.tv_nsec;
#else
    uint64_t nanoseconds = (uint64_t)info.st_mtim.tv_sec * 1000000000u + (uint64_t)info.st_mtim.tv_nsec;
#endif
    *stamp = nanoseconds ^ ((uint64_t)info.st_size << 40) ^ ((uint64_t)info.st_ino << 20);
    return 0;
}

void pushsim_free(void *memory) { free(memory); }

int pushsim_is_terminal(int fd) { return isatty(fd); }

int pushsim_file_is_within(const char *folder, const char *path) {
  char *root = realpath(folder, NULL);
  char *file = realpath(path, NULL);
  int within = 0;
  if (root && file) {
    size_t length = strlen(root);
    within = strncmp(root, file, length) == 0 && (file[length] == '/' || root[length - 1] == '/');
  }
  free(root);
  free(file);
  return within;
}
