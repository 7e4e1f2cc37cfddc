// A plugin of first_new.
extern void wait_for_mutex(void);
__attribute__((constructor)) static void construct(void) { wait_for_mutex(); }
