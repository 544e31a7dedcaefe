import { routes } from "./generated/Routes.js"

/** The facts about an operation that a call needs. */
export interface Route {
  /** The name of the method, as in `sessions.create`. */
  readonly name: string
  readonly method: string
  /** As in `/api/sessions/{session_id}`. */
  readonly path: string
  /** True when the fields that are not of the path are a JSON body, and not a query. */
  readonly body: boolean
  /** True when the answer is a page of a list. */
  readonly list: boolean
  /** True when the answer is bytes, and not JSON. */
  readonly bytes: boolean
}

const table: Readonly<Record<string, Readonly<Record<string, Partial<Route>>>>> = routes

const routeAt = (group: string, name: string): Route => ({
  method: "GET",
  path: "",
  body: false,
  list: false,
  bytes: false,
  ...table[group]?.[name],
  name: `${group}.${name}`
})

type Routes = typeof routes

/** The route of one operation. */
export const routeOf = <Group extends keyof Routes>(group: Group, name: keyof Routes[Group] & string): Route =>
  routeAt(group, name)

/** One method for each operation, gathered by group. */
export const methodsBy = <Methods>(method: (route: Route) => unknown): Methods => {
  const groups = Object.entries(table).map(([group, names]) => [
    group,
    Object.fromEntries(Object.keys(names).map((name) => [name, method(routeAt(group, name))]))
  ])
  // Boundary: the types and the table are made from one document, which the compiler cannot compare.
  return Object.fromEntries(groups) as Methods
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
  const path = route.path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = rest[name]
    delete rest[name]
    return segment(route, name, value)
  })
  if (route.body) return { pathAndQuery: path, body: JSON.stringify(rest) }
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(rest)) {
    if (value !== undefined && value !== null) query.set(name, String(value))
  }
  return { pathAndQuery: query.size === 0 ? path : `${path}?${query}`, body: undefined }
}

const segment = (route: Route, name: string, value: unknown): string => {
  // A URL cannot carry `.` or `..` as a segment, encoded or not: it would name another resource.
  if (typeof value !== "string" || value === "" || value === "." || value === "..") {
    throw new TypeError(`${route.name} needs "${name}", the id as a string`)
  }
  return encodeURIComponent(value)
}
