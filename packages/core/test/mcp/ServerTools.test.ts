import http from "node:http"
import { assert, describe, it } from "@effect/vitest"
import { ReinsError } from "@reins/base/domain/ReinsError"
import { ServerChecks } from "@reins/core/mcp/ServerChecks"
import type { ProjectServer } from "@reins/core/projects/ProjectServer"
import { Projects } from "@reins/core/projects/Projects"
import { InteractionStore } from "@reins/core/sessions/questions/InteractionStore"
import { onLoopback } from "@reins/testing/connections/Loopback"
import { type McpServer, mcpServer } from "@reins/testing/mcp/McpServer"
import { services } from "@reins/testing/sessions/Services"
import { databases } from "@reins/testing/store/Databases"
import { restOn } from "@reins/testing/Variants"
import { Effect, Fiber, Schedule } from "effect"
import { begin, key, look, newsOf, project } from "./ServerAgent.js"

const serverOf = ({ url }: McpServer, more: Partial<ProjectServer> = {}): ProjectServer => ({
  name: "lab",
  url,
  headers: { Authorization: { secret: "LAB_KEY", prefix: "Bearer " } },
  allow: ["get_issue", "add_comment"],
  permissions: { add_comment: "ask" },
  ...more
})

/** Lets a server be reached by a port on which nobody has listened. */
const comesUp = (port: number, { port: behind }: McpServer) =>
  Effect.acquireRelease(
    Effect.async<http.Server>((resume) => {
      const proxy = http.createServer((request, response) => {
        const { headers, method, url } = request
        const passed = http.request({ host: "127.0.0.1", port: behind, headers, method, path: url }, (answer) => {
          response.writeHead(answer.statusCode ?? 502, answer.headers)
          answer.pipe(response)
        })
        request.pipe(passed)
      })
      proxy.listen(port, "127.0.0.1", () => resume(Effect.succeed(proxy)))
    }),
    (proxy) => Effect.sync(() => proxy.close())
  )

for (const { layer: database, name } of databases) {
  describe(`tools of the servers of projects on ${name}`, () => {
    const config = { allowPrivateHosts: ["127.0.0.1"] }
    const withServices = Effect.provide(services(database, config))

    it.scopedLive("an agent is offered those that are allowed, and calls them without the key", () =>
      Effect.gen(function* () {
        const server = yield* mcpServer(key)
        const given = yield* project(serverOf(server))
        const agent = yield* begin(given)
        assert.deepStrictEqual((yield* agent.offered)?.at(-1), "lab get_issue add_comment")
        assert.notInclude(JSON.stringify(yield* agent.offer), key)
        const answer = yield* agent.call("get_issue", { number: 7 })
        assert.isFalse(answer.is_error)
        assert.include(answer.text, 'Issue {"number":7} [secret]')
        assert.notInclude(JSON.stringify(answer), key)
        const hidden = yield* agent.call("delete_all")
        assert.isTrue(hidden.is_error)
        assert.deepStrictEqual(
          server.calls.map(({ tool }) => tool),
          ["get_issue"]
        )
        assert.deepStrictEqual(
          (yield* agent.records).map(({ server, state, tool }) => [server, tool, state]),
          [["lab", "get_issue", "succeeded"]]
        )
      }).pipe(withServices)
    )

    restOn(name)(() => {
      it.scopedLive("a person allows a call that asks, and refuses the next", () =>
        Effect.gen(function* () {
          const server = yield* mcpServer(key)
          const agent = yield* begin(yield* project(serverOf(server)))
          const calling = yield* Effect.fork(agent.call("add_comment", { text: "Done." }))
          const question = yield* agent.asked
          assert.strictEqual(question?.kind, "approval")
          assert.strictEqual(question?.title, "lab: add_comment")
          assert.include(question?.description ?? "", "Done.")
          assert.lengthOf(server.calls, 0)
          yield* agent.answer(question?.id ?? "", "allow")
          assert.isFalse((yield* Fiber.join(calling)).is_error)
          assert.lengthOf(server.calls, 1)
          const again = yield* Effect.fork(agent.call("add_comment", { text: "Again." }))
          yield* agent.answer((yield* agent.asked)?.id ?? "", "reject")
          const refused = yield* Fiber.join(again)
          assert.isTrue(refused.is_error)
          assert.include(refused.text, "refused")
          assert.lengthOf(server.calls, 1)
        }).pipe(withServices)
      )

      it.scopedLive("a call that its agent withdraws takes its question back", () =>
        Effect.gen(function* () {
          const server = yield* mcpServer(key)
          const agent = yield* begin(yield* project(serverOf(server)))
          const calling = yield* Effect.fork(agent.call("add_comment"))
          const question = yield* agent.asked
          yield* Fiber.interrupt(calling)
          const state = Effect.map((yield* InteractionStore).find(question?.id ?? ""), (found) => found?.state)
          yield* Effect.repeat(state, {
            until: (found) => found === "cancelled",
            schedule: Schedule.spaced("25 millis")
          })
          assert.lengthOf(server.calls, 0)
        }).pipe(withServices)
      )

      it.scopedLive("a tool that has changed is neither offered nor called until somebody pins it anew", () =>
        Effect.gen(function* () {
          const server = yield* mcpServer(key)
          const named = serverOf(server)
          const given = yield* project(named)
          const agent = yield* begin(given)
          yield* agent.offered
          server.manner = "changed"
          yield* look(given, named)
          const refused = yield* agent.call("get_issue", { number: 7 })
          assert.isTrue(refused.is_error)
          assert.include(refused.text, "is not there any more")
          assert.lengthOf(server.calls, 0)
          assert.deepStrictEqual((yield* agent.offered)?.at(-1), "lab add_comment")
          assert.deepStrictEqual(yield* newsOf(agent.session.id), [
            ["mcp.tools_changed", { server: "lab", tools: ["get_issue"] }]
          ])
          const checks = yield* ServerChecks
          const seen = yield* checks.check(given.principal, given.project.id, {})
          assert.deepStrictEqual(
            seen.servers[0]?.tools.map(({ standing }) => standing),
            ["changed", "offered"]
          )
          assert.strictEqual(seen.version.ordinal, 1)
          const pinned = yield* checks.check(given.principal, given.project.id, { pin: true })
          assert.strictEqual(pinned.version.ordinal, 2)
          const next = yield* begin(given)
          assert.deepStrictEqual((yield* next.offered)?.at(-1), "lab get_issue add_comment")
          assert.isFalse((yield* next.call("get_issue", { number: 8 })).is_error)
          // The session of the first version keeps the pins of that version.
          assert.isTrue((yield* agent.call("get_issue", { number: 9 })).is_error)
        }).pipe(withServices)
      )

      it.scopedLive("a tool that has changed a moment ago is not offered", () =>
        Effect.gen(function* () {
          const server = yield* mcpServer(key)
          const agent = yield* begin(yield* project(serverOf(server)))
          assert.deepStrictEqual((yield* agent.offered)?.at(-1), "lab get_issue add_comment")
          server.manner = "changed"
          assert.deepStrictEqual((yield* agent.offered)?.at(-1), "lab add_comment")
          server.manner = "good"
          assert.deepStrictEqual((yield* agent.offered)?.at(-1), "lab get_issue add_comment")
        }).pipe(withServices)
      )

      it.scopedLive("a server that comes up a moment after the turn has begun is found", () =>
        Effect.gen(function* () {
          const server = yield* mcpServer(key)
          const port = yield* Effect.scoped(onLoopback(() => http.createServer()))
          // Nobody listens there until the first look has failed.
          const late = { ...serverOf(server), url: `http://127.0.0.1:${port}/mcp` }
          const given = yield* project(late)
          const agent = yield* begin(given)
          const offered = yield* Effect.fork(agent.offered)
          yield* comesUp(port, server)
          assert.deepStrictEqual((yield* Fiber.join(offered))?.at(-1), "lab get_issue add_comment")
        }).pipe(withServices)
      )

      it.scopedLive(
        "names that gateways do not take are offered as others, and called and recorded as the server's own",
        () =>
          Effect.gen(function* () {
            const server = yield* mcpServer(key)
            const names = ["calendar.listEvents", "calendar_listEvents", "a/b:c", "constructor", "x".repeat(128)]
            const inputSchema = { type: "object" }
            server.list = { tools: names.map((name) => ({ name, description: "x", inputSchema })) }
            server.isLenient = true
            const agent = yield* begin(yield* project(serverOf(server, { allow: names, permissions: {} })))
            const offered = (yield* agent.offer)?.servers.at(-1)?.tools.map((tool) => tool.name) ?? []
            assert.lengthOf(offered, names.length)
            for (const name of offered) assert.match(name, /^[A-Za-z0-9_-]{1,40}$/)
            for (const name of offered) assert.isFalse((yield* agent.call(name)).is_error, name)
            assert.deepStrictEqual(
              server.calls.map(({ tool }) => tool),
              names
            )
            assert.sameMembers(
              (yield* agent.records).map(({ tool }) => tool),
              names
            )
          }).pipe(withServices)
      )

      it.scopedLive("a schema that gateways refuse is offered as a wider one, and pinned as the server has it", () =>
        Effect.gen(function* () {
          const server = yield* mcpServer(key)
          const inputSchema = {
            type: "object",
            properties: { number: { type: "integer" }, labels: { type: "array" } },
            anyOf: [{ required: ["number"] }, { required: ["labels"] }]
          }
          server.list = { tools: [{ name: "get_issue", description: "Gets.", inputSchema }] }
          const given = yield* project(serverOf(server, { allow: ["get_issue"], permissions: {} }))
          const agent = yield* begin(given)
          assert.deepStrictEqual((yield* agent.offer)?.servers.at(-1)?.tools[0]?.input_schema, {
            type: "object",
            properties: { number: { type: "integer" }, labels: { type: "array", items: {} } }
          })
          server.list = {
            tools: [{ name: "get_issue", description: "Gets.", inputSchema: { ...inputSchema, anyOf: [] } }]
          }
          const [checked] = (yield* (yield* ServerChecks).check(given.principal, given.project.id, {})).servers
          assert.strictEqual(checked?.tools[0]?.standing, "changed")
        }).pipe(withServices)
      )

      it.scopedLive("a check names the field of a tool that cannot be offered, and what a server is that answers", () =>
        Effect.gen(function* () {
          const server = yield* mcpServer(key)
          server.list = { tools: [{ name: "get_issue", description: 7 }, null, { name: "other" }] }
          const given = yield* project(serverOf(server))
          const checked = Effect.map(
            Effect.flatMap(ServerChecks, (checks) =>
              Effect.uninterruptible(checks.check(given.principal, given.project.id, {}))
            ),
            ({ servers }) => servers[0]
          )
          const found = yield* checked
          assert.deepStrictEqual([found?.state, found?.listed], ["reached", 3])
          assert.deepStrictEqual(
            found?.tools.map(({ standing }) => standing),
            ["refused", "missing"]
          )
          assert.include(found?.tools[0]?.reason ?? "", '"description"')
          assert.isNull(found?.tools[1]?.reason)
          server.list = { tools: null }
          const unusable = yield* checked
          assert.deepStrictEqual([unusable?.state, unusable?.tools[0]?.standing], ["unusable", "missing"])
          assert.include(unusable?.problem ?? "", '"tools"')
          yield* given.putKey
        }).pipe(withServices)
      )

      it.scopedLive("a server that is down costs its own tools, and a lost answer is told as such", () =>
        Effect.gen(function* () {
          const server = yield* mcpServer(key)
          const named = serverOf(server)
          const given = yield* project(named, false)
          const agent = yield* begin(given)
          assert.deepStrictEqual(
            (yield* agent.offered)?.map((words) => words.split(" ")[0]),
            ["reins"]
          )
          const [news] = yield* newsOf(agent.session.id)
          assert.strictEqual(news?.[0], "mcp.server_unavailable")
          assert.include(JSON.stringify(news), "needs the secret LAB_KEY")
          yield* given.putKey
          yield* look(given, named)
          assert.deepStrictEqual((yield* agent.offered)?.at(-1), "lab get_issue add_comment")
          server.manner = "drop"
          const lost = yield* agent.call("get_issue", { number: 7 })
          assert.isTrue(lost.is_error)
          assert.include(lost.text, "may have happened")
          assert.deepStrictEqual(
            (yield* agent.records).map(({ state }) => state),
            ["outcome_unknown"]
          )
          assert.lengthOf(server.calls, 1)
          // The tools that were seen before stand for a server that is down, so that the list of the agent stays.
          server.manner = "forgetful"
          yield* look(given, named)
          assert.deepStrictEqual((yield* agent.offered)?.at(-1), "lab get_issue add_comment")
          const down = yield* agent.call("get_issue", { number: 7 })
          assert.include(down.text, "cannot be used")
        }).pipe(withServices)
      )

      it.scopedLive("a check is of a version of the project alone", () =>
        Effect.gen(function* () {
          const server = yield* mcpServer(key)
          const given = yield* project(serverOf(server))
          const checks = yield* ServerChecks
          const codeOf = <A, E>(effect: Effect.Effect<A, E>) =>
            Effect.map(Effect.flip(effect), (error) => (error instanceof ReinsError ? error.code : error))
          const other = yield* (yield* Projects).create(given.principal, given.workspaceId, {
            slug: "other",
            name: "Other",
            spec: {}
          })
          const version_id = other.latest_version?.id
          if (version_id === undefined) return yield* Effect.dieMessage("there is no version")
          assert.strictEqual(
            yield* codeOf(checks.check(given.principal, given.project.id, { version_id })),
            "not_found"
          )
        }).pipe(withServices)
      )
    })
  })
}
