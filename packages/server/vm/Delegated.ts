import { spawnSync } from "node:child_process"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"

const root = "/sys/fs/cgroup"
let made = 0

/** A user of a machine. */
export interface User {
  readonly uid: number
  readonly gid: number
}

/** A cgroup of version 2 that is delegated to a server, as systemd does it for a unit with `Delegate=yes`. */
export interface Delegated {
  /** The words before the command of the server, which begins alone in the cgroup, as the user. */
  readonly launcher: ReadonlyArray<string>
  /** The directories of agents in it. */
  readonly agents: () => ReadonlyArray<string>
  /** A file of the only agent in it. */
  readonly read: (file: string) => string
  /** Removes it as systemd does at the end of a unit, which works only when nothing runs in it. */
  readonly remove: () => void
}

export const delegated = (user: User = { uid: 0, gid: 0 }): Delegated => {
  const base = join(root, `unit-${process.pid}-${++made}`)
  const owner = `${user.uid}:${user.gid}`
  const given = ["", "/cgroup.procs", "/cgroup.subtree_control", "/cgroup.threads"]
    .map((name) => `"$0"${name}`)
    .join(" ")
  const script = `mkdir "$0" && chown ${owner} ${given} && echo $$ >"$0/cgroup.procs" && exec "$@"`
  const asUser = ["setpriv", `--reuid=${user.uid}`, `--regid=${user.gid}`, "--clear-groups"]
  const agents = () =>
    existsSync(base)
      ? readdirSync(base)
          .filter((name) => name.startsWith("reins-agent-"))
          .map((name) => join(base, name))
      : []
  return {
    launcher: ["sh", "-c", script, base, ...asUser],
    agents,
    read: (file) => {
      const [agent, ...others] = agents()
      if (agent === undefined || others.length > 0) throw new Error(`There are ${agents().length} agents.`)
      return readFileSync(join(agent, file), "utf8")
    },
    remove: () => {
      const { status, stderr } = spawnSync("find", [base, "-depth", "-type", "d", "-exec", "rmdir", "{}", ";"])
      if (status !== 0 || existsSync(base)) throw new Error(String(stderr))
    }
  }
}
