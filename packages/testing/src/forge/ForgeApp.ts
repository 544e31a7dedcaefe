import { createPublicKey, generateKeyPairSync, randomBytes, verify } from "node:crypto"
import type { IncomingHttpHeaders } from "node:http"
import { Schema } from "effect"
import type { Answer } from "./ForgeServer.js"
import { recordings } from "./Recorded.js"

/** A token that the app was given. */
export interface AppToken {
  readonly token: string
  readonly permissions: Readonly<Record<string, string>>
  readonly repositories: ReadonlyArray<string>
  readonly madeAt: number
}

const Claims = Schema.parseJson(
  Schema.Struct({ iat: Schema.Number, exp: Schema.Number, iss: Schema.Union(Schema.String, Schema.Number) })
)

const Wanted = Schema.parseJson(
  Schema.Struct({
    repositories: Schema.Array(Schema.String),
    permissions: Schema.Record({ key: Schema.String, value: Schema.String })
  })
)

const hourMs = 60 * 60_000

const { replaced } = recordings("github")

const docs = { documentation_url: "https://docs.github.com/rest/apps" }

let keys: { readonly pkcs1: string; readonly pkcs8: string } | undefined

/** The key of an app in both forms of PEM. It is made once for all tests of a process. */
export const appKeys = (): { readonly pkcs1: string; readonly pkcs8: string } => {
  if (keys !== undefined) return keys
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 })
  keys = {
    pkcs1: privateKey.export({ type: "pkcs1", format: "pem" }).toString(),
    pkcs8: privateKey.export({ type: "pkcs8", format: "pem" }).toString()
  }
  return keys
}

/** A GitHub App that is installed on one repository, with the endpoints of GitHub about it. */
export class ForgeApp {
  readonly clientId = "Iv23liForgeApp"
  readonly slug = "reins-helper"
  readonly installationId = 4711
  /** The permissions of its installation. */
  permissions: Readonly<Record<string, string>> = {
    contents: "write",
    pull_requests: "write",
    actions: "write",
    checks: "read",
    statuses: "read",
    metadata: "read"
  }
  isInstalled = true
  isSuspended = false
  /** False while the forge refuses each token that it has made. */
  takesTokens = true
  /** The milliseconds by which the clock of the forge is ahead. */
  skewMs = 0
  readonly minted: Array<AppToken> = []
  private readonly revoked = new Set<string>()
  private readonly name: string

  constructor(private readonly repository: string) {
    this.name = repository.split("/").at(-1) ?? ""
  }

  private readonly now = (): number => Date.now() + this.skewMs

  /** Takes every token back. */
  readonly revoke = (): void => {
    for (const { token } of this.minted) this.revoked.add(token)
  }

  /** The tokens that the forge takes now. */
  readonly live = (): ReadonlyArray<AppToken> =>
    this.minted.filter(
      ({ madeAt, token }) => this.takesTokens && !this.revoked.has(token) && this.now() < madeAt + hourMs
    )

  /** True when git may read or push with the authorization of a request. */
  readonly letsGit = (authorization: string | undefined, url: string): boolean => {
    const [, encoded = ""] = /^Basic (.+)$/.exec(authorization ?? "") ?? []
    const login = Buffer.from(encoded, "base64").toString("utf8")
    const found = this.live().find(({ token }) => login === `x-access-token:${token}`)
    return (
      found?.permissions["contents"] === "write" &&
      new URL(url, "http://localhost").pathname.startsWith(`/${this.repository}`)
    )
  }

  /** Answers a request about the app; undefined for any other. `path` is below the root of the API. */
  readonly answer = (method: string, path: string, headers: IncomingHttpHeaders, raw: string): Answer | undefined => {
    const isMint = /^\/app\/installations\/(\d+)\/access_tokens$/.exec(path)
    const isOfApp = path === "/app" || path.startsWith("/app/") || path === `/repos/${this.repository}/installation`
    if (!isOfApp) return undefined
    const date = { date: new Date(this.now()).toUTCString() }
    const refused = this.refusal(headers)
    if (refused !== undefined) return { status: 401, body: { message: refused, ...docs }, headers: date }
    if (path === "/app") {
      const app = { id: 12, slug: this.slug, client_id: this.clientId, permissions: this.permissions }
      return { status: 200, body: replaced("GET /app", app) }
    }
    if (!this.isInstalled || (isMint !== null && isMint[1] !== String(this.installationId))) return notFound
    if (isMint !== null) return method === "POST" ? this.mint(raw) : notFound
    if (path !== `/app/installations/${this.installationId}` && path.startsWith("/app/")) return notFound
    return {
      status: 200,
      body: replaced("GET /app/installations/{installation_id}", {
        id: this.installationId,
        app_id: 12,
        app_slug: this.slug,
        permissions: this.permissions,
        suspended_at: this.isSuspended ? "2026-01-01T00:00:00Z" : null,
        suspended_by: null
      })
    }
  }

  private mint(raw: string): Answer {
    const { permissions, repositories } = Schema.decodeUnknownSync(Wanted)(raw)
    if (this.isSuspended) return { status: 403, body: { message: "This installation has been suspended", ...docs } }
    if (repositories.some((each) => each !== this.name))
      return {
        status: 422,
        body: {
          message:
            "There is at least one repository that does not exist or is not accessible to the parent installation.",
          ...docs
        }
      }
    if (Object.entries(permissions).some(([name, level]) => !levels(this.permissions[name]).includes(level)))
      return {
        status: 422,
        body: { message: "The permissions requested are not granted to this installation.", ...docs }
      }
    const made: AppToken = {
      token: `ghs_canary${randomBytes(15).toString("hex")}`,
      permissions,
      repositories,
      madeAt: this.now()
    }
    this.minted.push(made)
    return {
      status: 201,
      body: replaced("POST /app/installations/{installation_id}/access_tokens", {
        token: made.token,
        expires_at: new Date(made.madeAt + hourMs).toISOString(),
        permissions,
        repository_selection: "selected"
      })
    }
  }

  /** The word of the forge on a statement of the app that it does not take. */
  private refusal(headers: IncomingHttpHeaders): string | undefined {
    const [, head = "", body = "", signature = ""] =
      /^Bearer ([\w-]+)\.([\w-]+)\.([\w-]+)$/.exec(headers.authorization ?? "") ?? []
    const isSigned = verify(
      "RSA-SHA256",
      Buffer.from(`${head}.${body}`),
      createPublicKey(appKeys().pkcs8),
      Buffer.from(signature, "base64url")
    )
    if (!isSigned) return "A JSON web token could not be decoded"
    const { exp, iat, iss } = Schema.decodeUnknownSync(Claims)(Buffer.from(body, "base64url").toString("utf8"))
    const now = this.now() / 1000
    if (String(iss) !== this.clientId) return "Integration not found"
    if (iat > now)
      return "'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued"
    if (exp <= now || exp > now + 600)
      return "'Expiration time' claim ('exp') must be a numeric value representing the future time at which the assertion expires"
    return undefined
  }
}

const notFound: Answer = { status: 404, body: { message: "Not Found", ...docs } }

const levels = (granted: string | undefined): ReadonlyArray<string> =>
  granted === "write" ? ["read", "write"] : granted === undefined ? [] : [granted]
