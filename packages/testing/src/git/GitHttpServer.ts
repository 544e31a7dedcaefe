import { execFileSync, spawn } from "node:child_process"
import { statSync } from "node:fs"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { join } from "node:path"
import { Effect, type Scope } from "effect"
import { onLoopback } from "../connections/Loopback.js"
import { listRefs } from "./RefListing.js"

export interface GitHttpServer {
  readonly url: string
  /** The Authorization header of every request, in order; empty when there was none. */
  readonly seen: ReadonlyArray<string>
}

/** Answers a request itself and gives true, or leaves it to git, at once or later. */
type Intercept = (request: IncomingMessage, response: ServerResponse) => boolean | Promise<boolean>

/** The program itself, because `git http-backend` would be a process more for each request. */
const program = join(execFileSync("git", ["--exec-path"], { encoding: "utf8" }).trim(), "git-http-backend")

/** The first answers of git to clients of its second protocol. They name no refs and follow from the configuration alone, so they are kept. */
const greetings = new Map<string, Buffer>()

/** Gives the key of such an answer; undefined for any other request. */
const greetingOf = (root: string, { headers }: IncomingMessage, url: URL): string | undefined => {
  if (headers["git-protocol"] !== "version=2" || url.search !== "?service=git-upload-pack") return undefined
  const repository = join(root, url.pathname.replace(/\/info\/refs$/, ""))
  const config = statSync(join(repository, "config"), { throwIfNoEntry: false })
  return config && `${repository} ${config.mtimeMs} ${config.size}`
}

const backend = (root: string, request: IncomingMessage, response: ServerResponse): void => {
  const url = new URL(request.url ?? "/", "http://localhost")
  const greeting = greetingOf(root, request, url)
  const known = greeting === undefined ? undefined : greetings.get(greeting)
  if (known !== undefined) send(known, response)
  else if (mayAskForRefs(request, url)) listOrAsk(root, url, request, response).catch(() => response.destroy())
  else ask(root, url, { request, response, greeting })
}

/** The most that a question for refs has in bytes. */
const longestQuestion = 1000

const mayAskForRefs = ({ headers }: IncomingMessage, { pathname }: URL): boolean =>
  headers["git-protocol"] === "version=2" &&
  pathname.endsWith("/git-upload-pack") &&
  headers["content-encoding"] === undefined &&
  Number(headers["content-length"] ?? Number.POSITIVE_INFINITY) <= longestQuestion

/** Lists the refs, or has git answer the question. Clients ask for refs far more often than for anything else. */
const listOrAsk = async (root: string, url: URL, request: IncomingMessage, response: ServerResponse): Promise<void> => {
  const pieces: Array<Buffer> = []
  for await (const piece of request) pieces.push(piece)
  const body = Buffer.concat(pieces)
  const listed = listRefs(join(root, url.pathname.replace(/\/git-upload-pack$/, "")), body)
  if (listed === undefined) return ask(root, url, { request, response, body })
  response.writeHead(200, { "content-type": "application/x-git-upload-pack-result", "cache-control": "no-cache" })
  response.end(listed)
}

/** A call for git. Its body may have been read already; its answer is kept if it is a greeting. */
interface Call {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly body?: Buffer
  readonly greeting?: string | undefined
}

/** Has git answer a request. */
const ask = (root: string, url: URL, { body, greeting, request, response }: Call): void => {
  const child = spawn(program, {
    env: {
      PATH: process.env.PATH ?? "",
      GIT_PROJECT_ROOT: root,
      GIT_HTTP_EXPORT_ALL: "1",
      PATH_INFO: url.pathname,
      QUERY_STRING: url.search.slice(1),
      REQUEST_METHOD: request.method ?? "GET",
      CONTENT_TYPE: request.headers["content-type"] ?? "",
      HTTP_CONTENT_ENCODING: String(request.headers["content-encoding"] ?? ""),
      GIT_PROTOCOL: String(request.headers["git-protocol"] ?? ""),
      REMOTE_USER: "ann"
    },
    stdio: ["pipe", "pipe", "ignore"]
  })
  // A request of a client that gives up may come to a program that has ended.
  child.stdin.on("error", () => undefined)
  if (body === undefined) request.pipe(child.stdin)
  else child.stdin.end(body)
  const pieces: Array<Buffer> = []
  child.stdout.on("data", (piece: Buffer) => pieces.push(piece))
  child.once("close", () => {
    const output = Buffer.concat(pieces)
    send(output, response)
    if (greeting !== undefined && response.statusCode === 200) greetings.set(greeting, output)
  })
}

/** Sends what the program of git has written. */
const send = (output: Buffer, response: ServerResponse): void => {
  const end = output.indexOf("\r\n\r\n")
  for (const line of output.subarray(0, end).toString("latin1").split("\r\n")) {
    const [name = "", value = ""] = line.split(": ")
    if (name === "Status") response.statusCode = Number.parseInt(value, 10)
    else response.setHeader(name, value)
  }
  response.end(output.subarray(end + 4))
}

/** Serves the bare repositories below `root` over http on an address of this machine, to callers with `authorization` only. */
export const gitHttpServer = (
  root: string,
  authorization: string | null,
  intercept: Intercept = () => false,
  host = "127.0.0.1",
  listen = onLoopback
): Effect.Effect<GitHttpServer, never, Scope.Scope> => {
  const seen: Array<string> = []
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    seen.push(request.headers.authorization ?? "")
    if (await intercept(request, response)) return
    if (authorization !== null && request.headers.authorization !== authorization) {
      response.writeHead(401, { "www-authenticate": 'Basic realm="git"' }).end("no entry")
    } else backend(root, request, response)
  }
  return Effect.map(
    listen(() => createServer((request, response) => void answer(request, response)), host),
    (port) => ({ url: `http://${host}:${port}`, seen })
  )
}
