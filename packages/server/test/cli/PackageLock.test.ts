import { PackageLock, pinsOf } from "@reins/server/cli/harnesses/PackageLock"
import { Schema } from "effect"
import { assert, it } from "vitest"

const integrity = `sha512-${"A".repeat(86)}==`
const locked = { version: "1.0.0", integrity }

/** An agent with a program for each machine, a fallback that only one machine takes, and two versions of one package. */
const lock = Schema.decodeUnknownSync(PackageLock)({
  lockfileVersion: 3,
  packages: {
    "": { dependencies: { agent: "1.0.0" } },
    "node_modules/agent": {
      ...locked,
      dependencies: { tool: "^1.0.0", zod: "^3.0.0" },
      optionalDependencies: { "agent-linux": "1.0.0", "agent-mac": "1.0.0", "agent-wasm": "1.0.0", absent: "1.0.0" },
      peerDependencies: { peer: "1.0.0", unwanted: "1.0.0" },
      peerDependenciesMeta: { unwanted: { optional: true } }
    },
    "node_modules/agent/node_modules/zod": { ...locked, version: "3.0.0" },
    "node_modules/zod": { ...locked, version: "4.0.0" },
    "node_modules/tool": { ...locked, dependencies: { zod: "^4.0.0" } },
    "node_modules/peer": locked,
    "node_modules/unwanted": locked,
    "node_modules/agent-linux": {
      ...locked,
      name: "@agent/build",
      version: "1.0.0-linux",
      os: ["linux"],
      libc: ["glibc"]
    },
    "node_modules/agent-mac": { ...locked, os: ["darwin"], cpu: ["!x64"] },
    "node_modules/agent-wasm": { ...locked, cpu: ["wasm32"], dependencies: { runtime: "1.0.0" } },
    "node_modules/runtime": locked
  }
})

const linux = { os: "linux", cpu: "x64", libc: "glibc" } as const
const mac = { os: "darwin", cpu: "arm64" } as const
const named = (pins: ReadonlyArray<{ readonly name: string; readonly version: string; readonly path?: string }>) =>
  pins.map(({ name, path, version }) => `${name}@${version}${path === undefined ? "" : ` in ${path}`}`)

it("pins what every machine needs once, and the rest for each machine, at the places of the lock file", () => {
  const { packages, platforms } = pinsOf(lock, [linux, mac, { ...mac, cpu: "x64" }, { ...linux, libc: "musl" }])
  assert.deepStrictEqual(named(packages), [
    "agent@1.0.0",
    "zod@3.0.0 in node_modules/agent/node_modules/zod",
    "peer@1.0.0",
    "tool@1.0.0",
    "zod@4.0.0"
  ])
  assert.deepStrictEqual(platforms.map(named), [
    ["@agent/build@1.0.0-linux in node_modules/agent-linux"],
    ["agent-mac@1.0.0"],
    [],
    []
  ])
})

it("keeps a build for one machine apart also when no other machine is pinned, and leaves out what is not wanted", () => {
  const { packages, platforms } = pinsOf(lock, [linux], (name) => name.startsWith("@agent/"))
  assert.deepStrictEqual(
    [packages, platforms.map(named)],
    [[], [["@agent/build@1.0.0-linux in node_modules/agent-linux"]]]
  )
})
