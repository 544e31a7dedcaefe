import { createServer } from "node:http"
import { Forges } from "@reins/machine/forge/Forges"
import { Outbound } from "@reins/machine/outbound/Outbound"
import { onLoopback } from "@reins/testing/connections/Loopback"
import type { KnownForge } from "@reins/testing/forge/ForgeDialects"
import { Effect, Layer, Redacted } from "effect"
import { answersOf, publishedOf } from "./RecordedSchemas.js"

// Owns a forge that knows nothing but the published answers, and gives each of them as it was published.

interface Published {
  readonly method: string
  readonly path: RegExp
  readonly status: number
  readonly body: unknown
}

const apiPaths = { github: "/api/v3", gitlab: "/api/v4", gitea: "/api/v1" } as const

/** A repository of one name is a part of the path. A project of GitLab, a branch and a ref are one part, too, however they are called. */
const patternOf = (api: string, template: string): RegExp =>
  new RegExp(`^${api}${template.replaceAll(/\{[^}]+\}/g, "[^/]+")}$`)

const publishedBy = (forge: KnownForge): ReadonlyArray<Published> =>
  Object.entries(answersOf(forge).operations).flatMap(([operation, answers]) => {
    const [method = "", path = ""] = operation.split(" ")
    return Object.entries(answers).flatMap(([status, recording]) =>
      !status.startsWith("2") || (recording.schema !== undefined && recording.published !== true)
        ? []
        : [{ method, path: patternOf(apiPaths[forge], path), status: Number(status), body: publishedOf(recording) }]
    )
  })

/** The threads of a pull request, of which no recording tells. */
const threads = {
  data: {
    repository: { pullRequest: { reviewThreads: { nodes: [], pageInfo: { hasNextPage: false, endCursor: null } } } }
  }
}

/**
 * A client of a forge that gives published answers, and what it was asked that nobody has published. `changed` puts other values into the place of some
 * in the texts of the answers.
 */
export const recordedForge = (kind: KnownForge, changed: (text: string) => string = (text) => text) =>
  Effect.gen(function* () {
    const published = publishedBy(kind)
    const asked: Array<string> = []
    const unknown: Array<string> = []
    const port = yield* onLoopback(() =>
      createServer((request, response) => {
        request.resume()
        const { pathname, searchParams } = new URL(request.url ?? "/", "http://localhost")
        const found = published.filter(({ method, path }) => method === request.method && path.test(pathname))
        asked.push(`${request.method} ${pathname}`)
        const answer = pathname === "/api/graphql" ? { status: 200, body: threads } : found[0]
        if (answer === undefined) unknown.push(`${request.method} ${pathname}`)
        const lists = found.map(({ body }) => body).filter(Array.isArray)
        const isLater = Number(searchParams.get("page") ?? 1) > 1
        const body = lists.length === 0 ? answer?.body : isLater ? [] : lists.flat()
        response.writeHead(answer?.status ?? 404, { "content-type": "application/json" })
        response.end(body === undefined ? "" : changed(JSON.stringify(body)))
      })
    )
    const base_url = `http://127.0.0.1:${port}`
    const credential = { kind, settings: { base_url }, secrets: { token: Redacted.make("token-of-recordings") } }
    const forges = yield* Effect.provide(Forges, Layer.provide(Forges.layer, Layer.succeed(Outbound, yield* Outbound)))
    const url = `${base_url}/acme/shop.git`
    return {
      asked,
      unknown,
      forge: yield* forges.open(credential, url),
      hooks: yield* forges.openHooks(credential, url),
      login: forges.loginOf(credential)
    }
  })
