import { execFileSync, spawn } from "node:child_process"
import { mkdirSync, readFileSync } from "node:fs"
import { eventually } from "@reins/testing/process/Waiting"

const ip = (...args: ReadonlyArray<string>) => execFileSync("ip", args, { stdio: "pipe" })

/** The numbers of the networks that tests of this run have made. Each process of the run has those of its own. */
const worker = Number(process.env["VITEST_POOL_ID"] ?? "0")
let made = 0

/** A machine as far as its network goes: a namespace with an address, at a bridge that the tests stand at. */
export interface Host {
  readonly name: string
  readonly address: string
  readonly namespace: string
  /** Takes its cable out, so that nobody hears an end of any connection, or puts it back. */
  readonly link: (state: "up" | "down") => void
  /** Drops everything between this machine and others, in silence, until it is healed. */
  readonly cutFrom: (others: ReadonlyArray<Host>) => void
  readonly heal: () => void
}

/** A network of machines, with the tests at its bridge. */
export interface Network {
  /** The address of the tests. */
  readonly address: string
  readonly host: (name: string) => Host
  readonly remove: () => void
}

/**
 * Makes a network in the network namespace of this process, which `scripts/cluster.mjs` has made for the tests alone. With that namespace everything
 * ends.
 */
export const newNetwork = (): Network => {
  const id = worker * 16 + made++
  const bridge = `br${id}`
  const addressOf = (last: number) => `10.77.${id}.${last}`
  ip("link", "add", bridge, "type", "bridge")
  ip("link", "set", bridge, "up")
  ip("addr", "add", `${addressOf(1)}/24`, "dev", bridge)
  const namespaces: Array<string> = []

  const host = (name: string): Host => {
    const namespace = `n${id}-${name}`
    const port = `p${id}-${name}`
    const address = addressOf(11 + namespaces.length)
    namespaces.push(namespace)
    ip("netns", "add", namespace)
    ip("link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", namespace)
    ip("link", "set", port, "master", bridge, "up")
    ip("-n", namespace, "addr", "add", `${address}/24`, "dev", "eth0")
    for (const device of ["eth0", "lo"]) ip("-n", namespace, "link", "set", device, "up")
    const rule = (...args: ReadonlyArray<string>) => ip("netns", "exec", namespace, "iptables", ...args)
    return {
      name,
      address,
      namespace,
      // The end at the bridge, so that the machine keeps its address and its routes as with a cable that was pulled.
      link: (state) => void ip("link", "set", port, state),
      cutFrom: (others) => {
        for (const other of others)
          for (const [chain, side] of [
            ["INPUT", "--source"],
            ["OUTPUT", "--destination"]
          ] as const)
            rule("--append", chain, side, other.address, "--jump", "DROP")
      },
      heal: () => void rule("--flush")
    }
  }
  return {
    address: addressOf(1),
    host,
    remove: () => {
      for (const namespace of namespaces) ip("netns", "del", namespace)
      ip("link", "del", bridge)
    }
  }
}

/** The processes of a machine, in a process namespace of its own. It is up until it is switched off. */
export interface Box {
  /** The first process of the namespace, as the tests see it. */
  readonly init: number
  /** The words that bring a program into the machine. */
  readonly launcher: ReadonlyArray<string>
  /** Kills everything that runs there. */
  readonly off: () => void
}

const childrenOf = (pid: number): ReadonlyArray<number> =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").filter(Boolean).map(Number)

/** The only process that another one has started. */
export const childOf = (pid: number): Promise<number> => eventually(`${pid} has a child`, () => childrenOf(pid)[0])

/** Switches a machine on, with a small disk of its own at a directory. */
export const newBox = async ({ namespace }: Host, disk: string, bytes: number): Promise<Box> => {
  mkdirSync(disk, { recursive: true })
  execFileSync("mount", ["-t", "tmpfs", "-o", `size=${bytes},mode=700`, "tmpfs", disk])
  // The library that fakes clocks names its shared memory by numbers of processes, which other machines have too.
  const first = "mount -t tmpfs tmpfs /dev/shm && exec sleep infinity"
  const inside = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", first]
  const outer = spawn("ip", ["netns", "exec", namespace, ...inside], { stdio: "ignore" })
  const init = await childOf(outer.pid ?? 0)
  return {
    init,
    launcher: ["nsenter", "--target", String(init), "--net", "--pid", "--mount", "--"],
    off: () => {
      outer.kill("SIGKILL")
      execFileSync("umount", ["--lazy", disk])
    }
  }
}
