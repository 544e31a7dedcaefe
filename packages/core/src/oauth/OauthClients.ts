import { clientNetwork } from "@reins/base/base/ClientNetwork"
import { fn } from "@reins/base/base/Traced"
import { newId, OauthClientId } from "@reins/base/domain/Ids"
import { stranger } from "@reins/base/domain/Principal"
import { now, toMillis } from "@reins/base/domain/Timestamp"
import { Context, Effect, Layer } from "effect"
import * as Throttle from "../identity/Throttle.js"
import { Journal } from "../store/Journal.js"
import { isDocumentUrl, makeClientDocuments } from "./ClientDocuments.js"
import { type OauthClient, readMetadata } from "./ClientMetadata.js"
import { OauthRefused } from "./OauthRefused.js"
import { OauthStore } from "./OauthStore.js"

const hourMs = 60 * 60 * 1000

/** Registrations need no account. These bound what strangers make of them. */
const ofAddress: Throttle.ThrottleLimit = { kind: "oauth registration", max: 30, windowMs: hourMs }
const ofAll: Throttle.ThrottleLimit = { kind: "oauth registrations", max: 500, windowMs: hourMs }

/** A person makes so many fetches of documents at most, which go to hosts that an app names. */
const ofPerson: Throttle.ThrottleLimit = { kind: "oauth document", max: 60, windowMs: hourMs }

/** A registration as RFC 7591 answers it. The client has no secret. */
export interface AppRegistration {
  readonly client_id: string
  readonly client_id_issued_at: number
  readonly client_name: string
  readonly redirect_uris: ReadonlyArray<string>
  readonly token_endpoint_auth_method: "none"
  readonly grant_types: ReadonlyArray<string>
  readonly response_types: ReadonlyArray<string>
}

/** The apps that may ask for access. */
export class OauthClients extends Context.Tag("@reins/core/oauth/OauthClients")<
  OauthClients,
  {
    /**
     * Registers an app that has no document. It is a public client, whatever it asks for. At most 30 registrations of a network and 500 of all within an
     * hour. One whose app gets no access is deleted after 30 days.
     */
    readonly register: (
      metadata: unknown,
      client: { readonly clientAddress: string }
    ) => Effect.Effect<AppRegistration, OauthRefused>
    /** The app of an id, for a person who asks who it is. The document of an app is fetched at most 60 times an hour for one person. */
    readonly find: (id: string, accountId: string) => Effect.Effect<OauthClient, OauthRefused>
    /** False for an id whose registration is gone or never was. The URL of a document needs none. */
    readonly isKnown: (id: string) => Effect.Effect<boolean>
  }
>() {
  static readonly layer = Layer.effect(
    OauthClients,
    Effect.gen(function* () {
      const journal = yield* Journal
      const store = yield* OauthStore
      const throttle = yield* Throttle.make
      const documentOf = yield* makeClientDocuments

      // A database takes no NUL.
      const registered = (id: string) => store.findClient(id.replaceAll("\0", ""))
      const take = (limit: Throttle.ThrottleLimit, subject: string) => journal.commit(throttle.take(limit, subject))

      return OauthClients.of({
        register: fn("OauthClients.register")(function* (given, { clientAddress }) {
          const metadata = yield* readMetadata(given)
          const isFree = (yield* take(ofAddress, clientNetwork(clientAddress))) && (yield* take(ofAll, "all"))
          if (!isFree) return yield* tooMany
          const id = yield* newId(OauthClientId)
          yield* journal.command(
            "OauthClients.register",
            { by: stranger, about: { type: "oauth_client", id } },
            store.insertClient({ id, host: null, ...metadata })
          )
          const registration: AppRegistration = {
            client_id: id,
            client_id_issued_at: Math.floor(toMillis(yield* now) / 1000),
            client_name: metadata.name,
            redirect_uris: metadata.redirectUris,
            token_endpoint_auth_method: "none",
            grant_types: ["authorization_code", "refresh_token"],
            response_types: ["code"]
          }
          return registration
        }),
        find: fn("OauthClients.find")(function* (id, accountId) {
          if (isDocumentUrl(id)) {
            if (!(yield* take(ofPerson, accountId))) return yield* tooMany
            return yield* documentOf(id)
          }
          return (yield* registered(id)) ?? (yield* unknownClient)
        }),
        isKnown: (id) =>
          isDocumentUrl(id) ? Effect.succeed(true) : Effect.map(registered(id), (found) => found !== undefined)
      })
    })
  )
}

const tooMany = new OauthRefused({
  error: "temporarily_unavailable",
  description: "Too many apps came from there within an hour. Try again later.",
  retryAfterSeconds: 3600
})

/** The refusal of an app whose registration is gone. Clients know its code, and register anew by themselves. */
export const unknownClient = new OauthRefused({
  error: "invalid_client",
  description: "This server does not know the app. Connect it anew, so that it registers again."
})
