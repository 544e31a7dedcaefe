import { execFileSync, spawnSync } from "node:child_process"
import { rmSync } from "node:fs"
import { join } from "node:path"
import { setTimeout as pause } from "node:timers/promises"
import { eventually } from "@reins/testing/process/Waiting"
import type { Node, Rig } from "./Rig.js"
import { awaySeconds, goneSeconds } from "./Volume.js"

/** A thing that goes wrong with a node. */
export interface Fault {
  /** True when the node cannot keep its lease, so that others go on with its sessions. */
  readonly losesLease: boolean
  /** True when the node can do its work meanwhile, so that no turn of it may end but by itself. */
  readonly letsWork: boolean
  /** Makes it go wrong. */
  readonly begin: (rig: Rig, node: Node) => Promise<void>
  /** Waits until that has had its effect. */
  readonly effect: (rig: Rig, node: Node) => Promise<void>
  /** Makes it good again. */
  readonly heal: (rig: Rig, node: Node) => Promise<void>
}

/** The lease of a node, by the clock of the database. */
const leaseOf = async ({ query }: Rig, { name }: Node) => {
  const [row] = await query<{ expires_at: string; lapsed: boolean }>(
    `select expires_at, expires_at <= extract(epoch from clock_timestamp()) * 1000 as lapsed from nodes where name = $1`,
    [name]
  )
  if (row === undefined) throw new Error(`there is no node ${name}`)
  return { expiresAt: Number(row.expires_at), lapsed: row.lapsed }
}

/** Waits until the lease of a node has run out. */
const lapsed = async (rig: Rig, node: Node): Promise<void> => {
  await eventually(`the lease of ${node.name} runs out`, async () => (await leaseOf(rig, node)).lapsed)
}

/** Waits until a node holds a lease that it has renewed since now. */
export const renewed = async (rig: Rig, node: Node): Promise<void> => {
  const before = await leaseOf(rig, node)
  await eventually(`${node.name} renews its lease`, async () => {
    const { expiresAt, lapsed } = await leaseOf(rig, node)
    return !lapsed && expiresAt > before.expiresAt
  })
}

/** Waits until a node finds its way to the outside again, because a kernel remembers for a moment whom it did not find. */
const reached = async ({ origin }: Rig, { host, name }: Node): Promise<void> => {
  const { hostname, port } = new URL(origin.base)
  const connect = ["netns", "exec", host.namespace, "bash", "-c", `exec 3<>/dev/tcp/${hostname}/${port}`]
  await eventually(`${name} reaches the outside`, () => spawnSync("ip", connect, { stdio: "ignore" }).status === 0)
}

/** A fault during which the node keeps its lease: it has had its effect after two renewals. */
const kept = (begin: Fault["begin"], heal: Fault["heal"], letsWork = true): Fault => ({
  losesLease: false,
  letsWork,
  begin,
  effect: async (rig, node) => {
    await renewed(rig, node)
    await renewed(rig, node)
  },
  heal
})

/** A fault during which the node loses its lease, and that lasts for longer than that. */
const lost = (begin: Fault["begin"], heal: Fault["heal"]): Fault => {
  let since = 0
  return {
    losesLease: true,
    letsWork: false,
    begin: async (rig, node) => {
      since = performance.now()
      await begin(rig, node)
    },
    effect: lapsed,
    heal: async (rig, node) => {
      await pause(Math.max(0, goneSeconds * 1000 - (performance.now() - since)))
      await heal(rig, node)
    }
  }
}

const filling = ({ dataDir }: Node) => join(dataDir, "filling")

export const faults = {
  "kill -9": lost(
    (_, node) => node.signal("SIGKILL"),
    (_, node) => node.start()
  ),
  SIGSTOP: lost(
    (_, node) => node.signal("SIGSTOP"),
    (_, node) => node.signal("SIGCONT")
  ),
  "link down": lost(
    async (_, { host }) => host.link("down"),
    async (rig, node) => {
      node.host.link("up")
      await reached(rig, node)
    }
  ),
  "peers cut off": kept(
    async ({ nodes }, node) => node.host.cutFrom(nodes.filter((other) => other !== node).map(({ host }) => host)),
    async (_, { host }) => host.heal()
  ),
  "PostgreSQL cut off": lost(
    async ({ database }, { host }) => host.cutFrom([database.host]),
    async (_, { host }) => host.heal()
  ),
  "PostgreSQL restarted": kept(
    ({ database }) => database.cluster.restart(() => pause(awaySeconds * 1000)),
    async () => undefined
  ),
  "clock +-5 min": kept(
    async (rig, node) => {
      node.setClock(300)
      await renewed(rig, node)
      node.setClock(-300)
    },
    async (_, node) => node.setClock(0)
  ),
  "full disk": kept(
    async (_, node) => {
      // It ends when nothing goes on the disk any more.
      execFileSync("sh", ["-c", `cat /dev/zero > ${filling(node)} || true`], { stdio: "pipe" })
    },
    async (_, node) => rmSync(filling(node)),
    false
  )
} satisfies Record<string, Fault>

export type FaultName = keyof typeof faults
