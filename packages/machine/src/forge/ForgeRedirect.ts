import type { ForgeCall } from "./ForgeCalls.js"

// The redirects of an API that are followed: those to its own origin and below its own root, so the token never goes elsewhere.

/** The beginning of a path below the API, and what has taken its place. */
export interface Moved {
  readonly from: string
  readonly to: string
}

const followed: ReadonlySet<number> = new Set([301, 302, 307, 308])

/** True for a redirect after which the same request is sent again. */
export const isRedirect = (status: number): boolean => followed.has(status)

/** The URL that a redirect leads to; undefined when it is not below the root of the API. The query is kept where the redirect names none. */
export const below = (api: string, url: string, location: string): string | undefined => {
  if (!URL.canParse(location, url)) return undefined
  const next = new URL(location, url)
  const root = new URL(api)
  next.username = ""
  next.password = ""
  next.hash = ""
  if (next.origin !== root.origin || !next.pathname.startsWith(`${root.pathname.replace(/\/$/, "")}/`)) return undefined
  if (next.search === "") next.search = new URL(url).search
  return next.href
}

/** The part of a path that a redirect has changed: all but the end that both have in common. */
export const movedBy = (api: string, call: ForgeCall, next: string): Moved | undefined => {
  const root = new URL(api).pathname.replace(/\/$/, "")
  const from = pathOf(call.path).split("/")
  const to = new URL(next).pathname.slice(root.length).split("/")
  let shared = 0
  while (shared < Math.min(from.length, to.length) - 1 && from.at(-1 - shared) === to.at(-1 - shared)) shared += 1
  if (shared === 0) return undefined
  return { from: from.slice(0, -shared).join("/"), to: to.slice(0, -shared).join("/") }
}

const pathOf = (path: string): string => path.split("?")[0] ?? ""

/** The path as it is now. */
export const pathNow = (path: string, moved: Moved | undefined): string =>
  moved !== undefined && (path.startsWith(`${moved.from}/`) || path.startsWith(`${moved.from}?`))
    ? `${moved.to}${path.slice(moved.from.length)}`
    : path
