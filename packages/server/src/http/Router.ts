import {
  HttpApi,
  type HttpApiGroup,
  HttpApiSchema,
  type HttpApp,
  HttpMethod,
  HttpRouter,
  HttpServerError,
  HttpServerResponse
} from "@effect/platform"
import { NotReplayed, RequiredScope, SecretAnswer } from "@reins/core/api/Endpoint"
import { CoreConfig } from "@reins/core/CoreConfig"
import type { Principal } from "@reins/core/domain/Principal"
import { ReinsError } from "@reins/core/domain/ReinsError"
import type { RequestInvalid } from "@reins/core/domain/RequestInvalid"
import { Idempotency } from "@reins/core/store/Idempotency"
import { Context, Effect, Option } from "effect"
import { Exchange, type ExchangeState } from "./Exchange.js"
import { type AllHandlersOf, publicEndpoints } from "./Handlers.js"
import { Authentication } from "./middleware/Authentication.js"
import { checkLength, maxBodyBytes } from "./middleware/BodyLimit.js"
import type { ValidationFailed } from "./middleware/ErrorEnvelope.js"
import { answerOf, responseOf, runOnce } from "./middleware/Mutations.js"
import { decoderOf, type Endpoint, type Parts } from "./RequestParts.js"

type Failure = ReinsError | RequestInvalid | ValidationFailed

type Handler = (
  call: Pick<Parts, "path" | "query" | "body"> & {
    readonly exchange: ExchangeState
    readonly principal: Principal | undefined
  }
) => Effect.Effect<unknown, ReinsError | RequestInvalid>

export type Route = HttpRouter.Route<Failure, Exchange>

/**
 * The routes of an API. A request is let in first, then checked whole, then run: a mutation once for its Idempotency-Key and to
 * its end, even when the client has gone.
 */
export const routesOf = <Id extends string, Groups extends HttpApiGroup.HttpApiGroup.Any, E, R>(
  api: HttpApi.HttpApi<Id, Groups, E, R>,
  handlers: AllHandlersOf<Groups>
): Effect.Effect<ReadonlyArray<Route>, never, Authentication | CoreConfig | Idempotency> =>
  Effect.map(Effect.context<Authentication | CoreConfig | Idempotency>(), (context) => {
    const routes: Array<Route> = []
    HttpApi.reflect(api, {
      onGroup: () => {},
      onEndpoint: ({ endpoint, group }) => {
        // The handler is typed by the schemas of this very endpoint, which decode what it is called with.
        const handler = (handlers as Readonly<Record<string, Readonly<Record<string, Handler>>>>)[group.identifier]?.[
          endpoint.name
        ]
        if (handler === undefined) throw new Error(`no handler for ${group.identifier}.${endpoint.name}`)
        routes.push(routeOf(endpoint, handler, context))
      }
    })
    return routes
  })

const routeOf = (
  endpoint: Endpoint,
  handler: Handler,
  context: Context.Context<Authentication | CoreConfig | Idempotency>
): Route => {
  const authentication = Context.get(context, Authentication)
  const idempotency = Context.get(context, Idempotency)
  const { limits } = Context.get(context, CoreConfig)
  const { annotations, method, path: pattern } = endpoint
  const mutates = HttpMethod.hasBody(method) || method === "DELETE"
  const limit = maxBodyBytes(annotations, limits)
  const decode = decoderOf(endpoint, limit)
  const scope = requiredScope(endpoint)
  const status = HttpApiSchema.getStatusSuccess(endpoint.successSchema)
  const replays = mutates && Option.isNone(Context.getOption(annotations, NotReplayed))
  const sealed = Option.isSome(Context.getOption(annotations, SecretAnswer))
  const answer = Effect.gen(function* () {
    const exchange = yield* Exchange
    yield* checkLength(exchange, limit)
    const { params } = yield* HttpRouter.RouteContext
    const principal =
      scope === "public"
        ? yield* Effect.as(authentication.admitAnybody(exchange, mutates), undefined)
        : yield* authentication.admit(exchange, scope, mutates)
    const { canonicalBody, ...parts } = yield* decode(exchange, params)
    const run = Effect.suspend(() => handler({ ...parts, exchange, principal }))
    if (replays) {
      return yield* runOnce(idempotency, {
        exchange,
        principal,
        route: `${method} ${pattern}`,
        canonicalBody,
        sealed,
        status,
        handler: run
      })
    }
    const result = yield* run
    if (HttpServerResponse.isServerResponse(result)) return result
    describe(exchange, result)
    return responseOf(answerOf(status, result))
  })
  return HttpRouter.makeRoute(method, pattern, answer, { uninterruptible: mutates })
}

const requiredScope = (endpoint: Endpoint) => {
  const scope = Option.getOrThrowWith(
    Context.getOption(endpoint.annotations, RequiredScope),
    () => new Error(`${endpoint.name} does not say who may call it`)
  )
  if ((scope === "public") !== publicEndpoints.some((name) => name === endpoint.name)) {
    throw new Error(`${endpoint.name} is public in one place and not in the other`)
  }
  return scope
}

/** What generic clients understand: the version as an ETag, and a link to the next page. */
const describe = (exchange: ExchangeState, result: unknown): void => {
  if (typeof result !== "object" || result === null) return
  if ("version" in result && typeof result.version === "number") exchange.headers.set("etag", `"${result.version}"`)
  if ("next_cursor" in result && typeof result.next_cursor === "string") {
    const query = new URLSearchParams(exchange.query)
    query.set("cursor", result.next_cursor)
    // Relative to what was asked for, so that it also leads there below the path of a proxy.
    exchange.headers.set("link", `<?${query}>; rel="next"`)
  }
}

/** Serves the routes. A path that exists is answered with what it allows when the method is another. */
export const toApp = <E, R>(
  routes: ReadonlyArray<HttpRouter.Route<E, R>>
): Effect.Effect<HttpApp.Default<E | ReinsError | HttpServerError.RouteNotFound, R | Exchange>> => {
  const patterns = routes.map((route) => ({ method: route.method, path: matcherOf(route.path) }))
  // An effect that builds the routing tree: it is run once, not at each request.
  const router = HttpRouter.toHttpApp(HttpRouter.fromIterable(routes)).pipe(
    HttpRouter.withRouterConfig({ caseSensitive: true, ignoreDuplicateSlashes: false, maxParamLength: 200 })
  )
  const otherMethod = Effect.fnUntraced(function* (notFound: HttpServerError.RouteNotFound) {
    const exchange = yield* Exchange
    const methods = new Set<string>(patterns.filter(({ path }) => path.test(exchange.path)).map(({ method }) => method))
    if (methods.has("GET")) methods.add("HEAD")
    // An id that is too long or malformed for the router: the method is not what is wrong with it.
    if (methods.size === 0 || methods.has(exchange.request.method)) return yield* notFound
    const allow = [...methods, "OPTIONS"]
    exchange.headers.set("allow", allow.join(", "))
    if (exchange.request.method === "OPTIONS") return HttpServerResponse.empty({ status: 204 })
    return yield* new ReinsError({
      code: "method_not_allowed",
      message: `This path allows ${allow.join(", ")}.`,
      details: { allow }
    })
  })
  return Effect.map(router, (app) =>
    Effect.catchIf(app, (error) => error instanceof HttpServerError.RouteNotFound, otherMethod)
  )
}

const matcherOf = (path: string): RegExp => new RegExp(`^${path.replace(/:[A-Za-z_]+/g, "[^/]+")}/?$`)
