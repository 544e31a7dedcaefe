// The programs and rights that the chaos suite needs and cannot bring with it. When one is missing the suite does not run, and no test is
// skipped.
import { existsSync, readdirSync } from "node:fs"
import { delimiter, join } from "node:path"

const onPath = (name) =>
  (process.env.PATH ?? "").split(delimiter).some((directory) => existsSync(join(directory, name)))
/** Debian keeps the programs of PostgreSQL in directories by version. */
const ofPostgres = (name) => {
  const versions = "/usr/lib/postgresql"
  return (
    onPath(name) ||
    (existsSync(versions) && readdirSync(versions).some((version) => existsSync(join(versions, version, "bin", name))))
  )
}
const isRoot = process.getuid?.() === 0

const needs = [
  ["Linux", process.platform === "linux", "run it on Linux"],
  ["chromium", onPath("chromium"), "apt-get install chromium"],
  ["nginx", onPath("nginx") || existsSync("/usr/sbin/nginx"), "apt-get install nginx-light"],
  ["caddy", onPath("caddy"), "apt-get install caddy"],
  ["docker-compose", onPath("docker-compose"), "apt-get install docker-compose"],
  ["systemd-analyze", onPath("systemd-analyze"), "apt-get install systemd"],
  ["tini", onPath("tini"), "apt-get install tini"],
  ["faketime", onPath("faketime"), "apt-get install faketime"],
  ["initdb and pg_dump", ofPostgres("initdb") && ofPostgres("pg_dump"), "apt-get install postgresql"],
  ["mkfs.ext4", onPath("mkfs.ext4") || existsSync("/usr/sbin/mkfs.ext4"), "apt-get install e2fsprogs"],
  ["bwrap", onPath("bwrap"), "apt-get install bubblewrap"],
  ["podman", onPath("podman"), "apt-get install podman crun"],
  ["catatonit, the init of containers", onPath("catatonit"), "apt-get install catatonit"],
  ["newuidmap", onPath("newuidmap"), "apt-get install uidmap"],
  ["perl", onPath("perl"), "apt-get install perl"],
  ["root, to mount a small tmpfs and small disks", isRoot, "run it as root, as in a container of its own"],
  [
    "loop devices",
    existsSync("/dev/loop-control"),
    "give the container /dev/loop-control and /dev/loop*, as `docker run --privileged` does"
  ]
]

/** Ends this process when something is missing, and says how to get it. */
export const requireNeeds = () => {
  const missing = needs.filter(([, there]) => !there)
  for (const [name, , how] of missing) process.stderr.write(`The chaos suite needs ${name}: ${how}\n`)
  if (missing.length > 0) process.exit(1)
}
