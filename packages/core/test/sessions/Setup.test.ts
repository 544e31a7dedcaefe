import { existsSync, lstatSync, readFileSync, statSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Changesets } from "@reins/core/changes/Changesets"
import { Jobs } from "@reins/core/jobs/Jobs"
import { ProjectSecrets } from "@reins/core/projects/ProjectSecrets"
import { Sessions } from "@reins/core/sessions/Sessions"
import { SessionFiles } from "@reins/core/worktrees/SessionFiles"
import { isBorne } from "@reins/machine/executor/ProcessTable"
import { codeOf } from "@reins/testing/changes/Fixture"
import { flowDatabases } from "@reins/testing/store/Databases"
import { Effect, Redacted } from "effect"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { makeRemote, withAgent } from "../execution/Agent.js"
import { outputOf, setupEnds, setups, sh } from "./Setups.js"

const token = "setup-token-Zq8rT2vX5nB7"
const key = "agent-key-mK1pZq8rT2vX\nwith-a-second-line"

/** A command that leaves files of every sort: in no repository, in it, gone from it, outside of the workspace. */
const install = sh(
  "install",
  [
    "mkdir -p node_modules/left",
    "date +%s%N > node_modules/left/made",
    "ln -s made node_modules/left/link",
    "echo generated > generated.txt",
    "echo '// set up' >> sum.js",
    "rm sum.test.js",
    "mkdir -p ~/.tool && echo tool > ~/.tool/version",
    'echo "token $TOKEN greeting $(printenv GREETING || echo none)"',
    "echo to stderr >&2"
  ].join(" && ")
)

for (const { layer, name } of flowDatabases) {
  describe(`the setup of a project (${name})`, () => {
    it.scopedLive(
      "runs once, is copied for the next session, is no part of its changes, and keeps its secrets",
      () =>
        withAgent(
          "alpha_gateway",
          (given) =>
            Effect.gen(function* () {
              const { directory, eventsUntil, principal, runTurn } = given
              const { activated, pathsOf, project, session } = yield* setups(given)
              const secrets = yield* ProjectSecrets
              const id = yield* project({
                repository: { url: makeRemote(directory).url },
                setup: [install],
                environment: [
                  { name: "TOKEN", secret: "registry", for: "setup" },
                  { name: "KEY", secret: "key", for: "agent" },
                  { name: "GREETING", value: "hello", for: "agent" }
                ]
              })
              yield* secrets.put(principal, id, "registry", Redacted.make(token))
              yield* secrets.put(principal, id, "key", Redacted.make(key))

              const first = yield* session(id)
              const set = yield* activated(first)
              assert.deepStrictEqual(setupEnds(set.events), ["setup.succeeded by commands"])
              assert.strictEqual(outputOf(set.events), "token [secret] greeting none\nto stderr\n")

              const second = yield* session(id)
              assert.deepStrictEqual(setupEnds((yield* activated(second)).events), ["setup.succeeded by copy"])
              const [one, two] = [pathsOf(first), pathsOf(second)]
              const made = (path: string) => join(path, "node_modules/left/made")
              assert.strictEqual(readFileSync(made(one.workTree), "utf8"), readFileSync(made(two.workTree), "utf8"))
              assert.notStrictEqual(statSync(made(one.workTree)).ino, statSync(made(two.workTree)).ino)
              assert.isTrue(lstatSync(join(two.workTree, "node_modules/left/link")).isSymbolicLink())
              assert.strictEqual(readFileSync(join(two.home, ".tool/version"), "utf8"), "tool\n")
              assert.isFalse(existsSync(join(two.home, ".setup-tmp")))

              const cmd =
                'echo "$(printenv TOKEN || echo none) $KEY $GREETING"; git status --short | sort; echo mine > mine.txt; echo "// mine" >> generated.txt'
              const turn = yield* runTurn(second, script("Work.", { tool: "bash", cmd }, { say: "Done." }))
              assert.strictEqual(turn.state, "succeeded", JSON.stringify(turn))
              const events = yield* eventsUntil(second, ({ type }) => type === "changeset.ready")
              const all = JSON.stringify(events)
              assert.include(all, "none [secret]")
              assert.include(all, "hello")
              for (const line of [token, ...key.split("\n")]) assert.notInclude(all, line)

              const { items } = yield* (yield* Changesets).list(principal, second, {})
              assert.deepStrictEqual(
                items[0]?.files.map(({ path, status }) => `${status} ${path}`),
                ["added generated.txt", "added mine.txt"]
              )

              yield* secrets.put(principal, id, "registry", Redacted.make("another-token-5nB7mK1p"))
              const third = yield* activated(yield* session(id))
              assert.deepStrictEqual(setupEnds(third.events), ["setup.succeeded by commands"])
            }),
          {},
          undefined,
          layer
        ),
      120_000
    )

    it.scopedLive(
      "a command that fails fails the activation and the turn, with its code and the end of its output",
      () =>
        withAgent(
          "alpha_gateway",
          (given) =>
            Effect.gen(function* () {
              const { principal, runTurn } = given
              const { activated, project, session } = yield* setups(given)
              const id = yield* project({
                setup: [sh("begin", "echo begun > half"), sh("break", 'test -e half && echo "no $TOKEN" && exit 7')],
                environment: [{ name: "TOKEN", secret: "registry" }]
              })
              const of = yield* session(id)
              const missing = yield* runTurn(of, script("Work.", { say: "Done." }))
              assert.deepInclude(missing, { state: "failed", reason: "executor_unavailable" })
              assert.include(missing.reason_message ?? "", `PUT /api/projects/${id}/secrets/registry`)

              yield* (yield* ProjectSecrets).put(principal, id, "registry", Redacted.make(token))
              const { events, operationId } = yield* activated(of)
              assert.deepStrictEqual(setupEnds(events), ["setup.failed by commands"])
              const turn = yield* runTurn(of, script("Work.", { say: "Done." }))
              assert.strictEqual(turn.state, "failed")
              assert.include(
                turn.reason_message ?? "",
                'The setup command "break" failed with exit code 7. It wrote last:\nno [secret]'
              )
              const operation = yield* (yield* Jobs).operation(principal, operationId)
              const all = JSON.stringify([operation, events, turn])
              assert.include(all, "setup_failed")
              assert.notInclude(all, token)
            }),
          {},
          undefined,
          layer
        )
    )
  })
}

describe("the setup of a project", () => {
  it.scopedLive("sessions that need the same at once run it once, and an upload waits for it", () =>
    withAgent("alpha_gateway", (given) =>
      Effect.gen(function* () {
        const { principal } = given
        const { activated, pathsOf, project, session } = yield* setups(given)
        const id = yield* project({ setup: [sh("slow", "cat /proc/uptime > made; echo begun; sleep 1; echo done")] })
        const ids = yield* Effect.all([session(id), session(id), session(id)])
        const files = yield* SessionFiles
        const early = files.upload(principal, ids[0] ?? "", { path: "a.txt", content: "a" })
        assert.strictEqual(yield* codeOf(early), "executor_unavailable")
        const ended = yield* Effect.forEach(ids, activated, { concurrency: "unbounded" })
        assert.deepStrictEqual(ended.flatMap(({ events }) => setupEnds(events)).sort(), [
          "setup.succeeded by commands",
          "setup.succeeded by copy",
          "setup.succeeded by copy"
        ])
        const made = ids.map((each) => readFileSync(join(pathsOf(each).workTree, "made"), "utf8"))
        assert.lengthOf([...new Set(made)], 1)
        yield* files.upload(principal, ids[0] ?? "", { path: "a.txt", content: "a" })
      })
    )
  )

  it.scopedLive("what takes too long is ended with all that it has started, and what it writes is bounded", () =>
    withAgent("alpha_gateway", (given) =>
      Effect.gen(function* () {
        const { activated, project, session } = yield* setups(given)
        const endless = {
          ...sh("endless", "seq 1 100000; (setsid sh -c 'sleep 30' &); exec sleep 60"),
          timeout_seconds: 1
        }
        const of = yield* session(yield* project({ setup: [endless] }))
        const { events } = yield* activated(of)
        const failed = events.find((event) => event.type === "setup.failed")
        assert.match(JSON.stringify(failed), /took longer than 1 s and was ended/)
        assert.isAtMost(outputOf(events).length, 256 * 1024)
        assert.lengthOf(
          events.filter((event) => event.type === "setup.progressed" && event.payload.truncated),
          1
        )
        assert.isFalse(yield* Effect.promise(() => isBorne({ kind: "lease", id: `setup_${of}` }, 0)))
      })
    )
  )

  it.scopedLive("a session that is closed meanwhile ends it", () =>
    withAgent("alpha_gateway", (given) =>
      Effect.gen(function* () {
        const { eventsUntil, principal } = given
        const { activated, project, session } = yield* setups(given)
        const of = yield* session(yield* project({ setup: [sh("long", "echo begun; exec sleep 600")] }))
        const ending = yield* Effect.fork(activated(of))
        yield* eventsUntil(of, ({ type }) => type === "setup.progressed")
        yield* (yield* Sessions).close(principal, of)
        const { events } = yield* ending
        assert.deepStrictEqual(setupEnds(events), ["setup.failed by commands"])
        assert.match(JSON.stringify(events.at(-1)), /closed while its workspace was set up/)
      })
    )
  )
})
