import type { HttpApi, HttpApiEndpoint, HttpApiGroup } from "@effect/platform"
import { Api } from "@reins/core/api/Api"
import { type Brand, Option, SchemaAST } from "effect"

type Groups = typeof Api extends HttpApi.HttpApi<infer _Id, infer G, infer _E, infer _R> ? G : never

/** A resource of the API, such as `sessions`. */
export type GroupName = HttpApiGroup.HttpApiGroup.Name<Groups>
export type EndpointOf<Group extends GroupName> = HttpApiGroup.HttpApiGroup.EndpointsWithName<Groups, Group>
export type EndpointName<E> = HttpApiEndpoint.HttpApiEndpoint.Name<E>
export type Success<E extends HttpApiEndpoint.HttpApiEndpoint.Any> = HttpApiEndpoint.HttpApiEndpoint.Success<E>

type Given<T> = [T] extends [never] ? unknown : T

export type PathParams<E extends HttpApiEndpoint.HttpApiEndpoint.Any> = Given<
  HttpApiEndpoint.HttpApiEndpoint.PathParsed<E>
>
/**
 * The query parameters that have no default on the server, by the name of their endpoint. The type of a decoded query cannot tell
 * them from the others, so they are named here; a test holds this against the contract.
 */
export const requiredQuery = { readFile: ["path"] } as const

type Required<E, Query> =
  EndpointName<E> extends keyof typeof requiredQuery
    ? Pick<Query, Extract<(typeof requiredQuery)[EndpointName<E>][number], keyof Query>>
    : unknown

/** Every query parameter is optional, but for the few without a default. */
export type QueryParams<E extends HttpApiEndpoint.HttpApiEndpoint.Any> = Given<
  Partial<HttpApiEndpoint.HttpApiEndpoint.UrlParams<E>> & Required<E, HttpApiEndpoint.HttpApiEndpoint.UrlParams<E>>
>
export type BodyFields<E extends HttpApiEndpoint.HttpApiEndpoint.Any> = Given<
  Wire<HttpApiEndpoint.HttpApiEndpoint.Payload<E>>
>

/** The value as it is sent: an id is a plain string. */
export type Wire<T> = unknown extends T
  ? unknown
  : T extends { readonly [Brand.BrandTypeId]: unknown }
    ? T extends string
      ? string
      : number
    : T extends object
      ? { [K in keyof T]: Wire<T[K]> }
      : T

/** The one argument of an endpoint: its path parameters, query parameters and body fields under their wire names. */
export type Input<E extends HttpApiEndpoint.HttpApiEndpoint.Any> = Flat<PathParams<E> & QueryParams<E> & BodyFields<E>>

type Flat<T> = { [K in keyof T]: T[K] }

/** The facts about an endpoint that a call needs at run time. */
export interface Route {
  readonly group: string
  readonly name: string
  readonly method: string
  /** As in `/api/sessions/:session_id`. */
  readonly path: string
  readonly pathNames: ReadonlyArray<string>
  readonly queryNames: ReadonlyArray<string>
  /** The names of the body fields; undefined when the endpoint takes no body. */
  readonly bodyNames: ReadonlyArray<string> | undefined
}

/** Every endpoint of the contract, in its order. */
export const routes: ReadonlyArray<Route> = Object.values(Api.groups).flatMap((group) =>
  Object.values(group.endpoints).map((endpoint) => ({
    group: group.identifier,
    name: endpoint.name,
    method: endpoint.method,
    path: endpoint.path,
    pathNames: [...endpoint.path.matchAll(/:(\w+)/g)].flatMap(([, name]) => name ?? []),
    queryNames: Option.isSome(endpoint.urlParamsSchema) ? fieldNames(endpoint.urlParamsSchema.value) : [],
    bodyNames: Option.isSome(endpoint.payloadSchema) ? fieldNames(endpoint.payloadSchema.value) : undefined
  }))
)

function fieldNames(schema: { readonly ast: SchemaAST.AST }): ReadonlyArray<string> {
  return SchemaAST.getPropertySignatures(SchemaAST.encodedAST(schema.ast)).map((field) => String(field.name))
}

/** The route of one endpoint. */
export const routeOf = <Group extends GroupName>(group: Group, name: EndpointName<EndpointOf<Group>>): Route => {
  const route = routes.find((candidate) => candidate.group === group && candidate.name === name)
  if (route === undefined) throw new TypeError(`The contract has no ${group}.${name}`)
  return route
}

/** One method for each endpoint, gathered by group. `Methods` must be mapped from the contract in the same way. */
export const derive = <Methods>(method: (route: Route) => unknown): Methods => {
  const groups: Record<string, Record<string, unknown>> = {}
  for (const route of routes) {
    groups[route.group] = { ...groups[route.group], [route.name]: method(route) }
  }
  // Boundary: the type is mapped from the contract's type and the value from the contract's value, which the compiler cannot compare.
  return groups as Methods
}

export interface Target {
  /** Begins with `/`; parameters are percent-encoded. */
  readonly pathAndQuery: string
  /** The JSON text of the body. */
  readonly body: string | undefined
}

/** Sorts the flat input into path, query and body. Throws a TypeError when a path parameter is missing or cannot be one. */
export const targetOf = (route: Route, input: object): Target => {
  const rest: Record<string, unknown> = { ...input }
  const take = (name: string): unknown => {
    const value = rest[name]
    delete rest[name]
    return value
  }
  const path = route.path.replace(/:(\w+)/g, (_, name: string) => segment(route, name, take(name)))
  const query = new URLSearchParams()
  for (const name of route.bodyNames === undefined ? Object.keys(rest) : route.queryNames) {
    const value = take(name)
    if (value !== undefined && value !== null) query.set(name, String(value))
  }
  return {
    pathAndQuery: query.size === 0 ? path : `${path}?${query}`,
    body: route.bodyNames === undefined ? undefined : JSON.stringify(rest)
  }
}

const segment = (route: Route, name: string, value: unknown): string => {
  // A URL cannot carry `.` or `..` as a segment, encoded or not: it would name another resource.
  if (typeof value !== "string" || value === "" || value === "." || value === "..") {
    throw new TypeError(`${route.group}.${route.name} needs "${name}", the id as a string`)
  }
  return encodeURIComponent(value)
}
