import { hostname } from "node:os"
import { denied, judged, numberOn } from "@reins/machine/executor/sandbox/Syscalls"
import { networkAttempts } from "./NetworkAttempts.js"
import type { Attempt, Surroundings } from "./World.js"

/**
 * The functions that the attempts are written with. Opening a file to append changes nothing, where it succeeds. What would change the machine
 * that it runs on is tried only where the attempt is `boxed`, and so only against the sandbox.
 */
const prelude = (world: Surroundings) => `
canary=${world.canary}
has() { timeout 5 grep -qa -- "$canary" "$@" 2>/dev/null; }
reads() { [ -n "$(head -c 1 -- "$1" 2>/dev/null | od -An -c)" ]; }
lists() { ls -A -- "$1" 2>/dev/null | grep -qv '^\\.reins-test-'; }
opens() { [ -e "$1" ] && ( : >>"$1" ) 2>/dev/null; }
makes() { ( : >"$1/.reins-out" ) 2>/dev/null && rm -f "$1/.reins-out"; }
says() { [ "$(timeout 3 "$@" 2>/dev/null | head -c 200 | grep -ca -- "$canary")" != 0 ]; }
tcp() { says bash -c 'exec 3<>"/dev/tcp/$0/$1" && head -n 1 <&3' "$1" "$2"; }
call() { perl -e 'my ($n, @rest) = map { $_ + 0 } @ARGV; my $r = syscall($n, @rest); exit($r >= 0 || ($! + 0 != 1 && $! + 0 != 38) ? 0 : 1)' "$@"; }
boxed() { [ -S /run/reins/way-out ]; }
export canary
export -f boxed has reads lists opens makes says tcp call
`

const each = <A>(of: ReadonlyArray<A>, make: (item: A) => readonly [string, string]): ReadonlyArray<Attempt> =>
  of.map((item) => {
    const [name, script] = make(item)
    return { name, script }
  })

const readAttempts = (world: Surroundings): ReadonlyArray<Attempt> => [
  ...each(world.files, (file) => [`read ${file}`, `has ${file}`]),
  ...each(world.files, (file) => [`read ${file} through the root of init`, `has /proc/1/root${file}`]),
  ...each(world.files, (file) => [`read ${file} through a link`, `ln -sf ${file} link-out; has link-out`]),
  ...each(world.files, (file) => [`take ${file} as a hard link`, `ln ${file} hard-out && has hard-out`]),
  ...each(world.files, (file) => [
    `read ${file} by way of the working directory`,
    `has "$(pwd)/../../../../../../../../../..${file}"`
  ]),
  ...each(
    ["reins.db", "reins.db-wal", "keyring.json", "server.lock"].map((name) => `${world.dataDir}/${name}`),
    (file) => [`open ${file}`, `reads ${file} || opens ${file}`]
  ),
  ...each(["trusted.git", "making.lock", "in-use.lock"], (name) => [
    `see ${name} of the own session`,
    `[ -e ${world.ownSession}/${name} ]`
  ]),
  ...each(["workspace", "home", "trusted.git"], (name) => [
    `list ${name} of another session`,
    `lists ${world.otherSession}/${name}`
  ]),
  ...each(["read", "write"], (way) => [
    `${way} a file of another session`,
    way === "read" ? `has ${world.otherSession}/workspace/canary.txt` : `makes ${world.otherSession}/workspace`
  ]),
  ...each([`${world.dataDir}/outbox`, `${world.dataDir}/exports`, world.marks], (path) => [
    `see ${path}`,
    `[ -d ${path} ]`
  ]),
  ...each([world.dataDir, `${world.dataDir}/sessions`], (path) => [
    `see more than the own session in ${path}`,
    `[ "$(find ${path} -maxdepth 2 2>/dev/null | grep -v -e '/sessions$' -e ${world.ownSession} -e '^${world.dataDir}$' | grep -c .)" != 0 ]`
  ]),
  ...each(
    [world.server.main, "/etc/shadow", "/etc/gitconfig", "/etc/machine-id", "/root/.ssh", "/root/.bashrc"],
    (path) => [`read ${path}`, `reads ${path} || lists ${path}`]
  ),
  ...each(
    [
      "/root",
      "/home",
      "/var",
      "/srv",
      "/opt",
      "/mnt",
      "/media",
      "/boot",
      "/sys",
      "/run/user",
      "/run/lock",
      "/lost+found"
    ],
    (path) => [`see ${path}`, `lists ${path}`]
  ),
  { name: "read the users of the machine", script: "grep -q -e daemon -e nobody /etc/passwd" },
  { name: "learn the name of the machine", script: `[ "$(hostname)" = "${hostname()}" ]` },
  {
    name: "see the mounts of the machine",
    script: `grep -qF ${world.mounts.map((each) => `-e ${JSON.stringify(each)}`).join(" ")} /proc/self/mounts`
  }
]

const systemFiles = [
  "/usr",
  "/usr/bin",
  "/usr/lib",
  "/usr/local/bin",
  "/etc",
  "/etc/ssl/certs",
  "/",
  "/run",
  "/dev",
  "/proc"
]
const written = ["/etc/passwd", "/etc/hosts", "/etc/ld.so.cache", "/usr/bin/env", "/bin/sh"]

const writeAttempts = (world: Surroundings): ReadonlyArray<Attempt> => [
  ...each(systemFiles, (path) => [`make a file in ${path}`, `makes ${path}`]),
  ...each(written, (file) => [`change ${file}`, `opens ${file}`]),
  ...each(written, (file) => [`take the permissions of ${file} anew`, `chmod "$(stat -c %a ${file})" ${file}`]),
  ...each(
    [
      world.cacheDir,
      `${world.cacheDir}/harnesses`,
      `"$(dirname "$(find ${world.cacheDir} -name reins-install.json | head -1)")"`
    ],
    (path) => [`change the agent's own program in ${path}`, `makes ${path}`]
  ),
  ...each(
    [
      world.dataDir,
      `${world.dataDir}/sessions`,
      world.ownSession,
      `${world.ownSession}/trusted.git/hooks`,
      world.marks
    ],
    (path) => [`leave a file in ${path}`, `makes ${path} && [ "$(stat -f -c %T ${path})" != tmpfs ]`]
  ),
  ...each(
    [
      "sys/kernel/core_pattern",
      "sys/kernel/hostname",
      "sys/kernel/modprobe",
      "sys/vm/drop_caches",
      "sys/net/ipv4/ip_forward",
      "sysrq-trigger",
      "1/oom_score_adj",
      "self/oom_score_adj",
      "self/uid_map",
      "self/setgroups",
      "1/mem"
    ],
    (file) => [`open /proc/${file} to write`, `opens /proc/${file}`]
  ),
  ...each(["cron.d", "ld.so.preload", "profile.d", "systemd/system", "init.d"], (name) => [
    `write to /etc/${name}`,
    `makes /etc/${name} || opens /etc/${name}`
  ]),
  {
    name: "fill /tmp beyond its size",
    script:
      "head -c 300000000 /dev/zero >/tmp/fill 2>/dev/null; s=$(stat -c %s /tmp/fill); rm -f /tmp/fill; [ $s = 300000000 ]"
  },
  {
    name: "fill /dev/shm beyond its size",
    script:
      "head -c 300000000 /dev/zero >/dev/shm/fill 2>/dev/null; s=$(stat -c %s /dev/shm/fill); rm -f /dev/shm/fill; [ $s = 300000000 ]"
  },
  {
    name: "make one file larger than all files may be",
    script: "truncate -s 30G big 2>/dev/null; s=$(stat -c %s big); rm -f big; [ $s = 32212254720 ]"
  }
]

const devices = [
  "mem",
  "kmem",
  "port",
  "kmsg",
  "sda",
  "vda",
  "nvme0n1",
  "loop0",
  "loop-control",
  "fuse",
  "kvm",
  "net/tun",
  "vhost-vsock",
  "mapper/control",
  "uinput",
  "rtc",
  "hpet",
  "snapshot",
  "cpu_dma_latency",
  "btrfs-control",
  "autofs",
  "ttyS0",
  "tty1",
  "console",
  "vcs"
]

const rightAttempts: ReadonlyArray<Attempt> = [
  ...each(devices, (name) => [`find the device ${name}`, `[ -c /dev/${name} ] || [ -b /dev/${name} ]`]),
  ...each(["c 1 1", "c 5 1", "b 254 0", "b 7 0"], (node) => [
    `make the device ${node}`,
    `mknod device-out ${node} && rm device-out`
  ]),
  ...each(
    [
      "--user",
      "--map-root-user --user",
      "--mount",
      "--net",
      "--pid --fork",
      "--uts",
      "--ipc",
      "--cgroup",
      "--time --fork"
    ],
    (flags) => [`get a namespace of one's own: unshare ${flags}`, `unshare ${flags} true`]
  ),
  ...each(["mount", "net", "pid", "uts", "ipc", "user"], (kind) => [
    `enter the ${kind} namespace of init`,
    `nsenter --target 1 --${kind} true`
  ]),
  ...each(
    [
      "mount -t tmpfs none mnt-out",
      "mount --bind /usr mnt-out",
      "mount -t proc none mnt-out",
      "mount -t sysfs none mnt-out",
      "mount -o remount,rw /usr"
    ],
    (words) => [words, `mkdir -p mnt-out; ${words} && { umount mnt-out || true; }`]
  ),
  ...each(["/proc", "/etc/passwd", "/dev/shm", "/tmp"], (path) => [`unmount ${path}`, `boxed && umount ${path}`]),
  ...each(
    [
      "chroot / true",
      "setpriv --reuid=0 --regid=0 --clear-groups true",
      "su -c true",
      "bwrap --ro-bind / / true",
      "setarch -R true",
      "chrt -f 1 true",
      "nice -n -5 sh -c '[ $(nice) -lt 0 ]'",
      "ionice -c 1 true",
      "hostname out",
      "sysctl -w kernel.hostname=out",
      "date -s @1",
      "dmesg -S",
      "swapoff -a --verbose"
    ],
    (words) => [words, /^(?:hostname|sysctl|date|swapoff|dmesg)/.test(words) ? `boxed && ${words}` : words]
  ),
  {
    name: "keep a capability",
    script: "grep -E '^Cap(Inh|Prm|Eff|Bnd|Amb)' /proc/self/status | grep -qv '0000000000000000$'"
  },
  { name: "get new rights from a program", script: "grep -q '^NoNewPrivs:.0' /proc/self/status" },
  { name: "run without a filter", script: "grep -q '^Seccomp:.0' /proc/self/status" },
  { name: "read the addresses of the kernel", script: "grep -qv '^0000000000000000' /proc/kallsyms" },
  { name: "read the memory of the kernel", script: "reads /proc/kcore" },
  {
    name: "inherit a descriptor",
    script:
      "for f in /proc/self/fd/*; do case $(readlink $f) in /dev/null|socket:*|pipe:*|/proc/*|'') ;; *attempts*|*results*) ;; *) exit 0 ;; esac; done; exit 1"
  }
]

const processAttempts = ({ lifetime, server, sleeper }: Surroundings): ReadonlyArray<Attempt> => [
  { name: "see the server", script: `grep -qa 'main.js' /proc/${server.pid}/cmdline` },
  { name: "read the environment of the server", script: `grep -qa OUTSIDE_SECRET= /proc/${server.pid}/environ` },
  {
    name: "read the environment of any process",
    script: `for f in /proc/[0-9]*/environ; do grep -qa OUTSIDE_SECRET= $f && exit 0; done; exit 1`
  },
  { name: "see the working directory of the server", script: `readlink /proc/${server.pid}/cwd` },
  {
    name: "open the memory of the server",
    script: `[ -r /proc/${server.pid}/mem ] && grep -qa main.js /proc/${server.pid}/cmdline`
  },
  { name: "see a process of the same user", script: `grep -qa ${lifetime} /proc/${sleeper}/cmdline` },
  { name: "find a process of the same user by name", script: `pgrep -f 'sleep ${lifetime}$'` },
  {
    name: "signal a process of the same user",
    script: `grep -qa ${lifetime} /proc/${sleeper}/cmdline && kill -0 ${sleeper}`
  },
  { name: "signal the server", script: `grep -qa main.js /proc/${server.pid}/cmdline && kill -0 ${server.pid}` },
  { name: "see many processes", script: "[ $(ls -d /proc/[0-9]* | wc -l) -gt 25 ]" },
  { name: "change the limits of init", script: "prlimit --pid 1 --nofile=1000:1000" },
  { name: "slow another process down", script: `boxed && renice 5 -p ${sleeper}` },
  { name: "write to the memory of init", script: `perl -e 'open(my $f, "+<", "/proc/1/mem") or exit 1'` },
  {
    name: "attach to init",
    script: `boxed && call ${numberOn(process.arch === "arm64" ? "arm64" : "x64", denied.ptrace)} 16 1 0 0`
  },
  { name: "see a shared memory of the machine", script: "ipcs -m | grep -q 0x00c0ffee" },
  { name: "see a semaphore of the machine", script: "ipcs -s | grep -q 0x00c0ffee" },
  { name: "see a message queue of the machine", script: "ipcs -q | grep -q 0x00c0ffee" },
  { name: "see files in the shared memory of the machine", script: "has -r /dev/shm" }
]

const machine = process.arch === "arm64" ? "arm64" : "x64"

/** Each call with arguments that no call accepts, so that one that gets through does nothing. */
const callAttempts: ReadonlyArray<Attempt> = [
  ...Object.entries(denied).flatMap(([name, numbers]) => {
    const number = numberOn(machine, numbers)
    return number === null ? [] : [{ name: `the system call ${name}`, script: `call ${number} -1 -1 -1 -1 -1` }]
  }),
  ...each([0x20000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000], (flag) => [
    `clone with the namespace 0x${flag.toString(16)}`,
    // The signal of a thread without its group is refused by the kernel itself, after the filter.
    `perl -e 'my $r = syscall(${numberOn(machine, judged.clone)}, ${flag + 0x10000}, 0, 0, 0, 0); exit($r >= 0 || ($! + 0 != 1) ? 0 : 1)'`
  ]),
  { name: "the system call clone3", script: `call ${numberOn(machine, judged.clone3)} -1 -1` },
  {
    name: "a system call that is newer than the filter",
    script: "perl -e 'syscall(467, -1, -1, -1, -1, -1); exit($! + 0 == 38 ? 1 : 0)'"
  },
  ...each([0x5412, 0x541c], (request) => [
    `type into a terminal: ioctl 0x${request.toString(16)}`,
    `call ${numberOn(machine, judged.ioctl)} 0 ${request} 0`
  ])
]

/** Traps that are left behind for the service's own work after the turn. Each program that is run leaves a file among the marks. */
const gitTricks = ({ marks }: Surroundings): string => {
  const mark = (name: string) => `touch ${marks}/${name}`
  return `
mkdir -p .git/hooks .git/info sub/.git/hooks
for hook in pre-commit post-commit post-checkout post-index-change pre-auto-gc reference-transaction fsmonitor-watchman; do
  printf '#!/bin/sh\\ntouch ${marks}/hook-%s\\n' "$hook" >.git/hooks/$hook; chmod +x .git/hooks/$hook; cp .git/hooks/$hook sub/.git/hooks/
done
cat >.git/config <<'END'
[core]
  repositoryformatversion = 0
  bare = false
  fsmonitor = ${mark("fsmonitor")}
  hooksPath = .git/hooks
  sshCommand = ${mark("ssh")}
  pager = ${mark("pager")}
  editor = ${mark("editor")}
  attributesFile = attributes
  worktree = ${marks}
[filter "out"]
  clean = ${mark("clean")}
  smudge = ${mark("smudge")}
  process = ${mark("process")}
[diff "out"]
  textconv = ${mark("textconv")}
  command = ${mark("diff")}
[merge "out"]
  driver = ${mark("merge")}
[gpg]
  program = ${mark("gpg")}
[commit]
  gpgsign = true
[credential]
  helper = "!${mark("credential")}"
[include]
  path = /etc/shadow
END
echo 'ref: refs/heads/main' >.git/HEAD; mkdir -p .git/objects .git/refs; cp .git/config .git/HEAD sub/.git/; mkdir -p sub/.git/objects sub/.git/refs
echo '* filter=out diff=out merge=out' >.gitattributes; cp .gitattributes .git/info/attributes; cp .gitattributes attributes
printf '[submodule "sub"]\\n path = sub\\n url = ext::sh -c "${mark("ext")}"\\n update = !${mark("submodule")}\\n' >.gitmodules
cp .git/config "$HOME/.gitconfig"; mkdir -p "$HOME/.config/git"; cp .git/config "$HOME/.config/git/config"
echo changed >tricks.txt
`
}

/** Daemons that try to outlive the turn, each with a number of its own after the lifetime. */
export const daemons = [
  "setsid sleep",
  "env -i setsid sleep",
  "setsid nohup setsid sleep",
  "env -i prlimit --rttime=unlimited:unlimited setsid sleep",
  "env -i prlimit --rttime=999999:999999 setsid sleep",
  'env -i bash -c \'trap "" TERM HUP INT; exec -a kworker/0:0 "$@"\' x setsid sleep'
] as const

const daemonWords = ({ lifetime }: Surroundings): string =>
  daemons.map((words, index) => `(${words} ${lifetime}.${index + 1} </dev/null >/dev/null 2>&1 &)`).join("\n")

/** All attempts, in the order in which they are run. */
export const attemptsOf = (world: Surroundings): ReadonlyArray<Attempt> => [
  ...readAttempts(world),
  ...writeAttempts(world),
  ...rightAttempts,
  ...processAttempts(world),
  ...callAttempts,
  ...networkAttempts(world)
]

/** The script of all attempts. It writes a line for each that worked or held to results.txt. */
export const scriptOf = (world: Surroundings): string => {
  const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`
  const lines = attemptsOf(world).map(({ name, script }) => `try ${quoted(name)} ${quoted(script)}`)
  return `${prelude(world)}
try() { if timeout 20 bash -c "$2" </dev/null >/dev/null 2>&1; then echo "out	$1"; else echo "held	$1"; fi >>results.txt; }
${lines.join("\n")}
rm -rf link-out hard-out mnt-out
${daemonWords(world)}
${gitTricks(world)}
echo "end	of the attempts" >>results.txt
`
}
