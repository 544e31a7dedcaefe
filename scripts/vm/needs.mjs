// The programs that virtual machines need of this one.
import { existsSync } from "node:fs"
import { delimiter, join } from "node:path"

const onPath = (name) => (process.env.PATH ?? "").split(delimiter).some((at) => existsSync(join(at, name)))

const needs = [
  ["Linux on x86_64", process.platform === "linux" && process.arch === "x64", "run it on such a machine"],
  [
    "root, to share all files of this machine",
    process.getuid?.() === 0,
    "run it as root, as in a container of its own"
  ],
  ["qemu-system-x86_64", onPath("qemu-system-x86_64"), "apt-get install qemu-system-x86"],
  ["qemu-system-aarch64", onPath("qemu-system-aarch64"), "apt-get install qemu-system-arm"],
  ["apt-get and dpkg-deb", onPath("apt-get") && onPath("dpkg-deb"), "run it on Debian, or in its container"],
  ["mkfs.ext4", onPath("mkfs.ext4"), "apt-get install e2fsprogs"],
  ["bwrap", onPath("bwrap"), "apt-get install bubblewrap"],
  ["perl", onPath("perl"), "apt-get install perl"]
]

/** What is missing, each with the way to get it. */
export const needsOfMachines = () => needs.flatMap(([name, there, how]) => (there ? [] : [[name, how]]))
