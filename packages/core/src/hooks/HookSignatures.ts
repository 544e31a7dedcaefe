import { createHash, createHmac, timingSafeEqual } from "node:crypto"
import { cutText } from "@reins/base/base/CutText"
import { Context, Redacted } from "effect"
import { signingKey } from "../webhooks/Signature.js"
import type { HookKind } from "./Hook.js"

/** The headers of a call by their names in lower case, and its raw body. */
export interface HookCall {
  readonly header: (name: string) => string | undefined
  readonly body: Uint8Array
}

/** A call that a secret has proved. */
export interface Proven {
  readonly delivery_id: string
  /** Tells the bodies apart that one secret signs. A body that is signed without its delivery is the same one under any id. */
  readonly digest: string
}

/** The kinds that sign the body alone, so that a copy can come under another id. */
export const signsBodyAlone = (kind: HookKind): boolean => kind === "github" || kind === "gitea"

/** The digest that signatures are made with. A test counts its work. */
export class HookMac extends Context.Reference<HookMac>()("@reins/core/hooks/HookMac", {
  defaultValue: () => ({
    of: (key: string | Uint8Array, parts: ReadonlyArray<string | Uint8Array>): Buffer => {
      const mac = createHmac("sha256", key)
      for (const part of parts) mac.update(part)
      return mac.digest()
    }
  })
}) {}

/** The time by which the clock of a sender may differ. */
const toleranceMs = 5 * 60_000

/** The signatures of one call that are looked at. */
const maxSignatures = 8

/**
 * The delivery that a call is, when one of the secrets proves it. Every call costs one digest of its body for each secret, whatever its kind and its
 * headers are. All secrets and signatures are compared, in constant time.
 */
export const proofOf = (
  kind: HookKind,
  secrets: ReadonlyArray<Redacted.Redacted>,
  call: HookCall,
  nowMs: number,
  mac: HookMac["Type"]
): Proven | undefined => {
  const { header } = call
  const signsTime = kind === "standard" || (kind === "gitlab" && header("webhook-signature") !== undefined)
  const prefix = signsTime ? `${header("webhook-id") ?? ""}.${header("webhook-timestamp") ?? ""}.` : ""
  const proofs = secrets.map((secret) => {
    const text = Redacted.value(secret)
    const digest = mac.of(signsTime ? signingKey(secret) : text, [prefix, call.body])
    const wanted = signsTime
      ? digest.toString("base64")
      : kind === "github"
        ? `sha256=${digest.toString("hex")}`
        : kind === "gitea"
          ? digest.toString("hex")
          : text
    return givenBy(kind, signsTime, header)
      .map((given) => isSame(given, wanted))
      .includes(true)
  })
  if (!proofs.includes(true) || (signsTime && !isTimely(header, nowMs))) return undefined
  const given = signsBodyAlone(kind) ? givenBy(kind, signsTime, header).join() : call.body
  return {
    delivery_id: deliveryIdOf(kind, header) ?? anonymous(call.body, nowMs),
    digest: sha256(given).toString("hex")
  }
}

/**
 * True or false when a secret in a header decides without the body. Undefined for a kind that signs its body: nothing can be said of a call whose body was
 * not read.
 */
export const headersProve = (
  kind: HookKind,
  secrets: ReadonlyArray<Redacted.Redacted>,
  { header }: Pick<HookCall, "header">
): boolean | undefined => {
  const isSecretItself = kind === "token" || (kind === "gitlab" && header("webhook-signature") === undefined)
  if (!isSecretItself) return undefined
  const given = givenBy(kind, false, header)
  return secrets.map((secret) => given.map((one) => isSame(one, Redacted.value(secret))).includes(true)).includes(true)
}

/** The id that a call gives to its delivery; undefined for none. */
export const deliveryIdOf = (kind: HookKind, header: HookCall["header"]): string | undefined => {
  const id = idOf(kind, header) ?? ""
  return id === "" ? undefined : bounded(id)
}

/** The values of a call that may prove it. An empty one stands for none, so that the comparison is made all the same. */
const givenBy = (kind: HookKind, signsTime: boolean, header: HookCall["header"]): ReadonlyArray<string> => {
  if (signsTime)
    return (header("webhook-signature") ?? "")
      .split(" ")
      .slice(0, maxSignatures)
      .map((part) => (part.startsWith("v1,") ? part.slice(3) : ""))
  // `X-Hub-Signature` alone is SHA-1, and proves nothing.
  if (kind === "github") return [header("x-hub-signature-256") ?? ""]
  if (kind === "gitea") return [header("x-forgejo-signature") ?? header("x-gitea-signature") ?? ""]
  if (kind === "gitlab") return [header("x-gitlab-token") ?? ""]
  return [/^bearer +(\S+) *$/i.exec(header("authorization") ?? "")?.[1] ?? ""]
}

/** Compares the digests of texts, so that the time tells neither their length nor their beginning. */
const isSame = (given: string, wanted: string): boolean =>
  timingSafeEqual(sha256(given), sha256(wanted)) && given !== ""

const sha256 = (text: string | Uint8Array): Buffer => createHash("sha256").update(text).digest()

const isTimely = (header: HookCall["header"], nowMs: number): boolean => {
  const given = header("webhook-timestamp") ?? ""
  return (
    /^\d{1,12}$/.test(given) &&
    (header("webhook-id") ?? "") !== "" &&
    Math.abs(nowMs - Number(given) * 1000) <= toleranceMs
  )
}

/** The id that a caller gives to its delivery. It repeats a delivery under the same id. */
const idOf = (kind: HookKind, header: HookCall["header"]): string | undefined => {
  if (kind === "standard") return header("webhook-id")
  if (kind === "github") return header("x-github-delivery")
  if (kind === "gitea") return header("x-forgejo-delivery") ?? header("x-gitea-delivery")
  if (kind === "gitlab") return header("webhook-id") ?? header("idempotency-key") ?? header("x-gitlab-event-uuid")
  return header("idempotency-key") ?? header("webhook-id")
}

/** A delivery without an id is the same as another one within the minute that has the same body. */
const anonymous = (body: Uint8Array, nowMs: number): string =>
  `sha256:${sha256(body).toString("hex")}:${Math.floor(nowMs / 60_000)}`

const bounded = (id: string): string => (id.length <= 200 ? id : `sha256:${sha256(id).toString("hex")}`)

/** The event that a call says it is, by the header of its forge. */
export const eventOf = (
  kind: HookKind,
  { header }: Pick<HookCall, "header"> & Partial<HookCall>,
  body: unknown
): string | null => {
  const type =
    typeof body === "object" && body !== null && "type" in body && typeof body.type === "string" ? body.type : undefined
  const given =
    kind === "github"
      ? header("x-github-event")
      : kind === "gitea"
        ? (header("x-forgejo-event") ?? header("x-gitea-event"))
        : kind === "gitlab"
          ? header("x-gitlab-event")
          : type
  return given === undefined || given === ""
    ? null
    : cutText(given.replaceAll(/[\p{Cc}\p{Surrogate}]/gu, "\ufffd"), 100)
}
