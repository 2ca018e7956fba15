// An agent of a JVM, as most are: what it does when loaded later is what it does when loaded first.
#define VISIBLE __attribute__((visibility("default")))

VISIBLE int Agent_OnLoad(void* vm, char* options, void* reserved) {
  (void)vm, (void)reserved;
  options[0] = '!';
  return 7;
}
VISIBLE int Agent_OnAttach(void* vm, char* options, void* reserved) {
  return Agent_OnLoad(vm, options, reserved);
}
VISIBLE void* own_place(void) { return (void*)&Agent_OnLoad; }
