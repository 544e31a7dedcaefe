import { foreignJson } from "@reins/base/base/ForeignJson"
import { field } from "@reins/base/domain/Field"
import { now } from "@reins/base/domain/Timestamp"
import type { ForgeKind } from "@reins/machine/forge/Forge"
import { forgeHost } from "@reins/machine/forge/ForgeHost"
import { Effect, Redacted, Schema } from "effect"
import { BaseUrl, type ConnectionKind, credentialOf, optionalField, Secret } from "../ConnectionKind.js"
import type { OpenConnection } from "../OpenConnection.js"
import { refusal } from "../ProbeRefusal.js"
import { type AskProbe, asking, passed, unexpected } from "../Verdict.js"

/** The kind of connection for a kind of forge: a token, and the address of the forge unless it is the usual one. */
export const forgeToken = (forge: ForgeKind): ConnectionKind => ({
  kind: forge.kind,
  credential: credentialOf(
    Schema.Struct({
      base_url: field(
        optionalField(BaseUrl),
        "The address of the forge, as in `https://gitea.example`; the public one of its kind when absent."
      ),
      token: field(Secret, "A token that may read and push, and open merge requests. It never comes back.")
    })
  ),
  settings: new Set(["base_url"]),
  capabilities: ["authentication"],
  forGit: true,
  gateway: null,
  probe: (connection, { outbound }) => Effect.merge(probe(asking(outbound), forge, connection))
})

const probe = Effect.fnUntraced(function* (ask: AskProbe, forge: ForgeKind, { secrets, settings }: OpenConnection) {
  const at = yield* now
  const host = forgeHost(forge, settings["base_url"])
  const token = Redacted.value(secrets["token"] ?? Redacted.make(""))
  const user = yield* ask({
    url: `${host.api}${forge.userPath}`,
    name: `GET ${forge.userPath}`,
    request: { headers: { accept: "application/json", "user-agent": "reins", ...forge.headers(token) } }
  })
  const found = user.answer.status === 200 ? objectIn(user.answer.body) : undefined
  if (found === undefined) return (yield* refusal(user, at, forge.refusals)) ?? unexpected(user.evidence)
  const privateEmail = forge.privateEmail?.(found, host.web.hostname)
  return { ...passed(at, user.evidence, []), ...(privateEmail && { privateEmail }) }
})

const objectIn = (body: string): Readonly<Record<string, unknown>> | undefined => {
  const value = foreignJson(body)
  return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : undefined
}
