import { existsSync, mkdirSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Sessions } from "@reins/core/sessions/Sessions"
import { CallLedger } from "@reins/core/tools/CallLedger"
import { Manifests } from "@reins/machine/harness/Manifests"
import { Effect } from "effect"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { git, isTurnEnd, makeRemote, withAgent } from "../test/execution/Agent.js"

/** A repository whose files name a server for each agent. Its command makes the mark. */
const naming = (directory: string, mark: string): string => {
  const { url } = makeRemote(directory)
  const clone = join(directory, "naming")
  git(directory, "clone", "--quiet", url, clone)
  const [command, ...args] = ["/bin/sh", "-c", `: > '${mark}'; cat > /dev/null`]
  const put = (path: string, text: string) => {
    mkdirSync(dirname(join(clone, path)), { recursive: true })
    writeFileSync(join(clone, path), text)
  }
  put("AGENTS.md", "The mark of the rules.\n")
  put(
    "opencode.json",
    JSON.stringify({ mcp: { theirs: { type: "local", command: [command, ...args], enabled: true } } })
  )
  put(
    ".codex/config.toml",
    `[mcp_servers.theirs]\ncommand = ${JSON.stringify(command)}\nargs = ${JSON.stringify(args)}\n`
  )
  git(clone, "add", "--all")
  git(clone, "commit", "--quiet", "--message=Name servers")
  git(clone, "push", "--quiet", "origin", "HEAD")
  return url
}

const steps = [
  { tool: "bash", cmd: "ls" },
  { tool: "delegate", args: { name: "writer", instructions: "Say a word." } },
  { say: "Nothing was started while these words were said one after the other.", slow_ms: 200 }
] as const

const about = (kind: "alpha_gateway" | "beta") =>
  withAgent(
    kind,
    ({ directory, eventsUntil, gateway, principal, runTurn, workspaceId }) =>
      Effect.gen(function* () {
        const mark = join(directory, "mark")
        const session = yield* (yield* Sessions).create(principal, workspaceId, {
          repository: { url: naming(directory, mark) },
          harness: { provider_id: kind === "beta" ? "beta" : "alpha" }
        })
        const turn = yield* runTurn(session.id, script("Look.", ...steps))
        assert.strictEqual(turn.state, "succeeded", JSON.stringify(turn))
        assert.isTrue(
          gateway.requests.some(({ messages }) => messages.some(({ text }) => text.includes("mark of the rules")))
        )
        const calls = (yield* (yield* CallLedger).list(turn.id, {})).items
        assert.deepStrictEqual(
          calls.map(({ state, tool }) => `${tool} ${state}`),
          ["delegate succeeded"]
        )
        const events = yield* eventsUntil(session.id, isTurnEnd)
        const told = events.flatMap(({ payload, type }) =>
          type === "diagnostic.reported" && payload["kind"] === "foreign_servers" ? [payload["line"]] : []
        )
        return { isStarted: existsSync(mark), told }
      }),
    { executors: ["local"] },
    Manifests.layer
  )

describe("servers of tools that files of a repository name", () => {
  it.scopedLive(
    "OpenCode starts none, reads the rules of the repository, and calls the tools of the service",
    () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* about("alpha_gateway"), { isStarted: false, told: [] })
      }),
    180_000
  )

  it.scopedLive(
    "Codex starts them, and the session is told which file names them",
    () =>
      Effect.gen(function* () {
        const { isStarted, told } = yield* about("beta")
        assert.isTrue(isStarted)
        assert.deepStrictEqual(told, [
          ".codex/config.toml of the repository names servers of tools. Codex starts them by itself, beside the tools of the project."
        ])
      }),
    180_000
  )
})
