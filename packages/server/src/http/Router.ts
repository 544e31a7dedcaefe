import type * as HttpApi from "@effect/platform/HttpApi"
import type { HttpApiGroup } from "@effect/platform/HttpApiGroup"
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import { CoreConfig } from "@reins/base/base/CoreConfig"
import { NeedsMachine, NotReplayed, RequiredScope, SecretAnswer } from "@reins/base/domain/Endpoint"
import type { Principal } from "@reins/base/domain/Principal"
import type { ReinsError } from "@reins/base/domain/ReinsError"
import type { RequestInvalid } from "@reins/base/domain/RequestInvalid"
import type { Scope } from "@reins/base/domain/Scope"
import { Installed } from "@reins/core/catalog/Installed"
import { Nodes } from "@reins/core/placement/Nodes"
import { type Command, isCommand } from "@reins/core/store/Command"
import { Idempotency } from "@reins/core/store/Idempotency"
import { Context, Effect, Option } from "effect"
import type { Exchange } from "./Exchange.js"
import { type AllHandlersOf, publicEndpoints, repeatedEndpoints } from "./Handlers.js"
import { Authentication } from "./middleware/Authentication.js"
import { maxBodyBytes, refusalOfLength } from "./middleware/BodyLimit.js"
import type { forwarding } from "./middleware/Forward.js"
import { answerOf, replyOf, runOnce } from "./middleware/Mutations.js"
import { Reply } from "./Reply.js"
import { type DecodeParts, decoderOf, type Endpoint, type Parts } from "./RequestParts.js"
import type { PathParams, Route } from "./Route.js"

/** A handler of any endpoint, so it may fail with every code. */
type Handler = (
  call: Pick<Parts, "path" | "query" | "body"> & {
    readonly exchange: Exchange
    readonly principal: Principal | undefined
  }
) => Effect.Effect<unknown, ReinsError | RequestInvalid> | Command<unknown, ReinsError | RequestInvalid>

/** The services that routes need besides their handlers. */
type Services = Authentication | CoreConfig | Idempotency | Installed | Nodes | Effect.Effect.Context<typeof forwarding>

/**
 * The routes of an API. A request is let in first, then checked whole, then run. A mutation runs once for its Idempotency-Key and to its
 * end, even when the client has gone.
 */
export const routesOf = <Id extends string, Groups extends HttpApiGroup.Any, E, R>(
  api: HttpApi.HttpApi<Id, Groups, E, R>,
  handlers: AllHandlersOf<Groups>
): Effect.Effect<ReadonlyArray<Route>, never, Services> =>
  Effect.gen(function* () {
    const context = yield* Effect.context<Services>()
    const isNode = (yield* Nodes).self !== null
    // One machine loads nothing of it.
    const forward = isNode
      ? yield* (yield* Effect.promise(() => import("./middleware/Forward.js"))).forwarding
      : undefined
    // The reflection of the library would also collect what each endpoint answers and fails with, of which no route needs anything.
    // Boundary: the type of the API has the schemas of each endpoint, and here an endpoint is one of any schemas.
    const groups = Object.values(api.groups) as unknown as ReadonlyArray<Group>
    return groups.flatMap((group) =>
      Object.values(group.endpoints).map((endpoint) => {
        // Boundary: the handler is typed by the schemas of its endpoint, and those schemas decode the values that it is called with.
        const handler = (handlers as Readonly<Record<string, Readonly<Record<string, Handler>>>>)[group.identifier]?.[
          endpoint.name
        ]
        if (handler === undefined) throw new Error(`no handler for ${group.identifier}.${endpoint.name}`)
        const scope = requiredScope(group.identifier, endpoint)
        return onItsNode(routeOf(endpoint, scope, handler, context), endpoint, scope, forward)
      })
    )
  })

interface Group {
  readonly identifier: string
  readonly endpoints: Readonly<Record<string, Endpoint>>
}

const routeOf = (
  endpoint: Endpoint,
  scope: Scope | "public",
  handler: Handler,
  context: Context.Context<Services>
): Route => {
  const authentication = Context.get(context, Authentication)
  const idempotency = Context.get(context, Idempotency)
  const { limits } = Context.get(context, CoreConfig)
  const { annotations, method, path: pattern } = endpoint
  const mutates = method !== "GET"
  const limit = maxBodyBytes(annotations, limits)
  const installed = Context.get(context, Installed)
  // The first request of the endpoint makes it, because a start that made all of them would take longer.
  let decode: DecodeParts | undefined
  const status = HttpApiSchema.getStatusSuccess(endpoint.successSchema)
  const replays = mutates && !isRepeated(endpoint)
  const sealed = Option.isSome(Context.getOption(annotations, SecretAnswer))
  const answer = Effect.fnUntraced(function* (exchange: Exchange, params: PathParams) {
    const refusal = refusalOfLength(exchange, limit)
    if (refusal !== undefined) return yield* refusal
    const principal =
      scope === "public"
        ? yield* Effect.as(authentication.admitAnybody(exchange, mutates), undefined)
        : yield* authentication.admit(exchange, scope, mutates)
    decode ??= decoderOf(endpoint, limit, installed)
    const { body, canonicalBody, path, query } = yield* decode(exchange, params)
    const run = handler({ path, query, body, exchange, principal })
    if (replays) {
      if (!isCommand(run)) return yield* Effect.dieMessage(`${endpoint.name} is no command`)
      return yield* runOnce(idempotency, {
        exchange,
        principal,
        route: `${method} ${pattern}`,
        workspaceId: params["workspace_id"],
        canonicalBody,
        sealed,
        status,
        command: run
      })
    }
    const result = yield* run
    if (result instanceof Reply) return result
    describe(exchange, result)
    return replyOf(answerOf(status, result))
  })
  return { method, path: pattern, mutates, answer }
}

/** Brings the requests of an endpoint that touches files to the node that has them. */
const onItsNode = (route: Route, endpoint: Endpoint, scope: Scope | "public", forward: Forward | undefined): Route => {
  const needs = Option.getOrUndefined(Context.getOption(endpoint.annotations, NeedsMachine))
  if (forward === undefined || needs === undefined) return route
  const { answer, mutates } = route
  return { ...route, answer: forward({ needs, mutates, scope }, answer) }
}

type Forward = Effect.Effect.Success<typeof forwarding>

const requiredScope = (group: string, endpoint: Endpoint) => {
  const scope = Option.getOrThrowWith(
    Context.getOption(endpoint.annotations, RequiredScope),
    () => new Error(`${endpoint.name} does not say who may call it`)
  )
  if ((scope === "public") !== publicEndpoints.some((name) => name === `${group}.${endpoint.name}`)) {
    throw new Error(`${endpoint.name} is public in one place and not in the other`)
  }
  return scope
}

const isRepeated = (endpoint: Endpoint): boolean => {
  const isAnnotated = Option.isSome(Context.getOption(endpoint.annotations, NotReplayed))
  if (isAnnotated !== repeatedEndpoints.some((name) => name === endpoint.name)) {
    throw new Error(`${endpoint.name} runs again in one place and not in the other`)
  }
  return isAnnotated
}

/** Adds the headers that generic clients understand: the version as an ETag, and a link to the next page. */
const describe = ({ headers, query }: Exchange, result: unknown): void => {
  if (typeof result !== "object" || result === null) return
  if ("version" in result && typeof result.version === "number") headers["etag"] = `"${result.version}"`
  if ("next_cursor" in result && typeof result.next_cursor === "string") {
    const next = new URLSearchParams(query)
    next.set("cursor", result.next_cursor)
    // A link without a path stays below the path of a proxy.
    headers["link"] = `<?${next}>; rel="next"`
  }
}
