import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe } from "@effect/vitest"
import { fixedPaths, TurnSetup } from "@reins/core/execution/setup/TurnSetup"
import { Projects } from "@reins/core/projects/Projects"
import { SessionStore } from "@reins/core/sessions/rows/SessionStore"
import { Sessions } from "@reins/core/sessions/Sessions"
import { existingOf } from "@reins/core/store/Existing"
import { Journal } from "@reins/core/store/Journal"
import { AgentStateStore } from "@reins/core/worktrees/AgentStateStore"
import { SessionFiles } from "@reins/core/worktrees/SessionFiles"
import { AgentPool } from "@reins/machine/agents/AgentPool"
import { agentPlaces } from "@reins/machine/bench/SessionPaths"
import { localServer } from "@reins/testing/connections/LocalServer"
import { processesOf, processesWhere, shown } from "@reins/testing/executor/Processes"
import { sandboxed } from "@reins/testing/executor/Sandbox"
import { Effect } from "effect"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { makeRemote, temporaryDirectory, withSandboxedAgent as withSandboxed } from "./Agent.js"

const bash = (cmd: string) => script("Work.", { tool: "bash", cmd }, { say: "Done." })

/** Started by a turn: one that has lost the marks of its agent as well. */
const lifetime = `1007.${process.pid}`
const daemons = ["setsid", "env -i prlimit --rttime=999999:999999 setsid"]
  .map((words) => `${words} sleep ${lifetime} </dev/null >/dev/null 2>&1 &`)
  .join(" ")
const sleepers = () => processesWhere((pid) => shown(pid, "cmdline").includes(lifetime))

describe("an agent in the sandbox", () => {
  sandboxed("is kept for the next turn, reaches its model in it, and loses what a turn has left running", () =>
    withSandboxed(({ gateway, principal, runTurn, workspaceId }) =>
      Effect.gen(function* () {
        const { id } = yield* (yield* Sessions).create(principal, workspaceId, {})
        const store = yield* SessionStore
        const turn = Effect.fnUntraced(function* (cmd: string) {
          const asked = gateway.requests.length
          const ended = yield* runTurn(id, bash(cmd))
          assert.strictEqual(ended.state, "succeeded", JSON.stringify(ended))
          assert.isAbove(gateway.requests.length, asked)
          const row = yield* store.find(id)
          assert.strictEqual(row?.executor.backend, "bubblewrap")
          return processesOf(row?.executor.lease?.id ?? "")
        })
        const first = yield* turn("true")
        assert.isNotEmpty(first)
        assert.deepStrictEqual(yield* turn(daemons), first)
        assert.deepStrictEqual(sleepers(), [])
        assert.deepStrictEqual(yield* turn("true"), first)
      })
    )
  )

  sandboxed("finds its workspace and its home at paths that are the same on every machine", () =>
    withSandboxed(({ principal, runTurn, workspaceId }) =>
      Effect.gen(function* () {
        const { id } = yield* (yield* Sessions).create(principal, workspaceId, {})
        const files = yield* SessionFiles
        const store = yield* SessionStore
        const { workspaceDir, homeDir } = agentPlaces(id)
        const upload = yield* files.upload(principal, id, { path: "given.txt", content: "given\n" })
        const look = `(pwd; echo "$HOME"; case "$TMPDIR" in "$HOME"/*) echo below;; esac; cat ${workspaceDir}/given.txt) > said.txt`
        const said = Effect.map(files.read(principal, id, "said.txt"), ({ content }) => content)
        const turn = yield* runTurn(id, bash(look), [upload.upload_id])
        assert.strictEqual(turn.state, "succeeded", JSON.stringify(turn))
        assert.strictEqual(yield* said, `${workspaceDir}\n${homeDir}\nbelow\ngiven\n`)
        assert.strictEqual((yield* store.find(id))?.agent.native_paths, "fixed")

        // A session whose native session began at the paths of the machine goes on there.
        const journal = yield* Journal
        const states = yield* AgentStateStore
        yield* (yield* AgentPool).stop((yield* store.find(id))?.executor.lease?.id ?? "")
        yield* journal.commit(states.change(id, { native_paths: null }))
        const setup = yield* TurnSetup
        const prepared = Effect.flatMap(existingOf("session", store.find)(id), (row) =>
          setup.prepare(row, () => Effect.void)
        )
        assert.isFalse((yield* prepared).order.isFixed)
        yield* journal.commit(states.change(id, { native_paths: fixedPaths }))
        assert.isTrue((yield* prepared).order.isFixed)
      })
    )
  )

  sandboxed("sees the files of a workspace that was cloned while it was started", () =>
    withSandboxed(({ directory, principal, runTurn, workspaceId }) =>
      Effect.gen(function* () {
        const { url } = makeRemote(directory)
        const { id } = yield* (yield* Sessions).create(principal, workspaceId, { repository: { url } })
        const turn = yield* runTurn(id, bash("cat sum.js > seen.txt"))
        assert.strictEqual(turn.state, "succeeded", JSON.stringify(turn))
        const { content } = yield* (yield* SessionFiles).read(principal, id, "seen.txt")
        assert.include(content, "export const sum")
      })
    )
  )

  sandboxed("reads the directories that the operator shares, and writes none of them", () =>
    Effect.flatMap(temporaryDirectory, (shared) => {
      writeFileSync(join(shared, "guide.txt"), "read me\n")
      const look = `(cat ${shared}/guide.txt; touch ${shared}/mine || echo refused) > seen.txt 2>&1`
      return withSandboxed(
        ({ principal, runTurn, workspaceId }) =>
          Effect.gen(function* () {
            const { id } = yield* (yield* Sessions).create(principal, workspaceId, {})
            const turn = yield* runTurn(id, bash(look))
            assert.strictEqual(turn.state, "succeeded", JSON.stringify(turn))
            const { content } = yield* (yield* SessionFiles).read(principal, id, "seen.txt")
            assert.include(content, "read me")
            assert.include(content, "refused")
          }),
        { sharedDirectories: [shared] }
      )
    })
  )

  sandboxed("has the proxy of its turn where its project has a network, also in the next turn", () =>
    withSandboxed(({ principal, runTurn, workspaceId }) =>
      Effect.gen(function* () {
        const allowed = yield* localServer((_asked, response) => void response.end("allowed"))
        const other = yield* localServer((_asked, response) => void response.end("other"))
        const { id: project_id } = yield* (yield* Projects).create(principal, workspaceId, {
          slug: "list",
          name: "list",
          spec: { network: [`127.0.0.1:${allowed.port}`] }
        })
        const { id } = yield* (yield* Sessions).create(principal, workspaceId, { project_id })
        const ask = (port: number, how: string) =>
          `curl -sS -p --noproxy "${how}" -x "$HTTPS_PROXY" http://127.0.0.1:${port}/ 2>&1`
        for (const round of [1, 2]) {
          const asks = [ask(allowed.port, ""), ask(other.port, ""), ask(other.port, "*"), "true"].join("; echo; ")
          const turn = yield* runTurn(id, bash(`(${asks}) > said-${round}.txt`))
          assert.strictEqual(turn.state, "succeeded", JSON.stringify(turn))
          const said = yield* Effect.map(
            (yield* SessionFiles).read(principal, id, `said-${round}.txt`),
            ({ content }) => content
          )
          const [through, refused, direct] = said.split("\n").filter((line) => line !== "")
          assert.strictEqual(through, "allowed")
          assert.include(refused, "403")
          assert.match(direct ?? "", /connect/i)
        }
        assert.lengthOf(other.asked, 0)
      })
    )
  )
})
