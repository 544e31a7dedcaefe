import { readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe } from "@effect/vitest"
import { lowerable } from "@reins/machine/executor/EnforcedLimits"
import { Executors } from "@reins/machine/executor/Executors"
import { codeOf } from "@reins/testing/changes/Fixture"
import { localServer } from "@reins/testing/connections/LocalServer"
import { sandboxed } from "@reins/testing/executor/Sandbox"
import { Effect } from "effect"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { makeRemote, temporaryDirectory, withSandboxedAgent } from "../execution/Agent.js"
import { outputOf, setupEnds, setups, sh } from "./Setups.js"

describe("a setup in the sandbox", () => {
  sandboxed("reaches the hosts of its own list alone, whatever agents may reach, and no file of the service", () =>
    withSandboxedAgent((given) =>
      Effect.gen(function* () {
        const { activated, project, session } = yield* setups(given)
        const mine = yield* localServer((_asked, response) => void response.end("mine"))
        const other = yield* localServer((_asked, response) => void response.end("other"))
        const ask = (port: number) =>
          `curl -s -m 10 --noproxy '' -x "$HTTPS_PROXY" http://127.0.0.1:${port}/ || echo none; echo`
        const look = [
          `ls ${given.dataDir}/keyring.json ${given.dataDir}/setups 2>/dev/null; echo "files $?"`,
          ask(mine.port),
          ask(other.port),
          "env | grep -c -e API_KEY -e canary"
        ].join("; ")
        const listed = yield* session(
          yield* project({
            setup: [sh("look", `${look}; true`)],
            setup_network: [`127.0.0.1:${mine.port}`],
            network: "none"
          })
        )
        const output = outputOf((yield* activated(listed)).events)
        assert.match(
          output,
          /^files 2\nmine\n.*is not among the hosts that the project allows: name it in the setup_network.*\n0\n$/s
        )
        assert.deepStrictEqual([mine.asked.length, other.asked.length], [1, 0])

        const silent = yield* session(
          yield* project({
            setup: [
              sh("look", `echo "\${HTTPS_PROXY:-no proxy}"; curl -s -m 5 http://127.0.0.1:${mine.port}/ || echo none`)
            ],
            network: "open"
          })
        )
        assert.strictEqual(outputOf((yield* activated(silent)).events), "no proxy\nnone\n")
        assert.lengthOf(mine.asked, 1)
      })
    )
  )

  sandboxed(
    "the setup and the agent read the objects of their repository, which they cannot change, and no other ones",
    () =>
      withSandboxedAgent((given) =>
        Effect.gen(function* () {
          const { activated, pathsOf, project, session } = yield* setups(given)
          const { url } = makeRemote(yield* temporaryDirectory)
          const look =
            "git log --format=%s && git show HEAD:package.json >/dev/null && S=$(cat .git/objects/info/alternates) && " +
            '{ touch "$S/x" 2>/dev/null || echo closed; ls "$S/../.." | wc -l; }'
          const id = yield* session(yield* project({ repository: { url }, setup: [sh("look", look)] }))
          assert.match(outputOf((yield* activated(id)).events), /^.+\nclosed\n1\n$/)
          const run = (words: string) => given.runTurn(id, script(words, { tool: "bash", cmd: look }, { say: "Done." }))
          assert.strictEqual((yield* run("Work.")).state, "succeeded")
          const events = yield* given.eventsUntil(id, ({ type }) => type === "turn.succeeded")
          assert.include(JSON.stringify(events.filter(({ type }) => type === "tool.completed")), "closed\\n1")
          const { gitDir } = pathsOf(id)
          assert.include(readFileSync(join(gitDir, "objects/info/alternates"), "utf8"), given.dataDir)
        })
      )
  )

  sandboxed("limits hold for the setup and for the agent, and one that is not enforced is refused", () =>
    withSandboxedAgent((given) =>
      Effect.gen(function* () {
        const { activated, project, session } = yield* setups(given)
        const limited = (limits: object, setup: ReadonlyArray<ReturnType<typeof sh>> = []) =>
          project({ executor: { backend: "bubblewrap", limits }, setup })
        // The rest of it would be too much by itself.
        const large = "bash -c 'head -c 3000000 /dev/zero > large || echo refused; rm -f large' 2>/dev/null"
        const of = yield* session(yield* limited({ disk_bytes: 1024 ** 2 }, [sh("large", large)]))
        assert.strictEqual(outputOf((yield* activated(of)).events), "refused\n")
        const turn = yield* given.runTurn(of, script("Work.", { tool: "bash", cmd: large }, { say: "Done." }))
        assert.strictEqual(turn.state, "succeeded")
        const events = yield* given.eventsUntil(of, ({ type }) => type === "turn.succeeded")
        assert.include(JSON.stringify(events.filter(({ type }) => type === "tool.completed")), "refused")

        const many = "for n in 1 2 3; do head -c 900000 /dev/zero > $n; done; exec sleep 60"
        const tooMany = yield* activated(yield* session(yield* limited({ disk_bytes: 1024 ** 2 }, [sh("many", many)])))
        assert.deepStrictEqual(setupEnds(tooMany.events), ["setup.failed by commands"])
        assert.match(
          JSON.stringify(tooMany.events.at(-1)),
          /was ended by SIGKILL \(.*it may have 1 MiB of files, and took 3 MiB/
        )

        const [sandbox] = yield* (yield* Executors).list
        const memory = yield* limited({ memory_bytes: 1024 ** 3 })
        if (sandbox !== undefined && lowerable(sandbox.limits).includes("memory_bytes")) yield* session(memory)
        else assert.strictEqual(yield* codeOf(session(memory)), "executor_unavailable")
      })
    )
  )
})
