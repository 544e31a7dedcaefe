// The programs and rights that the suites of faults need and cannot bring with them. When one is missing the suite does not run, and no test is
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

/** The needs of both suites. */
const shared = [
  ["Linux", process.platform === "linux", "run it on Linux"],
  ["faketime", onPath("faketime"), "apt-get install faketime"],
  ["initdb and pg_dump", ofPostgres("initdb") && ofPostgres("pg_dump"), "apt-get install postgresql"],
  ["bwrap", onPath("bwrap"), "apt-get install bubblewrap"],
  ["setpriv, of util-linux", onPath("setpriv"), "apt-get install util-linux"]
]

export const ofCluster = [
  ...shared,
  ["ip", onPath("ip") || existsSync("/usr/sbin/ip"), "apt-get install iproute2"],
  ["iptables", onPath("iptables") || existsSync("/usr/sbin/iptables"), "apt-get install iptables"],
  ["unshare and nsenter, of util-linux", onPath("unshare") && onPath("nsenter"), "apt-get install util-linux"],
  ["root, to make namespaces of networks and small disks", isRoot, "run it as root, as in a container of its own"]
]

export const ofChaos = [
  ...shared,
  ["chromium", onPath("chromium"), "apt-get install chromium"],
  ["nginx", onPath("nginx") || existsSync("/usr/sbin/nginx"), "apt-get install nginx-light"],
  ["caddy", onPath("caddy"), "apt-get install caddy"],
  ["docker-compose", onPath("docker-compose"), "apt-get install docker-compose"],
  ["systemd-analyze", onPath("systemd-analyze"), "apt-get install systemd"],
  ["tini", onPath("tini"), "apt-get install tini"],
  ["mkfs.ext4", onPath("mkfs.ext4") || existsSync("/usr/sbin/mkfs.ext4"), "apt-get install e2fsprogs"],
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

/** The programs of Docker, with which the tests of containers run too. */
export const ofDocker = ["docker", "dockerd", "containerd", "docker-init"].map((name) => [
  name,
  onPath(name),
  "apt-get install docker.io"
])

/** Ends this process when something is missing, and says how to get it. */
export const requireNeeds = (suite, needs) => {
  const missing = needs.filter(([, there]) => !there)
  for (const [name, , how] of missing) process.stderr.write(`${suite} needs ${name}: ${how}\n`)
  if (missing.length > 0) process.exit(1)
}
