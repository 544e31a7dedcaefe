import { spawnSync } from "node:child_process"
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { killServers, published } from "@reins/testing/process/ServerProcess"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { coverageOf, modulesIn, type Scripts } from "./Coverage.js"

const dist = dirname(published)
const program = join(dist, readdirSync(dist).find((name) => name.endsWith(".cjs")) ?? "")

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

const modules = (run: boolean) => modulesIn(scripts, run)

describe("a server that starts loads only what it needs to become ready", () => {
  it("runs modules of less than 2.9 MB", () => {
    const bytes = modules(true).reduce((sum, { ranges: [range] }) => sum + range.endOffset - range.startOffset, 0)
    // All of them were found: the services of the core alone have more than this.
    assert.isAbove(bytes, 500_000)
    assert.isBelow(bytes, 2_900_000)
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
    ["what runs turns from the command line", "packages/server/src/cli/client/Run.ts"],
    ["the client of a server", "packages/client/src/"],
    ["what asks a person", "node_modules/@clack/"],
    ["what shows progress", "node_modules/ora/"],
    ["the judge of new passwords", "node_modules/@zxcvbn-ts/"],
    ["the table of media types", "packages/core/node_modules/mime/"],
    ["what writes /metrics", "node_modules/prom-client/"],
    ["what several machines need", "packages/core/src/placement/cluster/"],
    ["the way of requests to other machines", "packages/server/src/http/middleware/Forward"],
    ["what takes snapshots of sessions", "packages/core/src/worktrees/snapshots/KeptSnapshots.ts"],
    ["what makes them of files", "packages/core/src/bench/snapshots/SealHere.ts"],
    ["what speaks to agents", "packages/core/src/harness/acp/AcpOpening.ts"],
    ["containers", "packages/core/src/executor/Container.ts"],
    ["the sandbox, where agents run without it", "packages/core/src/executor/Bubblewrap.ts"],
    ["the stores of blobs", "packages/core/src/store/Blobs.ts"],
    ["the door of editors", "packages/server/src/doors/acp/"],
    ["what speaks WebSocket", "node_modules/ws/"],
    ["the tools of assistants", "packages/server/src/doors/mcp/"],
    ["the library of their protocol", "node_modules/@modelcontextprotocol/"],
    ["what signs requests for S3", "node_modules/aws4fetch/"],
    ["the export over OTLP", "node_modules/@effect/opentelemetry/"]
  ])("leaves %s to those who use it", (_, path) => {
    const within = (run: boolean) => modules(run).filter(({ functionName }) => functionName.startsWith(path))
    assert.isEmpty(within(true))
    // A long line of the program is broken anywhere.
    assert.include(readFileSync(program, "latin1").replaceAll("\\\n", ""), `"${path}`)
  })
})

describe("the program that the build has compiled", () => {
  /** Tells in a process of its own, as the flags of this one are not those of a server. */
  const isRejected = (compiled: string) =>
    spawnSync(
      process.execPath,
      [
        "--print",
        `const [source, cachedData] = process.argv.slice(1).map((file) => fs.readFileSync(file));
         new vm.Script(source.latin1Slice(), { cachedData }).cachedDataRejected`,
        program,
        compiled
      ],
      { encoding: "utf8" }
    ).stdout.trim()

  it("is taken by this Node in the place of its source", () => {
    assert.strictEqual(isRejected(`${program}.compiled`), "false")
  })

  it("is refused when it is something else, so that the source is compiled", () => {
    assert.strictEqual(isRejected(program), "true")
  })
})
