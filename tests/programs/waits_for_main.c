// A library that does not load before the program lets it (attach_hazards.c).
void wait_for_main(void);
__attribute__((constructor)) static void begin(void) { wait_for_main(); }
