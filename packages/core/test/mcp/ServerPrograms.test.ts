import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { CoreConfig } from "@reins/base/base/CoreConfig"
import { ServerChecks } from "@reins/core/mcp/ServerChecks"
import { ProjectSecrets } from "@reins/core/projects/ProjectSecrets"
import type { ProjectServer } from "@reins/core/projects/ProjectServer"
import { Database } from "@reins/core/store/Database"
import { localServer } from "@reins/testing/connections/LocalServer"
import { sandboxed } from "@reins/testing/executor/Sandbox"
import { stdioServer, stdioServerOf } from "@reins/testing/mcp/StdioServer"
import { services } from "@reins/testing/sessions/Services"
import { flowDatabases } from "@reins/testing/store/Databases"
import { Effect, Fiber, Redacted, Schedule } from "effect"
import { begin, key, look, newsOf, project } from "./ServerAgent.js"

const program = (more: Partial<ProjectServer> = {}): ProjectServer => ({
  name: "lab",
  command: stdioServer,
  environment: [
    { name: "LAB_KEY", secret: "LAB_KEY" },
    { name: "LAB_MODE", value: "test" }
  ],
  allow: ["get_issue", "add_comment", "look", "large", "die", "hang", "flood"],
  permissions: { add_comment: "ask" },
  ...more
})

/** Twenty secrets of a program, some of which are written in another way elsewhere. */
const secrets = Array.from({ length: 20 }, (_, at) => `canary-${at}${["", "/+", "%2F", "&="][at % 4]}-Zq8rT2vX5nB7mK1p`)

/** The number of the call, counted by the program itself. */
const countIn = (text: string): number => Number(/ call (\d+)$/.exec(text)?.[1])

const looked = (text: string): { reads: boolean; connects: boolean; home: string; names: ReadonlyArray<string> } =>
  JSON.parse(text)

/** The programs that run below the homes of a data directory. */
const homesOf = (dataDir: string): ReadonlyArray<string> =>
  existsSync(join(dataDir, "programs"))
    ? readdirSync(join(dataDir, "programs")).flatMap((boot) => readdirSync(join(dataDir, "programs", boot)))
    : []

for (const { layer: database, name } of flowDatabases) {
  describe(`programs of the servers of projects on ${name}`, () => {
    const withServices = Effect.provide(
      services(database, { allowPrivateHosts: ["127.0.0.1"], executors: ["bubblewrap", "local"] })
    )

    sandboxed("an agent calls their tools, and only the program has the key", () =>
      Effect.gen(function* () {
        const given = yield* project(program())
        const agent = yield* begin(given)
        assert.deepStrictEqual((yield* agent.offered)?.at(-1), "lab get_issue add_comment look large die hang flood")
        assert.notInclude(JSON.stringify(yield* agent.offer), key)
        const answer = yield* agent.call("get_issue", { number: 7 })
        assert.isFalse(answer.is_error, answer.text)
        assert.match(answer.text, /^Issue \{"number":7\} \[secret\] call 1$/)
        // One program serves all calls.
        assert.strictEqual(countIn((yield* agent.call("get_issue", { number: 8 })).text), 2)
        const asking = yield* Effect.fork(agent.call("add_comment"))
        yield* agent.answer((yield* agent.asked)?.id ?? "", "allow")
        assert.strictEqual((yield* Fiber.join(asking)).text, "Added.")
        const seen = yield* (yield* ServerChecks).check(given.principal, given.project.id, { pin: true })
        assert.deepStrictEqual(
          [seen.servers[0]?.state, seen.servers[0]?.listed, seen.version.ordinal],
          ["reached", 8, 2]
        )
      }).pipe(withServices)
    )

    for (const era of ["2024-11-05", "2025-11-25", "2026-07-28"] as const)
      sandboxed(`an agent calls the tools of a program that speaks the protocol of ${era} alone`, () =>
        Effect.gen(function* () {
          const given = yield* project(program({ command: stdioServerOf(era) }))
          const agent = yield* begin(given)
          assert.deepStrictEqual((yield* agent.offered)?.at(-1), "lab get_issue add_comment look large die hang flood")
          const answer = yield* agent.call("get_issue", { number: 7 })
          assert.strictEqual(answer.text, 'Issue {"number":7} [secret] call 1')
          const [checked] = (yield* (yield* ServerChecks).check(given.principal, given.project.id, {})).servers
          assert.deepStrictEqual([checked?.state, checked?.protocol], ["reached", era])
        }).pipe(withServices)
      )

    sandboxed("a program reads no file of the service, and connects to the hosts of its list alone", () =>
      Effect.gen(function* () {
        const { dataDir } = yield* CoreConfig
        writeFileSync(join(dataDir, "secret.txt"), "secret")
        const { port } = yield* localServer((_asked, response) => void response.end("mine"))
        const agent = yield* begin(yield* project(program()))
        const found = looked((yield* agent.call("look", { path: join(dataDir, "secret.txt"), port })).text)
        assert.deepStrictEqual([found.reads, found.connects, found.home], [false, false, "/program/home"])
        assert.includeMembers([...found.names], ["LAB_KEY", "LAB_MODE"])
        assert.notInclude(found.names, "HTTPS_PROXY")
        const open = yield* begin(yield* project(program({ network: [`127.0.0.1:${port}`] }), true, "other"))
        assert.include(looked((yield* open.call("look", { path: "/nowhere", port })).text).names, "HTTPS_PROXY")
      }).pipe(withServices)
    )

    sandboxed("one that dies fails its call, is started anew, and is given up after three times", () =>
      Effect.gen(function* () {
        const named = program()
        const given = yield* project(named)
        const agent = yield* begin(given)
        for (const _ of [1, 2, 3]) {
          const died = yield* agent.call("die")
          assert.isTrue(died.is_error)
          assert.include(died.text, "may have happened")
          assert.include(died.text, "has ended with exit code 3. It wrote last: I die with [secret]")
        }
        const given_up = yield* look(given, named)
        assert.include(given_up.problem ?? "", "has ended 3 times within ten minutes")
        const refused = yield* agent.call("get_issue", { number: 7 })
        assert.include(refused.text, "cannot be used")
        yield* agent.offered
        assert.strictEqual((yield* newsOf(agent.session.id)).at(-1)?.[0], "mcp.server_unavailable")
      }).pipe(withServices)
    )

    sandboxed("a call ends when its program dies, also when a check has started the program", () =>
      Effect.gen(function* () {
        const given = yield* project(program())
        const check = (yield* ServerChecks).check(given.principal, given.project.id, {})
        // A check is a command, which runs where interruption is off.
        assert.strictEqual((yield* Effect.uninterruptible(check)).servers[0]?.state, "reached")
        const agent = yield* begin(given)
        for (const _ of [1, 2]) {
          const died = yield* agent.call("die")
          assert.include(died.text, "has ended with exit code 3")
          assert.strictEqual((yield* agent.records).at(-1)?.state, "outcome_unknown")
        }
      }).pipe(withServices)
    )

    sandboxed("an answer of 5 MB is refused, and a call that is withdrawn leaves the program", () =>
      Effect.gen(function* () {
        const agent = yield* begin(yield* project(program()))
        assert.strictEqual(countIn((yield* agent.call("get_issue", {})).text), 1)
        const hanging = yield* Effect.fork(agent.call("hang"))
        yield* Effect.repeat(agent.records, {
          until: (calls) => calls.some(({ state, tool }) => tool === "hang" && state === "running"),
          schedule: Schedule.spaced("25 millis")
        })
        yield* Fiber.interrupt(hanging)
        assert.strictEqual(countIn((yield* agent.call("get_issue", {})).text), 2)
        const large = yield* agent.call("large")
        assert.isTrue(large.is_error)
        assert.isBelow(large.text.length, 1000)
      }).pipe(withServices)
    )

    sandboxed("a line without an end fails its call, and the next call starts the program anew", () =>
      Effect.gen(function* () {
        const agent = yield* begin(yield* project(program()))
        assert.strictEqual(countIn((yield* agent.call("get_issue", {})).text), 1)
        const flooded = yield* agent.call("flood")
        assert.isTrue(flooded.is_error)
        assert.include(flooded.text, "The program wrote a line that does not end.")
        assert.include(flooded.text, "may have happened")
        assert.strictEqual(countIn((yield* agent.call("get_issue", {})).text), 1)
      }).pipe(withServices)
    )

    sandboxed("none of the twenty secrets of a program is in an answer, an event or a home, however it says them", () =>
      Effect.gen(function* () {
        const environment = secrets.map((_, at) => ({ name: `KEY_${at}`, secret: `KEY_${at}` }))
        const given = yield* project(program({ environment, allow: ["tell"], permissions: {} }))
        for (const [at, secret] of secrets.entries())
          yield* (yield* ProjectSecrets).put(given.principal, given.project.id, `KEY_${at}`, Redacted.make(secret))
        const agent = yield* begin(given)
        assert.deepStrictEqual((yield* agent.offered)?.at(-1), "lab tell")
        const answer = yield* agent.call("tell")
        assert.isFalse(answer.is_error, answer.text)
        assert.include(answer.text, "[secret]")
        const { all, sql } = yield* Database
        const rows = yield* Effect.forEach(
          ["events", "tool_calls", "interactions", "messages", "project_tool_pins", "project_versions"],
          (table) => all(sql<object>`select * from ${sql(table)}`)
        )
        const { dataDir } = yield* CoreConfig
        const files = readdirSync(dataDir, { recursive: true, withFileTypes: true })
          .filter((entry) => entry.isFile())
          .map((entry) => readFileSync(join(entry.parentPath, entry.name), "latin1"))
        const seen = JSON.stringify([answer, yield* agent.offer, rows]) + files.join("")
        for (const secret of secrets) {
          const bytes = Buffer.from(secret)
          for (const form of [secret, encodeURIComponent(secret), bytes.toString("base64"), bytes.toString("hex")])
            assert.notInclude(seen, form)
        }
      }).pipe(withServices)
    )

    sandboxed("nothing of a program is left when the service has ended", () =>
      Effect.gen(function* () {
        const dataDir = yield* Effect.gen(function* () {
          const agent = yield* begin(yield* project(program()))
          yield* agent.call("get_issue", {})
          const { dataDir } = yield* CoreConfig
          assert.lengthOf(homesOf(dataDir), 1)
          return dataDir
        }).pipe(withServices)
        assert.deepStrictEqual(homesOf(dataDir), [])
      })
    )

    it.scopedLive("without a sandbox no program runs, and the session is told", () =>
      Effect.gen(function* () {
        const agent = yield* begin(yield* project(program()))
        yield* agent.offered
        const [news] = yield* newsOf(agent.session.id)
        assert.strictEqual(news?.[0], "mcp.server_unavailable")
        assert.include(JSON.stringify(news), "in a sandbox of their own, and this server has none")
      }).pipe(Effect.provide(services(database)))
    )
  })
}
