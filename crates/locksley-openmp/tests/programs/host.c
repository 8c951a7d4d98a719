// Sets a variable, as Python scripts do, and then opens a plugin that uses OpenMP. The program
// itself does not.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

int main(int count, char **arguments) {
    if (count < 2) return 1;
    setenv("OMP_NUM_THREADS", "1", 1);
    setenv("OMP_DISPLAY_ENV", "true", 1);
    void *plugin = dlopen(arguments[1], RTLD_NOW);
    if (!plugin) return 2;
    int (*team_size)(void) = (int (*)(void))dlsym(plugin, "team_size");
    printf("%d\n", team_size());
}
