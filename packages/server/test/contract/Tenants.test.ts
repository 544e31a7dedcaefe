import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { typeidUnboxed } from "typeid-js"
import { flowServices } from "../Databases.js"
import { change, codeOf, type Reply, send } from "../Service.js"
import { type Operation, operations, pathParameters } from "./Document.js"
import { type Example, exampleOf } from "./Examples.js"
import { newTenant } from "./Tenant.js"
import { allowGateway, Gateway, type Tenant } from "./TenantParts.js"

const typeId = /^([a-z]+)_[0-7][0-9a-hjkmnp-tv-z]{25}$/

const prefixOf = (id: string): string => typeId.exec(id)?.[1] ?? assert.fail(`${id} is no id`)

/** Another id of the same kind, which nothing has. */
const randomLike = (id: string): string => typeidUnboxed(prefixOf(id))

/** The content of an answer, without what is new in every answer and the id that was asked for. */
const told = (reply: Reply, id = "\n") => ({
  status: reply.status,
  headers: Object.fromEntries([...reply.headers].filter(([name]) => !["date", "vary", "x-request-id"].includes(name))),
  text: reply.text.replace(/"request_id":"[\w.-]+"/, '"request_id":""').replaceAll(id, "")
})

const ask = (operation: Operation, person: Tenant["person"], path: string, body: unknown) =>
  change(operation.method, path, { headers: person.bearer, ...(body !== undefined && { body }) })

const idsIn = (value: unknown): ReadonlyArray<string> =>
  [...(JSON.stringify(value ?? null).matchAll(/"([a-z]+_[0-7][0-9a-hjkmnp-tv-z]{25})"/g) ?? [])].map(
    ([, id]) => id ?? ""
  )

/** The ids that bodies may refer to: each is a valid request of one person, with an id that another may not see. */
const references: ReadonlyArray<{
  readonly name: string
  readonly field: string
  readonly body: (id: string) => unknown
  readonly of: (tenant: Tenant) => string
}> = [
  {
    name: "POST /api/workspaces/{workspace_id}/sessions",
    field: "connection_id",
    body: (connection_id) => ({ connection_id }),
    of: ({ ids }) => ids["connection_id"] ?? ""
  },
  {
    name: "POST /api/workspaces/{workspace_id}/sessions",
    field: "project_id",
    body: (project_id) => ({ project_id }),
    of: ({ ids }) => ids["project_id"] ?? ""
  },
  {
    name: "POST /api/workspaces/{workspace_id}/sessions",
    field: "project_version_id",
    body: (project_version_id) => ({ project_version_id }),
    of: ({ projectVersionId }) => projectVersionId
  },
  {
    name: "POST /api/projects/{project_id}/versions",
    field: "spec.connection_ids",
    body: (id) => ({ spec: { connection_ids: [id] } }),
    of: ({ ids }) => ids["connection_id"] ?? ""
  },
  {
    name: "POST /api/workspaces/{workspace_id}/projects",
    field: "spec.connection_ids",
    body: (id) => ({ slug: "borrowed", name: "Borrowed", spec: { connection_ids: [id] } }),
    of: ({ ids }) => ids["connection_id"] ?? ""
  },
  {
    name: "POST /api/sessions/{session_id}/changesets",
    field: "source_turn_id",
    body: (source_turn_id) => ({ source_turn_id }),
    of: ({ ids }) => ids["turn_id"] ?? ""
  },
  {
    name: "POST /api/sessions/{session_id}/delegations",
    field: "changeset_id",
    body: (changeset_id) => ({ role: "thief", instructions: "Look.", changeset_id }),
    of: ({ ids }) => ids["changeset_id"] ?? ""
  },
  {
    name: "POST /api/sessions/{session_id}/harness-switches",
    field: "changeset_id",
    body: (changeset_id) => ({ harness: { provider_id: "beta" }, summary: "Look.", changeset_id }),
    of: ({ ids }) => ids["changeset_id"] ?? ""
  },
  {
    name: "POST /api/sessions/{session_id}/harness-switches",
    field: "connection_id",
    body: (connection_id) => ({ harness: { provider_id: "alpha" }, summary: "Look.", connection_id }),
    of: ({ ids }) => ids["connection_id"] ?? ""
  },
  {
    name: "POST /api/changesets/{changeset_id}/deliveries",
    field: "connection_id",
    body: (connection_id) => ({ transport: "patch", connection_id }),
    of: ({ forgeConnectionId }) => forgeConnectionId
  },
  {
    name: "POST /api/changesets/{changeset_id}/applications",
    field: "target_session_id",
    body: (target_session_id) => ({ target_session_id, dry_run: true }),
    of: ({ ids }) => ids["session_id"] ?? ""
  },
  {
    name: "POST /api/delegations/{delegation_id}/result",
    field: "changeset_id",
    body: (changeset_id) => ({ kind: "generic", summary: "Look.", changeset_id }),
    of: ({ ids }) => ids["changeset_id"] ?? ""
  },
  ...(["POST /api/sessions/{session_id}/messages", "POST /api/delegations/{delegation_id}/messages"] as const).flatMap(
    (name) => [
      {
        name,
        field: "attachments",
        body: (id: string) => ({ content: "Look.", attachments: [id] }),
        of: ({ uploadId }: Tenant) => uploadId
      },
      {
        name,
        field: "content",
        body: (upload_id: string) => ({ content: [{ type: "file", upload_id }] }),
        of: ({ uploadId }: Tenant) => uploadId
      }
    ]
  ),
  {
    name: "POST /api/workspaces/{workspace_id}/sessions",
    field: "message",
    body: (upload_id) => ({ message: [{ type: "file", upload_id }] }),
    of: ({ uploadId }) => uploadId
  },
  {
    name: "POST /api/api-keys",
    field: "workspace_id",
    body: (workspace_id) => ({ name: "thief", workspace_id }),
    of: ({ ids }) => ids["workspace_id"] ?? ""
  }
]

for (const { database, layer: service } of flowServices(allowGateway)) {
  describe(`on ${database}`, () => {
    layer(Layer.provideMerge(service, Gateway.layer), { excludeTestServices: true })("somebody else", (it) => {
      let owner: Tenant
      let stranger: Tenant
      const prepare = Effect.gen(function* () {
        owner ??= yield* newTenant
        stranger ??= yield* newTenant
        return { owner, stranger }
      })

      for (const operation of operations.filter(
        // The caller of a public operation has no account: `Shares.test.ts` holds what a link opens.
        (candidate) => pathParameters(candidate).length > 0 && candidate.security.length > 0
      )) {
        it.effect(`learns nothing from ${operation.name}`, () =>
          Effect.gen(function* () {
            const { owner, stranger } = yield* prepare
            // The example is the owner's own: it would succeed.
            const example: Example = yield* exampleOf(operation, owner)
            for (const name of pathParameters(operation)) {
              const id = pathIdOf(operation, name, example.path)
              // A name within a resource is no secret of its own.
              if (!typeId.test(id)) continue
              const replies = yield* Effect.forEach(
                [
                  id,
                  randomLike(id),
                  "nonsense",
                  randomLike(id).toUpperCase(),
                  otherKind(owner, id),
                  `${id}0`,
                  "%00",
                  "%F0%9F%98%80"
                ],
                (given) => ask(operation, stranger.person, example.path.replace(id, given), example.body)
              )
              const [foreign, ...others] = replies.map((reply) => told(reply))
              assert.strictEqual(foreign?.status, 404, foreign?.text)
              assert.strictEqual(replies[0] && codeOf(replies[0]), "not_found")
              for (const other of others) assert.deepStrictEqual(other, foreign)
            }
          })
        )
      }

      for (const { body, field, name, of } of references) {
        it.effect(`cannot refer to what is not theirs by ${field} of ${name}`, () =>
          Effect.gen(function* () {
            const { owner, stranger } = yield* prepare
            const operation = operations.find((candidate) => candidate.name === name) ?? assert.fail(name)
            const { path } = yield* exampleOf(operation, stranger)
            const id = of(owner)
            const foreign = yield* ask(operation, stranger.person, path, body(id))
            const nobodys = randomLike(id)
            const random = yield* ask(operation, stranger.person, path, body(nobodys))
            assert.include([404, 422], foreign.status, foreign.text)
            assert.deepStrictEqual(told(foreign, id), told(random, nobodys))
          })
        )
      }

      it.effect("finds nothing by the ids of somebody else in a query", () =>
        Effect.gen(function* () {
          const { owner, stranger } = yield* prepare
          const sessions = `/api/workspaces/${stranger.ids["workspace_id"]}/sessions`
          const queries: ReadonlyArray<readonly [string, string]> = [
            ["/api/models?workspace_id=", owner.ids["workspace_id"] ?? ""],
            [`${sessions}?project_id=`, owner.ids["project_id"] ?? ""],
            [`${sessions}?parent_session_id=`, owner.ids["session_id"] ?? ""],
            [`/api/sessions/${stranger.ids["session_id"]}/events?turn_id=`, owner.ids["turn_id"] ?? ""]
          ]
          for (const [path, id] of queries) {
            const ask = (given: string) => send("GET", path + given, { headers: stranger.person.bearer })
            assert.deepStrictEqual(told(yield* ask(id)), told(yield* ask(randomLike(id))))
          }
        })
      )

      it.effect("sees in no list what is not theirs", () =>
        Effect.gen(function* () {
          const { owner, stranger } = yield* prepare
          const mine = new Set([...Object.values(owner.ids), owner.projectVersionId, owner.forgeConnectionId])
          const headers = stranger.person.bearer
          for (const operation of operations.filter(({ method }) => method === "GET")) {
            const { path } = yield* exampleOf(operation, stranger)
            const reply = yield* send("GET", path, { headers })
            for (const id of idsIn(reply.json)) assert.isFalse(mine.has(id), `${operation.name} shows ${id}`)
          }
        })
      )
    })
  })
}

/** The id that stands in the path for a parameter. */
const pathIdOf = (operation: Operation, name: string, path: string): string => {
  const pattern = operation.path.replace(/\{(\w+)\}/g, (_, each: string) => (each === name ? "([^/?]+)" : "[^/?]+"))
  return new RegExp(`^${pattern}`).exec(path)?.[1] ?? assert.fail(`${path} is not of ${operation.name}`)
}

/** An id of the same owner that belongs to another kind of resource. */
const otherKind = ({ ids }: Tenant, id: string): string =>
  Object.values(ids).find((candidate) => prefixOf(candidate) !== prefixOf(id)) ?? assert.fail("one kind only")
