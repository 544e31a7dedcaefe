import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Timestamp } from "@reins/base/domain/Timestamp"
import { evidenceSubject } from "@reins/machine/harness/Evidence"
import { storedEvidence, storeEvidence } from "@reins/server/cli/harnesses/StoredEvidence"
import { cacheDir } from "@reins/testing/harness/Turns"
import { Effect } from "effect"
import { afterAll, assert, beforeAll, it } from "vitest"
import alpha from "../../../../manifests/alpha.json" with { type: "json" }
import { makeInstallation, reinsAt } from "./Cli.js"

/** The agent of alpha with settings that nobody has tried. */
const mine = {
  ...alpha,
  provider_id: "mine",
  runtime: { ...alpha.runtime, stop: { ...alpha.runtime.stop, sigterm_ms: 1234 } }
}

let cwd = ""
let dataDir = ""

beforeAll(() => {
  cwd = mkdtempSync(join(tmpdir(), "reins-evidence-"))
  dataDir = join(cwd, "data")
  mkdirSync(join(cwd, "agents"))
  writeFileSync(join(cwd, "agents/mine.json"), JSON.stringify(mine))
})

afterAll(() => rmSync(cwd, { recursive: true, force: true }))

const reins = (...args: ReadonlyArray<string>) =>
  reinsAt({ cwd, env: { REINS_CACHE_DIR: cacheDir } }, [...args, "--data-dir", dataDir, "--manifests", "agents"])

const seen = (passed: boolean) => ({
  of: evidenceSubject(mine),
  agent: "opencode 1",
  platform: "linux-x64",
  observed_at: Timestamp.make("2026-11-23T00:00:00.000Z"),
  checks: (["usage", "event_stream"] as const).map((capability) => ({
    check: capability,
    capability,
    passed,
    evidence: "seen"
  }))
})

it("evidence of an installation is kept in its data directory, one for each agent with its settings", async () => {
  assert.deepStrictEqual(await Effect.runPromise(storedEvidence(dataDir)), [])
  const other = { ...seen(true), of: evidenceSubject(alpha) }
  for (const evidence of [seen(false), other, seen(true)]) await Effect.runPromise(storeEvidence(dataDir, evidence))
  assert.deepStrictEqual(await Effect.runPromise(storedEvidence(dataDir)), [other, seen(true)])
})

it("the list, the doctor and the table show what it proves, and what it does not", async () => {
  rmSync(dataDir, { recursive: true, force: true })
  await makeInstallation(dataDir)
  assert.match((await reins("harnesses", "list")).stdout, /\nmine .* 0\/6 +mine\.json +Linux on x64 with glibc\n/)
  await Effect.runPromise(storeEvidence(dataDir, seen(true)))
  assert.match((await reins("harnesses", "list")).stdout, /\nmine .* 2\/6 +mine\.json +Linux on x64 with glibc\n/)
  const doctor = await reins("doctor")
  assert.match(
    doctor.stdout,
    /\nwarn +mine +.*: nothing has shown model_discovery, native_resume, native_state_export, .*\n +-> .*reins harnesses verify mine\n/
  )
  const { stdout } = await reins("harnesses", "verify", "--table")
  const [head = "", , ...rows] = stdout.trimEnd().split("\n")
  const column = head.split("|").findIndex((cell) => cell.trim() === "`mine`")
  const cells = Object.fromEntries(
    rows.map((row) => [row.split("|")[1]?.trim().replaceAll("`", ""), row.split("|")[column]?.trim()])
  )
  assert.deepInclude(cells, { usage: "yes", event_stream: "yes", native_resume: "unproven", steer: "no" })
})

it("nothing is tried that could not be kept, or that is not there", async () => {
  writeFileSync(join(cwd, "other.json"), JSON.stringify(alpha))
  for (const [args, message] of [
    [["mine", "--into", "other.json"], "other.json is not the manifest of mine"],
    [["mine", "--into", "nowhere.json"], "nowhere.json cannot be read"],
    [["nobody"], "nobody is no provider that could run here"],
    [["gamma"], "gamma is no provider that could run here"],
    [[], "Name the provider to verify"]
  ] as const) {
    const { status, stderr } = await reins("harnesses", "verify", ...args)
    assert.strictEqual(status, 1, args.join(" "))
    assert.include(stderr, message)
  }
})

it("an agent that is not installed is not tried", async () => {
  const { status, stderr } = await reinsAt({ cwd, env: { REINS_CACHE_DIR: join(cwd, "cache") } }, [
    ...["harnesses", "verify", "alpha", "--data-dir", dataDir]
  ])
  assert.strictEqual(status, 1)
  assert.include(stderr, "The agent of alpha is not installed. Run first: reins harnesses install alpha")
})

it("a file that holds something else is named, and proves nothing", async () => {
  writeFileSync(join(dataDir, "evidence.json"), "{}")
  const listed = await reins("harnesses", "list")
  assert.strictEqual(listed.status, 1)
  assert.include(listed.stderr, "evidence.json holds no evidence")
  assert.match((await reins("doctor")).stdout, /\nfail +manifests +\S+evidence\.json holds no evidence/)
})
