import { mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"

/** The cgroup of version 2 that is delegated to the tests. Only a virtual machine is sure to have one. */
const parent = process.env["REINS_TEST_CGROUPS"] ?? ""

let made = 0

/** A cgroup in which this process is alone, as a service of systemd with `Delegate=yes` begins. It is removed as systemd does it, which fails where anything is left. */
export const ownCgroup = Effect.acquireRelease(
  Effect.sync(() => {
    const base = join(parent, `unit-${++made}`)
    mkdirSync(base)
    writeFileSync(join(base, "cgroup.procs"), String(process.pid))
    const agents = () => readdirSync(base).filter((name) => name.startsWith("reins-agent-"))
    return {
      agents,
      /** The directory of the only agent. */
      agent: () => {
        const [name, ...others] = agents()
        if (name === undefined || others.length > 0) throw new Error(`There are ${agents().length} agents.`)
        return join(base, name)
      },
      base
    }
  }),
  ({ base }) =>
    Effect.sync(() => {
      writeFileSync(join(parent, "main/cgroup.procs"), String(process.pid))
      for (const path of [join(base, "reins-server"), base]) rmdirSync(path)
    })
)

/** A number in a file of a cgroup: the only one, or that of a name. */
export const numberIn = (path: string, name?: string): number => {
  const text = readFileSync(path, "utf8")
  return Number((name === undefined ? text.trim() : new RegExp(`^${name} (\\d+)$`, "m").exec(text)?.[1]) ?? Number.NaN)
}
