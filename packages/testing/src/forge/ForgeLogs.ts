import type { IncomingMessage } from "node:http"
import type { KnownForge } from "./ForgeDialects.js"
import type { Answer } from "./ForgeServer.js"
import type { HeldCheck } from "./ForgeStanding.js"

/** The paths of the logs of jobs below the repository. */
const paths: Readonly<Record<KnownForge, RegExp>> = {
  github: /^\/actions\/jobs\/(\d+)\/logs$/,
  gitlab: /^\/jobs\/(\d+)\/trace$/,
  gitea: /^\/actions\/jobs\/(\d+)\/logs$/
}

/** The place outside of the API where the log of a check lies. Whoever knows the address may read it. */
const storePath = "/log-store/"

const logOf = (checks: ReadonlyArray<HeldCheck>, id: string | undefined): string | undefined =>
  checks.find((check) => String(check.id) === id && check.state !== "pending")?.log || undefined

/** Answers a request for the log of a job; undefined for any other. GitHub leads to another host, which wants no token. */
export const answerLog = (
  kind: KnownForge,
  checks: ReadonlyArray<HeldCheck>,
  rest: string,
  notFound: Answer,
  request: IncomingMessage
): Answer | undefined => {
  const [, id] = paths[kind].exec(rest) ?? []
  if (id === undefined) return undefined
  const log = logOf(checks, id)
  if (log === undefined) return notFound
  if (kind !== "github") return { status: 200, body: undefined, text: log }
  const location = `http://${request.headers.host ?? "localhost"}${storePath}${id}?sig=x`
  return { status: 302, body: undefined, headers: { location } }
}

/** Answers a request at the place of logs; undefined for any other. A token there is one that was sent too far. */
export const answerStore = (checks: ReadonlyArray<HeldCheck>, request: IncomingMessage): Answer | undefined => {
  const { pathname } = new URL(request.url ?? "/", "http://localhost")
  if (!pathname.startsWith(storePath)) return undefined
  if (request.headers.authorization !== undefined || request.headers["private-token"] !== undefined)
    return { status: 400, body: undefined, text: "Only one auth mechanism allowed" }
  const log = logOf(checks, pathname.slice(storePath.length))
  return log === undefined ? { status: 404, body: undefined } : { status: 200, body: undefined, text: log }
}
