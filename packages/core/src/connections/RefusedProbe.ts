import { commonRefusals, type ForgeRefusals, readForgeRefusal } from "@reins/machine/forge/ForgeRefusals"
import { refusalWords } from "@reins/machine/forge/RefusalWords"
import type { Observation } from "./ConnectionValidation.js"
import { inconclusive, passed, type Seen, type Verdict } from "./Verdict.js"

/** The verdict that follows from a refusal, of 400 or above. Undefined when it tells nothing. */
export const verdictOfRefusal = (
  { answer, evidence }: Seen,
  at: Observation["observed_at"],
  table: ForgeRefusals = commonRefusals
): Verdict | undefined => {
  if (answer.status === 402) {
    return inconclusive(
      "quota_exhausted",
      "degraded",
      `The quota of the credential is used up (${evidence}). Raise it.`
    )
  }
  const refused = { status: answer.status, headers: answer.headers, words: refusalWords(answer, "") }
  const { kind, say } = readForgeRefusal(table)(refused, Date.now())
  switch (kind) {
    case "limit":
      return inconclusive(
        "rate_limited",
        "degraded",
        `The service was asked too often (${evidence}). Validate again later.`
      )
    case "away":
      return inconclusive("upstream_error", "degraded", `The service failed (${evidence}). Validate again later.`)
    // A forge says this of a token that it knows, as of that of an installation, which has no user.
    case "permission":
      return passed(at, evidence, [])
    case "network":
      return inconclusive("unexpected_answer", "degraded", `The forge ${say} (${evidence})`)
    case "organisation":
      return refusedCredential(at, evidence, `The forge ${say} (${evidence})`)
    case "credential":
    case "forbidden":
      return refusedCredential(at, evidence, `The credential was refused (${evidence}). Post a new credential version.`)
    default:
      return undefined
  }
}

const refusedCredential = (at: Observation["observed_at"], evidence: string, message: string): Verdict => ({
  state: "failed",
  health: "reauth_required",
  reason: "credential_refused",
  message,
  observations: [{ capability: "authentication", value: "unsupported", evidence, observed_at: at }]
})
