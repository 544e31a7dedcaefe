import { createServer, type Server, type ServerResponse } from "node:http"
import type { ConnectionLogin, ConnectionLoginsCreateAnswer, Reins } from "@reins/client"
import { flag, option, optionalArgument } from "../Command.js"
import { CommandFailed } from "../CommandFailed.js"
import { openInBrowser } from "../terminal/Browser.js"
import { printJsonNow, tell } from "../terminal/Output.js"
import { ask, isInteractive } from "../terminal/Prompts.js"
import { remoteCommand, workspaceOption } from "./Remote.js"

/** The variable that has the secret of a client, since arguments stand in the list of processes. */
const secretVariable = "REINS_CLIENT_SECRET"

/** The answer of an authorization server, as the browser has brought it. */
type Brought = Readonly<Record<"state" | "code" | "error" | "iss", string | undefined>>

/** `reins connections login` */
export const login = remoteCommand({
  takes: {
    server: optionalArgument("server", "The address of the server of tools, as projects name it"),
    connection: option("connection", "Give this connection the new login, in the place of another one", {
      value: "id"
    }),
    label: option("label", "A name for people (the host of the server)"),
    scopes: option("scopes", "The scopes to ask for, with a space between them (those that the server names)"),
    clientId: option("client-id", "A client that you have registered there", { value: "id" }),
    register: flag("register", "Register a client there, where the server cannot reach this installation"),
    forMe: flag("for-me", "Use it in your own turns alone, at servers at which each person logs in"),
    json: flag("json", "JSON in the place of text"),
    workspace: workspaceOption
  },
  details:
    "Opens the login of the server in your browser. Reins keeps its tokens and renews them; no agent has them.\n" +
    `Where the browser is on another machine, paste the address that it ends at. ${secretVariable} has the secret of --client-id.`,
  examples: [
    ["reins connections login https://mcp.example/mcp", "Log in, and make a connection of it"],
    ["reins connections login --connection con_01h…", "Log in again, for a connection that was refused"]
  ],
  run: async ({ clientId, connection, forMe, json, label, register, scopes, server, workspace }, connect) => {
    if (server === undefined && connection === undefined)
      throw new CommandFailed({ message: "Name the address of the server, or a connection with --connection." })
    const { reins, workspaceId } = await connect(workspace)
    const secret = process.env[secretVariable]
    const door = await openDoor()
    try {
      const begun = await reins.connectionLogins.create({
        workspace_id: workspaceId,
        redirect_uri: door.address,
        ...(server !== undefined && { server_url: server }),
        ...(connection !== undefined && { connection_id: connection }),
        ...(forMe && { for: "person" as const }),
        ...(label !== undefined && { label }),
        ...(scopes !== undefined && { scopes }),
        ...(clientId !== undefined && { client_id: clientId }),
        ...(clientId !== undefined && secret !== undefined && secret !== "" && { client_secret: secret }),
        ...(register && { client: "registration" as const })
      })
      const { answer, login } = await finish(reins, begun, door)
      answer(login)
      print(login, json)
    } finally {
      door.close()
    }
  }
})

/** The browser and the person answer, whoever comes first. */
const finish = async (reins: Reins, { authorize_url, login }: ConnectionLoginsCreateAnswer, door: Door) => {
  const state = new URL(authorize_url).searchParams.get("state") ?? ""
  const { host } = new URL(login.authorization_server)
  // A server that knows the person leads the browser back at once.
  const arrived = door.brought(state)
  const isOpened = await openInBrowser(authorize_url)
  if (isOpened) tell(`Log in at ${host}, in the browser that has opened.`)
  else {
    tell(`Open this address in a browser, and log in at ${host}:`)
    process.stderr.write(`\n${authorize_url}\n\n`)
  }
  const ending = new AbortController()
  const leftMs = Math.max(0, Date.parse(login.expires_at) - Date.now())
  const late = new Promise<never>((_, reject) => {
    const timer = setTimeout(() => reject(new CommandFailed({ message: tooLate })), leftMs)
    ending.signal.addEventListener("abort", () => clearTimeout(timer))
  })
  try {
    const pasted = isOpened || !isInteractive() ? [] : [pastedAnswer(state, ending.signal)]
    const { answer, brought } = await Promise.race([arrived, late, ...pasted])
    const { code, error, iss } = brought
    const completed = await reins.connectionLogins.answer({
      connection_login_id: login.id,
      state,
      ...(code !== undefined && { code }),
      ...(error !== undefined && { error }),
      ...(iss !== undefined && { iss })
    })
    return { answer, login: completed }
  } finally {
    ending.abort()
  }
}

const tooLate = "Nobody has logged in within ten minutes. Run the command again."

const print = (login: ConnectionLogin, json: boolean): void => {
  const { connection_id, reason_message, state } = login
  if (json) printJsonNow(login)
  if (state !== "completed" || connection_id === null)
    throw new CommandFailed({ message: reason_message ?? "The login has ended without a connection. Run it again." })
  if (json) return
  tell(
    login.for === "person"
      ? "Connected, for your own turns:"
      : "Connected. Name it in the project beside the address of the server:"
  )
  process.stdout.write(`${connection_id}\n`)
}

interface Answered {
  readonly brought: Brought
  /** Tells the browser how the login has ended. */
  readonly answer: (login: ConnectionLogin) => void
}

/** An address of this machine that the browser comes back to. */
interface Door {
  readonly address: string
  /** Waits for the browser with this state. Whoever comes without it is sent away. */
  readonly brought: (state: string) => Promise<Answered>
  readonly close: () => void
}

const openDoor = (): Promise<Door> =>
  new Promise((resolve, reject) => {
    const server = createServer()
    server.once("error", (cause) => reject(new CommandFailed({ message: `No port is free here: ${cause.message}` })))
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      const port = typeof address === "object" && address !== null ? address.port : 0
      resolve({
        address: `http://127.0.0.1:${port}/callback`,
        brought: (state) => waitFor(server, state),
        close: () => {
          server.close()
          server.closeIdleConnections()
        }
      })
    })
  })

const waitFor = (server: Server, state: string): Promise<Answered> =>
  new Promise((resolve) => {
    server.on("request", ({ method, url = "/" }, response) => {
      const given = URL.canParse(url, "http://127.0.0.1") ? new URL(url, "http://127.0.0.1") : undefined
      const brought = given?.pathname === "/callback" && method === "GET" ? broughtBy(given) : undefined
      if (brought?.state !== state) return page(response, 404, "This is no answer to the login that waits here.")
      resolve({
        brought,
        answer: ({ reason_message, state: ended }) =>
          page(
            response,
            200,
            ended === "completed"
              ? "You are logged in. Close this page and go back to the terminal."
              : (reason_message ?? "The login has ended. Go back to the terminal.")
          )
      })
    })
  })

const broughtBy = ({ searchParams }: URL): Brought => {
  const of = (name: string) => searchParams.get(name) ?? undefined
  return { state: of("state"), code: of("code"), error: of("error"), iss: of("iss") }
}

const page = (response: ServerResponse, status: number, text: string): void => {
  const escaped = text.replaceAll("&", "&amp;").replaceAll("<", "&lt;")
  response.writeHead(status, {
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    connection: "close"
  })
  response.end(
    `<!doctype html><meta name="viewport" content="width=device-width"><title>Reins</title><p>${escaped}</p>\n`
  )
}

/** The address that a browser of another machine has ended at, which a person pastes. */
const pastedAnswer = async (state: string, signal: AbortSignal): Promise<Answered> => {
  const fault = (text: string) =>
    URL.canParse(text.trim()) && broughtBy(new URL(text.trim())).state === state
      ? undefined
      : "That is not the address of this login. Copy the whole one."
  const text = await ask.text("Or paste the address that the browser ends at", "", { fault, signal })
  return { brought: broughtBy(new URL(text)), answer: () => {} }
}
