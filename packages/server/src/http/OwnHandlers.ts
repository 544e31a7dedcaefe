import { apiVersion } from "@reins/core/Api"
import { Artifacts } from "@reins/core/artifacts/Artifacts"
import { Waits } from "@reins/core/delegations/Waits"
import { AccountDeletions } from "@reins/core/deletion/AccountDeletions"
import { Exports } from "@reins/core/exports/Exports"
import { Accounts } from "@reins/core/identity/Accounts"
import { LoginSessions } from "@reins/core/identity/LoginSessions"
import { PasswordChanges } from "@reins/core/identity/PasswordChanges"
import { SharedSessions } from "@reins/core/shares/SharedSessions"
import { Effect, Redacted } from "effect"
import packageJson from "../../package.json" with { type: "json" }
import { EventStreams } from "../EventStreams.js"
import { Shutdown } from "../Shutdown.js"
import { writeTexts } from "../TextStream.js"
import { contentReply } from "./ArtifactContent.js"
import type { Exchange } from "./Exchange.js"
import type { Handlers } from "./Handlers.js"
import { Authentication, bearerOf } from "./middleware/Authentication.js"

/** Logins and passwords need the client of a request, and change its cookie. */
export const accounts = Effect.gen(function* () {
  const accounts = yield* Accounts
  const authentication = yield* Authentication
  const logins = yield* LoginSessions
  const passwords = yield* PasswordChanges
  const deletions = yield* AccountDeletions
  const handlers: Omit<Handlers<"accounts">, "getMe" | "updateMe"> = {
    register: ({ body, exchange }) => accounts.register(body, exchange),
    login: ({ body, exchange }) =>
      Effect.map(logins.login(body, exchange), (loggedIn) => authentication.remember(exchange, loggedIn)),
    logout: ({ exchange, principal }) => Effect.map(logins.logout(principal), () => authentication.forget(exchange)),
    verifyEmail: ({ body }) => accounts.verifyEmail(body),
    changePassword: ({ body, exchange, principal }) => passwords.change(principal, body, exchange),
    resetPassword: ({ body, exchange }) => passwords.reset(body, exchange),
    delete: ({ body, exchange, principal }) => deletions.deleteOwn(principal, body, exchange)
  }
  return handlers
})

/** Logs are answered as pages, or as streams that take the exchange for themselves. */
export const events = Effect.map(EventStreams, (events) => {
  const ofSession: Pick<Handlers<"sessions">, "listEvents"> = {
    listEvents: ({ exchange, path, principal, query }) => events.answer(exchange, principal, path.session_id, query)
  }
  const ofWorkspace: Pick<Handlers<"workspaces">, "listEvents"> = {
    listEvents: ({ exchange, path, principal, query }) =>
      events.answerWorkspace(exchange, principal, path.workspace_id, query)
  }
  return { ofSession, ofWorkspace }
})

/** An export is written to the response of its exchange as it is read. */
export const exports = Effect.map(Exports, (exports) => {
  const handlers: Pick<Handlers<"sessions">, "getExport"> = {
    getExport: ({ exchange, path, principal, query }) => {
      const format = query.format ?? (prefersMarkdown(exchange.header("accept")) ? "markdown" : "json")
      exchange.headers["vary"] = [exchange.headers["vary"], "Accept"].filter((name) => name !== undefined).join(", ")
      return Effect.flatMap(exports.write(principal, path.session_id, format), (texts) =>
        writeTexts(exchange, texts, {
          "content-type": format === "json" ? "application/json" : "text/markdown; charset=utf-8",
          "content-disposition": `attachment; filename="${path.session_id}.${format === "json" ? "json" : "md"}"`
        })
      )
    }
  }
  return handlers
})

const prefersMarkdown = (accept = ""): boolean => /text\/markdown/i.test(accept) && !/application\/json/i.test(accept)

/** The content of an artifact is sent as bytes that no browser runs. */
export const artifacts = Effect.map(Artifacts, (artifacts) => {
  const handlers: Pick<Handlers<"artifacts">, "getContent"> = {
    getContent: ({ exchange, path, principal }) =>
      Effect.flatMap(artifacts.get(principal, path.artifact_id), (artifact) =>
        contentReply(
          artifact,
          {
            range: exchange.header("range"),
            ifRange: exchange.header("if-range"),
            ifNoneMatch: exchange.header("if-none-match")
          },
          (part) => Effect.map(artifacts.content(principal, artifact.id, part), ({ bytes }) => bytes)
        )
      )
  }
  return handlers
})

/** The caller of a shared session has the token of a link, which is no credential of an account. */
export const shared = Effect.gen(function* () {
  const sessions = yield* SharedSessions
  const shutdown = yield* Shutdown
  const handlers: Handlers<"shared"> = {
    getSession: ({ exchange }) => sessions.session(visitorOf(exchange)),
    listMessages: ({ exchange, query }) => sessions.messages(visitorOf(exchange), query),
    listChangesets: ({ exchange, query }) => sessions.changesets(visitorOf(exchange), query),
    getDiff: ({ exchange, path }) => sessions.diff(visitorOf(exchange), path.changeset_id),
    getWatermark: ({ exchange, query }) =>
      Effect.map(sessions.watermark(visitorOf(exchange), query.after, shutdown.begun), (event_watermark) => ({
        event_watermark
      }))
  }
  return handlers
})

const visitorOf = (exchange: Exchange) => {
  const token = bearerOf(exchange)
  exchange.headers["x-robots-tag"] = "noindex"
  return { token: token === undefined ? undefined : Redacted.make(token), clientAddress: exchange.clientAddress }
}

/** A wait ends when the server does. */
export const waits = Effect.gen(function* () {
  const waits = yield* Waits
  const shutdown = yield* Shutdown
  const handlers: Pick<Handlers<"delegations">, "wait"> = {
    wait: ({ body, path, principal }) => waits.wait(principal, path.delegation_id, body, shutdown.begun)
  }
  return handlers
})

export const version: Pick<Handlers<"catalog">, "getVersion"> = {
  getVersion: () => Effect.succeed({ release: packageJson.version, api_version: apiVersion })
}
