import { existsSync } from "node:fs"
import { readdir, readFile } from "node:fs/promises"
import { extname, join } from "node:path"
import { once } from "@reins/base/base/Once"
import { notFound } from "@reins/base/domain/ReinsError"
import { Effect } from "effect"
import { consoleDirectory } from "../ConsoleDirectory.js"
import { type CachedFile, cachedFile } from "./CachedFile.js"
import type { Exchange } from "./Exchange.js"
import { Reply } from "./Reply.js"
import type { Route } from "./Route.js"

/**
 * The routes of the console: `/` leads to `/ui`, every path below `/ui` is the same page, and `/ui/assets` holds what the page loads.
 * There is none where the console was not built. The files are read with the first request for them.
 */
export const consoleRoutes = Effect.fnUntraced(function* (publicUrl: URL): Effect.fn.Return<ReadonlyArray<Route>> {
  if (!existsSync(join(consoleDirectory(), "index.html"))) return []
  const html = yield* once(read("index.html"))
  // The page names its files relative to itself, so that it works below the path of a proxy. So it differs with its depth.
  const pages = yield* Effect.all(
    depths.map(({ base, pattern }) =>
      Effect.map(
        once(Effect.flatMap(html, (text) => cachedFile(text.replace("%BASE%", base), pageHeaders))),
        (page) => ({ page, pattern })
      )
    )
  )
  const assets = yield* once(assetFiles)
  const worker = yield* once(Effect.flatMap(read("push-worker.js"), (content) => cachedFile(content, workerHeaders)))
  return [
    route("/", (exchange) => Effect.succeed(new Reply(307, null, { location: consoleFrom(exchange, publicUrl) }))),
    ...pages.map(({ page, pattern }) =>
      route(pattern, (exchange) =>
        exchange.path.endsWith("/") ? Effect.succeed(withoutSlash(exchange.path)) : answerOf(page, exchange)
      )
    ),
    // It stands beside the pages, because a worker serves the paths below its own.
    route("/ui/push-worker.js", (exchange) => answerOf(worker, exchange)),
    route("/ui/assets/:name", (exchange, { name = "" }) =>
      Effect.flatMap(assets, (files) => {
        const file = files.get(name)
        return file === undefined ? Effect.fail(notFound()) : Effect.succeed(file.answer(exchange))
      })
    )
  ]
})

const answerOf = (page: Effect.Effect<CachedFile>, exchange: Exchange): Effect.Effect<Reply> =>
  Effect.map(page, (file) => file.answer(exchange))

/** The paths of the console, with what leads from each to `/ui/`. */
const depths = [
  { pattern: "/ui", base: "ui/" },
  { pattern: "/ui/:page", base: "./" },
  { pattern: "/ui/:page/:id", base: "../" },
  { pattern: "/ui/:page/:id/:part", base: "../../" },
  { pattern: "/ui/:page/:id/:part/:of", base: "../../../" }
] as const

const route = (path: `/${string}`, answer: Route["answer"]): Route => ({ method: "GET", path, mutates: false, answer })

/**
 * A proxy that takes `/reins` off sends `/reins` and `/reins/` on as the same `/`, and `ui` leads from the first to somewhere else. So a
 * request by the public URL is given its whole path. A request past the proxy is given a path of the server itself.
 */
const consoleFrom = (exchange: Exchange, { host, pathname }: URL): string => {
  const path = pathname.replace(/(?<!\/)\/+$/, "")
  return path !== "" && exchange.header("host") === host ? `${path}/ui` : "ui"
}

/** Relative to the path with a slash, which is a level deeper than the page. */
const withoutSlash = (path: string): Reply => {
  const last = path.split("/").at(-2) ?? ""
  return new Reply(307, null, { location: `../${last}` })
}

const read = (name: string): Effect.Effect<string> =>
  Effect.promise(() => readFile(join(consoleDirectory(), name), "utf8"))

/** The names of the files hold digests of their content. */
const assetFiles: Effect.Effect<ReadonlyMap<string, CachedFile>> = Effect.gen(function* () {
  const names = yield* Effect.promise(() => readdir(join(consoleDirectory(), "assets")))
  const files = yield* Effect.forEach(names, (name) =>
    Effect.map(
      Effect.flatMap(read(join("assets", name)), (content) =>
        cachedFile(
          content,
          { ...assetHeaders, "content-type": types[extname(name)] ?? "text/plain; charset=utf-8" },
          { immutable: true }
        )
      ),
      (file) => [name, file] as const
    )
  )
  return new Map(files)
})

const types: Readonly<Record<string, string>> = {
  ".css": "text/css; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".svg": "image/svg+xml"
}

/** A worker does not have the policy of its page but that of its script. */
const assetHeaders = { "content-security-policy": "default-src 'none'; script-src 'self'; connect-src 'self'" }

const workerHeaders = { ...assetHeaders, "content-type": "text/javascript; charset=utf-8" }

/** The page runs the scripts of this service and asks it alone. Agents send pictures as data. */
const pageHeaders = {
  "x-robots-tag": "noindex",
  "content-type": "text/html; charset=utf-8",
  "content-security-policy":
    "default-src 'none'; script-src 'self'; worker-src 'self'; style-src 'self'; img-src 'self' data: blob:; media-src data:; " +
    "connect-src 'self'; base-uri 'self'; form-action 'self'; frame-ancestors 'none'"
}
