import type { HttpMethod } from "@effect/platform/HttpMethod"
import { notFound, ReinsError } from "@reins/base/domain/ReinsError"
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
  private readonly patterns: ReadonlyMap<Route, Pattern>

  constructor(routes: ReadonlyArray<Route>) {
    for (const route of routes) this.tree.on(route.method, route.path, route)
    this.patterns = new Map(routes.map((route) => [route, { method: route.method, path: matcherOf(route.path) }]))
  }

  /**
   * Undefined when no route matches. An id that is malformed or too long matches none. Each path has one spelling, and its parameters alone
   * may be encoded: the tree decodes, cuts at `;` and passes over a slash at the end, and the exact rule of a proxy does none of that.
   */
  find({ method, path }: Exchange): Match | undefined {
    const found = this.tree.find(method === "HEAD" ? "GET" : method, path)
    if (found === undefined || this.patterns.get(found.handler)?.path.test(path) !== true) return undefined
    return { route: found.handler, params: found.params }
  }

  /** Answers a request that has no route. When its path has other methods, the answer names them. */
  readonly otherwise = ({
    headers,
    method,
    path
  }: Exchange): Effect.Effect<Reply, ReinsError<"not_found" | "method_not_allowed">> => {
    const methodsOf = (path: string) =>
      [...this.patterns.values()].filter((each) => each.path.test(path)).map((each) => each.method)
    const methods = new Set<string>(methodsOf(path))
    if (methods.has("GET")) methods.add("HEAD")
    // A path that is malformed matches no route, and its method is not at fault.
    if (methods.size === 0 && path.length > 1 && path.endsWith("/") && methodsOf(path.slice(0, -1)).length > 0)
      return Effect.fail(
        new ReinsError({ code: "not_found", message: "There is no such path. Leave out the slash at its end." })
      )
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

interface Pattern {
  readonly method: HttpMethod
  readonly path: RegExp
}

/** Pages of the console lead on from a slash at the end, as they always have. */
const matcherOf = (path: string): RegExp =>
  new RegExp(
    `^${path.replace(/[.]/g, "\\.").replace(/:[A-Za-z_]+/g, "[^/;#?]+")}${path.startsWith("/ui") ? "/?" : ""}$`
  )
