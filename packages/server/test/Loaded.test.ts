import { spawnSync } from "node:child_process"
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { compiledFor, startFlag } from "@reins/server/CompiledCode"
import { killServers, published } from "@reins/testing/process/ServerProcess"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { chunksIn, coverageOf, coverageOfCommand, modulesIn, type Scripts } from "./Coverage.js"

const dist = dirname(published)
/** The chunk that only a server loads. */
const program = join(dist, readdirSync(dist).find((name) => /^start-[\w-]+\.cjs$/.test(name)) ?? "")

let directory = ""
/** The scripts that V8 has run in a server that became ready and was stopped. */
let scripts: Scripts = []

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), "reins-loaded-"))
  scripts = await coverageOf(directory)
})

afterAll(async () => {
  await killServers()
  rmSync(directory, { recursive: true, force: true })
})

const bytesRead = (of: Scripts): number => chunksIn(of).reduce((sum, file) => sum + statSync(file).size, 0)

describe("a command of a client reads no server", () => {
  it.each([
    [["--version"], 0, 0],
    [["help"], 0.5, 0.75],
    [["run", "--help"], 0.75, 1.0],
    [["acp"], 0.75, 1.15],
    [["mcp"], 0.7, 0.85]
  ])("%j reads chunks of %d to %d MB", (words, least, most) => {
    const megabytes = bytesRead(coverageOfCommand(directory, words)) / 1_000_000
    assert.isAtLeast(megabytes, least)
    assert.isAtMost(megabytes, most)
  })
})

describe("a server that starts loads only what it needs to become ready", () => {
  it("reads chunks of less than 3.05 MB", () => {
    const bytes = bytesRead(scripts)
    // All of them were found: the services of the core alone have more than this.
    assert.isAbove(bytes, 1_500_000)
    assert.isBelow(bytes, 3_050_000)
  })

  it("leaves the PostgreSQL driver to an installation on PostgreSQL", () => {
    const packages = scripts.flatMap(({ url }) => /node_modules\/(?:@[^/]+\/)?[^/]+/.exec(url) ?? [])
    assert.include(packages, "node_modules/better-sqlite3")
    assert.notInclude(packages, "node_modules/pg")
  })

  it("leaves the native code that hashes passwords to the first password", () => {
    assert.isEmpty(scripts.filter(({ url }) => url.includes("/node_modules/@node-rs/")))
  })

  it.each([
    ["the sender of mails", "packages/core/node_modules/nodemailer/"],
    ["what encrypts notifications", "node_modules/web-push/"],
    ["what signs for the apps of forges", "node_modules/universal-github-app-jwt/"],
    ["the page at /docs", "packages/server/src/http/ReferencePage.ts"],
    ["the OpenAPI document", "packages/server/src/http/openapi/OpenApiDocument.ts"],
    ["what unpacks archives", "node_modules/tar/"],
    ["the validator of result schemas", "node_modules/ajv/"],
    ["the other commands", "packages/server/src/cli/operator/Backup.ts"],
    ["what runs turns from the command line", "packages/cli/src/client/Run.ts"],
    ["the client of a server", "packages/client/src/"],
    ["what asks a person", "node_modules/@clack/"],
    ["what shows progress", "node_modules/ora/"],
    ["the judge of new passwords", "node_modules/@zxcvbn-ts/"],
    ["the table of media types", "packages/machine/node_modules/mime/"],
    ["what writes /metrics", "node_modules/prom-client/"],
    ["what several machines need", "packages/core/src/placement/cluster/"],
    ["the way of requests to other machines", "packages/server/src/http/middleware/Forward"],
    ["what takes snapshots of sessions", "packages/core/src/worktrees/snapshots/KeptSnapshots.ts"],
    ["what makes them of files", "packages/machine/src/bench/snapshots/SealHere.ts"],
    ["what speaks to agents", "packages/machine/src/harness/acp/AcpOpening.ts"],
    ["containers", "packages/machine/src/executor/Container.ts"],
    ["the sandbox, where agents run without it", "packages/machine/src/executor/Bubblewrap.ts"],
    ["the stores of blobs", "packages/core/src/store/Blobs.ts"],
    ["the door of editors", "packages/server/src/doors/acp/"],
    ["what speaks WebSocket", "node_modules/ws/"],
    ["the tools of assistants", "packages/server/src/doors/mcp/"],
    ["the library of their protocol", "node_modules/@modelcontextprotocol/"],
    ["what signs requests for S3", "node_modules/aws4fetch/"],
    ["the export over OTLP", "node_modules/@effect/opentelemetry/"],
    ["what makes traces of agents", "packages/server/src/genai/"],
    ["what tells them of turns", "packages/core/src/traces/TracedTurns.ts"]
  ])("leaves %s to those who use it", (_, path) => {
    const within = (run: boolean) => modulesIn(scripts, run).filter((name) => name.startsWith(path))
    assert.isEmpty(within(true))
    assert.isNotEmpty(within(false))
  })
})

describe("the program that the build has compiled", () => {
  /** Tells in a process of its own, as the flags of this one are not those of a server. */
  const isRejected = (compiled: string, flags: ReadonlyArray<string> = []) =>
    spawnSync(
      process.execPath,
      [
        ...flags,
        "--print",
        `v8.setFlagsFromString("${startFlag}");
         const [source, cachedData] = process.argv.slice(1).map((file) => fs.readFileSync(file));
         new vm.Script(module.constructor.wrap(source.latin1Slice()), { cachedData }).cachedDataRejected`,
        program,
        compiled
      ],
      { encoding: "utf8" }
    ).stdout.trim()

  it("is taken by this Node in the place of its source", () => {
    assert.strictEqual(isRejected(`${program}.compiled`), "false")
  })

  it.each([
    ["the unit of systemd", "reins.service", /^ExecStart=\S*node (.*?) \S*main\.js/m],
    ["the container", "Dockerfile", /^ENTRYPOINT \[.*"node", (.*?), "\S*main\.js"\]/m]
  ])("is taken with the flags of %s", (_, name, pattern) => {
    const text = readFileSync(join(import.meta.dirname, "../../../deploy", name), "utf8")
    const flags = (pattern.exec(text)?.[1] ?? assert.fail("no flags")).split(/[ ,"]+/).filter((flag) => flag !== "")
    assert.isNotEmpty(flags)
    assert.strictEqual(isRejected(compiledFor(program, flags), flags), "false", flags.join(" "))
  })

  it("is refused when it is something else, so that the source is compiled", () => {
    assert.strictEqual(isRejected(program), "true")
  })
})
