import type { HttpMethod } from "@effect/platform/HttpMethod"
import { notFound, ReinsError } from "@reins/core/domain/ReinsError"
import { Effect } from "effect"
import * as FindMyWay from "find-my-way-ts"
import type { Exchange } from "./Exchange.js"
import { Reply } from "./Reply.js"
import type { PathParams, Route } from "./Route.js"

export interface Match {
  readonly route: Route
  readonly params: PathParams
}

/** Finds the route of a request. HEAD is answered like GET. */
export class RouteTable {
  private readonly tree = FindMyWay.make<Route>({
    caseSensitive: true,
    ignoreDuplicateSlashes: false,
    ignoreTrailingSlash: true,
    maxParamLength: 200
  })
  /** The routes as expressions, made for the first request without a route. */
  private patterns: ReadonlyArray<{ readonly method: HttpMethod; readonly path: RegExp }> | undefined

  constructor(private readonly routes: ReadonlyArray<Route>) {
    for (const route of routes) this.tree.on(route.method, route.path, route)
  }

  /** Undefined when no route matches. An id that is malformed or too long matches none. */
  find({ method, path }: Exchange): Match | undefined {
    const found = this.tree.find(method === "HEAD" ? "GET" : method, path)
    return found === undefined ? undefined : { route: found.handler, params: found.params }
  }

  /** Answers a request that has no route. When its path has other methods, the answer names them. */
  readonly otherwise = ({
    headers,
    method,
    path
  }: Exchange): Effect.Effect<Reply, ReinsError<"not_found" | "method_not_allowed">> => {
    this.patterns ??= this.routes.map((route) => ({ method: route.method, path: matcherOf(route.path) }))
    const methods = new Set<string>(this.patterns.filter((each) => each.path.test(path)).map((each) => each.method))
    if (methods.has("GET")) methods.add("HEAD")
    // A path that is malformed matches no route, and its method is not at fault.
    if (methods.size === 0 || methods.has(method)) return Effect.fail(notFound())
    const allow = [...methods, "OPTIONS"]
    headers["allow"] = allow.join(", ")
    if (method === "OPTIONS") return Effect.succeed(new Reply(204))
    return Effect.fail(
      new ReinsError({
        code: "method_not_allowed",
        message: `This path allows ${headers["allow"]}.`,
        details: { allow }
      })
    )
  }
}

const matcherOf = (path: string): RegExp => new RegExp(`^${path.replace(/:[A-Za-z_]+/g, "[^/]+")}/?$`)
