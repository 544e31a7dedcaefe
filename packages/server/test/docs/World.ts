import { spawnSync } from "node:child_process"
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { dialects, type KnownForge } from "@reins/testing/forge/ForgeDialects"
import { ForgeServer } from "@reins/testing/forge/ForgeServer"
import { plainGit, put } from "@reins/testing/git/Fixture"
import { gitHttpServer } from "@reins/testing/git/GitHttpServer"
import { cacheWithSmallAgent } from "@reins/testing/harness/SmallAgent"
import { cacheDir } from "@reins/testing/harness/Turns"
import { steadyPort } from "@reins/testing/process/Ports"
import { Effect } from "effect"
import { type Step, startGateway } from "reins-example-scripted-gateway/gateway.mjs"

const gatewayKey = "gateway-key-canary-docs"

/** The agent of alpha: `small` stands in for it at a fortieth of its cost. */
export type Agent = "small" | "real"

const cart =
  "/** The price of all items, in cents. */\nexport const total = (items) => items.reduce((sum, item) => sum + item.price, 0)\n"
const mended = cart.replace("sum + item.price,", "sum + item.price * item.quantity,")
const test = `import assert from "node:assert/strict"
import { test } from "node:test"
import { total } from "./cart.js"

test("the total counts every piece of an item", () => {
  assert.equal(total([{ price: 250, quantity: 2 }, { price: 100, quantity: 1 }]), 600)
})
`

/** The files that only the CI of the forges has: a test more. */
const ofCi = {
  "ci.test.js": `import assert from "node:assert/strict"
import { test } from "node:test"
import { total } from "./cart.js"

test("an item without a quantity counts once", () => {
  assert.equal(total([{ price: 250 }]), 250)
})
`
}

/** The answer of the model to most messages: it makes the failing test of the project pass. */
const work: Array<Step> = [
  { think: "First the code.", tool: "bash", cmd: "ls" },
  { say: "Quantities are ignored.", tool: "write", path: "cart.js", content: mended },
  { say: "The total now counts every piece, and the test passes." }
]

/** The answer to a message with the log of the CI. */
const care: Array<Step> = [
  {
    say: "The CI gets NaN.",
    tool: "write",
    path: "cart.js",
    content: mended.replace("item.quantity", "(item.quantity ?? 1)")
  },
  { say: "An item without a quantity now counts once." }
]

const stepsFor = (messages: ReadonlyArray<{ readonly role: string; readonly text: string }>): Array<Step> =>
  messages.findLast(({ role }) => role === "user")?.text.includes("NaN !== 250") === true ? care : work

/** A directory that is removed with the scope. */
export const temporary = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "reins-docs-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true, maxRetries: 5 }))
)

/** A forge with one project whose test fails. Without a token it is open to everybody who reads and writes with git. */
const forge = (kind: KnownForge, token: string | null) =>
  Effect.gen(function* () {
    const directory = yield* temporary
    const repository = kind === "gitlab" ? "you/tools/project" : "you/project"
    const bare = join(directory, `${repository}.git`)
    const source = join(directory, "source")
    mkdirSync(dirname(bare), { recursive: true })
    plainGit(directory, "init", "--quiet", "--bare", "--initial-branch=main", bare)
    plainGit(directory, "init", "--quiet", "--initial-branch=main", source)
    put(source, "package.json", `${JSON.stringify({ name: "cart", type: "module" })}\n`)
    put(source, "cart.js", cart)
    put(source, "cart.test.js", test)
    plainGit(source, "add", "--all")
    plainGit(source, "commit", "--quiet", "--message=first")
    plainGit(source, "push", "--quiet", bare, "main")
    const branches = (): ReadonlyMap<string, string> =>
      new Map(
        plainGit(bare, "for-each-ref", "--format=%(refname:lstrip=2) %(objectname)", "refs/heads")
          .split("\n")
          .map((line) => [line.split(" ")[0] ?? "", line.split(" ")[1] ?? ""])
      )
    const server = new ForgeServer(dialects[kind](repository), token ?? "", {
      headOf: (branch) => branches().get(branch),
      merge: (head, base) => void plainGit(bare, "update-ref", `refs/heads/${base}`, branches().get(head) ?? "")
    })
    const authorization = token === null ? null : `Basic ${Buffer.from(`x-access-token:${token}`).toString("base64")}`
    /** Runs the tests of a commit, and those of `files` beside them. */
    const runTests = (commit: string, files: Readonly<Record<string, string>>) => {
      const checkout = mkdtempSync(join(directory, "checkout-"))
      plainGit(directory, "clone", "--quiet", "--no-checkout", bare, checkout)
      plainGit(checkout, "checkout", "--quiet", "--detach", commit)
      for (const [name, content] of Object.entries(files)) put(checkout, name, content)
      const { NODE_TEST_CONTEXT: _, ...env } = process.env
      const { status, stdout } = spawnSync(process.execPath, ["--test"], { cwd: checkout, env, encoding: "utf8" })
      return { passed: status === 0, log: stdout }
    }
    /**
     * The CI of the forge: it tests each branch that is pushed, and each check that is begun anew. A check ends before the next look, so that no
     * reader waits 30 seconds for another one.
     */
    const runCi = (): void => {
      const known = new Set(server.checks.map(({ head }) => head))
      for (const [branch, head] of branches())
        if (branch !== "main" && !known.has(head)) server.check({ head, name: "test", state: "pending" })
      for (const check of server.checks.filter(({ state }) => state === "pending")) {
        const { log, passed } = runTests(check.head, ofCi)
        Object.assign(check, { state: passed ? "passed" : "failed", log })
      }
    }
    const handle: typeof server.handle = (request, response) => {
      if (request.method === "POST") response.once("finish", runCi)
      return server.handle(request, response)
    }
    const { url } = yield* gitHttpServer(directory, authorization, handle)
    return {
      url,
      repositoryUrl: `${url}/${repository}.git`,
      token,
      pulls: server.pulls,
      closed: server.closed,
      branches,
      /** True when the project's own test passes on a branch. */
      passesOn: (branch: string): boolean => runTests(`refs/remotes/origin/${branch}`, {}).passed,
      /** True when the test of the CI passes there too. */
      passesInCi: (branch: string): boolean => runTests(`refs/remotes/origin/${branch}`, ofCi).passed
    }
  })

/** Everything that a reader of the pages has of their own: a gateway, repositories, forges with tokens, and a machine. */
export const world = (agent: Agent) =>
  Effect.gen(function* () {
    const directory = yield* temporary
    const gateway = yield* Effect.acquireRelease(
      Effect.promise(() => startGateway({ apiKey: gatewayKey, plan: stepsFor })),
      (started) => Effect.promise(() => started.close())
    )
    const origin = yield* forge("gitea", null)
    const forges = {
      github: yield* forge("github", "github-token-canary"),
      gitlab: yield* forge("gitlab", "gitlab-token-canary"),
      gitea: yield* forge("gitea", "gitea-token-canary")
    }
    const port = yield* Effect.promise(steadyPort)
    const home = join(directory, "home")
    mkdirSync(join(home, ".cache"), { recursive: true })
    symlinkSync(agent === "small" ? cacheWithSmallAgent(directory) : cacheDir, join(home, ".cache/reins"))
    const env = {
      // The settings of a machine where nobody else listens at the usual port, and whose gateway and forges are on the loopback.
      REINS_PORT: String(port),
      REINS_DATA_DIR: join(directory, "data"),
      REINS_ALLOW_PRIVATE_HOSTS: "127.0.0.1",
      REINS_LOG_LEVEL: "warning",
      HOME: home,
      XDG_CACHE_HOME: join(home, ".cache"),
      XDG_CONFIG_HOME: join(home, ".config"),
      // Each reader has these of their own.
      REINS_URL: `http://127.0.0.1:${port}`,
      GATEWAY_URL: gateway.url,
      GATEWAY_KEY: gatewayKey,
      MODEL: "scripted-1",
      REPOSITORY: origin.repositoryUrl,
      BACKUPS: join(directory, "backups"),
      ...Object.fromEntries(
        Object.entries(forges).flatMap(([kind, { repositoryUrl, token, url }]) => {
          const name = kind.toUpperCase()
          return [
            [`${name}_URL`, url],
            [`${name}_TOKEN`, token ?? ""],
            [`${name}_REPOSITORY`, repositoryUrl]
          ]
        })
      )
    }
    return { directory, env, origin, forges, gateway }
  })

export type World = Effect.Effect.Success<ReturnType<typeof world>>
