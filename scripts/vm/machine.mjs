// A virtual machine of qemu for one command: a kernel of Debian, the files of this machine as they are, which it can only read, and a disk of its
// own for what it writes. It has no network but its loopback, cgroup v2 with all controllers, and ends with the command.
import { spawn } from "node:child_process"
import {
  accessSync,
  constants,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { archiveOf } from "./archive.mjs"
import { run } from "./packages.mjs"

/** The modules of the kernel that a machine needs before it has any files, and those for its disk, its files and containers. */
const modules =
  "virtio_pci virtio_mmio virtio_console virtio_blk virtio_rng 9pnet_virtio 9p ext4 crc32c_generic overlay fuse veth bridge"

/** The files of a kernel package: the kernel, and a module with those that it needs, in the order in which they are loaded. */
const kernelOf = (directory) => {
  const boot = join(directory, "boot")
  const image = readdirSync(boot).find((name) => name.startsWith("vmlinuz-"))
  const root = join(directory, "lib/modules", image.slice("vmlinuz-".length), "kernel")
  const found = readdirSync(root, { recursive: true }).filter((path) => path.endsWith(".ko"))
  const nameOf = (path) => path.split("/").at(-1).slice(0, -3).replaceAll("-", "_")
  const byName = new Map(found.map((path) => [nameOf(path), join(root, path)]))
  const order = new Map()
  const add = (name) => {
    const path = byName.get(name)
    // What is built in has no file.
    if (path === undefined || order.has(name)) return
    const bytes = readFileSync(path)
    const needs = /\0depends=([^\0]*)\0/.exec(bytes.toString("latin1"))?.[1] ?? ""
    for (const each of needs.split(",").filter(Boolean)) add(each)
    order.set(name, bytes)
  }
  for (const name of modules.split(" ")) add(name)
  return { image: join(boot, image), modules: [...order].map(([name, bytes]) => ({ name, bytes })) }
}

/** The first program of the machine, which makes its files and becomes the second one. */
const firstProgram = (shares) => `#!/bin/busybox sh
/bin/busybox mkdir -p /proc /sys /dev /new /disk
/bin/busybox mount -t proc none /proc
/bin/busybox mount -t sysfs none /sys
/bin/busybox mount -t devtmpfs none /dev
for each in /modules/*; do /bin/busybox insmod $each; done
/bin/busybox mount -t ext4 -o noatime /dev/vda /disk
made=0
layered() { # layered <target> <tag> ...
  target=$1 layers= made=$((made + 1)); shift
  for tag in "$@"; do
    /bin/busybox mkdir -p /layers/$tag
    /bin/busybox mount -t 9p -o trans=virtio,version=9p2000.L,ro,msize=512000,cache=loose $tag /layers/$tag
    layers=$layers\${layers:+:}/layers/$tag
  done
  /bin/busybox mkdir -p /disk/upper$made /disk/work$made "$target"
  /bin/busybox mount -t overlay -o lowerdir=$layers,upperdir=/disk/upper$made,workdir=/disk/work$made overlay "$target"
}
${shares.map(({ at, tags }) => `layered ${join("/new", at)} ${tags.join(" ")}`).join("\n")}
cd /new
/bin/busybox mkdir -p proc sys dev tmp run var/tmp /disk/tmp /disk/var-tmp .vm
/bin/busybox chmod 1777 /disk/tmp /disk/var-tmp
/bin/busybox cp /bin/busybox /second /job .vm/
for each in proc sys dev; do /bin/busybox mount --move /$each $each; done
/bin/busybox mkdir -p dev/pts dev/shm
/bin/busybox mount -t devpts -o ptmxmode=0666 none dev/pts
/bin/busybox mount -t tmpfs -o mode=1777 none dev/shm
/bin/busybox mount -t tmpfs none run
/bin/busybox mount --bind /disk/tmp tmp
/bin/busybox mount --bind /disk/var-tmp var/tmp
/bin/busybox mount -t cgroup2 none sys/fs/cgroup
echo +cpu +memory +pids >sys/fs/cgroup/cgroup.subtree_control
for each in fd:fd stdin:fd/0 stdout:fd/1 stderr:fd/2; do /bin/busybox ln -s /proc/self/\${each#*:} dev/\${each%:*}; done
exec /bin/busybox switch_root /new /.vm/second
`

/** The second program of the machine, which runs the command, tells its end and ends the machine. */
const secondProgram = `#!/.vm/busybox sh
bb=/.vm/busybox
$bb hostname vm
# What is unpacked and never installed has none of these.
[ -e /etc/hosts ] || echo "127.0.0.1 localhost" >/etc/hosts
[ -e /etc/passwd ] || echo "root:x:0:0:root:/root:/bin/bash" >/etc/passwd
[ -e /etc/group ] || echo "root:x:0:" >/etc/group
[ -e /bin/sh ] || $bb ln -s bash /bin/sh
$bb mkdir -p /root
$bb ip link set lo up
for each in /sys/class/virtio-ports/*; do
  case $($bb cat $each/name) in out) out=/dev/\${each##*/} ;; end) end=/dev/\${each##*/} ;; esac
done
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TMPDIR=/tmp /bin/bash /.vm/job </dev/null >$out 2>&1
echo $? >$end
$bb sync
$bb poweroff -f
`

/** A virtual machine is as fast as this one where the processor helps, and some ten times slower where it does not. */
const accelerated = () => {
  try {
    accessSync("/dev/kvm", constants.R_OK | constants.W_OK)
    return /^flags\s*:.*\b(?:vmx|svm)\b/m.test(readFileSync("/proc/cpuinfo", "utf8"))
  } catch {
    return false
  }
}

const machines = {
  amd64: { program: "qemu-system-x86_64", machine: "q35", console: "ttyS0", emulated: "max", arch: "x64" },
  arm64: { program: "qemu-system-aarch64", machine: "virt", console: "ttyAMA0", emulated: "cortex-a72", arch: "arm64" }
}

const diskSize = 16 * 1024 ** 3

const argumentsOf = ({ architecture, directory, kernel, memoryMb, shares }) => {
  const { arch, console, emulated, machine } = machines[architecture]
  const fast = arch === process.arch && accelerated()
  return [
    ...["-accel", fast ? "kvm" : "tcg,thread=multi", "-machine", machine, "-cpu", fast ? "host" : emulated],
    ...["-smp", "2", "-m", String(memoryMb), "-nodefaults", "-no-reboot", "-display", "none", "-nic", "none"],
    ...["-kernel", kernel, "-initrd", join(directory, "initrd"), "-append", `console=${console} panic=-1`],
    ...["-serial", `file:${join(directory, "console")}`, "-device", "virtio-rng-pci", "-device", "virtio-serial-pci"],
    ...["-chardev", "stdio,id=out,signal=off", "-device", "virtserialport,chardev=out,name=out"],
    ...["-chardev", `file,id=end,path=${join(directory, "end")}`, "-device", "virtserialport,chardev=end,name=end"],
    ...["-drive", `file=${join(directory, "disk")},format=raw,if=none,id=disk,cache=unsafe,discard=unmap`],
    ...["-device", "virtio-blk-pci,drive=disk"],
    ...shares.flatMap(({ path, tag }) => [
      ...["-fsdev", `local,id=${tag},path=${path},security_model=none,readonly=on,multidevs=remap`],
      ...["-device", `virtio-9p-pci,fsdev=${tag},mount_tag=${tag}`]
    ])
  ]
}

/** The line of a machine's own messages that says why it has not got to its command. */
const lastWords = (directory) => {
  const path = join(directory, "console")
  return existsSync(path) ? readFileSync(path, "utf8").trim().split("\n").slice(-15).join("\n") : ""
}

/**
 * Runs a script of bash in a machine of its own, as root, and gives its exit code. `layers` lists directories and the paths at which the machine
 * has them, each as several directories of this machine of which an earlier one hides what is in later ones; the first is its root. What the
 * script writes is given to `write`. Nothing is left of the machine, also when it does not end within `seconds`, which is an error.
 */
export const inMachine = async ({ architecture, busybox, kernel, layers, memoryMb, script, seconds, write }) => {
  const directory = mkdtempSync(join(tmpdir(), "reins-vm-"))
  try {
    const { image, modules } = kernelOf(kernel)
    const tagged = layers.map(({ at, from }, index) => ({
      at,
      from,
      tags: from.map((_, layer) => `l${index}x${layer}`)
    }))
    const shares = tagged.flatMap(({ from, tags }) => from.map((path, index) => ({ path, tag: tags[index] })))
    const entries = [
      { path: "bin/busybox", bytes: readFileSync(busybox) },
      { path: "init", bytes: Buffer.from(firstProgram(tagged)) },
      { path: "second", bytes: Buffer.from(secondProgram) },
      { path: "job", bytes: Buffer.from(script) },
      ...modules.map(({ bytes, name }, index) => ({ path: `modules/${String(index).padStart(3, "0")}-${name}`, bytes }))
    ]
    writeFileSync(join(directory, "initrd"), archiveOf(entries))
    writeFileSync(join(directory, "disk"), "")
    truncateSync(join(directory, "disk"), diskSize)
    run("mkfs.ext4", ["-q", "-F", join(directory, "disk")])
    // It ends with this process, however that ends.
    const words = [
      "--pdeathsig",
      "KILL",
      machines[architecture].program,
      ...argumentsOf({ architecture, directory, kernel: image, memoryMb, shares })
    ]
    const child = spawn("setpriv", words, { stdio: "pipe" })
    child.stdout.on("data", write)
    let said = ""
    child.stderr.on("data", (chunk) => {
      said += chunk
    })
    const stop = () => child.kill("SIGKILL")
    const end = () => {
      stop()
      rmSync(directory, { recursive: true, force: true })
    }
    const leave = () => process.exit(130)
    process.once("exit", end).once("SIGINT", leave).once("SIGTERM", leave)
    let late = false
    const limit = setTimeout(() => {
      late = true
      stop()
    }, seconds * 1000)
    child.once("error", (error) => {
      said += error.message
    })
    await new Promise((done) => child.once("close", done))
    clearTimeout(limit)
    process.off("exit", end).off("SIGINT", leave).off("SIGTERM", leave)
    const told = existsSync(join(directory, "end")) ? readFileSync(join(directory, "end"), "utf8").trim() : ""
    if (told !== "") return Number(told)
    throw new Error(
      `The machine ${late ? `did not end within ${seconds} s` : "ended early"}. ${said}\n${lastWords(directory)}`
    )
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}
