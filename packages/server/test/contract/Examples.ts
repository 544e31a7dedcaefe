import { Effect } from "effect"
import { newCaller, newKey, password } from "../Service.js"
import { fill, type Operation } from "./Document.js"
import {
  done,
  fileOfWorkspaces,
  furnish,
  headSha,
  newBranch,
  newInteraction,
  newMergeRequest,
  newSession,
  readyLease,
  setState,
  textAt,
  type World
} from "./World.js"

/** A request that has to succeed, once. */
export interface Example {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: unknown
}

interface Given {
  /** Path parameters, where they are not those of the world. */
  readonly ids?: Readonly<Record<string, string>>
  /** Who calls, when it is not the person of the world. */
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
}

const only = (body: unknown) => (): Effect.Effect<Given> => Effect.sync(() => ({ body }))
const nothing = (): Effect.Effect<Given> => Effect.succeed({})

const idOf = (name: string, made: unknown, at = "id"): Given => ({ ids: { [name]: textAt(made, at) } })

const address = () => `${newKey()}@example.com`

const inWorkspace = (world: World, path: string, body: unknown) =>
  done(world.person, "POST", `/api/workspaces/${world.ids["workspace_id"]}/${path}`, body)

const freshSession = (world: World) => Effect.map(newSession(world), ({ session }) => idOf("session_id", session))

const freshTurn = (world: World, state: string) =>
  Effect.gen(function* () {
    const { session } = yield* newSession(world, { message: "Do it." })
    const id = textAt(session, "turn_id")
    yield* setState("turns", id, state)
    return { ids: { turn_id: id } }
  })

const freshDelivery = (world: World, state: string) =>
  Effect.gen(function* () {
    const path = `/api/changesets/${world.ids["changeset_id"]}/deliveries`
    const id = textAt(
      yield* done(world.person, "POST", path, { transport: "patch", target_ref: newKey() }),
      "delivery.id"
    )
    yield* setState("deliveries", id, state)
    return { ids: { delivery_id: id } }
  })

/** A delegation of a session of its own, since few of one session may live at once. */
const freshDelegation = (world: World, state: string) =>
  Effect.gen(function* () {
    const { id } = yield* newSession(world)
    const made = yield* done(world.person, "POST", `/api/sessions/${id}/delegations`, {
      role: "tester",
      instructions: "Test the thing."
    })
    const delegation = textAt(made, "delegation.id")
    yield* setState("delegations", delegation, state)
    return { ids: { delegation_id: delegation } }
  })

const furnished = (world: World) =>
  Effect.gen(function* () {
    const { id } = yield* newSession(world)
    yield* furnish(id)
    return { ids: { session_id: id } }
  })

/** One valid request for each mutation of the API and for the reads that need more than its ids, with whatever has to be there before it. */
const examples = {
  "POST /api/auth/register": () => Effect.sync(() => ({ body: { email: address(), password } })),
  "POST /api/auth/login": ({ person }: World) => Effect.succeed({ body: { email: person.email, password } }),
  "POST /api/auth/logout": nothing,
  "POST /api/auth/email-verifications": () => Effect.sync(() => ({ body: { email: address() } })),
  "POST /api/auth/password-changes": () =>
    Effect.map(newCaller(), ({ bearer }) => ({
      headers: bearer,
      body: { current_password: password, new_password: "a loud heron at dawn" }
    })),
  "POST /api/auth/password-resets": () => Effect.sync(() => ({ body: { email: address() } })),
  "POST /api/api-keys": only({ name: "another", scopes: ["read"] }),
  "DELETE /api/api-keys/{key_id}": ({ person }: World) =>
    Effect.map(done(person, "POST", "/api/api-keys", { name: "old" }), (key) => idOf("key_id", key)),
  "POST /api/workspaces/{workspace_id}/members": () =>
    Effect.sync(() => ({ body: { email: address(), role: "viewer" } })),
  "DELETE /api/workspaces/{workspace_id}/members/{account_id}": (world: World) =>
    Effect.map(inWorkspace(world, "members", { email: address(), role: "viewer" }), (member) => ({
      ids: { account_id: textAt(member, "id") }
    })),
  "POST /api/workspaces/{workspace_id}/connections": only({
    kind: "github",
    label: "forge",
    credential: { token: "canary-hub-token" }
  }),
  "PATCH /api/connections/{connection_id}": only({ label: "renamed" }),
  "DELETE /api/connections/{connection_id}": (world: World) =>
    Effect.map(
      inWorkspace(world, "connections", { kind: "gitlab", label: "old", credential: { token: "canary-lab-token" } }),
      (connection) => idOf("connection_id", connection)
    ),
  "POST /api/connections/{connection_id}/credential-versions": only({
    credential: { base_url: "https://gateway.example/v1", api_key: "canary-second-key" }
  }),
  "POST /api/connections/{connection_id}/validations": nothing,
  "POST /api/workspaces/{workspace_id}/projects": () =>
    Effect.sync(() => ({ body: { slug: `p-${newKey().slice(5, 20).replaceAll(/\W/g, "-")}`, name: "Another" } })),
  "PATCH /api/projects/{project_id}": only({ name: "Renamed" }),
  "POST /api/projects/{project_id}/versions": only({
    spec: { harness: { provider_id: "alpha", model: "thinker" } },
    notes: "Thinks."
  }),
  "POST /api/workspaces/{workspace_id}/sessions": only({ title: "Another", message: "Begin." }),
  "PATCH /api/sessions/{session_id}": only({ title: "Renamed", labels: { team: "a" } }),
  "POST /api/sessions/{session_id}/archives": freshSession,
  "POST /api/sessions/{session_id}/unarchives": (world: World) =>
    Effect.gen(function* () {
      const { id } = yield* newSession(world)
      yield* done(world.person, "POST", `/api/sessions/${id}/archives`)
      return { ids: { session_id: id } }
    }),
  "POST /api/sessions/{session_id}/closures": freshSession,
  "POST /api/sessions/{session_id}/changesets": (world: World) =>
    Effect.map(furnished(world), (given) => ({ ...given, body: { label: "now" } })),
  "POST /api/sessions/{session_id}/delegations": (world: World) =>
    Effect.map(freshSession(world), (given) => ({
      ...given,
      body: { role: "reviewer", instructions: "Review it.", result_schema: { type: "object" }, deadline_seconds: 600 }
    })),
  "POST /api/sessions/{session_id}/executor/activations": (world: World) =>
    Effect.map(freshSession(world), (given) => ({ ...given, body: {} })),
  "POST /api/sessions/{session_id}/executor/releases": (world: World) =>
    Effect.gen(function* () {
      const { id } = yield* newSession(world)
      yield* done(world.person, "POST", `/api/sessions/${id}/executor/activations`)
      yield* readyLease(id)
      return { ids: { session_id: id }, body: { force: false } }
    }),
  "POST /api/sessions/{session_id}/file-uploads": (world: World) =>
    Effect.map(furnished(world), (given) => ({ ...given, body: { path: "a/b.txt", content: "hello" } })),
  "POST /api/sessions/{session_id}/harness-switches": only({
    harness: { provider_id: "beta" },
    summary: "The thing is half done."
  }),
  "POST /api/sessions/{session_id}/messages": (world: World) =>
    Effect.map(freshSession(world), (given) => ({ ...given, body: { content: "Go on." } })),
  "POST /api/turns/{turn_id}/cancellations": (world: World) => freshTurn(world, "queued"),
  "POST /api/turns/{turn_id}/retries": (world: World) => freshTurn(world, "failed"),
  "POST /api/turns/{turn_id}/acknowledgements": (world: World) => freshTurn(world, "interrupted"),
  "POST /api/interactions/{interaction_id}/answers": (world: World) =>
    Effect.map(newInteraction(world), (id) => ({ ids: { interaction_id: id }, body: { answer: "yes" } })),
  "POST /api/changesets/{changeset_id}/deliveries": () =>
    Effect.sync(() => ({ body: { transport: "patch", target_ref: newKey(), title: "The thing" } })),
  "POST /api/changesets/{changeset_id}/applications": (world: World) =>
    Effect.map(furnished(world), ({ ids }) => ({ body: { target_session_id: ids.session_id, dry_run: true } })),
  "POST /api/deliveries/{delivery_id}/retries": (world: World) => freshDelivery(world, "failed"),
  "POST /api/deliveries/{delivery_id}/refreshes": (world: World) => freshDelivery(world, "blocked"),
  "POST /api/deliveries/{delivery_id}/cancellations": (world: World) => freshDelivery(world, "pending"),
  "POST /api/deliveries/{delivery_id}/merge-requests": (world: World) =>
    Effect.map(newBranch(world), (id) => ({ ids: { delivery_id: id }, body: { base_branch: "main", draft: false } })),
  "POST /api/merge-requests/{merge_request_id}/merges": (world: World) =>
    Effect.map(newMergeRequest(world), (id) => ({
      ids: { merge_request_id: id },
      body: { expected_head_sha: headSha }
    })),
  "POST /api/delegations/{delegation_id}/cancellations": (world: World) => freshDelegation(world, "pending"),
  "POST /api/delegations/{delegation_id}/messages": (world: World) =>
    Effect.map(freshDelegation(world, "active"), (given) => ({ ...given, body: { content: "Hurry." } })),
  "POST /api/delegations/{delegation_id}/result": (world: World) =>
    Effect.map(freshDelegation(world, "active"), (given) => ({
      ...given,
      body: { kind: "generic", summary: "It works.", value: { passed: 3 } }
    })),
  "GET /api/delegations/{delegation_id}/result": (world: World) =>
    Effect.gen(function* () {
      const { ids } = yield* freshDelegation(world, "active")
      yield* done(world.person, "POST", `/api/delegations/${ids.delegation_id}/result`, {
        kind: "review",
        verdict: "approved",
        summary: "It is good."
      })
      return { ids }
    }),
  "POST /api/delegations/{delegation_id}/waits": (world: World) =>
    Effect.map(freshDelegation(world, "active"), (given) => ({ ...given, body: { timeout_seconds: 0 } }))
} as const

type Requirements = {
  [Name in keyof typeof examples]: Effect.Effect.Context<ReturnType<(typeof examples)[Name]>>
}[keyof typeof examples]

type Build = (world: World) => Effect.Effect<Given, unknown, Requirements>

const builders: Readonly<Record<string, Build>> = examples

export const hasExample = (operation: Operation): boolean => operation.name in builders

/** A valid request for an operation; a read needs nothing but the world. */
export const exampleOf = (operation: Operation, world: World): Effect.Effect<Example, never, Requirements> =>
  Effect.gen(function* () {
    const build = builders[operation.name]
    if (build === undefined && operation.method !== "GET") {
      return yield* Effect.dieMessage(`there is no example of ${operation.name}`)
    }
    const { body, headers, ids }: Given = build === undefined ? {} : yield* Effect.orDie(build(world))
    return {
      path: fill(operation.path, { ...world.ids, ...ids }) + requiredQuery(operation),
      headers: operation.security.length === 0 ? {} : (headers ?? world.person.bearer),
      ...(body !== undefined && { body })
    }
  })

const requiredQuery = ({ name }: Operation): string =>
  name === "GET /api/sessions/{session_id}/files/content" ? `?path=${encodeURIComponent(fileOfWorkspaces)}` : ""
