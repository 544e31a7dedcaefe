import { createHmac } from "node:crypto"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { inspect } from "node:util"
import { assert, layer } from "@effect/vitest"
import { Boot } from "@reins/base/base/Boot"
import { CoreConfig } from "@reins/base/base/CoreConfig"
import * as Core from "@reins/core/Core"
import { Connections } from "@reins/core/connections/Connections"
import { Validations } from "@reins/core/connections/Validations"
import { Deliveries } from "@reins/core/deliveries/Deliveries"
import { HookReceiving } from "@reins/core/hooks/HookReceiving"
import { Hooks } from "@reins/core/hooks/Hooks"
import { PasswordCost } from "@reins/core/identity/Passwords"
import { Projects } from "@reins/core/projects/Projects"
import { MergeRequestLooks } from "@reins/core/requests/looks/MergeRequestLooks"
import { MergeRequests } from "@reins/core/requests/MergeRequests"
import { eventOf, eventsUntil, operationEnd, remote, workspace } from "@reins/testing/changes/Fixture"
import { appKeys, ForgeApp } from "@reins/testing/forge/ForgeApp"
import { temporary } from "@reins/testing/git/Fixture"
import { everythingStored } from "@reins/testing/identity/Identity"
import { ownerWithConnection } from "@reins/testing/sessions/Services"
import { flowDatabases } from "@reins/testing/store/Databases"
import { Cause, Effect, Layer, Logger, LogLevel } from "effect"
import { isAtRest, until } from "../requests/Watched.js"

/** All that was logged, of any level. */
const logged: Array<string> = []
const loud = Layer.merge(
  Logger.replace(
    Logger.defaultLogger,
    Logger.make(
      ({ annotations, cause, message }) =>
        void logged.push(inspect([message, [...annotations], Cause.pretty(cause)], { depth: 4, maxStringLength: null }))
    )
  ),
  Logger.minimumLogLevel(LogLevel.All)
)

const filesBelow = (directory: string): ReadonlyArray<string> =>
  readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), "latin1"))

for (const { layer: database, name } of flowDatabases) {
  const installation = Layer.unwrapScoped(
    Effect.map(temporary, (dataDir) =>
      Core.worker.pipe(
        Layer.provideMerge(Core.layer),
        Layer.provideMerge(
          Layer.mergeAll(
            CoreConfig.layer({ dataDir, executors: ["local"], prewarm: false, allowPrivateHosts: ["127.0.0.1"] }),
            database,
            Boot.layerSingle
          )
        )
      )
    )
  ).pipe(Layer.provide([loud, PasswordCost.layerTest]))

  layer(installation, { excludeTestServices: true })(`a GitHub App on ${name}`, (it) => {
    it.scoped("clones, pushes, opens, looks and merges with tokens that are stored nowhere", () =>
      Effect.gen(function* () {
        const origin = yield* remote("github")
        const app = new ForgeApp("acme/shop")
        origin.forge.app = app
        const { principal, workspaceId } = yield* ownerWithConnection
        const connections = yield* Connections
        const connection = yield* connections.create(principal, workspaceId, {
          kind: "github_app",
          label: "app",
          credential: { base_url: origin.base, client_id: app.clientId, private_key: appKeys().pkcs1 }
        })
        assert.deepStrictEqual(connection.settings, { base_url: origin.base, client_id: app.clientId })
        assert.isNull(connection.credential?.last4)
        const validations = yield* Validations
        const asked = yield* validations.request(principal, connection.id)
        yield* operationEnd(asked.operation?.id ?? "")
        assert.strictEqual((yield* validations.list(principal, connection.id, {})).items[0]?.state, "passed")

        const spec = { repository: { url: origin.url }, connection_ids: [connection.id] }
        const project = yield* (yield* Projects).create(principal, workspaceId, { slug: "shop", name: "Shop", spec })
        const { change, session } = yield* workspace(origin.url, { project_id: project.id })
        const changeset = yield* change({ "a.txt": "ONE\n" })
        const deliveries = yield* Deliveries
        const answer = yield* deliveries.request(principal, changeset.id, { connection_id: connection.id })
        yield* eventOf(session.id, answer.event_watermark, "delivery.succeeded", "delivery.failed", "delivery.blocked")
        const delivery = yield* deliveries.get(principal, answer.delivery.id)
        assert.strictEqual(delivery.state, "succeeded", JSON.stringify(delivery))
        const requests = yield* MergeRequests
        const opening = yield* requests.open(principal, delivery.id, { draft: false })
        yield* eventOf(session.id, opening.event_watermark, "merge_request.opened", "merge_request.failed")
        const { id } = opening.merge_request
        assert.deepInclude(yield* requests.get(principal, id), { state: "open", forge: "github" })

        origin.forge.check({ head: delivery.commit ?? "", name: "build", state: "passed" })
        origin.forge.comment({ author: `${app.slug}[bot]`, isBot: true, body: "Done." })
        const looks = yield* MergeRequestLooks
        const { asked_at } = yield* looks.look(principal, id)
        yield* until(requests.get(principal, id), (request) => isAtRest(request, asked_at))
        const seen = yield* requests.get(principal, id)
        assert.strictEqual(seen.standing?.checks.state, "passing")
        const [thread] = (yield* looks.threads(principal, id, {})).items
        assert.strictEqual(thread?.comments[0]?.author.kind, "self")

        // The one webhook of the app rings as one that people made by hand.
        const hook = yield* (yield* Hooks).create(principal, workspaceId, { kind: "github", label: "app" })
        const body = Buffer.from(
          JSON.stringify({ pull_request: { number: 1 }, repository: { full_name: "acme/shop" } })
        )
        const headers: Readonly<Record<string, string>> = {
          "x-github-delivery": "one",
          "x-github-event": "pull_request",
          "x-hub-signature-256": `sha256=${createHmac("sha256", hook.secret).update(body).digest("hex")}`
        }
        const rung = yield* (yield* HookReceiving).receive(hook.id, { header: (name) => headers[name], body })
        assert.strictEqual(rung.outcome, "accepted")

        const merging = yield* requests.merge(principal, id, { expected_head_sha: delivery.commit ?? "" })
        assert.strictEqual((yield* operationEnd(merging.operation.id)).state, "succeeded")
        assert.strictEqual((yield* requests.get(principal, id)).state, "merged")
        assert.strictEqual(origin.headOf("main"), delivery.commit)

        const events = yield* eventsUntil(session.id, 0, ({ type }) => type === "merge_request.merged")
        // It shows that the log is gathered, because a walk without a fault may write none.
        yield* Effect.logError("the walk has ended")
        const { dataDir } = yield* CoreConfig
        const places = {
          rows: yield* everythingStored,
          log: logged.join("\n"),
          events: JSON.stringify(events),
          files: filesBelow(dataDir).join("\n")
        }
        const keyLine = appKeys().pkcs1.split("\n")[3] ?? ""
        assert.isAtLeast(app.minted.length, 3)
        for (const [place, text] of Object.entries(places))
          for (const secret of [keyLine, ...app.minted.map(({ token }) => token)])
            assert.isFalse(text.includes(secret), `${place} have a secret`)
        assert.include(logged.at(-1), "the walk has ended")
        // Every request carried a token of the app, and none a token of a person.
        assert.isFalse(
          origin.seen.some((header) => header.includes(Buffer.from("x-access-token:forge").toString("base64")))
        )
      })
    )

    it.scoped("an app that may not push is told by what it lacks, and its connection stays", () =>
      Effect.gen(function* () {
        const origin = yield* remote("github")
        const app = new ForgeApp("acme/shop")
        const { change, principal, session } = yield* workspace(origin.url)
        origin.forge.app = app
        app.permissions = { contents: "read", metadata: "read" }
        const connection = yield* (yield* Connections).create(principal, session.workspace_id, {
          kind: "github_app",
          label: "app",
          credential: { base_url: origin.base, client_id: app.clientId, private_key: appKeys().pkcs8 }
        })
        const changeset = yield* change({ "a.txt": "ONE\n" })
        const deliveries = yield* Deliveries
        const answer = yield* deliveries.request(principal, changeset.id, { connection_id: connection.id })
        yield* eventOf(session.id, answer.event_watermark, "delivery.succeeded", "delivery.failed", "delivery.blocked")
        const delivery = yield* deliveries.get(principal, answer.delivery.id)
        assert.deepInclude(delivery, { reason: "auth_required" })
        assert.include(delivery.reason_message ?? "", "contents: write")
      })
    )
  })
}
