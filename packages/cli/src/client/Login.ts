import { randomUUID } from "node:crypto"
import { hostname } from "node:os"
import { text as readAll } from "node:stream/consumers"
import { Effect, Redacted } from "effect"
import { command, flag, option } from "../Command.js"
import { CommandFailed } from "../CommandFailed.js"
import { tell } from "../terminal/Output.js"
import { ask, isInteractive } from "../terminal/Prompts.js"
import { passwordFrom } from "./Password.js"
import { storeProfile, target } from "./Profile.js"
import { attempt, client } from "./Remote.js"

/** `reins login` */
export const login = command({
  takes: {
    email: option("email", "The address of your account", { value: "address" }),
    passwordStdin: flag("password-stdin", "Read the password from the standard input (else REINS_PASSWORD)"),
    keyStdin: flag("key-stdin", "Read an API key from the standard input, in the place of a password"),
    url: option("url", "The server (REINS_URL, else the one of your profile)", { value: "url", group: "Connection:" })
  },
  details: "It makes an API key of your account and stores it in your profile, for the commands that ask a server.",
  examples: [
    ["reins login --url https://reins.example.com", "Ask for your address and password"],
    ["pass show reins-key | reins login --url https://reins.example.com --key-stdin", "Use a key that you have"]
  ],
  run: ({ email, keyStdin, passwordStdin, url: named }) =>
    Effect.gen(function* () {
      const { url } = target(named)
      if (url === undefined)
        return yield* new CommandFailed({ message: "Name the server with --url, as https://reins.example.com." })
      const key = keyStdin
        ? (yield* Effect.promise(() => readAll(process.stdin))).trim()
        : yield* keyByPassword(url, email, passwordStdin)
      const me = yield* attempt(() => client(url, key).accounts.getMe(), url)
      const file = yield* storeProfile({ url, api_key: key })
      tell(`Logged in to ${url} as ${me.account.email}. The key is stored in ${file}`)
    })
})

const keyByPassword = (url: string, given: string | undefined, passwordStdin: boolean) =>
  Effect.gen(function* () {
    const email = given ?? (yield* attempt(askForEmail))
    const password = yield* passwordFrom(passwordStdin)
    return yield* attempt(() => newKey(url, email, Redacted.value(password)), url)
  })

const askForEmail = async (): Promise<string> => {
  if (isInteractive()) return ask.text("The address of your account")
  throw new CommandFailed({ message: "There is no address for your account. Give it with --email." })
}

/** Logs in, makes a key, and logs out again. */
const newKey = async (url: string, email: string, password: string): Promise<string> => {
  const call = (path: string, body: object | undefined, headers: Readonly<Record<string, string>>) =>
    fetch(`${url}/api${path}`, {
      method: "POST",
      headers: { "content-type": "application/json", "idempotency-key": randomUUID(), ...headers },
      redirect: "manual",
      ...(body !== undefined && { body: JSON.stringify(body) })
    }).catch(() => {
      throw new CommandFailed({ message: `No server answers at ${url}. Check --url.` })
    })
  const entered = await call("/auth/login", { email, password }, {})
  const login: unknown = await entered.json().catch(() => undefined)
  if (!entered.ok || typeof login !== "object" || login === null || !("csrf_token" in login))
    throw new CommandFailed({
      message:
        entered.status === 401
          ? "The address or the password is wrong."
          : entered.status === 429
            ? "Too many failed logins. Try again in a minute."
            : `${url} did not take the login (${entered.status}). Is it a Reins server, and the address confirmed?`
    })
  const cookie = entered.headers
    .getSetCookie()
    .map((each) => each.split(";")[0])
    .join("; ")
  const session = { cookie, "x-csrf-token": String(login.csrf_token) }
  const made = await call("/api-keys", { name: `reins login on ${hostname()}`, scopes: ["admin"] }, session)
  const key: unknown = await made.json().catch(() => undefined)
  await call("/auth/logout", undefined, session)
  if (made.ok && typeof key === "object" && key !== null && "secret" in key) return String(key.secret)
  throw new CommandFailed({
    message: `${url} made no key (${made.status}). Make one on its page, and use --key-stdin.`
  })
}
