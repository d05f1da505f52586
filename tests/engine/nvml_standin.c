/* A stand-in for NVML: a card for each file of /opt/cards, which a hook or a CDI device has put there. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int is_there(int number) {
    char path[64];
    snprintf(path, sizeof path, "/opt/cards/%d", number);
    return access(path, F_OK) == 0;
}

/* The number of the index-th card; -1 without one. */
static int number_of(unsigned index) {
    for (int number = 0; number < 8; number++)
        if (is_there(number) && index-- == 0)
            return number;
    return -1;
}

int nvmlInitWithFlags(unsigned flags) { return (int)flags; }
int nvmlShutdown(void) { return 0; }
const char *nvmlErrorString(int code) { return code == 0 ? "Success" : "Not Found"; }
int nvmlSystemGetDriverVersion(char *text, unsigned size) { return snprintf(text, size, "535.104.05") < 0; }

int nvmlDeviceGetCount_v2(unsigned *count) {
    for (*count = 0; number_of(*count) >= 0; ++*count) {}
    return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device) {
    *device = (void *)(long)(number_of(index) + 1);
    return *device ? 0 : 6;
}

int nvmlDeviceGetName(void *device, char *text, unsigned size) {
    (void)device;
    return snprintf(text, size, "NVIDIA A100-SXM4-80GB") < 0;
}

int nvmlDeviceGetUUID(void *device, char *text, unsigned size) {
    return snprintf(text, size, "GPU-0000000%ld-0000-0000-0000-000000000000", (long)device - 1) < 0;
}

int nvmlDeviceGetCudaComputeCapability(void *device, int *major, int *minor) {
    (void)device;
    *major = 8, *minor = 0;
    return 0;
}

int nvmlDeviceGetMemoryInfo(void *device, unsigned long long *memory) {
    (void)device;
    memory[0] = 85899345920ULL, memory[1] = memory[0], memory[2] = 0;
    return 0;
}
