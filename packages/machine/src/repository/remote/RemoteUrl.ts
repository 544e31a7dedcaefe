import { realpath } from "node:fs/promises"
import { isIP } from "node:net"
import { relative, resolve, sep } from "node:path"
import { type RepositoryPlace, repositoryPlace } from "@reins/base/domain/RepositoryUrl"
import { Effect, Redacted, type Scope } from "effect"
import { hostOf, isPublic, portOf } from "../../outbound/Address.js"
import { AddressRefused } from "../../outbound/AddressRefused.js"
import { GitError } from "../run/GitError.js"
import type { GitMeans } from "../run/GitMeans.js"
import { settingsEnv } from "../run/GitVariables.js"
import { type SshKey, sshCommand } from "./SshCommand.js"

/** A name and password, a forge's access token, or a key for SSH. The caller gives it to the home of its connection only. */
export type GitCredential =
  | { readonly username: string; readonly password: Redacted.Redacted }
  | { readonly token: Redacted.Redacted }
  | SshKey

/** A remote that may be contacted: its address without the credential, and the variables by which the credential reaches git. */
export interface Remote {
  readonly url: string
  readonly env: Readonly<Record<string, string>>
  readonly secrets: ReadonlyArray<string>
  /** True for the home of a credential and for what the operator allows. The words of any other host are not repeated. */
  readonly isKnown: boolean
  /** The reason why the guard refused a connection of git; undefined while it refused none. */
  readonly refused: () => string | undefined
  /** True when a connection was refused because the remote leads to another host. */
  readonly leadsAway?: () => boolean
  /** Hears what a git process has said, by which it learns that the remote has asked for the credential and taken it. */
  readonly hear?: (stderr: string) => void
  /** True once the remote has taken the credential. A public repository never asks for it. */
  readonly isAccepted?: () => boolean
}

const refuse = (message: string): Effect.Effect<never, GitError> =>
  Effect.fail(new GitError({ kind: "remote_refused", message }))

const unreadable = "The repository URL is not valid: use https://host/path.git."

const pathRefused =
  "The service takes no repository by its file path: push it and use its https URL, or have the operator allow paths " +
  "(REINS_ALLOW_LOCAL_REPOSITORIES=true)."

const pathClosed =
  "The repository is within the data directory of the service, which holds no remotes: use another path."

const sshRefused =
  "The service takes no repository through SSH: use its https URL, or have the operator allow SSH " +
  "(REINS_ALLOW_SSH_REPOSITORIES=true)."

const isBeneath = (directory: string, path: string): boolean => {
  const way = relative(directory, path)
  return way === "" || (way !== ".." && !way.startsWith(`..${sep}`))
}

const webRefusal = ({ wayOut }: GitMeans, url: URL): string | undefined => {
  const [host, port] = [hostOf(url), portOf(url)]
  if (wayOut.allows(host, port)) return undefined
  if (url.protocol === "http:") return new AddressRefused("not_https", host, port).message
  return isIP(host) !== 0 && !isPublic(host) ? new AddressRefused("not_public", host, port).message : undefined
}

const refusalAt = (means: GitMeans, place: RepositoryPlace): string | undefined => {
  switch (place.kind) {
    case "web":
      return webRefusal(means, place.url)
    case "ssh":
      return means.allowSsh ? undefined : sshRefused
    case "path":
      if (!means.allowFile) return pathRefused
      return means.closedTo.some((directory) => isBeneath(resolve(directory), resolve(place.path)))
        ? pathClosed
        : undefined
  }
}

/** True for a repository that only this machine can reach, by its path. */
export const isOfMachine = (url: string): boolean => repositoryPlace(url)?.kind === "path"

/** See `Git.refusal`. */
export const urlRefusal = (means: GitMeans, url: string): string | undefined => {
  const place = repositoryPlace(url)
  return place === undefined ? unreadable : refusalAt(means, place)
}

// git has a helper store a credential once the remote has taken it. Lines of a remote have a word before them, so none of them is this one.
const acceptedMark = "reins: the remote has taken the credential"

// git asks the helper for this origin only, so after a redirect to another host it has no credential to send. The values come from the
// environment of the one git process, and `printf` is built into the shell, so no command line ever holds them.
const credentialHelper = `!f() { test "$1" = get && printf 'username=%s\\npassword=%s\\n' "$REINS_GIT_USERNAME" "$REINS_GIT_PASSWORD"; test "$1" = store && echo "${acceptedMark}" >&2; true; }; f`

// Private certificate authorities of an operator.
const certificateNames = ["SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_SSL_CAINFO"]

const certificates = (): Record<string, string> =>
  Object.fromEntries(
    certificateNames.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]]))
  )

const unprintable = (text: string): boolean => /[\r\n\0]/.test(text)

const noCredential = (message: string) => new GitError({ kind: "auth_required", message })

/** The name and the password that a server asks for; undefined without a credential. */
const loginOf = Effect.fnUntraced(function* (credential: GitCredential | undefined) {
  if (credential === undefined) return undefined
  if ("privateKey" in credential) {
    return yield* noCredential("A key for SSH is no credential for https: use a connection of the kind git.")
  }
  const username = "token" in credential ? "x-access-token" : credential.username
  const password = Redacted.value("token" in credential ? credential.token : credential.password)
  if (password === "" || unprintable(username) || unprintable(password)) {
    return yield* noCredential(
      "The credential is empty or holds a line break: put a valid credential in the connection."
    )
  }
  return { username, password }
})

const elsewhere = (host: string, port: number): string =>
  `The remote leads to ${host}:${port}, and git follows to no other host: use the URL of the repository there. ` +
  "PATCH /api/sessions/{session_id} with repository.url changes that of a session."

/** Lets git out to the remote and to no other place, so that neither a redirect nor an alternate leads it elsewhere. */
const webRemote = Effect.fnUntraced(function* (means: GitMeans, url: URL, credential: GitCredential | undefined) {
  const [home, at] = [hostOf(url), portOf(url)]
  const login = yield* loginOf(credential)
  let leadsAway = false
  let isAccepted = false
  const passage = yield* means.wayOut.open({
    privateHosts: true,
    refusal: (host, port) => {
      if (host === home && port === at) return undefined
      leadsAway = true
      return elsewhere(host, port)
    }
  })
  const remote: Remote = {
    url: url.href,
    env: {
      ...certificates(),
      GIT_ALLOW_PROTOCOL: url.protocol.slice(0, -1),
      GIT_HTTP_LOW_SPEED_LIMIT: "1",
      GIT_HTTP_LOW_SPEED_TIME: "120",
      ...settingsEnv({
        "http.proxy": Redacted.value(passage.url),
        ...(login && { [`credential.${url.origin}.helper`]: credentialHelper })
      }),
      ...(login && { REINS_GIT_USERNAME: login.username, REINS_GIT_PASSWORD: login.password })
    },
    secrets: [
      new URL(Redacted.value(passage.url)).password,
      ...(login ? [login.password, Buffer.from(`${login.username}:${login.password}`).toString("base64")] : [])
    ],
    isKnown: login !== undefined || means.wayOut.allows(home, at),
    refused: passage.refused,
    leadsAway: () => leadsAway,
    hear: (stderr) => {
      isAccepted ||= stderr.split("\n").includes(acceptedMark)
    },
    isAccepted: () => isAccepted
  }
  return remote
})

const sshRemote = Effect.fnUntraced(function* (
  means: GitMeans,
  url: string,
  place: { readonly host: string; readonly port: number },
  credential: GitCredential | undefined
) {
  if (credential === undefined || !("privateKey" in credential)) {
    return yield* noCredential(
      "A repository through SSH needs a connection of the kind git_ssh with that host as its origin: add one to the project."
    )
  }
  const address = yield* Effect.catchAll(
    means.wayOut.addressOf(place.host.replace(/^\[(.*)\]$/, "$1"), place.port),
    refuse
  )
  const remote: Remote = {
    url,
    env: {
      GIT_ALLOW_PROTOCOL: "ssh",
      GIT_SSH_VARIANT: "ssh",
      GIT_SSH_COMMAND: yield* sshCommand(credential, place, address)
    },
    secrets: [],
    isKnown: true,
    refused: () => undefined
  }
  return remote
})

const pathRemote = Effect.fnUntraced(function* ({ closedTo }: GitMeans, url: string, path: string) {
  const real = (given: string) => Effect.promise(() => realpath(given).catch(() => resolve(given)))
  const target = yield* real(path)
  for (const directory of closedTo) {
    if (isBeneath(yield* real(directory), target)) return yield* refuse(pathClosed)
  }
  const remote: Remote = {
    url,
    env: { GIT_ALLOW_PROTOCOL: "file" },
    secrets: [],
    isKnown: true,
    refused: () => undefined
  }
  return remote
})

/**
 * Checks a remote's address and joins it with its credential. Allowed are `https:` and, where the operator says so, `http:`, `ssh:` (or
 * `user@host:path`) and `file:` (or an absolute path). The remote can be reached until the scope closes.
 */
export const remoteOf: (
  means: GitMeans,
  url: string,
  credential: GitCredential | undefined
) => Effect.Effect<Remote, GitError, Scope.Scope> = Effect.fnUntraced(function* (means, url, credential) {
  const place = repositoryPlace(url)
  if (place === undefined && /^[a-z+]+:\/\/[^/@:]*:[^/@]*@/i.test(url)) {
    return yield* noCredential(
      "The repository URL must not hold a password: remove it there and put it in a connection."
    )
  }
  if (place === undefined) return yield* refuse(unreadable)
  const refusal = refusalAt(means, place)
  if (refusal !== undefined) return yield* refuse(refusal)
  switch (place.kind) {
    case "web":
      return yield* webRemote(means, place.url, credential)
    case "ssh":
      return yield* sshRemote(means, url, place, credential)
    case "path":
      return yield* pathRemote(means, url, place.path)
  }
})
