// A plugin with a variable that must be in each thread's static storage.
static __thread int variable[32] __attribute__((tls_model("initial-exec")));
int* own_variable(void) { return variable; }
