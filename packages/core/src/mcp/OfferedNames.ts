import { digestOf } from "@reins/base/base/CanonicalJson"
import type { ProjectServer } from "../projects/ProjectServer.js"

// Model gateways take names of 64 letters, digits, `_` and `-`. Servers name their tools with more characters, and longer. Agents put the name of the
// server before that of the tool.

/** A name that is offered as it is. */
const plain = /^[A-Za-z_][A-Za-z0-9_-]{0,39}$/

const longest = 40
const digits = 6

/** The same for all names of tools that an agent may put together to one. Some agents put one `_` between server and tool, and some two. */
const joined = (server: string, name: string): string => `${server}_${name}`.replace(/_{2,}/g, "_")

const mapped = (name: string): string => {
  const taken = name.replace(/[^A-Za-z0-9_-]/g, "_")
  return /^[A-Za-z_]/.test(taken) ? taken : `_${taken}`
}

/** A name that tells itself apart by the digest of what it stands for. */
const apart = (server: string, tool: string, count: number): string => {
  const digest = digestOf(`${server} ${tool} ${count}`).replace("sha256:", "").slice(0, digits)
  return `${mapped(tool).slice(0, longest - digits - 1)}_${digest}`
}

/** Gives the name under which agents are offered a tool of a server. */
export type OfferedNames = (server: string, tool: string) => string

/**
 * The names for all tools that the servers of a version may offer. No two are one to an agent. They depend on the version alone, so a turn has the names of the one before.
 */
export const offeredNames = (servers: ReadonlyArray<Pick<ProjectServer, "name" | "allow">>): OfferedNames => {
  const taken = new Set<string>()
  const names = new Map<string, string>()
  const take = (server: string, tool: string, name: string): boolean => {
    const key = joined(server, name)
    if (name.length > longest || taken.has(key)) return false
    taken.add(key)
    names.set(`${server} ${tool}`, name)
    return true
  }
  const all = servers.flatMap(({ allow, name }) => allow.map((tool) => [name, tool] as const))
  // A name that needs no other one keeps its own, also where that of another tool would become the same.
  const left = all.filter(([server, tool]) => !(plain.test(tool) && take(server, tool, tool)))
  for (const [server, tool] of left)
    for (let count = 0, isTaken = take(server, tool, mapped(tool)); !isTaken; count++)
      isTaken = take(server, tool, apart(server, tool, count))
  return (server, tool) => names.get(`${server} ${tool}`) ?? tool
}
