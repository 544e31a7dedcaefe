/** The machines that the filter knows, by the names that Node gives them. */
export type Machine = "x64" | "arm64"

/** The numbers of a system call on x86_64 and on arm64; null where the machine has no such call. */
type Numbers = readonly [x64: number, arm64: number | null]

/**
 * The calls that no agent needs and that reach further than its own processes and files: into other processes, into the kernel's own tables,
 * into mounts and namespaces, and into old code of the kernel that hardly anything uses. Each is answered with EPERM.
 */
export const denied = {
  // Into other processes.
  ptrace: [101, 117],
  process_vm_readv: [310, 270],
  process_vm_writev: [311, 271],
  pidfd_getfd: [438, 438],
  process_madvise: [440, 440],
  process_mrelease: [448, 448],
  kcmp: [312, 272],
  move_pages: [279, 239],
  migrate_pages: [256, 238],
  // Keys are not divided by namespaces.
  add_key: [248, 217],
  request_key: [249, 218],
  keyctl: [250, 219],
  // Large parts of the kernel that most ways out of a sandbox went through.
  bpf: [321, 280],
  perf_event_open: [298, 241],
  userfaultfd: [323, 282],
  io_uring_setup: [425, 425],
  io_uring_enter: [426, 426],
  io_uring_register: [427, 427],
  memfd_secret: [447, 447],
  mbind: [237, 235],
  set_mempolicy: [238, 237],
  // The machine itself.
  kexec_load: [246, 104],
  kexec_file_load: [320, 294],
  init_module: [175, 105],
  finit_module: [313, 273],
  delete_module: [176, 106],
  reboot: [169, 142],
  swapon: [167, 224],
  swapoff: [168, 225],
  acct: [163, 89],
  quotactl: [179, 60],
  quotactl_fd: [443, 443],
  settimeofday: [164, 170],
  clock_settime: [227, 112],
  clock_adjtime: [305, 266],
  adjtimex: [159, 171],
  syslog: [103, 116],
  sethostname: [170, 161],
  setdomainname: [171, 162],
  vhangup: [153, 58],
  lookup_dcookie: [212, 18],
  personality: [135, 92],
  // Mounts, namespaces, and files without their names.
  mount: [165, 40],
  umount2: [166, 39],
  pivot_root: [155, 41],
  chroot: [161, 51],
  unshare: [272, 97],
  setns: [308, 268],
  fsopen: [430, 430],
  fsconfig: [431, 431],
  fsmount: [432, 432],
  fspick: [433, 433],
  move_mount: [429, 429],
  open_tree: [428, 428],
  mount_setattr: [442, 442],
  statmount: [457, 457],
  listmount: [458, 458],
  open_by_handle_at: [304, 265],
  name_to_handle_at: [303, 264],
  fanotify_init: [300, 262],
  fanotify_mark: [301, 263],
  // Calls of the last century.
  nfsservctl: [180, 42],
  iopl: [172, null],
  ioperm: [173, null],
  modify_ldt: [154, null],
  uselib: [134, null],
  ustat: [136, null],
  sysfs: [139, null],
  _sysctl: [156, null],
  create_module: [174, null],
  get_kernel_syms: [177, null],
  query_module: [178, null]
} as const satisfies Readonly<Record<string, Numbers>>

/** The calls whose arguments decide. */
export const judged = {
  clone: [56, 220],
  clone3: [435, 435],
  socket: [41, 198],
  ioctl: [16, 29],
  prlimit64: [302, 261]
} as const satisfies Readonly<Record<string, Numbers>>

/** The newest call that the lists above were made for (`mseal`). What comes later is answered as on an older kernel. */
export const newest = 462

/** The architecture as the kernel tells it to a filter (`AUDIT_ARCH_X86_64`, `AUDIT_ARCH_AARCH64`). */
export const architectures: Readonly<Record<Machine, number>> = { x64: 0xc000003e, arm64: 0xc00000b7 }

/** The number of a call on a machine; null where there is none. */
export const numberOn = (machine: Machine, [x64, arm64]: Numbers): number | null => (machine === "x64" ? x64 : arm64)
