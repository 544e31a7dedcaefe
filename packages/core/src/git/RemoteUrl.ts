import { isAbsolute } from "node:path"
import { Effect, Redacted } from "effect"
import { GitError } from "./GitError.js"
import type { GitOptionsShape } from "./GitOptions.js"

/** A name and password, or a forge's access token. */
export type GitCredential =
  | { readonly username: string; readonly password: Redacted.Redacted }
  | { readonly token: Redacted.Redacted }

/** A remote that may be contacted: its address without the credential, and the variables by which the credential reaches git. */
export interface Remote {
  readonly url: string
  readonly env: Readonly<Record<string, string>>
  readonly secrets: ReadonlyArray<string>
}

const refuse = (message: string): Effect.Effect<never, GitError> =>
  Effect.fail(new GitError({ kind: "remote_refused", message }))

const pathRefused =
  "The service takes no repository by its file path: push it and use its https URL, or have the operator allow paths " +
  "(REINS_ALLOW_LOCAL_REPOSITORIES=true)."

const scpLike = /^(?:[A-Za-z0-9_][\w.-]*@)?[A-Za-z0-9][\w.-]*:(?![/\\]{2}|:)[^\s]+$/

const protocolsOf = (scheme: string): string => (scheme === "http" ? "http:https" : scheme)

// git asks the helper for this origin only, so after a redirect to another host it has no credential to send. The values come from the
// environment of the one git process, and `printf` is built into the shell, so no command line ever holds them.
const credentialHelper = `!f() { test "$1" = get && printf 'username=%s\\npassword=%s\\n' "$REINS_GIT_USERNAME" "$REINS_GIT_PASSWORD"; }; f`

const credentialEnv = (origin: string, username: string, password: string): Record<string, string> => ({
  GIT_CONFIG_COUNT: "1",
  GIT_CONFIG_KEY_0: `credential.${origin}.helper`,
  GIT_CONFIG_VALUE_0: credentialHelper,
  REINS_GIT_USERNAME: username,
  REINS_GIT_PASSWORD: password
})

// The network of an operator may need proxies and private certificate authorities.
const networkNames = [
  "http_proxy",
  "https_proxy",
  "no_proxy",
  "all_proxy",
  "HTTPS_PROXY",
  "NO_PROXY",
  "ALL_PROXY",
  "SSL_CERT_FILE",
  "SSL_CERT_DIR",
  "GIT_SSL_CAINFO",
  "SSH_AUTH_SOCK"
]

const networkEnv = (scheme: string): Record<string, string> => ({
  ...Object.fromEntries(
    networkNames.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]]))
  ),
  GIT_ALLOW_PROTOCOL: protocolsOf(scheme),
  GIT_SSH_COMMAND: "ssh -oBatchMode=yes -oConnectTimeout=20",
  GIT_HTTP_LOW_SPEED_LIMIT: "1",
  GIT_HTTP_LOW_SPEED_TIME: "120"
})

const unprintable = (text: string): boolean => /[\r\n\0]/.test(text)

const httpRemote = Effect.fnUntraced(function* (parsed: URL, credential: GitCredential | undefined) {
  const scheme = parsed.protocol.slice(0, -1)
  const url = new URL(parsed.href)
  url.username = ""
  url.password = ""
  if (credential === undefined) return { url: url.href, env: networkEnv(scheme), secrets: [] }
  const username = "token" in credential ? "x-access-token" : credential.username
  const password = Redacted.value("token" in credential ? credential.token : credential.password)
  if (password === "" || unprintable(username) || unprintable(password)) {
    return yield* new GitError({
      kind: "auth_required",
      message: "The credential is empty or holds a line break: put a valid credential in the connection."
    })
  }
  const basic = Buffer.from(`${username}:${password}`).toString("base64")
  return {
    url: url.href,
    env: { ...networkEnv(scheme), ...credentialEnv(url.origin, username, password) },
    secrets: [password, basic]
  }
})

const parse = (url: string): URL | null => {
  try {
    return new URL(url)
  } catch {
    return null
  }
}

/**
 * Checks a remote's address and joins it with its credential. Allowed are `https:`, `ssh:` (or `user@host:path`), and, where
 * the options say so, `http:` and `file:` (or an absolute path). An address with a password in it is refused.
 */
export const remoteOf: (
  options: GitOptionsShape,
  url: string,
  credential: GitCredential | undefined
) => Effect.Effect<Remote, GitError> = Effect.fnUntraced(function* (options, url, credential) {
  if (url.startsWith("-") || unprintable(url)) {
    return yield* refuse("The repository URL is not valid: use https://host/path.git.")
  }
  if (isAbsolute(url)) {
    return options.allowFile ? { url, env: networkEnv("file"), secrets: [] } : yield* refuse(pathRefused)
  }
  const parsed = parse(url)
  const scheme = parsed?.protocol.slice(0, -1)
  if (parsed !== null && url.includes("://")) {
    if (parsed.password !== "") {
      return yield* new GitError({
        kind: "auth_required",
        message: "The repository URL must not hold a password: remove it there and put it in a connection."
      })
    }
    if (scheme === "https" || (scheme === "http" && options.allowHttp)) return yield* httpRemote(parsed, credential)
    if (scheme === "ssh" && /^[A-Za-z0-9[]/.test(parsed.hostname) && !parsed.username.startsWith("-")) {
      return { url, env: networkEnv("ssh"), secrets: [] }
    }
    if (scheme === "file" && options.allowFile && parsed.host === "")
      return { url, env: networkEnv("file"), secrets: [] }
    if (scheme === "file" && !options.allowFile) return yield* refuse(pathRefused)
    return yield* refuse(`Repository URLs that start with ${scheme ?? ""}: are not allowed here: use an https URL.`)
  }
  if (scpLike.test(url)) return { url, env: networkEnv("ssh"), secrets: [] }
  return yield* refuse("The repository URL is not valid: use https://host/path.git.")
})
